"""Linter and compiler for JSON-authored agent workflows.

The public names, loaded when they are first used: importing the package costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # for type checkers it is true; `typing` would have to be imported

if TYPE_CHECKING:
    from workrail_lint.api import Analysis, Report, analyse, check, check_text
    from workrail_lint.base.canonical import canonical_bytes
    from workrail_lint.base.result import Err, Ok
    from workrail_lint.findings import Finding, Severity
    from workrail_lint.systems.workrail.compile import compile_workflow
    from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow

_HOMES = {
    "Analysis": "workrail_lint.api",
    "CompiledWorkflow": "workrail_lint.systems.workrail.compiler.compiled",
    "Err": "workrail_lint.base.result",
    "Finding": "workrail_lint.findings",
    "Ok": "workrail_lint.base.result",
    "Report": "workrail_lint.api",
    "Severity": "workrail_lint.findings",
    "analyse": "workrail_lint.api",
    "canonical_bytes": "workrail_lint.base.canonical",
    "check": "workrail_lint.api",
    "check_text": "workrail_lint.api",
    "compile_workflow": "workrail_lint.systems.workrail.compile",
}

__all__ = [
    "Analysis",
    "CompiledWorkflow",
    "Err",
    "Finding",
    "Ok",
    "Report",
    "Severity",
    "analyse",
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
