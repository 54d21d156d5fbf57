"""Which step comes before which, surely or perhaps."""

from __future__ import annotations

from workrail_lint.systems.workrail.analysis.analysis import Analysis, surely_set_before
from workrail_lint.systems.workrail.analysis.definitions_and_uses import Definition, PlacedStep, Use
from workrail_lint.systems.workrail.analysis.logic import ONLY_UNSET, UNKNOWN, Answer, Node, impossible
from workrail_lint.systems.workrail.model.workflow import Condition

# Looked at after the step's own submission, or again while its loop runs.
_AFTER_OWN_STEP = ("gate", "criteria")


def before(a: PlacedStep, b: PlacedStep) -> bool:
    return a.position < b.position


def conditions_at(analysis: Analysis, use: Use) -> tuple[Condition, ...]:
    """Return what holds when a use is reached."""
    conditions = analysis.steps[use.step].conditions
    return conditions if use.when is None else (use.when, *conditions)


def may_precede(analysis: Analysis, definition: Definition, use: Use) -> bool:
    """Return whether the definition can have happened when the use is reached."""
    if definition.step is None:
        return True
    a, b = analysis.steps[definition.step], analysis.steps[use.step]
    if a.position < b.position:
        return True
    if definition.step == use.step:
        return use.kind in _AFTER_OWN_STEP or b.loop is not None
    if use.kind == "loop" and a.loop == b.id:
        return True
    return a.loop is not None and a.loop == b.loop


class _Detour:
    """How a run gets to a use without a definition: past a step whose condition fails, or in a way that is unknown."""

    __slots__ = ("condition", "surely_set")

    def __init__(self, condition: Condition | None, surely_set: frozenset[str] = frozenset()) -> None:
        self.condition = condition
        self.surely_set = surely_set


def surely_precedes(analysis: Analysis, definition: Definition, use: Use) -> bool:
    """Return whether the definition happened before the use in every run."""
    return _detour(analysis, definition, use) is None


def must_precede(analysis: Analysis, definition: Definition, use: Use) -> Answer | None:
    """None when the definition surely happened before the use; else how the use is reached without it."""
    detour = _detour(analysis, definition, use)
    if detour is None:
        return None
    if detour.condition is None:
        return Answer(UNKNOWN)
    reached = conditions_at(analysis, use)
    surely = detour.surely_set
    return analysis.satisfy(reached, (detour.condition,), within_domains=True, surely_set=surely, unset=definition.name)


def _detour(analysis: Analysis, definition: Definition, use: Use) -> _Detour | None:
    if definition.step is None:
        return None
    a, b = analysis.steps[definition.step], analysis.steps[use.step]
    is_before = a.position < b.position
    may_be_skipped = a.loop is not None and a.loop != b.loop and not a.surely_entered
    if not is_before or definition.when is not None or may_be_skipped:
        return _Detour(None)
    reached = conditions_at(analysis, use)
    for condition in a.conditions:
        if any(condition.raw == other.raw for other in reached):
            continue
        surely = _surely_set(analysis, condition, reached, a)
        name = definition.name
        if not analysis.impossible(reached, (condition,), within_domains=True, surely_set=surely, unset=name):
            return _Detour(condition, surely)
    return None


def covered(analysis: Analysis, definitions: list[Definition], use: Use) -> bool:
    """Return whether the definitions together happen in every run that reaches the use, as the branches of an if do."""
    b = analysis.steps[use.step]
    reached = conditions_at(analysis, use)
    branches: list[Node] = []
    names: frozenset[str] = frozenset()
    for definition in definitions:
        if definition.step is None:
            return True
        a = analysis.steps[definition.step]
        enters = a.loop is None or a.loop == b.loop or a.surely_entered
        nodes = [analysis.node(condition) for condition in a.conditions]
        if before(a, b) and definition.when is None and enters and None not in nodes:
            branches.append(conjunction([node for node in nodes if node is not None]))
            for condition in a.conditions:
                names |= _surely_set(analysis, condition, reached, a)
    if not branches:
        return False
    holds = [analysis.node(condition) for condition in reached]
    variables = {leaf.variable for node in (*holds, *branches) if node is not None for leaf in node.leaves}
    values = analysis.values(variables, names)
    values[use.name] = ONLY_UNSET
    return impossible(holds, branches, values)


def exclusive(analysis: Analysis, a: PlacedStep, b: PlacedStep) -> bool:
    """Return whether no run has both steps, as long as the variables keep their values."""
    return analysis.impossible((*a.conditions, *b.conditions), within_domains=True)


def conjunction(nodes: list[Node]) -> Node:
    """All of these conditions as one."""
    return Node("and", tuple(nodes))


def _surely_set(
    analysis: Analysis, condition: Condition, reached: tuple[Condition, ...], step: PlacedStep
) -> frozenset[str]:
    names: set[str] = set()
    for item in (condition, *reached):
        node = analysis.node(item)
        if node is not None:
            names.update(leaf.variable for leaf in node.leaves)
    return frozenset(name for name in names if surely_set_before(analysis, name, step))
