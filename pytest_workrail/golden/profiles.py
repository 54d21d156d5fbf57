"""One run under both profiles: where the two differ, and which choices of a profile make the difference.

The choices are found by changing one at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct, structs
from msgspec.structs import replace

from pytest_workrail.agents.agent import Agent, answer_kind
from pytest_workrail.engine.core.profiles import LOCKED, REFERENCE, Profile
from pytest_workrail.golden.diff import Causes, Difference, compare, headline
from pytest_workrail.golden.document import golden_value
from pytest_workrail.golden.show import change_lines
from pytest_workrail.golden.symbols import joined, lines
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from pytest_workrail.run.result import Run
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.terminal import Style

# What only says in which form an answer is given, and what the one form tells and the other leaves out.
_FORM = ("kind", "isComplete", "skipped", "skippedOmitted", "appliedFeatures")
_ANNOUNCED = Pattern(
    r"⟪CONFIRM⟫|\n\n\*\*NEXT INPUT \(System\):\*\*\n- From: [^\n]*\n- Needed: [^\n]*\n- Then: [^\n]*\Z"
)


class Comparison(Struct, frozen=True):
    """The run on the reference engine's terms, and on the design's."""

    reference: Run
    locked: Run

    @property
    def differences(self) -> list[Difference]:
        """Every place where the locked run differs from the reference run, apart from the form of its answers."""
        return list(compare(behaviour(self.reference), behaviour(self.locked)))

    @property
    def agree(self) -> bool:
        """True when the two do the same."""
        return not self.differences

    def describe(self) -> str:
        """Return where they part, in words."""
        if self.agree:
            return "Both profiles answer alike."
        lines: list[str] = []
        for cause in Causes(behaviour(self.reference), behaviour(self.locked)):
            lines.append(headline(cause.difference))
            lines += [f"    {line}" for line in change_lines(cause.difference, Style(False))]
        return "\n".join(lines)


def behaviour(run: Run, profile: Profile | None = None) -> dict[str, Any]:
    """Return the golden of a run with its answers in a form that both profiles share.

    Marks of the engine's defects are about a third party, the public engine, so they are no difference.
    """
    value = golden_value(run.transcript, profile)
    exchanges = [_shared_exchange(each) for each in value["transcript"]]
    final = {name: member for name, member in value["final"].items() if name != "skipped"}
    shared = {name: member for name, member in value.items() if name != "engineDefects"}
    return {**shared, "profile": "both", "transcript": exchanges, "final": final}


def _shared_exchange(exchange: dict[str, Any]) -> dict[str, Any]:
    if "response" in exchange:
        return {**exchange, "response": _shared_form(exchange["response"])}
    error = {name: value for name, value in exchange["error"].items() if name != "kind"}
    return {**exchange, "error": error}


def _shared_form(response: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in response.items() if name not in _FORM and value is not None}
    pending = kept.get("pending")
    if isinstance(pending, dict) and "prompt" in pending:
        kept["pending"] = {**pending, "prompt": lines(_ANNOUNCED.sub("", joined(pending["prompt"])))}
    return {"kind": answer_kind(response), **kept}


def both_profiles(setup: Setup, agent: Agent) -> Comparison:
    """Run a setup under both profiles with the same agent."""
    return Comparison(drive(replace(setup, profile="reference"), agent), drive(replace(setup, profile="locked"), agent))


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
    "capabilities": ChoiceFacts(
        "required or preferred capability",
        "recorded",
        "a required one is enforced, and only a real attempt counts; the absence of a preferred one is a gap",
    ),
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
    "user_questions": ChoiceFacts(
        "prompt that asks the user, in a run that never stops",
        "shown as it is",
        "the prompt asks it to assume, derive or skip, and to disclose it; what is not disclosed is a gap",
    ),
    "late_outputs": ChoiceFacts("output that comes after its gap", "stored", "resolves the gap"),
    "notes_validation": ChoiceFacts("missing notes", "no validation on record", "a failed validation on record"),
    "instructions_so_far": ChoiceFacts(
        "looking at a node again", "shows notes", "shows notes and the instructions of the steps so far"
    ),
    "unknown_members": ChoiceFacts(
        "unknown member of a start, a list or an inspection", "passed over, with a remark", "refused"
    ),
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
    """Return the choices because of which the two runs of a comparison differ: each that does so alone.

    Every choice of `locked` is tried in a run that is `reference` otherwise.
    """
    if compared.agree:
        return []
    known = behaviour(compared.reference)
    reasons: list[ProfileReason] = []
    for choice in CHOICES:
        changed = structs.replace(REFERENCE, **{choice: getattr(LOCKED, choice)})
        run = drive(replace(setup, profile=changed), agent)
        differences = tuple(cause.difference for cause in Causes(known, behaviour(run, changed)))
        if differences:
            reasons.append(ProfileReason(choice, differences))
    return reasons
