"""A session folder as one unit: the little that each file contributes, and what that makes together.

A record is plain JSON, so that it can be kept and carried between processes; it holds no more than the rules about
a whole session ask for.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.pointer import child
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.model.build import document_model
from workrail_lint.systems.team.model.documents import Decision, SessionStatus
from workrail_lint.systems.team.options import TeamOptions
from workrail_lint.systems.team.rules.base import (
    AcceptanceDocument,
    Backlog,
    Document,
    HistoryDocument,
    MarkdownFile,
    StatusDocument,
)
from workrail_lint.systems.team.sections import Sections
from workrail_lint.systems.team.session import SessionFolder, list_files
from workrail_lint.systems.team.vocabulary import Mode, WorkflowState, ac_ids_in, task_ids_in

K = TeamKind
_DECISION_MEMBERS = ("decision_id", "status", "answer", "state_context")
_LONGEST_ANSWER = 500


def record_of(document: Document) -> dict[str, Any] | None:
    """Return the facts of a document that session rules need; None if it has no session or no such facts."""
    place = document.place
    if place is None or not document.reader.readable:
        return None
    makers = {
        K.STATUS: _status,
        K.TASKS: _tasks,
        K.ACCEPTANCE: _acceptance,
        K.SPEC: _spec,
        K.HISTORY: _history,
    }
    if document.kind not in makers:
        return None
    facts = makers[document.kind](document)
    return {"folder": place.folder, "name": place.name, "file": place.file, "kind": document.kind.value, "facts": facts}


def _status(document: Document) -> dict[str, Any]:
    """Return status.json, cut down to what the machine and the rules look at."""
    assert isinstance(document, StatusDocument)
    status, gate = document.model, document.model.design_gate
    return {
        "current_state": status.current_state,
        **({"session": _short(status.session)} if status.has("session") else {}),
        "user_decisions": [
            {"at": each.pointer, **{name: _short(getattr(each, name)) for name in _DECISION_MEMBERS}}
            for each in document.decisions
        ],
        "gate_tracking": {"APPROVE_DESIGN": {"correction_status": None if gate is None else gate.correction_status}},
        "retry_counts": {
            task: {loop: counts.raw[loop] for loop in counts.leaves if counts.has(loop)}
            for task, counts in status.retry_counts.items()
        },
        "waived": sorted({task for issue in status.known_issues for task in task_ids_in(issue)}),
    }


def _short(text: str | None) -> str | None:
    """Return a string, cut to a readable length but still distinct from others."""
    if text is None or len(text) <= _LONGEST_ANSWER:
        return text

    return f"{text[:_LONGEST_ANSWER]} {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _tasks(document: Document) -> dict[str, Any]:
    assert isinstance(document, Backlog)
    return {
        "tasks": [
            {
                "at": task.pointer,
                "label": task.label,
                "id": task.id,
                "status": task.stage,
                "criteria": _named_criteria(task.raw, task.pointer),
                "context_files": [
                    [task.at("context_files", index), item] for index, item in numbered(task.context_files)
                ],
            }
            for task in document.tasks
        ]
    }


def _named_criteria(value: dict[str, Any], pointer: str) -> list[list[str]]:
    """Return where a task names which acceptance criterion."""
    criteria: list[list[str]] = []
    stack: list[tuple[object, str]] = [(value, pointer)]
    while stack:
        item, place = stack.pop()
        if type(item) is str:
            criteria += [[place, ident] for ident in ac_ids_in(item)]
        elif type(item) is dict:
            stack += [(inner, child(place, name)) for name, inner in reversed(item.items())]
        elif type(item) is list:
            stack += [(inner, child(place, i)) for i, inner in reversed(list(enumerate(item)))]
    return criteria


def _acceptance(document: Document) -> dict[str, Any]:
    assert isinstance(document, AcceptanceDocument)
    # Another id is a finding of its own, and no text is searched for it.
    named = ((each.index, each.id) for each in document.criteria if each.has("id"))
    return {"ids": [[index, ident] for index, ident in named if ac_ids_in(ident) == [ident]]}


def _spec(document: Document) -> dict[str, Any]:
    assert isinstance(document, MarkdownFile)
    section = Sections(document.reader, document.options.aliases).criteria()
    return {"title": None if section is None else section[0], "ids": [] if section is None else section[1]}


def _history(document: Document) -> dict[str, Any]:
    assert isinstance(document, HistoryDocument)
    last = next(reversed(document.entries.values()), None)
    return {"last": _short(last.answer) if last is not None and last.has("answer") else None}


class TaskFacts(NamedTuple):
    """The record of a task."""

    at: str  # its place in tasks.yaml
    label: str
    id: str
    status: str
    criteria: list[list[str]]  # where it names which acceptance criterion
    context_files: list[list[str]]  # with their places


class Unit:
    """A session folder and what its files said."""

    def __init__(
        self, folder: str, name: str, files: list[str], records: dict[str, dict[str, Any]], options: TeamOptions
    ) -> None:
        self.folder = folder
        self.name = name
        self.files = frozenset(files)  # below the folder
        self.options = options
        self._records = records  # by the file's path below the folder
        status, tasks = self.facts("status.json"), self.facts("tasks.yaml")
        # A record has only valid values.
        self.status = None if status is None else document_model(SessionStatus, status, ())
        self.waived: list[str] = [] if status is None else status["waived"]  # the tasks that known_issues name
        self.tasks = None if tasks is None else [TaskFacts(**task) for task in tasks["tasks"]]
        count = None if self.tasks is None else len(self.tasks)
        self.session = SessionFolder(folder, name, self.files, self.status, count)

    def facts(self, file: str) -> dict[str, Any] | None:
        record = self._records.get(file)
        return None if record is None else record["facts"]

    def path(self, file: str) -> str:
        """Return the path of a file of the session, as the run names it."""
        return self._records[file]["path"] if file in self._records else f"{self.folder}/{file}"

    @property
    def mode(self) -> Mode:
        return self.session.mode(self.options.mode)

    @property
    def state(self) -> str | None:
        return None if self.status is None else self.status.current_state

    def is_at_or_past(self, milestone: WorkflowState) -> bool:
        return machine.is_at_or_past(self.state, milestone, self.session.returns_to)

    @property
    def decisions(self) -> list[tuple[str, Decision]]:
        """The decisions of status.json, each with its place there."""
        entries = () if self.status is None else self.status.user_decisions
        return [(entry.raw["at"], entry) for entry in entries]


def units_of(records: dict[str, dict[str, Any]], options: TeamOptions) -> list[Unit]:
    """Return the session folders among the files of a run: those that hold status.json, or a spec with its criteria."""
    by_folder: dict[str, dict[str, dict[str, Any]]] = {}
    for path, record in records.items():
        by_folder.setdefault(record["folder"], {})[record["file"]] = {**record, "path": path}
    return [
        Unit(folder, next(iter(files.values()))["name"], list_files(folder), files, options)
        for folder, files in sorted(by_folder.items())
        if "status.json" in files or ("spec.md" in files and "acceptance.json" in files)
    ]
