"""Mistakes that authors make, each with a neighbour that looks like it and is right.

Whole documents are checked with the rules that are on by default, so a finding that another rule takes over counts too.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from workrail_lint import check_text
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, parallel, step, workflow

Document = dict[str, Any]


def codes(document: Document) -> list[str]:
    """Return the codes of all findings."""
    return [finding.code for finding in check_text(json.dumps(document, indent=2), "example.json").findings]


def compare(code: str, bad: Document, good: Document) -> None:
    assert codes(bad).count(code) == 1
    assert code not in codes(good)


def asking(prompt: str, contract: str, **members: Any) -> Document:
    return workflow(step("judge", prompt, outputContract={"contractRef": f"wr.contracts.{contract}"}, **members))


# ------------------------------------------------------------------------------------------ contracts

SKETCHES = [
    ('{"kind": "wr.verification_report", "result": "ok" | "broken", "checks": [...]}', "verification_report"),
    ('{ kind: "wr.verification_report", result: "green", ... }', "verification_report"),
    ('{"kind": "wr.gate_verdict", "verdict": "approved", "confidence": 0.7}', "gate_verdict"),
    ('{"kind": "wr.gate_verdict", "verdict": "pass|fail", "rationale": "<why>"}', "gate_verdict"),
    ('{"kind": "wr.gate_verdict", "verdict": "approved", "certainty": "high", // how sure\n "rationale": "…"}', "gate_verdict"),
    ('kind: "wr.gate_verdict"\nverdict: "accepted" | "denied"\nrationale: "…"', "gate_verdict"),
]  # fmt: skip
SOUND_SKETCHES = [
    ('{"kind": "wr.verification_report", "result": "passed" | "failed", "checks": [...]}', "verification_report"),
    ('{ kind: "wr.verification_report", result: <result>, ... }', "verification_report"),
    ('{"kind": "wr.gate_verdict", "version": 1, "verdict": "approved/rejected", "confidence": "<high|low>", "rationale": "<why>"}', "gate_verdict"),
    ('{"kind": "wr.gate_verdict", "verdict": string, "confidence": "…"}', "gate_verdict"),
    ('kind: "wr.gate_verdict"\nverdict: "approved" | "rejected"\nrationale: "…"', "gate_verdict"),
]  # fmt: skip


@pytest.mark.parametrize("fence", ["{}", "`{}`", "```json\n{}\n```", "```\n{}\n```"])
def test_sketches_of_an_artifact(fence: str) -> None:
    for sketch, contract in SKETCHES:
        if "\n" not in sketch or "```" in fence:
            assert "CT011" in codes(asking(f"Submit this artifact:\n{fence.format(sketch)}", contract)), sketch
    for sketch, contract in SOUND_SKETCHES:
        assert "CT011" not in codes(asking(f"Submit this artifact:\n{fence.format(sketch)}", contract)), sketch


def test_the_kind_of_an_artifact() -> None:
    compare(
        "CT011",
        asking('Submit {"kind": "gate-verdict", "verdict": "approved"}.', "gate_verdict"),
        asking('Submit {"kind": "wr.gate_verdict", "verdict": "approved"}.', "gate_verdict"),
    )
    compare(
        "CT013",
        asking("Submit a wr.gate_decision artifact.", "gate_verdict"),
        asking("Read the wr.gate_decision of the last run, then submit a wr.gate_verdict artifact.", "gate_verdict"),
    )
    # Without a contract, only what is nearly a known kind is wrong.
    noted = 'Write {"kind": "wr.level_design", "name": "…"} into your notes.'
    compare("CT011", workflow(step("note", noted.replace("level_design", "gate_verdit"))), workflow(step("note", noted)))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("result to approved", "result to passed"),
        ("`result` as `green` or `red`", "`result` as `passed` or `failed`"),
        ("result: one of ok, broken", "result: one of passed, failed"),
    ],
)
def test_values_of_another_contract(wrong: str, right: str) -> None:
    said = "Submit a wr.verification_report artifact. Set {}."
    compare(
        "CT012", asking(said.format(wrong), "verification_report"), asking(said.format(right), "verification_report")
    )


def test_a_variable_is_no_field() -> None:
    document = asking("Submit a wr.gate_verdict artifact. Also set `verdict` to `go` or `stay`.", "gate_verdict")
    document["steps"].append(step("leave", runCondition={"var": "verdict", "equals": "go"}))
    assert "CT012" not in codes(document)


def test_dimensions_beside_a_level() -> None:
    dimensions = [{"id": "test_depth", "purpose": "How deep.", "levels": ["shallow", "deep"]}]
    assessment = {"id": "tests", "purpose": "How good the tests are.", "dimensions": dimensions}

    def guided(guidance: str, prompt: str = "Rate the tests.") -> Document:
        effect = {"kind": "require_followup", "guidance": guidance}
        consequence = [{"when": {"anyEqualsLevel": "shallow"}, "effect": effect}]
        rated = step("rate", prompt, assessmentRefs=["tests"], assessmentConsequences=consequence)
        return workflow(rated, assessments=[assessment])

    compare("CT015", guided("branch_cover shallow: add cases."), guided("test_depth shallow: add cases."))
    compare(
        "CT015", guided("Add cases.", "Rate `test-width` = deep if so."), guided("Add cases.", "`test_depth` = deep if so.")
    )
    assert "CT015" not in codes(guided("The unit_tests cover little; a deep test is missing."))


# ---------------------------------------------------------------------------------------------- loops

SIZED = step("size-up", "Set `size` to `small` or `large`.")
LARGE = {"var": "size", "equals": "large"}


def test_a_decision_that_may_be_skipped() -> None:
    work = step("inner-step")
    skipped = controlled_loop(work, decision(runCondition=LARGE))
    compare("LP026", workflow(SIZED, skipped), workflow(SIZED, {**skipped, "runCondition": LARGE}))
    later = decision(runCondition={"var": "currentIteration", "gte": 2})
    assert "LP026" not in codes(workflow(SIZED, controlled_loop(work, later)))
    assert "LP026" not in codes(workflow(SIZED, controlled_loop(decision(runCondition=LARGE), decision("last"))))


def test_one_round_of_a_loop_that_decides() -> None:
    compare(
        "LP060",
        workflow(step(), controlled_loop(maxIterations=1)),
        workflow(step(), loop(type="for", count=1, maxIterations=1)),
    )


def each(first: str, **config: Any) -> Document:
    return workflow(step("survey", first), loop(step("visit"), **{"type": "forEach", "count": ..., **config}))


def test_what_a_loop_goes_through() -> None:
    compare(
        "LP061",
        each("Set `sites` to the number of sites.", items="sites"),
        each("Set `sites` to an array of addresses, and `siteTotal` to their number.", items="sites"),
    )
    compare(
        "LP061",
        each("Look at every site and record `siteCount`.", items="siteCount"),
        each("Record `siteCount` as a list of readings, one for each meter.", items="siteCount"),
    )
    compare(
        "LP061",
        each("Set `sites` to a list of addresses.", type="for", count="sites"),
        each("Set `sites` to the number of addresses.", type="for", count="sites"),
    )


def test_a_count_in_quotes() -> None:
    compare("LP008", each("Look.", type="for", count="4"), each("Set `visits`.", type="for", count="visits"))


def test_a_condition_that_the_body_never_changes() -> None:
    def retrying(prompt: str) -> Document:
        source = {"kind": "context_variable", "condition": {"var": "failing", "equals": True}}
        again = loop(step("retry", prompt), type="while", count=..., conditionSource=source, maxIterations=4)
        return workflow(step("run-tests", "Run the tests. Set `failing` to true or false."), again)

    compare("LP062", retrying("Mend one test."), retrying("Mend one test. Set `failing` again."))
    assert "LP062" not in codes(retrying("Mend one test; `failing` must be updated."))


# ------------------------------------------------------------------------------------------------ data


def test_a_mapping_from_a_variable_that_nothing_sets() -> None:
    def mapped(first: str) -> Document:
        delegations = [{"workflowId": "demo.left", "contextMapping": {"logPath": "path"}}, {"workflowId": "demo.right"}]
        return workflow(step("collect", first), parallel(parallelDelegations=delegations))

    compare("CD023", mapped("Collect the logs."), mapped("Collect the logs. Set `logPath`."))
