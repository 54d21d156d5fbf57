"""Whole conversations under profile reference: assessments, criteria, gates, conditions, checkpoints, refusals."""

from __future__ import annotations

from typing import Any

import pytest
from protocol_bench import GUIDED, Bench, next_call, quiet, step, workflow
from transcript_shapes import NOTES_BRIEF, NOTES_FULL, PERFORM, done, going_on, ordered, pending, traces

from pytest_workrail.engine.model.events import AssessmentRecorded

LINEAR = workflow(
    "t1-linear", step("gather", "Gather", "Collect facts."), step("report", "Report", "Report on {{topic}}.")
)
ASSESS = workflow(
    "t9-assess",
    step(
        "assess",
        "Assess",
        "Rate it.",
        assessmentRefs=["readiness"],
        assessmentConsequences=[
            {
                "when": {"anyEqualsLevel": "low"},
                "effect": {"kind": "require_followup", "guidance": "Gather more evidence."},
            }
        ],
    ),
    step("go-live", "Go", "Go."),
    assessments=[
        {
            "id": "readiness",
            "purpose": "Ready?",
            "dimensions": [{"id": "confidence", "purpose": "How sure", "levels": ["low", "high"]}],
        }
    ],
)


def test_assessment_followup() -> None:
    bench = Bench(ASSESS)
    bench.start()
    low = {"kind": "wr.assessment", "dimensions": {"confidence": {"level": "LOW", "rationale": "thin"}}}
    assert ordered(bench.go("CT1", output={"notesMarkdown": "n", "artifacts": [low]})) == ordered(
        {
            "kind": "blocked",
            "continueToken": "«CT2»",
            "checkpointToken": "«CK2»",
            "isComplete": False,
            "pending": pending("assess", "Assess", f"Rate it.⟪ASSESSMENT⟫{NOTES_FULL}"),
            "preferences": GUIDED,
            "nextIntent": PERFORM,
            "nextCall": next_call("«CT3»"),
            "blockers": {
                "blockers": [
                    {
                        "code": "ASSESSMENT_FOLLOWUP_REQUIRED",
                        "pointer": {
                            "kind": "assessment_dimension",
                            "assessmentId": "readiness",
                            "dimensionId": "confidence",
                        },
                        "message": (
                            'Follow-up required before this step can proceed: readiness.confidence matched "low".'
                        ),
                        "suggestedFix": "⟪FIX⟫",
                    }
                ]
            },
            "retryable": True,
            "retryContinueToken": "«CT3»",
            "assessmentFollowup": {
                "title": "Assessment follow-up matched readiness.confidence == low",
                "guidance": "Gather more evidence.",
            },
        }
    )
    high = {"kind": "wr.assessment", "dimensions": {"confidence": "high"}}
    step_context = {
        "assessments": [
            {
                "assessmentId": "readiness",
                "dimensions": [{"dimensionId": "confidence", "level": "high"}],
                "normalizationNotes": [],
            }
        ]
    }
    assert ordered(bench.go("CT3", output={"notesMarkdown": "n2", "artifacts": [high]})) == ordered(
        going_on(4, 3, pending("go-live", "Go", f"Go.{NOTES_BRIEF}"), stepContext=step_context)
    )
    assert bench.log(5) == (
        "5:advance_recorded 6:assessment_recorded 7:assessment_consequence_applied 8:node_created(blocked_attempt) "
        "9:edge_created(intentional_fork) 10:node_output_appended 11:advance_recorded 12:validation_performed "
        "13:decision_trace_appended 14:assessment_recorded 15:node_created(step) 16:edge_created(intentional_fork) "
        "17:node_output_appended 18:node_output_appended"
    )
    recorded = bench.events[6]
    assert isinstance(recorded, AssessmentRecorded)
    assert [dimension.to_wire() for dimension in recorded.data.dimensions] == [
        {"dimensionId": "confidence", "level": "low", "rationale": "thin", "normalization": "normalized"}
    ]
    assert recorded.data.normalization_notes == ('Normalized level "LOW" to canonical value "low".',)


