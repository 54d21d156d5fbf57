"""Why a goal can't happen: a proof that a reader can follow, and that is checked again without the solver.

Nothing is called infeasible because a search gave up. What conditions contradict is proved by the smallest set of
them that no value meets, with one value for each class that they can tell apart, so that all can be tried.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from pytest_workrail.coverage.goals import BlockerGoal, ConditionGoal, GoalList, LoopGoal, StepGoal
from pytest_workrail.coverage.observe import steps_by_place
from pytest_workrail.coverage.points import Excluded, Point, place_of
from pytest_workrail.coverage.reach import (
    APPROVAL,
    AT_LIMIT,
    LIMIT,
    ONE,
    ZERO,
    asks_about_limit,
    can_reject,
    continuing,
    fixed_count,
    loop_blockers,
    loop_numbers,
    step_blockers,
)
from pytest_workrail.engine.core.conditions import evaluate, json_of
from pytest_workrail.engine.core.index import ASSESSMENT, contract_packs
from pytest_workrail.engine.core.profiles import PROFILES, Profile
from pytest_workrail.engine.model.reasons import CapabilityUnavailable, CapabilityUnknown, InvalidRequiredOutput
from pytest_workrail.engine.model.words import METRICS_OUTCOMES, RESERVED_KEYS, SYSTEM_KEYS
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.catalog.contracts import validate_artifact
from workrail_lint.systems.workrail.model.ir import Program, RepeatingStep
from workrail_lint.systems.workrail.solver import Wish
from workrail_lint.systems.workrail.solver.expression import IMPOSSIBLE, UNSET
from workrail_lint.systems.workrail.solver.search import Solver

_HOST = (*RESERVED_KEYS, *SYSTEM_KEYS)
# The choice of a profile on which it depends whether a blocker can come up; about decisions of loops, `loop_decision`.
_CHOICES = {
    APPROVAL: "confirmation",
    AT_LIMIT: "loop_limit",
    CapabilityUnknown.code: "capabilities",
    CapabilityUnavailable.code: "capabilities",
}
_MAX_TRIED = 100_000


def proofs_for(program: Program, profile: Profile) -> Iterator[tuple[Point, dict[str, Json]]]:
    """Yield every point that can't be shown, with its proof, in the order of the steps."""
    listed = GoalList(program, profile)
    for each in listed.excluded:
        proof = _loop_proof(program, profile, each) if each.point.kind is LoopGoal else _contradiction(each)
        if proof is not None:
            yield each.point, proof
            for place in _only_behind(program, each.point):
                yield Point(StepGoal, place, "done"), {"kind": "behind", "of": each.point.name, "proof": proof}
    yield from _of_profile(program, profile, {point.place for point in listed.goals if point.kind is StepGoal})


def _only_behind(program: Program, point: Point) -> Iterator[str]:
    """Yield the steps that are never done because a condition is never true."""
    if point.kind is ConditionGoal and point.case == "true":
        body = next((each.body for each in program.steps if each.id == point.place), ())
        yield from (place_of(each.id, ((point.place, 0),)) for each in body) if body else (point.place,)


def _of_profile(program: Program, profile: Profile, done: set[str]) -> Iterator[tuple[Point, dict[str, Json]]]:
    """Blockers that another profile knows and this one never asks about, and contracts that refuse nothing."""
    packs = contract_packs(program)
    for place, step in steps_by_place(program).items():
        if step.type == "loop":
            if not any(each.startswith(f"{place}/") for each in done):
                continue
            asked = {name: loop_blockers(step, each, True) for name, each in PROFILES.items()}
        elif place in done:
            asked = {name: step_blockers(program, step, each, packs) for name, each in PROFILES.items()}
        else:
            continue
        for code in dict.fromkeys(code for codes in asked.values() for code in codes):
            if code not in asked[profile.name]:
                choice = _CHOICES.get(code, "loop_decision")
                value: str = getattr(profile, choice)
                why = {"kind": "never-asked", "profile": profile.name, "choice": choice, "value": value}
                yield Point(BlockerGoal, place, code), dict[str, Json](why)
        contract = step.contract
        pack = None if contract is None or contract.ref == ASSESSMENT else packs.get(contract.ref)
        if pack is not None and not can_reject(pack):
            proof: dict[str, Json] = {"kind": "accepts-all", "contract": pack.ref, "schema": pack.schema}
            yield Point(BlockerGoal, place, InvalidRequiredOutput.code), proof


def _contradiction(each: Excluded) -> dict[str, Json] | None:
    """Return the conditions that contradict one another, in every iteration that makes a difference."""
    proofs: list[Json] = []
    for iteration in each.scope.iterations(each.wishes):
        wishes = each.scope.together(iteration, each.wishes)
        fixed = each.scope.fixed(iteration)
        proof = core_proof(each.scope.solver, wishes, fixed)
        if proof is None:
            return None
        if each.scope.loop is not None:
            proof["iteration"] = iteration
        proofs.append(proof)
    first: Any = proofs[0]
    return first if len(proofs) == 1 and each.scope.loop is None else {"kind": "contradiction", "iterations": proofs}


