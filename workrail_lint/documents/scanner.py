"""The standard library's C scanner for single tokens. Its names are undocumented, so they are used only here."""

from __future__ import annotations

import json
from json import decoder

_decode = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def read_string(text: str, at: int) -> tuple[str, int]:
    """The string whose opening quote is at `at`, and the offset after its closing quote.

    Raises JSONDecodeError for a string that breaks JSON's rules.
    """
    value, end = decoder.scanstring(text, at + 1, True)  # type: ignore[attr-defined]
    return value, end


def skip_space(text: str, at: int) -> int:
    """The offset of the first character from `at` on that is not white space."""
    end: int = decoder.WHITESPACE.match(text, at).end()  # type: ignore[attr-defined]
    return end


def skip_value(text: str, at: int) -> int:
    """The offset after the value that starts at `at`, which must be well-formed."""
    end: int = _decode(text, at)[1]
    return end
