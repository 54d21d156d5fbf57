"""Where a cursor is in a JSON text that need not be valid: the pointer, and whether a name or a value is typed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

# A string ends at its quote or, while it is being typed, at the end of the line.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"]++')


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a document. `start` and `end` enclose what is typed there, quotes left out."""

    tokens: tuple[str, ...]  # of the value; for a name those of its object
    is_name: bool
    start: int
    end: int
    in_string: bool
    prefix: str  # what is typed before the cursor


@dataclass(slots=True)
class _Frame:
    is_object: bool
    key: str = ""
    index: int = 0
    awaits: str = field(default="name")  # name, colon, value, comma

    @property
    def token(self) -> str:
        return self.key if self.is_object else str(self.index)


def place_at(text: str, offset: int) -> Place:
    """The place of a cursor."""
    frames: list[_Frame] = []
    for match in _TOKEN.finditer(text):
        if match.start() >= offset:
            break
        token = match[0]
        is_open = token[0] == '"' and (len(token) == 1 or token[-1] != '"')
        inside = offset < match.end() or (offset == match.end() and (is_open or token[0] not in '"{}[],:'))
        top = frames[-1] if frames else None
        if token[0] == '"':
            # A string that was not closed may have taken the comma with it.
            is_name = top is not None and top.is_object and top.awaits in ("name", "comma")
            if inside:
                end = match.end() - (0 if is_open else 1)
                return _made(frames, is_name, match.start() + 1, end, True, text[match.start() + 1 : offset])
            if top is not None and is_name:
                top.key, top.awaits = _decoded(token), "colon"
            elif top is not None:
                top.awaits = "comma"
        elif token in "{[":
            frames.append(_Frame(token == "{", awaits="name" if token == "{" else "value"))
        elif token in "}]":
            if frames:
                frames.pop()
            if frames:
                frames[-1].awaits = "comma"
        elif token == ",":
            if top is not None:
                top.index += 1
                top.awaits = "name" if top.is_object else "value"
        elif token == ":":
            if top is not None:
                top.awaits = "value"
        elif inside:
            is_name = top is not None and top.is_object and top.awaits == "name"
            return _made(frames, is_name, match.start(), match.end(), False, text[match.start() : offset])
        elif top is not None:
            top.awaits = "comma"
    top = frames[-1] if frames else None
    is_name = top is not None and top.is_object and top.awaits in ("name", "comma")
    return _made(frames, is_name, offset, offset, False, "")


def siblings(text: str, offset: int) -> set[str]:
    """The names of the object around a cursor, without the one that is being typed."""
    levels: list[set[str]] = [set()]
    beyond = 0  # containers that were opened behind the cursor
    name: str | None = None  # a string that is one if a colon follows
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in ("{", "["):
            beyond += match.start() >= offset
            levels.append(set())
        elif token in ("}", "]"):
            if match.start() >= offset:
                if not beyond:
                    return levels[-1]
                beyond -= 1
            if len(levels) > 1:
                levels.pop()
        elif token == ":" and name is not None:
            levels[-1].add(name)
        name = _decoded(token) if token[0] == '"' and not match.start() <= offset <= match.end() else None
    return levels[-1] if not beyond else set()


def _made(frames: list[_Frame], is_name: bool, start: int, end: int, in_string: bool, prefix: str) -> Place:
    inner = frames[:-1] if is_name else frames
    return Place(tuple(frame.token for frame in inner), is_name, start, end, in_string, prefix)


def _decoded(token: str) -> str:
    try:
        return str(json.loads(token))
    except ValueError:
        return token.strip('"')


def raw_offsets(literal: str) -> list[int]:
    """For each code point of a JSON string, and for its end, where it begins in the literal with its quotes."""
    offsets: list[int] = []
    at, end = 1, len(literal) - 1
    while at < end:
        offsets.append(at)
        if literal[at] != "\\":
            at += 1
        elif literal[at + 1] != "u":
            at += 2
        else:
            high = int(literal[at + 2 : at + 6], 16)
            pair = 0xD800 <= high < 0xDC00 and literal[at + 6 : at + 8] == "\\u"
            at += 12 if pair and 0xDC00 <= int(literal[at + 8 : at + 12], 16) < 0xE000 else 6
    return [*offsets, end]
