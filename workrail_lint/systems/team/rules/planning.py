"""TC301 to TC323: tasks.yaml as a plan, its order and its progress."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Backlog, Document, Report, Task, TeamRule
from workrail_lint.systems.team.rules.tasks import CORE, lacks
from workrail_lint.systems.team.state_machine import STARTED, done_statuses
from workrail_lint.systems.team.vocabulary import Mode, Strategy, TaskStatus, is_text, items_of, strings_of
from workrail_lint.systems.team.wording import shown, type_name

_DONE = (TaskStatus.IMPLEMENTED.value, TaskStatus.COMPLETED.value)


class TasksEmpty(TeamRule):
    code = "TC301"
    name = "tasks-empty"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`tasks.yaml` has no `tasks` list, or the list is empty."
    why = "There is nothing to implement, so the session would continue straight to its release."
    describes = tuple(("TaskBacklog", keyword, "tasks") for keyword in ("required", "type", "minItems"))

    def describe(self, violation: Violation, document: Document) -> Description:
        is_empty = violation.keyword == "minItems"
        return Description("the list 'tasks' is empty" if is_empty else "'tasks' must be a list of tasks")

    def examples(self) -> Iterator[Example]:
        yield Example(
            "project: {name: Login, definition_of_done: []}\ntasks: []\n", samples.tasks(), path=samples.TASKS
        )


class NoCompleteTask(TeamRule):
    code = "TC302"
    name = "no-complete-task"
    severity = Severity.ERROR
    origin = FIXED
    summary = "No task has all of `id`, `status`, `goal` and `acceptance_checks`."
    why = "A plan counts only if at least one of its tasks can be worked on."

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        count = len(items_of(backlog.value.get("tasks")))
        if count and not any(not any(lacks(task, name) for name in CORE) for task in backlog.tasks):
            report(
                "/tasks",
                f"none of the {count} task{'s' * (count > 1)} has all of id, status, goal and acceptance_checks",
            )

    def examples(self) -> Iterator[Example]:
        bad = samples.tasks(samples.task(goal=...), samples.task("T-002", goal=...))
        yield Example(bad, samples.tasks(samples.task(), samples.task("T-002", goal=...)), path=samples.TASKS)


class TaskIdDuplicate(TeamRule):
    code = "TC307"
    name = "task-id-duplicate"
    severity = Severity.ERROR
    origin = FIXED
    summary = "Two tasks have the same id."
    why = "A dispatch, dependency or retry count can't say which of the two tasks it means."

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        first = backlog.by_id.get(task.id)
        if first is not None and first is not task:
            where = backlog.reader.locate(first.at("id"))
            at = f" at {where.start.line}:{where.start.column}" if where else ""
            report(task.at("id"), f"duplicate task id {task.id}; task {first.index}{at} already uses it")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.tasks(samples.task("T-002"), samples.task("T-002")),
            samples.tasks(samples.task("T-001"), samples.task("T-002")),
            path=samples.TASKS,
        )


class DependencyUnknown(TeamRule):
    code = "TC312"
    name = "dependency-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A task depends on a task that does not exist."
    why = "The dependency is never done, so the task waits forever."

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        for index, ident in enumerate(items_of(task.value.get("depends_on"))):
            if type(ident) is not str or ident not in backlog.by_id:
                message = f"{task.label} depends on {shown(ident)}, which is not a task of this file"
                report(task.at("depends_on", index), message)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.tasks(samples.task(depends_on=["T-000"])), samples.tasks(samples.task()), path=samples.TASKS
        )


class DependencyCycle(TeamRule):
    code = "TC313"
    name = "dependency-cycle"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Tasks depend on each other in a cycle."
    why = "None of them can ever start."

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        for cycle in _cycles(backlog):
            first = backlog.by_id[cycle[0]]
            report(first.at("depends_on"), f"circular dependency: {', '.join([*cycle, cycle[0]])}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.tasks(samples.task(depends_on=["T-001"])), samples.tasks(samples.task()), path=samples.TASKS
        )
        yield Example(
            samples.tasks(samples.task(depends_on=["T-002"]), samples.task("T-002", depends_on=["T-001"])),
            samples.tasks(samples.task(), samples.task("T-002", depends_on=["T-001"])),
            path=samples.TASKS,
        )


def _cycles(backlog: Backlog) -> list[list[str]]:
    """One path around each cycle, from its first task in file order. Every task is visited once."""
    after = {
        ident: [d for d in strings_of(task.value.get("depends_on")) if d in backlog.by_id]
        for ident, task in backlog.by_id.items()
    }
    order = {ident: place for place, ident in enumerate(after)}
    done: set[str] = set()
    found: list[list[str]] = []
    for start in after:
        if start in done:
            continue
        path: list[str] = []
        places: dict[str, int] = {}
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            ident, tried = stack.pop()
            if not tried:
                places[ident] = len(path)
                path.append(ident)
            if tried < len(after[ident]):
                stack.append((ident, tried + 1))
                target = after[ident][tried]
                if target in places:
                    cycle = path[places[target] :]
                    first = min(range(len(cycle)), key=lambda at: order[cycle[at]])
                    found.append([*cycle[first:], *cycle[:first]])
                elif target not in done:
                    stack.append((target, 0))
                continue
            done.add(ident)
            places.pop(ident)
            path.pop()
    return found


class StartedBeforeDependencies(TeamRule):
    code = "TC314"
    name = "started-before-dependencies"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A task was started before a task that it depends on was done."
    why = "It builds on work that is missing. With the strategy `single-final`, an implemented task counts as done."

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        if task.status not in STARTED:
            return
        wanted = done_statuses(backlog.strategy if backlog.mode is Mode.FULL else None)
        for ident in strings_of(task.value.get("depends_on")):
            other = backlog.by_id.get(ident)
            if other is not None and other is not task and other.status not in wanted:
                message = f"{task.label} is {task.status}, but depends on {ident}, which is {shown(other.status)}"
                report(task.at("status"), message)

    def examples(self) -> Iterator[Example]:
        second = samples.task("T-002", status="implemented", depends_on=["T-001"])
        yield Example(
            samples.tasks(samples.task(), second),
            samples.tasks(samples.task(status="completed"), second),
            path=samples.TASKS,
        )


class CompletedEarly(TeamRule):
    code = "TC315"
    name = "completed-early"
    severity = Severity.ERROR
    origin = FIXED
    summary = "With the strategy `single-final`, a task is completed before all tasks are implemented."
    why = "Tasks are completed together after one review of all of them; this task was never reviewed."

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        if backlog.strategy is not Strategy.SINGLE_FINAL or backlog.mode is not Mode.FULL:
            return
        unfinished = [task for task in backlog.tasks if task.status not in _DONE]
        for task in backlog.tasks:
            if task.status == TaskStatus.COMPLETED and unfinished:
                other = unfinished[0]
                report(task.at("status"), f"{task.label} is completed, but {other.label} is {shown(other.status)}")

    def examples(self) -> Iterator[Example]:
        status = samples.status("IMPLEMENT_LOOP", samples.approved(), samples.strategy("single-final"))
        first, second = samples.task(status="completed"), samples.task("T-002", status="in-progress")
        yield Example(
            samples.tasks(first, second),
            samples.tasks(samples.task(status="implemented"), second),
            path=samples.TASKS,
            files=samples.session({samples.TASKS: ..., samples.STATUS: status}),
        )


class LeanTaskCount(TeamRule):
    code = "TC319"
    name = "lean-task-count"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A lean session does not have exactly one task."
    why = "A change that needs a second task is not small; it belongs on the full path, with a design."

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        count = len(items_of(backlog.value.get("tasks")))
        if backlog.mode is Mode.LEAN and count != 1:
            report(
                "/tasks" if "tasks" in backlog.value else "", f"a lean session must have exactly one task, not {count}"
            )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.tasks(samples.task(), samples.task("T-002")),
            samples.tasks(),
            path=samples.TASKS,
            files=samples.lean_session({samples.TASKS: ...}),
        )


class ProjectShape(TeamRule):
    code = "TC320"
    name = "project-shape"
    severity = Severity.WARNING
    origin = FIXED
    summary = "`project` is missing, is not a mapping, or lacks `name` or `definition_of_done`."
    why = "`project` is the only place for the definition of done that applies to all tasks."

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        project = backlog.value.get("project")
        if "project" not in backlog.value:
            report("", "'project' is missing; add it with name and definition_of_done")
        elif type(project) is not dict:
            report(
                "/project", f"'project' must be a mapping with name and definition_of_done, not {type_name(project)}"
            )
        else:
            if not is_text(project.get("name")):
                report("/project", "'project' has no name")
            done = project.get("definition_of_done")
            if type(done) is not list:
                report("/project", "'project' has no definition_of_done list")
            elif not all(type(item) is str for item in done):
                report("/project/definition_of_done", "definition_of_done must be a list of strings")

    def examples(self) -> Iterator[Example]:
        yield Example(samples.tasks(project="Demo"), samples.tasks(), path=samples.TASKS)


class NoTestOrDocsTask(TeamRule):
    code = "TC322"
    name = "no-test-or-docs-task"
    severity = Severity.INFO
    origin = FIXED
    summary = "A full plan of three or more tasks has no task for tests or documentation."
    why = "Work that is not planned is done at the end, or not at all."

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        kinds = {task.value.get("type") for task in backlog.tasks if type(task.value.get("type")) is str}
        if backlog.mode is Mode.FULL and len(backlog.tasks) >= 3 and kinds.isdisjoint(("test", "docs")):
            report("/tasks", f"none of the {len(backlog.tasks)} tasks has the type test or docs")

    def examples(self) -> Iterator[Example]:
        items = [samples.task(f"T-00{number}") for number in (1, 2, 3)]
        yield Example(
            samples.tasks(*items), samples.tasks(*items[:2], samples.task("T-003", type="test")), path=samples.TASKS
        )


class NotInitialStatus(TeamRule):
    code = "TC323"
    name = "not-initial-status"
    severity = Severity.WARNING
    origin = FIXED
    summary = "A task is past `not-started` while the session is still planning."
    why = "Work starts after the review strategy is chosen; a task that starts earlier is not reviewed as agreed."

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        if backlog.state in ("PLAN", "REVIEW_STRATEGY") and task.status not in ("", TaskStatus.NOT_STARTED):
            report(task.at("status"), f"{task.label} is {task.status}, but the session is still in {backlog.state}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.tasks(samples.task(status="in-progress")),
            samples.tasks(),
            path=samples.TASKS,
            files=samples.session({samples.TASKS: ..., samples.STATUS: samples.status("PLAN", samples.approved())}),
        )
