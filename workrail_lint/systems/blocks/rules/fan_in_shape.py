"""BC501, BC502, BC510 and BC511: the shape of a fan-in result, and how it fits the definition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.documents.operations import Replace
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Fix, Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import ANY, REPORTED_ELSEWHERE, Description
from workrail_lint.systems.blocks.documents import BlockKind, validator
from workrail_lint.systems.blocks.model.documents import ParallelGroup
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
from workrail_lint.systems.blocks.vocabulary import MergeStrategy, Resolution, is_member
from workrail_lint.systems.blocks.wording import json_type, shown, shown_list

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation


class FanInRule(BlockRule):
    """A rule about fan-in results."""

    kinds = (BlockKind.FAN_IN,)


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
        return Description(f"{_shown_value(value)} {fault}{_wanted(violation)}")

    def check_document(self, document: BlockDocument, report: Report) -> None:
        conflicts = document.value.get("conflicts")
        for at, item in enumerate(conflicts if isinstance(conflicts, list) else ()):
            path = item.get("conflictingFile") if isinstance(item, dict) else None
            # The schema reports paths that leave the workspace; this is about the one spelling of a path.
            if isinstance(path, str) and not is_rel_path(path) and is_rel_path(normalized(path)):
                report(
                    f"/conflicts/{at}/conflictingFile", f"{shown(path)} must be written as {shown(normalized(path))}"
                )
            if isinstance(item, dict) and not is_member(Resolution, item.get("resolution")):
                self._unresolved(item, at, document, report)

    def _unresolved(self, item: dict[str, Any], at: int, document: BlockDocument, report: Report) -> None:
        """The other fields of a conflict, which are the same for every resolution."""
        whole = {**item, "resolution": Resolution.USER_RESOLVED.value}
        alone = {**document.value, "blockOutputs": [], "conflicts": [whole]}
        for violation in validator(BlockKind.FAN_IN, document.options.extended).violations(alone):
            if violation.pointer.startswith(_FIRST):
                place = f"/conflicts/{at}{violation.pointer.removeprefix(_FIRST)}"
                description = self.describe(violation._replace(pointer=place), document)
                if description.message and violation.member != "appliedFrom":
                    report(description.pointer or place, description.message)

    def examples(self) -> Iterator[Example]:
        both = (lane("a", 5, "p.py"), lane("b", 3, "p.py"))
        good = fan_in(*both, conflicts=[conflict("p.py", "b", "a")])
        yield Example(fan_in(*both, conflicts=[conflict("p.py", "b")]), good, path=FAN_IN_PATH)
        yield Example({**good, "mergeStrategy": "custom"}, good, path=FAN_IN_PATH)


_FIRST = "/conflicts/0"


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


def _shown_value(value: object) -> str:
    return shown(value) if isinstance(value, str) else json_type(value)


def _wanted(violation: Violation) -> str:
    if violation.keyword in ("type", "enum") and isinstance(violation.expected, tuple):
        return f" (expected {', '.join(map(str, violation.expected))})"
    return f" (expected at least {violation.expected})" if violation.keyword == "minItems" else ""


def results(unit: Unit) -> Iterator[tuple[UnitFile, ParallelGroup]]:
    """The fan-in results that can be read, each with its group."""
    groups = {} if unit.definition is None else {group.id: group for group in reversed(unit.definition.parallel_groups)}
    for ident, file in unit.fan_ins.items():
        if ident in groups and isinstance(file.value, dict):
            yield file, groups[ident]


def lane_ids(value: dict[str, Any]) -> list[str]:
    """The lanes whose outputs a result holds, in its order."""
    outputs = value.get("blockOutputs")
    found = [item.get("blockId") for item in outputs if isinstance(item, dict)] if isinstance(outputs, list) else []
    return [ident for ident in found if isinstance(ident, str)]


class FanInStrategy(FanInRule):
    code = "BC502"
    name = "fan-in-strategy"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The lanes were not merged with the configured strategy."
    why = "Edits that should be kept are dropped, or edits that a person should decide about are applied."

    def check_unit(self, unit: Unit, report: Report) -> None:
        for file, group in results(unit):
            found = file.value.get("mergeStrategy")
            assert unit.definition is not None
            expected = unit.definition.strategy_of(group).value
            if is_member(MergeStrategy, found) and found != expected:
                text = f"merged with {shown(found)}, but the group {shown(group.id)} requires {shown(expected)}"
                report("/mergeStrategy", text, path=file.path)

    def examples(self) -> Iterator[Example]:
        reviews = (lane("a", 1, kind="review"), lane("b", 2, kind="review"))
        files: dict[str, Any] = {WORKFLOW_PATH: lanes("reviewer", "reviewer")}
        yield Example(
            fan_in(*reviews, strategy="workspace"),
            fan_in(*reviews, strategy="concatenate"),
            path=FAN_IN_PATH,
            files=files,
        )


class LaneOutputMissing(FanInRule):
    code = "BC510"
    name = "lane-output-missing"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A lane that ran is missing from the result of its group."
    why = "The outputs of all lanes are kept, even of failed ones; a missing output was lost in the merge."

    def check_unit(self, unit: Unit, report: Report) -> None:
        for file, group in results(unit):
            have = lane_ids(file.value)
            for ident in group.lanes if isinstance(file.value.get("blockOutputs"), list) else ():
                if ident in unit.ran and ident not in have:
                    report("/blockOutputs", f"the lane {shown(ident)} ran, but its output is missing", path=file.path)

    def examples(self) -> Iterator[Example]:
        both = (lane("a", 1, "a.py"), lane("b", 2, "b.py"))
        files: dict[str, Any] = {
            WORKFLOW_PATH: lanes("coding", "coding"),
            output_path("a"): both[0],
            output_path("b"): both[1],
            env_path("b"): environment("b", "1"),
        }
        yield Example(fan_in(both[0]), fan_in(*both), path=FAN_IN_PATH, files=files)


class FanInOrder(FanInRule):
    code = "BC511"
    name = "fan-in-order"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The outputs in a result are not in lane order."
    why = "Results of equal runs should be equal; the completion order is recorded elsewhere."
    fix = "Sort the outputs by lane order."
    fix_safety = "safe"

    def check_unit(self, unit: Unit, report: Report) -> None:
        for file, group in results(unit):
            found = lane_ids(file.value)
            place = {ident: at for at, ident in enumerate(group.lanes)}
            known = [ident for ident in found if ident in place]
            wanted = sorted(known, key=place.__getitem__)
            if known != wanted:
                report(
                    "/blockOutputs",
                    f"the outputs are in the order {shown_list(known)}, but the lanes are {shown_list(group.lanes)}",
                    path=file.path,
                    fix=_reordered(file, place) if len(known) == len(file.value["blockOutputs"]) else None,
                )

    def examples(self) -> Iterator[Example]:
        first, second = lane("a", 1, "a.py"), lane("b", 2, "b.py")
        files: dict[str, Any] = {WORKFLOW_PATH: lanes("coding", "coding")}
        good = fan_in(first, second)
        yield Example(fan_in(second, first), good, good, path=FAN_IN_PATH, files=files)


def _reordered(file: UnitFile, place: dict[str, int]) -> Fix:
    ordered = sorted(file.value["blockOutputs"], key=lambda item: place[item["blockId"]])
    return safe("sort them by lane order", Replace("/blockOutputs", ordered))
