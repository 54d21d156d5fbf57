"""JavaScript value semantics, once.

Workflows are written against ECMAScript: its numbers, white space, key order and truth differ from
Python's in ways that change hashes and verdicts. Everything that needs them takes them from here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from workrail_lint.base.patterns import Pattern

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

# ECMAScript's `\s` and `String.prototype.trim` set. Python's own adds U+001C..U+001F and U+0085 and
# misses U+FEFF.
WHITESPACE = (
    "\t\n\x0b\x0c\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
# The same set, ready to stand inside a character class of a Python pattern.
WHITESPACE_CLASS = r"\t\n\x0b\x0c\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"

MAX_SAFE_INTEGER = 2**53
_MAX_ARRAY_INDEX = 4294967294
_DECIMAL = Pattern(r"[+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)
_RADIX_DIGITS = {"x": 16, "o": 8, "b": 2}
_HALF_PAIR = Pattern("[\ud800-\udfff]")


def json_text(value: Json, indent: str | None = None) -> str:
    """Return well-formed `JSON.stringify`: text as it is, but half a surrogate pair, which no file can hold, as its
    escape.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _HALF_PAIR.compiled.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def number(lexeme: str) -> int | float:
    """Return the double a JSON number lexeme denotes; an integral one within 2**53 comes back as an int.

    Both forms of an integral double are one number in JavaScript, so the reader keeps just one.
    """
    if len(lexeme) < 16 and lexeme.lstrip("-").isdigit():
        return int(lexeme)
    value = float(lexeme)
    if value.is_integer() and abs(value) <= MAX_SAFE_INTEGER:
        return int(value)
    return value


