"""Every place that reads a context variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.pointer import child
from workrail_lint.systems.workrail.analysis.records import (
    AUTHORED,
    FOREIGN,
    VIRTUAL,
    Condition,
    Decision,
    Origin,
    Use,
)

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.analysis.flow import Flow
    from workrail_lint.systems.workrail.analysis.texts import Texts

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
# What holds conditions, apart from loops and confirmations, which mostly have none.
_HOLDERS = frozenset(("runCondition", "promptFragments", "parallelDelegations", "validationCriteria"))
_tuple = tuple.__new__


def build_decisions(flow: Flow) -> list[Decision]:
    """Every condition that decides something; one that several steps share is there once."""
    found: list[Decision] = []
    seen: set[str] = set()
    for index, (step, node) in enumerate(zip(flow.steps, flow.nodes, strict=True)):
        data, via = node.step, step.origin.via
        has_none = step.kind != "loop" and _HOLDERS.isdisjoint(data)
        if step.damaged or (has_none and not isinstance(data.get("requireConfirmation"), dict)):
            continue
        if via == VIRTUAL:
            continue  # it shares the condition of its step
        for condition, place, kind in _conditions(flow, index, data):
            if not isinstance(condition, dict):
                continue
            if via == AUTHORED or kind == "loop":
                pointer = f"{step.pointer}/{place}"
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
        for leaf, place in ((condition, pointer),) if "var" in condition else leaves_of(condition, pointer):
            name = leaf["var"]
            if isinstance(name, str) and name:
                at = f"{place}/var" if origin.via == AUTHORED else pointer
                found.append(_tuple(Use, (name, "", index, at, kind, leaf, None, pointer, origin, "")))
    for index, step in enumerate(flow.steps):
        if step.kind == "standard" or step.damaged:
            continue
        if step.kind == "loop":
            found += _loop_uses(flow.nodes[index].step, step.pointer, index)
        else:
            found += _mappings(flow.nodes[index].step, step.pointer, index)
    found += _tokens(flow, texts)
    return found


def _conditions(flow: Flow, index: int, data: dict[str, Any]) -> list[tuple[Any, str, str]]:
    """The conditions of a step, each with its place there and what it decides."""
    found: list[tuple[Any, str, str]] = []
    run = data.get("runCondition")
    if run:
        found.append((run, "runCondition", "runCondition"))
    gate = data.get("requireConfirmation")
    if isinstance(gate, dict):
        if "kind" in gate:
            found.append((gate.get("condition"), "requireConfirmation/condition", "gate"))
        else:
            found.append((gate, "requireConfirmation", "gate"))
    step = flow.steps[index]
    facts = flow.loops.get(step.id) if step.kind == "loop" else None
    if facts is not None and facts.step == index and facts.condition is not None:
        found.append((facts.condition, facts.condition_place, "loop"))
    for i, item in enumerate(_list(data["promptFragments"])) if "promptFragments" in data else ():
        if isinstance(item, dict) and "when" in item:
            found.append((item["when"], f"promptFragments/{i}/when", "fragment"))
    for i, item in enumerate(_list(data["parallelDelegations"])) if "parallelDelegations" in data else ():
        if isinstance(item, dict) and "runCondition" in item:
            found.append((item["runCondition"], f"parallelDelegations/{i}/runCondition", "delegation"))
    if "validationCriteria" in data:
        criteria = _criteria(data["validationCriteria"], "validationCriteria")
        found += [(condition, place, "criteria") for condition, place in criteria]
    return found


def _called_condition(flow: Flow, index: int, run: object) -> tuple[str, Origin]:
    """A template's steps run under the condition of the call, unless they have their own."""
    step, node = flow.steps[index], flow.nodes[index]
    caller = flow.authored.get(step.pointer)
    if caller is not None and caller.get("runCondition") is run:
        place = f"{step.pointer}/runCondition"
        return place, Origin(place, AUTHORED)
    return node.place, step.origin


def _criteria(criteria: object, pointer: str) -> Iterator[tuple[Any, str]]:
    stack = [(criteria, pointer)]
    while stack:
        value, place = stack.pop()
        if isinstance(value, list):
            stack.extend((item, f"{place}/{i}") for i, item in reversed(list(enumerate(value))))
        elif isinstance(value, dict):
            if "type" in value:
                if "condition" in value:
                    yield value["condition"], f"{place}/condition"
                continue
            stack.extend((value[name], f"{place}/{name}") for name in ("not", "or", "and") if name in value)


def leaves_of(condition: object, pointer: str) -> Iterator[tuple[Condition, str]]:
    """The comparisons of a condition, in document order and without recursion."""
    stack: list[tuple[object, str, int]] = [(condition, pointer, 0)]
    while stack:
        value, place, depth = stack.pop()
        if not isinstance(value, dict) or depth > _MAX_DEPTH:
            continue
        if "var" in value:
            yield value, place
            continue
        below: list[tuple[object, str, int]] = []
        for logic in ("and", "or"):
            if logic in value:
                below += [(item, f"{place}/{logic}/{i}", depth + 1) for i, item in enumerate(_list(value[logic]))]
                break
        else:
            below.append((value.get("not"), f"{place}/not", depth + 1))
        stack.extend(reversed(below))


def _loop_uses(step: dict[str, Any], pointer: str, index: int) -> Iterator[Use]:
    config = step.get("loop")
    if not isinstance(config, dict):
        return
    member = {"forEach": "items", "for": "count"}.get(str(config.get("type")))
    name = config.get(member) if member else None
    if member and isinstance(name, str) and name:
        place = f"{pointer}/loop/{member}"
        yield Use(name, "", index, place, member, None, None, place, Origin(place, AUTHORED), "")


def _mappings(step: dict[str, Any], pointer: str, index: int) -> Iterator[Use]:
    for number, item in enumerate(_list(step.get("parallelDelegations"))):
        mapping = item.get("contextMapping") if isinstance(item, dict) else None
        for name in mapping if isinstance(mapping, dict) else ():
            place = child(f"{pointer}/parallelDelegations/{number}/contextMapping", name)
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


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
