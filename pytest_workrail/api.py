"""Running workflows from Python, with or without pytest. The fixture `workrail` offers the same.

from pytest_workrail.api import run, script
result = run("workflows/review.json", agent=script({"read": "Read all of it."}))
assert result.status == "complete"
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from pytest_workrail.agents.agent import Agent
from pytest_workrail.agents.misbehaving import Fault
from pytest_workrail.engine.model.words import Autonomy
from pytest_workrail.run.bench import Declared
from pytest_workrail.run.result import Run
from pytest_workrail.run.start import (
    Options,
    RunFailed,
    Script,
    Source,
    WorkflowInvalid,
    agent_of,
    auto,
    compile,  # noqa: A004 - the name of the fixture's method
    erratic,
    lossy,
    run,
    script,
    setup_of,
    stubborn,
)
from workrail_lint.systems.workrail.scenario_words import Behaviour, FaultKind

# Goldens and scenarios are imported by what needs them: one run does without both.
if TYPE_CHECKING:
    from pytest_workrail.golden.profiles import Comparison

__all__ = [
    "Agent",
    "Behaviour",
    "Comparison",
    "Declared",
    "Fault",
    "FaultKind",
    "Options",
    "Run",
    "RunFailed",
    "WorkflowInvalid",
    "auto",
    "compare",
    "compile",
    "erratic",
    "lossy",
    "run",
    "script",
    "stubborn",
]


def compare(
    workflow: Source, agent: Agent | Script | None = None, mode: Autonomy = "guided", **options: Unpack[Options]
) -> Comparison:
    """Run a workflow under both profiles with the same agent and see where they part.

    A scenario file can stand for the workflow, and then for everything else too. A script that fits one profile may
    not fit the other, so what does not fit is a difference here and no error.
    """
    __tracebackhide__ = True
    from pytest_workrail.golden.files import SCENARIO_ENDING
    from pytest_workrail.golden.profiles import both_profiles
    from pytest_workrail.scenarios.workflow_driver import compare_scenario

    if isinstance(workflow, str | os.PathLike) and os.fspath(workflow).endswith(SCENARIO_ENDING):
        return compare_scenario(Path(workflow))
    return both_profiles(setup_of(workflow, mode, "reference", options), agent_of(agent))


def __getattr__(name: str) -> object:
    if name != "Comparison":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_workrail.golden.profiles import Comparison

    return Comparison
