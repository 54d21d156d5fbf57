"""BC605, BC606, BC608, BC612: whether the outputs of a folder fit the definition and each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.model.documents import Transition
from workrail_lint.systems.blocks.plan import Lanes, nodes_of
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, ENGINES
from workrail_lint.systems.blocks.rules.folder_files import CHAIN, FolderRule, without
from workrail_lint.systems.blocks.rules.samples import (
    WORKFLOW_PATH,
    edge,
    group,
    lane,
    node,
    output,
    output_path,
    workflow,
)
from workrail_lint.systems.blocks.timestamps import Instant, instant_of
from workrail_lint.systems.blocks.units import Unit
from workrail_lint.systems.blocks.vocabulary import BlockType, ConditionType, OutputStatus, is_member
from workrail_lint.systems.blocks.wording import shown


def member(unit: Unit, ident: str, name: str) -> Any:
    """A field of a node's output; None if it is missing."""
    file = unit.outputs.get(ident)
    return file.value.get(name) if file is not None and isinstance(file.value, dict) else None


def _finished(unit: Unit, ident: str) -> Instant | None:
    return instant_of(member(unit, ident, "timestamp"))


class OutputTimeOrder(FolderRule):
    code = "BC605"
    name = "output-time-order"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A block ended before the block that ran before it."
    why = "Sequential blocks wait for each other; a file older than its predecessor's is left over from another run."

    def check_unit(self, unit: Unit, report: Report) -> None:
        plan = unit.plan
        for ident, file in unit.outputs.items():
            if plan is None or ident not in plan.position:
                continue
            earlier = _predecessor(unit, ident)
            mine, theirs = _finished(unit, ident), None if earlier is None else _finished(unit, earlier)
            if mine is not None and theirs is not None and mine < theirs:
                mine_text, their_text = member(unit, ident, "timestamp"), member(unit, str(earlier), "timestamp")
                text = f"{shown(ident)} ended at {mine_text}, before {shown(earlier)} at {their_text}"
                report("/timestamp", text, path=file.path)

    def examples(self) -> Iterator[Example]:
        early = {**CHAIN[output_path("b")], "timestamp": "2026-03-01T09:00:00Z"}
        yield Example(
            early, CHAIN[output_path("b")], path=output_path("b"), files=without(output_path("b"), output_path("c"))
        )


def _predecessor(unit: Unit, ident: str) -> str | None:
    """The node of the nearest earlier entry with a file; None if that entry is a group, which BC606 checks."""
    assert unit.plan is not None
    for entry in reversed(unit.plan.entries[: unit.plan.position[ident]]):
        there = [found for found in nodes_of(entry) if found in unit.outputs]
        if there:
            return None if isinstance(entry, Lanes) else there[0]
    return None


def _group_flow() -> dict[str, Any]:
    nodes = (node("a", "coding", "Do a."), node("b", "coding", "Do b."), node("d", "coding", "Do d."))
    return workflow(*nodes, edges=[edge("a", "d"), edge("b", "d")], parallelGroups=[group("a", "b")])


GROUP_FILES: dict[str, Any] = {
    WORKFLOW_PATH: _group_flow(),
    output_path("b"): lane("b", 1, "b.py"),
    output_path("d"): lane("d", 3, "d.py"),
}
"""A group of a and b, then d; the output of a is left to the example."""


class LaneAfterSuccessor(FolderRule):
    code = "BC606"
    name = "lane-after-successor"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A lane ended after a block that follows its group."
    why = "The fan-in waits for every lane, so no block after the group can end before one of them."

    def check_unit(self, unit: Unit, report: Report) -> None:
        for at, entry in enumerate(unit.plan.entries if unit.plan is not None else ()):
            if not isinstance(entry, Lanes):
                continue
            for ident in entry.nodes:
                later = _earlier_end(unit, ident, at)
                if later is not None:
                    mine, theirs = member(unit, ident, "timestamp"), member(unit, later, "timestamp")
                    text = f"the lane {shown(ident)} ended at {mine}, after {shown(later)} at {theirs}"
                    report("/timestamp", text, path=unit.outputs[ident].path)

    def examples(self) -> Iterator[Example]:
        yield Example(lane("a", 5, "a.py"), lane("a", 2, "a.py"), path=output_path("a"), files=GROUP_FILES)


