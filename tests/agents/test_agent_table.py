"""Every simulated agent has a sample that plays, says how it is written down, and can be used for several runs."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_workflows import step, workflow

from pytest_workrail import agents as room
from pytest_workrail import api
from pytest_workrail.agents.agent import Agent, Submit
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.misbehaving import Erratic, Fault, Lossy, Stubborn, Unsetting
from pytest_workrail.agents.scripted import Prepared, Recorded, Scripted, Turn
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from workrail_lint.systems.workrail.scenario_words import AgentKind, Behaviour, FaultKind

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


def test_every_agent_has_a_sample() -> None:
    assert {kind.__name__ for kind in _agents()} == {kind.__name__ for kind in SAMPLES}


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


def test_every_kind_of_agent_is_in_the_docs_in_a_scenario_and_in_the_fixture() -> None:
    page = (ROOT / "docs" / "testing-workflows.md").read_text(encoding="utf-8")
    scenarios = [json.loads(path.read_text("utf-8")) for path in (ROOT / "fixtures").rglob("*.scenario.json")]
    played = {each["agent"].get("kind", "auto") for each in scenarios if isinstance(each.get("agent"), dict)}
    assert [kind.value for kind in AgentKind if f"| `{kind.value}` |" not in page] == [], "docs"
    assert [kind.value for kind in AgentKind if kind.value not in played] == [], "a shipped scenario"
    names = {"scripted": "script"}
    assert [kind.value for kind in AgentKind if not hasattr(api, names.get(kind.value, kind.value))] == [], "api"
