"""What the searches say is what is kept in `expected/`; turns of a hostile run: how they are drawn and described."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from search_outputs import EXPECTED, LINES, outputs

from pytest_workrail.explore.hostile_turns import (
    BEHAVIOURS,
    CRASH_POINTS,
    KINDS,
    MALFORMED,
    OVERSIZE,
    WRONG_TOKENS,
    describe,
    draw,
    simpler,
)
from pytest_workrail.explore.hostile_world import _TURNS

# When a change is wanted: `python tests/explore/search_outputs.py`, and read what git shows.


def test_the_searches_say_what_is_expected(tmp_path: Path) -> None:
    expected = {path.name: path.read_text(encoding="utf-8") for path in EXPECTED.iterdir() if path.stem not in LINES}
    found = outputs(tmp_path)
    assert sorted(found) == sorted(expected)
    different = [name for name in found if found[name] != expected[name]]
    assert different == []


def as_expected(name: str) -> bool:
    return LINES[name]() == (EXPECTED / f"{name}.txt").read_text(encoding="utf-8")


def test_mutants_of_workflows_are_as_expected() -> None:
    assert as_expected("mutants")


def test_scenarios_that_would_notice_a_mutant_are_as_expected() -> None:
    assert as_expected("missing")


def test_what_is_tried_for_every_mutant_is_as_expected() -> None:
    assert as_expected("tried")


def test_turns_of_a_hostile_run_are_as_expected() -> None:
    assert as_expected("turns")


def test_stories_of_planted_bugs_are_as_expected() -> None:
    assert as_expected("found")


def test_generated_scenarios_and_the_way_to_them_are_as_expected() -> None:
    assert as_expected("plans")


def test_occasions_to_break_a_promise_are_as_expected() -> None:
    assert as_expected("occasions")


def test_what_is_submitted_to_show_a_goal_is_as_expected() -> None:
    assert as_expected("answers")


# What stands behind the agent in a turn of each kind; what has no agent, and what is drawn from the workflow, is apart.
DRAWN: dict[str, set[Any]] = {
    "adv": {*BEHAVIOURS, "right"},
    "block": {1, 2, 3, 4, 9, 10, 12},
    "around": {1, 2, 3, 4, 5},
    "resend": {0, 1, 2},
    "old": {1, 2, 3, 4, 5, 6},
    "wrong": set(WRONG_TOKENS),
    "malformed": set(range(MALFORMED)),
    "oversize": set(OVERSIZE),
    "rewind": {1, 2, 3, 4, 5, 6},
    "crash": set(CRASH_POINTS),
}


def test_every_turn_is_drawn_and_no_other() -> None:
    random = Random("all")
    turns = [draw(random, {"size": [7]}) for _ in range(6000)]
    assert {turn[0] for turn in turns} == set(KINDS) == set(_TURNS)
    for kind, arguments in DRAWN.items():
        assert {turn[2] for turn in turns if turn[0] == kind} == arguments, kind
    assert {turn[1:] for turn in turns if turn[0] in ("restart", "join")} == {()}
    assert {turn[1:] for turn in turns if turn[0] in ("look", "checkpoint", "resume", "printed")} == {(0,), (1,)}
    changes = [turn[2:] for turn in turns if turn[0] == "context"]
    assert {name for name, _ in changes} == {"x", "note", "metrics_outcome", "size"}
    assert ("size", 7) in changes
    # The first agent does most, and most turns lead on.
    assert 0.6 < sum(turn[1] == 0 for turn in turns if len(turn) > 1) / sum(len(turn) > 1 for turn in turns) < 0.7
    assert max(KINDS, key=[turn[0] for turn in turns].count) == "adv"


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (("adv", 0, "wrong_type"), "agent 1 submits the step: wrong type"),
        (("block", 1, 3), "agent 2 submits nothing, 3 times in a row"),
        (("around", 0, 2), "agent 1 goes around the loop, 2 times"),
        (("context", 0, "x", None), "agent 1 submits the step and removes x"),
        (("context", 0, "x", "a"), "agent 1 submits the step and sets x = 'a'"),
        (("look", 0), "agent 1 rehydrates"),
        (("resend", 0, 1), "agent 1 sends advance -2 again"),
        (("old", 0, 2), "agent 1 advances with its token -3"),
        (("wrong", 0, "cut"), "agent 1 advances with a wrong token (cut)"),
        (("malformed", 0, 0), "agent 1 makes a malformed call (shape 1)"),
        (("oversize", 0, "notes"), "agent 1 submits too much: notes"),
        (("rewind", 1, 1), "agent 2 goes back to its token -2"),
        (("crash", 0, "before-log"), "agent 1 submits the step and the engine dies before the log"),
        (("restart",), "the engine is restarted"),
        (("join",), "agent 2 takes over the token of agent 1"),
        (("checkpoint", 0), "agent 1 makes a checkpoint"),
        (("resume", 0), "agent 1 asks for sessions to resume"),
        (("printed", 0), "agent 1 makes the printed next call"),
    ],
)
def test_a_turn_is_described(turn: tuple[Any, ...], words: str) -> None:
    assert describe(turn) == words


@pytest.mark.parametrize(
    ("turn", "plainer"),
    [
        (("adv", 0, "right"), [("adv", 0, "nothing")]),
        (("adv", 1, "lazy"), [("adv", 0, "lazy"), ("adv", 1, "right"), ("adv", 1, "nothing")]),
        (("block", 0, 3), [("block", 0, 1), ("block", 0, 2)]),
        (("resend", 0, 2), [("resend", 0, 0), ("resend", 0, 1)]),
        (("rewind", 0, 1), []),
        (("wrong", 0, "cut"), []),
        (("join",), []),
    ],
)
def test_a_turn_becomes_plainer(turn: tuple[Any, ...], plainer: list[tuple[Any, ...]]) -> None:
    assert simpler(turn) == plainer
