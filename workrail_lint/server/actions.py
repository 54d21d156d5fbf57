"""What an editor offers to do about findings: fixes, all safe fixes, a suppression with a reason, what is missing."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from workrail_lint.documents.json_edit import fix_edits
from workrail_lint.documents.pointer import decode
from workrail_lint.findings import Edit, Finding, Safety
from workrail_lint.project.fixing import fix_text
from workrail_lint.server.document import OpenDocument
from workrail_lint.server.names import step_ids
from workrail_lint.systems.workrail.formatting import format_workflow

_UNKNOWN_STEP = ("loop-body-missing-step", "step-ref-unknown")


class Action(NamedTuple):
    """Edits by path, under a title. `kind`: quickfix, or fixAll."""

    title: str
    kind: str
    edits: dict[str, list[Edit]]
    finding: Finding | None = None
    is_preferred: bool = False


def actions(document: OpenDocument, findings: list[Finding], start: int, end: int) -> list[Action]:
    """Everything that can be done about the findings between two offsets."""
    found: list[Action] = []
    for finding in findings:
        span = finding.span
        if span is None or span.start.offset > end or span.end.offset < start:
            continue
        edits = fix_edits(document.json, finding.fix) if finding.fix is not None and document.json.readable else ()
        if finding.fix is not None and edits:
            safe = finding.fix.safety is Safety.SAFE
            title = f"{finding.code}: {finding.fix.title}{'' if safe else ' (may change meaning)'}"
            found.append(Action(title, "quickfix", {document.path: list(edits)}, finding, safe))
        created = _missing_step(document, finding)
        if created is not None:
            found.append(created)
        suppressed = _suppression(document, finding)
        if suppressed is not None:
            found.append(suppressed)
    fixed = fix_all(document)
    if fixed is not None:
        found.append(Action("Fix all safe problems", "fixAll", {document.path: [fixed]}))
    return found


def fix_all(document: OpenDocument) -> Edit | None:
    """One edit that makes all safe fixes."""
    fixed = fix_text(document.text, document.findings_of, unsafe=False)
    return None if fixed.text == document.text else Edit(0, len(document.text), fixed.text)


def _missing_step(document: OpenDocument, finding: Finding) -> Action | None:
    """A step for an id that a loop or a reference names."""
    value = document.at(tuple(decode(finding.pointer))) if finding.pointer.startswith("/") else None
    if finding.name not in _UNKNOWN_STEP or not isinstance(value, str) or value in step_ids(document):
        return None
    place = document.range_of(("steps",))
    if place is None:
        return None
    title = value.replace("-", " ").capitalize()
    step = json.dumps({"id": value, "title": title, "prompt": "Say what the agent does."})
    edit = Edit(place[1] - 1, place[1] - 1, f", {step}" if document.at(("steps",)) else step)
    return Action(f"Create the step '{value}'", "quickfix", {document.path: [edit]}, finding)


def _suppression(document: OpenDocument, finding: Finding) -> Action | None:
    """An entry in the configuration that accepts the finding at its place."""
    root = str(document.setup.settings.options.get("root") or os.curdir)
    place = finding.details.get("place")
    config, is_pyproject = _config_file(root)
    if not isinstance(place, str):
        return None
    path = os.path.relpath(document.path, root).replace(os.sep, "/")
    table = "tool.workrail-lint.suppress" if is_pyproject else "suppress"
    entry = (
        f"\n[[{table}]]\nplace = {json.dumps(f'{path}#{place}')}\ncodes = [{json.dumps(finding.code)}]\n"
        'reason = "Say why this is meant."\n'
    )
    return Action(f"Suppress {finding.code} here, with a reason", "quickfix", {config: [Edit(-1, -1, entry)]}, finding)


def _config_file(root: str) -> tuple[str, bool]:
    """The file that holds the configuration; a new one where there is none."""
    own = os.path.join(root, "workrail-lint.toml")
    shared = os.path.join(root, "pyproject.toml")
    return (shared, True) if not os.path.exists(own) and os.path.exists(shared) else (own, False)


def format_edit(document: OpenDocument) -> Edit | None:
    """One edit that brings a workflow into the canonical style, as small as it can be."""
    made = format_workflow(document.text) if document.is_workflow else None
    if made is None or made == document.text:
        return None
    start = 0
    limit = min(len(made), len(document.text))
    while start < limit and made[start] == document.text[start]:
        start += 1
    end = 0
    while end < limit - start and made[-1 - end] == document.text[-1 - end]:
        end += 1
    return Edit(start, len(document.text) - end, made[start : len(made) - end])
