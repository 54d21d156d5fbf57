"""The grammar of ECMAScript patterns, written out in the notation of `regex` as it is read."""

from __future__ import annotations

from typing import Any, NamedTuple

from workrail_lint.base.ecma_regex.escapes import (
    ANY,
    POINTS,
    UNITS,
    CharacterReader,
    InvalidPatternError,
    Modes,
    join_units,
    split_units,
)

__all__ = ["InvalidPatternError", "Parser", "Translation"]

# `regex` unrolls the lower bound of a repetition and recurses into groups, so both are bounded here.
_MAX_WEIGHT = 50_000
_MAX_DEPTH = 100
_UNBOUNDED = 2**31

_LINE_ENDS = r"\n\r\u2028\u2029"
_WORD = "[0-9A-Z_a-z]"
_BOUNDARIES = {
    "b": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    "B": f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
}


class Translation:
    """A pattern in the notation of `regex`, compiled when it is first looked for."""

    __slots__ = ("_compiled", "_modes", "_source")

    def __init__(self, pattern: str, flags: str) -> None:
        """Raise InvalidPatternError for what ECMAScript does not accept."""
        self._modes = Modes.read(flags)
        self._source = Parser(pattern, self._modes).translate()
        self._compiled: Any = None

    def find(self, text: str, timeout: float) -> bool:
        """Return whether the pattern is found; raise TimeoutError after so many seconds."""
        if self._compiled is None:
            import regex

            self._compiled = regex.compile(self._source)
        find = self._compiled.match if self._modes.sticky else self._compiled.search
        return find(self._prepared(text), timeout=timeout) is not None

    def _prepared(self, text: str) -> str:
        if text.isascii():
            if not self._modes.ignore_case:
                return text
            return text.lower() if self._modes.unicode else text.upper()
        text = join_units(text) if self._modes.unicode else split_units(text)
        if not self._modes.ignore_case:
            return text
        return text.translate(POINTS if self._modes.unicode else UNITS)


class _Piece(NamedTuple):
    """Translated text, whether it can match nothing, and how much of it `regex` will unroll."""

    text: str
    nullable: bool
    weight: int


