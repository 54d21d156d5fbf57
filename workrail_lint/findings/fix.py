"""A fix: the operations that resolve a finding, and whether they keep the document's meaning."""

from __future__ import annotations

from workrail_lint.base.typed import TYPE_CHECKING, Enum, NamedTuple

if TYPE_CHECKING:
    from workrail_lint.documents.operations import Operation


class Safety(str, Enum):
    """safe: the canonical bytes stay the same (or the text could not be read before)."""

    SAFE = "safe"
    UNSAFE = "unsafe"


class Fix(NamedTuple):
    """A change that resolves a finding."""

    title: str
    safety: Safety
    operations: tuple[Operation, ...]


def safe(title: str, *operations: Operation) -> Fix:
    return Fix(title, Safety.SAFE, operations)


def unsafe(title: str, *operations: Operation) -> Fix:
    return Fix(title, Safety.UNSAFE, operations)
