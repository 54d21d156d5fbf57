"""Files that a command writes where the user said."""

from __future__ import annotations

import os

from workrail_lint.base.files import make_private_folder, output_root, write_atomically
from workrail_lint.base.terminal import err, printable
from workrail_lint.cli import UsageError
from workrail_lint.findings import Finding


def write_output(path: str, data: bytes, *, folder: str | None = None, mode: int = 0o666) -> None:
    """Write a file; one that can't be written is an error in how the command was called.

    A folder that is given is made, and nothing is written outside of it. `mode` is what a new file may have at most.
    """
    try:
        root = output_root(os.path.dirname(path) if folder is None else folder)
        write_atomically(path, data, root, parents=folder is not None, mode=mode)
    except OSError as problem:
        raise UsageError(f"{printable(path)} can't be written ({problem.strerror})") from None


def make_data_folder(path: str) -> None:
    """Make a folder for sessions that the user named, for the user alone; the same errors."""
    try:
        make_private_folder(path, output_root(path))
    except OSError as problem:
        raise UsageError(f"{printable(path)} can't be used ({problem.strerror})") from None


def report_errors(findings: list[Finding]) -> None:
    for finding in findings:
        place = f":{finding.span.start.line}:{finding.span.start.column}" if finding.span else ""
        err(f"{printable(finding.path)}{place}: error {finding.code}: {printable(finding.message)}")
