"""Blocks in a row: time, retries, containers, gates, pauses, what is left unused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from block_runs import chain, codes, data, edge, node, run, types, workflow

from pytest_workrail.scenarios.drivers import Fault, SimulatedClock
from pytest_workrail.systems.blocks import Killed, Reply, ScenarioInvalid
from pytest_workrail.systems.blocks.run_state import Pool
from pytest_workrail.systems.blocks.workspaces import Workspace
from workrail_lint.systems.blocks.rules.samples import GATE, control
from workrail_lint.systems.blocks.vocabulary import COMMON_CODE, BlockerCode
from workrail_lint.systems.workrail.blocker_codes import BlockerCode as CommonBlockerCode


def test_time_passes_only_when_a_block_takes_some() -> None:
    made = run(chain(node("a"), node("b")), replies={"a": {"ticks": 90}, "b": {"ticks": 5}})
    stamps = [step["output"]["timestamp"] for step in made.trace["steps"]]
    assert stamps == ["2000-01-01T00:01:30Z", "2000-01-01T00:01:35Z"]


@pytest.mark.parametrize(
    ("limit", "ticks", "expected"),
    [(None, 300, None), (None, 301, "timeout"), (2, 2, None), (2, 3, "timeout"), (0.5, 1, "timeout")],
)
def test_a_block_has_five_minutes_unless_it_says_otherwise(
    limit: float | None, ticks: int, expected: str | None
) -> None:
    config = {} if limit is None else {"timeoutSeconds": limit}
    made = run(chain(node("a", config=config)), replies={"a": {"ticks": ticks}})
    assert made.steps[0]["synthetic"] == expected


def test_each_try_has_more_time_up_to_twice_as_much() -> None:
    config = {"timeoutSeconds": 10, "maxRetries": 3}
    made = run(chain(node("a", config=config)), replies={"a": {"timeout": True}})
    assert types(made)[-3:] == ["node_failed a", "node_retry_exhausted a", "execution_failed"]
    assert data(made, "node_retry_exhausted") == [{"attempts": 4}]
    assert made.trace["steps"][-1]["output"]["timestamp"] == "2000-01-01T00:01:05Z"  # 10 + 15 + 20 + 20
    assert codes(made.blockers) == ["BLOCK_TIMED_OUT"]


def test_a_half_second_shows() -> None:
    made = run(chain(node("a", config={"timeoutSeconds": 1.5})), replies={"a": {"timeout": True}})
    assert made.trace["steps"][0]["output"]["timestamp"] == "2000-01-01T00:00:01.500Z"


def test_other_exit_codes_are_not_worth_a_second_try() -> None:
    config = {"maxRetries": 2, "retryableExitCodes": [75]}
    made = run(chain(node("a", config=config)), replies={"a": {"exit": 1}})
    assert types(made)[2:] == ["node_started a", "node_failed a", "execution_failed"]


def test_a_valid_output_beside_an_exit_code_is_kept() -> None:
    made = run(chain(node("a")), replies={"a": {"exit": 3}})
    assert made.steps[0]["output"]["status"] == "completed"
    assert (made.steps[0]["synthetic"], made.nodes["a"]) == (None, "failed")
    assert data(made, "node_failed") == [{"reason": "exit"}]


def test_what_a_block_wrote_before_its_time_was_up_is_set_aside(tmp_path: Path) -> None:
    def agent(workspace: Path, **_: Any) -> dict[str, Any]:
        (workspace / ".output" / "block-a.json").write_text("half")
        return {"timeout": True}

    run(chain(node("a")), {"a": agent}, keep=tmp_path)
    assert (tmp_path / ".output" / "block-a.json.rejected").read_text() == "half"


# ------------------------------------------------------------------------------------------------------ containers


def test_a_warm_container_is_woken_until_its_time_is_up() -> None:
    clock = SimulatedClock()
    pool = Pool(clock, warm=True)
    first = pool.acquire()
    assert first is not None
    first.memory["seen"] = True
    pool.release(first, 1000)
    clock.advance_to(999)
    again = pool.acquire()
    assert again is first
    assert again.is_warm
    pool.release(again, 1000)
    clock.advance_to(1999)
    other = pool.acquire()
    assert other is not None
    assert (other.memory, other.is_warm) == ({}, False)


def test_there_are_ten_containers() -> None:
    pool = Pool(SimulatedClock(), warm=False)
    taken = [pool.acquire() for _ in range(10)]
    assert all(taken)
    assert pool.acquire() is None
    assert taken[3] is not None
    pool.release(taken[3], 0)
    assert pool.acquire() is not None


def test_a_block_finds_nothing_of_an_earlier_one_in_a_cold_container() -> None:
    memories: list[dict[str, Any]] = []

    def agent(memory: dict[str, Any], **_: Any) -> None:
        memories.append(dict(memory))
        memory["seen"] = True

    run(chain(node("a"), node("b")), {"a": agent, "b": agent}, containers="cold")
    assert memories == [{}, {}]
    memories.clear()
    run(chain(node("a"), node("b")), {"a": agent, "b": agent}, containers="warm")
    assert memories == [{}, {"seen": True}]


# ---------------------------------------------------------------------------------------------------------- agents


def test_an_agent_in_python_is_told_what_a_process_is_told() -> None:
    told: dict[str, Any] = {}

    def agent(**given: Any) -> Reply:
        told.update(given)
        return Reply(ticks=7, write={"src/a.py": "a\n"})

    made = run(chain(node("a", "coding")), {"a": agent})
    assert sorted(told) == ["env", "memory", "prompt", "workspace"]
    assert told["prompt"] == "Plan the login page."
    assert not told["workspace"].exists()
    assert made.steps[0]["output"]["filesCreated"] == ["src/a.py"]
    assert made.trace["steps"][0]["output"]["timestamp"] == "2000-01-01T00:00:07Z"


def test_an_agent_that_writes_its_own_output_is_taken_at_its_word() -> None:
    def agent(workspace: Path, **_: Any) -> None:
        (workspace / ".output" / "block-a.json").write_text("{}")

    made = run(chain(node("a")), {"a": agent})
    assert made.steps[0]["synthetic"] == "malformed"
    assert made.steps[0]["output"]["summary"] == "The output file of block a is not usable: 8 violation(s)."


def test_an_agent_that_is_killed_leaves_what_it_wrote() -> None:
    def agent(workspace: Path, **_: Any) -> None:
        (workspace / "half.py").write_text("half")
        raise Killed(137)

    made = run(chain(node("a", "coding")), {"a": agent})
    assert made.steps[0]["output"]["summary"] == "Block a ended with exit code 137."
    assert made.files == {"half.py": "half"}
    assert made.steps[0]["detected"] == ["half.py"]


def test_a_mistake_in_an_agent_is_not_hidden() -> None:
    def agent(**_: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(chain(node("a")), {"a": agent})


def test_the_hook_undoes_what_an_agent_in_python_may_not_do() -> None:
    def agent(workspace: Path, **_: Any) -> None:
        (workspace / "docs" / "x.md").unlink()
        (workspace / "docs" / "new.md").write_text("new")
        (workspace / "src").mkdir()
        (workspace / "src" / "a.py").write_text("a")

    made = run(
        chain(node("a", "coding")),
        {"a": agent},
        enforce="hook",
        repo={"files": {"docs/x.md": "x\n"}, "restrictions": ["src/**"]},
    )
    assert made.files == {"docs/x.md": "x\n", "src/a.py": "a"}
    assert data(made, "write_blocked") == [{"path": "docs/new.md"}, {"path": "docs/x.md"}]
    assert made.steps[0]["output"]["filesCreated"] == ["src/a.py"]


@pytest.mark.parametrize(
    ("members", "path", "code"),
    [
        ({"filesModified": ["/workspace/a.py", "../x"]}, "/filesModified/1", "BC109"),
        ({"filesModified": ["a//b", "../x"], "blockId": "b"}, "/filesModified/1", "BC109"),
        ({"filesModified": ["/workspace/a.py"], "blockId": "b"}, "/blockId", "BC117"),
        ({"filesModified": ["/workspace/a.py"], "blockId": "b c"}, "/blockId", "BC101"),
        (
            {"filesModified": ["/workspace/a.py"], "deliverables": {"blockType": "x"}},
            "/deliverables/blockType",
            "BC101",
        ),
    ],
)
def test_a_blocker_points_at_what_made_an_output_unusable(members: dict[str, Any], path: str, code: str) -> None:
    """A path that only carries the mount point is told, but rejects nothing."""
    made = run(workflow(node("a", "coding")), replies={"a": {"output": members}})
    assert made.blockers[0]["pointer"] == {"kind": "output", "nodeId": "a", "path": path}
    assert f"({code}: " in made.blockers[0]["suggestedFix"]


def test_lies_can_be_scripted() -> None:
    made = run(
        chain(node("a", "coding")),
        repo={"files": {"a.py": "a\n", "b.py": "b\n"}},
        replies={"a": {"write": {"a.py": None}, "output": {"filesModified": ["b.py"], "blockType": "plan"}}},
    )
    assert made.codes == ["BC608", "BC616"]
    assert made.execution_status == "completed"


def test_only_what_lanes_touch_is_on_record_as_an_access() -> None:
    """Blocks in a row have the workspace for themselves: they are in nobody's way."""
    made = run(chain(node("a", "coding"), node("b", "coding")), replies={"a": {"write": {"a.py": "a\n"}}})
    assert made.files == {"a.py": "a\n"}
    assert made.trace["accesses"] == []


