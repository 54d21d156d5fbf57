"""Which tests notice a change to our code.

One process collects all tests and runs none. It forks a child that runs them once and records the functions that each
one calls, and then a child for each mutant: the child gives the changed function its new code and runs the tests that
call it, the fastest first, until one fails; after them the tests that call other functions of the module, and those
that start processes, which get the mutant too.

What is called or computed before the first test runs (a constant, the default of an argument) needs new imports: for
such a mutant, a second process that has loaded only what does not depend on the module forks a child that runs pytest.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import json
import os
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import NamedTuple

import pytest

from tools.mutation import PACKAGES, ROOT, Mutant, mutated, mutated_tree
from tools.quick import slow

# The plugin is loaded before pytest can rewrite its assertions; that is what pytest would warn about.
PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning")
# A mutant may loop for ever: each test gets this many times its processor time, and some seconds.
PATIENCE = 3
SECONDS = 5
# A mutant may wait for ever: a test has failed that takes two minutes, and for each second of its processor time
# another half, however busy the machine is.
LONGEST_WAIT = 120
BUSY = 30
# Where it is kept what the tests call, until a file of the project changes.
KEPT = ROOT / ".venv" / "mutation"
# Among the flags of a code object: it belongs to a function, not to a module or a class.
_OF_A_FUNCTION = 0x2
# Where verdicts are printed, whatever becomes of the output of tests.
_SCREEN = os.dup(1)

Function = tuple[str, int]  # its file and first line


class RecordedTest(NamedTuple):
    """A test function: its processor time, the functions it calls, and if it starts processes."""

    name: str
    seconds: float
    calls: frozenset[Function]
    starts: bool


class Verdict(NamedTuple):
    """A mutant of a module, and the test that notices it ("": none)."""

    module: str
    mutant: Mutant
    killer: str


def _kept_paths(files: Iterable[str]) -> dict[str, Path]:
    """Return where it is kept what the tests of each file call: elsewhere after every change to what they use.

    They use both packages, the fixtures, and what is in their own folder of tests and above, but no other test file.
    """
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *PACKAGES, "fixtures", "tests"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    contents: dict[tuple[str, ...], list[object]] = {}
    for path in sorted(Path(os.fsdecode(name)) for name in names if name):
        is_used = "expected" not in path.parts and not path.name.startswith("test_")
        if is_used and (ROOT / path).is_file():
            folder = path.parts[:2] if path.parts[0] == "tests" and len(path.parts) > 2 else ()
            contents.setdefault(folder, []).append((str(path), sha256((ROOT / path).read_bytes()).hexdigest()))
    kept = {}
    for file in files:
        own = (ROOT / file).read_bytes() if (ROOT / file).is_file() else b""
        used = [file, sha256(own).hexdigest(), contents[()], contents.get(Path(file).parts[:2])]
        kept[file] = KEPT / f"{sha256(repr(used).encode()).hexdigest()[:32]}.json"
    return kept


def _keep(path: Path, tests: Sequence[RecordedTest]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([[*test[:2], sorted(test.calls), test.starts] for test in tests]), encoding="utf-8")


def _kept(path: Path) -> list[RecordedTest]:
    return [
        RecordedTest(name, seconds, frozenset((file, line) for file, line in calls), starts)
        for name, seconds, calls, starts in json.loads(path.read_text(encoding="utf-8"))
    ]


class _Recorder:
    """A plugin of pytest that records what every test calls. What a shared fixture calls counts for its file."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, set[Function]] = {}
        self.failed: set[str] = set()
        self._codes: dict[int, CodeType] = {}

    def trace(self, frame: FrameType, event: str, argument: object) -> None:
        self._codes.setdefault(id(frame.f_code), frame.f_code)

    def called(self) -> set[Function]:
        return {(code.co_filename, code.co_firstlineno) for code in self._codes.values()}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        name = _name(item)
        before = _processor_time()
        yield from self._traced(name)
        self.seconds[name] = self.seconds.get(name, 0) + _processor_time() - before

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        yield from self._traced(item.nodeid.partition("::")[0])

    def _traced(self, name: str) -> Iterator[None]:
        outer, self._codes = self._codes, {}
        threading.settrace(self.trace)
        sys.settrace(self.trace)
        yield
        sys.settrace(None)
        threading.settrace(None)
        self.calls.setdefault(name, set()).update(self.called())
        self._codes = {**outer, **self._codes}
        if outer:
            sys.settrace(self.trace)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid.partition("[")[0])

    def tests(self) -> list[RecordedTest]:
        """Return the tests that pass."""
        result = []
        for name, seconds in self.seconds.items():
            calls = self.calls[name] | self.calls.get(name.partition("::")[0], set())
            starts = any(file.endswith(("/subprocess.py", "/forks.py")) for file, _ in calls)
            if name not in self.failed:
                result.append(RecordedTest(name, seconds, _ours(calls), starts))
        return result


