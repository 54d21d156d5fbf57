"""What the protocol may know: no files, no clock, no chance of its own; and a look that can't reach an append."""

from __future__ import annotations

import ast
import typing
from pathlib import Path

import msgspec
import pytest
from tables import for_each

from pytest_workrail.engine import protocol
from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.engine.protocol.rehydrate import rehydrate, resume
from pytest_workrail.engine.protocol.sessions import SessionWriter
from pytest_workrail.engine.store.gate import Gate
from pytest_workrail.engine.store.ports import PinnedWorkflowStore, SessionStore, SnapshotStore

MODULES = sorted(Path(protocol.__file__).parent.glob("*.py"))
each_module = for_each("path", MODULES, key=lambda path: path.stem)
FORBIDDEN = {
    "os",
    "io",
    "pathlib",
    "shutil",
    "tempfile",
    "socket",
    "subprocess",
    "threading",
    "asyncio",
    "time",
    "random",
    "secrets",
    "uuid",
    "locale",
    "importlib",
}


@each_module
def test_nothing_of_the_outside_world(path: Path) -> None:
    """@enforces infra-only-node-io
    @enforces durable-core-no-buffer
    """
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {alias.name.partition(".")[0] for alias in node.names}.isdisjoint(FORBIDDEN)
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] not in FORBIDDEN
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("open", "__import__", "eval", "exec")


@each_module
def test_nobody_asks_for_the_name_of_a_profile(path: Path) -> None:
    """@enforces profile-is-data"""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                assert not (isinstance(side, ast.Constant) and side.value in PROFILES)


@each_module
def test_nobody_decides_by_the_wording_of_a_message(path: Path) -> None:
    """@enforces errors-as-data"""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                assert not (isinstance(side, ast.Attribute) and side.attr in ("message", "args"))


def test_ports_are_interfaces() -> None:
    """@enforces ports-interfaces-only"""
    (path,) = (path for path in MODULES if path.stem == "ports")
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and not any(
            isinstance(decorator, ast.Name) and decorator.id == "property" for decorator in node.decorator_list
        ):
            *_, last = node.body
            assert isinstance(last, ast.Expr)
            assert isinstance(last.value, ast.Constant)
            assert last.value.value is ...


WRITERS = {SessionStore, SnapshotStore, PinnedWorkflowStore, Gate, SessionWriter}


def reachable(kind: object, seen: set[object]) -> set[object]:
    """Every type that can be got at through the fields of a value of this type."""
    if isinstance(kind, list):  # the parameters of a callable
        for each in kind:
            reachable(each, seen)
        return seen
    if kind in seen:
        return seen
    seen.add(kind)
    for argument in typing.get_args(kind):
        reachable(argument, seen)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for hint in typing.get_type_hints(kind).values():
            reachable(hint, seen)
    return seen


@pytest.mark.parametrize("use_case", [rehydrate, resume])
def test_a_look_can_not_reach_an_append(use_case: object) -> None:
    """@enforces rehydrate-pure-no-writes
    @enforces advance-append-capable
    """
    hints = typing.get_type_hints(use_case)
    seen: set[object] = set()
    for hint in hints.values():
        reachable(hint, seen)
    assert seen.isdisjoint(WRITERS)
    assert not any(hasattr(kind, "append") and kind is not list for kind in seen if isinstance(kind, type))