def core_proof(solver: Solver, wishes: list[Wish], fixed: dict[str, int]) -> dict[str, Json] | None:
    """Return the smallest set of wishes that can't come out together; None where that is not proved."""
    if solver.solve(wishes, fixed=fixed).verdict != IMPOSSIBLE:
        return None
    core = solver.core(wishes, fixed)
    classes = solver.classes(core)
    proof: dict[str, Json] = {
        "kind": "fixed" if any(name in _HOST for name in classes) else "contradiction",
        "conditions": [{"condition": json_of(condition), "wanted": wanted} for condition, wanted in core],
        "classes": {
            name: [{"unset": True} if value is UNSET else {"value": value} for value in values]
            for name, values in classes.items()
            if name not in fixed
        },
    }
    used = {name: value for name, value in fixed.items() if name in classes}
    return {**proof, "fixed": dict[str, Json](used)} if used else proof


def _loop_proof(program: Program, profile: Profile, each: Excluded) -> dict[str, Json] | None:
    """Return why a loop never ends in one way."""
    loop = next(loop for loop in program.loops if loop.id == each.point.place)
    limit, count, case = loop.loop.max_iterations, fixed_count(loop), each.point.case
    bound: dict[str, Json] = {"kind": "bound", "limit": limit}
    if count is not None:
        return {**bound, "count": count}
    last = int(limit) if asks_about_limit(loop, profile) else int(limit) - 1
    if case != LIMIT and _least(case) > last:
        return {**bound, "why": "no decision is asked for after the last iteration that the limit allows"}
    if loop.loop.source.kind == "artifact":
        # An agent that decides before it was asked can skip such a loop: that is no goal, but it can happen.
        return None if case == ZERO else bound
    solver = each.scope.solver
    wanted = range(_least(case), (_least(case) if case in (ZERO, ONE) else last) + 1)
    ends = [_asked(solver, loop, each, at, goes_on=False) for at in wanted] if case != LIMIT else []
    goes_on = [_asked(solver, loop, each, at, goes_on=True) for at in range(last + 1)]
    stopped = next((proof for proof in goes_on if proof is not None), None)
    if case == LIMIT or (stopped is not None and goes_on.index(stopped) < _least(case)):
        return None if stopped is None else {**bound, "iteration": goes_on.index(stopped), "proof": stopped}
    if ends and all(proof is not None for proof in ends):
        return {**bound, "ends": ends[0]}
    return {**bound, "proof": stopped} if stopped is not None else None


def _asked(
    solver: Solver, loop: RepeatingStep, each: Excluded, iteration: int, *, goes_on: bool
) -> dict[str, Json] | None:
    held = each.scope.held if iteration == 0 else ()
    return core_proof(solver, [*held, *continuing(loop, iteration, goes_on=goes_on)], loop_numbers(loop, iteration))


def _least(case: str) -> int:
    return {ZERO: 0, ONE: 1}.get(case, 2)


# ------------------------------------------------------------------------------------------------------------ checking


def holds(proof: dict[str, Any]) -> bool:
    """Whether a proof is one: every combination of values is tried with the engine's evaluator, beyond the classes."""
    match proof["kind"]:
        case "contradiction" | "fixed" if "iterations" in proof:
            return all(map(holds, proof["iterations"]))
        case "contradiction" | "fixed":
            return not any(_meets(proof, context) for context in _contexts(proof))
        case "behind":
            return holds(proof["proof"])
        case "bound":
            return all(holds(proof[name]) for name in ("proof", "ends") if name in proof)
        case "never-asked":
            profile = PROFILES[proof["profile"]]
            return bool(getattr(profile, proof["choice"]) == proof["value"])
        case "accepts-all":
            return not any(validate_artifact(proof["schema"], odd) for odd in ({}, {"unexpected": True}))
        case _:
            return False


def _meets(proof: dict[str, Any], context: dict[str, Any]) -> bool:
    seen = {**context, **proof.get("fixed", {})}
    return all(evaluate(each["condition"], seen) is each["wanted"] for each in proof["conditions"])


def _contexts(proof: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the classes, and of values near what the conditions compare with."""
    options: dict[str, list[Any]] = {}
    for name, values in proof["classes"].items():
        known: list[Any] = [UNSET if "unset" in each else each["value"] for each in values]
        if name not in _HOST and name != "metrics_outcome":
            known += _near(proof["conditions"], name)
        elif name == "metrics_outcome":
            known += METRICS_OUTCOMES
        options[name] = known
    size = math.prod(map(len, options.values()))
    if size > _MAX_TRIED:
        options = {name: values[: max(2, int(_MAX_TRIED ** (1 / len(options))))] for name, values in options.items()}
    for values in itertools.product(*options.values()):
        yield {name: value for name, value in zip(options, values, strict=True) if value is not UNSET}


def _near(conditions: list[dict[str, Any]], name: str) -> list[Any]:
    values: list[Any] = [True, False, "", "something", 0, 1, -1, [], {}]
    stack = [each["condition"] for each in conditions]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack += node
        elif isinstance(node, dict) and node.get("var") == name:
            for key, operand in node.items():
                for value in operand if isinstance(operand, list) else [operand]:
                    if key != "var":
                        values += _variants(value)
        elif isinstance(node, dict):
            stack += node.values()
    return values


def _variants(value: Any) -> list[Any]:
    if isinstance(value, bool) or value is None:
        return [value, str(value).lower()] if value is not None else []
    if isinstance(value, int | float):
        return [value, value + 1, value - 1, value + 0.5, value - 0.5, str(value)]
    if isinstance(value, str):
        return [value, value.upper(), f" {value} ", f"{value} and more", f"more {value}", f"x{value}y", [value]]
    return []
