"""Routines: the workflows a template call expands to, their arguments, and which of them are admitted."""

from __future__ import annotations

from math import isfinite
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.wording import quoted
from workrail_lint.systems.workrail.catalog.phase import CatalogPhase

# A name in single braces; double braces are run-time tokens and stay.
PLACEHOLDER = Pattern(r"(?<!\{)\{([^{}]+)\}(?!\})")
TEMPLATE_PREFIX = "wr.templates.routine."
_ROUTINE_PREFIXES = ("wr.routine-", "routine-")
_REQUIRED_TEXT = ("id", "name", "description", "version")


class Refusal:
    """Why a document is not registered as a routine. `step_id` is set if it calls a template."""

    __slots__ = ("message", "pointer", "step_id")

    def __init__(self, message: str, pointer: str = "", step_id: str | None = None) -> None:
        self.message = message
        self.pointer = pointer
        self.step_id = step_id

    @property
    def recursive(self) -> bool:
        return self.step_id is not None


class Routine:
    """One callable template. Values derived from the texts are computed on demand."""

    __slots__ = ("_required_args", "arg_values", "definition", "phase", "template_id")

    def __init__(
        self,
        definition: dict[str, Any],
        phase: CatalogPhase,
        template_id: str | None = None,
        arg_values: dict[str, list[str]] | None = None,
    ) -> None:
        self.definition = definition
        self.phase = phase
        self.template_id = template_id or template_id_of(definition["id"])
        # Arguments that take one of a closed set of values.
        self.arg_values = arg_values or {}
        self._required_args: tuple[str, ...] | None = None

    @property
    def routine_id(self) -> str:
        return str(self.definition["id"])

    @property
    def steps(self) -> list[dict[str, Any]]:
        return list(self.definition["steps"])

    @property
    def step_ids(self) -> tuple[str, ...]:
        """Ids in order; "" for a step without one."""
        return tuple(_text(step.get("id")) for step in self.steps)

    @property
    def conditional_step_ids(self) -> tuple[str, ...]:
        return tuple(_text(s.get("id")) for s in self.steps if js.truthy(s.get("runCondition")))

    @property
    def required_args(self) -> tuple[str, ...]:
        """Placeholder names of prompts and titles, by first appearance."""
        if self._required_args is None:
            names: dict[str, None] = {}
            for step in self.steps:
                for member in ("prompt", "title"):
                    names.update(dict.fromkeys(PLACEHOLDER.findall(_text(step.get(member)))))
            self._required_args = tuple(names)
        return self._required_args

    @property
    def callable(self) -> bool:
        """Whether an expansion can succeed: every step has an id, a title and a prompt."""
        return all(_text(step.get(m)) for step in self.steps for m in ("id", "title", "prompt"))


def template_id_of(routine_id: str) -> str:
    """The template id a routine is called by."""
    for prefix in _ROUTINE_PREFIXES:
        if routine_id.startswith(prefix):
            return TEMPLATE_PREFIX + routine_id[len(prefix) :]
    return TEMPLATE_PREFIX + routine_id


def admit(definition: object) -> Ok[dict[str, Any]] | Err[Refusal]:
    """Whether a document can be registered as a routine. Its schema is deliberately not checked."""
    if not isinstance(definition, dict):
        return Err(Refusal("a routine must be a JSON object"))
    for member in _REQUIRED_TEXT:
        if not isinstance(definition.get(member), str):
            return Err(Refusal(f"a routine needs a string '{member}'", _at(definition, member)))
    steps = definition.get("steps")
    if not isinstance(steps, list) or not steps:
        return Err(Refusal("a routine needs a non-empty list 'steps'", _at(definition, "steps")))
    for index, step in enumerate(steps):
        if not isinstance(step, dict):
            return Err(Refusal("a step of a routine must be a JSON object", f"/steps/{index}"))
    for index, step in enumerate(steps):
        if js.truthy(step.get("templateCall")):
            step_id = _text(step.get("id")) or "(missing id)"
            message = (
                f"routine {quoted(definition['id'])} calls a template in step {quoted(step_id)}; routines can't nest"
            )
            return Err(Refusal(message, f"/steps/{index}/templateCall", step_id))
    if _has_infinity(definition):
        return Err(Refusal("it contains a number too large for a double, which can't be hashed"))
    return Ok(definition)


def _has_infinity(root: dict[str, Any]) -> bool:
    """A routine becomes part of a catalog, and a catalog has a digest."""
    stack: list[object] = [root]
    while stack:
        value = stack.pop()
        if type(value) is dict:
            stack += value.values()
        elif type(value) is list:
            stack += value
        elif type(value) is float and not isfinite(value):
            return True
    return False


def _at(definition: dict[str, Any], member: str) -> str:
    return f"/{member}" if member in definition else ""


def _text(value: object) -> str:
    """A string as it is; "" for any other value."""
    return value if isinstance(value, str) else ""
