"""Sentences of a prompt that ask the user: a run without a user has to answer them itself."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from workrail_lint.base.patterns import Pattern, folded

_PERSON = r"(?:user|human|person|operator|requester|customer|developer|stakeholders?|(?:product |workflow )?owner)"
_THE = r"(?:the |your |a |an )?"
_ASKS = Pattern(
    rf"\b(?:ask|asking|consult|prompt|query) {_THE}{_PERSON}\b"
    rf"|\b(?:confirm|check|clarify|verify|agree|align|discuss|review) (?:[\w`'-]+ ){{0,5}}?with {_THE}{_PERSON}\b"
    rf"|\b(?:wait for|await) {_THE}{_PERSON}\b"
    rf"|\b(?:get|obtain|request|seek|gather|collect) (?:[\w`'-]+ ){{1,5}}?from {_THE}{_PERSON}\b"
    rf"|\b(?:let|have) {_THE}{_PERSON} (?:decide|choose|pick|select|confirm|approve)\b"
)
# What comes before the words in the same sentence and says that the user is not asked.
_NOT_ASKED = Pattern(
    r"\b(?:not|n't|n’t|never|without|instead of|rather than|avoid|before|no need to)\b[^.!?;\n]{0,80}$"
    r"|(?:don't|don’t)[^.!?;\n]{0,80}$"
)
_CONDITIONAL = Pattern(r"\b(?:if|only|when|whenever|unless|where|in case|cannot|can't|for any)\b")
_NEAR = 120
_LONGEST = 160
_WORDS = ("ask", "consult", "prompt", "query", "with", "wait", "from", "let", "have")
_PEOPLE = ("user", "human", "person", "operator", "requester", "customer", "developer", "stakeholder", "owner")
_ENDS = ".!?\n"


class UserQuestion(NamedTuple):
    """A sentence that tells the agent to ask the user, on one line."""

    sentence: str
    is_conditional: bool  # asked under a condition, or only for some things


@lru_cache(maxsize=256)
def user_questions(text: str) -> tuple[UserQuestion, ...]:
    """Return the sentences that tell the agent to ask the user, each once. One that forbids asking is none.

    The last prompts are remembered: a run comes to the same ones again, and so do other runs of the workflow.
    """
    low = folded(text)
    if len(low) != len(text) or not any(map(low.__contains__, _PEOPLE)) or not any(map(low.__contains__, _WORDS)):
        return ()
    sentences: dict[str, UserQuestion] = {}
    for phrase in _ASKS.finditer(low):
        if not _NOT_ASKED.search(low[max(0, phrase.start() - _NEAR) : phrase.start()]):
            sentence = _sentence(text, phrase.start(), phrase.end())
            is_conditional = _CONDITIONAL.search(sentence.lower()) is not None
            sentences.setdefault(sentence, UserQuestion(sentence, is_conditional))
    return tuple(sentences.values())


def _sentence(text: str, start: int, end: int) -> str:
    """Return the sentence around a place, on one line, cut where it is too long."""
    first = max(text.rfind(mark, 0, start) for mark in _ENDS) + 1
    ends = [at for mark in _ENDS if (at := text.find(mark, end)) >= 0]
    line = " ".join(text[first : min(ends, default=len(text))].split()).lstrip("-*#>•0123456789) ")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
