"""Values as goldens show them: ids, tokens and folders become symbols, numbered by first appearance.

Two values that mean different things never come out the same: what already looks like a symbol is marked, and a text
with line breaks can't be mistaken for a list of texts.
"""

from __future__ import annotations

import math
import os
import re
from functools import lru_cache
from typing import Any

from pytest_workrail.engine.tokens import formats
from workrail_lint.base import js
from workrail_lint.base.canonical import CanonicalError, canonical_hash
from workrail_lint.base.js import Json
from workrail_lint.base.patterns import Pattern

# Ids are made of sixteen random bytes, so that their shape alone tells them from an author's words. Short tokens
# are not that unlike a variable's name: they are symbols only where a token is expected, and wherever else the
# same text comes up.
_ID_KINDS = {"sess": "SESSION", "run": "RUN", "node": "NODE", "attempt": "ATTEMPT", "evt": "EVENT"}
_TOKEN_KINDS = {"ct_": "CT", "ck_": "CK", "st_": "ST", "ak_": "AK", "st1": "ST", "ack": "AK", "chk": "CK"}
_SHORT_BEGINNINGS = ("ct_", "ck_", "st_", "ak_")
_LONG_BEGINNINGS = ("st1", "ack1", "chk1")
_SHORT_TOKEN = r"(?:ct|ck|st|ak)_[A-Za-z0-9_-]{24}"
_LONG_TOKEN = Pattern(r"(?:st|ack|chk)1[02-9ac-hj-np-z]{60,}")
_ID = Pattern(rf"(?:{'|'.join(_ID_KINDS)})_[a-z2-7]{{26}}(?![a-z2-7])")
_MINTED = Pattern(rf"(?<![A-Za-z0-9])(?:{_ID.source}|{_SHORT_TOKEN}|{_LONG_TOKEN.source})")
# Both begin with a literal, which makes them much faster than a look for the real thing.
_MAY_HOLD_SHORT = Pattern(r"_[A-Za-z0-9_-]{24}")
_MAY_HOLD_LONG = Pattern(r"1[02-9ac-hj-np-z]{60}")
_SHORTEST_MINTED = 27
# A shorter text without a slash holds no id and no folder. Where folders are named without slashes, any text may.
_PLAIN_BELOW = _SHORTEST_MINTED if os.sep == "/" else 0

_KINDS = "CT|CK|ST|AK|SESSION|RUN|NODE|ATTEMPT|EVENT|WORKSPACE|TIME|BRANCH|SNAPSHOT|NaN|-?Infinity|LONG|DEEP|ANY"
_LOOK_ALIKE = Pattern(rf"«(?=\\*(?:{_KINDS})[0-9]*(?: [^»]*)?»)|⟪(?=\\*[A-Z_]+⟫)")
# A folder ends where its name ends: `/work` is no part of `/workshop` or `/work.old`.
_FOLDER_END = r"(?=[/\\\s\"'`)\]},;:]|\.(?:\s|\Z)|\Z)"

# An altered short token is still recognised by this much of its beginning: the prefix and some of the nonce.
_RECOGNISABLE = 11
_MAX_TEXT = 8192
_SHOWN_OF_LONG_TEXT = 160
_MAX_DEPTH = 150

# Members in the order in which the protocol shows them; whatever else there is follows by name.
_ORDER = (
    "kind code pointer message retry details status workflowId workspacePath goal gateToken continueToken"
    " checkpointToken checkpointNodeId resumeToken intent isComplete stepId title prompt pending agentRole preferences"
    " nextIntent nextCall tool params context output notesMarkdown artifacts blockers retryable retryContinueToken"
    " validation issues suggestions assessmentFollowup skipped skippedOmitted loop because unmet variable operator"
    " expected negated actual appliedFeatures warnings stepContext references"
)
_NUMBERED = Pattern(r"«([A-Z]+)([0-9]+)((?: altered)?)»")
_RANK = {name: rank for rank, name in enumerate(_ORDER.split())}


class Symbol(str):
    """Text that stands for something else already and must not be taken for an author's."""

    __slots__ = ()


