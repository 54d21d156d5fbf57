"""Where a cursor is in a YAML text that need not be valid, judged by the indentation of the lines before it."""

from __future__ import annotations

import re

from workrail_lint.server.place import Place

_KEY = re.compile(r"""("[^"\n]*"|'[^'\n]*'|[\w$./-]+)[ \t]*:(?=\s|$)[ \t]*""")
_DASH = re.compile(r"-(?:[ \t]+|$)")


class _Frame:
    """A key or the number of an item, at a column."""

    def __init__(self, column: int, token: str, is_item: bool) -> None:
        self.column = column
        self.token = token
        self.is_item = is_item


def yaml_place(text: str, offset: int) -> Place:
    """The place of a cursor. A word that may yet become a key is a name."""
    frames: list[_Frame] = []
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


def _take(frames: list[_Frame], line: str) -> None:
    if not line.strip() or line.lstrip().startswith("#"):
        return
    at = _dashes(frames, line)
    key = _KEY.match(line, at)
    if key is not None:
        _put(frames, at, _bare(key[1]))


def _dashes(frames: list[_Frame], line: str) -> int:
    """Count the items that a line begins; returns the column of what follows them."""
    at = len(line) - len(line.lstrip(" "))
    while dash := _DASH.match(line, at):
        while frames and frames[-1].column > at:
            frames.pop()
        if frames and frames[-1].is_item and frames[-1].column == at:
            frames[-1].token = str(int(frames[-1].token) + 1)
        else:
            frames.append(_Frame(at, "0", True))
        at = dash.end()
    return at


def _leave(frames: list[_Frame], column: int) -> None:
    while frames and frames[-1].column >= column:
        frames.pop()


def _put(frames: list[_Frame], column: int, name: str) -> None:
    _leave(frames, column)
    frames.append(_Frame(column, name, False))


def _bare(key: str) -> str:
    return key.strip("\"'")
