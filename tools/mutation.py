"""Which small changes to a module its tests do not notice (`mutation_sample.py` draws modules).

    python -m tools.mutation workrail_lint/project/selection.py tests/project/test_selection.py
Each mutant runs the tests in a process forked from this one, which has loaded every module that does not depend on the
mutated one. Nothing on disk is changed. Tests that start processes of their own see the module as it is on disk.
Prose (a string with a space in it) is left alone: wording is for people to judge.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGES = ("workrail_lint", "pytest_workrail")
# The plugin is loaded before pytest can rewrite its assertions; that is what pytest would warn about.
PYTEST = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning")
# A mutant may loop for ever: it is stopped after this many times what the tests take without it, and some seconds.
PATIENCE = 5

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
_NOT_BEHAVIOUR = ("__slots__", "__all__")


class _Place(NamedTuple):
    """A node and where it hangs in the tree."""

    parent: ast.AST
    field: str
    position: int | None  # in a list of nodes
    node: ast.AST

    def put(self, node: ast.AST) -> None:
        if self.position is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.position] = node


class Mutant(NamedTuple):
    """One change: where and what, and the module compiled with it."""

    line: int
    change: str
    code: CodeType


def mutants(source: str, filename: str = "<module>") -> list[Mutant]:
    """Every mutant of a module, in the order of its lines."""
    tree = ast.parse(source)
    found: list[Mutant] = []
    for place in list(_places(tree)):
        node = place.node
        for operator, replacement in _replacements(node):
            place.put(ast.copy_location(replacement, node))
            ast.fix_missing_locations(tree)
            change = f"{operator}: {_shown(node)} -> {_shown(replacement)}"
            line = getattr(node.target if isinstance(node, ast.comprehension) else node, "lineno", 0)
            found.append(Mutant(line, change, compile(tree, filename, "exec")))
            place.put(node)
    return sorted(found, key=lambda mutant: mutant.line)


def _places(parent: ast.AST) -> Iterator[_Place]:
    """Every node that says what a module does: no docstrings, no annotations, nothing for type checkers."""
    match parent:
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")) | ast.Subscript(value=ast.Name(id="Literal")):
            return
        case ast.Assign(targets=[ast.Name(id=name)]) if name in _NOT_BEHAVIOUR:
            return
    for field, value in ast.iter_fields(parent):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for index, node in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(node, ast.AST) and not _is_silent(node):
                yield _Place(parent, field, index if isinstance(value, list) else None, node)
                yield from _places(node)


def _is_silent(node: ast.AST) -> bool:
    """Whether a statement is a docstring, or only for type checkers."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return False


def _replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The changes to one node, each with the name of its operator."""
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


def _is_plain(test: ast.expr) -> bool:
    """Whether no other operator turns this condition around."""
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


class _Served(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module other code than is on disk."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self.name, self._path, self._code = name, path, code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return (
            importlib.util.spec_from_file_location(fullname, self._path, loader=self) if fullname == self.name else None
        )

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


def _run(tests: Sequence[str], served: _Served | None, seconds: float | None, report: Path) -> int | None:
    """Run the tests in a fork. Their exit code, or None when they took too long; `report` lists what was loaded."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        silent = os.open(report.with_suffix(".out"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        code = 1
        try:
            import pytest

            if served is not None:
                # Before pytest can: it would read the modules of a plugin from disk, to rewrite their assertions.
                sys.meta_path.insert(0, served)
                importlib.import_module(served.name)
            code = int(pytest.main([*PYTEST, *tests]))
            if served is None:
                report.write_text(json.dumps([name for name in sys.modules if name.split(".")[0] in PACKAGES]))
        finally:
            os._exit(code)
    started = time.monotonic()
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
        if seconds is not None and time.monotonic() - started > seconds:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.005)
    return os.waitstatus_to_exitcode(done[1])


def _dependents(name: str) -> set[str]:
    """A module and all modules that import it, at the top or later, by whatever way."""
    imports: dict[str, set[str]] = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            module = _module_name(path)
            imports[module] = set()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    imports[module] |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    imports[module] |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    found = {name}
    while more := {module for module, used in imports.items() if module not in found and not found.isdisjoint(used)}:
        found |= more
    return found


def _module_name(path: Path) -> str:
    return ".".join(path.resolve().relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("module", type=Path, help="the file to change")
    parser.add_argument("tests", nargs="+", help="the tests that should notice, the fastest first")
    parser.add_argument("--lines", metavar="A-B", help="only mutants of these lines")
    parser.add_argument("--mutants", metavar="N", type=int, help="only so many mutants of a module")
    parser.add_argument("--seed", default="0", help="what --mutants draws by")
    args = parser.parse_args()
    name = _module_name(args.module)
    report = Path(tempfile.mkdtemp()) / "loaded.json"
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    started = time.monotonic()
    if _run(args.tests, None, None, report) != 0:
        _say(report.with_suffix(".out").read_text() + "the tests fail without any change")
        return 2
    limit = PATIENCE * (time.monotonic() - started) + 10
    for third_party in ("pytest", "hypothesis", "jsonschema", "pydantic", "orjson"):
        importlib.import_module(third_party)
    dependents = _dependents(name)
    for loaded in json.loads(report.read_text()):
        if loaded not in dependents and not loaded.endswith("__main__"):
            importlib.import_module(loaded)
    assert name not in sys.modules, f"{name} was loaded by something that does not name it"
    source = args.module.read_text("utf-8")
    unchanged = _Served(name, args.module, compile(source, str(args.module), "exec"))
    if _run(args.tests, unchanged, None, report) != 0:
        _say(report.with_suffix(".out").read_text() + "the tests fail when the module is given to them unchanged")
        return 2
    first, _, last = (args.lines or "0-1000000").partition("-")
    chosen = [m for m in mutants(source, str(args.module)) if int(first) <= m.line <= int(last)]
    if args.mutants is not None and len(chosen) > args.mutants:
        chosen = random.Random(f"{args.seed} {name}").sample(chosen, args.mutants)
        chosen.sort(key=lambda mutant: mutant.line)
    survived = 0
    for mutant in chosen:
        code = _run(args.tests, _Served(name, args.module, mutant.code), limit, report)
        if code == 0:
            survived += 1
            _say(f"{args.module}:{mutant.line}: {mutant.change}")
    killed = len(chosen) - survived
    share = 100 * killed // len(chosen) if chosen else 100
    _say(f"{args.module}: {len(chosen)} mutants, {killed} killed, {survived} survived ({share} % killed)")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
