"""ID: the ids of workflows and steps, the names of variables and outputs, and names that are easily confused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Operation, Replace
from workrail_lint.documents.pointer import child
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.documents.schema.messages import did_you_mean, shown
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import Description
from workrail_lint.systems.workrail import identity
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.nodes import walk
from workrail_lint.systems.workrail.identity import IdVerdict
from workrail_lint.systems.workrail.model.workflow import Condition, Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import PLAIN_ID, RESERVED_ID, RESERVED_NAME, SIMILAR_IDS, folded
from workrail_lint.systems.workrail.rules.prose import label
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow
from workrail_lint.systems.workrail.step_place import STEP_SHAPES, StepPlace

_LONGEST_EXPANDED = 128


# ------------------------------------------------------------------------------------------ workflow ids


def _short_segment(ident: str) -> str | None:
    """The part of an id that is fine but for its length."""
    segments = ident.split(".")
    if len(segments) != 2 or 1 not in map(len, segments) or identity.parse(ident) is None:
        return None
    return next(segment for segment in segments if len(segment) == 1)


class WorkflowIdPattern(WorkflowRule):
    code = "ID001"
    name = "workflow-id-pattern"
    severity = Severity.ERROR
    origin = "schema"
    summary = "The workflow id has invalid characters or an invalid form."
    why = "Ids are used as keys and in file names, so the engine rejects any other form."
    fix = "Write the id in lower case, with `_` instead of every invalid character."
    fix_safety = "unsafe"
    describes = (("Workflow", "pattern", "id"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        ident = str(violation.value)
        if ident.count(".") > 1 or _short_segment(ident) is not None:
            return None
        candidate = re.sub(r"[^a-z0-9_.-]", "_", ident.lower())
        suggestion = candidate if identity.is_valid(candidate) else None
        message = (
            f"workflow id {shown(ident)} must be namespace.name, each part a lower-case letter followed by a-z, 0-9, "
            f"_ or -{did_you_mean(suggestion)}"
        )
        return Description(message, suggestion=suggestion)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        ident = finding.details.get("suggestion")
        return unsafe(f"rename it to {ident}", Replace("/id", ident)) if isinstance(ident, str) else None

    def examples(self) -> Iterator[Example]:
        good = workflow(id="demo.flow")
        yield Example(workflow(id="Demo.Flow"), good, good)


class WorkflowIdSegmentShort(WorkflowRule):
    code = "ID002"
    name = "workflow-id-segment-short"
    severity = Severity.ERROR
    origin = "schema"
    summary = "The namespace or the name in the workflow id has only one character."
    why = "The engine's schema requires at least two characters on each side of the dot."
    describes = (("Workflow", "pattern", "id"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        short = _short_segment(violation.value)
        if short is None:
            return None
        subject = f"workflow id {shown(violation.value)}"
        return Description(f"{subject}: {quoted(short)} is too short; both parts need at least two characters")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(id="a.review"), workflow(id="team.review"))


class WorkflowIdDots(WorkflowRule):
    code = "ID003"
    name = "workflow-id-dots"
    severity = Severity.ERROR
    origin = "schema"
    summary = "The workflow id has more than one dot."
    why = "An id is one namespace and one name. The engine rejects deeper levels."
    describes = (("Workflow", "pattern", "id"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        dots = violation.value.count(".")
        if dots < 2:
            return None
        return Description(f"workflow id {shown(violation.value)} has {dots} dots; write namespace.name with one dot")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(id="team.review.deep"), workflow(id="team.review-deep"))


class WorkflowIdReserved(WorkflowRule):
    code = "ID004"
    name = "workflow-id-reserved"
    severity = Severity.ERROR
    origin = "load"
    summary = "The workflow id uses the namespace `wr`, which is reserved for workflows bundled with the engine."
    why = "The engine does not load such an id from any other source, and a bundled workflow with that id always wins."
    fix = "Change the namespace to that of the file's source."
    fix_safety = "unsafe"
    needs = frozenset({RESERVED_ID})

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.source_kind != "bundled" and workflow.id.startswith("wr.")

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if identity.judge(workflow.id, workflow.source_kind) is not IdVerdict.RESERVED:
            return
        suggestion = identity.suggest(workflow.id.partition(".")[2], workflow.source_kind)
        message = f"id {quoted(workflow.id)} is reserved: only bundled workflows can use the namespace wr"
        _report_rename(report, message, suggestion)

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(id="wr.mine"), workflow(id="project.mine"), workflow(id="project.mine"))


class WorkflowIdLegacy(WorkflowRule):
    code = "ID005"
    name = "workflow-id-legacy"
    severity = Severity.INFO
    origin = "load"
    summary = "The workflow id has no namespace."
    why = (
        "Ids without a namespace collide across sources; the engine loads them with a warning but can't save them. "
        "Routines are exempt, because their template id is derived from the id."
    )
    fix = "Add the namespace of the file's source."
    fix_safety = "unsafe"
    needs = frozenset({PLAIN_ID})

    def applies(self, workflow: WorkflowContext) -> bool:
        return _is_legacy(workflow) and not workflow.is_new

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        message = f"id {quoted(workflow.id)} has no namespace"
        _report_rename(report, message, identity.suggest(workflow.id, workflow.source_kind))

    def examples(self) -> Iterator[Example]:
        good = workflow(id="project.my_flow")
        yield Example(workflow(id="my-flow"), good, good, path="workflows/my-flow.json")


class WorkflowIdLegacyNew(WorkflowRule):
    code = "ID006"
    name = "workflow-id-legacy-new"
    severity = Severity.ERROR
    origin = "load"
    summary = "A file that the project marks as new has an id without a namespace."
    why = "The engine still loads old ids without a namespace, but it does not save a workflow with such an id."
    fix = "Add the namespace of the file's source."
    fix_safety = "unsafe"
    needs = frozenset({PLAIN_ID})

    def applies(self, workflow: WorkflowContext) -> bool:
        return _is_legacy(workflow) and workflow.is_new

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        message = f"id {quoted(workflow.id)} of a new workflow has no namespace"
        _report_rename(report, message, identity.suggest(workflow.id, workflow.source_kind))

    def examples(self) -> Iterator[Example]:
        good = workflow(id="project.my_flow")
        yield Example(
            workflow(id="my-flow"), good, good, path="workflows/my-flow.json", options={"new_files": ["workflows/*"]}
        )


def _is_legacy(workflow: WorkflowContext) -> bool:
    ident = workflow.id
    if "." in ident or not identity.is_valid(ident):
        return False
    return not (workflow.is_routine and ident.startswith("routine-"))


def _report_rename(report: Report, message: str, suggestion: str | None) -> None:
    if suggestion is None:
        report("/id", message)
    else:
        fix = unsafe(f"rename it to {suggestion}", Replace("/id", suggestion))
        report("/id", f"{message}; rename it to {quoted(suggestion)}", fix=fix)


# ------------------------------------------------------------------------------------------------- steps


class StepIdPattern(WorkflowRule):
    code = "ID007"
    name = "step-id-pattern"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A step id does not have 3 to 64 characters from a-z, 0-9 and `-`."
    why = "Step ids are part of tokens, events and keys, and must not contain the delimiters used there."
    fix = "Write the id in lower case with `-` instead of invalid characters, also where a loop refers to it."
    fix_safety = "unsafe"
    describes = tuple(
        (shape, keyword, "id") for shape in STEP_SHAPES for keyword in ("pattern", "minLength", "maxLength")
    )

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        ident = violation.value
        candidate = re.sub(r"[^a-z0-9-]+", "-", ident.lower()).strip("-")
        suggestion = candidate if 3 <= len(candidate) <= 64 and candidate != ident else None
        message = f"id {shown(ident)} must have 3 to 64 characters from a-z, 0-9 and -{did_you_mean(suggestion)}"
        return Description(message, suggestion=suggestion)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        new = finding.details.get("suggestion")
        place = finding.pointer.removesuffix("/id")
        renamed = workflow.by_pointer.get(place)
        if renamed is None or not isinstance(new, str) or new in workflow.step_ids:
            return None
        if _first_to_become(workflow).get(new, finding) is not finding:
            return None  # two ids would become the same
        return unsafe(f"rename it to {new}", *_step_rename(renamed, new, workflow))

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(step("Plan It"), {**loop(), "body": "Plan It"}),
            workflow(step("plan-it"), {**loop(), "body": "plan-it"}),
            workflow(step("plan-it"), {**loop(), "body": "plan-it"}),
        )


@lru_cache(maxsize=1)
def _first_to_become(workflow: WorkflowContext) -> dict[object, Finding]:
    """The suggested ids, each with the first finding that suggests it."""
    found = [finding for finding in workflow.found if finding.name == StepIdPattern.name]
    return {finding.details.get("suggestion"): finding for finding in reversed(found)}


def _step_rename(renamed: Step, new: str, workflow: WorkflowContext) -> Iterator[Operation]:
    """Rename a step, in the step and in everything that refers to it."""
    yield Replace(renamed.at("id"), new)
    if renamed.around is None:
        for other in workflow.steps:
            if other.kind == "loop" and other.step.get("body") == renamed.id:
                yield Replace(other.at("body"), new)
    config = renamed.step.get("loop")
    source = config.get("conditionSource") if isinstance(config, dict) else None
    if isinstance(source, dict) and source.get("loopId") == renamed.id:
        yield Replace(renamed.at("loop", "conditionSource", "loopId"), new)


class StepIdDuplicate(WorkflowRule):
    code = "ID008"
    name = "step-id-duplicate"
    severity = Severity.ERROR
    origin = "struct"
    summary = "Two top-level steps have the same id."
    why = "The engine finds a step by its id, so it can reach only one of two steps with the same id."

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(step("plan"), step("plan")), workflow(step("plan"), step("build")))


class StepIdDuplicateBody(WorkflowRule):
    code = "ID009"
    name = "step-id-duplicate-body"
    severity = Severity.ERROR
    origin = "struct"
    summary = "Two steps in the body of one loop have the same id."
    why = "The engine finds a step by its id, so it can reach only one of two steps with the same id."

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(loop(step("try-it"), step("try-it"))), workflow(loop(step("try-it"), step("look"))))


class StepIdCollision(WorkflowRule):
    code = "ID010"
    name = "step-id-collision"
    severity = Severity.ERROR
    origin = "compile"
    summary = "A step in a loop body has the id of a top-level step, of a loop, or of a step in another body."
    why = "All steps of a compiled workflow share one namespace, whichever list they are in."

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(step("look"), loop(step("look"))),
            workflow(step("look"), loop(step("look-again"))),
        )


class ExpandedIdTooLong(WorkflowRule):
    code = "ID011"
    name = "expanded-id-too-long"
    severity = Severity.WARNING
    origin = "product"
    summary = f"The id of a step that a template call expands to has more than {_LONGEST_EXPANDED} characters."
    why = "The id consists of the ids of the calling step and the routine's step; all events and tokens contain it."
    needs = frozenset({"templateCall"})

    def check_compiled(self, compiled: CompiledWorkflow, workflow: WorkflowContext, report: Report) -> None:
        for node in walk(compiled.nodes):
            from_template = node.origin is not None and node.origin.source == "template"
            if from_template and len(node.id) > _LONGEST_EXPANDED:
                report(
                    node.place,
                    f"expanded step id {quoted(node.id)} has {len(node.id)} characters, more than {_LONGEST_EXPANDED}; "
                    "give the calling step a shorter id",
                )

    def examples(self) -> Iterator[Example]:
        inner = "read-every-file-that-the-change-touches-and-note-what-it-does-and-why"
        routine = _routine({"id": inner, "title": "Read", "prompt": "Read every file."})
        call = {"templateCall": {"templateId": "wr.templates.routine.sweep"}}
        long = "sweep-the-whole-repository-before-the-team-makes-any-decision"
        yield Example(
            workflow(step(), step(long, None, **call)),
            workflow(step(), step("sweep", None, **call)),
            options={"routines": [routine]},
        )


class VirtualIdCollision(WorkflowRule):
    code = "ID012"
    name = "virtual-id-collision"
    severity = Severity.ERROR
    origin = "compile"
    summary = "The step generated for a verification, audit or synthesis block has an id that is already used."
    why = "The generated id is the step's id with `__verification`, `__audit` or `__synthesis`; keep it free."

    def examples(self) -> Iterator[Example]:
        audited = {"id": "look", "title": "Look", "prompt": "Look.", "audit": {"rubric": ["Nothing is left out"]}}
        call = {"templateCall": {"templateId": "wr.templates.routine.sweep"}}
        document = workflow(step(), step("sweep", None, **call))
        taken = _routine(audited, {"id": "look__audit", "title": "Audit", "prompt": "Judge it."})
        yield Example(document, workflow(), options={"routines": [taken]})


def _routine(*steps: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "routine-sweep",
        "name": "Sweep",
        "description": "Reads everything once.",
        "version": "1.0.0",
        "steps": list(steps),
    }


class FragmentIdDuplicate(WorkflowRule):
    code = "ID013"
    name = "fragment-id-duplicate"
    severity = Severity.ERROR
    origin = "struct"
    summary = "Two prompt fragments of one step have the same id."
    why = "The engine rejects this on top-level steps, but does not check loop bodies, where ids are ambiguous."

    def examples(self) -> Iterator[Example]:
        first = {"id": "deep", "text": "Go deep.", "when": {"var": "depth", "equals": "deep"}}
        second = {"id": "wide", "text": "Go wide.", "when": {"var": "depth", "equals": "wide"}}
        yield Example(
            workflow(step(promptFragments=[first, {**second, "id": "deep"}])),
            workflow(step(promptFragments=[first, second])),
        )


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
    for owner in workflow.all_steps:
        if "promptFragments" in owner:
            yield "fragment id", _ids(owner.step["promptFragments"], "id", owner.at("promptFragments"))
        if "functionDefinitions" in owner:
            yield "function name", _ids(owner.step["functionDefinitions"], "name", owner.at("functionDefinitions"))
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
