"""Other people's words inside our messages."""

from __future__ import annotations

from collections.abc import Iterable

from workrail_lint.base.wording import quoted

_LONGEST = 80


def shown(text: object) -> str:
    """A text in quotes, on one line, and no longer than a line is."""
    return quoted(text, _LONGEST)


def shown_list(values: Iterable[object], most: int = 5) -> str:
    """Several texts; of very many only the first."""
    items = list(values)
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(shown(item) for item in items[:most]) + more


def json_type(value: object) -> str:
    """The type of a JSON value in words."""
    from workrail_lint.base.js import type_name

    return type_in_words(type_name(value))


def type_in_words(name: str) -> str:
    """The name of a JSON type as it stands in a sentence."""
    article = "an" if name in ("object", "array", "integer") else "a"
    return name if name == "null" else f"{article} {name}"
