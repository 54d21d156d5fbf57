"""Fixes in YAML change what they mean to change and nothing else, whatever the layout."""

from __future__ import annotations

import json
from typing import Any

import pytest
from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from team_probe import fix, lint_text

from workrail_lint.documents.json_edit import apply_fix, fix_edits
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.yaml_reader import read_yaml
from workrail_lint.findings import Fix
from workrail_lint.systems.team import edits
from workrail_lint.systems.team.rules import samples


def applied(text: str, change: Fix | None) -> str | None:
    if change is None:
        return None
    return apply_fix(text, fix_edits(read_json(text, parity=True), change))


def value(text: str) -> Any:
    document = read_yaml(text)
    assert document.readable, text
    return document.value


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a:\n  - id: x # one\n    goal: y\n", "a:\n  - id: x # one\n    n: []\n    goal: y\n"),
        ("a:\n- goal: y\n  id: x", "a:\n- goal: y\n  id: x\n  n: []"),
        ("a:\r\n  - id: x\r\n    goal: y\r\n", "a:\r\n  - id: x\r\n    n: []\r\n    goal: y\r\n"),
        ("a: [{id: x, goal: y}]\n", "a: [{n: [], id: x, goal: y}]\n"),
        ("a: [{}]\n", "a: [{n: []}]\n"),
        ("a:\n  - id:\n      x\n    goal: y\n", None),
        ("a:\n  - ? id\n    : x\n", None),
        ("a:\n  - other: x\n", None),
    ],
)
def test_insert(before: str, after: str | None) -> None:
    changed = applied(before, edits.insert("t", read_yaml(before), "/a/0", "n", "[]", ("id",)))
    assert changed == after
    if after is not None:
        old, new = value(before), value(after)
        assert new["a"][0].pop("n") == []
        assert new == old


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: x # why\n", "a: new # why\n"),
        ("a: 'x'\n", "a: 'new'\n"),
        ('a: "x"\n', 'a: "new"\n'),
        ("a: |\n  x\nb: 1\n", "a: new\nb: 1\n"),
        ("{a: x}", "{a: new}"),
    ],
)
def test_respell(before: str, after: str) -> None:
    assert applied(before, edits.respell("t", read_yaml(before), "/a", "new")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: [x, y]\n", "a: [y]\n"),
        ("a:\n- x\n- y\nb: 1\n", "a: [y]\nb: 1\n"),
        ("a:\n    - x\n    - y # z\n", "a: [y] # z\n"),
        ("a: # why\n  - x\n", None),
        ("? a\n: [x]\n", None),
    ],
)
def test_replace(before: str, after: str | None) -> None:
    assert applied(before, edits.replace("t", read_yaml(before), "/a", "[y]")) == after


@pytest.mark.parametrize("before", ["a: &x old\nb: *x\n", "a: [1, &x old]\nb: *x\n", "a: &x [old]\nb: *x\n"])
def test_an_anchor_is_not_written_over(before: str) -> None:
    document = read_yaml(before)
    assert edits.respell("t", document, "/a", "new") is None
    assert edits.replace("t", document, "/a", "[new]") is None
    assert edits.replace_item("t", document, "/a", "new") is None
    assert applied(before, edits.respell("t", document, "/b", "new")) == before.replace("*x", "new")


def test_places_that_are_gone() -> None:
    document = read_yaml("a: [1]\n")
    assert edits.respell("t", document, "/b", "x") is None
    assert edits.replace("t", document, "/a/0", "x") is None
    assert edits.replace_item("t", document, "/a/7", "x") is None
    assert edits.rename("t", document, "/a/0", "x") is None
    assert edits.insert("t", document, "/z", "n", "[]", ("a",)) is None
    assert edits.replace_raw("t", "abc", 0, 3, "z", "y") is None


@given(st.text(max_size=20))
def test_a_text_in_yaml_is_that_text(text: str) -> None:
    document = read_yaml(f"a: {edits.yaml_text(text)}\nb: {edits.yaml_list([text, text])}\n")
    if not document.problems:  # what YAML can't hold at all is told by the reader
        assert document.value == {"a": text, "b": [text, text]}


_SCALARS = st.sampled_from(
    ["in_progress", "DONE", "'Not-Started'", '"implemented"', "T-001", "yes", "cmd: x", "[none, perf]"]
)
_NAMES = st.sampled_from(
    ["id", "status", "goal", "type", "deps", "depends_on", "risk_flags", "done_when", "acceptance_checks"]
)


@settings(max_examples=times(30, deep=240), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(
        st.dictionaries(_NAMES, _SCALARS | st.just("\n      - cmd: npm test\n      - npm run x"), min_size=1),
        min_size=1,
        max_size=3,
    ),
    st.booleans(),
)
def test_fixing_ends_in_yaml_that_can_be_read(tasks: list[dict[str, str]], unsafe: bool) -> None:
    lines = ["tasks:"]
    for task in tasks:
        members = [f"    {name}: {text}" for name, text in task.items()]
        lines += [f"  - {members[0].strip()}", *members[1:]]
    text = "\n".join(lines) + "\n"
    if not read_yaml(text).readable:
        return
    fixed = fix(text, samples.TASKS, unsafe=unsafe)
    assert read_yaml(fixed.text).readable
    assert not fix(fixed.text, samples.TASKS, unsafe=unsafe).applied
    for finding in lint_text(fixed.text, samples.TASKS):
        assert finding.fix is None or (not unsafe and finding.fix.safety.value == "unsafe"), finding


def test_json_fixes_keep_the_rest() -> None:
    status = samples.status("implement_loop", samples.strategy("Per Batch"), last_update="2026-03-01T12:00:00")
    fixed = json.loads(fix(status, samples.STATUS, unsafe=True).text)
    assert fixed == samples.status("IMPLEMENT_LOOP", samples.strategy("per-batch"))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (samples.ACCEPTANCE, '{"acceptance_criteria": [{"id": "AC-001", "description": "x", "commands": "\\ud800"}]}'),
        (samples.TASKS, 'tasks:\n  - id: T-001\n    done_when: "\\ud800"\n    acceptance_checks: ["\\udfff"]\n'),
    ],
)
def test_half_a_surrogate_pair_stays_an_escape(path: str, text: str) -> None:
    fixed = fix(text, path, unsafe=True)
    assert fixed.applied
    fixed.text.encode()  # what is written must be UTF-8
    assert "\\ud800" in fixed.text


@pytest.mark.parametrize(
    ("older", "verify"),
    [
        ({"commands": [], "expected_result": "it shows"}, ["manual: it shows"]),
        ({"commands": None, "expected_result": "it shows"}, ["manual: it shows"]),
        ({"commands": "make t", "expected_result": "it shows"}, "make t"),
        ({"commands": ["make t"], "verification": "by hand"}, ["make t"]),
        ({"commands": [5], "expected_result": "it shows"}, None),
        ({"verification": "by hand"}, None),
    ],
)
def test_older_ways_to_verify(older: dict[str, Any], verify: list[str] | str | None) -> None:
    """No commands are as good as none at all; a single one may stay a string."""
    criterion = samples.criterion(verify=...) | older
    done = fix(samples.acceptance(criterion), samples.ACCEPTANCE, unsafe=True)
    (after,) = json.loads(done.text)["acceptance_criteria"]
    assert after == (criterion if verify is None else samples.criterion(verify=...) | {"verify": verify})
