"""CR: validation criteria: their form, and rules that can't be evaluated, can't be satisfied, or are never checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from workrail_lint.base import js
from workrail_lint.base.ecma_regex import why_invalid, why_invalid_flags
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.regex_analysis import analyze, why_slow
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Insert, Remove, Replace
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.analysis.logic import IMPOSSIBLE, parse, satisfy
from workrail_lint.systems.workrail.condition_logic import LOGIC
from workrail_lint.systems.workrail.criteria_schema import problems
from workrail_lint.systems.workrail.evidence_score import EvidenceEvaluation, evaluate_evidence
from workrail_lint.systems.workrail.model.nodes import CombinationNode
from workrail_lint.systems.workrail.model.workflow import (
    AllCriteria,
    AnyCriteria,
    Condition,
    NotCriteria,
    StandardStep,
    Step,
    ValidationRule,
)
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import excerpt, label, step_members
from workrail_lint.systems.workrail.rules.samples import completed

# The members of each kind of rule, besides its type, message and condition.
MEMBERS: dict[str, tuple[str, ...]] = {
    "contains": ("value",),
    "regex": ("pattern", "flags"),
    "length": ("min", "max"),
    "schema": ("schema",),
}
SHARED = ("type", "message", "condition")
NOTES_BYTES = 4096  # of an answer that the engine stores
_SURFACED = ("contains", "regex", "length")
_SURFACED_MOST = 5
_QUOTED_JSON = Pattern(f"[\"'`][{js.WHITESPACE_CLASS}]*[{{\\[]")


class Criteria:
    """The criteria of one step."""

    def __init__(self, step: StandardStep) -> None:
        self.step = step
        self.value = step.validation_criteria
        self.raw = step.raw["validationCriteria"]
        self.pointer = step.at("validationCriteria")
        self.rules = [rule for rule in step.validation_rules() if rule.type is not None]

    @property
    def decides(self) -> bool:
        """Return whether their result counts; next to a contract or an assessment it does not."""
        return "outputContract" not in self.step and "assessmentRefs" not in self.step

    @property
    def is_list(self) -> bool:
        return not isinstance(self.value, CombinationNode)

    @cached_property
    def evaluation(self) -> EvidenceEvaluation:
        return evaluate_evidence(self.value, self.pointer)

    @cached_property
    def verdicts(self) -> list[str]:
        """Return the names of what is wrong with them as evidence; none if they do not decide or can't be evaluated."""
        count = self.decides and not self._is_broken
        return [verdict.value for verdict in self.evaluation.verdicts] if count else []

    @property
    def _is_broken(self) -> bool:
        """Return whether a rule always fails or can't be evaluated, which other rules report."""
        for rule in self.rules:
            if rule.type in ("contains", "schema") and MEMBERS[rule.type][0] not in rule:
                return True
        return any(leaf.leaf_class.value == "INVALID" for leaf in self.evaluation.leaves)


@lru_cache(maxsize=4)
def all_criteria(workflow: WorkflowContext) -> tuple[Criteria, ...]:
    """Return the criteria of every step except template calls, which the engine drops."""
    return tuple(
        Criteria(step)
        for step in (workflow.all_steps if "validationCriteria" in step_members(workflow) else ())
        if step.kind == "standard" and step.validation_criteria is not None and not step.calls_template
    )


def demanded(criteria: Criteria) -> Iterator[tuple[ValidationRule, bool]]:
    """Yield the rules that every answer must satisfy, or (flagged) must not satisfy, whatever the context."""
    stack: list[tuple[Any, bool]] = [(criteria.value, False)]
    while stack:
        value, negated = stack.pop()
        match value:
            case ValidationRule():
                if "condition" not in value:
                    yield value, negated
            case NotCriteria():
                stack.append((value.not_, not negated))
            # Under a `not`, every branch of an `or` is forbidden; of an `and` it is unknown which.
            case AllCriteria() if not negated:
                stack.extend((item, negated) for item in reversed(value.and_))
            case AnyCriteria() if negated:
                stack.extend((item, negated) for item in reversed(value.or_))
            case list():
                stack.extend((item, negated) for item in reversed(value))


def never_holds(condition: Condition | None) -> bool:
    """Return whether a rule's condition is false in every context; other rules report a malformed one."""
    if condition is None or not condition.raw:
        return False
    return satisfy([parse(condition)]).verdict == IMPOSSIBLE


