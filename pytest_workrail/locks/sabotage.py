"""Sabotages: deliberate breaks of what a lock demands, and whether the tests of the lock notice them."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import re
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from traceback import walk_tb
from types import ModuleType, TracebackType
from typing import Any, NamedTuple

import pytest

from pytest_workrail.locks.assertion_watch import TestSide
from pytest_workrail.run.result import ExpectationFailure
from workrail_lint.base.result import Err

Broken = Callable[[Any], Any]
_PLACE = re.compile(r"[\w.]+:[\w.]+")

_UNWRAPPED = inspect.getattr_static(Err, "value").fget.__code__
TIME_LIMIT_SECONDS = 60.0
_ENDLESS = "the tests did not finish"


@dataclass(frozen=True, slots=True)
class Sabotage:
    """One switch. `at` are places in the code, each `module:name` or `module:Class.name`."""

    name: str
    locks: tuple[str, ...]
    at: tuple[str, ...]
    summary: str
    broken: Broken
    digest: str

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Yield the code with this switch on. Raises LookupError when a place is no longer there."""
        with ExitStack() as stack:
            for place in self.at:
                stack.enter_context(_replaced(place, self.broken))
            yield


def breaks(*locks: str, at: str | tuple[str, ...]) -> Callable[[Broken], Sabotage]:
    """Make a sabotage of the locks from a function; its name and docstring are those of the sabotage."""

    def decorate(broken: Broken) -> Sabotage:
        summary = inspect.getdoc(broken)
        if not locks or not summary:
            raise ValueError(f"the sabotage {broken.__name__} needs a lock, and a docstring that says what it breaks")
        source = hashlib.sha256(inspect.getsource(broken).encode()).hexdigest()
        places = (at,) if isinstance(at, str) else tuple(at)
        if not places or not all(isinstance(place, str) and _PLACE.fullmatch(place) for place in places):
            raise ValueError(f"the sabotage {broken.__name__} needs a place like module:name or module:Class.name")
        name = broken.__name__.replace("_", "-")
        return Sabotage(name, locks, places, summary.splitlines()[0], broken, f"sha256:{source}")

    return decorate


@contextmanager
def _replaced(place: str, broken: Broken) -> Iterator[None]:
    owner, name = _find(place)
    original = inspect.getattr_static(owner, name)
    replacement = broken(original)
    homes = [(owner, name), *_copies(owner, original, name)]
    for home, key in homes:
        setattr(home, key, replacement)
    try:
        yield
    finally:
        for home, key in homes:
            setattr(home, key, original)


def _find(place: str) -> tuple[Any, str]:
    module, _, path = place.partition(":")
    try:
        owner: Any = importlib.import_module(module)
        *parents, name = path.split(".")
        for parent in parents:
            owner = inspect.getattr_static(owner, parent)
        inspect.getattr_static(owner, name)
    except (ImportError, AttributeError) as error:
        raise LookupError(f"{place} does not exist, so it can't be sabotaged: {error}") from error
    return owner, name


def _copies(owner: Any, original: object, name: str) -> list[tuple[ModuleType, str]]:
    """Other modules that imported it from its home; a name that was imported there is replaced there alone.

    A plain value may be shared by chance, so of those only what has the same name is taken for a copy.
    """
    is_named = inspect.isroutine(original) or inspect.isclass(original)
    if is_named and inspect.ismodule(owner) and getattr(original, "__module__", None) != owner.__name__:
        return []
    return [
        (module, key)
        for module in list(sys.modules.values())
        for key, value in list(getattr(module, "__dict__", {}).items())
        if value is original and (is_named or key == name)
    ]


def load_sabotages(sources: list[str], root: Path) -> list[Sabotage]:
    """Return the sabotages of modules, given by name, by file, or by a folder of files. Raises LookupError."""
    by_name: dict[str, Sabotage] = {}
    for source in sources:
        for module in _modules(source, root):
            for value in vars(module).values():
                if isinstance(value, Sabotage):
                    known = by_name.setdefault(value.name, value)
                    if known is not value:
                        raise LookupError(f"two sabotages have the name {value.name}")
    return list(by_name.values())


