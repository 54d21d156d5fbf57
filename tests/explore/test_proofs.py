"""Proofs: what can't happen is proved, what can happen is shown, and a wrong proof is found out."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from effort import times

from pytest_workrail import api
from pytest_workrail.coverage.observe import observe
from pytest_workrail.engine.core.conditions import evaluate
from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from pytest_workrail.explore.generation import generate
from pytest_workrail.explore.proofs import holds, proofs_for
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from workrail_lint import Ok, compile_workflow
from workrail_lint.systems.workrail.model.build import program_model

PLANTED = times(6, deep=200)
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def step(step_id: str, **members: Any) -> dict[str, Any]:
    return {"id": step_id, "title": step_id, "prompt": f"Do {step_id}.", "notesOptional": True, **members}


def workflow(*steps: dict[str, Any]) -> dict[str, Any]:
    head = {"id": "demo.planted", "name": "Planted", "description": "Has known answers.", "version": "1.0.0"}
    return {**head, "steps": list(steps)}


def ir_of(source: dict[str, Any]) -> dict[str, Any]:
    """The IR with the conditions as they are: it knows operators that a workflow file can't use."""
    bare = [{name: value for name, value in each.items() if name != "runCondition"} for each in source["steps"]]
    compiled = compile_workflow({**source, "steps": bare})
    assert isinstance(compiled, Ok), compiled
    steps = [
        {**made, "runCondition": each["runCondition"]} if "runCondition" in each else made
        for made, each in zip(compiled.value.ir["steps"], source["steps"], strict=True)
    ]
    return {**compiled.value.ir, "steps": steps}


def proofs(source: dict[str, Any], profile: ProfileName = "reference") -> dict[str, dict[str, Any]]:
    return {point.name: proof for point, proof in proofs_for(program_model(ir_of(source)), PROFILES[profile])}


SMALL, LARGE = {"var": "size", "equals": "small"}, {"var": "size", "equals": "large"}


def test_the_example_of_two_sizes() -> None:
    both = {"and": [SMALL, LARGE]}
    found = proofs(workflow(step("one"), step("two", runCondition=both)))
    assert found["condition:two:true"] == {
        "kind": "contradiction",
        "conditions": [{"condition": both, "wanted": True}],
        "classes": {"size": [{"unset": True}, {"value": "small"}, {"value": "large"}]},
    }
    assert found["step:two:done"]["kind"] == "behind"
    assert all(map(holds, found.values()))
    parts = {"and": [{"var": "area", "contains": "api"}, {"var": "area", "contains": "db"}]}
    assert proofs(workflow(step("one"), step("two", runCondition=parts))) == {}


def test_the_core_leaves_out_what_does_not_matter() -> None:
    fragments = [{"id": "other", "text": "Other.", "when": {"and": [LARGE, {"var": "mood"}]}}]
    found = proofs(workflow(step("one"), step("two", runCondition=SMALL, promptFragments=fragments)))
    proof = found["fragment:two#other:shown"]
    assert [each["wanted"] for each in proof["conditions"]] == [True, True]
    assert set(proof["classes"]) == {"size", "mood"}
    assert holds(proof)


def test_what_only_the_host_may_set_and_what_a_bound_rules_out() -> None:
    host = {"var": "eat_token", "equals": "x"}
    late = step("late", runCondition={"var": "currentIteration", "gt": 3})
    loop = {
        "id": "loop",
        "type": "loop",
        "title": "Loop",
        "loop": {"type": "for", "count": 2, "maxIterations": 3},
        "body": [step("inner"), late],
    }
    found = proofs(workflow(step("one"), step("two", runCondition=host), loop))
    assert found["condition:two:true"]["kind"] == "fixed"
    assert found["loop:loop:limit"] == {"kind": "bound", "limit": 3, "count": 2}
    assert [each["iteration"] for each in found["condition:loop/late:true"]["iterations"]] == [0, 1]
    assert all(map(holds, found.values()))


