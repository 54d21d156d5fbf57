"""The recovering JSON parser: slow, iterative, and able to say exactly what is wrong where.

It reads the same language as the C scanner and continues after common mistakes: comments, trailing commas, single
quotes, bare names, missing commas, NaN. It also keeps the offsets of every value.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from json.decoder import JSONDecodeError

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.documents.json_reader import FEW_PROBLEMS, MAX_DEPTH, NodeSpan, NumberLexeme
from workrail_lint.documents.pointer import child
from workrail_lint.documents.scanner import read_string
from workrail_lint.documents.source_text import Problem, SourceText

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_NUMBER_LIKE = re.compile(r"[+-]?[\w.][\w.+-]*", re.ASCII)
_BARE_NAME = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)
_SPACE = re.compile(r"[ \t\n\r]*")
_LINE = re.compile(r"[^\n\r]*")
_SINGLE_QUOTED = re.compile(r"'((?:[^'\\\n\r]|\\.)*)'")
_LITERALS: dict[str, js.Json] = {"true": True, "false": False, "null": None}
_NON_FINITE = {"NaN", "Infinity", "-Infinity", "+Infinity"}
# The objects of a workflow whose member order agents see: outputs in a prompt, and objects of the design form that are
# lists in the shipping form.
_ORDERED = re.compile(r".*/outputRequired|.*/output/hints|/extensionPoints", re.DOTALL)
# Characters of tokens that would join if the comment between them were cut.
_GLUE = re.compile(r"[\w.+$/-]")


class _GiveUp(Exception):  # noqa: N818 - control flow inside this module
    """The rest of the text can't be parsed."""


class _Frame:
    """An open container."""

    __slots__ = ("is_object", "members", "name", "name_span", "pointer", "start", "value")

    def __init__(self, is_object: bool, pointer: str, start: int, name: tuple[int, int] | None) -> None:
        self.is_object = is_object
        self.pointer = pointer
        self.start = start
        self.value: dict[str, js.Json] | list[js.Json] = {} if is_object else []
        self.name_span = name
        # The names and their places, to find duplicates.
        self.members: dict[str, list[tuple[int, int]]] = {}
        self.name = ""


class Parsed:
    """The result: the value if the text could be read to its end, and everything found on the way."""

    __slots__ = ("complete", "nodes", "numbers", "problems", "value")

    def __init__(self) -> None:
        self.value: js.Json = None
        self.complete = False
        self.problems: list[Problem] = []
        self.nodes: dict[str, NodeSpan] = {}
        self.numbers: list[NumberLexeme] = []


def parse(text: str, max_depth: int, most_problems: int = FEW_PROBLEMS) -> Parsed:
    """Read a text and continue after problems, up to `most_problems`. Nesting beyond `max_depth` stops at once."""
    parser = _Parser(text, max_depth, most_problems)
    try:
        parser.run()
        parser.out.complete = True
    except _GiveUp:
        pass
    if parser.lost:
        parser.forget_lost_numbers()
    return parser.out


