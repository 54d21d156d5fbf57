"""Models, schemas and contract packs: valid examples, and a linter that is no more lenient than the schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest
from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from team_probe import lint_text

from tools.models.generate import SCHEMAS
from tools.models.team import examples
from tools.models.team.backlog import Acceptance, ChangeRequest, TaskBacklog
from tools.models.team.exchange import AgentInput, AgentOutput, DispatchPlan, Specialist
from tools.models.team.packs import packs
from tools.models.team.status import SessionStatus
from tools.models.team.trace import RunTrace
from workrail_lint.documents.schema.engine import compile_schema
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.trace_states import at, enter, trace
from workrail_lint.systems.team.state_machine import MESSAGE_PARTS
from workrail_lint.systems.team.trace import EVENTS
from workrail_lint.systems.team.vocabulary import AgentName
from workrail_lint.systems.workrail.catalog.checks import schema_problems
from workrail_lint.systems.workrail.catalog.contracts import plain_schema, validate_artifact

KINDS = SCHEMAS["team"]

MODELS: dict[str, tuple[type[BaseModel], Any, str]] = {
    "team-status": (SessionStatus, examples.STATUS, f".agents-work/{examples.STATUS['session']}/status.json"),
    "team-tasks": (TaskBacklog, examples.BACKLOG, samples.TASKS),
    "team-acceptance": (Acceptance, examples.ACCEPTANCE, samples.ACCEPTANCE),
    "team-history": (ChangeRequest, examples.HISTORY["entries"][0], samples.HISTORY),
    "team-input": (AgentInput, examples.INPUT, "x.input.json"),
    "team-output": (AgentOutput, examples.OUTPUT, "x.output.json"),
    "team-plan": (DispatchPlan, examples.PLAN, "x.plan.json"),
    "team-trace": (RunTrace, {"trace": []}, "x.trace.json"),
}


# The same documents with everything in them that may be there.
_CHANGES = [
    {"path": "a.js", "change_type": "added"},
    {"path": "b.js", "change_type": "renamed", "old_path": "c.js"},
]
_COMMENT = {"severity": "nit", "category": "Logic", "file": "a", "line": "1", "message": "m", "suggested_fix": "f"}
_FINDING = {"severity": "low", "category": "Auth", "file": "a", "description": "d", "recommended_fix": "f"}
_OPTION = {"id": "OPT-1", "label": "a", "pros": ["p"], "cons": [], "effort": "low", "recommended": True}
_GATE, _DESIGN = "APPROVE_DESIGN", "UD-APPROVE-DESIGN"
_SENT = {"agent": "Architect", "task": "meta", "input": "5e4c", "parts": [part.name for part in MESSAGE_PARTS]}
_EVENTS = [
    enter(_GATE),
    at(_GATE, "read_status"),
    at(_GATE, "ask", decisions=[_DESIGN]),
    at(_GATE, "user_reply", decisions=[_DESIGN], cancel=["UD-1"]),
    at(_GATE, "write_error", file="approve-design-history.jsonl", lines=1, by="Orchestrator"),
    at(_GATE, "write", file="status.json", set=[f"{_DESIGN}=answered"], lines=0, by="Orchestrator"),
    at(_GATE, "verify", ok=True),
    at(_GATE, "decision", id=_DESIGN, status="answered", waives=["Security"], task="T-001"),
    at(_GATE, "correction", to="dispatched", agent="Architect"),
    at(_GATE, "dispatch", attempt=1, conventions=True, context=["a.js"], **_SENT),
    at(_GATE, "dispatch_error", agent="Architect", task="meta", attempt=1, reason="no JSON"),
    at(_GATE, "dispatch", attempt=2, conventions=True, context=["a.js"], **_SENT),
    at(_GATE, "reply", agent="Architect", task="meta", status="OK"),
    enter("PLAN"),
    at("PLAN", "retry_count", task="T-001", loop="FIX_TESTS", count=1),
    at("PLAN", "task_status", task="T-001", status="in-progress", by="Coder"),
    at("PLAN", "check_run", check="cmd: npm test", ok=False),
    at("PLAN", "blocker", code="agent_failed"),
    at("PLAN", "end"),
]
FULL: dict[str, Any] = {
    "team-trace": trace(
        *_EVENTS,
        session="2026-03-01_add-login",
        strategy="per-batch",
        resumed=True,
        pending=[_DESIGN],
        required={"T-001": ["Security"]},
    ),
    "team-status": {
        **examples.STATUS,
        "gate_tracking": samples.correction("completed"),
        "runtime_flags": {"copilot_instructions_exists": True, "copilot_checked_at": "2026-03-01T09:00:00Z"},
        "blocker": "agent_failed",
    },
    "team-input": {
        **examples.INPUT,
        "task": {**examples.INPUT["task"], "session_changed_files": _CHANGES},
        "artifact_list": ["a"],
        "research_question": "Which?",
        "lean": False,
    },
    "team-output": {
        **examples.OUTPUT,
        "artifacts": {
            **examples.OUTPUT["artifacts"],
            "review_comments": ["x", _COMMENT],
            "findings": ["x", _FINDING],
            "options": [_OPTION],
            "test_results": {"passed": 1, "failed": 0, "skipped": 0, "output": "ok"},
            "confidence": "high",
            "design_spec_inline": "x",
            "design_spec_file": None,
        },
    },
    "team-plan": {**examples.PLAN, "blockers": ["x", {"blocker": "agent_failed", "detail": "d"}]},
}


def test_every_kind_has_a_schema() -> None:
    assert KINDS.keys() - {"team-scenario"} == MODELS.keys() <= {kind.value for kind in TeamKind}


@pytest.mark.parametrize("kind", MODELS)
def test_examples_are_valid_everywhere(kind: str) -> None:
    model, example, path = MODELS[kind]
    for document in (example, FULL.get(kind, example)):
        model.model_validate(document)
        assert compile_schema(KINDS[kind]()).violations(document) == []
        assert lint_text(json.dumps(document) + "\n", path) == []


def test_the_full_trace_has_every_event() -> None:
    assert {event["event"] for event in _EVENTS} == set(EVENTS)


@pytest.mark.parametrize("entry", packs(), ids=lambda entry: entry["id"])
def test_packs_are_entries_of_a_catalog(entry: dict[str, Any]) -> None:
    assert list(entry) == ["id", "artifactKind", "title", "summary", "phase", "runtimeValidated", "schema", "example"]
    assert entry["id"] == f"team.contracts.{entry['artifactKind'].removeprefix('team.')}"
    assert list(schema_problems(entry["schema"])) == []
    assert validate_artifact(entry["schema"], entry["example"]) == []
    assert entry["example"]["kind"] == entry["artifactKind"]
    without_kind = {name: value for name, value in entry["example"].items() if name != "kind"}
    assert validate_artifact(entry["schema"], without_kind) != []
    assert validate_artifact(entry["schema"], {"kind": entry["artifactKind"]}) != []
    import jsonschema

    jsonschema.Draft7Validator.check_schema(plain_schema(entry["schema"]))


def test_there_is_a_pack_for_every_kind_of_document() -> None:
    assert [entry["id"].rpartition(".")[2] for entry in packs()] == [
        "acceptance",
        "agent_input",
        "agent_output",
        "approval_history",
        "architecture_document",
        "dispatch_plan",
        "report_document",
        "session",
        "session_status",
        "side_document",
        "spec_document",
        "task_backlog",
    ]


def test_decisions_are_judged_by_their_status() -> None:
    pack = next(entry for entry in packs() if entry["id"].endswith("session_status"))
    decision = examples.STATUS["user_decisions"][0]
    for change, fits in (
        ({"status": "pending"}, False),
        ({"status": "pending", "answer": None, "resolved_at": None}, True),
        ({"status": "cancelled"}, False),
        ({"status": "cancelled", "resolution_reason": "out of scope"}, True),
        ({"status": "open"}, False),
    ):
        status = {**examples.STATUS, "kind": "team.session_status", "user_decisions": [{**decision, **change}]}
        assert (validate_artifact(pack["schema"], status) == []) is fits, change


def test_gate_answers_have_a_form() -> None:
    validator = compile_schema(KINDS["team-status"]())
    for index, answer in ((0, "fine by me"), (1, "Per Batch")):
        status = json.loads(json.dumps(examples.STATUS))
        status["user_decisions"][index]["answer"] = answer
        assert validator.violations(status)
        with pytest.raises(ValidationError):
            SessionStatus.model_validate(status)
    with pytest.raises(ValidationError):
        SessionStatus.model_validate({**examples.STATUS, "completed_tasks": []})
    assert validator.violations({**examples.STATUS, "completed_tasks": []})


def test_the_orchestrator_dispatches_everybody_but_itself() -> None:
    assert {agent.value for agent in AgentName} - {agent.value for agent in Specialist} == {"Orchestrator"}
    validator = compile_schema(KINDS["team-plan"]())
    assert not validator.violations(samples.dispatch_plan("PLAN", "Planner"))
    assert validator.violations(samples.dispatch_plan("PLAN", "Orchestrator"))


def changed(value: Any, steps: list[int], how: str, new: Any) -> Any:
    """The value with one member or element removed or replaced."""
    if not isinstance(value, dict | list) or not value:
        return new if how == "replace" else value
    keys: list[Any] = sorted(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[steps[0] % len(keys)]
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    if len(steps) > 1:
        copy[key] = changed(value[key], steps[1:], how, new)
    elif how == "remove":
        del copy[key]
    else:
        copy[key] = new
    return copy


_NEW = st.sampled_from([None, "", "x", 0, 7, True, [], {}, ["x"], {"a": 1}, "T-001", "PLAN", "2026-13-01T00:00:00Z"])


@settings(max_examples=times(25, deep=1_000), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.sampled_from(sorted(MODELS)),
    st.lists(st.integers(0, 40), min_size=1, max_size=5),
    st.sampled_from(["remove", "replace"]),
    _NEW,
)
def test_model_and_schema_agree_and_the_linter_sees_what_they_refuse(
    kind: str, steps: list[int], how: str, new: Any
) -> None:
    model, example, path = MODELS[kind]
    value = changed(FULL.get(kind, example), steps, how, new)
    broken = compile_schema(KINDS[kind]()).violations(value)
    try:
        model.model_validate(value)
        refused = False
    except ValidationError:
        refused = True
    assert refused == bool(broken), (broken, value)
    if refused and kind != "team-trace":  # no rule asks for the form of a trace, only for what the run did
        assert lint_text(json.dumps(value) + "\n", path), (broken, value)
