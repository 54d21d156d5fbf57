"""Requests of every wrong kind: an answer is always data, every error says what to do, and nothing is written."""

from __future__ import annotations

import json
from typing import Any

from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from protocol_bench import WORKSPACE, Bench, quiet, step, workflow

from pytest_workrail.engine.protocol.engine import Answer

TOOLS = (
    "start_workflow",
    "continue_workflow",
    "checkpoint_workflow",
    "resume_session",
    "list_workflows",
    "inspect_workflow",
)
CODES = {
    "VALIDATION_ERROR",
    "NOT_FOUND",
    "PRECONDITION_FAILED",
    "INTERNAL_ERROR",
    "TOKEN_INVALID_FORMAT",
    "TOKEN_UNSUPPORTED_VERSION",
    "TOKEN_BAD_SIGNATURE",
    "TOKEN_SCOPE_MISMATCH",
    "TOKEN_UNKNOWN_NODE",
    "TOKEN_WORKFLOW_HASH_MISMATCH",
}
FLOW = workflow(
    "every-kind",
    step("one", "One", "One.", outputContract={"contractRef": "wr.contracts.gate_verdict"}),
    quiet("two", validationCriteria=[{"type": "regex", "pattern": "^a+$", "message": "m"}]),
)

_odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.text(st.characters(categories=["Cs", "Cc", "Zs"]), max_size=4),
    st.binary(max_size=5),
    st.just({1, 2}),
    st.just(object),
    st.just((1, 2)),
)
_keys = st.text(max_size=6) | st.sampled_from(["__proto__", "kind", "", "a.b", "goal"]) | st.integers() | st.none()
_values = st.recursive(
    _odd, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3), max_leaves=8
)
_artifacts = st.lists(
    _values
    | st.fixed_dictionaries(
        {"kind": st.sampled_from(["wr.gate_verdict", "wr.assessment", "wr.loop_control", "wr.capability_observation"])},
        optional={
            "version": _odd,
            "verdict": _odd,
            "confidence": _odd,
            "rationale": _odd,
            "dimensions": _values,
            "provenance": _values,
            "capability": _odd,
            "status": _odd,
        },
    ),
    max_size=3,
)


def valid_requests(bench: Bench) -> dict[str, dict[str, Any]]:
    """One good request per tool, to be spoiled."""
    place = {"workspacePath": WORKSPACE}
    return {
        "start_workflow": place | {"workflowId": "every-kind", "goal": "g", "initialContext": {}, "preferences": {}},
        "continue_workflow": place
        | {"continueToken": bench.actual("CT1"), "intent": "advance", "context": {}, "output": {"notesMarkdown": "n"}},
        "checkpoint_workflow": {"checkpointToken": bench.actual("CK1")},
        "resume_session": place | {"query": "q", "runId": "run_a", "sessionId": "sess_a"},
        "list_workflows": place | {"tags": ["a"]},
        "inspect_workflow": place | {"workflowId": "every-kind", "mode": "preview"},
    }


def assert_told(bench: Bench, answer: Answer, before: object) -> None:
    """Whatever came in: data comes out, and an error leaves everything as it was."""
    if answer.is_ok:
        json.dumps(answer.value.to_json())
        assert all(isinstance(item, str) and item for item in answer.value.text)
        return
    error = answer.error
    assert error.cause is None, repr(error.cause)
    shown: Any = error.to_json()
    json.dumps(shown)
    assert shown["code"] in CODES
    assert shown["message"]
    assert shown["details"]["suggestion"]
    assert written(bench) == before


def written(bench: Bench) -> object:
    stores = bench.home.stores
    entries = stores.sessions.list_sessions().value
    return (
        {entry.session_id: stores.sessions.load(entry.session_id).value for entry in entries},
        dict(stores.snapshots._snapshots),  # type: ignore[attr-defined]
        dict(stores.workflows._workflows),  # type: ignore[attr-defined]
    )


def fresh() -> Bench:
    bench = Bench(FLOW)
    bench.start()
    return bench


