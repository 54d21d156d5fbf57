"""Lanes: who starts, who settles when, what reaches the main workspace, and what is told about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from block_runs import chain, codes, data, edge, group, lanes_of, node, run, types, workflow

from pytest_workrail.scenarios.drivers import Fault
from pytest_workrail.systems.blocks import Killed
from pytest_workrail.systems.blocks.block_run import BlockRun
from workrail_lint.systems.blocks.rules.samples import control

BASE = {"src/p.py": "p\n", "src/a.py": "a\n", "gone.txt": "gone\n"}


def coders(names: str, **config: Any) -> list[dict[str, Any]]:
    return [node(name, "coding", config=config) for name in names]


def settled(made: BlockRun) -> list[str]:
    return [event["nodeId"] for event in made.events if event["type"] == "lane_settled"]


def test_lanes_settle_by_time_and_ties_by_their_place() -> None:
    replies = {"a": {"ticks": 4}, "b": {"ticks": 2}, "c": {"ticks": 4}, "d": {"ticks": 2}}
    made = run(lanes_of(*coders("abcd")), replies=replies)
    assert settled(made) == ["b", "d", "a", "c"]
    assert [step["node"] for step in made.steps] == ["a", "b", "c", "d"]


def test_the_eleventh_lane_waits_for_a_container() -> None:
    names = "abcdefghijklm"
    made = run(
        lanes_of(*coders(names)), replies={"c": {"ticks": 2}, **{name: {"ticks": 5} for name in names if name != "c"}}
    )
    assert [event["nodeId"] for event in made.events if event["type"] == "lane_started"] == list(names)
    # c is done at 2, so k starts then and ends at 7, behind those that started at 0; l and m start at 5.
    assert settled(made) == [*"cabdefghij", "k", "l", "m"]
    assert made.trace["steps"][10]["output"]["timestamp"] == "2000-01-01T00:00:07Z"


def test_a_lane_that_tries_again_settles_later() -> None:
    config = {"maxRetries": 1, "retryableExitCodes": [9]}
    made = run(
        lanes_of(*coders("ab", **config)),
        replies={"a": {"ticks": 2, "exit": 9, "output": "none"}, "a#2": {"ticks": 2}, "b": {"ticks": 3}},
    )
    assert types(made)[4:] == ["node_retry a", "lane_settled b", "lane_settled a", "fan_in", "execution_completed"]


def test_lanes_are_judged_one_by_one() -> None:
    edges = [edge("s", "a", "on_success"), edge("s", "b", "on_failure"), edge("s", "c")]
    made = run(workflow(node("s"), *coders("abc"), edges=edges, parallelGroups=[group("a", "b", "c")]))
    assert [event["nodeId"] for event in made.events if event["type"] == "lane_started"] == ["a", "c"]
    assert made.nodes["b"] == "skipped"
    assert "node_skipped b" not in types(made)


def test_without_a_lane_there_is_no_merge() -> None:
    edges = [edge("s", name, "on_failure") for name in "ab"]
    made = run(workflow(node("s"), *coders("ab"), edges=edges, parallelGroups=[group("a", "b")]))
    assert types(made)[-2:] == ["node_completed s", "execution_completed"]


def test_strict_lanes_that_never_started_are_aborted_too() -> None:
    names = "abcdefghijkl"
    made = run(lanes_of(*coders(names)), failureMode="strict", replies={"b": {"exit": 1}, "a": {"ticks": 2}})
    synthetic = {step["node"]: step["synthetic"] for step in made.steps}
    # Ten lanes are at work when b fails, at the same tick as those behind it; k and l still wait for a container.
    assert settled(made)[:2] == ["b", "a"]
    assert [name for name in names if synthetic[name] == "aborted"] == [name for name in names if name != "b"]
    assert made.golden["outputFolder"] == [f"block-{name}.json" for name in names]


def test_after_strict_lanes_failed_the_run_is_over() -> None:
    edges = [edge("a", "z"), edge("b", "z")]
    definition = workflow(*coders("abz"), edges=edges, parallelGroups=[group("a", "b")])
    strict = run(definition, failureMode="strict", replies={"a": {"exit": 1}})
    assert [step["node"] for step in strict.steps] == ["a", "b"]
    lenient = run(definition, replies={"a": {"exit": 1}})
    assert [step["node"] for step in lenient.steps] == ["a", "b", "z"]
    assert {strict.execution_status, lenient.execution_status} == {"failed"}


def test_a_lane_that_the_user_aborts_ends_the_run_without_a_merge() -> None:
    made = run(
        lanes_of(*coders("ab")),
        repo={"files": BASE},
        replies={"a": {"abort": True, "write": {"src/p.py": "a\n"}}, "b": {"ticks": 3, "write": {"src/p.py": "b\n"}}},
    )
    assert (made.execution_status, made.files) == ("aborted", BASE)
    assert made.golden["outputFolder"] == ["block-a.json", "block-b.json"]
    assert "fan_in" not in types(made)


# ---------------------------------------------------------------------------------------------------------- merges


def test_edits_of_failed_lanes_are_neither_compared_nor_applied() -> None:
    made = run(
        lanes_of(*coders("ab")),
        repo={"files": BASE},
        replies={
            "a": {"write": {"src/p.py": "a\n"}, "output": {"status": "failed"}},
            "b": {"write": {"src/p.py": "b\n"}},
        },
    )
    assert made.fan_ins[0]["result"]["conflicts"] == []
    assert made.files["src/p.py"] == "b\n"


def test_what_a_lane_deleted_is_deleted_and_what_it_only_says_it_deleted_is_not() -> None:
    made = run(
        lanes_of(*coders("ab")),
        repo={"files": BASE},
        replies={"a": {"write": {"gone.txt": None}}, "b": {"output": {"filesModified": ["src/a.py", "src", "new/x"]}}},
    )
    assert made.files == {"src/p.py": "p\n", "src/a.py": "a\n"}


def test_edits_that_no_output_lists_stay_in_the_lane() -> None:
    made = run(
        lanes_of(*coders("ab")),
        repo={"files": BASE},
        replies={"a": {"write": {"src/a.py": "a2\n"}, "output": {"filesModified": []}}},
    )
    assert made.files == BASE
    assert "BC616" in made.codes


def test_nobody_else_can_write_the_output_of_another_block() -> None:
    liar = {"write": {".output/block-s.json": "{}"}, "output": {"filesModified": [".output/block-s.json"]}}
    edges = [edge("s", "a"), edge("s", "b")]
    made = run(workflow(node("s"), *coders("ab"), edges=edges, parallelGroups=[group("a", "b")]), replies={"a": liar})
    assert made.fan_ins[0]["applied"] == {}
    assert "BC109" in made.codes
    assert made.steps[0]["output"]["summary"] == "Simulated s."


def test_a_file_can_take_the_place_of_a_folder_and_the_other_way_round() -> None:
    def turn(workspace: Path, **_: Any) -> None:
        (workspace / "src" / "p.py").unlink()
        (workspace / "src" / "a.py").unlink()
        (workspace / "src").rmdir()
        (workspace / "src").write_text("now a file\n")
        (workspace / "gone.txt").unlink()
        (workspace / "gone.txt").mkdir()
        (workspace / "gone.txt" / "inner.py").write_text("inner\n")

    made = run(lanes_of(*coders("ab")), {"a": turn}, repo={"files": BASE, "git": "clean"})
    assert made.files == {"src": "now a file\n", "gone.txt/inner.py": "inner\n"}
    assert not [code for code in made.codes if code.startswith("BC7")]


def test_all_conflicts_are_shown_before_anything_is_applied() -> None:
    write = {"src/p.py": "x\n", "src/a.py": "y\n"}
    replies = {"a": {"write": {**write, "other.py": "z\n"}}, "b": {"write": write}}
    definition = lanes_of(*coders("ab"), strategy="fail-on-conflict")
    half = run(definition, repo={"files": BASE}, replies=replies, conflicts={"src/p.py": "a"})
    assert (half.execution_status, half.files) == ("paused", BASE)
    assert codes(half.blockers) == ["BLOCK_LANE_CONFLICT"] * 2
    [shown] = data(half, "block_gate_open")
    assert [each["conflictingFile"] for each in shown["conflicts"]] == ["src/a.py", "src/p.py"]


def test_a_choice_of_a_lane_that_has_no_part_in_the_conflict_decides_nothing() -> None:
    made = run(
        lanes_of(*coders("abc"), strategy="fail-on-conflict"),
        repo={"files": BASE},
        replies={name: {"write": {"src/p.py": f"{name}\n"}} for name in "ab"},
        conflicts={"src/p.py": "c"},
    )
    assert (made.execution_status, made.files) == ("paused", BASE)
    assert made.problems == (Fault("src/p.py accepts only a, b, manual, abort", "/block/conflicts/src~1p.py"),)


def test_no_more_than_ten_blockers() -> None:
    write = {f"f{n:02}.py": "x\n" for n in range(15)}
    made = run(
        lanes_of(*coders("ab"), strategy="fail-on-conflict"),
        repo={"files": dict.fromkeys(write, "o\n")},
        replies={name: {"write": write} for name in "ab"},
    )
    assert [each["pointer"]["path"] for each in made.blockers] == sorted(write)[:10]


# ------------------------------------------------------------------------------------------------------- isolation


def test_earlier_outputs_are_there_in_every_lane() -> None:
    seen: list[list[str]] = []

    def agent(workspace: Path, **_: Any) -> None:
        seen.append(sorted(path.name for path in (workspace / ".output").iterdir()))

    edges = [edge("s", "a"), edge("s", "b")]
    definition = workflow(node("s"), *coders("ab"), edges=edges, parallelGroups=[group("a", "b")])
    run(definition, {"a": agent, "b": agent}, repo={"files": BASE, "git": "clean"})
    assert seen == [["block-s.json"], ["block-s.json"]]


@pytest.mark.parametrize("git", ["clean", "dirty", "none"])
def test_a_lane_that_reaches_out_is_found_out(git: str) -> None:
    def vandal(workspace: Path, **_: Any) -> None:
        root = workspace.parent
        (root / "workspace" / "src" / "p.py").write_text("q\n")
        (root / "lane-1" / "new.py").write_text("new\n")

    made = run(lanes_of(*coders("ab")), {"a": vandal}, repo={"files": BASE, "git": git})
    strays = [finding.message for finding in made.findings if finding.code == "BC705"]
    assert len(strays) == 2
    assert "in the main workspace" in strays[0]
    assert "the workspace of 'b'" in strays[1]


@pytest.mark.parametrize("git", ["clean", "none"])
@pytest.mark.parametrize("problem", [Killed(9), ZeroDivisionError()])
def test_lanes_are_gone_whatever_happens_in_them(git: str, problem: Exception) -> None:
    seen: list[Path] = []

    def agent(workspace: Path, **_: Any) -> None:
        seen.append(workspace)
        (workspace / "half.py").write_text("half")
        raise problem

    def after(workspace: Path, **_: Any) -> None:
        assert sorted(path.name for path in workspace.parent.iterdir()) == ["workspace"]
        assert not list((workspace / ".git").glob("worktrees/*"))

    edges = [edge("a", "z"), edge("b", "z")]
    definition = workflow(*coders("abz"), edges=edges, parallelGroups=[group("a", "b")])
    block = {"repo": {"files": BASE, "git": git}}
    if isinstance(problem, Killed):
        made = run(definition, {"a": agent, "z": after}, **block)
        assert made.nodes == {"a": "failed", "b": "completed", "z": "completed"}
    else:
        with pytest.raises(ZeroDivisionError):
            run(definition, {"a": agent, "z": after}, **block)
    assert not seen[0].parent.exists()


def test_what_depends_on_the_order_of_lanes_is_found_out() -> None:
    order: list[str] = []

    def agent(env: dict[str, str], **_: Any) -> dict[str, Any]:
        order.append(env["NODE_ID"])
        return {"write": {f"{env['NODE_ID']}.py": f"{len(order)}\n"}}

    made = run(lanes_of(*coders("ab")), {"a": agent, "b": agent}, check={"permutations": True})
    assert {"BC714"} <= set(made.codes)
    assert "block-order-pure" not in made.locks


RETRIES = {"maxRetries": 1, "retryableExitCodes": [75]}


@pytest.mark.parametrize(
    ("config", "block"),
    [
        pytest.param({}, {}, id="both create a file"),
        pytest.param({}, {"repo": {"files": {"p.py": ""}}}, id="nobody decides"),
        pytest.param({}, {"repo": {"restrictions": ["src/**"]}, "enforce": "hook"}, id="writes are refused"),
        pytest.param(RETRIES, {"replies": {"a#1": {"exit": 75}, "b#1": {"exit": 75}}}, id="lanes try again"),
    ],
)
def test_what_lanes_tell_on_their_way_may_come_in_any_order(config: dict[str, Any], block: dict[str, Any]) -> None:
    """Who is first decides in which order lanes are told about and named, and that is all that changes."""
    writes = {lane: {"write": {"p.py": f"{lane}\n"}, "ticks": ticks} for lane, ticks in (("a", 2), ("b", 1))}
    lanes = [node(lane, "coding", config=config) for lane in "ab"]
    given = {**block, "replies": {**writes, **block.get("replies", {})}}
    made = run(lanes_of(*lanes, strategy="fail-on-conflict"), check={"permutations": True}, **given)
    assert len(made.trace["permutations"]) == 3
    assert "BC714" not in made.codes
    assert "block-order-pure" in made.locks


@pytest.mark.parametrize("strategy", ["workspace", "fail-on-conflict"])
def test_a_group_that_is_merged_twice_is_judged_twice(strategy: str) -> None:
    """The same definition runs two times; its lanes are in conflict in one of them only."""
    down = [control(ident, "subWorkflow", subWorkflowConfig={"workflowId": "inner"}) for ident in ("d1", "d2")]
    inner = {**lanes_of(*coders("ab"), strategy=strategy), "id": "inner"}
    for clashing in (1, 2):
        replies = {
            "a": {"write": {"src/a.py": "a1\n"}},
            "b": {"ticks": 2, "write": {"src/p.py": "b\n"}},
            f"b#{clashing}": {"ticks": 2, "write": {"src/a.py": f"b{clashing}\n"}},
            "a#2": {"write": {"src/a.py": "a2\n"}},
        }
        choices = {"conflicts": {"src/a.py": "b"}} if strategy == "fail-on-conflict" else {}
        made = run(chain(*down), others=[inner], repo={"files": BASE}, replies=replies, **choices)
        conflicts = [len(each["result"]["conflicts"]) for each in made.fan_ins]
        assert conflicts == ([1, 0] if clashing == 1 else [0, 1])
        assert (made.execution_status, made.codes, made.problems) == ("completed", [], ())


def test_whether_a_contested_file_is_there_may_depend_on_the_order() -> None:
    """One lane deletes what the other one edits: its version is that there is none."""
    replies = {"a": {"write": {"src/p.py": None}}, "b": {"write": {"src/p.py": "b\n"}}}
    made = run(lanes_of(*coders("ab")), repo={"files": BASE}, replies=replies, check={"permutations": True})
    assert made.codes == []
    assert "src/p.py" not in made.files


def test_two_definitions_may_have_a_group_of_the_same_name() -> None:
    inner = {**lanes_of(node("x", "reviewer"), node("y", "reviewer")), "id": "inner"}
    outer = workflow(
        *coders("ab"),
        control("down", "subWorkflow", subWorkflowConfig={"workflowId": "inner"}),
        edges=[edge("a", "down"), edge("b", "down")],
        parallelGroups=[group("a", "b")],
    )
    replies = {"a": {"write": {"src/a.py": "edit\n"}}, "b": {"write": {"src/p.py": "b\n"}}}
    given = {"repo": {"files": BASE}, "replies": replies, "check": {"permutations": True}}
    made = run(outer, others=[inner], **given)
    assert [each["group"] for each in made.fan_ins] == ["g", "g"]
    assert (made.execution_status, made.codes) == ("completed", [])
    orders = [tuple(each["completionOrder"] for each in other["fanIns"]) for other in made.trace["permutations"]]
    assert (["b", "a"], ["x", "y"]) in orders
    assert (["a", "b"], ["y", "x"]) in orders


def test_five_lanes_have_too_many_orders() -> None:
    made = run(lanes_of(*coders("abcde")), check={"permutations": True})
    assert len(made.trace["permutations"]) == 1
    assert "block-order-pure" not in made.locks


def test_a_worktree_only_shows_what_is_committed() -> None:
    edits = chain(node("s", "coding"), *coders("ab"))
    definition = {**edits, "transitions": [edge("s", "a"), edge("s", "b")], "parallelGroups": [group("a", "b")]}
    plain = run(definition, repo={"files": BASE, "git": "clean"})
    edited = run(definition, repo={"files": BASE, "git": "clean"}, replies={"s": {"write": {"src/p.py": "edit\n"}}})
    ignored = {**BASE, ".gitignore": "*.log\n", "x.log": "kept\n"}
    with_ignored = run(definition, repo={"files": ignored, "git": "clean"})
    assert plain.fan_ins[0]["isolation"] == "git-worktree"
    assert edited.fan_ins[0]["isolation"] == "temp-copy"
    assert with_ignored.fan_ins[0]["isolation"] == "git-worktree"
    assert with_ignored.files == ignored
