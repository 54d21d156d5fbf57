"""What is no evidence: runs that come close to what a lock is about, and do not show it."""

from __future__ import annotations

from typing import Any

import pytest
from block_runs import chain, edge, group, lanes_of, node, run, workflow

ASKING = {"gateMode": "gate"}


@pytest.mark.parametrize(("end", "shows"), [("continue", True), ("abort", False)])
def test_a_revision_shows_nothing_until_it_is_accepted(end: str, shows: bool) -> None:
    made = run(chain(node("p", config=ASKING)), gates={"p": [{"revise": "more"}, end]})
    assert ("block-gate-revise" in made.locks) is shows


def test_the_answer_about_another_block_accepts_no_revision() -> None:
    """The revised block fails, so that nobody is asked about it again."""
    made = run(
        chain(node("p", config=ASKING), node("q", config=ASKING)),
        replies={"p#2": {"exit": 1}},
        gates={"p": [{"revise": "more"}], "q": ["continue"]},
    )
    assert "block-gate-revise" not in made.locks


@pytest.mark.parametrize("has_predecessor", [True, False])
def test_lanes_that_come_first_share_no_predecessor(has_predecessor: bool) -> None:
    first = [node("p")] if has_predecessor else []
    edges = [edge("p", lane) for lane in "ab"] if has_predecessor else []
    flow = workflow(
        *first,
        *(node(name) for name in "abz"),
        edges=[*edges, edge("a", "z"), edge("b", "z")],
        parallelGroups=[group("a", "b")],
    )
    assert ("block-previous-chain" in run(flow).locks) is has_predecessor


@pytest.mark.parametrize("more", [{}, {"r.py": "b\n"}])
def test_a_file_won_from_a_third_lane_is_none_that_nobody_else_had(more: dict[str, Any]) -> None:
    files = dict.fromkeys(("p.py", "q.py", "r.py"), "0\n")
    replies = {
        "a": {"ticks": 1, "write": {"p.py": "a\n"}},
        "b": {"ticks": 2, "write": {"p.py": "b\n", "q.py": "b\n", **more}},
        "c": {"ticks": 3, "write": {"q.py": "c\n"}},
    }
    made = run(lanes_of(*(node(name, "coding") for name in "abc")), repo={"files": files}, replies=replies)
    assert made.fan_ins[0]["applied"] == {"p.py": "a", "q.py": "b", **dict.fromkeys(more, "b")}
    assert ("block-non-clashing-kept" in made.locks) is bool(more)
