"""JSON Lines to values with positions: one JSON text per line, each read and checked separately.

Pointers start with the index of the line, including blank lines: `/0/answer` is a member of the first line's object.
"""

from __future__ import annotations

from workrail_lint.base import js
from workrail_lint.documents.json_reader import MAX_BYTES, read_json
from workrail_lint.documents.source_text import Problem, SourceText, Span, decoded

# After a duplicate key there is still a value; after any other problem the value is a guess.
_REPEATED = "json-duplicate-key"


class JsonlLine:
    """One line: where it starts, its text without the line end, and what was read from it.

    `document` is None for a blank line; `value` is None for a line that is blank or not JSON.
    """

    __slots__ = ("document", "index", "start", "text", "value")

    def __init__(self, index: int, start: int, text: str) -> None:
        self.index = index
        self.start = start
        self.text = text
        document = self.document = None if js.is_blank(text) else read_json(text, max_bytes=None)
        is_sound = document is not None and document.readable
        if document is not None and any(problem.name != _REPEATED for problem in document.problems):
            is_sound = False
        self.value: js.Json = document.value if document is not None and is_sound else None

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_blank(self) -> bool:
        return self.document is None


class JsonlDocument:
    """A JSON Lines text and its lines. `readable` is false only if the file can't be decoded."""

    __slots__ = ("lines", "problems", "readable", "source")

    def __init__(self, text: str) -> None:
        self.source = SourceText(text)
        self.readable = False
        self.problems: list[Problem] = []
        self.lines: list[JsonlLine] = []

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def value(self) -> list[js.Json]:
        return [line.value for line in self.lines]

    @property
    def ends_with_newline(self) -> bool:
        return not self.text or self.text.endswith("\n")

    def locate(self, pointer: str, on_name: bool = False) -> Span | None:
        """Return the span of a line, or of a value on it."""
        token, _, rest = pointer[1:].partition("/")
        if not token.isdigit() or int(token) >= len(self.lines):
            return self.source.span(0, 0) if not pointer else None
        line = self.lines[int(token)]
        node = line.document.node(f"/{rest}") if rest and line.document is not None else None
        if node is None:
            return None if rest else self.source.span(line.start, line.end)
        start, end = node.extent(on_name)
        return self.source.span(line.start + start, line.start + end)


def read_jsonl(data: bytes | str, *, max_bytes: int | None = MAX_BYTES) -> JsonlDocument:
    """Read a JSON Lines text. Never raises on bad input.

    `problems` are those of the whole text; the problems of a line are in that line's document.
    """
    text, problem = decoded(data, "jsonl", max_bytes)
    document = JsonlDocument(text)
    if problem is not None:
        document.problems.append(problem)
        return document
    start = 0
    for index, line in enumerate(_lines(text)):
        content = line.removesuffix("\r")
        # A byte order mark is not part of the first line; the caller reports it.
        if index == 0 and content.startswith("\ufeff"):
            content = " " + content[1:]
        document.lines.append(JsonlLine(index, start, content))
        start += len(line) + 1
    document.readable = True
    return document


def _lines(text: str) -> list[str]:
    """Return the lines between line feeds; the empty rest after the last one does not count."""
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines
