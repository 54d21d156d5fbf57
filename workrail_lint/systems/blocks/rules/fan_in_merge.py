"""BC503 to BC509: whether a fan-in result reports conflicts as the contract defines them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import ANY, REPORTED_ELSEWHERE, Description
from workrail_lint.systems.blocks.merging import (
    PathConflict,
    completion_order,
    created,
    created_collisions,
    givers,
    modified,
    path_conflicts,
    reported,
)
from workrail_lint.systems.blocks.paths import normalized
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, BlockDocument
from workrail_lint.systems.blocks.rules.fan_in_shape import FanInRule
from workrail_lint.systems.blocks.rules.samples import FAN_IN_PATH, conflict, fan_in, lane
from workrail_lint.systems.blocks.timestamps import Instant, instant_of
from workrail_lint.systems.blocks.vocabulary import MergeStrategy, Resolution, texts_of
from workrail_lint.systems.blocks.wording import shown, shown_list

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation

_CONCATENATE = MergeStrategy.CONCATENATE.value
_NEVER = Instant(0, "")


class Result:
    """A fan-in result as the rules below read it."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        self.strategy = value.get("mergeStrategy")
        found = value.get("blockOutputs")
        self.entries = [
            (at, item) for at, item in enumerate(found if isinstance(found, list) else ()) if isinstance(item, dict)
        ]

    @cached_property
    def outputs(self) -> dict[str, dict[str, Any]]:
        """The outputs by lane, in lane order."""
        made: dict[str, dict[str, Any]] = {}
        for _, item in self.entries:
            if isinstance(item.get("blockId"), str):
                made.setdefault(item["blockId"], item)
        return made

    @cached_property
    def finished(self) -> list[tuple[str, Instant | None]]:
        return [(lane, instant_of(item.get("timestamp"))) for lane, item in self.outputs.items()]

    @property
    def knows_order(self) -> bool:
        return all(instant is not None for _, instant in self.finished)

    @cached_property
    def order(self) -> list[str]:
        """The lanes in completion order; in lane order if the timestamps do not show it."""
        if not self.knows_order:
            return list(self.outputs)
        return completion_order((lane, instant or _NEVER) for lane, instant in self.finished)

    @cached_property
    def path_conflicts(self) -> list[PathConflict]:
        return path_conflicts(self.outputs, self.order)

    @cached_property
    def conflicts(self) -> list[tuple[str, dict[str, Any], str, list[str]]]:
        """Pointer, entry, path and lanes of every conflict that names both."""
        found = self.value.get("conflicts")
        made = []
        for at, item in enumerate(found if isinstance(found, list) else ()):
            if isinstance(item, dict) and isinstance(item.get("conflictingFile"), str):
                names = [ident for _, ident in texts_of(item.get("lanes"))]
                made.append((f"/conflicts/{at}", item, normalized(item["conflictingFile"]), names))
        return made


def _result(document: BlockDocument) -> Result:
    return Result(document.value)


class ConflictMissed(FanInRule):
    code = "BC503"
    name = "conflict-missed"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "Two lanes modified the same file, but the result does not report a conflict."
    why = "One lane's edits of that file are lost without notice."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        result = _result(document)
        if result.strategy == _CONCATENATE:
            return
        reported_at = {path: (pointer, names) for pointer, _, path, names in result.conflicts}
        for clash in result.path_conflicts:
            pointer, names = reported_at.get(clash.path, ("/conflicts", []))
            missing = [name for name in clash.lanes if name not in names]
            if missing:
                text = f"{shown(clash.path)} was modified by {shown_list(clash.lanes)}, but 'conflicts' does not name "
                report(pointer, text + (shown_list(missing) if names else "it"))

    def examples(self) -> Iterator[Example]:
        both = (lane("a", 5, "p.py"), lane("b", 3, "p.py"))
        good = fan_in(*both, conflicts=[conflict("p.py", "b", "a")])
        yield Example(fan_in(*both), good, path=FAN_IN_PATH)


class ConflictInvented(FanInRule):
    code = "BC504"
    name = "conflict-invented"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A conflict names a file that its lanes did not both modify."
    why = "People look for a conflict that does not exist; created files and failed lanes cause no conflict."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        result = _result(document)
        counting = set() if result.strategy == _CONCATENATE else set(givers(result.outputs, result.order))
        for pointer, _, path, names in result.conflicts:
            absent = [n for n in names if n not in counting or path not in modified(result.outputs[n])]
            if absent:
                why = (
                    "'concatenate' applies no files"
                    if result.strategy == _CONCATENATE
                    else f"{shown_list(absent)} did not modify it"
                )
                report(pointer, f"{shown(path)} is not in conflict: {why}")

    def examples(self) -> Iterator[Example]:
        both = (lane("a", 5, "p.py", "q.py"), lane("b", 3, "p.py"))
        good = fan_in(*both, conflicts=[conflict("p.py", "b", "a")])
        bad = fan_in(*both, conflicts=[conflict("p.py", "b", "a"), conflict("q.py", "b", "a")])
        yield Example(bad, good, path=FAN_IN_PATH)


