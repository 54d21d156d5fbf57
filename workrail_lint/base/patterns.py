"""Regular expressions that are compiled when they are first used.

Compiling the patterns of all modules would cost a clean run more than reading its file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import cached_property

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "split")


class Pattern:
    """A pattern by its source; the methods are those of a compiled one."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self.source = source
        self.flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        result = re.compile(self.source, self.flags)
        # From now on the methods are those of the compiled pattern itself.
        self.__dict__.update({name: getattr(result, name) for name in _METHODS})
        return result

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        return self.compiled.search(text, start, end)

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        return self.compiled.match(text, start, end)

    def fullmatch(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        return self.compiled.fullmatch(text, start, end)

    def finditer(self, text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[re.Match[str]]:
        return self.compiled.finditer(text, start, end)

    def findall(self, text: str) -> list[str]:
        return self.compiled.findall(text)

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        return self.compiled.sub(replacement, text)

    def split(self, text: str) -> list[str]:
        return self.compiled.split(text)


def folded(text: str) -> str:
    """Return a text in lower case, with the letters that a pattern takes for one another."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    return lowered.replace("i\u0307", "i").replace("\u0131", "i").replace("\u017f", "s")
