"""ID: the names of variables and outputs, and ids that are easily confused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from workrail_lint.base.wording import quoted
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import Condition, Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import RESERVED_NAME, SIMILAR_IDS, folded
from workrail_lint.systems.workrail.rules.prose import label

RESERVED_KEYS = ("__proto__", "constructor", "prototype")
_LOOP_VARIABLES = {"iterationVar": "currentIteration", "itemVar": "currentItem", "indexVar": "currentIndex"}
_TOP_IDS = (
    ("assessments", "id", "assessment id"),
    ("extensionPoints", "slotId", "slot id"),
    ("functionDefinitions", "name", "function name"),
    ("references", "id", "reference id"),
)


class LoopVarCollision(WorkflowRule):
    code = "ID014"
    name = "loop-var-collision"
    severity = Severity.ERROR
    origin = "product"
    summary = "Two variables of a `forEach` loop have the same name."
    why = "Each round sets the counter, the item and the index; the one set last overwrites the other."
    needs = frozenset({"loop"})

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        config = loop.step.get("loop")
        if not isinstance(config, dict) or config.get("type") != "forEach":
            return
        seen: dict[str, str] = {}
        for member, default in _LOOP_VARIABLES.items():
            name = config.get(member) or default
            if not isinstance(name, str):
                continue
            if name in seen:
                place = member if member in config else seen[name]
                report(
                    loop.at("loop", place),
                    f"{label(loop)}: {seen[name]} and {member} are both called {quoted(name)}, so one overwrites the "
                    "other; rename one of them",
                )
            seen.setdefault(name, member)

    def examples(self) -> Iterator[Example]:
        yield Example(_each(itemVar="current", indexVar="current"), _each(itemVar="current", indexVar="position"))


def _each(**variables: str) -> dict[str, Any]:
    return samples.workflow(samples.loop(type="forEach", count=..., items="files", **variables))


_NAME_HOLDERS = ("promptBlocks", "templateCall", "functionCalls", "parallelDelegations", "loop")


class ReservedObjectKey(WorkflowRule):
    code = "ID015"
    name = "reserved-object-key"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "A name has a special meaning in JavaScript objects: `__proto__`, `constructor` or `prototype`."
    why = (
        "The engine stores these names in plain objects, where they get lost on assignment or exist although nothing "
        "set them. An output called `__proto__` disappears from the rendered prompt."
    )
    needs = frozenset({RESERVED_NAME})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.step.keys().isdisjoint(_NAME_HOLDERS):
            return
        for name, pointer, what, is_key in _names(step):
            if name in RESERVED_KEYS:
                report(
                    pointer,
                    f"{label(step)}: {quoted(name)} can't be {what}, because JavaScript reserves it; rename it",
                    on_name=is_key,
                )

    def check_condition(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        name = condition.condition.get("var")
        if name in RESERVED_KEYS:
            report(
                child(condition.pointer, "var"),
                f"{label(condition.step)}: {quoted(name)} can't be a context variable, because JavaScript reserves it; "
                "rename it",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.workflow(samples.loop(iterationVar="constructor")),
            samples.workflow(samples.loop(iterationVar="round")),
        )


def _names(step: Step) -> Iterator[tuple[str, str, str, bool]]:
    """The names that the engine stores for a step: the name, its place, what it names, whether it is a key."""
    data = step.step
    yield from _keys(_object(data.get("promptBlocks")).get("outputRequired"), step.at("promptBlocks", "outputRequired"))
    yield from _keys(_object(data.get("templateCall")).get("args"), step.at("templateCall", "args"))
    for index, call in enumerate(_list(data.get("functionCalls"))):
        yield from _keys(_object(call).get("args"), step.at("functionCalls", index, "args"))
    for index, item in enumerate(_list(data.get("parallelDelegations"))):
        delegation = _object(item)
        place = step.at("parallelDelegations", index)
        yield from _keys(delegation.get("args"), f"{place}/args")
        mapping = delegation.get("contextMapping")
        yield from _keys(mapping, f"{place}/contextMapping")
        for name, inner in _object(mapping).items():
            if isinstance(inner, str):
                yield inner, child(f"{place}/contextMapping", name), "a context variable", False
    for member in _LOOP_VARIABLES:
        variable = _object(data.get("loop")).get(member)
        if isinstance(variable, str):
            yield variable, step.at("loop", member), "a loop variable", False


def _keys(value: object, pointer: str) -> Iterator[tuple[str, str, str, bool]]:
    for name in _object(value):
        yield name, child(pointer, name), "a member name", True


class IdConfusable(WorkflowRule):
    code = "ID016"
    name = "id-confusable"
    severity = Severity.WARNING
    origin = "product"
    summary = "Two ids differ only in `-` and `_`, `0` and `o`, or `1` and `l`."
    why = "They are hard to tell apart when reading, and a reference to the wrong one is still valid."
    needs = frozenset({SIMILAR_IDS, "promptFragments", "functionDefinitions", *(member for member, _, _ in _TOP_IDS)})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for what, ids in _namespaces(workflow):
            seen: dict[str, str] = {}
            for ident, pointer in ids:
                other = seen.setdefault(folded(ident), ident)
                if other != ident:
                    message = f"the {what} {quoted(ident)} is easily mistaken for {quoted(other)}; rename one of them"
                    report(pointer, message)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.workflow(samples.step("step-1"), samples.step("step-l")),
            samples.workflow(samples.step("step-1"), samples.step("step-2")),
        )


def _namespaces(workflow: WorkflowContext) -> Iterator[tuple[str, Iterable[tuple[str, str]]]]:
    """Every set of ids that share a namespace."""
    top = workflow.definition
    yield "step id", ((step.id, step.at("id")) for step in workflow.all_steps if step.id)
    for step in workflow.all_steps:
        if "promptFragments" in step.step:
            yield "fragment id", _ids(step.step["promptFragments"], "id", step.at("promptFragments"))
        if "functionDefinitions" in step.step:
            yield "function name", _ids(step.step["functionDefinitions"], "name", step.at("functionDefinitions"))
    for member, name, what in _TOP_IDS:
        if member in top:
            yield what, _ids(top[member], name, f"/{member}")
    for index, item in enumerate(_list(top.get("assessments"))):
        dimensions = _object(item).get("dimensions")
        yield "dimension id", _ids(dimensions, "id", f"/assessments/{index}/dimensions")


def _ids(items: object, member: str, pointer: str) -> Iterator[tuple[str, str]]:
    for index, item in enumerate(_list(items)):
        ident = _object(item).get(member)
        if isinstance(ident, str):
            yield ident, f"{pointer}/{index}/{member}"


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
