"""Matchers: members of a golden whose value differs from run to run, and what each may be.

A matcher has a path in the golden and a kind of value. In the golden the value is `«ANY kind»`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from workrail_lint.base import js

_NAME = re.compile(r"[a-z][a-z0-9 -]{0,39}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


class ValueKind(Struct, frozen=True):
    """A kind of value: what a golden calls it, and which values are of it."""

    name: str
    accepts: Callable[[Any], bool]

    @property
    def symbol(self) -> str:
        """What a golden has in place of the value."""
        return f"«ANY {self.name}»"


class Matcher(Struct, frozen=True):
    """A path in a golden, and the kind of value that is there. `*` is any one member, `**` any number of them."""

    path: str
    kind: ValueKind

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.strip("/").split("/"))


def path(members: str, kind: ValueKind) -> Matcher:
    """Return a matcher for the members at a path, such as `final/context/startedAt` or `**/startedAt`."""
    if not isinstance(members, str) or not members.strip("/"):
        raise TypeError(f"the path of a matcher must be names of members with '/' between them, not {members!r}")
    if not isinstance(kind, ValueKind):
        raise TypeError(f"a matcher needs a kind of value such as any_timestamp, not {kind!r}")
    return Matcher(members, kind)


def any_value(name: str, accepts: Callable[[Any], bool]) -> ValueKind:
    """Return a kind of value of your own: the name that goldens show, and a function that accepts its values."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError(f"the name of a kind of value must be up to 40 lower-case letters, digits and '-': {name!r}")
    return ValueKind(name, accepts)


def any_text(pattern: str = "", name: str = "text") -> ValueKind:
    """Return the kind of all strings, or of those that match a regular expression from start to end."""
    compiled = re.compile(pattern, re.DOTALL) if pattern else None
    return any_value(
        name, lambda value: isinstance(value, str) and (compiled is None or bool(compiled.fullmatch(value)))
    )


def _is_timestamp(value: Any) -> bool:
    if not isinstance(value, str) or "T" not in value.upper():
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


any_timestamp = ValueKind("timestamp", _is_timestamp)
any_number = ValueKind("number", js.is_number)
any_uuid = ValueKind("uuid", lambda value: isinstance(value, str) and _UUID.fullmatch(value) is not None)


def check_matchers(matchers: Any) -> tuple[Matcher, ...]:
    """Return the matchers of a call; raise TypeError where something is not a matcher."""
    if isinstance(matchers, list | tuple) and all(isinstance(each, Matcher) for each in matchers):
        return tuple(matchers)
    raise TypeError(f"matchers must be a list of path(...), not {matchers!r}")


Place = Literal["transcript", "final"]
# Where a golden has what a run said. The rest names the workflow.
PLACES: tuple[Place, ...] = ("transcript", "final")


class NoSuchMember(ValueError):  # noqa: N818 - what is wrong with a matcher
    """A matcher whose path leads nowhere."""


class Matching:
    """Applies matchers to the value of a golden."""

    def __init__(self, matchers: tuple[Matcher, ...]) -> None:
        self._matchers = matchers
        self._met: set[Matcher] = set()
        self._texts: dict[str, str] = {}  # by the value that was replaced

    def apply(self, golden: dict[str, Any]) -> dict[str, Any]:
        """Return the golden with the symbol of a kind in place of each value of it.

        A string that was replaced is replaced wherever else it comes up, as in a prompt that shows it. A value of
        another kind stays, so that the golden differs. Raise NoSuchMember where no member is at the path of a matcher.
        """
        marked = {name: self._marked(value, (name,)) if name in PLACES else value for name, value in golden.items()}
        for matcher in self._matchers:
            if matcher not in self._met:
                raise NoSuchMember(f"no member of this run is at '{matcher.path}'")
        if not self._texts:
            return marked
        longest_first = sorted(self._texts, key=lambda text: (-len(text), text))
        known = re.compile("|".join(rf"(?<!\w){re.escape(text)}(?!\w)" for text in longest_first))
        return {name: self._elsewhere(value, known) if name in PLACES else value for name, value in marked.items()}

    def _marked(self, value: Any, at: tuple[str, ...]) -> Any:
        for matcher in self._matchers:
            if _fits(matcher.parts, at):
                self._met.add(matcher)
                if matcher.kind.accepts(value):
                    if isinstance(value, str) and value:
                        self._texts.setdefault(value, matcher.kind.symbol)
                    return matcher.kind.symbol
        if isinstance(value, dict):
            return {name: self._marked(item, (*at, name)) for name, item in value.items()}
        if isinstance(value, list):
            return [self._marked(item, (*at, str(index))) for index, item in enumerate(value)]
        return value

    def _elsewhere(self, value: Any, known: re.Pattern[str]) -> Any:
        if isinstance(value, str):
            return known.sub(lambda found: self._texts[found[0]], value)
        if isinstance(value, dict):
            return {name: self._elsewhere(item, known) for name, item in value.items()}
        if isinstance(value, list):
            return [self._elsewhere(item, known) for item in value]
        return value


def _fits(parts: tuple[str, ...], at: tuple[str, ...]) -> bool:
    """Return whether a path pattern describes a place."""
    if not parts:
        return not at
    if parts[0] == "**":
        return any(_fits(parts[1:], at[count:]) for count in range(len(at) + 1))
    return bool(at) and parts[0] in ("*", at[0]) and _fits(parts[1:], at[1:])