class ConflictLaneOrder(FanInRule):
    code = "BC505"
    name = "conflict-lane-order"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The lanes of a conflict are not in completion order."
    why = "The first lane of the list is the winner; in another order the record names the wrong one."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        result = _result(document)
        place = {lane: at for at, lane in enumerate(result.order)}
        for pointer, _, path, names in result.conflicts if result.knows_order else ():
            known = [name for name in names if name in place]
            wanted = sorted(known, key=place.__getitem__)
            if known != wanted:
                report(
                    f"{pointer}/lanes", f"the lanes of {shown(path)} must be in completion order: {shown_list(wanted)}"
                )

    def examples(self) -> Iterator[Example]:
        both = (lane("a", 5, "p.py"), lane("b", 3, "p.py"))
        yield Example(
            fan_in(*both, conflicts=[conflict("p.py", "a", "b")]),
            fan_in(*both, conflicts=[conflict("p.py", "b", "a")]),
            path=FAN_IN_PATH,
        )


class ConflictAppliedFrom(FanInRule):
    code = "BC506"
    name = "conflict-applied-from"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A conflict applied a version that can't have won."
    why = "The first lane to finish wins, or the one a person chose; any other version in the workspace is a mistake."
    describes = ((ANY, "required", "appliedFrom"),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        return REPORTED_ELSEWHERE  # below

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for pointer, item, path, names in _result(document).conflicts:
            applied, first = item.get("appliedFrom"), names[0] if names else None
            if first is None or (applied is not None and not isinstance(applied, str)):
                continue  # BC501 reports the shape
            place = f"{pointer}/appliedFrom"
            if item.get("resolution") == Resolution.FIRST_COMPLETE_WINS.value and applied != first:
                found = "nothing" if applied is None else shown(applied)
                report(
                    place, f"{shown(path)} must come from {shown(first)}, the first lane to finish, not from {found}"
                )
            elif (
                item.get("resolution") == Resolution.USER_RESOLVED.value
                and applied is not None
                and applied not in names
            ):
                report(place, f"{shown(path)}: {shown(applied)} is not one of the lanes {shown_list(names)}")

    def examples(self) -> Iterator[Example]:
        both = (lane("a", 5, "p.py"), lane("b", 3, "p.py"))
        good = fan_in(*both, conflicts=[conflict("p.py", "b", "a")])
        yield Example(fan_in(*both, conflicts=[conflict("p.py", "b", "a", appliedFrom="a")]), good, path=FAN_IN_PATH)
        yield Example(fan_in(*both, conflicts=[conflict("p.py", "b", "a", appliedFrom=...)]), good, path=FAN_IN_PATH)


class ConflictResolution(FanInRule):
    code = "BC507"
    name = "conflict-resolution"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A conflict has a resolution that the merge strategy does not allow."
    why = "`workspace` asks no person, and `fail-on-conflict` decides nothing without a person."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        result = _result(document)
        wrong = {
            MergeStrategy.WORKSPACE.value: Resolution.USER_RESOLVED.value,
            MergeStrategy.FAIL_ON_CONFLICT.value: Resolution.FIRST_COMPLETE_WINS.value,
        }
        for pointer, item, _, _ in result.conflicts:
            found = item.get("resolution")
            if isinstance(result.strategy, str) and found == wrong.get(result.strategy, ...):
                report(
                    f"{pointer}/resolution",
                    f"the resolution {shown(found)} is not allowed with {shown(result.strategy)}",
                )

    def examples(self) -> Iterator[Example]:
        both = (lane("a", 5, "p.py"), lane("b", 3, "p.py"))
        chosen = [conflict("p.py", "b", "a", resolution="user-resolved", appliedFrom="a")]
        yield Example(
            fan_in(*both, conflicts=chosen),
            fan_in(*both, strategy="fail-on-conflict", conflicts=chosen),
            path=FAN_IN_PATH,
        )


class LaneCreatedCollision(FanInRule):
    code = "BC508"
    name = "lane-created-collision"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A lane created a file that another lane also created or modified."
    why = "The contract does not treat this as a conflict, so the later version silently disappears."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        result = _result(document)
        if result.strategy == _CONCATENATE:
            return
        place = {item["blockId"]: at for at, item in reversed(result.entries) if isinstance(item.get("blockId"), str)}
        for clash in created_collisions(result.outputs, result.order):
            owner = next(lane for lane in clash.lanes if clash.path in created(result.outputs[lane]))
            text = f"{shown(clash.path)} is listed by {shown_list(clash.lanes)}; only the first version is kept"
            report(f"/blockOutputs/{place[owner]}/filesCreated", text)

    def examples(self) -> Iterator[Example]:
        yield Example(
            fan_in(lane("a", 1, filesCreated=["x.py"]), lane("b", 2, filesCreated=["x.py"])),
            fan_in(lane("a", 1, filesCreated=["x.py"]), lane("b", 2, filesCreated=["y.py"])),
            path=FAN_IN_PATH,
        )


class ConcatenateDropsEdits(FanInRule):
    code = "BC509"
    name = "concatenate-drops-edits"
    severity = Severity.WARNING
    origin = CONTRACT
    summary = "A lane reports files, but its group uses `concatenate`."
    why = "No file of a concatenated lane reaches the main workspace, so the edits are lost with the lane."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        result = _result(document)
        for at, item in result.entries if result.strategy == _CONCATENATE else ():
            paths = reported(item)
            if paths:
                text = f"the edits of the lane {shown(item.get('blockId'))} are dropped: {shown_list(paths)}"
                report(f"/blockOutputs/{at}", text)

    def examples(self) -> Iterator[Example]:
        idle = lane("b", 2, kind="review")
        yield Example(
            fan_in(lane("a", 1, "a.py", kind="review"), idle, strategy="concatenate"),
            fan_in(lane("a", 1, kind="review"), idle, strategy="concatenate"),
            path=FAN_IN_PATH,
        )
