"""What a run leaves behind: exchanges, visits, the final projection, and how it was over."""

from __future__ import annotations

from typing import Any

import pytest
from agent_workflows import by_artifact, compiled, decide, loop, play, step, workflow
from test_agent_auto import CONSEQUENCE, READINESS

from pytest_workrail.agents.agent import Call, Checkpoint, Prefer, Provide, Rehydrate, Resend, Restart, Rewind, Submit
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.scripted import Behave, Scripted, Turn
from pytest_workrail.engine.model.reasons import StorageCorruption, UserOnlyDependency
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.golden.profiles import both_profiles
from pytest_workrail.run.bench import WORKSPACE, Declared, Setup
from pytest_workrail.run.result import Run, exchange_lines
from workrail_lint.systems.workrail.scenario_words import Behaviour

TWO = workflow(step("one"), step("two"))
NEVER_STOP = Preferences("full_auto_never_stop")


def with_turns(authored: dict[str, Any], *turns: Turn, **setup: Any) -> Run:
    return play(authored, Scripted(turns, Auto()), **setup)


def test_exchanges_are_what_was_sent_and_answered() -> None:
    run = play(TWO, Auto(), context={"x": 1}, goal="Try it.", preferences=NEVER_STOP)
    first, second, _ = run.transcript.exchanges
    assert first.request == {
        "workflowId": "demo.bench",
        "workspacePath": WORKSPACE,
        "goal": "Try it.",
        "initialContext": {"x": 1},
        "preferences": {"autonomy": "full_auto_never_stop", "riskPolicy": "conservative"},
    }
    assert second.request["continueToken"] == first.response["continueToken"]
    assert second.request["output"] == {"notesMarkdown": "Done: one."}
    assert not any(exchange.is_error for exchange in run.transcript.exchanges)
    assert (run.transcript.profile, run.transcript.mode) == ("reference", "full_auto_never_stop")
    assert run.transcript.ir == compiled(TWO)


def test_the_seed_decides_about_tokens_and_nothing_else() -> None:
    first, second = play(TWO, Auto(), seed=1), play(TWO, Auto(), seed=2)
    assert first.responses[0]["continueToken"] != second.responses[0]["continueToken"]
    assert (first.steps, first.outputs) == (second.steps, second.outputs)


def test_visits_tell_what_happened_at_each_step() -> None:
    rated = step("rate", assessmentRefs=["readiness"], assessmentConsequences=[CONSEQUENCE])
    judged = step("judge", outputContract={"contractRef": "wr.contracts.gate_verdict"}, notesOptional=True)
    authored = workflow(
        rated,
        step("skipped", runCondition={"var": "goal", "equals": "another"}),
        judged,
        step("shown", promptFragments=[{"id": "yes", "text": "a"}, {"id": "no", "text": "b", "when": {"var": "x"}}]),
        assessments=[READINESS],
    )
    turns = [Turn("rate", Behave(Behaviour.FOLLOWUP_LEVEL)), Turn("judge", Behave(Behaviour.INVALID_ARTIFACT))]
    run = with_turns(authored, *turns)
    seen = [(attempt.step_id, attempt.number, attempt.outcome, attempt.blockers) for attempt in run.transcript.attempts]
    assert seen == [
        ("rate", 1, "blocked", ("ASSESSMENT_FOLLOWUP_REQUIRED",)),
        ("rate", 2, "advanced", ()),
        ("judge", 1, "blocked", ("INVALID_REQUIRED_OUTPUT",)),
        ("judge", 2, "advanced", ()),
        ("shown", 1, "advanced", ()),
    ]
    refused, rated_visit, broken, judged_visit, shown = run.transcript.attempts
    assert refused.levels == (("readiness", "confidence", "low"), ("readiness", "extent", "none"))
    assert rated_visit.levels == (("readiness", "confidence", "high"), ("readiness", "extent", "none"))
    assert (broken.contract, judged_visit.contract) == (None, "wr.contracts.gate_verdict")
    assert shown.fragments == ("yes",)
    ways = [(choice.origin, choice.target) for choice in run.transcript.choices]
    assert ways[0][0] is None
    assert [origin for origin, _ in ways[1:]] == [target for _, target in ways[:-1]], "refused attempts lead nowhere"
    assert len(ways) == 1 + 3


def test_visits_in_loops_and_the_trace_of_the_end() -> None:
    authored = workflow(step("one"), loop("again", step("work"), decide(), **by_artifact("again")))
    run = with_turns(authored, Turn("decide", Behave(Behaviour.KEEP_LOOPING), visit=1))
    paths = [(attempt.step_id, attempt.loop_path) for attempt in run.transcript.attempts]
    assert paths == [
        ("one", ()),
        ("work", (("again", 0),)),
        ("decide", (("again", 0),)),
        ("work", (("again", 1),)),
        ("decide", (("again", 1),)),
    ]
    kinds = [entry["kind"] for entry in run.transcript.final["trace"]]  # type: ignore[union-attr, index, call-overload]
    assert kinds[-1] == "exited_loop"


