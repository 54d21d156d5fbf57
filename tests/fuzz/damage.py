"""Damage that leaves JSON what it is: a random byte rarely does, and readers refuse the rest at once."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.fuzz.target import BETWEEN, json_of

# What a member becomes, by its type: what another program may write there.
_OTHERS: tuple[Any, ...] = ("other", "", 7, [], {})
ODD: tuple[Any, ...] = (None, True, 0, -1, 2**53, 10**400, 1.5, "", "x", "\ud800", [], {}, [None], {"": None}, [[]])


def damaged_json(data: bytes, drawn: random.Random) -> bytes | None:
    """The bytes with one value changed in one of the JSON texts they hold; None when they hold none."""
    for separator in (BETWEEN, b"\n"):
        parts = data.split(separator)
        at = drawn.randrange(len(parts))
        value = json_of(parts[at])
        if isinstance(value, dict | list):
            parts[at] = json.dumps(_damaged(value, drawn), ensure_ascii=drawn.random() < 0.5).encode(
                "utf-8", "surrogatepass"
            )
            return separator.join(parts)
    return None


def _damaged(root: Any, drawn: random.Random) -> Any:
    holder = root
    while True:
        names = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not names:
            return drawn.choice(ODD)
        name = drawn.choice(names)
        inner = holder[name]
        if isinstance(inner, dict | list) and inner and drawn.random() < 0.8:
            holder = inner
            continue
        match drawn.randrange(4):
            case 0:
                del holder[name]
            case 1 if isinstance(holder, list):
                holder.append(inner)
            case 1:
                holder[drawn.choice(names)] = inner
            case _:
                holder[name] = drawn.choice(ODD)
        return root


def every_change(value: Any, kind: str) -> Iterator[tuple[str, Any]]:
    """Yield a JSON value with each of its members left out, null, or something else of the same type."""
    match value:
        case dict():
            for name, inner in value.items():
                rest = {each: value[each] for each in value if each != name}
                yield f"{kind}.{name} left out", rest
                yield f"{kind}.{name} null", {**value, name: None}
                for other in _OTHERS:
                    if type(other) is type(inner) and other != inner:
                        yield f"{kind}.{name} {json.dumps(other)}", {**value, name: other}
                yield from ((what, {**value, name: each}) for what, each in every_change(inner, f"{kind}.{name}"))
        case list():
            for index, inner in enumerate(value[:2]):
                yield from (
                    (what, [*value[:index], each, *value[index + 1 :]]) for what, each in every_change(inner, kind)
                )
