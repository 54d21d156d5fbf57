"""The deliverables of an output."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.documents.nodes import Node
from workrail_lint.documents.operations import Insert, Operation, Replace
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.documents import BlockKind, id_in_name, split_path
from workrail_lint.systems.blocks.model.documents import BlockOutput
from workrail_lint.systems.blocks.paths import OUTPUT_FOLDER, normalized
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, BlockDocument
from workrail_lint.systems.blocks.rules.outputs import OutputRule
from workrail_lint.systems.blocks.rules.samples import WORKFLOW_PATH, edge, node, output, output_path, workflow
from workrail_lint.systems.blocks.units import Unit
from workrail_lint.systems.blocks.vocabulary import (
    BlockType,
    DeliverableKind,
    accepted_kinds,
    kinds_of_profile,
    text_of,
)
from workrail_lint.systems.blocks.wording import shown, shown_list

_FILE = output_path()
_CODE = {"blockType": "code", "diffSummary": "One form."}
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
        self._deliverables_kind_unexpected(document, report)
        self._deliverables_field_foreign(document, report)

    def _deliverables_kind_unexpected(self, document: BlockDocument, report: Report) -> None:
        # In an output folder the definition decides the type of a block; see check_unit.
        if split_path(document.path)[1] != OUTPUT_FOLDER:
            message = _unexpected(document.output, None, document.options.extended)
            if message is not None:
                report("/deliverables/blockType", message)

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
        yield Example(bad, output(deliverables={"blockType": "code", "diffSummary": "One form."}), path=_FILE)


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
        yield Example(
            output(filesModified=[], filesCreated=[], deliverables=code),
            output(filesModified=["a"], deliverables=code),
            path=_FILE,
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
        yield Example(
            output(deliverables={"blockType": "code", "filesChanged": ["src/login.py"]}), output(), path=_FILE
        )
        good = output("t", "test", deliverables={"blockType": "generic", "summary": "Adds a form."})
        yield Example(output("t", "test", deliverables={"blockType": "generic"}), good, good, path=output_path("t"))


def _lacks(deliverables: Node, name: str) -> bool:
    """Return whether a string is absent or blank; one of another type is reported as that."""
    return (name not in deliverables or deliverables.has(name)) and text_of(deliverables.raw.get(name)) is None


def _summary(deliverables: Node, summary: str) -> Operation:
    if "summary" in deliverables:
        return Replace("/deliverables/summary", summary)
    return Insert("/deliverables", "summary", None, summary)
