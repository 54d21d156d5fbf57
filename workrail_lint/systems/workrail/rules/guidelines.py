"""Authoring rules that no program can check: kept where the others are, so that they are found and can be cited.

They are off, and selecting one finds nothing; `workrail-lint rule` tells what they ask for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Rule, Status

FAMILY = "AU"


class _Text(NamedTuple):
    """The name of a guideline, what it asks for, and what goes wrong otherwise."""

    name: str
    summary: str
    why: str


class Guideline(Rule):
    """A rule for the person who writes a workflow; there is no document to give an example of."""

    severity = Severity.INFO
    origin = "spec"
    default_on = False
    status = Status.DOCUMENTATION

    def examples(self) -> Iterable[Example]:
        return ()


_KEPT = (
    _Text(
        "schema-is-the-law",
        "What a workflow may say is what the schema accepts, whatever a guide or an example says.",
        "A member that only a text describes is refused when the workflow is loaded.",
    ),
    _Text(
        "runtime-beats-prose",
        "Where a description and the engine disagree, write for what the engine does.",
        "A workflow that relies on a described behaviour fails in front of a user, not in the description.",
    ),
    _Text(
        "start-from-real-sources",
        "Begin with workflows and documents that exist, and not with what a workflow is remembered to look like.",
        "Invented members and retired patterns look plausible and cost a round of repairs each.",
    ),
    _Text(
        "validate-early",
        "Check a draft as soon as it has its first steps, and after every larger change.",
        "A wrong shape that is found at the end has been copied into every step by then.",
    ),
    _Text(
        "author-in-phases",
        "Settle the goal, then the steps, then the prompts, and only then features and contracts.",
        "Polished prompts in steps that are in the wrong order have to be written again.",
    ),
    _Text(
        "bounded-delegation",
        "Give a helper one question, its inputs, and the form of its answer.",
        "A helper with an open task decides things that the main agent answers for.",
    ),
    _Text(
        "helper-output-is-evidence",
        "Treat what a helper returns as evidence to weigh, never as a decision.",
        "Results that are adopted unread carry a helper's mistakes into everything that follows.",
    ),
    _Text(
        "classify-high-impact-claims",
        "Have claims with consequences marked as Confirmed, Plausible or Rejected.",
        "A guess that is worded like a fact is acted upon like one.",
    ),
    _Text(
        "name-the-canonical-artifact",
        "Say which artifact holds the result when several steps or files speak of it.",
        "Two versions of the truth drift apart, and nobody knows which one to mend.",
    ),
    _Text(
        "supplements-outside-prompts",
        "Keep background material in references, and out of the prompts of steps.",
        "A prompt that carries everything buries what the step is about.",
    ),
    _Text(
        "one-time-supplements-are-policy",
        "Decide by rule, and not step by step, what is handed over only once in a run.",
        "Material that is repeated by habit fills the context; material that is left out by habit is missing.",
    ),
    _Text(
        "validator-first",
        "Write the contract or the check of a step before its prompt.",
        "A check that is written afterwards accepts what the prompt happened to produce.",
    ),
    _Text(
        "validation-bar-is-the-runtime",
        "Hold a workflow to what the engine enforces, and prove it with the same checks.",
        "A private, softer bar passes workflows that a run then refuses.",
    ),
    _Text(
        "examples-stay-modern",
        "Keep examples in the forms that new workflows should use.",
        "People and agents copy examples, the outdated ones too.",
    ),
    _Text(
        "no-local-pattern-as-final-proof",
        "Do not take a pattern that is found in a text for the last proof that work was done.",
        "A text can be made to match without the work; a contract, a test or a person has to confirm it.",
    ),
    _Text(
        "checkpoints-in-batched-delegation",
        "Stop between batches of delegated work to compare what came back.",
        "A misunderstanding in the first batch is otherwise repeated by all of them.",
    ),
)
# Announced for the authoring rules, and not yet in force.
_PLANNED = (
    _Text(
        "delegation-packet",
        "Hand a helper its task as one packet: goal, context, limits and form of the answer.",
        "What is left out is filled in by each helper in its own way.",
    ),
    _Text(
        "structured-results",
        "Ask helpers for results in a fixed structure.",
        "Free text from several helpers can't be compared or merged without reading intentions into it.",
    ),
    _Text(
        "disclosed-assumptions",
        "Have every result list the assumptions it rests on.",
        "An assumption that nobody sees is never questioned.",
    ),
    _Text(
        "missing-context-reported",
        "Have a helper say what it would have needed and did not get.",
        "Gaps are otherwise closed by guessing, and look like findings.",
    ),
    _Text(
        "confidence-stated",
        "Have a result say how sure it is, and why.",
        "All results look equally certain, and the weakest one decides.",
    ),
    _Text(
        "verifiable-findings",
        "Have every finding say how somebody else can verify it.",
        "What can't be verified has to be believed or found again.",
    ),
)


def _made(texts: tuple[_Text, ...], first: int, **facts: object) -> list[type[Rule]]:
    return [
        type(text.name, (Guideline,), {"code": f"{FAMILY}{number:03}", **text._asdict(), **facts})
        for number, text in enumerate(texts, first)
    ]


RULES = (*_made(_KEPT, 1), *_made(_PLANNED, 101, origin="planned", status=Status.PLANNED))
