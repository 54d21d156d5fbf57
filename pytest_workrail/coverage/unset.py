"""Conditions and loops that wait for unset variables: which of them a run can show to be waiting, and to be asked for.

A point is a goal only where nothing on the way has to set the variables: it is left out if other parts of the workflow
may need them first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from pytest_workrail.coverage.points import MISSING_KEY, UNSET, Kind, Point
from pytest_workrail.engine.core.conditions import evaluate
from pytest_workrail.engine.core.profiles import LoopVariable, Profile, UnsetCondition
from pytest_workrail.engine.core.smallest_set import ConditionSolver

# Every run is started with a goal.
_ALWAYS_SET = frozenset(("goal",))


class UnsetGoals:
    """What unset variables can show in one IR under one profile."""

    def __init__(self, ir: dict[str, Any], profile: Profile) -> None:
        self._steps: list[dict[str, Any]] = ir["steps"]
        self._profile = profile

    def condition(self, step: dict[str, Any], place: str, loop_step: dict[str, Any] | None) -> Iterator[Point]:
        """The case of a condition whose variables are not set."""
        if self._waits(step, loop_step):
            yield Point(Kind.CONDITION, place, UNSET)

    def questions(self, step: dict[str, Any]) -> Iterator[Point]:
        """What a run that asks does about a top-level step or loop."""
        if self._is_asked_by_condition(step) or self._is_asked_by_loop(step):
            yield Point(Kind.BLOCKER, step["id"], MISSING_KEY)
            yield Point(Kind.GAP, step["id"], MISSING_KEY)

    def variables(self, place: str) -> frozenset[str]:
        """The variables that a top-level step or loop waits for."""
        step = next(each for each in self._steps if each["id"] == place)
        if self._is_asked_by_loop(step):
            return _of_loop(step)
        return _read(step)

    def _waits(self, step: dict[str, Any], loop_step: dict[str, Any] | None) -> bool:
        read = _read(step)
        if not read or read & (self._needed_by_loops | _ALWAYS_SET):
            return False
        if loop_step is not None:
            around = {*_read(loop_step), *_deciding(loop_step), *loop_step["loop"]["variables"].values()}
            if read & around:
                return False
        condition = step["runCondition"]
        patch = None if evaluate(condition, {}) else ConditionSolver(condition).smallest(True, {})
        return patch is not None

    def _is_asked_by_condition(self, step: dict[str, Any]) -> bool:
        match self._profile.unset_condition:
            case UnsetCondition.PASS_OVER:
                return False
            case UnsetCondition.ASK:
                read = _read(step)
                if not self._waits(step, None) or len(read) > 10 or _may_be_empty(step):
                    return False
                others = [each for each in self._steps if each is not step]
                # Whoever waits for the same variable is asked about first; and a run has to get under way without it.
                return not any(read & _all_read(each) for each in others) and bool(others)

    def _is_asked_by_loop(self, step: dict[str, Any]) -> bool:
        match self._profile.loop_variable:
            case LoopVariable.REFUSE:
                return False
            case LoopVariable.ASK:
                needed = _of_loop(step)
                before = self._steps[: self._steps.index(step)]
                runs_first = any("runCondition" not in each and each["type"] != "loop" for each in before)
                is_used = any(needed & (_all_read(each) | _of_loop(each)) for each in before)
                return bool(needed) and runs_first and not is_used and not needed & _read(step)

    @cached_property
    def _needed_by_loops(self) -> frozenset[str]:
        return frozenset(name for each in self._steps for name in _of_loop(each))


def _read(step: dict[str, Any]) -> frozenset[str]:
    """The variables that the condition of a step reads."""
    return frozenset(ConditionSolver(step["runCondition"]).variables) if "runCondition" in step else frozenset()


def _all_read(step: dict[str, Any]) -> frozenset[str]:
    """The variables that decide whether a step, a loop or a step of its body is done."""
    inner = (name for each in step.get("body", ()) for name in _read(each))
    return frozenset((*_read(step), *_deciding(step), *inner))


def _deciding(step: dict[str, Any]) -> frozenset[str]:
    """The variables of the condition that a loop continues by."""
    condition = step["loop"]["source"].get("condition") if step["type"] == "loop" else None
    return frozenset(ConditionSolver(condition).variables)


def _of_loop(step: dict[str, Any]) -> frozenset[str]:
    """The variable that a loop runs over."""
    source = step["loop"]["source"] if step["type"] == "loop" else {}
    return frozenset((source["variable"],) if "variable" in source else ())


def _may_be_empty(step: dict[str, Any]) -> bool:
    """Whether a loop may be entered and show no step, so that setting its variables would not help."""
    if step["type"] != "loop":
        return False
    return step["loop"]["source"]["kind"] != "count" or all("runCondition" in each for each in step["body"])
