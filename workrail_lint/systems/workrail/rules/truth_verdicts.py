"""Judgements about whole conditions: never true, always true, or false only for an unset variable."""

from __future__ import annotations

from workrail_lint.base.typed import TYPE_CHECKING
from workrail_lint.base.wording import listed, quoted
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.analysis.logic import IMPOSSIBLE, ONLY_UNSET, Values, satisfy
from workrail_lint.systems.workrail.analysis.records import AUTHORED
from workrail_lint.systems.workrail.rules.verdicts import (
    Judge,
    consequence,
    exception,
    in_words,
    is_odd,
    is_read_once,
)

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.analysis.flow import LoopFacts
    from workrail_lint.systems.workrail.analysis.logic import Node
    from workrail_lint.systems.workrail.analysis.records import Condition, Decision

NEVER, ALWAYS, TESTS_UNSET = "condition-never-true", "condition-always-true", "condition-only-tests-unset"
NEVER_ENTERED = "loop-never-entered"


def find_dead_steps(judge: Judge) -> None:
    """Steps whose own condition is a contradiction, and the bodies of such loops."""
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
    if "var" in decision.condition or _is_malformed(judge, decision):
        return False  # a single comparison can always be true or false
    if _is_free(judge, decision.condition):
        return False
    return judge.analysis.satisfy((decision.condition,)).verdict == IMPOSSIBLE


def _is_malformed(judge: Judge, decision: Decision) -> bool:
    """Whether other rules report the condition, or a part of it."""
    node = judge.analysis.node(decision.condition)
    if node is None or not node.leaves or _has_empty(node):
        return True
    uses = judge.analysis.uses_of_decision.get(decision.pointer, ())
    return any(use.leaf is not None and (is_odd(use.leaf) or "." in use.name) for use in uses)


def _is_free(judge: Judge, condition: Condition) -> bool:
    """Whether every variable is compared once: then the condition may hold and may fail, and so may its parts."""
    node = judge.analysis.node(condition)
    if node is None or any(leaf.operator == "contains" for leaf in node.leaves):
        return False
    return is_read_once(node)


def _has_empty(node: Node) -> bool:
    return node.logic in ("and", "or") and (not node.members or any(map(_has_empty, node.members)))


def judge_conditions(judge: Judge) -> None:
    """Every whole condition whose comparisons have no finding yet."""
    analysis = judge.analysis
    seen_dead = judge.dead.copy()
    for decision in analysis.decisions:
        if decision.origin.via != AUTHORED or _is_malformed(judge, decision):
            continue
        uses = analysis.uses_of_decision.get(decision.pointer, ())
        own_fault = (
            decision.kind == "runCondition" and decision.step in seen_dead and _is_contradiction(judge, decision)
        )
        if decision.step in judge.dead and not own_fault:
            continue
        if any(use.pointer in judge.judged or use.name in judge.unset for use in uses):
            continue
        if not (_never(judge, decision) or _always(judge, decision) or _only_unset(judge, decision)):
            _parts(judge, decision)
            _never_entered(judge, decision)


def _enclosing(judge: Judge, decision: Decision) -> tuple[Condition, ...]:
    """The conditions that hold when this one is evaluated."""
    step = judge.analysis.steps[decision.step]
    if decision.kind == "criteria":
        return ()
    if decision.kind == "runCondition":
        return tuple(condition for condition in step.conditions if condition is not decision.condition)
    return step.conditions


def _names(judge: Judge, decision: Decision) -> list[str]:
    node = judge.analysis.node(decision.condition)
    return list(dict.fromkeys(leaf.variable for leaf in node.leaves)) if node is not None else []


def _never(judge: Judge, decision: Decision) -> bool:
    analysis, condition = judge.analysis, decision.condition
    what = consequence(judge, decision.kind, decision.step, False)
    if _is_contradiction(judge, decision):
        names = listed(map(quoted, _names(judge, decision)))
        judge.report(NEVER, Severity.ERROR, decision.pointer, f"{what}: no value of {names} meets this condition")
        return True
    enclosing = _enclosing(judge, decision)
    if not enclosing or not _shares_variable(judge, decision, enclosing):
        return False
    if analysis.satisfy((*enclosing, condition)).verdict != IMPOSSIBLE:
        return False
    cause = next(
        (item for item in enclosing if analysis.satisfy((item, condition)).verdict == IMPOSSIBLE), enclosing[0]
    )
    judge.report(NEVER, Severity.WARNING, decision.pointer, f"{what}: {_runs_when(judge, decision, cause)}")
    return True


def _shares_variable(judge: Judge, decision: Decision, enclosing: tuple[Condition, ...]) -> bool:
    names = set(_names(judge, decision))
    nodes = [judge.analysis.node(condition) for condition in enclosing]
    return any(leaf.variable in names for node in nodes if node is not None for leaf in node.leaves)


