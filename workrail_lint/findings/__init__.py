"""Findings, severities and fixes: plain data.

A finding names its place by JSON Pointer; its span is computed only when it is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING

from workrail_lint.base.files import Unreadable
from workrail_lint.base.result import Record
from workrail_lint.documents.source_text import Edit, Position, Span

if TYPE_CHECKING:
    from workrail_lint.documents.operations import Operation


__all__ = [
    "Confidence",
    "Edit",
    "Finding",
    "Fix",
    "Phase",
    "Position",
    "Safety",
    "Severity",
    "Span",
    "by_path",
    "safe",
    "unreadable",
    "unsafe",
]


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


class Severity(str, Enum):
    """error: the engine rejects it, fails or hangs; warning: it works but breaks a rule; info: advice."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


class Confidence(str, Enum):
    """How sure a finding is. high: it follows from the document; medium, low: it follows from how people write."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        return _CONFIDENCE_RANKS[self]


_CONFIDENCE_RANKS = {Confidence.HIGH: 0, Confidence.MEDIUM: 1, Confidence.LOW: 2}


class Phase(str, Enum):
    """The phase that produces a finding; the reference engine stops at the first that fails."""

    READ = "read"
    SCHEMA = "schema"
    STRUCTURAL = "structural"
    COMPILE = "compile"
    NORMALIZE = "normalize"
    RECOMPILE = "recompile"
    ROUNDTRIP = "roundtrip"
    START = "start"
    REGISTRY = "registry"
    LINT = "lint"


class Finding(Record):
    """One problem: the rule, the severity, the message, the place, and how to fix it."""

    __slots__ = (
        "code",
        "confidence",
        "details",
        "fix",
        "help",
        "message",
        "name",
        "on_name",
        "path",
        "phase",
        "pointer",
        "severity",
        "span",
    )

    def __init__(
        self,
        code: str,
        name: str,
        severity: Severity,
        message: str,
        pointer: str = "",
        *,
        phase: Phase = Phase.LINT,
        path: str = "",
        span: Span | None = None,
        fix: Fix | None = None,
        help: str | None = None,
        details: dict[str, object] | None = None,
        on_name: bool = False,
        confidence: Confidence = Confidence.HIGH,
    ) -> None:
        self.code = code
        self.name = name
        self.confidence = confidence
        self.severity = severity
        self.message = message
        self.pointer = pointer
        self.phase = phase
        self.path = path
        self.span = span
        self.fix = fix
        self.help = help
        self.details = details or {}
        self.on_name = on_name  # the problem is the member's name, not its value

    @property
    def suggestion(self) -> str | None:
        """Return what was probably meant, if exactly one valid name is close."""
        suggestion = self.details.get("suggestion")
        return suggestion if isinstance(suggestion, str) else None

    def __repr__(self) -> str:
        return f"Finding({self.code} {self.severity.value} {self.path}#{self.pointer}: {self.message})"

    def __hash__(self) -> int:
        return hash((self.code, self.path, self.pointer, self.message))


def unreadable(problem: Unreadable) -> Finding:
    """Return the finding about a file that can't be read; its code comes from the rule of that name."""
    name = "file-not-readable"
    return Finding(name, name, Severity.ERROR, problem.message, phase=Phase.READ, path=problem.path)


def by_path(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return the findings of each file."""
    files: dict[str, list[Finding]] = {}
    for finding in findings:
        files.setdefault(finding.path, []).append(finding)
    return files
