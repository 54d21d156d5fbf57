"""Which small changes to a module its tests do not notice (`mutation_sample.py` draws them from many modules).

    python -m tools.mutation workrail_lint/project/selection.py [tests/project/test_selection.py]

First the tests run once, and the functions that each one calls are written down. Then each mutant runs the tests that
call the changed function, the fastest first, until one fails, and after them those that start processes. It does so in
a process forked from one that has loaded every module that does not depend on the changed one. Nothing on disk is
changed. Prose (a string with a space in it) is left alone: wording is for people to judge.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import resource
import runpy
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

from tools.quick import selected_for, slow

ROOT = Path(__file__).parent.parent
PACKAGES = ("workrail_lint", "pytest_workrail")
# The plugin is loaded before pytest can rewrite its assertions; that is what pytest would warn about.
PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning")
# A mutant may loop for ever: it gets this many times the processor time of its tests, and some seconds.
PATIENCE = 3
SECONDS = 10
# A mutant may wait for ever: after so many seconds it counts as noticed.
LONGEST_WAIT = 600

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
    """Every mutant of a module, in the order of its lines."""
    result: list[Mutant] = []
    for number, (place, operator, replacement) in enumerate(_changes(ast.parse(source))):
        node = place.node
        line = getattr(node.target if isinstance(node, ast.comprehension) else node, "lineno", 0)
        change = f"{operator}: {_shown(node)} -> {_shown(replacement)}"
        result.append(Mutant(line, change, place.function, number))
    return sorted(result, key=lambda mutant: mutant.line)


def mutated(source: str, mutant: Mutant) -> str:
    """The module with this change."""
    tree = ast.parse(source)
    for number, (place, _, replacement) in enumerate(_changes(tree)):
        if number == mutant.number:
            place.put(ast.copy_location(replacement, place.node))
            break
    return ast.unparse(ast.fix_missing_locations(tree))


def _changes(tree: ast.Module) -> Iterator[tuple[_Place, str, ast.AST]]:
    for place in _places(tree, 0):
        for operator, replacement in _replacements(place.node):
            yield place, operator, replacement


def _places(parent: ast.AST, function: int) -> Iterator[_Place]:
    """Every node that says what a module does: no docstrings, no annotations, nothing for type checkers."""
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
    """Whether a node is a docstring, or only for people and type checkers."""
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
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _OPPOSITES:
            yield "opposite", ast.Call(ast.Name(_OPPOSITES[name], ast.Load()), args, keywords)
        case ast.Call(func=called, args=args, keywords=keywords):
            for at, keyword in enumerate(keywords):
                if keyword.arg is not None and keyword.arg not in _DECLARATIONS and not _is_default(keyword):
                    yield "argument", ast.Call(called, args, [*keywords[:at], *keywords[at + 1 :]])


def _is_default(keyword: ast.keyword) -> bool:
    """Whether an argument says what is true without it: `zip(a, b, strict=False)`."""
    return keyword.arg == "strict" and isinstance(keyword.value, ast.Constant) and keyword.value.value is False


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


class RecordedTest(NamedTuple):
    """A test function: its processor time, the functions it calls (file and first line), and if it starts processes."""

    name: str
    seconds: float
    calls: frozenset[tuple[str, int]]
    starts: bool


class _Recorder:
    """A plugin of pytest that writes down what every test calls. What a shared fixture calls counts for its file."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, set[tuple[str, int]]] = {}
        self.failed: set[str] = set()
        self._codes: dict[int, CodeType] = {}

    def _trace(self, frame: FrameType, event: str, argument: object) -> None:
        self._codes.setdefault(id(frame.f_code), frame.f_code)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        name = item.nodeid.partition("[")[0]
        before = _processor_time()
        yield from self._traced(name)
        self.seconds[name] = self.seconds.get(name, 0) + _processor_time() - before

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        yield from self._traced(item.nodeid.partition("::")[0])

    def _traced(self, name: str) -> Iterator[None]:
        outer, self._codes = self._codes, {}
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        yield
        sys.settrace(None)
        threading.settrace(None)
        calls = self.calls.setdefault(name, set())
        calls |= {(code.co_filename, code.co_firstlineno) for code in self._codes.values()}
        self._codes = {**outer, **self._codes}
        if outer:
            sys.settrace(self._trace)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid.partition("[")[0])

    def tests(self) -> Iterator[RecordedTest]:
        for name, seconds in self.seconds.items():
            calls = self.calls[name] | self.calls.get(name.partition("::")[0], set())
            ours = {(file, line) for file, line in calls if file.startswith(tuple(str(ROOT / p) for p in PACKAGES))}
            starts = any(file.endswith(("/subprocess.py", "/forks.py")) for file, _ in calls)
            if name not in self.failed:
                yield RecordedTest(name, seconds, frozenset(ours), starts)


def _processor_time() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def recorded(tests: Sequence[str]) -> list[RecordedTest]:
    """Run tests once, without the slow ones, in a process of their own; return those that pass, the fastest first."""

    def record() -> object:
        recorder = _Recorder()
        code = pytest.main([*PYTEST, *tests, *(f"--deselect={name}" for name in slow())], [recorder])
        passed = [[*test[:2], sorted(test.calls), test.starts] for test in recorder.tests()]
        return code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED), passed, sorted(recorder.failed)

    were_run, passed, failed = _forked(record)
    if not were_run:  # else every mutant would count as one that no test notices
        raise SystemExit(f"pytest can't run {' '.join(tests)}; try it without mutants")
    for name in failed:
        _say(f"left out, because it fails when it is recorded: {name}")
    results = [
        RecordedTest(name, seconds, frozenset(map(tuple, calls)), starts) for name, seconds, calls, starts in passed
    ]
    return sorted(results, key=lambda test: test.seconds)


def _forked(work: Callable[[], object]) -> Any:
    """The answer of a function that is called in a fork, as JSON gives it back; nothing when it had none."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer")
        child = os.fork()
        if child == 0:
            try:
                _quiet(Path(folder, "output"))
                answer.write_text(json.dumps(work()), encoding="utf-8")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        return json.loads(answer.read_text(encoding="utf-8"))


def _quiet(path: Path) -> None:
    silent = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


def survivors(module: str, chosen: Sequence[Mutant], tests: Sequence[RecordedTest]) -> list[Mutant]:
    """The mutants that no test notices. To be called in a fork: it loads what the module does not depend on."""
    for name in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:
        del sys.modules[name]
    for third_party in ("hypothesis", "jsonschema", "pydantic", "msgspec"):
        importlib.import_module(third_party)
    dependents = _dependents(_module_name(ROOT / module))
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        if (name := _module_name(path)) not in dependents and not name.endswith("__main__"):
            importlib.import_module(name)
    source = (ROOT / module).read_text(encoding="utf-8")
    survived = []
    for mutant in chosen:
        changed = mutated(source, mutant)
        if not any(_fails(module, changed, near) for near in _near(module, mutant, tests) if near):
            survived.append(mutant)
    return survived


def _near(module: str, mutant: Mutant, tests: Sequence[RecordedTest]) -> list[list[RecordedTest]]:
    """The tests that call the changed function (for a line of the module itself: any function of it), then others.

    Constants of a module are used without calling it: for them the others are all.
    """
    file = str(ROOT / module)

    def calls(test: RecordedTest) -> bool:
        return any(name == file and mutant.function in (0, line) for name, line in test.calls)

    first = [test for test in tests if calls(test)]
    others = [test for test in tests if (test.starts or not mutant.function) and test not in first]
    return [first, others]


def _fails(module: str, source: str, tests: Sequence[RecordedTest]) -> bool:
    """Whether one of the tests fails, or does not end, with this source of the module."""
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.setpgid(0, 0)
                _quiet(Path(folder, "output"))
                seconds = int(PATIENCE * sum(test.seconds for test in tests)) + SECONDS
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
                _serve(module, source, Path(folder))
                code = int(pytest.main([*PYTEST, "-x", *(test.name for test in tests)]))
            finally:
                os._exit(code)
        started = time.monotonic()
        while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
            if time.monotonic() - started > LONGEST_WAIT:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return True
            time.sleep(0.005)
        return os.waitstatus_to_exitcode(done[1]) != 0


def _serve(module: str, source: str, folder: Path) -> None:
    """Give the module this source in this process and in those that it starts."""
    other = folder / "mutant.py"
    other.write_text(source, encoding="utf-8")
    name = _module_name(ROOT / module)
    os.environ.update(MUTANT_MODULE=name, MUTANT_FILE=str(ROOT / module), MUTANT_SOURCE=str(other))
    here = str(Path(__file__).with_name("mutant"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    runpy.run_path(str(Path(here, "sitecustomize.py")))
    # Now, because pytest remembers how modules on disk are found.
    importlib.import_module(name)


def _dependents(name: str) -> set[str]:
    """A module and all modules that import it, at the top or later, by whatever way."""
    imports: dict[str, set[str]] = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            module = _module_name(path)
            imports[module] = {module.rpartition(".")[0]}
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    imports[module] |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    imports[module] |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    dependents = {name}
    while more := {
        module for module, used in imports.items() if module not in dependents and not dependents.isdisjoint(used)
    }:
        dependents |= more
    return dependents


def _module_name(path: Path) -> str:
    return ".".join(path.resolve().relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def judge(module: str, chosen: Sequence[Mutant], tests: Sequence[RecordedTest]) -> int:
    """Print the mutants of a module that no test notices, and return how many they are."""
    survived = [Mutant(*mutant) for mutant in _forked(lambda: survivors(module, chosen, tests))]
    for mutant in survived:
        _say(f"{module}:{mutant.line}: {mutant.change}")
    return len(survived)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


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
    survived = judge(module, chosen, recorded(args.tests or selected_for(module, ROOT)))
    _say(f"{module}: {len(chosen)} mutants, {len(chosen) - survived} killed, {survived} survived")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