def test_checkpoint_and_confirmation() -> None:
    """@enforces edge-cause-closed-set
    @enforces edge-kind-closed-set
    """
    bench = Bench(
        workflow(
            "t10-checkpoint",
            step("alpha", "Alpha", "A.", notesOptional=True),
            step("beta", "Beta", "B.", notesOptional=True, requireConfirmation=True),
        )
    )
    bench.start()
    marked = {"checkpointNodeId": "«NODE1»", "resumeToken": "«ST1»", "nextCall": next_call("«CT1»")}
    assert ordered(bench.checkpoint("CK1")) == ordered(marked)
    assert ordered(bench.checkpoint("CK1")) == ordered(marked)
    waiting = going_on(2, 2, pending("beta", "Beta", "B."), "await_user_confirmation")
    assert ordered(bench.advance("CT1")) == ordered(waiting)
    assert bench.log(5) == (
        "5:node_created(checkpoint) 6:edge_created(checkpoint_created) 7:advance_recorded 8:decision_trace_appended "
        "9:node_created(step) 10:edge_created(non_tip_advance)"
    )


RULES = [
    {"type": "contains", "value": "## Risks", "message": "Needs a Risks section"},
    {"type": "length", "min": 20, "message": "Too short"},
]


def summarize(criteria: Any) -> dict[str, Any]:
    return workflow(
        "t11-criteria", step("summarize", "Summarize", "Sum up.", validationCriteria=criteria), quiet("rest")
    )


def test_prose_criteria_as_a_composition() -> None:
    bench = Bench(summarize({"and": RULES}))
    prompt = '**OUTPUT REQUIREMENTS:**\n- Must contain: "## Risks"\n- Length: ≥20 chars'
    assert bench.start()["pending"]["prompt"] == f"Sum up.\n\n{prompt}{NOTES_FULL}"
    blocked = bench.go("CT1", notes="short")
    (blocker,) = blocked["blockers"]["blockers"]
    assert blocker["code"] == "INVALID_REQUIRED_OUTPUT"
    assert blocker["pointer"] == {"kind": "output_contract", "contractRef": "wr.validationCriteria"}
    assert blocked["validation"] == {
        "issues": ["Validation composition failed"],
        "suggestions": ["Review validation criteria and adjust output accordingly."],
    }
    assert bench.log(5) == (
        "5:advance_recorded 6:validation_performed 7:node_created(blocked_attempt) 8:edge_created(intentional_fork)"
    )
    assert bench.go("CT3", notes="## Risks\nNone that matter.")["kind"] == "ok"
    assert bench.log(9) == (
        "9:advance_recorded 10:validation_performed 11:decision_trace_appended 12:node_created(step) "
        "13:edge_created(intentional_fork) 14:node_output_appended"
    )


def test_prose_criteria_as_a_list() -> None:
    bench = Bench(summarize(RULES))
    assert bench.start()["pending"]["prompt"] == f"Sum up.{NOTES_FULL}"
    assert bench.go("CT1", notes="short")["validation"]["issues"] == ["Needs a Risks section", "Too short"]
    before = len(bench.events)
    blocked = bench.advance("CT3")
    assert [(blocker["code"], blocker["message"]) for blocker in blocked["blockers"]["blockers"]] == [
        ("MISSING_REQUIRED_NOTES", 'Step "summarize" requires notes documenting your work (output.notesMarkdown).'),
        ("MISSING_REQUIRED_OUTPUT", "Missing required output (contractRef=wr.validationCriteria)."),
    ]
    assert "validation" not in blocked
    assert "validation_performed" not in bench.log(before)


def test_gate_in_an_autonomous_run() -> None:
    bench = Bench(
        workflow(
            "t12-gate", step("risky", "Risky", "Do it.", requireConfirmation={"kind": "human_approval"}), quiet("rest")
        )
    )
    started = bench.start(initialContext={"is_autonomous": "true"})
    assert started["nextIntent"] == "await_user_confirmation"
    gated = bench.advance("CT1", notes="Did it.", context={"kept": True})
    assert ordered(gated) == ordered(
        {"kind": "gate_checkpoint", "gateToken": "«CT2»", "stepId": "risky", "gateKind": "human_approval"}
    )
    assert bench.log(5) == "5:advance_recorded 6:node_created(gate_checkpoint) 7:edge_created(intentional_fork)"
    assert bench.advance("CT2")["code"] == "INTERNAL_ERROR"
    assert bench.look("CT2")["pending"]["stepId"] == "risky"


