"""SC: the schema. `schema_findings` finds the violations; here are the names, the reasons and the fixes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.base.wording import quoted
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.operations import Remove, Rename, Replace
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.samples import controlled_loop, loop, parallel, step, workflow

if TYPE_CHECKING:
    from workrail_lint.findings import Finding


def _suggested(finding: Finding) -> str | None:
    suggestion = finding.details.get("suggestion")
    return suggestion if isinstance(suggestion, str) else None


class SchemaUnknownMember(WorkflowRule):
    code = "SC001"
    name = "schema-unknown-member"
    severity = Severity.ERROR
    origin = "schema"
    summary = "An object has an unknown member."
    why = "The engine rejects unknown members, because a misspelled one would otherwise be ignored silently."
    fix = "Rename the member if exactly one known name is close to it."
    fix_safety = "unsafe"

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        name = _suggested(finding)
        return unsafe(f"rename it to {quoted(name)}", Rename(finding.pointer, name)) if name else None

    def examples(self) -> Iterator[Example]:
        good = workflow(step())
        yield Example(workflow({"id": "first-step", "titel": "A step", "prompt": "Describe what you see."}), good, good)


class SchemaMissingMember(WorkflowRule):
    code = "SC002"
    name = "schema-missing-member"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A required member is missing."
    why = "The engine rejects the workflow; required members have no default."

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(step(title=...)), workflow(step()))


class SchemaType(WorkflowRule):
    code = "SC003"
    name = "schema-type"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A value has the wrong JSON type."
    why = 'Values are not converted: `"3"` is not a number, and `null` is not the same as a missing member.'

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(step(guidance="Read first.")), workflow(step(guidance=["Read first."])))


class SchemaEnum(WorkflowRule):
    code = "SC004"
    name = "schema-enum"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A value is not one of those allowed at its place."
    why = "The engine has no behaviour for other values and rejects the workflow."
    fix = "Write the closest allowed value."
    fix_safety = "unsafe"

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        value = _suggested(finding)
        return unsafe(f"write {quoted(value)}", Replace(finding.pointer, value)) if value else None

    def examples(self) -> Iterator[Example]:
        good = workflow(step(modelTier="heavy"))
        yield Example(workflow(step(modelTier="Heavy")), good, good)


class SchemaPattern(WorkflowRule):
    code = "SC005"
    name = "schema-pattern"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A string does not match the required pattern."
    why = "Names are used in tokens and lookups, which only work for names of the documented form."
    fix = "Write the intended spelling if it is certain, such as the missing parentheses of a function reference."
    fix_safety = "unsafe"

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        value = _suggested(finding)
        return unsafe(f"write {quoted(value)}", Replace(finding.pointer, value)) if value else None

    def examples(self) -> Iterator[Example]:
        functions = [{"name": "score", "definition": "Rate it from 1 to 5."}]
        good = workflow(step(functionReferences=["score()"]), functionDefinitions=functions)
        yield Example(workflow(step(functionReferences=["score"]), functionDefinitions=functions), good, good)


class SchemaTooShort(WorkflowRule):
    code = "SC006"
    name = "schema-too-short"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A string has fewer characters than required."
    why = "The engine rejects the workflow. Lengths count Unicode code points."

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(step(agentRole="dev")), workflow(step(agentRole="Careful senior developer")))


class SchemaTooLong(WorkflowRule):
    code = "SC007"
    name = "schema-too-long"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A string has more characters than allowed."
    why = "The engine rejects the workflow. Lengths count Unicode code points."

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(step(title="Look again. " * 20)), workflow(step(title="Look again")))


class SchemaTooFew(WorkflowRule):
    code = "SC008"
    name = "schema-too-few"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A list has fewer items than required."
    why = "The engine rejects the workflow. An empty list says no more than a missing member does."

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(examples=[]), workflow(examples=["Show me what this rule finds"]))


class SchemaTooMany(WorkflowRule):
    code = "SC009"
    name = "schema-too-many"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A list has more items than allowed."
    why = "The engine rejects the workflow."

    def examples(self) -> Iterator[Example]:
        goals = [f"Review change number {number}" for number in range(1, 8)]
        yield Example(workflow(examples=goals), workflow(examples=goals[:6]))


class SchemaNotUnique(WorkflowRule):
    code = "SC010"
    name = "schema-not-unique"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A list whose items must be unique repeats one."
    why = "The engine rejects the workflow. Items are compared by value; the order of members does not matter."
    fix = "Remove the later of the two items."
    fix_safety = "unsafe"

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        return unsafe("remove the repeated item", Remove(finding.pointer))

    def examples(self) -> Iterator[Example]:
        good = workflow(metaGuidance=["Stay in scope."])
        yield Example(workflow(metaGuidance=["Stay in scope.", "Stay in scope."]), good, good)


class SchemaRange(WorkflowRule):
    code = "SC011"
    name = "schema-range"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A number is out of range."
    why = "The engine rejects the workflow."

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(validatedAgainstSpecVersion=0), workflow(validatedAgainstSpecVersion=3))


class SchemaOneOfCriteria(WorkflowRule):
    code = "SC012"
    name = "schema-one-of-criteria"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A composition of validation criteria has none or several of `and`, `or` and `not`."
    why = "One object combines its parts in one way; with two connectives it is unclear how they relate."

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

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        if _value(workflow.definition, finding.pointer) != "standard":
            return None
        return unsafe("remove `type`", Remove(finding.pointer))

    def examples(self) -> Iterator[Example]:
        good = workflow(step())
        yield Example(workflow(step(type="standard")), good, good)


class StepMemberWrongShape(WorkflowRule):
    code = "SC014"
    name = "step-member-wrong-shape"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A step has a member that belongs to another kind of step."
    why = "The member would have no effect: for example, a loop has no prompt and a parallel step no audit."

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

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        version = _suggested(finding)
        return unsafe(f"write {quoted(version)}", Replace(finding.pointer, version)) if version else None

    def examples(self) -> Iterator[Example]:
        good = workflow(version="1.0.0")
        yield Example(workflow(version="1.0"), good, good)


class StepsEmpty(WorkflowRule):
    code = "SC016"
    name = "steps-empty"
    severity = Severity.ERROR
    origin = "schema"
    summary = "The workflow has no steps."
    why = "There is nothing to run."

    def examples(self) -> Iterator[Example]:
        yield Example({**workflow(), "steps": []}, workflow())


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
