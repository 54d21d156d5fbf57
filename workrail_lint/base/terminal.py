"""Writing to people: results on stdout, remarks about the run on stderr, colours only on a terminal."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, TextIO


def out(text: str, end: str = "\n") -> None:
    """A result on stdout. What the terminal's encoding can't show is escaped, never a crash."""
    _write(sys.stdout, text + end)


def err(text: str) -> None:
    """A remark about the run on stderr."""
    _write(sys.stderr, text + "\n")


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def out_json(value: Any, indent: int | None = None) -> None:
    """A JSON value on stdout: readable if the encoding there has all its characters, else with JSON's escapes."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    out(text)


def out_bytes(data: bytes) -> None:
    """Exact bytes on stdout."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def printable(text: str) -> str:
    """Text from a document made harmless for a terminal or a CI log: no control characters, one line."""
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def uses_colour(stream: TextIO | None = None) -> bool:
    """Colours on a terminal, unless NO_COLOR is set or the terminal can't."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    target = sys.stdout if stream is None else stream
    return target.isatty() and os.environ.get("TERM") != "dumb"


_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


class Style:
    """Colour names that vanish when the output is no terminal."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __call__(self, text: str, *names: str) -> str:
        if not self.enabled or not names:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"


class Progress:
    """A counter on stderr that appears only when the work takes long and somebody is watching."""

    def __init__(self, total: int, label: str, delay: float = 1.0) -> None:
        self.total = total
        self.label = label
        self.shown = False
        self.next = time.monotonic() + delay
        self.watched = sys.stderr.isatty()

    def step(self, done: int) -> None:
        if not self.watched or time.monotonic() < self.next:
            return
        self.shown = True
        self.next = time.monotonic() + 0.2
        sys.stderr.write(f"\r{self.label} {done}/{self.total}")
        sys.stderr.flush()

    def close(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