def test_a_retry_does_not_stop_at_the_gate() -> None:
    """Only a fresh advance does: whoever retries was let through to the block behind the gate."""
    confirmed = {"requireConfirmation": {"kind": "human_approval"}}
    bench = Bench(workflow("t12-retry", step("risky", "Risky", "Do it.", **confirmed), quiet("rest")))
    bench.start(initialContext={"is_autonomous": "true"})
    blocked = bench.advance("CT1")
    assert blocked["kind"] == "blocked"
    retried = bench.advance(blocked["retryContinueToken"].strip("«»"), notes="Did it.")
    assert (retried["kind"], retried["pending"]["stepId"]) == ("ok", "rest")


def test_conditions_and_late_selection() -> None:
    bench = Bench(
        workflow(
            "t13-late",
            quiet("triage"),
            step("deep-dive", "Deep", "Dive.", notesOptional=True, runCondition={"var": "severity", "gte": 3}),
            step(
                "fast-path",
                "Fast",
                "Be fast.",
                notesOptional=True,
                runCondition={"or": [{"var": "severity", "lt": 3}, {"var": "mode", "equals": "fast"}]},
            ),
            step("close-it", "Close", "Close.", notesOptional=True),
        )
    )
    bench.start()
    assert bench.advance("CT1", context={"severity": 1})["pending"]["stepId"] == "fast-path"
    assert bench.advance("CT2", context={"severity": 5})["pending"]["stepId"] == "deep-dive"
    assert bench.advance("CT3")["pending"]["stepId"] == "close-it"
    assert bench.advance("CT4") == done()
    assert [[line.partition("  ")[2] for line in trace] for trace in traces(bench)] == [
        ["SKIP: severity (gte)", "PASS: or-condition met", "Next step: Fast (fast-path)"],
        ["PASS: severity=5 (gte: 3)", "Next step: Deep (deep-dive)"],
        ["Next step: Selected (no condition): Close (close-it)"],
    ]


@pytest.mark.parametrize(
    ("token", "code", "message"),
    [
        ("hello", "TOKEN_INVALID_FORMAT", "Expected a continue token (ct_...)."),
        ("CK1", "TOKEN_INVALID_FORMAT", "Expected a continue token (ct_...)."),
        ("forged", "TOKEN_BAD_SIGNATURE", "Continue token HMAC verification failed."),
    ],
)
def test_tokens_that_do_not_work(token: str, code: str, message: str) -> None:
    """@enforces token-validation-errors-closed-set"""
    bench = Bench(LINEAR)
    bench.start()
    if token == "forged":
        real = bench.actual("CT1")
        token = real[:-1] + ("A" if real[-1] != "A" else "B")
    shown = bench.go(token)
    assert (shown["code"], shown["message"]) == (code, message)


def test_a_wrong_metrics_outcome() -> None:
    bench = Bench(LINEAR)
    bench.start()
    shown = bench.go("CT1", context={"metrics_outcome": "great"})
    assert shown["code"] == "VALIDATION_ERROR"
    assert shown["details"]["details"] == {
        "kind": "context_invalid_metrics_outcome",
        "tool": "continue_workflow",
        "invalidValue": "great",
        "validValues": ["success", "partial", "abandoned", "error"],
    }


def test_a_rehydrate_with_output() -> None:
    bench = Bench(LINEAR)
    bench.start()
    shown = bench.go("CT1", intent="rehydrate", workspacePath="/w", output={"notesMarkdown": "n"})
    assert shown["code"] == "VALIDATION_ERROR"
    assert [issue["path"] for issue in shown["details"]["validationErrors"]] == ["output"]
