"""Capabilities and divergences: who says what, and what it is worth."""

from __future__ import annotations

from typing import Any

import pytest
from engine_ir import pack, step, typed, workflow

from pytest_workrail.engine.core.index import CAPABILITY_OBSERVATION, DIVERGENCE, IrIndex, contract_packs
from pytest_workrail.engine.core.outputs import (
    Invalid,
    OutputValidator,
    ReportedDivergence,
    Satisfied,
    Submission,
    capability_reasons,
    capability_status,
    divergences,
    observations,
    probe_steps,
)
from pytest_workrail.engine.core.profiles import REFERENCE
from pytest_workrail.engine.model.events import CapabilityObservedData
from pytest_workrail.engine.model.reasons import CapabilityUnavailable, CapabilityUnknown
from workrail_lint import compile_workflow
from workrail_lint.systems.workrail.model.build import program_model

PACKS = contract_packs(program_model({"contracts": [pack(CAPABILITY_OBSERVATION), pack(DIVERGENCE)]}))
PROBE = step(
    "wr_probe_web_browsing",
    output={"contract": {"ref": CAPABILITY_OBSERVATION, "required": True, "capability": "web_browsing"}},
)
WORK = step("work")


def _seen(status: str, kind: str, capability: str = "web_browsing", **provenance: Any) -> dict[str, Any]:
    return {
        "kind": "wr.capability_observation",
        "capability": capability,
        "status": status,
        "provenance": {"kind": kind, **provenance},
    }


PROBED = _seen("available", "probe_step", result="success")
CLAIMED = _seen("available", "manual_claim", claimedBy="agent")
FAILED = _seen("unavailable", "attempted_use", result="failure", failureCode="tool_missing")


@pytest.mark.parametrize(
    ("made", "artifact", "provenance"),
    [
        (
            PROBE,
            PROBED,
            {
                "kind": "probe_step",
                "enforcementGrade": "strong",
                "detail": {
                    "probeTemplateId": "wr.templates.capability_probe",
                    "probeStepId": "wr_probe_web_browsing",
                    "result": "success",
                },
            },
        ),
        (
            WORK,
            FAILED,
            {
                "kind": "attempted_use",
                "enforcementGrade": "strong",
                "detail": {"attemptContext": "workflow_step", "result": "failure", "failureCode": "tool_missing"},
            },
        ),
        (
            WORK,
            CLAIMED,
            {
                "kind": "manual_claim",
                "enforcementGrade": "weak",
                "detail": {"claimedBy": "agent", "claim": "available"},
            },
        ),
    ],
)
def test_the_grade_follows_from_the_kind(made: Any, artifact: Any, provenance: Any) -> None:
    (observed,), failed = observations(typed(made), ["noise", artifact], PACKS[CAPABILITY_OBSERVATION])
    assert (observed.artifact_index, observed.provenance.to_wire(), failed) == (1, provenance, ())
    event = {
        "capObsId": "capobs_a_1",
        "capability": observed.capability,
        "status": observed.status,
        "provenance": observed.provenance.to_wire(),
    }
    assert CapabilityObservedData.from_wire(event).to_wire() == event


@pytest.mark.parametrize(
    ("made", "artifact"),
    [
        (WORK, PROBED),
        (PROBE, {**PROBED, "capability": "delegation"}),
        (WORK, {**CLAIMED, "enforcementGrade": "strong"}),
        (WORK, _seen("unknown", "manual_claim", claimedBy="agent")),
        (WORK, _seen("unavailable", "attempted_use", result="failure")),
        (PROBE, _seen("unavailable", "probe_step", result="success")),
    ],
)
def test_observations_that_do_not_pass(made: Any, artifact: Any) -> None:
    assert observations(typed(made), [artifact], PACKS[CAPABILITY_OBSERVATION]) == ((), (0,))


def test_a_probe_records_what_it_learns_about_another_capability() -> None:
    tried = _seen("available", "attempted_use", capability="delegation", result="success")
    seen, failed = observations(typed(PROBE), [PROBED, tried], PACKS[CAPABILITY_OBSERVATION])
    assert [(each.artifact_index, each.capability) for each in seen] == [(0, "web_browsing"), (1, "delegation")]
    assert failed == ()
    validator = OutputValidator(IrIndex(workflow(PROBE)), REFERENCE)
    assert validator.check(typed(PROBE), (), Submission(None, (PROBED, tried)), {}).requirement == Satisfied()
    assert isinstance(validator.check(typed(PROBE), (), Submission(None, (tried, PROBED)), {}).requirement, Invalid)


