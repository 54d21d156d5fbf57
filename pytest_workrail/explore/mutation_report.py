"""The mutants of a workflow, one piece for an executor: which survive, the scenario that each lacks, the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from pytest_workrail.agents.correct import continue_wish, smallest_artifact
from pytest_workrail.agents.solving import agent_solver
from pytest_workrail.agents.values import fitting_notes
from pytest_workrail.engine.core.conditions import json_of
from pytest_workrail.engine.core.index import ASSESSMENT_KIND, contract_packs
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.explore.mutation_operators import Mutant, mutants
from pytest_workrail.explore.mutation_verdicts import (
    Baseline,
    baseline,
    condition_at,
    condition_path,
    inert_reason,
    loop_around,
    scope_of,
    shown_by,
    step_at,
    verdict_of_mutant,
)
from pytest_workrail.run.result import Run
from pytest_workrail.scenarios.workflow_driver import Loaded, run_scenario
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.js import Json
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.model.build import program_model
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep, RepeatingStep
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.scenario import Scenario
from workrail_lint.systems.workrail.scenario_words import Behaviour
from workrail_lint.systems.workrail.solver import Wish
from workrail_lint.systems.workrail.solver.expression import POSSIBLE

MOST_RUNS = 100
_MODES = ("guided", "full_auto_never_stop", "full_auto_stop_on_user_deps")

KILLED, SURVIVED, INERT, BOUNDED = "killed", "survived", "inert", "inert-bounded"
_STRYKER_STATUS = {KILLED: "Killed", INERT: "Ignored", BOUNDED: "Ignored"}
# The member of a source that a member of the IR is made from, where the names differ.
_SOURCE_MEMBERS = {"confirmation": "requireConfirmation", "fragments": "promptFragments", "notes": "notesOptional"}
TASK = "pytest_workrail.explore.mutation_report:perform"
_MUTANTS_PER_PIECE = 12
_RUNS_KEPT = 16  # each of them has a megabyte
_prepared: tuple[str, SoundRuns, dict[str, Mutant], list[Baseline]] | None = None


class SoundRuns:
    """Runs of a workflow as it is. Mutants of neighbouring places are compared with the same few of them."""

    def __init__(self, ir: dict[str, Any]) -> None:
        self.ir = ir
        self.program = program_model(ir)
        self._runs: dict[str, tuple[Run, Any]] = {}

    def of(self, scenario: dict[str, Any]) -> tuple[Run, Any]:
        """Return the run of a scenario, and what is visible of it."""
        key = digest(canonical_bytes(scenario))
        known = self._runs.pop(key, None)
        if known is None:
            Scenario.model_validate(scenario)
            run = run_scenario(Loaded(scenario, self.ir)).run
            known = run, shown_by(run)
        self._runs[key] = known
        if len(self._runs) > _RUNS_KEPT:
            del self._runs[next(iter(self._runs))]
        return known


def missing_scenario(
    mutant: Mutant, sound: SoundRuns, profiles: Sequence[ProfileName], most: int = MOST_RUNS
) -> dict[str, Json] | None:
    """A scenario that notices the mutant, found by a bounded search; None if none of its runs shows a difference."""
    mutated = mutant.apply(sound.ir)
    for candidate in islice(_candidates(mutant, sound.program, mutated, profiles), most):
        scenario: dict[str, Any] = {"workflow": "workflow.json", **candidate}
        run, transcript = sound.of(scenario)
        if run.ending.kind in ("misplayed", "endless"):
            continue
        if _differs(transcript, scenario, mutated):
            return {**candidate, "expect": expected(run)}
    return None


def _differs(transcript: Any, scenario: dict[str, Any], mutated: dict[str, Any]) -> bool:
    try:
        other = run_scenario(Loaded(scenario, mutated)).run
    except Exception:  # a workflow that no author could compile may lead anywhere
        return True
    return bool(transcript != shown_by(other))


def expected(run: Run) -> dict[str, Json]:
    """Return what a scenario expects of the run it was made from."""
    expectation: dict[str, Json] = {"status": str(run.status), "steps": [str(step) for step in run.steps]}
    if run.blockers:
        expectation["blockers"] = [str(code) for code in run.blockers]
    if run.gaps:
        expectation["gaps"] = [str(detail) for detail in run.gaps]
    if run.status == "error":
        expectation["error"] = str(run.transcript.exchanges[-1].response["code"])
    return expectation


def _candidates(
    mutant: Mutant, program: Program, mutated: dict[str, Any], profiles: Sequence[ProfileName]
) -> Iterator[dict[str, Json]]:
    contexts = list(_contexts(mutant, program, mutated))
    turns = list(_turns(mutant, program, mutated))
    # What is most likely to differ comes first: the plain run, then each way to answer, then the other modes.
    for mode in _MODES:
        for turn in turns:
            for context in contexts:
                for profile in profiles:
                    candidate: dict[str, Json] = {"profile": profile, "mode": mode}
                    if context:
                        candidate["context"] = context
                    if turn:
                        candidate["agent"] = {"kind": "auto", "turns": list(turn)}
                    yield candidate


def _changed_step(mutant: Mutant, program: Program) -> ProgramStep | None:
    """Return the step that a mutant is about, also where the change is in something that the step refers to."""
    changed = step_at(program, mutant.at)
    if changed is not None or not mutant.place:
        return changed
    outer, _, inner = mutant.place.partition("/")
    top = next(step for step in program.steps if step.id == outer)
    return next((step for step in top.body if step.id == inner), top)


def _contexts(mutant: Mutant, program: Program, mutated: dict[str, Any]) -> Iterator[dict[str, Json]]:
    """Contexts in which the changed place is reached, and those in which the change decides."""
    scope_path = mutant.path if mutant.path != ("steps",) else mutant.at
    ir = program.raw
    step, loop = _changed_step(mutant, program), loop_around(program, mutant.at)
    around: list[ProgramStep] = [each for each in (loop, step) if each is not None]
    visiting: list[Wish] = [(each.run_condition, True) for each in around if each.run_condition is not None]
    if mutant.operator == "FRG-DROP":
        visiting.append((condition_at(ir, (*mutant.path, "when")), True))
    if mutant.operator == "GAT-DROP" and step is not None and step.confirmation_condition is not None:
        visiting.append((step.confirmation_condition, True))
    if loop is not None and loop.loop_condition is not None:
        visiting.append(continue_wish(loop, True))
    at = condition_path(mutant.path)
    if mutant.operator == "GAT-ALWAYS":
        at = (*mutant.path, "condition")
    wishes: list[list[Wish]] = []
    extra: list[Condition | None] = []
    if at is not None:
        sound, other = condition_at(ir, at), condition_at(mutated, at)
        extra = [sound, other]
        own = at[-1] == "runCondition"
        beside = [wish for wish in visiting if not own or json_of(wish[0]) is not json_of(sound)]
        for one, two in ((True, False), (False, True)):
            wishes.append([*beside, (sound, one), (other, two)])
            wishes.append([(sound, one), (other, two)])
    if mutant.operator == "STP-SWAP":
        index = mutant.at[-1]
        assert isinstance(index, int)
        following = condition_at(ir, (*mutant.path, index + 1, "runCondition"))
        wishes.append([*visiting, (following, True)])
    wishes.append(visiting)
    scope = scope_of(program, scope_path, extra)
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
    for each in around:
        if each.type == "loop" and each.loop_variable is not None:
            yield from _long_lists(each, each.loop_variable)


def _long_lists(loop: RepeatingStep, variable: str) -> Iterator[dict[str, Json]]:
    """Yield more elements than a loop takes, and as many as it takes."""
    limit = int(loop.loop.max_iterations)
    for length in (limit + 1, limit, 2):
        items: list[Json] = [{"name": f"item {number}"} for number in range(length)]
        yield {variable: length if loop.loop.source.kind == "count" else items}


def _turns(mutant: Mutant, program: Program, mutated: dict[str, Any]) -> Iterator[list[Json]]:
    """Yield what the agent does differently: nothing, something made for this change, then every behaviour."""
    yield []
    step = _changed_step(mutant, program)
    loop = step if step is not None and step.type == "loop" else loop_around(program, mutant.at)
    if loop is not None:
        yield from _long_stays(loop)
    if step is None or step.type == "loop":
        return
    yield from _answers(mutant, program, mutated, step)
    for behaviour in Behaviour:
        if behaviour is not Behaviour.RIGHT:
            yield [{"step": step.id, "does": behaviour.value}]


def _long_stays(loop: RepeatingStep) -> Iterator[list[Json]]:
    """Yield turns that stay in a loop to its limit: by decisions, or by keeping its condition as it is."""
    for step in loop.body:
        if step.decides_loop:
            yield [{"step": step.id, "does": "keep_looping", "repeats": True}]
            yield [{"step": step.id, "does": "keep_looping"}]
    if loop.loop_condition is not None:
        kept = _keeps_going(*continue_wish(loop, True))
        if kept:
            # Some steps of the body may have conditions of their own, and a turn that is not used is an error.
            names = [step.id for step in loop.body]
            for chosen in (*([name] for name in reversed(names)), names):
                yield [{"step": name, "does": "right", "context": kept, "repeats": True} for name in chosen]
            yield [{"step": names[-1], "does": "right", "context": kept}]


def _keeps_going(condition: Condition | None, wanted: bool) -> dict[str, Json]:
    """Return the values that keep a loop going, even against an answer that would end it; null removes a variable."""
    solver = agent_solver([condition])
    ended = solver.solve([(condition, not wanted)]).change or {}
    return solver.solve([(condition, wanted)], ended).change or {}


def _answers(mutant: Mutant, program: Program, mutated: dict[str, Any], step: ProgramStep) -> Iterator[list[Json]]:
    """Yield submissions that the step and its mutant may judge differently."""
    if step.criteria is not None:
        changed = step_at(program_model(mutated), mutant.at)
        for criteria in (None if changed is None else changed.criteria, step.criteria):
            notes = None if criteria is None else fitting_notes(criteria, {}, "Done.")
            if notes is not None:
                yield [{"step": step.id, "notes": notes}]
        yield [{"step": step.id, "notes": "Done."}]
    if step.contract is not None:
        pack = contract_packs(program).get(step.contract.ref)
        artifact = None if pack is None else smallest_artifact(pack)
        for name in artifact or {}:
            left: dict[str, Json] = {key: value for key, value in (artifact or {}).items() if key != name}
            yield [{"step": step.id, "artifacts": [left]}]
    if step.assessments is not None:
        for artifacts in _assessments(program, step.assessments.refs):
            yield [{"step": step.id, "notes": "Done.", "artifacts": list(artifacts)}]


def _assessments(program: Program, refs: Sequence[str]) -> Iterator[list[Json]]:
    """Yield every level of every dimension once, and every dimension left out once."""
    declared = {each.id: each for each in program.assessments}
    plain = {ref: {each.id: each.levels[-1] for each in declared[ref].dimensions} for ref in refs}

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
        for dimension in declared[ref].dimensions:
            for level in dimension.levels:
                yield artifacts(ref, {**plain[ref], dimension.id: level})
            rest = {name: level for name, level in plain[ref].items() if name != dimension.id}
            if rest:
                yield artifacts(ref, rest)


def summary(compiled: CompiledWorkflow, path: str, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the report of one workflow, for `--json`."""
    statuses = Counter(each["status"] for each in results)
    killed, survived = statuses[KILLED], statuses[SURVIVED]
    return {
        "workflowId": compiled.workflow_id,
        "workflowHash": compiled.hash,
        "path": path,
        "mutants": len(results),
        "killed": killed,
        "inert": statuses[INERT] + statuses[BOUNDED],
        "inertBounded": statuses[BOUNDED],
        "score": score(killed, survived),
        "unchecked": sum(each.get("noticed") == "unchecked" for each in results),
        "survived": [_survivor(each) for each in results if each["status"] == SURVIVED],
        "results": [{name: each[name] for name in ("id", "operator", "place", "status")} for each in results],
    }


