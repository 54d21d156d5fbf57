"""Steps that wait for variables nobody set: told as data, asked for once, answered or declined on record."""

from __future__ import annotations

import json
from typing import Any

import pytest
from protocol_bench import NEVER_STOP, WORKSPACE, Bench, quiet, step, workflow

from pytest_workrail.engine.core.prompts import PromptStyle
from pytest_workrail.engine.protocol.engine import Options

C1 = {
    "and": [
        {"var": "depth", "in": ["full", "deep"]},
        {"or": [{"var": "skipDeep", "not_equals": True}, {"var": "forced", "equals": True}]},
    ]
}
TRIAGE = workflow(
    "triage-deep",
    step("triage", "Triage", "Look at it."),
    step("deep", "Deep", "Look deeper.", runCondition=C1),
    step("report", "Report", "Report.", runCondition={"var": "reportWanted"}),
)
UNSET = {"kind": "unset"}
U = {"variable": "depth", "operator": "in", "expected": ["full", "deep"], "actual": UNSET}
REPORT = {"variable": "reportWanted", "operator": "truthy", "actual": UNSET}
BOTH = [
    {"stepId": "deep", "because": "unset", "unmet": [U]},
    {"stepId": "report", "because": "unset", "unmet": [REPORT]},
]


def locked(authored: dict[str, Any], **members: Any) -> Bench:
    bench = Bench(authored, profile="locked")
    bench.start(**members)
    return bench


def asked() -> tuple[Bench, dict[str, Any]]:
    """The worked example up to its question."""
    bench = locked(TRIAGE)
    return bench, bench.go("CT1", output={"notesMarkdown": "n"}, context={"area": "auth"})


def kinds(bench: Bench, first: int) -> list[str]:
    return [event.kind for event in bench.events[first:]]


def retry(answer: dict[str, Any]) -> str:
    token: str = answer["retryContinueToken"]
    return token.strip("«»")


def test_the_worked_example() -> None:
    """@enforces skipped-steps-are-data
    @enforces question-loses-nothing
    """
    bench, answer = asked()
    pending = answer.pop("pending")
    assert pending["stepId"] == "triage"
    assert list(answer) == [
        *("kind", "continueToken", "checkpointToken", "preferences", "nextIntent", "nextCall"),
        *("blockers", "retryable", "retryContinueToken", "skipped", "appliedFeatures"),
    ]
    assert answer == {
        "kind": "blocked",
        "continueToken": "«CT2»",
        "checkpointToken": "«CK2»",
        "preferences": {"autonomy": "guided", "riskPolicy": "conservative"},
        "nextIntent": "perform_pending_then_continue",
        "nextCall": {
            "tool": "continue_workflow",
            "params": {"continueToken": "«CT3»", "intent": "advance", "context": {"depth": "full"}},
        },
        "blockers": {
            "blockers": [
                {
                    "code": "MISSING_CONTEXT_KEY",
                    "pointer": {"kind": "context_key", "key": "depth"},
                    "message": "Missing required context key: depth",
                    "suggestedFix": "⟪FIX⟫",
                    "details": {"stepId": "deep", "unmet": [U], "suggested": "full"},
                }
            ]
        },
        "retryable": True,
        "retryContinueToken": "«CT3»",
        "skipped": BOTH,
        "appliedFeatures": [],
    }
    assert bench.log(5) == (
        "5:advance_recorded 6:context_set 7:decision_trace_appended 8:node_created(blocked_attempt)"
        " 9:edge_created(intentional_fork) 10:node_output_appended"
    )
    state: Any = bench.snapshots()[-1].state.to_wire()["blocked"]
    assert state["reason"] == {
        "kind": "missing_context_key",
        "key": "depth",
        "stepId": "deep",
        "patch": {"depth": "full"},
    }


def test_the_proposed_call_works_as_it_stands() -> None:
    """@enforces question-loses-nothing"""
    bench, answer = asked()
    params = answer["nextCall"]["params"]
    gone_on = bench.go("CT3", **{name: value for name, value in params.items() if name != "continueToken"})
    assert (gone_on["kind"], gone_on["pending"]["stepId"]) == ("step", "deep")
    assert bench.log(11) == (
        "11:advance_recorded 12:context_set 13:validation_performed 14:decision_trace_appended"
        " 15:node_created(step) 16:edge_created(intentional_fork)"
    )
    # The notes were stored with the question, the context of that call holds, and nothing is stored twice.
    assert bench.events[12].data.context == {"area": "auth", "depth": "full", "goal": "demo"}  # type: ignore[union-attr]
    assert bench.go("CT3", intent="advance")["pending"]["stepId"] == "deep"


