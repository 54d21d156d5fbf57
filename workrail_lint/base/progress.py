"""How far a long command is: one line on stderr, for somebody who watches.

It shows after two seconds, where stderr is a terminal that can erase a line and no CI log, and is gone at the end.
Apart from `terminal`, because short commands never need it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection, Iterator
from types import TracebackType
from typing import TypeVar

from workrail_lint.base import terminal
from workrail_lint.base.wording import counted

T = TypeVar("T")

DELAY = 2.0
_EVERY = 0.2
_ERASE = "\r\x1b[K"
_MINUTE, _HOUR = 60, 3_600


def is_watched() -> bool:
    """Return whether somebody sees a line that is written again and again."""
    if os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stderr.isatty()


def tracked(items: Collection[T], noun: str) -> Iterator[T]:
    """Yield the items, and count those that are done."""
    with Progress(len(items), noun) as progress:
        for item in items:
            yield item
            progress.step()


class Progress:
    """A counter of `total` things, each called `noun`.

    With `ticking`, it also shows that time passes while nothing gets done. That takes a thread, so not in a process
    that forks.
    """

    def __init__(self, total: int, noun: str, *, ticking: bool = False) -> None:
        self._total = total
        self._noun = noun
        self._done = 0
        self._start = time.monotonic()
        self._next = self._start + DELAY
        self._is_watched = is_watched()
        self._is_shown = False
        self._ended = threading.Event()
        self._lock = threading.RLock()
        if self._is_watched:
            terminal.erase_progress = self.erase
            if ticking:
                threading.Thread(target=self._tick, daemon=True).start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def step(self, count: int = 1) -> None:
        """Count more as done."""
        self._done += count
        if self._is_watched:
            self._show()

    def close(self) -> None:
        """Erase the line; nothing is shown any more."""
        with self._lock:
            self._ended.set()
            self.erase()
        if self._is_watched:
            terminal.erase_progress = None
            self._is_watched = False

    def erase(self) -> None:
        """Make room for other output. The line comes back with the next step."""
        with self._lock:
            if self._is_shown:
                self._is_shown = False
                self._next = time.monotonic() + _EVERY
                self._write(_ERASE)

    def _tick(self) -> None:
        while not self._ended.wait(_EVERY):
            self._show()

    def _show(self) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        with self._lock:
            if self._ended.is_set():
                return
            self._next = now + _EVERY
            self._is_shown = True
            line = progress_line(self._done, self._total, self._noun, now - self._start)
            self._write(_ERASE + line[: (terminal.columns(sys.stderr) or 80) - 1])

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:  # the terminal is gone, and the work goes on
            self._ended.set()


def progress_line(done: int, total: int, noun: str, seconds: float) -> str:
    """Return how much is done, how fast, and how long the rest takes at that rate."""
    parts = [f"{done} of {counted(total, noun)}"]
    if done > 0 and seconds > 0:
        rate = done / seconds
        parts.append(f"{rate:.0f} per second" if rate >= 2 else f"{rate * _MINUTE:.0f} per minute")
        if done < total:
            parts.append(f"{duration((total - done) / rate)} left")
    else:
        parts.append(f"{duration(seconds)} so far")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a duration as people say it: `4 s`, `2 min 5 s`, `1 h 3 min`."""
    whole = max(1, round(seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
