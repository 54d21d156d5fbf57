"""Closed sets and the catalog: fixes by the nearest id, and what depends on the active catalog."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lint_probe import fixed, lint

from workrail_lint import check_text
from workrail_lint.findings import Finding, Severity
from workrail_lint.rules.ruleset import RuleSet
from workrail_lint.systems.workrail.catalog.catalog import Catalog, load_core
from workrail_lint.systems.workrail.catalog.loading import with_routines
from workrail_lint.systems.workrail.rules import catalog as catalog_rules
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.samples import parallel, step, workflow
from workrail_lint.systems.workrail.rules.walk import run_rules

CALL = {"templateId": "wr.templates.routine.execution-simulation"}
FEATURE = "wr.features.capabilities"


def blocks(**sections: Any) -> dict[str, Any]:
    return step(prompt=None, promptBlocks={"goal": "Find the cause.", **sections})


def reported(document: dict[str, Any], name: str, **options: Any) -> list[Finding]:
    found = check_text(json.dumps(document), "workflows/a.json", **options).findings
    return [finding for finding in found if finding.name == name]


def test_the_nearest_id_takes_the_place_of_an_unknown_one() -> None:
    document = workflow(blocks(), features=["wr.features.memory_contxt"])
    (found,) = reported(document, "catalog-id-unknown")
    assert json.loads(fixed(found, document))["features"] == ["wr.features.memory_context"]


@pytest.mark.parametrize("ref", ["toString", "constructor", "__proto__", "memory", "wr.refs."])
def test_names_of_host_objects_are_unknown_refs_without_a_fix(ref: str) -> None:
    (found,) = reported(workflow(blocks(constraints=[[{"kind": "ref", "refId": ref}]])), "catalog-id-unknown")
    assert found.severity is Severity.ERROR
    assert found.fix is None


@pytest.mark.parametrize(
    "beside", [{"id": "wr.features.memory_context", "config": {}}, {"id": "wr.features.nowhere"}, 3, None]
)
def test_an_unknown_feature_is_named_in_its_own_place(beside: Any) -> None:
    blocks = step(prompt=None, promptBlocks={"goal": "Find the cause."})
    document = workflow(blocks, features=[beside, "wr.features.capabilites"])
    found = [finding for finding in check_text(json.dumps(document)).findings if finding.name == "catalog-id-unknown"]
    assert [f.pointer for f in found if "'wr.features.capabilites'" in f.message] == ["/features/1"]


def test_an_id_that_lacks_only_its_prefix_is_found() -> None:
    document = workflow(step(outputContract={"contractRef": "review_verdict"}))
    (found,) = reported(document, "contract-unknown")
    after = json.loads(fixed(found, document))["steps"][0]["outputContract"]["contractRef"]
    assert after == "wr.contracts.review_verdict"


def test_a_synthesis_contract_is_looked_at_in_its_own_place() -> None:
    made = parallel(synthesis={"outputContract": {"contractRef": "my.contract"}})
    (found,) = reported(workflow(step(), made), "contract-unknown")
    assert found.pointer == "/steps/1/synthesis/outputContract/contractRef"


def test_a_dropped_contract_is_our_error_and_not_the_engines() -> None:
    contract = {"contractRef": "my.contract"}
    document = workflow(step(), step("call-it", None, templateCall=CALL, outputContract=contract))
    (found,) = reported(document, "contract-unknown")
    assert (found.severity, found.pointer) == (Severity.ERROR, "/steps/1/outputContract/contractRef")
    (parity,) = reported(document, "contract-unknown", engine_parity=True)
    assert parity.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        (workflow(blocks(), features=[FEATURE]), "/features/0"),
        (
            workflow(blocks(constraints=[[{"kind": "ref", "refId": "wr.refs.memory_usage"}]])),
            "/steps/0/promptBlocks/constraints/0/0/refId",
        ),
        (workflow(step(), step("call-it", None, templateCall=CALL)), "/steps/1/templateCall/templateId"),
        (workflow(step(), features=[FEATURE]), None),  # reaches no prompt
        (workflow(step(outputContract={"contractRef": "wr.contracts.review_verdict"})), None),
        (workflow(blocks()), None),
    ],
)
def test_builtin_text_makes_the_hash_ours(document: dict[str, Any], pointer: str | None) -> None:
    found = [finding.pointer for finding in lint(catalog_rules.CatalogHashNotEngine, document)]
    assert found == ([] if pointer is None else [pointer])


def lint_with(catalog: Catalog, document: dict[str, Any]) -> list[Finding]:
    from lint_probe import view

    shown = view(document)
    judged = WorkflowContext(shown.document, shown.model, catalog, shown.path)
    return run_rules(RuleSet([catalog_rules.CatalogHashNotEngine()], WorkflowRule), judged)


def test_an_engine_catalog_and_routines_of_the_project_give_the_engines_hash() -> None:
    document = workflow(step(), step("call-it", None, templateCall=CALL))
    core = load_core()
    assert len(lint_with(core, document)) == 1
    imported = Catalog({**core.document, "catalogId": "engine", "engineVersion": "3.121.0"})
    assert lint_with(imported, document) == []
    own = workflow(step(), id="wr.routine-execution-simulation", name="Own")
    assert lint_with(with_routines(core, [own]).catalog, document) == []
    other = with_routines(core, [workflow(step(), id="wr.routine-other", name="Other")]).catalog
    assert len(lint_with(other, document)) == 1


@pytest.mark.parametrize(
    ("args", "pointers"),
    [
        ({"capability": "delegation", "when": "lazy_on_first_use"}, []),
        ({"capability": "terminal", "when": "lazy_on_first_use"}, ["capability"]),
        ({"capability": "delegation", "when": "later"}, ["when"]),
        ({"capability": 3, "when": "later"}, ["capability", "when"]),
        ({"capability": ["delegation"]}, []),  # of a wrong type, which compiling reports
    ],
)
def test_a_probe_takes_capabilities_of_the_closed_set(args: dict[str, Any], pointers: list[str]) -> None:
    call = {"templateId": "wr.templates.capability_probe", "args": args}
    found = lint(catalog_rules.CapabilityUnknown, workflow(step(), step("probe-it", None, templateCall=call)))
    assert [finding.pointer for finding in found] == [f"/steps/1/templateCall/args/{name}" for name in pointers]


@pytest.mark.parametrize(
    "document",
    [
        workflow(blocks(), features=["wr.features.mode_guidance"]),
        workflow(blocks(constraints=[[{"kind": "ref", "refId": "wr.refs.jcs_hashing"}]])),
        workflow(step(outputContract={"contractRef": "wr.contracts.verification_report"})),
    ],
)
def test_design_builtins_are_errors_for_the_engine_only(document: dict[str, Any]) -> None:
    assert reported(document, "catalog-id-design-only", target="ir") == []
    for judged in ({}, {"engine_parity": True}):
        (found,) = reported(document, "catalog-id-design-only", **judged)
        assert found.severity is Severity.ERROR


def test_a_gate_is_mended_when_it_is_nearly_right() -> None:
    document = workflow(step(requireConfirmation={"kind": "coordinator-eval"}))
    (found,) = reported(document, "schema-enum")
    assert json.loads(fixed(found, document))["steps"][0]["requireConfirmation"]["kind"] == "coordinator_eval"
    (far,) = reported(workflow(step(requireConfirmation={"kind": "manager"})), "schema-enum")
    assert far.fix is None
