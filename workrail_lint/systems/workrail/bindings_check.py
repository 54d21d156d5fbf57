"""The project's bindings file as a document of its own: what in it the engine ignores, or takes for more than meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import name_list, quoted
from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.operations import Remove
from workrail_lint.documents.pointer import child
from workrail_lint.documents.problems import Problem
from workrail_lint.findings import Finding, Phase
from workrail_lint.findings.fix import unsafe
from workrail_lint.systems.workrail.identity import is_valid
from workrail_lint.systems.workrail.project_bindings import drifted

_SLOT = re.compile(r"[a-z][a-z0-9_]{1,63}")
Pinned = Mapping[str, dict[str, str]]


def check_bindings_text(
    data: bytes | str, workflow_ids: Collection[str] = (), pinned: Pinned | None = None
) -> tuple[JsonDocument, list[Finding]]:
    """Read and check a bindings file; the document gives the findings their places."""
    document = read_json(data, parity=True)
    refused = next((problem for problem in document.problems if _refuses(problem)), None)
    if refused is None:
        return document, check_bindings(document.value, workflow_ids, pinned)
    message = f"The file is not valid JSON, so all of it is ignored: {refused.message}"
    found = _finding("bindings-file-invalid", "", message)
    found.span = document.source.span(refused.start, refused.end)
    return document, [found]


def _refuses(problem: Problem) -> bool:
    """Whether the engine stops at this; it replaces bad bytes and takes the last of repeated members."""
    return problem.blocking and problem.name not in ("json-duplicate-key", "json-invalid-utf8")


def check_bindings(content: object, workflow_ids: Collection[str] = (), pinned: Pinned | None = None) -> list[Finding]:
    """What is wrong with the content of a bindings file.

    `workflow_ids` are the workflows the project is known to have; a member with a dot counts as one too, and so does
    one that can be a workflow and no slot.
    `pinned` gives, by workflow, the overrides that a run was started with.
    """
    if not isinstance(content, dict):
        message = "The bindings file must hold a JSON object; all of it is ignored"
        return [_finding("bindings-file-invalid", "", message)]
    found = [finding for name, value in content.items() for finding in _member(name, value, workflow_ids)]
    found += _format(content, workflow_ids)
    for workflow_id, overrides in (pinned or {}).items():
        found += _drift(content, workflow_id, overrides)
    return found


def _is_workflow(name: str, workflow_ids: Collection[str]) -> bool:
    return name in workflow_ids or "." in name or (is_valid(name) and not _SLOT.fullmatch(name))


def _member(name: str, value: object, workflow_ids: Collection[str]) -> Iterator[Finding]:
    pointer = child("", name)
    if isinstance(value, dict):
        for slot, override in value.items():
            if not isinstance(override, str):
                message = f"Section {quoted(name)}: the value of slot {quoted(slot)} is no string; it is skipped"
                yield _finding("bindings-value-not-string", child(pointer, slot), message)
            elif not override:
                yield _empty(slot, child(pointer, slot), f"Section {quoted(name)}: slot")
    elif _is_workflow(name, workflow_ids):
        message = f"The section of workflow {quoted(name)} must be an object of slots; it is ignored"
        yield _finding("bindings-section-invalid", pointer, message)
    elif not isinstance(value, str):
        message = f"The value of slot {quoted(name)} is no string, so no entry of this level is used"
        yield _finding("bindings-value-not-string", pointer, message)


def _format(content: dict[str, Any], workflow_ids: Collection[str]) -> Iterator[Finding]:
    flat = [name for name, value in content.items() if isinstance(value, str) and not _is_workflow(name, workflow_ids)]
    if not flat:
        return
    if all(isinstance(value, str) for value in content.values()):
        message = (
            "Without sections these slots are set for every workflow; put them under the id of the one they are for"
        )
        yield _finding("bindings-flat-format", "", message)
        yield from (_empty(name, child("", name), "Slot") for name in flat if not content[name])
    elif any(isinstance(value, dict) for value in content.values()):
        for name in flat:
            message = f"Slot {quoted(name)} stands beside sections, so it is ignored; put it into the sections"
            yield _finding("bindings-mixed-format", child("", name), message)


def _empty(slot: str, pointer: str, what: str) -> Finding:
    message = f"{what} {quoted(slot)} is set to nothing, which counts; remove the entry to get the default back"
    found = _finding("binding-override-empty", pointer, message)
    found.fix = unsafe("remove the entry", Remove(pointer))
    return found


def sections_of(content: object) -> dict[str, list[str]]:
    """The slots that a bindings file sets, by the workflow whose section they stand in."""
    members = content.items() if isinstance(content, dict) else ()
    return {
        name: [slot for slot, override in section.items() if isinstance(override, str)]
        for name, section in members
        if isinstance(section, dict)
    }


def unknown_slots(sections: Mapping[str, list[str]], declared: Mapping[str, Collection[str]]) -> list[Finding]:
    """The entries of a bindings file for slots that their workflow, as far as it is `declared`, does not have."""
    found: list[Finding] = []
    for workflow_id, slots in sections.items():
        known = declared.get(workflow_id)
        for slot in slots if known is not None else ():
            if known is None or slot in known:
                continue
            meant = nearest(slot, known)
            hint = f" Did you mean {quoted(meant)}?" if meant else ""
            pointer = child(child("", workflow_id), slot)
            unknown = _finding(
                "binding-override-unknown-slot",
                pointer,
                f"The workflow {quoted(workflow_id)} does not declare slot {quoted(slot)}.{hint} Declared slots: "
                f"{name_list(sorted(known))}",
            )
            unknown.phase, unknown.on_name = Phase.REGISTRY, True
            unknown.fix = unsafe("remove the entry", Remove(pointer))
            found.append(unknown)
    return found


def _drift(content: dict[str, Any], workflow_id: str, overrides: dict[str, str]) -> Iterator[Finding]:
    section = content.get(workflow_id)
    base = child("", workflow_id) if isinstance(section, dict) else ""
    for slot, pinned, current in drifted(overrides, content, workflow_id):
        now = "the default" if current is None else quoted(current)
        yield _finding(
            "binding-drift",
            base if current is None else child(base, slot),
            f"Slot {quoted(slot)} of workflow {quoted(workflow_id)} was {quoted(pinned)} when the run started "
            f"and is {now} now; the run goes on with what it was started with",
        )


def _finding(name: str, pointer: str, message: str) -> Finding:
    from workrail_lint.systems.workrail.rules import RULES

    rule = RULES.by_name[name]
    return Finding(rule.code, name, rule.severity, message, pointer)
