"""An ECMAScript pattern as a postfix program.

Operations come after what they work on, so that whoever evaluates a program needs a stack of values and no
recursion: a pattern of ten thousand parentheses is as harmless as a short one. Whether a pattern is valid is
not decided here; text that breaks the grammar is read as well as it can be.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from workrail_lint.base.regex_analysis import characters
from workrail_lint.base.regex_analysis.characters import Ranges

MANY = 10**9  # where counting stops


class Atom(NamedTuple):
    """One character out of a set; `text` when there is only one it can be."""

    characters: Ranges
    text: str | None


class Assertion(NamedTuple):
    """`^`, `$`, `\\b` or `\\B`: matches between characters."""

    is_end: bool = False


class Reference(NamedTuple):
    """A back-reference: the text that a group matched before."""


class Join(NamedTuple):
    """The last `size` values, one after the other."""

    size: int


class Either(NamedTuple):
    """One of the last `size` values."""

    size: int


class Repeat(NamedTuple):
    """The last value, `low` to `high` times; None is without end."""

    low: int
    high: int | None


class Look(NamedTuple):
    """The last value, looked for ahead or behind and not consumed."""

    behind: bool
    negated: bool


Operation = Atom | Assertion | Reference | Join | Either | Repeat | Look


class Program(NamedTuple):
    """The operations, and the constructs that Python's `re` does not know or takes for something else."""

    operations: list[Operation]
    foreign: tuple[str, ...]


