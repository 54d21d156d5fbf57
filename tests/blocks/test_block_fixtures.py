"""What ships for people to learn from: clean fixtures, a guide that tells the truth, locks with a source."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest
from block_checks import check_paths

from tools.models.blocks.packs import packs
from workrail_lint.base.result import Ok
from workrail_lint.systems.blocks.documents import BlockKind, detect
from workrail_lint.systems.blocks.ir import compile_definition
from workrail_lint.systems.blocks.prompts import NAMES
from workrail_lint.systems.blocks.rules import RULES
from workrail_lint.systems.blocks.vocabulary import BLOCK_TYPE_OF, EXPECTED_KIND
from workrail_lint.systems.builtin import manifests

MANIFEST = next(manifest for manifest in manifests() if manifest.name == "blocks")

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures" / "blocks"
GUIDE = (ROOT / "docs" / "blocks.md").read_text(encoding="utf-8")
DEFINITIONS = sorted(FIXTURES.rglob("*.workflow.json"))


def test_the_fixtures_are_clean() -> None:
    with contextlib.chdir(ROOT):
        assert check_paths(["fixtures/blocks"]) == []


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.parent.name)
def test_every_definition_compiles(path: Path) -> None:
    assert isinstance(compile_definition(json.loads(path.read_text(encoding="utf-8"))), Ok)


def test_every_kind_of_document_is_shown() -> None:
    shown = {
        detect(str(path.relative_to(FIXTURES)), path.read_bytes(), False)
        for path in FIXTURES.rglob("*")
        if path.is_file()
    }
    assert shown == set(BlockKind) - {BlockKind.FOLDER, BlockKind.TRACE}


def test_the_fixtures_would_be_noticed_if_they_broke(tmp_path: Path) -> None:
    target = tmp_path / "in-a-row"
    for path in (FIXTURES / "in-a-row").rglob("*"):
        if path.is_file():
            copy = target / path.relative_to(FIXTURES / "in-a-row")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    mount = target / ".run" / "repo-mount.json"
    mount.write_text(mount.read_text(encoding="utf-8").replace("src/**", "source/**"), encoding="utf-8")
    with contextlib.chdir(tmp_path):
        assert {finding.code for finding in check_paths(["."])} == {"BC404", "BC420", "BC609"}


# ------------------------------------------------------------------------------------------------------ the guide


def test_the_guide_names_what_there_is() -> None:
    for name in (*NAMES, *MANIFEST.config_keys, *(kind.value for kind in BlockKind)):
        assert f"`{name}`" in GUIDE, name
    for entry in packs():
        assert f"`{entry['id'].rpartition('.')[2]}`" in GUIDE or entry["id"] in GUIDE
    codes = {rule.code for rule in RULES.rules()}
    assert set(re.findall(r"BC\d{3}", GUIDE)) <= codes


def test_the_guide_has_the_right_types() -> None:
    rows = re.findall(r"^\| ([a-z, ]+) \| (plan|dev|test|review|devops) \| `(\w+)` \|", GUIDE, re.MULTILINE)
    told = {name: (kind, expected) for names, kind, expected in rows for name in names.split(", ")}
    assert told == {name: (kind.value, EXPECTED_KIND[kind].value) for name, kind in BLOCK_TYPE_OF.items()}


def test_the_example_in_the_guide_is_an_output() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    value = json.loads(example)
    assert len(value) == 8
