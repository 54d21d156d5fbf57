"""How the golden of a workflow is laid out in its file: the texts of prompts first, once each, then the conversation.

A step that is shown again, after a blocker or a look back, shows the same prompt. In the file a prompt is written
once, under `prompts`, and `⟪PROMPT⟫` stands for it wherever its step is pending; `⟪PROMPT 2⟫` for the second text of
that step, as a loop may have one for each pass. Everything else compares and shows the whole value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_workrail.golden.symbols import joined, lines
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.typed import NamedTuple

PROMPTS = "prompts"
# What fits into a line of this width stands in one line.
_WIDTH = 100
# An author's text that looks like a slot is marked with a backslash, so what is found here is a slot.
_BEFORE = Pattern(r"(?:⟪(?!PROMPT⟫)[A-Z_]+⟫)*")
_BEHIND = Pattern(r"⟪[A-Z_]+⟫|\n\n## Recovery Context\n")
_REFERENCE = Pattern(r"⟪PROMPT(?: ([1-9][0-9]{0,8}))?⟫")


# One for all: `json.dumps` makes one at each call, and a golden is dozens of calls.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_quoted = json.encoder.encode_basestring  # what that one does with texts
_WORDS = {True: "true", False: "false", None: "null"}


class PromptParts(NamedTuple):
    """A prompt: what the engine shows before the author's text, that text, and what the engine appends."""

    before: str
    text: str
    behind: str


def prompt_parts(prompt: str) -> PromptParts:
    """A prompt in its parts; put together they are the prompt."""
    start, end = _author_text(prompt)
    return PromptParts(prompt[:start], prompt[start:end], prompt[end:])


def _author_text(prompt: str) -> tuple[int, int]:
    """Where the author's text begins and ends."""
    start = _prefix(prompt)
    cut = _BEHIND.search(prompt, start)
    return start, len(prompt) if cut is None else cut.start()


def _prefix(prompt: str) -> int:
    found = _BEFORE.match(prompt) if prompt.startswith("⟪") else None
    return 0 if found is None else found.end()


class Prompts:
    """The texts of the prompts of one golden."""

    def __init__(self) -> None:
        self.texts: list[dict[str, Any]] = []
        self._known: dict[str, list[str]] = {}

    def refer(self, step: str, prompt: str) -> str:
        """The prompt of a step with a reference in place of its text."""
        start, end = _author_text(prompt)
        if start == end:
            return prompt
        text = prompt[start:end]
        of_step = self._known.setdefault(step, [])
        if text not in of_step:
            of_step.append(text)
            self.texts.append({"step": step, "text": lines(text)})
        number = of_step.index(text) + 1
        return f"{prompt[:start]}⟪PROMPT{'' if number == 1 else f' {number}'}⟫{prompt[end:]}"


def fold(golden: Mapping[str, Any]) -> dict[str, Any]:
    """A golden as it is written to its file."""
    prompts = Prompts()
    rest = {name: golden[name] for name in ("transcript", "final") if name in golden}
    if "transcript" in rest:
        rest["transcript"] = _with_prompts(rest["transcript"], prompts.refer)
    return {**{name: golden[name] for name in golden if name not in rest}, PROMPTS: prompts.texts, **rest}


def unfold(file: Mapping[str, Any]) -> Ok[dict[str, Any]] | Err[str]:
    """The whole value of what a file says."""
    texts: dict[str, list[str]] = {}
    for name in (PROMPTS, "transcript"):
        if not isinstance(file.get(name, []), list):
            return Err(f"damaged: {name} is not a list")
    for entry in file.get(PROMPTS, []):
        text = joined(entry.get("text")) if isinstance(entry, dict) else None
        if not isinstance(text, str) or not isinstance(entry.get("step"), str):
            return Err(f"damaged: an entry of {PROMPTS} has no step or no text")
        texts.setdefault(entry["step"], []).append(text)
    unknown: list[str] = []

    def resolve(step: str, prompt: str) -> str:
        start = _prefix(prompt)
        reference = _REFERENCE.match(prompt, start)
        if reference is None:
            return prompt
        number = int(reference[1] or 1)
        if number > len(texts.get(step, ())):
            unknown.append(step)
            return prompt
        return prompt[:start] + texts[step][number - 1] + prompt[reference.end() :]

    whole = {name: value for name, value in file.items() if name != PROMPTS}
    if "transcript" in whole:
        whole["transcript"] = _with_prompts(whole["transcript"], resolve)
    return Err(f"damaged: no prompt of step {unknown[0]!r} is among the {PROMPTS}") if unknown else Ok(whole)


def _with_prompts(transcript: Any, replace: Callable[[str, str], str]) -> Any:
    """A transcript with every prompt replaced; whatever is not shaped like one stays."""
    return list(_replaced(transcript, replace)) if isinstance(transcript, list) else transcript


def _replaced(transcript: list[Any], replace: Callable[[str, str], str]) -> Iterator[Any]:
    for exchange in transcript:
        response: Any = exchange.get("response") if isinstance(exchange, dict) else None
        pending: Any = response.get("pending") if isinstance(response, dict) else None
        prompt = joined(pending.get("prompt")) if isinstance(pending, dict) else None
        if isinstance(prompt, str):
            shown = {**pending, "prompt": lines(replace(str(pending.get("stepId")), prompt))}
            yield {**exchange, "response": {**response, "pending": shown}}
        else:
            yield exchange


def text(value: Any, indent: str = "") -> str:
    """JSON as people read it: what is small in one line, the lines of a text below one another."""
    kind = type(value)
    if kind is bool or value is None:
        return _WORDS[value]
    inner = indent + "  "
    if kind is dict and value:
        parts = [
            f"{_quoted(name)}: {_quoted(item) if type(item) is str else text(item, inner)}"
            for name, item in value.items()
        ]
        opening, closing = "{", "}"
    elif kind is list and value:
        parts = [_quoted(item) if type(item) is str else text(item, inner) for item in value]
        opening, closing = "[", "]"
    else:
        return "[]" if value == [] else _encode(value)
    # What fits in one line is made of parts that do.
    compact = ", ".join(parts)
    if len(indent) + len(compact) + 2 <= _WIDTH and "\n" not in compact and "\\n" not in compact:
        return f"{opening}{compact}{closing}"
    separator = f",\n{inner}"
    return f"{opening}\n{inner}{separator.join(parts)}\n{indent}{closing}"
