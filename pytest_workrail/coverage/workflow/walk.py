"""The way of one run through its workflow: conditions both ways, and how loops ended.

The log says which step came next, and which loops were entered and left on the way. Which conditions did not hold
follows from that: a step that was open, stood earlier and was not chosen had a condition that failed. Where two
explanations are possible, nothing is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from pytest_workrail.coverage.workflow.goals import fixed_count, natural_exit
from pytest_workrail.coverage.workflow.points import Kind, Point, place_of, truth_case
from pytest_workrail.engine.profiles import LoopLimit, Profile
from pytest_workrail.run.transcript import Visit
from workrail_lint.js import Json

Trace: TypeAlias = Sequence[dict[str, Json]]
_Key: TypeAlias = tuple[str, tuple[tuple[str, int], ...]]


class Walk:
    """Follows the visits of one run. Knows which top-level steps are closed: done, or a loop that was left."""

    def __init__(self, ir: dict[str, Any], profile: Profile) -> None:
        self._steps: list[dict[str, Any]] = ir["steps"]
        self._order = {step["id"]: place for place, step in enumerate(self._steps)}
        self._limit_exits = profile.loop_limit is LoopLimit.EXIT
        self._closed: frozenset[str] = frozenset()
        self._reached: dict[_Key, frozenset[str]] = {}

    def points(self, visits: Sequence[Visit], end_trace: Trace | None) -> Iterator[Point]:
        """What the order of the visits shows; `end_trace` is how the end was found, None when it was not reached."""
        previous: Visit | None = None
        for visit in visits:
            key = (visit.step_id, visit.loop_path)
            if key in self._reached:
                # Another attempt, or the agent went back: the run stands where it stood then.
                self._closed = self._reached[key]
            elif previous is None or previous.outcome == "advanced":
                yield from self._selection(previous, visit, visit.trace)
                self._reached[key] = self._closed
            previous = visit
        if end_trace is not None and previous is not None and previous.outcome == "advanced":
            yield from self._selection(previous, None, end_trace)

    def _selection(self, previous: Visit | None, chosen: Visit | None, trace: Trace) -> Iterator[Point]:
        left = previous.loop_path[-1][0] if previous is not None and previous.loop_path else None
        entered = chosen.loop_path[-1][0] if chosen is not None and chosen.loop_path else None
        if previous is not None and chosen is not None and left is not None and left == entered:
            yield from self._within(left, self._after(previous), chosen)
            return
        if previous is not None and left is not None:
            yield from self._loop_left(left, previous, trace)
        if previous is not None:
            self._close(previous.step_id if left is None else left)
        yield from self._passed_over(chosen, trace)
        if chosen is None:
            return
        ancestor = chosen.step_id if entered is None else entered
        if "runCondition" in self._top(ancestor):
            yield Point(Kind.CONDITION, ancestor, truth_case(True))
        if entered is not None:
            yield from self._within(entered, (0, 0), chosen)

    def _passed_over(self, chosen: Visit | None, trace: Trace) -> Iterator[Point]:
        """The open steps before the chosen one: their conditions failed, or they are loops that did nothing."""
        ancestor = None if chosen is None else chosen.loop_path[-1][0] if chosen.loop_path else chosen.step_id
        end = len(self._steps) if ancestor is None else self._order[ancestor]
        for step in self._steps[:end]:
            step_id = step["id"]
            if step_id in self._closed:
                continue
            if step["type"] == "loop":
                yield from self._idle_loop(step, trace)
            elif "runCondition" in step:
                yield Point(Kind.CONDITION, step_id, truth_case(False))

    def _idle_loop(self, step: dict[str, Any], trace: Trace) -> Iterator[Point]:
        loop_id = step["id"]
        conditional = "runCondition" in step
        if _mentions(trace, "exited_loop", "loop_id", loop_id):
            if conditional:
                yield Point(Kind.CONDITION, loop_id, truth_case(True))
            if not _mentions(trace, "entered_loop", "loop_id", loop_id):
                yield Point(Kind.LOOP, loop_id, "zero")
            self._close(loop_id)
        elif conditional and _mentions(trace, "evaluated_condition", "step_id", loop_id):
            yield Point(Kind.CONDITION, loop_id, truth_case(False))

    def _loop_left(self, loop_id: str, last: Visit, trace: Trace) -> Iterator[Point]:
        step = self._top(loop_id)
        iteration, index = self._after(last)
        iterations = iteration + 1
        asked = _exit_iteration(trace, loop_id)
        count, limit = fixed_count(step), step["loop"]["maxIterations"]
        at_limit = iterations >= limit and asked is None and (count is None or count > limit)
        if at_limit and (self._limit_exits or "invariant_violation" in last.gaps):
            yield Point(Kind.LOOP, loop_id, "limit")
        else:
            yield Point(Kind.LOOP, loop_id, natural_exit(iterations))
        # Only when the whole iteration was over have the rest of its steps been looked at.
        if at_limit or count is not None or asked == iterations:
            yield from self._failed(loop_id, range(index, len(step["body"])))

    def _within(self, loop_id: str, start: tuple[int, int], chosen: Visit) -> Iterator[Point]:
        """From a place in a loop to the chosen one: what lies between had conditions that failed."""
        body = self._top(loop_id)["body"]
        iteration, index = start
        chosen_index, chosen_iteration = self._body_index(loop_id, chosen.step_id), chosen.loop_path[-1][1]
        for _ in range(iteration, chosen_iteration):
            yield from self._failed(loop_id, range(index, len(body)))
            index = 0
        yield from self._failed(loop_id, range(index, chosen_index))
        if "runCondition" in body[chosen_index]:
            yield Point(Kind.CONDITION, place_of(chosen.step_id, chosen.loop_path), truth_case(True))

    def _failed(self, loop_id: str, indexes: range) -> Iterator[Point]:
        body = self._top(loop_id)["body"]
        for index in indexes:
            if "runCondition" in body[index]:
                yield Point(Kind.CONDITION, place_of(body[index]["id"], ((loop_id, 0),)), truth_case(False))

    def _after(self, visit: Visit) -> tuple[int, int]:
        """The iteration of a visit and the body step behind it."""
        loop_id, iteration = visit.loop_path[-1]
        return iteration, self._body_index(loop_id, visit.step_id) + 1

    def _body_index(self, loop_id: str, step_id: str) -> int:
        return next(place for place, step in enumerate(self._top(loop_id)["body"]) if step["id"] == step_id)

    def _top(self, step_id: str) -> dict[str, Any]:
        return self._steps[self._order[step_id]]

    def _close(self, step_id: str) -> None:
        self._closed |= {step_id}


def _refs(entry: dict[str, Json]) -> dict[str, Json]:
    """What a trace entry is about, by the kind of reference."""
    found: dict[str, Json] = {}
    refs = entry.get("refs")
    for ref in refs if isinstance(refs, list) else ():
        if isinstance(ref, dict):
            found |= {str(ref["kind"]): value for name, value in ref.items() if name != "kind"}
    return found


def _mentions(trace: Trace, kind: str, ref_kind: str, name: str) -> bool:
    return any(entry["kind"] == kind and _refs(entry).get(ref_kind) == name for entry in trace)


def _exit_iteration(trace: Trace, loop_id: str) -> int | None:
    """The iteration at which a loop's own condition said that it is over; None when nothing said so."""
    for entry in trace:
        refs = _refs(entry)
        if entry["kind"] != "evaluated_condition" or refs.get("loop_id") != loop_id:
            continue
        iteration = refs.get("iteration")
        if isinstance(iteration, int) and str(entry["summary"]).endswith(": exit."):
            return iteration
    return None
