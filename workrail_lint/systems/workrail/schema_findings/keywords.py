"""The generic findings: one for each keyword of the schema dialect."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.wording import counted, quoted
from workrail_lint.systems.workrail.schema_findings.members import elsewhere, nearest_member
from workrail_lint.systems.workrail.schema_findings.places import Place, shown, typed

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation

# Longer lists of names are not shown.
_LISTED = 12


class Message(NamedTuple):
    """A violation's name and message."""

    name: str
    text: str
    suggestion: str | None = None
    on_name: bool = False


def did_you_mean(suggestion: str | None) -> str:
    return f"; did you mean {quoted(suggestion)}?" if suggestion else ""


def wrong_type(violation: Violation, place: Place) -> Message:
    wanted, value = typed(violation.expected), violation.value
    if isinstance(value, float) and math.isinf(value):
        return Message("schema-type", f"{place.subject} is too large for a double; write a smaller number")
    hint = "; remove the member if it has no value" if value is None and not place.member.isdigit() else ""
    return Message("schema-type", f"{place.subject} must be {wanted}, not {shown(value)}{hint}")


def missing(violation: Violation, place: Place) -> Message:
    inside = f" in {place.path}" if place.path else ""
    return Message("schema-missing-member", f"the required field {quoted(violation.expected)} is missing{inside}")


def unknown(violation: Violation, place: Place) -> Message:
    """An unknown member, with the one that was probably meant."""
    name, present = place.member, place.parent or {}
    text = f"unknown field {shown(name)}{place.inside}"
    home = elsewhere(name, violation.shape)
    suggestion = (
        nearest_member(name, [known for known in violation.expected if known not in present]) if not home else None
    )
    if home is not None:
        text += f"; it belongs {home}"
    elif suggestion is not None:
        text += did_you_mean(suggestion)
    elif (there := nearest_member(name, violation.expected)) is not None:
        text += f"; did you mean {quoted(there)}, which already exists?"
    elif len(violation.expected) <= _LISTED:
        text += f"; expected one of {', '.join(violation.expected)}"
    return Message("schema-unknown-member", text, suggestion, on_name=True)


def outside_set(violation: Violation, place: Place) -> Message:
    allowed = violation.expected if isinstance(violation.expected, tuple) else (violation.expected,)
    names = [js.text(member) for member in allowed]
    value = violation.value
    suggestion = nearest_member(value, names) if isinstance(value, str) else None
    wanted = f"one of {', '.join(names)}" if len(names) > 1 else names[0]
    text = f"{place.subject} must be {wanted}, not {shown(value)}"
    return Message("schema-enum", text + did_you_mean(suggestion), suggestion)


def mismatch(violation: Violation, place: Place) -> Message:
    text = f"{place.subject} {shown(violation.value)} does not match the pattern {violation.expected}"
    return Message("schema-pattern", text)


def too_short(violation: Violation, place: Place) -> Message:
    size, low = len(violation.value), violation.expected
    text = f"has {counted(size, 'character')}; it needs at least {low}" if size else _empty(low, "character")
    return Message("schema-too-short", f"{place.subject} {text}")


def too_long(violation: Violation, place: Place) -> Message:
    size, high = len(violation.value), violation.expected
    return Message("schema-too-long", f"{place.subject} has {size:,} characters; at most {high:,} are allowed")


def too_few(violation: Violation, place: Place) -> Message:
    size, low = len(violation.value), violation.expected
    text = f"has {counted(size, 'item')}; it needs at least {low}" if size else _empty(low, "item")
    return Message("schema-too-few", f"{place.subject} {text}")


def too_many(violation: Violation, place: Place) -> Message:
    size, high = len(violation.value), violation.expected
    return Message("schema-too-many", f"{place.subject} has {counted(size, 'item')}; at most {high} are allowed")


def repeated(violation: Violation, place: Place) -> Message:
    items = place.path.rpartition("[")[0]
    text = f"{place.path} duplicates {items}[{violation.expected}]; items must be unique"
    return Message("schema-not-unique", text)


def below(violation: Violation, place: Place) -> Message:
    return Message(
        "schema-range", f"{place.subject} must be at least {js.text(violation.expected)}, not {shown(violation.value)}"
    )


def above(violation: Violation, place: Place) -> Message:
    return Message(
        "schema-range", f"{place.subject} must be at most {js.text(violation.expected)}, not {shown(violation.value)}"
    )


def no_alternative(violation: Violation, place: Place) -> Message:
    names = " or ".join(str(name) for name in violation.expected)
    return Message("schema-missing-member", f"{place.subject} needs {names}")


# Every keyword that the workflow schema uses.
GENERAL: dict[str, Callable[[Violation, Place], Message]] = {
    "type": wrong_type,
    "required": missing,
    "additionalProperties": unknown,
    "enum": outside_set,
    "const": outside_set,
    "pattern": mismatch,
    "minLength": too_short,
    "maxLength": too_long,
    "minItems": too_few,
    "maxItems": too_many,
    "uniqueItems": repeated,
    "minimum": below,
    "maximum": above,
    "anyOf": no_alternative,
}


def general(violation: Violation, place: Place) -> Message:
    return GENERAL[violation.keyword](violation, place)


def _empty(low: int, noun: str) -> str:
    return f"is empty; it needs at least {counted(low, noun)}"
