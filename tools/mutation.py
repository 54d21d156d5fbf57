"""Which small changes to a module its tests do not notice (`mutation_sample.py` draws them from many modules).

    python -m tools.mutation workrail_lint/project/selection.py [tests/project/test_selection.py]

How a mutant is judged is in `mutation_judge.py`. Nothing on disk is changed. Prose (a string with a space in it) is
left alone: wording is for people to judge.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.quick import selected_for

ROOT = Path(__file__).parent.parent
PACKAGES = ("workrail_lint", "pytest_workrail")

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_OPPOSITES = {"any": "all", "all": "any", "min": "max", "max": "min"}
_NOT_BEHAVIOUR = ("__slots__", "__all__", "__tracebackhide__")
# Calls that only type checkers look at.
_FOR_TYPES = ("TypeVar", "NewType", "ParamSpec")
# Arguments that only say what a class is not used for.
_DECLARATIONS = ("frozen", "slots", "repr", "compare")


class _Place(NamedTuple):
    """A node, where it hangs in the tree, and the first line of the function around it (0: of the module)."""

    parent: ast.AST
    field: str
    position: int | None  # in a list of nodes
    node: ast.AST
    function: int

    def put(self, node: ast.AST) -> None:
        if self.position is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.position] = node


class Mutant(NamedTuple):
    """One change: where and what, the first line of the function around it, and its number in the module."""

    line: int
    change: str
    function: int
    number: int


def mutants(source: str) -> list[Mutant]:
    """Return every mutant of a module, in the order of its lines."""
    result: list[Mutant] = []
    for number, (place, operator, replacement) in enumerate(_changes(ast.parse(source))):
        node = place.node
        line = getattr(node.target if isinstance(node, ast.comprehension) else node, "lineno", 0)
        change = f"{operator}: {_shown(node)} -> {_shown(replacement)}"
        result.append(Mutant(line, change, place.function, number))
    return sorted(result, key=lambda mutant: mutant.line)


def mutated(source: str, mutant: Mutant) -> str:
    """Return the module with this change."""
    return ast.unparse(mutated_tree(source, mutant))


def mutated_tree(source: str, mutant: Mutant) -> ast.Module:
    """Return the module with this change, as a tree in which every node keeps its line."""
    tree = ast.parse(source)
    for number, (place, _, replacement) in enumerate(_changes(tree)):
        if number == mutant.number:
            place.put(ast.copy_location(replacement, place.node))
            break
    return ast.fix_missing_locations(tree)


def _changes(tree: ast.Module) -> Iterator[tuple[_Place, str, ast.AST]]:
    for place in _places(tree, 0):
        for operator, replacement in _replacements(place.node):
            yield place, operator, replacement


def _places(parent: ast.AST, function: int) -> Iterator[_Place]:
    """Yield every node that says what a module does: no docstrings, no annotations, nothing for type checkers."""
    match parent:
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")) | ast.Subscript(value=ast.Name(id="Literal")):
            return
        case ast.Assign(targets=[ast.Name(id=name)]) if name in _NOT_BEHAVIOUR:
            return
        case ast.ClassDef(bases=[ast.Name(id="Protocol"), *_]):
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            function = min([parent.lineno, *(decorator.lineno for decorator in parent.decorator_list)])
    for field, value in ast.iter_fields(parent):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for index, node in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(node, ast.AST) and not _is_silent(node):
                yield _Place(parent, field, index if isinstance(value, list) else None, node, function)
                yield from _places(node, function)


def _is_silent(node: ast.AST) -> bool:
    """Return whether a node is a docstring, or only for people and type checkers."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assert() | ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError"))):
            return True  # it says what can't be
        case ast.Call(func=ast.Name(id=name)) if name in _FOR_TYPES:
            return True
        case ast.keyword(arg=str() as name):
            return name in _DECLARATIONS
    return False


