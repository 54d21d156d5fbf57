"""Running workflows from Python, with or without pytest. The fixture `workrail` offers the same.

from pytest_workrail.api import run, script
result = run("workflows/review.json", agent=script({"read": "Read all of it."}))
assert result.status == "complete"
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pytest_workrail.agents.agent import Agent
from pytest_workrail.agents.misbehaving import Fault
from pytest_workrail.run.bench import Declared
from pytest_workrail.run.result import Run
from pytest_workrail.run.start import (
    Options,
    RunFailed,
    WorkflowInvalid,
    auto,
    compile,  # noqa: A004 - the name of the fixture's method
    erratic,
    lossy,
    run,
    script,
    stubborn,
)
from workrail_lint.systems.workrail.scenario_words import Behaviour, FaultKind

# Goldens, scenarios, searches and sessions are imported by what needs them: one run does without all of them.
if TYPE_CHECKING:
    from pytest_workrail.explore.generation import Generated
    from pytest_workrail.explore.generation import generate_scenarios as generate
    from pytest_workrail.golden.profiles import Comparison
    from pytest_workrail.scenarios.workflow_driver import compare
    from pytest_workrail.sessions.recorded_session import ReplayedSession, replay

_LATER = {
    "Comparison": "pytest_workrail.golden.profiles:Comparison",
    "Generated": "pytest_workrail.explore.generation:Generated",
    "ReplayedSession": "pytest_workrail.sessions.recorded_session:ReplayedSession",
    "compare": "pytest_workrail.scenarios.workflow_driver:compare",
    "generate": "pytest_workrail.explore.generation:generate_scenarios",
    "replay": "pytest_workrail.sessions.recorded_session:replay",
}

__all__ = [
    "Agent",
    "Behaviour",
    "Comparison",
    "Declared",
    "Fault",
    "FaultKind",
    "Generated",
    "Options",
    "ReplayedSession",
    "Run",
    "RunFailed",
    "WorkflowInvalid",
    "auto",
    "compare",
    "compile",
    "erratic",
    "generate",
    "lossy",
    "replay",
    "run",
    "script",
    "stubborn",
]


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _LATER[name].partition(":")
    value = globals()[name] = getattr(import_module(module), attribute)
    return value
