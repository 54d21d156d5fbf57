"""Events and manifest records: their exact bytes, their closed sets, their budgets.

@enforces event-kinds-closed-set
@enforces edge-kind-closed-set
@enforces edge-cause-closed-set
@enforces output-channel-closed-set
@enforces notes-markdown-budget
@enforces decision-trace-bounded
@enforces blocker-budget
@enforces schema-versioned
@enforces schema-additive-within-version
@enforces schema-unknown-version-fail-fast
@enforces schema-unknown-fields-ignored-conditionally
@enforces jcs-rfc-8785
@enforces paths-relative-only
@enforces user-only-dependency-closed-set
@enforces autonomy-closed-set
@enforces risk-policy-closed-set
"""

from __future__ import annotations

import json

import pytest
from event_samples import (
    ARTIFACT,
    BLOCKER,
    DATA,
    DIGEST,
    EVENT,
    GONE,
    ITERATION,
    NODE,
    NODE_SCOPE,
    RUN,
    RUN_SCOPE,
    SESSION,
    SHA1,
    sample,
)
from hypothesis import given
from hypothesis import strategies as st
from sample_sessions import long_story

from pytest_workrail.engine.model.base import decode_json, nesting, record_line
from pytest_workrail.engine.model.events import HostEvent, NotesPayload, ShortString, event_from, read_event
from pytest_workrail.engine.model.manifest import escapes, manifest_record_from, read_manifest_record
from workrail_lint.base.canonical import digest
from workrail_lint.base.result import Err, Ok

CLAIM = {"kind": "manual_claim", "enforcementGrade": "weak", "detail": {"claimedBy": "agent", "claim": "available"}}
PROBE = {
    "kind": "probe_step",
    "enforcementGrade": "strong",
    "detail": {"probeTemplateId": "t", "probeStepId": "wr_probe_x", "result": "success"},
}
CHECKPOINT = {"kind": "checkpoint_created", "eventId": EVENT}


def blocked(**changes):
    report = {"blockers": [{**BLOCKER, **changes}]}
    return sample("advance_recorded", data__outcome={"kind": "blocked", "blockers": report})


GOOD = [
    *(sample(kind) for kind in DATA),
    sample("session_created", data={}),
    sample("observation_recorded", data__key="git_head_sha", data__value={"type": "git_sha1", "value": SHA1}),
    sample("observation_recorded", data__key="repo_root", data__value={"type": "path", "value": "/x"}),
    sample("observation_recorded", data__key="repo_root_hash", data__value={"type": "sha256", "value": DIGEST}),
    sample("run_started", data__triggerSource=GONE),
    sample("node_created", data__parentNodeId=None),
    sample("edge_created", data__edgeKind="checkpoint", data__cause=CHECKPOINT),
    blocked(),
    sample("node_output_appended", data__outputChannel="artifact", data__payload={**ARTIFACT, "content": None}),
    sample("node_output_appended", data__outputChannel="artifact", data__payload=ARTIFACT),
    sample("capability_observed", data__provenance=CLAIM),
    sample("capability_observed", data__provenance=PROBE),
    sample("gap_recorded", data__resolution={"kind": "unresolved"}, data__evidenceRefs=GONE, data__details=GONE),
    sample("gap_recorded", data__details={"detail": "needs_user_choice", "choice": "scope_boundary"}),
    sample("git_start_recorded"),
]


@pytest.mark.parametrize("value", GOOD, ids=lambda value: value["kind"])
def test_every_kind_is_read_and_written_as_it_was(value):
    made = event_from(value).value
    assert made.to_wire() == value
    assert read_event(record_line(made)[:-1]) == Ok(made)


@pytest.mark.parametrize("value", GOOD, ids=lambda value: value["kind"])
def test_members_of_a_later_version_are_kept_and_change_nothing(value):
    made = event_from({**value, "later": {"more": 1}}).value
    assert made.to_wire()["later"] == {"more": 1}
    data = event_from({**value, "data": {**value["data"], "later": 1}})
    is_strict = value["kind"] == "validation_performed"
    assert isinstance(data, Err) is is_strict
    if not is_strict:
        assert data.value.to_wire()["data"]["later"] == 1


@pytest.mark.parametrize("value", GOOD, ids=lambda value: value["kind"])
@pytest.mark.parametrize(
    "missing", ["eventId", "eventIndex", "sessionId", "kind", "dedupeKey", "data", "timestampMs", "v"]
)
def test_the_envelope_is_complete(value, missing):
    fault = event_from({name: member for name, member in value.items() if name != missing}).error
    assert fault.code == "schema_validation_failed"


