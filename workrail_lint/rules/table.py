"""The metadata of rules, from the table that `make schemas` writes beside them; and the rules that were retired.

Selecting, reporting and listing read the table. A rule's module is imported only to run the rule.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from importlib import import_module
from typing import Generic, TypeVar, cast

from workrail_lint.base.files import read_shipped
from workrail_lint.base.result import Record
from workrail_lint.documents.scanner import loads
from workrail_lint.findings import Confidence, Severity
from workrail_lint.rules.base import Rule

R = TypeVar("R", bound=Rule)
# What a run needs to know, and what is only shown to people.
TABLE_FILE, TEXTS_FILE = "table.json", "texts.json"


_SEVERITIES = {level.value: level for level in Severity}
_CONFIDENCES = {level.value: level for level in Confidence}
_NO_HOOKS: frozenset[str] = frozenset()


class RuleTexts(Record):
    """The texts about a rule that people read."""

    __slots__ = ("fix", "fix_safety", "origin", "summary", "why")

    def __init__(self, origin: str, summary: str, why: str, fix: str, fix_safety: str) -> None:
        self.origin = origin
        self.summary = summary
        self.why = why
        self.fix = fix
        self.fix_safety = fix_safety


class RuleInfo:
    """The facts of a rule that are known without importing it; the members are those of the class."""

    __slots__ = (
        "_texts",
        "code",
        "confidence",
        "default_on",
        "describes",
        "hooks",
        "mends",
        "module",
        "name",
        "needs",
        "severity",
        "words",
    )

    def __init__(
        self,
        code: str,
        name: str,
        severity: Severity,
        confidence: Confidence,
        default_on: bool,
        needs: frozenset[str] | None,
        words: tuple[str, ...] | None,
        module: str,
        hooks: frozenset[str],
        mends: bool,
        describes: tuple[tuple[str, ...], ...],
        texts: Callable[[str], RuleTexts],
    ) -> None:
        self.code = code
        self.name = name
        self.severity = severity
        self.confidence = confidence
        self.default_on = default_on
        self.needs = needs
        self.words = words
        self.module = module  # where its class is, below the package of the table
        self.hooks = hooks  # those it overrides; none: an earlier phase detects it
        self.mends = mends  # it has a fix for what an earlier phase detects
        self.describes = describes
        self._texts = texts  # by name, read when they are asked for

    @property
    def family(self) -> str:
        return self.code[:2]

    @property
    def runs(self) -> bool:
        return bool(self.hooks)

    @property
    def texts(self) -> RuleTexts:
        return self._texts(self.name)

    @property
    def origin(self) -> str:
        return self.texts.origin

    @property
    def summary(self) -> str:
        return self.texts.summary

    @property
    def why(self) -> str:
        return self.texts.why

    @property
    def fix(self) -> str:
        return self.texts.fix

    @property
    def fix_safety(self) -> str:
        return self.texts.fix_safety

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RuleInfo):
            return NotImplemented
        return row_of(self) == row_of(other) and self.texts == other.texts

    def __hash__(self) -> int:
        return hash((self.code, self.name))

    def __repr__(self) -> str:
        return f"RuleInfo({self.code} {self.name})"


def info_of(rule: Rule, module: str = "", hooks: frozenset[str] = _NO_HOOKS, mends: bool = False) -> RuleInfo:
    """Return the metadata of a rule at hand."""
    # A plugin may say less about its rules than we do about ours.
    origin, summary, why = (getattr(rule, name, "") for name in ("origin", "summary", "why"))
    texts = RuleTexts(origin, summary, why, rule.fix, rule.fix_safety)
    return RuleInfo(
        rule.code,
        rule.name,
        rule.severity,
        rule.confidence,
        rule.default_on,
        rule.needs,
        rule.words,
        module,
        hooks,
        mends,
        rule.describes,
        lambda _: texts,
    )


def row_of(info: RuleInfo) -> list[object]:
    """Return a row of the table."""
    needs = None if info.needs is None else sorted(info.needs)
    return [
        info.code,
        info.name,
        info.severity.value,
        info.confidence.value,
        info.default_on,
        needs,
        info.words,
        info.module,
        sorted(info.hooks),
        info.mends,
        info.describes,
    ]


class RuleTable(Generic[R]):
    """The rules of a package: their metadata, and their instances when they are to be run."""

    def __init__(self, package: str, folder: str) -> None:
        self.package = package
        self.path = os.path.join(folder, TABLE_FILE)
        self._texts_path = os.path.join(folder, TEXTS_FILE)
        self._modules: dict[str, tuple[R, ...]] = {}
        self._rules: dict[str, R] = {}

    @cached_property
    def infos(self) -> tuple[RuleInfo, ...]:
        """Return the metadata of every rule, by code."""
        kept: dict[str, frozenset[str]] = {}  # most rules have one of a few sets

        def names(listed: list[str]) -> frozenset[str]:
            return kept.setdefault(" ".join(listed), frozenset(listed))

        return tuple(
            RuleInfo(
                code,
                name,
                _SEVERITIES[severity],
                _CONFIDENCES[confidence],
                default_on,
                None if needs is None else names(needs),
                None if words is None else tuple(words),
                module,
                names(hooks) if hooks else _NO_HOOKS,
                mends,
                tuple(map(tuple, describes)),
                self._texts_of,
            )
            for code, name, severity, confidence, default_on, needs, words, module, hooks, mends, describes in loads(
                read_shipped(self.path)
            )
        )

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        texts: dict[str, list[str]] = loads(read_shipped(self._texts_path))
        return texts

    def _texts_of(self, name: str) -> RuleTexts:
        return RuleTexts(*self._texts[name])

    @cached_property
    def by_name(self) -> dict[str, RuleInfo]:
        return {info.name: info for info in self.infos}

    def rules_in(self, module: str) -> tuple[R, ...]:
        """Return one instance of every rule that a module defines, in its order."""
        if module not in self._modules:
            imported = import_module(f"{self.package}.{module}")
            self._modules[module] = tuple(cast("R", cls()) for cls in rule_classes(vars(imported), imported.__name__))
        return self._modules[module]

    def rule(self, name: str) -> R:
        """Return the rule of a name."""
        if name not in self._rules:
            self._rules |= {rule.name: rule for rule in self.rules_in(self.by_name[name].module)}
        return self._rules[name]

    def rules(self, infos: Iterable[RuleInfo] | None = None) -> tuple[R, ...]:
        """Return the rules of some rows, or all of them, in their order."""
        return tuple(self.rule(info.name) for info in (self.infos if infos is None else infos))


def rule_classes(members: dict[str, object], module: str) -> list[type[Rule]]:
    """Return the rules that a module defines itself.

    Those it lists in `RULES`, else all classes with a code of their own.
    """
    listed = members.get("RULES")
    if isinstance(listed, tuple):
        return list(listed)
    return [
        cls
        for cls in members.values()
        if isinstance(cls, type) and issubclass(cls, Rule) and "code" in vars(cls) and cls.__module__ == module
    ]


class RetiredRule(Record):
    """A rule that was merged into another one (`successor` is its code), or given up (`successor` is "").

    A rule that took in others may have got another name; then its former name is listed with its own code as successor.
    """

    __slots__ = ("code", "name", "reason", "successor")

    def __init__(self, code: str, name: str, successor: str, reason: str) -> None:
        self.code = code
        self.name = name
        self.successor = successor
        self.reason = reason

    @property
    def remark(self) -> str:
        """Return what a user of the code should know."""
        if self.successor:
            return f"{self.code} ({self.name}) is part of {self.successor} now; write {self.successor} instead"
        return f"{self.code} ({self.name}) no longer exists and has no effect: {self.reason}"


@cache
def retired_rules() -> tuple[RetiredRule, ...]:
    """Return the retired rules by code, from the file beside this module."""
    rows = loads(read_shipped(os.path.join(os.path.dirname(__file__), "retired.json")))
    return tuple(RetiredRule(*row) for row in rows)


@cache
def _by_word() -> dict[str, RetiredRule]:
    words = {rule.name: rule for rule in retired_rules()}
    return words | {rule.code: rule for rule in retired_rules() if rule.code != rule.successor}


def retired_rule(pattern: str) -> RetiredRule | None:
    """Return the retired rule that a code or name stands for."""
    return _by_word().get(pattern)


def current_pattern(pattern: str) -> str:
    """Return the pattern that names the successor of a retired rule; any other one is returned unchanged."""
    rule = retired_rule(pattern)
    return pattern if rule is None or not rule.successor else rule.successor


def remarks(patterns: Iterable[str]) -> list[str]:
    """Return a sentence for each retired rule that the patterns name."""
    rules = (retired_rule(pattern) for pattern in patterns)
    return list(dict.fromkeys(rule.remark for rule in rules if rule is not None))


def former_names(code: str) -> list[str]:
    """Return the names of the rules that were merged into the one with this code."""
    return [rule.name for rule in retired_rules() if rule.successor == code]
