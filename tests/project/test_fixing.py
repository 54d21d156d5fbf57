"""Fixes of one text together: what each does alone must not go wrong beside another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workrail_lint import check_text
from workrail_lint.findings import Finding
from workrail_lint.project.fixing import fix_text
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

POINT = {"slotId": "checker", "purpose": "Who checks the result.", "default": "routine-check"}


def found(text: str) -> list[Finding]:
    return check_text(text, "workflows/example.json").findings


def mended(document: dict[str, Any]) -> dict[str, Any]:
    """The document after all fixes there are, in its shipping form."""
    fixed = fix_text(json.dumps(document), found, unsafe=True)
    assert fix_text(fixed.text, found, unsafe=True).text == fixed.text
    value: dict[str, Any] = json.loads(fixed.text)
    return value


def test_of_two_misspellings_of_one_name_neither_is_lost() -> None:
    bent = {"id": "one", "titel": "A", "tilte": "B", "prompt": "Go."}
    condition = {"var": "goal", "eq": 1, "equal": 2}
    first, second = mended(workflow(bent, step("two", runCondition=condition)))["steps"]
    assert (first["title"], first["tilte"]) == ("A", "B")
    assert second["runCondition"] == {"var": "goal", "equals": 1, "equal": 2}


def test_two_ids_do_not_become_one() -> None:
    document = workflow(step("Plan A"), step("Plan.A"), {**loop(ident="again"), "body": "Plan.A"})
    first, second, again = mended(document)["steps"]
    assert (first["id"], second["id"], again["body"]) == ("plan-a", "Plan.A", "Plan.A")


@pytest.mark.parametrize("token", ["{{wr.bindings.chekcer}}", "{{ wr.bindings.checker }}"])
def test_a_token_is_mended_and_its_slot_is_kept(token: str) -> None:
    made = mended(workflow(step(prompt=f"Run {token} on the result."), extensionPoints=[POINT]))
    assert made["steps"][0]["prompt"] == "Run {{wr.bindings.checker}} on the result."
    assert made["extensionPoints"] == [POINT]


def test_nothing_of_a_block_is_lost_on_the_way_to_a_step_of_its_own() -> None:
    audit = {"prompt": "Audit it.", "rubric": ["Every claim has a source."]}
    verification = {"prompt": "Check it.", "command": "make test"}
    steps = mended(workflow(step(verification=verification, audit=audit)))["steps"]
    assert "make test" in steps[1]["prompt"]
    assert "Every claim has a source." in steps[2]["prompt"]


@pytest.mark.parametrize(
    "named",
    [
        step("probes", None, templateCall={"templateId": "wr.templates.routine.execution-simulation"}),
        loop(ident="probes"),
    ],
)
def test_a_body_is_never_mended_to_a_loop_or_a_call(named: dict[str, Any]) -> None:
    document = workflow(step(), named, {**loop(ident="again"), "body": "probe"})
    assert mended(document)["steps"][2]["body"] == "probe"


def test_ids_of_steps_with_other_faults_are_taken_too() -> None:
    """A value of a wrong type hides a step from the rules, but not its id."""
    call = step("call-it", None, templateCall={"templateId": "wr.templates.routine.execution-simulation"})
    hidden = [step(ident, guidance="x") for ident in ("begin", "plan-a", "last-audit")]
    document = workflow(call, step("Plan A"), step("last", audit={"prompt": "Audit it."}), *hidden)
    ids = [item["id"] for item in mended(document)["steps"]]
    assert ids == ["begin-2", "call-it", "Plan A", "last", "begin", "plan-a", "last-audit"]
