"""Pieces of prompts that a mutant leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow

# By step id: the name of a builtin, and where its text starts and ends in the prompt.
Injections: TypeAlias = Mapping[str, Sequence[tuple[str, int, int]]]

# From the first letter of a line or a sentence to the end of either.
_SENTENCE = re.compile(r"[^\n.!?]*\w[^\n.!?]*(?:[.!?](?=\S)[^\n.!?]*)*[.!?]*")


def middle_sentence(prompt: str) -> str | None:
    """The sentence in the middle of a prompt, as it stands there; None if there is only one."""
    sentences = _SENTENCE.findall(prompt)
    return str(sentences[len(sentences) // 2]) if len(sentences) > 1 else None


def injections_of(compiled: CompiledWorkflow) -> dict[str, list[tuple[str, int, int]]]:
    """What builtins put into the prompts of a workflow, and where."""
    return {
        step_id: [(f"{item.kind} '{item.id}'", item.start, item.end) for item in node.injections]
        for step_id, node in compiled.step_by_id.items()
        if node.injections
    }


def without_injected(prompt: str, injected: Sequence[tuple[str, int, int]]) -> Iterator[tuple[str, str]]:
    """For each builtin of a prompt its name, and the prompt without all that it brought."""
    for name in dict.fromkeys(name for name, _, _ in injected):
        text = prompt
        for start, end in sorted({(start, end) for each, start, end in injected if each == name}, reverse=True):
            text = text[:start] + text[end:]
        if text != prompt:
            yield name, text
