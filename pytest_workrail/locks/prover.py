"""Proving: try each sabotage on the tests that should notice it, each in a process of its own.

The tests are collected once, and the process is copied before the first of them runs. Each sabotage then gets a copy of
that copy, so that nothing the tests remembered or another sabotage broke can reach it.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

from pytest_workrail.locks.sabotage import Sabotage
from pytest_workrail.locks.trial import try_sabotage
from pytest_workrail.records import Record

TIME_LIMIT_SECONDS = 60.0
_ENDLESS = "the tests did not finish"


class Attempt(NamedTuple):
    """A sabotage, a lock it breaks, and the tests that should notice it, all by name."""

    sabotage: str
    lock_id: str
    tests: tuple[str, ...]


class AttemptResult(NamedTuple):
    """What came of an attempt: the test that noticed it, or why none did."""

    sabotage: str
    lock_id: str
    test: str | None
    why: str


def can_prove() -> bool:
    """Whether this platform can copy a process."""
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


class _Child(Record, frozen=False):
    attempt: Attempt
    pid: int
    ends_at: float
    said: bytes = b""

    @property
    def finding(self) -> AttemptResult:
        test, why = json.loads(self.said) if self.said else (None, _ENDLESS)
        return AttemptResult(self.attempt.sabotage, self.attempt.lock_id, test, why)


class _Pool:
    """Several copies at a time, as many as there are processors."""

    def __init__(self, items: Sequence[pytest.Item], sabotages: Sequence[Sabotage]) -> None:
        self._items = {item.nodeid: item for item in items}
        self._sabotages = {sabotage.name: sabotage for sabotage in sabotages}
        self._running = selectors.DefaultSelector()

    def run(self, attempts: Sequence[Attempt]) -> list[AttemptResult]:
        found: dict[tuple[str, str], AttemptResult] = {}
        waiting = list(reversed(attempts))
        while waiting or self._running.get_map():
            while waiting and len(self._running.get_map()) < (os.cpu_count() or 1):
                self._start(waiting.pop())
            for finding in self._ended():
                found[finding.sabotage, finding.lock_id] = finding
        return [found[attempt.sabotage, attempt.lock_id] for attempt in attempts]

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
                said = os.read(key.fd, 65536)
                child.said += said
                if said:
                    continue
            elif time.monotonic() < child.ends_at:
                continue
            else:
                os.kill(child.pid, signal.SIGKILL)
                child.said = b""
            self._running.unregister(key.fd)
            os.close(key.fd)
            os.waitpid(child.pid, 0)
            yield child.finding
