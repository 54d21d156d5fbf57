"""Errors: locked, damaged and lost things, seen from the tools. Always data, never half a write."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from protocol_bench import WORKSPACE, Bench, quiet, step, workflow

from pytest_workrail.engine.model.base import CorruptionReason
from pytest_workrail.engine.model.events import AdvanceRecorded, EdgeCreated, NodeCreated
from pytest_workrail.engine.model.ids import NodeId, ref_of
from pytest_workrail.engine.protocol.errors import (
    RetryableAfter,
    ToolError,
    from_content,
    from_gate,
    from_store,
    internal,
    not_healthy,
)
from pytest_workrail.engine.protocol.sessions import find_node
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.filesystem import Holder, on_files
from pytest_workrail.engine.store.gate import CorruptTail, GateError, Home
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, TreeFiles
from pytest_workrail.engine.store.ports import ContentError, LockIoError, StoreIoError, StoreLockBusy
from pytest_workrail.engine.tokens.issuer import ContinueGrant, KeyringError, NodeAddress, StateGrant, TokenIssuer
from workrail_lint.base.result import Err, Ok

TWO = workflow("two-steps", quiet("one"), quiet("two"))


def on_tree(files: TreeFiles, seed: str = "tree") -> Home:
    return on_files(files, FixedClock(step_ms=1), SeededEntropy(seed), Holder(1, "main", seed))


def on_tree_bench(*authored: dict[str, Any]) -> tuple[Bench, TreeFiles]:
    files = TreeFiles()
    return Bench(*authored, home=on_tree(files)), files


def test_the_envelope() -> None:
    """@enforces error-envelope-shape
    @enforces error-retry-via-field
    """
    assert list(internal("m").to_json()) == ["code", "message", "retry", "details"]
    assert RetryableAfter(250).to_json() == {"kind": "retryable_after_ms", "afterMs": 250}
    busy = from_store(StoreLockBusy("busy", 250)).to_json()
    assert (busy["code"], busy["retry"]) == ("INTERNAL_ERROR", {"kind": "retryable_after_ms", "afterMs": 250})
    assert from_store(StoreIoError("disk")).to_json()["retry"] == {"kind": "not_retryable"}


def all_calls(bench: Bench) -> list[dict[str, Any]]:
    return [bench.advance("CT1"), bench.look("CT1"), bench.checkpoint("CK1")]


def test_a_session_that_somebody_else_holds() -> None:
    bench = Bench(TWO)
    bench.start()
    lock = bench.home.gate._lock
    assert lock.acquire(bench.session_id).is_ok
    shown = bench.advance("CT1")
    assert (shown["code"], shown["retry"]) == ("TOKEN_SESSION_LOCKED", {"kind": "retryable_after_ms", "afterMs": 1000})
    assert bench.checkpoint("CK1")["code"] == "TOKEN_SESSION_LOCKED"
    assert bench.look("CT1")["kind"] == "ok"
    assert lock.release(bench.session_id).is_ok
    first = bench.advance("CT1")
    assert first["kind"] == "ok"
    assert lock.acquire(bench.session_id).is_ok
    # What is on record is answered without the lock.
    assert bench.advance("CT1") == first


def test_a_call_from_inside_a_call() -> None:
    bench = Bench(TWO)
    bench.start()
    inside: list[dict[str, Any]] = []

    def reenter(permit: Any, truth: Any) -> None:
        inside.append(bench.advance("CT1"))

    assert bench.home.gate.with_healthy_session_lock(bench.session_id, reenter).is_ok
    assert inside[0]["code"] == "TOKEN_SESSION_LOCKED"


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (lambda raw: raw[:-5], "corrupt_tail"),
        (lambda raw: b"{" + raw, "corrupt_head"),
        (lambda raw: raw.replace(b'"v":1}', b'"v":2}', 1), "unknown_version"),
    ],
)
def test_a_damaged_session(damage: Any, kind: str) -> None:
    """@enforces execution-gated-by-health
    @enforces salvage-read-only
    @enforces session-health-closed-set
    """
    bench, files = on_tree_bench(TWO)
    bench.start()
    bench.advance("CT1")
    session_id = bench.session_id
    path = layout.manifest(session_id)
    files.contents[path] = damage(files.contents[path])
    before = dict(files.contents)
    for shown in all_calls(bench):
        assert shown["code"] == "SESSION_NOT_HEALTHY"
        assert shown["details"]["details"]["health"]["kind"] == kind
    resumed = bench.engine.resume_session({"workspacePath": WORKSPACE}).value.to_json()
    assert resumed == {"candidates": [], "totalEligible": 0}
    assert bench.engine.export_session(session_id).error.code == "EXPORT_SESSION_STORE_ERROR"
    bench.engine.export_session(session_id, salvage=True)
    assert files.contents == before


def test_a_lost_snapshot() -> None:
    bench, files = on_tree_bench(TWO)
    bench.start()
    node = next(event for event in bench.events if isinstance(event, NodeCreated))
    del files.contents[layout.snapshot(node.data.snapshot_ref)]
    assert bench.look("CT1")["code"] == "TOKEN_UNKNOWN_NODE"
    assert bench.advance("CT1")["code"] == "INTERNAL_ERROR"


def test_a_damaged_snapshot() -> None:
    bench, files = on_tree_bench(TWO)
    bench.start()
    node = next(event for event in bench.events if isinstance(event, NodeCreated))
    path = layout.snapshot(node.data.snapshot_ref)
    files.contents[path] = files.contents[path].replace(b"one", b"two")
    assert bench.look("CT1")["code"] == bench.advance("CT1")["code"] == "INTERNAL_ERROR"


def test_a_recorded_advance_whose_snapshot_is_lost_is_not_computed_again() -> None:
    """@enforces replay-fail-closed"""
    bench, files = on_tree_bench(TWO)
    bench.start()
    bench.advance("CT1")
    node = [event for event in bench.events if isinstance(event, NodeCreated)][-1]
    del files.contents[layout.snapshot(node.data.snapshot_ref)]
    before = dict(files.contents)
    assert bench.advance("CT1")["code"] == "INTERNAL_ERROR"
    assert files.contents == before


@pytest.mark.parametrize("content", [None, b'{"sourceKind":"v1_preview"}'])
def test_a_pinned_workflow_that_is_gone_or_not_executable(content: bytes | None) -> None:
    """@enforces ir-format-refused-when-unknown"""
    bench, files = on_tree_bench(TWO)
    bench.start()
    (path,) = (path for path in files.contents if path.startswith(layout.PINNED_WORKFLOWS))
    del files.contents[path]
    fresh = Bench(TWO, home=on_tree(files, "again"))
    if content is not None:
        # A content store that does not look at what it is asked for.
        fresh.engine.loader.programs._load = lambda _: Ok(json.loads(content))
    for shown in (fresh.advance(bench.actual("CT1")), fresh.look(bench.actual("CT1"))):
        assert shown["code"] == "PRECONDITION_FAILED"


def test_a_full_disk() -> None:
    bench, files = on_tree_bench(TWO)
    bench.start()
    before = bench.events

    def refuse(*_: object) -> Any:
        raise OSError(28, "No space left on device")

    files.create, files.extend = refuse, refuse  # type: ignore[method-assign]
    for shown in (bench.start(), bench.advance("CT1"), bench.look("CT1")):
        assert shown["code"] == "INTERNAL_ERROR"
        assert "/" not in shown["message"]
    del files.create, files.extend
    assert bench.events == before
    assert bench.advance("CT1")["kind"] == "ok"


def test_a_bug_inside_is_data_outside() -> None:
    """@enforces error-no-throw-across-mcp
    @enforces no-throws-across-boundaries
    """
    bench = Bench(TWO)
    bench.start()

    def explode(*_: object, **__: object) -> Any:
        raise ZeroDivisionError("a secret path /home/somebody")

    bench.engine.loader.programs.of = explode  # type: ignore[method-assign]
    bench.library.entries = explode  # type: ignore[method-assign]
    answers = [
        bench.advance("CT1"),
        bench.look("CT1"),
        bench.start(),
        bench.shown(bench.engine.list_workflows({"workspacePath": WORKSPACE})),
    ]
    for shown in answers[:2] + answers[3:]:
        assert shown["code"] == "INTERNAL_ERROR"
        assert "secret" not in json.dumps(shown)
    error = bench.engine.list_workflows({"workspacePath": WORKSPACE}).error
    assert isinstance(error.cause, ZeroDivisionError)


def test_an_artifact_that_is_not_json() -> None:
    bench = Bench(TWO)
    bench.start()
    before = bench.events
    for artifact in ({1, 2}, float("nan"), {"a": object()}):
        assert bench.go("CT1", artifacts=[artifact])["code"] == "VALIDATION_ERROR"
    deep: Any = []
    for _ in range(500):
        deep = [deep]
    assert bench.go("CT1", artifacts=[deep])["code"] == "INTERNAL_ERROR"
    assert bench.events == before
    assert bench.go("CT1", artifacts=[None, 1, "x", [], {}])["kind"] == "ok"


def test_advancing_a_finished_run() -> None:
    bench = Bench(TWO)
    bench.start()
    bench.advance("CT1")
    bench.advance("CT2")
    place = bench.engine.place_of(bench.actual("CT2")).value
    end = [event for event in bench.events if isinstance(event, NodeCreated)][-1]
    over = NodeAddress(place.session_id, place.run_id, end.scope.node_id)
    ref = ref_of(end.data.workflow_hash)
    token = bench.home.issuer.continue_token(ContinueGrant(over, bench.home.mint.attempt(), ref)).value
    assert bench.advance(token)["code"] == "INTERNAL_ERROR"
    shown = bench.look(token)
    assert shown == {
        "kind": "ok",
        "isComplete": True,
        "pending": None,
        "preferences": {"autonomy": "guided", "riskPolicy": "conservative"},
        "nextIntent": "complete",
        "nextCall": None,
    }


def test_two_engines_on_one_session_give_one_answer() -> None:
    """The second one meets the record that the first one made while it waited for its turn."""
    files = TreeFiles()
    one, other = Bench(TWO, home=on_tree(files, "one")), Bench(TWO, home=on_tree(files, "other"))
    one.start()
    token = one.actual("CT1")
    gate = other.home.gate
    inner = gate._healthy
    calls = 0

    def interleaved(session_id: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            one.advance("CT1", notes="first")
        return inner(session_id)

    gate._healthy = interleaved  # type: ignore[method-assign]
    answer = other.engine.continue_workflow({"continueToken": token, "notes": "second"}).value.to_json()
    assert answer == one.engine.continue_workflow({"continueToken": token, "notes": "third"}).value.to_json()
    assert sum(isinstance(event, AdvanceRecorded) for event in one.events) == 1


def test_a_checkpoint_changes_how_the_next_advance_is_recorded_and_nothing_else() -> None:
    bench = Bench(workflow("mark", step("one", "One", "One."), quiet("two")))
    bench.start()
    marked = bench.checkpoint("CK1")
    assert "NODE" in marked["checkpointNodeId"]
    causes = [event.data.cause.kind for event in bench.events if isinstance(event, EdgeCreated)]
    assert causes == ["checkpoint_created"]
    session = bench.engine.session(bench.session_id).value
    run = session.runs[bench.run_id]
    checkpoint = NodeId(bench.actual("NODE1"))
    assert run.tips == (checkpoint,)
    root = run.nodes[run.lineage(checkpoint)[0]]
    assert run.nodes[checkpoint].snapshot_ref == root.snapshot_ref
    # The checkpoint node itself can be advanced from, by whoever looks at it.
    place = bench.engine.place_of(bench.actual("CT1")).value
    there = NodeAddress(place.session_id, place.run_id, checkpoint)
    state = bench.home.issuer.state_token(StateGrant(there, ref_of(root.workflow_hash))).value
    fresh = bench.look(state)["continueToken"].strip("«»")
    assert bench.go(fresh, notes="n")["kind"] == "ok"


def test_advancing_from_the_checkpoint_of_a_blocked_node_is_a_fresh_advance() -> None:
    bench = Bench(workflow("mark", step("one", "One", "One."), quiet("two")))
    bench.start()
    blocked = bench.advance("CT1")
    bench.checkpoint(blocked["checkpointToken"].strip("«»"))
    place = bench.engine.place_of(bench.actual("CT1")).value
    there = NodeAddress(place.session_id, place.run_id, NodeId(bench.actual("NODE1")))
    node = next(event for event in bench.events if isinstance(event, NodeCreated))
    state = bench.home.issuer.state_token(StateGrant(there, ref_of(node.data.workflow_hash))).value
    shown = bench.look(state)
    assert (shown["kind"], shown["pending"]["stepId"]) == ("ok", "one")
    before = len(bench.events)
    assert bench.go(shown["continueToken"].strip("«»"), notes="n")["kind"] == "ok"
    assert "validation_performed" not in bench.log(before)


@pytest.mark.parametrize(
    ("method", "tool"),
    [
        ("continue_token", "start"),
        ("checkpoint_token", "start"),
        ("continue_token", "look"),
        ("checkpoint_token", "look"),
        ("continue_token", "advance"),
        ("state_token", "checkpoint"),
        ("continue_token", "checkpoint"),
        ("long_state_token", "resume"),
    ],
)
def test_a_token_that_cannot_be_made_is_an_error(monkeypatch: pytest.MonkeyPatch, method: str, tool: str) -> None:
    bench = Bench(TWO)
    bench.start()
    lost = Err(KeyringError("KEYRING_IO_ERROR", "The keys can't be read."))
    monkeypatch.setattr(TokenIssuer, method, lambda *_: lost)
    calls: dict[str, Callable[[], dict[str, Any]]] = {
        "start": bench.start,
        "look": lambda: bench.look("CT1"),
        "advance": lambda: bench.advance("CT1"),
        "checkpoint": lambda: bench.checkpoint("CK1"),
        "resume": lambda: bench.shown(bench.engine.resume_session({"workspacePath": WORKSPACE})),
    }
    shown = calls[tool]()
    assert (shown["code"], shown["message"]) == ("INTERNAL_ERROR", "Tokens can't be made or read (KEYRING_IO_ERROR).")


HERE, ELSEWHERE = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"


@pytest.mark.parametrize(
    ("run", "ref", "expected"),
    [
        (None, None, "No run is known for this token."),
        ((None, {}), None, "No run is known for this token."),
        ((HERE, {}), None, "The run has no such node."),
        ((HERE, {"n": HERE}), ELSEWHERE, "The run executes another version of the workflow."),
        ((HERE, {"n": ELSEWHERE}), None, "The node belongs to another version of the workflow."),
        ((HERE, {"n": HERE}), None, None),
        ((HERE, {"n": HERE}), HERE, None),
    ],
)
def test_the_node_of_a_token_is_found_or_the_reason_why_not(run: Any, ref: Any, expected: str | None) -> None:
    runs = {}
    if run is not None:
        nodes = {name: SimpleNamespace(workflow_hash=each) for name, each in run[1].items()}
        started = None if run[0] is None else SimpleNamespace(workflow_hash=run[0])
        runs["r"] = SimpleNamespace(started=started, nodes=nodes)
    place: Any = SimpleNamespace(run_id="r", node_id="n")
    session: Any = SimpleNamespace(runs=runs)
    found = find_node(session, place, None if ref is None else ref_of(ref))
    assert (found.error.message if isinstance(found, Err) else None) == expected
    if isinstance(found, Ok):
        assert found.value == (runs["r"], runs["r"].nodes["n"])


_FULL = "The call could not be completed: the data folder has no room (no space)."
_TORN = CorruptTail(CorruptionReason("digest_mismatch", "cut short"))


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (from_gate(GateError("SESSION_LOCKED", "Busy.")), "TOKEN_SESSION_LOCKED", "Busy."),
        (from_gate(GateError("SESSION_LOCK_REENTRANT", "Again.")), "TOKEN_SESSION_LOCKED", "Again."),
        (from_gate(GateError("LOCK_RELEASE_FAILED", "Kept.")), "TOKEN_SESSION_LOCKED", "Kept."),
        (
            from_gate(GateError("SESSION_NOT_HEALTHY", "Torn.", _TORN)),
            "SESSION_NOT_HEALTHY",
            "The session can't be continued: corrupt_tail.",
        ),
        (
            from_gate(GateError("SESSION_NOT_HEALTHY", "Torn.")),
            "INTERNAL_ERROR",
            "The session could not be written (SESSION_NOT_HEALTHY).",
        ),
        *(
            (from_gate(GateError("SESSION_LOAD_FAILED", "It.", cause=cause)), "INTERNAL_ERROR", message)
            for cause, message in (
                (StoreIoError("no space", True), _FULL),
                (LockIoError("no space", True), _FULL),
                (StoreIoError("refused"), "The session could not be written (SESSION_LOAD_FAILED)."),
                (LockIoError("refused"), "The session could not be written (SESSION_LOAD_FAILED)."),
            )
        ),
        (from_store(StoreIoError("no space", True)), "INTERNAL_ERROR", _FULL),
        (
            from_store(StoreIoError("refused")),
            "INTERNAL_ERROR",
            "The session store failed (SESSION_STORE_IO_ERROR).",
        ),
        (from_content(ContentError("SNAPSHOT_STORE_IO_ERROR", "no space", True)), "INTERNAL_ERROR", _FULL),
        (
            from_content(ContentError("SNAPSHOT_STORE_IO_ERROR", "refused")),
            "INTERNAL_ERROR",
            "Stored content can't be used (SNAPSHOT_STORE_IO_ERROR).",
        ),
    ],
    ids=str,
)
def test_what_a_store_or_the_gate_refuses_is_said_to_the_agent(error: ToolError, code: str, message: str) -> None:
    assert (error.code, error.message) == (code, message)
    assert isinstance(error.retry, RetryableAfter) is (message == _FULL or code == "TOKEN_SESSION_LOCKED")
    if code == "SESSION_NOT_HEALTHY":
        assert error == not_healthy(_TORN)