def test_gaps_are_told_where_they_were_recorded() -> None:
    authored = workflow(step("one"), step("two"), recommendedPreferences={"recommendedAutonomy": "guided"})
    run = with_turns(authored, Turn("one", Submit()), preferences=NEVER_STOP)
    assert run.status == "complete_with_gaps"
    assert run.transcript.attempts[0].gaps == ("missing_required_notes",)
    assert run.transcript.attempts[1].gaps == (), "a warning is no reason to stop"
    assert run.gaps == ("missing_required_notes", "evaluation_error", "evaluation_error")
    assert run.transcript.final["gaps"][0]["step"] == "one"  # type: ignore[index, call-overload]


def test_an_advance_that_fails_is_a_visit_too() -> None:
    authored = workflow(step("one"), loop("each", step("work"), type="forEach", items="files", maxIterations=2))
    run = with_turns(authored, Turn("one", Submit("x", context={"files": 3})))
    assert [attempt.outcome for attempt in run.transcript.attempts] == ["error", "advanced", "advanced"]
    assert run.transcript.exchanges[1].is_error


def test_the_final_projection_of_each_ending() -> None:
    assert play(TWO, Auto()).transcript.final == {
        "status": "complete",
        "context": {"goal": "Run this workflow once."},
        "outputs": [{"step": "one", "notes": "Done: one."}, {"step": "two", "notes": "Done: two."}],
        "gaps": [],
        "blockers": [],
        "trace": [],
    }
    blocked = play(TWO, Scripted([Turn("one", Submit())]))
    assert blocked.status == "blocked"
    assert blocked.transcript.final["blockers"][0]["code"] == "MISSING_REQUIRED_NOTES"  # type: ignore[index, call-overload]
    refused = play(workflow(loop("each", step("work"), type="forEach", items="files", maxIterations=2)), Scripted([]))
    assert (refused.status, refused.ending.kind, refused.transcript.attempts) == ("error", "refused", ())
    endless = play(TWO, Scripted([Turn("one", Rehydrate(), repeats=True)]), max_turns=7)
    assert (endless.status, endless.ending.kind, len(endless.transcript.exchanges)) == ("in_progress", "endless", 8)
    assert play(TWO, Auto(), max_turns=2).ending.kind == "complete", "exactly as many turns as it takes"


def test_what_was_submitted_before_a_question_counts_and_what_was_refused_does_not() -> None:
    authored = workflow(step("look"), step("deep", runCondition={"var": "depth", "equals": "full"}), step("report"))
    turns = [
        Turn("look", Submit()),  # refused: notes are missing
        Turn("look", Submit("Seen.")),
        Turn("report", Submit("Written.")),  # the locked profile asks for `depth`
        Turn("report", Submit()),  # declined
    ]
    run = with_turns(authored, *turns, profile="locked")
    assert [attempt.outcome for attempt in run.transcript.attempts] == ["blocked", "advanced", "blocked", "advanced"]
    assert run.transcript.final["outputs"] == [
        {"step": "look", "notes": "Seen."},
        {"step": "report", "notes": "Written."},
    ]


def test_outputs_keep_the_order_of_submission() -> None:
    artifacts = tuple({"kind": "demo.note", "number": number} for number in range(4))
    run = with_turns(TWO, Turn("one", Submit("x", artifacts)))
    assert run.outputs["one"] == {"notes": "x", "artifacts": list(artifacts)}


def test_empty_notes_are_sent_as_such() -> None:
    quiet = workflow(step("one", notesOptional=True))
    run = with_turns(quiet, Turn("one", Submit("")))
    assert run.transcript.exchanges[1].request["notes"] == ""
    assert run.status == "complete"


def test_what_only_a_person_can_do() -> None:
    need = Declared("two", UserOnlyDependency("needs_user_choice", "two", "scope_boundary"))
    stuck = play(TWO, Auto(), profile="locked", declared=(need,))
    assert (stuck.status, stuck.blockers) == ("blocked", ("USER_ONLY_DEPENDENCY",))
    turns = [Turn("two", Submit("x")), Turn("two", Provide("two", "needs_user_choice")), Turn("two", Rewind())]
    helped = with_turns(TWO, *turns, profile="locked", declared=(need,))
    assert (helped.status, helped.blockers) == ("complete", ("USER_ONLY_DEPENDENCY",))
    assert with_turns(TWO, profile="reference", declared=(need,)).blockers == (), (
        "the reference engine knows no such need"
    )


def test_what_a_host_declares() -> None:
    run = play(TWO, Auto(), profile="locked", declared=(Declared("one", StorageCorruption()),))
    assert (run.status, run.blockers) == ("blocked", ("STORAGE_CORRUPTION_DETECTED",))


