"""Everything that is generated for one workflow: scenarios, proofs, costs. One piece for an executor."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.explore.cost import costs, run_cost
from pytest_workrail.explore.cover import Selected, Shown, smallest_cover
from pytest_workrail.explore.guide import Guide
from pytest_workrail.explore.naming import description, scenario_name
from pytest_workrail.explore.plans import Plan, shared
from pytest_workrail.explore.proofs import proofs_for
from pytest_workrail.explore.runs import plans_for
from pytest_workrail.explore.writer import existing_scenario, scenario_document
from pytest_workrail.golden.files import SCENARIO_ENDING
from pytest_workrail.run.project_sources import project_sources
from pytest_workrail.scenarios.generated import redundant
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.compile import compile_workflow

TASK = "pytest_workrail.explore.generation:perform"


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
            guide.ledger.cover(plan.shown.get(name, ()))
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
    """The piece of one workflow, as plain JSON: it names no file that another machine would have to read.

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
    """What is generated for a workflow file that no scenario is about, or why it can't be compiled."""
    sources = project_sources(os.path.dirname(path))
    if isinstance(sources, Err):
        return {"workflow": path, "error": sources.error}
    compiled = compile_workflow(Path(path), **sources.value._asdict())
    if isinstance(compiled, Err):
        return {"workflow": path, "error": compiled.error[0].message}
    return perform(generation_piece(path, compiled.value.ir, profiles))


class _Result:
    def __init__(self, piece: dict[str, Any]) -> None:
        self._piece = piece
        self._ir: dict[str, Any] = piece["ir"]
        self._present = [
            existing_scenario(each["name"], each["value"], None if "problem" in each else each.get("ir") or self._ir)
            for each in piece["scenarios"]
        ]
        profiles: tuple[ProfileName, ...] = tuple(piece["profiles"])
        is_fresh = not any(each.shown for each in self._present)
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
            name: frozenset().union(*((each.shown or {}).get(name, frozenset()) for each in self._present))
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
                for point, proof in proofs_for(guide.ir, guide.profile)
            ],
            "scenarios": [self._scenario(name, each, at == 0) for at, (name, each) in enumerate(scenarios)],
            "redundant": list[Json](self._redundant()),
            "stale": [each.name for each in self._present if each.shown is None and each.is_ours],
            "edited": [each.name for each in self._present if each.is_generated and not each.is_ours],
            "cost": costs(runs),
        }

    def _scenarios(self) -> list[tuple[str, Selected]]:
        """The new ones by their names. A stale one of ours gives its name away, nobody else does."""
        stem = self._piece["name"]
        taken = {
            each.name.removeprefix(f"{stem}.").removesuffix(SCENARIO_ENDING)
            for each in self._present
            if each.shown is not None or not each.is_ours
        }
        found: list[tuple[str, Selected]] = []
        for at, selected in enumerate(self._selected):
            name = scenario_name(selected, self._is_fresh and at == 0, taken)
            taken.add(name)
            found.append((f"{stem}.{name}{SCENARIO_ENDING}", selected))
        return found

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
            each.name: {(name, point) for name, points in (each.shown or {}).items() for point in points} & wanted
            for each in self._present
        }
        complete = f".complete{SCENARIO_ENDING}"
        ours = [each.name for each in self._present if each.is_ours and each.shown and not each.name.endswith(complete)]
        return redundant(shows, ours)


def _goal(goal: Shown) -> str:
    return f"{goal[0]}:{goal[1].name}"
