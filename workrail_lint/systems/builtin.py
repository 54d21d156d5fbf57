"""The document systems that come with the product, each imported when a file may be one of its documents."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

from workrail_lint.findings import Finding
from workrail_lint.project.selection import Selection
from workrail_lint.rules.base import Rule
from workrail_lint.systems.base import FileResult, System


class LazySystem:
    """Stands for a system until one of its files comes along.

    A workflow never is a document of another system, so a file with steps is not offered to it unless its name or
    another word in it asks.
    """

    def __init__(
        self,
        name: str,
        module: str,
        cls: str,
        suffixes: tuple[str, ...],
        signs: tuple[str, ...],
        word: bytes | None = None,
    ) -> None:
        self.name = name
        self.suffixes = suffixes
        self.selection: Selection | None = None
        self._module = module
        self._cls = cls
        self._signs = signs  # parts of a path that make it worth asking
        self._word = word  # what a document of the system holds beside its steps, if it may have any

    @cached_property
    def _system(self) -> Any:
        from importlib import import_module

        system = getattr(import_module(self._module), self._cls)()
        if hasattr(system, "selection"):
            system.selection = self.selection
        return system

    def rules(self) -> tuple[Rule, ...]:
        return tuple(self._system.rules())

    def may_claim(self, path: str) -> bool:
        """Whether it is worth opening a file, by its name."""
        return path.endswith(self.suffixes) and (path.endswith(".json") or bool(self._system.may_claim(path)))

    def claims(self, path: str, data: bytes, named: bool) -> str | None:
        if (b'"steps"' in data and not self._is_asked_for(path, data)) or not self.may_claim(path):
            return None
        kind: str | None = self._system.claims(path, data, named)
        return kind

    def _is_asked_for(self, path: str, data: bytes) -> bool:
        return any(sign in path for sign in self._signs) or (self._word is not None and self._word in data)

    def check(self, path: str, data: bytes, kind: str, settings: Any) -> FileResult:
        result: FileResult = self._system.check(path, data, kind, settings)
        return result

    def check_data(self, path: str, data: bytes | str, kind: str, settings: Any) -> FileResult:
        result: FileResult = self._system.check_data(path, data, kind, settings)
        return result

    def cross_check(self, records: dict[str, Any], settings: Any, complete: bool) -> list[Finding]:
        findings: list[Finding] = self._system.cross_check(records, settings, complete)
        return findings


def builtin_systems() -> list[System]:
    """Fresh instances in the order in which files are offered to them: a named file of no other kind is a workflow."""
    from workrail_lint.systems.workrail.system import WorkRailSystem

    return [
        LazySystem(
            "scenario",
            "workrail_lint.systems.scenario.system",
            "ScenarioSystem",
            (".scenario.json",),
            (".scenario.json",),
        ),
        LazySystem(
            "team",
            "workrail_lint.systems.team.system",
            "TeamSystem",
            (".json", ".yaml", ".md", ".jsonl"),
            (".agents-work", ".input.json", ".output.json", ".plan.json"),
        ),
        LazySystem(
            "blocks",
            "workrail_lint.systems.blocks.system",
            "BlockSystem",
            (".json", ".txt"),
            (".output", ".run", "block-", "/lanes/", ".workflow.json"),
            b'"transitions"',
        ),
        WorkRailSystem(),
    ]


@cache
def known_systems() -> tuple[System, ...]:
    """Shared instances, for those who only ask for rules."""
    return tuple(builtin_systems())


SUFFIXES = (".json", ".yaml", ".md", ".jsonl", ".txt")
