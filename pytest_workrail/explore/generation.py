"""Everything that is generated for one workflow: scenarios, proofs, costs. One piece for an executor.

Of many runs the few are kept that show everything together. Each gets a name, a sentence, a file and its cost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median_low
from typing import Any

from pytest_workrail.agents.agent import Exchange, Transcript, answer_kind
from pytest_workrail.coverage.goals import (
    BlockerGoal,
    GapGoal,
    LoopGoal,
)
from pytest_workrail.coverage.observe import observe
from pytest_workrail.coverage.points import GoalKind, Point
from pytest_workrail.coverage.reach import LIMIT, REFUSAL_OF_GAP, REFUSALS
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.engine.model.reasons import LoopLimitReached, UserOnlyDependency
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES
from pytest_workrail.explore.guide import Guide
from pytest_workrail.explore.proofs import proofs_for
from pytest_workrail.explore.runs import Plan, expectations, plans_for, shared, turn_documents, without_questions
from pytest_workrail.golden.files import SCENARIO_ENDING
from pytest_workrail.run.project import project_sources
from pytest_workrail.run.start import Source, compile  # noqa: A004 - the name of the fixture's method
from pytest_workrail.scenarios.drivers import is_generated, is_untouched, redundant, stamped
from pytest_workrail.scenarios.workflow_driver import Loaded, run_scenario, unmet
from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.js import Json, json_text, text
from workrail_lint.base.result import Err
from workrail_lint.base.wording import listed
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.scenario import Scenario
from workrail_lint.systems.workrail.scenario_check import scenario_profiles

# English text and JSON hold about four bytes in a token; the real number depends on the model.
BYTES_PER_TOKEN = 4
_DEAREST = 5

# A goal under a profile.
Shown = tuple[str, Point]
_LONGEST = 60
_CAUSES: dict[str, str] = {case: reason.cause for case, reason in (*REFUSALS.items(), *REFUSAL_OF_GAP.items())}
_PROFILES = ("reference", "locked")
TASK = "pytest_workrail.explore.generation:perform"


@dataclass(frozen=True, slots=True)
class RunCost:
    """One run. `steps` are the bytes that each step made the agent read and write, `reads` those it read alone."""

    name: str
    calls: int
    read: int
    written: int
    steps: dict[str, int]
    reads: dict[str, int] = field(default_factory=dict)
    visits: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        return {
            "scenario": self.name,
            "calls": self.calls,
            "bytesRead": self.read,
            "bytesWritten": self.written,
            "tokensRead": tokens(self.read),
            "tokensWritten": tokens(self.written),
        }


def tokens(size: int) -> int:
    """Return an estimate, rounded up."""
    return -(-size // BYTES_PER_TOKEN)


def run_cost(name: str, transcript: Transcript) -> RunCost:
    """Return what one run costs. A call counts for the step that was pending when it was made."""
    steps: dict[str, int] = {}
    reads: dict[str, int] = {}
    visits: dict[str, int] = {}
    read = written = 0
    pending = ""
    for exchange in transcript.exchanges:
        sent, got = _size(exchange.request), _size(exchange.response)
        read, written = read + got, written + sent
        following = exchange.step or pending
        # What is written belongs to the step it answers, what is read to the step it shows.
        for step, size in ((pending, sent), (following, got)):
            if step:
                steps[step] = steps.get(step, 0) + size
        if following:
            reads[following] = reads.get(following, 0) + got
            visits[following] = visits.get(following, 0) + _arrives(exchange)
        pending = following
    return RunCost(name, len(transcript.exchanges), read, written, steps, reads, visits)


def _arrives(exchange: Exchange) -> bool:
    """Return whether an answer gives the agent a step to do, rather than the same one again."""
    is_look = exchange.request.get("intent") == "rehydrate"
    return not is_look and "pending" in exchange.response and answer_kind(exchange.response) != "blocked"


def _size(value: dict[str, Json]) -> int:
    return len(json_text(value).encode("utf-8", "surrogatepass"))


def costs(runs: Sequence[RunCost]) -> dict[str, Json]:
    """Return the shortest, the typical and the longest run, the dearest steps, and all steps with what a typical run
    reads at each."""
    if not runs:
        return {}
    ordered = sorted(runs, key=lambda each: (each.calls, each.read + each.written, each.name))
    middle = median_low(range(len(ordered)))
    most: dict[str, int] = {}
    for run in runs:
        for step, size in run.steps.items():
            most[step] = max(most.get(step, 0), size)
    typical = ordered[middle]
    dearest = sorted(most.items(), key=lambda each: (-each[1], each[0]))
    steps: list[Json] = [
        {
            "step": step,
            "bytes": size,
            "tokens": tokens(size),
            "bytesRead": typical.reads.get(step, 0),
            "visits": typical.visits.get(step, 0),
        }
        for step, size in dearest
    ]
    return {
        "shortest": ordered[0].to_json(),
        "typical": typical.to_json(),
        "longest": ordered[-1].to_json(),
        "dearestSteps": [{"step": step, "bytes": size, "tokens": tokens(size)} for step, size in dearest[:_DEAREST]],
        "steps": steps,
    }


@dataclass(frozen=True, slots=True)
class Selected:
    """A run that is kept, and what no other one shows."""

    plan: Plan
    unique: tuple[Shown, ...]


def shown_by(plan: Plan, wanted: Collection[Shown]) -> set[Shown]:
    return {
        (name, point) for name, points in plan.points_by_profile.items() for point in points if (name, point) in wanted
    }


def smallest_cover(plans: Sequence[Plan], wanted: Iterable[Shown], *, keep_first: bool = True) -> list[Selected]:
    """Greedily those that show most, short ones first; then without those that the others make needless."""
    order = {goal: at for at, goal in enumerate(wanted)}
    shows = [shown_by(plan, order) for plan in plans]
    chosen: list[int] = []
    left = set(order)
    if keep_first and plans:
        chosen.append(0)
        left -= shows[0]
    while left:
        best = max(range(len(plans)), key=lambda at: (len(shows[at] & left), -plans[at].size, -at), default=-1)
        if best < 0 or not shows[best] & left:
            break
        chosen.append(best)
        left -= shows[best]
    for at in sorted(chosen, key=lambda at: (len(shows[at]), -plans[at].size)):
        others = set().union(*(shows[other] for other in chosen if other != at))
        if shows[at] <= others and not (keep_first and at == 0):
            chosen.remove(at)
    chosen.sort()
    return [Selected(plans[at], _unique(at, chosen, shows, order)) for at in chosen]


def _unique(at: int, chosen: Sequence[int], shows: Sequence[set[Shown]], order: dict[Shown, int]) -> tuple[Shown, ...]:
    others = set().union(*(shows[other] for other in chosen if other != at))
    return tuple(sorted(shows[at] - others, key=order.__getitem__))


def scenario_name(selected: Selected, is_first: bool, used_names: Container[str]) -> str:
    """Return a name that says what the scenario shows; where that is taken, also how it differs."""
    base = _slug("complete" if is_first else _what(selected)) or "more"
    for word in _distinctions(selected):
        if base not in used_names:
            break
        base = base if word in base else _slug(f"{base}-{word}")
    name, number = base, 2
    while name in used_names:
        name, number = f"{base[: _LONGEST - 3]}-{number}", number + 1
    return name


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_LONGEST].strip("-")


def _distinctions(selected: Selected) -> Iterator[str]:
    """Yield what tells a scenario from others that show the same kind of thing, plainest first."""
    if len(selected.plan.profiles) == 1:
        yield selected.plan.profiles[0]
    autonomy = selected.plan.preferences.autonomy
    if autonomy != DEFAULT_PREFERENCES.autonomy:
        yield _slug(autonomy.removeprefix("full_auto_"))
    for _, point in selected.unique[:1]:
        yield _slug(point.place.rpartition("/")[2])


def _what(selected: Selected) -> str:
    points = [point for _, point in selected.unique]
    run = selected.plan.run
    if run.ending.kind == "refused":
        return "start-refused"
    if run.status == "gated":
        return "gated"
    causes = {_CAUSES.get(point.case) for point in points if point.kind in (BlockerGoal, GapGoal)}
    if LoopLimitReached.cause in causes or any(point.kind is LoopGoal and point.case == LIMIT for point in points):
        return LoopLimitReached.cause
    if UserOnlyDependency.cause in causes:
        return UserOnlyDependency.cause
    blockers = [point for point in points if point.kind is BlockerGoal]
    if blockers:
        places = {point.place.rpartition("/")[2] for point in blockers}
        place = f"{next(iter(places))}-" if len(places) == 1 else ""
        return f"{place}blocked-by-{_CAUSES.get(blockers[0].case, blockers[0].case)}"
    gaps = [point for point in points if point.kind is GapGoal]
    if gaps:
        words = {_CAUSES.get(point.case, point.case) for point in gaps}
        return f"gaps-{next(iter(words))}" if len(words) == 1 else "gaps-never-stop"
    loops = [point for point in points if point.kind is LoopGoal]
    if loops:
        return f"{loops[0].place}-{loops[0].case}-iterations" if loops[0].case != "one" else f"{loops[0].place}-once"
    branch = next(_branches(selected), None)
    return branch or (f"{points[0].place}-{points[0].case}" if points else "more")


def _branches(selected: Selected) -> Any:
    """Variables and their values, in the order in which the run sets them."""
    contexts = [selected.plan.context, *(getattr(each.action, "context", None) or {} for each in selected.plan.turns)]
    for context in contexts:
        for name, value in context.items():
            if isinstance(value, str | bool | int | float):
                yield f"{name}-{text(value)}"


def description(selected: Selected, is_first: bool) -> str:
    """Return one sentence about what the scenario shows."""
    if is_first:
        return "The shortest run to the end."
    counts: dict[type[GoalKind], int] = {}
    for _, point in selected.unique:
        counts[point.kind] = counts.get(point.kind, 0) + 1
    words = [kind.title(number) for kind, number in counts.items()]
    if not words:
        return "A run that others cover as well."
    return f"Shows {listed(words)} that no other generated scenario shows."


def scenario_document(selected: Selected, sentence: str, sources: dict[str, Json], *, golden: bool) -> dict[str, Json]:
    """Return a run as a scenario file. `sources` names the workflow, and what it is compiled with."""
    plan = selected.plan
    document: dict[str, Json] = {"description": sentence, **sources}
    profiles = [name for name in _PROFILES if name in plan.profiles]
    if len(profiles) > 1:
        document["profiles"] = list[Json](profiles)
    elif profiles != ["reference"]:
        document["profile"] = profiles[0]
    if plan.preferences.autonomy != "guided":
        document["mode"] = plan.preferences.autonomy
    if plan.context:
        document["context"] = dict(plan.context)
    document["agent"] = {"kind": "scripted", "turns": turn_documents(_played(plan))}
    document["expect"] = expectations(plan.run)
    document["golden"] = golden
    return stamped(document, [f"{name}:{point.name}" for name, point in selected.unique])


def _played(plan: Plan) -> Any:
    return () if plan.run.ending.kind == "refused" else plan.turns


@dataclass(frozen=True, slots=True)
class Existing:
    """A scenario about a workflow: what it shows where it passes, None where it fails, and what its run costs."""

    name: str
    document: dict[str, Any]
    points: dict[str, frozenset[Point]] | None = None
    cost: RunCost | None = None

    @property
    def is_generated(self) -> bool:
        return is_generated(self.document)

    @property
    def is_ours(self) -> bool:
        """Written by us, and nobody changed it since."""
        return is_untouched(self.document)


def existing_scenario(name: str, document: dict[str, Any], ir: dict[str, Any] | None) -> Existing:
    """Return a scenario that is there already, played; without an IR it can't be."""
    if ir is None:
        return Existing(name, document)
    Scenario.model_validate(document)
    loaded = Loaded(document, ir)
    points: dict[str, frozenset[Point]] = {}
    costs: list[RunCost] = []
    for profile in scenario_profiles(document):
        run = run_scenario(loaded, profile).run
        if run.ending.kind in ("misplayed", "endless") or unmet(loaded.scenario, run):
            return Existing(name, document)
        points[profile] = observe(run.transcript, strong=True)
        costs.append(run_cost(name, run.transcript))
    return Existing(name, document, points, costs[0])


