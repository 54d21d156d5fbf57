"""Findings refer to places by JSON Pointer; a span is computed only when a finding is reported.

Plain slotted classes: the hook starts on every commit, and `dataclasses` alone would cost as much as
reading the file.
"""

from __future__ import annotations

from enum import Enum

from workrail_lint.base.files import Unreadable
from workrail_lint.documents.source_text import Span
from workrail_lint.findings.fix import Fix


class Severity(str, Enum):
    """error: the engine rejects it, fails or hangs; warning: it works but breaks a rule; info: advice."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


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


class Finding:
    """One problem: the rule, the severity, the message, the place, and how to fix it."""

    __slots__ = (
        "code",
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
        help: str | None = None,  # noqa: A002 - the name of the field in every output format
        details: dict[str, object] | None = None,
        on_name: bool = False,
    ) -> None:
        self.code = code
        self.name = name
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

    def __repr__(self) -> str:
        return f"Finding({self.code} {self.severity.value} {self.path}#{self.pointer}: {self.message})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Finding):
            return NotImplemented
        return all(getattr(self, slot) == getattr(other, slot) for slot in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.code, self.path, self.pointer, self.message))


def unreadable(problem: Unreadable) -> Finding:
    """The finding about a file that can't be read; its code comes from the rule of that name."""
    name = "file-not-readable"
    return Finding(name, name, Severity.ERROR, problem.message, phase=Phase.READ, path=problem.path)
