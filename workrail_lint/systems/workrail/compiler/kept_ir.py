"""An IR as a file that stands for the source it was compiled from, where that source was not kept.

Its name ends in the first digits of its hash, so an edit is noticed: an IR is never written by hand.
"""

from __future__ import annotations

import json
from typing import Any

from workrail_lint.base.canonical import CanonicalError, canonical_bytes, digest
from workrail_lint.base.files import read_file
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Finding, Phase, Severity, unreadable

_NAME = Pattern(r".*-([0-9a-f]{12})\.ir\.json\Z")


def kept_ir_name(base: str, ir: dict[str, Any]) -> str:
    """The file name of an IR, after what it is of."""
    return f"{base}-{_digits(ir)}.ir.json"


def is_kept_ir(path: str) -> bool:
    """Return whether a file name is that of such an IR."""
    return path.endswith(".ir.json") and _NAME.match(path) is not None


def read_kept_ir(path: str) -> Ok[dict[str, Any]] | Err[list[Finding]]:
    """The IR of a file, if it is the one that the file is named after."""
    read = read_file(path)
    if isinstance(read, Err):
        return Err([unreadable(read.error)])
    named = _NAME.match(path)
    try:
        ir = json.loads(read.value)
        is_intact = isinstance(ir, dict) and named is not None and _digits(ir) == named[1]
    except (ValueError, RecursionError, CanonicalError):
        is_intact = False
    if is_intact:
        return Ok(ir)
    message = "the compiled workflow differs from the one it is named after; it is not a file to be edited"
    return Err([Finding("ir-altered", "ir-altered", Severity.ERROR, message, path=path, phase=Phase.COMPILE)])


def _digits(ir: dict[str, Any]) -> str:
    return digest(canonical_bytes(ir)).removeprefix("sha256:")[:12]