def number_text(value: int | float) -> str:
    """ECMAScript `Number::toString(10)`: `1.0` is `1`, `1e21` is `1e+21`, `-0` is `0`."""
    if type(value) is int and abs(value) <= MAX_SAFE_INTEGER:
        return str(value)
    try:
        x = float(value)
    except OverflowError:
        return "Infinity" if value > 0 else "-Infinity"
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "Infinity" if x > 0 else "-Infinity"
    if x == 0:
        return "0"
    sign = "-" if x < 0 else ""
    mantissa, _, exponent = repr(abs(x)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # value = 0.d1..dk * 10**point
    point = len(whole) + int(exponent or 0)
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = f"{point - 1:+d}"
    if count == 1:
        return f"{sign}{digits}e{power}"
    return f"{sign}{digits[0]}.{digits[1:]}e{power}"


def is_number(value: object) -> bool:
    """Return whether it is a JSON number; Python's bool is an int and must not count."""
    return type(value) is int or type(value) is float


def keys(mapping: Mapping[str, object]) -> list[str]:
    """Return own keys in JavaScript's order: array indices ascending, then the rest as inserted."""
    indices = [k for k in mapping if k.isdigit() and _is_array_index(k)]
    if not indices:
        return list(mapping)
    indices.sort(key=int)
    numeric = set(indices)
    return indices + [k for k in mapping if k not in numeric]


def _is_array_index(key: str) -> bool:
    if not key.isdigit() or not key.isascii() or len(key) > 10:
        return False
    return (key == "0" or key[0] != "0") and int(key) <= _MAX_ARRAY_INDEX


def string_in(holder: object, member: str) -> str | None:
    """Return a member of an unchecked value if it is there and a string."""
    value = holder.get(member) if isinstance(holder, dict) else None
    return value if isinstance(value, str) else None


def list_in(holder: object, member: str) -> list[Any] | None:
    """Return a member of an unchecked value if it is there and a list."""
    value = holder.get(member) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else None


def object_in(holder: object, member: str) -> dict[str, Any] | None:
    """Return a member of an unchecked value if it is there and an object."""
    value = holder.get(member) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else None


def items_of(value: Any) -> list[Any]:
    """Return a list; an empty one for other values."""
    return value if type(value) is list else []


def members_of(value: Any) -> dict[str, Any]:
    """Return an object; an empty one for other values."""
    return value if type(value) is dict else {}


def strings_of(value: Any) -> list[str]:
    """Return the strings of a list; none for other values."""
    return [item for item in items_of(value) if type(item) is str]


def objects_of(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; none for other values."""
    return [item for item in items_of(value) if type(item) is dict]


def truthy(value: object) -> bool:
    """JavaScript truth: empty arrays and objects are true, zero, NaN and the empty string are not."""
    if value is None or value is False or value == "":
        return False
    if type(value) is int or type(value) is float:
        return value != 0 and value == value
    return True


def strict_equal(a: object, b: object) -> bool:
    """`===` on decoded JSON: same type and same value; two containers are never the same object."""
    if a is None or b is None:
        return a is b
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if is_number(a) and is_number(b):
        # Integers beyond 2**53 that Python tells apart can be one double.
        return a == b or to_number(a) == to_number(b)
    return isinstance(a, str) and isinstance(b, str) and a == b


def deep_equal(a: object, b: object) -> bool:
    """Structural equality with numbers as doubles and booleans apart from numbers. Not recursive."""
    stack = [(a, b)]
    while stack:
        x, y = stack.pop()
        if isinstance(x, dict):
            if not isinstance(y, dict) or x.keys() != y.keys():
                return False
            stack.extend((x[k], y[k]) for k in x)
        elif isinstance(x, list):
            if not isinstance(y, list) or len(x) != len(y):
                return False
            stack.extend(zip(x, y, strict=True))
        elif not strict_equal(x, y):
            return False
    return True


def trim(text: str) -> str:
    """`String.prototype.trim`."""
    return text.strip(WHITESPACE)


def is_blank(text: str) -> bool:
    """Return whether a text is empty once trimmed."""
    return not text.strip(WHITESPACE)


def lower(text: str) -> str:
    """Locale-free lower-casing."""
    return text.lower()


def text(value: object) -> str:
    """`String(value)` for decoded JSON. Not recursive, so hostile nesting can't exhaust the stack."""
    if not isinstance(value, list):
        return _scalar_text(value)
    # An array joins its elements with commas at every depth, so the whole is one flat join.
    parts: list[str] = []
    stack: list[list[object]] = [list(reversed(value))]
    first = [True]
    while stack:
        frame = stack[-1]
        if not frame:
            stack.pop()
            first.pop()
            continue
        item = frame.pop()
        if not first[-1]:
            parts.append(",")
        first[-1] = False
        if isinstance(item, list):
            stack.append(list(reversed(item)))
            first.append(True)
        elif item is not None:
            parts.append(_scalar_text(item))
    return "".join(parts)


def _scalar_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int | float):
        return number_text(value)
    return "[object Object]"


def to_number(value: object) -> float:
    """`Number(value)` for decoded JSON; NaN where it does not convert."""
    if value is None or value is False:
        return 0.0
    if value is True:
        return 1.0
    if isinstance(value, int | float):
        return _as_double(value)
    body = trim(text(value))
    if not body:
        return 0.0
    if len(body) > 2 and body[0] == "0" and body[1].lower() in _RADIX_DIGITS:
        # int() would also take underscores, signs and the digits of other scripts, which JavaScript does not.
        if not (body.isascii() and body[2:].isalnum()):
            return math.nan
        try:
            return _as_double(int(body[2:], _RADIX_DIGITS[body[1].lower()]))
        except ValueError:
            return math.nan
    if not _DECIMAL.fullmatch(body):
        return math.nan
    return float(body)


def _as_double(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def u16_length(text: str) -> int:
    """Return length in UTF-16 code units: an astral character counts two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def u16_prefix(text: str, units: int) -> str:
    """Return the first `units` UTF-16 code units; a cut pair leaves a lone surrogate, as in JavaScript."""
    if text.isascii():
        return text[:units]
    raw = text.encode("utf-16-le", "surrogatepass")
    return raw[: 2 * units].decode("utf-16-le", "surrogatepass")


def u8_length(text: str) -> int:
    """Return length in UTF-8 bytes, a lone surrogate counting three."""
    return len(text.encode("utf-8", "surrogatepass"))


def u16_sorted(names: Iterable[str]) -> list[str]:
    """Return names by UTF-16 code unit, which is not code point order once astral characters appear."""
    return sorted(names, key=lambda name: name.encode("utf-16-be", "surrogatepass"))


def type_name(value: object) -> str:
    """Return the JSON type of a value, in JSON's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else type(value).__name__
