"""What every target is, and what several of them share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
BETWEEN = b"\n--\n"  # where a target takes several files


class Target(NamedTuple):
    """A function to feed, and what to feed it first."""

    run: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def json_of(data: bytes) -> Any:
    """The JSON value in some bytes; None when there is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def smallest(pattern: str, most: int = 4) -> tuple[bytes, ...]:
    """The smallest of the fixtures with such a name."""
    return tuple(path.read_bytes() for path in sorted(FIXTURES.glob(pattern), key=lambda p: p.stat().st_size)[:most])