class Symbols:
    """The symbols of one transcript. Feed it in the order in which the golden is read."""

    __slots__ = ("_beginnings", "_counts", "_names", "_workspaces")

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._beginnings: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._workspaces: dict[str, str] = {}

    def workspace(self, path: object) -> None:
        """From now on this folder is called by a symbol, by whichever way it is reached."""
        if isinstance(path, str) and path not in self._workspaces:
            self._workspaces |= _spellings_of(path)

    def value(self, value: Any, *, abbreviate: bool = False, depth: int = 0) -> Any:
        """Return a JSON value, ready to be written. `abbreviate` is for what did not come from the engine."""
        kind = type(value)
        if kind is str:
            text = self.text(value, abbreviate=abbreviate)
            return lines(text) if "\n" in text else text
        is_too_deep = depth > _MAX_DEPTH
        if kind is dict and not is_too_deep:
            return self._members(value, abbreviate, depth)
        if (kind is list or kind is tuple) and not is_too_deep:
            return [self.value(item, abbreviate=abbreviate, depth=depth + 1) for item in value]
        if kind is bool or value is None or kind is int:
            return value
        if kind is float:
            return _number(value)
        if kind is Symbol:
            return str(value)
        if is_too_deep:
            return f"«DEEP {_digest(value)}»"
        if isinstance(value, str):  # a member of an enumeration
            return self.value(str.__str__(value), abbreviate=abbreviate)
        raise TypeError(f"not a JSON value: {kind.__name__}")

    def text(self, text: str, *, abbreviate: bool = False) -> str:
        """Return a text with symbols, still in one piece."""
        if abbreviate and len(text) > _MAX_TEXT:
            return f"{self.text(text[:_SHOWN_OF_LONG_TEXT])}«LONG {js.u8_length(text)} {_digest(text)}»"
        if not text.isascii() and ("«" in text or "⟪" in text):
            text = _LOOK_ALIKE.sub(r"\g<0>\\", text)
        for folder in self._workspaces.values():
            if folder and folder == text:
                return "«WORKSPACE»"
            if folder and folder in text:
                text = re.sub(re.escape(folder) + _FOLDER_END, "«WORKSPACE»", text)
        if len(text) >= _SHORTEST_MINTED and (_MAY_HOLD_SHORT.search(text) or _MAY_HOLD_LONG.search(text)):
            text = _MINTED.sub(self._minted, text)
        return text

    def token(self, text: str) -> str:
        """Return the value of a token member: a token, one that was tampered with, or something else altogether."""
        known = self._names.get(text)
        if known is not None:
            return known
        is_long = text.startswith(_LONG_BEGINNINGS)
        original = self._long_original(text) if is_long else self._beginnings.get(text[:_RECOGNISABLE])
        if original is not None:
            return f"{original[:-1]} altered»"
        if _LONG_TOKEN.fullmatch(text) if is_long else _is_short_token(text):
            return self._name(_TOKEN_KINDS[text[:3]], text)
        return self.text(text)

    def _long_original(self, text: str) -> str | None:
        """Return the token that a damaged long one was made from."""
        if _is_whole_long_token(text):
            return None
        # Long tokens of one session begin alike; the one it shares most with is the one it was.
        shared = {token: _shared(token, text) for token in self._names if token.startswith(_LONG_BEGINNINGS)}
        closest = max(shared, key=lambda token: shared[token], default="")
        return self._names[closest] if shared.get(closest, 0) >= _RECOGNISABLE else None

    def _members(self, value: dict[str, Json], abbreviate: bool, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, is_word in _ordered(tuple(value)):
            item: Any = value[name]
            kind = type(item)
            if not is_word:
                if kind is str and name.endswith("Token"):
                    text = self._names.get(item) or self.token(item)
                    result[name] = lines(text) if "\n" in text else text
                    continue
                name = self.text(name)
            if kind is str:
                # Nearly all texts are a few plain words: no id, no folder, no line break, no symbol's look-alike.
                if len(item) < _PLAIN_BELOW and "/" not in item and "\n" not in item and item.isascii():
                    result[name] = item
                else:
                    text = self.text(item, abbreviate=abbreviate)
                    result[name] = lines(text) if "\n" in text else text
            elif kind is bool or item is None:
                result[name] = item
            elif kind is dict and depth < _MAX_DEPTH:
                result[name] = self._members(item, abbreviate, depth + 1)
            else:
                result[name] = self.value(item, abbreviate=abbreviate, depth=depth + 1)
        return result

    def _minted(self, match: re.Match[str]) -> str:
        minted = match[0]
        if minted.startswith(_SHORT_BEGINNINGS):
            return self._names.get(minted, minted)
        id_kind = _ID_KINDS.get(minted.partition("_")[0])
        return self._name(id_kind or _TOKEN_KINDS[minted[:3]], minted)

    def _name(self, kind: str, minted: str) -> str:
        name = self._names.get(minted)
        if name is None:
            count = self._counts[kind] = self._counts.get(kind, 0) + 1
            name = self._names[minted] = self._beginnings[minted[:_RECOGNISABLE]] = f"«{kind}{count}»"
        return name


@lru_cache(maxsize=64)
def _spellings_of(path: str) -> dict[str, str]:
    """A folder by its given and by its real name, without a slash at the end; nothing if its path is relative."""
    ways = (path, os.path.realpath(path)) if os.path.isabs(path) else ()
    return {way: way.rstrip("/\\") for way in ways}


@lru_cache(maxsize=4096)
def _ordered(names: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Return the names in the order in which they are shown, each with whether it is a plain word."""
    # Sorting names that are ids would order them by chance.
    if not any(len(name) >= _SHORTEST_MINTED and _MINTED.search(name) for name in names):
        names = tuple(sorted(names, key=lambda name: (_RANK.get(name, len(_RANK)), name)))
    return [(name, _is_word(name)) for name in names]


def _is_word(name: str) -> bool:
    """Whether a name is too short to contain an id and does not announce a token, as is true of nearly all names."""
    return len(name) < _SHORTEST_MINTED and name.isidentifier() and not name.endswith("Token")


def lines(text: str) -> Json:
    """Return a text with line breaks as its lines, each with its break, as notebooks do it.

    No text inside a list keeps a line break that way, so a first item that ends in one marks a text.
    """
    if "\n" not in text:
        return text
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]


def joined(value: Any) -> Any:
    """Return a value as it was before its texts were split into lines."""
    if isinstance(value, list):
        if value and isinstance(value[0], str) and value[0].endswith("\n"):
            return "".join(map(str, value))
        return [joined(item) for item in value]
    if isinstance(value, dict):
        return {name: joined(item) for name, item in value.items()}
    return value


def split(value: Any) -> Any:
    """Return a value with its texts split into lines."""
    if isinstance(value, str):
        return lines(value)
    if isinstance(value, list):
        return [split(item) for item in value]
    if isinstance(value, dict):
        return {name: split(item) for name, item in value.items()}
    return value


def renumbered(golden: dict[str, Any]) -> dict[str, Any]:
    """Return a golden whose symbols are numbered by first appearance, as if it had been made from a run."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}

    def name(match: re.Match[str]) -> str:
        kind, number, rest = match.groups()
        if kind + number not in names:
            counts[kind] = counts.get(kind, 0) + 1
            names[kind + number] = f"{kind}{counts[kind]}"
        return f"«{names[kind + number]}{rest}»"

    def value(item: Any) -> Any:
        if isinstance(item, str):
            return _NUMBERED.sub(name, item)
        if isinstance(item, list):
            return [value(each) for each in item]
        if isinstance(item, dict):
            return {value(each): value(below) for each, below in item.items()}
        return item

    def exchange(item: Any) -> Any:
        response: Any = item.get("response") if isinstance(item, dict) else None
        pending: Any = response.get("pending") if isinstance(response, dict) else None
        if not isinstance(pending, dict) or "prompt" not in pending:
            return value(item)
        # A prompt comes after everything else that is said with it.
        renamed = value({**item, "response": {**response, "pending": {**pending, "prompt": ""}}})
        renamed["response"]["pending"]["prompt"] = value(pending["prompt"])
        return renamed

    exchanges = [exchange(item) for item in golden.get("transcript", ())]
    return {each: exchanges if each == "transcript" else value(item) for each, item in golden.items()}


def _shared(first: str, second: str) -> int:
    """Return how many characters two texts have in common from their beginning."""
    differs = (at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)
    return next(differs, min(len(first), len(second)))


def _is_short_token(text: str) -> bool:
    if len(text) != _SHORTEST_MINTED or text[:3] not in _SHORT_BEGINNINGS:
        return False
    # Letters, digits, `_` and `-`, behind a letter.
    return text.isascii() and text.replace("-", "_").isidentifier()


def _is_whole_long_token(text: str) -> bool:
    if _LONG_TOKEN.fullmatch(text) is None:
        return False

    return formats.decode_bech32m(text).is_ok


def _number(value: float) -> Json:
    if not math.isfinite(value):
        return f"«{js.number_text(value)}»"
    return int(value) if value.is_integer() and abs(value) <= js.MAX_SAFE_INTEGER else value


def _digest(value: object) -> str:
    try:
        return canonical_hash(value)
    except CanonicalError as problem:
        return problem.code
