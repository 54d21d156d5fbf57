"""Translation of the single characters of a pattern: literals, escapes, classes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, NoReturn

from workrail_lint.base.ecma_regex import FLAGS
from workrail_lint.base.js import WHITESPACE

ANY = r"[\x00-\U0010ffff]"
NOTHING = "(?!)"

_SYNTAX = "^$\\.*+?()[]{}|/"
_DECIMAL = "0123456789"
_HEXADECIMAL = "0123456789abcdefABCDEF"
# Reserved inside a class by the `v` flag, where two of a kind are or may become an operator.
_PUNCTUATORS = "&!#$%*+,.:;<=>?@^`~-"
_DOUBLED = [char * 2 for char in _PUNCTUATORS]
_CONTROLS = {"f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class InvalidPatternError(Exception):
    """The pattern breaks the grammar. Stays inside this package: callers get an `Err`."""


class Modes(NamedTuple):
    """The flags, by what they do. `d` and `g` do nothing to a single test."""

    ignore_case: bool
    multiline: bool
    dot_all: bool
    unicode: bool
    sets: bool
    sticky: bool

    @classmethod
    def read(cls, flags: str) -> Modes:
        for flag in flags:
            if flag not in FLAGS:
                raise InvalidPatternError(f"unknown flag '{flag}'")
            if flags.count(flag) > 1:
                raise InvalidPatternError(f"repeated flag '{flag}'")
        if "u" in flags and "v" in flags:
            raise InvalidPatternError("flags 'u' and 'v' exclude each other")
        return cls("i" in flags, "m" in flags, "s" in flags, "u" in flags or "v" in flags, "v" in flags, "y" in flags)


class CharacterSet(NamedTuple):
    """Ranges and, for Unicode properties, items in the notation of `regex`."""

    ranges: Ranges
    items: list[str]


def written(code: int) -> str:
    """Return one character so that `regex` can take it for nothing else."""
    if code < 128 and chr(code).isalnum():
        return chr(code)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class CharacterReader:
    """A cursor on the pattern that reads characters, escapes and classes."""

    def __init__(self, pattern: str, modes: Modes) -> None:
        self.modes = modes
        self.source = join_units(pattern) if modes.unicode else split_units(pattern)
        self.at = 0
        self.canonical = POINTS if modes.unicode else UNITS
        self.names: dict[str, int] = {}

    def fail(self, message: str) -> NoReturn:
        raise InvalidPatternError(message)

    def peek(self, text: str) -> bool:
        return self.source.startswith(text, self.at)

    def take(self, text: str) -> bool:
        if not self.source.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def char(self) -> str:
        if self.at >= len(self.source):
            self.fail("the pattern ends too early")
        self.at += 1
        return self.source[self.at - 1]

    def digits(self) -> str:
        start = self.at
        while self.at < len(self.source) and self.source[self.at] in _DECIMAL:
            self.at += 1
        return self.source[start : self.at]

    def _hexadecimal(self, count: int) -> int | None:
        digits = self.source[self.at : self.at + count]
        if len(digits) < count or any(c not in _HEXADECIMAL for c in digits):
            return None
        self.at += count
        return int(digits, 16)

    # single characters

    def literal(self, code: int) -> str:
        return written(self.canonical[code] if self.modes.ignore_case else code)

    def character_escape(self, char: str, in_class: bool) -> int:
        """Return the character that a backslash and `char` stand for."""
        unicode = self.modes.unicode
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "c":
            return self._control_letter(in_class)
        if char == "0" and self.source[self.at : self.at + 1] not in [*_DECIMAL]:
            return 0
        if char in _DECIMAL and not unicode:
            return self.legacy_octal(char)
        if char == "x" and (code := self._hexadecimal(2)) is not None:
            return code
        if char == "u" and (code := self.unicode_escape(points=unicode)) is not None:
            return code
        if unicode and char not in _SYNTAX and not (in_class and char == "-"):
            self.fail(f"invalid escape '\\{char}'")
        if char == "k" and self.names:
            self.fail("invalid escape '\\k'")
        return ord(char)

    def _control_letter(self, in_class: bool) -> int:
        letter = self.source[self.at : self.at + 1]
        legacy = in_class and not self.modes.unicode
        if letter.isascii() and (letter.isalpha() or (legacy and (letter == "_" or letter.isdigit()))):
            self.at += 1
            return ord(letter) % 32
        if self.modes.unicode:
            self.fail("invalid escape '\\c'")
        # A backslash that escapes nothing stands for itself, and the `c` is read again.
        self.at -= 1
        return ord("\\")

    def legacy_octal(self, char: str) -> int:
        if char in "89":
            return ord(char)
        digits = char
        while len(digits) < 3 and self.source[self.at : self.at + 1] in [*"01234567"]:
            if int(digits + self.source[self.at], 8) > 0o377:
                break
            digits += self.char()
        return int(digits, 8)

    def unicode_escape(self, points: bool) -> int | None:
        """Return what follows `\\u`: four digits and, with `points`, also braces and surrogate pairs."""
        if points and self.take("{"):
            end = self.source.find("}", self.at)
            digits = self.source[self.at : end]
            if end < 0 or not digits or any(c not in _HEXADECIMAL for c in digits):
                self.fail("invalid Unicode escape")
            if len(digits.lstrip("0")) > 6 or int(digits, 16) > LAST_POINT:
                self.fail("Unicode escape out of range")
            self.at = end + 1
            return int(digits, 16)
        first = self._hexadecimal(4)
        if first is None or not points or not 0xD800 <= first <= 0xDBFF or not self.peek("\\u"):
            return first
        after = self.at
        self.at += 2
        second = self._hexadecimal(4)
        if second is not None and 0xDC00 <= second <= 0xDFFF:
            return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
        self.at = after
        return first

    # sets of characters

    def set_escape(self, char: str) -> CharacterSet | None:
        """Return `\\d`, `\\w`, `\\s`, `\\p{..}` and their opposites; None when it is a single character."""
        if char in SHORTHANDS:
            folding = self.modes.unicode and self.modes.ignore_case
            return CharacterSet((FOLDING_SHORTHANDS if folding else SHORTHANDS)[char], [])
        if char not in "pP" or not self.modes.unicode:
            return None
        end = self.source.find("}", self.at)
        if not self.take("{") or end < 0:
            self.fail("invalid property name")
        expression = self.source[self.at : end]
        self.at = end + 1
        item = property_item(expression, negated=char == "P")
        if item is None:
            self.fail(f"unknown property '{expression}'")
        return CharacterSet([], [item])

    def write_set(self, members: CharacterSet, negated: bool = False) -> str:
        ranges = set(members.ranges)
        if self.modes.ignore_case:
            ranges.update((code, code) for code in self._canonical_members(members))
        body = "".join(written(a) if a == b else f"{written(a)}-{written(b)}" for a, b in sorted(ranges))
        body += "".join(members.items)
        if not body:
            return ANY if negated else NOTHING
        return f"[{'^' if negated else ''}{body}]"

    def _canonical_members(self, members: CharacterSet) -> set[int]:
        """Return the canonical forms of the members: what a canonical text has in their place."""
        if not members.items and all(high < 128 for _, high in members.ranges):
            return {self.canonical[code] for low, high in members.ranges for code in range(low, high + 1)}
        candidates = cased(self.modes.unicode)
        codes = [code for code in candidates if any(low <= code <= high for low, high in members.ranges)]
        if members.items:
            import regex

            codes += map(ord, regex.findall(f"[{''.join(members.items)}]", "".join(map(chr, candidates))))
        return {self.canonical[code] for code in codes}

    def class_body(self) -> str:
        """Return a class, from behind its opening bracket to behind its closing one."""
        negated = self.take("^")
        members = CharacterSet([], [])
        while not self.take("]"):
            low = self._class_atom()
            if not self.peek("-") or (self.peek("-]") and not self.modes.sets):
                self._add(members, low)
                continue
            self.at += 1
            high = self._class_atom()
            if isinstance(low, CharacterSet) or isinstance(high, CharacterSet):
                if self.modes.unicode:
                    self.fail("invalid range in a class")
                for member in (low, ord("-"), high):
                    self._add(members, member)
            elif low > high:
                self.fail("range out of order in a class")
            else:
                members.ranges.append((low, high))
        return self.write_set(members, negated)

    def _add(self, members: CharacterSet, member: int | CharacterSet) -> None:
        if isinstance(member, int):
            members.ranges.append((member, member))
        else:
            members.ranges.extend(member.ranges)
            members.items.extend(member.items)

    def _class_atom(self) -> int | CharacterSet:
        if self.at >= len(self.source):
            self.fail("unterminated class")
        char = self.char()
        if self.modes.sets and (char in "()[{}/|-" or self.source[self.at - 1 : self.at + 1] in _DOUBLED):
            self.fail("set notation of the 'v' flag is not supported")
        if char != "\\":
            return ord(char)
        char = self.char()
        if char == "b":
            return 8
        if self.modes.sets and char == "q":
            self.fail("set notation of the 'v' flag is not supported")
        if self.modes.sets and char in _PUNCTUATORS:
            return ord(char)
        members = self.set_escape(char)
        return self.character_escape(char, in_class=True) if members is None else members


LAST_POINT = 0x10FFFF

Ranges = list[tuple[int, int]]


def complement(ranges: Ranges) -> Ranges:
    """Return all code points outside the ranges."""
    out: Ranges = []
    start = 0
    for low, high in sorted(ranges):
        if low > start:
            out.append((start, low - 1))
        start = max(start, high + 1)
    if start <= LAST_POINT:
        out.append((start, LAST_POINT))
    return out


_DIGITS: Ranges = [(48, 57)]
_WORDS: Ranges = [(48, 57), (65, 90), (95, 95), (97, 122)]
_SPACES: Ranges = [(ord(c), ord(c)) for c in WHITESPACE]
# Two letters outside ASCII fold into it, so `\w` has them when case does not matter and `u` is set.
_FOLDING_WORDS: Ranges = [*_WORDS, (0x17F, 0x17F), (0x212A, 0x212A)]

SHORTHANDS: dict[str, Ranges] = {
    "d": _DIGITS,
    "D": complement(_DIGITS),
    "w": _WORDS,
    "W": complement(_WORDS),
    "s": _SPACES,
    "S": complement(_SPACES),
}
FOLDING_SHORTHANDS: dict[str, Ranges] = {**SHORTHANDS, "w": _FOLDING_WORDS, "W": complement(_FOLDING_WORDS)}

# Names are case-sensitive in ECMAScript and free-form in `regex`, hence the lists.
_PROPERTIES = """
ASCII AHex ASCII_Hex_Digit Alpha Alphabetic Any Assigned Bidi_C Bidi_Control Bidi_M Bidi_Mirrored CI Case_Ignorable
Cased CWCF Changes_When_Casefolded CWCM Changes_When_Casemapped CWL Changes_When_Lowercased CWKCF
Changes_When_NFKC_Casefolded CWT Changes_When_Titlecased CWU Changes_When_Uppercased Dash DI
Default_Ignorable_Code_Point Dep Deprecated Dia Diacritic Emoji EComp Emoji_Component EMod Emoji_Modifier EBase
Emoji_Modifier_Base EPres Emoji_Presentation ExtPict Extended_Pictographic Ext Extender Gr_Base Grapheme_Base Gr_Ext
Grapheme_Extend Hex Hex_Digit IDSB IDS_Binary_Operator IDST IDS_Trinary_Operator IDC ID_Continue IDS ID_Start Ideo
Ideographic Join_C Join_Control LOE Logical_Order_Exception Lower Lowercase Math NChar Noncharacter_Code_Point
Pat_Syn Pattern_Syntax Pat_WS Pattern_White_Space QMark Quotation_Mark Radical RI Regional_Indicator STerm
Sentence_Terminal SD Soft_Dotted Term Terminal_Punctuation UIdeo Unified_Ideograph Upper Uppercase VS
Variation_Selector space White_Space XIDC XID_Continue XIDS XID_Start
"""
_CATEGORIES = """
Cased_Letter LC Close_Punctuation Pe Connector_Punctuation Pc Control Cc cntrl Currency_Symbol Sc Dash_Punctuation Pd
Decimal_Number Nd digit Enclosing_Mark Me Final_Punctuation Pf Format Cf Initial_Punctuation Pi Letter L
Letter_Number Nl Line_Separator Zl Lowercase_Letter Ll Mark M Combining_Mark Math_Symbol Sm Modifier_Letter Lm
Modifier_Symbol Sk Nonspacing_Mark Mn Number N Open_Punctuation Ps Other C Other_Letter Lo Other_Number No
Other_Punctuation Po Other_Symbol So Paragraph_Separator Zp Private_Use Co Punctuation P punct Separator Z
Space_Separator Zs Spacing_Mark Mc Surrogate Cs Symbol S Titlecase_Letter Lt Unassigned Cn Uppercase_Letter Lu
"""
# The names whose meaning `regex` does not share, as class items: when asked for, when asked for the opposite.
_OWN = {
    "Any": (r"\x00-\U0010ffff", ""),
    "ASCII": (r"\x00-\x7f", r"\x80-\U0010ffff"),
    "Assigned": (r"\P{Cn}", r"\p{Cn}"),
}


def property_item(expression: str, negated: bool) -> str | None:
    """Return `Lu`, `Script=Greek`, ... as an item of a class of `regex`; None when ECMAScript has no such property."""
    name, equals, value = expression.partition("=")
    if not equals:
        if expression in _OWN:
            return _OWN[expression][negated]
        known = expression in _PROPERTIES.split() or expression in _CATEGORIES.split()
    elif name in ("General_Category", "gc"):
        known = value in _CATEGORIES.split()
    else:
        letters = value.replace("_", "")
        known = name in ("Script", "sc", "Script_Extensions", "scx") and letters.isalpha() and letters[0].isupper()
    if not known:
        return None
    import regex

    item = rf"\{'P' if negated else 'p'}{{{expression}}}"
    try:
        regex.compile(item)
    except regex.error:
        return None
    return item


def canonical_unit(code: int) -> int:
    """Canonicalize without the `u` flag: upper case, unless that takes several units or enters ASCII."""
    upper = chr(code).upper()
    if len(upper) != 1 or (code >= 128 and ord(upper) < 128):
        return code
    return ord(upper)


def canonical_point(code: int) -> int:
    """Canonicalize with the `u` flag: simple case folding."""
    folded = chr(code).casefold()
    if len(folded) != 1:
        folded = chr(code).lower()
    return ord(folded) if len(folded) == 1 else code


class _Canonical(dict[int, int]):
    """A translation table that grows with the characters it meets."""

    def __init__(self, rule: Callable[[int], int]) -> None:
        self._rule = rule

    def __missing__(self, code: int) -> int:
        self[code] = result = self._rule(code)
        return result


UNITS = _Canonical(canonical_unit)
POINTS = _Canonical(canonical_point)


@lru_cache(maxsize=2)
def cased(unicode: bool) -> tuple[int, ...]:
    """Return every character that is not its own canonical form; there is none above U+1FFFF."""
    rule = canonical_point if unicode else canonical_unit
    return tuple(code for code in range(0x20000 if unicode else 0x10000) if rule(code) != code)


def split_units(text: str) -> str:
    """Return one character per UTF-16 code unit."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    raw = text.encode("utf-16-le", "surrogatepass")
    return "".join(map(chr, struct.unpack(f"<{len(raw) // 2}H", raw)))


def join_units(text: str) -> str:
    """Return one character per code point, also for surrogate pairs that arrive as two characters."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
