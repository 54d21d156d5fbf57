"""Whether the scenarios of a workflow notice a mutant, and whether any scenario could.

Verdicts are kept on disk by what they depend on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pytest_workrail.agents.agent import Transcript
from pytest_workrail.agents.solving import agent_solver, conditions_of
from pytest_workrail.coverage.observe import observe
from pytest_workrail.coverage.points import place_of
from pytest_workrail.coverage.reach import ConditionScope
from pytest_workrail.engine.core.profiles import ProfileName, profile_of
from pytest_workrail.explore.mutation_operators import Mutant, Path, Removed, mutants, value_at
from pytest_workrail.golden.document import golden_value
from pytest_workrail.golden.encoding import METADATA
from pytest_workrail.run.result import Run
from pytest_workrail.scenarios.workflow_driver import Loaded, run_scenario, unmet
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.version import VERSION
from workrail_lint.project.cache import Cache
from workrail_lint.systems.base import FileResult
from workrail_lint.systems.workrail.model.build import unchecked_condition
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep, RepeatingStep
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.scenario import Scenario

_MEMBERS = {"id", "operator", "place", "change", "pointer", "status"}
_MOST = 50_000
# How a scenario notices: what it expects does not come, its golden differs, or only what it does not compare.
Noticed: TypeAlias = Literal["expectation", "golden", "unchecked"]
# Operators, by how they begin, that change prompts and nothing else: what they say, and which fragments they show.
_OF_PROMPTS = ("FRG-", "PRM-SENTENCE-DROP", "INJ-DROP", "GDN-DROP")


def inert_reason(mutant: Mutant, program: Program, profiles: Sequence[ProfileName]) -> str | None:
    """Return why a mutant of a program can't behave differently; None if there is no proof."""
    mutated = mutant.apply(program.raw)
    if mutated == program.raw:
        return "the compiled workflow is the same"
    reason = _by_rule(mutant, program, profiles)
    return reason if reason is not None else _by_solver(mutant, program, mutated)


def _by_rule(mutant: Mutant, program: Program, profiles: Sequence[ProfileName]) -> str | None:
    step = step_at(program, mutant.path)
    match mutant.operator:
        case "GDN-DROP":
            return "no answer is made from guidance"
        case "NTS-FLIP" if step is not None and step.contract is not None:
            return "a contract replaces the notes"
        case "LOP-KIND" if step is not None and step.loop_condition is None:
            return "something other than the kind of the loop decides about it"
        case "ASM-DIM-OPTIONAL":
            index = mutant.path[1]
            if isinstance(index, int) and len(program.assessments[index].dimensions) == 1:
                return "an assessment without any dimension is invalid anyway"
        case "CAP-LEVEL" if all(profile_of(name).capabilities == "record" for name in profiles):
            return "only profile locked looks at capabilities"
    return None


def step_at(program: Program, path: Path) -> ProgramStep | None:
    """Return the step or loop that a path of an IR is inside of; None where a mutant has removed it."""
    match path:
        case ("steps", int(index), "body", int(inner), *_) if index < len(program.steps):
            body = program.steps[index].body
            return body[inner] if inner < len(body) else None
        case ("steps", int(index), *_) if index < len(program.steps):
            return program.steps[index]
        case _:
            return None


def condition_path(path: Path) -> Path | None:
    """Return where the condition begins that a path is inside of."""
    for index, part in enumerate(path):
        before = path[max(0, index - 2) : index]
        is_condition = (
            part == "runCondition"
            or (part == "when" and "fragments" in before)
            or (part == "condition" and before[-1:] in (("confirmation",), ("source",)))
        )
        if is_condition:
            return path[: index + 1]
    return None


def loop_around(program: Program, path: Path) -> RepeatingStep | None:
    """Return the loop whose body a path is inside of."""
    inside = len(path) > 3 and path[2] == "body"
    step = step_at(program, path[:2]) if inside else None
    return step if step is not None and step.type == "loop" else None


def condition_at(ir: dict[str, Any], path: Path) -> Condition | None:
    """Return the condition that an IR has at a path."""
    condition = value_at(ir, path)
    return None if condition is None else unchecked_condition(condition)


def scope_of(program: Program, path: Path, extra: Sequence[Condition | None] = ()) -> ConditionScope:
    """Where conditions at a path are looked at. What else holds there is left out: that proves less, never more."""
    scope = ConditionScope(agent_solver([*conditions_of(program), *extra]))
    loop = loop_around(program, path)
    return scope if loop is None else scope.inside(loop)


