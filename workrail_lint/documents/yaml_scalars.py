"""What a plain YAML scalar means, by the YAML 1.2 core schema, and where YAML 1.1 would disagree."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from workrail_lint.base import js

_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_RADIX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NON_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

# YAML 1.1, as it is still read by most tools.
_OLD_BOOLEAN = re.compile(r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF")
_OLD_INTEGER = re.compile(r"[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)")
_OLD_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?"
    r"|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*"
)
_OLD_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?"
)
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")


class Ambiguity(NamedTuple):
    """A scalar that YAML readers understand differently: its name, the readings, and the fix."""

    name: str
    readings: str
    remedy: str


def plain_value(text: str) -> js.Json:
    """The value of a scalar without quotes. A number that JSON does not have stays a string."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    number = _number(text)
    return text if number is None or math.isinf(number) else number


def is_non_finite(text: str) -> bool:
    """Whether this is a number that JSON does not have, by name or by size."""
    if _NON_FINITE.fullmatch(text):
        return True
    number = _number(text)
    return number is not None and math.isinf(number)


def _number(text: str) -> int | float | None:
    if _RADIX.fullmatch(text):
        value = js.to_number(int(text[2:], 8 if text[1] == "o" else 16))
        return int(value) if value <= js.MAX_SAFE_INTEGER else value
    if _INTEGER.fullmatch(text) or _FLOAT.fullmatch(text):
        return js.number(text)
    return None


def ambiguity(text: str) -> Ambiguity | None:
    """What to say about a plain scalar that YAML 1.1 and YAML 1.2 read differently."""
    if _OLD_BOOLEAN.fullmatch(text):
        return Ambiguity(
            "yaml-ambiguous-boolean",
            "a string, but a boolean for YAML 1.1 readers",
            "quote it, or write `true` or `false`",
        )
    if _OLD_DATE.fullmatch(text):
        return Ambiguity("yaml-ambiguous-date", "a string, but a date for YAML 1.1 readers", "quote it")
    old_integer = _OLD_INTEGER.fullmatch(text) is not None
    old_float = _OLD_FLOAT.fullmatch(text) is not None
    if _number(text) is None:
        readings = "a string, but a number for YAML 1.1 readers" if old_integer or old_float else None
    elif old_integer and _LEADING_ZERO.fullmatch(text):
        readings = "a decimal number, but an octal one for YAML 1.1 readers"
    else:
        readings = None if old_integer or old_float else "a number, but a string for YAML 1.1 readers"
    if readings is None:
        return None
    return Ambiguity("yaml-ambiguous-number", readings, "quote it, or write the number in plain decimal digits")
