"""CR: single rules that can't be evaluated, can't be satisfied, or are never checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules.criteria import CriteriaRule, checked
from workrail_lint.systems.workrail.rules.criteria_facts import Criteria, demanded, never_holds
from workrail_lint.systems.workrail.rules.prose import excerpt, label
from workrail_lint.systems.workrail.rules.samples import step, workflow

NOTES_BYTES = 4096


def _patterns(criteria: Criteria) -> Iterator[tuple[str, str, str]]:
    """The patterns of regex rules: pattern, valid flags, pointer of the rule."""
    for rule, pointer in criteria.rules:
        pattern = rule.get("pattern")
        if rule["type"] == "regex" and isinstance(pattern, str):
            from workrail_lint.base.regex_analysis import why_invalid_flags

            flags = rule.get("flags")
            usable = isinstance(flags, str) and why_invalid_flags(flags) is None
            yield pattern, str(flags) if usable else "", pointer


def _regex(pattern: str, **members: str) -> dict[str, Any]:
    return checked({"type": "regex", "pattern": pattern, **members})


class CriteriaRegexInvalid(CriteriaRule):
    code = "CR011"
    name = "criteria-regex-invalid"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "The pattern of a regex rule is not a valid JavaScript regular expression."
    why = (
        "The rule can't be evaluated, which blocks the step for every answer, even next to a contract and in a run "
        "that never stops (KD-17)."
    )
    even_if_ignored = True

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for pattern, flags, pointer in _patterns(criteria):
            from workrail_lint.base.regex_analysis import why_invalid

            problem = why_invalid(pattern, flags)
            if problem is not None:
                report(
                    f"{pointer}/pattern",
                    f"{label(criteria.step)}: invalid pattern {excerpt(pattern)}: {problem}",
                )

    def examples(self) -> Iterable[Example]:
        yield Example(_regex("(high|low"), _regex("(high|low)"))


class CriteriaRegexFlags(CriteriaRule):
    code = "CR012"
    name = "criteria-regex-flags"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "A regex rule has unknown, repeated or incompatible flags."
    why = "The rule can't be evaluated, which blocks the step for every answer, even next to a contract."
    even_if_ignored = True

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule, pointer in criteria.rules:
            flags = rule.get("flags")
            if rule["type"] == "regex" and isinstance(flags, str):
                from workrail_lint.base.regex_analysis import why_invalid_flags

                problem = why_invalid_flags(flags)
                if problem is not None:
                    report(
                        f"{pointer}/flags",
                        f"{label(criteria.step)}: invalid flags {excerpt(flags)}: {problem}",
                    )

    def examples(self) -> Iterable[Example]:
        yield Example(_regex("finding", flags="z"), _regex("finding", flags="i"))


class CriteriaRegexBacktracking(CriteriaRule):
    code = "CR013"
    name = "criteria-regex-backtracking"
    severity = Severity.WARNING
    origin = "product"
    summary = "A pattern of a validation rule can take very long on some answers."
    why = (
        "If such a pattern does not match, the engine tries every way to split the answer between its parts. With a "
        "few dozen characters this can exceed the time limit, which blocks the step."
    )
    even_if_ignored = True

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for pattern, flags, pointer in _patterns(criteria):
            self._check(pattern, flags, f"{pointer}/pattern", criteria.step, report)
        for rule, pointer in criteria.rules:
            if rule["type"] == "schema":
                for pattern, place, is_name in _schema_patterns(rule.get("schema"), f"{pointer}/schema"):
                    self._check(pattern, "", place, criteria.step, report, is_name)

    @staticmethod
    def _check(pattern: str, flags: str, pointer: str, step: Step, report: Report, is_name: bool = False) -> None:
        from workrail_lint.base.regex_analysis import why_invalid, why_slow

        reason = why_slow(pattern, flags)
        if reason is not None and why_invalid(pattern, flags) is None:
            report(
                pointer,
                f"{label(step)}: pattern {excerpt(pattern)} can take very long: {reason}",
                on_name=is_name,
            )

    def examples(self) -> Iterable[Example]:
        yield Example(_regex("(a+)+$"), _regex("^a+$"))

        def matching(pattern: str) -> dict[str, Any]:
            schema = {"type": "object", "properties": {"id": {"type": "string", "pattern": pattern}}}
            return checked({"type": "schema", "schema": schema})

        yield Example(matching("(x+x+)+y"), matching("x{2,}y"))


def _schema_patterns(schema: object, pointer: str) -> Iterator[tuple[str, str, bool]]:
    """The patterns of a JSON Schema, with their places and whether they are member names."""
    stack: list[tuple[object, str]] = [(schema, pointer)]
    while stack:
        value, place = stack.pop()
        if isinstance(value, list):
            stack.extend((item, f"{place}/{index}") for index, item in enumerate(value))
        elif isinstance(value, dict):
            for name, item in value.items():
                at = child(place, name)
                if name == "pattern" and isinstance(item, str):
                    yield item, at, False
                elif name == "patternProperties" and isinstance(item, dict):
                    yield from ((pattern, child(at, pattern), True) for pattern in item)
                stack.append((item, at))


class CriteriaRegexUntranslatable(CriteriaRule):
    code = "CR014"
    name = "criteria-regex-untranslatable"
    severity = Severity.INFO
    origin = "product"
    default_on = False
    summary = "The pattern of a regex rule is valid in JavaScript but not in Python."
    why = "Testing the pattern with Python's `re` gives an error or another result than the engine."

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for pattern, flags, pointer in _patterns(criteria):
            from workrail_lint.base.regex_analysis import analyze, why_invalid

            facts = analyze(pattern, flags)
            if facts is not None and facts.foreign and why_invalid(pattern, flags) is None:
                report(
                    f"{pointer}/pattern",
                    f"{label(criteria.step)}: the pattern uses {', '.join(map(quoted, facts.foreign))}, which only "
                    "JavaScript supports",
                )

    def examples(self) -> Iterable[Example]:
        yield Example(_regex("(?<word>[a-z]+) \\k<word>"), _regex("([a-z]+) \\1"))


class CriteriaLengthInverted(CriteriaRule):
    code = "CR015"
    name = "criteria-length-inverted"
    severity = Severity.ERROR
    origin = "product"
    summary = "A length rule has a `min` greater than its `max`."
    why = "No answer can satisfy both bounds, so the step can't be passed."

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule, pointer in criteria.rules:
            low, high = rule.get("min"), rule.get("max")
            if rule["type"] == "length" and js.is_number(low) and js.is_number(high) and low > high:  # type: ignore[operator]
                report(
                    f"{pointer}/min",
                    f"{label(criteria.step)}: min {js.text(low)} is greater than max {js.text(high)}, so no answer "
                    "passes",
                )

    def examples(self) -> Iterable[Example]:
        yield Example(checked({"type": "length", "min": 500, "max": 50}), checked({"type": "length", "min": 500}))


class CriteriaLengthOverNotes(CriteriaRule):
    code = "CR016"
    name = "criteria-length-over-notes"
    severity = Severity.WARNING
    origin = "product"
    summary = f"A length rule requires more than the {NOTES_BYTES} bytes of an answer that the engine stores."
    why = "The engine checks the whole answer and then cuts it, so part of what the rule requires is lost."

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule, pointer in criteria.rules:
            low = rule.get("min")
            if rule["type"] == "length" and js.is_number(low) and low > NOTES_BYTES:  # type: ignore[operator]
                report(
                    f"{pointer}/min",
                    f"{label(criteria.step)}: requires {js.text(low)} characters, but the engine stores only "
                    f"{NOTES_BYTES} bytes; lower min",
                )

    def examples(self) -> Iterable[Example]:
        yield Example(checked({"type": "length", "min": 9000}), checked({"type": "length", "min": 900}))


class CriteriaContradiction(CriteriaRule):
    code = "CR017"
    name = "criteria-contradiction"
    severity = Severity.WARNING
    origin = "product"
    summary = "Two rules contradict each other."
    why = "One of the rules rejects every answer, so the run stays at the step."

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        rules = list(demanded(criteria.value, criteria.pointer))
        lows = _bounds(rules, "min")
        highs = _bounds(rules, "max")
        forbidden = [value for rule, _, negated in rules if negated and (value := _value(rule))]
        for rule, pointer, negated in rules:
            problem = None if negated else _contradiction(rule, pointer, lows, highs, forbidden)
            if problem is not None:
                report(pointer, f"{label(criteria.step)}: {problem}, so no answer passes both rules")

    def examples(self) -> Iterable[Example]:
        heading = {"type": "contains", "value": "## Findings and evidence"}
        yield Example(
            checked(heading, {"type": "length", "max": 10}), checked(heading, {"type": "length", "max": 1000})
        )
        rule = {**heading, "message": "Give findings."}
        forbidden = {"not": {"type": "contains", "value": "evidence", "message": "Do not."}}
        yield Example(
            workflow(step(validationCriteria={"and": [rule, forbidden]})),
            workflow(step(validationCriteria={"and": [rule]})),
        )


_Bound = tuple[float, str]


def _bounds(rules: list[tuple[dict[str, Any], str, bool]], member: str) -> list[_Bound]:
    """The bounds that apply to every answer, with the pointers of their rules."""
    return [
        (rule[member], pointer)
        for rule, pointer, negated in rules
        if not negated and rule.get("type") == "length" and js.is_number(rule.get(member))
    ]


def _value(rule: dict[str, Any]) -> str | None:
    value = rule.get("value")
    return value if rule.get("type") == "contains" and isinstance(value, str) else None


def _contradiction(
    rule: dict[str, Any], pointer: str, lows: list[_Bound], highs: list[_Bound], forbidden: list[str]
) -> str | None:
    """Why a rule that every answer must satisfy can't be satisfied."""
    most = min((high for high, _ in highs), default=None)
    value = _value(rule)
    if value:
        if most is not None and js.u16_length(value) > most:
            return f"{excerpt(value)} is longer than the maximum of {js.text(most)} characters"
        clash = next((text for text in forbidden if text in value), None)
        return f"{excerpt(value)} is required, but {excerpt(clash)} is forbidden" if clash is not None else None
    if rule.get("type") == "length":
        low = rule.get("min")
        short = next((high for high, place in highs if place != pointer and js.is_number(low) and low > high), None)  # type: ignore[operator]
        return (
            f"at least {js.text(low)} characters are required, but at most {js.text(short)} allowed"
            if short is not None
            else None
        )
    if rule.get("type") == "regex" and most is not None and isinstance(rule.get("pattern"), str):
        from workrail_lint.base.regex_analysis import analyze

        facts = analyze(rule["pattern"], str(rule.get("flags", "")))
        if facts is not None and facts.minimum > most:
            return f"the pattern needs {facts.minimum} characters, but at most {js.text(most)} are allowed"
    return None