def _replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the changes to one node, each with the name of its operator."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for at, op in enumerate(ops):
                for other in _COMPARISONS[type(op)]:
                    yield "comparison", ast.Compare(left, [*ops[:at], other(), *ops[at + 1 :]], comparators)
        case ast.BoolOp(op=ast.And(), values=values):
            yield "and/or", ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(values=values):
            yield "and/or", ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", operand
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
            yield "arithmetic", ast.BinOp(left, _ARITHMETIC[type(operator)](), right)
        case ast.AugAssign(target=target, op=operator, value=value):
            if type(operator) in _ARITHMETIC and not isinstance(value, ast.List | ast.ListComp):
                yield "arithmetic", ast.AugAssign(target, _ARITHMETIC[type(operator)](), value)
            yield "drop", ast.Pass()
        case ast.Constant(value=constant):
            yield from (("constant", ast.Constant(other)) for other in _other_constants(constant))
        case ast.If(test=test, body=body, orelse=orelse) if _is_plain(test):
            yield "condition", ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.IfExp(test=test, body=then, orelse=otherwise) if _is_plain(test):
            yield "condition", ast.IfExp(ast.UnaryOp(ast.Not(), test), then, otherwise)
        case ast.comprehension(target=target, iter=items, ifs=ifs, is_async=is_async):
            for at in range(len(ifs)):
                yield "filter", ast.comprehension(target, items, [*ifs[:at], *ifs[at + 1 :]], is_async)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and not value.value):
            yield "return", ast.Return(ast.Constant(None))
        case ast.Continue():
            yield "jump", ast.Break()
        case ast.Break():
            yield "jump", ast.Continue()
        case ast.Raise() | ast.Expr():
            yield "drop", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "drop", ast.Pass()
        case ast.ExceptHandler(type=ast.expr(), name=name, body=body):
            yield "except", ast.ExceptHandler(ast.Tuple([], ast.Load()), name, body)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _OPPOSITES:
            yield "opposite", ast.Call(ast.Name(_OPPOSITES[name], ast.Load()), args, keywords)
        case ast.Call(func=called, args=args, keywords=keywords):
            for at, keyword in enumerate(keywords):
                if keyword.arg is not None and keyword.arg not in _DECLARATIONS and not _is_default(keyword):
                    yield "argument", ast.Call(called, args, [*keywords[:at], *keywords[at + 1 :]])


def _is_default(keyword: ast.keyword) -> bool:
    """Return whether an argument says what is true without it: `zip(a, b, strict=False)`."""
    return keyword.arg == "strict" and isinstance(keyword.value, ast.Constant) and keyword.value.value is False


def _is_plain(test: ast.expr) -> bool:
    """Return whether no other operator turns this condition around."""
    return not isinstance(test, ast.Compare) and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))


def _other_constants(value: object) -> tuple[bool | int | str | bytes, ...]:
    match value:
        case bool():
            return (not value,)
        case int():
            return value + 1, value - 1
        case str() if " " not in value:
            return (f"{value}XX",)
        case bytes():
            return (value + b"XX",)
    return ()


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 90 else f"{text[:60]} … {text[-27:]}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("module", type=Path, help="the file to change")
    parser.add_argument("tests", nargs="*", help="the tests that should notice (default: those of `make quick`)")
    parser.add_argument("--lines", metavar="A-B", help="only mutants of these lines")
    parser.add_argument("--mutants", metavar="N", type=int, help="only so many mutants")
    parser.add_argument("--seed", default="0", help="what --mutants draws by")
    args = parser.parse_args()
    module = args.module.resolve().relative_to(ROOT).as_posix()
    first, _, last = (args.lines or "0-1000000").partition("-")
    candidates = mutants(args.module.read_text(encoding="utf-8"))
    chosen = [mutant for mutant in candidates if int(first) <= mutant.line <= int(last or first)]
    if args.mutants is not None and len(chosen) > args.mutants:
        chosen = sorted(random.Random(f"{args.seed} {module}").sample(chosen, args.mutants))
    from tools.mutation_judge import judged

    verdicts = judged({module: chosen}, {module: args.tests or selected_for(module, ROOT)})
    survived = sum(not verdict.killer for verdict in verdicts)
    sys.stdout.write(f"{module}: {len(chosen)} mutants, {len(chosen) - survived} killed, {survived} survived\n")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
