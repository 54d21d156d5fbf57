"""Assertions that say nothing: they hold whatever the code under test does."""

from __future__ import annotations

import ast

_ALWAYS_TRUE = (ast.Lambda, ast.GeneratorExp)
_REFLEXIVE = (ast.Eq, ast.Is, ast.LtE, ast.GtE)
# Builtins that give the same for the same arguments; anything else may look at the world.
_PURE = frozenset({
    "abs", "all", "any", "bool", "bytes", "chr", "dict", "divmod", "enumerate", "filter", "float", "format",
    "frozenset", "hex", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "ord",
    "pow", "range", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "type", "zip",
})  # fmt: skip


def is_vacuous(node: ast.expr, constants: frozenset[str] = frozenset()) -> bool:
    """Whether an asserted expression can't fail: it names nothing that could vary, or is true by its form."""
    return not varies(node, constants) or _holds(node)


def local_constants(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The names to which a function itself gives a value that can't vary, and no other one."""
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
    found: frozenset[str] = frozenset()
    for _ in fixed:  # one may be made from another
        found = frozenset(name for name, value in fixed.items() if stored[name] == 1 and not varies(value, found))
    return found


def varies(node: ast.expr, constants: frozenset[str] = frozenset()) -> bool:
    """Whether anything is named in it that comes from outside; what a comprehension names itself does not."""
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
    """Whether both sides are the same plain expression; two calls need not give the same."""
    calls = any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(left))
    return not calls and ast.dump(left) == ast.dump(right)
