"""Answers under profile locked: a closed set of kinds, no null that means something, and texts that say the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from protocol_bench import NEVER_STOP, WORKSPACE, Bench, compiled, quiet, step, workflow

from pytest_workrail.engine.core.prompts import PromptStyle, Slot
from pytest_workrail.engine.model.reasons import UserOnlyDependency
from pytest_workrail.engine.protocol.engine import Options
from pytest_workrail.engine.protocol.text import error_text

STOPS = {"autonomy": "full_auto_stop_on_user_deps", "riskPolicy": "balanced"}
HEADER = ("Template", "Kind", "Workflow", "Step", "Mode", "Confirmation", "Features")
LINES = {
    "step": HEADER,
    "blocked": HEADER,
    "complete": ("Template", "Kind", "Workflow", "Mode", "Features"),
    "gate_checkpoint": ("Template", "Kind", "Workflow", "Step", "Confirmation"),
    "error": ("Template", "Kind"),
    "checkpoint": ("Template", "Kind", "Workflow"),
    "workflow": ("Template", "Kind", "Workflow"),
    "workflows": ("Template", "Kind"),
    "candidates": ("Template", "Kind"),
}
MEMBERS = {
    "step": (
        *("kind", "continueToken", "checkpointToken", "pending", "preferences", "nextIntent", "nextCall", "skipped"),
        *("appliedFeatures", "warnings", "stepContext", "references"),
    ),
    "blocked": (
        *("kind", "continueToken", "checkpointToken", "pending", "preferences", "nextIntent", "nextCall", "blockers"),
        *("retryable", "retryContinueToken", "validation", "assessmentFollowup", "skipped", "appliedFeatures"),
        "warnings",
    ),
    "complete": ("kind", "preferences", "nextIntent", "skipped", "appliedFeatures", "warnings", "stepContext"),
    "gate_checkpoint": ("kind", "gateToken", "stepId", "gateKind"),
    "error": ("kind", "code", "message", "retry", "details"),
    "checkpoint": ("kind", "checkpointNodeId", "resumeToken", "nextCall"),
}

EVERYTHING = workflow(
    "everything",
    step("first", "First", "Do it."),
    quiet("confirmed", requireConfirmation={"kind": "human_approval"}),
    quiet("rated", assessmentRefs=["ready"]),
    quiet("late", runCondition={"var": "late"}),
    assessments=[
        {"id": "ready", "purpose": "p", "dimensions": [{"id": "sure", "purpose": "p", "levels": ["low", "high"]}]}
    ],
    recommendedPreferences={"recommendedAutonomy": "guided", "recommendedRiskPolicy": "conservative"},
    features=["wr.features.memory_context"],
)
RATED = {"kind": "wr.assessment", "dimensions": {"sure": "high"}}


class Recorder(Bench):
    """A bench that keeps every answer with its text."""

    def __init__(self, *authored: dict[str, Any], **options: Any) -> None:
        super().__init__(*authored, **options)
        self.kept: list[tuple[dict[str, Any], tuple[str, ...]]] = []

    def shown(self, answer: Any) -> dict[str, Any]:
        shown = super().shown(answer)
        self.kept.append((shown, answer.value.text if answer.is_ok else (error_text(answer.error),)))
        return shown


def conversation(style: PromptStyle = PromptStyle.FULL, preferences: Any = None) -> Recorder:
    """A talk in which every kind of answer comes up."""
    bench = Recorder(EVERYTHING, profile="locked", options=Options(profile="locked", style=style))
    bench.shown(bench.engine.list_workflows({"workspacePath": WORKSPACE}))
    bench.shown(bench.engine.inspect_workflow({"workspacePath": WORKSPACE, "workflowId": "everything"}))
    bench.start(**({} if preferences is None else {"preferences": preferences}))
    bench.checkpoint("CK1")
    bench.advance("CT1")
    bench.look(last(bench))
    bench.go(last(bench), notes="n")
    bench.advance(last(bench))
    bench.go(last(bench), artifacts=[RATED])
    bench.advance(last(bench))
    bench.advance("CT1", variables={})
    bench.shown(bench.engine.resume_session({"workspacePath": WORKSPACE}))
    return bench


def last(bench: Recorder) -> str:
    """The token that the last answer with one proposes."""
    answers = (answer for answer, _ in reversed(bench.kept))
    token: str = next(
        answer.get("retryContinueToken") or answer["continueToken"] for answer in answers if "continueToken" in answer
    )
    return token.strip("«»")


def gated() -> Recorder:
    authored = workflow("gated", quiet("risky", requireConfirmation={"kind": "coordinator_eval"}), quiet("rest"))
    bench = Recorder(authored, profile="locked")
    bench.start(initialContext={"is_autonomous": "true"})
    bench.advance("CT1")
    return bench


def talks() -> Iterator[Recorder]:
    for style in PromptStyle:
        yield conversation(style)
        yield conversation(style, STOPS)
        yield conversation(style, NEVER_STOP)
    yield gated()


def test_kinds_and_members_are_a_closed_set() -> None:
    """@enforces answer-kind-closed-set"""
    seen: set[str] = set()
    for bench in talks():
        for answer, _ in bench.kept:
            kind = answer["kind"]
            seen.add(kind)
            assert next(iter(answer)) == "kind"
            if kind in MEMBERS:
                order = [MEMBERS[kind].index(member) for member in answer]
                assert order == sorted(order), list(answer)
    assert seen == set(LINES)


def nulls(value: Any, path: str = "") -> Iterator[str]:
    if value is None:
        yield path
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from nulls(item, f"{path}/{name}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from nulls(item, f"{path}/{place}")


def test_nothing_is_said_by_a_null() -> None:
    """@enforces no-meaningful-nulls"""
    for bench in talks():
        for answer, _ in bench.kept:
            assert list(nulls(answer)) == []
            assert "isComplete" not in answer


def test_every_text_begins_with_the_header() -> None:
    """@enforces text-header-closed-set"""
    for bench in talks():
        for answer, texts in bench.kept:
            head = texts[0].partition("\n\n")[0].splitlines()
            assert tuple(line.partition(": ")[0] for line in head) == LINES[answer["kind"]]
            assert head[:2] == ["Template: workrail.text/2", f"Kind: {answer['kind']}"]
            if answer["kind"] == "step":
                said = dict(line.split(": ", 1) for line in head)
                assert said["Step"] == answer["pending"]["stepId"]
                assert said["Features"] == (", ".join(answer["appliedFeatures"]) or "none")


def test_the_reference_texts_have_no_header() -> None:
    bench = Bench(EVERYTHING)
    bench.start()
    assert bench.reply is not None
    assert bench.reply.text[0].startswith("---------\nUSER")
    assert "CONFIRMATION" not in bench.reply.text[0]


@pytest.mark.parametrize(
    ("confirmation", "preferences", "said"),
    [
        (None, {}, "none"),
        (True, {}, "person"),
        (True, STOPS, "person"),
        (True, NEVER_STOP, "person, recorded as a gap"),
        ({"kind": "coordinator_eval"}, NEVER_STOP, "coordinator"),
    ],
)
def test_who_confirms(confirmation: Any, preferences: Any, said: str) -> None:
    members = {} if confirmation is None else {"requireConfirmation": confirmation}
    bench = Bench(workflow("confirm", quiet("one", **members), quiet("two")), profile="locked")
    bench.start(preferences=preferences)
    assert bench.reply is not None
    assert f"\nConfirmation: {said}\n" in bench.reply.text[0]
    slots = [part.slot for part in bench.reply.response.progress.pending.parts]  # type: ignore[union-attr]
    assert (Slot.CONFIRM in slots) is (confirmation is not None)
    asks = confirmation is not None and preferences is not NEVER_STOP
    assert (slots[-1] is Slot.NEXT_INPUT) is asks
    if asks:
        prompt = bench.reply.response.progress.pending.prompt  # type: ignore[union-attr]
        assert "- From: user\n- Needed: approval of this step\n- Then: continue_workflow" in prompt


def test_the_confirmation_says_what_advancing_does() -> None:
    said = set()
    for preferences in ({}, STOPS, NEVER_STOP):
        bench = Bench(workflow("confirm", quiet("one", requireConfirmation=True)), profile="locked")
        bench.start(preferences=preferences)
        prompt: str = bench.reply.response.progress.pending.prompt  # type: ignore[union-attr]
        said.add(prompt.partition("**CONFIRMATION (System):**")[2].splitlines()[0])
    assert len(said) == 3


def test_a_parallel_step_is_announced_too() -> None:
    parallel = {
        "id": "spawn",
        "type": "parallel",
        "title": "Spawn",
        "requireConfirmation": True,
        "parallelDelegations": [{"workflowId": "other"}],
    }
    bench = Bench(workflow("confirm", parallel), profile="locked")
    bench.start()
    slots = [part.slot for part in bench.reply.response.progress.pending.parts]  # type: ignore[union-attr]
    assert slots == [None, Slot.CONFIRM, Slot.NEXT_INPUT]


def test_what_a_person_must_provide_is_the_last_word() -> None:
    """@enforces next-input-last"""
    bench = Bench(workflow("needs", quiet("one", requireConfirmation=True), quiet("two")), profile="locked")
    bench.engine.dependencies.declare(UserOnlyDependency("needs_user_secret_or_token", "one"))
    bench.start()
    for answer in (bench.reply, bench.advance("CT1") and bench.reply, bench.look("CT1") and bench.reply):
        parts = answer.response.progress.pending.parts  # type: ignore[union-attr]
        assert parts[-1].slot is Slot.NEXT_INPUT
        assert parts[-1].text.startswith("\n\n**NEXT INPUT (System):**\n- From: user\n")
        assert "- Needed: approval of this step; needs_user_secret_or_token\n" in parts[-1].text


def test_a_mode_beyond_the_recommendation_is_said_in_text_and_data() -> None:
    bench = Bench(EVERYTHING, profile="locked")
    begun = bench.start(preferences={"autonomy": "full_auto_never_stop", "riskPolicy": "aggressive"})
    assert begun["warnings"] == [
        {
            "code": "MODE_BEYOND_RECOMMENDATION",
            "preference": "autonomy",
            "effective": "full_auto_never_stop",
            "recommended": "guided",
        },
        {
            "code": "MODE_BEYOND_RECOMMENDATION",
            "preference": "riskPolicy",
            "effective": "aggressive",
            "recommended": "conservative",
        },
    ]
    assert bench.reply is not None
    lines = bench.reply.text[0].split("\n\n")[1].splitlines()
    assert lines[0] == "## Warnings"
    assert [line.startswith("- ") and "Nothing is blocked" in line for line in lines[1:]] == [True, True]
    assert begun["appliedFeatures"] == ["wr.features.memory_context"]


def test_complete_claims_no_more_than_is_true() -> None:
    for context, claims in (({"late": 0}, False), ({"late": 1}, True)):
        bench = Bench(workflow("late", quiet("late", runCondition={"var": "late"}), quiet("last")), profile="locked")
        answer = bench.start(initialContext=context)
        while answer["kind"] != "complete":
            answer = bench.advance(answer["continueToken"].strip("«»"))
        assert bench.reply is not None
        text = bench.reply.text[0]
        assert ("Every step that applies" in text, "## Not Done" in text) == (claims, not claims)
        assert text.endswith("- late: late is 0, needs truthy") is not claims


def test_a_rehydrated_block_stays_a_block() -> None:
    bench = Bench(workflow("stop", step("one", "One", "Do one."), quiet("two")), profile="locked")
    bench.start()
    refused = bench.advance("CT1")
    shown = bench.look("CT2")
    assert (shown["kind"], shown["blockers"]) == ("blocked", refused["blockers"])
    assert shown["retryContinueToken"] != refused["retryContinueToken"]
    assert bench.reply is not None
    assert "# One (resumed)" in bench.reply.text[0]
    assert "# Blocked: Missing Required Notes" in bench.reply.text[0]
    assert bench.go(shown["nextCall"]["params"]["continueToken"].strip("«»"), notes="n")["kind"] == "step"


def test_a_rehydrated_terminal_block_proposes_no_call() -> None:
    bench = Bench(workflow("stop", quiet("one", requireConfirmation=True), quiet("two")), profile="locked")
    bench.start(preferences=STOPS)
    refused = bench.advance("CT1")
    shown = bench.look("CT2")
    for answer in (refused, shown):
        assert (answer["kind"], answer["retryable"], "nextCall" in answer) == ("blocked", False, False)
    assert shown["blockers"] == refused["blockers"]


def test_a_checkpoint_of_a_blocked_node_can_be_advanced() -> None:
    bench = Bench(workflow("mark", step("one", "One", "Do one."), quiet("two")), profile="locked")
    bench.start()
    blocked = bench.advance("CT1")
    marked = bench.checkpoint(blocked["checkpointToken"].strip("«»"))
    assert marked["kind"] == "checkpoint"
    session = bench.engine.session(bench.session_id).value
    node = session.runs[bench.run_id].nodes
    assert [each.kind for each in node.values()] == ["step", "blocked_attempt", "checkpoint"]


LIST = [
    {"type": "contains", "value": "Risks", "message": "m"},
    {"type": "regex", "pattern": "^#", "flags": "m", "message": "m"},
    {"type": "length", "min": 3, "max": 9, "message": "m", "condition": {"var": "depth", "in": ["full"]}},
    {"type": "schema", "schema": {"type": "object"}, "message": "m", "condition": {"not": {"var": "x"}}},
]


def requirements(criteria: Any, profile: str) -> list[str]:
    ir = compiled(workflow("say", step("one", "One", "Say.")))
    ir["steps"][0]["output"] = {"criteria": criteria}
    bench = Bench(ir, profile=profile)
    bench.start()
    prompt: str = bench.reply.response.progress.pending.prompt  # type: ignore[union-attr]
    section = prompt.partition("**OUTPUT REQUIREMENTS:**\n")[2].partition("\n\n")[0]
    return [line.removeprefix("- ") for line in section.splitlines()]


def test_list_criteria_are_shown_before_the_agent_works() -> None:
    assert requirements(LIST, "reference") == []
    assert requirements(LIST, "locked") == [
        'Must contain: "Risks"',
        "Must match pattern: ^# (flags: m)",
        'Length: ≥3 chars, ≤9 chars (when depth in ["full"])',
        'Must be JSON that fits: {"type":"object"} (under a condition)',
    ]


def test_compositions_are_shown_in_words() -> None:
    either = {"or": [LIST[0], {"and": [LIST[1], {"not": {"type": "contains", "value": "TODO", "message": "m"}}]}]}
    assert requirements({"and": [either, {"not": {"or": []}}]}, "locked") == [
        'One of: Must contain: "Risks"; Must match pattern: ^# (flags: m) and Not: Must contain: "TODO"'
    ]
    assert requirements(["^bare$"], "locked") == ["Must match pattern: ^bare$"]


def test_criteria_keep_to_their_budget() -> None:
    many = [{"type": "contains", "value": f"v{place}", "message": "m"} for place in range(30)]
    lines = requirements(many, "locked")
    assert (len(lines), lines[-1]) == (26, "… and 5 more")
    long = [{"type": "contains", "value": "x" * 1500, "message": "m"} for _ in range(5)]
    assert requirements(long, "locked")[-1] == "… and 3 more"
    (schema,) = requirements([{"type": "schema", "schema": {"title": "y" * 900}, "message": "m"}], "locked")
    assert len(schema) == len("Must be JSON that fits: ") + 512
