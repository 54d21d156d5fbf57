"""Applying fixes: rounds of edits that do not overlap, until nothing more changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from workrail_lint.documents.json_edit import Editor, apply_fixes, renamed
from workrail_lint.documents.json_reader import MANY_PROBLEMS, read_json
from workrail_lint.documents.operations import Insert, Rename
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding, Fix, Safety

# Most texts are fixed in one round, and a second one finds nothing left. A fix may enable another one; more rounds
# than this mean that fixes never end.
_MAX_ROUNDS = 100


class Fixed(NamedTuple):
    """The text after fixing, and the findings whose fixes were applied."""

    text: str
    applied: list[Finding]


def fix_text(text: str, findings_of: Callable[[str], list[Finding]], *, unsafe: bool) -> Fixed:
    """Fix a text. `findings_of` checks the text again; only what it reports is fixed."""
    applied: list[Finding] = []
    seen = {text}
    for _ in range(_MAX_ROUNDS):
        changed, done = fix_once(text, findings_of(text), unsafe=unsafe)
        if changed in seen:
            break
        seen.add(changed)
        applied += done
        text = changed
    return Fixed(text, applied)


def fix_once(text: str, findings: Iterable[Finding], *, unsafe: bool) -> Fixed:
    """Apply the fixes of findings about a text that do not overlap."""
    wanted = [finding for finding in findings if is_applicable(finding, unsafe=unsafe)]
    if not wanted:
        return Fixed(text, [])
    editor = Editor(read_json(text, parity=True, max_bytes=None, most_problems=MANY_PROBLEMS))
    given: set[str] = set()
    possible = [
        (f, edits)
        for f in wanted
        if f.fix is not None and (edits := editor.edits(f.fix)) and _are_new_names(f.fix, given)
    ]
    changed, done = apply_fixes(text, [edits for _, edits in possible])
    return Fixed(changed, [finding for (finding, _), is_done in zip(possible, done, strict=True) if is_done])


def _are_new_names(fix: Fix, given: set[str]) -> bool:
    """Return whether a fix gives no member a name that another fix gives its neighbour; `given` collects them.

    Of two misspellings of one name only one can be fixed; the author must decide about the other.
    """
    names = {
        renamed(operation) if isinstance(operation, Rename) else child(operation.pointer, operation.name)
        for operation in fix.operations
        if isinstance(operation, Rename | Insert) and operation.name is not None
    }
    if not given.isdisjoint(names):
        return False
    given |= names
    return True


def is_applicable(finding: Finding, *, unsafe: bool) -> bool:
    """Return whether a finding has a fix that may be applied."""
    return finding.fix is not None and (unsafe or finding.fix.safety is Safety.SAFE)
