"""`workrail-lint schema`: a JSON Schema for every kind of document that is JSON or read like it."""

from __future__ import annotations

import json

import jsonschema
import pytest

from tools.models.blocks import generate as blocks
from tools.models.team import generate as team
from tools.models.workrail import generate as workflows
from workrail_lint.cli import main
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.schemas import kinds
from workrail_lint.systems.team.documents import MARKDOWN, TeamKind

KINDS = kinds()
# What is a folder, prose, or the record of a run has no schema.
NO_TEAM_SCHEMA = {*MARKDOWN, TeamKind.SESSION, TeamKind.TRACE}
NO_BLOCK_SCHEMA = {BlockKind.FOLDER, BlockKind.PROMPT, BlockKind.TRACE}


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["schema", *arguments]) == 0
    return capsys.readouterr().out


def test_the_kinds_are_those_of_all_systems(capsys: pytest.CaptureFixture[str]) -> None:
    listed = shown(capsys).splitlines()
    assert listed == sorted({*workflows.KINDS, *team.SCHEMAS, *blocks.SCHEMAS, "lock-registry"})
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
