"""Tells of each test whether it asserted anything: by what its file says, or by the lines that it executes."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from glob import glob
from types import FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from pytest_workrail.locks.vacuity import FileReading
from pytest_workrail.run.pytest_session import NOTED
from workrail_lint.base.files import read_bytes


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
            f"{os.path.normpath(config.rootpath / folder)}{os.sep}"
            for pattern in config.getini("testpaths")
            for folder in glob(pattern, root_dir=config.rootpath, recursive=True)
        )

    def holds(self, file: str, test_file: str) -> bool:
        """Return whether a file is the test's own, a `conftest.py`, or a helper below the project's test folders."""
        return file == test_file or os.path.basename(file) == "conftest.py" or file.startswith(self._folders)


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
        reading = self._reading(str(item.path), getattr(item, "module", None))
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
        return self._reading(file).lines if self._side.holds(file, str(item.path)) else {}

    def _reading(self, file: str, module: object = None) -> FileReading:
        if file not in self._readings:
            try:
                source = read_bytes(file).decode()
            except (OSError, UnicodeDecodeError):
                source = ""
            if module is None:
                module = next((part for part in list(sys.modules.values()) if _file(part) == file), None)
            names: Mapping[str, object] = getattr(module, "__dict__", {})
            self._readings[file] = FileReading(source, names, lambda other: self._side.holds(other, file))
        return self._readings[file]


def _file(module: ModuleType) -> object:
    return getattr(module, "__file__", None)


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