def _modules(source: str, root: Path) -> Iterator[ModuleType]:
    path = root / source
    if path.is_dir():
        for file in sorted(path.glob("*.py")):
            yield _loaded(file.name, partial(_module_of, file))
    elif path.is_file():
        yield _loaded(path.name, partial(_module_of, path))
    elif not _is_module(source):
        raise LookupError(f"{source} is not a file, folder or module")
    else:
        yield _loaded(source, partial(importlib.import_module, source))


def _is_module(name: str) -> bool:
    parts = name.split(".")
    return all(part.isidentifier() for part in parts) and importlib.util.find_spec(parts[0]) is not None


def _loaded(name: str, load: Callable[[], ModuleType]) -> ModuleType:
    """Load a module; an error in its code is reported with its location."""
    try:
        return load()
    except Exception as error:
        lines = [
            (frame.f_code.co_filename, line)
            for frame, line in walk_tb(error.__traceback__)
            if frame.f_code.co_name == "<module>"
        ]
        place = f" ({Path(lines[-1][0]).name}, line {lines[-1][1]})" if lines else ""
        raise LookupError(f"{name} can't be loaded: {type(error).__name__}: {error}{place}") from error


def _module_of(path: Path) -> ModuleType:
    name = f"workrail_sabotages_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise LookupError(f"{path.name} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    # inspect finds the source of a function through its module.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def try_sabotage(sabotage: Sabotage, tests: Sequence[pytest.Item]) -> tuple[str | None, str]:
    """Return the test that noticed the sabotage, or why none did. Leaves the process as broken as the sabotage is."""
    config = tests[0].config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        config.pluginmanager.unregister(reporter)
    watch = _Watch(config, sabotage)
    config.pluginmanager.register(watch)
    try:
        with sabotage.applied():
            for test, following in zip(tests, (*tests[1:], None), strict=True):
                config.hook.pytest_runtest_protocol(item=test, nextitem=following)
                if watch.noticed is not None:
                    return watch.noticed, ""
    except LookupError as error:
        return None, str(error)
    except BaseException as error:
        return None, f"the run was aborted by {type(error).__name__}"
    return None, watch.other or "every test still passes"


class _Watch:
    """Finds the first test whose call fails because something is not as it says."""

    def __init__(self, config: pytest.Config, sabotage: Sabotage) -> None:
        self._side = TestSide(config)
        self._sabotage = inspect.getsourcefile(sabotage.broken)
        self.noticed: str | None = None
        self.other = ""

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
        if call.excinfo is None or self.noticed is not None:
            return
        error = call.excinfo.value
        if self._comes_from_sabotage(error):
            self.other = f"the sabotage itself fails in {item.nodeid}"
        elif call.when == "call" and (_is_assertion(error) or self._is_missing_attribute(error, item)):
            self.noticed = item.nodeid
        elif not isinstance(error, pytest.skip.Exception):
            self.other = f"{item.nodeid} fails with {type(error).__name__}, not with an assertion"

    def _comes_from_sabotage(self, error: BaseException) -> bool:
        """Return whether the sabotage raised it; a sabotage must not do the noticing itself."""
        return _raised_in(error) == self._sabotage

    def _is_missing_attribute(self, error: BaseException, item: pytest.Item) -> bool:
        """Return whether the test itself reached for something that the result should have had."""
        if isinstance(error, BaseExceptionGroup):
            return all(self._is_missing_attribute(each, item) or _is_assertion(each) for each in error.exceptions)
        place = _origin(error)
        if place is None:
            return False
        code = place.tb_frame.f_code
        if isinstance(error, AttributeError | LookupError):
            return self._side.holds(code.co_filename, str(item.path))
        # The value of a failure: our own way to say that a success was expected.
        return isinstance(error, ValueError) and code is _UNWRAPPED


