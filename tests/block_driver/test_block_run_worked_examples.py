"""The worked examples of the contract, run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from block_runs import chain, codes, data, edge, group, lanes_of, node, run, types, workflow

from pytest_workrail.systems.blocks import ScenarioInvalid
from pytest_workrail.systems.blocks.block_run import BlockRun
from workrail_lint import check
from workrail_lint.findings import Severity
from workrail_lint.systems.blocks.rules.samples import environment, output

# ------------------------------------------------------------------------------------------------ X1 and X2

X1 = (
    '{"blockId":"dev-1","blockType":"dev","status":"completed","deliverables":{"blockType":"code","filesChanged":'
    '["src/a.py"],"taskList":[]},"summary":"Adds a form.","filesModified":["/workspace/src/a.py","src/b.py","src/b.py"]'
    ',"timestamp":"2026-03-01T10:00:00Z"}'
)


def test_x1_the_output_is_rejected_with_its_findings() -> None:
    made = run(chain(node("dev1", "coding")), replies={"dev1": {"raw": X1}})
    told = [(each.code, each.pointer) for each in made.findings if each.path == ".output/block-dev1.json"]
    assert sorted(told) == [
        ("BC101", "/filesCreated"),
        ("BC109", "/filesModified/0"),
        ("BC109", "/filesModified/2"),
        ("BC117", "/blockId"),
        ("BC203", "/deliverables/taskList"),
        ("BC206", "/deliverables/filesChanged"),
        ("BC207", "/deliverables/diffSummary"),
    ]
    assert made.steps[0]["synthetic"] == "malformed"
    assert made.blockers[0]["pointer"] == {"kind": "output", "nodeId": "dev1", "path": "/filesCreated"}


def test_x1_a_path_with_the_mount_point_is_no_reason_to_reject() -> None:
    mended = {**json.loads(X1), "blockId": "dev1", "filesCreated": []}
    made = run(chain(node("dev1", "coding")), replies={"dev1": {"raw": json.dumps(mended)}})
    assert made.steps[0]["synthetic"] is None
    assert made.steps[0]["output"]["filesModified"] == ["src/a.py", "src/b.py", "src/b.py"]
    assert "BC109" in made.codes


X2_PROMPT = """Rules:
- No force push

You plan.

Plan the login feature.

