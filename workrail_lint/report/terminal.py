"""What a terminal can do with a report: colours, links, a width. A file or a pipe gets none of it."""

from __future__ import annotations

import os
import shutil
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
    width = min(_WIDEST, shutil.get_terminal_size((_WIDTH, 24)).columns)
    return Terminal(colour, file_address if colour else None, width)


def file_address(path: str) -> str:
    """The address of a file, without anything that a terminal could interpret as a command."""
    from urllib.parse import quote

    absolute = os.path.abspath(path).replace(os.sep, "/")
    return "file://" + quote(os.fsencode(absolute if absolute.startswith("/") else f"/{absolute}"))
