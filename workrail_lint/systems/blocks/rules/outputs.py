"""An output file: its members, its deliverables, its name and the paths it lists."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import did_you_mean, nearest
from workrail_lint.base.timestamps import parse_timestamp
from workrail_lint.documents.nodes import Node, numbered
from workrail_lint.documents.operations import Insert, Operation, Remove, Rename, Replace
from workrail_lint.documents.pointer import child
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Fix, Severity, safe, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import ANY, REPORTED_ELSEWHERE, Description
from workrail_lint.systems.blocks.documents import BlockKind, id_in_name, split_path
from workrail_lint.systems.blocks.model.documents import BlockOutput
from workrail_lint.systems.blocks.paths import OUTPUT_FOLDER, is_below_output, is_rel_path, is_safe_id, normalized
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, ENGINES, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.samples import WORKFLOW_PATH, edge, node, output, output_path, workflow
from workrail_lint.systems.blocks.rules.shapes import shape_problem
from workrail_lint.systems.blocks.units import Unit
from workrail_lint.systems.blocks.vocabulary import (
    SUMMARY_SENTENCES,
    BlockType,
    DeliverableKind,
    accepted_kinds,
    kinds_of_profile,
    text_of,
)
from workrail_lint.systems.blocks.wording import shown, shown_list

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
_LISTS = ("filesModified", "filesCreated")
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
    example_path = _FILE


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
        value = document.output.timestamp
        parsed = parse_timestamp(value)
        if parsed is not None and not parsed.has_zone:
            fix = unsafe("treat it as UTC", Replace("/timestamp", f"{value}Z"))
            report("/timestamp", f"the timestamp {shown(value)} has no time zone", fix=fix, severity=Severity.WARNING)
        self._output_extra_key(document, report)

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
        yield self.example(whole, output(), {**whole, "filesCreated": []})
        yield self.example(output(summary=...), output())
        typo = {name.replace("filesM", "fileM"): value for name, value in output().items()}
        yield self.example(typo, output(), output())
        yield self.example(output(filesModified="a.py"), output(filesModified=["a.py"]), output(filesModified=["a.py"]))
        yield self.example(output(summary=7), output())
        yield self.example(output(blockType="code"), output(), output())
        yield self.example(output(status="done"), output())
        yield self.example(output(timestamp=1700000000), output())
        yield self.example(output(timestamp="2026-02-30T10:00:00Z"), output(timestamp="2026-02-28T10:00:00+01:00"))
        yield self.example(output(timestamp="2026-03-01T10:00:00"), output(), output())
        yield self.example(output(cost=1), output())
        yield self.example(output(fileModified=["src/a.py"]), output())
        code = {"blockType": "code", "diffSummary": "Adds a form."}
        yield self.example(output(deliverables={**code, "fileChanged": ["src/login.py"]}), output(deliverables=code))
        yield Example(output("../x"), output("x"), path=output_path("x"))
        good = output(deliverables=_CODE)
        yield self.example(
            output(deliverables={"diffSummary": "One form."}),
            good,
            {**good, "deliverables": dict(reversed(_CODE.items()))},
        )
        yield self.example(output(deliverables={**_CODE, "blockType": "dev"}), good, good)
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
        yield self.example(old, whole, whole)
        yield self.example(output(error="Out of memory."), output(summary="Out of memory."))


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
        yield self.example(output(summary=long), output(summary="Adds a form, a route and a test."))
        yield self.example(output(summary=" "), output())


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
        whole, deliverables = document.output, document.output.deliverables
        bare = deliverables is not None and not deliverables.raw.keys() - {"blockType"}
        if whole.status == "partial" and bare and _lists_nothing(whole):
            report("/status", "the status is 'partial', but the output has no files and no deliverables")
        if whole.status == "completed" and whole.block_type in ("dev", "devops") and _lists_nothing(whole):
            block = f"{whole.block_type} block" + (f" {shown(whole.block_id)}" if whole.block_id else "")
            report("/filesModified", f"the {block} is completed, but lists no files")

    def examples(self) -> Iterator[Example]:
        bad = output(status="partial", filesModified=[], deliverables={"blockType": "code"})
        yield self.example(bad, output(status="partial"))
        yield self.example(output(filesModified=[]), output(filesModified=[], filesCreated=["src/a.py"]))


def misspelled(value: Mapping[str, Any], known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the unknown members that look like a known one, and that one."""
    for key in value:
        near = None if key in known or key in _LEGACY_KEYS else nearest(key, known)
        if near is not None:
            yield key, near


def _report_misspelled(pointer: str, key: str, near: str, report: Report) -> None:
    message = f"unknown field {shown(key)}{did_you_mean(near)}"
    report(pointer, message, on_name=True, severity=Severity.WARNING)


