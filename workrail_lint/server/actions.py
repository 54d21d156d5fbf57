"""The code actions for findings: fix them, accept them, create what is missing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from workrail_lint.documents.json_edit import Editor, difference
from workrail_lint.documents.json_format import restyled
from workrail_lint.documents.json_reader import MANY_PROBLEMS, read_json
from workrail_lint.documents.operations import Insert
from workrail_lint.documents.pointer import decode, relative_to
from workrail_lint.findings import Edit, Finding, Safety, unsafe
from workrail_lint.project.baseline import baseline_text, merged_baseline
from workrail_lint.project.config import OWN_FILE, SHARED_FILE, TABLE
from workrail_lint.project.fixing import fix_text
from workrail_lint.server.document import CONFIGURATION, OpenDocument
from workrail_lint.server.names import steps_by_id
from workrail_lint.systems.base import UNSET_VARIABLE

_BASELINE = "workrail-baseline.json"
_REASON = "Say why this is meant."
_UNKNOWN_STEP = ("loop-body-reference-invalid", "step-reference-unknown")
_UNSET_VARIABLE = ("variable-never-set",)
_UNKNOWN_ASSESSMENT = ("assessment-ref-unknown", "assessment-ref-unknown", "consequence-level-unknown")
_MISSING_FILE = ("reference-missing-file",)


class Action(NamedTuple):
    """New texts by path, under a title. `kind`: quickfix, or fixAll. The text of a file that is not there is empty."""

    title: str
    kind: str
    edits: dict[str, list[Edit]]
    finding: Finding | None = None
    is_preferred: bool = False


def actions(document: OpenDocument, start: int, end: int, text_of: Callable[[str], str]) -> list[Action]:
    """Return everything that can be done about the findings between two offsets; `text_of` reads another file."""
    result: list[Action] = []
    editor: Editor | None = None
    for finding in document.checked.findings:
        span = finding.span
        if span is None or span.start.offset > end or span.end.offset < start:
            continue
        if finding.fix is not None:
            if editor is None:
                editor = Editor(read_json(document.text, parity=True, max_bytes=None, most_problems=MANY_PROBLEMS))
            edits = editor.edits(finding.fix)
            safe = finding.fix.safety is Safety.SAFE
            title = f"{finding.code}: {finding.fix.title}{'' if safe else ' (may change meaning)'}"
            if edits:
                result.append(Action(title, "quickfix", {document.path: list(edits)}, finding, safe))
        result += _created(document, finding)
        if document.kind != CONFIGURATION:
            result += _accepted(document, finding, text_of)
    return result


def fix_all(document: OpenDocument) -> Edit | None:
    """Return one edit that makes all safe fixes."""
    options = document.project.plan.settings.options
    options["fixing"] = True
    fixed = fix_text(document.text, document.findings_of, unsafe=False)
    options["fixing"] = False
    return difference(document.text, fixed.text)


def format_edit(document: OpenDocument) -> Edit | None:
    """Return one edit that brings a workflow into the canonical style, as small as it can be."""
    formatted = restyled(document.text) if document.is_workflow else None
    return None if formatted is None else difference(document.text, formatted)


# ------------------------------------------------------------------------------------------------ what is missing


def _created(document: OpenDocument, finding: Finding) -> Iterator[Action]:
    """Yield the step, variable, assessment or file that something refers to."""
    if not document.is_workflow or document.value is None:
        return
    name = finding.name
    value = document.string_at(tuple(decode(finding.pointer))) if finding.pointer.startswith("/") else None
    if name in _UNKNOWN_STEP:
        match = re.search(r"there is no step '([\w-]+)'", finding.message)
        ident = match[1] if match else value
        if ident is not None and re.fullmatch(r"[\w-]+", ident) and ident not in steps_by_id(document):
            title = ident.replace("-", " ").replace("_", " ").capitalize()
            step = {"id": ident, "title": title, "prompt": "Say what the agent does."}
            yield from _inserted(document, finding, f"Create the step '{ident}'", "steps", step)
    elif name in _UNSET_VARIABLE:
        yield from _variable(document, finding)
    elif name in _UNKNOWN_ASSESSMENT and value is not None:
        assessment = {
            "id": value,
            "purpose": "Say what is assessed.",
            "dimensions": [{"id": "quality", "purpose": "Say what is judged.", "levels": ["low", "high"]}],
        }
        yield from _inserted(document, finding, f"Create the assessment '{value}'", "assessments", assessment)
    elif name in _MISSING_FILE and value is not None and not os.path.isabs(value) and ".." not in value:
        path = os.path.join(document.project.settings.workspace or os.curdir, value)
        if not os.path.exists(path):
            heading = os.path.splitext(os.path.basename(value))[0].replace("-", " ").capitalize()
            yield Action(f"Create the file '{value}'", "quickfix", {path: [Edit(0, 0, f"# {heading}\n")]}, finding)


def _inserted(document: OpenDocument, finding: Finding, title: str, member: str, entry: Any) -> Iterator[Action]:
    """Yield an entry at the end of a list of the workflow, which may not be there yet."""
    listed = document.at((member,))
    if isinstance(listed, list):
        fix = unsafe(title, Insert(f"/{member}", None, len(listed), entry))
    elif listed is None:
        fix = unsafe(title, Insert("", member, None, [entry]))
    else:
        return
    edits = Editor(document.json).edits(fix)
    if edits:
        yield Action(title, "quickfix", {document.path: list(edits)}, finding)


def _variable(document: OpenDocument, finding: Finding) -> Iterator[Action]:
    """Yield a sentence that sets a variable, in the step before the one that reads it."""
    name = finding.details.get(UNSET_VARIABLE)
    tokens = tuple(decode(finding.pointer)) if finding.pointer.startswith("/steps/") else ()
    if not isinstance(name, str) or len(tokens) < 2:
        return
    own = tokens[:4] if tokens[2:3] == ("body",) else tokens[:2]
    before = [step for step in steps_by_id(document).values() if _order(decode(step.pointer)) < _order(own)]
    for step in reversed(before):
        prompt = document.range_of(step.at("prompt"))
        if prompt is None or step.kind != "standard" or step.prompt is None:
            continue
        sentence = f" Set the context variable `{name}`."
        title = f"Set '{name}' in step '{step.id}'"
        yield Action(title, "quickfix", {document.path: [Edit(prompt[1] - 1, prompt[1] - 1, sentence)]}, finding)
        return


def _order(tokens: Iterable[str]) -> list[int]:
    return [int(token) for token in tokens if token.isdecimal()]


# ------------------------------------------------------------------------------------------------ accepting


def _accepted(document: OpenDocument, finding: Finding, text_of: Callable[[str], str]) -> Iterator[Action]:
    """Yield a suppression with a reason, and an entry in the baseline."""
    place = finding.details.get("place")
    if not isinstance(place, str):
        return
    root = document.project.config.root
    path = document.project.config.path or os.path.join(root, OWN_FILE)
    is_shared = os.path.basename(path) == SHARED_FILE
    table = f"tool.{TABLE}.suppress" if is_shared else "suppress"
    where = relative_to(root, document.path)
    text = text_of(path)
    entry = (
        f"[[{table}]]\nplace = {json.dumps(f'{where}#{place}', ensure_ascii=False)}\n"
        f"codes = [{json.dumps(finding.code)}]\nreason = {json.dumps(_REASON)}\n"
    )
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    yield Action(
        f"Suppress {finding.code} here, with a reason",
        "quickfix",
        {path: [Edit(len(text), len(text), gap + entry)]},
        finding,
    )
    baseline = document.project.config.file("baseline")
    edits: dict[str, list[Edit]] = {}
    if baseline is None:
        baseline = os.path.join(root, _BASELINE)
        edits[path] = [_baseline_setting(text, is_shared)]
    old = text_of(baseline)
    new = merged_baseline(old, baseline_text([finding], os.path.dirname(os.path.abspath(baseline))))
    change = None if new is None else difference(old, new)
    if change is not None:
        yield Action(f"Add {finding.code} to the baseline", "quickfix", {**edits, baseline: [change]}, finding)


def _baseline_setting(text: str, is_shared: bool) -> Edit:
    """Return the setting that names the baseline, at the top of our table."""
    line = f'baseline = "{_BASELINE}"\n'
    if not is_shared:
        return Edit(0, 0, line)
    head = re.search(rf"^\[tool\.{TABLE}\][^\n]*\n?", text, re.MULTILINE)
    return (
        Edit(len(text), len(text), f"\n[tool.{TABLE}]\n{line}") if head is None else Edit(head.end(), head.end(), line)
    )
