"""Where a test file says what must be: `assert` statements that can fail, and calls that fail by themselves.

Whether such a place is certain to be passed is a matter of form: a statement in the outermost block of a function,
before anything that may return, is executed whenever the function comes to its end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_workrail.locks.vacuity import is_vacuous, local_constants, varies

_EXPECTING = ("raises", "warns", "deprecated_call")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


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
        """Whether the function that begins there can't come to its end without meeting an expectation."""
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
        """Whether the function that begins there holds an expectation anywhere."""
        function = self._functions.get(first_line)
        return function is not None and any(
            function.lineno <= line <= (function.end_lineno or function.lineno) for line in self.lines
        )

    def _expects(self, statement: ast.stmt) -> bool:
        """Whether executing a statement, and nothing inside it that is conditional, meets an expectation."""
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


def _expecting_names(tree: ast.Module) -> frozenset[str]:
    """The names under which a module knows what pytest offers for expected exceptions and warnings."""
    return frozenset(
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "pytest"
        for alias in node.names
        if alias.name in _EXPECTING
    )


def _raises_itself(statement: ast.stmt) -> bool:
    """Whether the body of a `with` does nothing but raise: what is expected then comes from the test itself."""
    return isinstance(statement, ast.With | ast.AsyncWith) and all(
        isinstance(part, ast.Raise | ast.Pass) or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        for part in statement.body
    )


def _first_line(function: _Function) -> int:
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def _own_nodes(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, without those of functions defined in it."""
    yield statement
    for part in ast.iter_child_nodes(statement):
        if not isinstance(part, _Function | ast.Lambda | ast.ClassDef):
            yield from _own_nodes(part)


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """An expression and what is in it; a lambda is left out, as nobody knows whether it is called."""
    if isinstance(node, ast.Lambda):
        return
    yield node
    for part in ast.iter_child_nodes(node):
        yield from _evaluated(part)
