"""Questions to the user besides the gates, and the effects of their answers.

status.json keeps the question and nothing else, so a question says what it is about in a way that can be read again
when a session is resumed.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from workrail_lint.systems.team.state_machine import LIMITS, LOOP_OF
from workrail_lint.systems.team.vocabulary import META, AgentName, DecisionStatus, FixLoop, task_ids_in

_REF = r"(T-[0-9]{3,}|meta)"
_SECURITY = re.compile(rf"Security finding in {_REF}: ")
_NOTES = re.compile(rf"Review notes on {_REF}: ")
_EXHAUSTED = re.compile(rf"(FIX_[A-Z]+) of {_REF} was tried {LIMITS.repairs} times: ")


class Kind(Enum):
    """Why the user is asked."""

    SECURITY = "security"
    NOTES = "notes"
    EXHAUSTED = "exhausted"
    INFO = "info"


class Topic(NamedTuple):
    """The subject of a question; the name identifies an exhausted loop."""

    kind: Kind
    task: str = META
    loop: FixLoop | None = None

    @property
    def waives(self) -> AgentName | None:
        """Return the agent whose gate an accepted issue lifts; a build has no agent as its gate."""
        if self.kind is Kind.SECURITY:
            return AgentName.SECURITY
        return next((agent for agent, loop in LOOP_OF.items() if loop is self.loop), None)

    @property
    def is_from_security(self) -> bool:
        """Return whether Security raised it, by a finding or by repeated refusals: then silence is no answer."""
        return self.loop is FixLoop.FIX_SECURITY


class Question(NamedTuple):
    """One question."""

    topic: Topic
    text: str


def security(task: str, description: str) -> Question:
    text = f"Security finding in {task}: {description} Is it to be fixed (fix-now, fix-later, accept-risk)?"
    return Question(Topic(Kind.SECURITY, task, FixLoop.FIX_SECURITY), text)


def notes(task: str, comments: str) -> Question:
    text = f"Review notes on {task}: {comments} Repair them first (fix), or continue?"
    return Question(Topic(Kind.NOTES, task, FixLoop.FIX_REVIEW), text)


def exhausted(loop: FixLoop, task: str, reason: str) -> Question:
    text = (
        f"{loop.value} of {task} was tried {LIMITS.repairs} times: {reason} Take a different approach, give guidance, "
        "accept with known issues, or simplify the scope?"
    )
    return Question(Topic(Kind.EXHAUSTED, task, loop), text)


def info(text: str) -> Question:
    return Question(Topic(Kind.INFO), f"Research needs to know: {text}")


def topic_of(question: object) -> Topic:
    """Return the topic of a stored question; a question by others is about security if it says so."""
    text = question if type(question) is str else ""
    if match := _SECURITY.match(text):
        return Topic(Kind.SECURITY, match[1], FixLoop.FIX_SECURITY)
    if match := _NOTES.match(text):
        return Topic(Kind.NOTES, match[1], FixLoop.FIX_REVIEW)
    if (match := _EXHAUSTED.match(text)) and match[1] in FixLoop.__members__:
        return Topic(Kind.EXHAUSTED, match[2], FixLoop(match[1]))
    if not text.startswith("Research needs to know: ") and "security" in text.casefold():
        named = [*task_ids_in(text), META]
        return Topic(Kind.SECURITY, named[0], FixLoop.FIX_SECURITY)
    return Topic(Kind.INFO)


class Effect(Enum):
    """The effect of an answer."""

    REPAIR = "repair"  # enter the loop
    RESTART = "restart"  # enter it with its count at zero
    WAIVE = "waive"  # a known issue; the gate counts as passed
    DROP = "drop"  # a known issue; the task is given up
    CONTINUE = "continue"  # go on where the question came from


def effect(topic: Topic, status: DecisionStatus, answer: str | None) -> Effect:
    """Return what follows from how a question ended."""
    words = " ".join((answer or "").strip().casefold().replace("-", " ").replace("_", " ").split())
    is_answered = status is DecisionStatus.ANSWERED
    match topic.kind:
        case Kind.SECURITY:
            if is_answered and words.startswith("fix now"):
                return Effect.REPAIR
            deferred = status is DecisionStatus.CANCELLED or words.startswith(("fix later", "accept risk"))
            return Effect.WAIVE if deferred else Effect.CONTINUE
        case Kind.NOTES:
            return Effect.REPAIR if is_answered and words == "fix" else Effect.CONTINUE
        case Kind.EXHAUSTED if is_answered:
            if words.startswith(("different approach", "guidance")):
                return Effect.RESTART
            if words.startswith("accept"):
                return Effect.WAIVE
            if words.startswith("simplify"):
                return Effect.WAIVE if topic.task == META else Effect.DROP
            return Effect.CONTINUE
        case _:
            return Effect.CONTINUE


def known_issue(topic: Topic, outcome: Effect, question: str, answer: str | None, reason: str | None) -> str | None:
    """Return the entry of known_issues that an answer leaves; None if it leaves none."""
    if outcome not in (Effect.WAIVE, Effect.DROP):
        return None
    about = question.partition(": ")[2].partition(" Is it to be fixed")[0].partition(" Take a different")[0]
    what = "left out" if outcome is Effect.DROP else "left open"
    return f"{topic.task} {what} ({answer or reason}): {about or question}"
