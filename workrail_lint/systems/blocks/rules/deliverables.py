"""BC2: what an output says it produced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.documents.operations import Insert, Replace
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.findings.fix import safe, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.definition import text_of, texts_of
from workrail_lint.systems.blocks.documents import BlockKind, id_in_name, split_path
from workrail_lint.systems.blocks.paths import OUTPUT_FOLDER, normalized
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, ENGINES, BlockDocument
from workrail_lint.systems.blocks.rules.output_shape import OutputRule
from workrail_lint.systems.blocks.rules.samples import WORKFLOW_PATH, edge, node, output, output_path, workflow
from workrail_lint.systems.blocks.units import Unit
from workrail_lint.systems.blocks.vocabulary import (
    EXPECTED_KIND,
    BlockType,
    DeliverableKind,
    OutputStatus,
    accepted_kinds,
    is_member,
    kinds_of_profile,
)
from workrail_lint.systems.blocks.wording import json_type, shown, shown_list, type_in_words

if TYPE_CHECKING:
    from workrail_lint.documents.structure import Violation

_FILE = output_path()
_EXTENDED = {"block-deliverables": "extended"}
_MEMBERS: dict[DeliverableKind, tuple[str, ...]] = {
    DeliverableKind.PLAN: ("markdownDocument", "taskList"),
    DeliverableKind.CODE: ("filesChanged", "diffSummary", "fileDiffs"),
    DeliverableKind.GENERIC: ("summary",),
    DeliverableKind.TEST: ("testResults", "summary"),
    DeliverableKind.REVIEW: ("findings", "approved", "summary"),
    DeliverableKind.DEVOPS: ("operations", "status", "summary"),
}
_LISTS = ("taskList", "filesChanged", "findings", "operations")


def _deliverables(document: BlockDocument) -> dict[str, Any]:
    value = document.value.get("deliverables")
    return value if isinstance(value, dict) else {}


def _kind(deliverables: object) -> DeliverableKind | None:
    kind = deliverables.get("blockType") if isinstance(deliverables, dict) else None
    return DeliverableKind(kind) if is_member(DeliverableKind, kind) else None


class DeliverablesKindMissing(OutputRule):
    code = "BC201"
    name = "deliverables-kind-missing"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The deliverables do not name their kind."
    why = "The kind decides which members are read; without it the whole file is malformed."
    fix = "Name the kind that blocks of this type hand in."
    fix_safety = "unsafe"

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if violation.keyword != "required" or violation.pointer != "/deliverables":
            return False
        written = document.value.get("blockType")
        fix = None
        if is_member(BlockType, written):
            expected = EXPECTED_KIND[BlockType(written)].value
            fix = unsafe(f"name the kind {expected}", Insert("/deliverables", "blockType", None, expected))
        report("/deliverables/blockType", "the deliverables have no 'blockType', which names their kind", fix=fix)
        return True

    def examples(self) -> Iterator[Example]:
        good = output(deliverables={"blockType": "code"})
        yield Example(output(deliverables={}), good, good, path=_FILE)


class DeliverablesKindUnknown(OutputRule):
    code = "BC202"
    name = "deliverables-kind-unknown"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The kind of the deliverables is none that the profile knows."
    why = "Nothing in deliverables of an unknown kind can be read, and the file is malformed."
    fix = "Write `code` for `dev`."
    fix_safety = "unsafe"

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if violation.pointer != "/deliverables/blockType":
            return False
        value, extended = violation.value, document.options.extended
        known = ", ".join(kind.value for kind in kinds_of_profile(extended))
        hint = ""
        if is_member(DeliverableKind, value):
            hint = "; the extended profile knows it"
        fix = unsafe("name it code", Replace(violation.pointer, "code")) if value == "dev" else None
        written = shown(value) if isinstance(value, str) else json_type(value)
        report(violation.pointer, f"{written} is no kind of deliverables; they are {known}{hint}", fix=fix)
        return True

    def examples(self) -> Iterator[Example]:
        good = output(deliverables={"blockType": "code"})
        yield Example(output(deliverables={"blockType": "dev"}), good, good, path=_FILE)
        bad = output("t", "test", deliverables={"blockType": "test"})
        yield Example(bad, output("t", "test"), path=output_path("t"))


class DeliverablesKindUnexpected(OutputRule):
    code = "BC203"
    name = "deliverables-kind-unexpected"
    severity = Severity.WARNING
    origin = CONTRACT
    summary = "The deliverables are of another kind than blocks of this type hand in."
    why = "Viewers and later blocks look for the members of the expected kind and find nothing."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        # In an output folder the definition has the last word about a block's type; see check_unit.
        if split_path(document.path)[1] != OUTPUT_FOLDER:
            message = _unexpected(document.value, None, document.options.extended)
            if message is not None:
                report("/deliverables/blockType", message)

    def check_unit(self, unit: Unit, report: Report) -> None:
        for file in unit.all_outputs:
            if split_path(file.path)[1] == OUTPUT_FOLDER and isinstance(file.value, dict):
                ident = id_in_name(file.path, BlockKind.OUTPUT) or file.value.get("blockId")
                known = unit.definition.by_id if unit.definition is not None else {}
                expected = known[ident].block_type if isinstance(ident, str) and ident in known else None
                message = _unexpected(file.value, expected, unit.options.extended)
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


def _unexpected(value: dict[str, Any], expected: BlockType | None, extended: bool) -> str | None:
    """What is odd about the kind, judged by the type the block should have, else by the one it names."""
    written, kind = value.get("blockType"), _kind(value.get("deliverables"))
    block_type = expected or (BlockType(written) if is_member(BlockType, written) else None)
    if kind is None or block_type is None or kind not in kinds_of_profile(extended):
        return None
    accepted = accepted_kinds(block_type, extended)
    failed = value.get("status") == OutputStatus.FAILED.value and kind is DeliverableKind.GENERIC
    if kind in accepted or failed:
        return None
    names = " or ".join(shown(one.value) for one in accepted)
    return f"the deliverables are of the kind {shown(kind.value)}; a {block_type.value} block hands in {names}"


class DeliverablesFieldType(OutputRule):
    code = "BC204"
    name = "deliverables-field-type"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A member of the deliverables is of the wrong type."
    why = "The file does not fit the contract's schema, so the harness marks the block as failed."
    fix = "Put a single text into a list."
    fix_safety = "safe"

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if not violation.pointer.startswith("/deliverables/") or violation.pointer == "/deliverables/blockType":
            return False
        if violation.pointer.startswith("/deliverables/testResults/"):
            return False
        pointer, value = violation.pointer, violation.value
        if violation.keyword == "required":
            report(child(pointer, violation.expected), f"{shown(violation.expected)} is missing here")
            return True
        wanted = violation.expected[0] if isinstance(violation.expected, tuple) else violation.expected
        name = pointer.split("/")[2]
        fix = None
        if pointer == f"/deliverables/{name}" and name in _LISTS and isinstance(value, str):
            fix = safe("put it into a list", Replace(pointer, [value]))
        report(pointer, f"{shown(name)} must hold {type_in_words(wanted)} here, not {json_type(value)}", fix=fix)
        return True

    def examples(self) -> Iterator[Example]:
        good = output("plan", "plan", deliverables={"blockType": "plan", "taskList": ["T01"]})
        bad = output("plan", "plan", deliverables={"blockType": "plan", "taskList": "T01"})
        yield Example(bad, good, good, path=output_path("plan"))


class DeliverablesFieldForeign(OutputRule):
    code = "BC205"
    name = "deliverables-field-foreign"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The deliverables have a member of another kind."
    why = "Only the members of the named kind are read, so that this one is lost, or the kind is the wrong one."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        deliverables = _deliverables(document)
        kind, known = _kind(deliverables), kinds_of_profile(document.options.extended)
        if kind is None or kind not in known:
            return
        for name in deliverables:
            owners = [other.value for other in known if name in _MEMBERS[other]]
            if owners and name not in _MEMBERS[kind]:
                whose = " and ".join(shown(owner) for owner in owners)
                text = f"{shown(name)} belongs to {whose} deliverables, not to {shown(kind.value)} ones"
                report(child("/deliverables", name), text, on_name=True)

    def examples(self) -> Iterator[Example]:
        bad = output(deliverables={"blockType": "code", "taskList": []})
        yield Example(bad, output(deliverables={"blockType": "code", "diffSummary": "One form."}), path=_FILE)


class CodeFilesDisagree(OutputRule):
    code = "BC206"
    name = "code-files-disagree"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The files in code deliverables are not those that the output lists as modified and created."
    why = (
        "Merging goes by the output's own lists and people by the deliverables: one of the two is told something wrong."
    )

    def check_document(self, document: BlockDocument, report: Report) -> None:
        deliverables = _deliverables(document)
        changed = deliverables.get("filesChanged")
        if _kind(deliverables) is not DeliverableKind.CODE or not isinstance(changed, list):
            return
        told = {normalized(path) for _, path in texts_of(changed)}
        lists = ("filesModified", "filesCreated")
        have = {normalized(path) for name in lists for _, path in texts_of(document.value.get(name))}
        parts = []
        if have - told:
            parts.append(f"{shown_list(sorted(have - told))} missing in 'filesChanged'")
        if told - have:
            parts.append(f"{shown_list(sorted(told - have))} only in 'filesChanged'")
        if parts:
            report("/deliverables/filesChanged", f"the lists of files disagree: {', '.join(parts)}")

    def examples(self) -> Iterator[Example]:
        code = {"blockType": "code", "filesChanged": ["a"]}
        yield Example(
            output(filesModified=[], filesCreated=[], deliverables=code),
            output(filesModified=["a"], deliverables=code),
            path=_FILE,
        )


class PlanEmpty(OutputRule):
    code = "BC207"
    name = "plan-empty"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A completed plan has neither a document nor a task list."
    why = "The next block reads the plan from this file and finds nothing to go by."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        deliverables = _deliverables(document)
        empty = not text_of(deliverables.get("markdownDocument")) and not deliverables.get("taskList")
        completed = document.value.get("status") == OutputStatus.COMPLETED.value
        if _kind(deliverables) is DeliverableKind.PLAN and completed and empty:
            report("/deliverables", "the plan has neither a 'markdownDocument' nor a 'taskList'")

    def examples(self) -> Iterator[Example]:
        bad = output("plan", "plan", deliverables={"blockType": "plan"})
        yield Example(bad, output("plan", "plan"), path=output_path("plan"))


class GenericWithoutSummary(OutputRule):
    code = "BC208"
    name = "generic-without-summary"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "Generic deliverables have no summary."
    why = "A summary is all that this kind can hold; without it there is nothing to show."
    fix = "Copy the summary of the output."
    fix_safety = "safe"

    def check_document(self, document: BlockDocument, report: Report) -> None:
        deliverables = _deliverables(document)
        if _kind(deliverables) is not DeliverableKind.GENERIC or text_of(deliverables.get("summary")) is not None:
            return
        if "summary" in deliverables and not isinstance(deliverables["summary"], str):
            return  # its type is told elsewhere
        fix, summary = None, text_of(document.value.get("summary"))
        if summary is not None:
            change = (
                Replace("/deliverables/summary", summary)
                if "summary" in deliverables
                else Insert("/deliverables", "summary", None, summary)
            )
            fix = safe("copy the summary of the output", change)
        report("/deliverables/summary", "the deliverables have no 'summary'", fix=fix)

    def examples(self) -> Iterator[Example]:
        good = output("t", "test", deliverables={"blockType": "generic", "summary": "Adds a form."})
        yield Example(output("t", "test", deliverables={"blockType": "generic"}), good, good, path=output_path("t"))


class TestResultsShape(OutputRule):
    code = "BC209"
    name = "test-results-shape"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A count of test results is no integer, or is negative (extended profile)."
    why = "The numbers are added up and shown; what is no count can't be."

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if not violation.pointer.startswith("/deliverables/testResults/"):
            return False
        name = violation.pointer.rpartition("/")[2]
        report(violation.pointer, f"{shown(name)} must be an integer that is not negative")
        return True

    def examples(self) -> Iterator[Example]:
        def tests(passed: object) -> dict[str, Any]:
            counts = {"passed": passed, "failed": 0, "skipped": 0}
            return output("t", "test", deliverables={"blockType": "test", "testResults": counts})

        yield Example(tests(-1), tests(12), path=output_path("t"), options=dict(_EXTENDED))
