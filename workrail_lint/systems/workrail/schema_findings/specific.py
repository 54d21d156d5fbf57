"""The specific findings: names and messages for violations of particular shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any

from workrail_lint.base.wording import listed, quoted
from workrail_lint.documents import pointer as pointers
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.workrail import identity
from workrail_lint.systems.workrail.schema_findings.keywords import Message, did_you_mean, general, outside_set
from workrail_lint.systems.workrail.schema_findings.members import (
    EVALUATOR_ONLY,
    INLINE_SCHEMA,
    STEP_SHAPES,
    members,
    nearest_member,
    nearest_operator,
    other_step_shapes,
)
from workrail_lint.systems.workrail.schema_findings.places import Place, shown
from workrail_lint.systems.workrail.vocabulary import GateKind, LoopType

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation

_STEP_ID = "step-id-pattern"
_Triple = tuple["Violation", Place, Message]
_Describer = Callable[["Violation", Place], "Message | None"]

_CONNECTIVES = ("and", "or", "not")
_SOURCE_FORMS = (
    'write `{"kind": "artifact_contract", "contractRef": …, "loopId": …}` or '
    '`{"kind": "context_variable", "condition": …}`'
)


def findings_of(violations: list[Violation], definition: dict[str, Any]) -> list[Finding]:
    """One finding for each violation that no other finding covers."""
    messages: list[_Triple] = []
    for violation in violations:
        place = Place(violation.pointer, definition)
        messages.append((violation, place, _message_of(violation, place)))
    messages = _with_free_ids(_untyped_steps(messages), definition)
    covered = {(pointers.parent(v.pointer), words.suggestion) for v, _, words in messages if words.on_name}
    compositions = {pointers.parent(v.pointer) for v, place, _ in messages if _is_listed_composition(v, place)}
    found: list[Finding] = []
    for violation, place, words in messages:
        # A misspelled member is missing under its right name, and a composition lacks what only rules have.
        is_covered = (violation.pointer, violation.expected) in covered or violation.pointer in compositions
        if violation.keyword == "required" and is_covered:
            continue
        details: dict[str, object] = {"engine": True}
        if words.suggestion is not None:
            details["suggestion"] = words.suggestion
        found.append(
            Finding(
                words.name,
                words.name,
                Severity.ERROR,
                place.say(words.text),
                violation.pointer,
                phase=Phase.SCHEMA,
                details=details,
                on_name=words.on_name,
            )
        )
    return found


def _with_free_ids(messages: list[_Triple], definition: dict[str, Any]) -> list[_Triple]:
    """Remove suggestions of step ids that another step has, or that were suggested before."""
    if not any(words.name == _STEP_ID for _, _, words in messages):
        return messages
    taken = set(_step_ids(definition))
    free: list[_Triple] = []
    for violation, place, words in messages:
        suggestion = words.suggestion if words.name == _STEP_ID else None
        if suggestion is not None and suggestion in taken:
            words = Message(_STEP_ID, words.text.removesuffix(did_you_mean(suggestion)))
        elif suggestion is not None:
            taken.add(suggestion)
        free.append((violation, place, words))
    return free


def _step_ids(definition: dict[str, Any]) -> Iterator[str]:
    steps = definition.get("steps")
    for step in steps if isinstance(steps, list) else ():
        body = step.get("body") if isinstance(step, dict) else None
        for item in (step, *(body if isinstance(body, list) else ())):
            if isinstance(item, dict) and isinstance(item.get("id"), str):
                yield item["id"]


def _untyped_steps(messages: list[_Triple]) -> list[_Triple]:
    """What says "this is a loop" or "this is parallel" on a step without a type is one mistake in the step."""
    marks = {"loop": ("loop", "body"), "parallel": ("parallelDelegations",)}
    unknown: dict[str, set[str]] = {}
    for violation, place, _ in messages:
        if violation.shape == "StandardStep" and violation.keyword == "additionalProperties":
            unknown.setdefault(pointers.parent(violation.pointer), set()).add(place.member)
    meant = {
        pointer: (kind, names)
        for pointer, found in unknown.items()
        for kind, names in marks.items()
        if found.issuperset(names)
    }
    result: list[_Triple] = []
    for violation, place, words in messages:
        step = pointers.parent(violation.pointer)
        kind, names = meant.get(step, ("", ()))
        if place.member not in names:
            result.append((violation, place, words))
        elif place.member == names[0]:
            text = f"{' and '.join(names)} belong to a {kind} step; set `type` to {quoted(kind)}"
            above = Place(step, place.definition)
            result.append((violation._replace(pointer=step), above, Message("step-member-wrong-shape", text)))
    return result


def _message_of(violation: Violation, place: Place) -> Message:
    describe = _DESCRIBERS.get(violation.shape)
    message = describe(violation, place) if describe is not None else None
    return message if message is not None else general(violation, place)


# ----------------------------------------------------------------------------------------------- identity


def _workflow(violation: Violation, place: Place) -> Message | None:
    match violation.keyword, place.path:
        case "pattern", "id":
            return _workflow_id(violation.value)
        case "pattern", "version":
            return _version(violation.value)
        case "minItems", "steps":
            return Message("steps-empty", "the workflow has no steps; add at least one")
    return None


def _workflow_id(ident: str) -> Message:
    subject = f"workflow id {shown(ident)}"
    if ident.count(".") > 1:
        return Message("workflow-id-dots", f"{subject} has {ident.count('.')} dots; write namespace.name with one dot")
    segments = ident.split(".")
    if len(segments) == 2 and 1 in map(len, segments) and identity.parse(ident) is not None:
        short = quoted(next(segment for segment in segments if len(segment) == 1))
        return Message(
            "workflow-id-segment-short",
            f"{subject}: {short} is too short; both parts need at least two characters",
        )
    candidate = re.sub(r"[^a-z0-9_.-]", "_", ident.lower())
    suggestion = candidate if identity.is_valid(candidate) else None
    return Message(
        "workflow-id-pattern",
        f"{subject} must be namespace.name, each part a lower-case letter followed by a-z, 0-9, _ or -"
        + did_you_mean(suggestion),
        suggestion,
    )


def _version(version: str) -> Message:
    text = f"version {shown(version)} is not a semantic version (MAJOR.MINOR.PATCH)"
    if re.fullmatch(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))?", version):
        padded = version + ".0" * (2 - version.count("."))
        return Message("version-not-semver", text + did_you_mean(padded), padded)
    return Message("version-not-semver", f"{text}; write one such as 1.0.0")


# -------------------------------------------------------------------------------------------------- steps


def _step(violation: Violation, place: Place) -> Message | None:
    if violation.keyword in ("pattern", "minLength", "maxLength") and place.path == "id":
        return _step_id(violation.value)
    if violation.keyword == "additionalProperties":
        return _step_member(violation, place)
    if violation.keyword == "pattern" and place.path.startswith("functionReferences["):
        name = violation.value
        suggestion = f"{name}()" if re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) else None
        text = f"{place.path} must be a function name followed by () ({violation.expected}), not {shown(name)}"
        return Message("schema-pattern", text + did_you_mean(suggestion), suggestion)
    return None


def _step_id(ident: str) -> Message:
    candidate = re.sub(r"[^a-z0-9-]+", "-", ident.lower()).strip("-")
    suggestion = candidate if 3 <= len(candidate) <= 64 and candidate != ident else None
    text = f"id {shown(ident)} must have 3 to 64 characters from a-z, 0-9 and -"
    return Message(_STEP_ID, text + did_you_mean(suggestion), suggestion)


def _step_member(violation: Violation, place: Place) -> Message | None:
    name = place.member
    kinds = other_step_shapes(name, violation.shape)
    if kinds:
        text = f"{STEP_SHAPES[violation.shape]} can't have {shown(name)}, which belongs to {' or '.join(kinds)}"
        return Message("step-member-wrong-shape", text, on_name=True)
    return _inline_schema(violation, place) if violation.shape == "StandardStep" else None


def _inline_schema(violation: Violation, place: Place) -> Message | None:
    if violation.keyword != "additionalProperties" or place.member not in INLINE_SCHEMA:
        return None
    return Message(
        "contract-inline-schema",
        f"{shown(place.member)} is not allowed, because a step can't define an output schema; name a contract of the "
        "catalog in outputContract.contractRef",
        on_name=True,
    )


def _step_type(violation: Violation, place: Place) -> Message | None:
    if violation.keyword != "enum":
        return None
    if violation.shape == "BodyStep" and violation.value == "loop":
        return Message("loop-nested", "a loop can't be in the body of another loop; move it to the top level")
    kinds = " or ".join(quoted(kind) for kind in violation.expected)
    meant = nearest_member(violation.value, violation.expected) if isinstance(violation.value, str) else None
    return Message(
        "step-type-unknown",
        f"unknown step type {shown(violation.value)}; use {kinds}, or remove `type` for a standard step"
        + did_you_mean(meant),
    )


# -------------------------------------------------------------------------------------------------- loops


def _loop_type(violation: Violation, place: Place) -> Message:
    return _closed_set(violation, place, LoopType)._replace(name="loop-type-invalid")


def _closed_set(violation: Violation, place: Place, closed: type[Enum]) -> Message:
    """The generic message for a value outside a set, even if it is not a string."""
    allowed = tuple(str(member.value) for member in closed)
    return outside_set(violation._replace(keyword="enum", expected=allowed), place)


def _loop_body(violation: Violation, place: Place) -> Message | None:
    if violation.keyword == "minItems":
        return Message("loop-body-empty", "the body is empty; a loop needs at least one step to repeat")
    return None


def _loop_config(violation: Violation, place: Place) -> Message | None:
    kind = violation.value.get("type") if isinstance(violation.value, dict) else None
    match violation.keyword, violation.expected, place.member:
        case "required", "maxIterations", _:
            return Message(
                "loop-max-iterations-missing", "loop.maxIterations is missing; set it to a number from 1 to 1000"
            )
        case "required", "count", _:
            return Message(
                "loop-count-missing", "a for loop needs loop.count: a number or the name of a context variable"
            )
        case "required", "items", _:
            return Message(
                "loop-items-missing", "a forEach loop needs loop.items: the name of the context variable with the list"
            )
        case "anyOf", _, _:
            article = "an" if kind == "until" else "a"
            return Message(
                "loop-condition-missing",
                f"{article} {kind} loop needs loop.conditionSource or loop.condition, even if a body step decides",
            )
        case "minimum" | "maximum", _, "maxIterations":
            text = f"loop.maxIterations must be from 1 to 1000, not {shown(violation.value)}"
            return Message("loop-max-iterations-range", text)
        case "minimum", _, "count" if place.parent.get("type") == "for":
            text = f"loop.count must be greater than 0, not {shown(violation.value)}"
            return Message("loop-count-not-positive", text)
        case "pattern", _, "iterationVar" | "itemVar" | "indexVar":
            text = f"{place.path} must be an identifier (letters, digits and _), not {shown(violation.value)}"
            return Message("loop-variable-name", text)
    return None


def _condition_source(violation: Violation, place: Place) -> Message:
    message = general(violation, place)
    return message._replace(name="condition-source-shape", text=f"{message.text}; {_SOURCE_FORMS}", suggestion=None)


# --------------------------------------------------------------------------------------------- conditions


def _condition(violation: Violation, place: Place) -> Message | None:
    if violation.keyword != "additionalProperties":
        return None
    name, present = place.member, place.parent or {}
    subject = f"{shown(name)}{place.inside}"
    if name in EVALUATOR_ONLY:
        instead = [operator for operator in ("equals", "in", "contains") if operator in violation.expected]
        text = f"workflow files can't use the operator {subject}; use {listed(instead, 'or')}"
        return Message("condition-operator-evaluator-only", text, on_name=True)
    if violation.shape == "RuleCondition" and name in members("Condition"):
        text = f"the condition of a validation rule can't use the operator {subject}"
        return Message("condition-rule-operator", text, on_name=True)
    gate = _gate_hint(name, place)
    suggestion = nearest_operator(name, [known for known in violation.expected if known not in present])
    hint = gate or did_you_mean(suggestion) or f"; expected one of {', '.join(violation.expected)}"
    text = f"unknown operator {subject}{hint}"
    return Message("condition-operator-unknown", text, None if gate else suggestion, on_name=True)


def _gate_hint(name: str, place: Place) -> str:
    """What to say when an object was meant as a gate, which differs from a condition in its `kind`."""
    if len(place.tokens) < 2 or place.tokens[-2] != "requireConfirmation" or name not in ("condition", "type", "gate"):
        return ""
    return "; a gate needs a kind that says who confirms: coordinator_eval or human_approval"


def _gate_kind(violation: Violation, place: Place) -> Message:
    return _closed_set(violation, place, GateKind)._replace(name="gate-kind-unknown")


def _part_kind(violation: Violation, place: Place) -> Message | None:
    if violation.keyword != "enum":
        return None
    return general(violation, place)._replace(name="prompt-part-kind-unknown", suggestion=None)


# --------------------------------------------------------------------------------- criteria, assessments


def _composition(violation: Violation, place: Place) -> Message | None:
    if violation.keyword == "anyOf":
        if "type" in violation.value:
            text = f"{place.subject} is a single rule; wrap it in a list"
            return Message("criteria-bare-rule", text)
        text = f"{place.subject} must be a list of rules, or an object with exactly one of and, or, not"
        return Message("schema-one-of-criteria", text)
    if violation.keyword != "additionalProperties":
        return None
    if place.member in _CONNECTIVES:
        text = f"{shown(place.member)}{place.inside} can't be next to another connective; keep one of and, or, not"
        return Message("schema-one-of-criteria", text, on_name=True)
    text = f"unknown member {shown(place.member)}{place.inside}; a composition has only one of and, or, not"
    return Message("schema-unknown-member", text, on_name=True)


def _is_listed_composition(violation: Violation, place: Place) -> bool:
    return (
        violation.shape == "ValidationRule"
        and violation.keyword == "additionalProperties"
        and place.member in _CONNECTIVES
    )


def _rule(violation: Violation, place: Place) -> Message | None:
    if not _is_listed_composition(violation, place):
        return None
    text = (
        f"{shown(place.member)}{place.inside}: a list can only contain plain rules; make `validationCriteria` itself "
        "the composition"
    )
    return Message("schema-unknown-member", text, on_name=True)


def _dimension(violation: Violation, place: Place) -> Message | None:
    if violation.keyword != "uniqueItems":
        return None
    return Message("assessment-level-duplicate", f"{place.path} repeats the level {shown(violation.value)}")


_DESCRIBERS: dict[str, _Describer] = {
    "Workflow": _workflow,
    "StandardStep": _step,
    "LoopStep": _step,
    "ParallelStep": _step,
    "Step": _step_type,
    "BodyStep": _step_type,
    "LoopType": _loop_type,
    "LoopBody": _loop_body,
    "LoopConfig": _loop_config,
    "ConditionSource": _condition_source,
    "ArtifactSource": _condition_source,
    "ContextSource": _condition_source,
    "Condition": _condition,
    "RuleCondition": _condition,
    "GateKind": _gate_kind,
    "PromptPart": _part_kind,
    "Composition": _composition,
    "AllCriteria": _composition,
    "AnyCriteria": _composition,
    "NotCriteria": _composition,
    "ValidationRule": _rule,
    "AssessmentDimension": _dimension,
    "OutputContract": _inline_schema,
}
