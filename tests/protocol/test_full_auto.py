"""Full autonomy that is real: the agent answers for the user and says so, and a late output closes its gap."""

from __future__ import annotations

from typing import Any

import pytest
from protocol_bench import NEVER_STOP, Bench, quiet, step, workflow

from pytest_workrail.engine.core.full_auto import user_questions
from pytest_workrail.engine.model.events import CapabilityObserved, DivergenceRecorded, GapRecorded, ValidationPerformed
from pytest_workrail.engine.projections import session_facts

ASKING = workflow(
    "asking",
    step("plan", "Plan", "Read it.\n- Ask the user which {{goal}} they want.\nThen plan.", notesOptional=True),
    quiet("ship"),
)
VERDICT = {"kind": "wr.review_verdict", "verdict": "clean", "confidence": "high", "findings": [], "summary": "Fine."}
REVIEWED = workflow(
    "reviewed",
    quiet("review", outputContract={"contractRef": "wr.contracts.review_verdict"}),
    quiet("second", outputContract={"contractRef": "wr.contracts.review_verdict"}),
    quiet("ship"),
)


def never_stopping(authored: dict[str, Any], profile: str = "locked") -> Bench:
    bench = Bench(authored, profile=profile)
    bench.start()
    bench.prefer("CT1", autonomy="full_auto_never_stop")
    return bench


def disclosed(step_id: str) -> dict[str, Any]:
    return {
        "kind": "wr.workflow_divergence",
        "reason": "missing_user_context",
        "summary": "Assumed the smaller one, because the ticket says so.",
        "relatedStepId": step_id,
    }


def gaps(bench: Bench) -> list[GapRecorded]:
    return [event for event in bench.events if isinstance(event, GapRecorded)]


def test_the_agent_is_told_to_answer_for_the_user() -> None:
    """@enforces full-auto-answers-for-user"""
    bench = never_stopping(ASKING)
    shown = bench.look("CT1")
    assert shown["pending"]["fullAuto"] == {
        "asked": ["Ask the user which demo they want"],
        "answerBy": ["assume", "derive", "skip"],
        "discloseAs": "wr.workflow_divergence",
    }
    text = bench.reply.text[0] if bench.reply else ""
    asks = "No user is available in this run, and this step asks the user:\n- Ask the user which"
    assert f"**FULL AUTO (System):** {asks}" in text
    assert '"relatedStepId": "plan"' in text
    assert "fullAuto" not in bench.advance("CT1")["pending"], "the next step asks nobody"


@pytest.mark.parametrize(("profile", "autonomy"), [("locked", "guided"), ("reference", "full_auto_never_stop")])
def test_elsewhere_a_prompt_is_shown_as_it_is(profile: str, autonomy: str) -> None:
    bench = Bench(ASKING, profile=profile)
    bench.start()
    bench.prefer("CT1", autonomy)
    shown = bench.look("CT1")
    assert "fullAuto" not in shown["pending"]
    assert "FULL_AUTO" not in shown["pending"]["prompt"]
    bench.advance("CT1")
    assert gaps(bench) == []


def test_what_is_disclosed_is_on_record_and_what_is_not_is_a_gap() -> None:
    """@enforces full-auto-discloses"""
    open_about_it = never_stopping(ASKING)
    assert open_about_it.go("CT1", artifacts=[disclosed("plan")])["kind"] == "step"
    recorded = [event.data for event in open_about_it.events if isinstance(event, DivergenceRecorded)]
    assert [(data.reason, data.related_step_id) for data in recorded] == [("missing_user_context", "plan")]
    assert gaps(open_about_it) == []
    silent = never_stopping(ASKING)
    assert silent.advance("CT1")["kind"] == "step", "such a run never stops"
    assert [(gap.data.severity, gap.data.summary) for gap in gaps(silent)] == [
        ("warning", "User not asked, and nothing disclosed (stepId=plan)")
    ]


def test_a_condition_on_asking_makes_no_gap() -> None:
    bench = never_stopping(
        workflow(
            "maybe", step("plan", "Plan", "If the goal is vague, ask the user.", notesOptional=True), quiet("ship")
        )
    )
    assert bench.look("CT1")["pending"]["fullAuto"]["asked"] == ["If the goal is vague, ask the user"]
    bench.advance("CT1")
    assert gaps(bench) == []


def test_a_later_output_resolves_the_gap() -> None:
    """@enforces late-output-resolves-gap
    @enforces gaps-append-only-resolution
    """
    bench = never_stopping(REVIEWED)
    told = bench.advance("CT1")
    (gap,) = gaps(bench)
    before = bench.events
    assert told["pending"]["fullAuto"] == {"openContracts": ["wr.contracts.review_verdict"]}
    own = bench.go("CT2", artifacts=[VERDICT])
    assert own["pending"]["fullAuto"] == told["pending"]["fullAuto"], "the first one belongs to the step itself"
    done = bench.go("CT3", artifacts=[VERDICT])
    assert done["kind"] == "complete"
    resolving = gaps(bench)[-1].data
    assert resolving.to_wire() == {
        "gapId": resolving.gap_id,
        "severity": "info",
        "reason": {"category": "contract_violation", "detail": "missing_required_output"},
        "summary": "Resolved: Missing required output for contractRef=wr.contracts.review_verdict",
        "resolution": {"kind": "resolves", "resolvesGapId": gap.data.gap_id},
        "evidenceRefs": [{"kind": "output", "outputId": bench.events[-1].data.output_id}],
    }
    assert bench.events[: len(before)] == before, "the gap itself stays as it was recorded"
    run = gap.scope.run_id
    assert session_facts.project_gaps(bench.events).unresolved_critical(run) == []


