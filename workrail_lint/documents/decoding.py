"""Bytes to text for all readers except JSON, which reports more about its bytes."""

from __future__ import annotations

from workrail_lint.base import js
from workrail_lint.documents.problems import Problem


def decoded(data: bytes | str, format_name: str, max_bytes: int | None) -> tuple[str, Problem | None]:
    """The text, and why it can't be read, if so. For a text that is too long the result is empty."""
    size = len(data) if isinstance(data, bytes) else js.u8_length(data)
    if max_bytes is not None and size > max_bytes:
        return "", Problem("file-too-large", f"the file has {size:,} bytes; the limit is {max_bytes:,}", 0, 0)
    if isinstance(data, str):
        return data, None
    try:
        return data.decode(), None
    except UnicodeDecodeError as error:
        at = error.start
    start = len(data[:at].decode(errors="replace"))
    message = f"the file is not UTF-8: invalid byte 0x{data[at]:02x} at offset {at}"
    return data.decode(errors="replace"), Problem(f"{format_name}-invalid-utf8", message, start, start + 1)
