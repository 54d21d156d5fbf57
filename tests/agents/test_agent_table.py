"""Every simulated agent has a sample that plays, says how it is written down, and can be used for several runs."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from agent_workflows import step, workflow

from pytest_workrail import agents as room
from pytest_workrail import api
from pytest_workrail.agents.agent import Agent, Submit, agents_by_kind
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.misbehaving import Erratic, Fault, Lossy, Stubborn, Unsetting
from pytest_workrail.agents.scripted import Prepared, Recorded, Scripted, Turn
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from pytest_workrail.scenarios.drivers import open_scenario
from pytest_workrail.scenarios.workflow_driver import load, setup_and_agent
from tools.agent_table import PAGE, plans, with_table
from workrail_lint.base.result import Ok
from workrail_lint.documents.models import Closed
from workrail_lint.systems.workrail import scenario
from workrail_lint.systems.workrail.scenario_words import Behaviour, FaultKind

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = workflow(step("one"), step("two"))
# Each agent, made anew, and the status in which it leaves a run of two steps.
SAMPLES: dict[type[Agent], tuple[Callable[[], Agent], str]] = {
    Auto: (Auto, "complete"),
    Scripted: (lambda: Scripted([Turn("one", Submit("x")), Turn("two", Submit("y"))]), "complete"),
    Prepared: (lambda: Prepared({"one": {"notesMarkdown": "x"}}), "in_progress"),
    Recorded: (lambda: Recorded(api.run(WORKFLOW).transcript), "complete"),
    Stubborn: (lambda: Stubborn(Behaviour.MISSING_NOTES, ["two"]), "error"),
    Unsetting: (Unsetting, "complete"),
    Erratic: (lambda: Erratic(seed=3), "complete"),
    Lossy: (lambda: Lossy(Auto(), [Fault(FaultKind.LOSE_ANSWER)]), "complete"),
}


def _agents() -> set[type[Agent]]:
    """Return every agent of the room."""
    for module in pkgutil.iter_modules(room.__path__):
        importlib.import_module(f"{room.__name__}.{module.name}")
    found, waiting = set(), [Agent]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if kind.__module__.startswith(f"{room.__name__}."):
                found.add(kind)
    return found


def test_every_agent_has_a_kind_or_a_sample() -> None:
    missing = {agent.__name__ for agent in _agents() - set(SAMPLES) if agent.kind is None}
    assert missing == set(), "give it a `kind`, if scenario files can name it, or a sample here"


@pytest.mark.parametrize("kind", SAMPLES, ids=lambda kind: kind.__name__)
def test_an_agent_plays_and_starts_anew(kind: type[Agent]) -> None:
    make, status = SAMPLES[kind]
    setup, agent = Setup(api.compile(WORKFLOW).ir, "reference"), make()
    first, second = drive(setup, agent), drive(setup, agent)
    assert first.status == status
    assert [each.response for each in first.transcript.exchanges] == [
        each.response for each in second.transcript.exchanges
    ], "one object may play several runs"


def test_every_agent_is_named_where_agents_are_listed() -> None:
    listed = room.__doc__ or ""
    missing = [kind.__name__ for kind in _agents() if f"`{kind.__module__.rpartition('.')[2]}" not in listed]
    assert missing == []


def test_every_agent_with_a_kind_has_a_plan_for_scenario_files() -> None:
    _agents()
    missing = [agent.__name__ for kind, agent in agents_by_kind().items() if kind not in plans()]
    assert missing == [], f"write a class about it in {scenario.__name__} and list it in `Agent` there"


def test_every_plan_for_scenario_files_is_listed_and_has_an_agent() -> None:
    _agents()
    described = {
        plan.__name__: plan.model_fields["kind"].annotation
        for plan in vars(scenario).values()
        if isinstance(plan, type) and issubclass(plan, Closed) and "kind" in plan.model_fields
    }
    assert set(described) - {plan.__name__ for plan in plans().values()} == set(), "list it in `Agent` below it"
    assert {plan.__name__: Literal[kind] for kind, plan in plans().items()} == described, "kind and tag must be equal"
    without = [plan.__name__ for kind, plan in plans().items() if kind not in agents_by_kind()]
    assert without == [], f"write an agent with this `kind` in {room.__name__}"


@pytest.mark.parametrize("kind", plans())
def test_the_example_of_an_agent_is_a_scenario_that_plays(kind: str, tmp_path: Path) -> None:
    """Where a member has no default, the class of the agent needs an `example`."""
    (tmp_path / "workflow.json").write_text(json.dumps(WORKFLOW), encoding="utf-8")
    example = {"workflow": "workflow.json", "agent": {"kind": kind, **agents_by_kind()[kind].example}, "golden": False}
    path = tmp_path / "example.scenario.json"
    path.write_text(json.dumps(example), encoding="utf-8")
    opened = open_scenario(path, path.name)
    assert isinstance(opened, Ok), str(opened.error)
    loaded = load(opened.value)
    assert isinstance(loaded, Ok), str(loaded.error)
    setup, agent = setup_and_agent(loaded.value)
    first, second = drive(setup, agent), drive(setup, agent)
    assert first.ending.kind not in ("misplayed", "endless"), first.ending.why
    assert first.transcript.exchanges == second.transcript.exchanges, "one object may play several runs"


def test_the_table_in_the_docs_is_the_generated_one() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert page == with_table(page), "run `make schemas`"
    assert all(f"| `{kind}` |" in page for kind in plans())
