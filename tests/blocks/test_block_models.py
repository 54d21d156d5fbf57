"""Models, shipped schemas and contract packs: one source, four validators, one verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from block_mutants import TEST_OUTPUT, TRACE, WORKFLOW, mutated
from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tools.models.blocks import examples
from tools.models.blocks.definition import StudioWorkflow
from tools.models.blocks.output import BlockOutput, ExtendedBlockOutput
from tools.models.blocks.packs import PACKS_FILE, packs
from tools.models.blocks.run import Environment, ExtendedFanInResult, FanInResult, RepoMount
from tools.models.blocks.trace import RunTrace
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.blocks.check import check_document
from workrail_lint.systems.blocks.documents import EXTENDED, BlockKind, validator
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.rules.base import BlockDocument
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog.checks import schema_problems
from workrail_lint.systems.workrail.catalog.contracts import plain_schema, validate_artifact

EXTENDED_FAN_IN = {**examples.FAN_IN, "blockOutputs": [*examples.FAN_IN["blockOutputs"], TEST_OUTPUT]}
LOCAL = {"source": "local", "localPath": "repo", "readOnly": True}
KINDS: dict[str, tuple[type[BaseModel], BlockKind, bool, dict[str, Any]]] = {
    "studio-workflow": (StudioWorkflow, BlockKind.WORKFLOW, False, WORKFLOW),
    "studio-output": (BlockOutput, BlockKind.OUTPUT, False, examples.OUTPUT),
    f"studio-output{EXTENDED}": (ExtendedBlockOutput, BlockKind.OUTPUT, True, TEST_OUTPUT),
    "studio-repo-mount": (RepoMount, BlockKind.MOUNT, False, examples.MOUNT),
    "studio-env": (Environment, BlockKind.ENVIRONMENT, False, examples.ENVIRONMENT),
    "studio-trace": (RunTrace, BlockKind.TRACE, False, TRACE),
    "studio-fan-in": (FanInResult, BlockKind.FAN_IN, False, examples.FAN_IN),
    f"studio-fan-in{EXTENDED}": (ExtendedFanInResult, BlockKind.FAN_IN, True, EXTENDED_FAN_IN),
}
RUST = {name: jsonschema_rs.Draft7Validator(load_schema(name)) for name in KINDS}
EXHAUSTIVE = settings(max_examples=times(25, deep=160), deadline=None, suppress_health_check=list(HealthCheck))


def accepts(model: type[BaseModel], document: Any) -> bool:
    try:
        model.model_validate(document)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", KINDS)
def test_the_specimens_are_valid_for_everyone(name: str) -> None:
    model, kind, extended, document = KINDS[name]
    assert validator(kind, extended).violations(document) == []
    assert RUST[name].is_valid(document)
    assert accepts(model, document)


def test_a_local_mount_is_valid() -> None:
    assert accepts(RepoMount, LOCAL)
    assert validator(BlockKind.MOUNT).violations(LOCAL) == []


@pytest.mark.parametrize("name", KINDS)
@EXHAUSTIVE
@given(data=st.data())
def test_all_validators_agree_on_mutants(name: str, data: st.DataObject) -> None:
    model, kind, extended, specimen = KINDS[name]
    document = data.draw(mutated(specimen))
    violations = validator(kind, extended).violations(document)
    assert RUST[name].is_valid(document) == (not violations), violations
    assert accepts(model, document) == (not violations), violations


def found(value: Any, kind: BlockKind, extended: bool = False) -> list[Finding]:
    document = JsonDocument("")
    document.readable, document.value = True, value
    path = {BlockKind.OUTPUT: ".output/block-a.json", BlockKind.WORKFLOW: "a.workflow.json"}.get(
        kind, ".run/env-a.json"
    )
    return check_document(BlockDocument(path, kind, document, BlockOptions(extended=extended)))


@pytest.mark.parametrize("name", KINDS)
@EXHAUSTIVE
@given(data=st.data())
def test_what_breaks_the_schema_is_told_by_some_rule(name: str, data: st.DataObject) -> None:
    _, kind, extended, specimen = KINDS[name]
    document = data.draw(mutated(specimen))
    findings = found(document, kind, extended)  # raises when a violation has no rule
    if validator(kind, extended).violations(document):
        assert findings
    for finding in findings:
        assert "\n" not in finding.message
        assert finding.phase in (Phase.READ, Phase.SCHEMA, Phase.LINT)


@EXHAUSTIVE
@given(value=mutated(TRACE))
def test_no_trace_is_too_odd_to_read(value: Any) -> None:
    if isinstance(value, dict):
        for finding in found(value, BlockKind.TRACE):
            assert finding.severity in (Severity.ERROR, Severity.WARNING)


# ------------------------------------------------------------------------------------------------------ packs

PACKS = {entry["id"]: entry for entry in packs()}


def test_the_packs_are_those_of_the_contract() -> None:
    names = [
        "block_output",
        "environment",
        "fan_in_result",
        "output_folder",
        "prompt",
        "repo_mount",
        "workflow_definition",
    ]
    assert list(PACKS) == [f"block.contracts.{name}" for name in names]
    assert json.loads(Path(PACKS_FILE).read_text(encoding="utf-8")) == packs()


@pytest.mark.parametrize("ident", PACKS)
def test_a_pack_is_usable_as_an_output_contract(ident: str) -> None:
    pack = PACKS[ident]
    assert list(schema_problems(pack["schema"])) == []
    assert validate_artifact(pack["schema"], pack["example"]) == []
    assert pack["example"]["kind"] == pack["artifactKind"] == ident.replace(".contracts", "")
    without = {name: value for name, value in pack["example"].items() if name != "kind"}
    assert validate_artifact(pack["schema"], without) != []
    assert jsonschema_rs.Draft7Validator(plain_schema(pack["schema"])).is_valid(pack["example"])


PACKED = {
    "block.contracts.block_output": ("studio-output", BlockKind.OUTPUT),
    "block.contracts.environment": ("studio-env", BlockKind.ENVIRONMENT),
    "block.contracts.repo_mount": ("studio-repo-mount", BlockKind.MOUNT),
    "block.contracts.workflow_definition": ("studio-workflow", BlockKind.WORKFLOW),
}


@pytest.mark.parametrize("ident", PACKED)
@EXHAUSTIVE
@given(data=st.data())
def test_a_pack_accepts_what_the_schema_does(ident: str, data: st.DataObject) -> None:
    name, kind = PACKED[ident]
    document = data.draw(mutated(KINDS[name][3]))
    if not isinstance(document, dict) or "kind" in document:
        return
    keywords = {violation.keyword for violation in validator(kind).violations(document)}
    issues = validate_artifact(PACKS[ident]["schema"], {"kind": PACKS[ident]["artifactKind"], **document})
    # That a list holds nothing twice is the one thing a pack can't say.
    assert bool(issues) == bool(keywords - {"uniqueItems"})
