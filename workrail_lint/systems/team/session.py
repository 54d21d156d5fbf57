"""The session that a document belongs to: its files, its state, its tasks.

Read from disk once per folder and run. A file that can't be read counts as missing; the rules about that file report
the problem.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from workrail_lint.base.closed_sets import is_member
from workrail_lint.base.files import is_own, project_folders, read_file, walk
from workrail_lint.base.js import members_of
from workrail_lint.base.result import Ok
from workrail_lint.documents.json_reader import MAX_BYTES, read_json
from workrail_lint.documents.yaml_reader import YamlDocument, read_yaml
from workrail_lint.systems.team.documents import MAX_YAML_BYTES, Place, is_session_folder, place_of
from workrail_lint.systems.team.model.build import backlog_model, status_model
from workrail_lint.systems.team.model.documents import SessionStatus, Task
from workrail_lint.systems.team.state_machine import FULL_ONLY, GATES
from workrail_lint.systems.team.vocabulary import SESSIONS_FOLDER, Mode, ProjectType, Strategy, WorkflowState

# A folder with more files than this is not a session; the walk stops here.
MAX_FILES = 20_000
_OUTPUT = ".output.json"


class SessionFolder:
    """A session folder: its files, and the status among them."""

    def __init__(
        self, folder: str, name: str, files: frozenset[str], status: SessionStatus | None, task_count: int | None
    ) -> None:
        self.folder = folder
        self.name = name
        self.files = files  # below the folder, with slashes
        self.status = status  # None when there is none, or none that can be read
        self.task_count = task_count  # None when there is no plan, or none that can be read

    @property
    def returns_to(self) -> str | None:
        return None if self.status is None else self.status.returns_to

    def mode(self, option: Mode | None = None) -> Mode:
        has_architecture = "architecture.md" in self.files
        return inferred_mode(self.status, has_architecture=has_architecture, task_count=self.task_count, option=option)

    def in_folder(self, name: str) -> list[str]:
        """Return the Markdown files of a side folder, by their paths below the session."""
        return sorted(file for file in self.files if file.startswith(f"{name}/") and file.endswith(".md"))

    def path_of(self, file: str) -> str:
        """Return a file of the session as other documents name it."""
        return f"{SESSIONS_FOLDER}/{self.name}/{file}"


class Session(SessionFolder):
    """The session around a document."""

    def __init__(
        self,
        folder: str,
        name: str,
        files: frozenset[str],
        status: SessionStatus | None,
        tasks: Sequence[Task] | None,
    ) -> None:
        super().__init__(folder, name, files, status, None if tasks is None else len(tasks))
        self.tasks = tasks  # None when there is no plan, or none that can be read

    @property
    def state(self) -> str | None:
        return None if self.status is None else self.status.written_state

    @property
    def strategy(self) -> Strategy | None:
        return None if self.status is None else self.status.strategy

    @cached_property
    def task_ids(self) -> frozenset[str] | None:
        """The ids of the plan; None when there is no plan."""
        if self.tasks is None:
            return None
        return frozenset(task.id for task in self.tasks if task.has("id"))


def inferred_mode(
    status: SessionStatus | None, *, has_architecture: bool, task_count: int | None, option: Mode | None = None
) -> Mode:
    """Return the mode of a session, which no file stores. The first sign that speaks decides."""
    if option is not None:
        return option
    if status is None:
        return Mode.FULL
    if status.current_state == WorkflowState.INTAKE_LEAN:
        return Mode.LEAN
    states = [status.current_state, *(decision.state_context for decision in status.user_decisions)]
    if has_architecture or any(decision.decision_id in GATES for decision in status.user_decisions):
        return Mode.FULL
    if any(state == only for state in states for only in FULL_ONLY):
        return Mode.FULL
    return Mode.LEAN if status.current_state != WorkflowState.INTAKE and task_count == 1 else Mode.FULL


class Sessions:
    """The sessions a run has met, each read when it is first asked for, and again when a fix has changed it."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[list[Any], Session]] = {}
        self._places: dict[str, Place | None] = {}

    def of_file(self, path: str) -> tuple[Place, Session] | None:
        """Return the session whose folder contains a file."""
        folder = os.path.dirname(path)
        beside = self._places.get(folder)
        if beside is None:
            beside = self._places[folder] = place_of(path)
        if beside is None:
            return None
        place = beside._replace(file=_relative(path, beside.folder))
        return place, self.at(place.folder, place.name)

    def named(self, name: str, path: str) -> Session | None:
        """Return the session of a name, looked for in the `.agents-work` of a folder above a file."""
        if not name or "/" in name or name in (os.curdir, os.pardir):
            return None
        for above, is_project in project_folders(os.path.dirname(os.path.abspath(path))):
            folder = os.path.join(above, SESSIONS_FOLDER, name)
            if (is_project or is_own(folder)) and os.path.isdir(folder) and is_session_folder(folder):
                return self.at(folder, name)
        return None

    def at(self, folder: str, name: str) -> Session:
        status_file, tasks_file = os.path.join(folder, "status.json"), os.path.join(folder, "tasks.yaml")
        stamps = [_stamp(status_file), _stamp(tasks_file)]
        known = self._known.get(folder)
        if known is None or known[0] != stamps:
            files = list_files(folder)
            status = _status(status_file) if "status.json" in files else None
            tasks = _tasks(tasks_file) if "tasks.yaml" in files else None
            known = self._known[folder] = stamps, Session(folder, name, frozenset(files), status, tasks)
        return known[1]