def test_advancing_without_the_variable_is_a_decision() -> None:
    """@enforces unset-asked-once
    @enforces unset-decision-recorded
    """
    bench, answer = asked()
    done = bench.advance(retry(answer))
    assert (done["kind"], done["skipped"]) == ("complete", BOTH)
    assert kinds(bench, 11) == [
        *("advance_recorded", "gap_recorded", "validation_performed", "decision_trace_appended"),
        *("run_completed", "node_created", "edge_created"),
    ]
    (gap,) = bench.gaps()
    assert gap.pop("gapId").startswith("gap_attempt_")
    assert gap == {
        "severity": "info",
        "reason": {"category": "unexpected", "detail": "invariant_violation"},
        "summary": "Left unset by decision: depth (stepId=deep)",
        "resolution": {"kind": "unresolved"},
        "evidenceRefs": [{"kind": "event", "eventId": bench.events[5].event_id}],
        "details": {"variable": "depth", "stepId": "deep"},
    }
    assert bench.status() == "complete"


def test_a_value_that_says_no_needs_no_gap() -> None:
    bench, answer = asked()
    done = bench.advance(retry(answer), context={"depth": "none"})
    assert done["kind"] == "complete"
    assert [(each["stepId"], each["because"]) for each in done["skipped"]] == [("deep", "value"), ("report", "unset")]
    assert done["skipped"][0]["unmet"][0]["actual"] == {"kind": "value", "value": "none"}
    assert (bench.gaps(), "context_set" in kinds(bench, 11)) == ([], True)


def test_another_step_may_be_chosen_and_nothing_is_asked_again() -> None:
    """@enforces unset-asked-once"""
    bench, answer = asked()
    other = bench.advance(retry(answer), context={"reportWanted": True})
    assert (other["kind"], other["pending"]["stepId"]) == ("step", "report")
    assert [gap["severity"] for gap in bench.gaps()] == ["info"]
    done = bench.go(other["continueToken"].strip("«»"), notes="n")
    assert (done["kind"], [each["stepId"] for each in done["skipped"]]) == ("complete", ["deep"])
    assert len(bench.gaps()) == 1


def test_a_fork_from_above_the_question_may_be_asked_anew() -> None:
    bench, _ = asked()
    again = bench.look("CT1")
    assert bench.go(again["continueToken"].strip("«»"), notes="again")["kind"] == "blocked"


def test_a_retry_with_output_counts_alone() -> None:
    bench, answer = asked()
    assert bench.go(retry(answer), artifacts=[])["blockers"]["blockers"][0]["code"] == "MISSING_REQUIRED_NOTES"
    assert bench.go(newest(bench), notes="new", context={"depth": "deep"})["pending"]["stepId"] == "deep"
    outputs = [event for event in bench.events if event.kind == "node_output_appended"]
    assert [event.data.payload.notes_markdown for event in outputs] == ["n", "new"]  # type: ignore[union-attr]


def newest(bench: Bench) -> str:
    assert bench.reply is not None
    return retry(bench.reply.to_json())  # type: ignore[arg-type]


def test_a_question_is_no_failed_attempt() -> None:
    """An autonomous run has three attempts; the question takes none of them."""
    bench = locked(TRIAGE, initialContext={"is_autonomous": "true"})
    answer = bench.go("CT1", notes="n")
    for _ in range(3):
        answer = bench.go(retry(answer), artifacts=[])
        assert answer["kind"] == "blocked"
    assert bench.go(retry(answer), artifacts=[])["code"] == "PRECONDITION_FAILED"


def test_the_reference_engine_ends_after_one_of_three_steps() -> None:
    bench = Bench(TRIAGE)
    bench.start()
    assert bench.go("CT1", notes="n")["isComplete"] is True
    assert not any("skipped" in event.data.to_wire() for event in bench.events)


def test_to_the_reference_profile_a_question_is_a_block_like_any_other() -> None:
    bench, answer = asked()
    token = bench.actual(retry(answer))
    reference = Bench(TRIAGE, home=bench.home)
    replayed = reference.go(bench.actual("CT1"), notes="n")
    assert replayed["nextCall"] == {"tool": "continue_workflow", "params": {"continueToken": "«CT2»"}}
    assert reference.advance(token)["blockers"]["blockers"][0]["code"] == "MISSING_REQUIRED_NOTES"


def test_a_run_that_never_stops_records_the_gap() -> None:
    """@enforces skipped-steps-are-data"""
    bench = locked(TRIAGE, preferences=NEVER_STOP)
    done = bench.go("CT1", notes="n")
    assert (done["kind"], done["skipped"], bench.status()) == ("complete", BOTH, "complete_with_gaps")
    (gap,) = bench.gaps()
    assert (gap["severity"], gap["summary"]) == ("critical", "Missing required context key: depth")
    assert gap["details"] == {"stepId": "deep", "unmet": [U], "suggested": "full"}


