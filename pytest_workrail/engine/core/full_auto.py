"""Full autonomy that is real: in a run that never stops the agent answers for the user, discloses it, and catches up.

An answer in the user's place is disclosed as a divergence with the reason `missing_user_context`. What a run went on
without can still be submitted: the gap stays on record, and a later event resolves it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from pytest_workrail.engine.core.conditions import Context, is_met
from pytest_workrail.engine.core.index import ASSESSMENT, ContractPack, artifact_kind
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.model.blockers import Gap, GapRecordedData
from pytest_workrail.engine.model.reasons import InvalidRequiredOutput, MissingRequiredOutput
from pytest_workrail.engine.model.words import DivergenceReason, Preferences
from workrail_lint.base.js import Json
from workrail_lint.base.patterns import Pattern, folded
from workrail_lint.systems.workrail.model.ir import ProgramStep
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL

DIVERGENCE_KIND = "wr.workflow_divergence"
# The reason of a divergence that stands in for an answer of the user.
USER_UNAVAILABLE: DivergenceReason = "missing_user_context"
USER_ANSWERS = ("assume", "derive", "skip")


_ANSWER = (
    "Answer in their place and skip nothing silently: assume what is most likely, derive it from what you can read, or "
    "skip the part that can't be known. Disclose each of these with one artifact in `output.artifacts`, its summary "
    "beginning with Assumed, Derived or Skipped:"
)


class FullAuto(Struct, frozen=True):
    """The duties of an agent towards a user who is not there.

    `asked` are the sentences of the prompt that ask the user; `open_contracts` are outputs that earlier steps lack.
    """

    asked: tuple[str, ...] = ()
    open_contracts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the members that say so as data; empty where there is nothing to do."""
        members: dict[str, Json] = {}
        if self.asked:
            members |= {"asked": list(self.asked), "answerBy": list(USER_ANSWERS), "discloseAs": DIVERGENCE_KIND}
        if self.open_contracts:
            members["openContracts"] = list(self.open_contracts)
        return members


def disclosure(step_id: str, summary: str) -> dict[str, Json]:
    """Return the artifact that discloses an answer given in the user's place."""
    return {"kind": DIVERGENCE_KIND, "reason": USER_UNAVAILABLE, "summary": summary, "relatedStepId": step_id}


def full_auto_text(full_auto: FullAuto, step_id: str) -> str:
    """Return how to answer what a prompt asks the user, and how to make up for what earlier steps lack."""
    lines: list[str] = []
    if full_auto.asked:
        example = json.dumps(disclosure(step_id, "Assumed that …, because …"), ensure_ascii=False)
        lines += [
            "No user is available in this run, and this step asks the user:",
            *(f"- {sentence}" for sentence in full_auto.asked),
            _ANSWER,
            f"```json\n{example}\n```",
        ]
    if full_auto.open_contracts:
        names = ", ".join(full_auto.open_contracts)
        lines.append(f"Earlier steps still lack an output. Submit it with any step to resolve the gap: {names}.")
    return "\n\n**FULL AUTO (System):** " + "\n".join(lines) if lines else ""


def asked_of_user(
    step: ProgramStep, context: Context, preferences: Preferences, profile: Profile
) -> tuple[UserQuestion, ...]:
    """Return what the step asks the user in a run that has none; `context` is the render context."""
    match profile.user_questions:
        case "as_written":
            return ()
        case "answer_and_disclose" if preferences.never_stops:
            fragments = [fragment.text for fragment in step.fragments if is_met(fragment.when, context)]
            return user_questions("\n".join([step.prompt, *fragments]))
        case "answer_and_disclose":
            return ()


def undisclosed(step_id: str) -> Gap:
    """Return the record that a prompt asked the user and nothing says how that was answered."""
    return Gap(
        "warning", "unexpected", "invariant_violation", f"User not asked, and nothing disclosed (stepId={step_id})"
    )


def open_contracts(
    gaps: Iterable[GapRecordedData], packs: Mapping[str, ContractPack]
) -> dict[str, list[GapRecordedData]]:
    """Return the open gaps that a later artifact resolves, by the contract that it has to satisfy.

    A decision about a loop comes too late once the loop is left, and an assessment belongs to its step.
    """
    summaries = late_summaries(packs)
    by_contract: dict[str, list[GapRecordedData]] = {}
    for gap in gaps:
        ref = summaries.get(gap.summary)
        if ref is not None and gap.severity == "critical" and gap.details is None:
            by_contract.setdefault(ref, []).append(gap)
    return by_contract


def late_summaries(packs: Mapping[str, ContractPack]) -> Mapping[str, str]:
    """Return the contracts that a later artifact may satisfy, by the summaries of the gaps that tell of them."""
    return _late_summaries(tuple(packs))


@lru_cache(maxsize=64)
def _late_summaries(refs: tuple[str, ...]) -> Mapping[str, str]:
    return {
        reason(ref).summary(): ref
        for ref in refs
        if ref not in (LOOP_CONTROL, ASSESSMENT)
        for reason in (MissingRequiredOutput, InvalidRequiredOutput)
    }


class Resolution(Struct, frozen=True):
    """An open gap that an artifact of this submission resolves; `artifact_index` is its place."""

    gap: GapRecordedData
    artifact_index: int


def resolutions(
    gaps: Iterable[GapRecordedData], packs: Mapping[str, ContractPack], artifacts: Sequence[Json], own: str | None
) -> tuple[Resolution, ...]:
    """Return the gaps that a submission resolves: each artifact that satisfies a contract resolves one, oldest first.

    The first artifact of the step's `own` contract belongs to the step.
    """
    resolved: list[Resolution] = []
    for ref, waiting in open_contracts(gaps, packs).items():
        pack = packs[ref]
        fitting = [
            place
            for place, artifact in enumerate(artifacts)
            if artifact_kind(artifact) == pack.artifact_kind and not pack.issues(artifact)
        ]
        resolved += map(Resolution, waiting, fitting[1:] if ref == own else fitting)
    return tuple(resolved)


# Sentences of a prompt that ask the user: a run without a user has to answer them itself.

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
