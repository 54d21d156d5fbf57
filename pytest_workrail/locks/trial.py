"""One sabotage: the tests that should notice it, run with its switch on.

It is noticed when the call of a test fails: by an assertion, or because a result lacks what the test reaches for. Any
other exception may be the fault of the sabotage itself, and proves nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import pytest

from pytest_workrail.locks.assertion_watch import TestSide
from pytest_workrail.locks.sabotage import Sabotage
from pytest_workrail.run.expectation import ExpectationFailure
from workrail_lint.base.result import Err

_UNWRAPPED = inspect.getattr_static(Err, "value").fget.__code__


def try_sabotage(sabotage: Sabotage, tests: Sequence[pytest.Item]) -> tuple[str | None, str]:
    """The test that noticed the sabotage, or why none did. Leaves the process as broken as the sabotage is."""
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
        """Whether the sabotage raised it; a sabotage must not do the noticing itself."""
        return _raised_in(error) == self._sabotage

    def _is_missing_attribute(self, error: BaseException, item: pytest.Item) -> bool:
        """Whether the test itself reached for something that the result should have had."""
        if isinstance(error, BaseExceptionGroup):
            return all(self._is_missing_attribute(each, item) or _is_assertion(each) for each in error.exceptions)
        place = _origin(error)
        if place is None:
            return False
        code = place.tb_frame.f_code
        if isinstance(error, AttributeError | LookupError):
            return self._side.holds(code.co_filename, item)
        # The value of a failure: our own way to say that a success was expected.
        return isinstance(error, ValueError) and code is _UNWRAPPED


def _origin(error: BaseException) -> TracebackType | None:
    """Where an error was raised."""
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
