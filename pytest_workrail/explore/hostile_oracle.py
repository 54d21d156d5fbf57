"""A second search for the next step, written anew from what the language means, to hold the engine against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_workrail.engine.core.conditions import evaluate
from pytest_workrail.engine.core.loop_gate import body_of, is_gate
from pytest_workrail.engine.core.packs import LOOP_CONTROL, LOOP_CONTROL_KIND, contract_packs
from pytest_workrail.engine.core.profiles import LoopDecision, LoopIdCheck, LoopLimit, LoopVariable, Profile
from pytest_workrail.records import Record, replace
from workrail_lint.base.js import Json, is_number


class Progress(Record):
    """How far a run is: steps done with their iteration (0 outside of loops), loops left, and what is pending.

    `inside` is the loop under way, `iteration` and `index` where in it; `pending` is None when the run is over.
    """

    done: frozenset[tuple[str, int]] = frozenset()
    inside: str | None = None
    iteration: int = 0
    index: int = 0
    pending: str | None = None


class Oracle:
    """Answers for one IR under one profile."""

    def __init__(self, ir: dict[str, Any], profile: Profile) -> None:
        self._steps: list[dict[str, Any]] = ir["steps"]
        self._loops = {step["id"]: step for step in self._steps if step["type"] == "loop"}
        self._packs = contract_packs(ir)
        self._profile = profile

    def following(
        self, before: Progress, context: Mapping[str, Any], artifacts: Sequence[Json], never_stop: bool
    ) -> Progress | None:
        """Where a run is once its pending step is done; None where it can't go on like this."""
        done = before.done
        if before.pending is not None:
            done |= {(before.pending, before.iteration if before.inside is not None else 0)}
        return self._search(replace(before, done=done, pending=None), context, artifacts, never_stop)

    def _search(
        self, at: Progress, context: Mapping[str, Any], artifacts: Sequence[Json], never_stop: bool
    ) -> Progress | None:
        while True:
            if at.inside is None:
                step = self._first_open(at, context)
                if step is None:
                    return replace(at, pending=None)
                if step["type"] != "loop":
                    return replace(at, pending=step["id"])
                at = replace(at, inside=step["id"], iteration=0, index=0)
            moved = self._in_loop(self._loops[at.inside or ""], at, context, artifacts, never_stop)
            if moved is None or moved.pending is not None:
                return moved
            at = moved

    def _first_open(self, at: Progress, context: Mapping[str, Any]) -> dict[str, Any] | None:
        for step in self._steps:
            if (step["id"], 0) not in at.done and evaluate(step.get("runCondition"), context):
                return step
        return None

    def _in_loop(
        self,
        loop: dict[str, Any],
        at: Progress,
        context: Mapping[str, Any],
        artifacts: Sequence[Json],
        never_stop: bool,
    ) -> Progress | None:
        left = replace(at, done=at.done | {(loop["id"], 0)}, inside=None, iteration=0, index=0)
        goes_on = self._goes_on(loop, at.iteration, context, artifacts, decides=False)
        if goes_on is None:
            return left if self._may_be_left_unset(loop, context) else None
        if not goes_on:
            return left
        variables = {**context, **_variables(loop, at.iteration, context)}
        for index, step in enumerate(body_of(loop, self._profile)):
            is_open = index >= at.index and (step["id"], at.iteration) not in at.done
            if is_gate(step) and self._decision(loop["id"], artifacts) is not None:
                continue  # it only asks for what is not decided yet
            if is_open and evaluate(step.get("runCondition"), variables):
                return replace(at, index=index, pending=step["id"])
        following = at.iteration + 1
        is_last = following >= loop["loop"]["maxIterations"]
        if is_last and self._profile.loop_limit is LoopLimit.EXIT:
            return left
        goes_on = self._goes_on(loop, following, context, artifacts, decides=True)
        if goes_on is None:
            # A missing decision is passed over by a run that never stops; a variable only where it is asked for.
            is_passed = never_stop and loop["loop"]["source"]["kind"] == "artifact"
            return left if is_passed or self._may_be_left_unset(loop, context) else None
        if not goes_on:
            return left
        if is_last:
            return left if never_stop else None
        return replace(at, iteration=following, index=0)

    def _may_be_left_unset(self, loop: dict[str, Any], context: Mapping[str, Any]) -> bool:
        """Whether a loop is passed over once its variable was asked for, or by a run that asks nobody."""
        name = loop["loop"]["source"].get("variable")
        return name is not None and name not in context and self._profile.loop_variable is LoopVariable.ASK

    def _goes_on(
        self,
        loop: dict[str, Any],
        iteration: int,
        context: Mapping[str, Any],
        artifacts: Sequence[Json],
        *,
        decides: bool,
    ) -> bool | None:
        """Whether a loop has this iteration; None where nobody can tell."""
        source = loop["loop"]["source"]
        match source["kind"]:
            case "count":
                count: Any = source["count"] if "count" in source else context.get(source["variable"])
                return iteration < count if is_number(count) else None
            case "items":
                items = context.get(source["variable"])
                return iteration < len(items) if isinstance(items, list) else None
            case "condition":
                holds = evaluate(source["condition"], {**context, **_variables(loop, iteration, context)})
                return holds is (loop["loop"]["kind"] != "until")
            case "artifact":
                decision = self._decision(loop["id"], artifacts)
                if decision is not None:
                    return decision == "continue"
                return None if decides and self._profile.loop_decision is LoopDecision.REQUIRE else True
        return None

    def _decision(self, loop_id: str, artifacts: Sequence[Json]) -> str | None:
        """What the last artifact says that decides about a loop."""
        named = self._profile.loop_id is LoopIdCheck.MATCH
        for artifact in reversed(artifacts):
            if isinstance(artifact, dict) and artifact.get("kind") == LOOP_CONTROL_KIND:
                is_meant = not named or artifact.get("loopId") == loop_id
                if is_meant and not self._packs[LOOP_CONTROL].issues(artifact):
                    return str(artifact["decision"])
        return None


def _variables(loop: dict[str, Any], iteration: int, context: Mapping[str, Any]) -> dict[str, Any]:
    names, source = loop["loop"]["variables"], loop["loop"]["source"]
    made: dict[str, Any] = {names["iteration"]: iteration + 1}
    items = context.get(source["variable"]) if source["kind"] == "items" else None
    if isinstance(items, list):
        made[names["item"]] = items[iteration] if iteration < len(items) else None
        made[names["index"]] = iteration
    return made
