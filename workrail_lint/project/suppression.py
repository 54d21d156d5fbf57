"""Suppressions: JSON has no comments, so accepted findings are listed in the configuration."""

from __future__ import annotations

import os
from typing import Any

from workrail_lint.base.files import read_file
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.wording import listed
from workrail_lint.documents.pointer import file_matches, place_matches, relative_to
from workrail_lint.documents.source_text import SourceText
from workrail_lint.documents.toml_places import table_places
from workrail_lint.findings import Finding, Span
from workrail_lint.project.config import SHARED_FILE, TABLE
from workrail_lint.project.selection import Selection, pattern_matches
from workrail_lint.rules import CONFIGURATION
from workrail_lint.rules.table import current_pattern

_DATE = Pattern(r"\d{4}-\d{2}-\d{2}")
_MEMBERS = {"place", "codes", "reason", "expires"}


class Suppression:
    """One entry: a place, the rules, why, and until when."""

    __slots__ = ("codes", "expires", "number", "place", "reason", "used")

    def __init__(self, place: str, codes: list[str], reason: str, expires: str | None, number: int = 0) -> None:
        self.place = place
        self.codes = codes
        self.reason = reason
        self.expires = expires
        self.number = number  # which entry of the configuration it is, from 0
        self.used = False

    @property
    def file(self) -> str:
        return self.place.partition("#")[0]

    def covers(self, finding: Finding, path: str, pointer: str) -> bool:
        codes = [current_pattern(code) for code in self.codes]
        return pattern_matches(finding.code, finding.name, codes) and place_matches(self.place, path, pointer)


def parse_suppressions(tables: list[dict[str, Any]]) -> Ok[list[Suppression]] | Err[str]:
    """Return the entries of a configuration.

    A reason is required, and an entry that can't be understood is an error.
    """
    entries: list[Suppression] = []
    for number, table in enumerate(tables):
        problem = _problem(table)
        if problem:
            return Err(f"suppress entry {number + 1}: {problem}")
        expires = None if "expires" not in table else str(table["expires"])
        entries.append(Suppression(table["place"], table["codes"], table["reason"], expires, number))
    return Ok(entries)


def _problem(table: dict[str, Any]) -> str | None:
    unknown = sorted(table.keys() - _MEMBERS)
    if unknown:
        return f"unknown key {unknown[0]!r}; known keys are {', '.join(sorted(_MEMBERS))}"
    if not isinstance(table.get("place"), str) or not table["place"]:
        return "'place' is missing: a file, '#' and a pointer by ids, such as workflows/a.json#/steps/plan/prompt"
    codes = table.get("codes")
    if not isinstance(codes, list) or not codes or not all(isinstance(code, str) for code in codes):
        return "'codes' must list the codes or names of rules"
    if not isinstance(table.get("reason"), str) or not table["reason"].strip():
        return "'reason' is missing: say why these findings are accepted"
    if "expires" in table and not _DATE.fullmatch(str(table["expires"])):
        return "'expires' must be a date such as 2027-01-31"
    return None


class Suppressions:
    """All entries of a run, and which of them were used."""

    def __init__(self, entries: list[Suppression], today: str, source: str) -> None:
        is_live = [entry.expires is None or entry.expires >= today for entry in entries]
        self.live = [entry for entry, live in zip(entries, is_live, strict=True) if live]
        self.expired = [entry for entry, live in zip(entries, is_live, strict=True) if not live]
        # By the pointer that an entry covers with all below it; patterns have to be tried one by one.
        self._by_pointer: dict[str, list[Suppression]] = {}
        self._patterns: list[Suppression] = []
        self._order = {id(entry): at for at, entry in enumerate(self.live)}
        for entry in self.live:
            pointer = entry.place.partition("#")[2].rstrip("/")
            (self._patterns if "*" in pointer else self._by_pointer.setdefault(pointer, [])).append(entry)
        self.source = source  # the configuration file, whose folder places are relative to
        self.root = os.path.dirname(os.path.abspath(source))

    def __bool__(self) -> bool:
        return bool(self.live or self.expired)

    def reason(self, finding: Finding, pointer: str) -> str | None:
        """Return why a finding is not reported; None when no entry covers it."""
        path = relative_to(self.root, finding.path)
        candidates = [*self._patterns, *self._by_pointer.get("", ())]
        above = pointer
        while above:
            candidates += self._by_pointer.get(above, ())
            above = above.rpartition("/")[0]
        covering = [entry for entry in candidates if entry.covers(finding, path, pointer)]
        for entry in covering:
            entry.used = True
        return min(covering, key=lambda entry: self._order[id(entry)]).reason if covering else None

    def findings(self, files: list[str] | None, selection: Selection) -> list[Finding]:
        """Return findings about expired entries and, when whole folders were checked (`files` is given), unused ones.

        An entry about a file or a rule that was not checked may still be needed, so it is not reported.
        """
        pairs = [(_expired(entry), entry) for entry in self.expired]
        idle = [entry for entry in self.live if not entry.used] if files is not None else []
        if idle:
            seen = _Seen([relative_to(self.root, path) for path in files or ()])
            pairs += [
                (_unused(entry), entry)
                for entry in idle
                if selection.runs_all(entry.codes) and self._was_checked(entry, seen)
            ]
        pairs = [(finding, entry) for finding, entry in pairs if not selection.ignores(finding)]
        spans = entry_spans(self.source) if pairs else []
        for finding, entry in pairs:
            finding.path = os.path.relpath(self.source)
            finding.span = spans[entry.number] if entry.number < len(spans) else None
        return [selection.adjusted(finding) for finding, _ in pairs]

    def _was_checked(self, entry: Suppression, seen: _Seen) -> bool:
        """Return whether the file of an entry was checked, or no longer exists."""
        if seen.has(entry.file):
            return True
        return not any(char in entry.file for char in "*?[") and not os.path.exists(os.path.join(self.root, entry.file))


class _Seen:
    """The files that were checked, to be asked for by many entries."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths
        parts = [path.split("/") for path in paths]
        self._ends = {"/".join(part[at:]) for part in parts for at in range(len(part))}

    def has(self, file: str) -> bool:
        if file in self._ends:
            return True
        return any(char in file for char in "*?[") and any(file_matches(file, path) for path in self._paths)


def _expired(entry: Suppression) -> Finding:
    advice = "fix the place and remove the entry, or set a later `expires`"
    message = f"this suppression of {entry.place} was due for review on {entry.expires} and no longer applies; {advice}"
    return _finding("suppression-expired", message)


def _unused(entry: Suppression) -> Finding:
    message = f"this suppression of {entry.place} matches no finding of {listed(entry.codes)}; remove the entry"
    return _finding("suppression-unused", message)


def _finding(name: str, message: str) -> Finding:
    rule = CONFIGURATION.by_name[name]
    return Finding(rule.code, rule.name, rule.severity, message)


def entry_spans(source: str) -> list[Span]:
    """Return the spans of the entries in a configuration file, in order; none when it can no longer be read."""
    read = read_file(source)
    if isinstance(read, Err):
        return []
    text = read.value.decode("utf-8", "replace")
    table = ("tool", TABLE) if os.path.basename(source) == SHARED_FILE else ()
    lines = SourceText(text)
    return [lines.span(start, end) for start, end in table_places(text, (*table, "suppress"))]
