"""From pointers to places: what a report, a baseline and a suppression need to know about where a finding is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from workrail_lint.base.canonical import CanonicalError, canonical_hash
from workrail_lint.documents.places import id_pointer
from workrail_lint.documents.pointer import resolve

if TYPE_CHECKING:
    from workrail_lint.documents.source_text import Span
    from workrail_lint.findings import Finding


class Located(Protocol):
    """A document that was read: any reader's."""

    @property
    def readable(self) -> bool: ...

    def locate(self, pointer: str, on_name: bool = False) -> Span | None: ...


def locate(
    findings: list[Finding],
    document: Located,
    path: str,
    *,
    value: object,
    fingerprints: bool = True,
    named: Callable[[object, str], str] = id_pointer,
) -> None:
    """Give findings their file, their span, and what a baseline or suppression needs to know the place again.

    `value` is what the document holds; `named` writes a pointer with ids in the place of numbers.
    """
    for finding in findings:
        finding.path = path
        if finding.span is None:
            finding.span = nearest_span(document, finding)
        if document.readable:
            finding.details["place"] = named(value, finding.pointer)
            if fingerprints:
                finding.details["valueHash"] = _value_hash(value, finding.pointer)


def nearest_span(document: Located, finding: Finding) -> Span | None:
    """The span of the place, or of the nearest one above it that exists."""
    pointer = finding.pointer
    while True:
        span = document.locate(pointer, finding.on_name and pointer == finding.pointer)
        if span is not None or not pointer:
            return span
        pointer = "" if pointer.startswith("#") else pointer.rpartition("/")[0]


def _value_hash(value: object, pointer: str) -> str:
    try:
        return canonical_hash(resolve(value, pointer))[7:23]
    except (KeyError, ValueError, CanonicalError):
        return ""
