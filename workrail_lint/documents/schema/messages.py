"""Messages for schema violations: where it is, what is wrong, what is allowed, what was probably meant."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.result import Record
from workrail_lint.base.suggest import did_you_mean, nearest
from workrail_lint.base.wording import counted, quoted
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.schema.engine import Violation

# Longer values are cut, and longer lists of names are not shown.
_MAX_SHOWN = 60
_LISTED = 12
_TYPES = {
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


class Place:
    """A pointer taken apart. A system that has names for parts of a document overrides `part_length` and `label`."""

    __slots__ = ("definition", "noun", "part_length", "pointer", "tokens")

    label = ""  # how a message starts: the part the place is in

    def __init__(self, pointer: str, definition: dict[str, Any], noun: str = "the document") -> None:
        self.pointer = pointer
        self.tokens = pointers.decode(pointer)
        self.definition = definition
        self.noun = noun
        self.part_length = 0  # how many tokens lead to the part that the label names

    def value(self, tokens: list[str]) -> Any:
        """Return the value at a place; None if there is none."""
        try:
            return pointers.resolve(self.definition, pointers.encode(tokens))
        except KeyError:
            return None

    @property
    def member(self) -> str:
        """The last token: a member's name or an index."""
        return self.tokens[-1] if self.tokens else ""

    @property
    def parent(self) -> Any:
        """The container of the place; None for the root."""
        return self.value(self.tokens[:-1]) if self.tokens else None

    @property
    def path(self) -> str:
        """The path below the part, as in `loop.maxIterations` or `guidance[2]`; "" for the part itself."""
        return _path(self.tokens[self.part_length :])

    @property
    def subject(self) -> str:
        """The subject of a sentence: the path, or a noun for the whole."""
        return self.path or self.noun

    @property
    def inside(self) -> str:
        """The object the place is in, as a phrase that follows a noun; "" for a part or the whole."""
        outer = _path(self.tokens[self.part_length : -1])
        return f" in {outer}" if outer else ""

    def say(self, text: str) -> str:
        """Return a message: the label, if there is one, then the text."""
        return f"{self.label}: {text}" if self.label else text


def _path(tokens: list[str]) -> str:
    path = ""
    for token in tokens:
        if token.isascii() and token.isdigit():
            path += f"[{token}]"
        else:
            plain = token.isascii() and token.isprintable() and len(token) <= _MAX_SHOWN
            name = token if plain else shown(token)
            path += f".{name}" if path else name
    return path


def shown(value: object) -> str:
    """Return a value as part of a sentence, never longer than a line."""
    if isinstance(value, str):
        return quoted(value if len(value) <= _MAX_SHOWN else value[: _MAX_SHOWN - 1] + "…")
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, float) and math.isinf(value):
        return "a number too large for a double"
    return js.text(value)


def nearest_member(name: str, known: Collection[str]) -> str | None:
    """Return the one known member a name was meant to be: another spelling, or a typo of one or two keys."""
    plain = squashed(name)
    same = [member for member in known if squashed(member) == plain]
    if len(same) == 1:
        return same[0]
    return nearest(name, known, 1 if len(name) < 5 else 2)


def squashed(name: str) -> str:
    """Return a name without what tells camel case from other spellings."""
    return name.replace("_", "").replace("-", "").lower()


class Message(Record):
    """The text of a message, and the value that was probably meant."""

    __slots__ = ("on_name", "suggestion", "text")

    def __init__(self, text: str, suggestion: str | None = None, on_name: bool = False) -> None:
        self.text = text
        self.suggestion = suggestion
        self.on_name = on_name


def message_of(violation: Violation, place: Place) -> Message:
    """Return the message about a violation that nothing more specific is known about."""
    return MESSAGES[violation.keyword](violation, place)


def _wrong_type(violation: Violation, place: Place) -> Message:
    wanted, value = " or ".join(_TYPES[name] for name in violation.expected), violation.value
    if isinstance(value, float) and math.isinf(value):
        return Message(f"{place.subject} is too large for a double; write a smaller number")
    hint = "; remove the member if it has no value" if value is None and not place.member.isdigit() else ""
    return Message(f"{place.subject} must be {wanted}, not {shown(value)}{hint}")


