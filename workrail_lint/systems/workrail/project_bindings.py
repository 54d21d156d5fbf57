"""The project's bindings file: its overrides for one workflow, and what is wrong with the file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Record
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import quoted
from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.operations import Remove
from workrail_lint.documents.pointer import child
from workrail_lint.documents.source_text import Problem
from workrail_lint.findings import Finding, Phase, unsafe
from workrail_lint.systems.workrail.compiler.nodes import name_hint
from workrail_lint.systems.workrail.identity import is_valid
from workrail_lint.systems.workrail.rules import RULES

_NO_OBJECT = "the bindings file must be a JSON object; the engine ignores the whole file"


def project_overrides(content: object, workflow_id: str) -> dict[str, str]:
    """Return the overrides of a bindings file for a workflow, without what the engine ignores.

    If the workflow has a section, flat members are not merged into it. Without a section, a file whose members are
    all strings applies to every workflow. `content` is None if there is no file.
    """
    if not workflow_id or not isinstance(content, dict):
        return {}
    if workflow_id in content:
        return strings(content[workflow_id])
    flat = strings(content)
    return flat if len(flat) == len(content) else {}


def strings(value: object) -> dict[str, str]:
    """Return the members of an object that are strings."""
    return {name: item for name, item in value.items() if isinstance(item, str)} if isinstance(value, dict) else {}


class Drift(Record):
    """A slot whose override is not what a run pinned; `current` is None if only the default is left."""

    __slots__ = ("current", "pinned", "slot")

    def __init__(self, slot: str, pinned: str, current: str | None) -> None:
        self.slot = slot
        self.pinned = pinned
        self.current = current


def drifted(pinned: dict[str, str], content: object, workflow_id: str) -> list[Drift]:
    """Return where the bindings file no longer matches what a run of the workflow was started with.

    `pinned` holds the overrides of the run; slots that were resolved from defaults never drift.
    """
    now = project_overrides(content, workflow_id)
    return [Drift(slot, value, now.get(slot)) for slot, value in pinned.items() if now.get(slot) != value]


_SLOT = Pattern(r"[a-z][a-z0-9_]{1,63}")
Pinned = Mapping[str, dict[str, str]]


def check_bindings_text(
    data: bytes | str, workflow_ids: Collection[str] = (), pinned: Pinned | None = None
) -> tuple[JsonDocument, list[Finding]]:
    """Read and check a bindings file; the document locates the findings."""
    document = read_json(data, parity=True)
    fatal = next((problem for problem in document.problems if _is_fatal(problem)), None)
    if fatal is None:
        return document, check_bindings(document.value, workflow_ids, pinned)
    message = f"invalid JSON, so the engine ignores the whole file: {fatal.message}"
    finding = _finding("bindings-file-invalid", "", message)
    finding.span = document.source.span(fatal.start, fatal.end)
    return document, [finding]


def _is_fatal(problem: Problem) -> bool:
    """Return whether the engine can't read the file; it replaces bad bytes and uses the last of duplicate members."""
    return problem.blocking and problem.name not in ("json-duplicate-key", "json-invalid-utf8")


def check_bindings(content: object, workflow_ids: Collection[str] = (), pinned: Pinned | None = None) -> list[Finding]:
    """Return what is wrong with the content of a bindings file.

    `workflow_ids` are the known workflows of the project; a member with a dot counts as one too, and so does one that
    is a valid workflow id but not a valid slot id.
    `pinned` holds, by workflow, the overrides that a run was started with.
    """
    if not isinstance(content, dict):
        return [_finding("bindings-file-invalid", "", _NO_OBJECT)]
    findings = [finding for name, value in content.items() for finding in _member(name, value, workflow_ids)]
    findings += _format(content, workflow_ids)
    for workflow_id, overrides in (pinned or {}).items():
        findings += _drift(content, workflow_id, overrides)
    return findings


def _is_workflow(name: str, workflow_ids: Collection[str]) -> bool:
    return name in workflow_ids or "." in name or (is_valid(name) and not _SLOT.fullmatch(name))


