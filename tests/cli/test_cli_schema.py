"""`workrail-lint schema`: a JSON Schema for every kind of document that is JSON or read like it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from cli_types import Run

from tools.models.generate import SCHEMAS
from workrail_lint.cli import main
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.schemas import kinds
from workrail_lint.systems.team.documents import MARKDOWN, TeamKind
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.rules.samples import step, workflow

KINDS = kinds()
# What is a folder, prose, or the record of a run has no schema.
NO_TEAM_SCHEMA = {*MARKDOWN, TeamKind.SESSION, TeamKind.TRACE}
NO_BLOCK_SCHEMA = {BlockKind.FOLDER, BlockKind.PROMPT, BlockKind.TRACE}


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["schema", *arguments]) == 0
    return capsys.readouterr().out


def test_the_kinds_are_those_of_all_systems(capsys: pytest.CaptureFixture[str]) -> None:
    listed = shown(capsys).splitlines()
    assert listed == sorted([*(kind for makers in SCHEMAS.values() for kind in makers), "lock-registry"])
    assert {kind.value for kind in set(TeamKind) - NO_TEAM_SCHEMA} <= set(listed)
    assert {kind.value for kind in set(BlockKind) - NO_BLOCK_SCHEMA} <= set(listed)


@pytest.mark.parametrize("kind", KINDS)
def test_every_schema_is_one_that_editors_understand(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads(shown(capsys, kind))
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    jsonschema.Draft7Validator.check_schema(schema)


def test_a_routine_has_the_schema_of_a_workflow(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "routine") == shown(capsys, "workflow")


@pytest.mark.parametrize(("asked", "meant"), [("team-staus", "team-status"), ("studio-outptu", "studio-output")])
def test_a_misspelt_kind(asked: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", asked]) == 2
    assert f"did you mean '{meant}'?" in capsys.readouterr().err


def suggested(schema: dict[str, Any]) -> dict[str, Any]:
    """The members of a schema's definitions that name builtins."""
    definitions = schema["definitions"]
    return {
        "contracts": definitions["OutputContract"]["properties"]["contractRef"],
        "templates": definitions["TemplateCall"]["properties"]["templateId"],
        "refs": definitions["RefPart"]["properties"]["refId"],
        "features": definitions["Workflow"]["properties"]["features"]["items"],
    }


def test_a_workflow_is_suggested_what_the_engine_has(run: Run) -> None:
    core = load_core()
    found = suggested(json.loads(run("schema", "workflow").out))
    assert "wr.contracts.loop_control" in found["contracts"]["enum"]
    # Another rule says that no step can satisfy it, and design-only ones are errors for the engine.
    assert not {"wr.contracts.assessment", "wr.contracts.verification_report"} & set(found["contracts"]["enum"])
    for name, known in (("templates", core.templates), ("refs", core.refs), ("features", core.features)):
        shipped = [ident for ident, entry in known.items() if entry.phase.value == "shipped"]
        assert found[name]["enum"] == shipped
    for each in found.values():
        assert len(each["enumDescriptions"]) == len(each["enum"])
        assert all(each["enumDescriptions"])
        assert list(each["x-intellij-enum-metadata"]) == each["enum"]


def test_the_suggestions_are_those_of_the_catalog_and_the_routines(run: Run, write: Any) -> None:
    core = load_core().document
    feature = {**core["features"][0], "inject": {"constraints": ["Be brief."]}}
    document = {**core, "catalogId": "mine", "features": [feature], "refs": []}
    del document["digest"]
    write("catalog.json", document)
    write("routines/tidy.json", {**workflow(step("sweep", "Sweep {where}.")), "id": "routine-tidy"})
    ran = run("schema", "workflow", "--catalog", "catalog.json", "--routines", "routines")
    assert (ran.code, ran.err) == (0, "")
    schema = json.loads(ran.out)
    definitions = schema["definitions"]
    assert definitions["Workflow"]["properties"]["features"]["items"]["enum"] == [feature["id"]]
    assert "enum" not in definitions["RefPart"]["properties"]["refId"]
    assert "wr.templates.routine.tidy" in definitions["TemplateCall"]["properties"]["templateId"]["enum"]
    # The same from the configuration of the project.
    write("workrail-lint.toml", 'catalog = "catalog.json"\nroutines = "routines"\n')
    assert json.loads(run("schema", "workflow").out) == schema


def test_a_template_call_without_an_argument_is_marked(run: Run) -> None:
    schema = json.loads(run("schema", "workflow").out)
    validator = jsonschema.Draft7Validator({**schema, "$ref": "#/definitions/TemplateCall"})
    call = {"templateId": "wr.templates.routine.reviewer-family", "args": {"deliverableName": "review.md"}}
    assert validator.is_valid(call)
    assert not validator.is_valid({**call, "args": {}})
    assert not validator.is_valid({"templateId": call["templateId"]})
    assert validator.is_valid({"templateId": "wr.templates.routine.execution-simulation"})
    assert not validator.is_valid({"templateId": "wr.templates.routine.revewer-family"})


def test_the_design_form_is_suggested_everything(capsys: pytest.CaptureFixture[str]) -> None:
    definitions = json.loads(shown(capsys, "workflow-design"))["definitions"]
    assert "wr.features.mode_guidance" in definitions["FeatureEntry"]["then"]["enum"]
    assert definitions["FeatureUse"]["properties"]["id"]["enum"] == definitions["FeatureEntry"]["then"]["enum"]
    assert set(definitions["Capabilities"]["properties"]) == set(load_core().capabilities)


def test_a_catalog_that_can_not_be_used(run: Run) -> None:
    assert run("schema", "workflow", "--catalog", "none.json").code == 2
