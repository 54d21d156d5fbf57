"""Findings about a text, seen in a later text: what follows a change moves with it."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from workrail_lint.documents.json_edit import difference
from workrail_lint.documents.source_text import SourceText
from workrail_lint.findings import Finding


def shifted(findings: Iterable[Finding], old: str, new: str) -> list[Finding]:
    """Copies of the findings with their spans in the new text. They have no fixes: those are about the old one."""
    change = difference(old, new)
    source = SourceText(new)
    moved = []
    for finding in findings:
        made = copy(finding)
        made.details = dict(finding.details)
        if change is not None:
            made.fix = None
            if finding.span is not None:
                by = len(change.text) - (change.end - change.start)
                ends = (
                    at + by if at >= change.end else min(at, change.start + len(change.text))
                    for at in (finding.span.start.offset, finding.span.end.offset)
                )
                made.span = source.span(*ends)
        moved.append(made)
    return moved
