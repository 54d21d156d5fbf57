"""Traces: what keeps the contract is silent, however a run went."""

from __future__ import annotations

from typing import Any

import pytest

from workrail_lint.systems.blocks.check import check_trace
from workrail_lint.systems.blocks.rules.samples import conflict, fan_in, lane
from workrail_lint.systems.blocks.rules.traces import events, step
from workrail_lint.systems.blocks.traces import first_difference
from workrail_lint.systems.blocks.vocabulary import CONFLICT_EVENT


def codes(trace: dict[str, Any]) -> list[str]:
    return [finding.code for finding in check_trace(trace)]


START, DONE = ("node_started", "p"), ("node_completed", "p")
RETRY = ("node_retry", "p", {"attempt": 1, "maxRetries": 1})
REVISE = ("block_revision", "p", {"revisionCount": 1, "feedback": "add tests"})
GATE = ("block_gate_open", "p", {"prompt": "Block produced: Simulated p."})


def test_retries_gates_and_revisions_are_fine() -> None:
    run = events(
        "execution_started",
        "folder_created",
        START,
        RETRY,
        START,
        DONE,
        GATE,
        REVISE,
        START,
        DONE,
        GATE,
        ("gate_decided", "p", {"selectedOption": "continue"}),
        ("node_started", "q"),
        ("node_completed", "q"),
        "execution_completed",
        outputFolder=["block-p.json", "block-q.json"],
        plan=["p", "q"],
        steps=[step("p", 0), step("p", 0), step("p", 0), step("q", 1, "p")],
    )
    assert codes(run) == []


def test_a_revision_may_be_retried_too() -> None:
    again = ("folder_created", START, RETRY, START, DONE, GATE, REVISE, START, RETRY, START, DONE)
    assert codes(events(*again)) == []
    assert codes(events(*again[:-1], RETRY, START)) == ["BC712"]


def test_a_block_of_a_loop_runs_once_for_each_item() -> None:
    assert codes(events("folder_created", *[START, DONE] * 3, limits={"p": 0})) == []
    assert codes(events("folder_created", START, RETRY, START, limits={"p": 0})) == ["BC712"]


def test_revisions_are_counted_anew_in_each_pass_of_a_loop() -> None:
    revised = [START, DONE, GATE, *[REVISE, START, DONE, GATE] * 10]
    decided = ("gate_decided", "p", {"selectedOption": "continue"})
    assert codes(events("folder_created", *revised, decided, *revised, decided)) == []
    assert codes(events("folder_created", *revised[:-2], ("node_failed", "p"), *revised)) == []
    assert codes(events("folder_created", *revised, REVISE)) == ["BC711"]


def lanes_of(*names: str, group: str = "g") -> list[Any]:
    return [("lane_started", name, {"groupId": group, "lane": name, "isolation": "temp-copy"}) for name in names]


def settled(*names: str, group: str = "g") -> list[Any]:
    return [("lane_settled", name, {"groupId": group, "lane": name, "status": "completed"}) for name in names]


def merging(*order: str, strategy: str = "workspace") -> Any:
    return ("fan_in", None, {"groupId": "g", "mergeStrategy": strategy, "completionOrder": list(order)})


def test_lanes_have_retries_too() -> None:
    again = ("node_retry", "a", {"attempt": 1, "maxRetries": 1})
    assert codes(events("folder_created", *lanes_of("a", "b"), again, *settled("a", "b"))) == []
    assert codes(events("folder_created", *lanes_of("a", "b"), again, again, *settled("a", "b"))) == ["BC712"]


def test_lanes_run_side_by_side_but_not_beside_others() -> None:
    run = ("folder_created", *lanes_of("a", "b"), *settled("b", "a"), merging("b", "a"), START)
    assert codes(events(*run)) == []
    early = ("folder_created", *lanes_of("a", "b"), *settled("b"), START)
    assert codes(events(*early)) == ["BC702"]
    assert codes(events("folder_created", START, *lanes_of("a"))) == ["BC702"]


def test_a_lane_may_touch_the_main_workspace_after_the_merge() -> None:
    run = events("folder_created", *lanes_of("a", "b"), *settled("a", "b"), merging("a", "b"))
    for n, expected in ((2, ["BC705"]), (6, [])):
        assert codes({**run, "accesses": [{"n": n, "lane": "a", "workspace": "main", "path": "p"}]}) == expected
    assert codes({**run, "accesses": [{"n": 2, "lane": "a", "workspace": "b", "path": "p"}]}) == ["BC705"]


OUTPUTS = (lane("a", 5, "p.py"), lane("b", 3, "p.py"))
CLASH = conflict("p.py", "b", "a")