def test_what_a_profile_never_asks_about_is_proved_for_every_step_that_can_be_done() -> None:
    body = [step("inner", requireConfirmation=True)]
    entered = {
        "id": "loop",
        "type": "loop",
        "title": "Loop",
        "loop": {"type": "for", "count": 2, "maxIterations": 3},
        "body": body,
    }
    never = {**entered, "id": "never", "runCondition": {"and": [SMALL, LARGE]}, "body": [step("unseen")]}
    skipped = step("skipped", requireConfirmation=True, runCondition={"and": [SMALL, LARGE]})
    source = workflow(step("one"), never, skipped, entered, step("ask", requireConfirmation=True))
    asked = {"kind": "never-asked", "profile": "reference"}
    confirmation = {**asked, "choice": "confirmation", "value": "intent_only"}
    found = {name: proof for name, proof in proofs(source).items() if name.startswith("blocker:")}
    assert found == {
        "blocker:loop:INVARIANT_VIOLATION": {**asked, "choice": "loop_limit", "value": "exit"},
        "blocker:loop/inner:USER_ONLY_DEPENDENCY": confirmation,
        "blocker:ask:USER_ONLY_DEPENDENCY": confirmation,
    }
    assert not [name for name in proofs(source, "locked") if name.startswith("blocker:")]
    proved = proofs(source)
    assert proved["step:never/unseen:done"] == {
        "kind": "behind",
        "of": "condition:never:true",
        "proof": proved["condition:never:true"],
    }


def test_a_step_whose_condition_is_always_true_can_be_done() -> None:
    always = {"or": [{"var": "risk", "gt": 1}, {"not": {"var": "risk", "gt": 1}}]}
    assert list(proofs(workflow(step("one"), step("two", runCondition=always)))) == ["condition:two:false"]


def test_a_profile_that_requires_no_decision_never_asks_for_one() -> None:
    source = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": "rounds"}
    contract = {"contractRef": "wr.contracts.loop_control"}
    rounds = {
        "id": "rounds",
        "type": "loop",
        "title": "Rounds",
        "loop": {"type": "while", "conditionSource": source, "maxIterations": 3},
        "body": [step("work"), step("decide", outputContract=contract, runCondition=SMALL)],
    }
    found = proofs(workflow(step("one"), rounds))
    for code in ("MISSING_REQUIRED_OUTPUT", "INVALID_REQUIRED_OUTPUT"):
        proof = {"kind": "never-asked", "profile": "reference", "choice": "loop_decision", "value": "assume_continue"}
        assert found[f"blocker:rounds:{code}"] == proof


def test_a_wrong_proof_is_found_out() -> None:
    wrong = {
        "kind": "contradiction",
        "conditions": [{"condition": SMALL, "wanted": True}, {"condition": {"var": "mood"}, "wanted": True}],
        "classes": {"size": [{"unset": True}], "mood": [{"unset": True}]},
    }
    assert not holds(wrong)
    assert not holds({"kind": "behind", "of": "condition:two:true", "proof": wrong})
    assert not holds({"kind": "bound", "limit": 3, "proof": wrong})
    assert not holds({"kind": "bound", "limit": 3, "ends": wrong})
    assert holds({"kind": "accepts-all", "contract": "any", "schema": {"type": "object"}})
    assert not holds({"kind": "accepts-all", "contract": "any", "schema": {"type": "object", "required": ["verdict"]}})


def test_a_pattern_that_no_guess_meets_is_uncovered_and_not_infeasible() -> None:
    never = {"and": [{"var": "name", "matches": "^a$"}, {"var": "name", "matches": "^b$"}]}
    source = workflow(step("one"), step("two", runCondition=never))
    assert "condition:two:true" not in proofs(source)
    _, guides = generate(ir_of(source), ("reference",))
    assert "condition:two:true" in {point.name for point in guides["reference"].ledger.missing}


