"""The scenario that would notice a mutant: runs that visit its place in every way that can make a difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from pytest_workrail.agents.condition_solver import agent_solver
from pytest_workrail.agents.correct import smallest_artifact
from pytest_workrail.agents.notes import fitting_notes
from pytest_workrail.engine.core.packs import ASSESSMENT_KIND, contract_packs
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.explore.mutation_edit import Mutant, value_at
from pytest_workrail.explore.mutation_inert import condition_path, loop_around, scope_of, step_at
from pytest_workrail.explore.mutation_judge import shown_by
from pytest_workrail.run.result import Run
from pytest_workrail.scenarios.workflow_driver import Loaded, run_scenario
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.scenario import Scenario
from workrail_lint.systems.workrail.scenario_words import Behaviour
from workrail_lint.systems.workrail.solver import POSSIBLE, Wish

MOST_RUNS = 100
_MODES = ("guided", "full_auto_never_stop", "full_auto_stop_on_user_deps")


def missing_scenario(
    mutant: Mutant, ir: dict[str, Any], profiles: Sequence[ProfileName], most: int = MOST_RUNS
) -> dict[str, Json] | None:
    """A scenario that notices the mutant, found by a bounded search; None if none of its runs shows a difference."""
    mutated = mutant.apply(ir)
    for candidate in islice(_candidates(mutant, ir, mutated, profiles), most):
        scenario: dict[str, Any] = {"workflow": "workflow.json", **candidate}
        Scenario.model_validate(scenario)
        sound = run_scenario(Loaded(scenario, ir)).run
        if sound.ending.kind in ("misplayed", "endless"):
            continue
        if _differs(sound, scenario, mutated):
            return {**candidate, "expect": expected(sound)}
    return None


def _differs(sound: Run, scenario: dict[str, Any], mutated: dict[str, Any]) -> bool:
    try:
        other = run_scenario(Loaded(scenario, mutated)).run
    except Exception:  # a workflow that no author could compile may lead anywhere
        return True
    return bool(shown_by(sound) != shown_by(other))


def expected(run: Run) -> dict[str, Json]:
    """What a scenario expects of the run it was made from."""
    found: dict[str, Json] = {"status": str(run.status), "steps": [str(step) for step in run.steps]}
    if run.blockers:
        found["blockers"] = [str(code) for code in run.blockers]
    if run.gaps:
        found["gaps"] = [str(detail) for detail in run.gaps]
    if run.status == "error":
        found["error"] = str(run.transcript.exchanges[-1].response["code"])
    return found


def _candidates(
    mutant: Mutant, ir: dict[str, Any], mutated: dict[str, Any], profiles: Sequence[ProfileName]
) -> Iterator[dict[str, Json]]:
    contexts = list(_contexts(mutant, ir, mutated))
    turns = list(_turns(mutant, ir, mutated))
    # What is most likely to differ comes first: the plain run, then each way to answer, then the other modes.
    for mode in _MODES:
        for turn in turns:
            for context in contexts:
                for profile in profiles:
                    made: dict[str, Json] = {"profile": profile, "mode": mode}
                    if context:
                        made["context"] = context
                    if turn:
                        made["agent"] = {"kind": "auto", "turns": list(turn)}
                    yield made


def _changed_step(mutant: Mutant, ir: dict[str, Any]) -> dict[str, Any] | None:
    """The step that a mutant is about, also where the change is in something that the step refers to."""
    found = step_at(ir, mutant.at)
    if found is not None or not mutant.place:
        return found
    outer, _, inner = mutant.place.partition("/")
    top: dict[str, Any] = next(step for step in ir["steps"] if step["id"] == outer)
    found = next((step for step in top["body"] if step["id"] == inner), None) if inner else top
    return found or top


def _contexts(mutant: Mutant, ir: dict[str, Any], mutated: dict[str, Any]) -> Iterator[dict[str, Json]]:
    """Contexts in which the changed place is reached, and those in which the change decides."""
    scope_path = mutant.path if mutant.path != ("steps",) else mutant.at
    step, loop = _changed_step(mutant, ir), loop_around(ir, mutant.at)
    around = [each for each in (loop, step) if each is not None]
    visiting: list[Wish] = [(each["runCondition"], True) for each in around if "runCondition" in each]
    if mutant.operator == "FRG-DROP":
        visiting.append((value_at(ir, (*mutant.path, "when")), True))
    if mutant.operator == "GAT-DROP" and "condition" in value_at(ir, mutant.path):
        visiting.append((value_at(ir, (*mutant.path, "condition")), True))
    if loop is not None and loop["loop"]["source"]["kind"] == "condition":
        visiting.append((loop["loop"]["source"]["condition"], loop["loop"]["kind"] != "until"))
    at = condition_path(mutant.path)
    if mutant.operator == "GAT-ALWAYS":
        at = (*mutant.path, "condition")
    wishes: list[list[Wish]] = []
    extra: list[object] = []
    if at is not None:
        sound, other = value_at(ir, at), value_at(mutated, at)
        extra = [sound, other]
        own = at[-1] == "runCondition"
        beside = [wish for wish in visiting if not own or wish[0] is not sound]
        for one, two in ((True, False), (False, True)):
            wishes.append([*beside, (sound, one), (other, two)])
            wishes.append([(sound, one), (other, two)])
    if mutant.operator == "STP-SWAP":
        index = mutant.at[-1]
        assert isinstance(index, int)
        following = value_at(ir, mutant.path)[index + 1].get("runCondition")
        wishes.append([*visiting, (following, True)])
    wishes.append(visiting)
    scope = scope_of(ir, scope_path, extra)
    seen: list[dict[str, Json]] = []
    for wanted in wishes:
        for iteration in scope.iterations(wanted)[:3]:
            answer = scope.solver.solve(wanted, fixed=scope.fixed(iteration))
            change = {name: value for name, value in (answer.change or {}).items() if value is not None}
            if answer.verdict == POSSIBLE and change not in seen:
                seen.append(change)
                yield change
    if {} not in seen:
        yield {}
    for each in (loop, step):
        yield from _long_lists(each)


def _long_lists(step: dict[str, Any] | None) -> Iterator[dict[str, Json]]:
    """More elements than a loop takes, and as many as it takes."""
    if step is None or step["type"] != "loop" or "variable" not in step["loop"]["source"]:
        return
    source, limit = step["loop"]["source"], int(step["loop"]["maxIterations"])
    for length in (limit + 1, limit, 2):
        items: list[Json] = [{"name": f"item {number}"} for number in range(length)]
        yield {source["variable"]: length if source["kind"] == "count" else items}


def _turns(mutant: Mutant, ir: dict[str, Any], mutated: dict[str, Any]) -> Iterator[list[Json]]:
    """What the agent does differently: nothing, something made for this change, then every behaviour."""
    yield []
    step = _changed_step(mutant, ir)
    loop = step if step is not None and step["type"] == "loop" else loop_around(ir, mutant.at)
    if loop is not None:
        yield from _long_stays(loop)
    if step is None or step["type"] == "loop":
        return
    yield from _answers(mutant, ir, mutated, step)
    for behaviour in Behaviour:
        if behaviour is not Behaviour.RIGHT:
            yield [{"step": step["id"], "does": behaviour.value}]


def _long_stays(loop: dict[str, Any]) -> Iterator[list[Json]]:
    """Staying in a loop to its limit: by decisions, or by keeping its condition as it is."""
    source = loop["loop"]["source"]
    for step in loop["body"]:
        if step.get("output", {}).get("contract", {}).get("ref") == "wr.contracts.loop_control":
            yield [{"step": step["id"], "does": "keep_looping", "repeats": True}]
            yield [{"step": step["id"], "does": "keep_looping"}]
    if source["kind"] == "condition":
        kept = _keeps_going(source["condition"], loop["loop"]["kind"] != "until")
        if kept:
            # Some steps of the body may have conditions of their own, and a turn that is not used is an error.
            names = [step["id"] for step in loop["body"]]
            for chosen in (*([name] for name in reversed(names)), names):
                yield [{"step": name, "does": "right", "context": kept, "repeats": True} for name in chosen]
            yield [{"step": names[-1], "does": "right", "context": kept}]


def _keeps_going(condition: object, wanted: bool) -> dict[str, Json]:
    """What to set so that a loop goes on, whatever the right answer would set to end it; null removes a variable."""
    solver = agent_solver([condition])
    ended = solver.solve([(condition, not wanted)]).change or {}
    return solver.solve([(condition, wanted)], ended).change or {}


def _answers(mutant: Mutant, ir: dict[str, Any], mutated: dict[str, Any], step: dict[str, Any]) -> Iterator[list[Json]]:
    """Submissions that the step and its mutant may judge differently."""
    output: dict[str, Any] = step.get("output", {})
    if "criteria" in output:
        other = (step_at(mutated, mutant.at) or {}).get("output", {}).get("criteria")
        for criteria in (other, output["criteria"]):
            notes = None if criteria is None else fitting_notes(criteria, {}, "Done.")
            if notes is not None:
                yield [{"step": step["id"], "notes": notes}]
        yield [{"step": step["id"], "notes": "Done."}]
    if "contract" in output:
        pack = contract_packs(ir).get(output["contract"]["ref"])
        artifact = None if pack is None else smallest_artifact(pack)
        for name in artifact or {}:
            left: dict[str, Json] = {key: value for key, value in (artifact or {}).items() if key != name}
            yield [{"step": step["id"], "artifacts": [left]}]
    if "assessments" in output:
        for artifacts in _assessments(ir, output["assessments"]["refs"]):
            yield [{"step": step["id"], "notes": "Done.", "artifacts": list(artifacts)}]


def _assessments(ir: dict[str, Any], refs: list[str]) -> Iterator[list[Json]]:
    """Every level of every dimension once, and every dimension left out once."""
    declared = {each["id"]: each for each in ir["assessments"]}
    plain = {ref: {each["id"]: each["levels"][-1] for each in declared[ref]["dimensions"]} for ref in refs}

    def artifacts(changed: str, dimensions: dict[str, str]) -> list[Json]:
        return [
            {
                "kind": ASSESSMENT_KIND,
                **({"assessmentId": ref} if len(refs) > 1 else {}),
                "dimensions": dict(dimensions if ref == changed else plain[ref]),
            }
            for ref in refs
        ]

    for ref in refs:
        for dimension in declared[ref]["dimensions"]:
            for level in dimension["levels"]:
                yield artifacts(ref, {**plain[ref], dimension["id"]: level})
            rest = {name: level for name, level in plain[ref].items() if name != dimension["id"]}
            if rest:
                yield artifacts(ref, rest)
