"""Linter and compiler for JSON-authored agent workflows.

The public names, loaded when they are first used: importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workrail_lint.api import Report, check, check_text
    from workrail_lint.findings import Finding, Severity
    from workrail_lint.result import Err, Ok
    from workrail_lint.workrail.canonical import canonical_bytes
    from workrail_lint.workrail.compile import compile_workflow
    from workrail_lint.workrail.compiler.compiled import CompiledWorkflow

_HOMES = {
    "CompiledWorkflow": "workrail_lint.workrail.compiler.compiled",
    "Err": "workrail_lint.result",
    "Finding": "workrail_lint.findings",
    "Ok": "workrail_lint.result",
    "Report": "workrail_lint.api",
    "Severity": "workrail_lint.findings",
    "canonical_bytes": "workrail_lint.workrail.canonical",
    "check": "workrail_lint.api",
    "check_text": "workrail_lint.api",
    "compile_workflow": "workrail_lint.workrail.compile",
}

__all__ = [
    "CompiledWorkflow",
    "Err",
    "Finding",
    "Ok",
    "Report",
    "Severity",
    "canonical_bytes",
    "check",
    "check_text",
    "compile_workflow",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
