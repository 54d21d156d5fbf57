"""TC303 to TC321: the fields of a task in tasks.yaml."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.base.js import json_text
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Fix, Severity
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team import edits
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Backlog, Document, Report, Task, TeamRule
from workrail_lint.systems.team.vocabulary import (
    Mode,
    RiskFlag,
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
_PLANNED = ("depends_on", "done_when")
_ADVISED = ("type", "title", "risk_flags", "non_goals", "files_expected", "context_files")
_LISTS = ("acceptance_checks", "depends_on", "done_when", "risk_flags", "non_goals", "files_expected", "context_files")
_TEXT_LISTS = ("done_when", "non_goals", "files_expected", "context_files")
_LEGACY = {
    "deps": "use depends_on",
    "owner": "remove it, because a task belongs to the agent that is dispatched",
    "checks": "use acceptance_checks",
}
_TYPES = {"feature": TaskType.FEAT, "bugfix": TaskType.FIX}


def lacks(task: Task, name: str) -> bool:
    """Whether a field is missing or blank; another rule reports a scalar in place of a list."""
    return is_lacking(name, task.value.get(name))


def task_at(document: Document, violation: Violation) -> Task:
    """Return the task that a violation is in."""
    index = _index(violation)
    return Task(document.value["tasks"][index], index)


def _index(violation: Violation) -> int:
    return int(violation.pointer.split("/")[2])


def is_lacking(name: str, value: object) -> bool:
    """Whether the value of a field is no value."""
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

    def describe(self, violation: Violation, document: Document) -> Description | None:
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
    severity = Severity.ERROR
    origin = FIXED
    summary = "A task of a full session lacks `depends_on` or `done_when`."
    why = "`depends_on` decides the order of work, and reviewers check against `done_when`."
    fix = "Add an empty `depends_on`."
    fix_safety = "safe"

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        if backlog.mode is not Mode.FULL:
            return
        if task.value.get("depends_on") is None and "deps" not in task.value:
            report(
                task.pointer,
                f"'depends_on' is missing from {task.label}; write [] if it depends on nothing",
                fix=_no_dependencies(task, backlog),
            )
        if lacks(task, "done_when"):
            report(task.pointer, f"'done_when' is missing from {task.label}")

    def examples(self) -> Iterator[Example]:
        yield Example(samples.tasks(samples.task(done_when=...)), samples.tasks(), path=samples.TASKS)
        bad = samples.tasks(samples.task(depends_on=...))
        goal = "    goal: Show a login form\n"
        fixed = bad.replace(goal, f"{goal}    depends_on: []\n")
        yield Example(bad, samples.tasks(), fixed, path=samples.TASKS)
        empty = samples.tasks().replace("depends_on: []", "depends_on:")
        yield Example(empty, samples.tasks(), samples.tasks(), path=samples.TASKS)


def _no_dependencies(task: Task, backlog: Backlog) -> Fix | None:
    title = "set depends_on to []"
    if "depends_on" in task.value:
        return edits.replace(title, backlog.reader, task.at("depends_on"), "[]")
    return edits.insert(
        title, backlog.reader, task.pointer, "depends_on", "[]", ("goal", "status", "title", "type", "id")
    )


class TaskAdvisedFieldMissing(TeamRule):
    code = "TC305"
    name = "task-advised-field-missing"
    severity = Severity.WARNING
    origin = FIXED
    summary = "A task of a full session lacks recommended fields."
    why = "Type and risk flags decide which reviews run; the other fields say what to read and what to leave alone."

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        missing = [n for n in _ADVISED if task.value.get(n) is None or (n == "title" and lacks(task, n))]
        if missing and backlog.mode is Mode.FULL:
            report(task.pointer, f"{task.label} has no {listed(missing, 'or')}")

    def examples(self) -> Iterator[Example]:
        yield Example(samples.tasks(samples.task(type=...)), samples.tasks(), path=samples.TASKS)


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

    def describe(self, violation: Violation, document: Document) -> Description:
        status, meant = violation.value, task_at(document, violation).status
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
        flags = items_of(task.value.get("risk_flags"))
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
            if name in task.value:
                fix = None
                if name == "deps" and "depends_on" not in task.value:
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

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        for name in _LISTS:
            value = task.value.get(name)
            for index, item in enumerate(items_of(value)):
                # Other rules check the entries of checks, flags and dependencies.
                if name in _TEXT_LISTS and not is_text(item):
                    report(task.at(name, index), f"'{name}' must contain non-blank strings, not {shown(item)}")
            if value is None or type(value) is list or (lacks(task, name) and name in (*CORE, "done_when")):
                continue
            fix = None
            if is_text(value):
                text = f"[{json_text(value)}]"
                fix = edits.replace("wrap it in a list", backlog.reader, task.at(name), text)
            report(task.at(name), f"'{name}' must be a list, not {type_name(value)}", fix=fix)

    def examples(self) -> Iterator[Example]:
        good = samples.tasks(samples.task(done_when=["works"])).replace("[works]", '["works"]')
        yield Example(good.replace('["works"]', "works"), good, good, path=samples.TASKS)
        yield Example(good.replace('["works"]', "{a: b}"), good, path=samples.TASKS)
