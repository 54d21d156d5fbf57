"""What an agent is told that comes back to a run, or chooses a workflow: instructions so far, and a manifest."""

from __future__ import annotations

from typing import Any

import pytest
from protocol_bench import WORKSPACE, Bench, quiet, step, workflow

BIG = "word " * 1000
ASKED = {"workflowId": "shown", "mode": "metadata", "workspacePath": WORKSPACE}


def resumed(profile: str, *steps: dict[str, Any], done: int) -> str:
    bench = Bench(workflow("resumed", *steps, quiet("last")), profile=profile)
    bench.start()
    for number in range(1, done + 1):
        assert bench.go(f"CT{number}", output={"notesMarkdown": f"note {number}"})["kind"] in ("ok", "step")
    bench.look(f"CT{done + 1}")
    assert bench.reply is not None
    return bench.reply.text[0]


def test_a_node_tells_the_instructions_so_far() -> None:
    """@enforces resume-shows-instructions"""
    text = resumed("locked", step("one", "One", "Read {{goal}}."), step("two", "Two", "Write it."), done=2)
    assert "### Instructions So Far\n**Two** (`two`)\nWrite it.\n\n**One** (`one`)\nRead demo." in text
    assert text.index("note 2") < text.index("### Instructions So Far")


def test_the_public_engine_tells_notes_only() -> None:
    assert "Instructions So Far" not in resumed("reference", step("one", "One", "Read."), done=1)


@pytest.mark.parametrize(("count", "is_cut"), [(2, False), (3, True), (5, True)])
def test_the_budget_leaves_out_the_oldest_instructions_before_any_note(count: int, is_cut: bool) -> None:
    steps = [step(f"s-{number}", f"S{number}", BIG) for number in range(1, count + 1)]
    text = resumed("locked", *steps, done=count)
    recap = text.split("## Recovery Context")[1]
    assert all(f"note {number}" in recap for number in range(1, count + 1))
    assert f"(`s-{count}`)" in recap, "the newest are kept"
    assert ("Omitted the instructions of older steps due to budget" in recap) is is_cut
    assert len(recap.split("---------")[0]) < 12288


def test_a_step_that_comes_again_is_told_once() -> None:
    loop = {
        "id": "again",
        "type": "loop",
        "title": "Again",
        "loop": {"type": "for", "count": 2, "maxIterations": 2},
        "body": [step("work", "Work", "Work.")],
    }
    text = resumed("locked", loop, done=2)
    assert text.count("**Work** (`work`)") == 1


def test_the_manifest_of_a_workflow() -> None:
    """@enforces inspect-is-manifest"""
    authored = workflow(
        "shown",
        step("triage", "Triage", "Set `depth` to small or large."),
        step("deep", "Deep", "Dig.", runCondition={"var": "depth", "equals": "large"}, requireConfirmation=True),
        quiet("verdict", outputContract={"contractRef": "wr.contracts.review_verdict"}),
        preconditions=["A repository is there.", "Inputs: `urgency` (low or high)"],
        capabilities={"web_browsing": "preferred"},
        recommendedPreferences={"recommendedAutonomy": "guided"},
    )
    bench = Bench(authored, profile="locked")
    manifest = bench.shown(bench.engine.inspect_workflow(ASKED))["manifest"]
    assert manifest == {
        "needs": {
            "preconditions": ["A repository is there.", "Inputs: `urgency` (low or high)"],
            "inputs": [{"name": "urgency", "values": ["low", "high"]}],
        },
        "provides": [
            {"stepId": "wr_probe_web_browsing", "contract": "wr.contracts.capability_observation", "required": True},
            {"stepId": "verdict", "contract": "wr.contracts.review_verdict", "required": True},
        ],
        "capabilities": {"web_browsing": "preferred"},
        "features": ["wr.features.capabilities"],
        "contracts": ["wr.contracts.capability_observation", "wr.contracts.review_verdict"],
        "recommendedPreferences": {"autonomy": "guided"},
        "steps": [
            "1. wr_probe_web_browsing: Probe: web_browsing; submits wr.contracts.capability_observation",
            "2. triage: Triage; submits notes",
            "3. deep: Deep; runs if depth is large; submits notes; waits for approval",
            "4. verdict: Verdict; submits wr.contracts.review_verdict",
        ],
    }
    public = Bench(authored)
    assert "manifest" not in public.shown(public.engine.inspect_workflow(ASKED))
