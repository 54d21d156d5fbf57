"""TC301 to TC323: tasks.yaml: the fields of a task, the plan as a whole, its order and its progress."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.base.js import json_text
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Fix, Severity
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team import edits
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.model.documents import Task
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, PRACTICE, Backlog, Document, Report, TeamRule
from workrail_lint.systems.team.state_machine import STARTED, done_statuses
from workrail_lint.systems.team.vocabulary import (
    Mode,
    RiskFlag,
    Strategy,
    TaskStatus,
    TaskType,
    is_bare_command,
    is_check,
    is_member,
    is_text,
    items_of,
    words,
)
from workrail_lint.systems.team.wording import lacking, listed, no_check, shown, suggestion, type_name

CORE = ("id", "status", "goal", "acceptance_checks")
# The keywords by which the value of a field can be missing.
_FAULTS = ("required", "type", "pattern", "enum", "minItems")
_ADVISED = (
    *("depends_on", "done_when", "type", "title", "risk_flags", "non_goals", "files_expected", "context_files"),
)
_LISTS = ("acceptance_checks", "depends_on", "done_when", "risk_flags", "non_goals", "files_expected", "context_files")
_TEXT_LISTS = ("done_when", "non_goals", "files_expected", "context_files")
_LEGACY = {
    "deps": "use depends_on",
    "owner": "remove it, because a task belongs to the agent that is dispatched",
    "checks": "use acceptance_checks",
}
_TYPES = {"feature": TaskType.FEAT, "bugfix": TaskType.FIX}


def lacks(task: Task, name: str) -> bool:
    """Return whether a field is missing or blank; another rule reports a scalar in place of a list."""
    return is_lacking(name, task.raw.get(name))


def lacks_text(task: Task, name: str) -> bool:
    """Return whether a field that must say something is empty."""
    return name in ("done_when", "title") and lacks(task, name)


def task_at(backlog: Backlog, violation: Violation) -> Task:
    """Return the task that a violation is in."""
    return backlog.by_index[_index(violation)]


def _index(violation: Violation) -> int:
    return int(violation.pointer.split("/")[2])


def is_lacking(name: str, value: object) -> bool:
    """Return whether the value of a field is no value."""
    if name in ("goal", "title"):
        return not is_text(value)
    return value is None or value == [] or (type(value) is str and not is_text(value))


class TaskFieldMissing(TeamRule):
    code = "TC303"
    name = "task-field-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A task lacks `id`, `status`, `goal` or `acceptance_checks`."
    why = "Without these fields an agent knows neither what to do nor when it is done, and its progress is unknown."
    describes = (
        ("Task", "type", "tasks"),
        *((shape, keyword, name) for name in CORE for keyword in _FAULTS for shape in ("Task", "TaskStatus")),
    )

    def describe(self, violation: Violation, document: Backlog) -> Description | None:
        index, name, value = _index(violation), violation.member, violation.value
        if name == "tasks":
            return Description(f"task {index} must be a mapping with id, status, goal and acceptance_checks")
        label = task_at(document, violation).label
        if violation.keyword == "required":
            return Description(f"'{name}' is missing from {label}")
        if violation.pointer.count("/") > 3 or not is_lacking(name, value):
            return None
        return Description(lacking({name: value}, name, label))

    def examples(self) -> Iterator[Example]:
        yield Example("tasks:\n  - id: T-001\n", samples.tasks(), path=samples.TASKS)
        yield Example(samples.tasks(samples.task(goal=" ")), samples.tasks(), path=samples.TASKS)


class TaskPlanFieldMissing(TeamRule):
    code = "TC304"
    name = "task-plan-field-missing"
    severity = Severity.WARNING
    origin = PRACTICE
    summary = "A task of a full session lacks recommended fields."
    why = (
        "`depends_on` decides the order of work, reviewers check against `done_when`, and type and risk flags decide "
        "which reviews run."
    )
    fix = "Add an empty `depends_on`."
    fix_safety = "safe"

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        if backlog.mode is not Mode.FULL:
            return
        missing = [name for name in _ADVISED if task.raw.get(name) is None or lacks_text(task, name)]
        if "deps" in task and "depends_on" in missing:
            missing.remove("depends_on")
        if missing:
            fix = _no_dependencies(task, backlog) if "depends_on" in missing else None
            report(task.pointer, f"{task.label} has no {listed(missing, 'or')}", fix=fix)

    def examples(self) -> Iterator[Example]:
        yield Example(samples.tasks(samples.task(done_when=...)), samples.tasks(), path=samples.TASKS)
        yield Example(samples.tasks(samples.task(type=...)), samples.tasks(), path=samples.TASKS)
        bad = samples.tasks(samples.task(depends_on=...))
        goal = "    goal: Show a login form\n"
        fixed = bad.replace(goal, f"{goal}    depends_on: []\n")
        yield Example(bad, samples.tasks(), fixed, path=samples.TASKS)
        empty = samples.tasks().replace("depends_on: []", "depends_on:")
        yield Example(empty, samples.tasks(), samples.tasks(), path=samples.TASKS)


def _no_dependencies(task: Task, backlog: Backlog) -> Fix | None:
    title = "set depends_on to []"
    if "depends_on" in task:
        return edits.replace(title, backlog.reader, task.at("depends_on"), "[]")
    return edits.insert(
        title, backlog.reader, task.pointer, "depends_on", "[]", ("goal", "status", "title", "type", "id")
    )


class TaskIdFormat(TeamRule):
    code = "TC306"
    name = "task-id-format"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A task id is not `T-` and at least three digits."
    why = "Dispatches, retry counts and file names refer to tasks by ids of this form."
    describes = (("Task", "pattern", "id"), ("Task", "type", "id"))

    def describe(self, violation: Violation, document: Document) -> Description:
        return Description(f"{shown(violation.value)} is not a valid task id; use the form T-001")

    def examples(self) -> Iterator[Example]:
        yield Example(samples.tasks(samples.task("T1")), samples.tasks(samples.task("T-001")), path=samples.TASKS)


class TaskStatusUnknown(TeamRule):
    code = "TC308"
    name = "task-status-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The status of a task is not one of the five known values."
    why = "This value selects the next step; a task with an unknown status is never picked up, or never done."
    fix = "Correct the spelling, if only case or `_` differ."
    fix_safety = "safe"
    describes = (("TaskStatus", "enum"), ("TaskStatus", "type"))

    def describe(self, violation: Violation, document: Backlog) -> Description:
        status, meant = violation.value, task_at(document, violation).stage
        fix = None
        if is_member(meant, TaskStatus):
            fix = edits.respell(f"replace with {meant}", document.reader, violation.pointer, meant)
        return Description(f"unknown task status {shown(status)}{suggestion(status, words(TaskStatus))}", fix)

    def examples(self) -> Iterator[Example]:
        good = samples.tasks(samples.task(status="in-progress"))
        yield Example(
            samples.tasks(samples.task(status="in-progress")).replace("in-progress", "in_progress"),
            good,
            good,
            path=samples.TASKS,
        )
        yield Example(samples.tasks(samples.task(status="done")), good, path=samples.TASKS)


class TaskTypeUnknown(TeamRule):
    code = "TC309"
    name = "task-type-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The type of a task is not one of the six known values."
    why = "The type decides whether QA checks the task."
    fix = "Replace `feature` with `feat` and `bugfix` with `fix`."
    fix_safety = "safe"
    describes = (("TaskType", "enum"), ("TaskType", "type"))

    def describe(self, violation: Violation, document: Document) -> Description | None:
        kind = violation.value
        if kind is None:
            return None
        meant = _TYPES.get(kind.casefold()) if type(kind) is str else None
        fix = None
        if meant is not None:
            fix = edits.respell(f"replace with {meant.value}", document.reader, violation.pointer, meant.value)
        return Description(f"unknown task type {shown(kind)}{suggestion(kind, words(TaskType))}", fix)

    def examples(self) -> Iterator[Example]:
        good = samples.tasks(samples.task(type="feat"))
        yield Example(samples.tasks(samples.task(type="feature")), good, good, path=samples.TASKS)
        yield Example(samples.tasks(samples.task(type="story")), good, path=samples.TASKS)


class CheckPrefix(TeamRule):
    code = "TC310"
    name = "check-prefix"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An acceptance check starts with neither `cmd: ` nor `manual: `."
    why = "The prefix says whether a shell or a person runs the check; without it the check never runs."
    fix = "Add the prefix `cmd: `."
    fix_safety = "unsafe"
    describes = (("Task", "pattern", "acceptance_checks"), ("Task", "type", "acceptance_checks"))

    def describe(self, violation: Violation, document: Document) -> Description | None:
        entry = violation.value
        if violation.expected == ("array",) or is_check(entry) or is_mapped_check(entry):
            return None
        fix = None
        if is_bare_command(entry):
            fix = edits.respell("add the prefix cmd:", document.reader, violation.pointer, f"cmd: {entry}", unsafe=True)
        return Description(no_check(entry), fix)

    def examples(self) -> Iterator[Example]:
        good = samples.tasks(samples.task(acceptance_checks=["cmd: npm test"]))
        bad = good.replace('"cmd: npm test"', "npm test")
        yield Example(bad, good, good, path=samples.TASKS)
        yield Example(good.replace("npm test", ""), good, path=samples.TASKS)


def is_mapped_check(entry: object) -> bool:
    """A check that YAML parses as a mapping because it has no quotes."""
    return type(entry) is dict and len(entry) == 1 and next(iter(entry)) in ("cmd", "manual")


class CheckIsMapping(TeamRule):
    code = "TC311"
    name = "check-is-mapping"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An acceptance check without quotes was parsed as a mapping."
    why = "In YAML `cmd: x` is a mapping with the key `cmd`; agents that expect a string find an object."
    fix = "Quote the whole entry."
    fix_safety = "safe"
    describes = (("Task", "type", "acceptance_checks"),)

    def describe(self, violation: Violation, document: Document) -> Description | None:
        if violation.expected == ("array",) or not is_mapped_check(violation.value):
            return None
        ((name, value),) = violation.value.items()
        fix = None
        if is_text(value):
            text = json_text(f"{name}: {value}")
            fix = edits.replace_item("quote the entry", document.reader, violation.pointer, text)
        return Description(f"YAML parses this as a mapping with the key '{name}'; quote the whole entry", fix)

    def examples(self) -> Iterator[Example]:
        good = samples.tasks().replace('["cmd: npm test"]', '\n      - "cmd: npm test"')
        yield Example(good.replace('"cmd: npm test"', "cmd: npm test"), good, good, path=samples.TASKS)
        yield Example(good.replace('"cmd: npm test"', "manual: [look]"), good, path=samples.TASKS)


class RiskFlagUnknown(TeamRule):
    code = "TC316"
    name = "risk-flag-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A risk flag is not one of the four known values."
    why = "The flag `security` sends a task to Security; a misspelled flag does not."
    describes = (("RiskFlag", "enum"), ("RiskFlag", "type"))

    def describe(self, violation: Violation, document: Document) -> Description | None:
        flag = violation.value
        if document.kind is not TeamKind.TASKS:
            return None
        return Description(f"unknown risk flag {shown(flag)}{suggestion(flag, words(RiskFlag))}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.tasks(samples.task(risk_flags=["performance"])),
            samples.tasks(samples.task(risk_flags=["perf"])),
            path=samples.TASKS,
        )


class RiskNoneMixed(TeamRule):
    code = "TC317"
    name = "risk-none-mixed"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The flag `none` is combined with other flags."
    why = "A task either has risks or has none; one agent reads the first flag, another the second."
    fix = "Remove `none`."
    fix_safety = "safe"

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        flags = items_of(task.raw.get("risk_flags"))
        others = [flag for flag in flags if flag != RiskFlag.NONE]
        if others and len(others) < len(flags):
            fix = None
            if all(is_member(flag, RiskFlag) for flag in others):
                fix = edits.replace("remove none", backlog.reader, task.at("risk_flags"), edits.yaml_list(others))
            report(task.at("risk_flags"), f"risk_flags combines none with {listed(map(str, others))}", fix=fix)

    def examples(self) -> Iterator[Example]:
        good = samples.tasks(samples.task(risk_flags=["perf"]))
        yield Example(samples.tasks(samples.task(risk_flags=["none", "perf"])), good, good, path=samples.TASKS)
        block = good.replace(" [perf]", "\n    - none\n    - perf")
        yield Example(block, good, good, path=samples.TASKS)


class TaskLegacyKey(TeamRule):
    code = "TC318"
    name = "task-legacy-key"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A task uses a field of an older format: `deps`, `owner` or `checks`."
    why = "These fields are no longer read, so the dependencies or checks in them do not count."
    fix = "Rename `deps` to `depends_on`."
    fix_safety = "safe"

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        for name, remedy in _LEGACY.items():
            if name in task:
                fix = None
                if name == "deps" and "depends_on" not in task:
                    fix = edits.rename("rename it", backlog.reader, task.at(name), "depends_on")
                report(task.at(name), f"'{name}' is no longer read; {remedy}", fix=fix, on_name=True)

    def examples(self) -> Iterator[Example]:
        good = samples.tasks(samples.task("T-101"), samples.task("T-102", depends_on=["T-101"]))
        head, tail = good.split("T-102")
        yield Example(f"{head}T-102{tail.replace('depends_on', 'deps')}", good, good, path=samples.TASKS)
        yield Example(samples.tasks(samples.task(owner="Coder")), samples.tasks(), path=samples.TASKS)


class ListExpected(TeamRule):
    code = "TC321"
    name = "list-expected"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A field that must be a list of strings has another type."
    why = "An agent that iterates over the list iterates over the letters of a string instead."
    fix = "Wrap the single entry in a list."
    fix_safety = "safe"

    describes = tuple(("Task", "type", name) for name in _LISTS)

    def describe(self, violation: Violation, document: Backlog) -> Description | None:
        name, value, at = violation.member, violation.value, violation.pointer
        if violation.expected != ("array",):
            # Other rules check the entries of checks, flags and dependencies.
            message = f"'{name}' must contain non-blank strings, not {shown(value)}"
            return Description(message) if name in _TEXT_LISTS else None
        if value is None or (is_lacking(name, value) and name in (*CORE, "done_when")):
            return None
        text = f"[{json_text(value)}]" if is_text(value) else None
        fix = None if text is None else edits.replace("wrap it in a list", document.reader, at, text)
        return Description(f"'{name}' must be a list, not {type_name(value)}", fix)

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        for name in _TEXT_LISTS:
            for index, item in numbered(getattr(task, name)):
                if not is_text(item):
                    report(task.at(name, index), f"'{name}' must contain non-blank strings, not {shown(item)}")

    def examples(self) -> Iterator[Example]:
        good = samples.tasks(samples.task(done_when=["works"])).replace("[works]", '["works"]')
        yield Example(good.replace('["works"]', "works"), good, good, path=samples.TASKS)
        yield Example(good.replace('["works"]', "{a: b}"), good, path=samples.TASKS)


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
    describes = (("Task", "type", "depends_on"),)

    def describe(self, violation: Violation, document: Backlog) -> Description | None:
        if violation.expected == ("array",):
            return None
        return Description(_no_task(task_at(document, violation), violation.value))

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        for index, ident in numbered(task.depends_on):
            if ident not in backlog.by_id:
                report(task.at("depends_on", index), _no_task(task, ident))

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.tasks(samples.task(depends_on=["T-000"])), samples.tasks(samples.task()), path=samples.TASKS
        )


def _no_task(task: Task, ident: object) -> str:
    return f"{task.label} depends on {shown(ident)}, which is not a task of this file"


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
    after = {ident: [d for d in task.depends_on if d in backlog.by_id] for ident, task in backlog.by_id.items()}
    order = {ident: place for place, ident in enumerate(after)}
    done: set[str] = set()
    cycles: list[list[str]] = []
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
                    cycles.append([*cycle[first:], *cycle[:first]])
                elif target not in done:
                    stack.append((target, 0))
                continue
            done.add(ident)
            places.pop(ident)
            path.pop()
    return cycles


class StartedBeforeDependencies(TeamRule):
    code = "TC314"
    name = "started-before-dependencies"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A task was started before a task that it depends on was done."
    why = "It builds on work that is missing. With the strategy `single-final`, an implemented task counts as done."

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        if task.stage not in STARTED:
            return
        wanted = done_statuses(backlog.strategy if backlog.mode is Mode.FULL else None)
        for ident in task.depends_on:
            other = backlog.by_id.get(ident)
            if other is not None and other is not task and other.stage not in wanted:
                message = f"{task.label} is {task.stage}, but depends on {ident}, which is {shown(other.stage)}"
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
        unfinished = [task for task in backlog.tasks if task.stage not in _DONE]
        for task in backlog.tasks:
            if task.stage == TaskStatus.COMPLETED and unfinished:
                other = unfinished[0]
                report(task.at("status"), f"{task.label} is completed, but {other.label} is {shown(other.stage)}")

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
    origin = PRACTICE
    summary = "`project` is missing, is not a mapping, or lacks `name` or `definition_of_done`."
    why = "`project` is the only place for the definition of done that applies to all tasks."

    describes = (("TaskBacklog", "required", "project"), ("Project", "required"), ("Project", "type"))

    def describe(self, violation: Violation, document: Backlog) -> Description:
        if violation.shape == "TaskBacklog":
            return Description("'project' is missing; add it with name and definition_of_done")
        if violation.member == "project":
            kind = type_name(violation.value)
            return Description(f"'project' must be a mapping with name and definition_of_done, not {kind}")
        if violation.member == "name":
            return Description("'project' has no name", pointer="/project")
        if violation.keyword == "required" or violation.expected == ("array",):
            return Description("'project' has no definition_of_done list", pointer="/project")
        return Description("definition_of_done must be a list of strings")

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        project = backlog.model.project
        if project.has("name") and not is_text(project.name):
            report("/project", "'project' has no name")

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
        kinds = {task.type for task in backlog.tasks}
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
        if backlog.state in ("PLAN", "REVIEW_STRATEGY") and task.stage not in ("", TaskStatus.NOT_STARTED):
            report(task.at("status"), f"{task.label} is {task.stage}, but the session is still in {backlog.state}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.tasks(samples.task(status="in-progress")),
            samples.tasks(),
            path=samples.TASKS,
            files=samples.session({samples.TASKS: ..., samples.STATUS: samples.status("PLAN", samples.approved())}),
        )
