"""Everything that is generated for one workflow: scenarios, proofs, costs. One piece for an executor."""

from __future__ import annotations

import os
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
from pytest_workrail.explore.writer import Existing, existing_scenarios, scenario_document
from pytest_workrail.golden.keys import SCENARIO_ENDING
from pytest_workrail.run.project_sources import project_sources
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.compile import compile_workflow


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


def generated_piece(piece: dict[str, Any]) -> dict[str, Json]:
    """The result for one workflow; `piece` names the file, the profiles and the folder of scenarios."""
    path = Path(piece["workflow"])
    sources = project_sources(os.fspath(path.parent))
    if isinstance(sources, Err):
        return {"workflow": piece["workflow"], "error": sources.error}
    compiled = compile_workflow(path, **sources.value._asdict())
    if isinstance(compiled, Err):
        return {"workflow": piece["workflow"], "error": compiled.error[0].message}
    profiles: tuple[ProfileName, ...] = tuple(piece["profiles"])
    folder = None if piece.get("out") is None else Path(piece["out"])
    present = [] if folder is None else list(existing_scenarios(folder, path))
    return _Result(path, folder, compiled.value.ir, profiles, present, bool(piece.get("golden"))).to_json()


class _Result:
    def __init__(
        self,
        path: Path,
        folder: Path | None,
        ir: dict[str, Any],
        profiles: tuple[ProfileName, ...],
        present: list[Existing],
        golden: bool,
    ) -> None:
        self._path = path
        self._folder = folder
        self._ir = ir
        self._golden = golden
        self._present = present
        covered = self._covered(present, profiles) if any(each.shown for each in present) else None
        plans, self._guides = generate(ir, profiles, covered)
        self._goals: list[Shown] = [(name, point) for name in profiles for point in self._guides[name].ledger.goals]
        before = {(name, point) for name, points in (covered or {}).items() for point in points}
        self._before = [goal for goal in self._goals if goal in before]
        wanted = [goal for goal in self._goals if goal not in before]
        self._selected = smallest_cover(plans, wanted, keep_first=covered is None)

    def _covered(self, present: list[Existing], profiles: tuple[str, ...]) -> dict[str, frozenset[Any]]:
        return {
            name: frozenset().union(*((each.shown or {}).get(name, frozenset()) for each in present))
            for name in profiles
        }

    def to_json(self) -> dict[str, Json]:
        missing = {(name, point) for name, guide in self._guides.items() for point in guide.ledger.missing}
        new = [goal for goal in self._goals if goal not in missing and goal not in set(self._before)]
        scenarios = self._scenarios()
        runs = [run_cost(str(name), each.plan.run.transcript) for name, each in scenarios]
        return {
            "workflow": os.fspath(self._path),
            "workflowId": self._ir["workflowId"],
            "goals": len(self._goals),
            "covered": len(self._goals) - len(missing),
            "new": [_goal(goal) for goal in new],
            "known": [_goal(goal) for goal in self._before],
            "uncovered": [
                {
                    "goal": _goal(goal),
                    "tried": list[Json](sorted(set(self._guides[goal[0]].ledger.tried.get(goal[1], ())))),
                }
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
            "stale": [each.path.name for each in self._present if each.shown is None and each.is_ours],
            "edited": [each.path.name for each in self._present if "generated" in each.document and not each.is_ours],
            "cost": costs(runs),
        }

    def _scenarios(self) -> list[tuple[str, Selected]]:
        """The new ones by their names. A stale one of ours gives its name away, nobody else does."""
        stem = self._path.name.removesuffix(".json").removesuffix(".workflow")
        ours = {each.path.name for each in self._present if each.shown is None and each.is_ours}
        taken = {
            each.path.name.removeprefix(f"{stem}.").removesuffix(SCENARIO_ENDING)
            for each in self._present
            if each.path.name not in ours
        }
        found: list[tuple[str, Selected]] = []
        is_fresh = not any(each.shown for each in self._present)
        for at, selected in enumerate(self._selected):
            name = scenario_name(selected, is_fresh and at == 0, taken)
            taken.add(name)
            found.append((f"{stem}.{name}{SCENARIO_ENDING}", selected))
        return found

    def _scenario(self, name: str, selected: Selected, is_first: bool) -> dict[str, Json]:
        folder = self._path.parent if self._folder is None else self._folder
        workflow = os.path.relpath(self._path.resolve(), folder.resolve()).replace(os.sep, "/")
        sentence = description(selected, is_first and name.endswith(f".complete{SCENARIO_ENDING}"))
        return {
            "name": name,
            "profiles": list[Json](selected.plan.profiles),
            "turns": selected.plan.size,
            "document": scenario_document(selected, workflow, sentence, golden=self._golden),
        }

    def _redundant(self) -> list[str]:
        """Scenarios of ours whose goals others show as well, beginning with the longest."""
        wanted = set(self._before)
        shows = {
            each.path.name: {(name, point) for name, points in (each.shown or {}).items() for point in points} & wanted
            for each in self._present
        }
        found: list[str] = []
        for each in sorted(self._present, key=lambda each: (len(shows[each.path.name]), each.path.name)):
            name = each.path.name
            if not each.is_ours or each.shown is None or name.endswith(f".complete{SCENARIO_ENDING}"):
                continue
            others = set().union(*(shown for other, shown in shows.items() if other != name and other not in found))
            if shows[name] <= others:
                found.append(name)
        return sorted(found)


def _goal(goal: Shown) -> str:
    return f"{goal[0]}:{goal[1].name}"
