"""Pieces of messages: author text made harmless, lists, types, suggestions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import listed as listed
from workrail_lint.systems.team.vocabulary import CHECK_PREFIXES

_LONGEST = 60
_LONGEST_MESSAGE = 500


def shown(value: object) -> str:
    """Return a value inside a message: quoted, on one line, cut when it is long."""
    if type(value) is not str:
        return type_name(value) if type(value) in (dict, list) else str(value).lower() if value is not None else "null"
    return f"'{_clean(value[:_LONGEST])}…'" if len(value) > _LONGEST else f"'{_clean(value)}'"


def tidy_message(message: str) -> str:
    """Return a message on one line and of limited length, whatever ids and names of the document are in it."""
    cut = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"
    return cut if cut.isprintable() else _clean(cut)


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def type_name(value: object) -> str:
    names: dict[type, str] = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "null")


def suggestion(value: object, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` if a known word is similar, else the whole set."""
    words = list(known)
    return _did_you_mean(value, words) or _one_of(words)


def set_and_suggestion(value: object, known: Iterable[str]) -> str:
    """Return the whole set, and a similar known word if there is one."""
    words = list(known)
    return _one_of(words) + _did_you_mean(value, words)


def _one_of(words: Iterable[str]) -> str:
    return f"; expected one of {', '.join(words)}"


def _did_you_mean(value: object, words: list[str]) -> str:
    if type(value) is not str:
        return ""
    folded = value.replace("_", "-").casefold()
    same = [word for word in words if word.replace("_", "-").casefold() == folded]
    begun = [word for word in words if folded and word.replace("_", "-").casefold().startswith(f"{folded}-")]
    near = same[0] if same else begun[0] if len(begun) == 1 else nearest(value, words)
    return f"; did you mean '{near}'?" if near is not None else ""


def lacking(value: Mapping[str, object], name: str, owner: str) -> str:
    """Return why a required field counts as missing."""
    written = value.get(name)
    if written is None:
        return f"'{name}' is missing from {owner}"
    if type(written) is str or written == []:
        return f"'{name}' of {owner} is empty"
    return f"'{name}' of {owner} must be a string, not {type_name(written)}"


def in_line(message: str, index: int) -> str:
    """Return a message about a line that was read alone, which is always line 1, with its line in the file."""
    return message.replace("line 1, column ", f"line {index + 1}, column ")


def no_check(entry: object) -> str:
    """Return why an entry of acceptance_checks is not a check."""
    if type(entry) is not str:
        return f"the check {shown(entry)} must be a string that starts with 'cmd: ' or 'manual: '"
    if entry.startswith(CHECK_PREFIXES):
        return f"the check {shown(entry)} has nothing after its prefix"
    return f"the check {shown(entry)} must start with 'cmd: ' or 'manual: '"
