"""`block-profile = "studio"`: definitions judged and compiled as the public studio takes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from block_checks import check_text

from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.result import Err, Ok
from workrail_lint.cli import main
from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.blocks.ir import compile_definition
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.rules.samples import (
    GATE,
    WORKFLOW_PATH,
    control,
    edge,
    group,
    node,
    uuid,
    workflow,
)
from workrail_lint.systems.blocks.vocabulary import BlockProfile

A, B, C, D = (uuid(number) for number in range(1, 5))
STUDIO = BlockOptions(profile=BlockProfile.STUDIO)
ITEMS = [{"name": "items", "type": "array", "required": True}]


def judged(definition: dict[str, Any], profile: str = "studio") -> list[Finding]:
    return check_text(definition, WORKFLOW_PATH, {"block-profile": profile})


def codes(definition: dict[str, Any], profile: str = "studio") -> list[str]:
    return [finding.code for finding in judged(definition, profile) if finding.severity is not Severity.INFO]


def flow(expression: str, **members: Any) -> dict[str, Any]:
    link = edge(A, B, "expression", expression, ident=uuid(5))
    return workflow(node(A), node(B), edges=[link], id=uuid(0), variables=ITEMS, **members)


def test_every_id_has_to_be_a_uuid() -> None:
    nodes = (node("plan"), node(B), node("c"))
    gate = {**GATE, "nodeId": "plan"}
    definition = workflow(*nodes, edges=[edge("plan", B)], gates=[gate], parallelGroups=[group(B, "c")])
    found = [finding for finding in judged(definition) if finding.code == "BC301"]
    places = ["/id", "/nodes/0/id", "/nodes/2/id", "/transitions/0/id", "/gates/0/id", "/parallelGroups/0/id"]
    assert sorted(finding.pointer for finding in found) == sorted(places)
    assert {finding.severity for finding in found} == {Severity.ERROR}
    assert "the id 'plan' is not a UUID" in found[1].message
    assert not [finding for finding in judged(definition, "contract") if finding.code == "BC301"]


@pytest.mark.parametrize(
    ("expression", "contract", "studio"),
    [
        ("items.length > 0", [], []),
        ("items.length > 1 == true", [], ["BC315"]),
        ("items.length > -1", [], ["BC315"]),
        (r"items == '\'", ["BC315"], []),
        ("items == 1.2.3", ["BC315"], []),
        ("constructor", ["BC315"], ["BC315"]),
        ("thing", ["BC315"], ["BC315"]),
    ],
)
def test_expressions_are_judged_in_the_language_of_the_profile(
    expression: str, contract: list[str], studio: list[str]
) -> None:
    assert codes(flow(expression), "contract") == contract
    assert codes(flow(expression)) == studio


def test_cycles_are_refused() -> None:
    links = [edge(A, B, ident=uuid(5)), edge(B, A, ident=uuid(6))]
    assert codes(workflow(node(A), node(B), edges=links, id=uuid(0))) == ["BC312"]


def test_a_lane_that_starts_before_its_predecessor() -> None:
    nodes = (node(A, "coding"), node(B), node(C, "coding"))
    links = [edge(B, C, ident=uuid(5))]
    definition = workflow(*nodes, edges=links, id=uuid(0), parallelGroups=[group(A, C, ident=uuid(8))])
    (found,) = [finding for finding in judged(definition) if finding.code == "BC342"]
    assert (found.severity, found.pointer) == (Severity.WARNING, "/parallelGroups/0/laneNodeIds/1")
    assert f"the lane '{C}' starts before '{B}'" in found.message
    # The same group behind its predecessor: whichever lane is first, the predecessor has run.
    later = workflow(node(B), node(A, "coding"), node(C, "coding"), edges=links, id=uuid(0))
    assert codes({**later, "parallelGroups": [group(A, C, ident=uuid(8))]}) == []
    assert codes(definition, "contract") == []


def test_a_predecessor_that_is_a_lane_starts_with_its_group() -> None:
    nodes = (node(A), node(B), node(C), node(D))
    groups = [group(A, B, ident=uuid(8)), group(C, D, ident=uuid(9))]
    links = [edge(A, C, ident=uuid(5)), edge(B, D, ident=uuid(6))]
    assert codes(workflow(*nodes, edges=links, id=uuid(0), parallelGroups=groups)) == []


def test_configuration_that_the_studio_drops() -> None:
    config = {"expression": "true", "trueBranchNodeId": B, "falseBranchNodeId": C}
    links = [edge(A, B, ident=uuid(5)), edge(A, C, ident=uuid(6))]
    retried = node(B, config={"maxRetries": 2})
    definition = workflow(control(A, "condition", conditionConfig=config), retried, node(C), edges=links, id=uuid(0))
    found = [finding for finding in judged(definition) if finding.code == "BC342"]
    assert [(finding.pointer, finding.severity) for finding in found] == [
        ("/nodes/0/kind", Severity.WARNING),
        ("/nodes/1/config", Severity.WARNING),
    ]
    assert "'kind', 'blockType' and 'conditionConfig'" in found[0].message
    assert found[0].message.endswith("runs as an ordinary orchestrator agent")
    assert codes(definition, "contract") == []


def test_a_conflict_never_pauses_the_studio() -> None:
    made = group(A, B, ident=uuid(8), mergeStrategy="fail-on-conflict")
    definition = workflow(node(A, "coding"), node(B, "coding"), id=uuid(0), parallelGroups=[made])
    assert codes(definition) == ["BC342"]
    assert codes(definition, "contract") == []


def test_a_compiled_definition_tells_the_profiles_apart() -> None:
    definition = flow("items.length > 0")
    contract, studio = compile_definition(definition), compile_definition(definition, options=STUDIO)
    assert isinstance(contract, Ok)
    assert isinstance(studio, Ok)
    assert "profile" not in contract.value
    assert canonical_hash(contract.value) != canonical_hash(studio.value)
    assert isinstance(compile_definition(flow(r"items == '\'")), Err)
    assert isinstance(compile_definition(flow(r"items == '\'"), options=STUDIO), Ok)


# ------------------------------------------------------------------------------------------- on the command line


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKRAIL_LINT_DEBUG", "1")
    return tmp_path


def test_the_setting_and_the_option_ask_for_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / WORKFLOW_PATH).write_text(json.dumps(flow("items.length > 1 == true")), encoding="utf-8")
    assert main(["check", "--no-cache", "--block-profile", "studio"]) == 1
    assert "BC315" in capsys.readouterr().out
    (project / "workrail-lint.toml").write_text('block-profile = "studio"\n', encoding="utf-8")
    assert main(["check", "--no-cache"]) == 1
    assert main(["check", "--no-cache", "--block-profile", "contract"]) == 0, "the command line wins"
    assert main(["compile", WORKFLOW_PATH]) == 1


def test_what_only_the_studio_can_read_is_compiled_under_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / WORKFLOW_PATH).write_text(json.dumps(flow(r"items == '\'")), encoding="utf-8")
    assert main(["compile", WORKFLOW_PATH]) == 1
    (project / "workrail-lint.toml").write_text('block-profile = "studio"\n', encoding="utf-8")
    capsys.readouterr()
    assert main(["compile", WORKFLOW_PATH]) == 0
    assert json.loads(capsys.readouterr().out)["profile"] == "studio"


def test_a_lenient_project_is_told_why_there_is_no_order(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    links = [edge("a", "c"), edge("c", "b")]
    definition = workflow(node("a"), node("b"), node("c"), edges=links, parallelGroups=[group("a", "b")])
    (project / WORKFLOW_PATH).write_text(json.dumps(definition), encoding="utf-8")
    (project / "workrail-lint.toml").write_text('block-profile = "lenient"\n', encoding="utf-8")
    assert main(["compile", WORKFLOW_PATH]) == 1
    assert "the transitions form a cycle" in capsys.readouterr().err
