"""Locks on what crosses a line: nothing is raised over it, nothing is echoed, and errors say what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import structs
from protocol_bench import WORKSPACE, Bench, quiet, workflow
from sample_sessions import Story, tell_short

from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.events import AdvanceRecorded, NodeCreated
from pytest_workrail.engine.store.filesystem import FileSessionStore, Holder, on_files
from pytest_workrail.engine.store.gate import Home
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, TreeFiles
from pytest_workrail.engine.store.plan import AppendPermit, preferences_plan
from pytest_workrail.engine.store.ports import Stamp
from workrail_lint.base.result import Err, Ok

SMALL = workflow("small", quiet("one"), quiet("two"))


def outcome(call: Callable[[], object]) -> object:
    """What a call gives, or the exception it must not raise."""
    try:
        return call()
    except Exception as raised:
        return raised


def requests(bench: Bench) -> Iterator[tuple[Callable[[object], Any], object]]:
    """Every tool with a request that gets as far as the stores."""
    token = bench.actual("CT1")
    engine = bench.engine
    yield engine.list_workflows, {"workspacePath": WORKSPACE}
    yield engine.inspect_workflow, {"workflowId": "small", "workspacePath": WORKSPACE}
    yield engine.start_workflow, {"workflowId": "small", "workspacePath": WORKSPACE, "goal": "g"}
    yield engine.continue_workflow, {"continueToken": token, "intent": "advance"}
    yield engine.continue_workflow, {"continueToken": token, "intent": "rehydrate", "workspacePath": WORKSPACE}
    yield engine.checkpoint_workflow, {"checkpointToken": bench.actual("CK1")}
    yield engine.resume_session, {"workspacePath": WORKSPACE}


def explode(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("a bug")


def test_no_tool_raises() -> None:
    """@enforces error-no-throw-across-mcp"""
    bench = Bench(SMALL)
    bench.start()
    calls = list(requests(bench))
    sessions = bench.home.stores.sessions
    for port, methods in ((sessions, ("load", "list_sessions", "append")), (bench.library, ("entries", "find"))):
        for method in methods:
            setattr(port, method, explode)
    structs.force_setattr(bench.engine.loader, "session", explode)
    answers = [outcome(lambda tool=tool, request=request: tool(request)) for tool, request in calls]  # type: ignore[misc]
    assert [type(answer) for answer in answers] == [Err] * len(calls)
    assert {answer.error.code for answer in answers} == {"INTERNAL_ERROR"}  # type: ignore[attr-defined]


class FailingFiles(TreeFiles):
    """Files in memory on a disk that can be broken."""

    is_broken = False

    def read(self, path: str, offset: int = 0) -> bytes | None:
        if self.is_broken:
            raise OSError(5, "Input/output error")
        return super().read(path, offset)

    def stamp(self, path: str) -> Stamp | None:
        if self.is_broken:
            raise OSError(5, "Input/output error")
        return super().stamp(path)

    def list_dir(self, path: str) -> list[str]:
        if self.is_broken:
            raise OSError(5, "Input/output error")
        return super().list_dir(path)


def home_on(files: TreeFiles) -> Home:
    return on_files(files, FixedClock(), SeededEntropy("lines"), Holder(1, "main", "one"))


def test_a_broken_disk_raises_nothing() -> None:
    """@enforces no-throws-across-boundaries"""
    files = FailingFiles()
    story = tell_short(Story(home_on(files)))
    plan = preferences_plan(story.builder(story.truth), story.root, story.preferences("x", "guided"))
    node = next(event for event in story.truth.events if isinstance(event, NodeCreated))
    stores, session_id = story.home.stores, story.session_id
    files.is_broken = True
    answers = [
        outcome(lambda: stores.sessions.load(session_id)),
        outcome(lambda: stores.sessions.load_validated_prefix(session_id)),
        outcome(stores.sessions.list_sessions),
        outcome(lambda: stores.sessions.append(AppendPermit(session_id), plan)),
        outcome(lambda: stores.snapshots.get(node.data.snapshot_ref)),
        outcome(lambda: stores.workflows.get(node.data.workflow_hash)),
        outcome(story.home.keyring.rotate),
    ]
    assert [type(answer) for answer in answers] == [Err] * len(answers)


def test_what_was_read_before_changes_no_answer() -> None:
    """@enforces projection-cache-rebuildable"""
    files = TreeFiles()
    story = tell_short(Story(home_on(files)))
    warm = FileSessionStore(files)
    fresh = FileSessionStore(files).load(story.session_id).value
    assert len(fresh.events) > 1
    assert warm.load(story.session_id).value == fresh
    assert warm.load(story.session_id).value == fresh, "known by the stamps of its files"
    warm._known.clear()
    assert warm.load(story.session_id).value == fresh, "known by the bytes of its segments"
    warm._known.clear()
    warm._parsed.clear()
    assert warm.load(story.session_id).value == fresh


def test_no_answer_repeats_the_context() -> None:
    """@enforces context-no-echo"""
    bench = Bench(SMALL)
    calls: list[Callable[[], object]] = [
        lambda: bench.start(initialContext={"hush": "first-secret"}),
        lambda: bench.advance("CT1", context={"hush": "second-secret"}),
        lambda: bench.look("CT2"),
        lambda: bench.advance("CT2", context={"hush": "third-secret", "bad": float("nan")}),
    ]
    for call in calls:
        answer = call()
        assert bench.reply is not None
        assert "secret" not in f"{answer} {bench.reply.text}"


def test_a_passed_over_step_shows_what_its_condition_reads_and_nothing_else() -> None:
    """@enforces context-no-echo"""
    deep = quiet("deep", runCondition={"var": "depth", "equals": "deep"})
    bench = Bench(workflow("small", quiet("one"), deep, quiet("two")), profile="locked")
    bench.start(initialContext={"depth": "shallow", "hush": "secret"})
    answer = bench.advance("CT1")
    assert bench.reply is not None
    assert answer["skipped"][0]["unmet"][0]["actual"] == {"kind": "value", "value": "shallow"}
    assert "secret" not in f"{answer} {bench.reply.text}"
    assert "hush" not in f"{answer} {bench.reply.text}"


def test_another_attempt_is_another_advance() -> None:
    """@enforces ack-idempotency-key"""
    bench = Bench(SMALL)
    bench.start()
    first = bench.advance("CT1")
    again = bench.look("CT1")
    assert bench.advance("CT1") == first, "the same attempt is the same advance"
    forked = bench.advance(again["continueToken"].strip("«»"))
    assert forked["pending"] == first["pending"]
    assert forked["continueToken"] != first["continueToken"]
    advances = [event for event in bench.events if isinstance(event, AdvanceRecorded)]
    assert len(advances) == 2
    assert len({event.dedupe_key for event in advances}) == 2


@pytest.mark.parametrize("changed", [0, 1, 2])
def test_an_advance_is_known_by_all_of_its_ids(changed: int) -> None:
    """@enforces ack-idempotency-key"""
    ids: list[Any] = ["sess_a", "node_a", "attempt_a"]
    others = [f"{text}b" if place == changed else text for place, text in enumerate(ids)]
    assert keys.advance_recorded(*ids) == keys.advance_recorded(*ids)
    assert keys.advance_recorded(*ids) != keys.advance_recorded(*others)


@pytest.mark.parametrize(
    ("tool", "request_"),
    [
        ("start_workflow", {}),
        ("start_workflow", {"workflowId": "other", "workspacePath": WORKSPACE, "goal": "g"}),
        ("start_workflow", {"workflowId": "small", "workspacePath": "relative", "goal": "g"}),
        ("start_workflow", {"workflowid": "small", "workspacePath": WORKSPACE, "goal": "g"}),
        ("inspect_workflow", {"workflowId": "other", "workspacePath": WORKSPACE}),
        ("continue_workflow", {"continueToken": "nonsense", "intent": "advance"}),
        ("continue_workflow", {"continueToken": "ct_" + "A" * 24, "intent": "advance"}),
        ("continue_workflow", {"continueToken": "ct_" + "A" * 24, "intent": "advance", "context": {"a": 1e999}}),
        ("continue_workflow", []),
        ("checkpoint_workflow", {"checkpointToken": "ck_" + "A" * 24}),
        ("resume_session", {"workspacePath": 4}),
        ("list_workflows", None),
    ],
)
def test_every_refusal_says_what_to_do(tool: str, request_: object) -> None:
    """@enforces error-self-correcting"""
    bench = Bench(SMALL)
    answer = getattr(bench.engine, tool)(request_)
    assert not isinstance(answer, Ok)
    shown = answer.error.to_json()
    assert shown["message"].strip()
    assert len(shown["details"]["suggestion"].split()) > 2
