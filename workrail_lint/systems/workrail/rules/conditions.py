"""CD: the form of conditions: known operators, and combinations of which the engine evaluates only a part."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, ClassVar

from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import did_you_mean
from workrail_lint.base.wording import listed, quoted
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.operations import Remove, Rename, Replace
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.documents.schema.messages import nearest_member, shown, squashed
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import Description
from workrail_lint.systems.workrail.condition_logic import LOGIC, comparisons, is_structure
from workrail_lint.systems.workrail.model.build import workflow_validator
from workrail_lint.systems.workrail.model.workflow import Condition, LoopStep
from workrail_lint.systems.workrail.rules.base import ConditionRule, WorkflowContext
from workrail_lint.systems.workrail.rules.prose import label, listing, value_at
from workrail_lint.systems.workrail.rules.rule_needs import (
    LOOP,
    UNUSUAL_CONDITION,
    condition_facts,
    from_named_condition,
)
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow
from workrail_lint.systems.workrail.step_place import StepPlace, members

# Common wrong spellings, by the operator they mean.
_MEANT = {
    "var": ("variable", "field", "key"),
    "equals": ("eq", "equal", "is", "==", "===", "equalTo", "equal_to"),
    "not_equals": ("ne", "neq", "notEquals", "not_equal", "notEqual", "isNot", "is_not", "!=", "!=="),
    "gt": (">", "greater_than", "greaterThan"),
    "gte": (">=", "ge", "greater_than_or_equal_to", "greater_than_or_equal", "greaterThanOrEqual"),
    "lt": ("<", "less_than", "lessThan"),
    "lte": ("<=", "le", "less_than_or_equal_to", "less_than_or_equal", "lessThanOrEqual"),
    "in": ("oneOf", "one_of", "isIn", "is_in"),
    "contains": ("includes", "include", "has"),
    "and": ("all", "allOf", "&&"),
    "or": ("any", "anyOf", "||"),
    "not": ("!",),
}
_ALIASES = {alias: operator for operator, aliases in _MEANT.items() for alias in aliases}
# The condition of a validation rule has fewer operators than the others.
_NOT_IN_RULES = ("in", "contains")


# Operators of other condition languages, by the name they have here.
_OTHER_NAMES = {
    "var": "variable name key field path context_var contextvar",
    "equals": "eq equal equalto is value ==",
    "not_equals": "ne neq notequal notequals isnot differs !=",
    "gt": "greaterthan greater more above >",
    "gte": "ge greaterthanorequal greaterthanorequalto greaterorequal atleast min >=",
    "lt": "lessthan less fewer below <",
    "lte": "le lessthanorequal lessthanorequalto lessorequal atmost max <=",
    "in": "oneof isoneof anyof among enum",
    "contains": "includes include has substring",
    "and": "all allof every &&",
    "or": "any some ||",
    "not": "none negate !",
}
_OPERATOR_OF = {name: operator for operator, names in _OTHER_NAMES.items() for name in names.split()}
_EVALUATOR_ONLY = frozenset(("startsWith", "endsWith", "matches"))


def _nearest_operator(name: str, known: Collection[str]) -> str | None:
    """Return the operator a condition member was meant to be."""
    operator = _OPERATOR_OF.get(name) or _OPERATOR_OF.get(squashed(name))
    return operator if operator in known else nearest_member(name, known)


def _gate_hint(name: str, place: StepPlace) -> str:
    """Return what to say when an object was meant as a gate, which differs from a condition in its `kind`."""
    if len(place.tokens) < 2 or place.tokens[-2] != "requireConfirmation" or name not in ("condition", "type", "gate"):
        return ""
    return "; a gate needs a kind that says who confirms: coordinator_eval or human_approval"


def _broken(condition: dict[str, Any]) -> set[tuple[str, str]]:
    """Return which keywords of the schema a condition breaks, each with its place."""
    violations = workflow_validator().violations({"steps": [{"runCondition": condition}]})
    return {(violation.pointer, violation.keyword) for violation in violations}


def when(condition: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a workflow whose second step runs under a condition on what the first one sets."""
    prompt = "Triage the report and set `size`, `risk` and `mode` in the context."
    return workflow(step("triage", prompt), step("dig", runCondition=condition, **members))


def _ignored(named: list[str]) -> str:
    """Return the clause for several operators of which only the first counts."""
    verb = "is" if len(named) == 2 else "are"
    return f"{listing(named[1:])} {verb} ignored, because only {quoted(named[0])} is evaluated"


def _rule(condition: dict[str, Any]) -> dict[str, Any]:
    criteria = [{"type": "contains", "value": "Done", "message": "Say Done.", "condition": condition}]
    return workflow(step(validationCriteria=criteria))


