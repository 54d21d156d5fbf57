"""What callers hand in as a catalog, routines, bindings or a workflow: paths or loaded data, made uniform."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.result import Err, Ok

if TYPE_CHECKING:
    from workrail_lint.workrail.catalog.catalog import Catalog

MAX_FILE_BYTES = 64 * 1024 * 1024


def read_file(path: str) -> Ok[bytes] | Err[Finding]:
    """The bytes of a regular file. A folder, a device or a huge file is refused, not read."""
    try:
        # Without waiting: a named pipe would otherwise hold the run until somebody writes to it.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb", buffering=0) as file:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                return Err(
                    unreadable(path, "is a directory" if stat.S_ISDIR(info.st_mode) else "is not a regular file")
                )
            if info.st_size > MAX_FILE_BYTES:
                return Err(unreadable(path, f"has more than {MAX_FILE_BYTES:,} bytes"))
            data = file.readall()
    except OSError as error:
        return Err(unreadable(path, _reason(error)))
    except ValueError:
        return Err(unreadable(path, "is not a valid path"))
    return Ok(data)


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, IsADirectoryError):
        return "is a directory"
    if isinstance(error, PermissionError):
        return "can't be read (permission denied)"
    return f"can't be read ({error.strerror or error.__class__.__name__})"


def unreadable(path: str, reason: str) -> Finding:
    return Finding(
        "file-not-readable",
        "file-not-readable",
        Severity.ERROR,
        f"{path} {reason}",
        phase=Phase.READ,
        path=path,
    )


def resolve_catalog(
    catalog: object = None, routines: object = None, remarks: list[Finding] | None = None
) -> Ok[Catalog] | Err[list[Finding]]:
    """The active catalog: the one given (core when none is), with the routines added to it.

    What is said about single routines (skipped, replaced) goes to `remarks`.
    """
    from workrail_lint.workrail.catalog.catalog import Catalog, load_core

    if catalog is None:
        active: Catalog = load_core()
    elif isinstance(catalog, Catalog):
        active = catalog
    else:
        from workrail_lint.workrail.catalog.loading import load_catalog

        loaded = load_catalog(catalog)  # type: ignore[arg-type]
        if isinstance(loaded, Err):
            return loaded
        active = loaded.value
    if routines is None:
        return Ok(active)
    from workrail_lint.workrail.catalog.extend import with_routines

    extended = with_routines(active, routines)  # type: ignore[arg-type]
    errors = [finding for finding in extended.findings if finding.severity is Severity.ERROR]
    if remarks is not None:
        remarks += [finding for finding in extended.findings if finding not in errors]
    return Err(errors) if errors else Ok(extended.catalog)


def resolve_bindings(bindings: object = None) -> Ok[Any] | Err[list[Finding]]:
    """The content of a bindings file: None when there is none; what it holds is judged later."""
    if bindings is None or not isinstance(bindings, str | os.PathLike):
        return Ok(bindings)
    read = read_file(os.fspath(bindings))
    if isinstance(read, Err):
        return Err([read.error])
    document = read_json(read.value, max_bytes=None)
    # A file the engine can't parse counts as one that holds no object: warned about, then ignored.
    return Ok(document.value if document.readable and not document.problems else [])
