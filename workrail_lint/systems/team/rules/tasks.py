"""`tasks.yaml` (the fields of a task, the plan as a whole, its order and its progress) and `acceptance.json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base.closed_sets import is_member
from workrail_lint.base.js import items_of, json_text
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.operations import Insert, Operation, Remove, Rename, Replace
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team import edits
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.model.documents import Decision, Task
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import (
    DECIDED,
    FIXED,
    PRACTICE,
    AcceptanceDocument,
    Backlog,
    Document,
    Report,
    StatusDocument,
    TeamRule,
)
from workrail_lint.systems.team.rules.shapes import ShapeRule
from workrail_lint.systems.team.sections import Sections
from workrail_lint.systems.team.state_machine import STARTED, done_statuses
from workrail_lint.systems.team.vocabulary import Mode, RiskFlag, Strategy, TaskStatus, is_bare_command, is_text
from workrail_lint.systems.team.wording import listed, no_check, shown, type_name

CORE = ("id", "status", "goal", "acceptance_checks")
_ADVISED = (
    *("depends_on", "done_when", "type", "title", "risk_flags", "non_goals", "files_expected", "context_files"),
)
_TEXT_LISTS = ("done_when", "non_goals", "files_expected", "context_files")
_LEGACY = {
    "deps": "use depends_on",
    "owner": "remove it, because a task belongs to the agent that is dispatched",
    "checks": "use acceptance_checks",
}
_LEGACY_VERIFY = ("verification", "commands", "expected_result")


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


class PlanInvalid(ShapeRule):
    code = "TC303"
    name = "plan-invalid"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A field of `tasks.yaml` is missing, unknown, blank, or of another type or form."
    why = "Without these fields an agent knows neither what to do nor when it is done, and its progress is unknown."
    fix = "Correct a spelling, wrap a single entry in a list."
    fix_safety = "safe"
    kind = TeamKind.TASKS
    example_path = samples.TASKS

    def describe(self, violation: Violation, document: Document) -> Description | None:
        is_advised = violation.member in _ADVISED and is_lacking(violation.member, violation.value)
        return None if is_advised else super().describe(violation, document)

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        for name in _TEXT_LISTS:
            for index, item in numbered(getattr(task, name)):
                if not is_text(item):
                    report(task.at(name, index), f"'{name}' must contain non-blank strings, not {shown(item)}")

    def examples(self) -> Iterator[Example]:
        yield self.example("tasks:\n  - id: T-001\n", samples.tasks())
        yield self.example(samples.tasks(samples.task(goal=" ")), samples.tasks())
        yield self.example("project: {name: Login, definition_of_done: []}\ntasks: []\n", samples.tasks())
        yield self.example(samples.tasks(samples.task("T1")), samples.tasks(samples.task("T-001")))
        good = samples.tasks(samples.task(status="in-progress"))
        yield self.example(
            samples.tasks(samples.task(status="in-progress")).replace("in-progress", "in_progress"), good, good
        )
        yield self.example(samples.tasks(samples.task(status="done")), good)
        good = samples.tasks(samples.task(type="feat"))
        yield self.example(samples.tasks(samples.task(type="feature")), good, good)
        yield self.example(samples.tasks(samples.task(type="story")), good)
        yield self.example(
            samples.tasks(samples.task(risk_flags=["performance"])), samples.tasks(samples.task(risk_flags=["perf"]))
        )
        good = samples.tasks(samples.task(done_when=["works"])).replace("[works]", '["works"]')
        yield self.example(good.replace('["works"]', "works"), good, good)
        yield self.example(good.replace('["works"]', "{a: b}"), good)


class PlanFieldAdvised(TeamRule):
    code = "TC304"
    name = "plan-field-advised"
    severity = Severity.WARNING
    origin = PRACTICE
    summary = "A task of a full session, or the project, lacks recommended fields."
    why = (
        "`depends_on` decides the order of work, reviewers check against `done_when`, and type and risk flags decide "
        "which reviews run."
    )
    fix = "Add an empty `depends_on`."
    fix_safety = "safe"
    describes = (("TaskBacklog", "required", "project"), ("Project", "required"), ("Project", "type"))
    example_path = samples.TASKS

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

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        if backlog.mode is not Mode.FULL:
            return
        missing = [name for name in _ADVISED if task.raw.get(name) is None or lacks_text(task, name)]
        if "deps" in task and "depends_on" in missing:
            missing.remove("depends_on")
        if missing:
            fix = _no_dependencies(task, backlog) if "depends_on" in missing else None
            report(task.pointer, f"{task.label} has no {listed(missing, 'or')}", fix=fix)

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        project = backlog.model.project
        if project.has("name") and not is_text(project.name):
            report("/project", "'project' has no name")

    def examples(self) -> Iterator[Example]:
        yield self.example(samples.tasks(samples.task(done_when=...)), samples.tasks())
        yield self.example(samples.tasks(samples.task(type=...)), samples.tasks())
        bad = samples.tasks(samples.task(depends_on=...))
        goal = "    goal: Show a login form\n"
        fixed = bad.replace(goal, f"{goal}    depends_on: []\n")
        yield self.example(bad, samples.tasks(), fixed)
        empty = samples.tasks().replace("depends_on: []", "depends_on:")
        yield self.example(empty, samples.tasks(), samples.tasks())
        yield self.example(samples.tasks(project="Demo"), samples.tasks())


def _no_dependencies(task: Task, backlog: Backlog) -> Fix | None:
    title = "set depends_on to []"
    if "depends_on" in task:
        return edits.replace(title, backlog.reader, task.at("depends_on"), "[]")
    return edits.insert(
        title, backlog.reader, task.pointer, "depends_on", "[]", ("goal", "status", "title", "type", "id")
    )


class AcceptanceCheckForm(TeamRule):
    code = "TC310"
    name = "acceptance-check-form"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An acceptance check starts with neither `cmd: ` nor `manual: `, or has no quotes."
    why = "The prefix says whether a shell or a person runs the check; without it the check never runs."
    fix = "Quote the whole entry (unsafe: add the prefix `cmd: `)."
    fix_safety = "safe or unsafe"
    describes = tuple(
        (shape, keyword, "acceptance_checks") for shape in ("Task", "GivenTask") for keyword in ("pattern", "type")
    )
    example_path = samples.TASKS

    def describe(self, violation: Violation, document: Document) -> Description | None:
        entry, at = violation.value, violation.pointer
        if violation.expected == ("array",):
            return None
        if is_mapped_check(entry) and isinstance(document, Backlog):
            ((name, value),) = entry.items()
            text = json_text(f"{name}: {value}")
            fix = edits.replace_item("quote the entry", document.reader, at, text) if is_text(value) else None
            return Description(f"YAML parses this as a mapping with the key '{name}'; quote the whole entry", fix)
        fix = None
        if is_bare_command(entry) and isinstance(document, Backlog):
            fix = edits.respell("add the prefix cmd:", document.reader, at, f"cmd: {entry}", unsafe=True)
        elif is_bare_command(entry):
            fix = unsafe("add the prefix cmd:", Replace(at, f"cmd: {entry}"))
        return Description(no_check(entry), fix)

    def examples(self) -> Iterator[Example]:
        good = samples.tasks(samples.task(acceptance_checks=["cmd: npm test"]))
        bad = good.replace('"cmd: npm test"', "npm test")
        yield self.example(bad, good, good)
        yield self.example(good.replace("npm test", ""), good)
        good = samples.tasks().replace('["cmd: npm test"]', '\n      - "cmd: npm test"')
        yield self.example(good.replace('"cmd: npm test"', "cmd: npm test"), good, good)
        yield self.example(good.replace('"cmd: npm test"', "manual: [look]"), good)
        given = samples.agent_input(samples.given(acceptance_checks=["npm test"]))
        yield Example(given, samples.agent_input(), samples.agent_input(), path=samples.exchange("Coder"))


def is_mapped_check(entry: object) -> bool:
    """Return whether a check has no quotes, so that YAML parses it as a mapping."""
    return type(entry) is dict and len(entry) == 1 and next(iter(entry)) in ("cmd", "manual")


class RiskNoneMixed(TeamRule):
    code = "TC317"
    name = "risk-none-mixed"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The flag `none` is combined with other flags."
    why = "A task either has risks or has none; one agent reads the first flag, another the second."
    fix = "Remove `none`."
    fix_safety = "safe"
    example_path = samples.TASKS

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
        yield self.example(samples.tasks(samples.task(risk_flags=["none", "perf"])), good, good)
        block = good.replace(" [perf]", "\n    - none\n    - perf")
        yield self.example(block, good, good)


def _verify(item: dict[str, Any], at: str) -> Fix | None:
    """Build verify from the commands, or else from the expected result, and remove the other old fields."""
    commands, expected = item.get("commands"), item.get("expected_result")
    if is_text(commands) or (type(commands) is list and commands and all(is_text(command) for command in commands)):
        first: Operation = Rename(f"{at}/commands", "verify")
        others = [name for name in _LEGACY_VERIFY if name in item and name != "commands"]
    elif is_text(expected) and (commands is None or commands == []):
        first = Insert(at, "verify", None, [f"manual: {expected}"])
        others = [name for name in _LEGACY_VERIFY if name in item]
    else:
        return None
    return unsafe("replace with verify", first, *(Remove(f"{at}/{name}") for name in others))


class LegacyKey(TeamRule):
    code = "TC318"
    name = "legacy-key"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A task or criterion uses an older name of a field."
    why = "Only the current names are read; dependencies and checks in the older fields have no effect."
    fix = "Rename `deps` to `depends_on` (unsafe: make `verify` from the commands or the expected result)."
    fix_safety = "safe or unsafe"
    example_path = samples.TASKS

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        for name, remedy in _LEGACY.items():
            if name in task:
                fix = None
                if name == "deps" and "depends_on" not in task:
                    fix = edits.rename("rename it", backlog.reader, task.at(name), "depends_on")
                report(task.at(name), f"'{name}' is no longer read; {remedy}", fix=fix, on_name=True)

    def check_acceptance(self, document: AcceptanceDocument, report: Report) -> None:
        for each in document.criteria:
            used = [name for name in _LEGACY_VERIFY if name in each]
            if used and "verify" not in each:
                message = f"criterion {each.index} uses {listed(used)} instead of verify; only verify is run"
                report(each.at(used[0]), message, fix=_verify(each.raw, each.pointer), on_name=True)

    def examples(self) -> Iterator[Example]:
        good = samples.tasks(samples.task("T-101"), samples.task("T-102", depends_on=["T-101"]))
        head, tail = good.split("T-102")
        yield self.example(f"{head}T-102{tail.replace('depends_on', 'deps')}", good, good)
        yield self.example(samples.tasks(samples.task(owner="Coder")), samples.tasks())
        current = samples.acceptance(samples.criterion(verify=["make t"]))
        bad = samples.criterion(verify=...) | {"commands": ["make t"]}
        yield Example(samples.acceptance(bad), current, current, path=samples.ACCEPTANCE)
        manual = samples.criterion(verify=["manual: the form shows"])
        bad = samples.criterion(verify=...) | {"expected_result": "the form shows"}
        yield Example(
            samples.acceptance(bad), samples.acceptance(manual), samples.acceptance(manual), path=samples.ACCEPTANCE
        )


_DONE = (TaskStatus.IMPLEMENTED.value, TaskStatus.COMPLETED.value)


class TaskIdDuplicate(TeamRule):
    code = "TC307"
    name = "task-id-duplicate"
    severity = Severity.ERROR
    origin = FIXED
    summary = "Two tasks have the same id."
    why = "A dispatch, dependency or retry count can't say which of the two tasks it means."
    example_path = samples.TASKS
    bad = samples.tasks(samples.task("T-002"), samples.task("T-002"))
    good = samples.tasks(samples.task("T-001"), samples.task("T-002"))

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        first = backlog.by_id.get(task.id)
        if first is not None and first is not task:
            where = backlog.reader.locate(first.at("id"))
            at = f" at {where.start.line}:{where.start.column}" if where else ""
            report(task.at("id"), f"duplicate task id {task.id}; task {first.index}{at} already uses it")


class DependencyUnknown(TeamRule):
    code = "TC312"
    name = "dependency-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A task depends on a task that does not exist."
    why = "The dependency is never done, so the task waits forever."
    describes = (("Task", "type", "depends_on"),)
    example_path = samples.TASKS

    def describe(self, violation: Violation, document: Backlog) -> Description | None:
        if violation.expected == ("array",):
            return None
        return Description(_no_task(task_at(document, violation), violation.value))

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        for index, ident in numbered(task.depends_on):
            if ident not in backlog.by_id:
                report(task.at("depends_on", index), _no_task(task, ident))

    def examples(self) -> Iterator[Example]:
        yield self.example(samples.tasks(samples.task(depends_on=["T-000"])), samples.tasks(samples.task()))


def _no_task(task: Task, ident: object) -> str:
    return f"{task.label} depends on {shown(ident)}, which is not a task of this file"


class DependencyCycle(TeamRule):
    code = "TC313"
    name = "dependency-cycle"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Tasks depend on each other in a cycle."
    why = "None of them can ever start."
    example_path = samples.TASKS
    bad = (
        samples.tasks(samples.task(depends_on=["T-001"])),
        samples.tasks(samples.task(depends_on=["T-002"]), samples.task("T-002", depends_on=["T-001"])),
    )
    good = (samples.tasks(samples.task()), samples.tasks(samples.task(), samples.task("T-002", depends_on=["T-001"])))

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        for cycle in _cycles(backlog):
            first = backlog.by_id[cycle[0]]
            report(first.at("depends_on"), f"circular dependency: {', '.join([*cycle, cycle[0]])}")


def _cycles(backlog: Backlog) -> list[list[str]]:
    """Return one path around each cycle, from its first task in file order. Every task is visited once."""
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


class TaskOutOfOrder(TeamRule):
    code = "TC314"
    name = "task-out-of-order"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A task was started before a task that it depends on was done, or completed before its review."
    why = "It builds on work that is missing. With the strategy `single-final`, an implemented task counts as done."
    example_path = samples.TASKS

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        if task.stage not in STARTED:
            return
        wanted = done_statuses(backlog.strategy if backlog.mode is Mode.FULL else None)
        for ident in task.depends_on:
            other = backlog.by_id.get(ident)
            if other is not None and other is not task and other.stage not in wanted:
                message = f"{task.label} is {task.stage}, but depends on {ident}, which is {shown(other.stage)}"
                report(task.at("status"), message)

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        if backlog.strategy is not Strategy.SINGLE_FINAL or backlog.mode is not Mode.FULL:
            return
        unfinished = [task for task in backlog.tasks if task.stage not in _DONE]
        for task in backlog.tasks:
            if task.stage == TaskStatus.COMPLETED and unfinished:
                other = unfinished[0]
                report(task.at("status"), f"{task.label} is completed, but {other.label} is {shown(other.stage)}")

    def examples(self) -> Iterator[Example]:
        second = samples.task("T-002", status="implemented", depends_on=["T-001"])
        yield self.example(
            samples.tasks(samples.task(), second), samples.tasks(samples.task(status="completed"), second)
        )
        status = samples.status("IMPLEMENT_LOOP", samples.approved(), samples.strategy("single-final"))
        first, second = samples.task(status="completed"), samples.task("T-002", status="in-progress")
        yield self.example(
            samples.tasks(first, second),
            samples.tasks(samples.task(status="implemented"), second),
            files=samples.session({samples.TASKS: ..., samples.STATUS: status}),
        )


class LeanSessionTooLarge(TeamRule):
    code = "TC319"
    name = "lean-session-too-large"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A lean session has more than one task, a gate or an architecture."
    why = "A change that needs a second task, a design or a gate is not small; it belongs on the full path."

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        count = len(items_of(backlog.value.get("tasks")))
        if backlog.mode is Mode.LEAN and count != 1:
            report(
                "/tasks" if "tasks" in backlog.value else "", f"a lean session must have exactly one task, not {count}"
            )

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        if decision.gate is not None and document.options.mode is Mode.LEAN:
            report(decision.at("decision_id"), f"a lean session has no gates, so {decision.decision_id} has no effect")

    def check_markdown(self, document: Document, sections: Sections, report: Report) -> None:
        if document.kind is TeamKind.ARCHITECTURE and document.mode is Mode.LEAN:
            report("", "the session is lean, but has an architecture.md", severity=Severity.WARNING)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.tasks(samples.task(), samples.task("T-002")),
            samples.tasks(),
            path=samples.TASKS,
            files=samples.lean_session({samples.TASKS: ...}),
        )
        yield Example(
            samples.status("IMPLEMENT_LOOP", samples.strategy()),
            samples.status("IMPLEMENT_LOOP", samples.decision(state_context="IMPLEMENT_LOOP")),
            path=samples.STATUS,
            options={"team-mode": "lean"},
        )
        yield Example(
            samples.architecture(),
            samples.architecture(),
            path=samples.ARCHITECTURE,
            files=samples.lean_session(),
            options={"good_path": ".agents-work/2026-03-02_other-work/architecture.md"},
        )


class AcceptanceInvalid(ShapeRule):
    code = "TC402"
    name = "acceptance-invalid"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A field of `acceptance.json` is missing, blank, or of another type or form."
    why = "A criterion without an id, a description and a way to verify it can't be referred to, understood or checked."
    kind = TeamKind.ACCEPTANCE
    example_path = samples.ACCEPTANCE

    def examples(self) -> Iterator[Example]:
        yield self.example({"acceptance_criteria": [{"id": "AC-001"}]}, samples.acceptance())
        yield self.example({"acceptance_criteria": []}, samples.acceptance())
        yield self.example(samples.acceptance(samples.criterion("AC1")), samples.acceptance())
        good = samples.acceptance(samples.criterion(verify=["npm test"]))
        yield self.example(samples.acceptance(samples.criterion(verify=7)), good)
        good = samples.acceptance(samples.criterion(verify="npm test"))
        yield self.example(samples.acceptance(samples.criterion(verify=[])), good)


class AcceptanceIdDuplicate(TeamRule):
    code = "TC404"
    name = "acceptance-id-duplicate"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Two criteria have the same id."
    why = "A task that meets one of them appears to meet both."
    example_path = samples.ACCEPTANCE
    bad = samples.acceptance(samples.criterion(), samples.criterion())
    good = samples.acceptance(samples.criterion(), samples.criterion("AC-002"))

    def check_acceptance(self, document: AcceptanceDocument, report: Report) -> None:
        seen: dict[str, int] = {}
        for each in document.criteria:
            if is_text(each.id) and seen.setdefault(each.id, each.index) != each.index:
                message = f"duplicate criterion id {shown(each.id)}; criterion {seen[each.id]} already uses it"
                report(each.at("id"), message)