def a_reason(category, detail):
    return sample("gap_recorded", data__reason={"category": category, "detail": detail})


def a_trace(**entry):
    return sample("decision_trace_appended", data__entries=[{"kind": "entered_loop", "summary": "s", **entry}])


def a_branch(text):
    return sample("observation_recorded", data__value={"type": "short_string", "value": text})


BAD = {
    "unknown kind": sample("node_deleted"),
    "no generic string": sample("observation_recorded", data__value={"type": "string", "value": "x"}),
    "observations have no scope": sample("observation_recorded", scope={}),
    "branch too long": a_branch("x" * 81),
    "branch of astral characters too long": a_branch("😀" * 41),
    "null where absent is meant": sample("session_created", data__parentSessionId=None),
    "name in the wrong case": sample("session_created", data={"parent_session_id": SESSION}),
    "node without a scope": sample("node_created", scope=GONE),
    "node without a node": sample("node_created", scope__nodeId=GONE),
    "node without a parent member": sample("node_created", data__parentNodeId=GONE),
    "not a digest": sample("node_created", data__snapshotRef="sha256:abc"),
    "not a node id": sample("node_created", data__parentNodeId="node_1"),
    "unknown node kind": sample("node_created", data__nodeKind="loop"),
    "unknown edge kind": sample("edge_created", data__edgeKind="jump"),
    "unknown cause": sample("edge_created", data__cause__kind="because"),
    "checkpoint cause on an acked step": sample("edge_created", data__cause=CHECKPOINT),
    "other cause on a checkpoint": sample("edge_created", data__edgeKind="checkpoint"),
    "negative index": sample("session_created", eventIndex=-1),
    "fraction as index": sample("session_created", eventIndex=0.5),
    "boolean as index": sample("session_created", eventIndex=True),
    "time zero": sample("session_created", timestampMs=0),
    "empty dedupe key": sample("session_created", dedupeKey=""),
    "upper case in a dedupe key": sample("session_created", dedupeKey="A"),
    "dedupe key too long": sample("session_created", dedupeKey="x" * 257),
    "empty notes": sample("node_output_appended", data__payload__notesMarkdown=""),
    "notes over budget": sample("node_output_appended", data__payload__notesMarkdown="é" * 2049),
    "recap that is no notes": sample("node_output_appended", data__payload=ARTIFACT),
    "unknown channel": sample("node_output_appended", data__outputChannel="chat"),
    "issue over budget": sample("validation_performed", data__result__issues=["x" * 513]),
    "issues over budget together": sample("validation_performed", data__result__issues=["x" * 512] * 9),
    "suggestion over budget": sample("validation_performed", data__result__suggestions=["x" * 1025]),
    "no dimensions": sample("assessment_recorded", data__dimensions=[]),
    "unknown effect": sample("assessment_consequence_applied", data__effect__kind="stop"),
    "empty delta": sample("preferences_changed", data__delta=[]),
    "the same preference twice": sample(
        "preferences_changed", data__delta=[{"key": "autonomy", "value": "guided"}] * 2
    ),
    "unknown autonomy": sample("preferences_changed", data__effective__autonomy="free"),
    "unknown risk policy": sample("preferences_changed", data__effective__riskPolicy="yolo"),
    "unknown capability": sample("capability_observed", data__capability="flight"),
    "weak claim said to be strong": sample(
        "capability_observed", data__provenance={**CLAIM, "enforcementGrade": "strong"}
    ),
    "failure without a code": sample("capability_observed", data__provenance__detail__failureCode=GONE),
    "success with a code": sample("capability_observed", data__provenance__detail__result="success"),
    "gap detail of another category": a_reason("unexpected", "missing_required_notes"),
    "unknown dependency": a_reason("user_only_dependency", "needs_user_coffee"),
    "context that is no object": sample("context_set", data__context=[]),
    "unknown divergence": sample("divergence_recorded", data__reason="because"),
    "no trace entries": sample("decision_trace_appended", data__entries=[]),
    "too many trace entries": sample(
        "decision_trace_appended", data__entries=[{"kind": "entered_loop", "summary": "s"}] * 26
    ),
    "trace entry over budget": a_trace(summary="x" * 513),
    "trace over budget": sample(
        "decision_trace_appended", data__entries=[{"kind": "entered_loop", "summary": "x" * 512}] * 17
    ),
    "too many trace refs": a_trace(refs=[ITERATION] * 11),
    "open trace ref": a_trace(refs=[{**ITERATION, "x": 1}]),
    "confidence without a commit": sample("run_completed", data__agentCommitShas=[]),
    "eleven blockers": sample(
        "advance_recorded", data__outcome={"kind": "blocked", "blockers": {"blockers": [BLOCKER] * 11}}
    ),
    "no blockers": sample("advance_recorded", data__outcome={"kind": "blocked", "blockers": {"blockers": []}}),
    "blocker message over budget": blocked(message="x" * 513),
    "blocker fix over budget": blocked(suggestedFix="x" * 1025),
    "unknown blocker code": blocked(code="WHATEVER"),
    "telemetry that is no object": sample("usage_recorded", data=[]),
}


