"""Strict JSON to a value, fast when the text is clean.

A clean document goes through the standard library's C scanner once and pays for nothing else. Anything unusual (a
syntax error, a duplicate key, deep nesting) sends the text through the recovering parser, which reports each problem
and keeps all positions. Positions in a clean text are found on demand by skipping siblings with the C scanner.
"""

from __future__ import annotations

from workrail_lint.base import js
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.scanner import loads, read_string, skip_space, skip_value
from workrail_lint.documents.source_text import Problem, SourceText, Span

MAX_BYTES = 1_000_000
MAX_DEPTH = 200
# A text with more problems is probably not JSON, and more messages are noise; for fixing it, more are worthwhile.
FEW_PROBLEMS, MANY_PROBLEMS = 50, 10_000
# The engine's stack ends between 4,000 and 4,500 levels; up to this depth it certainly works.
PARITY_DEPTH = 2_000
_BLANKS = " \t\n\r"


class NumberLexeme:
    """A number as it is spelled in the text."""

    __slots__ = ("end", "lexeme", "pointer", "start", "value")

    def __init__(self, pointer: str, lexeme: str, value: int | float, start: int, end: int) -> None:
        self.pointer = pointer
        self.lexeme = lexeme
        self.value = value
        self.start = start
        self.end = end


class NodeSpan:
    """The place of a value and, for a member, of its name (code point offsets)."""

    __slots__ = ("end", "name", "start")

    def __init__(self, start: int, end: int, name: tuple[int, int] | None = None) -> None:
        self.start = start
        self.end = end
        self.name = name

    def extent(self, on_name: bool = False) -> tuple[int, int]:
        """Return both ends of the value, or of its name if it has one."""
        return self.name if on_name and self.name is not None else (self.start, self.end)


class JsonDocument:
    """A JSON text, its value, and what was wrong with it.

    `value` is meaningful only if `readable` is true; a text with problems that the parser recovers from is readable
    too, so that later findings still appear.
    """

    __slots__ = (
        "_containers",
        "_nodes",
        "_numbers",
        "_objects",
        "is_laid_out",
        "odd_numbers",
        "plain_numbers",
        "problems",
        "readable",
        "source",
        "value",
    )

    def __init__(self, text: str, data: bytes | None = None) -> None:
        self.source = SourceText(text, data)
        self.value: js.Json = None
        self.readable = False
        self.problems: list[Problem] = []
        # True if a number is not written as RFC 8785 writes it.
        self.odd_numbers = False
        # True if every number is known to be an integer of less than 16 digits.
        self.plain_numbers = False
        # True if `json_format` is known to find nothing wrong with the layout, and all lines end in LF.
        self.is_laid_out = False
        self._nodes: dict[str, NodeSpan] | None = None
        self._numbers: list[NumberLexeme] | None = None
        self._objects: list[dict[str, js.Json]] = []  # all that are in the value, if the text is clean
        self._containers: dict[int, _Container] = {}  # those that were looked into, by their start

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def is_plain(self) -> bool:
        """Return whether an ordinary encoder is known to write the value in canonical form."""
        return self.plain_numbers and "".join(set[str]().union(*self._objects)).isascii()

    def node(self, pointer: str) -> NodeSpan | None:
        """Return the offsets of the value at a pointer, or None if there is no such value."""
        if self._nodes is not None:
            return self._nodes.get(pointer)
        text = _without_bom(self.text)
        try:
            place: tuple[int, ...] = (skip_space(text, 0),)
            if not pointer:
                end = len(text.rstrip(_BLANKS)) if self.readable else skip_value(text, place[0])
                return NodeSpan(place[0], end)
            for token in pointers.decode(pointer):
                container = self._containers.get(place[0]) or self._opened(text, place[0])
                place = container.places.get(token) or container.find(text, token)
            start, name = place[0], place[1:]
            return NodeSpan(start, container.end(text, start), (name[0], name[1]) if name else None)
        except (StopIteration, ValueError, IndexError):
            return None

    def _opened(self, text: str, start: int) -> _Container:
        container = self._containers[start] = _Container(text, start, self.is_laid_out)
        return container

    def locate(self, pointer: str, on_name: bool = False) -> Span | None:
        """Return the span of a value, or of its member name."""
        node = self.node(pointer)
        return None if node is None else self.source.span(*node.extent(on_name))

    def numbers(self) -> list[NumberLexeme]:
        """Return every number as written, in document order."""
        if self._numbers is None:
            from workrail_lint.documents.json_recovery import parse  # few rules ask for numbers

            self._numbers = parse(_without_bom(self.text), PARITY_DEPTH).numbers
        return self._numbers


