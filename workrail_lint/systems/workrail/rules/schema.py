"""SC: the schema. Rules that describe violations nothing more specific is known about, and those of whole steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from workrail_lint.base.wording import quoted
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.operations import Remove, Rename, Replace
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.documents.schema.messages import did_you_mean, message_of, nearest_member, shown
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import ANY, Description
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.samples import controlled_loop, loop, parallel, step, workflow
from workrail_lint.systems.workrail.step_place import STEP_SHAPES, StepPlace, elsewhere, other_step_shapes

_CONNECTIVES = ("and", "or", "not")
_COMPOSITIONS = ("Composition", "AllCriteria", "AnyCriteria", "NotCriteria")
_SOURCE_FORMS = (
    'write `{"kind": "artifact_contract", "contractRef": …, "loopId": …}` or '
    '`{"kind": "context_variable", "condition": …}`'
)


class SchemaRule(WorkflowRule):
    """A rule about keywords of the schema, wherever they are."""

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        return Description.of(message_of(violation, place))


class SchemaUnknownMember(SchemaRule):
    code = "SC001"
    name = "schema-unknown-member"
    severity = Severity.ERROR
    origin = "schema"
    summary = "An object has an unknown member."
    why = "The engine rejects unknown members, because a misspelled one would otherwise be ignored silently."
    fix = "Rename the member if exactly one known name is close to it."
    fix_safety = "unsafe"
    describes = ((ANY, "additionalProperties"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        name, subject = violation.member, f"{shown(violation.member)}{place.inside}"
        home = elsewhere(name, violation.shape)
        if home is not None:
            return Description(f"unknown field {subject}; it belongs {home}", on_name=True)
        if violation.shape in _COMPOSITIONS:
            return Description(f"unknown member {subject}; a composition has only one of and, or, not", on_name=True)
        if violation.shape == "ValidationRule" and name in _CONNECTIVES:
            message = "a list can only contain plain rules; make `validationCriteria` itself the composition"
            return Description(f"{subject}: {message}", on_name=True)
        return super().describe(violation, place)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        name = finding.suggestion
        return unsafe(f"rename it to {quoted(name)}", Rename(finding.pointer, name)) if name else None

    def examples(self) -> Iterator[Example]:
        good = workflow(step())
        yield Example(workflow({"id": "first-step", "titel": "A step", "prompt": "Describe what you see."}), good, good)


class SchemaMissingMember(SchemaRule):
    code = "SC002"
    name = "schema-missing-member"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A required member is missing."
    why = "The engine rejects the workflow; required members have no default."
    describes = ((ANY, "required"), (ANY, "anyOf"))
    bad = {"title": ...}


class SchemaType(SchemaRule):
    code = "SC003"
    name = "schema-type"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A value has the wrong JSON type."
    why = 'Values are not converted: `"3"` is not a number, and `null` is not the same as a missing member.'
    describes = ((ANY, "type"),)
    bad = {"guidance": "Read first."}
    good = {"guidance": ["Read first."]}


class SchemaEnum(SchemaRule):
    code = "SC004"
    name = "schema-enum"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A value is not one of those allowed at its place."
    why = "The engine has no behaviour for other values and rejects the workflow."
    fix = "Write the closest allowed value."
    fix_safety = "unsafe"
    describes = ((ANY, "enum"), (ANY, "const"))
    bad = {"steps": [{"modelTier": "Heavy"}]}
    good = {"steps": [{"modelTier": "heavy"}]}

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        value = finding.suggestion
        return unsafe(f"write {quoted(value)}", Replace(finding.pointer, value)) if value else None


class SchemaPattern(SchemaRule):
    code = "SC005"
    name = "schema-pattern"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A string does not match the required pattern."
    why = "Names are used in tokens and lookups, which only work for names of the documented form."
    fix = "Write the intended spelling if it is certain, such as the missing parentheses of a function reference."
    fix_safety = "unsafe"
    describes = ((ANY, "pattern"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        if violation.member != "functionReferences" or violation.shape not in STEP_SHAPES:
            return super().describe(violation, place)
        name = violation.value
        suggestion = f"{name}()" if re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) else None
        message = f"{place.path} must be a function name followed by () ({violation.expected}), not {shown(name)}"
        return Description(message + did_you_mean(suggestion), suggestion=suggestion)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        value = finding.suggestion
        return unsafe(f"write {quoted(value)}", Replace(finding.pointer, value)) if value else None

    def examples(self) -> Iterator[Example]:
        functions = [{"name": "score", "definition": "Rate it from 1 to 5."}]
        good = workflow(step(functionReferences=["score()"]), functionDefinitions=functions)
        yield Example(workflow(step(functionReferences=["score"]), functionDefinitions=functions), good, good)


class SchemaTooShort(SchemaRule):
    code = "SC006"
    name = "schema-too-short"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A string has fewer characters than required."
    why = "The engine rejects the workflow. Lengths count Unicode code points."
    describes = ((ANY, "minLength"),)
    bad = {"agentRole": "dev"}
    good = {"agentRole": "Careful senior developer"}


class SchemaTooLong(SchemaRule):
    code = "SC007"
    name = "schema-too-long"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A string has more characters than allowed."
    why = "The engine rejects the workflow. Lengths count Unicode code points."
    describes = ((ANY, "maxLength"),)

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(step(title="Look again. " * 20)), workflow(step(title="Look again")))


class SchemaTooFew(SchemaRule):
    code = "SC008"
    name = "schema-too-few"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A list has fewer items than required."
    why = "The engine rejects the workflow. An empty list says no more than a missing member does."
    describes = ((ANY, "minItems"),)
    bad = {"examples": []}


class SchemaTooMany(SchemaRule):
    code = "SC009"
    name = "schema-too-many"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A list has more items than allowed."
    why = "The engine rejects the workflow."
    describes = ((ANY, "maxItems"),)

    def examples(self) -> Iterator[Example]:
        goals = [f"Review change number {number}" for number in range(1, 8)]
        yield Example(workflow(examples=goals), workflow(examples=goals[:6]))


class SchemaNotUnique(SchemaRule):
    code = "SC010"
    name = "schema-not-unique"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A list whose items must be unique repeats one."
    why = "The engine rejects the workflow. Items are compared by value; the order of members does not matter."
    fix = "Remove the later of the two items."
    fix_safety = "unsafe"
    describes = ((ANY, "uniqueItems"),)
    bad = {"metaGuidance": ["Stay in scope.", "Stay in scope."]}
    good = {"metaGuidance": ["Stay in scope."]}

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        return unsafe("remove the repeated item", Remove(finding.pointer))


class SchemaRange(SchemaRule):
    code = "SC011"
    name = "schema-range"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A number is out of range."
    why = "The engine rejects the workflow."
    describes = ((ANY, "minimum"), (ANY, "maximum"))
    bad = {"validatedAgainstSpecVersion": 0}


class SchemaOneOfCriteria(WorkflowRule):
    code = "SC012"
    name = "schema-one-of-criteria"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A composition of validation criteria has none or several of `and`, `or` and `not`."
    why = "One object combines its parts in one way; with two connectives it is unclear how they relate."
    describes = tuple((shape, keyword) for shape in _COMPOSITIONS for keyword in ("anyOf", "additionalProperties"))

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        if violation.keyword == "anyOf":
            wanted = "a list of rules, or an object with exactly one of and, or, not"
            return Description(f"{place.subject} must be {wanted}") if "type" not in violation.value else None
        if violation.member not in _CONNECTIVES:
            return None
        subject = f"{shown(violation.member)}{place.inside}"
        return Description(f"{subject} can't be next to another connective; keep one of and, or, not", on_name=True)

    def examples(self) -> Iterator[Example]:
        rule = {"type": "length", "min": 200, "message": "Say more."}
        yield Example(
            workflow(step(validationCriteria={"and": [rule], "or": [rule]})),
            workflow(step(validationCriteria={"and": [rule, {"or": [rule]}]})),
        )


class StepTypeUnknown(WorkflowRule):
    code = "SC013"
    name = "step-type-unknown"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A step's `type` is neither `loop` nor `parallel`."
    why = "Only loop and parallel steps have a type; a standard step has none. The engine rejects any other value."
    fix = "Remove the member if its value is `standard`."
    fix_safety = "unsafe"
    describes = (("Step", "enum"), ("BodyStep", "enum"))
    bad = {"type": "standard"}

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        value, known = violation.value, violation.expected
        meant = nearest_member(value, known) if isinstance(value, str) else None
        kinds = " or ".join(quoted(kind) for kind in known)
        hint = f"use {kinds}, or remove `type` for a standard step{did_you_mean(meant)}"
        return Description(f"unknown step type {shown(value)}; {hint}")

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        if _value(workflow.definition, finding.pointer) != "standard":
            return None
        return unsafe("remove `type`", Remove(finding.pointer))


class StepMemberWrongShape(WorkflowRule):
    code = "SC014"
    name = "step-member-wrong-shape"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A step has a member that belongs to another kind of step."
    why = "The member would have no effect: for example, a loop has no prompt and a parallel step no audit."
    describes = tuple((shape, "additionalProperties") for shape in STEP_SHAPES)

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        name = violation.member
        kinds = " or ".join(other_step_shapes(name, violation.shape))
        if not kinds:
            return None
        message = f"{STEP_SHAPES[violation.shape]} can't have {shown(name)}, which belongs to {kinds}"
        return Description(message, on_name=True)

    def examples(self) -> Iterator[Example]:
        yield Example(workflow({**loop(), "prompt": "Look again."}), workflow(loop()))
        yield Example(workflow(parallel(type=...)), workflow(parallel()))


class VersionNotSemver(WorkflowRule):
    code = "SC015"
    name = "version-not-semver"
    severity = Severity.ERROR
    origin = "schema"
    summary = "The workflow's `version` is not a semantic version."
    why = "The engine only accepts MAJOR.MINOR.PATCH, so versions can be compared."
    fix = "Pad a version of plain numbers to three parts."
    fix_safety = "unsafe"
    describes = (("Workflow", "pattern", "version"),)
    bad = {"version": "1.0"}

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        version = violation.value
        message = f"version {shown(version)} is not a semantic version (MAJOR.MINOR.PATCH)"
        if re.fullmatch(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))?", version):
            padded = version + ".0" * (2 - version.count("."))
            return Description(message + did_you_mean(padded), suggestion=padded)
        return Description(f"{message}; write one such as 1.0.0")

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        version = finding.suggestion
        return unsafe(f"write {quoted(version)}", Replace(finding.pointer, version)) if version else None


class StepsEmpty(WorkflowRule):
    code = "SC016"
    name = "steps-empty"
    severity = Severity.ERROR
    origin = "schema"
    summary = "The workflow has no steps."
    why = "There is nothing to run."
    describes = (("Workflow", "minItems", "steps"),)
    bad = {"steps": []}

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        return Description("the workflow has no steps; add at least one")


class ConditionSourceShape(WorkflowRule):
    code = "SC017"
    name = "condition-source-shape"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A loop's `conditionSource` has an invalid shape."
    why = (
        "A loop reads its decision from an artifact (`artifact_contract` with a `contractRef`) or from the context "
        "(`context_variable` with a `condition`). Any other shape decides nothing."
    )
    describes = (("ConditionSource",), ("ArtifactSource",), ("ContextSource",))

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        message = message_of(violation, place)
        return Description(f"{message.text}; {_SOURCE_FORMS}", on_name=message.on_name)

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(controlled_loop(conditionSource={"kind": "artifact_contract"})), workflow(controlled_loop())
        )


class CriteriaBareRule(WorkflowRule):
    code = "SC018"
    name = "criteria-bare-rule"
    severity = Severity.ERROR
    origin = "schema"
    summary = "`validationCriteria` is a single rule instead of a list."
    why = (
        "The engine only accepts a list of rules or a composition. Outside engine parity a single rule is read as a "
        "list of one and reported as `design-form-construct`."
    )
    fix = "Wrap the rule in a list."
    fix_safety = "unsafe"
    describes = tuple((shape, "anyOf") for shape in _COMPOSITIONS)

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        return (
            Description(f"{place.subject} is a single rule; wrap it in a list") if "type" in violation.value else None
        )

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        rule: Any = _value(workflow.definition, finding.pointer)
        return unsafe("wrap the rule in a list", Replace(finding.pointer, [rule])) if isinstance(rule, dict) else None

    def examples(self) -> Iterator[Example]:
        rule = {"type": "length", "min": 200, "message": "Say more."}
        good = workflow(step(validationCriteria=[rule]))
        yield Example(workflow(step(validationCriteria=rule)), good, good, options={"engine_parity": True})


def _value(root: object, pointer: str) -> object:
    try:
        return pointers.resolve(root, pointer)
    except KeyError:
        return None