# @enforces blocker-codes-closed-set
@pytest.mark.parametrize("name", BAD)
def test_what_is_not_an_event_is_refused(name):
    assert event_from(BAD[name]).error.code == "schema_validation_failed"


@pytest.mark.parametrize("version", [0, 2, 1.5, "1", True, None, [1]])
def test_an_unknown_version_is_told_apart(version):
    assert event_from(sample("session_created", v=version)).error.code == "unknown_schema_version"
    assert manifest_record_from({**CLOSED, "v": version}).error.code == "unknown_schema_version"


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"nul", b"NaN", b'{"a":1e400}', b"[" * 100_000, b'"\x01"', b"{}x"])
def test_what_is_not_json_is_a_broken_sequence(raw):
    assert read_event(raw).error.code == "non_contiguous_indices"
    assert read_manifest_record(raw).error.code == "non_contiguous_indices"


@given(st.binary(max_size=60))
def test_reading_is_total(raw):
    for read in (read_event, read_manifest_record):
        assert isinstance(read(raw), Err)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_any_context_survives_its_line(context):
    line = json.dumps(sample("context_set", data__context=context))
    made = read_event(line.encode()).value
    assert read_event(record_line(made)[:-1]) == Ok(made)


@given(JSON)
def test_any_json_is_a_record_or_a_reason(value):
    raw = json.dumps(value).encode()
    assert read_event(raw).error.code in ("schema_validation_failed", "unknown_schema_version")


def test_every_event_of_a_session_survives_its_line():
    for made in long_story().truth.events:
        assert read_event(record_line(made)[:-1]) == Ok(made)


def test_the_telemetry_of_other_hosts_is_read_and_has_no_meaning():
    made = event_from(sample("delivery_recorded", data={"shas": []})).value
    assert isinstance(made, HostEvent)


def test_a_record_can_not_be_built_wrong_nor_changed():
    with pytest.raises(ValueError, match="4096"):
        NotesPayload(notes_markdown="é" * 2049)
    with pytest.raises(AttributeError):
        ShortString(value="x").value = "y"


CLOSED = {
    "v": 1,
    "manifestIndex": 0,
    "sessionId": SESSION,
    "kind": "segment_closed",
    "firstEventIndex": 0,
    "lastEventIndex": 2,
    "segmentRelPath": "events/00000000-00000002.jsonl",
    "sha256": DIGEST,
    "bytes": 1328,
}


@pytest.mark.parametrize(
    "change",
    [
        {"segmentRelPath": "events/../00000000-00000002.jsonl"},
        {"segmentRelPath": "/events/00000000-00000002.jsonl"},
        {"segmentRelPath": "events/00000000-00000003.jsonl"},
        {"segmentRelPath": "other/00000000-00000002.jsonl"},
        {"firstEventIndex": 3},
        {"bytes": -1},
        {"kind": "segment_opened"},
        {"sha256": "0" * 64},
    ],
)
def test_a_manifest_record_is_exact(change):
    assert manifest_record_from(CLOSED).is_ok
    assert manifest_record_from({**CLOSED, **change}).error.code == "schema_validation_failed"


@pytest.mark.parametrize("path", ["/a", "\\a", "c:/a", "C:a", "..", "a/../b", "a\\..\\b", "../a"])
def test_paths_that_lead_outside(path):
    assert escapes(path)


@pytest.mark.parametrize("path", ["a", "a/b.c", "a..b", "events/x"])
def test_paths_that_stay_inside(path):
    assert not escapes(path)


