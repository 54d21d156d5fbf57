"""The runs that are made of a workflow until nothing is left to show: the shortest one, then those of the planner."""

from __future__ import annotations

from typing import Any

from pytest_workrail.agents.actions import Action, Submit
from pytest_workrail.agents.agent import StartView, StepView
from pytest_workrail.agents.auto import Auto
from pytest_workrail.agents.correct import correct_answer
from pytest_workrail.coverage.exits import ZERO
from pytest_workrail.coverage.points import ASKED, MISSING_KEY, Kind
from pytest_workrail.coverage.unset import UnsetGoals
from pytest_workrail.engine.core.vocabulary import Autonomy
from pytest_workrail.explore.answers import with_loop_names
from pytest_workrail.explore.goals import GUIDED, NEVER_STOP
from pytest_workrail.explore.guide import Guide
from pytest_workrail.explore.planner import PREFERENCES, Planner
from pytest_workrail.explore.plans import Plan, record
from pytest_workrail.records import replace
from workrail_lint.base.js import Json

_MAX_RUNS = 24
_MAX_DRY = 2


class _Withholding(Auto):
    """The automatic agent, except that it sets certain variables only when it is asked for them."""

    def __init__(self, variables: frozenset[str]) -> None:
        super().__init__()
        self._variables = variables

    def begin(self, start: StartView) -> dict[str, Json]:
        return self._without(super().begin(start))

    def act(self, view: StepView) -> Action:
        proposed: Any = view.response.get("nextCall") or {}
        patch = proposed.get("params", {}).get("context") if view.refusal == "blocked" else None
        action = super().act(view) if patch is None else correct_answer(view)
        if not isinstance(action, Submit):
            return action
        context = {**self._without(action.context or {}), **(patch or {})}
        return with_loop_names(view, replace(action, context=context or None))

    def _without(self, context: dict[str, Json]) -> dict[str, Json]:
        return {name: value for name, value in context.items() if name not in self._variables}


class _ShortestRun(Auto):
    """The automatic agent, whose decisions say which loop they are about, as every profile accepts."""

    def act(self, view: StepView) -> Action:
        action = super().act(view)
        return with_loop_names(view, action) if isinstance(action, Submit) else action


def plans_for(guide: Guide, *, has_first: bool = False) -> list[Plan]:
    """Runs that show every goal that can be shown and was not shown before, beginning with the shortest to the end."""
    ledger = guide.ledger
    plans: list[Plan] = []
    if not has_first:
        plans.append(record(guide.ir, guide.name, PREFERENCES[GUIDED], _ShortestRun()))
        ledger.cover(plans[0].points)
    _asked_runs(guide, plans)
    for _ in range(2):
        for mode in (GUIDED, NEVER_STOP):
            dry = 0
            for _ in range(_MAX_RUNS):
                if not ledger.missing or dry == _MAX_DRY:
                    break
                dry = 0 if _run(guide, plans, mode) else dry + 1
        _special_runs(guide, plans)
        if not ledger.missing:
            break
        ledger.clear_marks()
    return plans


def _asked_runs(guide: Guide, plans: list[Plan]) -> None:
    """Runs that leave unset what a step or loop waits for: asked for it, or recording the gap."""
    unset = UnsetGoals(guide.ir, guide.profile)
    for point in list(guide.ledger.missing):
        if point.case == MISSING_KEY and point in guide.ledger.missing:
            agent = _Withholding(unset.variables(point.place))
            mode = GUIDED if point.kind is Kind.BLOCKER else NEVER_STOP
            plan = record(guide.ir, guide.name, PREFERENCES[mode], agent)
            if guide.ledger.cover(plan.points):
                plans.append(plan)


def _special_runs(guide: Guide, plans: list[Plan]) -> None:
    """Runs for what no ordinary one shows: gates of autonomous runs, skipped loops, starts that are refused."""
    ledger = guide.ledger
    for point in list(ledger.missing):
        if point in ledger.missing and point.kind is Kind.GATE and point.case == ASKED:
            _run(guide, plans, GUIDED, gate=point.place)
        elif point in ledger.missing and point.kind is Kind.LOOP and point.case == ZERO:
            _run(guide, plans, GUIDED, skipped=point.place)
    while any(point.kind in (Kind.CONDITION, Kind.DECIDES, Kind.LOOP) for point in ledger.missing):
        if not _run(guide, plans, GUIDED, refuse=True):
            break


def _run(
    guide: Guide,
    plans: list[Plan],
    mode: Autonomy,
    *,
    gate: str | None = None,
    refuse: bool = False,
    skipped: str | None = None,
) -> bool:
    """One more run; false when it showed nothing new."""
    ledger = guide.ledger
    agent = Planner(guide, mode, gate=gate, refuse=refuse, skipped=skipped)
    plan = record(guide.ir, guide.name, PREFERENCES[mode], agent)
    gained = ledger.cover(plan.points)
    if gained:
        plans.append(plan)
        ledger.mark(mode, agent.expected - plan.points)
    else:
        places = [*agent.visited, *(place.partition("/")[0] for place in agent.visited)]
        ledger.mark(mode, [point for place in places for point in ledger.waiting(place, mode)])
    return bool(gained)
