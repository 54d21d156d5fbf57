"""The interface of a document system: all that the rest of the product knows about an agent contract.

A system that comes with the product is declared by `manifest.json` in its folder and imported when a file may be one of
its documents. Another installed package brings a `System` through the hooks in `workrail_lint.project.plugins`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from workrail_lint.base.files import read_shipped
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok, Record
from workrail_lint.documents.scanner import loads
from workrail_lint.findings import Finding, Severity
from workrail_lint.rules.base import Rule
from workrail_lint.rules.table import RuleInfo, RuleTable

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation
    from workrail_lint.rules.ruleset import RuleChoice
    from workrail_lint.systems.drawing.shapes import Block


class RunSettings:
    """The settings of a run for all systems: options by their configuration names, and the folder of the project."""

    __slots__ = ("options", "workspace")

    def __init__(self, options: dict[str, object] | None = None, workspace: str | None = None) -> None:
        self.options = options or {}
        self.workspace = workspace  # the folder of the project, None when there is no disk

    @property
    def fingerprints(self) -> bool:
        """Return whether findings are to be compared with a baseline, or written to one."""
        return bool(self.options.get("fingerprints"))

    def cache_facts(self) -> dict[str, object]:
        """Return the settings that affect findings, for the key of the cache."""
        return {"options": self.options, "workspace": self.workspace}


class FileResult(Record):
    """The result for one file: findings with their positions, and the record that cross-file rules read."""

    __slots__ = ("cacheable", "consulted", "findings", "ours", "record")

    def __init__(
        self,
        findings: list[Finding],
        record: object = None,
        ours: bool = True,
        cacheable: bool = True,
        consulted: Mapping[str, bool] | None = None,
    ) -> None:
        self.findings = findings
        self.record = record  # plain JSON, so that it can be kept in the cache
        self.ours = ours  # false for a file that was found and turned out not to be a document of ours
        self.cacheable = cacheable  # false when the result depends on what no content and no other file can speak for
        self.consulted = consulted or {}  # other paths that decided, and whether what is in them did


class Setting:
    """A key of the configuration that belongs to a system. Functions are named as `module:attribute`."""

    __slots__ = ("choices", "help", "is_path", "kind", "option", "problem")

    def __init__(
        self,
        kind: str = "str",
        choices: Sequence[str] = (),
        is_path: bool = False,
        problem: str | None = None,
        option: str | None = None,
        help: str = "",
    ) -> None:
        self.kind = kind  # or list, bool, table of lists, table of str
        self.choices = choices
        self.is_path = is_path  # relative to the configuration
        self.problem = problem  # a function that says what else is wrong with a value
        self.option = option  # the option of `check` that sets it too
        self.help = help

    @property
    def allowed(self) -> tuple[str, ...]:
        """The values it can have; none for any."""
        return tuple(self.choices)

    def problem_with(self, value: object) -> str | None:
        """Return what is wrong with a value of the right type."""
        if self.allowed and value not in self.allowed:
            return f"must be one of {', '.join(self.allowed)}, not {value!r}"
        if self.problem is None:
            return None
        problem: Callable[[object], str | None] = resolved(self.problem)
        return problem(value)


class ScenarioKind:
    """Scenarios about a system's documents. What does the work is named as `module:attribute`."""

    __slots__ = ("check", "driver", "generator", "member", "schema")

    def __init__(self, member: str, schema: str, check: str, driver: str, generator: str | None = None) -> None:
        self.member = member  # by which a scenario file is known as one of this kind
        self.schema = schema  # the document kind whose JSON Schema it has to fit, or where that schema is
        self.check = check  # (value, folder, settings) -> findings about a scenario whose shape is right
        self.driver = driver  # what plays it in pytest
        self.generator = generator  # the module that generates them, where that is not the search for workflows

    def findings(self, value: dict[str, Json], folder: str, settings: RunSettings) -> Iterable[Finding]:
        """Return what is wrong with a scenario beyond its shape."""
        check: Callable[[dict[str, Json], str, RunSettings], Iterable[Finding]] = resolved(self.check)
        return check(value, folder, settings)


