"""Judgements about whole conditions: whether they can be both true and false. And all verdicts in their order."""

from __future__ import annotations

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import listed, quoted
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.analysis.definitions_and_uses import AUTHORED, Decision
from workrail_lint.systems.workrail.analysis.flow import LoopFacts
from workrail_lint.systems.workrail.analysis.logic import (
    BOUNDS,
    ONLY_UNSET,
    Node,
    Values,
    impossible,
    nearest_name,
)
from workrail_lint.systems.workrail.condition_logic import compare
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.rules.base import WorkflowContext
from workrail_lint.systems.workrail.rules.delivered_text import Phrase, delivered
from workrail_lint.systems.workrail.rules.prose import Search
from workrail_lint.systems.workrail.rules.value_verdicts import judge_values
from workrail_lint.systems.workrail.rules.variable_verdicts import (
    COUNTER,
    NEVER_SET,
    is_counting,
    judge_counters,
    judge_gates,
    judge_items,
    judge_variables,
)
from workrail_lint.systems.workrail.rules.verdicts import Judge, Verdict, consequence, exception, in_words, is_read_once

NEVER, ALWAYS, TESTS_UNSET = "condition-never-true", "condition-always-true", "condition-only-tests-unset"
NEVER_ENTERED = "loop-never-entered"


def find_dead_steps(judge: Judge) -> None:
    """Note the steps whose own condition is a contradiction, and the bodies of such loops."""
    analysis = judge.analysis
    dead_loops: set[str] = set()
    for decision in analysis.decisions:
        if decision.kind == "runCondition" and _is_contradiction(judge, decision):
            judge.dead.add(decision.step)
            if analysis.steps[decision.step].kind == "loop":
                dead_loops.add(analysis.steps[decision.step].id)
    if dead_loops:
        judge.dead.update(index for index, step in enumerate(analysis.steps) if step.loop in dead_loops)


def _is_contradiction(judge: Judge, decision: Decision) -> bool:
    if "var" in decision.condition:
        return False  # a single comparison can always be true or false
    node = judge.analysis.node(decision.condition)
    return node is not None and not _is_malformed(judge, decision, node) and not _is_free(node) and impossible((node,))


def _is_malformed(judge: Judge, decision: Decision, node: Node) -> bool:
    """Return whether other rules report the condition, or a part of it."""
    return decision.pointer in judge.malformed or (node.comparison is None and (not node.leaves or _has_empty(node)))


def _is_free(node: Node) -> bool:
    """Return whether every variable is compared once: then the condition and its parts may both hold and fail."""
    if node.comparison is not None:
        return True
    return is_read_once(node) and not any(leaf.operator == "contains" for leaf in node.leaves)


def _has_empty(node: Node) -> bool:
    return node.logic in ("and", "or") and (not node.members or any(map(_has_empty, node.members)))


def judge_conditions(judge: Judge) -> None:
    """Judge every whole condition whose comparisons have no finding yet."""
    analysis = judge.analysis
    for decision in analysis.decisions:
        if decision.origin.via != AUTHORED or _is_open(judge, decision):
            continue
        node = analysis.node(decision.condition)
        if node is None or _is_malformed(judge, decision, node):
            continue
        uses = analysis.uses_of_decision.get(decision.pointer, ())
        if judge.judged and any(use.pointer in judge.judged or use.name in judge.unset for use in uses):
            continue
        is_free = _is_free(node)
        if decision.step in judge.dead:
            if decision.kind == "runCondition" and not is_free and impossible((node,)):
                _report_never(judge, decision, node)
            continue
        enclosing = _enclosing(judge, decision)
        if enclosing and not _shares_variable(judge, node, enclosing):
            enclosing = ()
        # A step whose own condition is a contradiction is dead, so this one's is none.
        if not is_free and decision.kind != "runCondition" and impossible((node,)):
            _report_never(judge, decision, node)
        elif enclosing and _never_here(judge, decision, enclosing):
            pass
        elif not is_free and impossible((), (node,)):
            judge.report(ALWAYS, Severity.WARNING, decision.pointer, "this condition is always true; remove it")
        elif not (enclosing and _always_here(judge, decision, enclosing)) and not _only_unset(judge, decision, node):
            if not is_free:
                _parts(judge, decision)
            if decision.kind == "loop":
                _never_entered(judge, decision, node)