# ------------------------------------------------------------------------------------------- questions and answers


def test_questions_before_and_behind_a_block_share_one_queue() -> None:
    planned = node("plan", config={"gateMode": "gate"})
    made = run(
        workflow(planned, gates=[GATE, {**GATE, "id": "again"}]),
        gates={"plan": ["yes", "no", {"revise": "more"}, "continue"]},
    )
    assert [each.get("gateId") for each in data(made, "gate_waiting")] == ["ask", "again"]
    assert data(made, "gate_waiting")[0]["options"] == ["yes", "no"]
    assert [each["selectedOption"] for each in data(made, "gate_decided")] == ["yes", "no", "continue"]
    assert made.problems == ()


@pytest.mark.parametrize("answer", ["no such thing", {"revise": "before it has run"}])
def test_an_answer_that_fits_no_question_is_an_error_before_anything_runs(answer: Any) -> None:
    with pytest.raises(ScenarioInvalid) as problem:
        run(workflow(node("plan"), gates=[GATE]), gates={"plan": [answer]})
    assert [(each.name, each.pointer) for each in problem.value.findings] == [
        ("scenario-choice-mismatch", "/block/gates/plan/0")
    ]


def test_an_answer_to_the_wrong_one_of_two_questions_is_an_error_of_the_scenario() -> None:
    planned = node("plan", config={"gateMode": "gate"})
    made = run(workflow(planned, gates=[GATE]), gates={"plan": [{"revise": "too early"}]})
    text = "the gate of plan accepts only yes, no, continue, abort"
    assert made.problems == (Fault(text, "/block/gates/plan/0"),)
    assert made.execution_status == "waiting_gate"


