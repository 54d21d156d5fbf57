"""Applying fixes: rounds of edits that do not overlap, until nothing more changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from workrail_lint.documents.json_edit import Editor, apply_fixes
from workrail_lint.documents.json_reader import MANY_SLIPS, read_json
from workrail_lint.documents.pointer import parent
from workrail_lint.findings import Finding, Safety
from workrail_lint.findings.fix import Insert, Rename

# Most texts are mended in one round, and a second one finds nothing left. A fix may open the way for another one;
# more rounds than this mean that fixes go on for ever.
_MAX_ROUNDS = 100


class Fixed(NamedTuple):
    """The text after fixing, and the findings whose fixes were applied."""

    text: str
    applied: list[Finding]


def fix_text(text: str, findings_of: Callable[[str], list[Finding]], *, unsafe: bool) -> Fixed:
    """Fix a text. `findings_of` checks a text anew; only what it reports is fixed."""
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
    """Apply the fixes of findings about a text, as far as they do not get in each other's way."""
    wanted = [finding for finding in findings if is_wanted(finding, unsafe=unsafe)]
    if not wanted:
        return Fixed(text, [])
    editor = Editor(read_json(text, parity=True, max_bytes=None, most_slips=MANY_SLIPS))
    possible = [(f, edits) for f in _apart(wanted) if f.fix is not None and (edits := editor.edits(f.fix))]
    changed, done = apply_fixes(text, [edits for _, edits in possible])
    return Fixed(changed, [finding for (finding, _), is_done in zip(possible, done, strict=True) if is_done])


def _apart(findings: list[Finding]) -> Iterator[Finding]:
    """The findings without those whose fixes would give an object a member that the fix of another one gives it.

    Of two misspellings of one name only one can be renamed; the other is for the author to decide.
    """
    given: set[tuple[str, str]] = set()
    for finding in findings:
        named = {
            (parent(operation.pointer) if isinstance(operation, Rename) else operation.pointer, operation.name)
            for operation in (finding.fix.operations if finding.fix is not None else ())
            if isinstance(operation, Rename | Insert) and operation.name is not None
        }
        if given.isdisjoint(named):
            given |= named
            yield finding


def is_wanted(finding: Finding, *, unsafe: bool) -> bool:
    """Whether a finding has a fix that may be applied."""
    return finding.fix is not None and (unsafe or finding.fix.safety is Safety.SAFE)
