"""Every choice on which the two profiles part, on both sides: the same calls, two outcomes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs
from protocol_bench import Bench, quiet, step, workflow

from pytest_workrail.agents.agent import answer_kind
from pytest_workrail.engine.core.profiles import LOCKED, REFERENCE, Profile
from pytest_workrail.engine.model.events import CapabilityObserved, DivergenceRecorded

LOOP_CONTROL = "wr.contracts.loop_control"
DECISION = {"kind": "wr.loop_control", "decision": "continue"}
NEVER_STOP = {"autonomy": "full_auto_never_stop"}
STOP_ON_DEPENDENCIES = {"autonomy": "full_auto_stop_on_user_deps"}


def on_both(authored: dict[str, Any], **start: Any) -> tuple[Bench, Bench]:
    """The workflow started under either profile."""
    benches = Bench(authored), Bench(authored, profile="locked")
    for bench in benches:
        assert "code" not in bench.start(**start)
    return benches


def loop(*body: dict[str, Any], limit: int = 5, **source: Any) -> dict[str, Any]:
    kind = source.pop("kind", "while")
    return {
        "id": "again",
        "type": "loop",
        "title": "Again",
        "loop": {"type": kind, "maxIterations": limit, **source},
        "body": list(body),
    }


def by_artifact() -> dict[str, Any]:
    return {"conditionSource": {"kind": "artifact_contract", "contractRef": LOOP_CONTROL, "loopId": "again"}}


def last(bench: Bench) -> str:
    """The newest continue token."""
    return f"CT{bench._counts['CT']}"


def codes(answer: dict[str, Any]) -> list[str]:
    return [blocker["code"] for blocker in answer["blockers"]["blockers"]]


def summaries(bench: Bench) -> list[str]:
    return [gap["summary"] for gap in bench.gaps()]


def test_loop_limit() -> None:
    """@enforces profile-loop-limit"""
    counted = workflow("limit", loop(quiet("round"), limit=1, kind="for", count=2), quiet("ship"))
    reference, locked = on_both(counted)
    assert reference.advance("CT1")["pending"]["stepId"] == "ship"
    blocked = locked.advance("CT1")
    assert codes(blocked) == ["INVARIANT_VIOLATION"]
    assert blocked["blockers"]["blockers"][0]["details"] == {"loopId": "again", "iteration": 1, "maxIterations": 1}

    reference, locked = on_both(counted, preferences=NEVER_STOP)
    assert reference.advance("CT1")["pending"]["stepId"] == locked.advance("CT1")["pending"]["stepId"] == "ship"
    assert summaries(reference) == []
    assert summaries(locked) == ["Loop limit reached: again (iteration=1, maxIterations=1)"]


@pytest.mark.parametrize(
    ("artifacts", "code", "gap"),
    [
        ([], "MISSING_REQUIRED_OUTPUT", f"Missing required output for contractRef={LOOP_CONTROL}"),
        (
            [{"kind": "wr.loop_control", "decision": "perhaps", "loopId": "again"}],
            "INVALID_REQUIRED_OUTPUT",
            f"Invalid required output for contractRef={LOOP_CONTROL}",
        ),
    ],
)
def test_loop_decision(artifacts: list[Any], code: str, gap: str) -> None:
    """@enforces profile-loop-decision"""
    # The decision step is left out, so that there is no decision, and no gate either.
    decide = quiet("decide", runCondition={"var": "never"}, outputContract={"contractRef": LOOP_CONTROL})
    authored = workflow("decision", loop(quiet("round"), decide, **by_artifact()), quiet("ship"))
    reference, locked = on_both(authored)
    assert reference.advance("CT1", artifacts=artifacts)["pending"]["stepId"] == "round"
    assert codes(locked.advance("CT1", artifacts=artifacts)) == [code]

    reference, locked = on_both(authored, preferences=NEVER_STOP)
    assert reference.advance("CT1", artifacts=artifacts)["pending"]["stepId"] == "round"
    # Treated as if it had said stop, and on record.
    assert locked.advance("CT1", artifacts=artifacts)["pending"]["stepId"] == "ship"
    assert (summaries(reference), summaries(locked)) == ([], [gap])


def test_a_decision_that_the_contract_already_missed_is_one_gap() -> None:
    decide = quiet("round", outputContract={"contractRef": LOOP_CONTROL})
    _, locked = on_both(workflow("once", loop(decide, **by_artifact()), quiet("ship")), preferences=NEVER_STOP)
    assert locked.advance("CT1")["pending"]["stepId"] == "ship"
    assert summaries(locked) == [f"Missing required output for contractRef={LOOP_CONTROL}"]


def test_loop_id() -> None:
    """@enforces profile-loop-id"""
    decide = quiet("round", outputContract={"contractRef": LOOP_CONTROL})
    authored = workflow("loop-id", loop(decide, **by_artifact()), quiet("ship"))
    foreign = DECISION | {"decision": "stop", "loopId": "another"}
    reference, locked = on_both(authored)
    assert reference.go("CT1", artifacts=[foreign])["pending"]["stepId"] == "ship"
    refused = locked.go("CT1", artifacts=[foreign])
    assert refused["validation"]["issues"] == ['loopId: Invalid literal value, expected "again"']
    shown = [bench.start()["pending"] and bench.reply for bench in on_both(authored)]
    prompts = [reply.response.progress.pending.prompt for reply in shown]  # type: ignore[union-attr]
    assert ["again" in prompt.partition("**OUTPUT REQUIREMENTS (System):**")[2] for prompt in prompts] == [False, True]


def test_context_after_a_rewind() -> None:
    """@enforces profile-rewind-context"""
    authored = workflow(
        "rewind", quiet("one"), step("two", "Two", "Mode {{mode}}.", notesOptional=True), quiet("three")
    )
    shown = []
    for bench in on_both(authored, initialContext={"mode": "early"}):
        bench.advance("CT1", context={"mode": "late"})
        bench.look("CT1")
        # From the first node the second branch goes on; whose context does it see?
        shown.append(bench.advance(last(bench))["pending"]["prompt"])
    assert shown == ["Mode late.", "Mode early."]


def test_autonomy_of_a_branch_follows_its_context() -> None:
    authored = workflow("gated", quiet("one"), quiet("two", requireConfirmation=True), quiet("three"))
    kinds = []
    for bench in on_both(authored):
        bench.advance("CT1", context={"is_autonomous": "true"})
        bench.look("CT1")
        bench.advance(last(bench))
        kinds.append(bench.advance(last(bench))["kind"])
    assert kinds == ["gate_checkpoint", "step"]


def notes_of(bench: Bench) -> str:
    return str(bench.look(last(bench))["pending"]["prompt"]).partition("### Ancestry Recap\n")[2]


def test_recap_order() -> None:
    """@enforces profile-recap"""
    steps = [step(f"s-{number}", f"S{number}", "Do.") for number in range(4)]
    recaps = []
    for bench in on_both(workflow("recap", *steps)):
        for number in range(3):
            bench.go(last(bench), notes=f"note {number}")
        recaps.append(notes_of(bench))
    steps_so_far = "**S2** (`s-2`)\nDo.\n\n**S1** (`s-1`)\nDo.\n\n**S0** (`s-0`)\nDo."
    assert recaps == [
        "note 0\n\nnote 1\n\nnote 2",
        f"note 2\n\nnote 1\n\nnote 0\n\n### Instructions So Far\n{steps_so_far}",
    ]


def test_recap_budget() -> None:
    steps = [step(f"s-{number}", f"S{number}", "Do.") for number in range(9)]
    texts = []
    for bench in on_both(workflow("recap", *steps)):
        for number in range(8):
            bench.go(last(bench), notes=f"note {number} " + "x" * 3990)
        prompt = str(bench.look(last(bench))["pending"]["prompt"])
        texts.append(prompt[prompt.index("## Recovery Context") :])
    reference, locked = texts
    assert len(reference.encode()) <= 24576
    assert len(locked.encode()) <= 12288
    assert ("note 0 " in reference, "note 7 " in reference) == (True, False)
    assert ("note 0 " in locked, "note 7 " in locked) == (False, True)
    assert reference.endswith("Omitted recovery content due to budget constraints.")
    assert locked.endswith("Omitted 5 older recap entries due to budget constraints; the newest are kept.")


BROWSING = workflow("browsing", quiet("work"), capabilities={"web_browsing": "required"})
CLAIM = {
    "kind": "wr.capability_observation",
    "capability": "web_browsing",
    "status": "available",
    "provenance": {"kind": "manual_claim", "claimedBy": "user"},
}


def test_capabilities() -> None:
    """@enforces profile-capabilities"""
    reference, locked = on_both(BROWSING)
    assert reference.go("CT1", artifacts=[CLAIM])["pending"]["stepId"] == "work"
    assert codes(locked.go("CT1", artifacts=[CLAIM])) == ["REQUIRED_CAPABILITY_UNKNOWN"]
    for bench in (reference, locked):
        assert sum(isinstance(event, CapabilityObserved) for event in bench.events) == 1

    reference, locked = on_both(BROWSING, preferences=NEVER_STOP)
    for bench in (reference, locked):
        assert bench.go("CT1", artifacts=[CLAIM])["pending"]["stepId"] == "work"
    assert summaries(reference) == []
    assert summaries(locked) == ["Required capability status unknown: web_browsing"]


def test_an_odd_observation_is_a_warning() -> None:
    odd = CLAIM | {"status": "perhaps"}
    reference, locked = on_both(workflow("odd", quiet("one"), quiet("two")))
    for bench in (reference, locked):
        assert bench.go("CT1", artifacts=[odd])["pending"]["stepId"] == "two"
    summary = "Invalid required output for contractRef=wr.contracts.capability_observation"
    assert (summaries(reference), summaries(locked)) == ([], [summary])


def test_an_odd_observation_that_the_step_asked_for_is_not_reported_twice() -> None:
    profile = structs.replace(LOCKED, repeated_gaps="record")
    bench = Bench(BROWSING, profile=profile)
    bench.start(preferences=NEVER_STOP)
    bench.go("CT1", artifacts=[CLAIM | {"status": "perhaps"}])
    assert [(gap["severity"], gap["summary"]) for gap in bench.gaps()] == [
        ("critical", "Invalid required output for contractRef=wr.contracts.capability_observation"),
        ("critical", "Required capability status unknown: web_browsing"),
    ]


@pytest.mark.parametrize(("downgrade", "kind"), [("by_risk_policy", "step"), ("never", "blocked")])
def test_risk_policy_and_capability_reasons(downgrade: str, kind: str) -> None:
    """@enforces risk-policy-guardrails
    @enforces profile-capability-downgrade
    """
    profile = structs.replace(LOCKED, capability_downgrade=downgrade)
    bench = Bench(BROWSING, profile=profile)
    bench.start(preferences={"riskPolicy": "aggressive"})
    assert bench.go("CT1", artifacts=[CLAIM])["kind"] == kind
    assert [gap["severity"] for gap in bench.gaps()] == (["warning"] if kind == "step" else [])


@pytest.mark.parametrize(
    ("preferences", "reference_intent", "locked_intent", "locked_kind", "gaps"),
    [
        ({}, "await_user_confirmation", "await_user_confirmation", "step", 0),
        (STOP_ON_DEPENDENCIES, "await_user_confirmation", "await_user_confirmation", "blocked", 0),
        (NEVER_STOP, "await_user_confirmation", "perform_pending_then_continue", "step", 1),
    ],
)
def test_confirmation_by_a_person(
    preferences: Any, reference_intent: str, locked_intent: str, locked_kind: str, gaps: int
) -> None:
    """@enforces profile-confirmation"""
    authored = workflow("confirm", quiet("risky", requireConfirmation=True), quiet("rest"))
    reference, locked = Bench(authored), Bench(authored, profile="locked")
    assert reference.start(preferences=preferences)["nextIntent"] == reference_intent
    assert locked.start(preferences=preferences)["nextIntent"] == locked_intent
    assert reference.advance("CT1")["kind"] == "ok"
    answer = locked.advance("CT1")
    assert answer["kind"] == locked_kind
    if locked_kind == "blocked":
        assert codes(answer) == ["USER_ONLY_DEPENDENCY"]
    assert (len(reference.gaps()), len(locked.gaps())) == (0, gaps)


@pytest.mark.parametrize("preferences", [{}, STOP_ON_DEPENDENCIES, NEVER_STOP])
def test_a_coordinator_is_not_a_person(preferences: Any) -> None:
    authored = workflow("confirm", quiet("risky", requireConfirmation={"kind": "coordinator_eval"}), quiet("rest"))
    for bench in on_both(authored, preferences=preferences, initialContext={"is_autonomous": "true"}):
        assert bench.advance("CT1")["kind"] == "gate_checkpoint"


@pytest.mark.parametrize(
    ("preferences", "locked_kind"),
    [({}, "gate_checkpoint"), (STOP_ON_DEPENDENCIES, "blocked"), (NEVER_STOP, "step")],
)
def test_a_person_at_the_gate_of_an_autonomous_run(preferences: Any, locked_kind: str) -> None:
    authored = workflow("confirm", quiet("risky", requireConfirmation={"kind": "human_approval"}), quiet("rest"))
    reference, locked = on_both(authored, preferences=preferences, initialContext={"is_autonomous": "true"})
    assert reference.advance("CT1")["kind"] == "gate_checkpoint"
    assert locked.advance("CT1")["kind"] == locked_kind


def test_divergence() -> None:
    """@enforces profile-divergence"""
    report = {"kind": "wr.workflow_divergence", "reason": "safety_stop", "summary": "Too hot."}
    recorded = []
    for bench in on_both(workflow("diverge", quiet("one"), quiet("two"))):
        assert bench.go("CT1", artifacts=[report])["pending"]["stepId"] == "two"
        recorded.append(sum(isinstance(event, DivergenceRecorded) for event in bench.events))
        assert "node_output_appended" in bench.log()
    assert recorded == [0, 1]


def test_repeated_gaps() -> None:
    """@enforces profile-repeated-gaps"""
    consequence = {"effect": {"kind": "require_followup", "guidance": "Look again."}}
    authored = workflow(
        "twice",
        quiet(
            "assess",
            assessmentRefs=["ready"],
            assessmentConsequences=[
                consequence | {"when": {"anyEqualsLevel": "low"}},
                consequence | {"when": {"anyEqualsLevel": "low", "forAssessment": "ready"}},
            ],
        ),
        assessments=[
            {
                "id": "ready",
                "purpose": "Ready?",
                "dimensions": [{"id": "sure", "purpose": "How sure", "levels": ["low", "high"]}],
            }
        ],
    )
    reference, locked = on_both(authored, preferences=NEVER_STOP)
    for bench in (reference, locked):
        bench.go("CT1", artifacts=[{"kind": "wr.assessment", "dimensions": {"sure": "low"}}])
    summary = "Assessment follow-up required: ready.sure == low"
    assert (summaries(reference), summaries(locked)) == ([summary] * 2, [summary])


def test_the_profiles_part_in_every_choice_but_the_downgrade() -> None:
    same = [
        field.name for field in structs.fields(Profile) if getattr(REFERENCE, field.name) == getattr(LOCKED, field.name)
    ]
    assert same == ["capability_downgrade"]


def test_a_session_may_go_on_under_the_other_profile() -> None:
    """What is recorded stays a fact: the profile is the engine's, not the session's.

    @enforces profile-not-in-the-log
    """
    authored = workflow("switch", loop(quiet("round"), limit=1, kind="for", count=2), quiet("ship"))
    locked = Bench(authored, profile="locked")
    locked.start()
    token = locked.actual("CT1")
    blocked = locked.engine.continue_workflow({"continueToken": token, "intent": "advance"}).value.to_json()
    reference = Bench(authored, home=locked.home)
    replayed = reference.engine.continue_workflow({"continueToken": token, "intent": "advance"}).value.to_json()
    assert (replayed["pending"], replayed["blockers"]) == (blocked["pending"], blocked["blockers"])
    retried = reference.engine.continue_workflow(
        {"continueToken": blocked["retryContinueToken"], "intent": "advance"}
    ).value.to_json()
    assert retried["pending"]["stepId"] == "ship"  # type: ignore[index, call-overload]


@pytest.mark.parametrize("profile", ["reference", "locked"])
def test_a_run_that_never_stops_is_never_blocked(profile: str) -> None:
    """@enforces profile-never-stop-never-blocks"""
    demanding = workflow(
        "demanding",
        loop(step("round", "Round", "Go.", outputContract={"contractRef": LOOP_CONTROL}), limit=2, **by_artifact()),
        step("judge", "Judge", "Judge.", outputContract={"contractRef": "wr.contracts.gate_verdict"}),
        step("say", "Say", "Say.", validationCriteria=[{"type": "contains", "value": "x", "message": "m"}]),
        quiet("rate", assessmentRefs=["ready"]),
        quiet("ask", requireConfirmation=True),
        capabilities={"delegation": "required"},
        assessments=[
            {
                "id": "ready",
                "purpose": "Ready?",
                "dimensions": [{"id": "sure", "purpose": "How sure", "levels": ["low", "high"]}],
            }
        ],
    )
    bench = Bench(demanding, profile=profile)
    bench.start(preferences=NEVER_STOP)
    answer: dict[str, Any] = {}
    while answer_kind(answer) != "complete":
        answer = bench.advance(last(bench))
        assert answer_kind(answer) in ("ok", "complete")
    assert bench.status() == "complete_with_gaps"
