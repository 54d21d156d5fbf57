"""The same value with other members, whatever kind of class it is of."""

from __future__ import annotations

import dataclasses
from typing import Any

from msgspec import Struct, structs


def replace(value: Any, /, **changes: Any) -> Any:
    """Return a copy with other members."""
    if isinstance(value, Struct):
        return structs.replace(value, **changes)
    return dataclasses.replace(value, **changes)
