"""What a test expects, read from its source: for expectations that leave no trace when they are met.

Only what can be reached is counted: nothing behind a `return`, nothing under a condition that never holds. Helpers
are followed when they lie beside the test; an `assert` inside the code under test is not the test's.
"""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Callable, Iterator
from enum import Enum
from types import FunctionType
from typing import Any

import pytest

from pytest_workrail.coverage.locks.vacuity import is_vacuous_node

_MAX_DEPTH = 4
_EXPECTING = (pytest.raises, pytest.warns, pytest.deprecated_call)
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class Expectation(Enum):
    """How a test says what must be."""

    STATEMENT = "assert statement"
    CALL = "call"


def expectations(function: Callable[..., object]) -> set[Expectation]:
    """The kinds of expectation in a test and in the helpers beside it."""
    plain = _plain(function)
    if plain is None:
        return set()
    folder = os.path.dirname(plain.__code__.co_filename)
    found: set[Expectation] = set()
    seen: set[FunctionType] = set()
    _collect(plain, folder, found, seen, _MAX_DEPTH)
    return found


def _plain(function: object) -> FunctionType | None:
    """The function as it was written, without what was wrapped around it."""
    inner = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    unwrapped = inspect.unwrap(inner) if callable(inner) else inner
    unwrapped = getattr(unwrapped, "__func__", unwrapped)
    return unwrapped if isinstance(unwrapped, FunctionType) else None


def _collect(function: FunctionType, folder: str, found: set[Expectation], seen: set[FunctionType], depth: int) -> None:
    definition = _definition(function)
    if definition is None or function in seen or not depth:
        return
    seen.add(function)
    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    for node in _reachable(definition.body):
        if isinstance(node, ast.Assert):
            if not is_vacuous_node(node.test):
                found.add(Expectation.STATEMENT)
        elif isinstance(node, ast.Call):
            target = _resolved(node.func, names)
            if _expects(node.func, target):
                found.add(Expectation.CALL)
                continue
            helper = _plain(target)
            if helper is not None and os.path.dirname(helper.__code__.co_filename) == folder:
                _collect(helper, folder, found, seen, depth - 1)


def _definition(function: FunctionType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    definition = tree.body[0] if tree.body else None
    return definition if isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _expects(written: ast.expr, target: object) -> bool:
    """Whether a call fails the test by itself when something is not so."""
    if any(target is expecting for expecting in _EXPECTING):
        return True
    name = written.attr if isinstance(written, ast.Attribute) else written.id if isinstance(written, ast.Name) else ""
    return name.startswith("assert")


def _resolved(written: ast.expr, names: dict[str, Any]) -> object:
    """What a called name stands for; None when that can't be told without running anything."""
    if isinstance(written, ast.Name):
        return names.get(written.id)
    if isinstance(written, ast.Attribute):
        owner = _resolved(written.value, names)
        return inspect.getattr_static(owner, written.attr, None) if inspect.ismodule(owner) else None
    return None


def _reachable(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of statements that can run, in order; of inner functions only those that are used."""
    used = {node.id for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    for statement in body:
        yield from _nodes(statement, used)
        if isinstance(statement, _LEAVING):
            return


def _nodes(statement: ast.stmt, used: set[str]) -> Iterator[ast.AST]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            if name in used:
                yield from _reachable(statement.body)
        case ast.ClassDef():
            return
        case ast.If(test=test, body=body, orelse=orelse):
            yield from _walked(test)
            chosen = _known(test)
            if chosen is not False:
                yield from _reachable(body)
            if chosen is not True:
                yield from _reachable(orelse)
        case ast.While(test=test, body=body, orelse=orelse):
            yield from _walked(test)
            if _known(test) is not False:
                yield from _reachable(body)
            yield from _reachable(orelse)
        case _:
            yield statement
            for part in ast.iter_child_nodes(statement):
                if isinstance(part, ast.expr | ast.withitem):
                    yield from _walked(part)
            for name in ("body", "orelse", "finalbody"):
                yield from _reachable(getattr(statement, name, []))
            for handler in getattr(statement, "handlers", []):
                yield from _reachable(handler.body)
            for case in getattr(statement, "cases", []):
                yield from _reachable(case.body)


def _walked(node: ast.AST) -> Iterator[ast.AST]:
    """An expression and what is in it; a lambda is left out, as nobody knows whether it is called."""
    if isinstance(node, ast.Lambda):
        return
    yield node
    for part in ast.iter_child_nodes(node):
        yield from _walked(part)


def _known(test: ast.expr) -> bool | None:
    """A condition whose outcome is written down."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else None
    return False if name == "TYPE_CHECKING" else None
