"""Tests that assert nothing about what they claim, found by their statements."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType, ModuleType

_ALWAYS_TRUE = (ast.Lambda, ast.GeneratorExp)
_FUNCTION = ast.parse("lambda: None", mode="eval").body
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict)
# The fixture is there whenever the test runs.
_FIXTURE = "workrail"
_REFLEXIVE = (ast.Eq, ast.Is, ast.LtE, ast.GtE)
_CONTRARY = {ast.Eq: ast.NotEq, ast.Is: ast.IsNot, ast.In: ast.NotIn, ast.Lt: ast.GtE, ast.Gt: ast.LtE}
# Builtins that give the same for the same arguments, and what makes things that nobody else knows; anything else may
# look at the world.
_PURE = frozenset({
    "abs", "all", "any", "bool", "bytes", "chr", "dict", "divmod", "enumerate", "filter", "float", "format",
    "frozenset", "hex", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next",
    "object", "ord", "pow", "range", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "type",
    "zip", "Mock", "MagicMock", "SimpleNamespace", "__name__", "__file__", "__doc__",
})  # fmt: skip
_MADE = ("Mock", "MagicMock", "SimpleNamespace")
_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.Call)

_EXPECTING = ("raises", "warns", "deprecated_call")
_CATCHING = ("AssertionError", "Exception", "BaseException")
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Try = ast.Try | ast.TryStar
_With = ast.With | ast.AsyncWith


def is_vacuous(
    node: ast.expr, constants: frozenset[str] = frozenset(), written: Mapping[str, ast.expr] | None = None
) -> bool:
    """Return whether an asserted expression can't fail: it names nothing that could vary, or is true by its form.

    `written` are functions, lists and the like that stand for their names.
    """
    return not varies(node, constants) or _holds(_Inlined(written).visit(copy.deepcopy(node)) if written else node)


class _Inlined(ast.NodeTransformer):
    def __init__(self, written: Mapping[str, ast.expr]) -> None:
        self._written = written

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._written.get(node.id, node)


def module_constants(tree: ast.Module) -> frozenset[str]:
    """Return the names to which a module gives a value once, one that neither varies nor can be changed."""
    stored = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return frozenset(
        name
        for statement in tree.body
        for name, value in _values(statement)
        if stored.count(name) == 1 and not varies(value) and not _is_mutable(value)
    )


def local_constants(function: _Function, outer: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the names whose values a function makes itself, from nothing that could vary.

    Several values of one name count only if each is given whatever happens. What can be changed does not count
    once something else has got hold of it: `calls = []; run(calls.append)`.
    """
    values: dict[str, list[ast.AST]] = {}
    known: set[int] = set()
    nested: set[str] = set()
    for statement in ast.walk(function):
        for name, value in _values(statement):
            values.setdefault(name, []).append(value)
            if statement not in function.body:
                nested.add(name)
        known.update(id(target) for target in _targets(statement))
    other = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in known
    }
    other |= {name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    single = {name: given for name, given in values.items() if len(given) == 1 or name not in nested}
    for name, given in _parameter_values(function):
        single.setdefault(name, []).append(given)
    own = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    constants = outer - own - other - values.keys()
    for _ in single:  # one may be made from another
        held = frozenset(_passed_on(function.body, constants))
        constants |= {
            name
            for name, given in single.items()
            if name not in other
            and not any(varies(value, constants) for value in given)
            and (name not in held or not any(map(_is_mutable, given)))
        }
    return constants


def written_values(function: _Function) -> dict[str, ast.expr]:
    """Return the functions, lists and the like that a function writes down once and hands to nobody, by their names."""
    stored = [node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    held = frozenset(_passed_on(function.body, frozenset()))
    written: dict[str, ast.expr] = {}
    for statement in function.body:
        match statement:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) if name not in stored:
                written[name] = _FUNCTION
            case ast.Assign([ast.Name(name)], value) if stored.count(name) == 1:
                if isinstance(value, ast.Lambda) or (isinstance(value, _DISPLAYS) and name not in held):
                    written[name] = value
    return written


def _values(statement: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield each name to which a statement itself gives a value, with what that is made from."""
    match statement:
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
            yield name, statement
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.AugAssign(value=value):
            yield from ((target.id, value) for target in _targets(statement))
        case ast.NamedExpr(value=value):
            yield from ((target.id, value) for target in _targets(statement))
        case ast.For(iter=iterated):
            yield from ((target.id, iterated) for target in _targets(statement))


def _targets(statement: ast.AST) -> Iterator[ast.Name]:
    match statement:
        case ast.Assign(targets):
            written = targets
        case ast.AnnAssign(target) | ast.AugAssign(target) | ast.NamedExpr(target):
            written = [target]
        # Which item is the last one depends on what breaks the loop.
        case ast.For(target) if not any(isinstance(part, ast.Break) for part in ast.walk(statement)):
            written = [target]
        case _:
            return
    for part in written:
        names = [part] if isinstance(part, ast.Name) else getattr(part, "elts", [])
        yield from (name for name in names if isinstance(name, ast.Name))


def _parameter_values(function: _Function) -> Iterator[tuple[str, ast.expr]]:
    """Yield the parameters that `parametrize` gives values to."""
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(ast.Attribute(attr="parametrize"), [ast.Constant(str(names)), values, *_]):
                yield from ((name.strip(), values) for name in names.split(","))


def _is_mutable(value: ast.AST) -> bool:
    if isinstance(value, _Function | ast.ClassDef):
        return True
    return any(isinstance(part, _MUTABLE) for part in ast.walk(value))


def _passed_on(body: Iterable[ast.AST], constants: frozenset[str]) -> Iterator[str]:
    """Yield the names of what something outside these statements may change."""
    for node in body:
        match node:
            case ast.Assert(test):
                for call in ast.walk(test):
                    if isinstance(call, ast.Call) and not (isinstance(call.func, ast.Name) and call.func.id in _PURE):
                        yield from _loaded([*call.args, *call.keywords])
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name)), args, keywords)):
                given = [*args, *(keyword.value for keyword in keywords)]
                yield from _loaded(given)
                if any(varies(part, constants) for part in given):
                    yield name
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield from _loaded(node.body)
            case _:
                parts = list(ast.iter_child_nodes(node))
                yield from _loaded(part for part in parts if isinstance(part, ast.expr | ast.withitem))
                yield from _passed_on(
                    (part for part in parts if not isinstance(part, ast.expr | ast.withitem)), constants
                )


def _loaded(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                yield part.id


def varies(node: ast.AST, constants: frozenset[str] = frozenset()) -> bool:
    """Return whether anything is named in it that comes from outside; what a comprehension names itself does not."""
    own = set(constants)
    own |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    own |= {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
    own |= {
        part.value.id
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and part.attr in _MADE and isinstance(part.value, ast.Name)
    }
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
            return any(map(_holds, values)) or any(_are_contrary(a, b) for a in values for b in values)
        case ast.IfExp(test, body, orelse):
            return (_holds(body) or _fails(test)) and (_holds(orelse) or _holds(test))
        case ast.NamedExpr(_, value):
            return _holds(value)
        case ast.Compare(ast.Call(ast.Name("len")), [ast.GtE()], [ast.Constant(0)]):
            return True
        case ast.Compare(ast.Call(ast.Name("len"), [value]), [operator], [ast.Constant(int(number))]):
            return _has_length(value, operator, number)
        case ast.Name(name):
            return name == _FIXTURE
        case ast.Compare(left, [ast.IsNot()], [ast.Constant(None)]):
            return isinstance(left, (*_ALWAYS_TRUE, *_DISPLAYS)) or _holds(left)
        case ast.Compare(left, [operator], [right]):
            return _is_fulfilled(left, operator, right)
        case ast.Call(ast.Name("isinstance"), [_, ast.Name("object")]):
            return True
        case ast.Call(ast.Name("any"), [ast.List(elements) | ast.Tuple(elements)]):
            return any(map(_holds, elements))
        case ast.JoinedStr(values):
            return any(isinstance(value, ast.Constant) and value.value for value in values)
        case ast.BinOp(ast.Constant(str(text)), ast.Mod()):
            return not text.lstrip().startswith("%")
        case _:
            return isinstance(node, _ALWAYS_TRUE)


def _has_length(value: ast.expr, operator: ast.cmpop, number: int) -> bool:
    """Return whether a list or tuple has the asserted length, as it is written."""
    elements = value.elts if isinstance(value, ast.List | ast.Tuple) else [ast.Starred(value)]
    if any(isinstance(element, ast.Starred) for element in elements):
        return False
    match operator:
        case ast.Eq():
            return len(elements) == number
        case ast.Gt():
            return len(elements) > number
        case _:
            return isinstance(operator, ast.GtE) and len(elements) >= number


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


def _is_fulfilled(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> bool:
    """Return whether a comparison is true whatever it compares."""
    match operator, right:
        case ast.In(), ast.List(elements) | ast.Tuple(elements) | ast.Set(elements):
            return any(_is_same(left, element) for element in elements)
        case ast.Eq(), _ if "ANY" in (_name(left), _name(right)):
            return True
        case _:
            return isinstance(operator, _REFLEXIVE) and _is_same(left, right)


def _are_contrary(one: ast.expr, other: ast.expr) -> bool:
    """Return whether two comparisons are about the same and one says the contrary of the other."""
    match one, other:
        case ast.Compare(left, [operator], [right]), ast.Compare(left_, [contrary], [right_]):
            is_contrary = _CONTRARY.get(type(operator)) is type(contrary)
            return is_contrary and _is_same(left, left_) and _is_same(right, right_)
        case ast.UnaryOp(ast.Not(), operand), _:
            return _is_same(operand, other)
        case _:
            return False


def _name(node: ast.AST | None) -> str:
    """Return the last part of a name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_same(left: ast.expr, right: ast.expr) -> bool:
    """Return whether both sides are the same plain expression; two calls need not give the same."""
    calls = any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(left))
    return not calls and ast.dump(left) == ast.dump(right)


class FileReading:
    """The expectations in one file, by line. `names` are those of its module, `helps` whether a file helps tests."""

    def __init__(self, source: str, names: Mapping[str, object], helps: Callable[[str], bool]) -> None:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            tree = ast.Module([], [])
        self._names = names
        self._helps = helps
        self._expecting = _expecting_names(tree)
        self._functions = {_first_line(node): node for node in ast.walk(tree) if isinstance(node, _Function)}
        # An assertion counts where it is written, not where a function with such a name is called.
        self._helpers = {function.name for function in self._functions.values()}
        self._constants: dict[int, frozenset[str]] = {}
        self._written: dict[int, dict[str, ast.expr]] = {}
        self._own: dict[int, set[str]] = {}
        outer = module_constants(tree)
        for function in self._functions.values():
            expecting = [part for part in _own_nodes(function) if isinstance(part, ast.Assert | ast.Expr)]
            if expecting:
                constants, own = local_constants(function, outer), _own_names(function)
                written = written_values(function)
                self._constants.update((id(part), constants) for part in expecting)
                self._written.update((id(part), written) for part in expecting)
                self._own.update((id(part), own) for part in expecting)
        # The last line of each statement with an expectation, by its first.
        self.ends: dict[int, int] = {}
        # By line, the function that has to execute it; None where the line itself tells.
        self.lines: dict[int, str | None] = dict(self._found(tree, None))

    def _found(self, node: ast.AST, around: ast.stmt | None) -> Iterator[tuple[int, str | None]]:
        """The lines with expectations. One that shares its line with the block it is in is seen when the block is.

        Then nobody knows whether it was met, unless the block is a function, whose frame has its name. An expectation
        whose failure the test itself catches is none.
        """
        caught = node.body if isinstance(node, _Try | _With) and _catches(node) else []
        for part in ast.iter_child_nodes(node):
            if part in caught:
                continue
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
                return not self._is_vacuous(statement, statement.test)
            case ast.Expr(value) | ast.Assign(value=value):
                return self._is_expecting_call(value, statement)
            case ast.With(items) | ast.AsyncWith(items):
                return not _raises_itself(statement) and any(
                    self._is_expecting_call(item.context_expr, statement) for item in items
                )
            case _:
                return False

    def _expectation_lines(self, statement: ast.stmt) -> Iterator[int]:
        for line in self._lines_expecting(statement):
            # The body of a `with` is no part of what is met on the way into it.
            is_block = isinstance(statement, _With)
            self.ends[line] = line if is_block else (statement.end_lineno or line)
            yield line

    def _lines_expecting(self, statement: ast.stmt) -> Iterator[int]:
        if isinstance(statement, ast.Assert) and not self._is_vacuous(statement, statement.test):
            yield statement.lineno
        if _raises_itself(statement):
            return
        for part in ast.iter_child_nodes(statement):
            if isinstance(part, ast.expr | ast.withitem):
                for node in _evaluated(part):
                    if isinstance(node, ast.expr) and self._is_expecting_call(node, statement):
                        yield from (statement.lineno, node.lineno)

    def _is_vacuous(self, statement: ast.stmt, asserted: ast.expr) -> bool:
        # A function, class or module is true, whatever it does.
        root = asserted.value if isinstance(asserted, ast.Attribute) else asserted
        is_local = isinstance(root, ast.Name) and root.id in self._own.get(id(statement), ())
        if not is_local and isinstance(self._resolved(asserted), FunctionType | type | ModuleType):
            return True
        at = id(statement)
        return is_vacuous(asserted, self._constants.get(at, frozenset()), self._written.get(at))

    def _resolved(self, node: ast.expr) -> object:
        """Return what a name of the module means, or a name of a module that it imports."""
        match node:
            case ast.Name(name):
                return self._names.get(name)
            case ast.Attribute(ast.Name(module), name) if isinstance(self._names.get(module), ModuleType):
                return getattr(self._names[module], name, None)
            case _:
                return None

    def _is_helper(self, node: ast.expr) -> bool:
        """Return whether a function is called whose own assertions are seen."""
        if _name(node) in self._helpers:
            return True
        function = self._resolved(node)
        return isinstance(function, FunctionType) and self._helps(function.__code__.co_filename)

    def _is_of_pytest(self, function: ast.expr) -> bool:
        match function:
            case ast.Attribute(ast.Name("pytest"), name):
                return name in _EXPECTING
            case _:
                return isinstance(function, ast.Name) and function.id in self._expecting

    def _is_expecting_call(self, node: ast.expr, statement: ast.stmt) -> bool:
        match node:
            case ast.Call(function) if self._is_helper(function):
                return False
            case ast.Call(function, arguments) if self._is_of_pytest(function):
                # Written alone, it expects nothing unless it is given what to call.
                return not (isinstance(statement, ast.Expr) and statement.value is node and len(arguments) < 2)
            case ast.Call(ast.Attribute(ast.Name("self"), name), arguments) if arguments and name.startswith("assert"):
                return isinstance(statement, _With) or not self._is_vacuous(statement, _asserted(name, arguments))
            case ast.Call(ast.Attribute(_, name)) | ast.Call(ast.Name(name)):
                return name.startswith("assert")
            case _:
                return False


def _asserted(name: str, arguments: list[ast.expr]) -> ast.expr:
    """Return the expression that says what a method of unittest asserts."""
    match name, arguments:
        case "assertFalse", [value, *_]:
            return ast.UnaryOp(ast.Not(), value)
        case (("assertEqual" | "assertIs" | "assertGreaterEqual" | "assertLessEqual"), [left, right, *_]):
            return ast.Compare(left, [ast.Eq()], [right])
        case "assertIn", [left, right, *_]:
            return ast.Compare(left, [ast.In()], [right])
        case (("assertTrue" | "assertIsNotNone" | "assertIsNone"), [value, *_]):
            return value
        case _:
            return ast.Compare(ast.Constant(0), [ast.NotEq()], [ast.List(arguments, ast.Load())])


def _catches(statement: ast.stmt) -> bool:
    """Return whether a statement lets a test go on when an assertion in its body fails."""
    match statement:
        case ast.Try(handlers=handlers) | ast.TryStar(handlers=handlers):
            return any(_may_be_assertion(handler.type) and not _passes_on(handler) for handler in handlers)
        case ast.With(items) | ast.AsyncWith(items):
            calls = [item.context_expr for item in items if isinstance(item.context_expr, ast.Call)]
            return any(
                _name(call.func) in ("suppress", "raises") and any(map(_may_be_assertion, call.args)) for call in calls
            )
        case _:
            return False


def _may_be_assertion(expected: ast.expr | None) -> bool:
    match expected:
        case None:
            return True
        case ast.Tuple(elements):
            return any(map(_may_be_assertion, elements))
        case _:
            return _name(expected) in _CATCHING


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler makes the test fail, or end early, after all."""
    return any(
        isinstance(part, ast.Raise) or (isinstance(part, ast.Call) and _name(part.func) in ("fail", "skip", "xfail"))
        for part in ast.walk(handler)
    )


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
    """Return whether what a `with` expects comes from the test: its body raises, or asserts, or does nothing."""
    if not isinstance(statement, _With):
        return False
    if any(
        isinstance(part, ast.Raise) or (isinstance(part, ast.Assert) and _catches(statement)) for part in statement.body
    ):
        return True
    return all(
        isinstance(part, ast.Pass) or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
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
