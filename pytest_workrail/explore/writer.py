"""Generated scenarios as files: what they look like, which are there already, and whose they are."""

from __future__ import annotations

from typing import Any

from pytest_workrail.coverage.observe import observe
from pytest_workrail.coverage.points import Point
from pytest_workrail.explore.cost import RunCost, run_cost
from pytest_workrail.explore.cover import Selected
from pytest_workrail.explore.plans import Plan, expectations, turn_documents
from pytest_workrail.records import Record
from pytest_workrail.scenarios.generated import is_generated, is_untouched, stamped
from pytest_workrail.scenarios.workflow_driver import Loaded, run_scenario
from pytest_workrail.scenarios.workflow_expectations import unmet
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.scenario import Scenario
from workrail_lint.systems.workrail.scenario_check import scenario_profiles

_PROFILES = ("reference", "locked")


def scenario_document(selected: Selected, sentence: str, sources: dict[str, Json], *, golden: bool) -> dict[str, Json]:
    """A run as a scenario file. `sources` names the workflow, and what it is compiled with."""
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
    return () if plan.run.ending.kind == "refused" else plan.taken


class Existing(Record):
    """A scenario about a workflow: what it shows where it passes, None where it fails, and what its run costs."""

    name: str
    document: dict[str, Any]
    shown: dict[str, frozenset[Point]] | None = None
    cost: RunCost | None = None

    @property
    def is_generated(self) -> bool:
        return is_generated(self.document)

    @property
    def is_ours(self) -> bool:
        """Written by us, and nobody changed it since."""
        return is_untouched(self.document)


def existing_scenario(name: str, document: dict[str, Any], ir: dict[str, Any] | None) -> Existing:
    """A scenario that is there already, played; without an IR it can't be."""
    if ir is None:
        return Existing(name, document)
    Scenario.model_validate(document)
    loaded = Loaded(document, ir)
    shown: dict[str, frozenset[Point]] = {}
    costs: list[RunCost] = []
    for profile in scenario_profiles(document):
        run = run_scenario(loaded, profile).run
        if run.ending.kind in ("misplayed", "endless") or unmet(loaded.scenario, run):
            return Existing(name, document)
        shown[profile] = observe(run.transcript, strong=True)
        costs.append(run_cost(name, run.transcript))
    return Existing(name, document, shown, costs[0])
