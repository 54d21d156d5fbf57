"""The verdict on a submission."""

from __future__ import annotations

from msgspec import Struct

# How long the patterns in the criteria of one step may take.
TIME_LIMIT_SECONDS = 30.0


class Validation(Struct, frozen=True):
    """Whether a submission is valid, and what to say about it."""

    valid: bool
    issues: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