class OutputFileName(OutputRule):
    code = "BC117"
    name = "output-file-name"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The file of an output is not named after its block."
    why = "The next block and the harness look for exactly this name; under another name the output counts as missing."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        named, ident = id_in_name(document.path, BlockKind.OUTPUT), document.output.block_id
        if named is None:
            name = split_path(document.path)[2]
            hint = f"; rename it to {shown(f'block-{ident}.json')}" if is_safe_id(ident) else ""
            report("", f"{shown(name)} is not the name of an output{hint}")
        elif document.output.has("blockId") and ident != named:
            report("/blockId", f"the file name says {shown(named)}, but the block id is {shown(ident)}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            output("A"), output("A"), path=".output/blockA.json", options={"good_path": ".output/block-A.json"}
        )
        yield Example(output("b"), output("a"), path=output_path("a"))


def _lists_nothing(whole: BlockOutput) -> bool:
    return all(whole.raw.get(name) == [] for name in _LISTS)


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
        for member in _LISTS:
            for entry in listed_paths(document.output, member):
                if not is_rel_path(entry.written):
                    report(entry.pointer, f"{shown(entry.written)} {_fault(entry.written)}", fix=_tidied(entry))
        self._output_path_duplicate(document, report)
        self._output_created_and_modified(document, report)
        for member in _LISTS:
            for entry in listed_paths(document.output, member):
                if is_below_output(entry.path):
                    fix = safe("remove it", Remove(entry.pointer))
                    message = f"{shown(entry.path)} is in the output folder, which is not part of the work"
                    report(entry.pointer, message, fix=fix, severity=Severity.WARNING)

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

    def examples(self) -> Iterator[Example]:
        good = output(filesModified=["src/a.py"])
        yield self.example(output(filesModified=["/workspace/src/a.py"]), good, good)
        yield self.example(output(filesModified=["./src/a.py"]), good, good)
        yield self.example(output(filesModified=["../../etc/passwd"]), good)
        yield self.example(output(filesModified=["C:\\src\\a.py"]), good)
        good = output(filesModified=["a.py"])
        yield self.example(output(filesModified=["a.py", "a.py"]), good, good)
        good = output(filesModified=[], filesCreated=["a.py"])
        yield self.example(output(filesModified=["a.py"], filesCreated=["a.py"]), good, good)
        good = output(filesCreated=["b.py"])
        yield self.example(output(filesCreated=["b.py", ".output/block-x.json"]), good, good)


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


_MEMBERS: dict[DeliverableKind, tuple[str, ...]] = {
    DeliverableKind.PLAN: ("markdownDocument", "taskList"),
    DeliverableKind.CODE: ("filesChanged", "diffSummary", "fileDiffs"),
    DeliverableKind.GENERIC: ("summary",),
    DeliverableKind.TEST: ("testResults", "summary"),
    DeliverableKind.REVIEW: ("findings", "approved", "summary"),
    DeliverableKind.DEVOPS: ("operations", "status", "summary"),
}


def _kind(whole: BlockOutput) -> DeliverableKind | None:
    return None if whole.deliverables is None else DeliverableKind(whole.deliverables.block_type)


class DeliverablesUnexpected(OutputRule):
    code = "BC203"
    name = "deliverables-unexpected"
    severity = Severity.WARNING
    origin = CONTRACT
    summary = "The deliverables are of a kind that blocks of this type do not deliver, or have a field of another kind."
    why = "Viewers and later blocks look for the fields of the expected kind and find nothing."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        # In an output folder the definition decides the type of a block; see check_unit.
        if split_path(document.path)[1] != OUTPUT_FOLDER:
            message = _unexpected(document.output, None, document.options.extended)
            if message is not None:
                report("/deliverables/blockType", message)
        self._deliverables_field_foreign(document, report)

    def _deliverables_field_foreign(self, document: BlockDocument, report: Report) -> None:
        deliverables, known = document.output.deliverables, kinds_of_profile(document.options.extended)
        kind = _kind(document.output)
        if deliverables is None or kind is None:
            return
        for name in deliverables.raw:
            owners = [other.value for other in known if name in _MEMBERS[other]]
            if owners and name not in _MEMBERS[kind]:
                whose = " and ".join(shown(owner) for owner in owners)
                text = f"{shown(name)} belongs to {whose} deliverables, not to {shown(kind.value)} ones"
                report(deliverables.at(name), text, on_name=True)

    def check_unit(self, unit: Unit, report: Report) -> None:
        for file in unit.all_outputs:
            if split_path(file.path)[1] == OUTPUT_FOLDER:
                ident = id_in_name(file.path, BlockKind.OUTPUT) or file.output.block_id
                known = unit.definition.by_id if unit.definition is not None else {}
                expected = known[ident].block_type if ident in known else None
                message = _unexpected(file.output, expected, unit.options.extended)
                if message is not None:
                    report("/deliverables/blockType", message, path=file.path)

    def examples(self) -> Iterator[Example]:
        bad = output("plan", "plan", deliverables={"blockType": "code"})
        yield Example(bad, output("plan", "plan"), path="block-plan.json")
        flow = workflow(node("plan"), node("check", "reviewer", "Review it."), edges=[edge("plan", "check")])
        done = output("plan", "plan", timestamp="2026-03-01T09:00:00Z")
        yield Example(
            output("check", "review", deliverables={"blockType": "plan", "taskList": ["T01"]}),
            output("check", "review"),
            path=output_path("check"),
            files={WORKFLOW_PATH: flow, output_path("plan"): done},
        )
        bad = output(deliverables={"blockType": "code", "taskList": []})
        yield self.example(bad, output(deliverables={"blockType": "code", "diffSummary": "One form."}))


