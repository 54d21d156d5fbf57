"""Hostile runs: what a sound engine stands, and what they find in one that is not."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from effort import times
from msgspec import structs
from planted import GUIDED, NEVER, PLANTED, STOPS, WORKFLOWS, Planted, compiled
from planted_stories import STORIES

from pytest_workrail.cli import main
from pytest_workrail.engine.store.gate import Gate
from pytest_workrail.explore import hostile_search
from pytest_workrail.explore.hostile_promises import PROMISES, Promises
from pytest_workrail.explore.hostile_search import Story, combined, explore, play, scenario_name, story_of
from pytest_workrail.explore.hostile_turns import KINDS, describe, draw, simpler
from pytest_workrail.explore.hostile_world import CallRecord, World
from workrail_lint import Ok, compile_workflow

SECONDS = 60  # of processor time, for each planted bug
FEW = ("a look writes", "no gap is recorded", "the state is stored after the log")


def is_minimal(ir: dict[str, Any], story: Story, promise: str) -> bool:
    """Return whether leaving out any one turn keeps the promise, or breaks another one."""
    for index in range(len(story.turns)):
        left = replace(story, turns=story.turns[:index] + story.turns[index + 1 :])
        broken = play(ir, left, deep=True).broken
        if broken is not None and broken[0] == promise:
            return False
    return True


def searched(bug: Planted, seconds: float) -> Any:
    end = time.process_time() + seconds
    with bug.planted():
        search = explore(
            compiled(bug.workflow),
            bug.profile,  # type: ignore[arg-type]
            bug.mode,
            "1",
            100_000,
            is_over=lambda: time.process_time() > end,
        )
        if search.story is not None and search.broken is not None:
            assert is_minimal(compiled(bug.workflow), search.story, search.broken[0])
    return search


@pytest.mark.parametrize(
    "bug",
    [bug if bug.name in FEW else pytest.param(bug, marks=pytest.mark.deep) for bug in PLANTED],
    ids=lambda bug: bug.name,
)
def test_a_planted_bug_is_found_and_its_story_is_minimal(bug: Planted) -> None:
    search = searched(bug, SECONDS)
    assert search.story is not None
    assert search.broken[0] in PROMISES
    # What breaks the promise in the broken engine keeps it in the sound one.
    assert play(compiled(bug.workflow), search.story, deep=True).broken is None


@pytest.mark.parametrize("bug", [bug for bug in PLANTED if bug.name in STORIES], ids=lambda bug: bug.name)
def test_the_story_of_a_planted_bug_breaks_its_promise(bug: Planted) -> None:
    promise, story = STORIES[bug.name]
    with bug.planted():
        broken = play(compiled(bug.workflow), story, deep=True).broken
    assert broken is not None
    assert broken[0] == promise


def test_nearly_every_planted_bug_has_a_story() -> None:
    assert len(STORIES.keys() - {bug.name for bug in PLANTED}) == 0
    assert len(STORIES) >= 0.9 * len(PLANTED)


def _written_twice(record: CallRecord, used: set[str]) -> CallRecord:
    """A call that repeats an advance, as if it had been written down again."""
    is_repeated = record.is_advance and record.request["continueToken"] in used
    return replace(record, after=(*record.after, record.before[0])) if is_repeated else record


def _token_given_out_again(record: CallRecord, used: set[str]) -> CallRecord:
    """A look at a node, as if its answer had a token that an advance has used."""
    exchange = record.exchange
    if exchange is None or record.request.get("intent") != "rehydrate" or not used:
        return record
    return replace(
        record, exchange=structs.replace(exchange, response={**exchange.response, "continueToken": min(used)})
    )


@pytest.mark.parametrize(
    ("tamper", "turns", "broken"),
    [
        (_written_twice, (("adv", 0, "right"), ("resend", 0, 0)), ("replay", "was carried out again")),
        (_token_given_out_again, (("adv", 0, "right"), ("look", 0)), ("goes-on", "a token that was used before")),
    ],
)
def test_what_no_planted_bug_does_is_noticed_too(
    tamper: Any, turns: Any, broken: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tampered(Promises):
        used: set[str]

        def called(self, world: World, record: CallRecord) -> None:
            self.used = getattr(self, "used", set())
            super().called(world, tamper(record, self.used))
            if record.is_advance and record.exchange is not None and not record.exchange.is_error:
                self.used.add(str(record.request["continueToken"]))

    story = Story(turns, "reference", GUIDED)
    assert play(compiled("decision"), story).broken is None
    monkeypatch.setattr(hostile_search, "Promises", Tampered)
    found = play(compiled("decision"), story).broken
    assert found is not None
    assert (found[0], broken[1] in found[1]) == (broken[0], True)


@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.name)
def test_every_bug_can_still_be_planted(bug: Planted) -> None:
    """What is patched is there; otherwise a bug that is never found would only be noticed by who runs them all."""
    for target, name, value in bug.make():
        assert getattr(target, name) is not value


def test_there_are_planted_bugs_of_every_kind() -> None:
    kinds = {bug.kind for bug in PLANTED}
    assert len(PLANTED) >= 40
    assert kinds >= {"state", "replay", "token", "budget", "order", "gap", "fork", "context"}


@pytest.mark.search
@pytest.mark.parametrize("workflow", WORKFLOWS)
@pytest.mark.parametrize(
    ("profile", "mode"), [("reference", GUIDED), ("locked", GUIDED), ("locked", STOPS), ("locked", NEVER)]
)
def test_a_sound_engine_keeps_its_promises(workflow: str, profile: Any, mode: str) -> None:
    search = explore(compiled(workflow), profile, mode, "sound", times(2, deep=200))
    assert search.broken is None, (search.broken, search.story)


def test_what_was_submitted_may_wait_for_the_answer_to_a_question() -> None:
    """Under profile locked the variable of a condition is asked for before the run ends without its step."""
    story = Story((("adv", 0, "right"), ("context", 0, "x", 1), ("look", 0), ("look", 0)), "locked", GUIDED)
    for workflow in WORKFLOWS:
        assert play(compiled(workflow), story).broken is None


@pytest.mark.parametrize(
    ("workflow", "turns"),
    [
        # The answer to a question has no output: it is judged by the output that led to the question.
        ("list", (("context", 0, "files", None), ("block", 0, 1))),
        # Ten failed attempts in a row, and a question among them that is not one.
        ("long", (("context", 0, "v19", []), ("block", 0, 9), ("context", 0, "v1", False), ("adv", 0, "right"))),
    ],
)
def test_a_question_is_no_failed_attempt(workflow: str, turns: Any) -> None:
    assert play(compiled(workflow), Story(turns, "locked", GUIDED), deep=True).broken is None


def test_preferences_that_a_person_sets_may_change_what_a_node_shows() -> None:
    """A workflow that recommends to be guided says so to a run that is not."""
    source = {**WORKFLOWS["approval"], "recommendedPreferences": {"recommendedAutonomy": "guided"}}
    made = compile_workflow(source)
    assert isinstance(made, Ok), made.error
    outcome = play(made.value.ir, Story((("adv", 0, "right"), ("look", 0)), "locked", STOPS))
    assert outcome.broken is None


def test_the_same_seed_gives_the_same_search() -> None:
    first, second = (explore(compiled("decision"), "locked", GUIDED, "7", 6) for _ in range(2))
    assert first == second
    assert first != explore(compiled("decision"), "locked", GUIDED, "8", 6)


def test_every_turn_can_be_drawn_told_and_made_plainer() -> None:
    from random import Random

    random = Random(3)
    drawn = [draw(random, {"size": ["large"]}) for _ in range(2_000)]
    assert {turn[0] for turn in drawn} == set(KINDS)
    for turn in drawn:
        assert describe(turn)
        assert all(plain[0] == turn[0] and plain != turn for plain in simpler(turn))


def test_faults_that_land_are_counted_apart_from_those_that_are_tried() -> None:
    turns = (("adv", 0, "wrong_level"), ("adv", 0, "nothing"), ("block", 0, 2), ("around", 0, 1), ("malformed", 1, 0))
    outcome = play(compiled("approval"), Story(turns, "reference", GUIDED))
    assert outcome.broken is None
    assert outcome.tried == {"adv": 2, "block": 2, "around": 1, "malformed": 1}
    assert outcome.landed == {"adv": 1, "block": 2, "around": 0, "malformed": 1}


@pytest.mark.parametrize("point", ["before-state", "after-state", "before-log", "after-log"])
@pytest.mark.parametrize("files", [False, True])
def test_a_crash_around_any_write_is_survived(point: str, files: bool) -> None:
    story = Story((("crash", 0, point), ("look", 0), ("resend", 0, 0)), "locked", GUIDED, files)
    outcome = play(compiled("decision"), story)
    assert outcome.broken is None
    assert outcome.landed["crash"] == 1


def test_an_engine_that_starts_nothing_breaks_a_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_workrail.engine.protocol import start

    def trace_data(*_: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr(start, "trace_data", trace_data)
    outcome = play(compiled("approval"), Story((), "reference", GUIDED))
    assert outcome.broken is not None
    assert outcome.broken[0] == "total"


def test_a_lock_that_outlives_an_interrupt_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock of a process that died is gone with it; one that is kept locks the session for good."""
    shared: dict[Any, object] = {}
    sound = Gate.__init__

    def init(self: Any, store: Any, lock: Any) -> None:
        sound(self, store, lock)
        self._inside = shared

    def inside(self: Any, session_id: Any, call: Any) -> Any:
        mine = object()
        if self._inside.setdefault(session_id, mine) is not mine:
            from pytest_workrail.engine.store.gate import GateError
            from workrail_lint.base.result import Err

            return Err(GateError("SESSION_LOCKED", "held"))
        answer = self._checked(session_id, call)
        del self._inside[session_id]
        return answer

    monkeypatch.setattr(Gate, "__init__", init)
    monkeypatch.setattr(Gate, "with_healthy_session_lock", inside)
    outcome = play(compiled("approval"), Story((("crash", 0, "before-log"),), "reference", GUIDED))
    assert outcome.broken is not None
    assert outcome.broken[0] == "goes-on"