def score(killed: int, survived: int) -> float:
    """Killed of those that behave differently, in percent; 100 if there are none."""
    return round(100 * killed / (killed + survived), 1) if killed + survived else 100.0


def _survivor(result: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": result["id"],
        "operator": result["operator"],
        "place": result["place"],
        "change": sentence(result),
        "words": result["change"],
        "missing": result["missing"],
    }


def sentence(result: dict[str, Any]) -> str:
    """Return a survivor in one sentence: the change, and the run that would notice it."""
    return f"If {result['change']}, no scenario would notice; {_run(result['missing'])} would."


def _run(missing: dict[str, Any]) -> str:
    parts = []
    if missing.get("context"):
        parts.append(", ".join(f"{name}: {_short(value)}" for name, value in missing["context"].items()))
    for turn in missing.get("agent", {}).get("turns", ()):
        does = turn["does"].replace("_", " ") if "does" in turn else "another submission"
        parts.append(f"{does} at '{turn['step']}'")
    mode = "" if missing["mode"] == "guided" else f" in mode {missing['mode']}"
    profile = "" if missing["profile"] == "reference" else " under profile locked"
    return ("a run with " + " and ".join(parts) if parts else "a plain run") + mode + profile


def _short(value: Json) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:39] + "…"


def table(results: Sequence[dict[str, Any]], by: str) -> Iterator[str]:
    """Lines with the number of mutants by operator or by place."""
    groups: dict[str, Counter[str]] = {}
    for each in results:
        groups.setdefault(each[by] or "workflow", Counter())[each["status"]] += 1
    width = max((len(name) for name in groups), default=0)
    for name, counts in sorted(groups.items()):
        inert = counts[INERT] + counts[BOUNDED]
        yield f"{name.ljust(width)}  killed {counts[KILLED]:>3}  survived {counts[SURVIVED]:>3}  inert {inert:>3}"