def _is_open(judge: Judge, decision: Decision) -> bool:
    """Return whether a condition can certainly both hold and fail: one comparison, no condition around it."""
    condition = decision.condition
    operator = "equals" if "equals" in condition else "not_equals"
    if len(condition.raw) != 2 or operator not in condition or decision.kind == "loop" or _enclosing(judge, decision):
        return False
    operand = condition.equals if operator == "equals" else condition.not_equals
    domain = judge.analysis.domain(condition.var) if condition.var is not None and operand is not None else None
    return domain is None or any(compare(operator, value, operand) is False for value in domain.values)


def _enclosing(judge: Judge, decision: Decision) -> tuple[Condition, ...]:
    """Return the conditions that hold when this one is evaluated."""
    step = judge.analysis.steps[decision.step]
    if decision.kind == "criteria":
        return ()
    if decision.kind == "runCondition":
        return tuple(condition for condition in step.conditions if condition is not decision.condition)
    return step.conditions


def _names(node: Node) -> list[str]:
    return list(dict.fromkeys(leaf.variable for leaf in node.leaves))


def _never_here(judge: Judge, decision: Decision, enclosing: tuple[Condition, ...]) -> bool:
    """Return whether a condition contradicts the conditions around it."""
    analysis, condition = judge.analysis, decision.condition
    if not analysis.impossible((*enclosing, condition)):
        return False
    cause = next((item for item in enclosing if analysis.impossible((item, condition))), enclosing[0])
    what = consequence(judge, decision.kind, decision.step, False)
    judge.report(NEVER, Severity.WARNING, decision.pointer, f"{what}: {_runs_when(judge, decision, cause)}")
    return True


def _always_here(judge: Judge, decision: Decision, enclosing: tuple[Condition, ...]) -> bool:
    """Return whether the conditions around a condition make it true."""
    analysis, condition = judge.analysis, decision.condition
    if decision.kind == "loop" or not analysis.impossible(enclosing, (condition,)):
        return False
    cause = next((item for item in enclosing if analysis.impossible((item,), (condition,))), enclosing[0])
    reason = _runs_when(judge, decision, cause)
    judge.report(ALWAYS, Severity.INFO, decision.pointer, f"this condition is always true here: {reason}; remove it")
    return True


def _report_never(judge: Judge, decision: Decision, node: Node) -> None:
    what = consequence(judge, decision.kind, decision.step, False)
    names = listed(map(quoted, _names(node)))
    judge.report(NEVER, Severity.ERROR, decision.pointer, f"{what}: no value of {names} meets this condition")


def _shares_variable(judge: Judge, node: Node, enclosing: tuple[Condition, ...]) -> bool:
    names = {leaf.variable for leaf in node.leaves}
    nodes = [judge.analysis.node(condition) for condition in enclosing]
    return any(leaf.variable in names for node in nodes if node is not None for leaf in node.leaves)


def _runs_when(judge: Judge, decision: Decision, cause: Condition) -> str:
    """Return a clause that names the condition around this one that decides it."""
    step = judge.analysis.steps[decision.step]
    is_own = (
        step.conditions
        and step.conditions[0] is cause
        and judge.analysis.flow.nodes[decision.step].model.run_condition is cause
    )
    who = "the step" if is_own and step.kind != "loop" else "the loop"
    return f"{who} runs only when {in_words(cause)}"


def _parts(judge: Judge, decision: Decision) -> None:
    """Report the parts that never or always hold in a condition that can be true or false as a whole."""
    pending = _compound_parts(decision.condition, decision.pointer)
    while pending:
        part, place = pending.pop(0)
        if judge.analysis.impossible((part,)):
            inner = judge.analysis.node(part)
            names = listed(map(quoted, _names(inner) if inner is not None else ()))
            message = f"this part of the condition never holds: no value of {names} meets it"
            judge.report(NEVER, Severity.WARNING, place, message)
        elif judge.analysis.impossible((), (part,)):
            judge.report(ALWAYS, Severity.WARNING, place, "this part of the condition is always true; remove it")
        else:
            pending += _compound_parts(part, place)