def generate(
    ir: dict[str, Any], profiles: tuple[ProfileName, ...], covered: dict[str, frozenset[Any]] | None = None
) -> tuple[list[Plan], dict[str, Guide]]:
    """Runs for what is not covered yet, and what is known of the workflow under each profile."""
    plans: list[Plan] = []
    guides: dict[str, Guide] = {}
    for name in profiles:
        guide = guides[name] = Guide(ir, name)
        guide.ledger.cover((covered or {}).get(name, ()))
        for at, plan in enumerate(plans):
            if guide.ledger.missing:
                plans[at] = plan = shared(ir, plan, name)
            guide.ledger.cover(plan.points_by_profile.get(name, ()))
        for plan in [each for each in plans if name not in each.profiles]:
            adapted = without_questions(guides[plan.profiles[0]], plan, name) if guide.ledger.missing else None
            if adapted is not None and guide.ledger.cover(adapted.points_by_profile[name]):
                plans.append(adapted)
        plans += plans_for(guide, has_first=bool(plans) or covered is not None)
    return plans, guides


def generation_piece(
    path: str,
    ir: dict[str, Any],
    profiles: Sequence[str],
    *,
    sources: dict[str, Json] | None = None,
    scenarios: Sequence[dict[str, Any]] = (),
    golden: bool = False,
) -> dict[str, Any]:
    """Return the piece of one workflow, as plain JSON: it names no file that another machine would have to read.

    `sources` are the members of a scenario that name the workflow and what it is compiled with. `scenarios` are those
    that exist, each with its `name`, its `value`, an `ir` if it is not the workflow's, and the `problem` if it has one.
    """
    name = os.path.basename(path)
    return {
        "workflow": path,
        "name": name.removesuffix(".json").removesuffix(".workflow"),
        "ir": ir,
        "profiles": list(profiles),
        "sources": {"workflow": name} if sources is None else sources,
        "scenarios": list(scenarios),
        "golden": golden,
    }


