"""A fix: the operations that resolve a finding, and whether they keep the document's meaning."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from workrail_lint.documents.operations import Operation


class Safety(str, Enum):
    """safe: the canonical bytes stay the same (or the text could not be read before)."""

    SAFE = "safe"
    UNSAFE = "unsafe"


class Fix:
    """A change that resolves a finding.

    The operations may be a function: many more fixes are announced than applied, and some hold a whole file.
    """

    __slots__ = ("_operations", "safety", "title")

    def __init__(
        self, title: str, safety: Safety, operations: tuple[Operation, ...] | Callable[[], tuple[Operation, ...]]
    ) -> None:
        self.title = title
        self.safety = safety
        self._operations = operations

    @property
    def operations(self) -> tuple[Operation, ...]:
        if callable(self._operations):
            self._operations = self._operations()
        return self._operations

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fix):
            return NotImplemented
        same = self.title == other.title and self.safety is other.safety
        return same and self.operations == other.operations

    def __hash__(self) -> int:
        return hash((self.title, self.safety))

    def __repr__(self) -> str:
        return f"Fix({self.title!r}, {self.safety!r}, {self.operations!r})"


def safe(title: str, *operations: Operation) -> Fix:
    return Fix(title, Safety.SAFE, operations)


def unsafe(title: str, *operations: Operation) -> Fix:
    return Fix(title, Safety.UNSAFE, operations)
