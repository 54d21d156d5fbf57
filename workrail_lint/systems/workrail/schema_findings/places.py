"""Places and values in messages: which step a pointer is in, the path of the member there, and its value."""

from __future__ import annotations

import math
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.documents import pointer as pointers

_MAX_SHOWN = 60
_TYPES = {
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


class Place:
    """A pointer taken apart: the step it is in and the path below that step."""

    __slots__ = ("_step_length", "definition", "pointer", "tokens")

    def __init__(self, pointer: str, definition: dict[str, Any]) -> None:
        self.pointer = pointer
        self.tokens = pointers.decode(pointer)
        self.definition = definition
        self._step_length = self._length_of_step()

    def _length_of_step(self) -> int:
        tokens = self.tokens
        if len(tokens) < 2 or tokens[0] != "steps" or not isinstance(self.definition.get("steps"), list):
            return 0
        if len(tokens) >= 4 and tokens[2] == "body" and isinstance(self._value(tokens[:3]), list):
            return 4
        return 2

    def _value(self, tokens: list[str]) -> Any:
        try:
            return pointers.resolve(self.definition, pointers.encode(tokens))
        except KeyError:
            return None

    @property
    def member(self) -> str:
        """The last token: a member's name or an index."""
        return self.tokens[-1] if self.tokens else ""

    @property
    def parent(self) -> Any:
        """The container of the place; None for the root."""
        return self._value(self.tokens[:-1]) if self.tokens else None

    @property
    def label(self) -> str:
        """How a message starts: `step 'plan'`, and the loop it is in; "" outside of steps."""
        if not self._step_length:
            return ""
        label = self._step_label(self.tokens[: self._step_length])
        if self._step_length == 4:
            outer = self._value(self.tokens[:2])
            ident = outer.get("id") if isinstance(outer, dict) else None
            label += f" (in loop {shown(ident)})" if isinstance(ident, str) else ""
        return label

    def _step_label(self, tokens: list[str]) -> str:
        step = self._value(tokens)
        ident = step.get("id") if isinstance(step, dict) else None
        kind = "loop" if isinstance(step, dict) and step.get("type") == "loop" else "step"
        return f"{kind} {shown(ident)}" if isinstance(ident, str) else f"{kind} number {int(tokens[-1]) + 1}"

    @property
    def path(self) -> str:
        """The path below the step, as in `loop.maxIterations` or `guidance[2]`; "" for the step itself."""
        path = ""
        for token in self.tokens[self._step_length :]:
            if token.isascii() and token.isdigit():
                path += f"[{token}]"
            else:
                plain = token.isascii() and token.isprintable() and len(token) <= _MAX_SHOWN
                name = token if plain else shown(token)
                path += f".{name}" if path else name
        return path

    def say(self, text: str) -> str:
        """A message: the step, if there is one, then the text."""
        label = self.label
        return f"{label}: {text}" if label else text

    @property
    def subject(self) -> str:
        """The subject of a sentence: the path, or a noun if the place is a step or the whole document."""
        return self.path or ("the step" if self._step_length else "the workflow")

    @property
    def inside(self) -> str:
        """The object the place is in, as a phrase that follows a noun; "" for a step or the whole."""
        outer = Place(pointers.encode(self.tokens[:-1]), self.definition).path
        return f" in {outer}" if outer else ""


def typed(types: tuple[str, ...]) -> str:
    """The allowed types, as part of a sentence."""
    return " or ".join(_TYPES[name] for name in types)


def shown(value: object) -> str:
    """A value as part of a sentence, never longer than a line."""
    if isinstance(value, str):
        return quoted(value if len(value) <= _MAX_SHOWN else value[: _MAX_SHOWN - 1] + "…")
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, float) and math.isinf(value):
        return "a number too large for a double"
    return js.text(value)
