"""The temporary repository of a run: real files, real read-backs, and writes that can be made to fail.

Two ways lead to the disk. `write` and `append` are the writes that a trace shows; faults strike there. `put` is for
what other events stand for. Both are confined to the repository, whatever the path says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_workrail.records import Record
from pytest_workrail.scenarios.clock import SimulatedClock
from workrail_lint.base.files import make_folders, read_bytes, remove_file, write_atomically, write_in_place
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import read_json
from workrail_lint.systems.team.scenario_words import WriteFault
from workrail_lint.systems.team.session import list_files, plan_document, plan_tasks
from workrail_lint.systems.team.vocabulary import SESSIONS_FOLDER, TaskStatus, items_of, machine_reason

REPO = "repo:"
STATUS = "status.json"
TASKS = "tasks.yaml"
HISTORY = "approve-design-history.jsonl"


class FailingWrite(Record):
    """The nth write of a file that a trace shows goes wrong; the first is 1."""

    file: str
    nth: int
    kind: WriteFault


class Store:
    """The files of one run."""

    def __init__(self, root: Path, session: str, clock: SimulatedClock, faults: Sequence[FailingWrite] = ()) -> None:
        self.root = root.resolve()
        self.session = session
        self.folder = self.root / SESSIONS_FOLDER / session
        self._clock = clock
        self._faults = {(fault.file, fault.nth): fault for fault in faults}
        self._writes: dict[str, int] = {}
        make_folders(os.fspath(self.folder), os.fspath(self.root))

    @property
    def unused_faults(self) -> list[FailingWrite]:
        return list(self._faults.values())

    # ------------------------------------------------------------------------------------------------- paths

    def refusal(self, file: str) -> str | None:
        """Why no agent may touch a file; None if one may. A file of the session has no prefix."""
        path = self.repo_path(file)
        reason = machine_reason(file.removeprefix(REPO)) or machine_reason(path)
        if reason is not None:
            return reason
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if not parts or "\0" in path:
            return "is not a file"
        if parts[0] == SESSIONS_FOLDER and (len(parts) < 3 or parts[1] != self.session):
            return "belongs to another session"
        target = self.root.joinpath(*parts)
        try:
            is_inside = target.parent.resolve().is_relative_to(self.root) and not target.is_symlink()
        except OSError:
            return "can't be a file"
        return None if is_inside else "is a link out of the repository"

    def repo_path(self, file: str) -> str:
        """A file as it is named from the root of the repository."""
        return file.removeprefix(REPO) if file.startswith(REPO) else f"{SESSIONS_FOLDER}/{self.session}/{file}"

    def path(self, file: str) -> Path:
        return self.root / self.repo_path(file)

    # ----------------------------------------------------------------------------------------------- reading

    def read(self, file: str) -> bytes | None:
        try:
            return read_bytes(os.fspath(self.path(file)))
        except OSError:
            return None

    def exists(self, file: str) -> bool:
        return self.path(file).is_file()

    def files(self) -> list[str]:
        """The files of the session, sorted."""
        return list_files(os.fspath(self.folder))

    def below(self, folder: str) -> list[str]:
        """The Markdown files of a side folder, by their paths below the session."""
        return [file for file in self.files() if file.startswith(folder) and file.endswith(".md")]

    def status(self) -> dict[str, Any] | None:
        """status.json as it stands on disk; None when it can't be read."""
        data = self.read(STATUS)
        document = None if data is None else read_json(data)
        return document.value if document is not None and document.readable and type(document.value) is dict else None

    def tasks(self) -> list[dict[str, Any]]:
        """The tasks of the plan as they stand on disk; one without a name can't be worked on."""
        data = self.read(TASKS)
        found = (None if data is None else plan_tasks(data)) or []
        return [task for task in found if type(task.get("id")) is str]

    def age(self, file: str) -> float:
        """When a file was last written, in the time of the run."""
        return self.path(file).stat().st_mtime

    # ----------------------------------------------------------------------------------------------- writing

    def put(self, file: str, data: bytes, at: float | None = None) -> None:
        """Write a file as a whole, by another name first, so that it is there as it was or as it shall be."""
        reason = self.refusal(file)
        if reason is not None:
            raise ValueError(f"{file} {reason}")
        self._replace(self.path(file), data, at)

    def seed(self, path: str, data: bytes) -> None:
        """Put a file into the repository before the run; older sessions belong to what is there."""
        if machine_reason(path) is not None:
            raise ValueError(f"{path} {machine_reason(path)}")
        self._replace(self.root / path, data, None)

    def _replace(self, path: Path, data: bytes, at: float | None) -> None:
        # The repository of a simulated session does not outlive the run.
        write_atomically(os.fspath(path), data, below=os.fspath(self.root), durable=False)
        self._date(path, at)

    def remove(self, file: str) -> None:
        remove_file(os.fspath(self.path(file)))

    def write(self, file: str, data: bytes) -> Ok[None] | Err[str]:
        """A write that the trace shows. Ok says that no error came back, and no more."""
        fault = self._fault(file)
        if fault is WriteFault.IO_ERROR:
            return Err("the disk refused")
        try:
            if fault is None:
                self.put(file, data)
            elif fault is WriteFault.CORRUPT:
                write_in_place(os.fspath(self.path(file)), data[: len(data) // 2])
        except OSError as problem:
            return Err(problem.strerror or "the disk refused")
        return Ok(None)

    def append(self, file: str, kept: bytes, line: bytes) -> Ok[None] | Err[str]:
        """The same for a line behind what was there; what an earlier try left behind it is dropped."""
        fault = self._fault(file)
        if fault is WriteFault.IO_ERROR:
            return Err("the disk refused")
        if fault is WriteFault.LOST:
            return Ok(None)
        try:
            added = line[: len(line) // 2] if fault is WriteFault.CORRUPT else line
            write_in_place(os.fspath(self.path(file)), added, keep=len(kept))
            self._date(self.path(file))
        except OSError as problem:
            return Err(problem.strerror or "the disk refused")
        return Ok(None)

    def _fault(self, file: str) -> WriteFault | None:
        self._writes[file] = self._writes.get(file, 0) + 1
        fault = self._faults.pop((file, self._writes[file]), None)
        return None if fault is None else fault.kind

    def _date(self, path: Path, at: float | None = None) -> None:
        moment = self._clock.now.timestamp() if at is None else at
        os.utime(path, (moment, moment))

    def save_status(self, status: dict[str, Any]) -> None:
        """Store status.json where another event stands for the write."""
        self.put(STATUS, json_bytes(status))

    def set_task(self, ident: str, status: TaskStatus) -> None:
        """Change the status of one task and nothing else in the text of the plan."""
        data = self.read(TASKS)
        changed = None if data is None else with_task_status(data, ident, status)
        if changed is not None:
            self.put(TASKS, changed)


def with_task_status(data: bytes, ident: str, status: TaskStatus) -> bytes | None:
    """The text of a plan with another status of a task; None when there is no such task."""
    document = plan_document(data)
    value = document.value
    tasks = items_of(value.get("tasks")) if type(value) is dict else []
    for index, task in enumerate(tasks):
        node = document.node(f"/tasks/{index}/status")
        if type(task) is dict and task.get("id") == ident and node is not None:
            text = document.text
            return f"{text[: node.start]}{status.value}{text[node.end :]}".encode("utf-8", "surrogatepass")
    return None


def json_bytes(value: Any) -> bytes:
    """A JSON document as it stands on disk."""
    try:
        return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # half a surrogate pair can only stand there escaped
        return (json.dumps(value, indent=2) + "\n").encode()


def text_bytes(content: Any) -> bytes:
    """What a scenario gives as the content of a file: a text as it is, anything else as JSON."""
    return content.encode("utf-8", "surrogatepass") if type(content) is str else json_bytes(content)