def test_a_person_sets_preferences_above_a_block() -> None:
    risky = workflow(step("one"), step("risky", requireConfirmation=True))
    turns = [Turn("risky", Submit("x")), Turn("risky", Prefer(Preferences("guided"))), Turn("risky", Rewind())]
    setup = {"profile": "locked", "preferences": Preferences("full_auto_stop_on_user_deps")}
    assert with_turns(risky, *turns, **setup).status == "complete"
    assert with_turns(risky, turns[0], turns[2], turns[0], **setup).status == "blocked", "nobody gave way"


def test_every_tool_can_be_called() -> None:
    turns = [
        Turn("one", Call("list_workflows", {"workspacePath": "$workspace"})),
        Turn("one", Call("inspect_workflow", {"workspacePath": "$workspace", "workflowId": "demo.bench"})),
        Turn("one", Checkpoint()),
        Turn("one", Call("continue_workflow", {"continueToken": "$resume"})),
        Turn("one", Restart()),
        Turn("one", Call("resume_session", {"workspacePath": "$workspace"})),
        Turn("two", Call("continue_workflow", {"continueToken": "$previous", "intent": "advance"})),
        Turn("two", Call("continue_workflow", {"continueToken": "$first"})),
        Turn("two", Resend()),
        Turn("two", Call("continue_workflow", {"continueToken": "$continue", "notes": "By another name."})),
    ]
    run = play(TWO, Scripted(turns, Auto()))
    assert run.ending.kind == "complete", run.ending
    assert not any(exchange.is_error for exchange in run.transcript.exchanges)
    assert run.outputs["two"] == {"notes": "By another name."}
    assert run.steps == ("one", "two"), "an advance made by hand is a attempt like any other"


def test_a_gate_holds_the_run() -> None:
    gated = workflow(step("one"), step("risky", requireConfirmation={"kind": "human_approval"}))
    turns = [
        Turn("risky", Submit("x")),
        Turn("risky", Rehydrate()),
        Turn("risky", Call("continue_workflow", {"continueToken": "$gate", "intent": "advance"})),
    ]
    run = with_turns(gated, *turns, context={"is_autonomous": "true"})
    assert (run.status, run.ending.kind) == ("error", "stopped")
    assert [attempt.outcome for attempt in run.transcript.attempts] == ["advanced", "gated"]
    assert run.responses[2]["kind"] == "gate_checkpoint"


def test_nothing_to_send_again() -> None:
    run = play(TWO, Scripted([Turn("one", Resend())]))
    assert (run.ending.kind, run.ending.why) == ("misplayed", "There is no earlier submission to send again.")


def test_a_run_in_a_few_lines() -> None:
    run = with_turns(TWO, Turn("one", Submit(None, ({"kind": "a"},), {"x": 1})), context={"y": 2})
    message = 'Step "one" requires notes documenting your work (output.notesMarkdown).'
    assert exchange_lines(run.transcript) == [
        "1  start with context y -> pending one",
        f"2  continue with artifacts a and context x -> blocked at one: MISSING_REQUIRED_NOTES: {message}",
        "3  continue with notes 'Done: one.' -> pending two",
        "4  continue with notes 'Done: two.' -> complete",
    ]
    verdict = step("judge", outputContract={"contractRef": "wr.contracts.gate_verdict"})
    invalid = {"kind": "wr.gate_verdict", "version": 1, "verdict": "yes", "confidence": "high", "rationale": "x" * 20}
    run = with_turns(workflow(verdict), Turn("judge", Submit(None, (invalid,))))
    assert exchange_lines(run.transcript)[1].endswith(
        "INVALID_REQUIRED_OUTPUT: Invalid output for contractRef=wr.contracts.gate_verdict. "
        "(verdict: Invalid enum value. Expected 'approved' | 'rejected' | 'uncertain', received 'yes')"
    )
    long = play(workflow(loop("again", step("work"), type="for", count=40, maxIterations=40)), Auto())
    lines = exchange_lines(long.transcript)
    assert lines[0] == "... 11 earlier exchanges not shown"
    assert len(lines) == 31


def test_both_profiles_side_by_side() -> None:
    endless = workflow(step("one"), loop("again", decide("work"), **by_artifact("again", 1)))
    keep = Scripted([Turn("work", Behave(Behaviour.KEEP_LOOPING), visit=1)], Auto())
    both = both_profiles(Setup(compiled(endless)), keep)
    assert (both.reference.blockers, both.locked.blockers) == ((), ("INVARIANT_VIOLATION",))
    assert not both.agree
    assert "turn at 'work' (blocked) is new" in both.describe()
    alike = both_profiles(Setup(compiled(TWO)), Auto())
    assert alike.agree
    assert alike.describe() == "Both profiles answer alike."


def test_a_golden_belongs_to_a_test() -> None:
    with pytest.raises(RuntimeError, match="use the fixture"):
        play(TWO, Auto()).match_golden()


def test_a_run_shows_itself_in_one_line() -> None:
    assert repr(play(TWO, Auto())) == "<Run of demo.bench: complete (done: one, two)>"