def _by_solver(mutant: Mutant, program: Program, mutated: dict[str, Any]) -> str | None:
    if mutant.operator.startswith("STP-"):
        return _steps_never_meet(mutant, program)
    if mutant.operator == "FRG-DROP":
        when = condition_at(program.raw, (*mutant.path, "when"))
        never = when is not None and not scope_of(program, mutant.path).allows((when, True))
        return "the fragment is never shown" if never else None
    at = condition_path(mutant.path)
    if mutant.operator == "GAT-ALWAYS":
        at = (*mutant.path, "condition")
    if at is None:
        return None
    sound, other = condition_at(program.raw, at), condition_at(mutated, at)
    scope = scope_of(program, mutant.path, (sound, other))
    if scope.allows((sound, True), (other, False)) or scope.allows((sound, False), (other, True)):
        return None
    return "the condition comes out the same in every context"


def _steps_never_meet(mutant: Mutant, program: Program) -> str | None:
    loop, index = loop_around(program, mutant.at), mutant.at[-1]
    assert isinstance(index, int)
    siblings = program.steps if loop is None else loop.body
    scope = scope_of(program, (*mutant.at, ""))
    own = siblings[index].run_condition
    if not scope.allows((own, True)):
        return "the step never runs"
    if mutant.operator == "STP-SWAP":
        other = siblings[index + 1].run_condition
        if not scope.allows((own, True), (other, True)):
            return "the two steps are never possible at the same time"
    return None


def mutant_keys(mutants: Sequence[Mutant], payload: dict[str, Any]) -> dict[str, str]:
    """Return what the verdict on each mutant depends on, by its id: step and neighbours, the change, the scenarios."""
    ir = payload["ir"]
    suite = digest(canonical_bytes([VERSION, payload["profiles"], payload["scenarios"]]))
    keys: dict[str, str] = {}
    for mutant in mutants:
        value = "removed" if isinstance(mutant.value, Removed) else mutant.value
        if mutant.path[-1] in ("steps", "body"):
            index = mutant.at[-1]
            assert isinstance(index, int)
            around, value = value_at(ir, mutant.path)[max(0, index - 1) : index + 2], None
        elif mutant.path[0] == "steps":
            around = value_at(ir, mutant.path[:2])
        else:
            around = value_at(ir, mutant.path[:2]) if len(mutant.path) > 1 else value_at(ir, mutant.path)
        described = [suite, ir["workflowId"], mutant.id, mutant.change, around, value]
        keys[mutant.id] = digest(canonical_bytes(described))
    return keys


class MutationCache:
    """Results by key, in the user's cache folder: a cache that comes with a project could raise its score."""

    def __init__(self, root: str, *, enabled: bool = True) -> None:
        self._cache = Cache(root if enabled else None, f"mutation {VERSION}")

    def get(self, key: str) -> dict[str, Any] | None:
        known = self._cache.get(key, key)
        record = None if known is None else known.result.record
        return record if isinstance(record, dict) and set(record) >= _MEMBERS else None

    def put(self, key: str, result: dict[str, Any]) -> None:
        self._cache.put(key, key, FileResult([], result))

    def save(self) -> None:
        """Keep what was judged last, and of the rest as much as fits."""
        for key in list(self._cache.entries)[:-_MOST]:
            del self._cache.entries[key]
        self._cache.save()


