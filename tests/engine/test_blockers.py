"""Reasons as blockers and as gaps, and the modes that choose between them."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from engine_ir import pack, workflow
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.engine.core.index import contract_packs
from pytest_workrail.engine.core.modes import Block, Proceed, decide, recommendation_warnings
from pytest_workrail.engine.core.profiles import LOCKED, REFERENCE, Profile
from pytest_workrail.engine.core.prompts import FixContext
from pytest_workrail.engine.model.blockers import BlockerReport, Gap, GapRecordedData, ReasonDetails, distinct_gaps
from pytest_workrail.engine.model.reasons import REASONS as REASON_TYPES
from pytest_workrail.engine.model.reasons import (
    CapabilityUnavailable,
    CapabilityUnknown,
    ContextBudgetExceeded,
    EvaluationFailed,
    FollowupRequired,
    InvalidRequiredOutput,
    InvariantViolation,
    LoopLimitReached,
    MissingContextKey,
    MissingNotes,
    MissingRequiredOutput,
    Reason,
    StorageCorruption,
    UserOnlyDependency,
    blocker_report,
    user_dependency,
)
from pytest_workrail.engine.model.step_keys import LoopPosition, collation_key
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES, PRESETS, Preferences
from workrail_lint.base import js
from workrail_lint.systems.workrail.model.build import program_model

REF = "wr.contracts.gate_verdict"
PACKS = contract_packs(
    program_model({"contracts": [pack(REF), pack("wr.contracts.review_verdict"), pack("wr.contracts.loop_control")]})
)
FIXES = FixContext(PACKS)
AT = LoopPosition("refine", 0)

# reason, code, pointer, message, details, category, detail, summary, kind of block, what a snapshot keeps
ROWS: list[
    tuple[Reason, str, dict[str, Any], str | None, dict[str, Any] | None, str, str, str, str, dict[str, Any]]
] = [
    (
        MissingRequiredOutput(REF, ("a", "b")),
        "MISSING_REQUIRED_OUTPUT",
        {"kind": "output_contract", "contractRef": REF},
        f"You submitted kind 'a', 'b', but this step requires contractRef={REF}.",
        None,
        "contract_violation",
        "missing_required_output",
        f"Missing required output for contractRef={REF}",
        "retryable_block",
        {"kind": "missing_required_output", "contractRef": REF},
    ),
    (
        MissingRequiredOutput(REF, ()),
        "MISSING_REQUIRED_OUTPUT",
        {"kind": "output_contract", "contractRef": REF},
        f"Your output.artifacts was empty. This step requires contractRef={REF}.",
        None,
        "contract_violation",
        "missing_required_output",
        f"Missing required output for contractRef={REF}",
        "retryable_block",
        {"kind": "missing_required_output", "contractRef": REF},
    ),
    (
        MissingRequiredOutput("wr.contracts.loop_control", loop=AT),
        "MISSING_REQUIRED_OUTPUT",
        {"kind": "output_contract", "contractRef": "wr.contracts.loop_control"},
        "Missing required output (contractRef=wr.contracts.loop_control).",
        {"loopId": "refine", "iteration": 0},
        "contract_violation",
        "missing_required_output",
        "Missing required output for contractRef=wr.contracts.loop_control",
        "retryable_block",
        {"kind": "missing_required_output", "contractRef": "wr.contracts.loop_control"},
    ),
    (
        InvalidRequiredOutput(REF),
        "INVALID_REQUIRED_OUTPUT",
        {"kind": "output_contract", "contractRef": REF},
        f"Invalid output for contractRef={REF}.",
        None,
        "contract_violation",
        "invalid_required_output",
        f"Invalid required output for contractRef={REF}",
        "retryable_block",
        {"kind": "invalid_required_output", "contractRef": REF},
    ),
    (
        MissingNotes("sweep.look"),
        "MISSING_REQUIRED_NOTES",
        {"kind": "workflow_step", "stepId": "sweep.look"},
        'Step "sweep.look" requires notes documenting your work (output.notesMarkdown).',
        None,
        "contract_violation",
        "missing_required_notes",
        "Missing required notes for stepId=sweep.look",
        "retryable_block",
        {"kind": "missing_notes", "stepId": "sweep.look"},
    ),
    (
        FollowupRequired("readiness", "confidence", "low", "Gather more evidence."),
        "ASSESSMENT_FOLLOWUP_REQUIRED",
        {"kind": "assessment_dimension", "assessmentId": "readiness", "dimensionId": "confidence"},
        'Follow-up required before this step can proceed: readiness.confidence matched "low".',
        None,
        "contract_violation",
        "assessment_followup_required",
        "Assessment follow-up required: readiness.confidence == low",
        "retryable_block",
        {
            "kind": "assessment_followup_required",
            "assessmentId": "readiness",
            "dimensionId": "confidence",
            "level": "low",
            "guidance": "Gather more evidence.",
        },
    ),
    (
        MissingContextKey("slices"),
        "MISSING_CONTEXT_KEY",
        {"kind": "context_key", "key": "slices"},
        "Missing required context key: slices",
        None,
        "unexpected",
        "invariant_violation",
        "Missing required context key: slices",
        "retryable_block",
        {"kind": "missing_context_key", "key": "slices"},
    ),
    (
        ContextBudgetExceeded(),
        "CONTEXT_BUDGET_EXCEEDED",
        {"kind": "context_budget"},
        None,
        None,
        "unexpected",
        "invariant_violation",
        "Context budget exceeded",
        "retryable_block",
        {"kind": "context_budget_exceeded"},
    ),
    (
        CapabilityUnknown("web_browsing"),
        "REQUIRED_CAPABILITY_UNKNOWN",
        {"kind": "capability", "capability": "web_browsing"},
        "Required capability status is unknown: web_browsing.",
        None,
        "capability_missing",
        "required_capability_unknown",
        "Required capability status unknown: web_browsing",
        "terminal_block",
        {"kind": "required_capability_unknown", "capability": "web_browsing"},
    ),
    (
        CapabilityUnavailable("delegation"),
        "REQUIRED_CAPABILITY_UNAVAILABLE",
        {"kind": "capability", "capability": "delegation"},
        "Required capability is unavailable: delegation.",
        None,
        "capability_missing",
        "required_capability_unavailable",
        "Required capability unavailable: delegation",
        "terminal_block",
        {"kind": "required_capability_unavailable", "capability": "delegation"},
    ),
    (
        UserOnlyDependency("needs_user_approval", "risky"),
        "USER_ONLY_DEPENDENCY",
        {"kind": "workflow_step", "stepId": "risky"},
        "Step requires user input: needs_user_approval.",
        {"detail": "needs_user_approval"},
        "user_only_dependency",
        "needs_user_approval",
        "User-only dependency: needs_user_approval (stepId=risky)",
        "terminal_block",
        {"kind": "user_only_dependency", "detail": "needs_user_approval", "stepId": "risky"},
    ),
    (
        UserOnlyDependency("needs_user_choice", "risky", "scope_boundary"),
        "USER_ONLY_DEPENDENCY",
        {"kind": "workflow_step", "stepId": "risky"},
        "Step requires user input: needs_user_choice.",
        {"detail": "needs_user_choice", "choice": "scope_boundary"},
        "user_only_dependency",
        "needs_user_choice",
        "User-only dependency: needs_user_choice (stepId=risky)",
        "terminal_block",
        {"kind": "user_only_dependency", "detail": "needs_user_choice", "stepId": "risky"},
    ),
    (
        LoopLimitReached("refine", 1, 1),
        "INVARIANT_VIOLATION",
        {"kind": "workflow_step", "stepId": "refine"},
        "Loop 'refine' would start iteration 1 but is limited to 1.",
        {"loopId": "refine", "iteration": 1, "maxIterations": 1},
        "unexpected",
        "invariant_violation",
        "Loop limit reached: refine (iteration=1, maxIterations=1)",
        "retryable_block",
        {"kind": "loop_limit", "loopId": "refine", "iteration": 1, "maxIterations": 1},
    ),
    (
        InvariantViolation(),
        "INVARIANT_VIOLATION",
        {"kind": "context_budget"},
        None,
        None,
        "unexpected",
        "invariant_violation",
        "Invariant violation",
        "terminal_block",
        {"kind": "invariant_violation"},
    ),
    (
        StorageCorruption(),
        "STORAGE_CORRUPTION_DETECTED",
        {"kind": "context_budget"},
        None,
        None,
        "unexpected",
        "storage_corruption_detected",
        "Storage corruption detected",
        "terminal_block",
        {"kind": "storage_corruption_detected"},
    ),
    (
        EvaluationFailed(),
        "INVARIANT_VIOLATION",
        {"kind": "context_budget"},
        None,
        None,
        "unexpected",
        "evaluation_error",
        "Validation evaluation failed",
        "terminal_block",
        {"kind": "evaluation_error"},
    ),
]
REASONS = [row[0] for row in ROWS]


# @enforces reason-code-unified
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].kind)
def test_every_reason_in_all_its_forms(row: Any) -> None:
    reason, code, pointer, message, details, category, detail, summary, kind, kept = row
    (blocker,) = blocker_report([reason], FIXES)
    shown = blocker.to_wire()
    assert (shown["code"], shown["pointer"], shown.get("details")) == (code, pointer, details)
    assert message is None or shown["message"] == message
    assert shown["message"]
    assert shown["suggestedFix"]
    gap = reason.as_gap()
    known = None if details is None else ReasonDetails.from_wire(details)
    assert gap == Gap("critical", category, detail, summary, known)
    assert reason.is_retryable == (kind == "retryable_block")
    assert reason.stored().to_wire() == kept


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.kind)
def test_the_log_accepts_what_is_said(reason: Reason) -> None:
    (blocker,) = blocker_report([reason], FIXES)
    report = {"blockers": [blocker.to_wire()]}
    assert BlockerReport.from_wire(report).to_wire() == report
    gap = reason.as_gap().recorded("gap_a_0").to_wire()
    assert GapRecordedData.from_wire(gap).to_wire() == gap


def test_every_kind_of_reason_is_in_the_table() -> None:
    assert {type(reason) for reason in REASONS} == set(REASON_TYPES)


def test_the_profile_says_which_reasons_can_arise() -> None:
    answers = get_type_hints(Profile)
    for reason in REASON_TYPES:
        for question, answer in reason.choices:
            assert answer in get_args(answers[question]), reason.kind
    of_design = {reason for reason in REASON_TYPES if not REFERENCE.allows(reason)}
    assert of_design == {
        *(MissingContextKey, LoopLimitReached, CapabilityUnknown, CapabilityUnavailable),
        UserOnlyDependency,
    }
    assert all(LOCKED.allows(reason) for reason in REASON_TYPES)
    asks_once = msgspec.structs.replace(REFERENCE, loop_variable="ask")
    assert asks_once.allows(MissingContextKey)
    assert not asks_once.allows(LoopLimitReached)


# @enforces blocker-budget
def test_the_report_is_sorted_and_keeps_ten() -> None:
    keys = blocker_report([MissingContextKey(f"k{n}") for n in range(12)], FIXES)
    assert [blocker.pointer.key for blocker in keys] == [
        "k0",
        "k1",
        "k10",
        "k11",
        "k2",
        "k3",
        "k4",
        "k5",
        "k6",
        "k7",
    ]
    two = blocker_report([MissingRequiredOutput("wr.validationCriteria"), MissingNotes("summarize")], FIXES)
    assert [blocker.code for blocker in two] == ["MISSING_REQUIRED_NOTES", "MISSING_REQUIRED_OUTPUT"]


# Reasons that share code and pointer keep the order they were found in; these do not share.
_APART = list({(row[1], str(row[2])): row[0] for row in ROWS}.values())


@settings(deadline=None)
@given(st.permutations(_APART), st.integers(1, len(_APART)))
def test_the_report_does_not_depend_on_the_order_of_reasons(reasons: list[Reason], count: int) -> None:
    assert blocker_report(reasons, FIXES) == blocker_report(_APART, FIXES)
    shown = blocker_report(reasons[:count], FIXES)
    assert len(shown) == min(count, 10)
    codes = [collation_key(blocker.code) for blocker in shown]
    assert codes == sorted(codes)


class TestFixes:
    def _fix(self, reason: Reason, fixes: FixContext = FIXES) -> str:
        return blocker_report([reason], fixes)[0].suggested_fix

    def test_outputs_say_where_and_what(self) -> None:
        for reason in (MissingRequiredOutput(REF), InvalidRequiredOutput(REF)):
            fix = self._fix(reason)
            for fact in ("continue_workflow", "output.artifacts", "Artifact contract: " + REF, '"wr.gate_verdict"'):
                assert fact in fix
        assert "complete_step" in self._fix(MissingRequiredOutput(REF), FixContext(PACKS, is_autonomous=True))

    def test_criteria_are_met_by_notes(self) -> None:
        for reason in (MissingRequiredOutput("wr.validationCriteria"), InvalidRequiredOutput("wr.validationCriteria")):
            fix = self._fix(reason)
            for fact in ("continue_workflow", "retry token", "output.notesMarkdown", "criteria"):
                assert fact in fix
            assert "output.artifacts" not in fix

    def test_decisions_name_their_loop(self) -> None:
        reason = MissingRequiredOutput("wr.contracts.loop_control")
        assert '"refine"' in self._fix(reason, FixContext(PACKS, fixed={"loopId": "refine"}))
        assert '"refine"' in self._fix(MissingRequiredOutput("wr.contracts.loop_control", loop=AT))
        assert '"refine"' not in self._fix(reason)

    def test_notes_point_to_the_retry_token(self) -> None:
        fix = self._fix(MissingNotes("s"))
        assert "retry token" in fix
        assert "same" not in fix

    def test_followups_are_the_authors_words(self) -> None:
        assert self._fix(FollowupRequired("a", "d", "low", "Gather more evidence.")) == "Gather more evidence."

    def test_criteria_speak_of_notes(self) -> None:
        assert "notes" in self._fix(InvalidRequiredOutput("wr.validationCriteria"))


@settings(deadline=None)
@given(st.text(min_size=1, max_size=2000), st.text(min_size=1, max_size=80))
def test_no_text_of_an_author_can_break_a_report(guidance: str, name: str) -> None:
    reasons = [
        FollowupRequired(name, name, name, guidance),
        MissingContextKey(name),
        MissingRequiredOutput(REF, (name,) * 9),
    ]
    report = blocker_report(reasons, FIXES)
    for blocker in report:
        assert js.u8_length(blocker.message) <= 512
        assert js.u8_length(blocker.suggested_fix) <= 1024
    BlockerReport.from_wire({"blockers": [blocker.to_wire() for blocker in report]})


def test_long_guidance_is_cut_not_refused() -> None:
    (blocker,) = blocker_report([MissingRequiredOutput("wr.contracts.review_verdict")], FIXES)
    assert js.u8_length(blocker.suggested_fix) <= 1024


def test_gaps_are_recorded_once_per_advance() -> None:
    from_contract = MissingRequiredOutput("wr.contracts.loop_control").as_gap()
    from_loop = MissingRequiredOutput("wr.contracts.loop_control", loop=AT).as_gap()
    notes = MissingNotes("s").as_gap()
    assert distinct_gaps([from_contract, notes, from_loop]) == (from_contract, notes)


def test_a_gap_as_it_is_recorded() -> None:
    assert MissingNotes("write-up").as_gap().recorded("gap_A2_0").to_wire() == {
        "gapId": "gap_A2_0",
        "severity": "critical",
        "reason": {"category": "contract_violation", "detail": "missing_required_notes"},
        "summary": "Missing required notes for stepId=write-up",
        "resolution": {"kind": "unresolved"},
    }


# @enforces illegal-states-unrepresentable
@pytest.mark.parametrize(("detail", "choice"), [("needs_user_choice", None), ("needs_user_approval", "scope_boundary")])
def test_a_choice_belongs_to_its_detail(detail: Any, choice: Any) -> None:
    with pytest.raises(ValueError, match="choice"):
        user_dependency(detail, "s", choice)


class TestModes:
    UNKNOWN = CapabilityUnknown("delegation")
    UNAVAILABLE = CapabilityUnavailable("web_browsing")
    NOTES = MissingNotes("s")

    def test_presets(self) -> None:
        assert [(preset.autonomy, preset.risk_policy) for preset in PRESETS] == [
            ("guided", "conservative"),
            ("full_auto_stop_on_user_deps", "balanced"),
            ("full_auto_never_stop", "conservative"),
        ]
        assert PRESETS[0] == DEFAULT_PREFERENCES

    @pytest.mark.parametrize("autonomy", ["guided", "full_auto_stop_on_user_deps"])
    def test_blocking_modes_block_on_any_reason(self, autonomy: Any) -> None:
        assert decide([], Preferences(autonomy), REFERENCE) == Proceed((), ())
        for reason in REASONS:
            assert decide([reason], Preferences(autonomy), REFERENCE) == Block((reason,))

    def test_a_run_that_never_stops_passes_over_everything(self) -> None:
        never = Preferences("full_auto_never_stop")
        assert decide(REASONS, never, REFERENCE) == Proceed(tuple(REASONS), ())

    @pytest.mark.parametrize(
        ("policy", "tolerated"),
        [("conservative", ()), ("balanced", (UNKNOWN,)), ("aggressive", (UNKNOWN, UNAVAILABLE))],
    )
    def test_the_risk_policy_tolerates_capabilities_and_discloses_them(self, policy: Any, tolerated: Any) -> None:
        both = (self.UNKNOWN, self.UNAVAILABLE)
        standing = tuple(reason for reason in both if reason not in tolerated)
        for profile in (REFERENCE, LOCKED):
            decision = decide(both, Preferences("guided", policy), profile)
            assert decision == (Block(standing) if standing else Proceed((), tolerated))
            never = decide(both, Preferences("full_auto_never_stop", policy), profile)
            assert never == Proceed(standing, tolerated)
        assert decide([self.NOTES], Preferences("guided", policy), REFERENCE) == Block((self.NOTES,))
        assert self.UNKNOWN.as_gap("warning").severity == "warning"

    def test_the_primary_reason_is_the_first_found(self) -> None:
        decision = decide([self.NOTES, self.UNKNOWN], DEFAULT_PREFERENCES, REFERENCE)
        assert isinstance(decision, Block)
        assert decision.reasons[0].is_retryable

    def test_recommendations(self) -> None:
        ir = workflow(recommendedPreferences={"recommendedAutonomy": "guided", "recommendedRiskPolicy": "balanced"})
        bold = recommendation_warnings(program_model(ir), Preferences("full_auto_never_stop", "aggressive"))
        assert bold == (
            Gap(
                "warning",
                "unexpected",
                "evaluation_error",
                "Effective autonomy 'full_auto_never_stop' exceeds workflow recommendation 'guided'.",
            ),
            Gap(
                "warning",
                "unexpected",
                "evaluation_error",
                "Effective riskPolicy 'aggressive' exceeds workflow recommendation 'balanced'.",
            ),
        )
        assert recommendation_warnings(program_model(ir), DEFAULT_PREFERENCES) == ()
        assert (
            recommendation_warnings(program_model(workflow()), Preferences("full_auto_never_stop", "aggressive")) == ()
        )
