"""Artifacts written out in prompts: which members an example or an instruction asks the agent to set."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workrail_lint.base.patterns import Pattern

# An example is read up to this length.
_MAX_LENGTH = 4000
_MAX_BACK = 400
_NEAR = 80
_LIST = 240  # how far back a list of names may begin
_SENTENCE_END = Pattern(r"[.!?\n]")
# A string, a brace or bracket, or a bare name before a colon.
_PIECE = Pattern(r'"((?:[^"\\\n]|\\.)*)"|\'([^\'\n]*)\'|([{}\[\]])|([A-Za-z_$][\w$]*)\??(?=\s*:)')
_COLON = Pattern(r"\s*:")
# What precedes a quoted name that the agent should set, as in `include a "summary"`: an order or an artifact `with`
# something, and the names of the list that come before this one.
_ARTICLES = r"(?:(?:a|an|the|its|your|also|short|brief)\s+){0,2}"
_ORDER = Pattern(
    r"(?:\b(?:include|includes|including|add|adding|provide|attach|set|fill in)"
    r"|\bwr\.\w+[\"'`]?\s+(?:artifact\s+)?(?:with|that has|containing))\s+"
    rf"{_ARTICLES}(?:[\"'`][A-Za-z_]\w{{1,40}}[\"'`]"
    rf"(?:\s*,(?:\s*and)?\s|\s+(?:and|as well as|plus)\s)\s*{_ARTICLES})*\Z",
    re.I,
)
_QUOTED = Pattern(r"([\"'`])([A-Za-z_]\w{1,40})\1")
# Words that show the name is meant for a place other than the artifact.
_ELSEWHERE = Pattern(r"\b(?:context|notes?|metadata|variable|file|document|section|heading|report)\b", re.I)


def example_members(text: str, kind: str) -> Iterator[list[str]]:
    """The member names of each object in the text that has the artifact kind as a value."""
    start = text.find(kind)
    while start >= 0:
        end = start + len(kind)
        if text[start - 1 : start] in ('"', "'") and text[end : end + 1] == text[start - 1]:
            opening = _opening(text, start)
            if opening is not None:
                yield _members(text, opening)
        start = text.find(kind, end)


def _opening(text: str, position: int) -> int | None:
    """Where the innermost object around a position starts."""
    depth = 0
    for at in range(position - 1, max(-1, position - _MAX_BACK), -1):
        if text[at] in "}]":
            depth += 1
        elif text[at] in "{[":
            if depth == 0:
                return at if text[at] == "{" else None
            depth -= 1
    return None


def _members(text: str, opening: int) -> list[str]:
    """The names before a colon, directly inside the object that opens here."""
    example = text[opening : opening + _MAX_LENGTH]
    names: list[str] = []
    depth = 0
    for match in _PIECE.finditer(example):
        bracket = match[3]
        if bracket in ("{", "["):
            depth += 1
        elif bracket in ("}", "]"):
            depth -= 1
            if depth == 0:
                break
        elif depth == 1:
            name = next(group for group in (match[1], match[2], match[4]) if group is not None)
            if match[4] is not None or _COLON.match(example, match.end()):
                names.append(name)
    return list(dict.fromkeys(names))


def instructed_members(text: str) -> Iterator[str]:
    """The quoted names that a text tells the agent to include in its answer, unless it names another place."""
    for match in _QUOTED.finditer(text):
        before, after = text[max(0, match.start() - _LIST) : match.start()], text[match.end() : match.end() + _NEAR]
        if _ORDER.search(before) and not _ELSEWHERE.search(f"{before[-_NEAR:]} {_same_sentence(after)}"):
            yield match[2]


def _same_sentence(text: str) -> str:
    end = _SENTENCE_END.search(text)
    return text[: end.start()] if end else text
