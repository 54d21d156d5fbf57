"""YAML to a JSON-like value with positions, without the ambiguous and dangerous parts of YAML.

PyYAML parses; this module builds the value from its events on an explicit stack, so that nothing can explode (aliases
are reported, and copy only plain parts, within a budget), nothing can run (tags are rejected) and nothing can recurse.
Plain scalars have the meaning of the YAML 1.2 core schema; a scalar that YAML 1.1 reads differently is reported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.json_reader import MAX_BYTES, MAX_DEPTH, NodeSpan
from workrail_lint.documents.source_text import Problem, SourceText, Span, decoded

if TYPE_CHECKING:
    import yaml


_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_RADIX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NON_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

# YAML 1.1, as it is still read by most tools.
_OLD_BOOLEAN = re.compile(r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF")
_OLD_INTEGER = re.compile(r"[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)")
_OLD_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?"
    r"|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*"
)
_OLD_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?"
)
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")


class Ambiguity(NamedTuple):
    """A scalar that YAML readers understand differently: its name, the readings, and the fix."""

    name: str
    readings: str
    remedy: str


def plain_value(text: str) -> js.Json:
    """Return the value of a scalar without quotes. A number that JSON does not have stays a string."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    number = _number(text)
    return text if number is None or math.isinf(number) else number


def is_non_finite(text: str) -> bool:
    """Return whether this is a number that JSON does not have, by name or by size."""
    if _NON_FINITE.fullmatch(text):
        return True
    number = _number(text)
    return number is not None and math.isinf(number)


def _number(text: str) -> int | float | None:
    if _RADIX.fullmatch(text):
        value = js.to_number(int(text[2:], 8 if text[1] == "o" else 16))
        return int(value) if value <= js.MAX_SAFE_INTEGER else value
    if _INTEGER.fullmatch(text) or _FLOAT.fullmatch(text):
        return js.number(text)
    return None


def ambiguity(text: str) -> Ambiguity | None:
    """Return what to say about a plain scalar that YAML 1.1 and YAML 1.2 read differently."""
    if _OLD_BOOLEAN.fullmatch(text):
        return Ambiguity(
            "yaml-ambiguous-boolean",
            "a string, but a boolean for YAML 1.1 readers",
            "quote it, or write `true` or `false`",
        )
    if _OLD_DATE.fullmatch(text):
        return Ambiguity("yaml-ambiguous-date", "a string, but a date for YAML 1.1 readers", "quote it")
    old_integer = _OLD_INTEGER.fullmatch(text) is not None
    old_float = _OLD_FLOAT.fullmatch(text) is not None
    if _number(text) is None:
        readings = "a string, but a number for YAML 1.1 readers" if old_integer or old_float else None
    elif old_integer and _LEADING_ZERO.fullmatch(text):
        readings = "a decimal number, but an octal one for YAML 1.1 readers"
    else:
        readings = None if old_integer or old_float else "a number, but a string for YAML 1.1 readers"
    if readings is None:
        return None
    return Ambiguity("yaml-ambiguous-number", readings, "quote it, or write the number in plain decimal digits")


# Line breaks for YAML 1.1, and so for PyYAML, which folds them away; ordinary characters for YAML 1.2.
_OLD_BREAK = re.compile("[\x85\u2028\u2029]")
_SHOWN = 60
# How many values all aliases of a file may copy together.
_MOST_REPEATED = 10_000
_TAG = re.compile(r"!\S*")
_TEXT_TAG = "tag:yaml.org,2002:str"
_SURROGATE = re.compile("[\ud800-\udfff]")


class YamlDocument:
    """A YAML text, its value, and what was wrong with it.

    `value` is meaningful only if `readable` is true. The reader skips rejected parts where possible: a tag is ignored,
    a merge key and a key that is a collection are left out, and only the first of several documents counts. An alias
    has the value it repeats, or null if that is unknown, contains aliases, or would make the document far larger than
    its text.
    """

    __slots__ = ("_nodes", "problems", "readable", "source", "value")

    def __init__(self, text: str) -> None:
        self.source = SourceText(text)
        self.value: js.Json = None
        self.readable = False
        self.problems: list[Problem] = []
        self._nodes: dict[str, NodeSpan] = {}

    @property
    def text(self) -> str:
        return self.source.text

    def node(self, pointer: str) -> NodeSpan | None:
        """Return the offsets of the value at a pointer, or None if there is no such value."""
        return self._nodes.get(pointer)

    def locate(self, pointer: str, on_name: bool = False) -> Span | None:
        """Return the span of a value, or of its key."""
        node = self._nodes.get(pointer)
        return None if node is None else self.source.span(*node.extent(on_name))