def _name(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _ours(calls: Iterable[Function]) -> frozenset[Function]:
    folders = tuple(str(ROOT / package) for package in PACKAGES)
    return frozenset((file, line) for file, line in calls if file.startswith(folders))


def _processor_time() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Collected:
    """A plugin of pytest that has all tests and loaded functions, and does some work instead of running the tests."""

    def __init__(self, work: Callable[[Collected], None], early: _Recorder) -> None:
        self._work = work
        self._recorder = early
        self._failed = False
        self._trusted: set[str] = set()
        self._items: dict[str, list[pytest.Item]] = {}
        self.functions: dict[str, list[FunctionType]] = {}
        self.early: frozenset[Function] = frozenset()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        sys.settrace(None)
        if session.testsfailed:  # else every mutant would count as one that no test notices
            raise session.Interrupted
        self.early = _ours(self._recorder.called())
        for item in session.items:
            self._items.setdefault(_name(item), []).append(item)
        gc.unfreeze()
        for function in gc.get_objects():
            if type(function) is FunctionType:
                self.functions.setdefault(function.__code__.co_filename, []).append(function)
        gc.freeze()
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed

    def recorded(self) -> list[RecordedTest]:
        """Return the tests that pass, with what they call: those that start processes last, else the fastest first."""
        kept = _kept_paths({name.partition("::")[0] for name in self._items})
        new = {file: path for file, path in kept.items() if not path.exists()}
        if new:
            _in_child(functools.partial(self._record, new), Path())
        tests = [test for path in kept.values() for test in _kept(path) if test.name in self._items]
        return sorted(tests, key=lambda test: (test.starts, test.seconds))

    def _record(self, files: Mapping[str, Path], _: Path) -> int:
        recorder = _Recorder()
        items = [item for name, same in self._items.items() for item in same if name.partition("::")[0] in files]
        items[0].config.pluginmanager.register(recorder)
        for item, following in _with_next(items):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        for name in sorted(recorder.failed):
            _say(f"left out, because it fails when it is recorded: {name}")
        tests = recorder.tests()
        for file, path in files.items():
            _keep(path, [test for test in tests if test.name.partition("::")[0] == file])
        return 0

    def killer(self, tests: Sequence[RecordedTest], change: Callable[[Path], None]) -> str:
        """Return the first of these tests that fails after the change, and passes alone without it."""
        while killer := self._first_failing(tests, change):
            alone = [test for test in tests if test.name == killer]
            if killer in self._trusted or not self._first_failing(alone, lambda _: None):
                self._trusted.add(killer)
                return killer
            _say(f"left out, because it fails alone: {killer}")
            tests = [test for test in tests if test.name != killer]
        return ""

    def _first_failing(self, tests: Sequence[RecordedTest], change: Callable[[Path], None]) -> str:
        def run(folder: Path) -> int:
            (folder / "test").write_text(tests[0].name, encoding="utf-8")
            change(folder)
            items = [item for test in tests for item in self._items[test.name]]
            watch = _Watch(folder / "test", {test.name: test.seconds for test in tests})
            items[0].config.pluginmanager.register(watch)
            for item, following in _with_next(items):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self._failed:
                    return 1
            return 0

        with tempfile.TemporaryDirectory() as folder:
            passed = not tests or _in_child(run, Path(folder))
            return "" if passed else Path(folder, "test").read_text(encoding="utf-8")


def _with_next(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return zip(items, [*items[1:], None], strict=True)


def _in_child(work: Callable[[Path], int], folder: Path) -> bool:
    """Do some work in a fork, end what it leaves behind, and return whether it ended well."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setpgid(0, 0)
            code = work(folder)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    return status == 0


def judged(chosen: Mapping[str, Sequence[Mutant]], near: Mapping[str, Sequence[str]]) -> list[Verdict]:
    """Judge mutants, by module, with the tests near each module, and print every verdict."""
    tests = sorted({test for module in chosen for test in near[module]})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "answers").touch()
        if not _in_child(functools.partial(_judge_in_place, chosen, near, tests), folder):
            raise SystemExit(f"pytest can't run {' '.join(tests)}; try it without mutants")
        verdicts = _answers(folder)
        for module in chosen:
            left = [mutant for mutant in chosen[module] if (module, mutant) not in verdicts]
            tests_near = [test for test in _kept(folder / "tests") if _is_in(test, near[module])]
            if left:
                _in_child(functools.partial(_judge_imported, module, left, tests_near), folder)
        verdicts = _answers(folder)
    return [Verdict(module, mutant, verdicts[module, mutant]) for module in chosen for mutant in chosen[module]]


def _answers(folder: Path) -> dict[tuple[str, Mutant], str]:
    lines = (folder / "answers").read_text(encoding="utf-8").splitlines()
    return {(module, Mutant(*mutant)): killer for module, mutant, killer in map(json.loads, lines)}


def _is_in(test: RecordedTest, places: Sequence[str]) -> bool:
    return (
        test.name.startswith(tuple(f"{place}{end}" for place in places for end in ("/", "::"))) or test.name in places
    )


def _give(verdict: Verdict, folder: Path) -> None:
    with (folder / "answers").open("a", encoding="utf-8") as output:
        output.write(f"{json.dumps(verdict)}\n")
    noticed = f"killed by {verdict.killer}" if verdict.killer else "SURVIVED"
    _say(f"{verdict.module}:{verdict.mutant.line}: {verdict.mutant.change}: {noticed}")


def _judge_in_place(
    chosen: Mapping[str, Sequence[Mutant]], near: Mapping[str, Sequence[str]], tests: Sequence[str], folder: Path
) -> int:
    """Judge, in this process, all mutants but those that need new imports."""

    def work(collected: Collected) -> None:
        recorded = collected.recorded()
        _keep(folder / "tests", recorded)
        for module in chosen:
            near_tests = [test for test in recorded if _is_in(test, near[module])]
            functions = collected.functions.get(str(ROOT / module), [])
            for mutant in chosen[module]:
                codes = _new_codes(module, mutant)
                change = functools.partial(_change, module, mutant, functions, codes)
                killer = ""
                for group in groups(module, mutant, near_tests) if codes else ():
                    killer = killer or collected.killer(group, change)
                is_early = (str(ROOT / module), mutant.function) in collected.early or not _fit(functions, codes)
                if killer or (codes and not is_early):
                    _give(Verdict(module, mutant, killer), folder)

    _quiet(folder / "output")
    _forget_packages()
    early = _Recorder()
    sys.settrace(early.trace)
    arguments = [*PYTEST, *tests, *(f"--deselect={name}" for name in slow() if name not in tests)]
    return int(pytest.main(arguments, [Collected(work, early)]))


def groups(module: str, mutant: Mutant, tests: Sequence[RecordedTest]) -> list[list[RecordedTest]]:
    """Return the tests that call the changed function (for a line of a module: any function of it), then others.

    Constants of a module are used without calling it: for them the others are all tests. Else they are those that call
    another function of the module (what it returns may be cached when the test is recorded), or start processes.
    """
    file = str(ROOT / module)

    def calls(test: RecordedTest, lines: Sequence[int]) -> bool:
        return any(name == file and (line in lines or not lines) for name, line in test.calls)

    first = [test for test in tests if calls(test, [mutant.function] if mutant.function else [])]
    others = [test for test in tests if test not in first]
    return [first, [test for test in others if not mutant.function or test.starts or calls(test, [])]]


def _new_codes(module: str, mutant: Mutant) -> dict[tuple[str, int], CodeType]:
    """Return the functions of a module that a mutant changes; none if it is a constant, or a default."""
    path = ROOT / module
    source = path.read_text(encoding="utf-8")
    before, after = (
        _codes(compile(tree, str(path), "exec", dont_inherit=True))
        for tree in (ast.parse(source), mutated_tree(source, mutant))
    )
    return {place: code for place, code in after.items() if code != before.get(place)}


def _codes(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """Return every function that a module, or what is in it, defines, by name and first line."""
    codes = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & _OF_A_FUNCTION:
                codes[constant.co_name, constant.co_firstlineno] = constant
            codes.update(_codes(constant))
    return codes


def _change(
    module: str,
    mutant: Mutant,
    functions: Sequence[FunctionType],
    codes: Mapping[tuple[str, int], CodeType],
    folder: Path,
) -> None:
    """Give the changed functions of a loaded module their new code, and all of it to whoever imports it later."""
    _serve(module, mutant, folder)
    for function in functions:
        if (code := codes.get(_place(function))) and _fit([function], codes):
            function.__code__ = code


def _place(function: FunctionType) -> tuple[str, int]:
    return function.__code__.co_name, function.__code__.co_firstlineno


def _fit(functions: Sequence[FunctionType], codes: Mapping[tuple[str, int], CodeType]) -> bool:
    """Return True when functions can have new code: it uses as many variables of the functions around them.

    The comprehensions of a module and of its classes are no functions; what they compute is there already.
    """
    return (not functions or any(_place(function) in codes for function in functions)) and all(
        len(codes.get(_place(function), function.__code__).co_freevars) == len(function.__code__.co_freevars)
        for function in functions
    )


def _serve(module: str, mutant: Mutant, folder: Path) -> None:
    """Give the module to whoever imports it from now on, in this process and in those that it starts."""
    other = folder / "mutant.py"
    other.write_text(mutated((ROOT / module).read_text(encoding="utf-8"), mutant), encoding="utf-8")
    os.environ.update(
        MUTANT_MODULE=_module_name(ROOT / module), MUTANT_FILE=str(ROOT / module), MUTANT_SOURCE=str(other)
    )
    here = str(Path(__file__).with_name("mutant"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    runpy.run_path(str(Path(here, "sitecustomize.py")))


def _judge_imported(module: str, mutants: Sequence[Mutant], tests: Sequence[RecordedTest], folder: Path) -> int:
    """Judge mutants that need new imports. It loads what the module does not depend on once for all of them."""
    _forget_packages()
    for third_party in ("hypothesis", "jsonschema", "pydantic", "msgspec"):
        importlib.import_module(third_party)
    dependents = _dependents(_module_name(ROOT / module))
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        if (name := _module_name(path)) not in dependents and not name.endswith("__main__"):
            importlib.import_module(name)
    for mutant in mutants:
        killer = ""
        for group in groups(module, mutant, tests):
            killer = killer or _first_failing_imported(module, mutant, group)
        _give(Verdict(module, mutant, killer), folder)
    return 0


def _first_failing_imported(module: str, mutant: Mutant, tests: Sequence[RecordedTest]) -> str:
    """Return the first of these tests that fails, or does not end, when the mutant is imported anew."""

    def run(folder: Path) -> int:
        watch = _Watch(folder / "test", {test.name: test.seconds for test in tests})
        _quiet(folder / "output")
        _serve(module, mutant, folder)
        importlib.import_module(_module_name(ROOT / module))  # now: pytest remembers how modules on disk are found
        return int(pytest.main([*PYTEST, "-x", *(test.name for test in tests)], [watch]))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test").write_text("its import", encoding="utf-8")
        passed = not tests or _in_child(run, folder)
        return "" if passed else (folder / "test").read_text(encoding="utf-8")


class _Watch:
    """A plugin of pytest that writes down which test runs, and ends it when it takes too long."""

    def __init__(self, path: Path, seconds: Mapping[str, float]) -> None:
        self._path = path
        self._seconds = seconds

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        name = _name(item)
        self._path.write_text(name, encoding="utf-8")
        seconds = self._seconds.get(name, 0)
        limit = int(PATIENCE * seconds + time.process_time()) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        signal.alarm(LONGEST_WAIT + int(BUSY * seconds))


def _forget_packages() -> None:
    for name in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:
        del sys.modules[name]


def _quiet(path: Path) -> None:
    silent = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


def _say(line: str) -> None:
    os.write(_SCREEN, f"{line}\n".encode())


def _dependents(name: str) -> set[str]:
    """Return a module and all modules that import it, at the top or later, by whatever way."""
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
