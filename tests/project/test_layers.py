"""The order of the rooms is held: an import from a higher room makes `lint-imports` fail and name the module."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("workrail_lint", "pytest_workrail")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
NAMES = {contract["id"]: contract["name"] for contract in CONTRACTS}


class Planted(NamedTuple):
    """An import that has no business where it is, and the contract it breaks."""

    place: str
    module: str
    imported: str
    contract: str


PLANTED = [
    Planted("workrail_lint/base/version.py", "workrail_lint.base.version", "workrail_lint.cli", "static-rooms"),
    Planted(
        "pytest_workrail/engine/model/step_keys.py",
        "pytest_workrail.engine.model.step_keys",
        "pytest_workrail.plugin",
        "dynamic-rooms",
    ),
    Planted(
        "pytest_workrail/engine/model/step_keys.py",
        "pytest_workrail.engine.model.step_keys",
        "pytest_workrail.engine.store",
        "engine-rooms",
    ),
    Planted("workrail_lint/findings/__init__.py", "workrail_lint.findings", "pytest_workrail.run", "static-alone"),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The two packages and our configuration, in a folder where a module may be spoilt."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "*.json"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("importlinter", reason="import-linter is not installed: make setup")
    return subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-logo", "--no-cache"],
        cwd=folder,
        env={**os.environ, "COLUMNS": "400"},  # wide enough that no name is wrapped
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def test_an_import_from_a_higher_room_is_refused(copy: Path, verdicts: str) -> None:
    for planted in PLANTED:
        assert planted.module not in verdicts, "the module is spoilt before anything is planted"
        target = copy / planted.place
        target.write_text(f"{target.read_text(encoding='utf-8')}\nimport {planted.imported}\n", encoding="utf-8")
    after = lint_imports(copy)
    assert after.returncode == 1, after.stdout
    for planted in PLANTED:
        assert f"{planted.module} -> {planted.imported}" in after.stdout
        assert f"\n{NAMES[planted.contract]} BROKEN\n" in after.stdout


@pytest.fixture(scope="module")
def verdicts() -> str:
    return lint_imports(ROOT).stdout


def test_without_such_an_import_every_contract_is_kept(verdicts: str) -> None:
    assert [name for name in NAMES.values() if f"\n{name} KEPT\n" not in verdicts] == []
