"""How the steps of a workflow are numbered: by titles and ids like "Phase 3b", and by lists inside a prompt."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from workrail_lint.base.patterns import Pattern

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.model.workflow import Step
    from workrail_lint.systems.workrail.rules.base import WorkflowContext

_NUMBERED = Pattern(r"\b(step|phase|stage)[\s_-]{0,2}(\d{1,3}(?:\.\d{1,2})?[a-z]?)(?![a-z\d])")
_LIST_NUMBER = Pattern(  # at the start of a line
    r"[ \t>*_#-]{0,12}(?:(step|phase|stage)[ \t]+)?(\d{1,3})[a-z]?(?:[.):]|[ \t*]*(?:[:—–-]|$))"
)
_PREFIX = Pattern(r"\s*(?:step|phase|stage)\s*\d{1,3}(?:\.\d{1,2})?[a-z]?\s*[:.)—–-]*\s*", 2)


class NumberedStep(NamedTuple):
    """A step whose title or id has a number, and its title without it."""

    kind: str  # step, phase or stage
    number: str
    title: str


@lru_cache(maxsize=4)
def numbered_steps(workflow: WorkflowContext) -> tuple[NumberedStep, ...]:
    found: list[NumberedStep] = []
    for step in workflow.all_steps:
        title = step.step.get("title")
        shown = title if isinstance(title, str) else ""
        for text in (shown.lower(), step.id.lower()):
            found += [NumberedStep(match[1], match[2], plain_title(shown)) for match in _NUMBERED.finditer(text)]
    return tuple(found)


def plain_title(title: str) -> str:
    """A title in lower case, without its leading number."""
    match = _PREFIX.match(title)
    return title[match.end() if match else 0 :].strip().lower()


@lru_cache(maxsize=4)
def numbered_parts(workflow: WorkflowContext, kind: str) -> frozenset[str]:
    """The numbers that titles and ids give to steps of a kind; `3b` also counts as `3`."""
    found = {step.number for step in numbered_steps(workflow) if step.kind == kind}
    return frozenset(found | {base_number(number) for number in found})


def base_number(number: str) -> str:
    """`3` of `3b`, `1` of `1.5`."""
    return number.rstrip("abcdefghijklmnopqrstuvwxyz").partition(".")[0]


@lru_cache(maxsize=32)
def own_numbers(step: Step, kind: str) -> frozenset[str]:
    """The numbers that the prompt of a step uses for its own list; a procedure is rendered with numbers."""
    starts = filter(None, map(_LIST_NUMBER.match, step.prompt_text.lower().split("\n")))
    found = {match[2] for match in starts if (match[1] or "step") == kind}
    if kind == "step":
        procedure = sum(text.field == "procedure" for text in step.prompt_texts)
        found.update(str(number) for number in range(1, procedure + 1))
    return frozenset(found)
