"""The sabotages themselves: each finds its place, leaves it as it was, and lets the tests do the noticing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pytest_workrail.locks.registry import shipped_registry
from pytest_workrail.locks.sabotage import Sabotage, _find, load_sabotages

FOLDER = Path(__file__).parents[1] / "sabotages"
SABOTAGES = load_sabotages([FOLDER.name], FOLDER.parent)
MODULES = sorted(FOLDER.glob("*.py"))


def standing(sabotage: Sabotage) -> list[object]:
    """What stands in the places that a sabotage changes."""
    return [vars(owner)[name] for owner, name in map(_find, sabotage.at)]


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda sabotage: sabotage.name)
def test_a_sabotage_changes_its_places_and_puts_them_back(sabotage: Sabotage) -> None:
    before = standing(sabotage)
    with sabotage.applied():
        assert all(now is not then for now, then in zip(standing(sabotage), before, strict=True))
    assert all(now is then for now, then in zip(standing(sabotage), before, strict=True))


def test_every_lock_of_the_registry_has_a_sabotage() -> None:
    broken = {lock_id for sabotage in SABOTAGES for lock_id in sabotage.locks}
    assert [lock.id for lock in shipped_registry().counting() if lock.id not in broken] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_sabotage_fails_in_the_place_of_a_test(path: Path) -> None:
    """An assertion inside a sabotage would be noticed by any test that comes along."""
    tree = ast.parse(path.read_text("utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    assert "AssertionError" not in names
    assert "pytest" not in names | imported


def test_no_claim_depends_on_what_may_be_absent() -> None:
    """Tests that are skipped without a corpus would make the published reports true on some machines only."""
    tests = FOLDER.parent
    dependent = [path for path in tests.rglob("test_*.py") if "WORKRAIL_CORPUS" in path.read_text("utf-8")]
    dependent += (tests / "conformance").glob("test_*.py")
    claiming = [path.name for path in dependent if path != Path(__file__) and "enforces" in path.read_text("utf-8")]
    assert dependent
    assert claiming == []
