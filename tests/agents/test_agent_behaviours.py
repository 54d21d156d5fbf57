"""Every behaviour provokes exactly what its name says, wherever a step gives occasion for it."""

from __future__ import annotations

from typing import Any

import pytest
from agent_workflows import by_artifact, decide, first_moment, loop, play, step, workflow
from test_agent_auto import CONSEQUENCE, READINESS

from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.misbehaving import Erratic, Stubborn, behave, possible
from pytest_workrail.agents.scripted import Behave, Scripted, Turn
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.run.result import Run
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.scenario_words import Behaviour

B = Behaviour
CRITERIA = [{"type": "contains", "value": "Risks", "message": "Name the risks."}]
WORKFLOWS: dict[str, dict[str, Any]] = {
    "notes": workflow(step("one")),
    "quiet": workflow(step("one", notesOptional=True)),
    "criteria": workflow(step("one", validationCriteria=CRITERIA)),
    "verdict": workflow(step("one", outputContract={"contractRef": "wr.contracts.gate_verdict"})),
    "shape": workflow(step("one", outputContract={"contractRef": "wr.contracts.shaping_handoff"})),
    "optional": workflow(step("one", outputContract={"contractRef": "wr.contracts.gate_verdict", "required": False})),
    "rated": workflow(
        step("one", assessmentRefs=["readiness"], assessmentConsequences=[CONSEQUENCE]), assessments=[READINESS]
    ),
    "loop": workflow(loop("again", decide("one"), **by_artifact("again", 1)), step("after")),
    "capable": workflow(step("after"), capabilities={"web_browsing": "required"}),
}
MISSING, INVALID = "MISSING_REQUIRED_OUTPUT", "INVALID_REQUIRED_OUTPUT"
# Behaviour, workflow, profile: the blockers it meets, or the error it gets; nothing when it passes.
TABLE: list[tuple[Behaviour, str, str, tuple[str, ...]]] = [
    (B.RIGHT, "notes", "locked", ()),
    (B.NOTHING, "notes", "reference", ("MISSING_REQUIRED_NOTES",)),
    (B.NOTHING, "criteria", "reference", ("MISSING_REQUIRED_NOTES", MISSING)),
    (B.NOTHING, "quiet", "reference", ()),
    (B.MISSING_NOTES, "notes", "reference", ("MISSING_REQUIRED_NOTES",)),
    (B.MISSING_NOTES, "rated", "reference", ("MISSING_REQUIRED_NOTES",)),
    (B.BLANK_NOTES, "notes", "reference", ("MISSING_REQUIRED_NOTES",)),
    (B.OVERSIZE_NOTES, "notes", "reference", ()),
    (B.FAILING_NOTES, "criteria", "reference", (INVALID,)),
    (B.MISSING_ARTIFACT, "verdict", "reference", (MISSING,)),
    (B.MISSING_ARTIFACT, "rated", "reference", (INVALID,)),
    (B.WRONG_KIND, "verdict", "reference", (MISSING,)),
    (B.INVALID_ARTIFACT, "verdict", "reference", (INVALID,)),
    (B.INVALID_ARTIFACT, "rated", "reference", (INVALID,)),
    (B.INVALID_ARTIFACT, "optional", "reference", (INVALID,)),
    (B.INVALID_ARTIFACT, "loop", "reference", (INVALID,)),
    (B.OVERSIZE_ARTIFACT, "shape", "reference", (INVALID,)),
    (B.WRONG_LEVEL, "rated", "reference", (INVALID,)),
    (B.FOLLOWUP_LEVEL, "rated", "reference", ("ASSESSMENT_FOLLOWUP_REQUIRED",)),
    (B.MISSING_DIMENSION, "rated", "reference", (INVALID,)),
    (B.UNKNOWN_DIMENSION, "rated", "reference", (INVALID,)),
    (B.KEEP_LOOPING, "loop", "reference", ()),
    (B.KEEP_LOOPING, "loop", "locked", ("INVARIANT_VIOLATION",)),
    (B.NO_DECISION, "loop", "locked", (MISSING,)),
    (B.WRONG_LOOP, "loop", "reference", ()),
    (B.WRONG_LOOP, "loop", "locked", (INVALID,)),
    (B.CLAIM_CAPABILITY, "capable", "reference", ()),
    (B.CLAIM_CAPABILITY, "capable", "locked", ("REQUIRED_CAPABILITY_UNKNOWN",)),
    (B.LACK_CAPABILITY, "capable", "locked", ("REQUIRED_CAPABILITY_UNAVAILABLE",)),
    (B.DIVERGE, "notes", "locked", ()),
    (B.OVERSIZE_CONTEXT, "notes", "reference", ("VALIDATION_ERROR",)),
]


def once(behaviour: Behaviour, name: str, profile: str) -> Run:
    """One turn of a behaviour at the first step, the automatic agent otherwise."""
    first = first_moment(WORKFLOWS[name], profile=profile).step_id
    turn = Turn(first, Behave(behaviour), visit=1)
    return play(WORKFLOWS[name], Scripted([turn], Auto()), profile=profile)


@pytest.mark.parametrize(("behaviour", "name", "profile", "met"), TABLE)
def test_one_word_provokes_it(behaviour: Behaviour, name: str, profile: str, met: tuple[str, ...]) -> None:
    run = once(behaviour, name, profile)
    first = run.transcript.attempts[0]
    error = run.responses[1].get("code")
    assert (first.blockers or ((error,) if error else ())) == met
    is_final = met[:1] in (("REQUIRED_CAPABILITY_UNKNOWN",), ("REQUIRED_CAPABILITY_UNAVAILABLE",))
    assert run.status == ("blocked" if is_final else "complete"), "the right answer is taken afterwards"


