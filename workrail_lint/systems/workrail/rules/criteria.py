"""CR: the form of validation criteria, and its effect in a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.criteria_facts import MEMBERS, SHARED, Criteria, all_criteria
from workrail_lint.systems.workrail.rules.evidence import fitting_contract
from workrail_lint.systems.workrail.rules.prose import label
from workrail_lint.systems.workrail.rules.samples import step, workflow

_SURFACED = ("contains", "regex", "length")
_SURFACED_MOST = 5
_QUOTED_JSON = Pattern(f"[\"'`][{js.WHITESPACE_CLASS}]*[{{\\[]")


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


def checked(*rules: dict[str, Any], message: str | None = "Show your work.") -> dict[str, Any]:
    """A workflow whose only step has the rules as its criteria."""
    shared = {} if message is None else {"message": message}
    return workflow(step(validationCriteria=[{**rule, **shared} for rule in rules]))


class CriteriaPreferContract(CriteriaRule):
    code = "CR007"
    name = "criteria-prefer-contract"
    severity = Severity.INFO
    origin = "lock"
    summary = "A step uses validation criteria although a contract fits its topic."
    why = (
        "Criteria search prose for patterns. A contract asks for a typed artifact that other steps and tools can rely "
        "on; new workflows should use one."
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for criteria in all_criteria(workflow):
            title = str(criteria.step.step.get("title", "")).lower()
            contract = fitting_contract(title, workflow) if criteria.decides else None
            if contract is not None:
                report(
                    criteria.pointer,
                    f"{label(criteria.step)}: validationCriteria only searches prose; use the contract {contract} to "
                    "get a typed artifact",
                    on_name=True,
                )

    def examples(self) -> Iterable[Example]:
        rules = [{"type": "contains", "value": "## Verdict", "message": "Give a verdict."}]
        yield Example(
            workflow(step(title="Review the change", validationCriteria=rules)),
            workflow(
                step(
                    title="Review the change",
                    prompt="Submit a wr.review_verdict artifact.",
                    outputContract={"contractRef": "wr.contracts.review_verdict"},
                )
            ),
        )


class CriteriaEmpty(CriteriaRule):
    code = "CR008"
    name = "criteria-empty"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "The list of validation criteria is empty."
    why = "Any answer that is not blank passes, which the step requires anyway."
    fix = "Remove the empty list."
    fix_safety = "unsafe"

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        if criteria.value == []:
            report(
                criteria.pointer,
                f"{label(criteria.step)}: validationCriteria is empty, so any answer passes; add rules or remove it",
                fix=unsafe("remove the empty list", Remove(criteria.pointer)),
            )

    def examples(self) -> Iterable[Example]:
        good = workflow(step())
        yield Example(workflow(step(validationCriteria=[])), good, good)


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

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule, pointer in criteria.rules:
            names = [name for name in MEMBERS[rule["type"]] if name != "flags"]
            if any(name in rule for name in names):
                continue
            effect = "rejects" if rule["type"] in ("contains", "schema") else "accepts"
            report(
                pointer,
                f"{label(criteria.step)}: a {rule['type']} rule without {' and '.join(names)} {effect} every answer; "
                f"add {' or '.join(names)}",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(checked({"type": "contains"}), checked({"type": "contains", "value": "## Findings"}))
        yield Example(checked({"type": "length"}), checked({"type": "length", "min": 200}))


class CriteriaMemberIgnored(CriteriaRule):
    code = "CR010"
    name = "criteria-member-ignored"
    severity = Severity.WARNING
    origin = "product"
    summary = "A rule has a field that belongs to another type of rule."
    why = "A rule uses only the fields of its type and ignores all others."
    fix = "Remove the field."
    fix_safety = "unsafe"

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule, pointer in criteria.rules:
            for name in rule:
                home = next((kind for kind, members in MEMBERS.items() if name in members), None)
                if home is None or home == rule["type"] or name in SHARED:
                    continue
                place = f"{pointer}/{name}"
                report(
                    place,
                    f"{label(criteria.step)}: a {rule['type']} rule ignores {name}, which is for {home} rules; remove "
                    "it",
                    fix=unsafe(f"remove {name}", Remove(place)),
                    on_name=True,
                )

    def examples(self) -> Iterable[Example]:
        good = checked({"type": "contains", "value": "## Findings"})
        yield Example(checked({"type": "contains", "value": "## Findings", "pattern": "#+"}), good, good)


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

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule, pointer in criteria.rules:
            message = rule.get("message")
            if isinstance(message, str) and _QUOTED_JSON.search(message):
                report(
                    f"{pointer}/message",
                    f"{label(criteria.step)}: the message has JSON in quotes, and agents copy the quotes too; remove "
                    "the quotes around it",
                )
                return

    def examples(self) -> Iterable[Example]:
        rule = {"type": "contains", "value": "verdict"}
        yield Example(
            checked({**rule, "message": 'Include "{ verdict }".'}, message=None),
            checked({**rule, "message": "Include an object with a verdict."}, message=None),
        )


class CriteriaMessageBlank(CriteriaRule):
    code = "CR020"
    name = "criteria-message-blank"
    severity = Severity.INFO
    origin = "product"
    default_on = False
    summary = "A rule has a blank message."
    why = "The agent reads the message when the check fails; without one it gets a generic message or none."

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule, pointer in criteria.rules:
            message = rule.get("message")
            if isinstance(message, str) and js.is_blank(message):
                report(
                    f"{pointer}/message",
                    f"{label(criteria.step)}: the message is blank; tell the agent what to change",
                )

    def examples(self) -> Iterable[Example]:
        rule = {"type": "contains", "value": "## Findings"}
        yield Example(checked(rule, message=""), checked(rule, message="List the findings under a heading."))


class CriteriaArrayNotSurfaced(CriteriaRule):
    code = "CR021"
    name = "criteria-array-not-surfaced"
    severity = Severity.INFO
    origin = "runtime"
    summary = "The agent does not see validation criteria that are a list until it fails them."
    why = (
        f"The engine adds up to {_SURFACED_MOST} `contains`, `regex` and `length` rules of an `and` to the prompt as "
        "requirements, but none of a list (KD-35)."
    )
    fix = "Wrap the list in an `and`."
    fix_safety = "unsafe"

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        if isinstance(criteria.value, list) and any(rule["type"] in _SURFACED for rule, _ in criteria.rules):
            report(
                criteria.pointer,
                f"{label(criteria.step)}: the agent sees these rules only after failing; wrap them in "
                '{"and": […]} to show them up front',
                fix=unsafe("wrap the list in an 'and'", Replace(criteria.pointer, {"and": criteria.value})),
            )

    def examples(self) -> Iterable[Example]:
        rule = {"type": "contains", "value": "## Findings", "message": "List the findings."}
        good = workflow(step(validationCriteria={"and": [rule]}))
        yield Example(workflow(step(validationCriteria=[rule])), good, good)


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

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        if isinstance(criteria.value, dict) and criteria.rules:
            logic = next((name for name in ("and", "or", "not") if name in criteria.value), None)
            if logic is not None:
                report(
                    f"{criteria.pointer}/{logic}",
                    f"{label(criteria.step)}: if this {quoted(logic)} fails, the agent does not see the messages of "
                    "its rules; explain in the prompt what is expected",
                    on_name=True,
                )

    def examples(self) -> Iterable[Example]:
        rule = {"type": "contains", "value": "## Findings", "message": "List the findings."}
        yield Example(workflow(step(validationCriteria={"and": [rule]})), workflow(step(validationCriteria=[rule])))
