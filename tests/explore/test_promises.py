"""The promises of a hostile run: where the oracle expects it, how much it may hold, and that it can be ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs
from planted import GUIDED, NEVER, WORKFLOWS, compiled

from pytest_workrail.agents.agent import Submit
from pytest_workrail.engine.core.outputs import Submission
from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from pytest_workrail.engine.model.events import (
    ContextSet,
    DecisionTraceAppended,
    Event,
    GapRecorded,
    NodeOutputAppended,
)
from pytest_workrail.engine.protocol.errors import internal
from pytest_workrail.explore import hostile_promises
from pytest_workrail.explore.hostile_promises import BrokenPromise, Oracle, Progress, Promises, _context_difference
from pytest_workrail.explore.hostile_search import Settling
from pytest_workrail.explore.hostile_world import CallRecord, World, advance_request
from workrail_lint import Err, Ok, compile_workflow


def step(step_id: str, **members: Any) -> dict[str, Any]:
    return {"id": step_id, "title": step_id, "prompt": f"Do {step_id}.", **members}


def oracle(loop: dict[str, Any], profile: ProfileName) -> Oracle:
    """A loop of at most two iterations, between two steps."""
    repeated = {
        "id": "loop",
        "type": "loop",
        "title": "Loop",
        "loop": {"maxIterations": 2, **loop},
        "body": [step("inner"), step("odd", runCondition={"var": "odd", "equals": True})],
    }
    steps = [step("first"), repeated, step("last")]
    source = {"id": "demo.way", "name": "Way", "description": "One loop.", "version": "1.0.0", "steps": steps}
    made = compile_workflow(source)
    assert isinstance(made, Ok), made.error
    return Oracle(made.value.program, PROFILES[profile])


def way(
    loop: dict[str, Any],
    profile: ProfileName,
    context: dict[str, Any],
    *,
    never_stop: bool = False,
    artifacts: tuple[Any, ...] = (),
) -> str:
    """The steps that follow one another, those of the loop with their iteration, and how the run ends."""
    expected = oracle(loop, profile)
    names, at = [], expected.following(Progress(), context, artifacts, never_stop)
    while at is not None and at.pending is not None:
        names.append(at.pending if at.inside is None else f"{at.pending}-{at.iteration}")
        at = expected.following(at, context, artifacts, never_stop)
    return " ".join([*names, "stuck" if at is None else "end"])


WHILE = {"type": "while", "condition": {"var": "open", "equals": True}}
UNTIL = {"type": "until", "condition": {"var": "done", "equals": True}}
COUNT = {"type": "for", "count": "many"}
EACH = {"type": "forEach", "items": "things"}
DECIDED = {
    "type": "while",
    "conditionSource": {
        "kind": "artifact_contract",
        "contractRef": "wr.contracts.loop_control",
        "loopId": "loop",
    },
}
ONCE, TWICE = "first inner-0 last end", "first inner-0 inner-1 last end"
NOT_AT_ALL = "first last end"
# Beyond its limit a loop ends under profile reference, and in a run that never stops; else the run can't continue.
BEYOND = (TWICE, "first inner-0 inner-1 stuck", TWICE)


@pytest.mark.parametrize(
    ("loop", "context", "reference", "locked", "never_stop"),
    [
        (WHILE, {}, NOT_AT_ALL, NOT_AT_ALL, NOT_AT_ALL),
        (WHILE, {"open": True}, *BEYOND),
        (UNTIL, {"done": True}, NOT_AT_ALL, NOT_AT_ALL, NOT_AT_ALL),
        (UNTIL, {}, *BEYOND),
        ({"type": "for", "count": 1}, {}, ONCE, ONCE, ONCE),
        ({"type": "for", "count": 2}, {}, TWICE, TWICE, TWICE),
        ({"type": "for", "count": 3}, {}, *BEYOND),
        (COUNT, {"many": 1}, ONCE, ONCE, ONCE),
        (COUNT, {"many": 2}, TWICE, TWICE, TWICE),
        (COUNT, {"many": 3}, *BEYOND),
        # A variable that is not set is asked for under profile locked, and the loop is passed over when it stays so.
        (COUNT, {}, "first stuck", NOT_AT_ALL, NOT_AT_ALL),
        (COUNT, {"many": "two"}, "first stuck", "first stuck", "first stuck"),
        (EACH, {"things": []}, NOT_AT_ALL, NOT_AT_ALL, NOT_AT_ALL),
        (EACH, {"things": ["a"]}, ONCE, ONCE, ONCE),
        (EACH, {"things": ["a", "b"]}, TWICE, TWICE, TWICE),
        (EACH, {"things": ["a", "b", "c"]}, *BEYOND),
        (EACH, {}, "first stuck", NOT_AT_ALL, NOT_AT_ALL),
        (EACH, {"things": "a"}, "first stuck", "first stuck", "first stuck"),
        # Without a decision profile reference continues, profile locked asks for one.
        (DECIDED, {}, TWICE, "first inner-0 loop__gate-0 stuck", "first inner-0 loop__gate-0 last end"),
    ],
)
def test_the_oracle_knows_the_way_through_a_loop(
    loop: dict[str, Any], context: dict[str, Any], reference: str, locked: str, never_stop: str
) -> None:
    assert way(loop, "reference", context) == reference
    assert way(loop, "locked", context) == locked
    assert way(loop, "locked", context, never_stop=True) == never_stop


@pytest.mark.parametrize(
    ("decision", "loop_id", "reference", "locked"),
    [
        ("continue", "loop", TWICE, "first inner-0 inner-1 stuck"),
        ("stop", "loop", NOT_AT_ALL, NOT_AT_ALL),
        ("stop", "other", NOT_AT_ALL, "first inner-0 loop__gate-0 stuck"),
        ("perhaps", "loop", TWICE, "first inner-0 loop__gate-0 stuck"),
    ],
)
def test_the_oracle_knows_what_a_decision_does(decision: str, loop_id: str, reference: str, locked: str) -> None:
    artifacts = ({"kind": "wr.loop_control", "loopId": loop_id, "decision": decision},)
    assert way(DECIDED, "reference", {}, artifacts=artifacts) == reference
    assert way(DECIDED, "locked", {}, artifacts=artifacts) == locked


def test_the_last_decision_counts() -> None:
    stop, go = ({"kind": "wr.loop_control", "loopId": "loop", "decision": each} for each in ("stop", "continue"))
    assert way(DECIDED, "locked", {}, artifacts=(go, stop)) == NOT_AT_ALL
    assert way(DECIDED, "locked", {}, artifacts=(stop, go)) == "first inner-0 inner-1 stuck"


def test_the_oracle_evaluates_conditions_inside_a_loop_with_its_variables() -> None:
    assert way({"type": "for", "count": 2}, "locked", {"odd": True}) == "first inner-0 odd-0 inner-1 odd-1 last end"
    # The item is called like the variable of the condition.
    items = {"things": [True, False]}
    assert way({**EACH, "itemVar": "odd"}, "locked", items) == "first inner-0 odd-0 inner-1 last end"


# ---------------------------------------------------------------------------------------- answers that were never given

Change = Callable[[CallRecord], CallRecord]


class Tampered(Promises):
    """Sees the last call otherwise than it was."""

    def __init__(self) -> None:
        super().__init__()
        self.change: Change = lambda record: record

    def called(self, world: World, record: CallRecord) -> None:
        super().called(world, self.change(record))


def nothing(_: Any) -> Any:
    return lambda *_: None


def broken(
    *turns: Any, change: Change, profile: ProfileName = "reference", workflow: str = "approval", mode: str = GUIDED
) -> str:
    """The promise that a run breaks when its last call is changed, and how; nothing when it keeps all of them."""
    watcher = Tampered()
    world = World(compiled(workflow), profile, mode, "tampered", watcher)
    for turn in turns[:-1]:
        world.play(turn)
    watcher.change = change
    try:
        world.play(turns[-1])
    except BrokenPromise as error:
        return f"{error.promise}: {error.how}"
    return ""


def answered(**members: Any) -> Change:
    """A call whose answer has these members, too."""

    def change(record: CallRecord) -> CallRecord:
        assert record.exchange is not None
        response = {**record.exchange.response, **members}
        return replace(record, exchange=structs.replace(record.exchange, response=response))

    return change


def blocked(*blockers: dict[str, Any]) -> Change:
    return answered(blockers={"blockers": [{"code": "OTHER", "message": "", **each} for each in blockers]})


@pytest.mark.parametrize(("profile", "limit"), [("reference", 24_576), ("locked", 12_288)])
def test_the_recovery_text_has_a_budget(profile: ProfileName, limit: int) -> None:
    def shown(size: int) -> str:
        def change(record: CallRecord) -> CallRecord:
            assert record.exchange is not None
            pending = dict(record.exchange.response["pending"])
            text = "## Recovery Context".ljust(size - 2, "x") + "é"
            return answered(pending={**pending, "prompt": f"Do it.\n\n{text}"})(record)

        return broken(("look", 0), change=change, profile=profile)

    assert shown(limit) == ""
    assert shown(limit + 1) == "budget: the recovery text exceeds its budget"


@pytest.mark.parametrize(
    ("most", "change", "how"),
    [
        (10, lambda size: blocked(*[{}] * size), "an answer has 11 blockers"),
        (512, lambda size: blocked({"message": "x" * size}), "the message of a blocker is too long"),
        (1024, lambda size: blocked({"suggestedFix": "x" * size}), "a suggested fix is too long"),
    ],
)
def test_blockers_have_a_budget(most: int, change: Callable[[int], Change], how: str) -> None:
    assert broken(("block", 0, 1), change=change(most)) == ""
    assert broken(("block", 0, 1), change=change(most + 1)) == f"budget: {how}"


def stored(event: type[Event], *path: str, value: Any) -> Change:
    """A call that has stored this value in an event, which the model of the events itself would refuse."""

    def copied(each: Any, names: tuple[str, ...]) -> Any:
        copy = structs.replace(each)
        inner = copied(getattr(each, names[0]), names[1:]) if names[1:] else value
        structs.force_setattr(copy, names[0], inner)
        return copy

    def change(record: CallRecord) -> CallRecord:
        after = tuple(copied(each, path) if isinstance(each, event) else each for each in record.after)
        assert after != record.after
        return replace(record, after=after)

    return change


def test_what_is_stored_has_a_budget() -> None:
    right, more = ("adv", 0, "right"), ("context", 0, "x", 1)

    def notes(size: int) -> Change:
        return stored(NodeOutputAppended, "data", "payload", "notes_markdown", value="x" * size)

    def context(size: int) -> Change:
        return stored(ContextSet, "data", "context", value={"x": "y" * (size - len('{"x":""}'))})

    assert broken(right, change=notes(4096)) == ""
    assert broken(right, change=notes(4097)) == "budget: notes of 4097 bytes are stored"
    assert broken(more, change=context(262_144)) == ""
    assert broken(more, change=context(262_145)) == "budget: a context of 262145 bytes is stored"


@pytest.mark.parametrize(
    "answer",
    [
        lambda token: {"continueToken": token},
        lambda token: {"retryContinueToken": token},
        lambda token: {"gateToken": token},
        lambda token: {"resumeToken": token},
        lambda token: {"nextCall": {"params": {"continueToken": token}}},
        lambda token: {"candidates": [{"resumeToken": "other"}, {"resumeToken": token}]},
        lambda token: {},
    ],
)
def test_a_token_may_be_used_wherever_an_answer_gave_it_out(answer: Callable[[str], dict[str, Any]]) -> None:
    watcher = Tampered()
    world = World(compiled("approval"), "reference", GUIDED, "tampered", watcher)

    def only(record: CallRecord) -> CallRecord:
        assert record.exchange is not None
        response = answer(str(record.exchange.response["continueToken"]))
        return replace(record, exchange=structs.replace(record.exchange, response=response))

    watcher.change = only
    world.play(("look", 0))
    watcher.change = lambda record: record
    if answer(""):
        world.play(("adv", 0, "right"))
    else:
        with pytest.raises(BrokenPromise, match="a token that was never given out is taken"):
            world.play(("adv", 0, "right"))


def test_a_submission_carries_what_the_agent_gives() -> None:
    start = {"continueToken": "t", "intent": "advance"}
    assert advance_request("t", Submit()) == start
    assert advance_request("t", Submit("Done.")) == {**start, "output": {"notesMarkdown": "Done."}}
    assert advance_request("t", Submit("", ({"kind": "a"},), {"x": None})) == {
        **start,
        "context": {"x": None},
        "output": {"artifacts": [{"kind": "a"}]},
    }


# Every promise about a call, kept and broken.
RIGHT, LOOK, BLOCK, RESEND = ("adv", 0, "right"), ("look", 0), ("block", 0, 1), ("resend", 0, 0)
ALL_ATTEMPTS = ("block", 0, 10)


def both(*changes: Change) -> Change:
    def change(record: CallRecord) -> CallRecord:
        for each in changes:
            record = each(record)
        return record

    return change


def failed(code: str) -> Change:
    """A call that gets this error instead of an answer, and that wrote nothing."""

    def change(record: CallRecord) -> CallRecord:
        assert record.exchange is not None
        exchange = structs.replace(record.exchange, is_error=True, response={"code": code, "message": "why"})
        return replace(record, exchange=exchange, after=record.before)

    return change


def accepted(record: CallRecord) -> CallRecord:
    """A call that gets an empty answer instead of an error."""
    assert record.exchange is not None
    return replace(record, exchange=structs.replace(record.exchange, is_error=False, response={}))


def wrote(record: CallRecord) -> CallRecord:
    """A call that wrote one more event, a copy of the first one."""
    return replace(record, after=(*record.after, record.before[0]))


def without(name: str) -> Change:
    def change(record: CallRecord) -> CallRecord:
        assert record.exchange is not None
        response = {key: value for key, value in record.exchange.response.items() if key != name}
        return replace(record, exchange=structs.replace(record.exchange, response=response))

    return change


def pending(**members: Any) -> Change:
    """A call whose answer shows the pending step otherwise."""

    def change(record: CallRecord) -> CallRecord:
        assert record.exchange is not None
        shown: Any = record.exchange.response["pending"]
        return answered(pending={**shown, **{name: f"{shown[name]}{text}" for name, text in members.items()}})(record)

    return change


def same_token(record: CallRecord) -> CallRecord:
    """A look that gets the token back that it was made with."""
    return answered(continueToken=record.request["continueToken"])(record)


NO_CALL = "goes-on: an answer with a pending step prints no next call"
ELSEWHERE = "goes-on: the printed next call after a block does not start from the block"
FINAL = both(blocked({}), answered(nextCall=None, retryable=False))
NOT_FINAL = both(blocked({}), answered(nextCall=None, retryable=True))
FORKED = "fork: the node of step plan shows something other than before"


@pytest.mark.parametrize(
    ("turns", "change", "how"),
    [
        ([LOOK], failed("VALIDATION_ERROR"), ""),
        ([LOOK], failed("ODD"), "total: the error code ODD is not in the closed set"),
        ([LOOK], failed("INTERNAL_ERROR"), "total: continue_workflow fails: why"),
        ([("checkpoint", 0)], failed("SESSION_NOT_HEALTHY"), "total: checkpoint_workflow fails: why"),
        ([LOOK], failed("TOKEN_SESSION_LOCKED"), "goes-on: the session is locked although no one writes to it"),
        ([LOOK], both(failed("VALIDATION_ERROR"), wrote), "refused-changes-nothing: a refused continue_workflow wrote"),
        ([("wrong", 0, "cut")], wrote, "refused-changes-nothing: a refused continue_workflow wrote to the log"),
        ([LOOK], wrote, "look-changes-nothing: rehydrating wrote to the log"),
        ([("resume", 0)], wrote, "look-changes-nothing: rehydrating wrote to the log"),
        ([("checkpoint", 0)], wrote, ""),
        ([RIGHT], wrote, ""),
        ([LOOK], same_token, ""),
        ([RIGHT, ("rewind", 0, 1)], same_token, "goes-on: rehydrating gives out a token that was used before"),
        ([RIGHT, RESEND], lambda record: record, ""),
        ([RIGHT, RESEND], answered(more=1), "replay: the same advance gets another answer than the first time"),
        ([RIGHT, RESEND], wrote, "replay: an advance that is on record was carried out again"),
        ([RIGHT, RESEND], failed("VALIDATION_ERROR"), ""),
        ([RIGHT, RESEND], failed("PRECONDITION_FAILED"), "replay: the same advance gets another answer than the"),
        ([BLOCK, RESEND], wrote, "replay: an advance that is on record was carried out again"),
        ([RIGHT], answered(nextCall=None), NO_CALL),
        ([BLOCK], FINAL, ""),
        ([BLOCK], NOT_FINAL, NO_CALL),
        ([RIGHT], both(answered(nextCall=None), without("pending")), ""),
        (
            [RIGHT],
            answered(nextCall={"params": {"continueToken": "x"}}),
            "goes-on: the token of the printed next call is",
        ),
        ([RIGHT], answered(nextCall={"params": {}}), "goes-on: the token of the printed next call is not known"),
        ([RIGHT], pending(stepId="x"), "goes-on: the printed next call is about another step"),
        ([RIGHT], blocked({}), ELSEWHERE),
        ([BLOCK], blocked({}), ""),
        ([BLOCK], answered(retryable=False), "recoverable: a block by MISSING_REQUIRED_NOTES can't be retried"),
        ([BLOCK], without("retryContinueToken"), "recoverable: a block by MISSING_REQUIRED_NOTES can't be retried"),
        ([BLOCK], both(blocked({}), answered(retryable=False)), ""),
        *(
            ([BLOCK], both(blocked({"code": code}), answered(retryable=False)), f"recoverable: a block by {code} can't")
            for code in (
                "MISSING_REQUIRED_OUTPUT",
                "INVALID_REQUIRED_OUTPUT",
                "MISSING_REQUIRED_NOTES",
                "ASSESSMENT_FOLLOWUP_REQUIRED",
            )
        ),
        ([BLOCK], both(blocked(), answered(retryable=False)), ""),
        ([BLOCK, RIGHT], failed("VALIDATION_ERROR"), ""),
        ([BLOCK, RIGHT], failed("PRECONDITION_FAILED"), "recoverable: attempt 2 in a row was refused"),
        ([("block", 0, 9), RIGHT], failed("PRECONDITION_FAILED"), "recoverable: attempt 10 in a row was refused"),
        ([RIGHT], failed("PRECONDITION_FAILED"), ""),
        ([BLOCK, LOOK], failed("PRECONDITION_FAILED"), ""),
        ([("block", 0, 9), BLOCK], lambda record: record, ""),
        ([ALL_ATTEMPTS, BLOCK], lambda record: record, ""),
        ([ALL_ATTEMPTS, BLOCK], both(accepted, wrote), "recoverable: attempt 11 in a row was taken"),
        ([ALL_ATTEMPTS, LOOK], lambda record: record, ""),
        ([BLOCK, LOOK], without("blockers"), ""),
    ],
)
def test_a_promise_about_a_call_is_kept_or_broken(turns: list[Any], change: Change, how: str) -> None:
    found = broken(*turns, change=change)
    assert found.startswith(how) if how else not found, found


@pytest.mark.parametrize(
    ("is_final", "how"), [(True, "rehydrating a final block does not show the block"), (False, "")]
)
def test_a_look_at_a_final_block_shows_it(is_final: bool, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(World, "is_final_block", lambda *_: is_final)
    assert broken(BLOCK, LOOK, change=without("blockers")) == (f"goes-on: {how}" if how else "")
    assert broken(BLOCK, LOOK, change=both(blocked({}), answered(nextCall=None, retryable=False))) == ""
    assert broken(LOOK, change=without("blockers")) == ""


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (lambda record: record, ""),
        (pending(prompt=" More."), FORKED),
        (pending(title="!"), FORKED),
        (pending(prompt="\n\n## Recovery Context\nNotes."), ""),
    ],
)
def test_a_node_shows_the_same_to_whoever_looks(change: Change, how: str) -> None:
    assert broken(LOOK, LOOK, change=change, profile="locked") == how
    # Under profile reference other branches may change it.
    assert broken(LOOK, LOOK, change=change, profile="reference") == ""


def test_a_trace_has_a_budget() -> None:
    def trace(size: int) -> Change:
        def change(record: CallRecord) -> CallRecord:
            (entry, *_), *_ = (each.data.entries for each in record.after if isinstance(each, DecisionTraceAppended))
            return stored(DecisionTraceAppended, "data", "entries", value=(entry,) * size)(record)

        return change

    assert broken(RIGHT, change=trace(25)) == ""
    assert broken(RIGHT, change=trace(26)) == "budget: a trace has too many entries"


@pytest.mark.parametrize(
    ("actual", "expected", "difference"),
    [
        ({"a": 1}, {}, "variable a is set, but no accepted step has set it"),
        ({}, {"a": 1}, "variable a is not set, but an accepted step has set it"),
        ({"a": 1, "b": "x"}, {"a": 1, "b": "y"}, "variable b is 'x', expected 'y'"),
        ({"a": 1}, {"a": 1.0}, "the context is the same"),
    ],
)
def test_how_contexts_differ(actual: dict[str, Any], expected: dict[str, Any], difference: str) -> None:
    assert _context_difference(actual, expected) == difference


def test_a_run_that_does_not_start_breaks_a_promise_unless_nothing_is_to_be_done() -> None:
    def refused_with(condition: bool) -> str:
        steps = [step("only", runCondition={"var": "x", "equals": 1} if condition else None)]
        made = compile_workflow({**WORKFLOWS["approval"], "steps": [_without_none(each) for each in steps]})
        assert isinstance(made, Ok), made.error
        promises = Promises()
        world = World(made.value.ir, "reference", GUIDED, "refused", Tampered())
        exchange = structs.replace(world.bench.exchanges[0], is_error=True, response={"message": "why"})
        try:
            promises.refused(world, exchange, {})
        except BrokenPromise as error:
            return f"{error.promise}: {error.how}"
        return ""

    assert refused_with(condition=False) == "total: start_workflow fails: why"
    assert refused_with(condition=True) == ""


def _without_none(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


# ----------------------------------------------------------------------------------------------- a faulty engine


def found(*turns: Any, workflow: str = "decision", mode: str = GUIDED, **faults: Any) -> str:
    """The promise that is broken once parts of the engine, or of our account of it, are replaced."""
    watcher = Tampered()
    world = World(compiled(workflow), "reference", mode, "faulty", watcher)
    for turn in turns[:-1]:
        world.play(turn)
    for path, fault in faults.items():
        *names, last = path.split("__")
        target: Any = {"world": world, "promises": watcher}[names[0]]
        for name in names[1:]:
            target = getattr(target, name)
        setattr(target, last, fault(getattr(target, last)))
    try:
        world.play(turns[-1])
    except BrokenPromise as error:
        return f"{error.promise}: {error.how}"
    return ""


def gone(_: Any) -> Any:
    return lambda *_: Err(internal("gone"))


def changed(**members: Any) -> Any:
    """An oracle whose answer has these members."""
    return lambda following: lambda *given: replace(following(*given), **members)


def emptied(nodes: Any) -> Any:
    return {}


def missing_output(_: Any) -> Any:
    return lambda _: Submission()


@pytest.mark.parametrize(
    ("turns", "faults", "how"),
    [
        ([LOOK], {"world__bench__engine__session": gone}, "healthy: the session can't be loaded any more: gone"),
        ([LOOK], {"world__bench__engine__status": gone}, "healthy: the run has no status any more"),
        ([RIGHT], {"promises___nodes": emptied}, "order: a node follows from one that was never there"),
        ([RIGHT], {"promises___oracle__following": nothing}, "order: the run continues although the workflow can't"),
        (
            [RIGHT],
            {"promises___oracle__following": changed(pending="x")},
            "order: step work is pending, but x comes next",
        ),
        (
            [RIGHT],
            {"promises___oracle__following": changed(pending=None)},
            "order: step work is pending, but none comes next",
        ),
        (
            [RIGHT],
            {"promises___oracle__following": changed(iteration=1)},
            "order: iteration 1 of rounds is under way too early or late",
        ),
        (
            [RIGHT],
            {"promises___oracle__following": changed(inside="x")},
            "order: iteration 1 of rounds is under way too early or late",
        ),
        (
            [RIGHT],
            {"promises___oracle__following": changed(done=frozenset({("work", 0)}))},
            "order: step work comes up twice",
        ),
        (
            [RIGHT],
            {"promises___judged_output": missing_output},
            "gaps: a step was accepted although something it asks for is missing",
        ),
    ],
)
def test_a_faulty_engine_is_noticed(turns: list[Any], faults: dict[str, Any], how: str) -> None:
    assert found(*turns, **faults) == how


def test_a_node_that_cannot_be_opened_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(hostile_promises, "_opened", lambda *_: None)
        assert found(RIGHT) == "healthy: a node that was just made can't be opened"
    monkeypatch.setattr(World, "position", lambda *_: None)
    with pytest.raises(BrokenPromise, match="the node of the first answer can't be opened") as broken:
        World(compiled("decision"), "reference", GUIDED, "faulty", Promises())
    assert broken.value.promise == "healthy"


def test_a_gap_is_recorded_by_runs_that_never_stop_and_by_no_others() -> None:
    gaps: list[Event] = []

    def kept(record: CallRecord) -> CallRecord:
        gaps.extend(event for event in record.after if isinstance(event, GapRecorded))
        return record

    def unrecorded(record: CallRecord) -> CallRecord:
        return replace(record, after=tuple(event for event in record.after if not isinstance(event, GapRecorded)))

    def recorded(severity: str) -> Change:
        def change(record: CallRecord) -> CallRecord:
            gap = structs.replace(gaps[0], data=structs.replace(gaps[0].data, severity=severity))  # type: ignore[attr-defined]
            return replace(record, after=(*record.after, gap))

        return change

    assert broken(BLOCK, change=kept, mode=NEVER) == ""
    assert gaps
    assert broken(BLOCK, change=unrecorded, mode=NEVER) == (
        "gaps: the run continued without something, and no gap says so"
    )
    assert broken(RIGHT, change=recorded("critical")) == "gaps: a gap was recorded in a run that stops"
    assert broken(RIGHT, change=recorded("warning")) == ""
    assert broken(RIGHT, change=recorded("critical"), mode=NEVER) == ""


# ------------------------------------------------------------------------------------------------- the way to the end


def settled(*turns: Any, **faults: Any) -> str:
    """The promise that is broken when both agents give right answers from here on, in a world with these faults."""
    promises = Promises()
    world = World(compiled("approval"), "reference", GUIDED, "settled", promises)
    for turn in turns:
        world.play(turn)
    for name, fault in faults.items():
        setattr(world, name, fault(getattr(world, name)))
    try:
        Settling(world, promises, stays=False).run()
    except BrokenPromise as error:
        return f"{error.promise}: {error.how}"
    assert all(agent.is_done for agent in world.agents)
    return ""


def refused(call: Any) -> Any:
    """As `call`, but every answer is an error."""

    def fault(*given: Any) -> CallRecord:
        record: CallRecord = call(*given)
        assert record.exchange is not None
        exchange = structs.replace(record.exchange, is_error=True, response={"code": "X", "message": "no"})
        return replace(record, exchange=exchange)

    return fault


def once(view: Any) -> Any:
    """As `view`, but only the first time."""
    answers = iter([view])
    return lambda position: next(answers, lambda _: None)(position)


def unheard(submit: Any) -> Any:
    """As `submit`, but the agent keeps its token."""

    def fault(who: int, token: str, answer: Submit) -> CallRecord:
        record: CallRecord = submit(who, token, answer)
        agent = submit.__self__.agents[who]
        agent.token, agent.is_done = token, False
        return record

    return fault


EXHAUSTED = ("block", 0, 10)  # all attempts that there are


@pytest.mark.parametrize(
    ("turns", "faults", "how"),
    [
        ([], {}, ""),
        ([EXHAUSTED], {}, ""),
        ([EXHAUSTED], {"prefer": nothing}, "goes-on: a person can't set the preferences above a block"),
        ([EXHAUSTED], {"place": nothing}, "goes-on: the token of the printed next call is not known"),
        ([EXHAUSTED], {"call": refused}, "goes-on: the step above a block can't be rehydrated"),
        ([EXHAUSTED], {"view": once}, "goes-on: the step above a block shows no pending step"),
        ([], {"position": nothing}, "goes-on: the token of the last answer leads nowhere"),
        ([], {"view": nothing}, "ends: no step is pending, and the run is not complete"),
        ([], {"submit": refused}, "ends: a right answer is refused: no"),
        ([], {"submit": unheard}, "ends: the run is not complete after 9 right answers"),
    ],
)
def test_a_run_that_cannot_be_ended_is_noticed(turns: list[Any], faults: dict[str, Any], how: str) -> None:
    assert settled(*turns, **faults) == how