def test_the_table_names_every_behaviour() -> None:
    assert {row[0] for row in TABLE} == set(Behaviour)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_is_possible_is_what_can_be_done(name: str) -> None:
    view = first_moment(WORKFLOWS[name], profile="locked")
    offered = possible(view)
    for behaviour in Behaviour:
        answer = behave(behaviour, view)
        assert isinstance(answer, Err) is (behaviour not in offered)
        if isinstance(answer, Err):
            assert view.step_id in answer.error
            assert behaviour.value in answer.error
    assert {B.RIGHT, B.NOTHING, B.DIVERGE, B.OVERSIZE_NOTES, B.OVERSIZE_CONTEXT} <= set(offered)


def test_a_followup_is_possible_beside_a_contract() -> None:
    both = step(
        "one",
        outputContract={"contractRef": "wr.contracts.gate_verdict"},
        assessmentRefs=["readiness"],
        assessmentConsequences=[CONSEQUENCE],
    )
    turn = Turn("one", Behave(B.FOLLOWUP_LEVEL))
    run = play(workflow(both, assessments=[READINESS]), Scripted([turn], Auto()))
    assert run.blockers == ("ASSESSMENT_FOLLOWUP_REQUIRED",)
    assert run.status == "complete"


def test_a_level_asks_for_a_followup_only_in_the_assessment_that_is_meant() -> None:
    speed = {"id": "speed", "purpose": "How fast", "levels": ["high", "low"]}
    assessments = [READINESS, {"id": "other", "purpose": "Fast?", "dimensions": [speed]}]
    consequence = {**CONSEQUENCE, "when": {"anyEqualsLevel": "low", "forAssessment": "other"}}
    rated = step("one", assessmentRefs=["readiness", "other"], assessmentConsequences=[consequence])
    run = play(workflow(rated, assessments=assessments), Scripted([Turn("one", Behave(B.FOLLOWUP_LEVEL))], Auto()))
    assert run.blockers == ("ASSESSMENT_FOLLOWUP_REQUIRED",)
    assert ("other", "speed", "low") in run.transcript.attempts[0].levels


def test_stubborn_agents_meet_the_limit() -> None:
    run = play(WORKFLOWS["verdict"], Stubborn(B.WRONG_KIND))
    assert (run.status, run.ending.kind) == ("error", "stopped")
    assert run.responses[-1]["code"] == "PRECONDITION_FAILED"
    assert run.blockers == (MISSING,) * 10


def test_stubborn_agents_are_stubborn_only_where_they_are_meant_to_be() -> None:
    two = workflow(step("one"), step("two"))
    run = play(two, Stubborn(B.MISSING_NOTES, ["two"]))
    assert run.steps == ("one",)
    assert play(WORKFLOWS["verdict"], Stubborn(B.MISSING_NOTES)).status == "complete", "no occasion for it"
    final = play(WORKFLOWS["capable"], Stubborn(B.CLAIM_CAPABILITY), profile="locked")
    assert (final.status, len(final.transcript.attempts)) == ("blocked", 1)


@pytest.mark.parametrize("profile", ["reference", "locked"])
@pytest.mark.parametrize("name", WORKFLOWS)
def test_erratic_agents_get_there_in_the_end(name: str, profile: str) -> None:
    seen: set[str] = set()
    for seed in range(12):
        run = play(WORKFLOWS[name], Erratic(seed, patience=3), profile=profile)
        assert run.status == "complete", (seed, run.responses[-1])
        assert run.transcript == play(WORKFLOWS[name], Erratic(seed, patience=3), profile=profile).transcript
        seen.update(run.blockers)
    assert seen or name == "quiet", "twelve seeds without a single blocker"


def test_erratic_agents_stop_at_gates() -> None:
    gated = workflow(step("risky", requireConfirmation=True, notesOptional=True))
    run = play(gated, Erratic(0, patience=1), context={"is_autonomous": "true"})
    assert run.status in ("gated", "error")
    quiet = play(gated, Erratic(1, patience=1), preferences=Preferences("full_auto_never_stop"))
    assert quiet.status in ("complete", "complete_with_gaps")


@pytest.mark.parametrize("seed", range(4))
def test_an_erratic_agent_gives_up_where_the_right_answer_is_refused(seed: int) -> None:
    impossible = [
        {"type": "contains", "value": "long enough", "message": "m"},
        {"type": "length", "max": 3, "message": "m"},
    ]
    stuck = play(workflow(step("one", validationCriteria=impossible)), Erratic(seed), max_turns=50)
    assert (stuck.ending.kind, stuck.status) == ("stopped", "blocked")
    approved = workflow(step("one", requireConfirmation={"kind": "human_approval"}))
    alone = Preferences("full_auto_stop_on_user_deps", "balanced")
    waits = play(approved, Erratic(seed), profile="locked", preferences=alone, max_turns=50)
    assert (waits.ending.kind, waits.blockers[-1]) == ("stopped", "USER_ONLY_DEPENDENCY")


def test_an_erratic_agent_is_wrong_as_often_as_its_patience_says() -> None:
    for patience in (0, 1, 2):
        runs = [play(workflow(step("one")), Erratic(seed, patience=patience)) for seed in range(40)]
        assert {run.status for run in runs} == {"complete"}
        assert max(len(run.blockers) for run in runs) == patience