class CriteriaRule(WorkflowRule):
    """A rule about the criteria of one step at a time."""

    needs = frozenset({"validationCriteria"})

    # Next to a contract or an assessment the result of criteria is ignored, but their evaluation can still fail.
    even_if_ignored: ClassVar[bool] = False

    def applies(self, workflow: WorkflowContext) -> bool:
        return bool(all_criteria(workflow))

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for criteria in all_criteria(workflow):
            if criteria.decides or self.even_if_ignored:
                self.check_criteria(criteria, report)

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        raise NotImplementedError

    def document(self, part: Any) -> Any:
        return super().document(part) if part == {} else checked(part)


def checked(criteria: Any) -> Any:
    """Return a workflow whose only step has the criteria; rules without a message get one."""
    rules = [criteria] if isinstance(criteria, dict) and "type" in criteria else criteria
    return completed({"validationCriteria": _with_messages(rules)})


def _with_messages(criteria: Any) -> Any:
    if isinstance(criteria, list):
        return [_with_messages(each) for each in criteria]
    if "type" in criteria:
        return criteria if "message" in criteria else {**criteria, "message": "Show your work."}
    return {name: _with_messages(value) for name, value in criteria.items()}


class CriteriaEmpty(CriteriaRule):
    code = "CR008"
    name = "criteria-empty"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "The list of validation criteria is empty."
    why = "Any answer that is not blank passes, which the step requires anyway."
    fix = "Remove the empty list."
    bad: ClassVar[Any] = []

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        if criteria.raw == []:
            report(
                criteria.pointer,
                f"{label(criteria.step)}: validationCriteria is empty, so any answer passes; add rules or remove it",
                fix=unsafe("remove the empty list", Remove(criteria.pointer)),
            )


class CriteriaMemberMissing(CriteriaRule):
    code = "CR009"
    name = "criteria-member-missing"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "A rule lacks the field that says what to check."
    why = (
        "`contains` without a value and `schema` without a schema reject every answer, so the step can't be passed. "
        "`regex` without a pattern and `length` without bounds accept every answer."
    )
    bad = ({"type": "contains"}, {"type": "length"})
    good = ({"type": "contains", "value": "## Findings"}, {"type": "length", "min": 200})

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule in criteria.rules:
            names = [name for name in MEMBERS[str(rule.type)] if name != "flags"]
            if any(name in rule for name in names):
                continue
            effect = "rejects" if rule.type in ("contains", "schema") else "accepts"
            report(
                rule.pointer,
                f"{label(criteria.step)}: a {rule.type} rule without {' and '.join(names)} {effect} every answer; "
                f"add {' or '.join(names)}",
            )


class CriteriaMemberIgnored(CriteriaRule):
    code = "CR010"
    name = "criteria-member-ignored"
    severity = Severity.WARNING
    origin = "product"
    summary = "A rule has a field that belongs to another type of rule."
    why = "A rule uses only the fields of its type and ignores all others."
    fix = "Remove the field."
    bad = {"type": "contains", "value": "## Findings", "pattern": "#+"}
    good = {"type": "contains", "value": "## Findings"}

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule in criteria.rules:
            for name in rule.raw:
                home = next((kind for kind, members in MEMBERS.items() if name in members), None)
                if home is None or home == rule.type or name in SHARED:
                    continue
                report(
                    rule.at(name),
                    f"{label(criteria.step)}: a {rule.type} rule ignores {name}, which is for {home} rules; remove it",
                    fix=unsafe(f"remove {name}", Remove(rule.at(name))),
                    on_name=True,
                )


class CriteriaQuotedJsonMessage(CriteriaRule):
    code = "CR019"
    name = "criteria-quoted-json-message"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "The message of a rule contains JSON in quotes."
    why = (
        "Agents copy the message of a failed check, quotes included, and then submit a string instead of an object. "
        "Describe the shape, or show the JSON without quotes around it."
    )
    even_if_ignored = True
    bad = {"type": "contains", "value": "verdict", "message": 'Include "{ verdict }".'}
    good = {"type": "contains", "value": "verdict", "message": "Include an object with a verdict."}

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule in criteria.rules:
            if _QUOTED_JSON.search(rule.message):
                report(
                    rule.at("message"),
                    f"{label(criteria.step)}: the message has JSON in quotes, and agents copy the quotes too; remove "
                    "the quotes around it",
                )
                return


