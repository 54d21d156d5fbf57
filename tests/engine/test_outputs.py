"""What a step demands of a submission, which demand decides, and what is kept."""

from __future__ import annotations

from typing import Any

import pytest
from engine_ir import GO, step, typed, while_artifact, workflow
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.engine.core.criteria import Validation
from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.core.outputs import (
    Invalid,
    Judgement,
    Missing,
    NotRequired,
    OutputValidator,
    Satisfied,
    Submission,
    stored_artifacts,
    stored_notes,
    stored_validation,
)
from pytest_workrail.engine.core.profiles import LOCKED, REFERENCE, Profile
from pytest_workrail.engine.model.ids import AttemptId
from pytest_workrail.engine.model.reasons import (
    CapabilityUnknown,
    EvaluationFailed,
    FollowupRequired,
    InvalidRequiredOutput,
    MissingNotes,
    MissingRequiredOutput,
    UserOnlyDependency,
)
from pytest_workrail.engine.model.step_keys import TRUNCATION_MARKER, LoopPosition, collated
from workrail_lint.base import js

VERDICT = "wr.contracts.gate_verdict"
GOOD = {"kind": "wr.gate_verdict", "version": 1, "verdict": "approved", "confidence": "high", "rationale": "r" * 20}
BAD = {"kind": "wr.gate_verdict", "version": 1, "verdict": "maybe", "confidence": "high", "rationale": "too short"}
ASSESSMENTS = [
    {"id": "ready", "purpose": "p", "dimensions": [{"id": "sure", "purpose": "p", "levels": ["low", "high"]}]}
]
ASSESSED = {
    "refs": ["ready"],
    "consequences": [{"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "More."}}],
}
LOW = {"kind": "wr.assessment", "dimensions": {"sure": "low"}}
HIGH = {"kind": "wr.assessment", "dimensions": {"sure": "high"}}
CRITERIA = [{"type": "contains", "value": "ok", "message": "Say ok"}]
FOLLOWUP = FollowupRequired("ready", "sure", "low", "More.")
FIT = "Provide a valid artifact matching the contract schema"


def _judge(
    made: dict[str, Any],
    *artifacts: Any,
    notes: str | None = None,
    loop: str | None = None,
    profile: Profile = REFERENCE,
) -> Judgement:
    ir = workflow(while_artifact(loop, made) if loop else made, assessments=ASSESSMENTS)
    path = (LoopPosition(loop, 0),) if loop else ()
    return OutputValidator(IrIndex(ir), profile).check(typed(made), path, Submission(notes, artifacts), {})


class TestContract:
    MADE = step("verdict", contract=VERDICT)

    def test_satisfied(self) -> None:
        judged = _judge(self.MADE, {"kind": "wr.extra"}, GOOD, BAD)
        assert (judged.requirement, judged.validation, judged.reasons()) == (Satisfied(), None, ())

    def test_missing(self) -> None:
        assert _judge(self.MADE).requirement == Missing(VERDICT)
        assert _judge(self.MADE, "x", {"kind": 5}).requirement == Missing(VERDICT)
        other = _judge(self.MADE, {"kind": "a"}, 7, {"kind": "b"})
        assert other.requirement == Missing(VERDICT, ("a", "b"))
        assert other.reasons() == (MissingRequiredOutput(VERDICT, ("a", "b")),)

    def test_the_first_of_its_kind_must_pass(self) -> None:
        judged = _judge(self.MADE, BAD, GOOD)
        assert isinstance(judged.requirement, Invalid)
        assert judged.validation == Validation(
            False,
            (
                "verdict: Invalid enum value. Expected 'approved' | 'rejected' | 'uncertain', received 'maybe'",
                "rationale: String must contain at least 20 character(s)",
            ),
            (FIT,),
        )
        assert judged.reasons() == (InvalidRequiredOutput(VERDICT),)

    def test_an_optional_contract_still_rejects_what_is_malformed(self) -> None:
        made = step("verdict", output={"contract": {"ref": VERDICT, "required": False}})
        assert _judge(made).requirement == Satisfied()
        assert isinstance(_judge(made, BAD).requirement, Invalid)

    def test_the_assessment_pack_can_not_be_met_as_a_contract(self) -> None:
        made = step("odd", output={"contract": {"ref": "wr.contracts.assessment", "required": True}})
        assert _judge(made, HIGH).requirement == Missing("wr.contracts.assessment", ("wr.assessment",))

    def test_a_loop_decision_names_its_loop_where_the_profile_asks(self) -> None:
        made = step("decide", contract="wr.contracts.loop_control")
        named = {**GO, "loopId": "refine"}
        assert _judge(made, GO, loop="refine").requirement == Satisfied()
        assert _judge(made, named, loop="refine", profile=LOCKED).requirement == Satisfied()
        for artifact, issue in (
            (GO, "loopId: Required"),
            ({**GO, "loopId": "other"}, 'loopId: Invalid literal value, expected "refine"'),
        ):
            judged = _judge(made, artifact, named, loop="refine", profile=LOCKED)
            assert judged.validation == Validation(False, (issue,), (FIT,))
        assert _judge(made, GO, profile=LOCKED).requirement == Satisfied()


class TestNotes:
    @pytest.mark.parametrize("notes", [None, "", " \n", "\ufeff"])
    def test_blank_notes_are_missing(self, notes: str | None) -> None:
        assert _judge(step("s"), notes=notes).reasons() == (MissingNotes("s"),)
        assert _judge(step("s", notes="optional"), notes=notes).reasons() == ()

    def test_a_contract_makes_notes_optional(self) -> None:
        assert not typed(step("s", contract=VERDICT)).requires_notes
        assert not typed(step("s", output={"contract": {"ref": VERDICT, "required": False}})).requires_notes
        assert typed(step("s", output={"criteria": CRITERIA})).requires_notes

    # @enforces notes-markdown-budget
    def test_stored(self) -> None:
        assert (stored_notes(None), stored_notes(""), stored_notes(" ")) == (None, None, " ")
        assert stored_notes("x" * 5000) == "x" * 4083 + TRUNCATION_MARKER


class TestAssessments:
    MADE = step("assess", output={"assessments": ASSESSED})

    def test_valid(self) -> None:
        judged = _judge(self.MADE, HIGH, notes="n")
        assert (judged.requirement, judged.validation, judged.reasons()) == (Satisfied(), None, ())
        assert judged.assessments[0].dimensions[0].level == "high"

    def test_invalid(self) -> None:
        judged = _judge(self.MADE, notes="n")
        assert judged.reasons() == (InvalidRequiredOutput("wr.contracts.assessment"),)
        assert judged.assessments == ()

    def test_followup(self) -> None:
        judged = _judge(self.MADE, LOW)
        assert judged.reasons() == (MissingNotes("assess"), FOLLOWUP)


class TestCriteria:
    MADE = step("prose", output={"criteria": CRITERIA})

    def test_without_notes_nothing_is_evaluated(self) -> None:
        for notes in (None, ""):
            judged = _judge(self.MADE, notes=notes)
            assert judged.reasons() == (MissingRequiredOutput("wr.validationCriteria"), MissingNotes("prose"))
            assert judged.validation is None

    def test_evaluated(self) -> None:
        assert _judge(self.MADE, notes="ok").requirement == Satisfied()
        assert _judge(self.MADE, notes="no").reasons() == (InvalidRequiredOutput("wr.validationCriteria"),)

    def test_blank_notes_are_evaluated_and_missing(self) -> None:
        judged = _judge(self.MADE, notes=" ")
        assert judged.reasons() == (InvalidRequiredOutput("wr.validationCriteria"), MissingNotes("prose"))

    def test_an_evaluation_error_is_the_only_reason(self) -> None:
        broken = [{"type": "regex", "pattern": "(", "message": "m"}]
        made = step(
            "prose",
            output={"criteria": broken, "assessments": ASSESSED, "contract": {"ref": VERDICT, "required": True}},
        )
        judged = _judge(made, LOW, notes="n")
        assert judged.reasons([CapabilityUnknown("delegation")]) == (EvaluationFailed(),)
        assert (judged.requirement, judged.failed, judged.followups) == (NotRequired(), True, ())
        assert judged.validation is not None
        assert (judged.validation.valid, len(judged.validation.issues)) == (False, 1)


class TestPriority:
    ALL = step(
        "all",
        output={"contract": {"ref": VERDICT, "required": True}, "assessments": ASSESSED, "criteria": CRITERIA},
    )

    def test_a_contract_decides_alone_but_followups_stay(self) -> None:
        judged = _judge(self.ALL, GOOD, LOW, notes="no")
        assert judged.requirement == Satisfied()
        assert judged.reasons() == (FOLLOWUP,)
        assert judged.validation is not None
        assert judged.validation.issues == ("Say ok",)

    def test_a_failed_assessment_is_reported_before_failed_prose(self) -> None:
        judged = _judge(self.ALL, GOOD, notes="no")
        assert judged.reasons() == ()
        assert judged.validation is not None
        assert judged.validation.issues[0].startswith("This step requires an assessment")

    def test_assessments_come_before_criteria(self) -> None:
        made = step("two", output={"assessments": ASSESSED, "criteria": CRITERIA})
        assert _judge(made, HIGH, notes="no").reasons() == ()

    def test_nothing_required(self) -> None:
        assert _judge(step("s"), notes="n").requirement == NotRequired()


def test_the_order_of_reasons() -> None:
    judged = _judge(step("assess", output={"assessments": ASSESSED}), LOW)
    capability = CapabilityUnknown("delegation")
    approval = UserOnlyDependency("needs_user_approval", "assess")
    assert judged.reasons([capability], [approval]) == (capability, MissingNotes("assess"), FOLLOWUP, approval)


class TestStoredValidation:
    def test_sorted_without_repetition_or_empty_items(self) -> None:
        stored = stored_validation(Validation(False, ("b", "a", "", "b"), ("z", "_", "z")))
        assert (stored.issues, stored.suggestions) == (("a", "b"), ("_", "z"))

    def test_items_are_cut(self) -> None:
        stored = stored_validation(Validation(False, ("x" * 600,), ("y" * 1100,)))
        assert stored.issues == ("x" * 499 + TRUNCATION_MARKER,)
        assert stored.suggestions == ("y" * 1011 + TRUNCATION_MARKER,)

    def test_lists_are_cut(self) -> None:
        issues = tuple(f"{n:02}" + "x" * 498 for n in range(12))
        stored = stored_validation(Validation(False, issues)).issues
        assert stored == (*issues[:8], "[TRUNCATED]")

    @settings(deadline=None)
    @given(st.lists(st.text(max_size=700), max_size=20))
    def test_budgets_hold(self, texts: list[str]) -> None:
        stored = stored_validation(Validation(False, tuple(texts), tuple(texts)))
        for items, limit in ((stored.issues, 512), (stored.suggestions, 1024)):
            assert sum(map(js.u8_length, items)) <= 4096
            assert all(0 < js.u8_length(item) <= limit for item in items)
        again = stored_validation(stored)
        assert again.valid is stored.valid
        assert set(again.issues) <= set(stored.issues)


class TestStoredArtifacts:
    def test_golden_digest(self) -> None:
        (stored,) = stored_artifacts([{"x": 1}], AttemptId("attempt_a")).value
        assert stored.output_id == "out_artifact_attempt_a_0"
        assert stored.payload.to_wire() == {
            "payloadKind": "artifact_ref",
            "sha256": "sha256:5041bf1f713df204784353e82f6a4a535931cb64f1f4b4a5aeaffcb720918b22",
            "contentType": "application/json",
            "byteLength": 7,
            "content": {"x": 1},
        }

    def test_in_the_order_of_their_digests(self) -> None:
        stored = stored_artifacts([{"n": n} for n in range(9)], AttemptId("a")).value
        digests = [each.payload.to_wire()["sha256"] for each in stored]
        assert digests == collated(str(digest) for digest in digests)
        assert sorted(each.output_id for each in stored) == [f"out_artifact_a_{n}" for n in range(9)]

    def test_what_has_no_canonical_form_is_an_error(self) -> None:
        assert not stored_artifacts([1, float("inf")], AttemptId("a")).is_ok

    def test_one_that_contains_itself_is_refused_and_one_that_repeats_itself_is_not(self) -> None:
        circular: dict[str, Any] = {"a": []}
        circular["a"].append(circular)
        assert stored_artifacts([1, circular], AttemptId("a")).error == "artifact 1 can't be stored: it contains itself"
        shared = [1]
        (stored,) = stored_artifacts([{"a": shared, "b": [shared, shared]}], AttemptId("a")).value
        assert stored.payload.to_wire()["byteLength"] == len('{"a":[1],"b":[[1],[1]]}')