def test_the_command_reports_faults_and_promises(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["explore", "fixtures/workflows/code-review.json", "--runs", "12", "--json"]
    assert main(arguments) == 0
    told_once = capsys.readouterr().out
    (report,) = json.loads(told_once)["workflows"]
    assert report["workflowId"] == "demo.code_review"
    assert report["runs"] == 12
    assert report["violations"] == []
    assert 0 < report["faults"]["landed"] <= report["faults"]["tried"]
    assert main([*arguments, "--jobs", "2"]) == 0
    assert capsys.readouterr().out == told_once


@pytest.mark.deep
def test_a_cluster_reports_the_same(capsys: pytest.CaptureFixture[str], scheduler: str) -> None:
    arguments = ["explore", "fixtures/workflows/code-review.json", "--runs", "12", "--json"]
    assert main(arguments) == 0
    told_once = capsys.readouterr().out
    assert main([*arguments, "--scheduler", scheduler]) == 0
    assert capsys.readouterr().out == told_once


def test_a_broken_promise_is_told_as_a_short_story(capsys: pytest.CaptureFixture[str]) -> None:
    bug = next(bug for bug in PLANTED if bug.name == "a look writes")
    with bug.planted():
        code = main(["explore", "fixtures/workflows/code-review.json", "--runs", "6", "--profile", "reference"])
    shown = capsys.readouterr().out
    assert code == 1
    assert "1 promise broken" in shown
    assert "look-changes-nothing: rehydrating wrote to the log (reference, guided)" in shown
    assert "    1. agent 1 rehydrates" in shown


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["fixtures/workflows/code-review.json", "--runs", "0"], 2),
        (["fixtures/workflows/no-such.json"], 2),
        (["fixtures/workflows/code-review.json", "--jobs", "none"], 2),
        (["docs"], 3),
    ],
)
def test_a_bad_call_gets_its_exit_code(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", *arguments]) == code
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        "a look writes",
        "the state is stored after the log",
        "four attempts instead of ten",
        "a checkpoint token continues",
        "context of other branches counts",
    ],
)
def test_a_violation_is_written_as_a_scenario_that_fails_until_the_bug_is_gone(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_workrail.explore.hostile_search import scenario_bytes
    from pytest_workrail.scenarios.drivers import play as play_file
    from workrail_lint.base.result import Ok
    from workrail_lint.cli import main as lint

    bug = next(bug for bug in PLANTED if bug.name == name)
    (tmp_path / "workflow.json").write_text(json.dumps(WORKFLOWS[bug.workflow]))
    file = tmp_path / "broken.scenario.json"
    search = searched(bug, 60)
    with bug.planted():
        data = scenario_bytes("workflow.json", compiled(bug.workflow), search.story, *search.broken)
        file.write_bytes(data)
        played = play_file(file, "broken.scenario.json")
    assert isinstance(played, Ok), str(played.error)
    assert search.broken[0] in str(played.value.failure)
    sound = play_file(file, "broken.scenario.json")
    assert isinstance(sound, Ok)
    assert sound.value.failure is None
    assert lint(["check", "--isolated", str(file)]) == 0, capsys.readouterr().out


def test_the_promises_of_scenario_files_are_the_promises_of_the_search() -> None:
    from workrail_lint.systems.workrail.scenario import PromiseName

    assert [promise.value for promise in PromiseName] == list(PROMISES)


@pytest.mark.parametrize(
    ("turn", "member"),
    [
        ({"agent": 2, "does": "right"}, "agent"),
        ({"crash": "before-log"}, "crash"),
        ({"call": "raw", "request": {}}, "raw"),
    ],
)
def test_hostile_turns_need_a_promise(
    turn: dict[str, Any], member: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from workrail_lint.cli import main as lint

    (tmp_path / "workflow.json").write_text(json.dumps(WORKFLOWS["approval"]))
    value = {"workflow": "workflow.json", "agent": {"kind": "auto", "turns": [{"step": "plan", **turn}]}}
    file = tmp_path / "odd.scenario.json"
    file.write_text(json.dumps(value))
    assert lint(["check", "--isolated", str(file)]) == 1
    assert f"`{member}` needs `expect.promise`" in capsys.readouterr().out
    file.write_text(json.dumps({**value, "expect": {"promise": "total"}, "golden": False}))
    assert lint(["check", "--isolated", str(file)]) == 0


def test_pieces_of_a_search_are_added_up_and_the_shortest_story_of_each_promise_is_told() -> None:
    """A story can be read back from what is told of it."""
    long = Story((("look", 0), ("restart",), ("adv", 0, "right")), "locked", "guided", files=True)
    other = Story((("restart",), ("look", 1)), "reference", "guided", stays=True)
    stories = [("total", long), ("healthy", long), ("total", other), ("total", replace(long, turns=other.turns))]
    pieces: list[dict[str, Any]] = [
        {
            "runs": number,
            "states": 10 * number,
            "tried": {"look": number, "restart": 1},
            "landed": {"look": 1},
            "occasions": {"total": number, "healthy": 0},
            "broken": [promise, f"how {number}"],
            "story": asdict(story),
        }
        for number, (promise, story) in enumerate(stories, 1)
    ]
    pieces.append({**pieces[0], "broken": None, "story": None, "tried": {}, "landed": {}})
    answer = combined(json.loads(json.dumps(pieces)))
    violations = answer.pop("violations")
    assert answer == {
        "runs": 11,
        "states": 110,
        "faults": {
            "tried": 14,
            "landed": 4,
            "byKind": {"look": {"tried": 10, "landed": 4}, "restart": {"tried": 4, "landed": 0}},
        },
        "noOccasion": [name for name in PROMISES if name != "total"],
    }
    told = {each["promise"]: each for each in violations}
    assert list(told) == [name for name in PROMISES if name in ("total", "healthy")]
    assert [told["total"]["how"], told["healthy"]["how"]] == ["how 3", "how 2"]
    assert (story_of(told["total"]), story_of(told["healthy"])) == (other, long)
    assert told["total"]["transcript"] == [describe(turn) for turn in other.turns]
    assert told["total"]["promised"] == PROMISES["total"]
    assert scenario_name("demo.a/b", told["total"]) == "demo-a-b.breaks-total-reference.scenario.json"
