"""The members of an output file, its name and the paths it lists."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.operations import Remove, Rename, Replace
from workrail_lint.documents.pointer import child
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Fix, Severity, safe, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import ANY, REPORTED_ELSEWHERE, Description
from workrail_lint.systems.blocks.documents import BlockKind, id_in_name, split_path
from workrail_lint.systems.blocks.model.documents import BlockOutput
from workrail_lint.systems.blocks.paths import is_below_output, is_rel_path, is_safe_id, normalized
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, ENGINES, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.samples import output, output_path
from workrail_lint.systems.blocks.rules.shapes import shape_problem
from workrail_lint.systems.blocks.timestamps import parse_timestamp
from workrail_lint.systems.blocks.vocabulary import (
    SUMMARY_SENTENCES,
)
from workrail_lint.systems.blocks.wording import shown

OUTPUT_MEMBERS = (
    "blockId",
    "blockType",
    "status",
    "deliverables",
    "summary",
    "filesModified",
    "filesCreated",
    "timestamp",
)
_ARRAYS = ("filesModified", "filesCreated")
_LEGACY_KEYS = {
    "nodeId": "use 'blockId'",
    "outputPath": "remove it, because the contract fixes the path",
    "error": "use 'summary' with the status 'failed'",
}
_LEGACY_STATUS = {"success": "use 'completed'", "skipped": "write no output at all"}
_FILE = output_path()
_CODE = {"blockType": "code", "diffSummary": "One form."}
_EXTENDED = {"block-deliverables": "extended"}


class OutputRule(BlockRule):
    """A rule about output files."""

    kinds = (BlockKind.OUTPUT,)


class OutputInvalid(OutputRule):
    code = "BC101"
    name = "block-output-invalid"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A field of an output or of its deliverables is missing, unknown, blank, or of another type or form."
    why = "The harness marks a block with a malformed output as failed, and reads no field that it does not know."
    fix = "Rename a misspelled field, add an empty list, wrap a path in a list (unsafe: replace a wrong value)."
    fix_safety = "safe or unsafe"
    describes = ((ANY,),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        return shape_problem(violation, document)

    def check_document(self, document: BlockDocument, report: Report) -> None:
        self._output_timestamp_naive(document, report)
        self._output_extra_key(document, report)

    def _output_timestamp_naive(self, document: BlockDocument, report: Report) -> None:
        value = document.output.timestamp
        parsed = parse_timestamp(value)
        if parsed is not None and not parsed.has_zone:
            fix = unsafe("treat it as UTC", Replace("/timestamp", f"{value}Z"))
            report("/timestamp", f"the timestamp {shown(value)} has no time zone", fix=fix, severity=Severity.WARNING)

    def _output_extra_key(self, document: BlockDocument, report: Report) -> None:
        value = document.value
        meant = dict(misspelled(value, OUTPUT_MEMBERS))
        for key in value:
            if key in OUTPUT_MEMBERS or key in _LEGACY_KEYS:
                continue
            if key not in meant:
                report(
                    child("", key),
                    f"{shown(key)} is not one of the eight fields of an output",
                    on_name=True,
                    severity=Severity.INFO,
                )
            elif meant[key] in value:  # else it is missing, and that is said
                _report_misspelled(child("", key), key, meant[key], report)
        deliverables = document.output.deliverables
        if deliverables is not None:
            for key, near in misspelled(deliverables.raw, ("blockType", *deliverables.leaves, *deliverables.parts)):
                _report_misspelled(deliverables.at(key), key, near, report)

    def examples(self) -> Iterator[Example]:
        whole = output()
        del whole["filesCreated"]
        yield Example(whole, output(), {**whole, "filesCreated": []}, path=_FILE)
        yield Example(output(summary=...), output(), path=_FILE)
        typo = {name.replace("filesM", "fileM"): value for name, value in output().items()}
        yield Example(typo, output(), output(), path=_FILE)
        yield Example(
            output(filesModified="a.py"), output(filesModified=["a.py"]), output(filesModified=["a.py"]), path=_FILE
        )
        yield Example(output(summary=7), output(), path=_FILE)
        yield Example(output(blockType="code"), output(), output(), path=_FILE)
        yield Example(output(status="done"), output(), path=_FILE)
        yield Example(output(timestamp=1700000000), output(), path=_FILE)
        yield Example(
            output(timestamp="2026-02-30T10:00:00Z"), output(timestamp="2026-02-28T10:00:00+01:00"), path=_FILE
        )
        yield Example(output(timestamp="2026-03-01T10:00:00"), output(), output(), path=_FILE)
        yield Example(output(cost=1), output(), path=_FILE)
        yield Example(output(fileModified=["src/a.py"]), output(), path=_FILE)
        code = {"blockType": "code", "diffSummary": "Adds a form."}
        yield Example(
            output(deliverables={**code, "fileChanged": ["src/login.py"]}), output(deliverables=code), path=_FILE
        )
        yield Example(output("../x"), output("x"), path=output_path("x"))
        good = output(deliverables=_CODE)
        yield Example(
            output(deliverables={"diffSummary": "One form."}),
            good,
            {**good, "deliverables": dict(reversed(_CODE.items()))},
            path=_FILE,
        )
        good = output(deliverables=_CODE)
        yield Example(output(deliverables={**_CODE, "blockType": "dev"}), good, good, path=_FILE)
        bad = output("t", "test", deliverables={"blockType": "test"})
        yield Example(bad, output("t", "test"), path=output_path("t"))
        good = output("plan", "plan", deliverables={"blockType": "plan", "taskList": ["T01"]})
        bad = output("plan", "plan", deliverables={"blockType": "plan", "taskList": "T01"})
        yield Example(bad, good, good, path=output_path("plan"))

        def tests(passed: object) -> dict[str, Any]:
            counts = {"passed": passed, "failed": 0, "skipped": 0}
            return output("t", "test", deliverables={"blockType": "test", "testResults": counts})

        yield Example(tests(-1), tests(12), path=output_path("t"), options=dict(_EXTENDED))


class OutputLegacyShape(OutputRule):
    code = "BC105"
    name = "output-legacy-shape"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "The output has fields or a status that older engines wrote."
    why = "Old fields are no longer read: their content is lost, and the fields that replace them are missing."
    fix = "Rename `nodeId` to `blockId`, and replace `success` with `completed`."
    fix_safety = "unsafe"

    def check_document(self, document: BlockDocument, report: Report) -> None:
        value = document.value
        for key, instead in _LEGACY_KEYS.items():
            if key in value:
                fix = None
                if key == "nodeId" and "blockId" not in value:
                    fix = unsafe("rename it to blockId", Rename("/nodeId", "blockId"))
                report(f"/{key}", f"{shown(key)} is a field of older engines; {instead}", fix=fix, on_name=True)
        for status, instead in _LEGACY_STATUS.items():
            if value.get("status") == status:
                fix = unsafe("replace with completed", Replace("/status", "completed")) if status == "success" else None
                report("/status", f"the status {shown(status)} is from older engines; {instead}", fix=fix)

    def examples(self) -> Iterator[Example]:
        whole = output()
        old = {"nodeId": whole["blockId"], **{k: v for k, v in whole.items() if k != "blockId"}, "status": "success"}
        yield Example(old, whole, whole, path=_FILE)
        yield Example(output(error="Out of memory."), output(summary="Out of memory."), path=_FILE)


class OutputSummaryLength(OutputRule):
    code = "BC108"
    name = "block-output-summary-length"
    severity = Severity.WARNING
    origin = CONTRACT
    summary = "The summary has more than three sentences or (an error) is blank."
    why = "A person reads it at the gate to see what the block produced; a blank summary makes the file unusable."
    describes = ((ANY, "pattern", "summary"),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        message = "the summary is blank; describe in one to three sentences what was done"
        return Description(message, severity=Severity.ERROR)

    def check_document(self, document: BlockDocument, report: Report) -> None:
        count = sentences(document.output.summary)
        if count > SUMMARY_SENTENCES:
            report(
                "/summary", f"the summary has {count} sentences; a person at a gate reads at most {SUMMARY_SENTENCES}"
            )

    def examples(self) -> Iterator[Example]:
        long = "Adds a form. Adds a route. Adds a test. Renames a file. Runs the linter."
        yield Example(output(summary=long), output(summary="Adds a form, a route and a test."), path=_FILE)
        yield Example(output(summary=" "), output(), path=_FILE)


# A sentence ends before white space, but not after an abbreviation or a list number.
_SENTENCE_END = Pattern(r"[.!?]+[\"')\]]*(?=\s|$)|[。！？]+")
_NO_END = Pattern(r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|no|fig|[A-Za-z]|\d+)$", re.IGNORECASE)
_WORD = Pattern(r"\w")


def sentences(text: str) -> int:
    """Return how many sentences a string has."""
    count = start = 0
    for match in _SENTENCE_END.finditer(text):
        before = text[start : match.start()]
        if match[0] == "." and match.end() < len(text) and _NO_END.search(before[-8:]):
            continue
        if _WORD.search(before):
            count += 1
        start = match.end()
    return count + (1 if _WORD.search(text[start:]) else 0)


class OutputEmpty(OutputRule):
    code = "BC113"
    name = "output-empty"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A partial or completed output contains no work."
    why = (
        "Partial counts as completed, so the next block starts from work that does not exist. Such a block has failed."
    )

    def check_document(self, document: BlockDocument, report: Report) -> None:
        self._output_partial_empty(document, report)
        self._output_completed_empty(document, report)

    def _output_partial_empty(self, document: BlockDocument, report: Report) -> None:
        whole, deliverables = document.output, document.output.deliverables
        bare = deliverables is not None and not deliverables.raw.keys() - {"blockType"}
        if whole.status == "partial" and bare and _lists_nothing(whole):
            report("/status", "the status is 'partial', but the output has no files and no deliverables")

    def _output_completed_empty(self, document: BlockDocument, report: Report) -> None:
        whole = document.output
        if whole.status == "completed" and whole.block_type in ("dev", "devops") and _lists_nothing(whole):
            block = f"{whole.block_type} block" + (f" {shown(whole.block_id)}" if whole.block_id else "")
            report("/filesModified", f"the {block} is completed, but lists no files")

    def examples(self) -> Iterator[Example]:
        bad = output(status="partial", filesModified=[], deliverables={"blockType": "code"})
        yield Example(bad, output(status="partial"), path=_FILE)
        yield Example(output(filesModified=[]), output(filesModified=[], filesCreated=["src/a.py"]), path=_FILE)


def misspelled(value: Mapping[str, Any], known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the unknown members that look like a known one, and that one."""
    for key in value:
        near = None if key in known or key in _LEGACY_KEYS else nearest(key, known)
        if near is not None:
            yield key, near