def read_yaml(data: bytes | str, *, max_bytes: int | None = MAX_BYTES) -> YamlDocument:
    """Read a YAML text. Never raises on bad input: `problems` says what is wrong, in text order."""
    text, problem = decoded(data, "yaml", max_bytes)
    document = YamlDocument(text)
    if problem is not None:
        document.problems.append(problem)
        return document
    _Builder(document).read()
    document.problems.sort(key=lambda problem: (problem.start, problem.end))
    return document


class _Part(NamedTuple):
    """A finished value that an anchor marks."""

    value: js.Json
    size: int  # how many values it contains, including itself
    height: int  # how many collections are nested


class _Frame:
    """A collection that is still open."""

    __slots__ = (
        "anchor",
        "container",
        "end",
        "has_alias",
        "height",
        "key",
        "key_span",
        "names",
        "pointer",
        "size",
        "start",
        "wants_key",
    )

    def __init__(self, container: Any, pointer: str | None, start: int, anchor: str | None) -> None:
        self.container = container
        self.anchor = anchor
        self.size = 1
        self.height = 1
        self.has_alias = False
        # None below a rejected part, which has no place in the value.
        self.pointer = pointer
        self.start = start
        self.end = start
        self.wants_key = isinstance(container, dict)
        # The key whose value comes next; None for one that is left out.
        self.key: str | None = None
        self.key_span = (start, start)
        self.names: dict[str, int] = {}

    def next_pointer(self) -> str | None:
        """Return the place of the value that comes next."""
        if self.pointer is None:
            return None
        if isinstance(self.container, list):
            return pointers.child(self.pointer, len(self.container))
        return None if self.wants_key or self.key is None else pointers.child(self.pointer, self.key)