class _ConditionRule(ConditionRule):
    """A rule whose examples are conditions."""

    def document(self, part: Any) -> Any:
        return when(part)


class _FormRule(_ConditionRule):
    """A rule about the form of conditions, called only for the unusual ones."""

    needs = frozenset({UNUSUAL_CONDITION})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for condition in condition_facts(workflow).unusual:
            self.check_form(condition, workflow, report)

    def check_form(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        raise NotImplementedError


class ConditionOperatorUnknown(_ConditionRule):
    code = "CD001"
    name = "condition-operator-unknown"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A condition has an unknown operator, or one that is not allowed in its place."
    why = (
        "The operators are a closed set, so the engine rejects the workflow. It can evaluate `startsWith`, `endsWith` "
        "and `matches`, but rejects files with them; in the condition of a validation rule also `in` and `contains`."
    )
    fix = "Replace a common wrong spelling with the operator."
    describes = (("Condition", "additionalProperties"), ("RuleCondition", "additionalProperties"))

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        name, present = violation.member, place.parent or {}
        if name in _EVALUATOR_ONLY:
            instead = listed([each for each in ("equals", "in", "contains") if each in violation.expected], "or")
            subject = f"{shown(name)}{place.inside}"
            return Description(f"workflow files can't use the operator {subject}; use {instead}", on_name=True)
        if violation.shape == "RuleCondition" and name in members("Condition"):
            subject = f"{shown(name)}{place.inside}"
            return Description(f"the condition of a validation rule can't use the operator {subject}", on_name=True)
        gate = _gate_hint(name, place)
        suggestion = _nearest_operator(name, [known for known in violation.expected if known not in present])
        hint = gate or did_you_mean(suggestion) or f"; expected one of {', '.join(violation.expected)}"
        message = f"unknown operator {shown(name)}{place.inside}{hint}"
        return Description(message, on_name=True, suggestion=None if gate else suggestion)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        place, _, token = finding.pointer.rpartition("/")
        name = token.replace("~1", "/").replace("~0", "~")
        operator = _ALIASES.get(name)
        condition = value_at(workflow.definition, place)
        if operator is None or not isinstance(condition, dict) or name not in condition or operator in condition:
            return None
        if operator in _NOT_IN_RULES and "/validationCriteria/" in place:
            return None
        renamed = {operator if key == name else key: value for key, value in condition.items()}
        if not _broken(renamed) < _broken(condition):
            return None  # the value does not suit the operator
        return unsafe(f"use {operator}", Rename(finding.pointer, operator))

    def examples(self) -> Iterable[Example]:
        for bad, good in (("eq", "equals"), ("less_than_or_equal_to", "lte"), ("startsWith", "contains")):
            operand: Any = 3 if good == "lte" else "large"
            right = self.document({"var": "size", good: operand})
            yield Example(self.document({"var": "size", bad: operand}), right, right if good != "contains" else None)
        either = {"or": [{"var": "size", "equals": "large"}, {"var": "size", "equals": "huge"}]}
        yield Example(bad=_rule({"var": "size", "in": ["large", "huge"]}), good=_rule(either))


class ConditionEmpty(_FormRule):
    code = "CD005"
    name = "condition-empty"
    severity = Severity.INFO
    origin = "product"
    summary = "A condition is empty, so it is always true."
    why = "It looks like a decision, but it has no effect. Without it the workflow does the same and is clearer."
    fix = "Remove the condition; replace the empty condition of a confirmation with `true`."
    document = ConditionRule.document
    bad: ClassVar[Any] = ({"runCondition": {}}, {"requireConfirmation": {}})
    good: ClassVar[Any] = ({}, {"requireConfirmation": True})

    def check_form(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        if not condition.root or condition.raw:
            return
        pointer = condition.pointer
        action = "remove it"
        fix: Fix | None = unsafe("remove the condition", Remove(pointer))
        if condition.role == "loop":
            action, fix = "write when the loop continues", None
        elif pointer.endswith("/requireConfirmation"):
            action, fix = "write true", unsafe("replace it with true", Replace(pointer, True))
        report(pointer, f"{label(condition.step)}: an empty condition is always true; {action}", fix=fix)


class ConditionMalformed(_FormRule):
    code = "CD006"
    name = "condition-malformed"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "A condition is not one comparison of one variable, nor one of `and`, `or` and `not`."
    why = "The engine evaluates only a part of it, or always the same result, without saying so."
    fix = "Remove the empty condition from its list."
    bad: ClassVar[Any] = (
        {"equals": "large"},
        {"and": [{"var": "size"}, {"var": "risk"}, {}]},
        {"var": "risk", "gte": 1, "lte": 5},
        {"var": "size", "equals": "large", "or": [{"var": "risk", "gt": 2}, {"var": "mode", "equals": "deep"}]},
        {"and": [{"var": "size", "equals": "large"}], "or": [{"var": "risk", "gt": 2}]},
        {"var": " size"},
        {"var": "size", "equals": {"files": 1}},
    )
    good: ClassVar[Any] = (
        {"var": "size", "equals": "large"},
        {"and": [{"var": "size"}, {"var": "risk"}]},
        {"and": [{"var": "risk", "gte": 1}, {"var": "risk", "lte": 5}]},
        {
            "and": [
                {"var": "size", "equals": "large"},
                {"or": [{"var": "risk", "gt": 2}, {"var": "mode", "equals": "deep"}]},
            ]
        },
        {"and": [{"var": "size", "equals": "large"}, {"or": [{"var": "risk", "gt": 2}]}]},
        {"var": "size"},
        {"var": "size", "equals": 1},
    )
    fixed: ClassVar[Any] = (
        None,
        {"and": [{"var": "size"}, {"var": "risk"}]},
        {"and": [{"var": "risk", "gte": 1}, {"var": "risk", "lte": 5}]},
        {
            "and": [
                {"var": "size", "equals": "large"},
                {"or": [{"var": "risk", "gt": 2}, {"var": "mode", "equals": "deep"}]},
            ]
        },
        None,
        {"var": "size"},
        None,
    )

    def check_form(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        self._condition_no_operator(condition, workflow, report)
        self._condition_empty_nested(condition, workflow, report)
        self._condition_multiple_operators(condition, workflow, report)
        self._condition_var_and_logic(condition, workflow, report)
        self._condition_multiple_logic(condition, workflow, report)
        self._condition_var_blank(condition, workflow, report)
        self._condition_equals_structure(condition, workflow, report)

    def _condition_no_operator(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        members = condition.raw
        if "var" in members or any(name in members for name in LOGIC) or not comparisons(members):
            return
        report(
            condition.pointer,
            f"{label(condition.step)}: {quoted(comparisons(members)[0])} has no 'var', so the whole condition is "
            "always false; add the variable to compare",
        )

    def _condition_empty_nested(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        if condition.root or condition.raw:
            return
        in_list = not condition.pointer.endswith("/not")
        report(
            condition.pointer,
            f"{label(condition.step)}: a nested empty condition makes the whole condition false; "
            f"{'remove it' if in_list else 'write the condition to negate'}",
            fix=unsafe("remove the empty condition", Remove(condition.pointer)) if in_list else None,
        )

    def _condition_multiple_operators(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        members = condition.raw
        named = comparisons(members)
        if "var" not in members or len(named) < 2:
            return
        fix = None
        if not any(name in members for name in LOGIC):
            parts: list[Json] = [{"var": members["var"], name: members[name]} for name in members if name in named]
            fix = unsafe("split it into an 'and'", Replace(condition.pointer, {"and": parts}))
        report(
            condition.pointer,
            f"{label(condition.step)}: {_ignored(named)}; join them with 'and'",
            fix=fix,
        )

    def _condition_var_and_logic(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        members = condition.raw
        ignored = [name for name in LOGIC if name in members]
        if "var" not in members or not ignored:
            return
        parts: list[Json] = [{name: value for name, value in members.items() if name not in LOGIC}]
        for name in ignored:
            joined = members[name] if name == "and" and isinstance(members[name], list) else [{name: members[name]}]
            parts.extend(joined)
        report(
            condition.pointer,
            f"{label(condition.step)}: {listing(ignored)} next to 'var' is ignored; join them with 'and'",
            fix=unsafe("join them with 'and'", Replace(condition.pointer, {"and": parts})),
        )

    def _condition_multiple_logic(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        members = condition.raw
        named = [name for name in LOGIC if name in members]
        if "var" not in members and len(named) > 1:
            report(
                condition.pointer,
                f"{label(condition.step)}: {_ignored(named)}; nest one in the other",
            )

    @staticmethod
    def _is_known(name: str, workflow: WorkflowContext) -> bool:
        """Return whether something sets a variable: otherwise the name is wrong in more than its spaces."""
        return bool(name) and (workflow.analysis.is_set(name) or workflow.analysis.is_given(name))

    def _condition_var_blank(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        name = condition.var
        if name is None or (name and js.trim(name) == name):
            return
        pointer, trimmed = condition.at("var"), js.trim(name)
        report(
            pointer,
            f"{label(condition.step)}: the variable name {quoted(name)} "
            f"{'has spaces around it; remove them' if trimmed else 'is blank; name a variable'}",
            fix=unsafe("remove the spaces", Replace(pointer, trimmed)) if self._is_known(trimmed, workflow) else None,
        )

    def _condition_equals_structure(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        literals = [(condition.equals, condition.at("equals")), (condition.not_equals, condition.at("not_equals"))]
        literals += [(item, condition.at("in", index)) for index, item in numbered(condition.in_)]
        for literal, pointer in literals:
            if is_structure(literal):
                kind = "a list" if isinstance(literal, list) else "an object"
                verdict = "always true" if pointer.endswith("/not_equals") else "never true"
                report(
                    pointer,
                    f"{label(condition.step)}: a comparison with {kind} is {verdict}; compare with a string, number, "
                    "boolean or null",
                )


# `{{name}}`, `${name}`, `context.name`, `$.name`: what authors write where a name belongs.
_TOKEN = Pattern(r"(?:\$?\{{1,2}\s*|\$\.)?(?:context\.)?([A-Za-z_][\w-]*)(?:\s*\}{1,2})?")


def _name_in(text: str) -> str | None:
    """Return the name that a token stands for; None if the string is a name itself, or something else."""
    match = _TOKEN.fullmatch(text)
    return match[1] if match is not None and match[1] != text else None


class ConditionDottedVar(_FormRule):
    code = "CD010"
    name = "condition-dotted-var"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "The variable of a condition or of a `forEach` loop is a path or a token instead of a name."
    why = (
        "The engine looks up the whole string as a name, with its dots and braces. So the variable is unset, and a "
        "loop over it stops the run."
    )
    fix = "Replace the token with the name in it."
    needs = frozenset({UNUSUAL_CONDITION, LOOP})
    bad = ({"var": "size.files", "gt": 0}, {"var": "{{size}}", "gt": 0})
    good = ({"var": "size", "gt": 0},) * 2
    fixed = (None, {"var": "size", "gt": 0})

    def check_form(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        name = condition.var
        if name is None:
            return
        if (plain := _name_in(name)) is not None:
            self._report_token(condition.at("var"), label(condition.step), name, plain, report)
        elif "." in name:
            report(
                condition.at("var"),
                f"{label(condition.step)}: {quoted(name)} is looked up as a name, not as a path; let a step "
                "set a plain variable and test that",
            )

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        items = loop.loop.items
        if loop.loop.type == "forEach" and items is not None and (plain := _name_in(items)) is not None:
            self._report_token(loop.at("loop", "items"), label(loop), items, plain, report, Severity.ERROR)

    def examples(self) -> Iterable[Example]:
        yield from super().examples()

        def over(items: str) -> Any:
            asking = step(prompt="Set `files` to the list of files.")
            return workflow(asking, loop(step("read-file"), type="forEach", count=..., items=items))

        yield Example(over("{{files}}"), over("files"), over("files"))

    @staticmethod
    def _report_token(
        pointer: str, where: str, name: str, plain: str, report: Report, severity: Severity | None = None
    ) -> None:
        effect = ", so the run stops here" if severity else ""
        report(
            pointer,
            f"{where}: {quoted(name)} is looked up as a name, with all its characters{effect}; write {quoted(plain)}",
            severity=severity,
            fix=unsafe(f"replace with {quoted(plain)}", Replace(pointer, plain)),
        )


class ConditionEmptyList(_FormRule):
    code = "CD013"
    name = "condition-empty-list"
    severity = Severity.WARNING
    origin = "product"
    summary = "A condition compares with an empty list, or combines no conditions."
    why = "It has the same result on every run, so it decides nothing."
    bad: ClassVar[Any] = (
        {"var": "size", "in": []},
        {"or": []},
    )
    good: ClassVar[Any] = (
        {"var": "size", "in": ["large", "huge"]},
        {"or": [{"var": "size"}, {"var": "risk"}]},
    )

    def check_form(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        self._condition_in_empty(condition, workflow, report)
        self._condition_logic_empty(condition, workflow, report)

    def _condition_in_empty(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        if condition.raw.get("in") == []:
            report(
                condition.at("in"),
                f"{label(condition.step)}: 'in' with an empty list is never true; list the values",
            )

    def _condition_logic_empty(self, condition: Condition, workflow: WorkflowContext, report: Report) -> None:
        for name, verdict in (("and", "always true"), ("or", "never true")):
            if condition.raw.get(name) != []:
                continue
            if condition.root and condition.role == "loop" and from_named_condition(condition.step, workflow):
                continue
            report(
                condition.at(name),
                f"{label(condition.step)}: an empty {quoted(name)} is {verdict}; list the conditions or remove it",
            )