_QUANTIFIER = re.compile(r"(?:[*+?]|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_GROUP = re.compile(r"\?(?::|=|!|<=|<!|<([^>]{0,60})>|[a-z-]{0,20}:)")
_BACKWARD = re.compile(r"\{,[0-9]+\}")
_HEX = {"x": re.compile(r"[0-9A-Fa-f]{2}"), "u": re.compile(r"[0-9A-Fa-f]{4}")}
_POINT = re.compile(r"\{([0-9A-Fa-f]{1,8})\}")
_PROPERTY = re.compile(r"\{([^}]{0,60})\}")
_NAME = re.compile(r"<([^>]{0,60})>")
_NUMBER = re.compile(r"[0-9]+")
_OCTAL = re.compile(r"[0-3]?[0-7]{1,2}")
_CONTROLS = {"f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class _Frame:
    """An open group: what it will become, and how much stands in it so far."""

    __slots__ = ("branches", "items", "look", "number")

    def __init__(self, look: Look | None, number: int) -> None:
        self.look = look
        self.number = number  # of a capturing group, else 0
        self.items = 0  # in the current branch
        self.branches = 1


def parse(pattern: str, flags: str = "") -> Program:
    """Return the program of a pattern. Never fails."""
    return _Parser(pattern, flags).run()


class _Parser:
    def __init__(self, pattern: str, flags: str) -> None:
        self.source = pattern
        self.at = 0
        self.ignore_case = "i" in flags
        self.dot = characters.EVERYTHING if "s" in flags else characters.DOT
        self.unicode = "u" in flags or "v" in flags
        self.sets = "v" in flags
        self.operations: list[Operation] = []
        self.frames = [_Frame(None, 0)]
        self.groups = 0
        self.closed: set[int] = set()
        self.has_names = "(?<" in pattern and re.search(r"\(\?<[^=!]", pattern) is not None
        self.total = _count_groups(pattern)
        self.foreign: dict[str, None] = {}

    def run(self) -> Program:
        while self.at < len(self.source):
            self._term()
        while len(self.frames) > 1:
            self._close()
        self._finish(self.frames[0])
        return Program(self.operations, tuple(self.foreign))

    def _emit(self, operation: Operation) -> None:
        self.operations.append(operation)
        self.frames[-1].items += 1

    def _term(self) -> None:
        char = self.source[self.at]
        self.at += 1
        if char == "|":
            frame = self.frames[-1]
            self.operations.append(Join(frame.items))
            frame.items = 0
            frame.branches += 1
        elif char == "(":
            self._open()
        elif char == ")" and len(self.frames) > 1:
            self._close()
            self._quantify()
        elif char in "^$":
            self._emit(Assertion(char == "$"))
            self._quantify()
        else:
            self._emit(self._atom(char))
            self._quantify()

    def _atom(self, char: str) -> Operation:
        if char == ".":
            return Atom(self.dot, None)
        if char == "[":
            return Atom(self._class(), None)
        if char == "\\":
            return self._escape()
        if char == "{" and _BACKWARD.match(self.source, self.at - 1):
            self.foreign["{,n}"] = None
        return self._literal(ord(char))

    def _literal(self, code: int) -> Atom:
        ranges: Ranges = ((code, code),)
        return Atom(characters.any_case(ranges) if self.ignore_case else ranges, chr(code))

    # groups

    def _open(self) -> None:
        match = _GROUP.match(self.source, self.at)
        look: Look | None = None
        number = 0
        if match is None:
            self.groups += 1
            number = self.groups
        else:
            self.at = match.end()
            if match[1] is not None:
                self.groups += 1
                number = self.groups
                self.foreign["(?<name>…)"] = None
            elif match[0] in ("?=", "?!", "?<=", "?<!"):
                look = Look(behind="<" in match[0], negated="!" in match[0])
        self.frames.append(_Frame(look, number))

    def _close(self) -> None:
        frame = self.frames.pop()
        self._finish(frame)
        if frame.look is not None:
            self.operations.append(frame.look)
        self.closed.add(frame.number)
        self.frames[-1].items += 1

    def _finish(self, frame: _Frame) -> None:
        if frame.items != 1:
            self.operations.append(Join(frame.items))
        if frame.branches > 1:
            self.operations.append(Either(frame.branches))

    def _quantify(self) -> None:
        match = _QUANTIFIER.match(self.source, self.at)
        if match is None:
            return
        self.at = match.end()
        sign = match[0][0]
        if sign != "{":
            low, high = int(sign == "+"), 1 if sign == "?" else None
        else:
            low = _count(match[1])
            high = low if match[2] is None else (_count(match[3]) if match[3] else None)
        self.operations.append(Repeat(low, None if high is not None and high >= MANY else high))

    # characters

    def _escape(self) -> Operation:
        char = self._next()
        if char in "bB" and char:
            return Assertion()
        if char in characters.SHORTHANDS:
            return Atom(characters.SHORTHANDS[char], None)
        if char == "k" and (self.unicode or self.has_names) and (match := _NAME.match(self.source, self.at)):
            self.at = match.end()
            self.foreign["\\k<name>"] = None
            return Reference()
        if char in "123456789" and char:
            match = _NUMBER.match(self.source, self.at - 1)
            number = _count(match[0]) if match else 0
            if match and (self.unicode or number <= self.total):
                self.at = match.end()
                if number not in self.closed:
                    self.foreign[f"\\{number} before the group it refers to"] = None
                return Reference()
            self.foreign[f"\\{char} where there is no such group"] = None
        ranges = self._property(char)
        if ranges is not None:
            return Atom(ranges, None)
        return self._literal(self._character(char))

    def _next(self) -> str:
        char = self.source[self.at : self.at + 1]
        self.at += len(char)
        return char

    def _property(self, char: str) -> Ranges | None:
        if char not in ("p", "P") or not self.unicode:
            return None
        match = _PROPERTY.match(self.source, self.at)
        if match is None:
            return None
        self.at = match.end()
        self.foreign[f"\\{char}{{…}}"] = None
        return characters.of_property(match[1], negated=char == "P")

    def _character(self, char: str) -> int:
        """Return the character that a backslash and `char` stand for."""
        if not char:
            return ord("\\")
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in _HEX:
            match = _HEX[char].match(self.source, self.at)
            if match:
                self.at = match.end()
                return int(match[0], 16)
            match = _POINT.match(self.source, self.at) if char == "u" and self.unicode else None
            if match and int(match[1], 16) <= characters.LAST:
                self.at = match.end()
                self.foreign["\\u{…}"] = None
                return int(match[1], 16)
        if char == "c" and (letter := self.source[self.at : self.at + 1]).isalpha() and letter.isascii():
            self.at += 1
            self.foreign["\\cX"] = None
            return ord(letter) % 32
        if char in "01234567":
            match = _OCTAL.match(self.source, self.at - 1)
            if match:
                self.at = match.end()
                return int(match[0], 8)
        if char.isascii() and char.isalpha():
            self.foreign[f"\\{char}"] = None
        return ord(char)

    def _class(self) -> Ranges:
        """Return a class, from behind its opening bracket to behind its closing one; nested ones count as members."""
        negated = self.source.startswith("^", self.at)
        self.at += negated
        if self.source.startswith("]", self.at):
            self.foreign["[^]" if negated else "[]"] = None
        members: list[tuple[int, int]] = []
        depth = 1
        while self.at < len(self.source):
            char = self._next()
            if char == "]":
                depth -= 1
                if not depth:
                    break
            elif char == "[" and self.sets:
                depth += 1
                self.foreign["nested classes"] = None
            else:
                members += self._class_range(char)
        ranges = characters.union(tuple(members))
        if self.ignore_case:
            ranges = characters.any_case(ranges)
        return characters.complement(ranges) if negated else ranges

    def _class_range(self, char: str) -> Ranges:
        low = self._class_atom(char)
        following = self.source[self.at : self.at + 2]
        if len(following) < 2 or following[0] != "-" or following[1] == "]":
            return low
        self.at += 1
        high = self._class_atom(self._next())
        if len(low) == len(high) == 1 and low[0][0] == low[0][1] <= high[0][0] == high[0][1]:
            return ((low[0][0], high[0][0]),)
        self.foreign["a class with - beside another class"] = None
        return (*low, (ord("-"), ord("-")), *high)

    def _class_atom(self, char: str) -> Ranges:
        if char != "\\":
            return ((ord(char), ord(char)),)
        char = self._next()
        if char == "b":
            return ((8, 8),)
        if char in characters.SHORTHANDS:
            return characters.SHORTHANDS[char]
        ranges = self._property(char)
        if ranges is not None:
            return ranges
        code = self._character(char)
        return ((code, code),)


def _count_groups(pattern: str) -> int:
    """Count the capturing groups first: whether `\\2` is a reference depends on what comes later."""
    if "(" not in pattern:
        return 0
    bare = re.sub(r"\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]?", "", pattern)
    return len(re.findall(r"\((?!\?)|\(\?<[^=!]", bare))


def _count(digits: str) -> int:
    """Return a decimal number, saturating: Python refuses to read thousands of digits."""
    significant = digits.lstrip("0")
    return min(int(significant or "0"), MANY) if len(significant) < 12 else MANY