def _runs_when(judge: Judge, decision: Decision, cause: Condition) -> str:
    """Which condition around this one decides it."""
    step = judge.analysis.steps[decision.step]
    is_own = (
        step.conditions
        and step.conditions[0] is cause
        and judge.analysis.flow.nodes[decision.step].step.get("runCondition") is cause
    )
    who = "the step" if is_own and step.kind != "loop" else "the loop"
    return f"{who} runs only when {in_words(cause)}"


def _always(judge: Judge, decision: Decision) -> bool:
    analysis, condition = judge.analysis, decision.condition
    is_open = "var" in condition or _is_free(judge, condition)
    if not is_open and analysis.satisfy((), (condition,)).verdict == IMPOSSIBLE:
        judge.report(ALWAYS, Severity.WARNING, decision.pointer, "this condition is always true; remove it")
        return True
    enclosing = _enclosing(judge, decision)
    if not enclosing or decision.kind == "loop" or not _shares_variable(judge, decision, enclosing):
        return False
    if analysis.satisfy(enclosing, (condition,)).verdict != IMPOSSIBLE:
        return False
    cause = next(
        (item for item in enclosing if analysis.satisfy((item,), (condition,)).verdict == IMPOSSIBLE), enclosing[0]
    )
    reason = _runs_when(judge, decision, cause)
    judge.report(ALWAYS, Severity.INFO, decision.pointer, f"this condition is always true here: {reason}; remove it")
    return True


def _parts(judge: Judge, decision: Decision) -> None:
    """A part that never holds, or always does, in a condition that can be true or false as a whole."""
    if "var" in decision.condition or _is_free(judge, decision.condition):
        return
    pending = _compound_parts(decision.condition, decision.pointer)
    while pending:
        part, place = pending.pop(0)
        names = listed(map(quoted, dict.fromkeys(_variables(judge, part))))
        if judge.analysis.satisfy((part,)).verdict == IMPOSSIBLE:
            message = f"this part of the condition never holds: no value of {names} meets it"
            judge.report(NEVER, Severity.WARNING, place, message)
        elif judge.analysis.satisfy((), (part,)).verdict == IMPOSSIBLE:
            judge.report(ALWAYS, Severity.WARNING, place, "this part of the condition is always true; remove it")
        else:
            pending += _compound_parts(part, place)


def _variables(judge: Judge, condition: Condition) -> list[str]:
    node = judge.analysis.node(condition)
    return [leaf.variable for leaf in node.leaves] if node is not None else []


def _compound_parts(condition: Condition, pointer: str) -> list[tuple[Condition, str]]:
    """The parts directly below that combine several comparisons."""
    inner = condition.get("not")
    below = [(inner, f"{pointer}/not")] if inner is not None else []
    for logic in ("and", "or"):
        items = condition.get(logic)
        if isinstance(items, list):
            below += [(item, f"{pointer}/{logic}/{index}") for index, item in enumerate(items)]
    return [(item, place) for item, place in below if isinstance(item, dict) and item and "var" not in item]


def _only_unset(judge: Judge, decision: Decision) -> bool:
    analysis = judge.analysis
    names = _names(judge, decision)
    node = analysis.node(decision.condition)
    if len(names) != 1 or node is None:
        return False
    name = names[0]
    without = exception(judge, decision.kind, decision.step)
    if node.comparison is not None and (node.comparison.operator, node.comparison.operand) == ("gte", 0):
        message = f"'gte 0' holds for every count, so {without} only when nothing sets {quoted(name)}"
        judge.report(TESTS_UNSET, Severity.WARNING, decision.pointer, message)
        return True
    domain = analysis.domain(name)
    if domain is None or all(leaf.operand is None for leaf in node.leaves):
        return False
    if satisfy((), [node], {name: Values(domain.values, True, False)}).verdict != IMPOSSIBLE:
        return False
    if satisfy([node], (), {name: ONLY_UNSET}).verdict != IMPOSSIBLE:
        return False
    message = f"this holds for every value of {quoted(name)}, so {without} only when nothing sets it"
    judge.report(TESTS_UNSET, Severity.WARNING, decision.pointer, message)
    return True


def _never_entered(judge: Judge, decision: Decision) -> None:
    """A loop whose condition fails before its first round, because nothing has set its variables by then."""
    if decision.kind != "loop":
        return
    analysis = judge.analysis
    facts = analysis.loops[analysis.steps[decision.step].id]
    node = analysis.node(decision.condition)
    missing = [name for name in _names(judge, decision) if not _known_before(judge, name, facts)]
    if not missing or node is None:
        return
    values = dict.fromkeys(missing, ONLY_UNSET)
    enters = satisfy((), [node], values) if facts.kind == "until" else satisfy([node], (), values)
    if enters.verdict != IMPOSSIBLE:
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


def _known_before(judge: Judge, name: str, facts: LoopFacts) -> bool:
    """Whether anything before the loop sets or mentions the variable."""
    analysis = judge.analysis
    if analysis.is_given(name) or name in facts.variables:
        return True
    here = analysis.steps[facts.step].position
    places = [made.step for made in analysis.definitions(name)] + [item.step for item in analysis.mentions(name)]
    return any(index is None or analysis.steps[index].position < here for index in places)