class System(ABC):
    """A kind of documents and the rules about them."""

    name: str
    table: RuleTable[Any]  # of its rules; a system without one overrides `rules` and `rule`
    suffixes: tuple[str, ...] = (".json",)
    families: Mapping[str, str] = {}  # the letters of its codes, and what they are about
    config_keys: Mapping[str, Setting] = {}
    scenario: ScenarioKind | None = None
    compiled_kinds: Mapping[str, str] = {}  # the kinds that `compile` takes, and what one is called in a sentence
    drawn_kinds: Mapping[str, str] = {}  # the kinds that `graph` and `studio` draw, likewise
    # What `cross_check` says about a single document follows from its record, and `reconsider` changes nothing then.
    pure_alone = False
    choice: RuleChoice | None = None  # which rules to run, None for all
    peers: Sequence[System] = ()  # all systems of the run; the last one is about workflows
    extra_rules: tuple[Rule, ...] = ()  # of plugins; a system runs those that are about its documents

    def rules(self) -> Sequence[RuleInfo]:
        """Return what is known about every rule, by code."""
        return self.table.infos

    def rule(self, name: str) -> Rule:
        """Return a rule itself, for its examples."""
        rule: Rule = self.table.rule(name)
        return rule

    def may_claim(self, path: str) -> bool:
        """Return whether a file is worth opening, by its name alone."""
        return path.endswith(self.suffixes)

    @abstractmethod
    def claims(self, path: str, data: bytes, named: bool) -> str | None:
        """Return the kind of a file of this system, None for files of others. A named file was asked for by name."""

    @abstractmethod
    def check(self, path: str, data: bytes | str, kind: str, settings: RunSettings) -> FileResult:
        """Check one file."""

    def check_data(self, path: str, data: bytes | str, kind: str, settings: RunSettings) -> FileResult:
        """Check a text that is on no disk, where that makes a difference."""
        return self.check(path, data, kind, settings)

    def cross_check(self, records: Mapping[str, object], settings: RunSettings, complete: bool) -> list[Finding]:
        """Return what only shows when all files of a run are seen together; `complete` when that is all there are."""
        return []

    def reconsider(self, findings: list[Finding], records: Mapping[str, object]) -> list[Finding]:
        """Return what the files' own checks found, where seeing all files makes a difference to it."""
        return findings

    def describe(self, violations: Iterable[Violation], value: dict[str, Json]) -> list[Finding]:
        """Return the violations of a JSON document's schema as findings; empty where no one else asks for them."""
        return []

    def compile(self, path: str, data: bytes, kind: str, settings: RunSettings) -> Ok[Compiled] | Err[list[Finding]]:
        """Return what `compile` makes of one of the `compiled_kinds`; there are none unless a system says so."""
        return Err([])

    def picture(self, path: str, data: bytes, kind: str, settings: RunSettings) -> Ok[Picture] | Err[list[Finding]]:
        """Return what `graph` and `studio` show of one of the `drawn_kinds`; there are none unless a system says so."""
        return Err([])


class Picture:
    """A document as people see it: a drawing, and the same as plain data with the members of a golden."""

    __slots__ = ("blocks", "name", "record")

    def __init__(self, name: str, blocks: tuple[Block, ...], record: dict[str, Any]) -> None:
        self.name = name
        self.blocks = blocks
        self.record = record


class Compiled:
    """A compiled document, as `compile` prints it: its id and its IR."""

    __slots__ = ("ident", "ir")

    def __init__(self, ident: str, ir: dict[str, Json]) -> None:
        self.ident = ident
        self.ir = ir


