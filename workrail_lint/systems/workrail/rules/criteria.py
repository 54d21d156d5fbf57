"""CR: the form of validation criteria, and what a run makes of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.findings import Severity
from workrail_lint.findings.fix import unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.rules.base import Workflow, WorkflowRule
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

    # Next to a contract or an assessment the result of criteria is ignored, but evaluating them can still fail.
    even_if_ignored: ClassVar[bool] = False

    def applies(self, workflow: Workflow) -> bool:
        return bool(all_criteria(workflow))

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
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
    summary = "A step is checked by validation criteria although a contract fits what it is about."
    why = (
        "Criteria look for patterns in prose. A contract asks for a typed artifact that other steps and tools can "
        "rely on, which is what new workflows should use."
    )

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        for criteria in all_criteria(workflow):
            title = str(criteria.step.step.get("title", "")).lower()
            contract = fitting_contract(title, workflow) if criteria.decides else None
            if contract is not None:
                report(
                    criteria.pointer,
                    f"{label(criteria.step)}: searches prose with validationCriteria; the contract {contract} would "
                    "ask for a typed artifact",
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
    why = "Then an answer only has to be something other than white space, which the step asks for anyway."
    fix = "Remove the empty list."
    fix_safety = "unsafe"

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        if criteria.value == []:
            report(
                criteria.pointer,
                f"{label(criteria.step)}: validationCriteria is empty, so that any text passes; add rules or remove it",
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
    summary = "A rule lacks the member that says what to check."
    why = (
        "`contains` without a value and `schema` without a schema fail whatever the answer is, so the step can't be "
        "passed. `regex` without a pattern and `length` without bounds let every answer pass."
    )

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule, pointer in criteria.rules:
            names = [name for name in MEMBERS[rule["type"]] if name != "flags"]
            if any(name in rule for name in names):
                continue
            effect = "always fails" if rule["type"] in ("contains", "schema") else "always passes"
            report(
                pointer,
                f"{label(criteria.step)}: a {rule['type']} rule without {' and '.join(names)} {effect}; "
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
    summary = "A rule has a member that belongs to another type of rule."
    why = "A rule looks only at the members of its own type; what the other one says is never checked."
    fix = "Remove the member."
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
                    f"{label(criteria.step)}: a {rule['type']} rule does not look at {name}, which is for {home} rules",
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
    summary = "A rule's message quotes a piece of JSON."
    why = (
        "Agents copy what a failed check shows them, quotes included, and then hand in a string where an object was "
        "meant. Describe the shape, or show the JSON without quotes around it."
    )
    even_if_ignored = True

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule, pointer in criteria.rules:
            message = rule.get("message")
            if isinstance(message, str) and _QUOTED_JSON.search(message):
                report(
                    f"{pointer}/message",
                    f"{label(criteria.step)}: the message quotes JSON, which agents copy quotes and all; show it bare",
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
    why = "The message is what the agent reads when the check fails; without one it gets a stock phrase or nothing."

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        for rule, pointer in criteria.rules:
            message = rule.get("message")
            if isinstance(message, str) and js.is_blank(message):
                report(
                    f"{pointer}/message", f"{label(criteria.step)}: the message is blank; say what to do differently"
                )

    def examples(self) -> Iterable[Example]:
        rule = {"type": "contains", "value": "## Findings"}
        yield Example(checked(rule, message=""), checked(rule, message="List the findings under a heading."))


class CriteriaArrayNotSurfaced(CriteriaRule):
    code = "CR021"
    name = "criteria-array-not-surfaced"
    severity = Severity.INFO
    origin = "runtime"
    summary = "Criteria in the form of a list are not shown to the agent."
    why = (
        f"Up to {_SURFACED_MOST} contains, regex and length rules of an `and` are added to the prompt as requirements. "
        "Those of a list are not: the agent learns of them when it fails."
    )
    fix = "Turn the list into an `and`."
    fix_safety = "unsafe"

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        if isinstance(criteria.value, list) and any(rule["type"] in _SURFACED for rule, _ in criteria.rules):
            report(
                criteria.pointer,
                f"{label(criteria.step)}: a list of rules is not shown to the agent until it fails; make it an and",
                fix=unsafe("turn the list into an and", Replace(criteria.pointer, {"and": criteria.value})),
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
    summary = "Criteria in the form of a composition do not show the messages of their rules."
    why = (
        "When an `and`, `or` or `not` fails, the agent is told that the composition failed, and nothing of what the "
        "rules say. The prompt has to explain what is expected."
    )

    def check_criteria(self, criteria: Criteria, report: Report) -> None:
        if isinstance(criteria.value, dict) and criteria.rules:
            logic = next((name for name in ("and", "or", "not") if name in criteria.value), None)
            if logic is not None:
                report(
                    f"{criteria.pointer}/{logic}",
                    f"{label(criteria.step)}: when this {logic} fails, no message of its rules is shown; say in the "
                    "prompt what is expected",
                    on_name=True,
                )

    def examples(self) -> Iterable[Example]:
        rule = {"type": "contains", "value": "## Findings", "message": "List the findings."}
        yield Example(workflow(step(validationCriteria={"and": [rule]})), workflow(step(validationCriteria=[rule])))
