"""The one walk over a workflow: builds the views, then calls the hooks of every rule that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding, Fix, Severity
from workrail_lint.systems.workrail.rules.base import Condition, Step, Workflow, WorkflowRule
from workrail_lint.systems.workrail.rules.registry import BINDINGS, MODULES, NEEDED_FOR, ROUTINE, rules_of

if TYPE_CHECKING:
    from workrail_lint.documents.structure import Violation

_HOOKS = (
    "check_workflow",
    "check_step",
    "check_loop",
    "check_condition",
    "check_text",
    "check_string",
    "check_compiled",
)
# Members with conditions, apart from runCondition.
_FURTHER_HOLDERS = (
    "requireConfirmation",
    "loop",
    "promptFragments",
    "parallelDelegations",
    "validationCriteria",
)
_LOGIC = ("and", "or", "not")
# Violations after which a value can't be taken for what its place says it is.
_WRONG_TYPE = ("type", "anyOf", "oneOf")


class _Reporter:
    """What a rule calls to report; one for each rule. All rules of a set report into one list."""

    __slots__ = ("applies", "rule", "sink")

    def __init__(self, rule: WorkflowRule, sink: list[Finding]) -> None:
        self.rule = rule
        self.sink = sink
        self.applies = True  # to the document at hand

    def __call__(
        self,
        pointer: str,
        message: str,
        *,
        fix: Fix | None = None,
        on_name: bool = False,
        severity: Severity | None = None,
        original: bool = False,
    ) -> None:
        rule = self.rule
        finding = Finding(rule.code, rule.name, severity or rule.severity, message, pointer, fix=fix, on_name=on_name)
        if original:
            finding.details["original"] = True
        self.sink.append(finding)


class RuleSet:
    """Rules sorted by the hooks they have, so that a hook costs only the rules that use it."""

    def __init__(self, rules: list[WorkflowRule]) -> None:
        self.rules = rules
        self._found: list[Finding] = []
        reporters = [_Reporter(rule, self._found) for rule in rules if any(_overrides(rule, hook) for hook in _HOOKS)]
        # Only rules that can answer no are asked whether they apply.
        self._asked = [(r.rule.applies, r) for r in reporters if _overrides(r.rule, "applies")]
        self._hooks: dict[str, list[tuple[Callable[..., None], _Reporter]]] = {
            hook: [(getattr(r.rule, hook), r) for r in reporters if _overrides(r.rule, hook)] for hook in _HOOKS
        }

    def run(self, workflow: Workflow) -> list[Finding]:
        """The findings of every rule that applies to the document, in no particular order."""
        self._found.clear()
        for applies, reporter in self._asked:
            reporter.applies = applies(workflow)
        self._call_hooks(workflow)
        return self._found.copy()

    def _call_hooks(self, workflow: Workflow) -> None:
        def hooked(hook: str) -> list[tuple[Callable[..., None], _Reporter]]:
            return [entry for entry in self._hooks[hook] if entry[1].applies]

        for check, report in hooked("check_workflow"):
            check(workflow, report)
        steps, loops = hooked("check_step"), hooked("check_loop")
        for step in workflow.all_steps:
            for check, report in steps:
                check(step, workflow, report)
            if step.kind == "loop":
                for check, report in loops:
                    check(step, workflow, report)
        if conditions := hooked("check_condition"):
            for condition in conditions_of(workflow):
                for check, report in conditions:
                    check(condition, workflow, report)
        if texts := hooked("check_text"):
            for check, report in texts:
                for text in workflow.top_texts:
                    check(text, None, workflow, report)
                for step in workflow.all_steps:
                    for text in step.texts:
                        check(text, step, workflow, report)
        if strings := hooked("check_string"):
            for value, pointer, is_name in strings_of(workflow.document.value):
                for check, report in strings:
                    check(value, pointer, is_name, workflow, report)
        if workflow.compiled is not None:
            for check, report in hooked("check_compiled"):
                check(workflow.compiled, workflow, report)


def _overrides(rule: WorkflowRule, hook: str) -> bool:
    return getattr(type(rule), hook) is not getattr(WorkflowRule, hook)


class LazyRuleSet:
    """Rules whose modules are loaded when a document comes along that they can concern."""

    def __init__(self, active: set[str] | None, further: tuple[WorkflowRule, ...] = ()) -> None:
        self._active = active  # names of the rules that are on; None: all that are on by default
        self._rules: dict[str, tuple[WorkflowRule, ...]] = {"": tuple(filter(self._is_active, further))}
        self._set: RuleSet | None = None

    def run(self, workflow: Workflow) -> list[Finding]:
        missing = [module for module in modules_for(workflow) if module not in self._rules]
        for module in missing:
            self._rules[module] = tuple(filter(self._is_active, rules_of(module)))
        if missing or self._set is None:
            self._set = RuleSet([rule for rules in self._rules.values() for rule in rules])
        return self._set.run(workflow)

    def _is_active(self, rule: WorkflowRule) -> bool:
        return rule.default_on if self._active is None else rule.name in self._active


def modules_for(workflow: Workflow) -> list[str]:
    """The rule modules that can have something to say about a document."""
    present = set(workflow.definition)
    for step in workflow.all_steps:
        present |= step.step.keys()
    if workflow.is_routine:
        present.add(ROUTINE)
    if workflow.bindings is not None:
        present.add(BINDINGS)
    return [
        module for module in MODULES if (needed := NEEDED_FOR.get(module)) is None or not needed.isdisjoint(present)
    ]


def build_steps(definition: dict[str, Any], damaged: set[str]) -> list[Step]:
    """The views of all steps but those whose shape can't be trusted."""
    steps: list[Step] = []
    authored = definition.get("steps")
    for index, item in enumerate(authored if isinstance(authored, list) else ()):
        pointer = f"/steps/{index}"
        if not isinstance(item, dict) or pointer in damaged:
            continue
        step = Step(item, pointer, index, None)
        body = item.get("body")
        if step.kind == "loop" and isinstance(body, list):
            step.body = [
                Step(inner, f"{pointer}/body/{position}", position, step)
                for position, inner in enumerate(body)
                if isinstance(inner, dict) and f"{pointer}/body/{position}" not in damaged
            ]
        steps.append(step)
    return steps


