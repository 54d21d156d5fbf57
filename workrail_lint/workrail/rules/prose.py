"""What rules about author text share: sentences, a cheap look at the whole document, and quoting."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from workrail_lint import js
from workrail_lint.documents import pointer as pointers
from workrail_lint.workrail.compiler.nodes import one_line

if TYPE_CHECKING:
    from workrail_lint.workrail.rules.base import Step, Workflow

_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+|[ \t]*[\r\n]+[ \t]*")
_SHOWN = 60


@lru_cache(maxsize=2)
def lowered(text: str) -> str:
    """The lower-cased document, once for all rules that look for words in it."""
    return text.lower()


def mentions(workflow: Workflow, *phrases: str) -> bool:
    """Whether any of the lower-case phrases can occur in the document: a look that may only err by saying yes.

    A word may be spelled with escapes, and a phrase of several words may be broken over lines.
    """
    text = lowered(workflow.document.text)
    return any(phrase in text for phrase in phrases) or "\\u00" in text


def has_braces(workflow: Workflow) -> bool:
    """Whether any token can occur in the document."""
    text = workflow.document.text
    return "{{" in text or "\\u007" in text


def sentences(text: str) -> list[str]:
    """The sentences of a text; a line break ends one too, since lists and headings need no full stop."""
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence]


def sentence_at(text: str, position: int) -> str:
    """The sentence around a position."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if match.end() > position:
            return text[start : match.start()]
        start = match.end()
    return text[start:]


def quoted(text: str) -> str:
    """Author text for a message: on one line, and not longer than a glance."""
    flat = " ".join(text.split())
    return one_line(flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…")


def label(step: Step) -> str:
    """How a message about a step starts."""
    inside = f" (in loop {one_line(step.loop.id)})" if step.loop is not None else ""
    return f"Step {one_line(step.id)}{inside}"


def value_at(root: object, pointer: str) -> object:
    """The value at a pointer, None when there is none."""
    try:
        return pointers.resolve(root, pointer)
    except (KeyError, ValueError):
        return None


def is_text(value: object) -> bool:
    """Whether a value is a text with something in it."""
    return isinstance(value, str) and not js.is_blank(value)