def _compound_parts(condition: Condition, pointer: str) -> list[tuple[Condition, str]]:
    """Return the parts directly below that combine several comparisons."""
    below = [*([condition.not_] if condition.not_ is not None else []), *condition.and_, *condition.or_]
    return [(part, f"{pointer}/{part.key}") for part in below if part.raw and "var" not in part]


def _only_unset(judge: Judge, decision: Decision, node: Node) -> bool:
    comparison = node.comparison
    name = next(iter(node.leaves)).variable if comparison is None else comparison.variable
    if comparison is None and any(leaf.variable != name for leaf in node.leaves):
        return False
    if comparison is not None and (comparison.operator, comparison.operand) == ("gte", 0):
        without = exception(judge, decision.kind, decision.step)
        message = f"'gte 0' holds for every count, so {without} only when nothing sets {quoted(name)}"
        judge.report(TESTS_UNSET, Severity.WARNING, decision.pointer, message)
        return True
    domain = judge.analysis.domain(name)
    if domain is None or all(leaf.operand is None for leaf in node.leaves):
        return False
    if comparison is not None and any(comparison.holds(value) is False for value in domain.values):
        return False  # as nearly always, which is known without a search
    if not impossible((), (node,), {name: Values(domain.values, True, False)}):
        return False
    if not impossible((node,), (), {name: ONLY_UNSET}):
        return False
    without = exception(judge, decision.kind, decision.step)
    message = f"this holds for every value of {quoted(name)}, so {without} only when nothing sets it"
    judge.report(TESTS_UNSET, Severity.WARNING, decision.pointer, message)
    return True


def _never_entered(judge: Judge, decision: Decision, node: Node) -> None:
    """Report a loop whose condition fails before its first round, because nothing has set its variables by then."""
    analysis = judge.analysis
    facts = analysis.loops[analysis.steps[decision.step].id]
    missing = [name for name in _names(node) if not _known_before(judge, name, facts)]
    if not missing:
        _ends_at_once(judge, decision, node, facts)
        return
    if not analysis.is_complete:
        return  # what was not read may set them
    values = dict.fromkeys(missing, ONLY_UNSET)
    if not (impossible((), (node,), values) if facts.kind == "until" else impossible((node,), (), values)):
        return
    leaf = next(leaf for leaf in node.leaves if leaf.variable in missing)
    reason = ""
    if facts.kind == "while" and leaf.operator in ("gt", "gte", "lt", "lte"):
        reason = f", and {quoted(leaf.operator)} is false on an unset value"
    judge.report(
        NEVER_ENTERED,
        Severity.WARNING,
        decision.pointer.removesuffix("/condition") if "/conditionSource/" in decision.pointer else decision.pointer,
        f"this loop never starts: {listed(map(quoted, missing))} {'is' if len(missing) == 1 else 'are'} unset before "
        f"the first round{reason}. Set it before the loop",
    )


_FIRST_NUMBER = Pattern(
    r"[`'\"*]*\s*(?:=|:|to|as|at|with)\s*[`'\"]?(-?\d+(?:\.\d+)?)(?![\w%]|\.\d|\s?(?:-|–|to|/|\||or)\s?\d)"
)


def _ends_at_once(judge: Judge, decision: Decision, node: Node, facts: LoopFacts) -> None:
    """Report a loop whose counter has a first value for which the loop is over."""
    comparison, analysis = node.comparison, judge.analysis
    if comparison is None or comparison.operator not in BOUNDS:
        return
    here = analysis.steps[facts.step].position
    before = [
        definition
        for definition in analysis.setters(comparison.variable)
        if definition.step is None or analysis.steps[definition.step].position < here
    ]
    values = [_FIRST_NUMBER.match(definition.text, definition.span[1]) for definition in before]
    numbers = {match[1] for match in values if match is not None}
    if len(numbers) != 1 or None in values:
        return
    first = float(numbers.pop())
    if comparison.holds(first) is (facts.kind == "until"):
        test = f"'{comparison.operator} {js.number_text(comparison.operand)}'"
        holds = "already true" if facts.kind == "until" else "false"
        judge.report(
            NEVER_ENTERED,
            Severity.WARNING,
            decision.pointer,
            f"this loop never starts: {quoted(comparison.variable)} is {js.number_text(first)} before the first round, "
            f"and {test} is {holds} then; correct the comparison",
        )


