"""The metadata of rules, from the table that `make schemas` writes beside them.

Selecting, reporting and listing read the table. A rule's module is imported only to run the rule.
"""

from __future__ import annotations

import json
import os
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from workrail_lint.base.files import read_shipped
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable


R = TypeVar("R", bound=Rule)
TABLE_FILE = "table.json"


class RuleInfo(NamedTuple):
    """What is known about a rule without importing it; the members are those of the class."""

    code: str
    name: str
    severity: Severity
    origin: str
    summary: str
    why: str
    fix: str
    fix_safety: str
    default_on: bool
    needs: frozenset[str] | None
    module: str  # where its class is, below the package of the table
    runs: bool  # it has hooks; others are detected by an earlier phase
    mends: bool  # it has a fix for what an earlier phase detects

    @property
    def family(self) -> str:
        return self.code[:2]


def info_of(rule: Rule, module: str = "", runs: bool = True, mends: bool = False) -> RuleInfo:
    """The metadata of a rule at hand."""
    return RuleInfo(
        rule.code,
        rule.name,
        rule.severity,
        # A plugin may say less about its rules than we do about ours.
        getattr(rule, "origin", ""),
        getattr(rule, "summary", ""),
        getattr(rule, "why", ""),
        rule.fix,
        rule.fix_safety,
        rule.default_on,
        rule.needs,
        module,
        runs,
        mends,
    )


def row_of(info: RuleInfo) -> list[object]:
    """A row of the table."""
    row: list[object] = list(info)
    row[2] = info.severity.value
    row[9] = None if info.needs is None else sorted(info.needs)
    return row


def _info(row: list[Any]) -> RuleInfo:
    row[2] = Severity(row[2])
    row[9] = None if row[9] is None else frozenset(row[9])
    return RuleInfo(*row)


class RuleTable(Generic[R]):
    """The rules of a package: their metadata, and their instances when they are to be run."""

    def __init__(self, package: str, folder: str) -> None:
        self.package = package
        self.path = os.path.join(folder, TABLE_FILE)
        self._modules: dict[str, tuple[R, ...]] = {}
        self._rules: dict[str, R] = {}

    @cached_property
    def infos(self) -> tuple[RuleInfo, ...]:
        """The metadata of every rule, by code."""
        return tuple(map(_info, json.loads(read_shipped(self.path))))

    @cached_property
    def by_name(self) -> dict[str, RuleInfo]:
        return {info.name: info for info in self.infos}

    def rules_in(self, module: str) -> tuple[R, ...]:
        """One instance of every rule that a module defines, in its order."""
        if module not in self._modules:
            found = import_module(f"{self.package}.{module}")
            self._modules[module] = tuple(cast("R", cls()) for cls in rule_classes(vars(found), found.__name__))
        return self._modules[module]

    def rule(self, name: str) -> R:
        """The rule of a name."""
        if name not in self._rules:
            self._rules |= {rule.name: rule for rule in self.rules_in(self.by_name[name].module)}
        return self._rules[name]

    def rules(self, infos: Iterable[RuleInfo] | None = None) -> tuple[R, ...]:
        """The rules of some rows, or all of them, in their order."""
        return tuple(self.rule(info.name) for info in (self.infos if infos is None else infos))


def rule_classes(members: dict[str, object], module: str) -> list[type[Rule]]:
    """The rules that a module defines itself: those it lists in `RULES`, else all classes with a code of their own."""
    listed = members.get("RULES")
    if isinstance(listed, tuple):
        return list(listed)
    return [
        cls
        for cls in members.values()
        if isinstance(cls, type) and issubclass(cls, Rule) and "code" in vars(cls) and cls.__module__ == module
    ]
