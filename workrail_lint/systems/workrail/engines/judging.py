"""A workflow judged for an older release: what that release lacks, and which release brings it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workrail_lint.base.wording import quoted
from workrail_lint.documents.pointer import parent
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.workrail.engines.releases import Release, Target
from workrail_lint.systems.workrail.model.workflow import Workflow
from workrail_lint.systems.workrail.step_place import StepPlace

NEEDED = "engine-version-needed"
_Key = tuple[str, str, str]


def _key(violation: Violation) -> _Key:
    return violation.pointer, violation.keyword, violation.member


def still_refused(target: Target, definition: dict[str, Any], violations: Sequence[Violation]) -> list[Violation]:
    """Return the violations of the newest schema without those that are none for an older release."""
    if not violations:
        return []
    there = target.validator.violations(definition)
    refused = {_key(violation) for violation in there}
    places = {violation.pointer for violation in there}
    return [
        violation
        for violation in violations
        # What is inside of a refused value is not looked at there, but wrong all the same.
        if _key(violation) in refused or any(f"{violation.pointer}/".startswith(f"{place}/") for place in places)
    ]


def release_findings(
    target: Target, workflow: Workflow, violations: Sequence[Violation], findings: list[Finding]
) -> list[Finding]:
    """Return the findings for an older release, given those for the newest one and the violations of its schema."""
    target.drop_later_checks(findings)
    result = [_of_builtin(target, finding, workflow.raw) or finding for finding in findings]
    known = {_key(violation) for violation in violations}
    missing = [each for each in target.validator.violations(workflow.raw) if _key(each) not in known]
    result += _of_schema(target, workflow.raw, missing)
    if target.still_makes("consequence-dimension"):
        result += _dimension_findings(workflow)
    return result


def _finding(pointer: str, message: str, phase: Phase = Phase.SCHEMA, *, on_name: bool = False) -> Finding:
    details: dict[str, object] = {"engine": True}
    return Finding(NEEDED, NEEDED, Severity.ERROR, message, pointer, phase=phase, details=details, on_name=on_name)


# What the schema of the release does not admit


def _of_schema(target: Target, definition: dict[str, Any], missing: list[Violation]) -> Iterator[Finding]:
    if not missing:
        return
    needed: dict[_Key, Release] = {}
    waiting = {_key(violation) for violation in missing}
    for later in target.later_schemas:
        refused = {_key(violation) for violation in later.validator.violations(definition)}
        needed.update((key, later.release) for key in waiting - refused)
        waiting &= refused
    kinds = {parent(violation.pointer) for violation in missing if violation.member == "type"}
    for violation in missing:
        if violation.member != "type" and parent(violation.pointer) in kinds:
            continue  # a member of a kind of step that is not there
        release = needed.get(_key(violation))
        place = StepPlace(violation.pointer, definition)
        message = _message(violation, target.label, None if release is None else release.label)
        yield _finding(violation.pointer, place.say(message), on_name=violation.keyword == "additionalProperties")


def _message(violation: Violation, here: str, there: str | None) -> str:
    if there is None:  # another part of the same object has to change first
        return f"engine {here}, which this project targets, refuses {quoted(violation.member)} here"
    aim = f"; this project targets {here}"
    match violation.keyword:
        case "additionalProperties" if violation.member == "type":
            return f"`{violation.value}` steps in a loop need engine {there}{aim}"
        case "additionalProperties":
            return f"`{violation.member}` needs engine {there}{aim}"
        case "required":
            return (
                f"engine {here}, which this project targets, needs `{violation.member}` here; engine {there} does not"
            )
        case "enum" | "const" if violation.member == "type" and isinstance(violation.value, str):
            return f"`{violation.value}` steps need engine {there}{aim}"
        case "enum" | "const":
            return f"the value {quoted(violation.value)} of `{violation.member}` needs engine {there}{aim}"
        case "maxItems":
            more = f"more than {violation.expected} item{'s' if violation.expected != 1 else ''}"
            return f"{more} in `{violation.member}` needs engine {there}{aim}"
        case _:
            return f"this form of `{violation.member}` needs engine {there}{aim}"


# Builtins that came later


def _of_builtin(target: Target, finding: Finding, definition: dict[str, Any]) -> Finding | None:
    """Return what to say instead of "unknown" about a builtin of a later release; None if that is not the reason."""
    if not finding.details.get("engine"):
        return None
    place = StepPlace(finding.pointer, definition)
    name = place.value(place.tokens)
    release = target.missing_builtins.get(name) if isinstance(name, str) else None
    if release is None:
        return None
    message = f"`{name}` needs engine {release.label}; this project targets {target.label}"
    return _finding(finding.pointer, place.say(message), finding.phase)


# The trigger of a consequence, as long as it named a dimension


def _dimension_findings(workflow: Workflow) -> Iterator[Finding]:
    levels = {
        each.id: {dimension.id: dimension.levels for dimension in each.dimensions} for each in workflow.assessments
    }
    for step in workflow.all_steps:
        if step.kind != "standard" or not step.assessment_refs:
            continue
        dimensions = levels.get(step.assessment_refs[0])
        for consequence in step.assessment_consequences if dimensions is not None else ():
            when = consequence.raw.get("when")
            if not isinstance(when, dict) or "dimensionId" not in when:
                continue
            known = (dimensions or {}).get(when["dimensionId"])
            if known is None:
                message = f"{step.label}: the assessment has no dimension {quoted(when['dimensionId'])}"
                yield _finding(f"{consequence.pointer}/when/dimensionId", message, Phase.STRUCTURAL)
            elif when.get("equalsLevel") not in known:
                message = f"{step.label}: the dimension has no level {quoted(when.get('equalsLevel'))}"
                yield _finding(f"{consequence.pointer}/when/equalsLevel", message, Phase.STRUCTURAL)
