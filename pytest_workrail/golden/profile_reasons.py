"""Why a run differs between the profiles: the choices that decide it, found by changing one choice at a time."""

from __future__ import annotations

from pytest_workrail.agents.agent import Agent
from pytest_workrail.engine.core.profiles import LOCKED, REFERENCE
from pytest_workrail.golden.causes import Causes, headline
from pytest_workrail.golden.comparison import Comparison, behaviour
from pytest_workrail.golden.diff import Difference
from pytest_workrail.records import replace
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from workrail_lint.base.typed import NamedTuple


class ChoiceFacts(NamedTuple):
    """One choice of the profiles in words. `defects` are the known differences of the public engine that it settles."""

    topic: str
    reference: str
    locked: str
    defects: tuple[str, ...] = ()


# By the member of `Profile`, in the order of the table in docs/engine.md.
CHOICES: dict[str, ChoiceFacts] = {
    "loop_limit": ChoiceFacts(
        "loop at its limit",
        "leaves the loop",
        "blocks; a run that never stops leaves the loop with a gap",
        ("KD-31",),
    ),
    "loop_decision": ChoiceFacts(
        "loop decision missing or invalid",
        "continues",
        "blocks; a run that never stops treats it as a stop, with a gap",
    ),
    "loop_gate": ChoiceFacts(
        "loop whose body has no decision step",
        "runs to its limit",
        "gets a decision step at its end (`<loop id>__gate`), which asks unless the pass has a decision",
    ),
    "loop_id": ChoiceFacts("loop named by a decision", "not checked", "must be this loop"),
    "loop_banner": ChoiceFacts("banner of a loop whose body is named by id", "without the number of passes", "with it"),
    "rewind_context": ChoiceFacts("context after a rewind", "the newest of the run", "that of the node", ("KD-11",)),
    "recap": ChoiceFacts(
        "recovery text",
        "24576 bytes, oldest first",
        "12288 bytes, newest first, with the number of omitted ones",
        ("KD-26", "KD-27"),
    ),
    "capabilities": ChoiceFacts("required capability", "recorded", "enforced; only a real attempt counts"),
    "confirmation": ChoiceFacts("confirmation by a person", "announced", "a dependency, unless the run is guided"),
    "divergence": ChoiceFacts("divergence report", "an artifact", "an event too"),
    "repeated_gaps": ChoiceFacts("the same gap twice in one advance", "twice", "once"),
    "unset_condition": ChoiceFacts(
        "run that would end while steps wait for unset variables",
        "ends",
        "asks once",
    ),
    "loop_variable": ChoiceFacts(
        "loop over an unset variable", "refused", "asks; without an answer the loop is skipped"
    ),
    "answers": ChoiceFacts(
        "form of answers",
        "the public engine's",
        "a union of kinds, with prose that says the same",
    ),
    "criteria_text": ChoiceFacts("criteria shown in a prompt", "single rules and `and`", "all of them", ("KD-35",)),
}


class ProfileReason(NamedTuple):
    """A choice that makes a difference in a run, and the first differences it makes, each once."""

    choice: str
    differences: tuple[Difference, ...]

    @property
    def facts(self) -> ChoiceFacts:
        return CHOICES[self.choice]

    @property
    def headlines(self) -> list[str]:
        return list(dict.fromkeys(map(headline, self.differences)))


def profile_reasons(setup: Setup, agent: Agent, compared: Comparison) -> list[ProfileReason]:
    """The choices because of which the two runs of a comparison differ: each that does so alone.

    Every choice of `locked` is tried in a run that is `reference` otherwise.
    """
    if compared.agree:
        return []
    known = behaviour(compared.reference)
    found: list[ProfileReason] = []
    for choice in CHOICES:
        changed = replace(REFERENCE, **{choice: getattr(LOCKED, choice)})
        run = drive(replace(setup, profile=changed), agent)
        differences = tuple(cause.difference for cause in Causes(known, behaviour(run, changed)))
        if differences:
            found.append(ProfileReason(choice, differences))
    return found