class _Builder:
    """Builds the value from the events of one text."""

    __slots__ = ("_document", "_parts", "_repeated", "_stack", "_text")

    def __init__(self, document: YamlDocument) -> None:
        self._document = document
        self._text = document.text
        self._stack: list[_Frame] = []
        # By anchor; None while a part is open, and for one that may not be repeated.
        self._parts: dict[str, _Part | None] = {}
        self._repeated = 0

    def read(self) -> None:
        import yaml

        for match in _OLD_BREAK.finditer(self._text):
            self._report(
                "yaml-ambiguous-line-break",
                f"U+{ord(match[0]):04X} ends a line for some YAML readers but not for others; "
                "write it as an escape in double quotes",
                match.start(),
                match.end(),
                blocking=False,
            )
        documents = 0
        for event in self._events():
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._report(
                        "yaml-multiple-documents",
                        "a second document starts here, but only the first one is read; keep one document per file",
                        *_extent(event),
                    )
                    return
            elif not self._take(event):
                self._document.readable = False
                return
        if not documents and not any(problem.blocking for problem in self._document.problems):
            self._report("json-syntax", "the file is empty", 0, len(self._text))

    def _events(self) -> Iterator[yaml.Event]:
        """Yield the parser's events, until the text ends or can't be parsed."""
        import yaml

        loader: yaml.SafeLoader | None = None
        try:
            loader = yaml.SafeLoader(self._text)
            while loader.check_event():
                yield loader.get_event()  # type: ignore[no-untyped-call]
        except yaml.reader.ReaderError as error:
            self._refuse_character(error.position)
        except yaml.MarkedYAMLError as error:
            self._refuse_syntax(error)
        except (ValueError, OverflowError):
            # PyYAML converts escapes such as "\UFFFFFFFF" without checking that there is such a character.
            at = min(loader.index, len(self._text)) if loader is not None else 0
            self._document.readable = False
            self._report("yaml-syntax", "invalid escape or number", at, at + 1)

    def _refuse_character(self, at: int) -> None:
        self._document.readable = False
        self._report(
            "yaml-control-character",
            f"YAML does not allow the character U+{ord(self._text[at]):04X}; "
            "remove it or write it as an escape in double quotes",
            at,
            at + 1,
        )

    def _refuse_syntax(self, error: yaml.MarkedYAMLError) -> None:
        self._document.readable = False
        mark = error.problem_mark or error.context_mark
        at = min(mark.index, len(self._text)) if mark is not None else len(self._text)
        if self._text[at : at + 1] == "\t":
            self._report("yaml-tab", "YAML does not allow a tab here; use spaces", at, at + 1)
            return
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        self._report("yaml-syntax", f"invalid YAML: {reason}", at, min(at + 1, len(self._text)))

    def _take(self, event: yaml.Event) -> bool:
        """Process one event. False if reading must stop."""
        import yaml

        if isinstance(event, yaml.AliasEvent):
            self._take_alias(event)
        elif isinstance(event, yaml.ScalarEvent):
            self._take_scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            return self._open(event, {} if isinstance(event, yaml.MappingStartEvent) else [])
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close(event)
        return True

    def _take_alias(self, event: yaml.AliasEvent) -> None:
        start, end = _extent(event)
        name = event.anchor or ""
        mark = _quoted(f"*{name}")
        if name in self._parts:
            self._report("yaml-alias", f"alias {mark} is not allowed; write the value out", start, end)
        else:
            self._report("yaml-alias-unknown", f"alias {mark} has no anchor before it", start, end)
        if self._stack:
            self._stack[-1].has_alias = True
        part = self._parts.get(name)
        if part is None or len(self._stack) + part.height > MAX_DEPTH or self._repeated + part.size > _MOST_REPEATED:
            self._add(None, start, end)
            return
        self._repeated += part.size
        self._add(_copied(part.value), start, end, part.size, part.height)

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        self._refuse_properties(event)
        start, end = _extent(event)
        if event.style in ("|", ">"):
            # The parser continues to the next line that is not blank; the value ends before that.
            end = start + len(self._text[start:end].rstrip(" \t\r\n"))
        frame = self._stack[-1] if self._stack else None
        if frame is not None and frame.wants_key:
            self._take_key(frame, event, start, end)
            return
        value: js.Json = _joined(event.value)
        if event.style is None and event.tag != _TEXT_TAG:
            value = plain_value(event.value)
            self._remark(event.value, start, end)
        if event.anchor is not None:
            self._parts[event.anchor] = _Part(value, 1, 0)
        self._add(value, start, end)

    def _remark(self, text: str, start: int, end: int) -> None:
        """Report a plain scalar that is not a JSON value, or not the same value for every reader."""
        if is_non_finite(text):
            self._report(
                "yaml-non-finite-number",
                f"JSON has no number {_quoted(text)}; quote it or write a finite number",
                start,
                end,
            )
            return
        doubt = ambiguity(text)
        if doubt is not None:
            message = f"{_quoted(text)} is {doubt.readings}; {doubt.remedy}"
            self._report(doubt.name, message, start, end, blocking=False)

    def _take_key(self, frame: _Frame, event: yaml.ScalarEvent, start: int, end: int) -> None:
        name = _joined(event.value)
        if event.style is None and name == "<<":
            self._report("yaml-merge-key", "the merge key `<<` is not allowed; write the keys out", start, end)
            self._set_key(frame, None, start, end)
            return
        self._set_key(frame, name, start, end)
        if event.style is None and not isinstance(plain_value(name), str):
            subject = f"key {_quoted(name)}" if name else "an empty key"
            self._report("yaml-key-not-string", f"{subject} must be a string; quote it", start, end)
        elif event.style is None:
            self._remark(name, start, end)
        if name in frame.names:
            first = self._document.source.position(frame.names[name])
            self._report(
                "yaml-duplicate-key",
                f"duplicate key {_quoted(name)}, first used at {first.line}:{first.column}; the later value wins; "
                "remove one",
                start,
                end,
            )
            self._forget(frame.next_pointer(), frame.container.get(name))
        frame.names.setdefault(name, start)

    @staticmethod
    def _set_key(frame: _Frame, name: str | None, start: int, end: int) -> None:
        frame.key = name
        frame.key_span = (start, end)
        frame.end = max(frame.end, end)
        frame.wants_key = False

    def _open(self, event: yaml.CollectionStartEvent, container: js.Json) -> bool:
        start, _ = _extent(event)
        self._refuse_properties(event)
        if len(self._stack) >= MAX_DEPTH:
            self._report("yaml-too-deep", f"values are nested more than {MAX_DEPTH} levels deep", start, start + 1)
            return False
        pointer = self._stack[-1].next_pointer() if self._stack else ""
        self._stack.append(_Frame(container, pointer, start, event.anchor))
        if event.anchor is not None:
            self._parts[event.anchor] = None
        return True

    def _close(self, event: yaml.CollectionEndEvent) -> None:
        frame = self._stack.pop()
        # A closing bracket has an extent; the end of a block has none and is on the next line.
        start, end = _extent(event)
        if start == end:
            end = frame.end
        if self._stack and self._stack[-1].wants_key:
            self._report(
                "yaml-key-not-string",
                "a key must be a string, not a list or mapping",
                frame.start,
                end,
            )
        if frame.has_alias and self._stack:
            self._stack[-1].has_alias = True
        elif frame.anchor is not None:
            self._parts[frame.anchor] = _Part(frame.container, frame.size, frame.height)
        self._add(frame.container, frame.start, end, frame.size, frame.height)

    def _add(self, value: js.Json, start: int, end: int, size: int = 1, height: int = 0) -> None:
        """Add a finished value to its container."""
        if not self._stack:
            self._document.value = value
            self._document.readable = True
            self._document._nodes[""] = NodeSpan(start, end)
            return
        frame = self._stack[-1]
        frame.end = max(frame.end, end)
        frame.size += size
        frame.height = max(frame.height, height + 1)
        if frame.wants_key:
            self._set_key(frame, None, start, end)
            return
        pointer = frame.next_pointer()
        if isinstance(frame.container, list):
            frame.container.append(value)
            if pointer is not None:
                self._document._nodes[pointer] = NodeSpan(start, end)
            return
        if frame.key is not None:
            frame.container[frame.key] = value
            if pointer is not None:
                self._document._nodes[pointer] = NodeSpan(start, end, frame.key_span)
        frame.wants_key = True

    def _forget(self, pointer: str | None, value: object) -> None:
        """Drop the positions below a value that another one replaces."""
        if pointer is None:
            return
        stack = [(pointer, value)]
        while stack:
            place, inner = stack.pop()
            self._document._nodes.pop(place, None)
            if isinstance(inner, dict | list):
                entries = inner.items() if isinstance(inner, dict) else enumerate(inner)
                stack += [(pointers.child(place, token), item) for token, item in entries]

    def _refuse_properties(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        start, _ = _extent(event)
        if event.anchor is not None:
            mark = f"&{event.anchor}"
            at = self._text.index(mark, start)
            self._report("yaml-anchor", f"anchor {_quoted(mark)} is not allowed; remove it", at, at + len(mark))
        if event.tag is not None:
            tag = _TAG.search(self._text, start)
            action = "remove it, and quote the value if it is a string"
            self._report(
                "yaml-tag",
                f"tag {_quoted(tag[0])} is not allowed; {action}" if tag else f"a tag is not allowed; {action}",
                *(tag.span() if tag else (start, start)),
            )

    def _report(self, name: str, message: str, start: int, end: int, *, blocking: bool = True) -> None:
        pointer = (self._stack[-1].next_pointer() or self._stack[-1].pointer or "") if self._stack else ""
        self._document.problems.append(
            Problem(name, message, start, max(start, end), pointer=pointer, blocking=blocking)
        )


def _extent(event: yaml.Event) -> tuple[int, int]:
    """Return where an event begins and ends in the text; the parser marks every one."""
    start, end = event.start_mark, event.end_mark
    if start is None or end is None:
        raise AssertionError(f"an event without marks: {event!r}")
    return start.index, end.index


def _copied(value: js.Json) -> js.Json:
    """Return a copy of a value, whose nesting the reader has limited."""
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _quoted(text: str) -> str:
    """Return a part of the file in a message of one line."""
    line = " ".join(text.split())
    return f"`{line if len(line) <= _SHOWN else line[:_SHOWN] + '…'}`"


def _joined(text: str) -> str:
    """Join each character beyond U+FFFF that is written as two escapes, as JSON does."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
