"""ID: the ids of workflows and steps, the names of variables and outputs, and names that are easily confused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from workrail_lint.base.suggest import did_you_mean
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Operation, Replace
from workrail_lint.documents.pointer import child
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.documents.schema.messages import shown
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import Description
from workrail_lint.systems.workrail import identity
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.nodes import walk
from workrail_lint.systems.workrail.identity import IdVerdict
from workrail_lint.systems.workrail.model.workflow import Condition, LoopStep, Step
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import author_text, label, mentions, text_index
from workrail_lint.systems.workrail.rules.rule_needs import (
    PLAIN_ID,
    RESERVED_ID,
    RESERVED_NAME,
    SIMILAR_IDS,
    folded,
)
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow
from workrail_lint.systems.workrail.step_place import STEP_SHAPES, StepPlace

_LONGEST_EXPANDED = 128
_NAMESPACE = "project"  # for an id without one


# ------------------------------------------------------------------------------------------ workflow ids


def _short_segment(ident: str) -> str | None:
    """Return the part of an id that is fine but for its length."""
    segments = ident.split(".")
    if len(segments) != 2 or 1 not in map(len, segments) or identity.parse(ident) is None:
        return None
    return next(segment for segment in segments if len(segment) == 1)


def _valid_id(ident: str) -> str | None:
    """Return the id in valid characters, with a namespace; None where that is still not an id that anyone may use."""
    plain = re.sub(r"[^a-z0-9_.-]", "_", ident.lower())
    candidate = plain if "." in plain else f"{_NAMESPACE}.{plain}"
    return candidate if identity.is_valid(candidate) and not identity.is_reserved(candidate) else None


class WorkflowIdPattern(WorkflowRule):
    code = "ID001"
    name = "workflow-id-pattern"
    severity = Severity.ERROR
    origin = "schema"
    summary = "The workflow id is not a namespace, a dot and a name, each of at least two characters."
    why = "Ids are used as keys and in file names, so the engine rejects any other form."
    fix = "Write the id in lower case, with `_` instead of every invalid character and with a namespace."
    describes = (("Workflow", "pattern", "id"),)
    bad = ({"id": "Demo.Flow"}, {"id": "a.review"}, {"id": "team.review.deep"})
    good = ({"id": "demo.flow"}, {"id": "team.review"}, {"id": "team.review-deep"})
    fixed = ({"id": "demo.flow"}, None, None)

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        ident = str(violation.value)
        subject, dots, short = f"workflow id {shown(ident)}", ident.count("."), _short_segment(ident)
        if dots > 1:
            return Description(f"{subject} has {dots} dots; write namespace.name with one dot")
        if short is not None:
            return Description(f"{subject}: {quoted(short)} is too short; both parts need at least two characters")
        suggestion = _valid_id(ident)
        message = (
            f"{subject} must be namespace.name, each part a lower-case letter followed by a-z, 0-9, "
            f"_ or -{did_you_mean(suggestion)}"
        )
        return Description(message, suggestion=suggestion)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        ident = finding.suggestion
        return unsafe(f"rename it to {ident}", Replace("/id", ident)) if ident is not None else None


class WorkflowIdReserved(WorkflowRule):
    code = "ID004"
    name = "workflow-id-reserved"
    severity = Severity.ERROR
    origin = "load"
    summary = "The workflow id uses the namespace `wr`, which is reserved for workflows bundled with the engine."
    why = "The engine does not load such an id from any other source, and a bundled workflow with that id always wins."
    fix = "Change the namespace to that of the file's source."
    needs = frozenset({RESERVED_ID})
    bad = {"id": "wr.mine"}
    good = {"id": "project.mine"}

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.source_kind != "bundled" and workflow.id.startswith("wr.")

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if identity.verdict_of_id(workflow.id, workflow.source_kind) is not IdVerdict.RESERVED:
            return
        suggestion = identity.suggest(workflow.id.partition(".")[2], workflow.source_kind)
        message = f"id {quoted(workflow.id)} is reserved: only bundled workflows can use the namespace wr"
        _report_rename(workflow, report, message, suggestion)


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
    needs = frozenset({PLAIN_ID})

    def applies(self, workflow: WorkflowContext) -> bool:
        return _is_legacy(workflow) and not workflow.is_new

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        message = f"id {quoted(workflow.id)} has no namespace"
        _report_rename(workflow, report, message, identity.suggest(workflow.id, workflow.source_kind))

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
    needs = frozenset({PLAIN_ID})

    def applies(self, workflow: WorkflowContext) -> bool:
        return _is_legacy(workflow) and workflow.is_new

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        message = f"id {quoted(workflow.id)} of a new workflow has no namespace"
        _report_rename(workflow, report, message, identity.suggest(workflow.id, workflow.source_kind))

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


def _report_rename(workflow: WorkflowContext, report: Report, message: str, suggestion: str | None) -> None:
    if suggestion is None:
        report("/id", message)
        return
    # A text that names the workflow would name one that is gone, and a workflow for tests is known by its id.
    is_there = workflow.id.lower() in text_index(workflow).low
    keeps = (is_there and mentions(author_text(workflow), workflow.id)) or identity.is_test(workflow.id)
    fix = None if keeps else unsafe(f"rename it to {suggestion}", Replace("/id", suggestion))
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
    describes = tuple(
        (shape, keyword, "id") for shape in STEP_SHAPES for keyword in ("pattern", "minLength", "maxLength")
    )
    bad = {"steps": [{"id": "Plan It"}, {"type": "loop", "body": "Plan It"}]}
    good = {"steps": [{"id": "plan-it"}, {"type": "loop", "body": "plan-it"}]}

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        ident = violation.value
        candidate = re.sub(r"[^a-z0-9-]+", "-", ident.lower()).strip("-")
        suggestion = candidate if 3 <= len(candidate) <= 64 and candidate != ident else None
        message = f"id {shown(ident)} must have 3 to 64 characters from a-z, 0-9 and -{did_you_mean(suggestion)}"
        return Description(message, suggestion=suggestion)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        new = finding.suggestion
        renamed = workflow.by_pointer.get(finding.pointer.removesuffix("/id"))
        if renamed is None or new is None or new in workflow.step_ids:
            return None
        if _first_to_become(workflow).get(new, finding) is not finding:
            return None  # two ids would become the same
        return unsafe(f"rename it to {new}", *self._step_rename(renamed, new, workflow))

    @staticmethod
    def _step_rename(renamed: Step, new: str, workflow: WorkflowContext) -> Iterator[Operation]:
        """Yield the operations that rename a step, in the step and in everything that refers to it."""
        yield Replace(renamed.at("id"), new)
        if renamed.around is None:
            for other in workflow.steps:
                if other.kind == "loop" and other.body == renamed.id:
                    yield Replace(other.at("body"), new)
        source = renamed.loop.condition_source if renamed.kind == "loop" else None
        if source is not None and source.kind == "artifact_contract" and source.loop_id == renamed.id:
            yield Replace(source.at("loopId"), new)


@lru_cache(maxsize=1)
def _first_to_become(workflow: WorkflowContext) -> dict[str | None, Finding]:
    """Return the suggested ids, each with the first finding that suggests it."""
    findings = [finding for finding in workflow.earlier if finding.name == StepIdPattern.name]
    return {finding.suggestion: finding for finding in reversed(findings)}


class IdDuplicate(WorkflowRule):
    code = "ID008"
    name = "id-duplicate"
    severity = Severity.ERROR
    origin = "struct"
    summary = "Two steps, fragments, references, assessments, dimensions or slots have the same id."
    why = (
        "The engine finds each of them by its id, so the second one can't be reached. Steps that the compiler "
        "generates count too."
    )

    def examples(self) -> Iterator[Example]:
        audited = {"id": "look", "title": "Look", "prompt": "Look.", "audit": {"rubric": ["Nothing is left out"]}}
        call = {"templateCall": {"templateId": "wr.templates.routine.sweep"}}
        document = workflow(step(), step("sweep", None, **call))
        routine = _routine(audited, {"id": "look__audit", "title": "Audit", "prompt": "Judge it."})
        yield Example(document, workflow(), options={"routines": [routine]})
        first = {"id": "deep", "text": "Go deep.", "when": {"var": "depth", "equals": "deep"}}
        second = {"id": "wide", "text": "Go wide.", "when": {"var": "depth", "equals": "wide"}}
        yield Example(
            workflow(step(promptFragments=[first, {**second, "id": "deep"}])),
            workflow(step(promptFragments=[first, second])),
        )

        def naming(*ids: str) -> dict[str, Any]:
            shared = {"title": "Guide", "source": "docs/a.md", "purpose": "How to write.", "authoritative": False}
            return workflow(references=[{"id": ident, **shared} for ident in ids])

        yield Example(naming("api", "api"), naming("api", "api-v2"))

        def rating(*ids: str) -> dict[str, Any]:
            dimension = {"id": "depth", "purpose": "How deep it went.", "levels": ["low", "high"]}
            declared = [{"id": ident, "purpose": "How good it is.", "dimensions": [dimension]} for ident in ids]
            return workflow(step(assessmentRefs=[*dict.fromkeys(ids)]), assessments=declared)

        yield Example(rating("quality", "quality"), rating("quality", "style"))

        def filling(*slots: str) -> dict[str, Any]:
            points = [{"slotId": slot, "purpose": "What to run.", "default": "routine-check"} for slot in slots]
            tokens = " and ".join(f"{{{{wr.bindings.{slot}}}}}" for slot in dict.fromkeys(slots))
            return workflow(step(prompt=f"Run {tokens}."), extensionPoints=points)

        yield Example(filling("checker", "checker"), filling("checker", "inspector"))


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


def _routine(*steps: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "routine-sweep",
        "name": "Sweep",
        "description": "Reads everything once.",
        "version": "1.0.0",
        "steps": list(steps),
    }


# ------------------------------------------------------------------------------------------------- names

RESERVED_KEYS = ("__proto__", "constructor", "prototype")
_LOOP_VARIABLES = ("iterationVar", "itemVar", "indexVar")
_DEFAULTS = ("currentIteration", "currentItem", "currentIndex")


class LoopVarCollision(WorkflowRule):
    code = "ID014"
    name = "loop-var-collision"
    severity = Severity.ERROR
    origin = "product"
    summary = "Two variables of a `forEach` loop have the same name."
    why = "Each round sets the counter, the item and the index; the one set last overwrites the other."
    needs = frozenset({"loop"})

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        if loop.loop.type != "forEach":
            return
        seen: dict[str, str] = {}
        for member, variable, default in zip(_LOOP_VARIABLES, _loop_variables(loop), _DEFAULTS, strict=True):
            name = variable or default
            if name in seen:
                report(
                    loop.loop.at(member if member in loop.loop else seen[name]),
                    f"{label(loop)}: {seen[name]} and {member} are both called {quoted(name)}, so one overwrites the "
                    "other; rename one of them",
                )
            seen.setdefault(name, member)

    @staticmethod
    def _each(**variables: str) -> dict[str, Any]:
        return workflow(loop(type="forEach", count=..., items="files", **variables))

    def examples(self) -> Iterator[Example]:
        yield Example(
            self._each(itemVar="current", indexVar="current"), self._each(itemVar="current", indexVar="position")
        )


def _loop_variables(loop: LoopStep) -> tuple[str | None, ...]:
    return loop.loop.iteration_var, loop.loop.item_var, loop.loop.index_var


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
    bad = {"loop": {"type": "for", "count": 2, "maxIterations": 2, "iterationVar": "constructor"}}
    good = {"loop": {"type": "for", "count": 2, "maxIterations": 2, "iterationVar": "round"}}

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        for name, pointer, what, is_key in self._names(step):
            if name in RESERVED_KEYS:
                report(
                    pointer,
                    f"{label(step)}: {quoted(name)} can't be {what}, because JavaScript reserves it; rename it",
                    on_name=is_key,
                )

    def check_condition(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        if condition.var in RESERVED_KEYS:
            report(
                condition.at("var"),
                f"{label(condition.step)}: {quoted(condition.var)} can't be a context variable, because JavaScript "
                "reserves it; rename it",
            )

    def _names(self, step: Step) -> Iterator[tuple[str, str, str, bool]]:
        """Yield the names that the engine stores for a step: the name, its place, what it names, whether it's a key."""
        if step.kind == "loop":
            for member, variable in zip(_LOOP_VARIABLES, _loop_variables(step), strict=True):
                yield variable or "", step.loop.at(member), "a loop variable", False
        elif step.kind == "parallel":
            for delegation in step.parallel_delegations:
                yield from self._keys(delegation.args, delegation.at("args"))
                yield from self._keys(delegation.context_mapping, delegation.at("contextMapping"))
                for name, inner in delegation.context_mapping.items():
                    yield inner, delegation.at("contextMapping", name), "a context variable", False
        else:
            if step.prompt_blocks is not None:
                yield from self._keys(step.prompt_blocks.output_required, step.prompt_blocks.at("outputRequired"))
            if step.template_call is not None:
                yield from self._keys(step.template_call.args, step.template_call.at("args"))
            for call in step.function_calls:
                yield from self._keys(call.args, call.at("args"))

    @staticmethod
    def _keys(members: Mapping[str, Any], pointer: str) -> Iterator[tuple[str, str, str, bool]]:
        for name in members:
            yield name, child(pointer, name), "a member name", True


