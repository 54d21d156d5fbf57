"""The input of a reporter: findings in order, with everything that is shown about them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.wording import counted, listed
from workrail_lint.documents.source_text import SourceText
from workrail_lint.findings import Confidence, Edit, Finding, Position, Safety, Severity, Span
from workrail_lint.project.baseline import fingerprint
from workrail_lint.rules.base import Rule
from workrail_lint.rules.table import RuleInfo

_START = Position(1, 1, 0, 0)
_WIDTH = 100


Edits = tuple[Edit, ...]


class Reported:
    """A finding, the edits of its fix, and the reason of the suppression that covers it, if any.

    Few formats show edits, and computing them is expensive, so they may be a function. No edits mean that the fix
    can no longer be applied.
    """

    __slots__ = ("_edits", "finding", "reason")

    def __init__(
        self, finding: Finding, edits: Edits | Callable[[Finding], Edits] = (), reason: str | None = None
    ) -> None:
        self.finding = finding
        self._edits = edits
        self.reason = reason

    @property
    def edits(self) -> Edits:
        if callable(self._edits):
            self._edits = self._edits(self.finding)
        return self._edits

    @property
    def span(self) -> Span:
        """The finding's span; a finding about a whole file is at its start."""
        return self.finding.span or Span(_START, _START)


class Summary(NamedTuple):
    """Counts for the last line and for programs."""

    files: int
    errors: int
    warnings: int
    infos: int
    fixable: int  # by safe fixes
    fixable_unsafe: int
    baselined: int
    suppressed: int

    @property
    def findings(self) -> int:
        return self.errors + self.warnings + self.infos


class ReportData:
    """One run, ready to be shown.

    `accepted` findings are in the baseline and `suppressed` ones are covered by the configuration: formats that
    can mark them do so, the others omit them. `sources` returns the text of a file for source frames and for
    the positions of edits, None when it can no longer be read. Colours and links are for terminals only; `link`
    turns a path into an address.
    """

    __slots__ = (
        "accepted",
        "colour",
        "confidence",
        "files",
        "findings",
        "has_baseline",
        "least",
        "link",
        "load",
        "rules",
        "sources",
        "strict",
        "suppressed",
        "version",
        "width",
    )

    def __init__(
        self,
        findings: Iterable[Reported],
        *,
        sources: Callable[[str], SourceText | None],
        rules: dict[str, RuleInfo],
        files: int,
        version: str,
        accepted: Iterable[Reported] = (),
        suppressed: Iterable[Reported] = (),
        has_baseline: bool = False,
        strict: bool = False,
        colour: bool = False,
        link: Callable[[str], str] | None = None,
        load: Callable[[RuleInfo], Rule] | None = None,
        width: int = _WIDTH,
        least: Severity = Severity.INFO,
        confidence: Confidence = Confidence.LOW,
    ) -> None:
        self.findings = sorted(findings, key=_order)
        self.accepted = sorted(accepted, key=_order)
        self.suppressed = sorted(suppressed, key=_order)
        self.sources = sources
        self.rules = rules  # by name
        self.files = files
        self.version = version
        self.has_baseline = has_baseline or bool(self.accepted)
        self.strict = strict
        self.colour = colour
        self.link = link
        self.load = load  # returns the rule itself, for its examples
        self.width = width
        # Less severe and less certain findings are counted but not shown, except in JSON.
        self.least = least
        self.confidence = confidence

    @property
    def shown(self) -> list[Reported]:
        """The findings that are severe and certain enough to be shown."""
        return self.severe(self.findings)

    def severe(self, items: list[Reported]) -> list[Reported]:
        return [item for item in items if self._is_severe(item) and self._is_certain(item)]

    def _is_severe(self, item: Reported) -> bool:
        return item.finding.severity.rank <= self.least.rank

    def _is_certain(self, item: Reported) -> bool:
        return item.finding.confidence.rank <= self.confidence.rank

    @property
    def hidden(self) -> str:
        """Return how many findings are not shown, and how to see them; "" when all are."""
        hidden = [item for item in self.findings if not (self._is_severe(item) and self._is_certain(item))]
        levels = [item.finding.severity for item in hidden]
        parts = [counted(levels.count(level), level.value) for level in Severity if level in levels]
        options = [] if all(map(self._is_severe, hidden)) else ["--severity info"]
        options += [] if all(map(self._is_certain, hidden)) else ["--confidence low"]
        return f"{listed(parts)} hidden; show them with {' '.join(options)}" if parts else ""

    @property
    def summary(self) -> Summary:
        levels = [item.finding.severity for item in self.findings]
        fixes = [item.finding.fix.safety for item in self.findings if item.finding.fix is not None]
        return Summary(
            self.files,
            levels.count(Severity.ERROR),
            levels.count(Severity.WARNING),
            levels.count(Severity.INFO),
            fixes.count(Safety.SAFE),
            fixes.count(Safety.UNSAFE),
            len(self.accepted),
            len(self.suppressed),
        )

    def fails(self, finding: Finding) -> bool:
        """Return whether a finding makes the run fail."""
        return finding.severity is Severity.ERROR or (self.strict and finding.severity is Severity.WARNING)

    def help(self, finding: Finding) -> str:
        """More than the message: the finding's own advice, or why the rule exists."""
        if finding.help:
            return finding.help
        rule = self.rules.get(finding.name)
        return rule.why if rule is not None else ""


def portable(path: str) -> str:
    """A path as programs on another machine read it."""
    return path.replace(os.sep, "/")


def _order(item: Reported) -> tuple[str, int, int, str, str, str]:
    """By path, position, code; findings about the whole file come first."""
    finding = item.finding
    line, column = (finding.span.start.line, finding.span.start.column) if finding.span else (0, 0)
    return portable(finding.path), line, column, finding.code, finding.message, finding.pointer


def unique_fingerprint(item: Reported, seen: Counter[str]) -> str:
    """As in a baseline, except that several findings of one rule at one place differ: services keep only one
    finding for each fingerprint. `seen` counts those of the run so far."""
    own = fingerprint(item.finding)
    seen[own] += 1
    return own if seen[own] == 1 else canonical_hash([own, seen[own]])[7:39]
