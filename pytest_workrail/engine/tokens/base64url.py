"""Base64url without padding, decoded strictly: every byte string has exactly one text."""

from __future__ import annotations

import base64

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


def encode(raw: bytes) -> str:
    """The text of some bytes."""
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def decode(text: str) -> bytes | None:
    """The bytes of a text; None when the text is not the one `encode` would give."""
    if text.strip(_ALPHABET) or len(text) % 4 == 1:
        return None
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return raw if encode(raw) == text else None