def perform(piece: dict[str, Any]) -> dict[str, Json]:
    """Everything that is generated for the workflow of a piece."""
    return _Result(piece).to_json()


def generated_for(path: str, profiles: Sequence[str]) -> dict[str, Json]:
    """Return what is generated for a workflow file that no scenario is about, or why it can't be compiled."""
    sources = project_sources(os.path.dirname(path))
    if isinstance(sources, Err):
        return {"workflow": path, "error": sources.error}
    compiled = compile_workflow(Path(path), **sources.value._asdict())
    if isinstance(compiled, Err):
        return {"workflow": path, "error": compiled.error[0].message}
    return perform(generation_piece(path, compiled.value.ir, profiles))


@dataclass(frozen=True, slots=True)
class Generated:
    """The scenarios that cover a workflow: documents by the names of their files, and the goals that no run showed."""

    goals: int
    covered: int
    uncovered: tuple[str, ...]
    scenarios: dict[str, dict[str, Any]]


def generate_scenarios(workflow: Source, profiles: Sequence[ProfileName] = ("reference",)) -> Generated:
    """Return scenarios that show everything a workflow can do. Raises WorkflowInvalid when it does not compile."""
    __tracebackhide__ = True
    compiled = compile(workflow)
    is_text = isinstance(workflow, str) and workflow.lstrip().startswith("{")
    is_file = isinstance(workflow, str | os.PathLike) and not is_text
    path = os.fspath(workflow) if is_file else f"{compiled.workflow_id}.json"  # type: ignore[arg-type]
    result: Any = perform(generation_piece(path, compiled.ir, profiles))
    scenarios = {each["name"]: each["document"] for each in result["scenarios"]}
    return Generated(result["goals"], result["covered"], tuple(each["goal"] for each in result["uncovered"]), scenarios)