def test_what_nobody_asked_for_is_an_error_of_the_scenario() -> None:
    made = run(
        chain(node("a", config={"gateMode": "gate"}), node("b")),
        replies={"a": {"exit": 1}, "b#2": {}},
        gates={"a": ["continue"]},
        conflicts={"src/a.py": "manual"},
        manual={"src/a.py": "text"},
        pauses={"b": "resume"},
    )
    assert [problem.pointer for problem in made.problems] == [
        "/block/replies/b#2",
        "/block/gates/a/0",
        "/block/conflicts/src~1a.py",
        "/block/manual/src~1a.py",
    ]


def test_the_reply_of_a_node_serves_all_its_runs_that_have_none_of_their_own() -> None:
    config = {"maxRetries": 2, "retryableExitCodes": [75]}
    made = run(chain(node("a", config=config)), replies={"a": {"exit": 75}, "a#3": {}})
    assert [step["nodeStatus"] for step in made.steps] == ["failed", "failed", "completed"]
    assert made.execution_status == "completed"


# -------------------------------------------------------------------------------------------------------- controls


def looped(*body: dict[str, Any], items: Any = ("x", "y"), **config: Any) -> Any:
    each = {"collectionVariable": "items", "itemVariable": "item", "bodyNodeIds": [one["id"] for one in body]}
    loop = control("each", "forEach", forEachConfig={**each, **config})
    variables = [{"name": name, "type": "json", "required": False} for name in ("items", "item")]
    return run(workflow(loop, *body, variables=variables), variables={"items": list(items)})


def test_a_loop_runs_its_body_for_every_item() -> None:
    made = looped(node("a"), node("b"))
    assert [step["node"] for step in made.steps] == ["a[0]", "b[0]", "a[1]", "b[1]"]
    assert {step["env"]["STEP_INDEX"] for step in made.steps} == {"0"}
    assert made.codes == []
    assert made.nodes["each"] == "completed"


