"""Every place that reads a context variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workrail_lint.base.patterns import Pattern
from workrail_lint.systems.workrail.analysis.records import (
    AUTHORED,
    FOREIGN,
    VIRTUAL,
    Decision,
    Origin,
    Use,
)

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.analysis.flow import Flow
    from workrail_lint.systems.workrail.analysis.texts import Texts
    from workrail_lint.systems.workrail.model.nodes import Role
    from workrail_lint.systems.workrail.model.workflow import Condition, LoopConfig, ParallelStep

# The texts that are rendered with the run's context.
TOKEN_FIELDS = frozenset(
    (
        *("title", "prompt", "goal", "constraints", "procedure", "outputRequired", "verify", "part", "fragment"),
        *("verification", "command", "audit", "rubric", "synthesis", "argument"),
    )
)
_TOKEN = Pattern(r"\{\{([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z_][A-Za-z0-9_]*)*)\}\}")
# Names of the engine's own tokens.
_RESERVED = ("wr", "context", "workflowId")
_MAX_DEPTH = 60
_KINDS: dict[Role, str] = {
    "run": "runCondition",
    "gate": "gate",
    "loop": "loop",
    "fragment": "fragment",
    "delegation": "delegation",
    "rule": "criteria",
}
_tuple = tuple.__new__


def build_decisions(flow: Flow) -> list[Decision]:
    """Every condition that decides something; one that several steps share is there once."""
    found: list[Decision] = []
    seen: set[str] = set()
    for index, (step, node) in enumerate(zip(flow.steps, flow.nodes, strict=True)):
        via = step.origin.via
        if step.damaged or via == VIRTUAL:
            continue  # a virtual step shares the condition of its step
        facts = flow.loops.get(step.id) if step.kind == "loop" else None
        decides = facts.condition if facts is not None and facts.step == index else None
        for condition in node.model.condition_roots():
            kind = _KINDS[condition.role]
            if (kind == "loop" and condition is not decides) or (kind == "runCondition" and not condition.raw):
                continue
            if via == AUTHORED or kind == "loop":
                pointer = condition.pointer
                origin = _tuple(Origin, (pointer, AUTHORED))
            elif kind == "runCondition":
                pointer, origin = _called_condition(flow, index, condition)
            else:
                pointer, origin = step.origin.pointer, step.origin
            if pointer not in seen or origin.via in FOREIGN:
                seen.add(pointer)
                found.append(_tuple(Decision, (pointer, kind, index, condition, origin)))
    return found


def build_uses(flow: Flow, decisions: list[Decision], texts: Texts) -> list[Use]:
    """Every place that reads a variable, conditions first."""
    found: list[Use] = []
    for pointer, kind, index, condition, origin in decisions:
        for leaf in leaves_of(condition):
            if leaf.var:
                at = leaf.at("var") if origin.via == AUTHORED else pointer
                found.append(_tuple(Use, (leaf.var, "", index, at, kind, leaf, None, pointer, origin, "")))
    for index, step in enumerate(flow.steps):
        model = flow.nodes[index].model
        if step.damaged:
            continue
        if model.kind == "loop":
            found += _loop_uses(model.loop, index)
        elif model.kind == "parallel":
            found += _mappings(model, index)
    found += _tokens(flow, texts)
    return found


def _called_condition(flow: Flow, index: int, run: Condition) -> tuple[str, Origin]:
    """A template's steps run under the condition of the call, unless they have their own."""
    step, node = flow.steps[index], flow.nodes[index]
    caller = flow.authored.get(step.pointer)
    if caller is not None and caller.run_condition is not None and caller.run_condition.raw is run.raw:
        place = f"{step.pointer}/runCondition"
        return place, Origin(place, AUTHORED)
    return node.place, step.origin


def leaves_of(condition: Condition) -> Iterator[Condition]:
    """The comparisons of a condition, in document order and without recursion."""
    stack = [(condition, 0)]
    while stack:
        part, depth = stack.pop()
        if "var" in part:
            yield part
        elif depth < _MAX_DEPTH:
            logic = part.and_ if "and" in part else part.or_ if "or" in part else (part.not_,)
            stack.extend((inner, depth + 1) for inner in reversed(logic) if inner is not None)


def _loop_uses(config: LoopConfig, index: int) -> Iterator[Use]:
    used = {"forEach": ("items", config.items), "for": ("count", config.count)}.get(config.type or "")
    if used is not None and used[1] and isinstance(used[1], str):
        place = config.at(used[0])
        yield Use(used[1], "", index, place, used[0], None, None, place, Origin(place, AUTHORED), "")


def _mappings(step: ParallelStep, index: int) -> Iterator[Use]:
    for delegation in step.parallel_delegations:
        for name in delegation.context_mapping:
            place = delegation.at("contextMapping", name)
            yield Use(name, "", index, place, "mapping", None, None, place, Origin(place, AUTHORED), "")


def _tokens(flow: Flow, texts: Texts) -> Iterator[Use]:
    passed: dict[str, str] = {}
    for text in texts.having("{{"):
        if text.step is None or text.field not in TOKEN_FIELDS:
            continue
        if flow.steps[text.step].damaged:
            continue
        if text.field == "argument":
            base = text.pointer.partition("/templateCall/")[0]
            passed[base] = passed.get(base, "") + text.text
        foreign = text.via in FOREIGN
        # Text of an argument is reported where the call passes it.
        own = passed.get(flow.steps[text.step].pointer, "") if foreign else ""
        for match in _TOKEN.finditer(text.text):
            name, path = match[1], match[2][1:]
            if name in _RESERVED or (own and match[0] in own):
                continue
            yield Use(
                name, path, text.step, text.pointer, "token", None, text.when, text.pointer, text.origin, text.text
            )