class CriteriaArrayNotSurfaced(CriteriaRule):
    code = "CR021"
    name = "criteria-array-not-surfaced"
    severity = Severity.INFO
    origin = "runtime"
    summary = "The agent does not see validation criteria that are a list until it fails them."
    why = (
        f"The engine adds up to {_SURFACED_MOST} `contains`, `regex` and `length` rules of an `and` to the prompt as "
        "requirements, but none of a list (engine defect KD-35). On the other hand, it never shows the messages of an "
        "`and`."
    )
    bad = {"type": "contains", "value": "## Findings", "message": "List the findings."}
    good = {"and": [{"type": "contains", "value": "## Findings", "message": "List the findings."}]}

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        prompt = criteria.step.prompt_text
        hidden = [rule for rule in criteria.rules if rule.type in _SURFACED and not self._is_said(rule, prompt)]
        if criteria.is_list and hidden:
            report(
                criteria.pointer,
                f"{label(criteria.step)}: the agent sees these rules only after failing; say in the prompt what they "
                "require",
            )

    @staticmethod
    def _is_said(rule: ValidationRule, prompt: str) -> bool:
        """Return whether the prompt has what a rule asks for, or its message."""
        return any(text and text in prompt for text in (rule.value, rule.message))


class CriteriaCompositionHidesMessages(CriteriaRule):
    code = "CR022"
    name = "criteria-composition-hides-messages"
    severity = Severity.INFO
    origin = "runtime"
    summary = "The agent never sees the messages of rules inside an `and`, `or` or `not`."
    why = (
        "When a composition fails, the engine only reports that it failed, without the messages of its rules. The "
        "prompt must explain what is expected."
    )
    bad = {"and": [{"type": "contains", "value": "## Findings", "message": "List the findings."}]}
    good = {"type": "contains", "value": "## Findings", "message": "List the findings."}

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        if not criteria.is_list and criteria.rules:
            logic = next(name for name in LOGIC if name in criteria.raw)
            report(
                f"{criteria.pointer}/{logic}",
                f"{label(criteria.step)}: if this {quoted(logic)} fails, the agent does not see the messages of its "
                "rules; explain in the prompt what is expected",
                on_name=True,
            )


class _PatternRule(CriteriaRule):
    """A rule about patterns. What analyses them is imported only if there are some."""

    even_if_ignored = True

    def applies(self, workflow: WorkflowContext) -> bool:
        return any(rule.type in ("regex", "schema") for criteria in all_criteria(workflow) for rule in criteria.rules)


def _patterns(criteria: Criteria) -> Iterator[tuple[str, str, ValidationRule]]:
    """Yield the pattern of each regex rule, its flags if they are valid, and the rule."""
    for rule in criteria.rules:
        if rule.type == "regex" and rule.pattern is not None:
            yield rule.pattern, "" if not rule.flags or why_invalid_flags(rule.flags) else rule.flags, rule


_INLINE_FLAGS = Pattern(r"\(\?([ims]+)\)")


class CriteriaRegexInvalid(_PatternRule):
    code = "CR011"
    name = "criteria-regex-invalid"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "The pattern of a regex rule is not a valid JavaScript regular expression, or its flags are not."
    why = (
        "The rule can't be evaluated, which blocks the step for every answer, even next to a contract and in a run "
        "that never stops (engine defect KD-17)."
    )
    fix = "Write flags at the start of the pattern, such as `(?i)`, as `flags`."

    def examples(self) -> Iterator[Example]:
        good = checked([{"type": "regex", "pattern": "(high|low)", "message": "Rate it.", "flags": "i"}])
        yield Example(checked([{"type": "regex", "pattern": "(high|low"}]), good)
        inline = {"type": "regex", "pattern": "(?i)(high|low)", "message": "Rate it."}
        yield Example(checked([inline]), good, good)
        flagged = {"type": "regex", "pattern": "(high|low)", "message": "Rate it.", "flags": "z"}
        yield Example(checked([flagged]), good)

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule in criteria.rules:
            problem = why_invalid_flags(rule.flags) if rule.type == "regex" and rule.flags is not None else None
            if problem is not None:
                report(
                    rule.at("flags"),
                    f"{label(criteria.step)}: invalid flags {excerpt(str(rule.flags))}: {problem}",
                )
        for pattern, flags, rule in _patterns(criteria):
            problem = why_invalid(pattern, flags)
            if problem is not None:
                inline = _INLINE_FLAGS.match(pattern)
                report(
                    rule.at("pattern"),
                    f"{label(criteria.step)}: invalid pattern {excerpt(pattern)}: {problem}{self._hint(inline)}",
                    fix=self._moved_flags(rule, inline),
                )

    @staticmethod
    def _hint(inline: re.Match[str] | None) -> str:
        if inline is None:
            return ""
        return f"; JavaScript has no {inline[0]}: remove it, and set `flags` to {quoted(inline[1])}"

    @staticmethod
    def _moved_flags(rule: ValidationRule, inline: re.Match[str] | None) -> Fix | None:
        """Return the fix that writes the flags of a pattern as `flags`, if the rest is valid with them."""
        if inline is None or "flags" in rule or rule.pattern is None:
            return None
        flags, pattern = inline[1], rule.pattern[inline.end() :]
        if why_invalid_flags(flags) is not None or why_invalid(pattern, flags) is not None:
            return None
        return unsafe(
            f"remove {inline[0]} and add the flags {quoted(flags)}",
            Replace(rule.at("pattern"), pattern),
            Insert(rule.pointer, "flags", None, flags),
        )


