"""What a terminal can do with a report: colours, links, a width. A file or a pipe gets none of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple, TextIO

from workrail_lint.base.terminal import uses_colour

_WIDTH = 100
_WIDEST = 160


class Terminal(NamedTuple):
    """The arguments of `ReportData` that depend on where the output goes."""

    colour: bool
    link: Callable[[str], str] | None
    width: int


def terminal_of(stream: TextIO | None) -> Terminal:
    """What the stream can show; None means a file."""
    if stream is None or not stream.isatty():
        return Terminal(stream is not None and uses_colour(stream), None, _WIDTH)
    colour = uses_colour(stream)
    return Terminal(colour, file_address if colour else None, min(_WIDEST, _columns(stream)))


def _columns(stream: TextIO) -> int:
    try:
        return int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(stream.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


def file_address(path: str) -> str:
    """The address of a file, without anything that a terminal could interpret as a command."""
    from urllib.parse import quote

    absolute = os.path.abspath(path).replace(os.sep, "/")
    return "file://" + quote(os.fsencode(absolute if absolute.startswith("/") else f"/{absolute}"))
