"""The structure of a workflow as a drawing shows it: sequences, branches, lanes, loops, template calls.

The steps of a workflow are a list, each with its own condition; readers think in branches. So neighbours that share a
condition become one branch, and branches that exclude each other become lanes side by side. Everything stays in the
order in which the engine looks at it, so that the result is series-parallel and can be drawn without crossings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workrail_lint.systems.drawing.shapes import Block, Branch, Card, Group, Note, Switch, cards
from workrail_lint.systems.workrail.analysis.analysis import Analysis, surely_set_before
from workrail_lint.systems.workrail.analysis.logic import IMPOSSIBLE, exclusive, parse, satisfy
from workrail_lint.systems.workrail.graph.texts import condition_text, conjuncts, key, notes, variables
from workrail_lint.systems.workrail.model.build import unchecked_condition
from workrail_lint.systems.workrail.model.ir import (
    CountSource,
    DelegatingStep,
    ItemsSource,
    LoopCondition,
    Program,
    ProgramStep,
    PromptStep,
    RepeatingStep,
    Repetition,
)
from workrail_lint.systems.workrail.model.workflow import Condition

MOST_LANES = 4
# Deeper branches are drawn as one: more is unreadable, and a document must not decide how deep we recurse.
_DEEPEST = 12


@dataclass(slots=True)
class _Item:
    """A block that still has to find its place, with what has to hold for it and what it sets."""

    block: Block
    conditions: dict[str, Condition]
    sets: frozenset[str]
    step: ProgramStep | None = None


def structure(program: Program, analysis: Analysis | None = None) -> tuple[Block, ...]:
    """Return the blocks of a workflow, from top to bottom."""
    return _Builder(analysis).sequence(program.steps)


def _branch(conditions: tuple[Condition, ...], items: tuple[Block, ...]) -> Branch:
    text = " and ".join(map(_part, conditions)) if len(conditions) > 1 else condition_text(conditions[0])
    return Branch(text, items, conditions)


def _conditions(branch: Branch) -> tuple[Condition, ...]:
    return tuple(condition for condition in branch.conditions if isinstance(condition, Condition))


def _part(condition: Condition) -> str:
    text = condition_text(condition)
    return f"({text})" if "or" in condition and "var" not in condition else text


class _Builder:
    def __init__(self, analysis: Analysis | None) -> None:
        self._analysis = analysis
        self._sets: Mapping[str, frozenset[str]] = {} if analysis is None else variables_set(analysis)
        self._steps = {} if analysis is None else {step.id: step for step in analysis.steps}

    def sequence(self, steps: Sequence[ProgramStep]) -> tuple[Block, ...]:
        return self._blocks(self._calls([self._item(step) for step in steps]), 0)

    def _item(self, step: ProgramStep) -> _Item:
        sets = self._sets.get(step.id, frozenset())
        match step:
            case RepeatingStep(loop=loop, body=body):
                items = self.sequence(body)
                sets = sets.union(*(self._sets.get(inner.id, frozenset()) for inner in body))
                block: Block = Group(step.id, "loop", step.title, loop_text(loop), loop.max_iterations, items)
            case DelegatingStep():
                block = Group(step.id, "parallel", step.title, "at the same time", None, _delegations(step))
            case PromptStep():
                block = Card(step.id, step.title, notes(step), _inner_id(step), step.provenance.source)
        return _Item(block, {key(c): c for c in conjuncts(step.run_condition)}, sets, step)

    def _calls(self, items: list[_Item]) -> list[_Item]:
        """Return the items, with one for neighbours that come from the same template call."""
        result: list[_Item] = []
        at = 0
        while at < len(items):
            call = _call(items[at])
            if call is None:
                result.append(items[at])
                at += 1
                continue
            end = at
            while end < len(items) and _call(items[end]) == call:
                end += 1
            run = items[at:end]
            shared = _shared(run)
            _leave_out(run, shared)
            name, template = call
            group = Group(name, "template", name, template.removeprefix("wr.templates."), None, self._blocks(run, 1))
            result.append(_Item(group, shared, frozenset().union(*(item.sets for item in run))))
            at = end
        return result

    def _blocks(self, items: list[_Item], depth: int) -> tuple[Block, ...]:
        """Return the blocks: an item without a condition alone, and a branch for neighbours that share one."""
        blocks: list[tuple[Block, frozenset[str]]] = []
        at = 0
        while at < len(items):
            item = items[at]
            if not item.conditions:
                blocks.append((item.block, item.sets))
                at += 1
                continue
            end = at + 1 if depth >= _DEEPEST else max(_run_end(items, at, c) for c in item.conditions.items())
            run = items[at:end]
            shared = _shared(run)
            sets = frozenset[str]().union(*(each.sets for each in run))
            _leave_out(run, shared)
            blocks.append((_branch(tuple(shared.values()), self._blocks(run, depth + 1)), sets))
            at = end
        return self._lanes(blocks)

    def _lanes(self, blocks: list[tuple[Block, frozenset[str]]]) -> tuple[Block, ...]:
        """Return the blocks with neighbouring branches that exclude each other side by side."""
        merged: list[Block] = []
        at = 0
        while at < len(blocks):
            block, sets = blocks[at]
            at += 1
            if not isinstance(block, Branch):
                merged.append(block)
                continue
            lanes, asked = {_key(block): block}, variables(*_conditions(block))
            while at < len(blocks):
                other, other_sets = blocks[at]
                if not isinstance(other, Branch):
                    break
                asked |= variables(*_conditions(other))
                # What the next lane asks about was set in between: the engine asks anew, and so does the drawing.
                if sets & asked:
                    break
                lane = lanes.get(_key(other))
                if lane is not None and len(lanes) > 1:
                    lanes[_key(other)] = _branch(_conditions(lane), lane.items + other.items)
                elif lane is None and len(lanes) < MOST_LANES and all(_exclude(a, other) for a in lanes.values()):
                    lanes[_key(other)] = other
                else:
                    break
                sets |= other_sets
                at += 1
            merged.append(self._switch(tuple(lanes.values())) if len(lanes) > 1 else block)
        return tuple(merged)

    def _switch(self, lanes: tuple[Branch, ...]) -> Switch:
        return Switch(_subject(lanes), lanes, self._is_complete(lanes))

    def _is_complete(self, lanes: tuple[Branch, ...]) -> bool:
        """Return whether one of the lanes always runs, by logic or by the values that the texts allow."""
        nodes = [parse(_all_of(lane)) for lane in lanes]
        names = {leaf.variable for node in nodes if node is not None for leaf in node.leaves}
        values = {}
        if self._analysis is not None:
            values = self._analysis.values(names, self._surely_set(names, lanes))
        return satisfy((), nodes, values).verdict == IMPOSSIBLE

    def _surely_set(self, names: set[str], lanes: tuple[Branch, ...]) -> frozenset[str]:
        analysis = self._analysis
        assert analysis is not None
        first = next((self._steps[i] for c in cards(lanes[0].items) if (i := c.step or c.id) in self._steps), None)
        if first is None:
            return frozenset()
        return frozenset(name for name in names if surely_set_before(analysis, name, first))


def variables_set(analysis: Analysis) -> dict[str, frozenset[str]]:
    """Return the variables that each step is told to set, by step id."""
    names_by_step: dict[str, set[str]] = {}
    for name in analysis.by_name:
        for setter in analysis.setters(name):
            if setter.step is not None:
                names_by_step.setdefault(analysis.steps[setter.step].id, set()).add(name)
    return {step: frozenset(names) for step, names in names_by_step.items()}


def loop_text(loop: Repetition) -> str:
    """Return what decides how often a loop runs, without its bound."""
    match loop.source:
        case CountSource(count=count, variable=variable):
            return f"{variable if count is None else count} times"
        case ItemsSource(variable=variable):
            return f"for each of {variable}"
        case LoopCondition(condition=condition):
            return f"{loop.kind} {condition_text(condition)}"
        case _:
            return "until the agent decides to stop"


def _delegations(step: DelegatingStep) -> tuple[Card, ...]:
    return tuple(
        Card(
            f"{step.id}~{number}",
            delegation.goal or delegation.workflow_id,
            (Note("delegation", f"delegates to {delegation.workflow_id}"),),
            delegation.workflow_id,
            step.provenance.source,
            step.id,
        )
        for number, delegation in enumerate(step.delegations)
    )


def _inner_id(step: ProgramStep) -> str | None:
    """Return the id of a step inside of its template, where the frame around it names the call."""
    inner = (step.provenance.origin or "").partition("#")[2]
    return inner if inner and step.provenance.source == "template" else None


def _call(item: _Item) -> tuple[str, str] | None:
    """Return the template call that a step comes from: its id, and the template."""
    if item.step is None:
        return None
    provenance = item.step.provenance
    if provenance.source != "template":
        return None
    template, _, inner = (provenance.origin or "").partition("#")
    name, dot, _ = item.step.id.rpartition(f".{inner}")
    return (name, template) if dot and name else None


def _shared(items: list[_Item]) -> dict[str, Condition]:
    """Return the conditions that all of the items have, in the order of the first."""
    first, *others = items
    return {k: c for k, c in first.conditions.items() if all(k in other.conditions for other in others)}


def _leave_out(items: list[_Item], shared: dict[str, Condition]) -> None:
    for item in items:
        item.conditions = {k: c for k, c in item.conditions.items() if k not in shared}


def _run_end(items: list[_Item], start: int, condition: tuple[str, Condition]) -> int:
    """Return where the run of neighbours with this condition ends: it also ends after one that sets what is asked."""
    k, asked = condition[0], variables(condition[1])
    end = start
    while end < len(items) and k in items[end].conditions:
        end += 1
        if items[end - 1].sets & asked:
            break
    return end


def _key(branch: Branch) -> tuple[str, ...]:
    return tuple(map(key, _conditions(branch)))


def _all_of(branch: Branch) -> Condition:
    first, *others = _conditions(branch)
    return unchecked_condition({"and": [first.raw, *(other.raw for other in others)]}) if others else first


def _exclude(a: Branch, b: Branch) -> bool:
    return exclusive(_all_of(a), _all_of(b))


def _subject(lanes: tuple[Branch, ...]) -> str | None:
    """Return the variable that every lane compares with something, if it is one."""
    asked = [_conditions(lane) for lane in lanes]
    names = {conditions[0].var if len(conditions) == 1 else None for conditions in asked}
    return names.pop() if len(names) == 1 else None
