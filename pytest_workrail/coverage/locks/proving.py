"""Proving: run the enforcing tests of each sabotage with its switch on, each in a process of its own.

The tests are collected once. A sabotage then gets a copy of the whole process, so that nothing it breaks, caches or
leaves behind can reach another one. A proof is a test that passed before and whose call fails there: by an assertion,
or because a result lacks what the test reaches for. Any other exception may be the fault of the sabotage itself.
"""

from __future__ import annotations

import inspect
import json
import os
import selectors
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from pytest_workrail.coverage.locks.assertions import TestSide
from pytest_workrail.coverage.locks.sabotage import Sabotage
from workrail_lint.result import Err

TIME_LIMIT_SECONDS = 60.0
_UNWRAPPED = inspect.getattr_static(Err, "value").fget.__code__


class Attempt(NamedTuple):
    """A sabotage, a lock it breaks, and the tests that should notice it."""

    sabotage: Sabotage
    lock_id: str
    tests: tuple[pytest.Item, ...]


class Finding(NamedTuple):
    """What came of an attempt: the test that noticed it, or why none did."""

    sabotage: Sabotage
    lock_id: str
    test: str | None
    why: str


@dataclass(slots=True)
class _Child:
    attempt: Attempt
    pid: int
    ends_at: float
    said: bytes = b""


def can_prove() -> bool:
    """Whether this platform can copy a process."""
    return hasattr(os, "fork")


def prove(attempts: Sequence[Attempt], workers: int) -> list[Finding]:
    """Try every sabotage, several at a time; findings come in the order of the attempts."""
    findings: dict[tuple[str, str], Finding] = {}
    waiting = list(reversed(attempts))
    running = selectors.DefaultSelector()
    while waiting or running.get_map():
        while waiting and len(running.get_map()) < workers:
            attempt = waiting.pop()
            pipe, child = _start(attempt)
            running.register(pipe, selectors.EVENT_READ, child)
        for finding in _events(running):
            findings[finding.sabotage.name, finding.lock_id] = finding
    running.close()
    return [findings[attempt.sabotage.name, attempt.lock_id] for attempt in attempts]


def _events(running: selectors.BaseSelector) -> Iterator[Finding]:
    ready = {key.fd for key, _ in running.select(timeout=0.2)}
    for key in list(running.get_map().values()):
        child: _Child = key.data
        if key.fd in ready:
            said = os.read(key.fd, 65536)
            child.said += said
            if said:
                continue
        elif time.monotonic() < child.ends_at:
            continue
        else:
            os.kill(child.pid, signal.SIGKILL)
            child.said = b""
        running.unregister(key.fd)
        os.close(key.fd)
        os.waitpid(child.pid, 0)
        yield _finding(child)


def _finding(child: _Child) -> Finding:
    attempt = child.attempt
    test, why = json.loads(child.said) if child.said else (None, "the tests did not come to an end")
    return Finding(attempt.sabotage, attempt.lock_id, test, why)


def _start(attempt: Attempt) -> tuple[int, _Child]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return reading, _Child(attempt, pid, time.monotonic() + TIME_LIMIT_SECONDS)
    # The copy: whatever happens here, it must end here.
    try:
        os.close(reading)
        answer = json.dumps(_tried(attempt)).encode()
        os.write(writing, answer)
    finally:
        os._exit(0)


def _tried(attempt: Attempt) -> tuple[str | None, str]:
    """Run the tests with the switch on until one fails an assertion."""
    config = attempt.tests[0].config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        config.pluginmanager.unregister(reporter)
    watch = _Watch(config)
    config.pluginmanager.register(watch)
    try:
        with attempt.sabotage.applied():
            for test, following in zip(attempt.tests, (*attempt.tests[1:], None), strict=True):
                test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
                if watch.noticed is not None:
                    return watch.noticed, ""
    except LookupError as error:
        return None, str(error)
    except BaseException as error:
        return None, f"the run broke off with {type(error).__name__}"
    return None, watch.other or "every test still passes"


class _Watch:
    """Finds the first test whose call fails because something is not as it says."""

    def __init__(self, config: pytest.Config) -> None:
        self._side = TestSide(config)
        self.noticed: str | None = None
        self.other = ""

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
        if call.excinfo is None or self.noticed is not None:
            return
        error = call.excinfo.value
        if call.when == "call" and (_is_assertion(error) or self._lacks_something(error, item)):
            self.noticed = item.nodeid
        elif not isinstance(error, pytest.skip.Exception):
            self.other = f"{item.nodeid} fails with {type(error).__name__}, which is no failed assertion"

    def _lacks_something(self, error: BaseException, item: pytest.Item) -> bool:
        """Whether the test itself reached for something that the result should have had."""
        if isinstance(error, BaseExceptionGroup):
            return all(self._lacks_something(each, item) or _is_assertion(each) for each in error.exceptions)
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        if place is None:
            return False
        code = place.tb_frame.f_code
        if isinstance(error, AttributeError | LookupError):
            return self._side.holds(code.co_filename, item)
        # The value of a failure: our own way to say that a success was expected.
        return isinstance(error, ValueError) and code is _UNWRAPPED


def _is_assertion(error: BaseException) -> bool:
    from pytest_workrail.scenarios.faults import ScenarioFailure

    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_assertion, error.exceptions))
    return isinstance(error, AssertionError | pytest.fail.Exception | ScenarioFailure)