def test_a_loop_ends_at_its_limit() -> None:
    assert len(looped(node("a"), items="abcde", maxIterations=3).steps) == 3
    assert len(looped(node("a"), items=range(150)).steps) == 100


def test_a_loop_over_nothing_runs_nothing() -> None:
    assert looped(node("a"), items=()).steps == []


def inner(ident: str, body: dict[str, Any], depth: int) -> dict[str, Any]:
    return {**workflow(body), "id": f"{ident}{depth}"}


def test_definitions_nest_three_deep() -> None:
    def at(depth: int) -> dict[str, Any]:
        config = {"workflowId": f"level{depth + 1}"}
        return inner("level", control(f"down{depth}", "subWorkflow", subWorkflowConfig=config), depth)

    others = [at(1), at(2), at(3), inner("level", node("leaf"), 4)]
    made = run(at(0), others=others)
    assert made.steps == []
    assert codes(made.blockers) == ["BLOCK_FAILED"]
    assert made.blockers[0]["pointer"] == {"kind": "block", "nodeId": "down3"}
    shallow = run(at(1), others=others[1:])
    assert [step["node"] for step in shallow.steps] == ["leaf"]
    assert shallow.trace["steps"][0]["env"]["WORKFLOW_ID"] == "level4"


def test_a_definition_that_is_not_there_is_an_error_of_the_scenario() -> None:
    down = control("down", "subWorkflow", subWorkflowConfig={"workflowId": "gone"})
    with pytest.raises(ScenarioInvalid, match="gone"):
        run(workflow(down))


def test_two_definitions_can_not_share_a_node() -> None:
    down = control("down", "subWorkflow", subWorkflowConfig={"workflowId": "other"})
    with pytest.raises(ScenarioInvalid, match="would be the same file"):
        run(workflow(node("a"), down, edges=[edge("a", "down")]), others=[{**workflow(node("a")), "id": "other"}])


def test_two_definitions_can_not_share_an_id_but_one_may_run_itself() -> None:
    down = control("down", "subWorkflow", subWorkflowConfig={"workflowId": "other"})
    one, other = ({**workflow(node(name)), "id": "other"} for name in "bc")
    with pytest.raises(ScenarioInvalid, match="two definitions have the id 'other'"):
        run(chain(node("a"), down), others=[one, other])
    itself = {**chain(node("a"), down), "id": "other"}
    made = run(itself, others=[itself])
    assert [step["node"] for step in made.steps] == ["a"] * 4
    assert codes(made.blockers) == ["BLOCK_FAILED"]


def test_a_condition_skips_the_branch_it_decides_against() -> None:
    branches = {"expression": "n > 1", "trueBranchNodeId": "yes", "falseBranchNodeId": "no"}
    definition = workflow(
        control("if", "condition", conditionConfig=branches),
        node("yes"),
        node("no"),
        node("after"),
        edges=[edge("if", "yes"), edge("if", "no"), edge("yes", "after"), edge("no", "after")],
        variables=[{"name": "n", "type": "number", "required": False, "defaultValue": 1}],
    )
    made = run(definition)
    assert data(made, "node_skipped") == [{"reason": "branch"}]
    assert [step["node"] for step in made.steps] == ["no", "after"]
    assert [step["node"] for step in run(definition, variables={"n": 2}).steps] == ["yes", "after"]


@pytest.mark.parametrize(
    ("answers", "status", "after"),
    [
        (["yes"], "completed", ["gate_decided c", "node_started b", "node_completed b", "node_skipped a"]),
        (["abort"], "aborted", ["gate_decided c"]),
        ([], "waiting_gate", []),
    ],
)
def test_a_gate_before_a_control_is_asked_too(answers: list[str], status: str, after: list[str]) -> None:
    config = {"expression": "true", "trueBranchNodeId": "b", "falseBranchNodeId": "a"}
    asked = workflow(
        control("c", "condition", conditionConfig=config),
        node("b"),
        node("a"),
        edges=[edge("c", "a"), edge("c", "b")],
        gates=[{**GATE, "nodeId": "c"}],
    )
    made = run(asked, gates={"c": answers})
    assert made.execution_status == status
    assert types(made)[2:] == ["gate_waiting c", *after, *([f"execution_{status}"] if answers else [])]
    wanted = {"completed": [], "aborted": ["BLOCK_ABORTED"], "waiting_gate": ["BLOCK_GATE_OPEN"]}
    assert (codes(made.blockers), made.problems, made.codes) == (wanted[status], (), [])


