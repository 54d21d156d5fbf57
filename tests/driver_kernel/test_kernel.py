"""What the drivers share, on its own."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.scenarios.drivers import Fault, differs, file_bytes
from pytest_workrail.systems.kernel.generation import drop_unused, merged
from pytest_workrail.systems.kernel.run import Answers, EventLog, Replies, blocker, report, run_folder
from pytest_workrail.systems.kernel.scenario import Driver, Expectation, LockEvidence, by_name, in_order


class Code(str, Enum):
    """Two codes of blockers."""

    ONE = "ONE"
    TWO = "TWO"


def test_events_are_numbered_from_one() -> None:
    log = EventLog()
    assert log.n == 0
    for kind in ("start", "end"):
        log.append(kind=kind)
    assert log.events == [{"n": 1, "kind": "start"}, {"n": 2, "kind": "end"}]


def test_blockers_are_reported_once_in_order_and_within_budgets() -> None:
    given = [
        blocker(Code.TWO, {"kind": "task", "task": "a"}, "first", "fix"),
        blocker(Code.ONE, {"kind": "task", "task": "b"}, "m" * 9000, "f" * 9000),
        blocker(Code.TWO, {"kind": "task", "task": "a"}, "second", "fix"),
        blocker(Code.TWO, {"kind": "task", "task": "a"}, "first", "another fix"),
    ]
    assert [each.message[:6] for each in report(given)] == ["mmmmmm", "first"]
    assert [each.message[:6] for each in report(given, every_message=True)] == ["mmmmmm", "first", "second"]
    assert len(report(given)[0].message) < 9000 > len(report(given)[0].suggested_fix)
    many = [blocker(Code.ONE, {"kind": "task", "task": f"{n:02d}"}, "m", "f") for n in range(20)]
    assert [each.pointer["task"] for each in report(reversed(many))] == [f"{n:02d}" for n in range(10)]


@pytest.mark.parametrize(("every_call", "third", "unused"), [(True, "any", ["b"]), (False, None, ["a", "b"])])
def test_a_reply_is_for_one_call_or_for_all(every_call: bool, third: str | None, unused: list[str]) -> None:
    replies = Replies({"a": "any", "a#1": "first", "b": "other"})
    assert replies.take("a", every_call=every_call) == "first"
    assert replies.key("a") == "a#1"
    assert replies.take("a", every_call=every_call) == third
    assert replies.take("c", every_call=every_call) is None
    assert replies.unused == unused


def test_answers_are_given_in_order_and_the_rest_is_known() -> None:
    answers = Answers({"a": ("yes", None), "b": ("no", "never")})
    assert [answers.take("a"), answers.take("a"), answers.take("b")] == ["yes", None, "no"]
    assert [answers.has_next(question) for question in "abc"] == [False, True, False]
    assert list(answers.unused()) == [("b", 1)]


def test_half_a_surrogate_pair_is_written_as_an_escape() -> None:
    assert file_bytes({"a": "ü\ud800"}) == '{\n  "a": "ü\\ud800"\n}\n'.encode()


def test_the_folder_of_a_run_is_removed_whatever_was_done_to_it() -> None:
    with run_folder("kernel-") as folder:
        inner = Path(folder, "a", "b")
        inner.mkdir(parents=True)
        inner.joinpath("file").write_text("text", encoding="utf-8")
        os.chmod(inner, 0)
        os.chmod(inner.parent, 0)
    assert not os.path.exists(folder)


@pytest.mark.parametrize(
    ("pointer", "content"),
    [
        ("/team/user/a/1", {"user": {"a": ["x"]}, "faults": [1, 2]}),
        ("/team/user/a/0", {"faults": [1, 2]}),
        ("/team/faults/0", {"user": {"a": ["x", "y"]}, "faults": [2]}),
        ("/team/user/a~1b/0", {"user": {"a": ["x", "y"]}, "faults": [1, 2]}),
        ("/team/user", None),
        ("/team", None),
        ("/team/mode/0", None),
    ],
)
def test_what_was_not_used_is_dropped_with_what_it_leaves_empty(pointer: str, content: dict[str, Any] | None) -> None:
    given: dict[str, Any] = {"user": {"a": ["x", "y"]}, "faults": [1, 2]}
    assert drop_unused(given, pointer) is (content is not None)
    assert given == (content or {"user": {"a": ["x", "y"]}, "faults": [1, 2]})


def test_changes_are_merged_into_a_copy() -> None:
    content = {"user": {"a": ["x"]}, "mode": "full"}
    changed = merged(content, {"user": {"b": ["y"]}, "mode": "lean"})
    changed["user"]["b"].append("z")
    assert changed == {"user": {"a": ["x"], "b": ["y", "z"]}, "mode": "lean"}
    assert content == {"user": {"a": ["x"]}, "mode": "full"}


ITEMS: Expectation[list[str]] = in_order(
    "item", "name", lambda run: [{"name": name, "message": f"says {name}"} for name in run]
)
VALUES: Expectation[list[str]] = by_name(lambda run: {name: len(name) for name in run}, complete=True)


@pytest.mark.parametrize(
    ("wanted", "faults"),
    [
        (None, []),
        (["a", {"name": "bb", "message": "bb"}], []),
        (["a", "c"], [Fault("item 2: expected c, found bb; all items: a, bb", "/expect/items/1")]),
        (["a"], [Fault("item 2: expected none, found bb; all items: a, bb", "/expect/items")]),
        (["a", "bb", {"name": "c"}], [Fault("item 3: expected c, found none; all items: a, bb", "/expect/items/2")]),
        (
            ["a", {"name": "bb", "message": "c"}],
            [differs("message", "a string that contains 'c'", "'says bb'", "/expect/items/1/message")],
        ),
    ],
)
def test_a_list_is_compared_item_by_item(wanted: Any, faults: list[Fault]) -> None:
    assert list(ITEMS(wanted, ["a", "bb"], "/expect/items")) == faults


def test_named_values_are_compared_name_by_name() -> None:
    assert list(VALUES(None, ["a"], "/expect/values")) == []
    assert list(VALUES({"bb": 3, "c": 1}, ["a", "bb"], "/expect/values")) == [
        Fault("bb: expected 3, found 2", "/expect/values/bb"),
        Fault("c: expected 1, found nothing", "/expect/values/c"),
        Fault("a: expected nothing, found 1", "/expect/values"),
    ]


def test_only_locks_of_the_contract_are_judged() -> None:
    evidence: LockEvidence[list[str]] = LockEvidence()
    evidence.of("x-first")(lambda run: "a" in run)
    evidence.of("x-second")(lambda run: "b" in run)
    driver: Driver[list[str], list[str]] = Driver("x", "kind", (), {}, {}, evidence, "", "")
    claims = {"enforces": ["x-first", "x-second", "x-secnd", "my-own"]}
    assert driver.unmet(claims, ["a"], evidence.demonstrated(["a"])) == (
        Fault("this run does not demonstrate x-second", "/enforces/1"),
        Fault("unknown lock x-secnd; did you mean x-second?", "/enforces/2"),
    )
