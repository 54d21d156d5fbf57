"""The cross-field rules that no schema can express, as findings by name.

Each check knows whether the reference engine makes it too (`details["engine"]`): the linter checks more places than
the engine does, and under engine parity only what the engine rejects may be an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from workrail_lint.base import js
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import listed, quoted
from workrail_lint.documents.nodes import Node, numbered
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.rules.locate import ALSO
from workrail_lint.systems.workrail.compiler.nodes import name_hint
from workrail_lint.systems.workrail.compiler.steps import assessment_problems, declared_levels
from workrail_lint.systems.workrail.compiler.tokens import TOKEN, declared_slots
from workrail_lint.systems.workrail.model.nodes import BINDING_PREFIX
from workrail_lint.systems.workrail.model.workflow import (
    IR_ONLY,
    AuditConfig,
    FunctionCall,
    FunctionDefinition,
    FunctionParameter,
    LoopStep,
    ParallelStep,
    StandardStep,
    Step,
    Workflow,
)

if TYPE_CHECKING:
    Functions = Mapping[str, FunctionDefinition]

N = TypeVar("N", bound=Node)
_LONGEST_TITLE = 40
_SOURCES = {"prompt", "promptBlocks", "templateCall"}
# The schema checks the effects of assessments, and only the compiler rejects a duplicate trigger.
_LEFT_TO_OTHERS = ("CONSEQUENCE_UNSUPPORTED_EFFECT", "CONSEQUENCE_DUPLICATE_TRIGGER")


def structural_findings(workflow: Workflow) -> list[Finding]:
    """Return every cross-field violation of a workflow, whatever shape it is in."""
    findings = [*_check_ids(workflow)]
    for step in workflow.all_steps:
        if step.kind == "standard":
            findings += _check_standard(step)
        elif step.kind == "parallel":
            findings += _check_synthesis(step)
    findings += _check_loops(workflow)
    findings += _check_slots(workflow)
    for reference, first in _repeated(workflow.references, "id"):
        message = f"reference id {quoted(reference.id)} is already used by reference number {first}; rename one of them"
        findings.append(_finding("id-duplicate", reference.at("id"), message))
    findings += _check_assessments(workflow)
    findings += _check_functions(workflow)
    return findings


def start_findings(workflow: Workflow, *, engine: bool = True) -> list[Finding]:
    """Why the engine can't start a run: the first step must still exist after templates are expanded.

    Only a template call can remove it: expanded ids never equal the caller's. A workflow for the IR alone starts at the
    first expanded step.
    """
    first = workflow.steps[0] if workflow.steps else None
    if first is None or first.index != 0 or first.kind != "standard" or first.template_call is None:
        return []
    name = "template-call-first-step"
    message = (
        "a run can't start at a template call, because expanding it removes the step; put a plain step before it"
        if engine
        else "a template call as first step works with the ir target only; for the engine, put a plain step before it"
    )
    return [
        Finding(
            name,
            name,
            Severity.ERROR if engine else Severity.WARNING,
            f"step {quoted(first.id)}: {message}",
            first.at("templateCall"),
            phase=Phase.START,
            details={"engine": True},
            on_name=True,
        )
    ]


def ir_only_findings(workflow: Workflow) -> list[Finding]:
    """Return every member that no engine knows, which only the IR target takes."""
    return [
        Finding(
            "schema-unknown-member",
            "schema-unknown-member",
            Severity.ERROR,
            f"no engine knows the field {quoted(member)}; it works with the ir target only",
            node.at(member),
            phase=Phase.SCHEMA,
            details={"engine": True},
            on_name=True,
        )
        for node in (workflow.walk() if IR_ONLY else ())
        for member in IR_ONLY.get(type(node).__name__, ())
        if member in node
    ]


def _finding(
    name: str,
    pointer: str,
    message: str,
    *,
    engine: bool = True,
    severity: Severity = Severity.ERROR,
    suggestion: str | None = None,
    on_name: bool = False,
    also: str | None = None,
) -> Finding:
    """Return a finding; `also` is the pointer of another place, whose line the message ends with."""
    details: dict[str, object] = {"engine": engine}
    if also is not None:
        details[ALSO] = also
    if suggestion is not None:
        details["suggestion"] = suggestion
    return Finding(name, name, severity, message, pointer, phase=Phase.STRUCTURAL, details=details, on_name=on_name)


def _repeated(nodes: Sequence[N], member: str) -> Iterator[tuple[N, int]]:
    """Yield each node whose value of a member an earlier one has too, and the index of the first of them."""
    if len(nodes) < 2:
        return
    first: dict[str, N] = {}
    for node in nodes:
        if node.has(member):
            other = first.setdefault(getattr(node, node.leaves[member]), node)
            if other is not node:
                yield node, other.index


# Ids of steps


def _place_of(step: Step) -> str:
    """Return which step has an id: its number, and what people see of it."""
    titled = f" {quoted(step.title, _LONGEST_TITLE)}" if step.title else ""
    return f"step number {step.index + 1}{titled}"


def _check_ids(workflow: Workflow) -> Iterator[Finding]:
    for step, other in _sharing_ids(workflow.steps):
        message = f"duplicate step id {quoted(step.id)}; {_place_of(other)} has the same id"
        yield _finding("id-duplicate", step.at("id"), message, also=other.at("id"))
    for loop in workflow.steps:
        for step, other in _sharing_ids(loop.body_steps) if loop.kind == "loop" else ():
            message = f"loop {quoted(loop.id)}: duplicate step id {quoted(step.id)}; {_place_of(other)} has the same id"
            yield _finding("id-duplicate", step.at("id"), message, also=other.at("id"))


def _sharing_ids(steps: Sequence[Step]) -> Iterator[tuple[Step, Step]]:
    """Yield every step with a duplicate id, since either may be the wrong one, and the other step."""
    if len({step.id for step in steps}) == len(steps):
        return
    by_id: dict[str, list[Step]] = {}
    for step in steps:
        if step.id:
            by_id.setdefault(step.id, []).append(step)
    for sharing in by_id.values():
        for step in sharing if len(sharing) > 1 else ():
            yield step, sharing[0] if step is not sharing[0] else sharing[1]


# Prompt sources, fragments, and the configuration of virtual steps


def _check_standard(step: StandardStep) -> Iterator[Finding]:
    # A step of an unknown type was meant to be something else, which may need no prompt.
    if len(_SOURCES.intersection(step.raw)) != 1 and step.raw.get("type") in (None, "standard"):
        yield from _check_prompt_source(step)
    for fragment, first in _repeated(step.prompt_fragments, "id"):
        yield _finding(
            "id-duplicate",
            fragment.at("id"),
            f"{step.label}: duplicate fragment id {quoted(fragment.id)}; promptFragments[{first}] already uses it",
            engine=step.around is None,
        )
    for fragment in step.prompt_fragments:
        if "{{" in fragment.text and "{{wr." in fragment.text.lower():
            yield _finding(
                "token-unresolved",
                fragment.at("text"),
                f"{step.label}: a {{{{wr.…}}}} token in a fragment is never resolved; write the value",
                engine=step.around is None,
            )
    verification = step.verification
    if verification is not None and verification.command is not None and js.is_blank(verification.command):
        yield _finding(
            "virtual-config-empty",
            verification.at("command"),
            f"{step.label}: the verification command is blank; write it, or remove `verification`",
        )
    if step.audit is not None:
        yield from _check_audit(step, step.audit)


def _check_prompt_source(step: StandardStep) -> Iterator[Finding]:
    present = [name for name in step.raw if name in _SOURCES]
    if not present:
        yield _finding(
            "prompt-source-invalid",
            step.pointer,
            f"{step.label} has no prompt; add `prompt`, `promptBlocks` or `templateCall`",
        )
    elif len(present) > 1 and not (step.around is not None and "templateCall" not in present):
        # In a body the compiler rejects that one pair; the engine silently drops the rest.
        yield _finding(
            "prompt-source-invalid",
            # Where the compiler reports it too, so it is reported once.
            step.at("promptBlocks" if {"prompt", "promptBlocks"} <= set(present) else present[-1]),
            f"{step.label} has {listed(f'`{name}`' for name in present)}; keep one of them",
            engine=step.around is None,
            on_name=True,
        )


def _check_audit(step: StandardStep, audit: AuditConfig) -> Iterator[Finding]:
    if not _has_text(audit.prompt) and not audit.raw.get("rubric"):
        yield _finding(
            "virtual-config-empty",
            audit.pointer,
            f"{step.label}: `audit` needs a `prompt` or at least one `rubric` item",
        )
    for index, item in numbered(audit.rubric):
        if js.is_blank(item):
            yield _finding(
                "audit-rubric-blank",
                audit.at("rubric", index),
                f"{step.label}: audit.rubric[{index}] is blank; fill it in or remove it",
            )


def _check_synthesis(step: ParallelStep) -> Iterator[Finding]:
    synthesis = step.synthesis
    if synthesis is not None and not _has_text(synthesis.prompt) and "outputContract" not in synthesis:
        yield _finding(
            "virtual-config-empty",
            synthesis.pointer,
            f"{step.label}: `synthesis` needs a `prompt` or an `outputContract`",
        )


def _has_text(value: str | None) -> bool:
    return value is not None and not js.is_blank(value)


# Loops


def _check_loops(workflow: Workflow) -> Iterator[Finding]:
    """Loop configuration and what a loop body may be."""
    loops = [step for step in workflow.steps if step.kind == "loop"]
    if not loops:
        return
    by_id: dict[str, Step] = {}
    for step in workflow.steps:
        by_id.setdefault(step.id, step)
    body_ids: set[str] = set()
    for loop in loops:
        yield from _check_source(loop)
        if isinstance(loop.body, str):
            body_ids.add(loop.body)
            yield from _check_referenced_body(loop, loop.body, by_id)
        body_ids.update(inner.id for inner in loop.body_steps)
    for step in workflow.steps:
        if step.id in body_ids and step.run_condition is not None:
            yield _finding(
                "loop-body-ref-refused",
                step.at("runCondition"),
                f"step {quoted(step.id)}: a step that is the body of a loop can't have a runCondition; move the step "
                "into the loop's body",
            )


def _check_source(loop: LoopStep) -> Iterator[Finding]:
    config = loop.loop
    if config.type == "for" and config.count is not None and not isinstance(config.count, str) and config.count <= 0:
        yield _finding(
            "loop-count-not-positive",
            config.at("count"),
            f"loop {quoted(loop.id)}: count must be greater than 0 or the name of a context variable",
        )
    if config.type == "forEach" and config.items == "":
        yield _finding(
            "loop-member-missing",
            config.at("items"),
            f"loop {quoted(loop.id)}: items must be the name of a context variable",
        )


def _check_referenced_body(loop: LoopStep, body_id: str, by_id: dict[str, Step]) -> Iterator[Finding]:
    pointer = loop.at("body")
    if body_id == "":
        yield _finding("loop-body-empty", pointer, f"loop {quoted(loop.id)}: the body is empty; name a step")
        return
    target = by_id.get(body_id)
    if target is None:
        # A body can be neither a loop nor a step that a template replaces.
        fitting = {ident for ident, step in by_id.items() if step.kind != "loop" and not step.calls_template}
        suggestion = nearest(body_id, fitting)
        hint = f"; did you mean {quoted(suggestion)}?" if suggestion else ""
        yield _finding(
            "loop-body-reference-invalid",
            pointer,
            f"loop {quoted(loop.id)}: the body names the step {quoted(body_id)}, which does not exist{hint}",
            suggestion=suggestion,
        )
    elif target.kind == "loop":
        yield _finding(
            "loop-body-reference-invalid",
            pointer,
            f"loop {quoted(loop.id)}: the body names the loop {quoted(body_id)}; loops can't be nested",
        )
    elif target.kind == "standard":
        for block in ("verification", "audit"):
            if block in target:
                yield _finding(
                    "loop-body-ref-refused",
                    target.at(block),
                    f"step {quoted(body_id)}: loop {quoted(loop.id)} names this step as its body, so it can't have "
                    f"{block}; move the step into the loop's body",
                )


# Extension points and the binding tokens that use them


def _check_slots(workflow: Workflow) -> Iterator[Finding]:
    for point, first in _repeated(workflow.extension_points, "slotId"):
        message = f"duplicate slot {quoted(point.slot_id)}; extensionPoints[{first}] already declares it"
        yield _finding("id-duplicate", point.at("slotId"), message)
    declared = declared_slots(workflow.extension_points)
    has_points = workflow.has("extensionPoints") and bool(workflow.raw["extensionPoints"])
    for step in workflow.all_steps:
        if step.kind == "standard" and step.has_bindings:
            for text, node, place in step.bound_texts():
                if BINDING_PREFIX in text:
                    yield from _check_tokens(step, text, node.at(*place), declared, has_points)


def _check_tokens(
    step: StandardStep, text: str, pointer: str, declared: dict[str, str], has_points: bool
) -> Iterator[Finding]:
    if not has_points:
        # If nothing is declared, the engine searches for the bare prefix, even of a malformed token.
        yield _finding(
            "binding-no-extension-points",
            pointer,
            f"{step.label}: uses a binding token, but the workflow declares no extensionPoints; declare the slot",
        )
        return
    for slot in dict.fromkeys(match[1] for match in TOKEN.finditer(text)):
        if slot not in declared:
            suggestion = nearest(slot, declared)
            hint = name_hint(suggestion, "declared slots", declared)
            yield _finding(
                "binding-slot-undeclared",
                pointer,
                f"{step.label}: unknown binding slot {quoted(slot)}{hint}",
                suggestion=suggestion,
            )


# Assessments, the steps that reference them, and the consequences they have


def _check_assessments(workflow: Workflow) -> Iterator[Finding]:
    for assessment, first in _repeated(workflow.assessments, "id"):
        message = f"duplicate assessment id {quoted(assessment.id)}; assessments[{first}] already uses it"
        yield _finding("id-duplicate", assessment.at("id"), message)
    for assessment in workflow.assessments:
        for dimension, first in _repeated(assessment.dimensions, "id"):
            message = (
                f"assessment {quoted(assessment.id)}: duplicate dimension id {quoted(dimension.id)}; "
                f"dimensions[{first}] already uses it"
            )
            yield _finding("id-duplicate", dimension.at("id"), message)
    levels = declared_levels(workflow.assessments)
    for step in workflow.all_steps:
        if step.kind != "standard" or not step.mentions_assessments:
            continue
        for problem in assessment_problems(step, levels):
            if problem.code not in _LEFT_TO_OTHERS:
                suggestion = problem.details.get("suggestion")
                yield _finding(
                    problem.name,
                    problem.pointer,
                    f"{step.label}: {problem.message}",
                    suggestion=str(suggestion) if suggestion else None,
                )


# Function calls: the function is visible, and its required arguments are present and of the right type


def _check_functions(workflow: Workflow) -> Iterator[Finding]:
    of_workflow = named_functions(workflow.function_definitions)
    for step in workflow.all_steps:
        if step.kind == "standard" and step.function_calls:
            around = step.around.function_definitions if step.around is not None else ()
            visible = {**of_workflow, **named_functions(around), **named_functions(step.function_definitions)}
            for call in step.function_calls:
                if call.has("name") and call.has("args"):
                    yield from _check_call(step, call, visible)


def named_functions(definitions: Sequence[FunctionDefinition]) -> dict[str, FunctionDefinition]:
    """Return functions by name; a later definition of a name replaces an earlier one."""
    return {function.name: function for function in definitions if function.has("name")}


def _check_call(step: StandardStep, call: FunctionCall, visible: Functions) -> Iterator[Finding]:
    function = visible.get(call.name)
    if function is None:
        suggestion = nearest(call.name, visible)
        hint = name_hint(suggestion, "visible functions", visible)
        yield _finding(
            "function-unknown",
            call.at("name"),
            f"{step.label}: unknown function {quoted(call.name)}{hint}",
            suggestion=suggestion,
        )
    elif function.parameters:
        yield from _check_arguments(f"{step.label}: function {quoted(call.name)}", call, function)


def _check_arguments(label: str, call: FunctionCall, function: FunctionDefinition) -> Iterator[Finding]:
    parameters: dict[str, FunctionParameter] = {}
    for parameter in function.parameters:
        if not parameter.has("name"):
            continue
        if parameter.required and parameter.name not in call.args:
            message = f"{label} requires the argument {quoted(parameter.name)}"
            yield _finding("function-argument-invalid", call.at("args"), message)
        parameters.setdefault(parameter.name, parameter)
    for name, value in call.args.items():
        place = call.at("args", name)
        known = parameters.get(name)
        if known is None:
            suggestion = nearest(name, parameters)
            yield _finding(
                "function-arg-unknown",
                place,
                f"{label} has no parameter {quoted(name)}{name_hint(suggestion, 'declared parameters', parameters)}",
                engine=False,
                severity=Severity.WARNING,
                suggestion=suggestion,
                on_name=True,
            )
        elif not has_type(value, known.type):
            message = f"{label}: argument {quoted(name)} must be of type {known.type}, not {js.type_name(value)}"
            yield _finding("function-argument-invalid", place, message)
        elif known.has("enum") and not any(js.strict_equal(value, item) for item in known.enum):
            allowed = ", ".join(quoted(js.text(item)) for item in known.enum)
            message = f"{label}: argument {quoted(name)} must be one of {allowed}, not {quoted(js.text(value))}"
            yield _finding("function-argument-invalid", place, message)


def has_type(value: Any, kind: str | None) -> bool:
    """Return whether a value has a parameter type; an unknown type allows every value."""
    if kind is None:
        return True
    return js.type_name(value) == kind and (kind != "number" or math.isfinite(value))
