"""JSON as authors write it in prose: with alternatives, comments, ellipses and words without quotes.

`{"kind": "wr.gate_verdict", "verdict": "approved" | "rejected", ...}` becomes an object whose `verdict` is the string
"approved | rejected" and that has a member "...", which means that the rest is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.scanner import loads
from workrail_lint.systems.workrail.rules.delivered_text import Passage

_LONGEST = 4000
_DEEPEST = 8
_STRING = Pattern(r'"((?:[^"\\\n]|\\.)*)"|\'([^\'\n]*)\'|`([^`\n]*)`')
_NUMBER = Pattern(r"-?\d+(?:\.\d+)?(?![\w.%-])")
_NAME = Pattern(r"[A-Za-z_$][\w$-]*\??(?=\s*:)")
_REST = Pattern(r"\.{3}|…")
# A value without quotes: a placeholder, a type, or words.
_BARE = Pattern(r"<[^>\n]*>|[^,|\n{}\[\]\"`]+")
_BLANK = Pattern(r"(?:\s+|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_OR = Pattern(r"\s*(?:\|{1,2}|/(?!/)|or\b)\s*")
_MEMBER_LINE = Pattern(r"[ \t>]*(?:[-*•]\s+)?([\"'`]?[A-Za-z_]\w*[\"'`]?\s*:[^\n]*)")
_MOST_LINES = 30
_LITERALS = {"true": True, "false": False, "null": None}


class _NoJsonError(Exception):
    """The text is not like JSON."""


class _Reader:
    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.end = min(len(text), at + _LONGEST)

    def match(self, pattern: Pattern) -> re.Match[str] | None:
        match = pattern.match(self.text, self.at, self.end)
        if match is not None:
            self.at = match.end()
        return match

    def skip(self) -> str:
        """Skip blanks and comments, and return the next character."""
        self.match(_BLANK)
        return self.text[self.at : min(self.at + 1, self.end)]

    def value(self, depth: int) -> Any:
        first = self._single(depth)
        if isinstance(first, dict | list):
            return first
        options = [first]
        while True:
            start = self.at
            if self.match(_OR) is None or self.skip() in ("", ",", "}", "]"):
                self.at = start
                break
            option = self._single(depth)
            if isinstance(option, dict | list):
                return option
            options.append(option)
        return first if len(options) == 1 else " | ".join(map(str, options))

    def _single(self, depth: int) -> Any:
        mark = self.skip()
        if depth > _DEEPEST or mark in ("", ",", "}", "]", ":"):
            raise _NoJsonError
        if mark == "{":
            return self.object(depth + 1)
        if mark == "[":
            return self._array(depth + 1)
        if (string := self.match(_STRING)) is not None:
            return next(group for group in string.groups() if group is not None)
        if (number := self.match(_NUMBER)) is not None:
            return float(number[0]) if "." in number[0] else int(number[0])
        bare = self.match(_BARE)
        if bare is None:
            raise _NoJsonError
        word = bare[0].strip()
        # Only a mark keeps a value without quotes apart from a plain string.
        return _LITERALS[word] if word in _LITERALS else f"<{word.strip('<>')}>"

    def object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        members: dict[str, Any] = {}
        while (mark := self.skip()) != "}":
            if mark == ",":
                self.at += 1
            elif self.match(_REST) is not None:
                members["..."] = None
            else:
                name = self.match(_STRING) or self.match(_NAME)
                if name is None or self.skip() != ":":
                    raise _NoJsonError
                self.at += 1
                text = next((group for group in name.groups() if group is not None), name[0])
                members[text.rstrip("?")] = self.value(depth)
        self.at += 1
        return members

    def _array(self, depth: int) -> list[Any]:
        self.at += 1
        items: list[Any] = []
        while (mark := self.skip()) != "]":
            if mark == ",":
                self.at += 1
            elif self.match(_REST) is not None:
                items.append("...")
            else:
                items.append(self.value(depth))
        self.at += 1
        return items


def object_at(text: str, start: int) -> dict[str, Any] | None:
    """Return the object that begins at an opening brace; None if what follows is not like JSON."""
    try:
        return _Reader(text, start).object(0)
    except _NoJsonError:
        return None


def opening_brace(text: str, position: int) -> int:
    """Return where the innermost object around a position begins; -1 if there is none."""
    depth = 0
    for at in range(position - 1, max(-1, position - _LONGEST), -1):
        if text[at] == "}":
            depth += 1
        elif text[at] == "{":
            if not depth:
                return at
            depth -= 1
    return -1


def object_of_lines(text: str, at: int) -> dict[str, Any] | None:
    """Return the members on the line of a position and on the lines that follow, if there are several."""
    members: list[str] = []
    for line in text[text.rfind("\n", 0, at) + 1 :].split("\n", _MOST_LINES)[:_MOST_LINES]:
        match = _MEMBER_LINE.fullmatch(line)
        if match is None:
            break
        members.append(match[1].partition("#")[0].rstrip(" ,"))
    return object_at("{" + ",\n".join(members) + "\n}", 0) if len(members) > 1 else None


_KIND_AT = Pattern(r"[\"'`]?\bkind[\"'`]?\s*:\s*[\"'`]?([a-z][\w.]*\w)")
_LONGEST_EXAMPLE = 20_000


def artifacts_in(passage: Passage) -> list[tuple[dict[str, Any], bool]]:
    """Return the artifacts that a text shows, and whether each is whole: JSON in a fence, and not a sketch."""
    read: list[tuple[int, int]] = []
    artifacts = [(artifact, True) for artifact in _fenced_artifacts(passage, read)]
    return artifacts + [(artifact, False) for artifact in _sketched_artifacts(passage, read)]


def _sketched_artifacts(passage: Passage, read: list[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """Yield the objects with a kind that are like JSON, or a line for each member, outside what was read."""
    text = passage.text.text
    seen: set[int] = set()
    for match in _KIND_AT.finditer(text):
        at = match.start()
        if any(start <= at < end for start, end in read) or passage.is_negated(at, at):
            continue
        brace = opening_brace(text, at)
        if brace in seen:
            continue
        if brace >= 0:
            seen.add(brace)
            artifact = object_at(text, brace)
        else:
            artifact = object_of_lines(text, at)
        if artifact is not None and isinstance(artifact.get("kind"), str):
            yield {**artifact, "kind": artifact["kind"].strip("<>")}


def _fenced_artifacts(passage: Passage, read: list[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """Yield the objects with a kind that fenced blocks hold, directly or in a list of artifacts.

    The blocks that are JSON are added to `read`.
    """
    for start, end in passage.fences:
        block = passage.text.text[start:end]
        if '"kind"' not in block or len(block) > _LONGEST_EXAMPLE:
            continue
        body = block.partition("\n")[2]
        closing = body.rfind("\n")
        if body[closing + 1 :].lstrip(" \t>").startswith(("```", "~~~")):
            body = body[: max(closing, 0)]
        try:
            value = loads(body)
        except (ValueError, RecursionError):
            continue
        read.append((start, end))
        yield from _artifacts_in(value)


def _artifacts_in(value: Any) -> Iterator[dict[str, Any]]:
    match value:
        case {"kind": str()}:
            yield value
        case {"output": {"artifacts": [*items]} | [*items]} | {"artifacts": [*items]} | [*items]:
            for item in items:
                match item:
                    case {"kind": str()}:
                        yield item
