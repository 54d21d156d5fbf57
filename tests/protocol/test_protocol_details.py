"""Behaviour that other engines get wrong, known vectors seen through the tools, and what people add from outside."""

from __future__ import annotations

import json
from typing import Any

import pytest
from protocol_bench import Bench, compiled, quiet, step, workflow

from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.blockers import Blocker, BlockerReport, ContextBudgetPointer
from pytest_workrail.engine.model.events import (
    AdvanceRecorded,
    AdvanceRecordedData,
    ArtifactPayload,
    AssessmentConsequenceApplied,
    AssessmentRecorded,
    AttemptDetail,
    AttemptProvenance,
    BlockedOutcome,
    CapabilityObserved,
    CapabilityObservedData,
    DivergenceData,
    DivergenceRecorded,
    NodeCreated,
    NodeOutputAppended,
    NotesPayload,
    RunCompleted,
)
from pytest_workrail.engine.protocol.errors import ToolError


def newest(bench: Bench) -> str:
    return f"CT{bench._counts['CT']}"


def refs(bench: Bench) -> list[str]:
    return [event.data.snapshot_ref for event in bench.events if isinstance(event, NodeCreated)]


def test_known_snapshots_and_artifacts() -> None:
    """@enforces snapshot-content-addressed
    @enforces jcs-rfc-8785
    """
    gather = step("gather", "Gather", "Gather facts.")
    bench = Bench(workflow("demo-linear", gather, step("report", "Report", "Write the report.")))
    bench.start()
    assert refs(bench) == ["sha256:b62380a227c09414f5f9b6004bf4f0a51274e747053d55406f794815aea8659b"]
    bench.go("CT1", notes="n", artifacts=[{"x": 1}])
    bench.go("CT2", notes="n")
    assert refs(bench)[-1] == "sha256:e5839a07041b0c9b886ee2eec70b0f44a8c279b8458d7ee8b0e9b3eb97b0532a"
    (artifact,) = (
        event.data.payload
        for event in bench.events
        if isinstance(event, NodeOutputAppended) and isinstance(event.data.payload, ArtifactPayload)
    )
    assert (artifact.sha256, artifact.byte_length) == (
        "sha256:5041bf1f713df204784353e82f6a4a535931cb64f1f4b4a5aeaffcb720918b22",
        7,
    )
    two = Bench(workflow("two-steps", quiet("step-one"), quiet("step-two")))
    two.start()
    two.advance("CT1")
    assert refs(two)[-1] == "sha256:ebff5b690b2e156a64f782189d76bc624cbccf5d0791bfba6587ea6878987c08"


def test_generated_steps_run_like_any_other() -> None:
    """@enforces ir-virtual-steps-are-steps"""
    bench = Bench(
        workflow(
            "virtual",
            quiet("build", verification={"command": "make test"}, audit={"rubric": ["Is it small?"]}),
            quiet("ship"),
        )
    )
    seen = [bench.start()["pending"]]
    seen += [bench.advance(newest(bench))["pending"] for _ in range(3)]
    assert [(each["stepId"], each["title"]) for each in seen] == [
        ("build", "Build"),
        ("build__verification", "Verify: Build"),
        ("build__audit", "Audit: Build"),
        ("ship", "Ship"),
    ]
    assert "```bash\nmake test\n```" in seen[1]["prompt"]
    assert "- Is it small?" in seen[2]["prompt"]


def scrambled(value: Any) -> Any:
    """The same document with the members of every object in reverse order."""
    if isinstance(value, dict):
        return {name: scrambled(member) for name, member in reversed(value.items())}
    return [scrambled(item) for item in value] if isinstance(value, list) else value