def test_the_bytes_of_a_segment_and_its_manifest():
    workflow = "sha256:ce2b88f851a81a8dcbc746a05a521522c71bbb8082b32cebda865cb78029b4ac"
    snapshot = "sha256:b62380a227c09414f5f9b6004bf4f0a51274e747053d55406f794815aea8659b"
    common = {"v": 1, "sessionId": SESSION, "timestampMs": 1700000000000}
    events = [
        {"kind": "session_created", "eventIndex": 0, "dedupeKey": f"session_created:{SESSION}", "data": {}},
        {
            "kind": "run_started",
            "eventIndex": 1,
            "scope": RUN_SCOPE,
            "dedupeKey": f"run_started:{SESSION}:{RUN}",
            "data": {
                "workflowId": "demo-linear",
                "workflowHash": workflow,
                "workflowSourceKind": "project",
                "workflowSourceRef": "demo.json",
            },
        },
        {
            "kind": "node_created",
            "eventIndex": 2,
            "scope": NODE_SCOPE,
            "dedupeKey": f"node_created:{SESSION}:{RUN}:{NODE}",
            "data": {
                "nodeKind": "step",
                "parentNodeId": None,
                "workflowHash": workflow,
                "snapshotRef": snapshot,
            },
        },
    ]
    lines = [
        record_line(event_from({**common, **value, "eventId": "evt_" + "a" * 25 + letter}).value)
        for value, letter in zip(events, "abc", strict=True)
    ]
    segment = b"".join(lines)
    assert len(segment) == 1328
    assert digest(segment) == "sha256:db0398c310fa39cfc26586df71e80030f4140df7dbd6783f80c3e33cc7c3388d"


def test_nesting_is_measured_without_recursion():
    deep: object = 1
    for _ in range(50_000):
        deep = [deep]
    assert nesting(deep) == 50_000
    assert nesting({"a": [1, {"b": 2}]}) == 3
    assert nesting(None) == 0


def test_numbers_are_read_as_javascript_does():
    assert decode_json(b"[1.0, 1e2, 9007199254740993]") == Ok([1, 100, 9007199254740992])
    assert isinstance(decode_json(b"[1.0]").value[0], int)


LONG_TRACE = {"traceId": "t", "entries": [{"kind": "entered_loop", "summary": "s", "refs": [ITERATION] * 11}]}
# What people read about records that are damaged.
REASONS = [
    (3, "Expected object, got int"),
    ({"v": 1}, "Object missing required field kind"),
    (sample("session_created", eventId=GONE), "Object missing required field eventId"),
    (sample("session_created", eventIndex=1.5), "eventIndex: Expected int, got float"),
    (sample("session_created", eventIndex=True), "eventIndex: Expected int, got bool"),
    (
        sample("session_created", eventIndex=-1),
        "eventIndex: Expected int >= 0",
    ),
    (sample("session_created", timestampMs=0), "timestampMs: Expected int >= 1"),
    (sample("session_created", sessionId=1), "sessionId: Expected str, got int"),
    (
        sample("session_created", sessionId=SESSION + "\n"),
        "sessionId: Expected str of length <= 31",
    ),
    (
        sample("session_created", sessionId="\ud800"),
        "sessionId: Expected str of length >= 31",
    ),
    (sample("session_created", sessionId=SESSION.upper()), "sessionId: not an id of this kind"),
    (sample("node_created", scope__nodeId=RUN + "x"), "scope.nodeId: not an id of this kind"),
    (
        sample("session_created", dedupeKey="x" * 257),
        "dedupeKey: Expected str of length <= 256",
    ),
    (sample("observation_recorded", scope={}), "scope: Expected null, got object"),
    (
        sample("node_output_appended", data={"outputId": "o", "outputChannel": "recap", "payload": {}}),
        "data.payload: Object missing required field payloadKind",
    ),
    (
        sample("node_output_appended", data={"outputId": "", "outputChannel": "recap", "payload": {}}),
        "data.outputId: Expected str of length >= 1",
    ),
    (
        sample("edge_created", data={**DATA["edge_created"], "edgeKind": "x"}),
        "data.edgeKind: not a known value",
    ),
    (
        sample("edge_created", data={**DATA["edge_created"], "edgeKind": "checkpoint"}),
        "data: an edge is a checkpoint exactly when a checkpoint caused it",
    ),
    (
        sample("decision_trace_appended", data={"traceId": "t", "entries": []}),
        "data.entries: Expected array of length >= 1",
    ),
    (
        sample("decision_trace_appended", data=LONG_TRACE),
        "data.entries[0].refs: Expected array of length <= 10",
    ),
    (
        sample("decision_trace_appended", data={"traceId": "t", "entries": {}}),
        "data.entries: Expected array, got object",
    ),
    (
        sample("context_set", data=3),
        "data: Expected object, got int",
    ),
]


def test_the_words_for_what_is_wrong():
    assert [event_from(value).error.message for value, _ in REASONS] == [reason for _, reason in REASONS]
