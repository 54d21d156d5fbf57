"""Rules read the typed model of a document instead of testing the types of JSON values."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from workrail_lint import systems

SYSTEMS = Path(systems.__file__).parent
JSON_TYPES = {"dict", "list", "str", "bool", "int", "float"}
# What is left are values that no model describes: catalogs, bindings files, literals of conditions and values that
# prompts list for them, artifacts that prompts sketch, the author's own document before it was rewritten; of team and
# blocks traces, records of a unit and values that a schema refused. Lower these when there are fewer:
# how many type tests and how many lookups each system has.
MOST = {"workrail": (59, 43), "team": (7, 11), "blocks": (15, 20)}


def type_tests(tree: ast.Module) -> int:
    """Return how often a module asks whether a value has a type of JSON."""
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and not JSON_TYPES.isdisjoint(part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name))
        for node in ast.walk(tree)
    )


def lookups(tree: ast.Module) -> int:
    """Return how often a module looks for a member by its name: `members.get("prompt")`."""
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and bool(node.args)
        and isinstance(node.args[0], ast.Constant)
        for node in ast.walk(tree)
    )


@pytest.mark.parametrize("system", MOST)
def test_there_are_no_more_untyped_readers(system: str) -> None:
    paths = sorted((SYSTEMS / system / "rules").glob("*.py"))
    trees = {path.name: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    tests = Counter({name: type_tests(tree) for name, tree in trees.items()})
    found = Counter({name: lookups(tree) for name, tree in trees.items()})
    most_tests, most_lookups = MOST[system]
    assert tests.total() <= most_tests, f"read the model (docs/writing-rules.md) instead: {tests.most_common(9)}"
    assert found.total() <= most_lookups, f"read the model (docs/writing-rules.md) instead: {found.most_common(9)}"


def test_untyped_readers_are_counted() -> None:
    tree = ast.parse(
        'isinstance(a, dict | list), isinstance(a, Node), b.get("x"), b.get(name), isinstance(a, (str, int))'
    )
    assert (type_tests(tree), lookups(tree)) == (2, 1)
