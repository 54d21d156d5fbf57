"""Generated scenario files: who wrote them, and whether somebody has edited them since."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.js import Json

BY = "workrail-test generate"
_MEMBER = "generated"
Goal = TypeVar("Goal")


def stamped(document: dict[str, Json], shown: Sequence[str]) -> dict[str, Json]:
    """Return the document with a note of who wrote it, and a digest that tells when somebody else changed it."""
    bare = {name: value for name, value in document.items() if name != _MEMBER}
    made: dict[str, Json] = {"by": BY, "goals": list[Json](shown), "digest": canonical_hash(bare)}
    return {**bare, _MEMBER: made}


def is_generated(document: Mapping[str, Any]) -> bool:
    return bool(document.get(_MEMBER, {}).get("by") == BY)


def is_untouched(document: Mapping[str, Any]) -> bool:
    """Return whether a file was generated, and nobody has edited it since."""
    bare = {name: value for name, value in document.items() if name != _MEMBER}
    return is_generated(document) and bool(document[_MEMBER].get("digest") == canonical_hash(bare))


def file_bytes(document: dict[str, Json]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def redundant(shows: Mapping[str, Collection[Goal]], removable: Collection[str]) -> list[str]:
    """Of the removable scenarios those whose goals the others show as well; those that show least go first."""
    found: list[str] = []
    for name in sorted(removable, key=lambda name: (len(shows[name]), name)):
        others: set[Goal] = set().union(*(shows[other] for other in shows if other != name and other not in found))
        if set(shows[name]) <= others:
            found.append(name)
    return sorted(found)
