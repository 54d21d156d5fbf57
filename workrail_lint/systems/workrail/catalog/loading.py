"""Catalog files of users: read, fully checked, then used like the shipped one."""

from __future__ import annotations

import os
from typing import Any

from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.catalog.checks import check_document
from workrail_lint.systems.workrail.catalog.reading import PathLike, place, read_document


def load_catalog(source: PathLike | dict[str, Any]) -> Ok[Catalog] | Err[list[Finding]]:
    """A catalog from a file or a loaded document, or everything that is wrong with it."""
    text: JsonDocument | None = None
    value: object = source
    if isinstance(source, str | os.PathLike):
        match read_document(source, strict=True):
            case Err(errors):
                return Err(errors)
            case Ok(text):
                value = text.value
    findings = check_document(value)
    if findings:
        name = os.fspath(source) if isinstance(source, str | os.PathLike) else ""
        return Err(place(findings, text, name))
    document: dict[str, Any] = value  # type: ignore[assignment]
    return Ok(Catalog(document, document.get("digest")))
