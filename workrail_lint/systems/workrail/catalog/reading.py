"""Files to values for the catalog: the one place here that opens documents."""

from __future__ import annotations

import os

from workrail_lint.base.files import read_bytes
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.problems import Problem
from workrail_lint.findings import Finding, Phase, Severity

PathLike = str | os.PathLike[str]
# The engine reads such a file too: the last of the duplicate members counts.
_HARMLESS = frozenset({"json-duplicate-key"})


def read_document(
    path: PathLike, *, strict: bool, max_bytes: int | None = None
) -> Ok[JsonDocument] | Err[list[Finding]]:
    """A JSON file. Unless `strict`, duplicate member names are accepted, as the engine does."""
    name = os.fspath(path)
    try:
        data = read_bytes(name)
    except OSError as error:
        return Err([finding("file-not-readable", f"can not be read: {reason(error)}", phase=Phase.READ, path=name)])
    document = read_json(data, max_bytes=max_bytes)
    problems = [problem for problem in document.problems if strict or problem.name not in _HARMLESS]
    if problems:
        return Err([_of_problem(problem, document, name) for problem in problems])
    return Ok(document)


def reason(error: OSError | ValueError) -> str:
    """The system's reason, without the path. A ValueError means an impossible file name."""
    text = error.strerror if isinstance(error, OSError) else None
    return (text or str(error) or type(error).__name__).lower()


def finding(
    name: str,
    message: str,
    pointer: str = "",
    *,
    severity: Severity = Severity.ERROR,
    phase: Phase = Phase.SCHEMA,
    path: str = "",
    on_name: bool = False,
    help_text: str | None = None,
) -> Finding:
    """A finding about a catalog; its code is its name until the rule registry sets it."""
    return Finding(name, name, severity, message, pointer, phase=phase, path=path, on_name=on_name, help=help_text)


def place(findings: list[Finding], document: JsonDocument | None, path: str) -> list[Finding]:
    """Give findings their file and, if the text is available, their position."""
    for item in findings:
        item.path = path
        if document is not None:
            item.span = document.locate(item.pointer, item.on_name)
    return findings


def _of_problem(problem: Problem, document: JsonDocument, path: str) -> Finding:
    found = finding(problem.name, problem.message, problem.pointer, phase=Phase.READ, path=path)
    found.span = document.source.span(problem.start, problem.end)
    return found
