"""Where the variables of the context come from, as far as the text of a workflow tells.

Nothing declares a variable. An agent sets one because a prompt tells it to, so a variable that no text before
its use mentions is one that probably nobody sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.workrail.rules import loop_facts

if TYPE_CHECKING:
    from workrail_lint.workrail.rules.base import Step, Workflow

# What a run holds without any step setting it: the goal it was started with, and what its host puts in.
GIVEN = frozenset(("goal", "is_autonomous", "triggerSource", "metrics_harness", "metrics_active_model"))


def expressions(text: str) -> Iterator[str]:
    """What stands between `{{` and `}}`, without the pairs that hold a single closing brace.

    The same as matching `{{([^}]*)}}` again and again, but linear on text full of opening braces.
    """
    start = text.find("{{")
    while start >= 0:
        end = text.find("}", start + 2)
        if end < 0:
            return
        if text.startswith("}}", end):
            yield text[start + 2 : end]
        start = text.find("{{", end + 1)


def mentions(text: str, name: str, *, tokens: bool = True) -> bool:
    """Whether a text has the name as a word of its own; `tokens` lets `{{name` count."""
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        is_word = not (start and _in_name(text[start - 1])) and not (end < len(text) and _in_name(text[end]))
        if is_word and (tokens or not text.endswith("{{", 0, start)):
            return True
        start = text.find(name, end)
    return False


def _in_name(character: str) -> bool:
    return character == "_" or character == "$" or (character.isascii() and character.isalnum())


class Origins:
    """Who may set a variable before a step looks at it."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._texts: dict[str, str] = {}
        self._top = "\n".join(text.text for text in workflow.top_texts)
        self._places = _places(workflow)

    def known_at(self, name: str, step: Step, *, tokens: bool = True) -> bool:
        """Whether a step can count on the variable: it is given, the loop's, or mentioned earlier.

        Inside a loop the other steps of the body count as earlier, since they ran in the round before. For
        a loop step itself the whole body does: its condition is asked again after every round.
        """
        if name in GIVEN or mentions(self._top, name, tokens=tokens):
            return True
        loop = step if step.kind == "loop" else self._workflow.loop_of.get(step.pointer)
        if loop is not None and name in loop_facts.variables(loop):
            return True
        place = self._places[step.pointer]
        return any(
            (self._places[other.pointer] <= place if loop is not None else self._places[other.pointer] < place)
            and self.mentioned_by(name, other, tokens=tokens)
            for other in self._workflow.all_steps
            if other is not step
        )

    def mentioned_by(self, name: str, step: Step, *, tokens: bool = True) -> bool:
        """Whether the step's own words or its contract speak of the variable."""
        text = self._texts.get(step.pointer)
        if text is None:
            text = self._texts[step.pointer] = "\n".join(_words(step, self._workflow))
        return mentions(text, name, tokens=tokens)


def _places(workflow: Workflow) -> dict[str, int]:
    """The position at which each step runs; a body runs where its loop stands."""
    places = {step.pointer: position for position, step in enumerate(workflow.steps)}
    for position, step in reversed(list(enumerate(workflow.steps))):
        if step.kind == "loop":
            places.update((inner.pointer, position) for inner in workflow.body_of(step))
    return places


def _words(step: Step, workflow: Workflow) -> Iterator[str]:
    for text in step.texts:
        yield text.text
    blocks = step.step.get("promptBlocks")
    required = blocks.get("outputRequired") if isinstance(blocks, dict) else None
    if isinstance(required, dict):
        yield from required
    contract = workflow.catalog.contracts.get(step.contract or "")
    if contract is not None:
        yield from contract.schema.get("properties", ())
    routine = loop_facts.called_routine(step, workflow)
    if routine is not None:
        yield from _strings(routine.steps)


def _strings(value: Any) -> Iterator[str]:
    """The strings of the members of some steps; conditions aside, which set nothing."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(inner for name, inner in item.items() if name not in ("runCondition", "when"))