def test_the_order_of_members_does_not_show() -> None:
    """@enforces ir-renders-alike-after-reading-back
    @enforces workflow-hash-jcs-sha256
    """
    ir = compiled(
        workflow(
            "ordered",
            quiet("judge", outputContract={"contractRef": "wr.contracts.review_verdict"}),
            quiet("rest"),
        )
    )
    told = []
    for each in (ir, scrambled(ir)):
        bench = Bench(each)
        bench.start()
        first = bench.reply
        bench.advance("CT1")
        told.append((first, bench.reply, [event.to_wire() for event in bench.events]))
    assert told[0] == told[1]


def test_every_branch_can_end() -> None:
    bench = Bench(
        workflow("branches", step("one", "One", "One."), recommendedPreferences={"recommendedAutonomy": "guided"})
    )
    bench.start(preferences={"autonomy": "full_auto_never_stop"})
    for notes in ("first", "second"):
        bench.look("CT1")
        assert bench.go(newest(bench), notes=notes)["isComplete"] is True
    completed = [event for event in bench.events if isinstance(event, RunCompleted)]
    assert len({event.dedupe_key for event in completed}) == 2
    # Each advance from the node has a warning of its own.
    assert len({gap["gapId"] for gap in bench.gaps()}) == 2
    run = bench.engine.session(bench.session_id).value.runs[bench.run_id]
    assert len(run.tips) == 2


def test_a_replay_is_rendered_from_the_log_as_it_was() -> None:
    bench = Bench(workflow("was", step("one", "One", "One."), step("two", "Two", "Now {{mood}}."), quiet("three")))
    bench.start()
    first = bench.go("CT1", notes="n", context={"mood": "calm"})
    bench.go("CT2", notes="m", context={"mood": "wild"})
    bench.prefer("CT2", "full_auto_never_stop")
    assert bench.go("CT1", notes="other", context={"mood": "odd"}) == first
    assert first["pending"]["prompt"].startswith("Now calm.")
    # A look, in contrast, shows how things are now.
    assert bench.look("CT2")["pending"]["prompt"].startswith("Now wild.")


LEVELS = [{"id": "sure", "purpose": "How sure", "levels": ["low", "high"]}]


def test_several_assessments_and_consequences_of_one_advance() -> None:
    followup = {"effect": {"kind": "require_followup", "guidance": "Again."}}
    bench = Bench(
        workflow(
            "assessing",
            quiet(
                "rate",
                assessmentRefs=["code", "docs"],
                assessmentConsequences=[
                    followup | {"when": {"anyEqualsLevel": "low"}},
                    followup | {"when": {"anyEqualsLevel": "low", "forAssessment": "code"}},
                ],
            ),
            quiet("rest"),
            assessments=[{"id": name, "purpose": "p", "dimensions": LEVELS} for name in ("code", "docs")],
        )
    )
    bench.start()
    artifacts = [
        {"kind": "wr.assessment", "assessmentId": name, "dimensions": {"sure": "low"}} for name in ("docs", "code")
    ]
    blocked = bench.go("CT1", artifacts=artifacts)
    assert [blocker["code"] for blocker in blocked["blockers"]["blockers"]] == ["ASSESSMENT_FOLLOWUP_REQUIRED"] * 2
    recorded = [event for event in bench.events if isinstance(event, AssessmentRecorded)]
    assert [event.data.assessment_id for event in recorded] == ["code", "docs"]
    assert [event.data.artifact_output_id[-2:] for event in recorded] == ["_1", "_0"]
    applied = [event.dedupe_key for event in bench.events if isinstance(event, AssessmentConsequenceApplied)]
    assert applied[1] == applied[0] + ":2"


def test_notes_are_cut_on_a_character() -> None:
    """@enforces notes-markdown-budget
    @enforces truncation-marker-format
    """
    bench = Bench(workflow("long", step("one", "One", "One."), quiet("two")))
    bench.start()
    bench.go("CT1", notes="a" + "é" * 2048)
    (notes,) = (
        event.data.payload.notes_markdown
        for event in bench.events
        if isinstance(event, NodeOutputAppended) and isinstance(event.data.payload, NotesPayload)
    )
    assert notes == "a" + "é" * 2041 + "\n\n[TRUNCATED]"
    assert bench.look("CT1")["kind"] == "ok"


