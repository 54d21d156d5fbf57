"""Where the variables of the context come from, as far as the text of a workflow tells.

Nothing declares a variable. An agent sets one because a prompt tells it to, so a variable that no text before
its use mentions is one that probably nobody sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workrail_lint.systems.workrail.rules import loop_facts

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog
    from workrail_lint.systems.workrail.rules.base import Step, Workflow

# What a run holds without any step setting it: the goal it was started with, and what its host puts in.
GIVEN = frozenset(("goal", "is_autonomous", "triggerSource", "metrics_harness", "metrics_active_model"))

# What the workflow says to whoever runs it, as opposed to those who look for one to run.
_GENERAL = ("metaGuidance", "preconditions", "clarificationPrompts")


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
        if is_word and (tokens or not text[max(0, start - 8) : start].rstrip().endswith("{{")):
            return True
        start = text.find(name, end)
    return False


def _in_name(character: str) -> bool:
    return character == "_" or character == "$" or (character.isascii() and character.isalnum())


@lru_cache(maxsize=1)
def origins_of(workflow: Workflow) -> Origins:
    return Origins(workflow)


class Origins:
    """Who may set a variable before a step looks at it."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._texts: dict[str, str] = {}
        self._general = "\n".join(text.text for text in workflow.top_texts if text.field in _GENERAL)
        self._places = _places(workflow)
        self._in_order = sorted(workflow.all_steps, key=lambda step: self._places[step.pointer])
        self._first: dict[tuple[str, bool], int] = {}

    def known_at(
        self, name: str, step: Step, *, tokens: bool = True, general: bool = True, every_round: bool = False
    ) -> bool:
        """Whether a step can count on the variable: it is given, the loop's, or mentioned earlier.

        Inside a loop the other steps of the body count as earlier, since they ran in the round before.
        `every_round` asks for what a loop step looks at between its rounds, when its whole body counts.
        `general` lets what is said about the whole workflow count, such as its guidance.
        """
        place = self._places[step.pointer]
        if self._first_mention(name, tokens) < place:
            return True
        if name in GIVEN or (general and mentions(self._general, name, tokens=tokens)):
            return True
        loop = step if every_round else self._workflow.loop_of.get(step.pointer)
        if loop is None:
            return False
        return name in loop_facts.variables(loop) or any(
            self.mentioned_by(name, other, tokens=tokens) for other in self._workflow.body_of(loop) if other is not step
        )

    def _first_mention(self, name: str, tokens: bool) -> int:
        """The place of the first step that speaks of the variable; behind all steps when none does."""
        first = self._first.get((name, tokens))
        if first is None:
            first = len(self._in_order)
            for step in self._in_order:
                text = self._texts.get(step.pointer) or self._text(step)
                if name in text and mentions(text, name, tokens=tokens):
                    first = self._places[step.pointer]
                    break
            self._first[name, tokens] = first
        return first

    def mentioned_by(self, name: str, step: Step, *, tokens: bool = True) -> bool:
        """Whether the step's own words or its contract speak of the variable."""
        return mentions(self._text(step), name, tokens=tokens)

    def _text(self, step: Step) -> str:
        text = self._texts.get(step.pointer)
        if text is None:
            text = self._texts[step.pointer] = "\n".join(_words(step, self._workflow))
        return text


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
    routine = loop_facts.called_routine(step, workflow) if step.calls_template else None
    if routine is not None:
        yield _routine_text(step.step["templateCall"]["templateId"], workflow.catalog)


@lru_cache(maxsize=64)
def _routine_text(template_id: str, catalog: Catalog) -> str:
    return "\n".join(_strings(catalog.templates[template_id].steps))


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
