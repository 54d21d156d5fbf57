"""Problems that a reader finds in a text, before the kind of document is known."""

from __future__ import annotations


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