class CriteriaRegexBacktracking(_PatternRule):
    code = "CR013"
    name = "criteria-regex-backtracking"
    severity = Severity.WARNING
    origin = "product"
    summary = "A pattern of a validation rule can take very long on some answers."
    why = (
        "If such a pattern does not match, the engine tries every way to split the answer between its parts. With a "
        "few dozen characters this can exceed the time limit, which blocks the step."
    )
    bad = (
        {"type": "regex", "pattern": "(a+)+$"},
        {
            "type": "schema",
            "schema": {"type": "object", "properties": {"id": {"type": "string", "pattern": "(x+x+)+y"}}},
        },
    )
    good = (
        {"type": "regex", "pattern": "^a+$"},
        {"type": "schema", "schema": {"type": "object", "properties": {"id": {"type": "string", "pattern": "x{2,}y"}}}},
    )

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for pattern, flags, rule in _patterns(criteria):
            self._check(pattern, flags, rule.at("pattern"), criteria.step, report)
        for rule in criteria.rules:
            if rule.type == "schema":
                for pattern, place, is_name in self._schema_patterns(rule.schema_, rule.at("schema")):
                    self._check(pattern, "", place, criteria.step, report, is_name)

    @staticmethod
    def _check(pattern: str, flags: str, pointer: str, step: Step, report: Report, is_name: bool = False) -> None:
        reason = why_slow(pattern, flags)
        if reason is not None and why_invalid(pattern, flags) is None:
            report(
                pointer,
                f"{label(step)}: pattern {excerpt(pattern)} can take very long: {reason}",
                on_name=is_name,
            )

    @staticmethod
    def _schema_patterns(schema: object, pointer: str) -> Iterator[tuple[str, str, bool]]:
        """Yield each pattern of a JSON Schema with its place, and whether it is a member name."""
        stack: list[tuple[object, str]] = [(schema, pointer)]
        while stack:
            value, place = stack.pop()
            match value:
                case list():
                    stack.extend((item, f"{place}/{index}") for index, item in enumerate(value))
                case dict():
                    for name, item in value.items():
                        at = child(place, name)
                        stack.append((item, at))
                        match name, item:
                            case "pattern", str():
                                yield item, at, False
                            case "patternProperties", dict():
                                yield from ((pattern, child(at, pattern), True) for pattern in item)


class CriteriaLengthInverted(CriteriaRule):
    code = "CR015"
    name = "criteria-length-inverted"
    severity = Severity.ERROR
    origin = "product"
    summary = "A length rule has a `min` greater than its `max`."
    why = "No answer can satisfy both bounds, so the step can't be passed."
    bad = {"type": "length", "min": 500, "max": 50}
    good = {"type": "length", "min": 500}

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule in criteria.rules:
            if rule.type == "length" and rule.min is not None and rule.max is not None and rule.min > rule.max:
                report(
                    rule.at("min"),
                    f"{label(criteria.step)}: min {js.text(rule.min)} is greater than max {js.text(rule.max)}, so no "
                    "answer passes",
                )