def test_only_an_output_that_fits_resolves() -> None:
    bench = never_stopping(REVIEWED)
    bench.advance("CT1")
    bench.go("CT2", artifacts=[VERDICT])
    bench.go("CT3", artifacts=[{**VERDICT, "verdict": "splendid"}, {"kind": "wr.other"}])
    assert [gap.data.resolution.kind for gap in gaps(bench)] == ["unresolved"]


def test_reference_resolves_nothing() -> None:
    bench = never_stopping(REVIEWED, "reference")
    bench.advance("CT1")
    bench.go("CT2", artifacts=[VERDICT])
    bench.go("CT3", artifacts=[VERDICT])
    assert [gap.data.resolution.kind for gap in gaps(bench)] == ["unresolved"]


@pytest.mark.parametrize(("profile", "recorded"), [("locked", 1), ("reference", 0)])
def test_missing_notes_are_a_validation_on_record(profile: str, recorded: int) -> None:
    """@enforces missing-notes-validated"""
    bench = Bench(workflow("noted", step("work", "Work", "Work."), quiet("ship")), profile=profile)
    bench.start()
    answer = bench.advance("CT1")
    results = [event.data for event in bench.events if isinstance(event, ValidationPerformed)]
    assert len(results) == recorded
    assert (answer["kind"], "validation" in answer) == ("blocked", bool(recorded))
    if recorded:
        (data,) = results
        assert (data.contract_ref, data.result.valid) == ("none", False)
        assert answer["validation"]["issues"] == ["Missing required notes for stepId=work"]


def test_missing_notes_of_a_run_that_goes_on_are_validated_too() -> None:
    bench = never_stopping(workflow("noted", step("work", "Work", "Work."), quiet("ship")))
    bench.advance("CT1")
    kinds = [event.kind for event in bench.events if event.kind in ("gap_recorded", "validation_performed")]
    assert kinds == ["gap_recorded", "validation_performed"]


PREFERRING = workflow("preferring", quiet("one"), quiet("two"), capabilities={"web_browsing": "preferred"})


def seen(status: str, result: str) -> dict[str, Any]:
    return {
        "kind": "wr.capability_observation",
        "capability": "web_browsing",
        "status": status,
        "provenance": {"kind": "probe_step", "result": result},
    }


@pytest.mark.parametrize(
    ("status", "result", "said"),
    [
        ("available", "success", []),
        ("unavailable", "failure", ["Preferred capability unavailable: web_browsing"]),
        ("unknown", "failure", ["Preferred capability status unknown: web_browsing"]),
    ],
)
def test_a_preferred_capability_is_probed_and_its_absence_said_once(status: str, result: str, said: list[str]) -> None:
    """@enforces preferred-capability-probed"""
    bench = Bench(PREFERRING, profile="locked")
    assert bench.start()["pending"]["stepId"] == "wr_probe_web_browsing"
    assert bench.go("CT1", artifacts=[seen(status, result)])["pending"]["stepId"] == "one", "nothing is blocked"
    assert bench.advance("CT2")["pending"]["stepId"] == "two"
    assert bench.advance("CT3")["kind"] == "complete"
    assert [gap.data.summary for gap in gaps(bench)] == said
    assert [gap.data.severity for gap in gaps(bench)] == ["warning"] * len(said)
    assert sum(isinstance(event, CapabilityObserved) for event in bench.events) == 1


def test_the_agent_reads_that_a_preferred_capability_is_absent() -> None:
    bench = Bench(PREFERRING, profile="locked")
    bench.start()
    answer = bench.go("CT1", artifacts=[seen("unavailable", "failure")])
    assert answer["warnings"] == [
        {"code": "PREFERRED_CAPABILITY_ABSENT", "capability": "web_browsing", "status": "unavailable"}
    ]
    assert bench.reply is not None
    assert "- web_browsing is unavailable. The workflow prefers it; do without it" in bench.reply.text[0]
    assert "warnings" not in Bench(PREFERRING, profile="locked").start(), "nobody knows yet"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Ask the user which licence applies. Then go on.", ["Ask the user which licence applies"]),
        ("Confirm the plan with the user", ["Confirm the plan with the user"]),
        ("1. Wait for the user to reply!", ["Wait for the user to reply"]),
        ("Get the account name from the owner.", ["Get the account name from the owner"]),
        ("Have the stakeholders decide.", ["Have the stakeholders decide"]),
        ("Do not ask the user to choose.", []),
        ("Decide without asking the user.", []),
        ("Never wait for the user.", []),
        ("Before asking the user, read the files.", []),
        ("Write the user story. Ask which database is meant.", []),
        ("The user asked for speed.", []),
    ],
)
def test_sentences_that_ask_the_user(text: str, asked: list[str]) -> None:
    assert [question.sentence for question in user_questions(text)] == asked


def test_the_modes_are_those_of_the_bench() -> None:
    assert never_stopping(ASKING).look("CT1")["preferences"] == NEVER_STOP