def _earlier_end(unit: Unit, ident: str, at: int) -> str | None:
    """The first block after an entry that ended before one of its lanes."""
    assert unit.plan is not None
    mine = _finished(unit, ident)
    for entry in unit.plan.entries[at + 1 :] if mine is not None else ():
        for later in nodes_of(entry):
            theirs = _finished(unit, later)
            if mine is not None and theirs is not None and theirs < mine:
                return later
    return None


class BlockTypeUnexpected(FolderRule):
    code = "BC608"
    name = "block-type-unexpected"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The block type of an output does not match its node."
    why = "Viewers and later blocks look for what the node should have produced and find something else."
    fix = "Replace it with the type of the node."
    fix_safety = "unsafe"

    def check_unit(self, unit: Unit, report: Report) -> None:
        known = unit.definition.by_id if unit.definition is not None else {}
        for ident, file in unit.outputs.items():
            expected = known[ident].block_type if ident in known else None
            found = member(unit, ident, "blockType")
            if expected is not None and is_member(BlockType, found) and found != expected.value:
                text = (
                    f"the block type is {shown(found)}, but a {known[ident].type} node produces {shown(expected.value)}"
                )
                fix = unsafe(f"replace with {expected.value}", Replace("/blockType", expected.value))
                report("/blockType", text, path=file.path, fix=fix)

    def examples(self) -> Iterator[Example]:
        good = CHAIN[output_path("b")]
        yield Example({**good, "blockType": "plan"}, good, good, path=output_path("b"), files=without(output_path("b")))


class RanDespiteCondition(FolderRule):
    code = "BC612"
    name = "ran-despite-condition"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "A block ran although no transition to it can have applied."
    why = "The run did not follow the definition, or the file is left over from another run."

    def check_unit(self, unit: Unit, report: Report) -> None:
        definition = unit.definition
        if definition is None:
            return
        for ident, file in unit.outputs.items():
            ways = definition.incoming.get(ident, [])
            if ways and ident not in definition.body_of and not any(_can_hold(unit, found) for found in ways):
                sources = ", ".join(f"{shown(found.source)} {_ended(unit, found.source)}" for found in ways[:5])
                report("", f"no transition to {shown(ident)} can have applied: {sources}", path=file.path)

    def examples(self) -> Iterator[Example]:
        nodes = (node("a"), node("b", "coding", "Build it."), node("c", "debugger", "Mend it."))
        flow = workflow(*nodes, edges=[edge("a", "b", "on_success"), edge("a", "c", "on_failure")])
        files: dict[str, Any] = {WORKFLOW_PATH: flow, output_path("a"): output("a", "plan", status="failed")}
        yield Example(
            output("b"), output("c"), path=output_path("b"), files=files, options={"good_path": output_path("c")}
        )


def _can_hold(unit: Unit, found: Transition) -> bool:
    """Whether a transition may have held, judged by the output of its source."""
    assert unit.definition is not None
    source = unit.definition.by_id[found.source]
    open_question = source.is_control or found.source in unit.definition.body_of or unit.plan is None
    match found.kind:
        case ConditionType.ON_SUCCESS.value:
            unknown = open_question or (found.source in unit.ran and unit.status(found.source) is None)
            return unknown or unit.has_succeeded(found.source)
        case ConditionType.ON_FAILURE.value:
            # A block may say that it completed and still end with an exit code that makes it fail.
            return open_question or found.source in unit.ran
        case _:
            return True


def _ended(unit: Unit, ident: str) -> str:
    status = unit.status(ident)
    if status is None:
        return "left no usable output"
    return "failed" if status == OutputStatus.FAILED.value else "did not fail"
