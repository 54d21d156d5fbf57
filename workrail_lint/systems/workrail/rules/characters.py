"""Which kinds of unusual characters a document contains: a few fast searches, which end at once for plain ASCII."""

from __future__ import annotations

import unicodedata

from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.source_text import SourceText

BIDI, INVISIBLE, SURROGATE, TAG = "<bidi control>", "<invisible character>", "<surrogate>", "<tag character>"
CONTROL, LETTER, OTHER = "<control character>", "<letter beyond ASCII>", "<character beyond ASCII>"
KINDS = frozenset((BIDI, INVISIBLE, SURROGATE, TAG, CONTROL, LETTER, OTHER))

BIDI_CHARACTERS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
INVISIBLE_CHARACTERS = "\u00ad\u180e\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff"
# The most common ones in prose, none of which is a part of a name.
_TYPOGRAPHY = "–—‘’“”…•→←↔≤≥≠×✓✅❌⚠️─│├└"
_ESCAPES = Pattern(r"\\(?:u([0-9a-fA-F]{4})|[bf])")
# Two escapes that spell one character, as for emoji; after a backslash the first may not be an escape.
_PAIRS = Pattern(r"\\u(?<!\\\\u)([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_ASCII = bytes(range(128))


def kinds_in(source: SourceText) -> frozenset[str]:
    """Return the kinds of unusual characters that the strings of a JSON text may contain."""
    text = source.text
    kinds: set[str] = set()
    if not text.isascii():
        # Deleting everything else is fast and leaves little to check.
        rare = source.data.translate(None, _ASCII).decode("utf-8", "surrogatepass")
        kinds.update(_kind(ord(char)) for char in set(rare))
    escapes = set(_ESCAPES.findall(text))
    if any("d800" <= code.lower() <= "dfff" for code in escapes):
        pairs = set(_PAIRS.compiled.findall(text))
        kinds.update(_kind((int(high, 16) - 0xD800 << 10) + int(low, 16) + 0x2400) for high, low in pairs)
        escapes = set(_ESCAPES.findall(_PAIRS.sub(" ", text)))
    kinds.update(_kind(int(code, 16)) if code else CONTROL for code in escapes)
    if "\x7f" in text:
        kinds.add(CONTROL)
    if SURROGATE in kinds:
        kinds.add(TAG)  # which two escapes may spell
    return frozenset(kinds)


def _kind(code: int) -> str:
    char = chr(code)
    if char in _TYPOGRAPHY:
        return OTHER
    if char in BIDI_CHARACTERS:
        return BIDI
    if char in INVISIBLE_CHARACTERS:
        return INVISIBLE
    if 0xD800 <= code <= 0xDFFF:
        return SURROGATE
    if 0xE0000 <= code <= 0xE007F:
        return TAG
    if code < 0x20 or 0x7F <= code <= 0x9F:
        return CONTROL
    return LETTER if code > 0x7F and _is_in_names(char) else OTHER


def _is_in_names(char: str) -> bool:
    """Return whether it is a letter, digit or mark, as opposed to dashes, quotes and symbols of prose."""
    is_variation_selector = "\ufe00" <= char <= "\ufe0f"  # a mark too, but of emoji
    return unicodedata.category(char)[0] in "LNM" and not is_variation_selector
