"""Violations of the workflow schema as findings: each under the most specific rule, none that another covers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from workrail_lint.base.suggest import did_you_mean
from workrail_lint.base.wording import quoted
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.rules.base import Rule
from workrail_lint.rules.describing import Describers, Description
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.step_place import StepPlace

# No one reads more than this; the rest shows once these are fixed.
MAX_FINDINGS = 200
_STEP_ID, _WRONG_SHAPE = "step-id-pattern", "step-member-wrong-shape"
# What says "this is a loop" or "this is parallel" on a step.
_MARKS = {"loop": ("loop", "body"), "parallel": ("parallelDelegations",)}
_CONNECTIVES = ("and", "or", "not")


class _Described(NamedTuple):
    """A violation, where it is, the rule that speaks about it, and what that says."""

    violation: Violation
    place: StepPlace
    name: str
    code: str  # of a plugin's rule; else the name, until findings get the facts of rules
    description: Description


def schema_findings(
    violations: Iterable[Violation],
    definition: dict[str, Any],
    most: int = MAX_FINDINGS,
    extra: tuple[Rule, ...] = (),
) -> list[Finding]:
    """Return the findings for the violations of a definition, in order, up to a limit; `extra` are rules of plugins."""
    first = list(islice(violations, most))
    return _findings(first, definition, extra) if first else []


@lru_cache(maxsize=1)
def _describers(extra: tuple[Rule, ...]) -> Describers[Rule]:
    by_name = {rule.name: rule for rule in extra}
    builtin = [info for info in RULES.infos if info.describes]
    return Describers((*extra, *builtin), lambda name: by_name.get(name) or RULES.rule(name))


def _findings(violations: list[Violation], definition: dict[str, Any], extra: tuple[Rule, ...]) -> list[Finding]:
    """Return one finding for each violation that no other finding covers."""
    items = _with_free_ids(_untyped_steps([_described(each, definition, extra) for each in violations]), definition)
    covered = {
        (pointers.parent(each.violation.pointer), each.description.suggestion)
        for each in items
        if each.description.on_name
    }
    compositions = {pointers.parent(each.violation.pointer) for each in items if _is_composition(each.violation)}
    findings: list[Finding] = []
    for violation, place, name, code, description in items:
        # A misspelled member is missing under its right name, and a composition lacks what only rules have.
        is_covered = (violation.pointer, violation.expected) in covered or violation.pointer in compositions
        if violation.keyword == "required" and is_covered:
            continue
        details: dict[str, object] = {"engine": True}
        if description.suggestion is not None:
            details["suggestion"] = description.suggestion
        findings.append(
            Finding(
                code,
                name,
                Severity.ERROR,
                place.say(description.message),
                violation.pointer,
                phase=Phase.SCHEMA,
                details=details,
                fix=description.fix,
                on_name=description.on_name,
            )
        )
    return findings


def _described(violation: Violation, definition: dict[str, Any], extra: tuple[Rule, ...]) -> _Described:
    place = StepPlace(violation.pointer, definition)
    described = _describers(extra).describe(violation, place)
    assert described is not None, f"no rule describes {violation.keyword}"
    rule, description = described
    code = rule.code if rule in extra else rule.name
    return _Described(violation, place, rule.name, code, description)


def _is_composition(violation: Violation) -> bool:
    """Return whether a list of validation rules holds a composition."""
    return (
        violation.shape == "ValidationRule"
        and violation.keyword == "additionalProperties"
        and violation.member in _CONNECTIVES
    )


def _with_free_ids(items: list[_Described], definition: dict[str, Any]) -> list[_Described]:
    """Remove suggestions of step ids that another step has, or that were suggested before."""
    if not any(each.name == _STEP_ID for each in items):
        return items
    known = {step.id for step in workflow_model(definition).all_steps}
    free: list[_Described] = []
    for each in items:
        suggestion = each.description.suggestion if each.name == _STEP_ID else None
        if suggestion is not None and suggestion in known:
            message = each.description.message.removesuffix(did_you_mean(suggestion))
            each = each._replace(description=each.description.replaced(message=message, suggestion=None))
        elif suggestion is not None:
            known.add(suggestion)
        free.append(each)
    return free


def _untyped_steps(items: list[_Described]) -> list[_Described]:
    """Return the items with one for each step whose members say "this is a loop" or "parallel", but not its type."""
    unknown: dict[str, set[str]] = {}
    for violation, _, _, _, _ in items:
        if violation.shape == "StandardStep" and violation.keyword == "additionalProperties":
            unknown.setdefault(pointers.parent(violation.pointer), set()).add(violation.member)
    meant = {
        pointer: (kind, names)
        for pointer, members in unknown.items()
        for kind, names in _MARKS.items()
        if members.issuperset(names)
    }
    result: list[_Described] = []
    for each in items:
        step = pointers.parent(each.violation.pointer)
        kind, names = meant.get(step, ("", ()))
        if each.place.member not in names:
            result.append(each)
        elif each.place.member == names[0]:
            result.append(_untyped_step(each, step, kind, names))
    return result


def _untyped_step(item: _Described, step: str, kind: str, names: tuple[str, ...]) -> _Described:
    text = f"{' and '.join(names)} belong to a {kind} step; set `type` to {quoted(kind)}"
    place = StepPlace(step, item.place.definition)
    return _Described(item.violation.replaced(pointer=step), place, _WRONG_SHAPE, _WRONG_SHAPE, Description(text))
