"""Applying fixes: rounds of edits that do not overlap, until nothing more changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from workrail_lint.documents.json_edit import apply_edits, fix_edit
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding, Safety

# A fix may open the way for another one; more rounds than this mean that two of them undo each other.
_MAX_ROUNDS = 20


class Fixed(NamedTuple):
    """The text after fixing, and the findings whose fixes were applied."""

    text: str
    applied: list[Finding]


def fix_text(text: str, findings_of: Callable[[str], list[Finding]], *, unsafe: bool) -> Fixed:
    """Fix a text. `findings_of` checks a text anew; only what it reports is fixed."""
    applied: list[Finding] = []
    seen = {text}
    for _ in range(_MAX_ROUNDS):
        document = read_json(text, parity=True, max_bytes=None)
        wanted = [f for f in findings_of(text) if f.fix is not None and (unsafe or f.fix.safety is Safety.SAFE)]
        edits = [(finding, edit) for finding in wanted if finding.fix and (edit := fix_edit(document, finding.fix))]
        if not edits:
            break
        changed, done = apply_edits(text, [edit for _, edit in edits])
        if changed in seen:
            break
        seen.add(changed)
        applied += [finding for (finding, _), is_done in zip(edits, done, strict=True) if is_done]
        text = changed
    return Fixed(text, applied)