def _unexpected(whole: BlockOutput, expected: BlockType | None, extended: bool) -> str | None:
    """Return what is wrong with the kind, for the type that the block should have, else for the type that it names."""
    kind = _kind(whole)
    block_type = expected or (None if whole.block_type is None else BlockType(whole.block_type))
    if kind is None or block_type is None:
        return None
    accepted = accepted_kinds(block_type, extended)
    failed = whole.status == "failed" and kind is DeliverableKind.GENERIC
    if kind in accepted or failed:
        return None
    names = " or ".join(shown(one.value) for one in accepted)
    return f"the deliverables have the kind {shown(kind.value)}, but a {block_type.value} block delivers {names}"


class CodeFilesDisagree(OutputRule):
    code = "BC206"
    name = "code-files-disagree"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The files in code deliverables are not those that the output lists as modified and created."
    why = "Merging uses the lists of the output and people read the deliverables, so one of the two is misled."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        whole, deliverables = document.output, document.output.deliverables
        if deliverables is None or deliverables.block_type != "code" or not deliverables.has("filesChanged"):
            return
        delivered = set(map(normalized, deliverables.files_changed))
        have = set(map(normalized, (*whole.files_modified, *whole.files_created)))
        parts = []
        if have - delivered:
            parts.append(f"{shown_list(sorted(have - delivered))} missing from 'filesChanged'")
        if delivered - have:
            parts.append(f"{shown_list(sorted(delivered - have))} only in 'filesChanged'")
        if parts:
            report("/deliverables/filesChanged", f"the file lists disagree: {', '.join(parts)}")

    def examples(self) -> Iterator[Example]:
        code = {**_CODE, "filesChanged": ["a"]}
        yield self.example(
            output(filesModified=[], filesCreated=[], deliverables=code), output(filesModified=["a"], deliverables=code)
        )


class DeliverablesIncomplete(OutputRule):
    code = "BC207"
    name = "deliverables-incomplete"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The deliverables lack what their kind is for: a plan, the summary of a change, or a summary."
    why = "The next block and the person at the gate read it from this file and find nothing."
    fix = "Copy the summary of the output into generic deliverables."
    fix_safety = "safe"

    def check_document(self, document: BlockDocument, report: Report) -> None:
        whole, deliverables = document.output, document.output.deliverables
        if deliverables is None:
            return
        kind = deliverables.block_type
        if kind == "plan" and whole.status == "completed":
            if text_of(deliverables.raw.get("markdownDocument")) is None and not deliverables.raw.get("taskList"):
                report("/deliverables", "the plan has neither a 'markdownDocument' nor a 'taskList'")
        elif kind == "code" and whole.status != "failed" and _lacks(deliverables, "diffSummary"):
            message = "the code deliverables have no 'diffSummary'; say in a sentence or two what changed"
            report("/deliverables/diffSummary", message)
        elif kind == "generic" and _lacks(deliverables, "summary"):
            summary = text_of(whole.summary)
            fix = None if summary is None else safe("copy the summary of the output", _summary(deliverables, summary))
            report("/deliverables/summary", "the deliverables have no 'summary'", fix=fix)

    def examples(self) -> Iterator[Example]:
        bad = output("plan", "plan", deliverables={"blockType": "plan"})
        yield Example(bad, output("plan", "plan"), path=output_path("plan"))
        yield self.example(output(deliverables={"blockType": "code", "filesChanged": ["src/login.py"]}), output())
        good = output("t", "test", deliverables={"blockType": "generic", "summary": "Adds a form."})
        yield Example(output("t", "test", deliverables={"blockType": "generic"}), good, good, path=output_path("t"))


def _lacks(deliverables: Node, name: str) -> bool:
    """Return whether a string is absent or blank; one of another type is reported as that."""
    return (name not in deliverables or deliverables.has(name)) and text_of(deliverables.raw.get(name)) is None


def _summary(deliverables: Node, summary: str) -> Operation:
    if "summary" in deliverables:
        return Replace("/deliverables/summary", summary)
    return Insert("/deliverables", "summary", None, summary)
