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


class Planted(NamedTuple):
    """An import that has no business where it is, and the contracts it breaks."""

    place: str
    module: str
    imported: str
    contracts: tuple[str, ...]


PLANTED = [
    Planted("workrail_lint/base/version.py", "workrail_lint.base.version", "workrail_lint.cli", ("static-rooms",)),
    Planted(
        "pytest_workrail/engine/core/values.py",
        "pytest_workrail.engine.core.values",
        "pytest_workrail.plugin",
        ("dynamic-rooms",),
    ),
    Planted(
        "pytest_workrail/engine/core/values.py",
        "pytest_workrail.engine.core.values",
        "pytest_workrail.engine.store",
        ("engine-rooms",),
    ),
    Planted("workrail_lint/findings/__init__.py", "workrail_lint.findings", "pytest_workrail.run", ("static-alone",)),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The two packages and our configuration, in a folder where a module may be spoilt."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "*.json"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(folder: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("importlinter")
    chosen = [argument for contract in contracts for argument in ("--contract", contract)]
    return subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-logo", "--no-cache", *chosen],
        cwd=folder,
        env={**os.environ, "COLUMNS": "400"},  # wide enough that no name is wrapped
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.contracts[0])
def test_an_import_from_a_higher_room_is_refused(planted: Planted, copy: Path) -> None:
    before = lint_imports(copy, *planted.contracts)
    assert planted.module not in before.stdout, "the module is spoilt before anything is planted"
    target = copy / planted.place
    target.write_text(f"{target.read_text(encoding='utf-8')}\nimport {planted.imported}\n", encoding="utf-8")
    after = lint_imports(copy, *planted.contracts)
    assert after.returncode == 1, after.stdout
    assert f"{planted.module} -> {planted.imported}" in after.stdout


@pytest.fixture(scope="module")
def verdicts() -> str:
    return lint_imports(ROOT).stdout


CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


@pytest.mark.parametrize(
    "contract",
    [pytest.param(contract["name"], id=contract["id"]) for contract in CONTRACTS],
)
def test_without_such_an_import_the_contract_is_kept(contract: str, verdicts: str) -> None:
    assert f"\n{contract} KEPT\n" in verdicts
