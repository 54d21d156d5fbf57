"""Files of a unit together: what belongs to it, what each option changes, and that nothing in it can break a check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from block_checks import check_files, check_folder, check_paths, check_text, settings, told, write
from block_mutants import WORKFLOW, mutated
from effort import times
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tools.models.blocks import examples
from workrail_lint.documents.operations import Respell
from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.blocks.check import check_unit
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.rules import samples
from workrail_lint.systems.blocks.rules.folder import CHAIN, without
from workrail_lint.systems.blocks.rules.samples import (
    WORKFLOW_PATH,
    control,
    edge,
    environment,
    group,
    lane,
    mount,
    node,
    output,
    output_path,
    workflow,
)
from workrail_lint.systems.blocks.system import BlockSystem
from workrail_lint.systems.blocks.units import Folder, Unit, record_of

GAP = without(output_path("b"))


def serious(found: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.path, finding.code) for finding in found if finding.severity is not Severity.INFO]


def test_a_run_that_went_well_is_clean(tmp_path: Path) -> None:
    assert serious(check_files(tmp_path, CHAIN)) == []


def test_named_files_are_checked_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {**GAP, output_path("c"): output("c", "plan")})
    monkeypatch.chdir(tmp_path)
    assert told(check_paths([output_path("c"), output_path("a")])) == []
    assert (".output", "BC603") in serious(check_paths(["."]))
    # Alone, a file is judged by the type it names itself.
    write(tmp_path, {output_path("c"): output("c", "plan", deliverables={"blockType": "generic", "summary": "Fine."})})
    assert told(check_paths([output_path("c")])) == [("BC203", "/deliverables/blockType")]


@pytest.mark.parametrize("part", [".output", ".", ".run"])
def test_a_unit_is_whole_whichever_folder_is_named(part: str, tmp_path: Path) -> None:
    write(tmp_path, {**GAP, ".run/env-c.json": environment("c", "2", "b")})
    found = serious(check_folder(tmp_path, paths=[part]))
    assert {(".output", "BC603"), (".run/env-c.json", "BC603")} <= {*found}
    assert len(found) == len({*found})


def test_paths_are_spelled_as_they_were_given(tmp_path: Path) -> None:
    write(tmp_path, {f"project/{path}": value for path, value in GAP.items()})
    found = check_folder(tmp_path, paths=["project"])
    assert {finding.path.split("/")[0] for finding in found} == {"project"}
    assert ("project/.output", "BC603") in serious(found)


def test_two_definitions_beside_are_none(tmp_path: Path) -> None:
    found = check_files(tmp_path, {**GAP, "other.workflow.json": CHAIN[WORKFLOW_PATH]})
    assert serious(found) == []


def test_the_definition_can_be_configured(tmp_path: Path) -> None:
    files = {path: value for path, value in GAP.items() if path != WORKFLOW_PATH}
    write(tmp_path, {**files, "studio/flow.json": CHAIN[WORKFLOW_PATH]})
    assert serious(check_folder(tmp_path)) == []
    found = check_folder(tmp_path, {"block-workflow": "studio/flow.json"}, [".output"])
    # The block behind the gap is sent to the file that is missing, so it is told twice, from both sides.
    assert serious(found) == [(".output", "BC603"), (".output/block-c.json", "BC603")]


def test_a_configured_definition_that_is_missing_is_told(tmp_path: Path) -> None:
    found = check_files(tmp_path, GAP, {"block-workflow": "studio/flow.json"})
    assert ("studio/flow.json", "BC001") in serious(found)


def test_a_project_may_be_reached_through_a_link(tmp_path: Path) -> None:
    write(tmp_path / "project", GAP)
    (tmp_path / "link").symlink_to(tmp_path / "project")
    assert ("link/.output", "BC603") in serious(check_folder(tmp_path, paths=["link"]))


def test_a_folder_of_another_tool_is_left_alone(tmp_path: Path) -> None:
    files = {".output/nitro.json": {"preset": "node"}, ".output/server/index.mjs": "export {}\n", "package.json": {}}
    assert check_files(tmp_path, files) == []
    assert [code for _, code in serious(check_files(tmp_path, CHAIN))] == ["BC601", "BC601"]


def test_outputs_elsewhere_have_nothing_to_do_with_each_other(tmp_path: Path) -> None:
    files = {"samples/block-a.json": output("a"), "samples/more/block-a.json": output("a")}
    assert serious(check_files(tmp_path, files)) == []


def test_outputs_of_a_sub_workflow_are_not_unknown(tmp_path: Path) -> None:
    sub = control("s", "subWorkflow", subWorkflowConfig={"workflowId": "other"})
    flow = workflow(node("a"), sub, edges=[edge("a", "s")])
    files = {WORKFLOW_PATH: flow, output_path("a"): output("a", "plan"), output_path("inner"): output("inner", "plan")}
    assert serious(check_files(tmp_path, files)) == []
    plain = {**files, WORKFLOW_PATH: workflow(node("a"))}
    assert serious(check_files(tmp_path, plain)) == [(output_path("inner"), "BC602")]


def test_an_output_of_a_control_node(tmp_path: Path) -> None:
    config = {"expression": "true", "trueBranchNodeId": "a", "falseBranchNodeId": "b"}
    flow = workflow(
        control("k", "condition", conditionConfig=config), node("a"), node("b"), edges=[edge("k", "a"), edge("k", "b")]
    )
    found = check_files(tmp_path, {WORKFLOW_PATH: flow, output_path("k"): output("k", "plan")})
    assert ("BC602", "/blockId") in told(found)


def test_lenient_lowers_what_was_decided_here(tmp_path: Path) -> None:
    flow = workflow(node("a"), node("b"), edges=[edge("a", "b", ident="t"), edge("a", "b", "on_success", ident="t")])
    write(tmp_path, {WORKFLOW_PATH: {**flow, "id": "a b"}})

    def levels(**options: Any) -> dict[str, str]:
        return {finding.code: finding.severity.value for finding in check_folder(tmp_path, options)}

    assert levels() == {"BC311": "error", "BC301": "error"}
    assert levels(**{"block-profile": "lenient"}) == {"BC311": "warning", "BC301": "error"}


PROMPT_FILE = ".run/prompt-plan.txt"
PROMPT = {WORKFLOW_PATH: workflow(node("plan")), ".run/repo-mount.json": mount(), PROMPT_FILE: "Other."}


def test_prompt_checks_can_be_turned_off(tmp_path: Path) -> None:
    assert serious(check_files(tmp_path, PROMPT)) == [(".run/prompt-plan.txt", "BC420")]
    assert serious(check_folder(tmp_path, {"block-prompt-check": "off"})) == []


def test_a_prompt_is_mended_without_losing_what_the_user_said(tmp_path: Path) -> None:
    recorded = "Other.\n\nRevision feedback:\nadd tests\n\nRevision feedback:\nI mean it"
    (found,) = [each for each in check_files(tmp_path, {**PROMPT, PROMPT_FILE: recorded}) if each.code == "BC420"]
    assert found.fix is not None
    assert found.fix.operations == (Respell(0, len(recorded), recorded.replace("Other.", "Plan the login page.")),)


def test_prompts_need_to_know_the_restrictions(tmp_path: Path) -> None:
    write(tmp_path, PROMPT)
    (tmp_path / ".run" / "repo-mount.json").unlink()
    assert serious(check_folder(tmp_path)) == []
    record = environment(FILE_RESTRICTIONS='["src/**"]')
    write(tmp_path, {".run/env-plan.json": record})
    assert (".run/prompt-plan.txt", "BC420") in serious(check_folder(tmp_path))
    right = "Plan the login page.\n\nOnly modify files matching: src/**. Other files are read-only."
    write(tmp_path, {".run/prompt-plan.txt": right})
    assert serious(check_folder(tmp_path)) == []


def test_words_of_the_author_are_no_quote(tmp_path: Path) -> None:
    flow = workflow(node("a"), node("b", "coding", "Build the form."), edges=[edge("a", "b")])
    files = {
        WORKFLOW_PATH: flow,
        output_path("a"): output("a", "plan", summary="Build the form."),
        ".run/prompt-b.txt": "Build the form.",
    }
    assert serious(check_files(tmp_path, files)) == []


def test_a_document_that_was_pasted_is_found(tmp_path: Path) -> None:
    document = "# Plan\n\n" + "\n".join(f"{at}. Do part {at}." for at in range(300))
    plan = output("a", "plan", deliverables={"blockType": "plan", "markdownDocument": document})
    flow = workflow(node("a"), node("b", "coding", "Build it."), edges=[edge("a", "b")])
    files = {WORKFLOW_PATH: flow, output_path("a"): plan, ".run/prompt-b.txt": f"Build it.\n\n{document}"}
    assert serious(check_files(tmp_path, files)) == [(".run/prompt-b.txt", "BC421")]


def conditional(kind: str, status: str) -> dict[str, Any]:
    flow = workflow(node("a"), node("b", "coding"), edges=[edge("a", "b", kind)])
    return {WORKFLOW_PATH: flow, output_path("a"): output("a", "plan", status=status), output_path("b"): output("b")}


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        ("always", "failed", []),
        ("on_success", "completed", []),
        ("on_success", "partial", []),
        ("on_success", "failed", ["BC612"]),
        ("on_failure", "failed", []),
        # A block may complete its output and still end with an exit code.
        ("on_failure", "completed", []),
    ],
)
def test_conditions(kind: str, status: str, expected: list[str], tmp_path: Path) -> None:
    assert [code for _, code in serious(check_files(tmp_path, conditional(kind, status)))] == expected


def test_a_block_that_need_not_have_run_leaves_no_gap(tmp_path: Path) -> None:
    nodes = (node("a"), node("b", "coding"), node("c", "reviewer"))
    edges = [edge("a", "b", "on_failure"), edge("a", "c")]
    files = {**GAP, WORKFLOW_PATH: workflow(*nodes, edges=edges)}
    assert serious(check_files(tmp_path, files)) == []


def test_the_last_blocks_of_a_run_that_goes_on_are_no_gap(tmp_path: Path) -> None:
    assert serious(check_files(tmp_path, without(output_path("b"), output_path("c")))) == []


def test_a_missing_start_is_told_by_what_follows(tmp_path: Path) -> None:
    assert serious(check_files(tmp_path, without(output_path("a")))) == [(output_path("b"), "BC603")]


def test_lanes_are_not_compared_with_each_other(tmp_path: Path) -> None:
    nodes = (node("p"), node("a", "coding"), node("b", "coding"), node("d", "coding"))
    edges = [edge("p", "a"), edge("p", "b"), edge("a", "d"), edge("b", "d")]
    files = {
        WORKFLOW_PATH: workflow(*nodes, edges=edges, parallelGroups=[group("a", "b")]),
        output_path("p"): output("p", "plan"),
        output_path("a"): lane("a", 5, "a.py", filesCreated=["n.py"]),
        output_path("b"): lane("b", 3, "b.py", filesCreated=["n.py"]),
        output_path("d"): lane("d", 6, "d.py"),
    }
    assert serious(check_files(tmp_path, files)) == []


def test_a_link_out_of_the_workspace_is_told(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    project = tmp_path / "project"
    value = {**CHAIN[output_path("b")], "filesModified": ["src/a.py", "link/x.py", "src/gone.py"]}
    write(project, {**CHAIN, output_path("b"): value, "src/a.py": "x = 1\n"})
    (project / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "outside" / "x.py").write_text("y = 2\n", encoding="utf-8")
    found = check_folder(project, {"block-tree": "."})
    assert told(f for f in found if f.code == "BC615") == [("BC615", "/filesModified/1"), ("BC615", "/filesModified/2")]
    assert "through the link 'link'" in next(f.message for f in found if f.pointer == "/filesModified/1")


def test_records_are_plain_json() -> None:
    system = BlockSystem()
    files: dict[str, Any] = {
        WORKFLOW_PATH: WORKFLOW,
        output_path("a"): output("a", "plan"),
        ".run/env-a.json": environment("a"),
        ".run/repo-mount.json": mount(),
        ".run/fan-in-g.json": examples.FAN_IN,
        ".run/trace.json": {"events": []},
        ".run/prompt-a.txt": "Plan it.",
    }
    for path, value in files.items():
        data = (value if isinstance(value, str) else json.dumps(value)).encode()
        kind = system.claims(path, data, False)
        assert kind is not None
        record = system.check(path, data, kind, settings()).record
        assert json.loads(json.dumps(record)) == record


# ---------------------------------------------------------------------------------------------- anything goes


def test_a_branch_not_taken_is_no_gap(tmp_path: Path) -> None:
    """A condition skips one of its branches, also when something else leads there, or nothing at all."""
    decide = {"expression": "true", "trueBranchNodeId": "b", "falseBranchNodeId": "c"}
    nodes = (node("a"), control("d", "condition", conditionConfig=decide), node("b"), node("c"), node("z"))
    files = {
        output_path("a"): output("a", "plan"),
        output_path("b"): output("b", "plan"),
        output_path("z"): output("z", "plan"),
        ".run/env-z.json": environment("z", "4", "b"),
    }
    links = [edge("a", "d"), edge("d", "b"), edge("b", "z")]
    for more in ([edge("a", "c"), edge("c", "z")], [edge("c", "z")]):
        found = check_files(tmp_path, {WORKFLOW_PATH: workflow(*nodes, edges=[*links, *more]), **files})
        assert [finding.code for finding in found] == ["BC313"]


def test_a_loop_that_comes_later_makes_nothing_due(tmp_path: Path) -> None:
    each = control(
        "each", "forEach", forEachConfig={"collectionVariable": "l", "itemVariable": "i", "bodyNodeIds": ["x"]}
    )
    first, flow = node("first"), [edge("x", "first"), edge("each", "z")]
    done = {output_path(name): output(name, "plan") for name in "xz"}
    before = workflow(first, each, node("x"), node("z"), edges=flow)
    assert told(check_files(tmp_path, {WORKFLOW_PATH: before, **done})) == []
    behind = workflow(each, node("x"), first, node("z"), edges=flow)
    assert told(check_files(tmp_path, {WORKFLOW_PATH: behind, **done}))[0] == ("BC603", "")


def test_records_without_an_output_folder_say_nothing_about_its_files(tmp_path: Path) -> None:
    files = {WORKFLOW_PATH: CHAIN[WORKFLOW_PATH], ".run/env-b.json": environment("b", "1", "a")}
    assert [finding.code for finding in check_files(tmp_path, files)] == []
    (tmp_path / ".output").mkdir()
    assert [finding.code for finding in check_folder(tmp_path)] == ["BC603"]


def test_a_lane_that_nothing_leads_to_ran_without_further_proof(tmp_path: Path) -> None:
    """The definition alone says so; a lane behind a condition may have been skipped."""
    first = lane("a", 1, "a.py")
    result = {"mergeStrategy": "workspace", "blockOutputs": [first], "conflicts": []}
    free = workflow(node("a", "coding"), node("b", "coding"), parallelGroups=[group("a", "b")])
    led = workflow(
        node("p"),
        *(node(name, "coding") for name in "ab"),
        edges=[edge("p", "a"), edge("p", "b", "on_failure")],
        parallelGroups=[group("a", "b")],
    )
    for name, flow, expected in (("free", free, ["BC510"]), ("led", led, [])):
        found = check_files(tmp_path / name, {WORKFLOW_PATH: flow, ".run/fan-in-g.json": result})
        assert [finding.code for finding in found if finding.code.startswith("BC5")] == expected
    found = check_files(tmp_path / "none", {WORKFLOW_PATH: free, ".run/fan-in-g.json": {**result, "blockOutputs": {}}})
    assert [finding.code for finding in found if finding.code.startswith("BC5")] == ["BC501"]


PARTS = {
    "a.workflow.json": (BlockKind.WORKFLOW, WORKFLOW),
    f".output/block-{examples.OUTPUT['blockId']}.json": (BlockKind.OUTPUT, examples.OUTPUT),
    ".output/block-body.json": (BlockKind.OUTPUT, output("body")),
    ".run/repo-mount.json": (BlockKind.MOUNT, examples.MOUNT),
    f".run/env-{examples.ENVIRONMENT['NODE_ID']}.json": (BlockKind.ENVIRONMENT, examples.ENVIRONMENT),
    ".run/fan-in-5d0c0f5e-0b52-4c3e-8a4e-1f6b7c2d9e10.json": (BlockKind.FAN_IN, examples.FAN_IN),
}


@hypothesis_settings(max_examples=times(30, deep=240), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_unit_is_too_odd_to_check(data: st.DataObject) -> None:
    records = {
        path: record_of(kind, data.draw(mutated(value)))
        for path, (kind, value) in PARTS.items()
        if data.draw(st.integers(0, 5))
    }
    prompt = data.draw(st.sampled_from(["", "Build the form.", "Rules:\n- Keep the public API as it is."]))
    records[f".run/prompt-{examples.PROMPT['nodeId']}.txt"] = record_of(BlockKind.PROMPT, prompt)
    folder = Folder(".output", (".output/notes.md",), (".output/block-x.json.rejected",))
    unit = Unit(records, BlockOptions(), folder=folder, workflow="a.workflow.json")
    for finding in check_unit(unit):
        assert finding.path
        assert "\n" not in finding.message


def test_a_gate_with_two_defaults_is_warned_about() -> None:
    options = [{"label": name, "value": name, "isDefault": name != "c"} for name in "abc"]
    gates = [{**samples.GATE, "options": options}]
    findings = check_text(samples.workflow(gates=gates), samples.WORKFLOW_PATH)
    (finding,) = [finding for finding in findings if finding.code == "BC319"]
    assert finding.pointer == "/gates/0/options/1/isDefault"
    assert finding.severity is Severity.WARNING
