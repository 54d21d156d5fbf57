"""Contract packs of the other document systems: part of the core catalog, loaded when one is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tools.models.blocks.packs import packs as block_packs
from tools.models.team.packs import packs as team_packs
from workrail_lint import check_text, compile_workflow
from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.catalog import Catalog, CatalogPhase, load_core
from workrail_lint.systems.workrail.catalog.catalog import by_id, digest_of, shipped_packs
from workrail_lint.systems.workrail.catalog.checks import check_document, order_problems
from workrail_lint.systems.workrail.rules.samples import step, workflow

CORE = load_core()
IDS = sorted(entry["id"] for entry in [*team_packs(), *block_packs()])
each_id = pytest.mark.parametrize("ident", IDS)


def requiring(ident: str) -> dict[str, Any]:
    """A workflow with a step that has to submit an artifact of a contract."""
    kind = ident.replace(".contracts.", ".")
    prompt = f"Write down what you found and submit it as an artifact of kind {kind}."
    return workflow(step("report", prompt=prompt, outputContract={"contractRef": ident}))


def test_every_document_of_the_contracts_is_a_pack() -> None:
    assert [ident for ident in CORE.contracts if not ident.startswith("wr.")] == IDS
    assert list(CORE.contracts) == sorted(CORE.contracts)


@each_id
def test_only_our_own_engine_knows_them(ident: str) -> None:
    contract = CORE.contracts[ident]
    assert contract.phase is CatalogPhase.DESIGN
    assert contract.runtime_validated
    assert contract.artifact_kind == ident.replace(".contracts.", ".")


@each_id
def test_a_workflow_can_require_one(ident: str) -> None:
    authored = requiring(ident)
    compiled = compile_workflow(authored)
    assert isinstance(compiled, Ok)
    (embedded,) = [item for item in compiled.value.ir["contracts"] if item["ref"] == ident]
    assert embedded["schema"] == CORE.contracts[ident].schema
    assert not [
        f for f in check_text(_text(authored), filename="workflows/a.json", target="ir").findings if f.code[:2] != "LC"
    ]


@each_id
def test_the_public_engine_would_refuse_it(ident: str) -> None:
    report = check_text(_text(requiring(ident)), filename="workflows/a.json", engine_parity=True)
    (error,) = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    assert error.name == "catalog-id-design-only"
    assert error.pointer == "/steps/0/outputContract/contractRef"


def test_a_misspelt_one_is_unknown() -> None:
    found = compile_workflow(requiring("team.contracts.agent_ouput"))
    assert isinstance(found, Err)
    (error,) = found.error
    assert "unknown contract" in error.message


def _text(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


# ------------------------------------------------------------------------------------------------------- on demand


def lazy(asked: list[str]) -> Catalog:
    """The core catalog, telling when its further packs are read."""

    def packs() -> list[dict[str, Any]]:
        asked.append("packs")
        return shipped_packs()

    document = {**CORE.document, "contracts": [e for e in CORE.document["contracts"] if e["id"].startswith("wr.")]}
    return Catalog(document, CORE.digest, packs)


def test_they_are_read_once_and_only_for_contracts() -> None:
    asked: list[str] = []
    catalog = lazy(asked)
    extended = catalog.with_routine_entries(catalog.routine_entries[:1])
    assert catalog.features
    assert catalog.refs
    assert catalog.templates
    assert catalog.capabilities
    assert catalog.digest == CORE.digest
    assert len(extended.templates) == 1
    assert asked == []
    assert list(catalog.contracts) == list(CORE.contracts)
    assert catalog.document == CORE.document
    assert asked == ["packs"]
    assert list(extended.contracts) == list(CORE.contracts)
    assert extended.digest == digest_of(extended.document)


def test_the_digest_speaks_for_them() -> None:
    document = CORE.document
    assert digest_of(document) == CORE.digest
    assert check_document(document) == []
    without = {**document, "contracts": [e for e in document["contracts"] if e["id"].startswith("wr.")]}
    assert digest_of(without) != CORE.digest


def test_their_order_is_that_of_a_catalog() -> None:
    entries = by_id([*reversed(CORE.document["contracts"])])
    assert list(order_problems({**CORE.document, "contracts": entries})) == []
