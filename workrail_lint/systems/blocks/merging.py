"""Fan-in: which lane's version of which file ends up in the main workspace, and which paths are in conflict.

A conflict is one path in `filesModified` of two or more lanes that did not fail. Times decide who was first, never
whether there is a conflict. Given outputs and completion order, everything here is a pure function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workrail_lint.systems.blocks.paths import is_below_output, is_rel_path, normalized
from workrail_lint.systems.blocks.vocabulary import MergeStrategy, OutputStatus, Resolution, texts_of

CONFLICT_EVENT = "lane:conflict-detected"
MANUAL = "manual"

Output = Mapping[str, Any]


class PathConflict(NamedTuple):
    """A path that several lanes touched, and those lanes in completion order."""

    path: str
    lanes: tuple[str, ...]


class Merge(NamedTuple):
    """What a fan-in does. `applied` maps a path to its lane, or to `manual` for content from the user."""

    applied: dict[str, str]
    conflicts: list[dict[str, Any]]
    events: list[dict[str, Any]]  # the payloads of the conflict events
    unresolved: tuple[
        PathConflict, ...
    ]  # all path_conflicts, when a person still has to decide one; nothing is applied before


def completion_order(finished: Iterable[tuple[str, Any]]) -> list[str]:
    """Lanes, given in lane order with their finish times, by time; ties stay in lane order."""
    return [lane for lane, _ in sorted(finished, key=lambda item: item[1])]


def modified(output: Output) -> list[str]:
    """The paths a block says it modified, as they are compared."""
    return _paths(output, "filesModified")


def created(output: Output) -> list[str]:
    """The paths a block says it created, as they are compared."""
    return _paths(output, "filesCreated")


def reported(output: Output) -> list[str]:
    """Everything a block says it changed, sorted, each path once."""
    return sorted({*modified(output), *created(output)})


def _paths(output: Output, member: str) -> list[str]:
    found = (normalized(path) for _, path in texts_of(output.get(member)))
    # What leads out of the workspace is reported elsewhere, and in the output folder every block has a file of its
    # own; neither takes part in a merge.
    return list(dict.fromkeys(path for path in found if is_rel_path(path) and not is_below_output(path)))


def givers(outputs: Mapping[str, Output], order: Sequence[str]) -> list[str]:
    """The lanes whose edits count, in completion order: those that did not fail."""
    return [lane for lane in order if lane in outputs and outputs[lane].get("status") != OutputStatus.FAILED.value]


def path_conflicts(outputs: Mapping[str, Output], order: Sequence[str]) -> list[PathConflict]:
    """The paths that several lanes modified, sorted."""
    touched: dict[str, list[str]] = {}
    for lane in givers(outputs, order):
        for path in modified(outputs[lane]):
            touched.setdefault(path, []).append(lane)
    return [PathConflict(path, tuple(lanes)) for path, lanes in sorted(touched.items()) if len(lanes) > 1]


def created_collisions(outputs: Mapping[str, Output], order: Sequence[str]) -> list[PathConflict]:
    """The paths that one lane created and another one lists too: no conflict by contract, but only one can win."""
    touched: dict[str, list[str]] = {}
    new: set[str] = set()
    for lane in givers(outputs, order):
        new.update(created(outputs[lane]))
        for path in reported(outputs[lane]):
            touched.setdefault(path, []).append(lane)
    return [
        PathConflict(path, tuple(lanes)) for path, lanes in sorted(touched.items()) if len(lanes) > 1 and path in new
    ]


def merge(
    strategy: MergeStrategy,
    outputs: Mapping[str, Output],
    order: Sequence[str],
    choices: Mapping[str, str] | None = None,
) -> Merge:
    """Plan a fan-in. `choices` are a person's winners by path, for the strategy that asks for them."""
    found = path_conflicts(outputs, order)
    match strategy:
        case MergeStrategy.CONCATENATE:
            return Merge({}, [], [], ())
        case MergeStrategy.WORKSPACE:
            records = [first_wins(clash) for clash in found]
            return Merge(_applied(outputs, order, {}), records, records, ())
        case MergeStrategy.FAIL_ON_CONFLICT:
            made = choices or {}
            if any(made.get(clash.path) not in (*clash.lanes, MANUAL) for clash in found):
                return Merge({}, [], [], tuple(found))
            chosen = {clash.path: made[clash.path] for clash in found}
            return Merge(_applied(outputs, order, chosen), [user_resolved(c, made[c.path]) for c in found], [], ())


def first_wins(clash: PathConflict) -> dict[str, Any]:
    """The record of a conflict that the first lane to finish won; the event has the same four members."""
    return {
        "conflictingFile": clash.path,
        "lanes": list(clash.lanes),
        "resolution": Resolution.FIRST_COMPLETE_WINS.value,
        "appliedFrom": clash.lanes[0],
    }


def user_resolved(clash: PathConflict, choice: str) -> dict[str, Any]:
    """The record of a conflict that a person decided; manual content comes from no lane."""
    record: dict[str, Any] = {
        "conflictingFile": clash.path,
        "lanes": list(clash.lanes),
        "resolution": Resolution.USER_RESOLVED.value,
    }
    return record if choice == MANUAL else {**record, "appliedFrom": choice}


def _applied(outputs: Mapping[str, Output], order: Sequence[str], chosen: Mapping[str, str]) -> dict[str, str]:
    """Who gives each path: the choice of a person, else the first lane that lists it."""
    applied: dict[str, str] = {}
    for lane in givers(outputs, order):
        for path in reported(outputs[lane]):
            applied.setdefault(path, chosen.get(path, lane))
    return dict(sorted(applied.items()))