def test_a_rehydrated_question_is_a_question() -> None:
    bench, answer = asked()
    shown = bench.look("CT2")
    for member in ("blockers", "skipped", "retryable"):
        assert shown[member] == answer[member]
    params = shown["nextCall"]["params"]
    assert (params["context"], shown["nextIntent"]) == ({"depth": "full"}, "rehydrate_only")
    assert params["continueToken"] not in (answer["retryContinueToken"], answer["continueToken"])
    gone_on = bench.go(params["continueToken"].strip("«»"), intent="advance", context=params["context"])
    assert gone_on["pending"]["stepId"] == "deep"


def test_the_text_of_a_question_holds_the_call() -> None:
    bench, _ = asked()
    assert bench.reply is not None
    (text,) = bench.reply.text
    block = json.loads(text.split("```json\n")[1].split("\n```")[0])
    assert block == bench.reply.to_json()["nextCall"]["params"]  # type: ignore[index, call-overload]
    assert '## Not Done\n- deep: depth is unset, needs in ["full","deep"]\n- report: reportWanted is unset' in text
    prompt = bench.reply.response.progress.pending.prompt  # type: ignore[union-attr]
    *_, needed, then = prompt.splitlines()
    assert "\n\n**NEXT INPUT (System):**\n- From: you\n" in prompt
    assert (needed, then.startswith("- Then: continue_workflow")) == ("- Needed: `depth`", True)


def test_a_question_says_the_same_in_the_clean_format() -> None:
    bench = Bench(TRIAGE, options=Options(profile="locked", style=PromptStyle.CLEAN))
    bench.start()
    bench.go("CT1", notes="n")
    assert bench.reply is not None
    (text,) = bench.reply.text
    assert (
        text.index("Kind: blocked") < text.index("## Not Done\n- deep: depth is unset") < text.index("Missing required")
    )


def test_artifacts_of_a_question_decide_about_their_loop() -> None:
    """What was submitted with a question counts as if it had made a step, so a decision need not come twice."""
    stop = {"kind": "wr.loop_control", "decision": "stop", "loopId": "again"}
    source = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": "again"}
    body = [quiet("work"), quiet("more", runCondition={"var": "more"})]
    authored = workflow(
        "decided",
        {
            "id": "again",
            "type": "loop",
            "title": "Again",
            "loop": {"type": "while", "maxIterations": 3, "conditionSource": source},
            "body": body,
        },
        quiet("last", runCondition={"var": "last"}),
    )
    bench = locked(authored)
    answer = bench.go("CT1", artifacts=[stop])
    assert (answer["kind"], answer["blockers"]["blockers"][0]["details"]["stepId"]) == ("blocked", "last")
    assert bench.go(retry(answer), notes="only notes", context={"last": True})["pending"]["stepId"] == "last"


# ---------------------------------------------------------------------------------------------- loops and the start


def counted(**loop: Any) -> dict[str, Any]:
    prompt = loop.pop("prompt", "Go.")
    return {
        "id": "again",
        "type": "loop",
        "title": "Again",
        "loop": {"maxIterations": 5, **loop},
        "body": [step("work", "Work", prompt, notesOptional=True)],
    }


@pytest.mark.parametrize(
    ("loop", "operator", "suggested"),
    [
        ({"type": "for", "count": "n"}, "count", 1),
        ({"type": "forEach", "items": "n"}, "items", ["item"]),
        ({"type": "forEach", "items": "n", "prompt": "Look at {{currentItem.name}}."}, "items", [{}]),
    ],
)
def test_a_loop_that_needs_a_variable_asks_at_once(loop: Any, operator: str, suggested: Any) -> None:
    """@enforces unset-asked-once"""
    bench = locked(workflow("count", quiet("one"), counted(**loop), quiet("last")))
    answer = bench.advance("CT1")
    (blocker,) = answer["blockers"]["blockers"]
    unmet = [{"variable": "n", "operator": operator, "actual": UNSET}]
    assert blocker["details"] == {"stepId": "again", "unmet": unmet, "suggested": suggested}
    assert answer["skipped"] == [{"stepId": "again", "because": "unset", "unmet": unmet}]
    assert bench.advance(retry(answer), context={"n": suggested})["pending"]["stepId"] == "work"


def test_a_declined_loop_is_left() -> None:
    """@enforces unset-decision-recorded"""
    bench = locked(workflow("count", quiet("one"), counted(type="for", count="n"), quiet("last")))
    answer = bench.advance("CT1")
    gone_on = bench.advance(retry(answer))
    assert gone_on["pending"]["stepId"] == "last"
    assert [gap["summary"] for gap in bench.gaps()] == ["Left unset by decision: n (stepId=again)"]
    trace = next(event for event in reversed(bench.events) if event.kind == "decision_trace_appended")
    summaries = [entry.summary for entry in trace.data.entries]  # type: ignore[union-attr]
    assert "Exited loop 'again': Variable 'n' is not set." in summaries
    assert bench.advance(gone_on["continueToken"].strip("«»"))["kind"] == "complete"


