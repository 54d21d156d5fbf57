"""The worked examples of the contract, as far as they need no run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from block_checks import check_files, check_folder, check_text, settings, told, write

from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.fixing import fix_text
from workrail_lint.systems.blocks.check import check_trace
from workrail_lint.systems.blocks.ir import compile_definition
from workrail_lint.systems.blocks.model.build import definition_model
from workrail_lint.systems.blocks.model.documents import StudioWorkflow
from workrail_lint.systems.blocks.outputs import merge, node_status, synthetic_output, validate_output
from workrail_lint.systems.blocks.plan import Plan, make_plan, node_runs
from workrail_lint.systems.blocks.prompts import Run, assemble, environment, previous_block
from workrail_lint.systems.blocks.rules.samples import edge, fan_in, group, lane, mount, node, output, workflow
from workrail_lint.systems.blocks.rules.samples import environment as env_record
from workrail_lint.systems.blocks.system import BlockSystem
from workrail_lint.systems.blocks.vocabulary import BlockType, MergeStrategy, NodeStatus, Synthetic

# ------------------------------------------------------------------------------------------------ X1, output

X1 = (
    '{"blockId":"dev-1","blockType":"dev","status":"completed","deliverables":{"blockType":"code","filesChanged":'
    '["src/a.py"],"taskList":[]},"summary":"Adds a form.","filesModified":["/workspace/src/a.py","src/b.py","src/b.py"]'
    ',"timestamp":"2026-03-01T10:00:00Z"}'
)
X1_STAYS = [
    ("BC117", "/blockId"),
    ("BC207", "/deliverables/diffSummary"),
    ("BC206", "/deliverables/filesChanged"),
    ("BC203", "/deliverables/taskList"),
]


def test_x1_findings_in_order() -> None:
    found = check_text(X1, "block-dev1.json")
    assert told(found) == [
        ("BC101", "/filesCreated"),
        *X1_STAYS,
        ("BC109", "/filesModified/0"),
        ("BC109", "/filesModified/2"),
    ]
    mismatch, disagree = found[1].message, found[3].message
    assert "'dev1'" in mismatch
    assert "'dev-1'" in mismatch
    assert "'src/b.py' missing" in disagree
    assert "src/a.py" not in disagree


def test_x1_fixed() -> None:
    system = BlockSystem()

    def findings_of(text: str) -> list[Finding]:
        return system.check("block-dev1.json", text.encode(), "studio-output", settings()).findings

    fixed = fix_text(X1, findings_of, unsafe=False)
    value = json.loads(fixed.text)
    assert value["filesCreated"] == []
    assert value["filesModified"] == ["src/a.py", "src/b.py"]
    assert told(check_text(fixed.text, "block-dev1.json")) == X1_STAYS
    assert {name: value[name] for name in value if not name.startswith("files")} == {
        name: member for name, member in json.loads(X1).items() if not name.startswith("files")
    }


# ------------------------------------------------------------------------------------------------ X2, prompt


def x2(**config: Any) -> StudioWorkflow:
    plan = node(
        "p", prompt=None, description="Plan the login feature.\n", config={"outputChecklist": ["Task list"], **config}
    )
    return definition_model(workflow(plan, rules=["No force push", ""]))


def test_x2_all_sections() -> None:
    definition = x2(systemPromptPrefix="You plan.")
    assert assemble(definition, definition.by_id["p"], ["src/**", "docs/*.md"]) == (
        "Rules:\n"
        "- No force push\n"
        "\n"
        "You plan.\n"
        "\n"
        "Plan the login feature.\n"
        "\n"
        "Only modify files matching: src/**, docs/*.md. Other files are read-only.\n"
        "\n"
        "You must produce the following outputs:\n"
        "1) Task list"
    )


def test_x2_without_prefix_and_restrictions() -> None:
    definition = x2()
    assert assemble(definition, definition.by_id["p"]) == (
        "Rules:\n- No force push\n\nPlan the login feature.\n\nYou must produce the following outputs:\n1) Task list"
    )


def test_x2_lint() -> None:
    found = check_text(x2().raw, "login.workflow.json")
    assert told(f for f in found if f.severity is not Severity.INFO) == [("BC345", "/rules/1")]


# ---------------------------------------------------------------------------------- X3, plan and environment

X3 = workflow(
    *(node(name, "coding", f"Do {name}.") for name in "dabc"),
    edges=[edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d")],
    parallelGroups=[group("c", "b")],
)


def planned(value: dict[str, Any]) -> tuple[StudioWorkflow, Plan]:
    definition = definition_model(value)
    made = make_plan(definition)
    assert isinstance(made, Ok)
    return definition, made.value


def test_x3_plan() -> None:
    _, plan = planned(X3)
    assert plan.as_json() == ["a", {"group": "g", "nodeIds": ["c", "b"], "mergeStrategy": "workspace"}, "d"]


@pytest.mark.parametrize(
    ("name", "index", "previous"), [("a", "0", ""), ("c", "1", "a"), ("b", "2", "a"), ("d", "3", "b")]
)
def test_x3_environment(name: str, index: str, previous: str) -> None:
    definition, plan = planned(X3)
    run = Run("exec-1", "http://localhost:9292/telemetry", telemetry=False)
    assert environment(definition, plan, name, run, {"a", "b", "c"}) == {
        "WORKFLOW_ID": "login",
        "EXECUTION_ID": "exec-1",
        "NODE_ID": name,
        "STEP_INDEX": index,
        "FILE_RESTRICTIONS": "[]",
        "TELEMETRY_ENABLED": "0",
        "TELEMETRY_URL": "http://localhost:9292/telemetry",
        "OUTPUT_DIR": "/workspace/.output",
        "PREVIOUS_BLOCK_ID": previous,
    }


def test_x3_a_skipped_lane() -> None:
    definition, plan = planned(X3)
    assert previous_block(definition, plan, "d", {"a", "c"}) == "c"
    assert plan.step_index == {"a": 0, "c": 1, "b": 2, "d": 3}


def test_x3_recorded_environment(tmp_path: Path) -> None:
    outputs = {f".output/block-{name}.json": lane(name, minute, f"{name}.py") for minute, name in enumerate("acb")}
    record = env_record("d", "3", "c")
    found = check_files(tmp_path, {"x.workflow.json": X3, ".run/env-d.json": record, **outputs})
    (mismatch,) = [finding for finding in found if finding.code == "BC404"]
    assert mismatch.path == ".run/env-d.json"
    assert mismatch.message == "PREVIOUS_BLOCK_ID of 'd' must be 'b', not 'c'"


# --------------------------------------------------------------------------- X4, missing and broken outputs


def test_x4_synthetic_missing() -> None:
    rejected = validate_output(None, "t")
    assert isinstance(rejected, Err)
    assert rejected.error.reason is Synthetic.MISSING
    made = synthetic_output("t", BlockType.TEST, Synthetic.MISSING, "«TS»")
    assert json.dumps(made, ensure_ascii=False, separators=(",", ":")) == (
        '{"blockId":"t","blockType":"test","status":"failed","deliverables":{"blockType":"generic","summary":"No '
        'output file was written by block t."},"summary":"No output file was written by block t.","filesModified":[],'
        '"filesCreated":[],"timestamp":"«TS»"}'
    )
    assert node_status(made) is NodeStatus.FAILED
    assert definition_model(workflow(node("t", "utest"))).by_id["t"].block_type is BlockType.TEST


def test_x4_successors() -> None:
    nodes = (node("t", "utest"), node("f", "debugger"), node("s", "release"))
    value = workflow(*nodes, edges=[edge("t", "f", "on_failure"), edge("t", "s", "on_success")])
    definition, plan = planned(value)
    statuses = {"t": NodeStatus.FAILED}
    assert node_runs(definition, "f", statuses, {})
    assert not node_runs(definition, "s", statuses, {})
    assert previous_block(definition, plan, "f", {"t"}) == "t"


def test_x4_raw_text() -> None:
    rejected = validate_output(b"{not json", "t")
    assert isinstance(rejected, Err)
    assert rejected.error.reason is Synthetic.MALFORMED
    made = synthetic_output("t", BlockType.TEST, Synthetic.MALFORMED, "", violations=rejected.error.faults)
    assert made["summary"] == "The output file of block t is not usable: 1 violation(s)."


# ------------------------------------------------------------------------------------- X5 to X7, X12, merging

X5 = {
    "a": lane("a", 5, "src/p.py", "src/a.py"),
    "b": lane("b", 3, "src/p.py", filesCreated=["src/n.py"]),
}
X5_CONFLICT = {
    "conflictingFile": "src/p.py",
    "lanes": ["b", "a"],
    "resolution": "first-complete-wins",
    "appliedFrom": "b",
}


def test_x5_workspace() -> None:
    merged = merge(MergeStrategy.WORKSPACE, X5, ["b", "a"])
    assert merged.applied == {"src/a.py": "a", "src/n.py": "b", "src/p.py": "b"}
    assert merged.conflicts == [X5_CONFLICT]
    assert merged.events == [X5_CONFLICT]
    assert merged.unresolved == ()


def test_x5_strategy_is_the_default() -> None:
    value = workflow(node("a", "coding"), node("b", "coding"), parallelGroups=[group("a", "b")])
    _, plan = planned(value)
    assert plan.as_json() == [{"group": "g", "nodeIds": ["a", "b"], "mergeStrategy": "workspace"}]


def test_x5_swapped_ticks() -> None:
    merged, swapped = (merge(MergeStrategy.WORKSPACE, X5, order) for order in (["b", "a"], ["a", "b"]))
    assert {path for path in merged.applied if merged.applied[path] != swapped.applied[path]} == {"src/p.py"}
    assert swapped.conflicts == [{**X5_CONFLICT, "lanes": ["a", "b"], "appliedFrom": "a"}]


def x5_trace(main: str) -> dict[str, Any]:
    result = fan_in(*X5.values(), conflicts=[X5_CONFLICT])
    started = [{"type": "lane_started", "nodeId": name, "data": {"groupId": "g", "lane": name}} for name in "ab"]
    settled = [{"type": "lane_settled", "nodeId": name, "data": {"groupId": "g", "lane": name}} for name in "ba"]
    events: list[dict[str, Any]] = [
        {"type": "execution_started"},
        {"type": "folder_created"},
        *started,
        *settled,
        {"type": "fan_in", "data": {"groupId": "g", "mergeStrategy": "workspace", "completionOrder": ["b", "a"]}},
        {"type": "lane:conflict-detected", "data": X5_CONFLICT},
        {"type": "execution_completed"},
    ]
    lanes = {
        "a": {"src/p.py": "of a", "src/a.py": "of a"},
        "b": {"src/p.py": "of b", "src/n.py": "of b"},
    }
    content = {"main": {"src/p.py": main, "src/a.py": "of a", "src/n.py": "of b"}, "lanes": lanes}
    merged = {
        "group": "g",
        "completionOrder": ["b", "a"],
        "applied": {"src/a.py": "a", "src/n.py": "b", "src/p.py": "b"},
        "result": result,
        "content": content,
    }
    return {
        "events": [{"n": n, **event} for n, event in enumerate(events, 1)],
        "fanIns": [merged],
        "outputFolder": ["block-a.json", "block-b.json"],
    }


def test_x5_trace() -> None:
    assert check_trace(x5_trace("of b")) == []
    assert [finding.code for finding in check_trace(x5_trace("of a"))] == ["BC708"]


def test_x6_fail_on_conflict() -> None:
    chosen = merge(MergeStrategy.FAIL_ON_CONFLICT, X5, ["b", "a"], {"src/p.py": "a"})
    assert chosen.applied["src/p.py"] == "a"
    assert chosen.events == []
    assert chosen.conflicts == [{**X5_CONFLICT, "resolution": "user-resolved", "appliedFrom": "a"}]
    manual = merge(MergeStrategy.FAIL_ON_CONFLICT, X5, ["b", "a"], {"src/p.py": "manual"})
    assert manual.applied["src/p.py"] == "manual"
    assert "appliedFrom" not in manual.conflicts[0]
    undecided = merge(MergeStrategy.FAIL_ON_CONFLICT, X5, ["b", "a"])
    assert undecided.applied == {}
    assert [(clash.path, clash.lanes) for clash in undecided.unresolved] == [("src/p.py", ("b", "a"))]


def test_x7_concatenate() -> None:
    summary = "Block r2 ended with exit code 1."
    failed = synthetic_output("r2", BlockType.REVIEW, Synthetic.EXIT, "2026-03-01T10:02:00Z", exit_code=1)
    assert failed["summary"] == summary
    edited = lane("r1", 1, "src/a.py", kind="review")
    value = workflow(node("r1", "reviewer"), node("r2", "reviewer"), parallelGroups=[group("r1", "r2")])
    _, plan = planned(value)
    assert plan.as_json() == [{"group": "g", "nodeIds": ["r1", "r2"], "mergeStrategy": "concatenate"}]
    merged = merge(MergeStrategy.CONCATENATE, {"r1": edited, "r2": failed}, ["r1", "r2"])
    assert (merged.applied, merged.conflicts) == ({}, [])
    found = check_text(fan_in(edited, failed, strategy="concatenate"), ".run/fan-in-g.json")
    assert told(found) == [("BC508", "/blockOutputs/0")]
    assert "'r1'" in found[0].message
    assert "'src/a.py'" in found[0].message


def test_x12_failed_lanes_give_nothing() -> None:
    outputs = {
        "a": synthetic_output("a", BlockType.DEV, Synthetic.EXIT, "", exit_code=1),
        "b": synthetic_output("b", BlockType.DEV, Synthetic.ABORTED, ""),
        "c": lane("c", 1, "src/c.py"),
    }
    merged = merge(MergeStrategy.WORKSPACE, outputs, ["c", "a", "b"])
    assert merged.applied == {"src/c.py": "c"}
    assert merged.conflicts == []
    assert outputs["b"]["summary"] == "Block b was aborted."


# ------------------------------------------------------------------------------------------ X8, folder lint


def x8(deliverables: dict[str, Any]) -> dict[str, Any]:
    nodes = (node("a"), node("b", "coding", "Build it."), node("c", "reviewer", "Review it."))
    late = output(
        "c",
        "plan",
        filesModified=["docs/x.md"],
        timestamp="2026-03-01T09:00:00Z",
        deliverables=deliverables,
    )
    return {
        "x.workflow.json": workflow(*nodes, edges=[edge("a", "b"), edge("b", "c")]),
        ".run/repo-mount.json": mount(fileRestrictions=["src/**"]),
        ".run/env-c.json": env_record("c", "2", "b", FILE_RESTRICTIONS='["src/**"]'),
        ".output/block-a.json": output("a", "plan"),
        ".output/block-c.json": late,
        ".output/block-q.json": output("q", "review", timestamp="2026-03-01T10:30:00Z"),
        ".output/notes.md": "Remember the milk.\n",
    }


X8 = {
    (".output", "BC603"),
    (".output/block-c.json", "BC605"),
    (".output/block-c.json", "BC608"),
    (".output/block-c.json", "BC609"),
    (".output/block-q.json", "BC602"),
    (".output/notes.md", "BC601"),
    (".run/env-c.json", "BC603"),
}
GENERIC = {"blockType": "generic", "summary": "Looks good."}
PLAN = {"blockType": "plan", "taskList": ["T01"]}


@pytest.mark.parametrize(("deliverables", "more"), [(GENERIC, set()), (PLAN, {(".output/block-c.json", "BC203")})])
def test_x8_folder(deliverables: dict[str, Any], more: set[tuple[str, str]], tmp_path: Path) -> None:
    write(tmp_path, x8(deliverables))
    found = check_folder(tmp_path, paths=[".output"])
    assert sorted((finding.path, finding.code) for finding in found) == sorted(X8 | more)
    said = {finding.code: finding.message for finding in found}
    assert "'b'" in said["BC603"]
    assert "'plan'" in said["BC608"]
    assert "'review'" in said["BC608"]
    assert "docs/x.md" in said["BC609"]
    assert "2026-03-01T09:00:00Z, before 'a' at 2026-03-01T10:00:00Z" in said["BC605"]


def test_x8_as_a_whole(tmp_path: Path) -> None:
    found = check_files(tmp_path, x8(GENERIC))
    assert {(f.path, f.code) for f in found} == X8


# ------------------------------------------------------------------------------------------- X9 to X11


def test_x9_statelessness() -> None:
    cold = {"steps": [{"node": "a"}, {"node": "b"}], "workspace": {"src/t.py": "sha of none"}}
    warm = {"steps": [{"node": "a"}, {"node": "b"}], "workspace": {"src/t.py": "sha of the token"}}
    (finding,) = check_trace({"cold": cold, "warm": warm})
    assert finding.code == "BC710"
    assert "'workspace/src/t.py'" in finding.message
    other = {**cold, "steps": [{"node": "a"}, {"node": "b", "output": {"summary": "token"}}]}
    assert "'steps/1/output'" in check_trace({"cold": cold, "warm": other})[0].message
    assert check_trace({"cold": cold, "warm": cold}) == []


X10 = workflow(
    node("a", "coding", None),
    node("b", "coder", None),
    edges=[edge("a", "z", "expression")],
    parallelGroups=[group("a", mergeStrategy="custom")],
)


def test_x10_definition() -> None:
    found = check_text(X10, "x.workflow.json")
    assert sorted((f.code, f.pointer, f.severity.value) for f in found) == [
        ("BC301", "/nodes/1/type", "error"),
        ("BC301", "/parallelGroups/0/mergeStrategy", "error"),
        ("BC310", "/transitions/0/targetNodeId", "error"),
        ("BC313", "/nodes/1", "warning"),
        ("BC315", "/transitions/0/condition/expression", "error"),
        ("BC330", "/parallelGroups/0/laneNodeIds", "warning"),
        ("BC343", "/nodes/0", "error"),
        ("BC343", "/nodes/1", "error"),
    ]


def test_x10_no_plan_is_made() -> None:
    compiled = compile_definition(X10)
    assert isinstance(compiled, Err)
    assert {finding.code for finding in compiled.error} == {"BC301", "BC310", "BC315", "BC343"}


def test_x11_revision() -> None:
    value = workflow(node("p", config={"gateMode": "gate"}), node("q", "coding", "Build it."), edges=[edge("p", "q")])
    definition, plan = planned(value)
    prompt = assemble(definition, definition.by_id["p"], feedback="add tests")
    assert prompt == f"{assemble(definition, definition.by_id['p'])}\n\nRevision feedback:\nadd tests"
    assert plan.step_index["p"] == 0
    assert previous_block(definition, plan, "p", {"p"}) == ""
    assert previous_block(definition, plan, "q", {"p"}) == "p"