def read_json(
    data: bytes | str, *, parity: bool = False, max_bytes: int | None = MAX_BYTES, most_problems: int = FEW_PROBLEMS
) -> JsonDocument:
    """Read a JSON text. Never raises on bad input: `problems` says what is wrong.

    In parity mode the text is checked as the reference engine would: bad UTF-8 is replaced, and nesting is an error
    only where the engine's stack would end; both are still reported.
    """
    size = len(data) if isinstance(data, bytes) else js.u8_length(data)
    if max_bytes is not None and size > max_bytes and not parity:
        document = JsonDocument("")
        document.problems.append(
            Problem("file-too-large", f"the file has {size:,} bytes; the limit is {max_bytes:,}", 0, 0)
        )
        return document
    text, problem = _decode(data)
    document = JsonDocument(text, data if isinstance(data, bytes) and problem is None else None)
    if problem is not None:
        document.problems.append(problem)
        if not parity:
            return document
    if max_bytes is not None and size > max_bytes:
        document.problems.append(
            Problem(
                "file-too-large",
                f"the file has {size:,} bytes; the engine skips files over {max_bytes:,}",
                0,
                0,
                blocking=False,
            )
        )
    _read_into(document, PARITY_DEPTH if parity else MAX_DEPTH, most_problems)
    return document


def _read_into(document: JsonDocument, max_depth: int, most_problems: int) -> None:
    text = document.text
    if text.startswith("\ufeff"):
        document.problems.append(
            Problem(
                "json-bom", "the file starts with a byte order mark, which JSON does not allow", 0, 1, removes=((0, 1),)
            )
        )
        text = _without_bom(text)
    clean = _read_clean(text, document)
    if clean:
        return
    from workrail_lint.documents.json_recovery import parse  # only for text that is no clean JSON

    parsed = parse(text, max_depth, most_problems)
    document.value = parsed.value
    document.readable = parsed.complete
    document.problems.extend(parsed.problems)
    document.odd_numbers = any(js.number_text(n.value) != n.lexeme for n in parsed.numbers)
    document._nodes = parsed.nodes
    document._numbers = parsed.numbers


def _without_bom(text: str) -> str:
    """Return the text with a leading BOM replaced by a blank, so that all offsets stay the same."""
    return " " + text[1:] if text.startswith("\ufeff") else text


class _Unusual(Exception):  # noqa: N818 - not an error: the signal to use the recovering parser
    """Something that only the recovering parser can describe."""


def _read_clean(text: str, document: JsonDocument) -> bool:
    """Read with the C scanner; False if the recovering parser is needed."""
    odd, plain = False, True

    objects = document._objects
    keep = objects.append

    def members(pairs: list[tuple[str, js.Json]]) -> dict[str, js.Json]:
        result = dict(pairs)
        if len(result) != len(pairs):
            raise _Unusual
        keep(result)
        return result

    def fraction(lexeme: str) -> int | float:
        nonlocal odd, plain
        plain = False
        value = js.number(lexeme)
        odd = odd or js.number_text(value) != lexeme
        return value

    def integer(lexeme: str) -> int | float:
        return int(lexeme) if len(lexeme) < 16 and lexeme != "-0" else fraction(lexeme)

    try:
        value = loads(text, object_pairs_hook=members, parse_int=integer, parse_float=fraction, parse_constant=_reject)
    except (ValueError, RecursionError, _Unusual):
        return False
    if _is_often_in(text, "[", MAX_DEPTH - len(objects)) and deeper_than(value, MAX_DEPTH):
        return False
    document.value = value
    document.readable = True
    document.odd_numbers, document.plain_numbers = odd, plain
    return True


def _reject(_: str) -> js.Json:
    raise _Unusual


def _is_often_in(text: str, bracket: str, most: int) -> bool:
    """Return whether a bracket occurs more than `most` times.

    Few containers can't be deep, and most documents have few.
    """
    at = text.find(bracket) if most >= 0 else 0
    while at >= 0 and most > 0:
        most -= 1
        at = text.find(bracket, at + 1)
    return at >= 0


