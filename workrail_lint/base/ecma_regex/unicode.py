"""Characters as ECMAScript sees them: sets, canonical case, UTF-16 units, property names."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache

from workrail_lint.base.js import WHITESPACE

LAST_POINT = 0x10FFFF

Ranges = list[tuple[int, int]]


def complement(ranges: Ranges) -> Ranges:
    """All code points outside the ranges."""
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
    """`Lu`, `Script=Greek`, ... as an item of a class of `regex`; None when ECMAScript has no such property."""
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
    """Every character that is not its own canonical form; there is none above U+1FFFF."""
    rule = canonical_point if unicode else canonical_unit
    return tuple(code for code in range(0x20000 if unicode else 0x10000) if rule(code) != code)


def split_units(text: str) -> str:
    """One character per UTF-16 code unit."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    raw = text.encode("utf-16-le", "surrogatepass")
    return "".join(map(chr, struct.unpack(f"<{len(raw) // 2}H", raw)))


def join_units(text: str) -> str:
    """One character per code point, also for surrogate pairs that arrive as two characters."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
