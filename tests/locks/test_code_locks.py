"""Locks on how the code itself is written."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from pathlib import Path
from typing import TypeGuard

from tables import for_each

import pytest_workrail

ROOT = Path(pytest_workrail.__file__).parent / "engine"
CORE = ("core", "events", "projections", "protocol", "store", "tokens")
MODULES = [path for folder in CORE for path in sorted((ROOT / folder).glob("*.py"))]
each_module = for_each("path", MODULES, key=lambda path: f"{path.parent.name}/{path.stem}")
# Where an escape says nothing itself, it is said here.
QUARANTINE = {
    ("core/criteria.py", "import-untyped"): "the package has no types",
    ("core/criteria.py", "no-untyped-call"): "the function of the package has no types",
    ("core/loops.py", "operator"): "the count was found to be a number the line before",
}
_ESCAPE = re.compile(r"#\s*type:\s*ignore(?:\[(?P<codes>[a-z, -]+)\])?\s*(?P<why>#.*\w.*)?$")


def escapes(path: Path) -> list[tuple[str, bool]]:
    """The escapes of a module: what they let pass, and whether they say why."""
    return [
        (escape["codes"] or "everything", escape["why"] is not None)
        for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline)
        if token.type == tokenize.COMMENT and (escape := _ESCAPE.search(token.string))
    ]


def test_escapes_from_the_type_checker_say_why() -> None:
    """@enforces type-escapes-quarantined"""
    silent = Counter(
        (path.relative_to(ROOT).as_posix(), codes)
        for path in MODULES
        for codes, says_why in escapes(path)
        if not says_why
    )
    assert set(silent) == set(QUARANTINE), "say why in a comment behind the escape, or list it here with the reason"
    assert all(codes != "everything" for path in MODULES for codes, _ in escapes(path))


@each_module
def test_nobody_claims_a_type_that_was_not_checked(path: Path) -> None:
    """@enforces type-escapes-quarantined"""
    source = path.read_text("utf-8")
    if "cast" not in source:
        return  # parsing takes most of the time
    tree = ast.parse(source)
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "cast" not in called


_EFFECTS = {"open", "print", "input", "exec", "eval", "__import__", "import_module", "run", "mkdir", "write"}


@each_module
def test_importing_a_module_does_nothing_else(path: Path) -> None:
    """@enforces schema-modules-load-safe"""
    for statement in ast.parse(path.read_text("utf-8")).body:
        assert not isinstance(statement, ast.For | ast.While | ast.With | ast.Try | ast.Raise | ast.Assert), path
        if isinstance(statement, ast.Expr):
            assert isinstance(statement.value, ast.Constant), ast.unparse(statement)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            calls = [node.func for node in ast.walk(statement.value) if isinstance(node, ast.Call)]
            names = {getattr(call, "attr", getattr(call, "id", "")) for call in calls}
            assert names.isdisjoint(_EFFECTS), ast.unparse(statement)


TESTS = Path(__file__).parents[1]


# Tests simulate failing disks there.
_OF_FILES = {"Files", "Hold", "Spare", "WriteHandle"}


def ports() -> dict[str, set[str]]:
    """Return the ports that have several methods, by name, without those of single files."""
    trees = [ast.parse((ROOT / module).read_text("utf-8")) for module in ("tokens/issuer.py", "store/ports.py")]
    found = {node.name: methods(node) for tree in trees for node in tree.body if _is_port(node)}
    return {name: of_port for name, of_port in found.items() if len(of_port) > 1 and name not in _OF_FILES}


def _is_port(node: ast.stmt) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Protocol" for base in node.bases)


def methods(node: ast.ClassDef) -> set[str]:
    return {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)}


def test_tests_use_the_adapters_that_are_shipped() -> None:
    """@enforces test-fakes-usage"""
    known = ports()
    assert {"SessionReader", "SnapshotStore", "Keyring"} <= set(known)
    for path in sorted(TESTS.rglob("*.py")):
        source = path.read_text("utf-8")
        names = set(re.findall(r"\bdef (\w+)", source))
        if TESTS / "coverage" in path.parents or not (
            "unittest" in source or any(of_port <= names for of_port in known.values())
        ):
            continue
        tree = ast.parse(source)
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert "unittest.mock" not in imported, path.name
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.bases:
                faked = [name for name, of_port in known.items() if of_port <= methods(node)]
                assert not faked, f"{path.name}: {node.name} stands in for {faked[0]}"