def resolved(name: str) -> Any:
    """Return what a `module:attribute` stands for; the caller knows its type."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


class Manifest:
    """A system as `manifest.json` in its folder declares it: what can be said before one of its files comes along.

    Data, because every command reads it: a module would take longer to import.
    """

    def __init__(self, folder: str) -> None:
        data = loads(read_shipped(os.path.join(folder, "manifest.json")))
        self.folder = folder
        self.name: str = data["name"]
        self.implementation: str = data["implementation"]  # `module:class`
        self.families: Mapping[str, str] = data["families"]
        # The module that knows its files, where deciding needs less than checking.
        self.detection: str | None = data.get("detection")
        self.suffixes: tuple[str, ...] = tuple(data.get("suffixes", System.suffixes))
        # Parts of a path that make it worth asking, even for a file with steps.
        self.signs: Sequence[str] = data.get("signs", ())
        # What a document of the system holds beside its steps, if it may have any.
        self.word: str | None = data.get("word")
        self.is_default: bool = data.get("is_default", False)  # a named file of no other system is its own
        self.config_keys = {key: Setting(**setting) for key, setting in data.get("config_keys", {}).items()}
        self.scenario = ScenarioKind(**data["scenario"]) if "scenario" in data else None
        self.compiled_kinds: Mapping[str, str] = data.get("compiled_kinds", {})
        self.drawn_kinds: Mapping[str, str] = data.get("drawn_kinds", {})
        self.pure_alone: bool = data.get("pure_alone", False)


UNSET_VARIABLE = "unsetVariable"


def is_set_by_caller(finding: Finding, given: Mapping[str, Collection[str]]) -> bool:
    """Return whether a finding is about a variable that only another file sets (`given`: by path)."""
    return finding.path in given and finding.details.get(UNSET_VARIABLE) in given[finding.path]


@cache
def _table_of(implementation: str, folder: str) -> RuleTable[Rule]:
    """Return the rules of a system.

    Every run has its own systems, but what is known about their rules never changes.
    """
    return RuleTable(f"{implementation.rpartition('.')[0]}.rules", os.path.join(folder, "rules"))


class Detection(Protocol):
    """The recogniser of a system's documents: the system itself, or a module of it."""

    def may_claim(self, path: str) -> bool: ...

    def claims(self, path: str, data: bytes, named: bool) -> str | None: ...


class LazySystem(System):
    """Stands for a system until one of its files comes along.

    A workflow never is a document of another system, so a file with steps is not offered to it unless its name or
    another word in it asks.
    """

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.name = manifest.name
        self.table = _table_of(manifest.implementation, manifest.folder)
        self.suffixes = manifest.suffixes
        self.families = manifest.families
        self.config_keys = manifest.config_keys
        self.scenario = manifest.scenario
        self.compiled_kinds = manifest.compiled_kinds
        self.drawn_kinds = manifest.drawn_kinds
        self.pure_alone = manifest.pure_alone

    @cached_property
    def system(self) -> System:
        """The system itself."""
        system: System = resolved(self.manifest.implementation)()
        system.choice, system.extra_rules, system.peers = self.choice, self.extra_rules, self.peers
        return system

    @cached_property
    def _detection(self) -> Detection:
        """The recogniser of files: a module of the system where the manifest names one, else the system."""
        if self.manifest.detection is None:
            return self.system
        return cast(Detection, import_module(self.manifest.detection))

    def may_claim(self, path: str) -> bool:
        return path.endswith(self.suffixes) and (path.endswith(".json") or self._detection.may_claim(path))

    def claims(self, path: str, data: bytes, named: bool) -> str | None:
        if not self.manifest.is_default:
            has_steps = b'"steps"' in data and not self._is_asked_for(path, data)
            if has_steps or not self.may_claim(path):
                return None
        return self._detection.claims(path, data, named)

    def _is_asked_for(self, path: str, data: bytes) -> bool:
        word = self.manifest.word
        return any(sign in path for sign in self.manifest.signs) or (word is not None and word.encode() in data)

    def check(self, path: str, data: bytes | str, kind: str, settings: RunSettings) -> FileResult:
        return self.system.check(path, data, kind, settings)

    def check_data(self, path: str, data: bytes | str, kind: str, settings: RunSettings) -> FileResult:
        return self.system.check_data(path, data, kind, settings)

    def cross_check(self, records: Mapping[str, object], settings: RunSettings, complete: bool) -> list[Finding]:
        return self.system.cross_check(records, settings, complete)

    def reconsider(self, findings: list[Finding], records: Mapping[str, object]) -> list[Finding]:
        return self.system.reconsider(findings, records)

    def describe(self, violations: Iterable[Violation], value: dict[str, Json]) -> list[Finding]:
        return self.system.describe(violations, value)

    def compile(self, path: str, data: bytes, kind: str, settings: RunSettings) -> Ok[Compiled] | Err[list[Finding]]:
        return self.system.compile(path, data, kind, settings)

    def picture(self, path: str, data: bytes, kind: str, settings: RunSettings) -> Ok[Picture] | Err[list[Finding]]:
        return self.system.picture(path, data, kind, settings)


_SCENARIO_WARNINGS = ("scenario-checks-little",)


def scenario_finding(name: str, pointer: str, message: str) -> Finding:
    """Return a finding about a scenario under the name of its rule; the scenario system gives it the rule's code."""
    severity = Severity.WARNING if name in _SCENARIO_WARNINGS else Severity.ERROR
    return Finding(name, name, severity, message, pointer)
