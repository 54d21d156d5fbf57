"""One run under both profiles, and where the two part ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_workrail.agents.agent import Agent
from pytest_workrail.agents.transcript import answer_kind
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.golden.symbols import joined, lines
from pytest_workrail.records import Record, replace
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from pytest_workrail.run.result import Run
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.terminal import Style

if TYPE_CHECKING:
    from pytest_workrail.golden.diff import Difference


class Comparison(Record):
    """The run on the reference engine's terms, and on the design's."""

    reference: Run
    locked: Run

    @property
    def differences(self) -> list[Difference]:
        """Every place where the locked run differs from the reference run, apart from the form of its answers."""
        from pytest_workrail.golden.diff import compare

        return list(compare(behaviour(self.reference), behaviour(self.locked)))

    @property
    def agree(self) -> bool:
        """True when the two do the same."""
        return not self.differences

    def describe(self) -> str:
        """Where they part, in words."""
        from pytest_workrail.golden.causes import Causes, headline
        from pytest_workrail.golden.show import change_lines

        if self.agree:
            return "Both profiles answer alike."
        shown: list[str] = []
        for cause in Causes(behaviour(self.reference), behaviour(self.locked)):
            shown.append(headline(cause.difference))
            shown += [f"    {line}" for line in change_lines(cause.difference, Style(False))]
        return "\n".join(shown)


# What only says in which form an answer is given, and what the one form tells and the other leaves out.
_FORM = ("kind", "isComplete", "skipped", "skippedOmitted", "appliedFeatures")
_ANNOUNCED = Pattern(
    r"⟪CONFIRM⟫|\n\n\*\*NEXT INPUT \(System\):\*\*\n- From: [^\n]*\n- Needed: [^\n]*\n- Then: [^\n]*\Z"
)


def behaviour(run: Run, profile: Profile | None = None) -> dict[str, Any]:
    """The golden of a run with its answers in a form that both profiles share.

    Marks of the engine's defects are about a third party, the public engine, so they are no difference.
    """
    from pytest_workrail.golden.document import golden_value

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
