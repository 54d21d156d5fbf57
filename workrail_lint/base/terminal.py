"""Writing to people: results on stdout, remarks about the run on stderr, colours only on a terminal.

Everything goes through `neutral` on its way out: whatever a document holds, a terminal or a CI log takes none of it for
a command. Text of a document that could hold a line break goes through `printable` before it becomes part of a line;
`one_line`, `shown_path` and `json_text` make it harmless for logs and web pages.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

from workrail_lint.base.patterns import Pattern

_LONGEST = 4_000


def one_line(text: str) -> str:
    """Return text as one line without control characters, escape sequences or orders to a CI service."""
    cut = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    line = printable(cut)
    return LOG_COMMAND.sub(r"#\\u0023", line) if "##" in line else line


def shown_path(path: str) -> str:
    """Return a path at the start of a line, where `::` would begin a workflow command."""
    text = one_line(path)
    return f"./{text}" if text.lstrip().startswith("::") else text


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return JSON in ASCII that stays what it is in a log or a web page, and that strict parsers accept."""
    text = json.dumps(_well_formed(value), indent=indent)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return LOG_COMMAND.sub(r"#\\u0023", text)


def _well_formed(value: Any) -> Any:
    """Return the value with surrogates paired, or replaced where they stand alone: no other text can hold them."""
    match value:
        case str():
            if value.isascii():
                return value
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case dict():
            return {_well_formed(name): _well_formed(item) for name, item in value.items()}
        case list() | tuple():
            return [_well_formed(item) for item in value]
        case _:
            return value


# CI services take `##[command]`, `##vso[...]` and the like for commands, anywhere in a line.
LOG_COMMAND = Pattern(r"##(?=\w*\[)")
# What `Style` and the links of a report make, and nothing else that a terminal obeys.
_STYLING = Pattern(r"(\x1b\[[0-9;]*m|\x1b\]8;;[!-~]*\x1b\\)")


def out(text: str, end: str = "\n", *, commands: bool = False) -> None:
    """Print a result. What the terminal's encoding can't show is escaped, never a crash.

    With `commands`, a line may be one for the CI service.
    """
    _write(sys.stdout, neutral(text + end, styled=uses_colour(sys.stdout), commands=commands))


def err(text: str) -> None:
    """Print a remark about the run on stderr."""
    _write(sys.stderr, neutral(text + "\n", styled=uses_colour(sys.stderr)))


def neutral(text: str, *, styled: bool = False, commands: bool = False) -> str:
    """Return lines that no terminal and no CI service takes for anything but text. JSON stays what it is."""
    return "\n".join(_neutral_line(line, styled, commands) for line in text.split("\n"))


def _neutral_line(line: str, styled: bool, commands: bool) -> str:
    if not line.isprintable():
        parts = _STYLING.split(line) if styled else [line]
        # Every second part is one of ours.
        line = "".join(part if at % 2 else _visible(part) for at, part in enumerate(parts))
    if "##" in line:
        line = LOG_COMMAND.sub(r"#\\u0023", line)
    if "::" in line and not commands and line.lstrip().startswith("::"):
        line = line.replace(":", "\\u003a", 1)
    return line


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\t" else _escaped(c) for c in text)


# What makes room where `progress` shows how far a command is.
erase_progress: Callable[[], None] | None = None


def _write(stream: TextIO, text: str) -> None:
    if erase_progress is not None:
        erase_progress()
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def out_json(value: Any, indent: int | None = None) -> None:
    """Print a JSON value: readable if the encoding there has all its characters, else with JSON's escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    out(text)


def out_bytes(data: bytes) -> None:
    """Print exactly these bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def printable(text: str) -> str:
    """Return text from a document made harmless for a terminal or a CI log: no control characters, one line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def uses_colour(stream: TextIO | None = None) -> bool:
    """Return whether to use colours: on a terminal that has them, unless NO_COLOR is set."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    target = sys.stdout if stream is None else stream
    return target.isatty() and os.environ.get("TERM") != "dumb"


def columns(stream: TextIO) -> int | None:
    """Return how wide a terminal is; None for a file or a pipe, and where nobody knows."""
    if not stream.isatty():
        return None
    try:
        return int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


class Style:
    """Colour names that vanish when the output is no terminal."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __call__(self, text: str, *names: str) -> str:
        if not self.enabled or not names:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"
