"""Where a cursor is in a text that need not be valid: the pointer, and whether a name or a value is typed.

In YAML the indentation of the lines before it decides.
"""

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
    """Return the place of a cursor."""
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
    """Return the names of the object around a cursor, without the one that is being typed."""
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
    """Return where each code point of a JSON string, and its end, begins in the literal with its quotes."""
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


_KEY = re.compile(r"""("[^"\n]*"|'[^'\n]*'|[\w$./-]+)[ \t]*:(?=\s|$)[ \t]*""")
_DASH = re.compile(r"-(?:[ \t]+|$)")


class _YamlFrame:
    """A key or the number of an item, at a column."""

    def __init__(self, column: int, token: str, is_item: bool) -> None:
        self.column = column
        self.token = token
        self.is_item = is_item


def yaml_place(text: str, offset: int) -> Place:
    """Return the place of a cursor. A word that may yet become a key is a name."""
    frames: list[_YamlFrame] = []
    start = text.rfind("\n", 0, offset) + 1
    for line in text[:start].splitlines():
        _take(frames, line)
    end = text.find("\n", offset)
    line = text[start : len(text) if end < 0 else end].rstrip("\r")
    column = offset - start
    at = _dashes(frames, line)
    key = _KEY.match(line, at)
    if key is not None and column > key.end(1):
        _put(frames, at, _bare(key[1]))
        tokens = tuple(frame.token for frame in frames)
        begin, finish = key.end(), len(line.rstrip())
        if line.startswith("[", begin) and column > begin:
            before = line.rfind(",", begin, column)
            tokens = (*tokens, str(line.count(",", begin, column)))
            begin = (before if before > 0 else begin) + 1
            begin += len(line[begin:column]) - len(line[begin:column].lstrip())
            finish = begin + len(re.match(r"[^,\]]*", line[begin:])[0].rstrip())  # type: ignore[index]
        value = line[begin:finish]
        is_quoted = value[:1] in ('"', "'")
        inner = value[1:].removesuffix(value[0]) if is_quoted else value
        begin += start + is_quoted
        return Place(tokens, False, begin, max(begin + len(inner), offset), is_quoted, text[begin:offset])
    _leave(frames, at)
    tokens = tuple(frame.token for frame in frames)
    word_end = key.end(1) if key is not None else len(line.rstrip())
    is_quoted = line[at : at + 1] in "\"'" and at < len(line)
    begin = start + at + is_quoted
    finish = max(begin, start + word_end - is_quoted)
    return Place(tokens, True, min(begin, offset), max(finish, offset), is_quoted, text[begin:offset])


def _take(frames: list[_YamlFrame], line: str) -> None:
    if not line.strip() or line.lstrip().startswith("#"):
        return
    at = _dashes(frames, line)
    key = _KEY.match(line, at)
    if key is not None:
        _put(frames, at, _bare(key[1]))


def _dashes(frames: list[_YamlFrame], line: str) -> int:
    """Count the items that a line begins; returns the column of what follows them."""
    at = len(line) - len(line.lstrip(" "))
    while dash := _DASH.match(line, at):
        while frames and frames[-1].column > at:
            frames.pop()
        if frames and frames[-1].is_item and frames[-1].column == at:
            frames[-1].token = str(int(frames[-1].token) + 1)
        else:
            frames.append(_YamlFrame(at, "0", True))
        at = dash.end()
    return at


def _leave(frames: list[_YamlFrame], column: int) -> None:
    while frames and frames[-1].column >= column:
        frames.pop()


def _put(frames: list[_YamlFrame], column: int, name: str) -> None:
    _leave(frames, column)
    frames.append(_YamlFrame(column, name, False))


def _bare(key: str) -> str:
    return key.strip("\"'")