@settings(max_examples=times(30, deep=2_000), deadline=None)
@given(st.sampled_from(TOOLS), _values | st.dictionaries(_keys, _values, max_size=4))
def test_anything_at_all(tool: str, request: Any) -> None:
    """@enforces errors-as-data"""
    bench = fresh()
    before = written(bench)
    assert_told(bench, getattr(bench.engine, tool)(request), before)


@settings(max_examples=times(40, deep=2_000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_good_request_with_something_wrong(data: st.DataObject) -> None:
    """One or two members removed, replaced by something odd, or added."""
    bench = fresh()
    tool = data.draw(st.sampled_from(TOOLS))
    request: dict[Any, Any] = dict(valid_requests(bench)[tool])
    for _ in range(data.draw(st.integers(1, 2))):
        names = sorted(request, key=str)
        match data.draw(st.sampled_from(["remove", "replace", "add"])):
            case "remove" if names:
                del request[data.draw(st.sampled_from(names))]
            case "replace" if names:
                request[data.draw(st.sampled_from(names))] = data.draw(_values)
            case _:
                request[data.draw(_keys)] = data.draw(_values)
    before = written(bench)
    assert_told(bench, getattr(bench.engine, tool)(request), before)


@settings(max_examples=times(40, deep=2_000), deadline=None)
@given(
    _artifacts,
    st.none() | st.text(max_size=30),
    st.none() | st.dictionaries(st.text(max_size=4), _values, max_size=3),
    st.booleans(),
)
def test_any_output(artifacts: list[Any], notes: str | None, context: Any, second: bool) -> None:
    bench = fresh()
    if second:
        good = {"kind": "wr.gate_verdict", "version": 1, "verdict": "approved", "confidence": "low"}
        assert bench.go("CT1", artifacts=[good | {"rationale": "x" * 20}])["kind"] == "ok"
    before = written(bench)
    request: dict[str, Any] = {"continueToken": bench.actual(f"CT{bench._counts['CT']}"), "artifacts": artifacts}
    request |= {} if notes is None else {"notes": notes}
    request |= {} if context is None else {"context": context}
    answer = bench.engine.continue_workflow(request)
    assert_told(bench, answer, before)
    if answer.is_ok:
        again = bench.engine.continue_workflow({"continueToken": request["continueToken"], "intent": "advance"})
        assert again.value == answer.value


_TOKEN_TEXT = st.text(
    st.sampled_from("ctskaACh1_-=qpzry9x8gf2tvdw0s3jn54khce6mua7l"), min_size=1, max_size=60
) | st.text(min_size=1, max_size=10)


@settings(max_examples=times(40, deep=2_000), deadline=None)
@given(st.data())
def test_tokens_that_were_tampered_with(data: st.DataObject) -> None:
    """Cut, doubled, mixed, altered or made up: refused, and nothing happens."""
    bench = fresh()
    bench.checkpoint("CK1")
    candidates: Any = bench.engine.resume_session({"workspacePath": WORKSPACE}).value.to_json()
    real = [bench.actual(name) for name in ("CT1", "CK1", "ST1")] + [candidates["candidates"][0]["resumeToken"]]
    token = data.draw(st.sampled_from(real))
    match data.draw(st.sampled_from(["cut", "alter", "prefix", "mix", "made up"])):
        case "cut":
            token = token[: data.draw(st.integers(1, len(token) - 1))]
        case "alter":
            at = data.draw(st.integers(0, len(token) - 1))
            token = token[:at] + data.draw(st.sampled_from("AaZz09_-q!é")) + token[at + 1 :]
        case "prefix":
            token = data.draw(st.sampled_from(["ct_", "ck_", "st_", "ak_", "st1", "chk1", "ack1"])) + token[3:]
        case "mix":
            other = data.draw(st.sampled_from(real))
            at = data.draw(st.integers(1, 26))
            token = token[:at] + other[at:]
        case _:
            token = data.draw(_TOKEN_TEXT)
    before = written(bench)
    continued = bench.engine.continue_workflow({"continueToken": token, "intent": "advance"})
    if token not in real:
        assert not continued.is_ok
        assert continued.error.code.startswith("TOKEN_")
        assert_told(bench, continued, before)
        marked = bench.engine.checkpoint_workflow({"checkpointToken": token})
        assert not marked.is_ok
        assert_told(bench, marked, before)
