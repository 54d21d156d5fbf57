"""Scripts: the outcome of every call that a run on record is replayed with, also of one that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from session_files import Session, step, workflow, write

from pytest_workrail.agents.agent import Exchange
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.replay import pinned_of, program_of, shown_differences
from pytest_workrail.sessions.script import Outcome, Player, Script, SubmitStep, outcome_of, script_of
from pytest_workrail.sessions.story import ContextChange, stories
from workrail_lint import Ok, compile_workflow

STARTED = Outcome("ok", "first", is_complete=False)


def played(*actions: SubmitStep, context: dict[str, Any] | None = None) -> list[Outcome | None]:
    """The outcomes of a script: of its start, then of each action."""
    made = compile_workflow(workflow(step("first"), step("second")))
    assert isinstance(made, Ok), made.error
    player = Player(made.value.ir, Script("Do it.", context or {}, DEFAULT_PREFERENCES, STARTED, actions))
    return [player.start(), *(outcome for _, outcome in player.play())]


def submit(node: int, notes: str | None, context: dict[str, Any] | None = None) -> SubmitStep:
    return SubmitStep(node, None, notes, (), context, STARTED)


def test_every_submission_has_its_outcome() -> None:
    missing = Outcome("blocked", "first", is_complete=False, codes=("MISSING_REQUIRED_NOTES",))
    second, complete = Outcome("ok", "second", is_complete=False), Outcome("ok", None, is_complete=True)
    assert played(submit(1, None), submit(2, "Done."), submit(3, "Done.")) == [STARTED, missing, second, complete]


def test_a_call_that_fails_is_an_error_with_its_code() -> None:
    refused = Outcome("error", None, is_complete=False, codes=("VALIDATION_ERROR",))
    unknown = Outcome("error", None, is_complete=False, codes=("TOKEN_UNKNOWN_NODE",))
    assert played(submit(1, "Done.", {"__proto__": 1}), submit(9, "Done.")) == [STARTED, refused, unknown]
    # A run that never began has no node at all.
    assert played(submit(1, "Done."), context={"__proto__": 1}) == [refused, unknown]


@pytest.mark.parametrize(
    ("response", "is_error", "outcome"),
    [
        ({"code": "X", "continueToken": "t"}, True, Outcome("error", None, is_complete=False, codes=("X",))),
        ({"kind": "ok", "pending": {"stepId": "one"}}, False, Outcome("ok", "one", is_complete=False)),
    ],
)
def test_an_outcome_leaves_out_tokens(response: dict[str, Any], is_error: bool, outcome: Outcome) -> None:
    found = outcome_of(Exchange("continue_workflow", {}, response, is_error))
    assert found == outcome
    assert found.answer == {name: value for name, value in response.items() if not name.endswith("Token")}


@pytest.mark.parametrize(
    ("change", "at", "contexts"),
    [
        # The first submission is blocked: what it brings in comes again with the next, and then no more.
        ({"host": 1}, 0, [{"host": 1}, {"host": 1, "own": 1}, None]),
        ({"host": 1}, 1, [None, {"host": 1, "own": 1}, None]),
        ({"own": 2}, 1, [None, {"own": 1}, None]),
        ({"host": 1}, 2, [None, {"own": 1}, {"host": 1}]),
        # What only a host may write is refused from an agent.
        ({"triggerSource": "cron"}, 2, [None, {"own": 1}, None]),
    ],
)
def test_what_a_host_changed_comes_with_submissions_until_one_is_accepted(
    tmp_path: Path, change: dict[str, Any], at: int, contexts: list[dict[str, Any] | None]
) -> None:
    session = Session(workflow(step("first"), step("second"), step("third")), onboarding=False)
    recorded = session.submit().submit("One.", context={"own": 1}).submit("Two.").played()
    write(tmp_path, recorded)
    folder = DataFolder(str(tmp_path))
    (story,) = stories(folder, recorded.session_id)
    pinned = pinned_of(folder, story.workflow_hash)
    assert isinstance(pinned, Ok), pinned.error
    program = program_of(pinned.value.runnable)
    assert isinstance(program, Ok), program.error
    story.beats.insert(at, ContextChange(change, change, 0, 0))
    actions = script_of(story, program.value).actions
    assert [action.context for action in actions if isinstance(action, SubmitStep)] == contexts


PENDING = {"prompt": "p", "title": "t", "agentRole": "r", "modelTier": "mid"}
ANSWER: dict[str, Any] = {
    "pending": PENDING,
    "nextIntent": "a",
    "preferences": {},
    "references": [],
    "stepContext": {},
    "gateKind": "b",
    "blockers": [],
    "other": 1,
}


@pytest.mark.parametrize(
    ("changed", "differences"),
    [
        ({}, []),
        ({"other": 2}, []),
        *(
            ({"pending": {**PENDING, member: "x"}}, [f"the {noun} of step do changed"])
            for member, noun in (
                ("prompt", "prompt"),
                ("title", "title"),
                ("agentRole", "agent role"),
                ("modelTier", "model tier"),
            )
        ),
        ({"pending": None}, []),
        *(
            ({member: "x"}, [f"{member} changed at step do"])
            for member in ("nextIntent", "preferences", "references", "stepContext", "gateKind")
        ),
        ({"blockers": ["x"]}, ["the blockers of step do are worded differently"]),
    ],
)
def test_what_an_agent_sees_although_the_path_is_the_same(changed: dict[str, Any], differences: list[str]) -> None:
    before, now = Outcome("ok", "do", False, answer=ANSWER), Outcome("ok", "do", False, answer={**ANSWER, **changed})
    assert shown_differences(before, now) == differences


def test_a_difference_at_the_end_is_named_so() -> None:
    before, now = Outcome("ok", None, True), Outcome("ok", None, True, answer={"nextIntent": "a"})
    assert shown_differences(before, now) == ["nextIntent changed at step the end"]