class Parser(CharacterReader):
    """Recursive descent: disjunction, alternative, term, group."""

    def __init__(self, pattern: str, modes: Modes) -> None:
        super().__init__(pattern, modes)
        self._depth = 0
        self._opened = 0
        self._closed: set[int] = set()
        self._lookbehinds = 0
        self._groups = self._count_groups()

    def translate(self) -> str:
        body = self._disjunction()
        if self.at < len(self.source):
            self.fail("unmatched ')'")
        if body.weight > _MAX_WEIGHT:
            self.fail("too many repetitions to evaluate")
        return body.text

    def _count_groups(self) -> int:
        """Count the groups first: whether `\\2` is a reference depends on what comes later."""
        count = 0
        in_class = False
        while self.at < len(self.source):
            char = self.char()
            if char == "\\":
                self.at += 1
            elif char in "[]":
                in_class = char == "["
            elif char == "(" and not in_class:
                named = self.peek("?<") and not self.peek("?<=") and not self.peek("?<!")
                if named or not self.peek("?"):
                    count += 1
                if named:
                    self.at += 2
                    name = self._group_name()
                    if name in self.names:
                        self.fail(f"duplicate group name '{name}'")
                    self.names[name] = count
        self.at = 0
        return count

    def _group_name(self) -> str:
        name = ""
        while not self.take(">"):
            char = self.char()
            if char == "\\":
                code = self.unicode_escape(points=True) if self.take("u") else None
                if code is None:
                    self.fail("invalid group name")
                char = chr(code)
            name += char
        name = join_units(name)
        plain = name.replace("$", "_").replace("\u200c", "_").replace("\u200d", "_")
        if not plain.isidentifier() or name[0] in "\u200c\u200d":
            self.fail("invalid group name")
        return name

    def _disjunction(self) -> _Piece:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self.fail("groups nested too deeply")
        branches = [self._alternative()]
        while self.take("|"):
            branches.append(self._alternative())
        self._depth -= 1
        return _Piece(
            "|".join(branch.text for branch in branches),
            any(branch.nullable for branch in branches),
            sum(branch.weight for branch in branches),
        )

    def _alternative(self) -> _Piece:
        pieces: list[_Piece] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            pieces.append(self._term())
        return _Piece(
            "".join(piece.text for piece in pieces),
            all(piece.nullable for piece in pieces),
            1 + sum(piece.weight for piece in pieces),
        )

    def _term(self) -> _Piece:
        char = self.char()
        if char == "^":
            text = rf"(?:\A|(?<=[{_LINE_ENDS}]))" if self.modes.multiline else r"\A"
            return self._quantified(_Piece(text, True, 1), quantifiable=False)
        if char == "$":
            text = rf"(?=[{_LINE_ENDS}]|\Z)" if self.modes.multiline else r"\Z"
            return self._quantified(_Piece(text, True, 1), quantifiable=False)
        if char == "(":
            return self._group()
        if char == ".":
            return self._quantified(_Piece(ANY if self.modes.dot_all else f"[^{_LINE_ENDS}]", False, 1))
        if char == "[":
            return self._quantified(_Piece(self.class_body(), False, 1))
        if char == "\\":
            return self._escape()
        if char in "*+?":
            self.fail("nothing to repeat")
        if char in "]{}" and self.modes.unicode:
            self.fail(f"lone '{char}'")
        if char == "{":
            self.at -= 1
            if self._bounds() is not None:
                self.fail("nothing to repeat")
            self.at += 1
        return self._quantified(_Piece(self.literal(ord(char)), False, 1))

    def _escape(self) -> _Piece:
        char = self.char()
        if char in _BOUNDARIES:
            return self._quantified(_Piece(_BOUNDARIES[char], True, 1), quantifiable=False)
        number = self._reference(char)
        if number is not None:
            # A group that took no part matches nothing at all in ECMAScript; in `regex` it fails. One that
            # is still open or comes later took no part yet, unless the pattern is read backwards.
            known = number in self._closed or self._lookbehinds
            return self._quantified(_Piece(f"(?({number})\\g<{number}>)" if known else "(?:)", True, 1))
        members = self.set_escape(char)
        if members is not None:
            return self._quantified(_Piece(self.write_set(members), False, 1))
        return self._quantified(_Piece(self.literal(self.character_escape(char, in_class=False)), False, 1))

    def _reference(self, char: str) -> int | None:
        """Return the group a `\\1` or `\\k<name>` refers to; None when it is an ordinary escape."""
        if char == "k" and (self.modes.unicode or self.names):
            name = self._group_name() if self.take("<") else None
            if name not in self.names:
                self.fail("reference to a group that does not exist")
            return self.names[name]
        if char not in "123456789":
            return None
        start = self.at
        number = _count(char + self.digits())
        if number <= self._groups:
            return number
        if self.modes.unicode:
            self.fail("reference to a group that does not exist")
        self.at = start
        return None

    def _group(self) -> _Piece:
        opening = "("
        zero_width = False
        quantifiable = True
        behind = False
        number = 0
        if self.take("?:"):
            opening = "(?:"
        elif self.peek("?=") or self.peek("?!"):
            opening += self.char() + self.char()
            zero_width, quantifiable = True, not self.modes.unicode
        elif self.peek("?<=") or self.peek("?<!"):
            opening += self.char() + self.char() + self.char()
            zero_width, quantifiable, behind = True, False, True
        elif self.peek("?") and not self.peek("?<"):
            self.fail("invalid group")
        else:
            if self.take("?<"):
                self._group_name()
            self._opened = number = self._opened + 1
        self._lookbehinds += behind
        body = self._disjunction()
        self._lookbehinds -= behind
        self._closed.add(number)
        if not self.take(")"):
            self.fail("unterminated group")
        piece = _Piece(f"{opening}{body.text})", zero_width or body.nullable, body.weight)
        return self._quantified(piece, quantifiable, assertion=zero_width)

    def _quantified(self, piece: _Piece, quantifiable: bool = True, assertion: bool = False) -> _Piece:
        bounds = self._bounds()
        if bounds is None:
            if self.modes.unicode and self.peek("{"):
                self.fail("incomplete quantifier")
            return piece
        if not quantifiable:
            self.fail("nothing to repeat")
        low, high = bounds
        if high is not None and low > high:
            self.fail("numbers out of order in a quantifier")
        lazy = "?" if self.take("?") else ""
        if assertion:
            # A round that consumes nothing counts only while it is demanded.
            return piece if low else _Piece(f"(?:{piece.text}){{0,0}}", True, 1)
        if piece.nullable and low > 1000:
            # Rounds that can match nothing can be demanded as well as not.
            low = 0
        weight = piece.weight * max(low, 1)
        if weight > _MAX_WEIGHT:
            self.fail("too many repetitions to evaluate")
        upper = "" if high is None or high >= _UNBOUNDED else str(high)
        return _Piece(f"(?:{piece.text}){{{low},{upper}}}{lazy}", piece.nullable or low == 0, weight)

    def _bounds(self) -> tuple[int, int | None] | None:
        """Return a quantifier's bounds; None, and nothing read, when there is no quantifier here."""
        if self.take("*"):
            return 0, None
        if self.take("+"):
            return 1, None
        if self.take("?"):
            return 0, 1
        start = self.at
        if self.take("{") and (first := self.digits()):
            if self.take("}"):
                return _count(first), _count(first)
            if self.take(","):
                second = self.digits()
                if self.take("}"):
                    return _count(first), _count(second) if second else None
        self.at = start
        return None


def _count(digits: str) -> int:
    """Return a decimal number, saturating: Python refuses to read thousands of digits, JavaScript does not."""
    significant = digits.lstrip("0")
    return int(significant or "0") if len(significant) < 20 else 10**20
