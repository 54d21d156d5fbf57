"""The tables of the state machine fit together, and the functions over them keep to the contract."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.systems.team import roles
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.model.build import backlog_model, status_model
from workrail_lint.systems.team.model.documents import Task
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.session import inferred_mode
from workrail_lint.systems.team.state_machine import (
    TASK_EDGES,
    TRANSITIONS,
    may_follow,
    rank,
    required_artifacts,
)
from workrail_lint.systems.team.vocabulary import AgentName, CorrectionStatus, Mode, Strategy, TaskStatus, WorkflowState

S = WorkflowState


def test_every_state_has_agents_and_every_agent_a_role() -> None:
    assert set(machine.AGENTS_OF_STATE) == set(S)
    assert set(roles.ROLES) == set(AgentName)
    assert {machine.role_file(agent) for agent in AgentName} >= {
        ".github/agents/00-orchestrator.md",
        ".github/agents/01-spec-agent.md",
        ".github/agents/06-qa.md",
        ".github/agents/11-researcher.md",
    }


def test_guards_exist() -> None:
    for row in TRANSITIONS:
        assert set(row.guards) <= machine.GUARDS.keys(), row


@pytest.mark.parametrize(("path", "mode"), [(machine.FULL_PATH, Mode.FULL), (machine.LEAN_PATH, Mode.LEAN)])
def test_the_two_paths_are_walked_by_transitions(path: tuple[S, ...], mode: Mode) -> None:
    for state, following in pairwise(path):
        assert may_follow(state, following, mode)
    for place, state in enumerate(path):
        for later in path[place + 2 :]:
            assert not may_follow(state, later, mode), (state, later)


def test_a_lean_run_can_turn_into_a_full_one_and_not_back() -> None:
    assert may_follow(S.IMPLEMENT_LOOP, S.INTAKE, Mode.LEAN)
    assert not may_follow(S.IMPLEMENT_LOOP, S.INTAKE, Mode.FULL)
    assert not any(may_follow(state, S.INTAKE_LEAN, mode) for state in S for mode in Mode if state is not S.ASK_USER)


def test_a_session_that_has_ended_goes_nowhere() -> None:
    assert not any(may_follow(end, state, mode) for end in machine.TERMINAL_STATES for state in S for mode in Mode)
    assert all(may_follow(state, S.BLOCKED, Mode.FULL) for state in S if state not in machine.TERMINAL_STATES)


def test_gates_are_left_only_forward() -> None:
    assert [s for s in S if may_follow(S.APPROVE_DESIGN, s, Mode.FULL)] == [S.APPROVE_DESIGN, S.PLAN, S.BLOCKED]
    assert [s for s in S if may_follow(S.REVIEW_STRATEGY, s, Mode.FULL)] == [
        S.REVIEW_STRATEGY,
        S.IMPLEMENT_LOOP,
        S.BLOCKED,
    ]


def test_task_edges() -> None:
    assert TASK_EDGES[TaskStatus.COMPLETED] == ()
    assert TaskStatus.COMPLETED not in TASK_EDGES[TaskStatus.IN_PROGRESS]
    assert all(
        TaskStatus.BLOCKED in edges
        for status, edges in TASK_EDGES.items()
        if status.value not in ("completed", "blocked")
    )


@pytest.mark.parametrize(
    ("state", "mode", "files"),
    [
        ("INTAKE", Mode.FULL, ["status.json"]),
        ("BLOCKED", Mode.FULL, ["status.json"]),
        ("nonsense", Mode.FULL, ["status.json"]),
        ("DESIGN", Mode.FULL, ["status.json", "spec.md", "acceptance.json"]),
        ("PLAN", Mode.FULL, ["status.json", "spec.md", "acceptance.json", "architecture.md"]),
        ("FIX_BUILD", Mode.FULL, ["status.json", "spec.md", "acceptance.json", "architecture.md", "tasks.yaml"]),
        ("FIX_TESTS", Mode.LEAN, ["status.json", "spec.md", "acceptance.json", "tasks.yaml"]),
        ("DONE", Mode.LEAN, ["status.json", "spec.md", "acceptance.json", "tasks.yaml", "report.md"]),
    ],
)
def test_artifacts_by_state(state: str, mode: Mode, files: list[str]) -> None:
    assert list(required_artifacts(state, mode)) == files


def test_asking_ranks_as_the_state_it_returns_to() -> None:
    assert rank("ASK_USER", "PLAN") == rank("PLAN")
    assert rank("ASK_USER", "ASK_USER") is None
    assert rank("ASK_USER") is None
    assert required_artifacts("ASK_USER", Mode.FULL, "IMPLEMENT_LOOP") == required_artifacts(
        "IMPLEMENT_LOOP", Mode.FULL
    )
    pending = samples.decision("UD-2", None, state_context="PLAN")
    status = samples.status("ASK_USER", samples.decision("UD-1", state_context="DESIGN"), pending)
    assert status_model(status).returns_to == "PLAN"
    answered = samples.status("ASK_USER", samples.decision("UD-1", state_context="DESIGN"))
    assert status_model(answered).returns_to == "DESIGN"
    assert status_model(samples.status("ASK_USER")).returns_to is None


@pytest.mark.parametrize(
    ("status", "architecture", "tasks", "option", "mode"),
    [
        (None, False, None, None, Mode.FULL),
        (None, False, 1, None, Mode.FULL),
        (None, False, None, Mode.LEAN, Mode.LEAN),
        (samples.status("INTAKE_LEAN", samples.approved()), True, 5, None, Mode.LEAN),
        (samples.status("INTAKE"), False, 1, None, Mode.FULL),
        (samples.status("IMPLEMENT_LOOP"), False, 1, None, Mode.LEAN),
        (samples.status("IMPLEMENT_LOOP"), False, 2, None, Mode.FULL),
        (samples.status("IMPLEMENT_LOOP"), True, 1, None, Mode.FULL),
        (samples.status("IMPLEMENT_LOOP", samples.strategy()), False, 1, None, Mode.FULL),
        (samples.status("DONE", samples.decision(state_context="DESIGN")), False, 1, None, Mode.FULL),
        (samples.status("DONE", samples.decision(state_context="IMPLEMENT_LOOP")), False, 1, None, Mode.LEAN),
        (samples.status("RELEASE"), False, 1, None, Mode.FULL),
        (samples.status("RELEASE"), False, 1, Mode.LEAN, Mode.LEAN),
    ],
)
def test_mode(status: Any, architecture: bool, tasks: int | None, option: Mode | None, mode: Mode) -> None:
    model = None if status is None else status_model(status)
    assert inferred_mode(model, has_architecture=architecture, task_count=tasks, option=option) is mode


@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ("Per Batch", Strategy.PER_BATCH),
        (" per_batch review ", Strategy.PER_BATCH),
        ("perbatch", Strategy.PER_BATCH),
        ("each batch", Strategy.PER_BATCH),
        ("SINGLE-FINAL", Strategy.SINGLE_FINAL),
        ("final review", Strategy.SINGLE_FINAL),
        ("one final", Strategy.SINGLE_FINAL),
        ("both", None),
        ("", None),
        ("review", None),
    ],
)
def test_strategies(answer: str, meant: Strategy | None) -> None:
    assert machine.normal_strategy(answer) is meant


def test_approvals() -> None:
    assert machine.normal_approval(" LGTM ") == "approved"
    assert machine.normal_approval("approve") == "approved"
    assert machine.normal_approval("approve it") == "approve it"
    assert machine.is_approval("approved, thanks")
    assert not machine.is_change_request("changes-requested")


@given(st.sampled_from(list(Strategy)), st.sampled_from(["", " ", "_"]), st.booleans())
def test_a_strategy_survives_spelling(strategy: Strategy, gap: str, upper: bool) -> None:
    text = strategy.value.replace("-", gap or "-")
    assert machine.normal_strategy(text.upper() if upper else text) is strategy


_ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([s.value for s in S]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(["current_state", "user_decisions", "gate_tracking", "session"]), _ODD))
def test_no_status_is_too_odd(status: dict[str, Any]) -> None:
    model = status_model(status)
    assert model.correction in (None, *CorrectionStatus)
    assert model.strategy is None
    assert not model.is_design_approved
    assert model.decision("UD-APPROVE-DESIGN") is None
    mode = inferred_mode(model, has_architecture=False, task_count=1)
    assert "status.json" in required_artifacts(model.written_state, mode, model.returns_to)


@pytest.mark.parametrize(
    ("tracking", "correction"),
    [
        (..., CorrectionStatus.NONE),
        ("queued", CorrectionStatus.NONE),
        ({}, CorrectionStatus.NONE),
        ({"APPROVE_DESIGN": []}, CorrectionStatus.NONE),
        ({"APPROVE_DESIGN": {"correction_status": None}}, CorrectionStatus.NONE),
        ({"APPROVE_DESIGN": {"correction_status": "queued"}}, CorrectionStatus.QUEUED),
        ({"APPROVE_DESIGN": {"correction_status": "done"}}, None),
        ({"APPROVE_DESIGN": {"correction_status": 3}}, None),
    ],
)
def test_correction(tracking: Any, correction: CorrectionStatus | None) -> None:
    assert status_model(samples.status(gate_tracking=tracking)).correction is correction


def test_an_unknown_state_is_still_a_state() -> None:
    model = status_model(samples.status("nonsense"))
    assert model.current_state is None
    assert model.written_state == "nonsense"


def _task(**members: Any) -> Task:
    (task,) = backlog_model({"tasks": [members]}).tasks
    return task


def test_needs() -> None:
    assert _task(id="T-001").needs_qa
    assert _task(id="T-001", type=None).needs_qa
    assert _task(id="T-001", type="feat").needs_qa
    assert not _task(id="T-001", type="docs").needs_qa
    assert not _task(id="T-001", type="feature").needs_qa
    assert _task(risk_flags=["security"]).needs_security()
    assert _task(id="T-002").needs_security(["T-002"])
    assert not _task(id="T-002", risk_flags=["perf"]).needs_security(["T-001"])
    assert _task(acceptance_checks=["cmd: make", "manual: look", {"cmd": "make"}]).commands == ["cmd: make"]