def scenario_showing(piece: dict[str, Any], goal: str) -> dict[str, Any] | None:
    """Return a generated scenario that shows a goal, called `KIND:PLACE:CASE`; None if no run shows it."""
    for each in _Result(piece).to_json()["scenarios"]:  # type: ignore[union-attr]  # a list of our own
        document: dict[str, Any] = each["document"]  # type: ignore[index, call-overload, assignment]
        by_profile = existing_scenario("", document, piece["ir"]).points or {}
        if any(point.name == goal for points in by_profile.values() for point in points):
            return document
    return None


class _Result:
    def __init__(self, piece: dict[str, Any]) -> None:
        self._piece = piece
        self._ir: dict[str, Any] = piece["ir"]
        self._present = [
            existing_scenario(each["name"], each["value"], None if "problem" in each else each.get("ir") or self._ir)
            for each in piece["scenarios"]
        ]
        profiles: tuple[ProfileName, ...] = tuple(piece["profiles"])
        is_fresh = not any(each.points for each in self._present)
        covered = None if is_fresh else self._covered(profiles)
        plans, self._guides = generate(self._ir, profiles, covered)
        self._goals: list[Shown] = [(name, point) for name in profiles for point in self._guides[name].ledger.goals]
        before = {(name, point) for name, points in (covered or {}).items() for point in points}
        self._before = [goal for goal in self._goals if goal in before]
        wanted = [goal for goal in self._goals if goal not in before]
        self._selected = smallest_cover(plans, wanted, keep_first=is_fresh)
        self._is_fresh = is_fresh

    def _covered(self, profiles: tuple[str, ...]) -> dict[str, frozenset[Any]]:
        return {
            name: frozenset().union(*((each.points or {}).get(name, frozenset()) for each in self._present))
            for name in profiles
        }

    def to_json(self) -> dict[str, Json]:
        missing = {(name, point) for name, guide in self._guides.items() for point in guide.ledger.missing}
        before = set(self._before)
        new = [goal for goal in self._goals if goal not in missing and goal not in before]
        scenarios = self._scenarios()
        runs = [run_cost(name, each.plan.run.transcript) for name, each in scenarios]
        runs += [each.cost for each in self._present if each.is_generated and each.cost is not None]
        return {
            "workflow": self._piece["workflow"],
            "workflowId": self._ir["workflowId"],
            "workflowHash": canonical_hash(self._ir),
            "goals": len(self._goals),
            "covered": len(self._goals) - len(missing),
            "new": [_goal(goal) for goal in new],
            "known": [_goal(goal) for goal in self._before],
            "uncovered": [
                {"goal": _goal(goal), "tried": list[Json](self._guides[goal[0]].ledger.modes_tried(goal[1]))}
                for goal in self._goals
                if goal in missing
            ],
            "infeasible": [
                {"goal": f"{name}:{point.name}", "proof": proof}
                for name, guide in self._guides.items()
                for point, proof in proofs_for(guide.program, guide.profile)
            ],
            "scenarios": [self._scenario(name, each, at == 0) for at, (name, each) in enumerate(scenarios)],
            "redundant": list[Json](self._redundant()),
            "stale": [each.name for each in self._present if each.points is None and each.is_ours],
            "edited": [each.name for each in self._present if each.is_generated and not each.is_ours],
            "cost": costs(runs),
        }

    def _scenarios(self) -> list[tuple[str, Selected]]:
        """Return the new ones by their names. A stale one of ours gives its name away, nobody else does."""
        stem = self._piece["name"]
        used_names = {
            each.name.removeprefix(f"{stem}.").removesuffix(SCENARIO_ENDING)
            for each in self._present
            if each.points is not None or not each.is_ours
        }
        scenarios: list[tuple[str, Selected]] = []
        for at, selected in enumerate(self._selected):
            name = scenario_name(selected, self._is_fresh and at == 0, used_names)
            used_names.add(name)
            scenarios.append((f"{stem}.{name}{SCENARIO_ENDING}", selected))
        return scenarios

    def _scenario(self, name: str, selected: Selected, is_first: bool) -> dict[str, Json]:
        sentence = description(selected, is_first and name.endswith(f".complete{SCENARIO_ENDING}"))
        return {
            "name": name,
            "profiles": list[Json](selected.plan.profiles),
            "turns": selected.plan.size,
            "document": scenario_document(selected, sentence, self._piece["sources"], golden=self._piece["golden"]),
        }

    def _redundant(self) -> list[str]:
        """Scenarios of ours whose goals others show as well."""
        wanted = set(self._before)
        shows = {
            each.name: {(name, point) for name, points in (each.points or {}).items() for point in points} & wanted
            for each in self._present
        }
        complete = f".complete{SCENARIO_ENDING}"
        ours = [
            each.name for each in self._present if each.is_ours and each.points and not each.name.endswith(complete)
        ]
        return redundant(shows, ours)


def _goal(goal: Shown) -> str:
    return f"{goal[0]}:{goal[1].name}"
