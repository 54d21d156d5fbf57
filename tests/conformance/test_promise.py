"""What we say is valid does not fail later: every variant without an error runs to its end with the plainest agent."""

from __future__ import annotations

import json
from typing import Any

from oracle import apply_patch, load_base, read_jsonl, requires_oracle
from tables import for_each

from pytest_workrail.agents.correct import Auto
from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from workrail_lint import Ok, check_text, compile_workflow
from workrail_lint.findings import Severity

pytestmark = requires_oracle

# Enough of them to meet every operator and every base, few enough to stay quick.
_EVERY = 4
VALID = [row for row in read_jsonl("mutants.jsonl") if row["verdict"] == "valid"][::_EVERY]
# Long loops are for benchmarks.
_MOST_STEPS = 500
# What these warn of is just what then happens: a loop that is cut short, or one that never yields a step.
_FORETOLD = {"loop-count-adjusted", "loop-guard-exceeded", "condition-empty"}


def steps_at_most(ir: dict[str, Any]) -> int:
    """How many steps a run can take at most."""
    return sum(
        int(top["loop"]["maxIterations"]) * len(top["body"]) if top["type"] == "loop" else 1 for top in ir["steps"]
    )


@for_each("row", VALID, key=lambda row: row["id"], least=0)
def test_no_error_means_that_it_runs(row: dict[str, Any]) -> None:
    document = apply_patch(load_base(row["base"]), row["patch"])
    findings = check_text(json.dumps(document), filename="workflow.json").findings
    compiled = compile_workflow(document)
    if any(finding.severity is Severity.ERROR for finding in findings):
        return
    assert isinstance(compiled, Ok)
    if steps_at_most(compiled.value.ir) > _MOST_STEPS:
        return
    names = {finding.name for finding in findings}
    profile: ProfileName
    for profile in PROFILES:
        run = drive(Setup(compiled.value.ir, profile), Auto())
        assert run.status == "complete" or names & _FORETOLD, (profile, run.ending.why)