# -------------------------------------------------------------------------------------------------------- known answers

VALUES: list[Any] = ["small", "large", "api db", "v2", 0, 1, 3.5, 10, 99, True, False, "yes"]
OPERANDS: dict[str, list[Any]] = {
    "equals": VALUES,
    "not_equals": VALUES,
    "gt": [0, 1, 3, 10, 50],
    "gte": [0, 1, 3, 10, 50],
    "lt": [1, 4, 10, 99, 100],
    "lte": [1, 4, 10, 99, 100],
    "contains": ["api", "db", "v", "s"],
    "startsWith": ["api", "v", "l"],
    "endsWith": ["db", "all", "ge"],
}
CONTRADICTIONS: list[list[dict[str, Any]]] = [
    [{"equals": "small"}, {"equals": "large"}],
    [{"gt": 10}, {"lt": 4}],
    [{"gte": 3}, {"lt": 3}],
    [{"contains": "api"}, {"equals": "db"}],
    [{"startsWith": "api"}, {"startsWith": "db"}],
    [{"endsWith": "query"}, {"not_equals": None}, {"in": ["api", 1, "small"]}],
    [{"gt": 3}, {"contains": "x"}],
    [{"equals": True}, {"equals": "no"}],
]


def planted(chance: random.Random) -> tuple[dict[str, Any], dict[str, bool]]:
    """A workflow with steps of which it is known whether they can run."""
    steps, known = [step("first")], {}
    for number in range(chance.randint(2, 4)):
        name, is_possible = f"step-{number}", chance.random() < 0.6
        if is_possible:
            witness = {variable: chance.choice(VALUES) for variable in "abc"}
            parts = []
            while len(parts) < chance.randint(1, 4):
                operator = chance.choice(list(OPERANDS))
                part = {"var": chance.choice("abc"), operator: chance.choice(OPERANDS[operator])}
                parts.append(part if evaluate(part, witness) else {"not": part})
        else:
            variable = chance.choice("abc")
            parts = [{"var": variable, **part} for part in chance.choice(CONTRADICTIONS)]
            parts.append({"or": [{"var": each, "equals": chance.choice(VALUES)} for each in "abc" if each != variable]})
            chance.shuffle(parts)
        known[name] = is_possible
        steps.append(step(name, runCondition={"and": parts}))
    return workflow(*steps, step("last")), known


@pytest.mark.search
@pytest.mark.parametrize("seed", range(PLANTED))
def test_planted_contradictions_and_planted_goals_are_told_apart(seed: int) -> None:
    source, known = planted(random.Random(seed))
    ir = ir_of(source)
    _, guides = generate(ir, ("reference",))
    ledger = guides["reference"].ledger
    proved = {point.name: proof for point, proof in proofs_for(program_model(ir), PROFILES["reference"])}
    for name, is_possible in known.items():
        goal = f"condition:{name}:true"
        assert (goal in {point.name for point in ledger.goals}) is is_possible
        assert (goal in proved) is not is_possible
    assert list(ledger.missing) == []
    assert all(map(holds, proved.values()))


def fixtures() -> list[Path]:
    return sorted([*FIXTURES.glob("workflows/*.json"), *FIXTURES.glob("scenarios/workflows/*.json")])


@pytest.mark.search
@pytest.mark.parametrize("path", fixtures()[:: times(4, deep=1)], ids=lambda path: path.stem)
def test_no_erratic_run_shows_what_is_proved_infeasible(path: Path) -> None:
    compiled = compile_workflow(path, routines=FIXTURES / "routines")
    if not isinstance(compiled, Ok):
        pytest.skip("the engine refuses this workflow")
    for name, profile in PROFILES.items():
        proved = dict(proofs_for(compiled.value.program, profile))
        assert all(map(holds, proved.values()))
        for seed in range(3):
            run = drive(Setup(compiled.value.ir, name, max_turns=200), api.erratic(seed))
            assert not observe(run.transcript) & set(proved)