class _Parser:
    def __init__(self, text: str, max_depth: int, most_problems: int) -> None:
        self.text = text
        self.source = SourceText(text)
        self.max_depth = max_depth
        self.most_problems = most_problems
        self.at = 0
        self.out = Parsed()
        self.frames: list[_Frame] = []
        self.deep_reported = False
        self.habits: set[str] = set()
        self.lost: list[tuple[int, int]] = []  # the extents of members that a later one replaces

    # -- the main loop ---------------------------------------------------------------------------

    def run(self) -> None:
        self.space()
        if self.at == len(self.text):
            self.out.problems.append(Problem("json-syntax", "the file contains no JSON value", 0, len(self.text)))
            raise _GiveUp
        self.value("", None)
        while self.frames:
            self.step(self.frames[-1])
        self.space()
        if self.at < len(self.text):
            self.syntax(f"expected the end of the file, found {self.token_in_words()}", self.at, len(self.text))

    def step(self, frame: _Frame) -> None:
        """Read the next element or member of the innermost container, or close it."""
        close = "}" if frame.is_object else "]"
        self.space()
        if self.peek() == close:
            self.close(frame)
            return
        if frame.value or frame.members:
            comma = self.at
            if self.peek() == ",":
                self.at += 1
                self.space()
                if self.peek() == close:
                    self.report("json-trailing-comma", f"trailing comma before '{close}'", comma, comma + 1, cut=True)
                    self.close(frame)
                    return
            elif self.starts_item(frame):
                self.syntax(f"expected ',' or '{close}', found {self.token_in_words()}", self.at, self.at + 1)
            else:
                self.fail(f"expected ',' or '{close}', found {self.token_in_words()}")
        if frame.is_object:
            self.member(frame)
        else:
            index = len(frame.value)
            self.value(f"{frame.pointer}/{index}", None)

    def starts_item(self, frame: _Frame) -> bool:
        char = self.peek()
        return bool(char) and (char in "\"'" or (not frame.is_object and char in "{[-0123456789tfn"))

    def member(self, frame: _Frame) -> None:
        start = self.at
        name = self.member_name()
        name_span = (start, self.at)
        self.space()
        if self.peek() == ":":
            self.at += 1
        elif self.peek() == "=":
            self.syntax("expected ':' after the key, found '='", self.at, self.at + 1)
            self.at += 1
        else:
            self.fail(f"expected ':' after the key, found {self.token_in_words()}")
        self.space()
        frame.name = name
        frame.members.setdefault(name, []).append(name_span)
        self.value(child(frame.pointer, name), name_span)

    def value(self, pointer: str, name: tuple[int, int] | None) -> None:
        """Read a scalar, or open a container whose content the main loop reads."""
        start = self.at
        char = self.peek()
        if char in ("{", "["):
            self.at += 1
            self.frames.append(_Frame(char == "{", pointer, start, name))
            self.guard_depth(start)
            return
        if char == '"':
            value: js.Json = self.string()
        elif char == "'" and (match := _SINGLE_QUOTED.match(self.text, start)):
            self.syntax("expected a string in double quotes, found single quotes", start, match.end(), once=True)
            value, self.at = match[1].replace("\\'", "'"), match.end()
        else:
            value = self.word(pointer)
        self.deliver(value, pointer, start, name)

    def deliver(self, value: js.Json, pointer: str, start: int, name: tuple[int, int] | None) -> None:
        """Add a finished value to its container; the last of duplicate members wins."""
        self.out.nodes[pointer] = NodeSpan(start, self.at, name)
        if not self.frames:
            self.out.value = value
        elif isinstance((container := self.frames[-1].value), dict):
            container[self.frames[-1].name] = value
        else:
            container.append(value)

    def close(self, frame: _Frame) -> None:
        self.at += 1
        self.frames.pop()
        self.report_duplicates(frame)
        self.deliver(frame.value, frame.pointer, frame.start, frame.name_span)

    # -- tokens ----------------------------------------------------------------------------------

    def string(self) -> str:
        start = self.at
        try:
            value, self.at = read_string(self.text, start)
        except JSONDecodeError as error:
            self.bad_string(start, error)
        return value

    def bad_string(self, start: int, error: JSONDecodeError) -> None:
        at = error.pos
        if error.msg.startswith("Unterminated"):
            self.fail("expected '\"' to close the string that starts here", start, start + 1)
        if error.msg.startswith("Invalid control"):
            character = f"U+{ord(self.text[at]):04X}"
            escape = json.dumps(self.text[at])[1:-1]
            self.fail(f"expected {escape} in the string, found the control character {character}", at, at + 1)
        # The C scanner points at the backslash before a bad letter, and after the one before a bad `u`.
        at = self.text.rindex("\\", start, at + 1)
        escape = self.text[at : at + (6 if self.text[at + 1] == "u" else 2)].partition('"')[0]
        character = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in escape)
        self.fail(f"expected a valid escape, found {character}", at, at + len(escape))

    def member_name(self) -> str:
        char = self.peek()
        if char == '"':
            return self.string()
        start = self.at
        if char == "'" and (match := _SINGLE_QUOTED.match(self.text, start)):
            self.syntax("expected keys in double quotes", start, match.end(), once=True)
            self.at = match.end()
            return match[1]
        if match := _BARE_NAME.match(self.text, start):
            self.syntax("expected keys in double quotes", start, match.end(), once=True)
            self.at = match.end()
            return match[0]
        self.fail(f"expected a key in double quotes, found {self.token_in_words()}")
        raise AssertionError  # pragma: no cover - fail() never returns

    def word(self, pointer: str) -> js.Json:
        """Return a number, a literal, or an invalid word."""
        start = self.at
        match = _NUMBER_LIKE.match(self.text, start)
        word = match[0] if match else ""
        if word in _LITERALS:
            self.at = start + len(word)
            return _LITERALS[word]
        if _NUMBER.fullmatch(word):
            self.at = start + len(word)
            value = js.number(word)
            self.out.numbers.append(NumberLexeme(pointer, word, value, start, self.at))
            return value
        if word in _NON_FINITE:
            self.at = start + len(word)
            self.report("json-syntax", f"JSON does not allow {word}", start, self.at, pointer=pointer)
            return None
        if not word:
            self.fail(f"expected a value, found {self.token_in_words()}")
        self.syntax(self.bad_word(word) if self.frames else self.no_document(word), start, start + len(word))
        self.at = start + len(word)
        return word

    @classmethod
    def no_document(cls, word: str) -> str:
        """Return what to say about text that is not JSON, without quoting it: the file may hold secrets."""
        known = word.lower() in ("none", "undefined", "nil", "true", "false", "null")
        return cls.bad_word(word) if known else "expected a value, found text that is not JSON"

    @staticmethod
    def bad_word(word: str) -> str:
        lower = word.lower()
        if lower in ("none", "undefined", "nil"):
            return f"expected a value, found {word}; write null"
        if lower in ("true", "false", "null"):
            return f"expected a value, found {word}; write {lower}"
        if word[0] in "+-.0123456789":
            return f"expected a valid JSON number, found {word}"
        return f"expected a value, found {word}; put strings in double quotes"

    def space(self) -> None:
        """Skip whitespace, and report comments."""
        while True:
            self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
            start = self.at
            if self.text.startswith("//", start):
                end = _LINE.match(self.text, start).end()  # type: ignore[union-attr]
            elif self.text.startswith("/*", start):
                close = self.text.find("*/", start + 2)
                if close == -1:
                    self.fail("expected */ to close the comment that starts here", start, start + 2)
                end = close + 2
            else:
                return
            self.at = end
            glued = start > 0 and _GLUE.match(self.text, start - 1) and _GLUE.match(self.text, end)
            self.report("json-comment", "JSON does not allow comments", start, end, cut=not glued)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def token_in_words(self) -> str:
        char = self.peek()
        if not char:
            return "the end of the file"
        return f"'{char}'" if char.isprintable() else f"U+{ord(char):04X}"

    # -- reports ---------------------------------------------------------------------------------

    def report(self, name: str, message: str, start: int, end: int, *, cut: bool = False, pointer: str = "") -> None:
        """Report a problem and continue."""
        inside = pointer or (self.frames[-1].pointer if self.frames else "")
        removes = ((start, end),) if cut else ()
        self.out.problems.append(Problem(name, message, start, end, pointer=inside, removes=removes))
        if len(self.out.problems) > self.most_problems:
            raise _GiveUp

    def syntax(self, message: str, start: int, end: int, *, once: bool = False) -> None:
        """Report a syntax error; a habit (`once`) gets one message, not one for each place."""
        if once and message in self.habits:
            return
        self.habits.add(message)
        where = self.source.position(start)
        self.report("json-syntax", f"line {where.line}, column {where.column}: {message}", start, end)

    def fail(self, message: str, start: int | None = None, end: int | None = None) -> None:
        """Report a problem that ends the reading."""
        start = self.at if start is None else start
        self.syntax(message, start, min(start + 1, len(self.text)) if end is None else end)
        raise _GiveUp

    def guard_depth(self, start: int) -> None:
        depth = len(self.frames)
        if depth <= MAX_DEPTH or (self.deep_reported and depth <= self.max_depth):
            return
        beyond = depth > self.max_depth
        message = f"values are nested more than {self.max_depth if beyond else MAX_DEPTH} levels deep"
        if beyond:
            self.out.problems = [p for p in self.out.problems if p.name != "json-too-deep"]
        self.out.problems.append(
            Problem("json-too-deep", message, start, start + 1, pointer=self.frames[-1].pointer, blocking=beyond)
        )
        self.deep_reported = True
        if beyond:
            raise _GiveUp

    def report_duplicates(self, frame: _Frame) -> None:
        if not frame.is_object or len(frame.members) == sum(map(len, frame.members.values())):
            return
        starts = sorted(start for spans in frame.members.values() for start, _ in spans)
        self.lost += [
            (loser, starts[bisect_right(starts, loser)]) for spans in frame.members.values() for loser, _ in spans[:-1]
        ]
        for name, spans in frame.members.items():
            if len(spans) == 1:
                continue
            last = spans[-1][0]
            winner = self.source.position(last)
            for loser, end in spans[:-1]:
                if len(self.out.problems) >= self.most_problems:
                    return  # the rest shows once these are fixed
                where = self.source.position(loser)
                following = starts[bisect_right(starts, loser)]
                # The member keeps the place of its first occurrence. Where agents see the order of members, a cut must
                # not move it after the others.
                moves = following != last and _ORDERED.fullmatch(frame.pointer) is not None
                self.out.problems.append(
                    Problem(
                        "json-duplicate-key",
                        f"duplicate key {quoted(name)} at line {where.line}, column {where.column}; the value at line "
                        f"{winner.line}, column {winner.column} wins",
                        loser,
                        end,
                        pointer=child(frame.pointer, name),
                        removes=() if moves else ((loser, following),),
                    )
                )

    def forget_lost_numbers(self) -> None:
        """Drop the numbers of replaced members, which are not part of the value."""
        lost = sorted(self.lost)
        kept: list[NumberLexeme] = []
        at, end = 0, -1  # numbers and replaced members are both in text order; the latter may be nested
        for number in self.out.numbers:
            while at < len(lost) and lost[at][0] < number.start:
                end = max(end, lost[at][1])
                at += 1
            if number.start >= end:
                kept.append(number)
        self.out.numbers = kept