def _missing(violation: Violation, place: Place) -> Message:
    inside = f" in {place.path}" if place.path else ""
    return Message(f"the required field {quoted(violation.expected)} is missing{inside}")


def _unknown(violation: Violation, place: Place) -> Message:
    name, known, present = place.member, violation.expected, place.parent or {}
    text = f"unknown field {shown(name)}{place.inside}"
    suggestion = nearest_member(name, [each for each in known if each not in present])
    if suggestion is not None:
        text += did_you_mean(suggestion)
    elif (there := nearest_member(name, known)) is not None:
        text += f"; did you mean {quoted(there)}, which already exists?"
    elif len(known) <= _LISTED:
        text += f"; expected one of {', '.join(known)}"
    return Message(text, suggestion, on_name=True)


def outside_set(violation: Violation, place: Place, allowed: Collection[object] | None = None) -> Message:
    """Return the message about a value that is not in a closed set, even if it is not a string."""
    if allowed is None:
        allowed = violation.expected if isinstance(violation.expected, tuple) else (violation.expected,)
    names = [js.text(member) for member in allowed]
    value = violation.value
    suggestion = nearest_member(value, names) if isinstance(value, str) else None
    wanted = f"one of {', '.join(names)}" if len(names) > 1 else names[0]
    text = f"{place.subject} must be {wanted}, not {shown(value)}"
    return Message(text + did_you_mean(suggestion), suggestion)


def _mismatch(violation: Violation, place: Place) -> Message:
    return Message(f"{place.subject} {shown(violation.value)} does not match the pattern {violation.expected}")


def _too_short(violation: Violation, place: Place) -> Message:
    return Message(f"{place.subject} {_too_little(violation, 'character')}")


def _too_few(violation: Violation, place: Place) -> Message:
    return Message(f"{place.subject} {_too_little(violation, 'item')}")


def _too_little(violation: Violation, noun: str) -> str:
    size, low = len(violation.value), violation.expected
    return f"has {counted(size, noun)}; it needs at least {low}" if size else _empty(low, noun)


def _empty(low: int, noun: str) -> str:
    return f"is empty; it needs at least {counted(low, noun)}"


def _too_long(violation: Violation, place: Place) -> Message:
    size, high = len(violation.value), violation.expected
    return Message(f"{place.subject} has {size:,} characters; at most {high:,} are allowed")


def _too_many(violation: Violation, place: Place) -> Message:
    size, high = len(violation.value), violation.expected
    return Message(f"{place.subject} has {counted(size, 'item')}; at most {high} are allowed")


def _repeated(violation: Violation, place: Place) -> Message:
    items = place.path.rpartition("[")[0]
    return Message(f"{place.path} duplicates {items}[{violation.expected}]; items must be unique")


def _below(violation: Violation, place: Place) -> Message:
    return Message(f"{place.subject} must be at least {js.text(violation.expected)}, not {shown(violation.value)}")


def _above(violation: Violation, place: Place) -> Message:
    return Message(f"{place.subject} must be at most {js.text(violation.expected)}, not {shown(violation.value)}")


def _no_alternative(violation: Violation, place: Place) -> Message:
    return Message(f"{place.subject} needs {' or '.join(str(name) for name in violation.expected)}")


# Every keyword that the workflow and scenario schemas use.
MESSAGES: dict[str, Callable[[Violation, Place], Message]] = {
    "type": _wrong_type,
    "required": _missing,
    "additionalProperties": _unknown,
    "enum": outside_set,
    "const": outside_set,
    "pattern": _mismatch,
    "minLength": _too_short,
    "maxLength": _too_long,
    "minItems": _too_few,
    "maxItems": _too_many,
    "uniqueItems": _repeated,
    "minimum": _below,
    "maximum": _above,
    "anyOf": _no_alternative,
}
