"""Whether a test asserted anything.

Told from what is certain to be executed when a test passes, and where that does not settle it, from what is seen to
be executed: the lines with expectations in the test file, in `conftest.py`, and in helpers below the project's
`testpaths`. An `assert` inside the code under test is not the test's, and what can't fail, such as `assert True`, never
counts. Matchers of this plugin speak for themselves.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType, FunctionType
from typing import Any

import pytest

from pytest_workrail.locks.assert_statements import FileReading
from pytest_workrail.run.pytest_session import NOTED
from workrail_lint.base.files import read_bytes


class AssertionTally:
    """What is known about one test so far."""

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
        """Whether a file is the test's own, a `conftest.py`, or a helper below the project's test folders."""
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
        found = AssertionTally()
        function = _function(item)
        reading = self._reading(str(item.path))
        noted: list[str] = []
        token = NOTED.set(noted)
        try:
            if function is not None and self._is_certain(reading, function, item):
                yield found
                found.asserted = True
            elif sys.gettrace() is not None:
                # Somebody else traces already, a debugger perhaps. What is written has to do.
                yield found
                found.asserted = function is not None and reading.holds(function.__code__.co_firstlineno)
            else:
                with _traced(_Lines(found, lambda file: self._lines(file, item))):
                    yield found
        finally:
            NOTED.reset(token)
        found.asserted = found.asserted or bool(noted)

    def _is_certain(self, reading: FileReading, function: FunctionType, item: pytest.Item) -> bool:
        """Whether a test can't pass without asserting. What a decorator does with a test is its own affair."""
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
    """The function of a test as it was written, if it was written in the test's own file."""
    called = _called(item)
    written = inspect.unwrap(called) if callable(called) else None
    if not isinstance(written, FunctionType) or written.__code__.co_filename != str(item.path):
        return None
    return written


def _called(item: pytest.Item) -> object:
    """What is called to run a test, decorators and all; hypothesis calls what it was given."""
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
    """Notices when one of the lines that count is executed, and stops looking."""

    def __init__(self, found: AssertionTally, lines_of: Callable[[str], Mapping[int, str | None]]) -> None:
        self._found = found
        self._lines_of = lines_of
        self._lines: dict[str, Mapping[int, str | None]] = {}

    def entered(self, frame: FrameType, event: str, _: object) -> Any:
        """A function is called: its lines are of interest only if some of them count."""
        if self._found.asserted:
            sys.settrace(None)
            return None
        file = frame.f_code.co_filename
        lines = self._lines.get(file)
        if lines is None:
            lines = self._lines[file] = self._lines_of(file)
        return self._executed if lines else None

    def _executed(self, frame: FrameType, event: str, _: object) -> Any:
        lines = self._lines[frame.f_code.co_filename]
        if event != "line" or lines.get(frame.f_lineno, "") not in (None, frame.f_code.co_name):
            return self._executed
        self._found.asserted = True
        sys.settrace(None)
        return None