class UnstableScenario(Exception):  # noqa: N818 - what it is called in reports
    """A scenario that plays differently the second time, or does not hold on the sound workflow."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """One scenario on the sound workflow: what it shows, and which places it visits."""

    name: str
    scenario: dict[str, Any]
    ir: dict[str, Any]
    wants_golden: bool
    outcome: Any
    places: frozenset[str]
    length: int
    points: Counter[str]  # what it shows, counted by place


def shown_by(run: Run) -> Any:
    """Return what a scenario makes visible of a run; hashes of the workflow are left out."""
    value = golden_value(run.transcript)
    metadata = {name: member for name, member in value[METADATA].items() if name != "workflowHash"}
    # The trace spells out conditions; how a condition is written is no behaviour, and no agent is shown it.
    final = {name: member for name, member in value["final"].items() if name != "trace"}
    return run.ending.kind, {**value, METADATA: metadata, "final": final}


def baseline(name: str, value: dict[str, Any], ir: dict[str, Any]) -> Baseline:
    """Play a scenario twice on the sound workflow."""
    Scenario.model_validate(value)
    run = run_scenario(Loaded(value, ir)).run
    evidence = shown_by(run)
    if evidence != shown_by(run_scenario(Loaded(value, ir)).run):
        raise UnstableScenario(f"{name} plays differently the second time")
    faults = unmet(value, run)
    if faults or run.ending.kind in ("misplayed", "endless"):
        why = faults[0].message if faults else run.ending.why
        raise UnstableScenario(f"{name} does not hold on the workflow as it is: {why}")
    points = Counter(point.place.partition("#")[0] for point in observe(run.transcript, strong=True))
    places = visited_places(run.transcript)
    length = len(run.transcript.exchanges)
    return Baseline(name, value, ir, value.get("golden") is not False, evidence, places, length, points)


def visited_places(transcript: Transcript) -> frozenset[str]:
    """Return the steps, loops and fragments that a run came across."""
    places = {point.place for point in observe(transcript)}
    places |= {place_of(attempt.step_id, attempt.loop_path) for attempt in transcript.attempts}
    loops = {step.id: loop.id for loop in transcript.program.loops for step in loop.body}
    for exchange in transcript.exchanges:
        step_id = exchange.step
        if step_id is not None:
            places.add(f"{loops[step_id]}/{step_id}" if step_id in loops else step_id)
    # Whoever is inside of something has seen what is around it.
    places |= {place.partition("#")[0] for place in places}
    places |= {place.partition("/")[0] for place in places}
    return frozenset(places)


def _near(mutant: Mutant) -> set[str]:
    return {mutant.place, *mutant.beside}


def concerned(mutant: Mutant, scenarios: Iterable[Baseline]) -> list[Baseline]:
    """Return the scenarios that could notice a mutant; first those that show most about its place for their length."""
    # An agent that plans ahead may leave a loop elsewhere because of a step that it never comes to.
    near = {place.partition("/")[0] for place in _near(mutant)} | _near(mutant)
    visiting = (each for each in scenarios if not mutant.place or not near.isdisjoint(each.places))
    return sorted(visiting, key=lambda each: (each.length / (1 + each.points[mutant.place]), each.name))


def notices(scenario: Baseline, mutated: dict[str, Any], *, is_known_to_differ: bool = False) -> Noticed | None:
    """Return how a scenario notices a mutant; None if it sees no difference.

    Of a mutant that is known to differ only expectations and goldens are of interest, and None may also mean that
    neither of them tells.
    """
    try:
        run = run_scenario(Loaded(scenario.scenario, mutated), ends_at_unmet=True).run
    except Exception:  # a workflow that no author could compile may lead anywhere; that is noticed too
        return "expectation"
    is_unmet = run.ending.kind in ("misplayed", "endless") or bool(unmet(scenario.scenario, run))
    if is_known_to_differ and not is_unmet and not scenario.wants_golden:
        return None
    kind, _ = scenario.outcome
    if run.ending.kind == kind and shown_by(run) == scenario.outcome:
        return None
    if is_unmet:
        return "expectation"
    return "golden" if scenario.wants_golden else "unchecked"


def _same_change(mutant: Mutant, ir: dict[str, Any]) -> dict[str, Any]:
    same = next((each for each in mutants(ir) if each.id == mutant.id), None)
    return ir if same is None else same.apply(ir)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a mutant: which scenario noticed it and how, if any. `visited`: whether any run reached it."""

    killed_by: str | None
    noticed: Noticed | None
    visited: bool
    replays: int


def verdict_of_mutant(mutant: Mutant, ir: dict[str, Any], scenarios: Sequence[Baseline]) -> Verdict:
    """Replay the scenarios until one notices."""
    visiting = concerned(mutant, scenarios)
    mutated = mutant.apply(ir)
    unchecked: Baseline | None = None
    replays = 0
    for scenario in visiting:
        # No expectation is about a prompt: of a change that only prompts show, others learn no more without a golden.
        if unchecked is not None and mutant.operator.startswith(_OF_PROMPTS) and not scenario.wants_golden:
            continue
        replays += 1
        # With other bindings the texts differ, and the change is the same one.
        changed = mutated if scenario.ir is ir else _same_change(mutant, scenario.ir)
        noticed = notices(scenario, changed, is_known_to_differ=unchecked is not None)
        if noticed in ("expectation", "golden"):
            return Verdict(scenario.name, noticed, True, replays)
        if noticed is not None and unchecked is None:
            unchecked = scenario
    if unchecked is not None:
        return Verdict(unchecked.name, "unchecked", True, replays)
    visited = any(not mutant.place or not _near(mutant).isdisjoint(each.places) for each in visiting)
    return Verdict(None, None, visited, replays)