@pytest.mark.parametrize(("notes", "stored"), [("", 0), ("  ", 1), (None, 0)])
def test_notes_that_nobody_asked_for(notes: str | None, stored: int) -> None:
    bench = Bench(workflow("optional", quiet("one"), quiet("two")))
    bench.start()
    assert bench.advance("CT1", **({} if notes is None else {"notes": notes}))["kind"] == "ok"
    assert sum(isinstance(event, NodeOutputAppended) for event in bench.events) == stored


def test_whitespace_is_no_note_where_one_is_due() -> None:
    bench = Bench(workflow("due", step("one", "One", "One."), quiet("two")))
    bench.start()
    assert bench.go("CT1", notes=" \n\ufeff")["kind"] == "blocked"


def test_artifacts_are_stored_by_content() -> None:
    """@enforces output-ordering-deterministic"""
    logs = []
    for order in ([0, 1, 2], [2, 0, 1]):
        bench = Bench(workflow("order", step("one", "One", "One."), quiet("two")))
        bench.start()
        artifacts = [{"n": number} for number in range(3)]
        bench.go("CT1", notes="n", artifacts=[artifacts[at] for at in order])
        outputs = [event.data for event in bench.events if isinstance(event, NodeOutputAppended)]
        logs.append([getattr(output.payload, "sha256", "recap") for output in outputs])
        assert outputs[0].output_channel == "recap"
    assert logs[0] == logs[1]
    assert logs[0][1:] == sorted(logs[0][1:])


def test_an_answer_in_the_old_form_is_not_taken_up() -> None:
    """@enforces replay-fail-closed"""
    bench = Bench(workflow("old", quiet("one"), quiet("two")))
    bench.start()
    grant = bench.home.issuer.resolve_continue(bench.actual("CT1")).value
    pointer = ContextBudgetPointer()
    blocker = Blocker(code="INVARIANT_VIOLATION", pointer=pointer, message="m", suggested_fix="f")
    outcome = BlockedOutcome(blockers=BlockerReport(blockers=(blocker,)))
    writer = bench.engine._writer

    def append(permit: Any, session: Any) -> Any:
        builder = writer.builder(session, bench.run_id)
        key = keys.advance_recorded(bench.session_id, grant.place.node_id, grant.attempt_id)
        data = AdvanceRecordedData(attempt_id=grant.attempt_id, outcome=outcome)
        builder.write(AdvanceRecorded, key, data, grant.place.node_id)
        return writer.append(permit, builder.plan())

    assert writer.write(bench.session_id, append).is_ok
    assert bench.advance("CT1")["code"] == "INTERNAL_ERROR"


BROWSING = workflow("browsing", quiet("work"), capabilities={"web_browsing": "required"})
CLAIM = {
    "kind": "wr.capability_observation",
    "capability": "web_browsing",
    "status": "available",
    "provenance": {"kind": "manual_claim", "claimedBy": "user"},
}


def test_a_host_can_report_on_a_capability() -> None:
    bench = Bench(BROWSING, profile="locked")
    bench.start()
    place = bench.engine.place_of(bench.actual("CT1")).value
    probe = AttemptProvenance(detail=AttemptDetail(attempt_context="system_probe", result="success"))
    seen = CapabilityObservedData(
        cap_obs_id="capobs_host", capability="web_browsing", status="available", provenance=probe
    )
    assert bench.engine.observe(place, seen).is_ok
    assert sum(isinstance(event, CapabilityObserved) for event in bench.events) == 1
    # The agent's own claim is weak, but the host has tried.
    assert bench.go("CT1", artifacts=[CLAIM])["pending"]["stepId"] == "work"


def test_a_host_can_report_a_divergence() -> None:
    bench = Bench(BROWSING)
    bench.start()
    place = bench.engine.place_of(bench.actual("CT1")).value
    report = DivergenceData(divergence_id="div_host", reason="policy_constraint", summary="No network here.")
    assert bench.engine.diverge(place, report).is_ok
    assert bench.engine.diverge(place, report).is_ok
    assert sum(isinstance(event, DivergenceRecorded) for event in bench.events) == 1


