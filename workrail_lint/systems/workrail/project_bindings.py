"""The project's bindings file: its overrides for one workflow, and what is wrong with them."""

from __future__ import annotations

from typing import NamedTuple

from workrail_lint.documents.pointer import child


class BindingProblem(NamedTuple):
    """A problem that makes the engine ignore a part of the file, with a warning."""

    name: str
    pointer: str
    message: str


class Overrides(NamedTuple):
    """Slot to value for one workflow, and the problems found."""

    overrides: dict[str, str]
    problems: tuple[BindingProblem, ...]


_NOTHING = Overrides({}, ())


def project_overrides(content: object, workflow_id: object) -> Overrides:
    """The overrides of a bindings file for a workflow.

    If the workflow has a section, flat members are not merged into it. Without a section, a file whose members are
    all strings applies to every workflow. `content` is None if there is no file.
    """
    if content is None or not isinstance(workflow_id, str) or not workflow_id:
        return _NOTHING
    if not isinstance(content, dict):
        message = "the bindings file must be a JSON object; the engine ignores the whole file"
        return Overrides({}, (BindingProblem("bindings-file-invalid", "", message),))
    if workflow_id in content:
        return _section(content[workflow_id], child("", workflow_id))
    if content and all(isinstance(value, str) for value in content.values()):
        return Overrides({slot: str(value) for slot, value in content.items()}, ())
    return _NOTHING


def _section(section: object, pointer: str) -> Overrides:
    if not isinstance(section, dict):
        message = "the section of a workflow must be an object; the engine ignores it"
        return Overrides({}, (BindingProblem("bindings-section-invalid", pointer, message),))
    problems = tuple(
        BindingProblem(
            "bindings-value-not-string",
            child(pointer, slot),
            f"the value of slot '{slot}' must be a string; the engine skips it",
        )
        for slot, value in section.items()
        if not isinstance(value, str)
    )
    return Overrides({slot: value for slot, value in section.items() if isinstance(value, str)}, problems)


class Drift(NamedTuple):
    """A slot whose override is not what a run pinned; `current` is None if only the default is left."""

    slot: str
    pinned: str
    current: str | None


def drifted(pinned: dict[str, str], content: object, workflow_id: object) -> list[Drift]:
    """Where the bindings file no longer matches what a run of the workflow was started with.

    `pinned` holds the overrides of the run; slots that were resolved from defaults never drift.
    """
    now = project_overrides(content, workflow_id).overrides
    return [Drift(slot, value, now.get(slot)) for slot, value in pinned.items() if now.get(slot) != value]