class CriteriaSchemaInvalid(CriteriaRule):
    code = "CR018"
    name = "criteria-schema-invalid"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "The schema of a schema rule is not a valid JSON Schema."
    why = "The rule can't be evaluated, which blocks the step for every answer, even next to a contract."
    even_if_ignored = True

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule, pointer in criteria.rules:
            schema = rule.get("schema")
            if rule["type"] == "schema" and isinstance(schema, dict):
                from workrail_lint.systems.workrail.criteria_schema import problems

                for place, problem in problems(schema):
                    report(f"{pointer}/schema{place}", f"{label(criteria.step)}: invalid schema: {problem}")

    def examples(self) -> Iterable[Example]:
        yield Example(
            checked({"type": "schema", "schema": {"type": "foo"}}),
            checked({"type": "schema", "schema": {"type": "object", "required": ["findings"]}}),
        )


class CriteriaConditionAlwaysSkipped(CriteriaRule):
    code = "CR023"
    name = "criteria-condition-always-skipped"
    severity = Severity.WARNING
    origin = "product"
    summary = "The condition of a rule can never be true."
    why = "A rule whose condition is false is skipped, so this rule is never checked."

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule in criteria.step.validation_rules():
            if rule.type is not None and never_holds(rule.condition):
                report(
                    rule.at("condition"),
                    f"{label(criteria.step)}: the condition is never true, so the {quoted(rule.type)} rule is "
                    "always skipped",
                )

    def examples(self) -> Iterable[Example]:
        def when(condition: dict[str, Any]) -> dict[str, Any]:
            return checked({"type": "contains", "value": "## Findings", "condition": condition})

        deep, quick = {"var": "depth", "equals": "deep"}, {"var": "depth", "equals": "quick"}
        yield Example(when({"and": [deep, quick]}), when({"or": [deep, quick]}))
