"""The layout of a JSON text, and the order of its members.

`formatted` writes two spaces for each level, one member or element on a line, a newline at the end; a short list or
object on one line may stay there, as with common formatters. It changes whitespace only. `ordered` puts members in the
order of their schema and changes nothing else.
"""

from __future__ import annotations

import re
from functools import lru_cache

from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.scanner import read_string, skip_value
from workrail_lint.documents.schema.walk import Schema, SchemaWalk

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:]|[^\[\]{}",:\s]++')


class _Value:
    """A value with its place in the text. Members by name, elements in order; nothing for a scalar."""

    __slots__ = ("end", "items", "members", "start")

    def __init__(
        self, start: int, end: int, members: list[tuple[str, _Value]] | None = None, items: list[_Value] | None = None
    ) -> None:
        self.start = start
        self.end = end
        self.members = members  # with the names as they are written
        self.items = items


def restyled(text: str, walk: SchemaWalk | None = None) -> str | None:
    """Return an object in the one style: two spaces for each level; with a walk, members in the order of its schema.

    None for a text that is not sound JSON, or that repeats a member.
    """
    document = read_json(text, max_bytes=None)
    if not document.readable or document.problems or not isinstance(document.value, dict):
        return None
    return formatted(text if walk is None else ordered(text, walk))


def ordered(text: str, walk: SchemaWalk) -> str:
    """Return valid JSON text with known members first, in the order of the schema, then the others as they were."""
    tokens = list(_TOKEN.finditer(text))
    value, _ = _parsed(tokens, 0)
    return text[: value.start] + _Writer(text, walk).written(value, walk.at(())) + text[value.end :]


def _parsed(tokens: list[re.Match[str]], at: int) -> tuple[_Value, int]:
    opening = tokens[at]
    if opening[0] == "{":
        members: list[tuple[str, _Value]] = []
        at += 1
        while tokens[at][0] != "}":
            name = tokens[at][0]
            inner, at = _parsed(tokens, at + 2)
            members.append((name, inner))
            at += tokens[at][0] == ","
        return _Value(opening.start(), tokens[at].end(), members), at + 1
    if opening[0] == "[":
        items: list[_Value] = []
        at += 1
        while tokens[at][0] != "]":
            inner, at = _parsed(tokens, at)
            items.append(inner)
            at += tokens[at][0] == ","
        return _Value(opening.start(), tokens[at].end(), None, items), at + 1
    return _Value(opening.start(), opening.end()), at + 1


class _Writer:
    """Writes values in the order of a schema. What it says about a place is asked once for all objects there."""

    def __init__(self, text: str, walk: SchemaWalk) -> None:
        self._text = text
        self._walk = walk
        self._members: dict[tuple[int, ...], tuple[dict[str, int], dict[str, list[Schema]]]] = {}

    def written(self, value: _Value, schemas: list[Schema]) -> str:
        """Return the text of a value. One in which nothing moves keeps its text, whitespace included."""
        if value.members:
            order, inner = self._members_of(schemas)
            wanted = sorted(value.members, key=lambda member: order.get(member[0], len(order)))
            parts = [self.written(each, inner.get(name, [])) for name, each in wanted]
            if wanted == value.members:
                return _filled(value, self._text, [each for _, each in wanted], parts)
            return "{" + ",\n".join(f"{name}: {part}" for (name, _), part in zip(wanted, parts, strict=True)) + "\n}"
        if value.items:
            below = self._walk.below(schemas)
            return _filled(value, self._text, value.items, [self.written(each, below) for each in value.items])
        return self._text[value.start : value.end]

    def _members_of(self, schemas: list[Schema]) -> tuple[dict[str, int], dict[str, list[Schema]]]:
        """Return the place of each member in the order, and its schemas, by its name as it is written."""
        key = tuple(map(id, schemas))
        if key not in self._members:
            members = {f'"{member.name}"': member.schemas for member in self._walk.members(schemas)}
            self._members[key] = ({name: number for number, name in enumerate(members)}, members)
        return self._members[key]


def _filled(value: _Value, text: str, inner: list[_Value], parts: list[str]) -> str:
    """Return a container with its own text between its values."""
    pieces: list[str] = []
    at = value.start
    for each, part in zip(inner, parts, strict=True):
        pieces += [text[at : each.start], part]
        at = each.end
    return "".join([*pieces, text[at : value.end]])


_WIDTH = 100  # of a list or object on one line
_STRING_ENDS = ('"', '",')
_OPENERS = ('": {', '": [')


def layout_problem(text: str) -> int | None:
    """Return the first line (from 1) of a valid JSON text that is not formatted this way; None if all are.

    Line endings do not matter. This runs for every document, so the most common lines (a string, a member with a
    string, a bracket) are recognized by their ends, without compiling a regular expression.
    """
    plain = _with_newlines(text)
    doubtful = _first_doubt(plain)
    if doubtful is None:
        return None
    first, column = doubtful
    lines = plain.split("\n")
    indent = " " * column
    quote = indent + '"'  # how a line starts on this level
    opened = False  # by the line before
    for number, line in enumerate(lines[first - 1 : -1], first):
        opens: int | None = 0
        if line.startswith(quote):
            if line.endswith(_STRING_ENDS) and _is_strings(line, len(quote)):
                if indent:
                    opened = False
                    continue
            elif line.endswith(_OPENERS) and line.count('"') == 2:
                opens = 1
            else:
                opens = _item(line[len(indent) :])
        elif indent and line.rstrip(",") in (f"{indent[2:]}}}", f"{indent[2:]}]"):
            opens = -1
        elif line.startswith(indent):
            opens = _item(line[len(indent) :])
        else:
            opens = None
        if opens is None or (not indent and opens == 0 and len(line) != 2):
            return number
        if opens:
            if opens < 0 and opened:
                return number - 1  # nothing between the brackets
            indent = indent + "  " if opens > 0 else indent[2:]
            quote = indent + '"'
        opened = bool(opens) and opens > 0
        if not indent and number < len(lines) - 1:
            return number + 1  # the value is complete, so that this is an empty line
    # What follows the last newline is nothing, if there is one.
    return len(lines) if lines[-1] or len(lines) == 1 else None


def _first_doubt(text: str) -> tuple[int, int] | None:
    """Return the first line that may be wrong, and the column it starts at: a quick test. None if all are right.

    Every list or object of strings on one line is doubtful. The text between two strings is one of a few dozen, so
    each of these is analyzed only once.
    """
    if "\\\\" in text:
        return 1, 0  # a quote after it may or may not be escaped
    between = text.replace('\\"', "").split('"')[::2]
    if between[0] != "{\n  " or len(between) < 2:
        return 1, 0
    known: dict[str, tuple[int, int] | None] = {}
    indent = 2
    last = len(between) - 1
    for index, glue in enumerate(between[1:], 1):
        if glue == ": ":
            continue
        move = known.get(glue)
        if move is None or index == last:
            move = known[glue] = _move(glue, index == last)
        if move is None or move[0] != indent or (index == last and move[1]):
            return 1 + "".join(between[:index]).count("\n"), indent
        indent = move[1]
    return None


def _is_hollow(glue: str) -> bool:
    """Return whether a text contains an empty container with whitespace inside, which should be `{}` or `[]`."""
    packed = glue.replace(" ", "").replace("\n", "")
    return packed.count("{}") + packed.count("[]") != glue.count("{}") + glue.count("[]")


@lru_cache(maxsize=1024)
def _move(glue: str, is_last: bool) -> tuple[int, int] | None:
    """Return the columns before and after the text that follows a string, up to the next string or the end.

    None if it is not formatted correctly for any starting column.
    """
    if _is_hollow(glue):
        return None
    rest, *lines = glue.split("\n")
    depth = _item(f'""{rest}')
    if depth is None or not lines or (is_last and lines.pop()):
        return None
    column: int | None = None
    for index, line in enumerate(lines, 1):
        body = line.lstrip(" ")
        opens: int | None = 0
        if index == len(lines) and not is_last:
            if body:
                return None  # the next string must be first on its line
        elif body.rstrip(",") in ("}", "]"):
            depth -= 1
        else:
            opens = _item(body)
        start = len(line) - len(body) - 2 * depth
        if opens is None or (column is not None and start != column):
            return None
        column = start
        depth += opens
    return None if column is None else (column, column + 2 * depth)


def _is_strings(line: str, start: int) -> bool:
    """Return whether a line is one string, or a name and a string, of which the first begins before `start`.

    May say no to a line with escapes that is.
    """
    quotes = line.count('"')
    if quotes > 4 and "\\\\" not in line:
        quotes -= line.count('\\"')
    if quotes == 2:
        return True
    end = line.find('"', start)
    return quotes == 4 and line.startswith('": "', end) and line[end - 1] != "\\"


def _item(body: str) -> int | None:
    """Return how many levels a member or element opens (0 or 1); None unless there is exactly one of them."""
    value = body
    if body[:1] == '"':
        end = _string_end(body)
        if body[end:] in ("", ","):
            return 0
        if body[end : end + 2] != ": ":
            return None
        value = body[end + 2 :]
    if value in ("{", "["):
        return 1
    value = value.removesuffix(",")
    if not value:
        return None
    if value[0] == '"':
        return 0 if _string_end(value) == len(value) else None
    if value[0] in "{[":
        return 0 if _one_line(value) else None
    return None if any(char in value for char in ", \t:]}") else 0


def _string_end(text: str) -> int:
    """Return the offset after the string that a text starts with."""
    end = text.find('"', 1) + 1
    return end if text[end - 2] != "\\" else read_string(text, 0)[1]


def _one_line(value: str) -> bool:
    """Return whether a text is exactly one list or object, short enough for one line."""
    try:
        return len(value) <= _WIDTH and skip_value(value, 0) == len(value)
    except (ValueError, StopIteration):
        return False


def formatted(text: str) -> str:
    """Return valid JSON text in this layout, its line ends kept."""
    newline = "\r\n" if "\r\n" in text else "\n"
    plain = _with_newlines(text)
    lines = _whole_lines(plain)
    if lines is not None:
        return newline.join(lines) + newline
    tokens = [(match.start(), match[0]) for match in _TOKEN.finditer(plain)]
    spans = _containers(tokens)
    out: list[str] = []
    indent = "\n"
    parents: list[bool] = []  # of the open containers, whether each was written on several lines
    index = 0
    while index < len(tokens):
        start, token = tokens[index]
        if token in "{[":
            last, end = spans[index]
            content = plain[start:end]
            on_one_line = "\n" not in content
            if last == index + 1:
                out.append(token + tokens[last][1])
                index = last
            elif on_one_line and parents and not parents[-1] and _one_line(content):
                out.append(content)
                index = last
            else:
                # In a text that is one line as a whole, nothing was put on one line on purpose.
                parents.append(on_one_line)
                indent += "  "
                out.append(token + indent)
        elif token in "}]":
            parents.pop()
            indent = indent[:-2]
            out.append(indent + token)
        elif token == ",":
            out.append("," + indent)
        else:
            out.append(": " if token == ":" else token)
        index += 1
    return ("".join(out) + "\n").replace("\n", newline)


def _whole_lines(text: str) -> list[str] | None:
    """Return the lines of a text in which each has one item already, so that only the space around them can be amiss.

    None for any other text, which has to be taken apart.
    """
    lines: list[str] = []
    indent = ""
    opens: int | None = 0
    for line in text.split("\n"):
        body = line.strip(" \t")
        if not body:
            continue
        if body[0] in "}]":
            if opens or body[1:] not in ("", ","):
                return None  # an empty list or object is closed up
            indent = indent[:-2]
            lines.append(indent + body)
            continue
        opens = 0 if body.startswith('"') and body.endswith(_STRING_ENDS) and _is_strings(body, 1) else _item(body)
        if opens is None or (opens == 0 and (not indent or _has_gap(body))):
            return None
        lines.append(indent + body)
        if opens:
            indent += "  "
    return lines


def _has_gap(body: str) -> bool:
    """Return whether an item may end in an empty list or object with space inside."""
    inside = body.rstrip(",")[:-1]
    return inside[-1:] in (" ", "\t") and inside.rstrip(" \t")[-1:] in ("[", "{")


def _containers(tokens: list[tuple[int, str]]) -> dict[int, tuple[int, int]]:
    """Return the index of the token that closes the container opened by this one, and the offset after that."""
    spans: dict[int, tuple[int, int]] = {}
    opened: list[int] = []
    for index, (start, token) in enumerate(tokens):
        if token in "{[":
            opened.append(index)
        elif token in "}]":
            spans[opened.pop()] = (index, start + 1)
    return spans


def _with_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