def deeper_than(value: object, limit: int) -> bool:
    """Return whether containers nest deeper than `limit`, the root being level 1. Level by level, no recursion."""
    level: list[object] = [value]
    for _ in range(limit + 1):
        below: list[object] = []
        is_empty = True
        for item in level:
            if type(item) is str:  # as nearly everything is
                continue
            if type(item) is dict:
                below += item.values()
                is_empty = False
            elif type(item) is list:
                below += item
                is_empty = False
        if is_empty:
            return False
        level = below
    return True


def text_of(data: bytes) -> str:
    """Return the text that is read from some bytes: bad UTF-8 is replaced."""
    return data.decode(errors="replace")


def _decode(data: bytes | str) -> tuple[str, Problem | None]:
    if isinstance(data, str):
        return data, None
    try:
        return data.decode(), None
    except UnicodeDecodeError as error:
        text = data.decode(errors="replace")
        start = len(data[: error.start].decode(errors="replace"))
        return text, Problem("json-invalid-utf8", _utf8_message(data, error.start), start, start + 1)


def _utf8_message(data: bytes, start: int) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in data[:4]:
        return "the file is not UTF-8 (it looks like UTF-16 or UTF-32); save it as UTF-8"
    return f"the file is not UTF-8: invalid byte 0x{data[start]:02x} at offset {start}"


class _Container:
    """An object or array of a clean text: where its contents start, as far as it was searched.

    Many places are neighbours, so the search goes on where the one before ended.
    """

    __slots__ = ("_at", "_close", "_count", "_is_object", "_line", "_start", "places")

    def __init__(self, text: str, start: int, is_laid_out: bool) -> None:
        if text[start] not in "{[":
            raise ValueError(start)
        self._is_object = text[start] == "{"
        self._start = self._at = start  # then of the value found last, which is skipped if the search goes on
        self._count = 0  # of the values up to there
        # How each line of the contents begins, if each value is known to have its own lines.
        has_lines = is_laid_out and text.startswith("\n", start + 1)
        self._line = text[start + 1 : skip_space(text, start + 1)] if has_lines else ""
        self._close: int | None = None  # where the last of them ends, if it was searched for
        self.places: dict[str, tuple[int, ...]] = {}  # by name or index: the value, and both ends of the name

    def find(self, text: str, token: str) -> tuple[int, ...]:
        """Return the offset of a member or element; of a member also both ends of its name.

        Raises ValueError if not there.
        """
        places, at = self.places, self._at
        if self._line and self._is_object and "\\" not in token:
            # By its line, as strings have no line breaks and what is below has more indentation. The root ends last.
            if self._close is None:
                outside = self._line[:-2]
                self._close = len(text) if outside == "\n" else text.find(f"{outside}}}", self._start)
            line = f'{self._line}"{token}": '
            start = text.find(line, self._start, self._close)
            if start >= 0:
                end = start + len(line)
                places[token] = end, start + len(self._line), end - 2
        while token not in places:
            if self._count:
                at = self.end(text, at)
                at = at if text[at] == "," else skip_space(text, at)
                if text[at] != ",":
                    raise ValueError(token)
            start = at + 1 + len(self._line) if self._line else skip_space(text, at + 1)
            if text[start] in "]}":
                raise ValueError(token)
            if self._is_object:
                name, end = read_string(text, start)
                # The usual form: a colon, a blank, the value.
                is_usual = text.startswith(": ", end) and text[end + 2] not in _BLANKS
                at = end + 2 if is_usual else skip_space(text, skip_space(text, end) + 1)
                places[name] = at, start, end
            else:
                at = start
                places[str(self._count)] = (at,)
            self._at = at
            self._count += 1
        return places[token]

    def end(self, text: str, at: int) -> int:
        """Return the offset after a value. In a laid-out text it ends where its line does, or its last line."""
        if not self._line:
            return skip_value(text, at)
        if text.startswith(_OPENING, at):
            closing = f"{self._line}{'}' if text[at] == '{' else ']'}"
            return text.index(closing, at) + len(closing)
        end = text.index("\n", at)
        return end - 1 if text[end - 1] == "," else end


_OPENING = ("{\n", "[\n")
