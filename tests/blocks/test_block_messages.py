"""What a finding says has to be enough to act on: the things it is about are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from block_checks import check_files, check_text, fix_once

from workrail_lint.findings import Finding
from workrail_lint.systems.blocks.check import check_trace
from workrail_lint.systems.blocks.rules.samples import (
    FAN_IN_PATH,
    MOUNT_PATH,
    WORKFLOW_PATH,
    conflict,
    control,
    edge,
    fan_in,
    group,
    lane,
    mount,
    node,
    output,
    output_path,
    text,
    workflow,
)
from workrail_lint.systems.blocks.rules.traces import events, step


def messages(findings: list[Finding], code: str) -> list[tuple[str, str]]:
    return [(finding.pointer, finding.message) for finding in findings if finding.code == code]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            {"source": "github", "githubUrl": "http://example.com"},
            ("/githubUrl", "'http://example.com' is not an https address, which 'github' requires"),
        ),
        (mount(localPath=3), ("/localPath", "'3' is not a path, which 'local' requires")),
        (mount(localPath=" "), ("/localPath", "' ' is not a path, which 'local' requires")),
        ({"source": "svn"}, ("/source", "unknown source 'svn'; expected one of local, github")),
    ],
)
def test_a_mount_names_its_source(document: dict[str, Any], expected: tuple[str, str]) -> None:
    assert messages(check_text(document, MOUNT_PATH), "BC360") == [expected]


@pytest.mark.parametrize(
    ("groups", "edges", "cycle"),
    [
        ([group("a", "b")], [edge("a", "c"), edge("c", "b")], "g -> c -> g (a -> c -> b)"),
        (
            [group("a", "b", ident="g1"), group("c", "d", ident="g2")],
            [edge("a", "c"), edge("d", "b")],
            "g1 -> g2 -> g1 (a -> c, d -> b)",
        ),
    ],
)
def test_a_cycle_through_groups_names_the_nodes_on_it(groups: list[Any], edges: list[Any], cycle: str) -> None:
    flow = workflow(*(node(name) for name in "abcd"), edges=edges, parallelGroups=groups)
    ((_, message),) = messages(check_text(flow, WORKFLOW_PATH), "BC334")
    assert message.endswith(f"the transitions form a cycle: {cycle}")


def test_a_control_names_the_key_that_leads_nowhere() -> None:
    config = {"expression": "true", "trueBranchNodeId": "b", "falseBranchNodeId": "zz"}
    choose = control("a", "condition", conditionConfig=config)
    flow = workflow(choose, node("b"), edges=[edge("a", "b"), edge("a", "b", ident="other")])
    assert messages(check_text(flow, WORKFLOW_PATH), "BC348") == [
        (
            "/nodes/0/config/conditionConfig/falseBranchNodeId",
            "control node 'a': 'falseBranchNodeId': unknown node 'zz'",
        )
    ]


def test_a_single_node_becomes_a_body() -> None:
    config = {"collectionVariable": "tasks", "itemVariable": "task", "bodyNodeIds": "b"}

    def looped(body: Any) -> str:
        loop = control("a", "forEach", forEachConfig={**config, "bodyNodeIds": body})
        return text(workflow(loop, node("b"), edges=[edge("a", "b")]))

    found = [finding for finding in check_text(looped("b"), WORKFLOW_PATH) if finding.code == "BC301"]
    assert fix_once(looped("b"), found) == looped(["b"]).replace('[\n              "b"\n            ]', '["b"]')


def test_lanes_that_share_an_index_are_named() -> None:
    lanes = [("lane_started", name, {"groupId": "g", "lane": name, "isolation": "temp-copy"}) for name in "abc"]
    steps = [step("a", 0), step("b", 1), step("c", 1)]
    found = check_trace({**events("folder_created", *lanes), "steps": steps})
    assert messages(found, "BC713") == [("/steps/2/env/STEP_INDEX", "the lanes 'b' and 'c' have the same STEP_INDEX")]


def test_both_of_two_blocks_and_of_two_files_are_named(tmp_path: Path) -> None:
    found = check_files(
        tmp_path,
        {
            WORKFLOW_PATH: workflow(node("a"), node("b"), node("c"), edges=[edge("a", "b"), edge("b", "c")]),
            output_path("a"): output("a", "plan", filesCreated=["x.py"]),
            output_path("b"): output("b", "plan", filesCreated=["x.py"]),
            output_path("c"): output("a", "plan"),
        },
    )
    assert messages(found, "BC613") == [("/filesCreated/0", "'x.py' is created by 'b', but 'a' already created it")]
    assert messages(found, "BC607") == [("/blockId", "'block-c.json' and 'block-a.json' both have the block id 'a'")]


def test_lanes_that_are_no_names_have_no_first_one() -> None:
    """What their types are is told; who should have won is not known."""
    both = (lane("a", 5, "p.py"), lane("b", 3, "p.py"))
    found = check_text(fan_in(*both, conflicts=[conflict("p.py", "b", lanes=[1, 2])]), FAN_IN_PATH)
    assert [finding.pointer for finding in found if finding.code == "BC501"] == [
        "/conflicts/0/lanes/0",
        "/conflicts/0/lanes/1",
    ]
    assert messages(found, "BC506") == []


@pytest.mark.parametrize(
    ("entry", "pointers"),
    [
        ({}, ["conflictingFile", "lanes", "resolution"]),
        ({"conflictingFile": 3, "lanes": ["a"], "resolution": "x"}, ["conflictingFile", "lanes", "resolution"]),
        ({"conflictingFile": "q.py", "lanes": ["a", "b"]}, ["resolution"]),
    ],
)
def test_a_conflict_without_a_resolution_is_looked_at_all_the_same(entry: dict[str, Any], pointers: list[str]) -> None:
    both = (lane("a", 5, "p.py", "q.py"), lane("b", 3, "q.py"))
    found = check_text(fan_in(*both, conflicts=[conflict("q.py", "b", "a"), entry]), FAN_IN_PATH)
    shape = sorted(finding.pointer for finding in found if finding.code == "BC501")
    assert shape == [f"/conflicts/1/{name}" for name in pointers]


def test_an_output_under_a_wrong_id_is_judged_by_the_node_of_its_file(tmp_path: Path) -> None:
    flow = workflow(node("a"), node("b", "coding"), edges=[edge("a", "b")])
    files = {
        WORKFLOW_PATH: flow,
        output_path("a"): output("a", "plan"),
        output_path("b"): {**output("b"), "blockId": "a"},
    }
    assert messages(check_files(tmp_path, files), "BC203") == []