def merged(**members: Any) -> dict[str, Any]:
    return {"group": "g", "completionOrder": ["b", "a"], "result": fan_in(*OUTPUTS, conflicts=[CLASH]), **members}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([CLASH], []),
        ([], ["BC707"]),
        ([CLASH, CLASH], ["BC707"]),
        ([{**CLASH, "appliedFrom": "a"}], ["BC707"]),
        ([CLASH, conflict("q.py", "b", "a")], ["BC707"]),
    ],
)
def test_conflict_events(told: list[Any], expected: list[str]) -> None:
    assert (
        codes(events(merging("b", "a"), *((CONFLICT_EVENT, None, data) for data in told), fanIns=[merged()]))
        == expected
    )


def test_a_manual_text_is_from_no_lane() -> None:
    record = conflict("p.py", "b", "a", resolution="user-resolved", appliedFrom=...)
    result = fan_in(*OUTPUTS, strategy="fail-on-conflict", conflicts=[record])
    content = {"main": {"p.py": "c1"}, "lanes": {"a": {"p.py": "a1"}, "b": {"p.py": "b1"}}}
    trace = {"fanIns": [merged(result=result, applied={"p.py": "manual"}, content=content)]}
    assert codes(trace) == []
    assert codes({"fanIns": [merged(result=result, applied={"p.py": "b"}, content=content)]}) == ["BC708"]


def test_nothing_is_applied_while_a_choice_is_open() -> None:
    result = fan_in(*OUTPUTS, strategy="fail-on-conflict")
    run = events(merging("b", "a", strategy="fail-on-conflict"), fanIns=[merged(result=result, applied={})])
    assert codes(run) == []
    assert codes({**run, "copies": [{"n": 1, "groupId": "g", "path": "p.py"}]}) == ["BC709"]


def test_previous_block_of_another_block_is_stale() -> None:
    plan = ["a", "b", "c"]
    steps = [step("a", 0), step("b", 1, "a"), step("c", 2, "b")]
    assert codes({"plan": plan, "steps": steps}) == []
    assert codes({"plan": plan, "steps": [*steps[:2], step("c", 2, "a")]}) == ["BC704"]


def test_lanes_look_at_the_entry_before_their_group() -> None:
    plan = ["a", {"group": "g", "nodeIds": ["b", "c"], "mergeStrategy": "workspace"}, "d"]
    steps = [step("a", 0), step("b", 1, "a"), step("c", 2, "a"), step("d", 3, "c")]
    assert codes({"plan": plan, "steps": steps}) == []


def test_identities() -> None:
    head = events("folder_created", *lanes_of("a", "b"))
    assert codes({**head, "steps": [step("a", 0), step("b", 1, EXECUTION_ID="run-2")]}) == ["BC713"]
    # A lane that ran again is still one lane.
    assert codes({**head, "steps": [step("a", 0), step("a", 0), step("b", 1)]}) == []
    # Nodes that are no lanes are no business of this rule.
    assert codes({"steps": [step("a", 0), step("b", 1, EXECUTION_ID="run-2")]}) == []


def golden(order: list[str], winner: str) -> dict[str, Any]:
    """A run of two lanes that finish in some order."""
    record = conflict("p.py", *order)
    flow = ("folder_created", *lanes_of("a", "b"), *settled(*order), merging(*order), (CONFLICT_EVENT, None, record))
    fan = {
        "group": "g",
        "completionOrder": order,
        "applied": {"p.py": order[0], "q.py": "a"},
        "result": fan_in(lane("a", 5, "p.py", "q.py"), lane("b", 3, "p.py"), conflicts=[record]),
    }
    return events(*flow, fanIns=[fan], workspace={"p.py": winner, "q.py": "same"})


def test_permutations_may_differ_in_who_wins() -> None:
    one, other = golden(["a", "b"], "of a"), golden(["b", "a"], "of b")
    assert codes({"permutations": [one, other]}) == []
    assert codes({"permutations": [one, {**other, "workspace": {"p.py": "of b", "q.py": "changed"}}]}) == ["BC714"]
    assert codes({"permutations": [one, {**other, "outputFolder": ["block-a.json"]}]}) == ["BC714"]


def test_first_difference() -> None:
    base = {"steps": [{"node": "a", "output": {"x": 1}}], "workspace": {"src/t.py": "1"}, "zebra": 1}
    assert first_difference(base, base) is None
    assert first_difference(base, {**base, "workspace": {"src/t.py": "2"}}) == "workspace/src/t.py"
    assert first_difference(base, {**base, "steps": [{"node": "a", "output": {"x": 2}}]}) == "steps/0/output"
    assert first_difference(base, {**base, "steps": []}) == "steps/0"
    assert first_difference(base, {**base, "zebra": 2}) == "zebra"
    assert first_difference(base, {"steps": base["steps"], "zebra": 1}) == "workspace"
    # What comes first in a golden is named first.
    assert first_difference(base, {"steps": [], "workspace": {}, "zebra": 2}) == "steps/0"
