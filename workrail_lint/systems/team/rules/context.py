"""Inputs against the session they belong to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from workrail_lint.documents.operations import Insert, Replace
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.documents import is_artifact_name
from workrail_lint.systems.team.roles import ROLES
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import FIXED, Dispatch, ExchangeDocument, Report, TeamRule
from workrail_lint.systems.team.session import Session
from workrail_lint.systems.team.unit import Unit
from workrail_lint.systems.team.vocabulary import (
    PLACEHOLDERS,
    SESSIONS_FOLDER,
    AgentName,
    Mode,
    is_session_name,
    is_task_id,
    machine_reason,
    session_parts,
)
from workrail_lint.systems.team.wording import listed, shown

A = AgentName
# For these agents another rule covers design specs.
_DESIGN_READERS = (A.CODER, A.REVIEWER, A.QA)


def listed_artifacts(dispatch: Dispatch) -> set[str]:
    """Return the session artifacts that an input lists, by their paths below the session.

    A bare name counts, and so does one under another session; another rule reports both.
    """
    paths: set[str] = set()
    for _, path in dispatch.files:
        parts = session_parts(path)
        if parts is not None:
            paths.add(parts[1])
        elif is_artifact_name(path):
            paths.add(path.removeprefix("./"))
    return paths


class ContextFileRequired(TeamRule):
    code = "TC508"
    name = "context-file-required"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An input does not list a session artifact that its agent must read."
    why = "An agent reads only the files that its input lists; without the spec it works from guesses."
    fix = "Append the file if the session has it."
    fix_safety = "safe"
    example_path = samples.exchange("QA")

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        session = document.session
        if session is None or dispatch.agent is None or not dispatch.task.has("context_files"):
            return
        role = ROLES[dispatch.agent]
        wanted = [*role.context]
        for name in role.context_if_there:
            if name == "design-specs/" and dispatch.agent in _DESIGN_READERS:
                continue
            wanted += session.in_folder(name[:-1]) if name.endswith("/") else [name] * (name in session.files)
        have = listed_artifacts(dispatch)
        for file in wanted:
            # A lean session has no architecture to read.
            if file not in have and not (
                file == "architecture.md" and session.mode(document.options.mode) is Mode.LEAN
            ):
                fix = None
                if file in session.files:
                    fix = safe(
                        f"append {file}", Insert(dispatch.at("context_files"), None, None, session.path_of(file))
                    )
                report(
                    dispatch.at("context_files"),
                    f"{dispatch.agent.value} must read {file}, but context_files does not list it",
                    fix=fix,
                )

    def examples(self) -> Iterator[Example]:
        files = samples.session()
        good = samples.agent_input(samples.given(files=samples.context("spec.md", "tasks.yaml", "acceptance.json")))
        bad = samples.agent_input(samples.given(files=samples.context("spec.md", "tasks.yaml")))
        yield self.example(bad, good, good, files=files)
        lacking = samples.session({samples.ACCEPTANCE: ...})
        yield self.example(bad, good, files=lacking)


class ContextFilePlace(TeamRule):
    code = "TC509"
    name = "context-file-place"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A context file is named without its session folder, or is outside of it."
    why = "Agents open paths from the repository root, so the file is not found or belongs to older work."
    fix = "Prefix the path with the session folder, unless it names another session."
    fix_safety = "safe"
    example_path = samples.exchange("Coder")

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        self._context_file_unqualified(dispatch, document, report)
        self._context_file_foreign(dispatch, document, report)

    def _context_file_unqualified(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        name = document.session_name
        for index, path in dispatch.files:
            inner = _misplaced(path, name)
            if inner is None:
                continue
            at = dispatch.at("context_files", index)
            right = f"{SESSIONS_FOLDER}/{name or '<session>'}/{inner}"
            # A path into another session names a file of that one; whether ours is meant is for people to say.
            is_other = session_parts(path) is not None
            fix = safe(f"replace with {right}", Replace(at, right)) if is_session_name(name) and not is_other else None
            report(at, f"{shown(path)} is a session artifact; write it as {right}", fix=fix)

    def _context_file_foreign(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        if dispatch.agent in (None, A.CODER):
            return
        for index, path in dispatch.files:
            is_ours = session_parts(path) is not None or _misplaced(path, None) is not None or PLACEHOLDERS[0] in path
            if not is_ours:
                who = dispatch.agent.value if dispatch.agent else ""
                report(
                    dispatch.at("context_files", index),
                    f"{who} receives {shown(path)}, which is not a session artifact; only the Coder reads other files",
                    severity=Severity.WARNING,
                )

    def examples(self) -> Iterator[Example]:
        good = samples.agent_input()
        bad = samples.agent_input(samples.given(files=["spec.md", *samples.context("tasks.yaml")]))
        yield self.example(bad, good, good)
        other = [".agents-work/2025-12-01_old-work/spec.md", *samples.context("tasks.yaml")]
        yield self.example(samples.agent_input(samples.given(files=other)), good)
        changed = [{"path": "src/a.py", "change_type": "added"}]
        bad = samples.given(
            files=[*samples.context("spec.md", "tasks.yaml"), "src/a.py"], session_changed_files=changed
        )
        yield Example(
            samples.agent_input(bad),
            samples.agent_input(samples.given(session_changed_files=changed)),
            path=samples.exchange("Reviewer"),
        )


def _misplaced(path: str, session: str | None) -> str | None:
    """Return the path in the session folder of an artifact that is named without its session, or with another."""
    if machine_reason(path) is not None or PLACEHOLDERS[0] in path:
        return None
    parts = session_parts(path)
    if parts is not None:
        return parts[1] if session is not None and parts[0] != session else None
    inner = path.removeprefix("./").removeprefix(f"{SESSIONS_FOLDER}/")
    return inner if is_artifact_name(inner) else None


class ContextFileAbsent(TeamRule):
    code = "TC511"
    name = "context-file-absent"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A context file of an input or a task does not exist."
    why = "An agent that can't read a listed file must stop and report it, so the dispatch is wasted."

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        session = document.session
        for index, path in dispatch.files if session is not None else ():
            parts = session_parts(path)
            if parts is not None and session is not None and not _exists(parts, session):
                report(
                    dispatch.at("context_files", index),
                    f"{shown(path)} does not exist; create it or remove it from the list",
                )

    def check_session(self, unit: Unit, report: Report) -> None:
        for task in unit.tasks or ():
            for pointer, path in task.context_files:
                parts = session_parts(path)
                if parts is not None and parts[0] == unit.name and parts[1] not in unit.files:
                    label = task.id or "a task"
                    report(pointer, f"{label} lists {shown(path)}, which does not exist", path=unit.path("tasks.yaml"))

    def examples(self) -> Iterator[Example]:
        planning = samples.status("PLAN", samples.approved())
        files = samples.session({samples.TASKS: ..., samples.STATUS: planning})
        wanted = samples.context("spec.md", "acceptance.json", "architecture.md")
        yield Example(
            samples.agent_input(samples.given("meta", [*wanted, *samples.context("tasks.yaml")])),
            samples.agent_input(samples.given("meta", wanted)),
            path=samples.exchange("Planner", "meta"),
            files=files,
        )
        yield Example(
            samples.tasks(samples.task(context_files=samples.context("adr/ADR-009.md"))),
            samples.tasks(),
            path=samples.TASKS,
            files=samples.session({samples.TASKS: ...}),
        )


def _exists(parts: tuple[str, str], session: Session) -> bool:
    """Return whether an artifact is there: of the session itself, or of another one beside it."""
    name, inner = parts
    if name == session.name:
        return inner in session.files
    return os.path.isfile(os.path.join(os.path.dirname(os.path.abspath(session.folder)), name, inner))


class InputTaskUnknown(TeamRule):
    code = "TC512"
    name = "input-task-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The task of an input is not in `tasks.yaml`."
    why = "The task was never planned, so no agent can set its status and no review covers it."
    example_path = samples.exchange("Coder")

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        known = None if document.session is None else document.session.task_ids
        ident = dispatch.task.id
        if known is not None and is_task_id(ident) and ident not in known:
            report(
                dispatch.at("id"), f"task {ident} is not in tasks.yaml, which has {listed(sorted(known)) or 'no tasks'}"
            )

    def examples(self) -> Iterator[Example]:
        yield self.example(
            samples.agent_input(samples.given("T-042", samples.context("spec.md", "tasks.yaml", "architecture.md"))),
            samples.agent_input(samples.given("T-001", samples.context("spec.md", "tasks.yaml", "architecture.md"))),
            files=samples.session(),
        )


class DesignSpecUnused(TeamRule):
    code = "TC716"
    name = "design-spec-unused"
    severity = Severity.WARNING
    origin = FIXED
    summary = "No task lists a design spec, or a Coder, Reviewer or QA does not receive the spec of its task."
    why = "Only agents that read a design spec can build, review and test what it describes."

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        session = document.session
        if session is None or dispatch.agent not in _DESIGN_READERS:
            return
        specs = session.in_folder("design-specs")
        if not specs:
            return
        have = listed_artifacts(dispatch)
        own = [spec for spec in specs if session.path_of(spec) in _planned_context(session, dispatch.task.id)]
        missing = [spec for spec in own if spec not in have] if own else ([] if have & set(specs) else specs)
        for spec in missing:
            who = dispatch.agent.value if dispatch.agent else ""
            report(
                dispatch.at("context_files"),
                f"{who} does not receive {spec}; add it to context_files",
                severity=Severity.ERROR,
            )

    def check_session(self, unit: Unit, report: Report) -> None:
        if unit.tasks is None:
            return
        planned = {path for task in unit.tasks for _, path in task.context_files}
        for spec in unit.session.in_folder("design-specs"):
            if unit.session.path_of(spec) not in planned:
                report("/tasks", f"no task lists {spec} in its context_files", path=unit.path("tasks.yaml"))

    def examples(self) -> Iterator[Example]:
        spec = "design-specs/design-spec-form.md"
        form = {f"{samples.FOLDER}/{spec}": samples.document("Layout", title="Form")}
        planned = samples.tasks(samples.task(context_files=samples.context("spec.md", spec)))
        wanted = samples.context("spec.md", "tasks.yaml", "architecture.md")
        yield Example(
            samples.agent_input(samples.given(files=wanted)),
            samples.agent_input(samples.given(files=[*wanted, *samples.context(spec)])),
            path=samples.exchange("Coder"),
            files=samples.session({samples.TASKS: planned, **form}),
        )
        yield Example(samples.tasks(), planned, path=samples.TASKS, files=samples.session({samples.TASKS: ..., **form}))


def _planned_context(session: Session, ident: str) -> Sequence[str]:
    return next((task.context_files for task in session.tasks or () if task.has("id") and task.id == ident), ())