def _origin(error: BaseException) -> TracebackType | None:
    """Return where an error was raised."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place


def _raised_in(error: BaseException) -> str | None:
    place = _origin(error)
    return None if place is None else place.tb_frame.f_code.co_filename


def _is_assertion(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_assertion, error.exceptions))
    return isinstance(error, AssertionError | pytest.fail.Exception | ExpectationFailure)


class Attempt(NamedTuple):
    """A sabotage, a lock it breaks, and the tests that should notice it, all by name."""

    sabotage: str
    lock_id: str
    tests: tuple[str, ...]


class AttemptResult(NamedTuple):
    """The result of an attempt: the test that noticed it, or why none did."""

    sabotage: str
    lock_id: str
    test: str | None
    why: str


def can_prove() -> bool:
    """Return whether this platform can copy a process."""
    return hasattr(os, "fork")


class Prover:
    """A copy of this process that waits to be told which sabotages to try on which tests."""

    def __init__(self, items: Sequence[pytest.Item], sabotages: Sequence[Sabotage]) -> None:
        asked, self._asking = os.pipe()
        self._answers, answering = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(asked)
            os.close(answering)
            return
        with _ending_process():
            os.close(self._asking)
            os.close(self._answers)
            request = _read(asked)
            if request:
                attempts = [Attempt(name, lock_id, tuple(tests)) for name, lock_id, tests in json.loads(request)]
                findings = _Pool(items, sabotages).run(attempts)
                _write(answering, json.dumps(findings).encode())

    def prove(self, attempts: Sequence[Attempt]) -> list[AttemptResult]:
        """Try every sabotage; findings come in the order of the attempts."""
        _write(self._asking, json.dumps(attempts).encode())
        answer = json.loads(_read(self._answers) or b"[]")
        os.waitpid(self._pid, 0)
        return [AttemptResult(*finding) for finding in answer]

    def skip(self) -> None:
        """There is nothing to prove."""
        os.close(self._asking)
        os.close(self._answers)
        os.waitpid(self._pid, 0)


class _ending_process:  # noqa: N801 - used like a function
    """The end of a copied process: whatever happens in this block, nothing comes after it."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        os._exit(0)


def _write(pipe: int, data: bytes) -> None:
    with os.fdopen(pipe, "wb") as file:
        file.write(data)


def _read(pipe: int) -> bytes:
    with os.fdopen(pipe, "rb") as file:
        return file.read()


@dataclass(slots=True)
class _Child:
    attempt: Attempt
    pid: int
    ends_at: float
    output: bytes = b""

    @property
    def finding(self) -> AttemptResult:
        test, why = json.loads(self.output) if self.output else (None, _ENDLESS)
        return AttemptResult(self.attempt.sabotage, self.attempt.lock_id, test, why)


class _Pool:
    """Several copies at a time, as many as there are processors."""

    def __init__(self, items: Sequence[pytest.Item], sabotages: Sequence[Sabotage]) -> None:
        self._items = {item.nodeid: item for item in items}
        self._sabotages = {sabotage.name: sabotage for sabotage in sabotages}
        self._running = selectors.DefaultSelector()

    def run(self, attempts: Sequence[Attempt]) -> list[AttemptResult]:
        results: dict[tuple[str, str], AttemptResult] = {}
        waiting = list(reversed(attempts))
        while waiting or self._running.get_map():
            while waiting and len(self._running.get_map()) < (os.cpu_count() or 1):
                self._start(waiting.pop())
            for finding in self._ended():
                results[finding.sabotage, finding.lock_id] = finding
        return [results[attempt.sabotage, attempt.lock_id] for attempt in attempts]

    def _start(self, attempt: Attempt) -> None:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid:
            os.close(writing)
            child = _Child(attempt, pid, time.monotonic() + TIME_LIMIT_SECONDS)
            self._running.register(reading, selectors.EVENT_READ, child)
            return
        with _ending_process():
            os.close(reading)
            tests = [self._items[test] for test in attempt.tests]
            _write(writing, json.dumps(try_sabotage(self._sabotages[attempt.sabotage], tests)).encode())

    def _ended(self) -> Iterator[AttemptResult]:
        ready = {key.fd for key, _ in self._running.select(timeout=0.2)}
        for key in list(self._running.get_map().values()):
            child: _Child = key.data
            if key.fd in ready:
                output = os.read(key.fd, 65536)
                child.output += output
                if output:
                    continue
            elif time.monotonic() < child.ends_at:
                continue
            else:
                os.kill(child.pid, signal.SIGKILL)
                child.output = b""
            self._running.unregister(key.fd)
            os.close(key.fd)
            os.waitpid(child.pid, 0)
            yield child.finding
