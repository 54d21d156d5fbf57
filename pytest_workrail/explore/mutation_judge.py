"""Judging mutants: each is replayed by the scenarios that visit its place, until one of them notices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from pytest_workrail.agents.transcript import Transcript
from pytest_workrail.coverage.observe import observe
from pytest_workrail.coverage.points import place_of
from pytest_workrail.explore.mutation_edit import Mutant
from pytest_workrail.explore.mutation_operators import mutants
from pytest_workrail.golden.document import golden_value
from pytest_workrail.golden.encoding import METADATA
from pytest_workrail.records import Record
from pytest_workrail.run.result import Run
from pytest_workrail.scenarios.workflow_driver import Loaded, run_scenario
from pytest_workrail.scenarios.workflow_expectations import unmet
from workrail_lint.systems.workrail.scenario import Scenario

# How a scenario notices: what it expects does not come, its golden differs, or only what it does not compare.
Noticed: TypeAlias = Literal["expectation", "golden", "unchecked"]
_OF_PROMPTS = frozenset(("FRG-DROP", "FRG-ALWAYS", "PRM-SENTENCE-DROP", "INJ-DROP", "GDN-DROP"))


class UnstableScenario(Exception):  # noqa: N818 - what it is called in reports
    """A scenario that plays differently the second time, or does not hold on the sound workflow."""


class Baseline(Record):
    """One scenario on the sound workflow: what it shows, and which places it visits."""

    name: str
    scenario: dict[str, Any]
    ir: dict[str, Any]
    wants_golden: bool
    shown: Any
    places: frozenset[str]
    length: int
    points: Counter[str]  # what it shows, counted by place


def shown_by(run: Run) -> Any:
    """What a scenario makes visible of a run; hashes of the workflow are left out."""
    value = golden_value(run.transcript)
    metadata = {name: member for name, member in value[METADATA].items() if name != "workflowHash"}
    # The trace spells out conditions; how a condition is written is no behaviour, and no agent is shown it.
    final = {name: member for name, member in value["final"].items() if name != "trace"}
    return run.ending.kind, {**value, METADATA: metadata, "final": final}


def baseline(name: str, value: dict[str, Any], ir: dict[str, Any]) -> Baseline:
    """Play a scenario twice on the sound workflow."""
    Scenario.model_validate(value)
    run = run_scenario(Loaded(value, ir)).run
    shown = shown_by(run)
    if shown != shown_by(run_scenario(Loaded(value, ir)).run):
        raise UnstableScenario(f"{name} plays differently the second time")
    faults = unmet(value, run)
    if faults or run.ending.kind in ("misplayed", "endless"):
        why = faults[0].message if faults else run.ending.why
        raise UnstableScenario(f"{name} does not hold on the workflow as it is: {why}")
    points = Counter(point.place.partition("#")[0] for point in observe(run.transcript, strong=True))
    places = visited_places(run.transcript)
    length = len(run.transcript.exchanges)
    return Baseline(name, value, ir, value.get("golden") is not False, shown, places, length, points)


def visited_places(transcript: Transcript) -> frozenset[str]:
    """The steps, loops and fragments that a run came across."""
    found = {point.place for point in observe(transcript)}
    found |= {place_of(visit.step_id, visit.loop_path) for visit in transcript.visits}
    loops = {step["id"]: loop["id"] for loop in _loops(transcript.ir) for step in loop["body"]}
    for exchange in transcript.exchanges:
        pending: Any = exchange.response.get("pending")
        if isinstance(pending, dict):
            step_id = pending["stepId"]
            found.add(f"{loops[step_id]}/{step_id}" if step_id in loops else step_id)
    # Whoever is inside of something has seen what is around it.
    found |= {place.partition("#")[0] for place in found}
    found |= {place.partition("/")[0] for place in found}
    return frozenset(found)


def _loops(ir: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for step in ir["steps"] if step["type"] == "loop"]


def concerned(mutant: Mutant, scenarios: Iterable[Baseline]) -> list[Baseline]:
    """The scenarios that could notice a mutant; first those that show most about its place for their length."""
    near = {mutant.place, *mutant.beside}
    visiting = (each for each in scenarios if not mutant.place or not near.isdisjoint(each.places))
    return sorted(visiting, key=lambda each: (each.length / (1 + each.points[mutant.place]), each.name))


def notices(scenario: Baseline, mutated: dict[str, Any]) -> Noticed | None:
    """How a scenario notices a mutant; None if it sees no difference."""
    try:
        run = run_scenario(Loaded(scenario.scenario, mutated)).run
    except Exception:  # a workflow that no author could compile may lead anywhere; that is noticed too
        return "expectation"
    if shown_by(run) == scenario.shown:
        return None
    if run.ending.kind in ("misplayed", "endless") or unmet(scenario.scenario, run):
        return "expectation"
    return "golden" if scenario.wants_golden else "unchecked"


def _same_change(mutant: Mutant, ir: dict[str, Any]) -> dict[str, Any]:
    found = next((each for each in mutants(ir) if each.id == mutant.id), None)
    return ir if found is None else found.apply(ir)


class Verdict(Record):
    """What became of a mutant: who noticed it and how, or nobody. `visited` tells whether anybody came by."""

    killed_by: str | None
    noticed: Noticed | None
    visited: bool
    replays: int


def judge(mutant: Mutant, ir: dict[str, Any], scenarios: Sequence[Baseline]) -> Verdict:
    """Replay the scenarios until one notices."""
    visiting = concerned(mutant, scenarios)
    if not visiting:
        return Verdict(None, None, False, 0)
    mutated = mutant.apply(ir)
    unchecked: Baseline | None = None
    replays = 0
    for scenario in visiting:
        # No expectation is about a prompt: of a change that only prompts show, others learn no more without a golden.
        if unchecked is not None and mutant.operator in _OF_PROMPTS and not scenario.wants_golden:
            continue
        replays += 1
        # With other bindings the texts differ, and the change is the same one.
        noticed = notices(scenario, mutated if scenario.ir is ir else _same_change(mutant, scenario.ir))
        if noticed in ("expectation", "golden"):
            return Verdict(scenario.name, noticed, True, replays)
        if noticed is not None and unchecked is None:
            unchecked = scenario
    if unchecked is not None:
        return Verdict(unchecked.name, "unchecked", True, replays)
    return Verdict(None, None, True, replays)
