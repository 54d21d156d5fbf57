"""Which rules count, and how much: selection, per-file ignores, severity overrides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from workrail_lint.base.globs import matches
from workrail_lint.base.suggest import nearest
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.rules.base import Rule

ALL = "ALL"
# A document that can't be read or has the wrong shape is wrong, whatever a project would like.
_FIXED_PHASES = (Phase.READ, Phase.SCHEMA)


class Selection:
    """The rules a run asks for. Patterns are codes, prefixes of codes, names, or ALL.

    The rules themselves are asked for only when something has to be decided: a run whose results all come from
    the cache never loads them.
    """

    def __init__(
        self,
        rules: Callable[[], Iterable[Rule]],
        *,
        select: list[str] | None = None,
        extend_select: list[str] | None = None,
        ignore: list[str] | None = None,
        per_file_ignores: dict[str, list[str]] | None = None,
        severity: dict[str, str] | None = None,
        root: str = ".",
    ) -> None:
        self._load = rules
        self._select = select or [ALL]
        self._extra = extend_select or []
        self._ignore = ignore or []
        self._severity = severity or {}
        self.root = root
        self.per_file_ignores = per_file_ignores or {}

    @cached_property
    def rules(self) -> list[Rule]:
        return list(self._load())

    @property
    def is_default(self) -> bool:
        """Whether nobody asked for anything in particular."""
        return self._select == [ALL] and not self._ignore and not self._extra

    @cached_property
    def active(self) -> set[str]:
        """The names of the rules that are on."""
        if self.is_default:
            return {rule.name for rule in self.rules if rule.default_on}
        return {
            rule.name
            for rule in self.rules
            if (_is_wanted(rule, self._select) or _names(rule, self._extra)) and not _names(rule, self._ignore)
        }

    @cached_property
    def severities(self) -> dict[str, Severity]:
        return {
            rule.name: Severity(level)
            for pattern, level in self._severity.items()
            for rule in self.rules
            if _names(rule, [pattern])
        }

    def problems(self) -> list[str]:
        """A sentence for each pattern that names no rule and each severity that does not exist."""
        patterns = [*(p for p in self._select if p != ALL), *self._extra, *self._ignore, *self._severity]
        patterns += [code for codes in self.per_file_ignores.values() for code in codes]
        found = unknown_patterns(self.rules, patterns) if patterns else []
        levels = [level.value for level in Severity]
        for pattern, level in self._severity.items():
            if level not in levels:
                found.append(f"the severity of {pattern!r} must be one of {', '.join(levels)}, not {level!r}")
        return found

    def applies(self, finding: Finding) -> bool:
        """Whether a finding is reported; one that says the text can't be read always is."""
        if finding.phase is Phase.READ and finding.severity is Severity.ERROR:
            return True
        if finding.name not in self.active:
            return False
        for pattern, codes in self.per_file_ignores.items():
            if matches(finding.path, self.root, [pattern]) and pattern_matches(finding.code, finding.name, codes):
                return False
        return True

    def ignores(self, finding: Finding) -> bool:
        """Whether a finding is ignored by name: what is said about the configuration needs no selecting."""
        return pattern_matches(finding.code, finding.name, self._ignore)

    def runs_all(self, patterns: list[str]) -> bool:
        """Whether every rule that the patterns name is on, as far as rules are on by default."""
        return self.is_default or all(
            rule.name in self.active for rule in self.rules if rule.default_on and _names(rule, patterns)
        )

    def adjusted(self, finding: Finding) -> Finding:
        """The finding with the project's severity for its rule."""
        wanted = self.severities.get(finding.name)
        if wanted is None or (finding.phase in _FIXED_PHASES and finding.severity is Severity.ERROR):
            return finding
        # Under engine parity only what the engine rejects is an error.
        is_capped = wanted is Severity.ERROR and "atMost" in finding.details
        finding.severity = Severity(finding.details["atMost"]) if is_capped else wanted
        return finding


def _is_wanted(rule: Rule, patterns: list[str]) -> bool:
    if rule.default_on:
        return ALL in patterns or _names(rule, patterns)
    return rule.code in patterns or rule.name in patterns


def _names(rule: Rule, patterns: list[str]) -> bool:
    return pattern_matches(rule.code, rule.name, patterns)


def pattern_matches(code: str, name: str, patterns: list[str]) -> bool:
    """Whether one of the patterns names a rule."""
    return any(pattern in (ALL, name) or (pattern.isupper() and code.startswith(pattern)) for pattern in patterns)


def unknown_patterns(rules: Iterable[Rule], patterns: Iterable[str]) -> list[str]:
    """A sentence for each pattern that names no rule."""
    known = list(rules)
    problems: list[str] = []
    for pattern in patterns:
        if pattern == ALL or any(_names(rule, [pattern]) for rule in known):
            continue
        names = [rule.name for rule in known] + [rule.code for rule in known]
        suggestion = pattern.upper() if pattern.upper() in names else nearest(pattern, names, many=len(names))
        advice = f"did you mean {suggestion!r}?" if suggestion else "workrail-lint rule lists all"
        problems.append(f"no rule matches {pattern!r}; {advice}")
    return problems
