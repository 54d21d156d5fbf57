"""The places of keys, and of the entries of an array of tables, in a TOML text: the standard library gives none.

The text should be valid TOML; what follows a mistake is not seen. An array of tables is written as `[[a.b]]` headers or
as an inline array, with any spelling of its path (dotted keys, quoted keys, inline tables).
"""

from __future__ import annotations

import tomllib
from typing import NamedTuple

from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.toml_reader import MAX_KEY_PARTS

Path = tuple[str, ...]
Place = tuple[int, int]

_BLANK = Pattern(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = Pattern(r"[ \t]*")
_BARE = Pattern(r"[A-Za-z0-9_-]+")
# Multi-line strings first: their quotes start like those of an empty string. Up to two quotes may precede the end.
_STRING = Pattern(
    "|".join(
        (
            r'"""(?:[^"\\]|\\(?:.|\n)|""?(?!"))*"{3,5}',
            r"'''(?:[^']|''?(?!'))*'{3,5}",
            r'"(?:[^"\\\n]|\\.)*"',
            r"'[^'\n]*'",
        )
    )
)
_SCALAR = Pattern(r"[^\s,\]}#]+(?: [0-9][^\s,\]}#]*)?")  # a date and its time may have a space between them


def table_places(text: str, path: Path) -> list[Place]:
    """Return the extent of each entry's head: its `[[header]]`, or the inline table itself. Empty if there is none."""
    scan = _Scan(text, path)
    return scan.places if scan.is_complete else []


class Key(NamedTuple):
    """A key with its value, or the head of a table, which is its own value."""

    path: Path
    name: Place
    value: Place

    @property
    def is_head(self) -> bool:
        return self.name == self.value


def keys_of(text: str) -> list[Key]:
    """Return the keys and heads of a text in order, those of inline tables after the key that holds them."""
    return sorted(_Scan(text, ()).keys, key=lambda key: key.name)


class _Scan:
    """One pass over a text, collecting its keys, and the entries of the array at a path."""

    def __init__(self, text: str, path: Path) -> None:
        self.places: list[Place] = []
        self.keys: list[Key] = []
        self.is_complete = True
        self._text = text
        self._path = path
        self._at = 0
        try:
            self._scan()
        except (ValueError, RecursionError):
            self.is_complete = False

    def _scan(self) -> None:
        table: Path = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            before = self._at
            if self._text.startswith("[", self._at):
                table = self._header()
            else:
                self._member(table)
            self._skip(_BLANK)
            if self._at == before:
                raise ValueError(before)

    def _header(self) -> Path:
        start = self._at
        brackets = 2 if self._text.startswith("[[", start) else 1
        self._at += brackets
        path = self._key()
        self._at += brackets
        if brackets == 2 and path == self._path:
            self.places.append((start, self._at))
        self.keys.append(Key(path, (start, self._at), (start, self._at)))
        return path

    def _member(self, table: Path) -> None:
        start = self._at
        path = table + self._key()
        end = start + len(self._text[start : self._at].rstrip())
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        value = self._at
        self._value(path)
        self.keys.append(Key(path, (start, end), (value, self._at)))

    def _key(self) -> Path:
        parts: list[str] = []
        while True:
            self._skip(_SPACE)
            quoted = _STRING.match(self._text, self._at)
            match = quoted or _BARE.match(self._text, self._at)
            if match is None or len(parts) == MAX_KEY_PARTS:
                raise ValueError(self._at)
            parts.append(_unquoted(match.group()) if quoted else match.group())
            self._at = match.end()
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return tuple(parts)
            self._at += 1

    def _value(self, path: Path) -> None:
        match self._text[self._at : self._at + 1]:
            case "[":
                self._items(path)
            case "{":
                self._inline(path)
            case _:
                match = _STRING.match(self._text, self._at) or _SCALAR.match(self._text, self._at)
                if match is None:
                    raise ValueError(self._at)
                self._at = match.end()

    def _items(self, path: Path) -> None:
        self._at += 1
        self._skip(_BLANK)
        while not self._text.startswith("]", self._at):
            start = self._at
            self._value((*path, ""))
            if path == self._path:
                self.places.append((start, self._at))
            self._skip(_BLANK)
            if self._text.startswith(",", self._at):
                self._at += 1
                self._skip(_BLANK)
        self._at += 1

    def _inline(self, table: Path) -> None:
        self._at += 1
        self._skip(_BLANK)
        while not self._text.startswith("}", self._at):
            self._member(table)
            self._skip(_BLANK)
            if self._text.startswith(",", self._at):
                self._at += 1
                self._skip(_BLANK)
        self._at += 1

    def _skip(self, pattern: Pattern) -> None:
        match = pattern.match(self._text, self._at)
        self._at = self._at if match is None else match.end()


def _unquoted(text: str) -> str:
    return str(tomllib.loads(f"key = {text}")["key"])
