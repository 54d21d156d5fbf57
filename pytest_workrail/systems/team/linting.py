"""What the linter says about a run: the same rules that judge recorded sessions, over the files of this one."""

from __future__ import annotations

import json
import os
from typing import Any

from pytest_workrail.systems.team.blockers import Blocker, invalid, missing
from pytest_workrail.systems.team.questions import topic_of
from pytest_workrail.systems.team.store import Store
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.discovery import discover
from workrail_lint.project.run import Plan, order, run
from workrail_lint.project.selection import KnownRules, Selection
from workrail_lint.systems.base import RunSettings
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.documents import SUFFIXES, TeamKind, kind_by_name
from workrail_lint.systems.team.options import team_options
from workrail_lint.systems.team.rules.walk import run_trace
from workrail_lint.systems.team.system import TeamSystem, default_rules
from workrail_lint.systems.team.trace import Trace
from workrail_lint.systems.team.vocabulary import AgentName, Mode

# A reply with one of these is no reply: it is no single object, lacks members, or contradicts itself.
_UNUSABLE = tuple(f"TC5{number}" for number in range(30, 49))


class SessionLinter:
    """The linter, pointed at one session."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.mode = Mode.FULL
        self._findings: dict[tuple[Any, ...], list[Finding]] = {}

    @property
    def _settings(self) -> Any:
        asked = machine.decisions_of(self._store.status() or {})
        others = [entry.get("decision_id") for entry in asked if not topic_of(entry.get("question")).is_from_security]
        options: dict[str, object] = {
            "team-simulated": True,
            "team-mode": self.mode.value,
            "team-not-from-security": others,
        }
        return RunSettings(options=options, workspace=os.fspath(self._store.root))

    def _checked(self, name: str, data: bytes, kind: TeamKind) -> list[Finding]:
        # A system remembers sessions by the times of their files, which are not real ones here: a new one each time.
        path = os.fspath(self._store.folder / name)
        found = TeamSystem().check(path, data, kind.value, self._settings).findings
        return self._named(sorted(found, key=order))

    def _named(self, found: list[Finding]) -> list[Finding]:
        """The same findings with paths below the session; the folder itself is called `.`."""
        for finding in found:
            finding.path = os.path.relpath(finding.path, self._store.folder).replace(os.sep, "/")
        return found

    def input(self, number: int, agent: AgentName, task: str, data: bytes) -> list[Finding]:
        return self._checked(f"{number:04d}-{agent.value}-{task}.input.json", data, TeamKind.INPUT)

    def output(self, number: int, agent: AgentName, task: str, data: bytes) -> list[Finding]:
        return self._checked(f"{number:04d}-{agent.value}-{task}.output.json", data, TeamKind.OUTPUT)

    def plan(self, number: int, data: bytes) -> list[Finding]:
        return self._checked(f"{number:04d}.plan.json", data, TeamKind.PLAN)

    def artifact(self, file: str) -> list[Finding]:
        """The findings about one file; every agent that is given it asks, so they are kept while nothing changes."""
        data, kind = self._store.read(file), kind_by_name(file)
        if data is None or kind is None:
            return []
        key = file, data, *self._around()
        if key not in self._findings:
            self._findings = {known: found for known, found in self._findings.items() if known[0] != file}
            self._findings[key] = self._checked(file, data, kind)
        return self._findings[key]

    def _around(self) -> tuple[Any, ...]:
        """What the findings about a file depend on besides the file: all of the session but the time."""
        status = {name: value for name, value in (self._store.status() or {}).items() if name != "last_update"}
        return self.mode, json.dumps(status), self._store.read("tasks.yaml"), *self._store.files()

    def guard(self, name: str) -> list[Blocker]:
        """What stands against a guard: files that are not there, and errors in those that are."""
        guard = machine.GUARDS[name]
        found: list[Blocker] = []
        for file in guard.files:
            if not self._store.exists(file):
                found.append(missing(file, self.mode))
            else:
                found += self.errors(file, guard.codes)
        return found

    def errors(self, file: str, codes: tuple[str, ...] = ("TC",)) -> list[Blocker]:
        """The errors in an artifact, of all rules whose codes begin like one of these; a broken text counts always."""
        return [
            invalid(file, finding)
            for finding in self.artifact(file)
            if finding.code.startswith((*codes, "TC0")) and _stops(finding)
        ]

    def folder(self) -> list[Finding]:
        """Everything about the session folder, advice left out: it is about taste and not about the run."""
        system = TeamSystem()
        selection = system.choice = Selection(KnownRules([system]))
        plan = Plan([system], self._settings, selection, complete=True)
        found = run(discover([os.fspath(self._store.folder)], suffixes=SUFFIXES), plan).findings
        return self._named(without_advice(found))

    def trace(self, value: dict[str, Any]) -> list[Finding]:
        found = run_trace(default_rules(), Trace(value), team_options(self._settings.options))
        for finding in found:
            finding.path = "trace"
        return found


def _stops(finding: Finding) -> bool:
    """Whether a guard minds. What a report lacks is a mere warning before DONE, and DONE is what comes next."""
    return finding.severity is Severity.ERROR or finding.code == "TC414"


def without_advice(found: list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.severity is not Severity.INFO]


def is_unusable(finding: Finding) -> bool:
    """Whether a finding about an output means that it can't be acted upon."""
    return finding.severity is Severity.ERROR and (finding.code in _UNUSABLE or finding.code.startswith("TC0"))
