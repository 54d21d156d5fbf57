"""The input of a reporter: findings in order, with everything that is shown about them, and their source texts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Record
from workrail_lint.base.wording import counted, listed
from workrail_lint.documents.json_reader import JsonDocument, read_json, text_of
from workrail_lint.documents.source_text import SourceText
from workrail_lint.findings import Confidence, Edit, Finding, Position, Safety, Severity, Span
from workrail_lint.project.baseline import fingerprint
from workrail_lint.rules.base import Rule
from workrail_lint.rules.table import RuleInfo

if TYPE_CHECKING:
    from workrail_lint.documents.json_edit import Editor

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


class Summary(Record):
    """Counts for the last line and for programs."""

    __slots__ = ("baselined", "errors", "files", "fixable", "fixable_unsafe", "infos", "suppressed", "warnings")

    def __init__(
        self,
        files: int,
        errors: int,
        warnings: int,
        infos: int,
        fixable: int,
        fixable_unsafe: int,
        baselined: int,
        suppressed: int,
    ) -> None:
        self.files = files
        self.errors = errors
        self.warnings = warnings
        self.infos = infos
        self.fixable = fixable  # by safe fixes
        self.fixable_unsafe = fixable_unsafe
        self.baselined = baselined
        self.suppressed = suppressed

    @property
    def findings(self) -> int:
        return self.errors + self.warnings + self.infos


def rule_address(docs_url: str, rule: RuleInfo) -> str | None:
    """Return where the site of these docs explains a rule; None without a site, and for the rules of plugins."""
    if not docs_url or not rule.module:  # rules of plugins are in no table
        return None
    return f"{docs_url.rstrip('/')}/rules/{rule.code}.html"


class ReportData:
    """One run, ready to be shown.

    `accepted` findings are in the baseline and `suppressed` ones are covered by the configuration: formats that
    can mark them do so, the others omit them. `sources` returns the text of a file for source frames and for
    the positions of edits, None when it can no longer be read. Colours and links are for terminals only; `link`
    turns a path and a line (0: the whole file) into an address. `wrap` is the width at which sentences are broken,
    None on no terminal. `docs_url` is where the project serves these docs.
    """

    __slots__ = (
        "accepted",
        "colour",
        "confidence",
        "docs_url",
        "files",
        "findings",
        "has_baseline",
        "least",
        "link",
        "load",
        "rules",
        "shows_fixes",
        "sources",
        "strict",
        "suppressed",
        "version",
        "width",
        "wrap",
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
        link: Callable[[str, int], str] | None = None,
        load: Callable[[RuleInfo], Rule] | None = None,
        width: int = _WIDTH,
        wrap: int | None = None,
        least: Severity = Severity.INFO,
        confidence: Confidence = Confidence.LOW,
        docs_url: str = "",
        shows_fixes: bool = False,
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
        self.wrap = wrap
        # Less severe and less certain findings are counted but not shown, except in JSON.
        self.least = least
        self.confidence = confidence
        self.docs_url = docs_url
        self.shows_fixes = shows_fixes

    def rule_address(self, rule: RuleInfo) -> str | None:
        return rule_address(self.docs_url, rule)

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
        """Return more than the message: the finding's own advice, or why the rule exists."""
        if finding.help:
            return finding.help
        rule = self.rules.get(finding.name)
        return rule.why if rule is not None else ""


def portable(path: str) -> str:
    """Return a path as programs on another machine read it."""
    return path.replace(os.sep, "/")


def _order(item: Reported) -> tuple[str, int, int, str, str, str]:
    """Return the key for sorting by path, position, code; findings about the whole file come first."""
    finding = item.finding
    line, column = (finding.span.start.line, finding.span.start.column) if finding.span else (0, 0)
    return portable(finding.path), line, column, finding.code, finding.message, finding.pointer


def unique_fingerprint(item: Reported, seen: Counter[str]) -> str:
    """Return the fingerprint of a baseline, made unique: services keep only one finding for each.

    `seen` counts the fingerprints of the run so far.
    """
    own = fingerprint(item.finding)
    seen[own] += 1
    return own if seen[own] == 1 else canonical_hash([own, seen[own]])[7:39]


# Findings are ordered by file, so few texts are needed at a time.
_KEPT = 4


class Sources:
    """Gives `ReportData` the text of a path, and findings the edits of their fixes.

    `given` holds texts that are not those on disk, such as the one on standard input; with `disk` false there are
    no others.
    """

    def __init__(self, given: Mapping[str, bytes] | None = None, *, disk: bool = True) -> None:
        self._given = given or {}
        self._disk = disk
        self._texts: dict[str, SourceText | None] = {}
        self._documents: dict[str, JsonDocument | None] = {}
        self._editors: dict[str, Editor] = {}  # of those documents that have fixes to show

    def __call__(self, path: str) -> SourceText | None:
        if path in self._documents:
            document = self._documents[path]
            return None if document is None else document.source
        if path not in self._texts:
            if len(self._texts) >= _KEPT:
                del self._texts[next(iter(self._texts))]

            data = self._read(path)
            self._texts[path] = None if data is None else SourceText(text_of(data))
        return self._texts[path]

    def document(self, path: str) -> JsonDocument | None:
        if path not in self._documents:
            if len(self._documents) >= _KEPT:
                oldest = next(iter(self._documents))
                del self._documents[oldest]
                self._editors.pop(oldest, None)

            data = self._read(path)
            self._documents[path] = None if data is None else read_json(data, parity=True, max_bytes=None)
        return self._documents[path]

    def _read(self, path: str) -> bytes | None:
        data = self._given.get(path)
        if data is None:
            if not self._disk:
                return None
            read = read_file(path)
            if isinstance(read, Err):
                return None
            data = read.value
        return data

    def reported(self, findings: Iterable[Finding], reasons: Mapping[int, str] | None = None) -> list[Reported]:
        """Return findings ready for a report; `reasons` are those of suppressions, by the identity of the finding."""
        return [Reported(finding, self.edits, (reasons or {}).get(id(finding))) for finding in findings]

    def edits(self, finding: Finding) -> Edits:
        """Return what the fix of a finding changes in the text; nothing when there is no fix or it can't be applied."""
        document = self.document(finding.path) if finding.fix is not None else None
        if document is None or finding.fix is None:
            return ()
        if finding.path not in self._editors:
            from workrail_lint.documents.json_edit import Editor  # only fixes that are shown need it

            self._editors[finding.path] = Editor(document)
        return self._editors[finding.path].edits(finding.fix)
