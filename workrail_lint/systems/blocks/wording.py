"""Author text inside messages, and the names of types and fields."""

from __future__ import annotations

from collections.abc import Iterable

from workrail_lint.base import js
from workrail_lint.base.wording import quoted

_LONGEST = 80
_MOST_LISTED = 5


def shown(text: object) -> str:
    """Return a value in quotes, on one line, and of limited length."""
    return quoted(text, _LONGEST)


def written(value: object) -> str:
    """Return a value of any type as an author wrote it."""
    return shown(value if isinstance(value, str) else js.text(value))


def text_or_type(value: object) -> str:
    """Return a string in quotes; of any other value its type."""
    return shown(value) if isinstance(value, str) else json_type(value)


def shown_list(values: Iterable[object]) -> str:
    """Return several values in quotes; of many only the first."""
    items = list(values)
    more = f" and {len(items) - _MOST_LISTED} more" if len(items) > _MOST_LISTED else ""
    return ", ".join(shown(item) for item in items[:_MOST_LISTED]) + more


def json_type(value: object) -> str:
    """Return the type of a JSON value in words."""
    return type_in_words(js.type_name(value))


def type_in_words(name: str) -> str:
    """Return the name of a JSON type with its article."""
    article = "an" if name in ("object", "array", "integer") else "a"
    return name if name == "null" else f"{article} {name}"


def field_at(pointer: str) -> str:
    """Return how a message names the value at a pointer: `'tags'`, or `every item of 'tags'`."""
    tokens = pointer.split("/")
    is_item = tokens[-1].isdigit() and len(tokens) > 2
    return f"every item of {shown(tokens[-2])}" if is_item else shown(tokens[-1])
