"""One run under both profiles, and where the two part ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_workrail.agents.agent import Agent
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from pytest_workrail.run.result import Run
from workrail_lint.base.terminal import Style

if TYPE_CHECKING:
    from pytest_workrail.golden.diff import Difference


@dataclass(frozen=True, slots=True)
class Comparison:
    """The run on the reference engine's terms, and on the design's."""

    reference: Run
    locked: Run

    @property
    def differences(self) -> list[Difference]:
        """Every place where the locked run differs from the reference run, apart from the profile itself."""
        from pytest_workrail.golden.diff import compare
        from pytest_workrail.golden.document import golden_value

        found = compare(golden_value(self.reference.transcript), golden_value(self.locked.transcript))
        return [difference for difference in found if difference.pointer != "/profile"]

    @property
    def agree(self) -> bool:
        """True when an agent could not tell the two apart."""
        return not self.differences

    def describe(self) -> str:
        """Where they part, in words."""
        from pytest_workrail.golden.causes import Causes, headline
        from pytest_workrail.golden.document import golden_value
        from pytest_workrail.golden.show import change_lines

        if self.agree:
            return "Both profiles answer alike."
        reference = {**golden_value(self.reference.transcript), "profile": "locked"}
        shown: list[str] = []
        for cause in Causes(reference, golden_value(self.locked.transcript)):
            shown.append(headline(cause.difference))
            shown += [f"    {line}" for line in change_lines(cause.difference, Style(False))]
        return "\n".join(shown)


def both_profiles(setup: Setup, agent: Agent) -> Comparison:
    """Run a setup under both profiles with the same agent."""
    return Comparison(drive(replace(setup, profile="reference"), agent), drive(replace(setup, profile="locked"), agent))