def test_people_speak_about_nodes_that_exist() -> None:
    one, other = Bench(BROWSING, seed="one"), Bench(BROWSING, seed="other")
    one.start()
    other.start()
    foreign = other.engine.place_of(other.actual("CT1")).value
    report = DivergenceData(divergence_id="div_host", reason="policy_constraint", summary="s")
    refused = one.engine.diverge(foreign, report)
    assert isinstance(refused.error, ToolError)
    assert refused.error.code == "TOKEN_UNKNOWN_NODE"
    assert one.engine.place_of("nonsense").error.code == "TOKEN_INVALID_FORMAT"


def test_preferences_follow_the_path() -> None:
    """@enforces preferences-node-attached"""
    bench = Bench(workflow("path", quiet("one"), quiet("two"), quiet("three")))
    bench.start()
    bench.advance("CT1")
    bench.prefer("CT2", "full_auto_never_stop", "balanced")
    assert bench.advance("CT2")["preferences"]["autonomy"] == "full_auto_never_stop"
    # Back at the root, and on a branch from there, the old ones hold.
    assert bench.look("CT1")["preferences"]["autonomy"] == "guided"
    assert bench.advance(newest(bench))["preferences"]["autonomy"] == "guided"
    bench.prefer("CT2", "guided")
    bench.prefer("CT2", "full_auto_stop_on_user_deps")
    assert bench.look("CT2")["preferences"]["autonomy"] == "full_auto_stop_on_user_deps"


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (b"{", "BUNDLE_INVALID_FORMAT"),
        (b'{"bundleSchemaVersion":2}', "BUNDLE_UNSUPPORTED_VERSION"),
        (b"[]", "BUNDLE_INVALID_FORMAT"),
    ],
)
def test_a_bundle_that_is_none(document: bytes, code: str) -> None:
    """@enforces bundle-errors-closed-set"""
    bench = Bench(BROWSING)
    refused = bench.engine.import_session(document).error.to_json()
    assert (refused["code"], refused["retry"]) == (code, {"kind": "not_retryable"})
    assert bench.home.stores.sessions.list_sessions().value == ()


def test_a_bundle_that_was_changed_on_the_way() -> None:
    """@enforces bundle-import-validates-first"""
    bench = Bench(BROWSING)
    bench.start()
    text = json.dumps(bench.engine.export_session(bench.session_id).value).replace('"demo"', '"demon"', 1)
    refused: Any = bench.engine.import_session(text.encode()).error.to_json()
    assert refused["code"] == "BUNDLE_INTEGRITY_FAILED"
    assert refused["details"]["details"] == {"path": "session/events"}
    assert len(bench.home.stores.sessions.list_sessions().value) == 1


def test_exporting_a_session_that_is_not_there() -> None:
    bench = Bench(BROWSING)
    bench.start()
    other = type(bench.session_id)("sess_" + "a" * 26)
    assert bench.engine.export_session(other).error.code == "BUNDLE_BUILD_EMPTY_EVENTS"
    assert bench.engine.status(other, bench.run_id).error.code == "TOKEN_UNKNOWN_NODE"


def test_the_same_calls_give_the_same_bytes() -> None:
    """@enforces determinism"""

    def transcript() -> list[str]:
        bench = Bench(BROWSING, profile="locked", seed="again")
        told = []
        for call in (
            lambda: bench.start(),
            lambda: bench.go("CT1", artifacts=[CLAIM]),
            lambda: bench.look("CT1"),
            lambda: bench.checkpoint("CK1"),
        ):
            call()
            assert bench.reply is not None
            told.append(json.dumps(bench.reply.to_json()) + "".join(bench.reply.text))
        return told + [json.dumps(event.to_wire()) for event in bench.events]

    assert transcript() == transcript()
