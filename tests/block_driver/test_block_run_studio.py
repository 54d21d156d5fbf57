"""Runs under the profile of the studio: its expressions decide, and its project can ask for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from block_runs import codes, edge, node, run, workflow

from pytest_workrail.systems import blocks
from pytest_workrail.systems.blocks.block_run import BlockRun
from workrail_lint.systems.blocks.rules.samples import control, uuid

A, B, C = (uuid(number) for number in range(1, 4))


def triage(expression: str = "items.length > 0") -> dict[str, Any]:
    link = edge(A, B, "expression", expression, ident=uuid(5))
    variables = [{"name": "items", "type": "array", "required": True}]
    return workflow(node(A), node(B), edges=[link], id=uuid(0), variables=variables)


def ran(made: BlockRun) -> list[str]:
    return [step["node"] for step in made.steps]


def test_a_transition_is_decided_by_the_language_of_the_profile() -> None:
    items = {"items": ["one"]}
    assert ran(run(triage(), variables=items)) == [A]
    assert ran(run(triage(), variables=items, profile="contract")) == [A]
    assert ran(run(triage(), variables=items, profile="studio")) == [A, B]
    assert ran(run(triage(), variables={"items": []}, profile="studio")) == [A]


def test_a_condition_is_decided_by_it_too() -> None:
    config = {"expression": "items.length == 2", "trueBranchNodeId": B, "falseBranchNodeId": C}
    links = [edge(A, B, ident=uuid(5)), edge(A, C, ident=uuid(6))]
    decide = control(A, "condition", conditionConfig=config)
    variables = [{"name": "items", "type": "json", "required": False, "defaultValue": [1, 2]}]
    definition = workflow(decide, node(B), node(C), edges=links, id=uuid(0), variables=variables)
    assert ran(run(definition)) == [C]
    assert ran(run(definition, profile="studio")) == [B]


def test_a_loop_judges_its_body_by_it() -> None:
    each = {"collectionVariable": "items", "itemVariable": "item", "bodyNodeIds": [B, C]}
    links = [edge(B, C, "expression", "item.length > 1", ident=uuid(5))]
    loop = control(A, "forEach", forEachConfig=each)
    variables = [{"name": "items", "type": "json", "required": False, "defaultValue": [[1], [1, 2]]}]
    definition = workflow(loop, node(B), node(C), edges=links, id=uuid(0), variables=variables)
    assert ran(run(definition, profile="studio")) == [f"{B}[0]", f"{B}[1]", f"{C}[1]"]


def test_a_cycle_is_refused() -> None:
    links = [edge(A, B, ident=uuid(5)), edge(B, A, ident=uuid(6))]
    made = run(workflow(node(A), node(B), edges=links, id=uuid(0)), profile="studio")
    assert (made.execution_status, codes(made.blockers)) == ("failed", ["BLOCK_PLAN_CYCLE"])


def test_what_the_studio_can_not_load_is_not_run() -> None:
    with pytest.raises(blocks.ScenarioInvalid, match="BC301 /id: the studio can't load this definition"):
        run(workflow(node("a")), profile="studio")
    with pytest.raises(blocks.ScenarioInvalid, match="BC315"):
        run(triage("items.length > 0 == true"), profile="studio")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    (tmp_path / "triage.workflow.json").write_text(json.dumps(triage()), encoding="utf-8")
    path = tmp_path / "one.scenario.json"
    block = {"workflow": "triage.workflow.json", "variables": {"items": ["one"]}}
    path.write_text(json.dumps({"block": block}), encoding="utf-8")
    return path


def test_the_configuration_of_the_project_asks_for_it(scenario: Path) -> None:
    assert ran(blocks.run(scenario)) == [A]
    config = scenario.with_name("workrail-lint.toml")
    config.write_text('block-profile = "studio"\n', encoding="utf-8")
    assert ran(blocks.run(scenario)) == [A, B]
    value = json.loads(scenario.read_text(encoding="utf-8"))
    value["block"]["profile"] = "contract"
    scenario.write_text(json.dumps(value), encoding="utf-8")
    assert ran(blocks.run(scenario)) == [A], "the scenario wins"


def test_a_configuration_that_can_not_be_read_is_named(scenario: Path) -> None:
    scenario.with_name("workrail-lint.toml").write_text('block-profile = "figma"\n', encoding="utf-8")
    with pytest.raises(blocks.ScenarioInvalid, match="must be one of contract, lenient, studio"):
        blocks.run(scenario)


def test_a_lenient_project_runs_what_the_contract_allows(scenario: Path) -> None:
    scenario.with_name("workrail-lint.toml").write_text('block-profile = "lenient"\n', encoding="utf-8")
    assert ran(blocks.run(scenario)) == [A]