Only modify files matching: src/**, docs/*.md. Other files are read-only.

You must produce the following outputs:
1) Task list"""


def x2(**config: Any) -> dict[str, Any]:
    planner = node(
        "p",
        "planner",
        None,
        description="Plan the login feature.\n",
        config={"outputChecklist": ["Task list"], **config},
    )
    return workflow(planner, rules=["No force push", ""])


def test_x2_all_sections() -> None:
    made = run(x2(systemPromptPrefix="You plan."), repo={"restrictions": ["src/**", "docs/*.md"]})
    assert made.steps[0]["prompt"] == X2_PROMPT
    assert {"block-prompt-order"} <= set(made.locks)


def test_x2_without_prefix_and_restrictions() -> None:
    made = run(x2())
    assert made.steps[0]["prompt"] == (
        "Rules:\n- No force push\n\nPlan the login feature.\n\nYou must produce the following outputs:\n1) Task list"
    )
    assert "block-prompt-omission" in made.locks


# ------------------------------------------------------------------------------------------------------- X3


def x3(kind: str = "always") -> dict[str, Any]:
    edges = [edge("a", "b", kind), edge("a", "c"), edge("b", "d"), edge("c", "d")]
    return workflow(*(node(name) for name in "dabc"), edges=edges, parallelGroups=[group("c", "b")])


def table(made: BlockRun) -> list[tuple[str, str, str, str]]:
    names = ("NODE_ID", "STEP_INDEX", "PREVIOUS_BLOCK_ID", "FILE_RESTRICTIONS")
    return [tuple(step["env"][name] for name in names) for step in made.steps]  # type: ignore[misc]


def test_x3_plan_and_environment() -> None:
    made = run(x3())
    assert made.golden["plan"] == [
        {"node": "a", "stepIndex": 0},
        {"group": "g", "nodeIds": ["c", "b"], "stepIndices": [1, 2], "mergeStrategy": "concatenate"},
        {"node": "d", "stepIndex": 3},
    ]
    assert table(made) == [("a", "0", "", "[]"), ("c", "1", "a", "[]"), ("b", "2", "a", "[]"), ("d", "3", "b", "[]")]
    assert "block-previous-chain" in made.locks


def test_x3_with_a_lane_skipped() -> None:
    made = run(x3("on_failure"))
    assert table(made) == [("a", "0", "", "[]"), ("c", "1", "a", "[]"), ("d", "3", "c", "[]")]
    assert made.nodes["b"] == "skipped"
    assert "block-b.json" not in made.golden["outputFolder"]


# ------------------------------------------------------------------------------------------------------- X4


def x4() -> dict[str, Any]:
    edges = [edge("t", "after", "on_failure"), edge("t", "never", "on_success")]
    return workflow(node("t", "utest"), node("after"), node("never"), edges=edges)


def test_x4_missing() -> None:
    made = run(x4(), replies={"t": {"output": "none"}})
    summary = "No output file was written by block t."
    assert made.steps[0]["output"] == {
        "blockId": "t",
        "blockType": "test",
        "status": "failed",
        "deliverables": {"blockType": "generic", "summary": summary},
        "summary": summary,
        "filesModified": [],
        "filesCreated": [],
        "timestamp": "«TS»",
    }
    assert (made.steps[0]["nodeStatus"], made.execution_status) == ("failed", "failed")
    assert codes(made.blockers) == ["BLOCK_OUTPUT_MISSING"]
    assert made.blockers[0]["pointer"] == {"kind": "block", "nodeId": "t"}
    assert made.steps[1]["env"]["PREVIOUS_BLOCK_ID"] == "t"
    assert made.nodes == {"t": "failed", "after": "completed", "never": "skipped"}
    assert "block-output-required" in made.locks


def test_x4_raw(tmp_path: Any) -> None:
    made = run(x4(), replies={"t": {"raw": "{not json"}}, keep=tmp_path)
    assert (tmp_path / ".output" / "block-t.json.rejected").read_text() == "{not json"
    assert made.steps[0]["synthetic"] == "malformed"
    assert made.steps[0]["output"]["summary"] == "The output file of block t is not usable: 1 violation(s)."
    assert codes(made.blockers) == ["BLOCK_OUTPUT_INVALID"]
    assert json.loads((tmp_path / ".output" / "block-t.json").read_text())["status"] == "failed"
    assert "block-output-malformed-fails" in made.locks


# ------------------------------------------------------------------------------------------------- X5 and X6

FILES = {"src/p.py": "p\n", "src/a.py": "a\n"}


def x5(strategy: str | None = None, a: int = 5, b: int = 3, git: str = "none", **block: Any) -> BlockRun:
    definition = lanes_of(node("a", "coding"), node("b", "coding"), strategy=strategy)
    replies = {
        "a": {"ticks": a, "write": {"src/p.py": "from a\n", "src/a.py": "a2\n"}},
        "b": {"ticks": b, "write": {"src/p.py": "from b\n", "src/n.py": "n\n"}},
    }
    return run(definition, repo={"files": FILES, "git": git}, replies=replies, **block)


CONFLICT = {
    "conflictingFile": "src/p.py",
    "lanes": ["b", "a"],
    "resolution": "first-complete-wins",
    "appliedFrom": "b",
}


@pytest.mark.parametrize("git", ["clean", "dirty", "none"])
def test_x5_workspace(git: str) -> None:
    made = x5(git=git)
    [merged] = made.fan_ins
    assert merged["isolation"] == ("git-worktree" if git == "clean" else "temp-copy")
    assert merged["completionOrder"] == ["b", "a"]
    assert merged["applied"] == {"src/a.py": "a", "src/n.py": "b", "src/p.py": "b"}
    assert merged["result"]["mergeStrategy"] == "workspace"
    assert [each["blockId"] for each in merged["result"]["blockOutputs"]] == ["a", "b"]
    assert merged["result"]["conflicts"] == [CONFLICT]
    assert types(made) == [
        "execution_started",
        "folder_created",
        "lane_started a",
        "lane_started b",
        "lane_settled b",
        "lane_settled a",
        "fan_in",
        "lane:conflict-detected",
        "execution_completed",
    ]
    assert made.events[6:8] == [
        {
            "n": 7,
            "type": "fan_in",
            "data": {"groupId": "g", "mergeStrategy": "workspace", "completionOrder": ["b", "a"]},
        },
        {"n": 8, "type": "lane:conflict-detected", "data": CONFLICT},
    ]
    assert (made.blockers, made.execution_status) == ([], "completed")
    assert made.files == {"src/a.py": "a2\n", "src/n.py": "n\n", "src/p.py": "from b\n"}
    assert made.codes == []


def test_x5_swapped_ticks_change_only_the_winner() -> None:
    one, other = x5().golden, x5(a=3, b=5).golden
    assert other["fanIns"][0]["result"]["conflicts"] == [{**CONFLICT, "lanes": ["a", "b"], "appliedFrom": "a"}]
    differing = {path for path in one["workspace"] if one["workspace"][path] != other["workspace"][path]}
    assert differing == {"src/p.py"}
    assert one["steps"] == other["steps"]
    merged, swapped = one["fanIns"][0], other["fanIns"][0]
    assert merged["result"]["blockOutputs"] == swapped["result"]["blockOutputs"]
    assert {**merged["applied"], "src/p.py": "a"} == swapped["applied"]


def test_x6_choice_of_a_lane() -> None:
    made = x5("fail-on-conflict", conflicts={"src/p.py": "a"})
    assert types(made)[6:] == [
        "fan_in",
        "execution_paused",
        "block_gate_open",
        "gate_decided",
        "execution_resumed",
        "execution_completed",
    ]
    assert data(made, "gate_decided") == [{"choices": {"src/p.py": "a"}}]
    assert data(made, "block_gate_open") == [
        {"groupId": "g", "conflicts": [{"conflictingFile": "src/p.py", "lanes": ["b", "a"]}]}
    ]
    assert made.fan_ins[0]["applied"]["src/p.py"] == "a"
    assert made.fan_ins[0]["result"]["conflicts"] == [{**CONFLICT, "resolution": "user-resolved", "appliedFrom": "a"}]
    assert made.files["src/p.py"] == "from a\n"
    assert "block-fail-on-conflict-pauses" in made.locks


def test_x6_manual_choice() -> None:
    made = x5("fail-on-conflict", conflicts={"src/p.py": "manual"}, manual={"src/p.py": "by hand\n"})
    [conflict] = made.fan_ins[0]["result"]["conflicts"]
    assert "appliedFrom" not in conflict
    assert made.files["src/p.py"] == "by hand\n"


def test_x6_no_choice() -> None:
    made = x5("fail-on-conflict")
    assert made.execution_status == "paused"
    assert made.files == FILES
    assert made.golden["outputFolder"] == ["block-a.json", "block-b.json"]
    assert made.blockers == [
        {
            "code": "BLOCK_LANE_CONFLICT",
            "pointer": {"kind": "lane_file", "groupId": "g", "path": "src/p.py"},
            "message": "src/p.py was modified by lanes b, a",
            "suggestedFix": "Choose b, a or manual for src/p.py",
        }
    ]


# ------------------------------------------------------------------------------------------------------- X7


def test_x7_concatenate_and_failure() -> None:
    made = run(
        lanes_of(node("r1", "reviewer"), node("r2", "reviewer")),
        repo={"files": {"src/a.py": "a\n"}},
        replies={"r1": {"write": {"src/a.py": "b\n"}}, "r2": {"exit": 1, "output": "none"}},
    )
    assert made.golden["outputFolder"] == ["block-r1.json", "block-r2.json"]
    assert made.steps[1]["output"]["summary"] == "Block r2 ended with exit code 1."
    assert made.files == {"src/a.py": "a\n"}
    assert made.fan_ins[0]["result"]["conflicts"] == []
    [finding] = made.findings
    assert finding.code == "BC508"
    assert "r1" in finding.message
    assert "src/a.py" in finding.message
    assert [(each["code"], each["pointer"]["nodeId"]) for each in made.blockers] == [("BLOCK_FAILED", "r2")]
    assert made.execution_status == "failed"
    assert "block-concatenate-no-merge" in made.locks


# ------------------------------------------------------------------------------------------------------- X8


def test_x8_a_folder_that_a_run_left_behind_is_linted_with_its_faults(tmp_path: Any) -> None:
    definition = chain(node("a"), node("b", "coding"), node("c", "reviewer"))
    keep = tmp_path / "run"
    run(definition, repo={"restrictions": ["src/**"]}, replies={"b": {"write": {"src/b.py": "b\n"}}}, keep=keep)
    out = keep / ".output"
    (out / "block-b.json").unlink()
    (keep / ".run" / "trace.json").unlink()
    broken = output("c", "plan", timestamp="1999-01-01T09:00:00Z", filesModified=["docs/x.md"])
    (out / "block-c.json").write_text(json.dumps(broken))
    (out / "block-q.json").write_text(json.dumps(output("q")))
    (out / "notes.md").write_text("notes")
    env = environment("c", "2", "b", FILE_RESTRICTIONS='["src/**"]', EXECUTION_ID="exec-1")
    (keep / ".run" / "env-c.json").write_text(json.dumps(env))
    found = {(each.path.rpartition("/")[2], each.code) for each in check([str(keep)]).findings}
    assert found >= {
        (".output", "BC603"),
        ("block-c.json", "BC608"),
        ("block-c.json", "BC609"),
        ("block-c.json", "BC605"),
        ("block-q.json", "BC602"),
        ("notes.md", "BC601"),
        ("env-c.json", "BC603"),
    }


# ------------------------------------------------------------------------------------------------------- X9


def x9(by_file: bool) -> BlockRun:
    def a(workspace: Any, memory: dict[str, Any], **_: Any) -> None:
        memory["token"] = "t1"
        if by_file:
            (workspace / "token").write_text("t1")

    def b(workspace: Any, memory: dict[str, Any], **_: Any) -> None:
        known = (workspace / "token").read_text() if by_file else memory.get("token", "none")
        (workspace / "src").mkdir(exist_ok=True)
        (workspace / "src" / "t.py").write_text(known)

    definition = chain(node("a", "coding"), node("b", "coding"))
    return run(definition, {"a": a, "b": b}, check={"stateless": True}, containers="cold")


def test_x9_memory_is_noticed() -> None:
    made = x9(by_file=False)
    [finding] = [each for each in made.findings if each.code == "BC710"]
    assert finding.severity is Severity.ERROR
    assert "workspace/src/t.py" in finding.message
    assert made.files["src/t.py"] == "none"
    assert "block-stateless" not in made.locks


def test_x9_a_token_in_a_file_is_not_memory() -> None:
    made = x9(by_file=True)
    assert "BC710" not in made.codes
    assert made.files["src/t.py"] == "t1"
    assert "block-stateless" in made.locks


# ------------------------------------------------------------------------------------------------------ X10


def test_x10_a_definition_with_errors_is_not_run() -> None:
    definition = workflow(
        node("a", "coding", None),
        node("b", "coder", None),
        edges=[{**edge("a", "z", "expression")}],
        parallelGroups=[group("a", mergeStrategy="custom")],
    )
    with pytest.raises(ScenarioInvalid) as problem:
        run(definition)
    assert [finding.name for finding in problem.value.findings] == ["scenario-workflow-invalid"]


# ------------------------------------------------------------------------------------------------------ X11


def x11(retries: int) -> BlockRun:
    config = {"gateMode": "gate", "maxRetries": retries, "retryableExitCodes": [75]}
    return run(
        chain(node("p", config=config), node("q")),
        replies={"p": {"exit": 75, "output": "none"}, "p#2": {}, "p#3": {}},
        gates={"p": [{"revise": "add tests"}, "continue"]},
    )


def test_x11_gate_revision_retry() -> None:
    made = x11(1)
    assert types(made) == [
        "execution_started",
        "folder_created",
        "node_started p",
        "node_retry p",
        "node_started p",
        "node_completed p",
        "block_gate_open p",
        "block_revision p",
        "node_started p",
        "node_completed p",
        "block_gate_open p",
        "gate_decided p",
        "node_started q",
        "node_completed q",
        "execution_completed",
    ]
    assert data(made, "node_retry") == [{"attempt": 1, "maxRetries": 1}]
    assert data(made, "block_gate_open") == [{"prompt": "Block produced: Simulated p."}] * 2
    assert data(made, "block_revision") == [{"revisionCount": 1, "feedback": "add tests"}]
    assert data(made, "gate_decided") == [{"selectedOption": "continue"}]
    assert made.steps[2]["prompt"].endswith("\n\nRevision feedback:\nadd tests")
    envs = [(step["node"], step["env"]["STEP_INDEX"], step["env"]["PREVIOUS_BLOCK_ID"]) for step in made.steps]
    assert envs == [("p", "0", ""), ("p", "0", ""), ("p", "0", ""), ("q", "1", "p")]
    assert made.steps[0]["output"] is None
    assert (made.codes, made.problems) == ([], ())
    assert "block-gate-revise" in made.locks


def test_x11_without_retries() -> None:
    made = x11(0)
    assert types(made)[2:] == [
        "node_started p",
        "node_failed p",
        "node_started q",
        "node_completed q",
        "execution_failed",
    ]
    assert data(made, "node_failed") == [{"reason": "exit"}]
    assert made.steps[0]["synthetic"] == "exit"
    assert made.execution_status == "failed"
    assert [problem.pointer for problem in made.problems] == [
        "/block/replies/p#2",
        "/block/replies/p#3",
        "/block/gates/p/0",
        "/block/gates/p/1",
    ]
    assert "block-failed-no-gate" in made.locks


# ------------------------------------------------------------------------------------------------------ X12


def x12(enforce: str) -> BlockRun:
    return run(
        lanes_of(*(node(name, "coding") for name in "abc")),
        failureMode="strict",
        enforce=enforce,
        repo={"files": {"src/c.py": "c\n", "docs/c.md": "d\n"}, "restrictions": ["src/**"]},
        replies={
            "a": {"ticks": 2, "exit": 1, "output": "none"},
            "b": {"ticks": 4},
            "c": {"ticks": 1, "write": {"src/c.py": "c2\n", "docs/c.md": "d2\n"}},
        },
    )


def test_x12_strict_lanes_and_restriction_hook() -> None:
    made = x12("hook")
    assert made.fan_ins[0]["completionOrder"] == ["c", "a", "b"]
    assert data(made, "write_blocked") == [{"path": "docs/c.md"}]
    assert made.files["docs/c.md"] == "d\n"
    by_node = {step["node"]: step for step in made.steps}
    assert by_node["c"]["output"]["filesModified"] == ["src/c.py"]
    assert (by_node["a"]["synthetic"], by_node["b"]["synthetic"]) == ("exit", "aborted")
    assert made.fan_ins[0]["applied"] == {"src/c.py": "c"}
    assert made.fan_ins[0]["result"]["conflicts"] == []
    assert made.golden["outputFolder"] == ["block-a.json", "block-b.json", "block-c.json"]
    assert made.execution_status == "failed"
    told = [(each["code"], each["pointer"]["nodeId"]) for each in made.blockers]
    assert told == [("BLOCK_ABORTED", "b"), ("BLOCK_FAILED", "a")]


def test_x12_restriction_in_the_prompt_alone() -> None:
    made = x12("prompt")
    assert made.files["docs/c.md"] == "d2\n"
    assert made.fan_ins[0]["applied"]["docs/c.md"] == "c"
    [finding] = [each for each in made.findings if each.code == "BC609"]
    assert finding.path == ".output/block-c.json"
    assert codes(made.blockers) == ["BLOCK_ABORTED", "BLOCK_FAILED", "BLOCK_RESTRICTED_WRITE"]