def damaged_places(violations: list[Violation]) -> set[str]:
    """The steps and top-level members that hold a value of a wrong type."""
    places: set[str] = set()
    for violation in violations:
        wrong = violation.keyword in _WRONG_TYPE or violation.pointer.endswith("/type")
        tokens = violation.pointer.split("/")[1:]
        if not wrong or not tokens:
            continue
        if tokens[0] != "steps" or len(tokens) == 1:
            places.add(f"/{tokens[0]}")
        elif len(tokens) > 4 and tokens[2] == "body":
            places.add("/" + "/".join(tokens[:4]))
        else:
            places.add(f"/steps/{tokens[1]}")
    return places


def sound_members(definition: dict[str, Any], damaged: set[str]) -> dict[str, Any]:
    """The definition without the top-level members of a wrong type."""
    if not any(child("", name) in damaged for name in definition):
        return definition
    return {name: value for name, value in definition.items() if child("", name) not in damaged}


@lru_cache(maxsize=1)
def conditions_of(workflow: Workflow) -> list[Condition]:
    """Every condition of the workflow, each followed by the ones nested in it."""
    found: list[Condition] = []
    for step in workflow.all_steps:
        data = step.step
        if "runCondition" in data:
            found += nested_conditions(data["runCondition"], f"{step.pointer}/runCondition", "run", step)
        if not data.keys().isdisjoint(_FURTHER_HOLDERS):
            for value, pointer, role in _further_roots(step):
                found += nested_conditions(value, pointer, role, step)
    return found


def _further_roots(step: Step) -> Iterator[tuple[Any, str, str]]:
    """The conditions in other places than runCondition."""
    data = step.step
    rule = data.get("requireConfirmation")
    if isinstance(rule, dict):
        if "kind" in rule:
            yield rule.get("condition"), step.at("requireConfirmation", "condition"), "gate"
        else:
            yield rule, step.at("requireConfirmation"), "gate"
    loop = data.get("loop")
    if isinstance(loop, dict):
        if "condition" in loop:
            yield loop["condition"], step.at("loop", "condition"), "loop"
        source = loop.get("conditionSource")
        if isinstance(source, dict) and "condition" in source:
            yield source["condition"], step.at("loop", "conditionSource", "condition"), "loop"
    for index, item in enumerate(_list(data.get("promptFragments"))):
        if isinstance(item, dict) and "when" in item:
            yield item["when"], step.at("promptFragments", index, "when"), "fragment"
    for index, item in enumerate(_list(data.get("parallelDelegations"))):
        if isinstance(item, dict) and "runCondition" in item:
            yield item["runCondition"], step.at("parallelDelegations", index, "runCondition"), "delegation"
    if "validationCriteria" in data:
        for item, pointer in criteria_rules(data["validationCriteria"], step.at("validationCriteria")):
            if "condition" in item:
                yield item["condition"], f"{pointer}/condition", "rule"


def nested_conditions(value: Any, pointer: str, role: str, step: Step) -> Iterator[Condition]:
    """A condition and everything below it, in document order and without recursion."""
    stack = [(value, pointer, True)]
    while stack:
        condition, place, root = stack.pop()
        if not isinstance(condition, dict):
            continue
        yield Condition(condition, place, role, root, step)
        if "var" in condition and len(condition) <= 2 and condition.keys().isdisjoint(_LOGIC):
            continue  # a comparison, as nearly all are
        below: list[tuple[Any, str, bool]] = []
        for logic in ("and", "or"):
            below += [(item, f"{place}/{logic}/{i}", False) for i, item in enumerate(_list(condition.get(logic)))]
        below.append((condition.get("not"), f"{place}/not", False))
        stack.extend(reversed(below))


def criteria_rules(criteria: Any, pointer: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The single rules of validation criteria in any form, in document order and without recursion."""
    stack = [(criteria, pointer)]
    while stack:
        value, place = stack.pop()
        if isinstance(value, list):
            stack.extend((item, f"{place}/{i}") for i, item in reversed(list(enumerate(value))))
        elif isinstance(value, dict):
            if "type" in value:
                yield value, place
                continue
            stack.extend((value[name], f"{place}/{name}") for name in ("not", "or", "and") if name in value)


def strings_of(root: object) -> Iterator[tuple[str, str, bool]]:
    """Every string with its pointer, and every member name (flagged), without recursion."""
    stack: list[tuple[object, str]] = [(root, "")]
    while stack:
        value, pointer = stack.pop()
        if isinstance(value, str):
            yield value, pointer, False
        elif isinstance(value, dict):
            for name, item in value.items():
                place = child(pointer, name)
                yield name, place, True
                stack.append((item, place))
        elif isinstance(value, list):
            stack.extend((item, f"{pointer}/{i}") for i, item in enumerate(value))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