def test_the_contract_of_a_probe_demands_its_own_capability() -> None:
    validator = OutputValidator(IrIndex(workflow(PROBE)), REFERENCE)
    assert validator.check(typed(PROBE), (), Submission(None, (PROBED,)), {}).requirement == Satisfied()
    other = validator.check(typed(PROBE), (), Submission(None, ({**PROBED, "capability": "delegation"},)), {})
    assert isinstance(other.requirement, Invalid)
    assert other.requirement.validation.issues == ('capability: Invalid literal value, expected "web_browsing"',)


class TestEnforcement:
    IR = workflow(PROBE, WORK, capabilities={"web_browsing": "required", "delegation": "preferred"})

    def _reasons(self, pending: Any, *artifacts: Any, completed: tuple[str, ...] = ()) -> Any:
        seen, _ = observations(typed(pending), artifacts, PACKS[CAPABILITY_OBSERVATION])
        program = program_model(self.IR)
        return capability_reasons(program, capability_status(program, {pending["id"], *completed}, seen))

    def _at_work(self, seen: Any) -> Any:
        program = program_model(self.IR)
        return capability_reasons(program, capability_status(program, {"work", "wr_probe_web_browsing"}, seen))

    def test_at_the_probe(self) -> None:
        assert self._reasons(PROBE) == (CapabilityUnknown("web_browsing"),)
        assert self._reasons(PROBE, CLAIMED) == (CapabilityUnknown("web_browsing"),)
        failed = _seen("unavailable", "probe_step", result="failure")
        assert self._reasons(PROBE, failed) == (CapabilityUnavailable("web_browsing"),)
        assert self._reasons(PROBE, PROBED) == ()

    def test_the_newest_strong_observation_counts(self) -> None:
        probed, _ = observations(typed(PROBE), [PROBED], PACKS[CAPABILITY_OBSERVATION])
        failed, _ = observations(typed(WORK), [FAILED], PACKS[CAPABILITY_OBSERVATION])
        claimed, _ = observations(typed(WORK), [CLAIMED], PACKS[CAPABILITY_OBSERVATION])
        assert self._at_work([*probed, *claimed]) == ()
        late = self._at_work([*probed, *failed, *claimed])
        assert late == (CapabilityUnavailable("web_browsing"),)

    def test_a_probe_that_lies_ahead_is_not_looked_at(self) -> None:
        assert self._reasons(WORK) == ()
        assert self._reasons(WORK, completed=("wr_probe_web_browsing",)) == (CapabilityUnknown("web_browsing"),)


def test_compiled_probes_are_known_as_probes() -> None:
    source = {
        "id": "test.probes",
        "name": "Probes",
        "description": "d",
        "version": "1.0.0",
        "capabilities": {"web_browsing": "required"},
        "steps": [
            {"id": "work", "title": "Work", "prompt": "Work."},
            {
                "id": "look",
                "title": "Look",
                "templateCall": {
                    "templateId": "wr.templates.capability_probe",
                    "args": {"capability": "delegation", "when": "lazy_on_first_use"},
                },
            },
        ],
    }
    ir = compile_workflow(source).value.ir
    assert set(probe_steps(program_model(ir))) == {"web_browsing", "delegation"}
    work = next(made for made in ir["steps"] if made["id"] == "work")
    assert typed(work).probed_capability is None


def test_divergences() -> None:
    good = {"kind": "wr.workflow_divergence", "reason": "safety_stop", "summary": "Stopped.", "relatedStepId": "a.b"}
    bare = {"kind": "wr.workflow_divergence", "reason": "efficiency_skip", "summary": "Skipped."}
    bad = {**bare, "reason": "because"}
    reported, failed = divergences([1, good, bad, bare], PACKS[DIVERGENCE])
    assert reported == (
        ReportedDivergence(1, "safety_stop", "Stopped.", "a.b"),
        ReportedDivergence(3, "efficiency_skip", "Skipped.", None),
    )
    assert failed == (2,)
