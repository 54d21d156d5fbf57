"""The driver of team scenarios, and what they can expect of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_workrail.scenarios.drivers import Fault, PlayedScenario, ScenarioDocument, ScenarioFailure, errors
from pytest_workrail.systems.kernel.scenario import Driver, Expectation, by_name, in_order, played_scenario
from pytest_workrail.systems.team.lock_evidence import EVIDENCE, RunEvidence
from pytest_workrail.systems.team.run_state import FOR_RULES
from pytest_workrail.systems.team.session import COMMON
from pytest_workrail.systems.team.team_run import PACK, TeamRun, run
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.systems.team.model.build import status_model
from workrail_lint.systems.team.scenario import TeamScenario
from workrail_lint.systems.team.scenario_check import findings
from workrail_lint.systems.team.trace import EVENTS
from workrail_lint.systems.team.vocabulary import WorkflowState


def play(scenario: ScenarioDocument) -> Ok[PlayedScenario] | Err[ScenarioFailure]:
    """Play a scenario and compare the run with what it expects."""
    invalid = errors(findings(scenario.value, scenario.folder))
    if invalid:
        return scenario.invalid(invalid)
    model = TeamScenario.model_validate({**scenario.value, "name": scenario.name})
    played = run(model, folder=scenario.path.parent)
    faults = played.problems or unmet(scenario.value, played)
    return Ok(played_scenario(scenario, faults, played.event_lines(), lambda: played.golden_bytes, played.demonstrated))


def unmet(scenario: Mapping[str, Any], run: TeamRun) -> tuple[Fault, ...]:
    """Return everything that is not as the scenario expects it."""
    return DRIVER.unmet(scenario, run, run.demonstrated)


# -------------------------------------------------------------------------------------------------------- expectations


def _final_state(wanted: str | None, run: TeamRun, pointer: str) -> Iterator[Fault]:
    wanted = wanted or WorkflowState.DONE.value
    if run.final_state.value != wanted:
        why = "; ".join(blocker.message for blocker in run.blockers)
        actual = f"{run.final_state.value} ({why})" if why else run.final_state.value
        yield Fault(f"final state: expected {wanted}, found {actual}", pointer)


def _known_issues(wanted: int | None, run: TeamRun, pointer: str) -> Iterator[Fault]:
    if wanted is not None and wanted != len(run.known_issues):
        yield Fault(f"known issues: expected {wanted}, found {', '.join(run.known_issues) or 'nothing'}", pointer)


def _decisions(wanted: Mapping[str, Any] | None, run: TeamRun, pointer: str) -> Iterator[Fault]:
    for ident, expected in (wanted or {}).items():
        place = child(pointer, ident)
        entry = status_model(run.status).decision(ident)
        if entry is None:
            yield Fault(f"decision {ident} does not exist", place)
            continue
        for name, value in ({"": expected} if isinstance(expected, str) else expected).items():
            member = {"": "status", "reason": "resolution_reason"}.get(name, name)
            if entry.raw.get(member) != value:
                text = f"{member} of {ident}: expected {value}, found {entry.raw.get(member)}"
                yield Fault(text, child(place, name) if name else place)


def _unexpected_errors(wanted: list[str] | None, run: TeamRun, pointer: str) -> Iterator[Fault]:
    if wanted is not None:
        yield from _findings(wanted, run, pointer)
        return
    for finding in run.findings:
        if finding.severity is Severity.ERROR:
            place = f"{finding.path}{finding.pointer and ' at '}{finding.pointer}"
            yield Fault(f"{finding.code} in {place}: {run.normalizer.text(finding.message)}", "/team")


_findings: Expectation[TeamRun] = in_order(
    "finding",
    "code",
    lambda run: [{"code": each.code, "path": each.path, "message": each.message} for each in run.findings],
    lambda item: f"{item['code']} in {item['path']}: {item['message']}",
)

EXPECTATIONS: dict[str, Expectation[TeamRun]] = {
    "finalState": _final_state,
    "states": in_order("state", "state", lambda run: [{"state": state} for state in run.states]),
    "dispatches": in_order(
        "dispatch",
        "name",
        lambda run: [{"name": f"{each['agent']}/{each['task']}"} for each in run.dispatches if each["attempt"] == 1],
    ),
    "tasks": by_name(lambda run: run.tasks, complete=True),
    "retryCounts": by_name(lambda run: run.retry_counts, complete=True),
    "knownIssues": _known_issues,
    "decisions": _decisions,
    "blockers": in_order(
        "blocker",
        "code",
        lambda run: [
            {"code": each.code.value, "pointer": each.pointer, "message": each.message, "fix": each.suggested_fix}
            for each in run.blockers
        ],
    ),
    "findings": _unexpected_errors,
}
DRIVER: Driver[TeamRun, RunEvidence] = Driver(
    pack=PACK,
    event_member="event",
    events=EVENTS,
    blockers=COMMON,
    expectations=EXPECTATIONS,
    evidence=EVIDENCE,
    docs="docs/team-simulation.md",
    samples="fixtures/scenarios/team",
    hidden=FOR_RULES,
)