class CriteriaLengthOverNotes(CriteriaRule):
    code = "CR016"
    name = "criteria-length-over-notes"
    severity = Severity.WARNING
    origin = "product"
    summary = f"A length rule requires more than the {NOTES_BYTES} bytes of an answer that the engine stores."
    why = "The engine checks the whole answer and then cuts it, so part of what the rule requires is lost."
    bad = {"type": "length", "min": 9000}
    good = {"type": "length", "min": 900}

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule in criteria.rules:
            if rule.type == "length" and rule.min is not None and rule.min > NOTES_BYTES:
                report(
                    rule.at("min"),
                    f"{label(criteria.step)}: requires {js.text(rule.min)} characters, but the engine stores only "
                    f"{NOTES_BYTES} bytes; lower min",
                )


class CriteriaContradiction(CriteriaRule):
    code = "CR017"
    name = "criteria-contradiction"
    severity = Severity.WARNING
    origin = "product"
    summary = "Two rules contradict each other."
    why = "One of the rules rejects every answer, so the run stays at the step."
    bad = (
        [{"type": "contains", "value": "## Findings and evidence"}, {"type": "length", "max": 10}],
        {
            "and": [
                {"type": "contains", "value": "## Findings and evidence", "message": "Give findings."},
                {"not": {"type": "contains", "value": "evidence", "message": "Do not."}},
            ]
        },
    )
    good = (
        [{"type": "contains", "value": "## Findings and evidence"}, {"type": "length", "max": 1000}],
        {"and": [{"type": "contains", "value": "## Findings and evidence", "message": "Give findings."}]},
    )

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        rules = list(demanded(criteria))
        required = [rule for rule, negated in rules if not negated]
        bounded = [rule for rule in required if rule.type == "length" and rule.max is not None]
        forbidden = [rule.value for rule, negated in rules if negated and rule.type == "contains" and rule.value]
        for rule in required:
            problem = self._contradiction(rule, bounded, forbidden)
            if problem is not None:
                report(rule.pointer, f"{label(criteria.step)}: {problem}, so no answer passes both rules")

    @staticmethod
    def _contradiction(rule: ValidationRule, bounded: list[ValidationRule], forbidden: list[str]) -> str | None:
        """Return why a required rule can't be satisfied, given the rules that limit the length."""
        most = min((other.max for other in bounded if other.max is not None), default=None)
        if rule.type == "contains" and rule.value:
            if most is not None and js.u16_length(rule.value) > most:
                return f"{excerpt(rule.value)} is longer than the maximum of {js.text(most)} characters"
            clash = next((text for text in forbidden if text in rule.value), None)
            return (
                f"{excerpt(rule.value)} is required, but {excerpt(clash)} is forbidden" if clash is not None else None
            )
        if rule.type == "length" and rule.min is not None:
            others = [other.max for other in bounded if other is not rule and other.max is not None]
            short = next((high for high in others if rule.min > high), None)
            if short is not None:
                return f"at least {js.text(rule.min)} characters are required, but at most {js.text(short)} allowed"
        if rule.type == "regex" and most is not None and rule.pattern is not None:
            facts = analyze(rule.pattern, rule.flags or "")
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
    bad = {"type": "schema", "schema": {"type": "foo"}}
    good = {"type": "schema", "schema": {"type": "object", "required": ["findings"]}}

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule in criteria.rules:
            if rule.type == "schema" and "schema" in rule:
                for place, problem in problems(rule.raw["schema"]):
                    report(f"{rule.at('schema')}{place}", f"{label(criteria.step)}: invalid schema: {problem}")


class CriteriaConditionAlwaysSkipped(CriteriaRule):
    code = "CR023"
    name = "criteria-condition-always-skipped"
    severity = Severity.WARNING
    origin = "product"
    summary = "The condition of a rule can never be true."
    why = "A rule whose condition is false is skipped, so this rule is never checked."
    bad = {
        "type": "contains",
        "value": "## Findings",
        "condition": {"and": [{"var": "depth", "equals": "deep"}, {"var": "depth", "equals": "quick"}]},
    }
    good = {
        "type": "contains",
        "value": "## Findings",
        "condition": {"or": [{"var": "depth", "equals": "deep"}, {"var": "depth", "equals": "quick"}]},
    }

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule in criteria.rules:
            if never_holds(rule.condition):
                report(
                    rule.at("condition"),
                    f"{label(criteria.step)}: the condition is never true, so the {quoted(rule.type)} rule is always "
                    "skipped",
                )
