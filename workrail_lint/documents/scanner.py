"""The standard library's C scanner for single tokens. Undocumented names, so they are touched only here."""

from __future__ import annotations

import json
from json import decoder

_decode = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def read_string(text: str, at: int) -> tuple[str, int]:
    """The string whose opening quote is at `at`, and the offset behind its closing quote.

    Raises JSONDecodeError for a string that breaks JSON's rules.
    """
    value, end = decoder.scanstring(text, at + 1, True)  # type: ignore[attr-defined]
    return value, end


def skip_value(text: str, at: int) -> int:
    """The offset behind the value that starts at `at`, which must be a well-formed one."""
    end: int = _decode(text, at)[1]
    return end