def _report_misspelled(pointer: str, key: str, near: str, report: Report) -> None:
    message = f"unknown field {shown(key)}; did you mean {shown(near)}?"
    report(pointer, message, on_name=True, severity=Severity.WARNING)


class OutputFileName(OutputRule):
    code = "BC117"
    name = "output-file-name"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The file of an output is not named after its block."
    why = "The next block and the harness look for exactly this name; under another name the output counts as missing."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        self._output_file_name(document, report)
        self._output_id_mismatch(document, report)

    def _output_file_name(self, document: BlockDocument, report: Report) -> None:
        if id_in_name(document.path, BlockKind.OUTPUT) is None:
            name = split_path(document.path)[2]
            ident = document.output.block_id
            hint = f"; rename it to {shown(f'block-{ident}.json')}" if is_safe_id(ident) else ""
            report("", f"{shown(name)} is not the name of an output{hint}")

    def _output_id_mismatch(self, document: BlockDocument, report: Report) -> None:
        named, ident = id_in_name(document.path, BlockKind.OUTPUT), document.output.block_id
        if named is not None and document.output.has("blockId") and ident != named:
            report("/blockId", f"the file name says {shown(named)}, but the block id is {shown(ident)}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            output("A"), output("A"), path=".output/blockA.json", options={"good_path": ".output/block-A.json"}
        )
        yield Example(output("b"), output("a"), path=output_path("a"))


