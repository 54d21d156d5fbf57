"""The context: what may go into it, how much, and how a change is merged."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protocol_bench import Bench, quiet, workflow

from pytest_workrail.engine.protocol.requests import MAX_CONTEXT_BYTES, MAX_CONTEXT_DEPTH, context_problem, merged
from workrail_lint.base.canonical import canonical_bytes

TOOL = "continue_workflow"


def details(context: object) -> dict[str, Any]:
    problem = context_problem(context, TOOL)
    assert problem is not None
    shown: Any = problem.to_json()
    assert shown["code"] == "VALIDATION_ERROR"
    found: dict[str, Any] = shown["details"]["details"]
    assert found.pop("tool") == TOOL
    return found


def nested(depth: int) -> dict[str, Any]:
    """Containers inside containers, the innermost at this depth."""
    inner: dict[str, Any] = {}
    for _ in range(depth):
        inner = {"a": inner}
    return inner


def circular() -> dict[str, Any]:
    loop: dict[str, Any] = {}
    loop["a"] = [loop]
    return loop


SHARED: list[int] = []


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ([], {"kind": "context_invalid_shape", "expected": "object"}),
        ("{", {"kind": "context_invalid_shape", "expected": "object"}),
        (None, {"kind": "context_invalid_shape", "expected": "object"}),
        (nested(65), {"kind": "context_too_deep", "path": "$" + ".a" * 65, "maxDepth": 64}),
        ({"a": {"b": [1, {2}]}}, {"kind": "context_unsupported_value", "path": "$.a.b[1]", "valueType": "set"}),
        ({"a": {1: 2}}, {"kind": "context_unsupported_value", "path": "$.a", "valueType": "int"}),
        ({"a": float("nan")}, {"kind": "context_non_finite_number", "path": "$.a", "value": "NaN"}),
        ({"a": [float("-inf")]}, {"kind": "context_non_finite_number", "path": "$.a[0]", "value": "-Infinity"}),
        (circular(), {"kind": "context_circular_reference", "path": "$.a[0]"}),
        ({"a": SHARED, "b": SHARED}, {"kind": "context_circular_reference", "path": "$.b"}),
        (
            {"metrics_outcome": ["x", None]},
            {
                "kind": "context_invalid_metrics_outcome",
                "invalidValue": "x,",
                "validValues": ["success", "partial", "abandoned", "error"],
            },
        ),
        ({"__proto__": 1}, {"kind": "context_reserved_key", "key": "__proto__"}),
        ({"constructor": None}, {"kind": "context_reserved_key", "key": "constructor"}),
        ({"prototype": {}}, {"kind": "context_reserved_key", "key": "prototype"}),
    ],
)
def test_what_can_not_be_used(context: object, expected: dict[str, Any]) -> None:
    """@enforces context-json-only"""
    assert details(context) == expected


@pytest.mark.parametrize(
    "context",
    [
        {},
        {"metrics_outcome": None},
        {"metrics_outcome": "partial"},
        nested(MAX_CONTEXT_DEPTH),
        {"inside": {"constructor": 1}},
        {"lone": "\ud800", "big": 2**60, "small": -0.0},
    ],
)
def test_what_can(context: dict[str, Any]) -> None:
    assert context_problem(context, TOOL) is None


def test_the_budget_is_exact() -> None:
    """@enforces context-budget-256kb
    @enforces error-budget-details
    """
    room = MAX_CONTEXT_BYTES - len(canonical_bytes({"a": ""}))
    assert context_problem({"a": "é" * (room // 2)}, TOOL) is None
    assert context_problem({"a": "x" * room}, TOOL) is None
    problem = context_problem({"a": "x" * (room + 1)}, TOOL)
    assert problem is not None
    assert problem.message.startswith(f"context is too large for {TOOL}: 262145 bytes (max 262144). ")
    assert details({"a": "x" * (room + 1)}) == {
        "kind": "context_budget_exceeded",
        "measuredBytes": 262145,
        "maxBytes": 262144,
        "measuredAs": "jcs_utf8_bytes",
    }
    # Too large and reserved: the size is looked at first.
    assert details({"__proto__": "x" * room})["kind"] == "context_budget_exceeded"


def test_a_number_without_canonical_form() -> None:
    assert details({"a": 10**400})["kind"] == "context_not_canonical_json"


_VALUES = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
_CONTEXTS = st.dictionaries(st.sampled_from("abcd"), _VALUES)


@given(_CONTEXTS, _CONTEXTS)
def test_merging(stored: dict[str, Any], delta: dict[str, Any]) -> None:
    result = merged(stored, delta)
    assert {name for name, value in delta.items() if value is None}.isdisjoint(result)
    assert {name: result[name] for name, value in delta.items() if value is not None} == {
        name: value for name, value in delta.items() if value is not None
    }
    assert {name: result[name] for name in stored.keys() - delta.keys()} == {
        name: stored[name] for name in stored.keys() - delta.keys()
    }
    assert result.keys() <= stored.keys() | delta.keys()
    assert merged(stored, None) == stored
    assert merged(merged(None, stored), delta) == merged(None, stored | delta)


def test_the_context_is_checked_before_the_token_and_never_echoed() -> None:
    """@enforces context-no-echo"""
    bench = Bench(workflow("small", quiet("one"), quiet("two")))
    assert bench.go("nonsense", context={"a": float("inf")})["code"] == "VALIDATION_ERROR"
    bench.start(initialContext={"quiet-secret": "in the beginning"})
    answer = bench.advance("CT1", context={"loud-secret": "later on"})
    assert bench.reply is not None
    told = str(answer) + "".join(bench.reply.text)
    assert "secret" not in told
    assert "later on" not in told


def test_a_start_takes_what_a_change_may_hold() -> None:
    bench = Bench(workflow("small", quiet("one")))
    refused = bench.start(initialContext={"a": float("inf")})
    assert refused["details"]["details"]["tool"] == "start_workflow"
    assert bench.start(initialContext={"eat_token": "x"})["code"] == "VALIDATION_ERROR"
    assert bench.home.stores.sessions.list_sessions().value == ()
    bench.start(initialContext={"a": 1, "gone": None, "goal": "not this"})
    assert bench.events[4].data.to_wire()["context"] == {"a": 1, "goal": "demo"}  # type: ignore[union-attr]
