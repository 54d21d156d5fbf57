"""What a document system gives to a run: which files are its own, how one is checked, which rules it has.

WorkRail workflows are one system; another installed package brings its own through the hooks in `plugins`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from workrail_lint.findings import Finding
from workrail_lint.rules.base import Rule


class FileResult(NamedTuple):
    """What one file gave: findings with their places, and what the cross-file rules need to know about it."""

    findings: list[Finding]
    record: Any = None  # plain JSON, so that it can be kept in the cache
    ours: bool = True  # false for a file that was found and turned out to be somebody else's
    cacheable: bool = True  # false when the result depends on more than the file's own content


class System(Protocol):
    """A kind of documents and the rules about them."""

    name: str
    selection: Any  # which rules to run; None for all

    def rules(self) -> tuple[Rule, ...]:
        """Every rule, by code."""
        ...

    def may_claim(self, path: str) -> bool:
        """Whether it is worth opening a file, by its name alone."""
        ...

    def claims(self, path: str, data: bytes, named: bool) -> str | None:
        """The kind of a file of this system, None for files of others. A named file was asked for by name."""
        ...

    def check(self, path: str, data: bytes, kind: str, settings: Any) -> FileResult:
        """Check one file."""
        ...

    def check_data(self, path: str, data: bytes | str, kind: str, settings: Any) -> FileResult:
        """Check a text that is on no disk."""
        ...

    def cross_check(self, records: dict[str, Any], settings: Any, complete: bool) -> list[Finding]:
        """What only shows when all files of a run are seen together; `complete` when that is all there are."""
        ...