def test_two_loops_ask_one_after_the_other() -> None:
    other = {**counted(type="for", count="m"), "id": "other", "body": [quiet("toil")]}
    bench = locked(workflow("count", quiet("one"), counted(type="for", count="n"), other))
    first = bench.advance("CT1")
    second = bench.advance(retry(first))
    assert second["blockers"]["blockers"][0]["pointer"]["key"] == "m"
    done = bench.advance(retry(second))
    assert done["kind"] == "complete"
    assert [gap["details"]["variable"] for gap in bench.gaps()] == ["n", "m"]


def test_a_loop_variable_of_another_type_is_refused_with_its_facts() -> None:
    bench = locked(workflow("count", quiet("one"), counted(type="for", count="n")))
    refused = bench.advance("CT1", context={"n": "three"})
    assert (refused["kind"], refused["code"]) == ("error", "PRECONDITION_FAILED")
    assert refused["details"]["details"] == {
        "kind": "loop_variable_invalid",
        "loopId": "again",
        "variable": "n",
        "expected": "number",
        "actual": {"kind": "value", "value": "three"},
    }


def test_a_start_that_finds_no_step_says_what_to_start_with() -> None:
    """@enforces skipped-steps-are-data"""
    authored = workflow("late", quiet("deep", runCondition=C1), quiet("report", runCondition={"var": "reportWanted"}))
    for preferences in ({}, NEVER_STOP):
        refused = Bench(authored, profile="locked").start(preferences=preferences, initialContext={"skipDeep": True})
        assert refused["code"] == "PRECONDITION_FAILED"
        facts = refused["details"]["details"]
        assert list(facts) == ["kind", "stepId", "variables", "patch", "skipped"]
        patch = {"depth": "full", "forced": True}
        assert (facts["kind"], facts["stepId"], facts["patch"]) == ("missing_context_key", "deep", patch)
        assert [each["variable"] for each in facts["variables"]] == ["depth", "forced"]
        assert [each["stepId"] for each in facts["skipped"]] == ["deep", "report"]
        assert refused["details"]["nextCall"] == {
            "tool": "start_workflow",
            "params": {"workflowId": "late", "workspacePath": WORKSPACE, "goal": "demo", "initialContext": patch},
        }
    call = refused["details"]["nextCall"]["params"]
    begun = Bench(authored, profile="locked").start(initialContext={"skipDeep": True, **call["initialContext"]})
    assert begun["pending"]["stepId"] == "deep"


def test_a_start_that_only_a_loop_could_take_asks_in_every_mode() -> None:
    authored = workflow("loops", counted(type="for", count="n"))
    for preferences in ({}, NEVER_STOP):
        facts = Bench(authored, profile="locked").start(preferences=preferences)["details"]["details"]
        assert (facts["kind"], facts["stepId"], facts["patch"]) == ("missing_context_key", "again", {"n": 1})


def test_a_start_that_no_variable_helps_says_why() -> None:
    never = {"and": [{"var": "x", "equals": 1}, {"var": "x", "equals": 2}]}
    refused = Bench(workflow("never", quiet("one", runCondition=never)), profile="locked").start()
    assert list(refused["details"]["details"]) == ["skipped"]
    assert refused["details"]["details"]["skipped"][0]["because"] == "never"
    assert "nextCall" not in refused["details"]


def test_a_start_that_passes_steps_over_records_them() -> None:
    bench = Bench(workflow("over", quiet("one", runCondition={"var": "x"}), quiet("two")), profile="locked")
    begun = bench.start()
    unmet = [{"variable": "x", "operator": "truthy", "actual": UNSET}]
    assert begun["skipped"] == [{"stepId": "one", "because": "unset", "unmet": unmet}]
    assert kinds(bench, 4) == ["context_set", "decision_trace_appended"]
    assert bench.events[5].data.trace_id == "trace_initial"  # type: ignore[union-attr]
    assert bench.look("CT1")["skipped"] == begun["skipped"]


def test_the_members_of_the_incident_get_a_hint() -> None:
    for profile in ("reference", "locked"):
        bench = Bench(TRIAGE, profile=profile)
        bench.start()
        refused = bench.go("CT1", notes="n", variables={"depth": "full"})
        assert refused["code"] == "VALIDATION_ERROR"
        assert refused["details"]["suggestions"] == [
            {"kind": "unknown_key", "provided": "variables", "didYouMean": "context", "similarity": 1}
        ]
