"""The bindings file itself: what the engine ignores in it, and what it sets for more workflows than meant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.project_bindings import (
    Drift,
    check_bindings,
    check_bindings_text,
    drifted,
    project_overrides,
    unknown_slots,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def names(content: Any, *workflow_ids: str) -> list[tuple[str, str]]:
    return [(finding.name, finding.pointer) for finding in check_bindings(content, workflow_ids)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({}, []),
        ({"demo.x": {"slot": "a"}}, []),
        ({"demo.x": {}}, []),
        ([], [("bindings-file-invalid", "")]),
        (None, [("bindings-file-invalid", "")]),
        ("text", [("bindings-file-invalid", "")]),
        ({"demo.x": "y"}, [("bindings-file-invalid", "/demo.x")]),
        ({"demo.x": ["y"]}, [("bindings-file-invalid", "/demo.x")]),
        (
            {"demo.x": {"a/b": 3, "c": None}},
            [("bindings-file-invalid", "/demo.x/a~1b"), ("bindings-file-invalid", "/demo.x/c")],
        ),
        ({"slot": 3}, [("bindings-file-invalid", "/slot")]),
        ({"slot": "x", "demo.y": {}}, [("bindings-file-invalid", "/slot")]),
        ({"slot": "x", "other": "y"}, []),
        ({"slot": "x", "demo.y": "z"}, [("bindings-file-invalid", "/demo.y")]),
        ({"slot": "x", "other": 3}, [("bindings-file-invalid", "/other")]),
        ({"demo.x": {"slot": ""}}, [("binding-override-empty", "/demo.x/slot")]),
        ({"slot": ""}, [("binding-override-empty", "/slot")]),
        ({"slot": "", "demo.x": {}}, [("bindings-file-invalid", "/slot")]),  # not used, so that it does no harm
        # Too short for a workflow, or with characters that no workflow id has.
        ({"a": "x"}, []),
        ({"a": "x", "demo.y": {}}, [("bindings-file-invalid", "/a")]),
        ({"a": 3}, [("bindings-file-invalid", "/a")]),
        ({"My slot": "x"}, []),
        ({"old-review": "x"}, [("bindings-file-invalid", "/old-review")]),
        ({"Demo.X": "x"}, [("bindings-file-invalid", "/Demo.X")]),
    ],
)
def test_formats(content: Any, expected: list[tuple[str, str]]) -> None:
    assert names(content) == expected


def test_a_workflow_of_the_project_may_be_named_like_a_slot() -> None:
    assert names({"review": "x"}) == []
    assert names({"review": "x"}, "review") == [("bindings-file-invalid", "/review")]


@pytest.mark.parametrize(
    ("sections", "places"),
    [
        ({"demo.x": ["one", "two"]}, ["/demo.x/two"]),
        ({"demo.none": ["one"]}, ["/demo.none/one"]),
        ({"demo.elsewhere": ["two"]}, []),
        ({"demo.x": ["a/b"]}, ["/demo.x/a~1b"]),
    ],
)
def test_slots_that_a_workflow_does_not_declare(sections: dict[str, list[str]], places: list[str]) -> None:
    found = unknown_slots(sections, {"demo.x": {"one", "three"}, "demo.none": set()})
    assert [finding.pointer for finding in found] == places
    assert {finding.name for finding in found} <= {"binding-override-unknown-slot"}


def test_codes_and_severities_are_those_of_the_rules() -> None:
    section = check_bindings({"demo.x": 1})[0]
    assert (section.code, section.severity) == ("BD007", Severity.WARNING)


@pytest.mark.parametrize("text", ["", "  \n", "{", '{"a": }', "// no\n{}", '\ufeff{"a": "b"}', "{} {}", "[1,]", "NaN"])
def test_a_text_that_is_no_json_is_one_finding_with_a_place(text: str) -> None:
    _, (found,) = check_bindings_text(text)
    assert found.name == "bindings-file-invalid"
    assert found.span is not None


def test_the_engine_reads_on_past_repeated_names_and_bad_bytes() -> None:
    assert check_bindings_text('{"demo.x": {"a": "1", "a": "2"}}')[1] == []
    assert check_bindings_text(b'{"demo.x": {"a": "\xff"}}')[1] == []


@given(JSON)
def test_every_value_is_judged_without_an_exception(content: Any) -> None:
    _, found = check_bindings_text(json.dumps(content))
    assert [finding.pointer for finding in found] == [finding.pointer for finding in check_bindings(content)]


@given(st.dictionaries(st.sampled_from(["demo.x", "slot", "other"]), JSON, max_size=3))
def test_what_is_not_reported_is_what_the_engine_uses(content: dict[str, Any]) -> None:
    """A file without a warning sets exactly what stands in it."""
    warned = [finding for finding in check_bindings(content, ["demo.x"]) if finding.severity is Severity.WARNING]
    used = project_overrides(content, "demo.x")
    section = content.get("demo.x")
    if not warned and isinstance(section, dict):
        assert used == section
    elif not warned:
        assert used == {slot: value for slot, value in content.items() if isinstance(value, str)}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"demo.x": {"slot": "old"}}, []),
        ({"demo.x": {"slot": "new"}}, [Drift("slot", "old", "new")]),
        ({"demo.x": {}}, [Drift("slot", "old", None)]),
        ({"slot": "old"}, []),
        (None, [Drift("slot", "old", None)]),
        ([], [Drift("slot", "old", None)]),
    ],
)
def test_drift_is_about_pinned_overrides(content: Any, expected: list[Drift]) -> None:
    assert drifted({"slot": "old"}, content, "demo.x") == expected
    assert drifted({}, content, "demo.x") == []


def test_drift_is_told_where_the_new_value_stands() -> None:
    pinned = {"demo.x": {"slot": "old"}}
    (changed,) = check_bindings({"demo.x": {"slot": "new"}}, pinned=pinned)
    assert (changed.name, changed.pointer) == ("binding-drift", "/demo.x/slot")
    (gone,) = check_bindings({"demo.x": {}}, pinned=pinned)
    assert (gone.pointer, "is now the default" in gone.message) == ("/demo.x", True)