# ------------------------------------------------------------------------------------------------------------- Stryker


def stryker_file(text: bytes, compiled: CompiledWorkflow, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one file of the report: its source, and every mutant with the place in it."""
    source = text.decode("utf-8", "replace")
    document = JsonDocument(source)
    return {
        "language": "json",
        "source": source,
        "mutants": [_stryker_mutant(each, _location(document, compiled, each["pointer"])) for each in results],
    }


def _stryker_mutant(result: dict[str, Any], location: dict[str, Any]) -> dict[str, Any]:
    status = _STRYKER_STATUS.get(result["status"], "Survived" if result.get("visited") else "NoCoverage")
    row = {
        "id": result["id"],
        "mutatorName": result["operator"],
        "description": result["change"],
        "location": location,
        "status": status,
    }
    if result["status"] == KILLED:
        row["statusReason"] = f"noticed by {result['by']} ({result['noticed']})"
    elif result["status"] == SURVIVED:
        row["statusReason"] = sentence(result)
    else:
        row["statusReason"] = result["reason"]
    return row


def _location(document: JsonDocument, compiled: CompiledWorkflow, pointer: str) -> dict[str, dict[str, int]]:
    """Return where the author wrote what a mutant changes; what was generated is where it was asked for."""
    parts = pointer.split("/")[1:]
    wanted = pointer
    if len(parts) > 1 and parts[0] == "steps":
        inner = len(parts) > 3 and parts[2] == "body"
        top = compiled.program.steps[int(parts[1])]
        step = top.body[int(parts[3])] if inner else top
        node = compiled.step_by_id.get(step.id)
        rest = [_SOURCE_MEMBERS.get(part, part) for part in parts[4 if inner else 2 :]]
        base = "" if node is None else node.pointer
        wanted = "/".join([base, *rest]) if base else pointer
    while True:
        span = document.locate(wanted)
        if span is not None or not wanted:
            break
        wanted = wanted.rpartition("/")[0]
    if span is None:
        return {"start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 2}}
    return {
        "start": {"line": span.start.line, "column": span.start.column},
        "end": {"line": span.end.line, "column": span.end.column},
    }


def stryker_report(files: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the mutation testing report, schema version 2."""
    return {
        "$schema": "https://git.io/mutation-testing-schema",
        "schemaVersion": "2",
        "thresholds": {"high": 98, "low": 80},
        "files": files,
    }


def pieces(number: int, workflow: dict[str, Any], ids: list[str]) -> list[Json]:
    """The pieces of one workflow. `workflow` has its `ir`, `injections`, `scenarios` and `profiles`."""
    return [
        {"workflow": number, **workflow, "mutants": list[Json](ids[start : start + _MUTANTS_PER_PIECE])}
        for start in range(0, len(ids), _MUTANTS_PER_PIECE)
    ]


def _prepare(piece: dict[str, Any]) -> tuple[SoundRuns, dict[str, Mutant], list[Baseline]]:
    """The sound runs, mutants and baselines of a workflow; pieces of one workflow come one after the other."""
    global _prepared
    key = digest(canonical_bytes([piece["ir"], piece["injections"], piece["scenarios"]]))
    if _prepared is None or _prepared[0] != key:
        by_id = {mutant.id: mutant for mutant in mutants(piece["ir"], piece["injections"])}
        scenarios = [
            baseline(each["name"], value, each.get("ir") or piece["ir"])
            for each in piece["scenarios"]
            for value in _by_profile(each["value"])
        ]
        _prepared = (key, SoundRuns(piece["ir"]), by_id, scenarios)
    return _prepared[1:]


def _by_profile(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a scenario once for each profile that it is for."""
    named = value.get("profiles")
    if not named:
        return [value]
    rest = {name: member for name, member in value.items() if name != "profiles"}
    return [{**rest, "profile": profile} for profile in named]


def perform(piece: dict[str, Any]) -> Json:
    """Judge the mutants of a piece."""
    sound, known, scenarios = _prepare(piece)
    results: list[Json] = [
        _judged(known[name], sound, scenarios, piece["profiles"], piece.get("search", MOST_RUNS))
        for name in piece["mutants"]
    ]
    return {"workflow": piece["workflow"], "results": results}


def _judged(
    mutant: Mutant, sound: SoundRuns, scenarios: list[Baseline], profiles: list[ProfileName], most: int
) -> dict[str, Json]:
    summary: dict[str, Json] = {
        "id": mutant.id,
        "operator": mutant.operator,
        "place": mutant.place,
        "change": mutant.change,
        "pointer": mutant.pointer,
        "replays": 0,
    }
    # A proof costs less than replaying every scenario, none of which would notice.
    reason = inert_reason(mutant, sound.program, profiles)
    if reason is not None:
        return {**summary, "status": "inert", "reason": reason}
    verdict = verdict_of_mutant(mutant, sound.ir, scenarios)
    summary["replays"] = verdict.replays
    if verdict.killed_by is not None:
        return {**summary, "status": "killed", "by": verdict.killed_by, "noticed": verdict.noticed}
    missing = missing_scenario(mutant, sound, profiles, most)
    if missing is None:
        return {**summary, "status": "inert-bounded", "reason": f"none of {most} runs to its place shows a difference"}
    return {**summary, "status": "survived", "visited": verdict.visited, "missing": missing}