def _stamp(path: str) -> tuple[int, int] | None:
    """Return what changes when a file does."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _relative(path: str, folder: str) -> str:
    prefix = f"{folder}/"
    posix = path.replace(os.sep, "/")
    return posix[len(prefix) :] if posix.startswith(prefix) else os.path.relpath(path, folder).replace(os.sep, "/")


def list_files(folder: str) -> list[str]:
    """Return the files below a folder, sorted. Links to folders are not followed."""
    files: list[str] = []
    for above, folders, names in walk(folder):
        folders.sort()
        inner = os.path.relpath(above, folder).replace(os.sep, "/")
        files += [name if inner == "." else f"{inner}/{name}" for name in names]
        if len(files) > MAX_FILES:
            break
    return sorted(files[:MAX_FILES])


def leads_out(path: str, folder: str) -> bool:
    """Return whether a file is a link to a place outside its session folder."""
    if not os.path.islink(path):
        return False
    inside = os.path.realpath(folder) + os.sep
    return not os.path.realpath(path).startswith(inside)


def read_artifact(path: str, limit: int = MAX_BYTES) -> bytes | None:
    """Return the bytes of a regular file that is not too large; None for anything else."""
    read = read_file(path, limit)
    return read.value if isinstance(read, Ok) else None


def project_type_beside(path: str) -> ProjectType | None:
    """Return the kind of project that the input which an output replies to names: the file beside it."""
    if not path.endswith(_OUTPUT):
        return None
    data = read_artifact(f"{path.removesuffix(_OUTPUT)}.input.json")
    document = None if data is None else read_json(data)
    value = members_of(document.value).get("project_type") if document is not None and document.readable else None
    return ProjectType(value) if is_member(value, ProjectType) else None


def _status(path: str) -> SessionStatus | None:
    data = read_artifact(path)
    document = None if data is None else read_json(data)
    if document is None or not document.readable or type(document.value) is not dict:
        return None
    return status_model(document.value)


def _tasks(path: str) -> Sequence[Task] | None:
    data = read_artifact(path, MAX_YAML_BYTES)
    return None if data is None else plan_tasks(data)


def plan_tasks(data: bytes) -> Sequence[Task] | None:
    """Return the tasks of a plan; None for text without a plan."""
    document = plan_document(data)
    if not document.readable or type(document.value) is not dict:
        return None
    return backlog_model(document.value).tasks


@lru_cache(maxsize=4)
def plan_document(data: bytes | str) -> YamlDocument:
    """Return a plan as it was read. Every file of a session asks for it, and YAML is slow to read."""
    return read_yaml(data, max_bytes=MAX_YAML_BYTES)
