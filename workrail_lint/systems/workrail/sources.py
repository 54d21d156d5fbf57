"""What callers pass as a catalog, routines, bindings or a workflow: paths or loaded data, made uniform."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Finding, Severity, unreadable

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog


def resolve_catalog(
    catalog: object = None, routines: object = None, remarks: list[Finding] | None = None
) -> Ok[Catalog] | Err[list[Finding]]:
    """The active catalog: the one given (core when none is), with the routines added to it.

    What is said about single routines (skipped, replaced) goes to `remarks`.
    """
    from workrail_lint.systems.workrail.catalog.catalog import Catalog, load_core

    if catalog is None:
        active: Catalog = load_core()
    elif isinstance(catalog, Catalog):
        active = catalog
    else:
        from workrail_lint.systems.workrail.catalog.loading import load_catalog

        loaded = load_catalog(catalog)  # type: ignore[arg-type]
        if isinstance(loaded, Err):
            return loaded
        active = loaded.value
    if routines is None:
        return Ok(active)
    from workrail_lint.systems.workrail.catalog.loading import with_routines

    extended = with_routines(active, routines)  # type: ignore[arg-type]
    errors = [finding for finding in extended.findings if finding.severity is Severity.ERROR]
    if remarks is not None:
        remarks += [finding for finding in extended.findings if finding not in errors]
    return Err(errors) if errors else Ok(extended.catalog)


def resolve_bindings(bindings: object = None) -> Ok[Any] | Err[list[Finding]]:
    """The content of a bindings file: None when there is none; what it holds is judged later."""
    if bindings is None or not isinstance(bindings, str | os.PathLike):
        return Ok(bindings)
    from workrail_lint.documents.json_reader import read_json

    read = read_file(os.fspath(bindings))
    if isinstance(read, Err):
        return Err([unreadable(read.error)])
    document = read_json(read.value, max_bytes=None)
    # A file the engine can't parse counts as one that holds no object: warned about, then ignored.
    return Ok(document.value if document.readable and not document.problems else [])
