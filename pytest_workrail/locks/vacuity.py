"""Tests that assert nothing about what they claim: found by their statements, and by what runs."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType, FunctionType
from typing import Any

import pytest

from pytest_workrail.run.pytest_session import NOTED
from workrail_lint.base.files import read_bytes

_ALWAYS_TRUE = (ast.Lambda, ast.GeneratorExp)
_REFLEXIVE = (ast.Eq, ast.Is, ast.LtE, ast.GtE)
# Builtins that give the same for the same arguments; anything else may look at the world.
_PURE = frozenset({
    "abs", "all", "any", "bool", "bytes", "chr", "dict", "divmod", "enumerate", "filter", "float", "format",
    "frozenset", "hex", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "ord",
    "pow", "range", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "type", "zip",
})  # fmt: skip

_EXPECTING = ("raises", "warns", "deprecated_call")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_vacuous(node: ast.expr, constants: frozenset[str] = frozenset()) -> bool:
    """Return whether an asserted expression can't fail: it names nothing that could vary, or is true by its form."""
    return not varies(node, constants) or _holds(node)


def local_constants(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Return the names to which a function itself gives a value that can't vary, and no other one."""
    stored: dict[str, int] = {}
    fixed: dict[str, ast.expr] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            stored[node.id] = stored.get(node.id, 0) + 1
        elif isinstance(node, ast.Global | ast.Nonlocal):
            stored.update(dict.fromkeys(node.names, 2))
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                fixed[name] = value
    constants: frozenset[str] = frozenset()
    for _ in fixed:  # one may be made from another
        constants = frozenset(
            name for name, value in fixed.items() if stored[name] == 1 and not varies(value, constants)
        )
    return constants


def varies(node: ast.expr, constants: frozenset[str] = frozenset()) -> bool:
    """Return whether anything is named in it that comes from outside; what a comprehension names itself does not."""
    own = set(constants)
    own |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    own |= {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
    return any(isinstance(name, ast.Name) and name.id not in own and name.id not in _PURE for name in ast.walk(node))


def _holds(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value):
            return bool(value)
        case ast.Tuple(elements) | ast.List(elements) | ast.Set(elements):
            return any(not isinstance(element, ast.Starred) for element in elements)
        case ast.Dict(keys):
            return any(key is not None for key in keys)
        case ast.UnaryOp(ast.Not(), operand):
            return _fails(operand)
        case ast.BoolOp(ast.And(), values):
            return all(map(_holds, values))
        case ast.BoolOp(ast.Or(), values):
            return any(map(_holds, values))
        case ast.IfExp(_, body, orelse):
            return _holds(body) and _holds(orelse)
        case ast.NamedExpr(_, value):
            return _holds(value)
        case ast.Compare(left, [operator], [right]):
            return isinstance(operator, _REFLEXIVE) and _is_same(left, right)
        case ast.JoinedStr(values):
            return any(isinstance(value, ast.Constant) and value.value for value in values)
        case _:
            return isinstance(node, _ALWAYS_TRUE)


def _fails(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value):
            return not value
        case ast.Tuple(elements) | ast.List(elements):
            return not elements
        case ast.Dict(keys):
            return not keys
        case ast.UnaryOp(ast.Not(), operand):
            return _holds(operand)
        case ast.BoolOp(ast.And(), values):
            return any(map(_fails, values))
        case ast.BoolOp(ast.Or(), values):
            return all(map(_fails, values))
        case _:
            return False


def _is_same(left: ast.expr, right: ast.expr) -> bool:
    """Return whether both sides are the same plain expression; two calls need not give the same."""
    calls = any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(left))
    return not calls and ast.dump(left) == ast.dump(right)


class FileReading:
    """The expectations in one file, by line."""

    def __init__(self, source: str) -> None:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            tree = ast.Module([], [])
        self._expecting = _expecting_names(tree)
        self._functions = {_first_line(node): node for node in ast.walk(tree) if isinstance(node, _Function)}
        self._constants = {
            id(part): local_constants(function)
            for function in self._functions.values()
            for part in _own_nodes(function)
            if isinstance(part, ast.Assert)
        }
        written = {part.name for part in tree.body if isinstance(part, _Function | ast.ClassDef)}
        self._written = {
            id(part): written - _own_names(function)
            for function in self._functions.values()
            for part in _own_nodes(function)
            if isinstance(part, ast.Assert)
        }
        # The last line of each statement with an expectation, by its first.
        self.ends: dict[int, int] = {}
        # By line, the function that has to execute it; None where the line itself tells.
        self.lines: dict[int, str | None] = dict(self._found(tree, None))

    def _found(self, node: ast.AST, around: ast.stmt | None) -> Iterator[tuple[int, str | None]]:
        """The lines with expectations. One that shares its line with the block it is in is seen when the block is.

        Then nobody knows whether it was met, unless the block is a function, whose frame has its name.
        """
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.stmt):
                is_beside = around is not None and part.lineno == around.lineno
                if not is_beside or isinstance(around, _Function):
                    name = around.name if is_beside and isinstance(around, _Function) else None
                    yield from ((line, name) for line in self._expectation_lines(part))
            yield from self._found(part, part if isinstance(part, ast.stmt) else around)

    def is_certain(self, first_line: int) -> bool:
        """Return whether the function that begins there can't come to its end without meeting an expectation."""
        function = self._functions.get(first_line)
        if function is None:
            return False
        for statement in function.body:
            if self._expects(statement):
                return True
            if any(isinstance(node, ast.Return) for node in _own_nodes(statement)):
                return False
        return False

    def holds(self, first_line: int) -> bool:
        """Return whether the function that begins there holds an expectation anywhere."""
        function = self._functions.get(first_line)
        return function is not None and any(
            function.lineno <= line <= (function.end_lineno or function.lineno) for line in self.lines
        )

    def _expects(self, statement: ast.stmt) -> bool:
        """Return whether executing a statement, and nothing inside it that is conditional, meets an expectation."""
        match statement:
            case ast.Assert():
                return not self._is_vacuous(statement)
            case ast.Expr(value) | ast.Assign(value=value):
                return self._is_expecting_call(value)
            case ast.With(items) | ast.AsyncWith(items):
                return not _raises_itself(statement) and any(
                    self._is_expecting_call(item.context_expr) for item in items
                )
            case _:
                return False

    def _expectation_lines(self, statement: ast.stmt) -> Iterator[int]:
        for line in self._lines_expecting(statement):
            # The body of a `with` is no part of what is met on the way into it.
            is_block = isinstance(statement, ast.With | ast.AsyncWith)
            self.ends[line] = line if is_block else (statement.end_lineno or line)
            yield line

    def _lines_expecting(self, statement: ast.stmt) -> Iterator[int]:
        if isinstance(statement, ast.Assert) and not self._is_vacuous(statement):
            yield statement.lineno
        if _raises_itself(statement):
            return
        for part in ast.iter_child_nodes(statement):
            if isinstance(part, ast.expr | ast.withitem):
                for node in _evaluated(part):
                    if isinstance(node, ast.expr) and self._is_expecting_call(node):
                        yield from (statement.lineno, node.lineno)

    def _is_vacuous(self, statement: ast.Assert) -> bool:
        asserted = statement.test
        # A function or class of the file is true, whatever it does.
        if isinstance(asserted, ast.Name) and asserted.id in self._written.get(id(statement), ()):
            return True
        return is_vacuous(statement.test, self._constants.get(id(statement), frozenset()))

    def _is_expecting_call(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(ast.Attribute(ast.Name("pytest"), name)) if name in _EXPECTING:
                return True
            case ast.Call(ast.Attribute(ast.Name("self"), name), arguments) if arguments:
                return name.startswith("assert") and any(map(varies, arguments))
            case ast.Call(ast.Attribute(_, name)):
                return name.startswith("assert")
            case ast.Call(ast.Name(name)):
                return name in self._expecting or name.startswith("assert")
            case _:
                return False


def _own_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the names that a function gives a value to, its parameters among them."""
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}


def _expecting_names(tree: ast.Module) -> frozenset[str]:
    """Return the names under which a module knows what pytest offers for expected exceptions and warnings."""
    return frozenset(
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "pytest"
        for alias in node.names
        if alias.name in _EXPECTING
    )


def _raises_itself(statement: ast.stmt) -> bool:
    """Return whether the body of a `with` does nothing but raise: what is expected then comes from the test itself."""
    return isinstance(statement, ast.With | ast.AsyncWith) and all(
        isinstance(part, ast.Raise | ast.Pass) or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        for part in statement.body
    )


def _first_line(function: _Function) -> int:
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def _own_nodes(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, without those of functions defined in it."""
    yield statement
    for part in ast.iter_child_nodes(statement):
        if not isinstance(part, _Function | ast.Lambda | ast.ClassDef):
            yield from _own_nodes(part)


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield an expression and what is in it; a lambda is left out, as nobody knows whether it is called."""
    if isinstance(node, ast.Lambda):
        return
    yield node
    for part in ast.iter_child_nodes(node):
        yield from _evaluated(part)


class AssertionTally:
    """The assertions of one test so far."""

    __slots__ = ("asserted",)

    def __init__(self) -> None:
        self.asserted = False


class TestSide:
    """Which files belong to a test and which to what it tests."""

    __test__ = False

    def __init__(self, config: pytest.Config) -> None:
        self._folders = tuple(
            f"{os.path.normpath(folder)}{os.sep}"
            for pattern in config.getini("testpaths")
            for folder in config.rootpath.glob(pattern)
        )

    def holds(self, file: str, item: pytest.Item) -> bool:
        """Return whether a file is the test's own, a `conftest.py`, or a helper below the project's test folders."""
        return file == str(item.path) or os.path.basename(file) == "conftest.py" or file.startswith(self._folders)


class AssertionWatch:
    """Tells of each test whether it asserted anything; every file is read once."""

    def __init__(self, config: pytest.Config) -> None:
        self._side = TestSide(config)
        self._readings: dict[str, FileReading] = {}
        # With `python -O` only those `assert` statements are left that pytest has rewritten.
        self._asserts = __debug__ or config.getoption("assertmode") == "rewrite"

    @contextmanager
    def watching(self, item: pytest.Item) -> Iterator[AssertionTally]:
        """Watch a test while it is called."""
        tally = AssertionTally()
        function = _function(item)
        reading = self._reading(str(item.path))
        noted: list[str] = []
        token = NOTED.set(noted)
        try:
            if function is not None and self._is_certain(reading, function, item):
                yield tally
                tally.asserted = True
            elif sys.gettrace() is not None:
                # Somebody else traces already, a debugger perhaps. What is written has to do.
                yield tally
                tally.asserted = function is not None and reading.holds(function.__code__.co_firstlineno)
            else:
                lines = _Lines(tally, lambda file: self._lines(file, item), lambda file: self._reading(file).ends)
                with _traced(lines):
                    yield tally
        finally:
            NOTED.reset(token)
        tally.asserted = tally.asserted or bool(noted)

    def _is_certain(self, reading: FileReading, function: FunctionType, item: pytest.Item) -> bool:
        """Return whether a test can't pass without asserting. What a decorator does with a test is its own affair."""
        is_called = function is _called(item)
        return is_called and self._asserts and reading.is_certain(function.__code__.co_firstlineno)

    def _lines(self, file: str, item: pytest.Item) -> Mapping[int, str | None]:
        """The lines of a file that count as expectations of a test, with the function that has to execute them."""
        return self._reading(file).lines if self._side.holds(file, item) else {}

    def _reading(self, file: str) -> FileReading:
        if file not in self._readings:
            try:
                source = read_bytes(file).decode()
            except (OSError, UnicodeDecodeError):
                source = ""
            self._readings[file] = FileReading(source)
        return self._readings[file]


def _function(item: pytest.Item) -> FunctionType | None:
    """Return the function of a test as it was written, if it was written in the test's own file."""
    called = _called(item)
    written = inspect.unwrap(called) if callable(called) else None
    if not isinstance(written, FunctionType) or written.__code__.co_filename != str(item.path):
        return None
    return written


def _called(item: pytest.Item) -> object:
    """Return what is called to run a test, decorators and all; hypothesis calls what it was given."""
    function = getattr(item, "function", None)
    return getattr(getattr(function, "hypothesis", None), "inner_test", function)


@contextmanager
def _traced(lines: _Lines) -> Iterator[None]:
    sys.settrace(lines.entered)
    try:
        yield
    finally:
        sys.settrace(None)


class _Lines:
    """Notices when one of the lines that count is executed to its end, and stops looking.

    An expectation that is not met, in a test that passes nevertheless, was swallowed.
    """

    def __init__(
        self,
        tally: AssertionTally,
        lines_of: Callable[[str], Mapping[int, str | None]],
        ends_of: Callable[[str], Mapping[int, int]],
    ) -> None:
        self._found = tally
        self._lines_of = lines_of
        self._ends_of = ends_of
        self._lines: dict[str, Mapping[int, str | None]] = {}
        # The frames that are executing an expectation, with its first and last line.
        self._begun: dict[FrameType, tuple[int, int]] = {}

    def entered(self, frame: FrameType, event: str, _: object) -> Any:
        """Watch the lines of a called function only if some of them count."""
        if self._found.asserted:
            sys.settrace(None)
            return None
        file = frame.f_code.co_filename
        lines = self._lines.get(file)
        if lines is None:
            lines = self._lines[file] = self._lines_of(file)
        return self._executed if lines else None

    def _executed(self, frame: FrameType, event: str, _: object) -> Any:
        file, line = frame.f_code.co_filename, frame.f_lineno
        begun = self._begun.get(frame)
        if event == "exception":
            self._begun.pop(frame, None)
        elif begun is not None and (event == "return" or not begun[0] <= line <= begun[1]):
            self._found.asserted = True
            self._begun.clear()
            sys.settrace(None)
            return None
        elif event == "line" and self._lines[file].get(line, "") in (None, frame.f_code.co_name):
            self._begun.setdefault(frame, (line, self._ends_of(file).get(line, line)))
        return self._executed