def test_every_blocker_has_a_common_code() -> None:
    assert set(COMMON_CODE) == set(BlockerCode)
    assert set(COMMON_CODE.values()) <= set(get_args(CommonBlockerCode))


def test_an_output_that_another_block_tampered_with_is_found_out() -> None:
    made = run(chain(node("a"), node("b")), replies={"b": {"write": {".output/block-a.json": '{"blockId": "a"}'}}})
    assert {finding.path for finding in made.findings if finding.code == "BC101"} == {".output/block-a.json"}
    assert made.steps[1]["detected"] == []


def test_the_hook_puts_back_links_and_folders_too(tmp_path: Path) -> None:
    def linker(workspace: Path, **_: Any) -> dict[str, Any]:
        (workspace / "docs").mkdir()
        (workspace / "docs" / "link").symlink_to("x.md")
        return {"output": {"filesModified": [], "filesCreated": []}}

    def breaker(workspace: Path, **_: Any) -> None:
        assert (workspace / "docs" / "link").is_symlink()
        (workspace / "docs" / "link").unlink()
        (workspace / "docs").rmdir()
        (workspace / "docs").write_text("no folder any more")

    # The link is made where nothing forbids it, and broken where something does.
    made = run(chain(node("a", "coding")), {"a": linker}, keep=tmp_path)
    assert made.steps[0]["detected"] == ["docs/link"]
    stage = Workspace(str(tmp_path))
    kept = stage.content("docs/link")
    breaker(tmp_path)
    stage.restore("docs", None)
    stage.restore("docs/link", kept)
    assert (tmp_path / "docs" / "link").readlink() == Path("x.md")


@pytest.mark.parametrize(
    ("reply", "message"),
    [({"tick": 3}, "unknown members of a reply: 'tick' \\(known: ticks, write,"), (3, "a reply or None, not 3")],
)
def test_an_agent_that_gives_back_something_else_is_told_what_a_reply_is(reply: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        run(chain(node("a")), {"a": lambda **_: reply})


@pytest.mark.parametrize("hidden", [True, False])
def test_an_edit_outside_of_the_restrictions_is_named_as_that(hidden: bool) -> None:
    reply: dict[str, Any] = {"write": {"docs/plan.md": "new\n", "src/a.py": "new\n"}}
    if hidden:
        reply["output"] = {"filesCreated": [], "filesModified": ["src/a.py"]}
    repo = {"files": {"src/a.py": "old\n"}, "restrictions": ["src/**"]}
    made = run(chain(node("a", "coding", "Build it.")), repo=repo, replies={"a": reply})
    how = "was edited but not reported, and matches" if hidden else "matches"
    message = f"'docs/plan.md' {how} none of the restrictions 'src/**'"
    assert [(each.code, each.message) for each in made.findings] == [("BC609", message)]
    assert [(each["code"], each["message"]) for each in made.golden["blockers"]] == [
        ("BLOCK_RESTRICTED_WRITE", message)
    ]


@pytest.mark.parametrize("reply", [{"output": "none"}, {"raw": "{"}, {"timeout": True}, {"exit": 3, "output": "none"}])
def test_a_block_that_fails_does_not_hide_its_edits(reply: dict[str, Any]) -> None:
    repo = {"files": {"src/a.py": "old\n"}, "restrictions": ["src/**"]}
    replies = {"a": {"write": {"docs/plan.md": "new\n"}, **reply}}
    made = run(chain(node("a", "coding", "Build it.")), repo=repo, replies=replies)
    assert "BC609" in made.codes
    assert "BLOCK_RESTRICTED_WRITE" in [each["code"] for each in made.golden["blockers"]]


def test_a_hidden_edit_on_a_read_only_mount_is_named_as_that() -> None:
    reply = {"write": {"src/a.py": "new\n"}, "output": {"filesModified": []}}
    repo = {"files": {"src/a.py": "old\n"}, "readOnly": True}
    made = run(chain(node("a", "reviewer", "Review it.")), repo=repo, replies={"a": reply})
    message = "'src/a.py' was edited but not reported, and is on a read-only mount"
    assert message in [each.message for each in made.findings]
