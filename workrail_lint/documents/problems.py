"""Problems that a reader finds in a text, before the kind of document is known; bytes to text."""

from __future__ import annotations

from workrail_lint.base import js


class Problem:
    """A problem in the text: its name, a message, its offsets, and what to cut to fix it.

    `blocking` is false for problems that do not make the text invalid for the reference engine.
    """

    __slots__ = ("blocking", "end", "message", "name", "pointer", "removes", "start")

    def __init__(
        self,
        name: str,
        message: str,
        start: int,
        end: int,
        *,
        pointer: str = "",
        removes: tuple[tuple[int, int], ...] = (),
        blocking: bool = True,
    ) -> None:
        self.name = name
        self.message = message
        self.start = start
        self.end = end
        self.pointer = pointer
        self.removes = removes
        self.blocking = blocking

    def __repr__(self) -> str:
        return f"Problem({self.name} {self.start}-{self.end}: {self.message})"


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
