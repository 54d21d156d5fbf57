"""What is decided about a session, case by case: what ended a loop, what to mend first, why a replay breaks."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from session_files import step, workflow
from tables import for_each

from pytest_workrail.agents.agent import Action, Checkpoint, Exchange, Prefer, Rewind, Submit
from pytest_workrail.engine.core.modes import Preferences
from pytest_workrail.engine.model.trace import TraceEntry
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES
from pytest_workrail.sessions import stats
from pytest_workrail.sessions.recorded_session import _action
from pytest_workrail.sessions.recording import scenario_name
from pytest_workrail.sessions.replay import Reproduction, _reason, described, shown_differences
from pytest_workrail.sessions.script import Outcome, Script, SubmitStep, outcome_of
from pytest_workrail.sessions.stats import LoopStats, SessionLine, StepStats, VersionStats, WorkflowStats, times
from pytest_workrail.sessions.story import Advance
from pytest_workrail.sessions.versions import versions_below

TWO = {"maxIterations": 2}


@for_each(
    "loop, iteration, hit",
    [
        ({}, 5, False),
        ({"maxIterations": "2"}, 5, False),
        ({"maxIterations": True}, 5, False),
        ({**TWO, "type": "while"}, 0, False),
        ({**TWO, "type": "while"}, 1, True),
        ({**TWO, "type": "while"}, 2, True),
        ({**TWO, "type": "for", "count": 2}, 1, False),
        ({**TWO, "type": "for", "count": 3}, 1, True),
        ({**TWO, "type": "for", "count": 3}, 0, False),
        ({**TWO, "type": "for", "count": "three"}, 1, True),
        ({**TWO, "type": "for", "count": "two"}, 1, False),
        ({**TWO, "type": "for", "count": "missing"}, 1, False),
        ({**TWO, "type": "for", "count": "yes"}, 1, False),
        ({**TWO, "type": "forEach", "items": "pair"}, 1, False),
        ({**TWO, "type": "forEach", "items": "triple"}, 1, True),
        ({**TWO, "type": "forEach", "items": [1, 2, 3]}, 1, True),
    ],
)
def test_a_loop_is_ended_by_its_bound(loop: dict[str, Any], iteration: int, hit: bool) -> None:
    context = {"two": 2, "three": 3, "yes": True, "pair": [1, 2], "triple": [1, 2, 3]}
    assert stats._hit_bound(loop, Advance(1, 2, "attempt", 0, 0), iteration, context) is hit


@for_each(
    "kind, summary, hit",
    [
        ("evaluated_condition", "The condition is false: exit.", False),
        ("evaluated_condition", "The condition is true: another round.", True),
        ("exited_loop", "The condition is false: exit.", True),
    ],
)
def test_a_condition_that_ended_a_loop_is_on_record(kind: Any, summary: str, hit: bool) -> None:
    class Recorded(Advance):
        @property
        def trace(self) -> list[TraceEntry]:
            return [TraceEntry("selected_next_step", "Something else."), TraceEntry(kind, summary)]

    assert stats._hit_bound({**TWO, "type": "until"}, Recorded(1, 2, "attempt", 0, 0), 1, {}) is hit


def test_what_to_mend_first() -> None:
    found = WorkflowStats(
        steps={
            "b": StepStats(blockers=stats.Counter({"B": 2, "A": 2}), abandoned=1),
            "a": StepStats(blockers=stats.Counter({"A": 1}), abandoned=3),
            "fine": StepStats(),
        },
        loops={"again": LoopStats(hit_bound=1), "once": LoopStats(runs=1)},
    )
    assert found.to_mend() == [
        "3 sessions stopped at step a",
        "step b was blocked by A 2 times",
        "step b was blocked by B 2 times",
        "1 session stopped at step b",
        "loop again ended only by its bound once",
        "step a was blocked by A once",
    ]
    many = WorkflowStats(steps={str(number): StepStats(abandoned=number) for number in range(12)})
    assert many.to_mend() == [f"{number} sessions stopped at step {number}" for number in range(11, 1, -1)]
    assert [times(count) for count in (0, 1, 2)] == ["never", "once", "2 times"]


def test_counts_of_a_step() -> None:
    step = StepStats(calls=9, accepted=3, gates=1, total_ms=10)
    assert (step.blocks, step.to_json()["blocked"], step.to_json()["meanMs"]) == (5, 5, 3)
    assert StepStats(total_ms=10).to_json()["meanMs"] == 0


OK_NEXT, OK_OTHER, DONE = Outcome("ok", "next", False), Outcome("ok", "other", False), Outcome("ok", None, True)
BLOCKED, BLOCKED_TWICE = Outcome("blocked", "here", False, ("A",)), Outcome("blocked", "here", False, ("A", "B"))
GATE, REFUSED = Outcome("gate_checkpoint", "here", False), Outcome("error", None, False, ("CODE",), {"message": "No."})
ONBOARDING = Outcome("ok", "wr-system-onboarding", False)
NEW = {"steps": [{"id": "next", "type": "step"}, {"id": "l", "type": "loop", "body": [{"id": "inner"}]}]}


@for_each(
    "before, now, words",
    [
        (OK_NEXT, REFUSED, "the engine now refuses the call: No."),
        (OK_NEXT, Outcome("error", None, False, ("CODE",)), "the engine now refuses the call: the error CODE"),
        (OK_NEXT, BLOCKED, "the step no longer accepts the recorded output: blocked at here (A); it was step next"),
        (BLOCKED, OK_NEXT, "the step accepts what was refused before: step next; it was blocked at here (A)"),
        (BLOCKED, REFUSED, "the engine now refuses the call: No."),
        (
            BLOCKED,
            BLOCKED_TWICE,
            "the step is blocked for other reasons: blocked at here (A and B); it was blocked at here (A)",
        ),
        (GATE, OK_NEXT, "the confirmation changed: step next; it was a gate at here"),
        (OK_NEXT, GATE, "the confirmation changed: a gate at here; it was step next"),
        (OK_OTHER, OK_NEXT, "the next step 'other' no longer exists; the run now comes to step next"),
        (Outcome("ok", "inner", False), OK_NEXT, "the run is now sent to step next; it went to step inner"),
        (Outcome("ok", "l", False), OK_NEXT, "the next step 'l' no longer exists; the run now comes to step next"),
        (ONBOARDING, OK_NEXT, "the run is now sent to step next; it went to step wr-system-onboarding"),
        (OK_NEXT, DONE, "the run now ends here; it continued to step next"),
        (DONE, OK_NEXT, "the run now continues to step next; it was complete here"),
        (OK_NEXT, Outcome("ok", "inner", False), "the run is now sent to step inner; it went to step next"),
        (Outcome("unknown", None, False), OK_NEXT, "the run is now sent to step next; it went to unknown"),
    ],
)
def test_a_replay_breaks_for_a_reason(before: Outcome, now: Outcome, words: str) -> None:
    assert _reason(before, now, NEW) == words


def test_outcomes_in_words() -> None:
    words = [described(each) for each in (OK_NEXT, DONE, BLOCKED_TWICE, GATE, REFUSED)]
    assert words == ["step next", "complete", "blocked at here (A and B)", "a gate at here", "the error CODE"]


@for_each(
    "response, is_error, kind, pending, is_complete, codes",
    [
        ({"code": "X"}, True, "error", None, False, ("X",)),
        ({"kind": "gate_checkpoint", "stepId": "s"}, False, "gate_checkpoint", "s", False, ()),
        ({"kind": "ok", "pending": {"stepId": "s"}, "isComplete": False}, False, "ok", "s", False, ()),
        ({"kind": "ok", "pending": None, "isComplete": True}, False, "ok", None, True, ()),
        (
            {"kind": "blocked", "pending": {"stepId": "s"}, "blockers": {"blockers": [{"code": "A"}, {"code": "B"}]}},
            False,
            "blocked",
            "s",
            False,
            ("A", "B"),
        ),
    ],
)
def test_the_outcome_in_an_answer(
    response: dict[str, Any], is_error: bool, kind: str, pending: str | None, is_complete: bool, codes: Any
) -> None:
    tokens = ("continueToken", "checkpointToken", "retryContinueToken", "nextCall", "gateToken", "resumeToken")
    found = outcome_of(Exchange("continue_workflow", {}, {**response, **dict.fromkeys(tokens, "t")}, is_error))
    assert found == Outcome(kind, pending, is_complete, codes)
    assert found.answer == response


def test_a_difference_is_where_the_run_was_or_at_the_end() -> None:
    before, now = (Outcome("ok", "next", False, (), {"nextIntent": word}) for word in ("a", "b"))
    assert shown_differences(before, now) == ["nextIntent changed at step next"]
    before, now = (Outcome("ok", None, True, (), {"nextIntent": word}) for word in ("a", "b"))
    assert shown_differences(before, now) == ["nextIntent changed at step the end"]
    before, now = (Outcome("blocked", "here", False, (), {"blockers": word}) for word in ("a", "b"))
    assert shown_differences(before, now) == ["the blockers of step here are worded differently"]
    assert shown_differences(now, now) == []


def test_only_what_is_known_of_a_pin_counts() -> None:
    steps = [{"id": "a", "loop": {"type": "for"}}, {"id": "b"}, {"id": "c", "loop": 1}, "d"]
    for pin in ({"steps": steps, "version": "1.2.0"}, {"definition": {"steps": steps, "version": "1.2.0"}}):
        assert stats._pin(pin) == ("1.2.0", {"a": {"type": "for"}})
    for damaged in (
        {},
        {"definition": None},
        {"steps": None, "version": 1},
        {"definition": {"steps": 1}, "steps": steps},
    ):
        assert stats._pin(damaged) == (None, {})


@for_each(
    "turn, action",
    [
        ({"call": "rewind", "node": 2}, Rewind(node=2)),
        ({"call": "checkpoint"}, Checkpoint()),
        ({"call": "leave"}, None),
        ({"prefers": {"mode": "guided", "risk": "balanced"}}, Prefer(Preferences("guided", "balanced"))),
        ({"notes": "Done.", "artifacts": [1], "context": {"a": 1}}, Submit("Done.", (1,), {"a": 1})),
        ({}, Submit(None, (), None)),
    ],
)
def test_every_recorded_turn_is_played_when_it_is_asked_whether_a_run_can_continue(
    turn: dict[str, Any], action: Action | None
) -> None:
    assert _action(turn) == action


def test_versions_are_those_that_the_project_of_the_first_path_includes(tmp_path: Path) -> None:
    for project, excluded in (("one", "b.json"), ("two", "a.json")):
        folder = tmp_path / project
        folder.mkdir()
        (folder / "workrail-lint.toml").write_text(f'exclude = ["{excluded}"]\n', encoding="utf-8")
        for name in ("a", "b"):
            text = json.dumps(workflow(step("first"), id=f"{project}.{name}"))
            (folder / f"{name}.json").write_text(text, encoding="utf-8")
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    for paths, names in (
        ([one], ["one.a"]),
        ([two], ["two.b"]),
        ([one, str(tmp_path / "two" / "a.json")], ["one.a", "two.a"]),
        ([str(tmp_path / "two" / "a.json"), two], ["two.a", "two.b"]),
    ):
        assert sorted(versions_below(paths).value) == names


@for_each(
    "workflow_id, session_id, number, name",
    [
        ("demo.plain", "sess_abcdefghijklm", 1, "demo-plain-abcdefghij"),
        ("..a b..", "sess_a-b.c", 2, "a-b-a-bc-2"),
        ("X.a.X", "other", 10, "X-a-X-other-10"),
    ],
)
def test_a_scenario_is_called_after_what_ran(workflow_id: str, session_id: str, number: int, name: str) -> None:
    story = SimpleNamespace(workflow_id=workflow_id, session_id=session_id, number=number)
    assert scenario_name(story) == name  # type: ignore[arg-type]


def test_a_version_lists_its_newest_sessions_and_counts_the_others() -> None:
    lines = [
        SessionLine(f"s{number:03}", number, ("complete", "blocked")[number % 2], [], [], None, 0)
        for number in range(203)
    ]
    for count, older in ((200, None), (201, {"complete": 1}), (203, {"blocked": 1, "complete": 2})):
        found = VersionStats("1.0.0", lines[:count]).to_json("hash")
        assert [each["id"] for each in found["sessions"]] == [f"s{number:03}" for number in range(count)][:-201:-1]
        assert (found["firstSeen"], found.get("older")) == (0, older)


def test_where_a_recording_and_our_engine_part() -> None:
    submits = [SubmitStep(1, "a", None, (), None, outcome) for outcome in (OK_OTHER, BLOCKED, DONE)]
    script = Script(None, {}, DEFAULT_PREFERENCES, OK_NEXT, tuple(submits))
    for at, was in ((1, "step next"), (2, "step other"), (3, "blocked at here (A)"), (4, "complete")):
        words = Reproduction((OK_NEXT, GATE), at).describe(script)
        assert words == f"call {at} was recorded as {was}, and is a gate at here here"
    assert Reproduction((OK_NEXT,)).describe(script) == ""
