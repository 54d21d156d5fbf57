"""Names in author text: expressions in braces, and names as separate words."""

from __future__ import annotations

from collections.abc import Iterator


def expressions(text: str) -> Iterator[str]:
    """What is between `{{` and `}}`, without the pairs that contain a single closing brace.

    The same as matching `{{([^}]*)}}` again and again, but linear on text full of opening braces.
    """
    start = text.find("{{")
    while start >= 0:
        end = text.find("}", start + 2)
        if end < 0:
            return
        if text.startswith("}}", end):
            yield text[start + 2 : end]
        start = text.find("{{", end + 1)


def mentions(text: str, name: str) -> bool:
    """Whether a text has the name as a separate word."""
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        is_word = not (start and _in_name(text[start - 1])) and not (end < len(text) and _in_name(text[end]))
        if is_word:
            return True
        start = text.find(name, end)
    return False


def _in_name(character: str) -> bool:
    return character == "_" or character == "$" or (character.isascii() and character.isalnum())
