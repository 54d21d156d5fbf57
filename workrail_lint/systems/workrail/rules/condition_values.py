"""The values that conditions compare with, and whether a condition makes a difference."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.rules.facts import CONDITIONS
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow
from workrail_lint.systems.workrail.rules.variable_use import AnalysisRule


class _ValueRule(AnalysisRule):
    needs = frozenset({CONDITIONS})


def _when(asks: str, *conditions: dict[str, Any]) -> dict[str, Any]:
    """A workflow whose later steps run under these conditions."""
    steps = [step(f"step-{number}", "Continue.", runCondition=item) for number, item in enumerate(conditions, 1)]
    return workflow(step("triage", asks), *steps)


_LEVELS = "Set `impactLevel` to exactly one of: `minor`, `major`, `critical`."


class ValueOutsideDomain(_ValueRule):
    code = "CD028"
    name = "value-outside-domain"
    severity = Severity.WARNING
    origin = "product"
    summary = "A condition compares a variable with a value that it never has."
    why = (
        "A prompt lists all values of the variable, and this one is not among them, so the comparison is never true. "
        "It is an error if the value is clearly misspelled and the step therefore never runs."
    )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=_when(_LEVELS, {"var": "impactLevel", "equals": "critcal"}),
            good=_when(_LEVELS, {"var": "impactLevel", "equals": "critical"}),
        )


class ValueSpelledDifferently(_ValueRule):
    code = "CD029"
    name = "value-spelled-differently"
    severity = Severity.WARNING
    origin = "product"
    summary = "A condition spells a value differently from the prompts."
    why = (
        "The agent writes what the prompts say. Conditions ignore case, but not hyphens, underscores or missing "
        "letters, so the comparison is never true."
    )

    def examples(self) -> Iterable[Example]:
        asks = "Read the request and set `scope` accordingly, for instance whole-codebase."
        yield Example(
            bad=_when(asks, {"var": "scope", "equals": "whole_codebase"}),
            good=_when(asks, {"var": "scope", "equals": "whole-codebase"}),
        )


class ComparisonType(_ValueRule):
    code = "CD030"
    name = "comparison-type"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A comparison does not fit the type of the variable."
    why = (
        "`gt`, `gte`, `lt` and `lte` are false for anything but a number, and a boolean equals no string except `true` "
        "or `false`, so the comparison is always false."
    )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=_when(_LEVELS, {"var": "impactLevel", "gt": 2}),
            good=_when(_LEVELS, {"var": "impactLevel", "equals": "major"}),
        )
        flag = "Set `needsRetest` to true or false."
        yield Example(
            bad=_when(flag, {"var": "needsRetest", "equals": "always"}),
            good=_when(flag, {"var": "needsRetest", "equals": True}),
        )


class ConditionNeverTrue(_ValueRule):
    code = "CD031"
    name = "condition-never-true"
    severity = Severity.ERROR
    origin = "product"
    summary = "A condition can never be true, at all or in its place."
    why = (
        "No value of its variables meets the condition, so what depends on it never happens. Inside a conditional step "
        "or loop this is a warning, because a value can change in between."
    )

    def examples(self) -> Iterable[Example]:
        major, minor = {"var": "impactLevel", "equals": "major"}, {"var": "impactLevel", "equals": "minor"}
        yield Example(bad=_when(_LEVELS, {"and": [major, minor]}), good=_when(_LEVELS, {"or": [major, minor]}))

        def inside(value: str) -> dict[str, Any]:
            fragment = {"id": "quick", "when": {"var": "impactLevel", "equals": value}, "text": "Be quick."}
            review = loop(step("look", "Review.", promptFragments=[fragment]))
            condition = {"var": "impactLevel", "not_equals": "minor"}
            return workflow(step("triage", _LEVELS), {**review, "runCondition": condition})

        yield Example(bad=inside("minor"), good=inside("major"))


class ConditionAlwaysTrue(_ValueRule):
    code = "CD032"
    name = "condition-always-true"
    severity = Severity.WARNING
    origin = "product"
    summary = "A condition is always true, at all or in its place."
    why = "It looks like a decision, but it has no effect. Without it the workflow does the same and is clearer."

    def examples(self) -> Iterable[Example]:
        major, other = {"var": "impactLevel", "equals": "major"}, {"var": "impactLevel", "not_equals": "major"}
        yield Example(bad=_when(_LEVELS, {"or": [major, other]}), good=_when(_LEVELS, other))


class ConditionOnlyTestsUnset(_ValueRule):
    code = "CD033"
    name = "condition-only-tests-unset"
    severity = Severity.WARNING
    origin = "product"
    summary = "A condition is true for every value of its variable."
    why = (
        "It is false only if nothing sets the variable. Test that with `not_equals: null`, or compare with the "
        "intended value."
    )

    def examples(self) -> Iterable[Example]:
        asks = "Set `retryCount` to the number of retries."
        yield Example(
            bad=_when(asks, {"var": "retryCount", "gte": 0}), good=_when(asks, {"var": "retryCount", "gt": 0})
        )


class BranchValueUnhandled(_ValueRule):
    code = "CD034"
    name = "branch-value-unhandled"
    severity = Severity.WARNING
    origin = "product"
    summary = "Steps branch on the values of a variable and leave some out."
    why = "If the variable has one of those values, the run skips all branches."

    def examples(self) -> Iterable[Example]:
        def branches(*values: str) -> dict[str, Any]:
            return _when(_LEVELS, *({"var": "impactLevel", "equals": value} for value in values))

        yield Example(bad=branches("minor", "major"), good=branches("minor", "major", "critical"))
