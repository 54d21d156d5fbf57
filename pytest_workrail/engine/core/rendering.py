"""Texts that depend on the context: template tokens, fragments, delegations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_workrail.engine.core.conditions import Context, evaluate
from pytest_workrail.engine.core.loops import loop_variables
from pytest_workrail.engine.model.places import LoopPath, collated
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.patterns import Pattern
from workrail_lint.systems.workrail.model.ir import DelegatingStep, Delegation, ProgramStep, RepeatingStep

_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_TOKEN = Pattern(rf"\{{\{{(?!wr\.)({_NAME}(?:\.{_NAME})*)\}}\}}")
_PREVIEW_UNITS = 60
_PARALLEL_HEADING = "# Parallel Subagent Spawning Phase"
_MISSING: Any = object()


def render_context(loop: RepeatingStep | None, loop_path: LoopPath, context: Context) -> Context:
    """The context as texts of a step see it: the variables of its innermost loop lie on top."""
    if loop is None or not loop_path:
        return context
    return {**context, **loop_variables(loop, loop_path[-1].iteration, context)}


def substitute(text: str, context: Context) -> str:
    """Replace `{{name}}` and `{{name.member}}`; everything else, `{{wr.…}}` included, stays as it is."""
    if "{{" not in text:
        return text
    return _TOKEN.sub(lambda token: _resolve(token[1], context), text)


def _resolve(path: str, context: Context) -> str:
    names = path.split(".")
    value: Any = context.get(names[0])
    if value is None:
        return f"[unset: {path}]"
    for index, name in enumerate(names[1:], start=1):
        if not isinstance(value, dict | list):
            prefix = ".".join(names[:index])
            return f"[unset: {path} -- '{prefix}' is {_type_name(value)} (\"{_preview(value)}\"), not object]"
        value = _member(value, name)
    return f"[unset: {path}]" if value is None or value is _MISSING else js.text(value)


def _member(container: dict[str, Any] | list[Any], name: str) -> Any:
    if isinstance(container, list):
        return len(container) if name == "length" else _MISSING
    return container.get(name, _MISSING)


def _type_name(value: Any) -> str:
    if value is _MISSING:
        return "undefined"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


def _preview(value: Any) -> str:
    shown = "undefined" if value is _MISSING else js.text(value)
    return shown if js.u16_length(shown) <= _PREVIEW_UNITS else js.u16_prefix(shown, _PREVIEW_UNITS) + "…"


def fragments_text(step: ProgramStep, context: Context) -> str:
    """Return the fragments that apply, in their order, with a blank line between them."""
    applying = [fragment.text for fragment in step.fragments if evaluate(fragment.when, context)]
    return "\n\n".join(substitute(text, context) for text in applying)


def parallel_prompt(step: DelegatingStep, context: Context) -> str:
    """Return the prompt of a parallel step: what to give to which subagent, for the delegations that apply."""
    active = [each for each in step.delegations if evaluate(each.run_condition, context)]
    if not active:
        return (
            f"{_PARALLEL_HEADING} (Bypassed)\n\n"
            "None of this step's delegations applies in the current context. "
            "There is nothing to spawn: advance to the next step."
        )
    opening = (
        f"{_PARALLEL_HEADING}\n\n"
        "Start one subagent for each delegation below, all at the same time, and wait for every one of them. "
        "Give each exactly the goal and the inputs listed here. Advance when all have reported."
    )
    return "\n\n".join([opening, *(_delegation(number, each, context) for number, each in enumerate(active, 1))])


def _delegation(number: int, delegation: Delegation, context: Context) -> str:
    lines = [
        f"## Delegation {number}",
        f"- Workflow: `{delegation.workflow_id}`",
        f"- Goal: {_goal(delegation)}",
    ]
    if delegation.allowed_tools:
        lines.append(f"- Allowed tools: {', '.join(delegation.allowed_tools)}")
    lines.extend(_inputs(delegation, context))
    return "\n".join(lines)


def _goal(delegation: Delegation) -> str:
    if delegation.goal:
        return delegation.goal
    workflow, family = delegation.workflow_id, delegation.args.get("familyName")
    return f"Run {js.text(family)} review family for workflow {workflow}" if family else f"Run {workflow}"


def _inputs(delegation: Delegation, context: Context) -> Iterable[str]:
    inputs: dict[str, str] = {}
    mapping = delegation.context_mapping
    # In a fixed order, because an IR read back from its canonical bytes has lost the one of the source.
    for parent in js.u16_sorted(mapping):
        value = context.get(parent)
        if value is not None:
            inputs[mapping[parent]] = js.text(value)
    for name, value in delegation.args.items():
        inputs[name] = value if isinstance(value, str) else canonical_bytes(value).decode()
    if not inputs:
        return []
    return ["- Inputs:", *(f"  - `{name}`: {inputs[name]}" for name in collated(inputs))]