class IdConfusable(WorkflowRule):
    code = "ID016"
    name = "id-confusable"
    severity = Severity.WARNING
    origin = "product"
    summary = "Two ids differ only in `-` and `_`, `0` and `o`, or `1` and `l`."
    why = "They are hard to tell apart when reading, and a reference to the wrong one is still valid."
    needs = frozenset({SIMILAR_IDS})
    bad = {"steps": [{"id": "step-1"}, {"id": "step-l"}]}
    good = {"steps": [{"id": "step-1"}, {"id": "step-2"}]}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for what, ids in self._namespaces(workflow):
            seen: dict[str, str] = {}
            for ident, pointer in ids:
                other = seen.setdefault(folded(ident), ident)
                if other != ident:
                    message = f"the {what} {quoted(ident)} is easily mistaken for {quoted(other)}; rename one of them"
                    report(pointer, message)

    @staticmethod
    def _namespaces(workflow: WorkflowContext) -> Iterator[tuple[str, Iterable[tuple[str, str]]]]:
        """Yield each kind of id, with the ids that share a namespace and their places."""
        model = workflow.model
        yield "step id", ((owner.id, owner.at("id")) for owner in workflow.all_steps if owner.id)
        for owner in workflow.all_steps:
            if owner.kind == "standard":
                yield "fragment id", ((fragment.id, fragment.at("id")) for fragment in owner.prompt_fragments)
            if owner.kind != "parallel":
                yield "function name", ((item.name, item.at("name")) for item in owner.function_definitions)
        yield "assessment id", ((assessment.id, assessment.at("id")) for assessment in model.assessments)
        yield "slot id", ((point.slot_id, point.at("slotId")) for point in model.extension_points)
        yield "function name", ((item.name, item.at("name")) for item in model.function_definitions)
        yield "reference id", ((reference.id, reference.at("id")) for reference in model.references)
        for assessment in model.assessments:
            yield "dimension id", ((dimension.id, dimension.at("id")) for dimension in assessment.dimensions)
