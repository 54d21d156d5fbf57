"""Which rules count, and how much: selection, per-file ignores, severity overrides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from workrail_lint.base.files import matches
from workrail_lint.base.suggest import nearest
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.rules import CONFIGURATION, CONFIGURATION_FAMILIES
from workrail_lint.rules.base import Rule
from workrail_lint.rules.table import RuleInfo, current_pattern, info_of, remarks, retired_rule
from workrail_lint.systems.base import System

ALL = "ALL"
# A document that can't be read or has the wrong shape stays an error, whatever a project configures.
_FIXED_PHASES = (Phase.READ, Phase.SCHEMA)


class KnownRules:
    """The rules of all systems of a run. A table is read when one of its codes is asked for."""

    def __init__(self, systems: Sequence[System], extra: Sequence[Rule] = ()) -> None:
        self._systems = systems
        self._own = {rule.name: rule for rule in extra}
        self._extra = {rule.name: info_of(rule) for rule in extra}
        self._read: dict[str, dict[str, RuleInfo]] = {}

    def __call__(self) -> list[RuleInfo]:
        """Return all of them."""
        infos = [info for system in self._systems for info in system.rules()]
        return [*infos, *CONFIGURATION.infos, *self._extra.values()]

    def get(self, code: str, name: str) -> RuleInfo | None:
        """Return the rule of a finding."""
        own = self._extra.get(name) or (CONFIGURATION.by_name.get(name) if code.startswith("CF") else None)
        if own is not None:
            return own
        family = [system for system in self._systems if code[:2] in system.families]
        infos = (self._by_name(system).get(name) for system in family or self._systems)
        return next((info for info in infos if info is not None), None)

    def rule(self, info: RuleInfo) -> Rule:
        """Return the rule itself, for its examples."""
        if info.name in self._own:
            return self._own[info.name]
        if info.name in CONFIGURATION.by_name:
            return CONFIGURATION.rule(info.name)
        return next(system for system in self._systems if info.name in self._by_name(system)).rule(info.name)

    def families(self) -> dict[str, str]:
        """Return the two letters of each family, and what it is about."""
        ordered = [*self._systems[-1:], *self._systems[:-1]]
        titles = {letters: title for system in ordered for letters, title in system.families.items()}
        return {**titles, **CONFIGURATION_FAMILIES}

    def _by_name(self, system: System) -> dict[str, RuleInfo]:
        if system.name not in self._read:
            self._read[system.name] = {info.name: info for info in system.rules()}
        return self._read[system.name]


class Selection:
    """The rules a run asks for. Patterns are codes, prefixes of codes, names, or ALL.

    The rules are loaded only when something must be decided: a run whose results all come from the cache never
    loads them.
    """

    def __init__(
        self,
        rules: KnownRules,
        *,
        select: list[str] | None = None,
        extend_select: list[str] | None = None,
        ignore: list[str] | None = None,
        per_file_ignores: dict[str, list[str]] | None = None,
        severity: dict[str, str] | None = None,
        root: str = ".",
    ) -> None:
        self.known = rules
        given = [*(select or ()), *(extend_select or ()), *(ignore or ()), *(severity or ())]
        given += [code for codes in (per_file_ignores or {}).values() for code in codes]
        self.remarks = remarks(given) if given else []  # about retired rules; their successors take their place
        self._select = _current(select) or [ALL]
        self._extra = _current(extend_select)
        self._ignore = _current(ignore)
        self._severity = {current_pattern(pattern): level for pattern, level in (severity or {}).items()}
        self._default_on: dict[tuple[str, str], bool] = {}  # by code and name
        self.root = root
        self.per_file_ignores = {files: _current(codes) for files, codes in (per_file_ignores or {}).items()}

    @cached_property
    def rules(self) -> list[RuleInfo]:
        return self.known()

    @property
    def is_default(self) -> bool:
        """Return whether no rule was selected or ignored."""
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
        """Return a sentence for each pattern that names no rule and each severity that does not exist."""
        patterns = [*(p for p in self._select if p != ALL), *self._extra, *self._ignore, *self._severity]
        patterns += [code for codes in self.per_file_ignores.values() for code in codes]
        result = unknown_patterns(self.rules, patterns) if patterns else []
        levels = [level.value for level in Severity]
        for pattern, level in self._severity.items():
            if level not in levels:
                result.append(f"the severity of {pattern!r} must be one of {', '.join(levels)}, not {level!r}")
        return result

    def applies(self, finding: Finding) -> bool:
        """Return whether a finding is reported; one about an unreadable text always is."""
        if finding.phase is Phase.READ and finding.severity is Severity.ERROR:
            return True
        if not self._is_active(finding):
            return False
        if not self.per_file_ignores:
            return True

        for pattern, codes in self.per_file_ignores.items():
            if matches(finding.path, self.root, [pattern]) and pattern_matches(finding.code, finding.name, codes):
                return False
        return True

    def _is_active(self, finding: Finding) -> bool:
        if not self.is_default:
            return finding.name in self.active
        # A run may ask for a hundred thousand findings of a few rules.
        key = finding.code, finding.name
        if key not in self._default_on:
            rule = self.known.get(*key)
            self._default_on[key] = rule is not None and rule.default_on
        return self._default_on[key]

    def ignores(self, finding: Finding) -> bool:
        """Return whether a finding is ignored by name; findings about the configuration need not be selected."""
        return pattern_matches(finding.code, finding.name, self._ignore)

    def runs_all(self, patterns: list[str]) -> bool:
        """Return whether every rule that the patterns name and that is on by default is active."""
        return self.is_default or all(
            rule.name in self.active for rule in self.rules if rule.default_on and _names(rule, patterns)
        )

    def adjusted(self, finding: Finding) -> Finding:
        """Return the finding with the project's severity for its rule."""
        wanted = self.severities.get(finding.name)
        if wanted is None or (finding.phase in _FIXED_PHASES and finding.severity is Severity.ERROR):
            return finding
        # Under engine parity only what the engine rejects is an error.
        is_capped = wanted is Severity.ERROR and "atMost" in finding.details
        finding.severity = Severity(finding.details["atMost"]) if is_capped else wanted
        return finding


def _current(patterns: list[str] | None) -> list[str]:
    return [current_pattern(pattern) for pattern in patterns or ()]


def _is_wanted(rule: RuleInfo, patterns: list[str]) -> bool:
    if rule.default_on:
        return ALL in patterns or _names(rule, patterns)
    return rule.code in patterns or rule.name in patterns


def _names(rule: RuleInfo, patterns: list[str]) -> bool:
    return pattern_matches(rule.code, rule.name, patterns)


def pattern_matches(code: str, name: str, patterns: list[str]) -> bool:
    """Return whether one of the patterns names a rule."""
    return ALL in patterns or name in patterns or code.startswith(tuple(filter(str.isupper, patterns)))


def unknown_patterns(rules: Iterable[RuleInfo], patterns: Iterable[str]) -> list[str]:
    """Return a sentence for each pattern that names no rule."""
    known = list(rules)
    problems: list[str] = []
    for pattern in patterns:
        if pattern == ALL or any(_names(rule, [pattern]) for rule in known) or retired_rule(pattern):
            continue

        names = [rule.name for rule in known] + [rule.code for rule in known]
        suggestion = pattern.upper() if pattern.upper() in names else nearest(pattern, names, many=len(names))
        advice = f"did you mean {suggestion!r}?" if suggestion else "run workrail-lint rule to list all rules"
        problems.append(f"no rule matches {pattern!r}; {advice}")
    return problems
