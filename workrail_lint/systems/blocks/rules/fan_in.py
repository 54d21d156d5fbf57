"""The shape of a fan-in result, how it fits the definition, and whether the lanes were merged right."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeAlias

from workrail_lint.base.timestamps import Instant, instant_of
from workrail_lint.documents.operations import Replace
from workrail_lint.documents.pointer import child
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Fix, Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import ANY, REPORTED_ELSEWHERE, Description
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.model.build import conflict_violations
from workrail_lint.systems.blocks.model.documents import (
    BlockOutput,
    FanInResult,
    FirstCompleteWins,
    ParallelGroup,
    UnresolvedConflict,
    UserResolved,
)
from workrail_lint.systems.blocks.outputs import (
    PathConflict,
    completion_order,
    created,
    created_collisions,
    givers,
    modified,
    path_conflicts,
    reported,
)
from workrail_lint.systems.blocks.paths import is_rel_path, normalized
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.samples import (
    FAN_IN_PATH,
    WORKFLOW_PATH,
    conflict,
    env_path,
    environment,
    fan_in,
    lane,
    lanes,
    output_path,
)
from workrail_lint.systems.blocks.units import Unit, UnitFile
from workrail_lint.systems.blocks.vocabulary import MergeStrategy, Resolution
from workrail_lint.systems.blocks.wording import shown, shown_list, text_or_type

_Conflict: TypeAlias = FirstCompleteWins | UserResolved | UnresolvedConflict


class FanInRule(BlockRule):
    """A rule about fan-in results."""

    kinds = (BlockKind.FAN_IN,)
    example_path = FAN_IN_PATH


class FanInShape(FanInRule):
    code = "BC501"
    name = "fan-in-shape"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A fan-in result does not have the shape that the contract defines."
    why = "Tools that show or check the merge can't read it."
    describes = ((ANY,),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        value = violation.value
        if violation.keyword == "required":
            at = child(violation.pointer, violation.member)
            return Description(f"{shown(violation.member)} is missing", pointer=at)
        if violation.keyword == "pattern" and violation.member in _PATHS and is_rel_path(normalized(value)):
            return REPORTED_ELSEWHERE  # a path that only has the mount point as prefix: with the output, or below
        fault = _FAULTS.get(violation.keyword, "does not match the schema")
        return Description(f"{text_or_type(value)} {fault}{_wanted(violation)}")

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for record in document.fan_in.conflicts:
            path = record.conflicting_file
            # The schema reports paths that leave the workspace; this is about the one spelling of a path.
            if record.has("conflictingFile") and not is_rel_path(path) and is_rel_path(normalized(path)):
                message = f"{shown(path)} must be written as {shown(normalized(path))}"
                report(record.at("conflictingFile"), message)
            if isinstance(record, UnresolvedConflict):
                for violation in conflict_violations(record.raw, record.pointer):
                    description = self.describe(violation, document)
                    if description.message:
                        report(description.pointer or violation.pointer, description.message)

    def examples(self) -> Iterator[Example]:
        both = (lane("a", 5, "p.py"), lane("b", 3, "p.py"))
        good = fan_in(*both, conflicts=[conflict("p.py", "b", "a")])
        yield self.example(fan_in(*both, conflicts=[conflict("p.py", "b")]), good)
        yield self.example({**good, "mergeStrategy": "custom"}, good)


_PATHS = ("filesModified", "filesCreated", "conflictingFile")


_FAULTS = {
    "type": "has the wrong type",
    "enum": "is not an allowed value",
    "const": "is not an allowed value",
    "minItems": "has too few items",
    "uniqueItems": "is listed twice",
    "pattern": "has the wrong format",
    "minimum": "is too small",
}


def _wanted(violation: Violation) -> str:
    if violation.keyword in ("type", "enum") and isinstance(violation.expected, tuple):
        return f" (expected {', '.join(map(str, violation.expected))})"
    return f" (expected at least {violation.expected})" if violation.keyword == "minItems" else ""


def results(unit: Unit) -> Iterator[tuple[UnitFile, ParallelGroup]]:
    """Yield the fan-in results that can be read, each with its group."""
    groups = {} if unit.definition is None else {group.id: group for group in reversed(unit.definition.parallel_groups)}
    for ident, file in unit.fan_ins.items():
        if ident in groups and file.value is not None:
            yield file, groups[ident]


def lane_ids(result: FanInResult) -> list[str]:
    """Return the lanes whose outputs a result holds, in its order."""
    return [output.block_id for output in result.block_outputs if output.has("blockId")]


class FanInStrategy(FanInRule):
    code = "BC502"
    name = "fan-in-strategy"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The lanes were not merged with the configured strategy."
    why = "Edits that should be kept are dropped, or edits that a person should decide about are applied."

    def check_unit(self, unit: Unit, report: Report) -> None:
        for file, group in results(unit):
            strategy = file.fan_in.merge_strategy
            assert unit.definition is not None
            expected = unit.definition.strategy_of(group).value
            if strategy not in (None, expected):
                text = f"merged with {shown(strategy)}, but the group {shown(group.id)} requires {shown(expected)}"
                report("/mergeStrategy", text, path=file.path)

    def examples(self) -> Iterator[Example]:
        reviews = (lane("a", 1, kind="review"), lane("b", 2, kind="review"))
        files: dict[str, Any] = {WORKFLOW_PATH: lanes("reviewer", "reviewer")}
        yield self.example(
            fan_in(*reviews, strategy="workspace"), fan_in(*reviews, strategy="concatenate"), files=files
        )


class LaneOutputs(FanInRule):
    code = "BC510"
    name = "lane-outputs"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The outputs of a fan-in record lack a lane, or are not in lane order."
    why = "The outputs of all lanes are kept, even of failed ones; a missing output was lost in the merge."
    fix = "Sort the outputs by lane order."
    fix_safety = "safe"

    def check_unit(self, unit: Unit, report: Report) -> None:
        for file, group in results(unit):
            have = lane_ids(file.fan_in)
            for ident in group.lanes if file.fan_in.has("blockOutputs") else ():
                if ident in unit.ran and ident not in have:
                    report("/blockOutputs", f"the lane {shown(ident)} ran, but its output is missing", path=file.path)
        self._fan_in_order(unit, report)

    def _fan_in_order(self, unit: Unit, report: Report) -> None:
        for file, group in results(unit):
            lanes = lane_ids(file.fan_in)
            place = {ident: at for at, ident in enumerate(group.lanes)}
            known = [ident for ident in lanes if ident in place]
            wanted = sorted(known, key=place.__getitem__)
            if known != wanted:
                report(
                    "/blockOutputs",
                    f"the outputs are in the order {shown_list(known)}, but the lanes are {shown_list(group.lanes)}",
                    path=file.path,
                    fix=_reordered(file, place) if len(known) == len(file.value["blockOutputs"]) else None,
                    severity=Severity.WARNING,
                )

    def examples(self) -> Iterator[Example]:
        both = (lane("a", 1, "a.py"), lane("b", 2, "b.py"))
        files: dict[str, Any] = {
            WORKFLOW_PATH: lanes("coding", "coding"),
            output_path("a"): both[0],
            output_path("b"): both[1],
            env_path("b"): environment("b", "1"),
        }
        yield self.example(fan_in(both[0]), fan_in(*both), files=files)
        files = {WORKFLOW_PATH: lanes("coding", "coding")}
        yield self.example(fan_in(both[1], both[0]), fan_in(*both), fan_in(*both), files=files)


def _reordered(file: UnitFile, place: dict[str, int]) -> Fix:
    ordered = sorted(file.value["blockOutputs"], key=lambda item: place[item["blockId"]])
    return safe("sort them by lane order", Replace("/blockOutputs", ordered))


_CONCATENATE = MergeStrategy.CONCATENATE.value
_NEVER = Instant(0, "")


class Result:
    """A fan-in result as the rules below read it."""

    def __init__(self, model: FanInResult) -> None:
        self.model = model
        self.strategy = model.merge_strategy

    @cached_property
    def lanes(self) -> dict[str, BlockOutput]:
        """The outputs by lane, in lane order."""
        named = [output for output in reversed(self.model.block_outputs) if output.has("blockId")]
        last = {output.block_id: output for output in named}
        return dict(reversed(last.items()))

    @cached_property
    def outputs(self) -> dict[str, dict[str, Any]]:
        """The same as plain data."""
        return {lane: output.raw for lane, output in self.lanes.items()}

    @cached_property
    def finished(self) -> list[tuple[str, Instant | None]]:
        return [(lane, instant_of(output.timestamp)) for lane, output in self.lanes.items()]

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
    def conflicts(self) -> list[_Conflict]:
        """The conflicts that name a file."""
        return [record for record in self.model.conflicts if record.has("conflictingFile")]


def _result(document: BlockDocument) -> Result:
    return Result(document.fan_in)


class ConflictWrong(FanInRule):
    code = "BC503"
    name = "conflict-wrong"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A conflict is missing from a fan-in record, or recorded without being one."
    why = "One lane's edits of that file are lost without notice."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        self._conflict_missed(document, report)
        self._conflict_invented(document, report)

    def _conflict_missed(self, document: BlockDocument, report: Report) -> None:
        result = _result(document)
        if result.strategy == _CONCATENATE:
            return
        reported_at = {normalized(each.conflicting_file): (each.pointer, each.lanes) for each in result.conflicts}
        for clash in result.path_conflicts:
            pointer, names = reported_at.get(clash.path, ("/conflicts", ()))
            missing = [name for name in clash.lanes if name not in names]
            if missing:
                text = f"{shown(clash.path)} was modified by {shown_list(clash.lanes)}, but 'conflicts' does not name "
                report(pointer, text + (shown_list(missing) if names else "it"))

    def _conflict_invented(self, document: BlockDocument, report: Report) -> None:
        result = _result(document)
        counting = set() if result.strategy == _CONCATENATE else set(givers(result.outputs, result.order))
        for record in result.conflicts:
            path = normalized(record.conflicting_file)
            absent = [n for n in record.lanes if n not in counting or path not in modified(result.outputs[n])]
            if absent:
                why = (
                    "'concatenate' applies no files"
                    if result.strategy == _CONCATENATE
                    else f"{shown_list(absent)} did not modify it"
                )
                report(record.pointer, f"{shown(path)} is not in conflict: {why}")

    def examples(self) -> Iterator[Example]:
        both = (lane("a", 5, "p.py"), lane("b", 3, "p.py"))
        good = fan_in(*both, conflicts=[conflict("p.py", "b", "a")])
        yield self.example(fan_in(*both), good)
        both = (lane("a", 5, "p.py", "q.py"), lane("b", 3, "p.py"))
        good = fan_in(*both, conflicts=[conflict("p.py", "b", "a")])
        bad = fan_in(*both, conflicts=[conflict("p.py", "b", "a"), conflict("q.py", "b", "a")])
        yield self.example(bad, good)


class ConflictResolution(FanInRule):
    code = "BC506"
    name = "conflict-resolved-wrongly"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The lanes, the winner or the resolution of a conflict are not those of its merge strategy."
    why = "The first lane to finish wins, or the one a person chose; any other version in the workspace is a mistake."
    describes = ((ANY, "required", "appliedFrom"),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        return REPORTED_ELSEWHERE  # below

    def check_document(self, document: BlockDocument, report: Report) -> None:
        self._conflict_applied_from(document, report)
        result = _result(document)
        place = {lane: at for at, lane in enumerate(result.order)}
        for record in result.conflicts if result.knows_order else ():
            known = [name for name in record.lanes if name in place]
            wanted = sorted(known, key=place.__getitem__)
            if known != wanted:
                path = shown(normalized(record.conflicting_file))
                message = f"the lanes of {path} must be in completion order: {shown_list(wanted)}"
                report(record.at("lanes"), message, severity=Severity.WARNING)
        self._conflict_resolution(document, report)

    def _conflict_applied_from(self, document: BlockDocument, report: Report) -> None:
        for record in _result(document).conflicts:
            path, names, place = normalized(record.conflicting_file), record.lanes, record.at("appliedFrom")
            if not names or isinstance(record, UnresolvedConflict):
                continue  # BC501 reports the shape
            if "appliedFrom" in record and not record.has("appliedFrom"):
                continue  # and the type
            applied = record.applied_from
            if record.resolution == "first-complete-wins" and applied != names[0]:
                actual = shown(applied) if "appliedFrom" in record else "nothing"
                first = f"{shown(names[0])}, the first lane to finish"
                report(place, f"{shown(path)} must come from {first}, not from {actual}")
            elif record.resolution == "user-resolved" and applied is not None and applied not in names:
                report(place, f"{shown(path)}: {shown(applied)} is not one of the lanes {shown_list(names)}")

    def _conflict_resolution(self, document: BlockDocument, report: Report) -> None:
        result = _result(document)
        wrong = {
            MergeStrategy.WORKSPACE.value: Resolution.USER_RESOLVED.value,
            MergeStrategy.FAIL_ON_CONFLICT.value: Resolution.FIRST_COMPLETE_WINS.value,
        }
        for record in result.conflicts:
            if isinstance(record, UnresolvedConflict) or result.strategy is None:
                continue
            resolution = record.resolution
            if resolution == wrong.get(result.strategy):
                message = f"the resolution {shown(resolution)} is not allowed with {shown(result.strategy)}"
                report(record.at("resolution"), message)

    def examples(self) -> Iterator[Example]:
        both = (lane("a", 5, "p.py"), lane("b", 3, "p.py"))
        good = fan_in(*both, conflicts=[conflict("p.py", "b", "a")])
        yield self.example(fan_in(*both, conflicts=[conflict("p.py", "b", "a", appliedFrom="a")]), good)
        yield self.example(fan_in(*both, conflicts=[conflict("p.py", "b", "a", appliedFrom=...)]), good)
        yield self.example(fan_in(*both, conflicts=[conflict("p.py", "a", "b")]), good)
        chosen = [conflict("p.py", "b", "a", resolution="user-resolved", appliedFrom="a")]
        yield self.example(
            fan_in(*both, conflicts=chosen), fan_in(*both, strategy="fail-on-conflict", conflicts=chosen)
        )


class LaneEditLost(FanInRule):
    code = "BC508"
    name = "lane-edit-lost"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "An edit of a lane is lost: another lane has the same new file, or the strategy merges no files."
    why = "The contract does not treat this as a conflict, so the later version silently disappears."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        self._lane_created_collision(document, report)
        result = _result(document)
        for whole in result.model.block_outputs if result.strategy == _CONCATENATE else ():
            paths = reported(whole.raw)
            if paths:
                text = f"the edits of the lane {shown(whole.block_id)} are dropped: {shown_list(paths)}"
                report(whole.pointer, text)

    def _lane_created_collision(self, document: BlockDocument, report: Report) -> None:
        result = _result(document)
        if result.strategy == _CONCATENATE:
            return
        for clash in created_collisions(result.outputs, result.order):
            owner = next(lane for lane in clash.lanes if clash.path in created(result.outputs[lane]))
            text = f"{shown(clash.path)} is listed by {shown_list(clash.lanes)}; only the first version is kept"
            report(result.lanes[owner].at("filesCreated"), text)

    def examples(self) -> Iterator[Example]:
        yield self.example(
            fan_in(lane("a", 1, filesCreated=["x.py"]), lane("b", 2, filesCreated=["x.py"])),
            fan_in(lane("a", 1, filesCreated=["x.py"]), lane("b", 2, filesCreated=["y.py"])),
        )
        idle = lane("b", 2, kind="review")
        yield self.example(
            fan_in(lane("a", 1, "a.py", kind="review"), idle, strategy="concatenate"),
            fan_in(lane("a", 1, kind="review"), idle, strategy="concatenate"),
        )
