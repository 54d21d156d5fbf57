"""TC601 to TC608: approve-design-history.jsonl, the record of requested changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from workrail_lint.documents.operations import Cut, Respell
from workrail_lint.findings import Fix, Safety, Severity, safe
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Document, Report, TeamRule
from workrail_lint.systems.team.session import read_artifact
from workrail_lint.systems.team.state_machine import is_change_request
from workrail_lint.systems.team.vocabulary import APPROVE_DESIGN_ID, CHANGES_REQUESTED, Moment, is_timestamp, moment
from workrail_lint.systems.team.wording import in_line, shown, type_name

_MEMBERS = ("at", "decision_id", "answer", "state_context")
_GATE = {"decision_id": APPROVE_DESIGN_ID, "state_context": "APPROVE_DESIGN"}
_NAME = "approve-design-history.jsonl"


def _entries(document: Document) -> list[tuple[int, dict[str, Any]]]:
    """The lines that hold an object, by index."""
    return [(line.index, line.value) for line in document.reader.lines if type(line.value) is dict]


class HistoryLineInvalid(TeamRule):
    code = "TC601"
    name = "history-line-invalid"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A history line is not a single JSON object."
    why = "The history is read line by line; a broken line can hide the request that it should record."

    def check_history(self, document: Document, report: Report) -> None:
        for line in document.reader.lines:
            if line.is_blank:
                continue
            slips = [p for p in line.document.problems if p.name != "json-duplicate-key"]
            if slips:
                said = in_line(slips[0].message, line.index)
                report(f"/{line.index}", f"line {line.index + 1} is not valid JSON: {said}")
            elif type(line.value) is not dict:
                report(f"/{line.index}", f"line {line.index + 1} must be an object, not {type_name(line.value)}")

    def examples(self) -> Iterator[Example]:
        yield Example("changes: x\n", samples.history(), path=samples.HISTORY)
        yield Example("[]\n", samples.history(), path=samples.HISTORY)


class HistoryFieldMissing(TeamRule):
    code = "TC602"
    name = "history-field-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A history line lacks `at`, `decision_id`, `answer` or `state_context`."
    why = "A request without its time or its wording proves nothing."

    def check_history(self, document: Document, report: Report) -> None:
        for index, entry in _entries(document):
            for name in _MEMBERS:
                if name not in entry:
                    report(f"/{index}", f"'{name}' is missing from line {index + 1}")
            if "at" in entry and not is_timestamp(entry["at"]):
                report(
                    f"/{index}/at",
                    f"'at' in line {index + 1} must be a date-time with a time zone, not {shown(entry['at'])}",
                )

    def examples(self) -> Iterator[Example]:
        yield Example(samples.history(samples.request(at=...)), samples.history(), path=samples.HISTORY)


class HistoryWrongDecision(TeamRule):
    code = "TC603"
    name = "history-wrong-decision"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A history line belongs to another decision or to another state."
    why = "The history records only the approval of the design."

    def check_history(self, document: Document, report: Report) -> None:
        for index, entry in _entries(document):
            for name, wanted in _GATE.items():
                if name in entry and entry[name] != wanted:
                    report(
                        f"/{index}/{name}", f"'{name}' in line {index + 1} must be {wanted}, not {shown(entry[name])}"
                    )

    def examples(self) -> Iterator[Example]:
        bad = samples.history(samples.request(decision_id="UD-1"))
        yield Example(bad, samples.history(), path=samples.HISTORY)


class HistoryAnswerPrefix(TeamRule):
    code = "TC604"
    name = "history-answer-prefix"
    severity = Severity.ERROR
    origin = FIXED
    summary = f"An answer in the history does not start with `{CHANGES_REQUESTED}`."
    why = "The history records only requested changes; an approval belongs in `status.json`."

    def check_history(self, document: Document, report: Report) -> None:
        for index, entry in _entries(document):
            if "answer" in entry and not is_change_request(entry["answer"]):
                answer = shown(entry["answer"])
                message = f"the answer in line {index + 1} must start with '{CHANGES_REQUESTED}', but is {answer}"
                report(f"/{index}/answer", message)

    def examples(self) -> Iterator[Example]:
        yield Example(samples.history(samples.request("approved")), samples.history(), path=samples.HISTORY)


class HistoryTimeOrder(TeamRule):
    code = "TC605"
    name = "history-time-order"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A history line is older than the line before it."
    why = "Lines are only appended; an older line was inserted later, or the line before it was changed."

    def check_history(self, document: Document, report: Report) -> None:
        last: tuple[int, Moment] | None = None
        for index, entry in _entries(document):
            at = moment(entry.get("at"))
            if at is None:
                continue
            if last is not None and at < last[1]:
                report(f"/{index}/at", f"line {index + 1} is older than line {last[0] + 1}")
            last = index, at

    def examples(self) -> Iterator[Example]:
        early, late = samples.request(at="2026-03-01T09:00:00Z"), samples.request(at="2026-03-01T10:00:00Z")
        yield Example(samples.history(late, early), samples.history(early, late), path=samples.HISTORY)


class HistoryRewritten(TeamRule):
    code = "TC606"
    name = "history-rewritten"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The history does not start with the content of its earlier version."
    why = "The file is append-only: recorded lines must stay as they are, byte for byte."

    def check_history(self, document: Document, report: Report) -> None:
        earlier = _earlier(document)
        if earlier is None or document.text.startswith(earlier):
            return
        then, now = earlier.split("\n"), document.text.split("\n")
        same = next((i for i, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), min(len(then), len(now)))
        at = f"/{same}" if same < len(document.reader.lines) else ""
        report(at, f"line {same + 1} differs from the earlier version; lines can only be appended")

    def examples(self) -> Iterator[Example]:
        first = samples.request("changes-requested: a", "2026-03-01T09:00:00Z")
        second = samples.request("changes-requested: b", "2026-03-01T10:00:00Z")
        yield Example(
            samples.history(second),
            samples.history(first, second),
            path=samples.HISTORY,
            files={f"earlier/{_NAME}": samples.history(first)},
            options={"team-history-baseline": f"earlier/{_NAME}"},
        )


def _earlier(document: Document) -> str | None:
    """The earlier version that the options name: a file, or a folder that holds it."""
    baseline = document.options.history_baseline
    if baseline is None:
        return None
    candidates = [baseline, os.path.join(baseline, _NAME)]
    if document.place is not None:
        candidates.append(os.path.join(baseline, document.place.name, _NAME))
    for path in candidates:
        data = read_artifact(path)
        if data is not None:
            return data.decode("utf-8", "replace")
    return None


class HistoryBlankLine(TeamRule):
    code = "TC607"
    name = "history-blank-line"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The history has a blank line, or no newline at its end."
    why = "The next appended line continues the unfinished one, and both are lost."
    fix = "Remove the blank line, or add the newline."
    fix_safety = "safe"

    def check_history(self, document: Document, report: Report) -> None:
        text = document.text
        for line in document.reader.lines:
            if line.is_blank:
                end = text.find("\n", line.end)
                fix = safe("remove the line", Cut(line.start, len(text) if end < 0 else end + 1))
                report(f"/{line.index}", f"line {line.index + 1} is blank", fix=fix)
        if not document.reader.ends_with_newline and not document.reader.lines[-1].is_blank:
            fix = Fix("add the newline", Safety.SAFE, (Respell(len(text), len(text), "\n"),))
            report(f"/{len(document.reader.lines) - 1}", "the last line does not end with a newline", fix=fix)

    def examples(self) -> Iterator[Example]:
        first = samples.history(samples.request(at="2026-03-01T09:00:00Z"))
        second = samples.history(samples.request("changes-requested: b"))
        yield Example(f"{first}\n{second}", first + second, first + second, path=samples.HISTORY)
        yield Example(first.rstrip("\n"), first, first, path=samples.HISTORY)


class HistoryRepeated(TeamRule):
    code = "TC608"
    name = "history-repeated"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The history contains the same request twice."
    why = "A write was retried after it had succeeded, so the history counts one request too many."

    def check_history(self, document: Document, report: Report) -> None:
        seen: dict[tuple[str, str], int] = {}
        for index, entry in _entries(document):
            at, answer = entry.get("at"), entry.get("answer")
            if type(at) is str and type(answer) is str and (first := seen.setdefault((at, answer), index)) != index:
                report(f"/{index}", f"line {index + 1} duplicates line {first + 1}")

    def examples(self) -> Iterator[Example]:
        line = samples.history()
        yield Example(line + line, line, path=samples.HISTORY)