def _known_before(judge: Judge, name: str, facts: LoopFacts) -> bool:
    """Return whether anything before the loop sets or mentions the variable."""
    analysis = judge.analysis
    if analysis.is_given(name) or name in facts.variables:
        return True
    here = analysis.steps[facts.step].position
    places = [definition.step for definition in analysis.definitions(name)] + [
        item.step for item in analysis.mentions(name)
    ]
    return any(index is None or analysis.steps[index].position < here for index in places)


# "Continue if `gapsRemain = true`", "stop when `passCount >= 3`".
_TESTS = Search(
    ("= true`", "= false`", "> 0`", ">= ", "== "),
    r"`([a-z_]\w*) ?(?:={1,3}|!==?|>=?|<=?) ?(?:[\w.'\"-]{1,40})`",
    before=100,
)
_OVERLAP = 0.5  # of the words of two names for one thing
_NAME_WORD = Pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def judge_prose(judge: Judge) -> None:
    """Report tests in prompts whose variable nothing sets, and whose name another variable was likely to have."""
    analysis = judge.analysis
    tests: dict[str, list[Phrase]] = {}
    for phrase in delivered(judge.workflow).phrases(_TESTS, in_code=True):
        tests.setdefault(phrase.group(1), []).append(phrase)
    for name, phrases in tests.items():
        if name in judge.plain_uses or name == name.lower() or analysis.is_given(name) or analysis.is_of_loop(name):
            continue
        if next(analysis.each_definition(name), None) is None:
            if len(analysis.mentions(name)) == len(phrases):
                _report_untold(judge, phrases[0], name)
        elif all(map(is_counting, analysis.each_definition(name))):
            text = f"{quoted(name)} is only counted and never gets a first value; ask for a start value"
            judge.report(COUNTER, Severity.WARNING, phrases[0].pointer, text)


def _report_untold(judge: Judge, phrase: Phrase, name: str) -> None:
    """Report a test of a variable that nothing names but tests, if a variable that nothing reads may be meant."""
    analysis = judge.analysis
    if not analysis.is_complete:
        return
    typo = nearest_name(name, filter(analysis.is_set, judge.known_names.near(name)))
    if typo is not None and typo.close:
        text = f"nothing sets {quoted(name)}, which this prompt tests; did you mean {quoted(typo.name)}?"
        judge.report(NEVER_SET, Severity.WARNING, phrase.pointer, text)
        return
    words = set(map(str.lower, _NAME_WORD.findall(name)))
    for other in sorted(analysis.all_names):
        own = set(map(str.lower, _NAME_WORD.findall(other)))
        if len(words & own) < 2 or len(words & own) <= _OVERLAP * max(len(words), len(own)):
            continue
        # What the texts say about a name is read last, because that takes longest.
        if other not in judge.plain_uses and analysis.is_set(other) and not analysis.mentions(other):
            text = f"nothing sets {quoted(name)}, which this prompt tests; did you mean {quoted(other)}?"
            judge.report(NEVER_SET, Severity.WARNING, phrase.pointer, text)
            return


def verdicts(workflow: WorkflowContext) -> dict[str, list[Verdict]]:
    """Return the findings of all rules that rest on the analysis, by the name of the rule."""
    judge = Judge(workflow)
    if judge.analysis.uses:
        find_dead_steps(judge)
        judge_variables(judge)
        judge_gates(judge)
        judge_values(judge)
        judge_conditions(judge)
        judge_items(judge)
        judge_counters(judge)
    judge_prose(judge)
    return judge.verdicts
