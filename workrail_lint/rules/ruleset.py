"""The one way rules are run: sorted by their hooks, reporting into one collector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from workrail_lint.documents.source_text import SourceText
from workrail_lint.findings import Finding, Fix, Phase, Severity
from workrail_lint.rules.base import Rule
from workrail_lint.rules.table import RuleInfo, RuleTable

R = TypeVar("R", bound=Rule)
Levels = Callable[["Rule | RuleInfo", Severity], Severity]
# A document that breaks one rule more often than this is broken as a whole.
MOST_OF_A_RULE = 100


class RuleChoice(Protocol):
    """Which rules a run asks for."""

    @property
    def is_default(self) -> bool: ...

    @property
    def active(self) -> set[str]: ...


class Collector:
    """Where rules report to: severities by profile, and of one rule about one file no more than a person can use."""

    __slots__ = ("_counts", "_last", "_most", "findings", "levels", "phase", "source", "tidy")

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self.begin()

    def begin(
        self,
        *,
        levels: Levels | None = None,
        tidy: Callable[[str], str] | None = None,
        source: SourceText | None = None,
        phase: Phase = Phase.LINT,
    ) -> None:
        """Start anew: how severities are adjusted, how messages are cleaned, which text it is, and which phase."""
        self.findings: list[Finding] = []
        self.levels = levels
        self.tidy = tidy
        self.source = source
        self.phase = phase
        self._counts: dict[tuple[str, str], int] = {}
        self._last: dict[tuple[str, str], Finding] = {}

    def add(
        self,
        rule: Rule | RuleInfo,
        pointer: str,
        message: str,
        *,
        fix: Fix | None = None,
        on_name: bool = False,
        severity: Severity | None = None,
        path: str = "",
    ) -> Finding | None:
        """Keep a finding; None when there were too many of its kind already."""
        level = severity or rule.severity
        if self.levels is not None:
            level = self.levels(rule, level)
        text = message if self.tidy is None else self.tidy(message)
        finding = Finding(
            rule.code,
            rule.name,
            level,
            text,
            pointer,
            phase=self.phase,
            path=path,
            fix=fix,
            on_name=on_name,
            confidence=rule.confidence,
        )
        if self._most is not None:
            key = rule.code, path
            count = self._counts[key] = self._counts.get(key, 0) + 1
            if count > self._most:
                return None
            self._last[key] = finding
        self.findings.append(finding)
        return finding

    def finish(self) -> list[Finding]:
        """Return the findings and start anew; where there was more, the last finding of its rule says how many."""
        for key, count in self._counts.items():
            if self._most is not None and count > self._most:
                self._last[key].message += f" (and {count - self._most} more like this)"
        findings = self.findings
        self.begin()
        return findings


class Reporter:
    """The function that one rule reports with. All rules of a set report into one collector."""

    __slots__ = ("collector", "rule")

    def __init__(self, rule: Rule, collector: Collector) -> None:
        self.rule = rule
        self.collector = collector

    def __call__(
        self,
        pointer: str,
        message: str,
        *,
        fix: Fix | None = None,
        on_name: bool = False,
        severity: Severity | None = None,
        original: bool = False,
        at: tuple[int, int] | None = None,
        path: str | None = None,
        details: dict[str, object] | None = None,
    ) -> None:
        collector = self.collector
        finding = collector.add(
            self.rule, pointer, message, fix=fix, on_name=on_name, severity=severity, path=path or ""
        )
        if finding is None:
            return
        if details:
            finding.details.update(details)
        if original:
            finding.details["original"] = True
        if at is not None and collector.source is not None:
            finding.span = collector.source.span(*at)


Calls = dict[str, list[tuple[Callable[..., object], Reporter]]]


class _Hooked(Generic[R]):
    """A rule with its own hooks."""

    __slots__ = ("is_asked", "methods", "rule")

    def __init__(self, rule: R, own: frozenset[str], base: type[R]) -> None:
        self.rule = rule
        names = [name for name in vars(base) if name.startswith("check_") and name in own]
        self.methods: list[tuple[str, Callable[..., object]]] = [(name, getattr(rule, name)) for name in names]
        self.is_asked = "applies" in own  # only rules that can answer no are asked whether they apply


def _hooked(rules: Iterable[R], base: type[R], known: Mapping[str, RuleInfo]) -> list[_Hooked[R]]:
    """Return the rules that have hooks. `known` says of some rules, by name, which; the others are looked at."""
    all_rules = [
        _Hooked(rule, known[rule.name].hooks if rule.name in known else _overridden(type(rule), base), base)
        for rule in rules
    ]
    return [hooked for hooked in all_rules if hooked.methods]


class RuleSet(Generic[R]):
    """Rules sorted by the hooks they have, so that a hook costs only the rules that use it."""

    def __init__(self, rules: Iterable[R], base: type[R], most: int | None = None) -> None:
        self.collector = Collector(most)
        self._hooked: list[_Hooked[R]] = []
        self._calls: Calls | None = None
        self.extend(_hooked(rules, base, {}))

    def extend(self, rules: Iterable[_Hooked[R]]) -> None:
        """Add rules, to report into the collector of this set."""
        self._hooked += rules
        self._calls = None

    def calls(self, hook: str) -> list[tuple[Callable[..., object], Reporter]]:
        """Return the methods to call for a hook, each with the reporter to pass to it."""
        if self._calls is None:
            self._calls = self._calls_of(self._hooked)
        return self._calls.get(hook, [])

    def applicable_calls(self, applies: Callable[[R], bool]) -> Calls:
        """Return the calls of each hook, without the rules that do not apply to a document."""
        return self._calls_of([hooked for hooked in self._hooked if not hooked.is_asked or applies(hooked.rule)])

    def _calls_of(self, rules: Iterable[_Hooked[R]]) -> Calls:
        calls: Calls = {}
        for hooked in rules:
            report = Reporter(hooked.rule, self.collector)
            for hook, check in hooked.methods:
                if hook in calls:
                    calls[hook].append((check, report))
                else:
                    calls[hook] = [(check, report)]
        return calls


def overrides(rule: Rule, base: type[Rule], member: str) -> bool:
    """Return whether a rule overrides a method that is empty in its base."""
    return member in _overridden(type(rule), base)


_KNOWN: dict[tuple[type, type], frozenset[str]] = {}


def _overridden(rule: type[Rule], base: type[Rule]) -> frozenset[str]:
    """Return the members of a base that a rule overrides; every run asks for the same classes."""
    if (rule, base) not in _KNOWN:
        names = (name for name in dir(base) if getattr(rule, name, None) is not getattr(base, name, None))
        _KNOWN[rule, base] = frozenset(names)
    return _KNOWN[rule, base]


class _Group(Generic[R]):
    """Rules that need the same of a document."""

    __slots__ = ("hooked", "infos", "needs", "rules", "words")

    def __init__(self, needs: frozenset[str] | None, words: tuple[str, ...] | None) -> None:
        self.needs = needs
        self.words = words
        self.infos: list[RuleInfo] = []
        self.rules: list[R] = []  # those that no table describes
        self.hooked: list[_Hooked[R]] | None = None  # all of them, once loaded


class LazyRules(Generic[R]):
    """The rules a run asks for, whose modules are imported when a document comes along that they can concern.

    Each document gets a set with its own collector, so that several runs can share the rules.
    """

    def __init__(
        self,
        table: RuleTable[R],
        base: type[R],
        choice: RuleChoice | None = None,
        extra: tuple[R, ...] = (),
        most: int | None = None,
    ) -> None:
        active = None if choice is None or choice.is_default else choice.active
        self._table = table
        self._base = base
        self._most = most
        groups: dict[object, _Group[R]] = {}
        for info in table.infos:
            if info.runs and _is_active(info, active):
                groups.setdefault((info.needs, info.words), _Group(info.needs, info.words)).infos.append(info)
        extra = tuple(rule for rule in extra if _is_active(rule, active))
        self.extra_describing = tuple(rule for rule in extra if rule.describes)
        for rule in extra:
            groups.setdefault((rule.needs, rule.words), _Group(rule.needs, rule.words)).rules.append(rule)
        self._groups = list(groups.values())

    def for_document(
        self, present: set[str] | None = None, has: Callable[[tuple[str, ...]], bool] | None = None
    ) -> RuleSet[R]:
        """Return the rules for a document with some members and facts, and (`has`) some words; None for all rules."""
        chosen: RuleSet[R] = RuleSet((), self._base, self._most)
        for group in self._groups:
            if present is not None and group.needs is not None and group.needs.isdisjoint(present):
                continue
            if has is not None and group.words is not None and not has(group.words):
                continue
            if group.hooked is None:
                rules = [*self._table.rules(group.infos), *group.rules]
                group.hooked = _hooked(rules, self._base, {info.name: info for info in group.infos})
            chosen.extend(group.hooked)
        return chosen


def _is_active(rule: Rule | RuleInfo, active: set[str] | None) -> bool:
    return rule.default_on if active is None else rule.name in active
