"""The golden of a run: what it shows, what it hides, and that nothing else is in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from golden_bench import WORKSPACE, Recorder, step, workflow
from golden_made_up import made_up
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_workrail.agents.agent import Exchange
from pytest_workrail.golden import document
from pytest_workrail.golden.document import golden_bytes, golden_value
from pytest_workrail.golden.encoding import dumps, encode, fold, loads, same, says
from pytest_workrail.golden.symbols import joined

LOOP = {
    "id": "refine",
    "title": "Refine",
    "type": "loop",
    "loop": {
        "type": "while",
        "maxIterations": 4,
        "conditionSource": {
            "kind": "artifact_contract",
            "contractRef": "wr.contracts.loop_control",
            "loopId": "refine",
        },
    },
    "body": [
        step("draft", "Draft pass {{currentIteration}}."),
        step("decide", "Again?", outputContract={"contractRef": "wr.contracts.loop_control"}),
    ],
}
READINESS = {
    "id": "readiness",
    "purpose": "Ready?",
    "dimensions": [{"id": "confidence", "purpose": "How sure", "levels": ["low", "high"]}],
}
LOW = {"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "Look again."}}


def _looped(profile: str = "reference", seed: str = "seed") -> Recorder:
    """Through a loop three times, with a block, a look back and a damaged token on the way."""
    recorder = Recorder(workflow(step("gather", "Collect\nfacts."), LOOP, step("ship", "Ship.")), profile, seed)
    answer = recorder.start()
    answer = recorder.go(answer, intent="advance")
    answer = recorder.go(answer, output={"notesMarkdown": "one\ntwo"}, context={"b": 1, "a": 1.0})
    for decision in ("continue", "continue", "stop"):
        answer = recorder.go(answer, notes="drafted")
        answer = recorder.go(answer, artifacts=[{"kind": "wr.loop_control", "decision": decision, "loopId": "refine"}])
    token = answer["continueToken"]
    recorder.call("continue_workflow", continueToken=token[:-2], intent="advance")
    recorder.go(answer, intent="rehydrate", workspacePath=WORKSPACE)
    recorder.go(answer, notes="done")
    return recorder


def _prompts(value: dict[str, Any]) -> list[str]:
    pending = [each["response"].get("pending") for each in joined(value)["transcript"] if "response" in each]
    return [each["prompt"] for each in pending if each is not None]


_SO_FAR = (
    "**Decide** (`decide`)\nAgain?\n\n**Draft** (`draft`)\nDraft pass 3.\n\n**Gather** (`gather`)\nCollect\nfacts."
)


@pytest.mark.parametrize(
    ("profile", "recap"),
    [
        ("reference", "one\ntwo\n\ndrafted\n\ndrafted\n\ndrafted"),
        (
            "locked",
            f"drafted\n\ndrafted\n\ndrafted\n\none\ntwo\n\n### Instructions So Far\n{_SO_FAR}",
        ),
    ],
)
def test_slots_have_names(profile: str, recap: str) -> None:
    assert _prompts(golden_value(_looped(profile).transcript())) == [
        "Collect\nfacts.⟪NOTES_FULL⟫",
        "Collect\nfacts.⟪NOTES_FULL⟫",
        "⟪LOOP_FIRST⟫Draft pass 1.⟪NOTES_BRIEF⟫",
        "Again?⟪CONTRACT⟫",
        "⟪LOOP_NEXT⟫Draft pass 2.⟪NOTES_BRIEF⟫",
        "Again?⟪CONTRACT⟫",
        "⟪LOOP_NEXT⟫Draft pass 3.⟪NOTES_BRIEF⟫",
        "Again?⟪CONTRACT⟫",
        "Ship.⟪NOTES_BRIEF⟫",
        f"Ship.⟪NOTES_FULL⟫\n\n## Recovery Context\n\n### Ancestry Recap\n{recap}",
    ]


@pytest.mark.parametrize("profile", ["reference", "locked"])
def test_banners_of_a_body_by_reference_have_names(profile: str) -> None:
    loops = [
        {
            "id": ident,
            "title": "Again",
            "type": "loop",
            "loop": {"type": "for", "count": 3, "maxIterations": limit},
            "body": "pass",
        }
        for ident, limit in (("short", 3), ("long", 9))
    ]
    recorder = Recorder(workflow(step("pass", "Do it.", notesOptional=True), *loops), profile)
    answer = recorder.start()
    for _ in range(5):
        answer = recorder.go(answer, intent="advance")
    first, second = "⟪LOOP_FIRST⟫Do it.", "⟪LOOP_NEXT⟫Do it."
    assert _prompts(golden_value(recorder.transcript())) == [first, second, second] * 2


def test_requirements_stay_and_every_other_slot_is_named() -> None:
    authored = workflow(
        step(
            "rate",
            "Rate it.",
            assessmentRefs=["readiness"],
            assessmentConsequences=[LOW],
            promptFragments=[{"id": "f", "when": {"var": "goal", "equals": "demo"}, "text": "A fragment."}],
        ),
        step(
            "write",
            "Write.",
            validationCriteria={"and": [{"type": "contains", "value": "Risk", "message": "m"}]},
        ),
        assessments=[READINESS],
        metricsProfile="coding",
    )
    recorder = Recorder(authored)
    answer = recorder.start()
    rated = {"kind": "wr.assessment", "dimensions": {"confidence": "high"}}
    recorder.go(answer, notes="n", artifacts=[rated])
    assert _prompts(golden_value(recorder.transcript())) == [
        "Rate it.⟪ASSESSMENT⟫⟪NOTES_FULL⟫\n\nA fragment.⟪METRICS⟫",
        'Write.\n\n**OUTPUT REQUIREMENTS:**\n- Must contain: "Risk"⟪NOTES_BRIEF⟫⟪METRICS⟫',
    ]


def test_the_golden_is_what_the_engine_itself_calls_golden() -> None:
    recorder = _looped()
    again = Recorder(workflow(step("gather", "Collect\nfacts."), LOOP, step("ship", "Ship.")))
    own = []
    for exchange in recorder.exchanges:
        answer = getattr(again.engine, exchange.tool)(exchange.request)
        progress = getattr(answer.value.response, "progress", None) if answer.is_ok else None
        if progress is not None and progress.pending is not None:
            own.append(progress.pending.golden_prompt)
    assert _prompts(golden_value(recorder.transcript())) == own


def test_our_wording_of_fixes_and_suggestions_is_not_in_it() -> None:
    golden = joined(golden_value(_looped().transcript()))
    (blocked,) = (
        each["response"] for each in golden["transcript"] if each.get("response", {}).get("kind") == "blocked"
    )
    assert [each["suggestedFix"] for each in blocked["blockers"]["blockers"]] == ["⟪FIX⟫"]
    (error,) = (each["error"] for each in golden["transcript"] if "error" in each)
    assert error["details"]["suggestion"] == "⟪SUGGESTION⟫"
    assert error["code"] == "TOKEN_INVALID_FORMAT"


def test_blockers_a_run_ends_at_hide_their_fix_but_artifacts_hide_nothing() -> None:
    fix = {"code": "MISSING_REQUIRED_NOTES", "message": "m", "suggestedFix": "our words"}
    review = {"kind": "review", "code": "X1", "suggestedFix": "the agent's words"}
    final = golden_value(made_up("One.", blockers=[fix], outputs=[{"artifacts": [review]}]))["final"]
    assert final["blockers"][0]["suggestedFix"] == "⟪FIX⟫"
    assert final["outputs"][0]["artifacts"][0]["suggestedFix"] == "the agent's words"


def test_tokens_and_ids_are_numbered_by_first_appearance() -> None:
    recorder = Recorder(workflow(step("first", "One."), step("second", "Two."), step("third", "Three.")))
    start = recorder.start()
    second = recorder.go(start, notes="n-first")
    recorder.go(second, notes="n-second")
    recorder.go(second, intent="rehydrate", workspacePath=WORKSPACE)
    recorder.call("checkpoint_workflow", checkpointToken=start["checkpointToken"])
    shown = joined(golden_value(recorder.transcript()))["transcript"]
    assert [each["request"].get("continueToken") for each in shown] == [None, "«CT1»", "«CT2»", "«CT2»", None]
    assert [each["response"].get("continueToken") for each in shown] == ["«CT1»", "«CT2»", "«CT3»", "«CT4»", None]
    assert shown[3]["response"]["pending"]["prompt"] == (
        "Two.⟪NOTES_FULL⟫\n\n## Recovery Context\n\n### Branch Summary\nThis node has 1 child. "
        "Preferred branch tip: «NODE1»\n\n### Ancestry Recap\nn-first"
    )
    assert shown[4]["request"] == {"checkpointToken": "«CK1»"}
    assert shown[4]["response"]["checkpointNodeId"] == "«NODE2»"
    assert shown[4]["response"]["resumeToken"] == "«ST1»"
    assert shown[4]["response"]["nextCall"]["params"] == {"continueToken": "«CT1»"}


def test_a_session_found_again_says_nothing_about_the_hour() -> None:
    recorder = Recorder(workflow(step("first", "One."), step("second", "Two.")))
    recorder.start()
    found = recorder.call("resume_session", workspacePath=WORKSPACE)
    recorder.call("continue_workflow", **found["candidates"][0]["nextCall"]["params"], workspacePath=WORKSPACE)
    shown = joined(golden_value(recorder.transcript()))["transcript"]
    (candidate,) = shown[1]["response"]["candidates"]
    assert candidate["lastModifiedMs"] == "«TIME»"
    assert (candidate["sessionId"], candidate["runId"]) == ("«SESSION1»", "«RUN1»")
    assert candidate["resumeToken"] == shown[2]["request"]["continueToken"] == "«ST1»"


def test_chance_leaves_no_trace() -> None:
    assert golden_bytes(_looped(seed="one").transcript()) == golden_bytes(_looped(seed="another").transcript())


def test_a_golden_is_readable_json_with_a_line_feed_at_the_end() -> None:
    data = golden_bytes(_looped().transcript())
    assert data.endswith(b"}\n")
    assert loads(data).value == golden_value(_looped().transcript())
    text = data.decode()
    assert (
        '    {\n      "step": "gather",\n      "text": [\n        "Collect\\n",\n        "facts."\n      ]\n    },\n'
        in text
    )
    assert '"pending": {"stepId": "gather", "title": "Gather", "prompt": "⟪PROMPT⟫⟪NOTES_FULL⟫"}' in text
    assert WORKSPACE not in text
    members = list(json.loads(data))
    assert members == ["format", "workflow", "profile", "mode", "metadata", "prompts", "transcript", "final"]


def test_the_order_of_members_is_ours_and_not_the_authors() -> None:
    one = Exchange("continue_workflow", {"context": {"b": 1, "a": 2.0}, "continueToken": "x"}, {"kind": "ok"}, False)
    other = Exchange("continue_workflow", {"continueToken": "x", "context": {"a": 2, "b": 1}}, {"kind": "ok"}, False)
    base = made_up()
    made = [dumps(golden_value(_with(base, exchange))) for exchange in (one, other)]
    assert made[0] == made[1]


def _with(transcript: Any, *exchanges: Exchange) -> Any:
    return replace(transcript, exchanges=exchanges)


def test_a_step_of_another_workflow_keeps_its_prompt() -> None:
    assert _prompts(golden_value(made_up("As it is.\n\n**NOTES REQUIRED (System):** x"))) == [
        "As it is.\n\n**NOTES REQUIRED (System):** x"
    ]


def test_many_workflows_do_not_pile_up() -> None:
    for number in range(200):
        golden_value(replace(made_up("One."), workflow_hash=f"sha256:{number:064x}"))
    assert len(document._masks) <= 64


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not readable as JSON"),
        ("<<<<<<< HEAD\n{}", "not readable as JSON"),
        ("[]", "no format"),
        ('{"format": "workrail.golden/9"}', "workrail.golden/9"),
        ('{"format": "workrail.golden/2", "a": 1, "a": 2}', "'a' is there twice"),
        ("[" * 100_000, "not readable as JSON"),
    ],
)
def test_what_is_no_golden_says_why(text: str, problem: str) -> None:
    read = loads(text.encode())
    assert not read.is_ok
    assert problem in read.error


def test_reformatting_a_golden_changes_nothing_it_says() -> None:
    value = golden_value(_looped().transcript())
    crlf = dumps(value).replace(b"\n", b"\r\n")
    turned = json.dumps(dict(reversed(value.items()))).encode()
    whole_texts = json.dumps(joined(value)).encode()
    for data in (crlf, turned, whole_texts):
        assert same(loads(data).value, value)
    assert not same({**value, "mode": True}, {**value, "mode": 1})
    assert not same({**value, "mode": "full_auto_never_stop"}, value)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_whatever_an_agent_sends_can_be_written_and_read_back(value: Any) -> None:
    exchange = Exchange("continue_workflow", {"continueToken": "x", "context": {"sent": value}}, {}, False)
    golden = golden_value(_with(made_up(), exchange))
    assert loads(dumps(golden)).value == json.loads(json.dumps(golden))
    assert same(loads(dumps(golden)).value, golden)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"count": 1', '"count": 1.0'),
        ('"count": 1', '"count": true'),
        ('"count": 1', '"count": 1, "count": 1'),
        ('"count": 1', '"count": 2, "count": 1'),
        ('"two words"', '"twowords"'),
        ('"two words"', '"two  words"'),
        ('"two words"', '"two\nwords"'),
        ("true", "tr ue"),
        ("1e+22", "10000000000000000000000"),
        ('"mode"', '"mo de"'),
        ("}\n", "}}\n"),
    ],
)
def test_a_file_that_says_something_else_or_nothing_is_told_from_its_golden(old: str, new: str) -> None:
    golden = golden_value(made_up("One.", count=1, text="two words", flag=True, big=1e22))
    written = encode(golden).decode()
    assert old in written
    assert not says(written.replace(old, new).encode(), fold(golden))
    assert says(written.encode(), fold(golden))


def test_a_file_in_another_layout_says_the_same() -> None:
    golden = golden_value(made_up("One.\nTwo.", text="two words"))
    assert says(encode(golden).replace(b"\n", b"\n\n  "), fold(golden))


@pytest.mark.parametrize("value", ["\ud800", 2**70])
def test_what_can_not_be_said_surely_is_not_said(value: object) -> None:
    golden = golden_value(made_up("One.", value=value))
    assert not says(encode(golden), fold(golden))