def _lists_nothing(whole: BlockOutput) -> bool:
    return all(whole.raw.get(name) == [] for name in _ARRAYS)


_LISTS = ("filesModified", "filesCreated")
_OUTPUT_FILE = output_path()


class ListedPath(NamedTuple):
    """A path as written, as it is compared, and its pointer."""

    written: str
    path: str
    pointer: str


def listed_paths(whole: BlockOutput, member: str) -> list[ListedPath]:
    """Return the paths in one list of an output."""
    paths = whole.files_modified if member == "filesModified" else whole.files_created
    return [ListedPath(text, normalized(text), whole.at(member, at)) for at, text in numbered(paths)]


class OutputPathWrong(OutputRule):
    code = "BC109"
    name = "output-path-wrong"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A listed path is not relative to the workspace, is listed twice, or is in the output folder."
    why = (
        "Paths are compared as strings to find conflicts between lanes, and joined to the workspace when files "
        "are merged: a path that is absolute or leaves the workspace is missed, or touches files that it must "
        "not."
    )
    fix = "Remove the mount point or the leading `./`. Keep the first. Keep it as created. Remove the entry."
    fix_safety = "safe"
    describes = tuple((ANY, "pattern", member) for member in _LISTS)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        return REPORTED_ELSEWHERE  # every path is checked below

    def check_document(self, document: BlockDocument, report: Report) -> None:
        self._output_path_not_relative(document, report)
        self._output_path_duplicate(document, report)
        self._output_created_and_modified(document, report)
        self._output_lists_output_folder(document, report)

    def _output_path_not_relative(self, document: BlockDocument, report: Report) -> None:
        for member in _LISTS:
            for entry in listed_paths(document.output, member):
                if not is_rel_path(entry.written):
                    report(entry.pointer, f"{shown(entry.written)} {_fault(entry.written)}", fix=_tidied(entry))

    def _output_path_duplicate(self, document: BlockDocument, report: Report) -> None:
        for member in _LISTS:
            seen: set[str] = set()
            for entry in listed_paths(document.output, member):
                if entry.path in seen:
                    fix = safe("remove the duplicate", Remove(entry.pointer))
                    report(
                        entry.pointer,
                        f"{shown(entry.path)} is listed twice in {member}",
                        fix=fix,
                        severity=Severity.WARNING,
                    )
                seen.add(entry.path)

    def _output_created_and_modified(self, document: BlockDocument, report: Report) -> None:
        new = {entry.path for entry in listed_paths(document.output, "filesCreated")}
        for entry in listed_paths(document.output, "filesModified"):
            if entry.path in new:
                fix = safe("keep it as created", Remove(entry.pointer))
                report(
                    entry.pointer,
                    f"{shown(entry.path)} is listed both as modified and as created",
                    fix=fix,
                    severity=Severity.WARNING,
                )

    def _output_lists_output_folder(self, document: BlockDocument, report: Report) -> None:
        for member in _LISTS:
            for entry in listed_paths(document.output, member):
                if is_below_output(entry.path):
                    fix = safe("remove it", Remove(entry.pointer))
                    message = f"{shown(entry.path)} is in the output folder, which is not part of the work"
                    report(entry.pointer, message, fix=fix, severity=Severity.WARNING)

    def examples(self) -> Iterator[Example]:
        good = output(filesModified=["src/a.py"])
        yield Example(output(filesModified=["/workspace/src/a.py"]), good, good, path=_OUTPUT_FILE)
        yield Example(output(filesModified=["./src/a.py"]), good, good, path=_OUTPUT_FILE)
        yield Example(output(filesModified=["../../etc/passwd"]), good, path=_OUTPUT_FILE)
        yield Example(output(filesModified=["C:\\src\\a.py"]), good, path=_OUTPUT_FILE)
        good = output(filesModified=["a.py"])
        yield Example(output(filesModified=["a.py", "a.py"]), good, good, path=_OUTPUT_FILE)
        good = output(filesModified=[], filesCreated=["a.py"])
        yield Example(output(filesModified=["a.py"], filesCreated=["a.py"]), good, good, path=_OUTPUT_FILE)
        good = output(filesCreated=["b.py"])
        yield Example(output(filesCreated=["b.py", ".output/block-x.json"]), good, good, path=_OUTPUT_FILE)


def _tidied(entry: ListedPath) -> Fix | None:
    if not is_rel_path(entry.path):
        return None
    return safe(f"replace with {entry.path}", Replace(entry.pointer, entry.path))


def _fault(path: str) -> str:
    if "\\" in path:
        return "contains a backslash; write paths with '/'"
    if path.startswith("/"):
        return "is absolute; write it relative to the workspace"
    if ".." in path.split("/"):
        return "contains '..'; paths must stay in the workspace"
    if path.startswith("./"):
        return "starts with './'; remove the prefix"
    if path[1:2] == ":":
        return "names a drive; write it relative to the workspace"
    return "is not a path in the workspace"