def _member(name: str, value: object, workflow_ids: Collection[str]) -> Iterator[Finding]:
    pointer = child("", name)
    match value:
        case dict():
            for slot, override in value.items():
                yield from _override(name, slot, override, child(pointer, slot))
        case _ if _is_workflow(name, workflow_ids):
            message = f"the section of workflow {quoted(name)} must be an object of slots; the engine ignores it"
            yield _finding("bindings-file-invalid", pointer, message)
        case str():
            pass
        case _:
            message = f"the value of slot {quoted(name)} must be a string; the engine ignores all top-level slots"
            yield _finding("bindings-file-invalid", pointer, message)


def _override(section: str, slot: str, override: object, pointer: str) -> Iterator[Finding]:
    match override:
        case "":
            yield _empty(slot, pointer, f"section {quoted(section)}: slot")
        case str():
            pass
        case _:
            message = (
                f"section {quoted(section)}: the value of slot {quoted(slot)} must be a string; the engine skips it"
            )
            yield _finding("bindings-file-invalid", pointer, message)


def _format(content: dict[str, Any], workflow_ids: Collection[str]) -> Iterator[Finding]:
    texts = strings(content)
    flat = [name for name in texts if not _is_workflow(name, workflow_ids)]
    if not flat:
        return
    if len(texts) == len(content):
        yield from (_empty(name, child("", name), "slot") for name in flat if not content[name])
    elif sections_of(content):
        for name in flat:
            message = f"slot {quoted(name)} is ignored, because the file has workflow sections; move it into a section"
            yield _finding("bindings-file-invalid", child("", name), message)


def _empty(slot: str, pointer: str, what: str) -> Finding:
    message = f"{what} {quoted(slot)} is set to an empty string; remove the entry to use the default"
    finding = _finding("binding-override-empty", pointer, message)
    finding.fix = unsafe("remove the entry", Remove(pointer))
    return finding


def sections_of(content: object) -> dict[str, list[str]]:
    """Return the slots that a bindings file sets, by workflow section."""
    members = content.items() if isinstance(content, dict) else ()
    return {name: list(strings(section)) for name, section in members if isinstance(section, dict)}


def unknown_slots(sections: Mapping[str, list[str]], declared: Mapping[str, Collection[str]]) -> list[Finding]:
    """Return the entries of a bindings file for slots that their workflow lacks, for workflows in `declared`."""
    findings: list[Finding] = []
    for workflow_id, slots in sections.items():
        known = declared.get(workflow_id)
        for slot in slots if known is not None else ():
            if known is None or slot in known:
                continue
            hint = name_hint(nearest(slot, known), "declared slots", sorted(known))
            pointer = child(child("", workflow_id), slot)
            unknown = _finding(
                "binding-override-unknown-slot",
                pointer,
                f"workflow {quoted(workflow_id)} does not declare slot {quoted(slot)}{hint}",
            )
            unknown.phase, unknown.on_name = Phase.REGISTRY, True
            unknown.fix = unsafe("remove the entry", Remove(pointer))
            findings.append(unknown)
    return findings


def _drift(content: dict[str, Any], workflow_id: str, overrides: dict[str, str]) -> Iterator[Finding]:
    base = child("", workflow_id) if workflow_id in sections_of(content) else ""
    for drift in drifted(overrides, content, workflow_id):
        slot, pinned, current = drift.slot, drift.pinned, drift.current
        now = "the default" if current is None else quoted(current)
        yield _finding(
            "binding-drift",
            base if current is None else child(base, slot),
            f"slot {quoted(slot)} of workflow {quoted(workflow_id)} was {quoted(pinned)} when the run started and is "
            f"now {now}; the run continues with {quoted(pinned)}",
        )


def _finding(name: str, pointer: str, message: str) -> Finding:
    rule = RULES.by_name[name]
    return Finding(rule.code, name, rule.severity, message, pointer)
