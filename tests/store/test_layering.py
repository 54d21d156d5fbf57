"""Layers: pure records and projections, ports without behaviour, adapters that alone touch the world.

@enforces ports-interfaces-only
@enforces infra-only-node-io
@enforces schema-modules-load-safe
@enforces durable-core-no-node-imports
@enforces durable-core-no-buffer
@enforces errors-as-data
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import pytest_workrail.engine.model
import pytest_workrail.engine.projections
import pytest_workrail.engine.store
import pytest_workrail.engine.tokens


def modules(package):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield module.name, ast.parse(Path(importlib.import_module(module.name).__file__).read_text(encoding="utf-8"))


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Name) and node.id == "__import__":
            yield "__import__"


IMPURE = {
    "os", "io", "pathlib", "shutil", "tempfile", "socket", "subprocess", "threading", "asyncio", "time", "random",
    "secrets", "uuid", "locale", "datetime", "importlib", "__import__", "fcntl", "sys",
}  # fmt: skip


@pytest.mark.parametrize(
    "package",
    [pytest_workrail.engine.model, pytest_workrail.engine.projections, pytest_workrail.engine.tokens],
    ids=lambda p: p.__name__,
)
def test_events_projections_and_tokens_are_pure(package):
    for name, tree in modules(package):
        used = {module.partition(".")[0] for module in imported(tree)}
        assert not used & IMPURE, name
        calls = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not calls & {"open", "print", "input", "memoryview", "eval", "exec"}, name


PURE_STORE = {"bundle", "gate", "layout", "log", "plan", "ports"}


def test_only_adapters_touch_the_world():
    trees = {name.rpartition(".")[2]: tree for name, tree in modules(pytest_workrail.engine.store)}
    assert trees.keys() >= PURE_STORE
    for name in PURE_STORE:
        used = {module.partition(".")[0] for module in imported(trees[name])}
        assert not used & IMPURE, name


def test_projections_know_nothing_of_stores():
    for package in (pytest_workrail.engine.model, pytest_workrail.engine.projections):
        for name, tree in modules(package):
            assert not any(module.startswith("pytest_workrail.engine.store") for module in imported(tree)), name


def test_ports_have_no_behaviour():
    tree = dict(modules(pytest_workrail.engine.store))["pytest_workrail.engine.store.ports"]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert functions
    for function in functions:
        body = [node for node in function.body if not _is_docstring(node)]
        assert len(body) == 1, function.name
        assert isinstance(body[0], ast.Expr), function.name
        assert isinstance(body[0].value, ast.Constant), function.name
        assert body[0].value.value is Ellipsis, function.name


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def test_nobody_decides_by_the_text_of_an_error():
    for package in (
        pytest_workrail.engine.model,
        pytest_workrail.engine.projections,
        pytest_workrail.engine.store,
        pytest_workrail.engine.tokens,
    ):
        for name, tree in modules(package):
            for node in ast.walk(tree):
                if isinstance(node, ast.Compare):
                    compared = ast.unparse(node)
                    assert ".args[0]" not in compared, name
                    assert "str(problem)" not in compared, name
                    assert ".message" not in compared, name
