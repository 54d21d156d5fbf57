"""What came of a simulated session, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pytest_workrail.golden.encoding import dumps
from pytest_workrail.scenarios.failures import Fault
from pytest_workrail.systems.team.blockers import Blocker
from pytest_workrail.systems.team.golden import PACK, Normalizer, event_shown
from workrail_lint.findings import Finding
from workrail_lint.systems.team.vocabulary import Mode, WorkflowState

_FINDING_ORDER = ("file", "pointer", "code")


@dataclass(frozen=True)
class TeamRun:
    """A session that was played."""

    scenario: str
    mode: Mode
    events: tuple[dict[str, Any], ...]
    dispatches: tuple[dict[str, Any], ...]
    status: dict[str, Any]  # status.json at the end; empty when there is none that can be read
    tasks: dict[str, str]
    artifacts: dict[str, Any]  # normalised
    final_state: WorkflowState
    blockers: tuple[Blocker, ...]
    findings: tuple[Finding, ...]
    locks: dict[str, bool]  # those the scenario claims
    problems: tuple[Fault, ...]  # what the scenario says and the run did not need, or the other way round
    trace: dict[str, Any] = field(repr=False)  # the document that the rules about traces look at
    normalizer: Normalizer = field(repr=False)

    @property
    def states(self) -> list[str]:
        """The states in the order they were entered."""
        entered = [event["state"] for event in self.events if event["event"] == "enter_state"]
        return entered or [self.final_state.value]

    @property
    def decisions(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.status.get("user_decisions", [])
        return entries

    @property
    def retry_counts(self) -> dict[str, dict[str, int]]:
        counts: dict[str, dict[str, int]] = self.status.get("retry_counts", {})
        return counts

    @property
    def known_issues(self) -> list[str]:
        issues: list[str] = self.status.get("known_issues", [])
        return issues

    def named(self, *names: str) -> list[dict[str, Any]]:
        """The events of some kinds, in order."""
        return [event for event in self.events if event["event"] in names]

    @cached_property
    def golden(self) -> dict[str, Any]:
        """The run as a golden says it."""
        value = self.normalizer.value
        findings = [
            {"code": each.code, "file": each.path, "pointer": each.pointer, "severity": each.severity.value}
            for each in self.findings
        ]
        return {
            "pack": PACK,
            "scenario": self.scenario,
            "mode": self.mode.value,
            "trace": [value(event_shown(event)) for event in self.events],
            "states": self.states,
            "dispatches": [value(each) for each in self.dispatches],
            "decisions": value(self.decisions),
            "tasks": self.tasks,
            "retryCounts": value(self.retry_counts),
            "artifacts": self.artifacts,
            "finalState": self.final_state.value,
            "blockers": [value(blocker.to_json()) for blocker in self.blockers],
            "findings": value(sorted(findings, key=lambda each: [each[name] for name in _FINDING_ORDER])),
            "locks": self.locks,
        }

    @property
    def golden_bytes(self) -> bytes:
        return dumps(self.golden, sort_keys=True)

    def event_lines(self) -> list[str]:
        """What happened, a line for each event."""
        return [_event_line(self.normalizer.value(event_shown(event))) for event in self.events]


def _event_line(event: dict[str, Any]) -> str:
    rest = {name: value for name, value in event.items() if name not in ("n", "state", "event")}
    shown = ", ".join(f"{name} {_plain(value)}" for name, value in rest.items())
    return f"{event['n']:>4} {event['state']:<16} {event['event']}{': ' if shown else ''}{shown}"


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
