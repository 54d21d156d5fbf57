"""JSON texts and single JSON values in the middle of a text, read by the standard library."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_DECODER = json.JSONDecoder(parse_int=float)  # a double as in JavaScript; an int may have too many digits to convert
_SPACE = re.compile(r"[ \t\n\r]*")


def loads(
    data: bytes | str,
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    parse_int: Callable[[str], Any] | None = None,
    parse_float: Callable[[str], Any] | None = None,
    parse_constant: Callable[[str], Any] | None = None,
) -> Any:
    """Return the value of a JSON text. Raise ValueError for one that is not JSON, and RecursionError.

    Unlike `json.loads`, bytes are always UTF-8, and half a surrogate pair in them is kept.
    """
    text = data if isinstance(data, str) else str(data, "utf-8", "surrogatepass")
    return json.loads(
        text,
        object_pairs_hook=object_pairs_hook,
        parse_int=parse_int,
        parse_float=parse_float,
        parse_constant=parse_constant,
    )


def read_string(text: str, at: int) -> tuple[str, int]:
    """Return the string whose opening quote is at `at`, and the offset after its closing quote.

    Raise JSONDecodeError for a string that breaks JSON's rules.
    """
    return _DECODER.raw_decode(text, at)


def skip_space(text: str, at: int) -> int:
    """Return the offset of the first character from `at` on that is not white space."""
    match = _SPACE.match(text, at)
    assert match is not None  # if only an empty stretch
    return match.end()


def skip_value(text: str, at: int) -> int:
    """Return the offset after the value that starts at `at`, which must be well-formed."""
    return _DECODER.raw_decode(text, at)[1]
