"""Contract packs: what passes, what does not, and how it is said."""

from __future__ import annotations

import copy
import datetime
import re
from typing import Any

import jsonschema
import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import for_each

from workrail_lint.base import js
from workrail_lint.documents.schema.dialect import search
from workrail_lint.systems.workrail.catalog import contracts, load_core
from workrail_lint.systems.workrail.catalog.contracts import PATTERNS, plain_schema, validate_artifact

PACKS = load_core().contracts
Json = Any


def schema_of(name: str) -> dict[str, Any]:
    return PACKS[f"wr.contracts.{name}"].schema


def example_of(name: str, **changes: Json) -> dict[str, Any]:
    return {**copy.deepcopy(PACKS[f"wr.contracts.{name}"].example), **changes}


def issues(name: str, artifact: object) -> list[str]:
    return validate_artifact(schema_of(name), artifact)


def objects(schema: Any, value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Every object of a value whose schema declares members, with that schema."""
    if "oneOf" in schema:
        fitting = [alternative for alternative in schema["oneOf"] if not validate_artifact(alternative, value)]
        return objects(fitting[0], value, path)
    if isinstance(value, list):
        return [found for i, item in enumerate(value) for found in objects(schema["items"], item, (*path, i))]
    if not isinstance(value, dict) or "type" not in schema:
        return []
    found = [(path, schema)] if "properties" in schema else []
    for name, member in value.items():
        below = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        if isinstance(below, dict):
            found += objects(below, member, (*path, name))
    return found


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for token in path:
        value = value[token]
    return value


NESTED = [(name, path, schema) for name, pack in PACKS.items() for path, schema in objects(pack.schema, pack.example)]
REQUIRED = [(name, path, member) for name, path, schema in NESTED for member in schema.get("required", [])]


@pytest.mark.parametrize("name", PACKS)
def test_every_example_is_valid(name: str) -> None:
    assert validate_artifact(PACKS[name].schema, PACKS[name].example) == []


@for_each("name, path, member", REQUIRED)
def test_every_required_member_is_missed(name: str, path: tuple[Any, ...], member: str) -> None:
    artifact = copy.deepcopy(PACKS[name].example)
    del at(artifact, path)[member]
    (issue,) = validate_artifact(PACKS[name].schema, artifact)
    assert issue.startswith(".".join(map(str, (*path, member))) + ": ")


@for_each("name, path, schema", NESTED, key=lambda row: row[:2])
def test_unknown_members_are_an_issue_exactly_where_the_mode_is_strict(
    name: str, path: tuple[Any, ...], schema: dict[str, Any]
) -> None:
    artifact = copy.deepcopy(PACKS[name].example)
    at(artifact, path)["surprise"] = 1
    expected = [f"{'.'.join(map(str, path))}: Unrecognized key(s) in object: 'surprise'"]
    if isinstance(schema.get("additionalProperties"), dict):
        expected = [f"{'.'.join(map(str, (*path, 'surprise')))}: Expected string, received number"]
    elif schema["x-objectMode"] != "strict":
        expected = []
    assert validate_artifact(PACKS[name].schema, artifact) == expected


def test_the_examples_exercise_every_mode() -> None:
    assert {schema.get("x-objectMode") for _, _, schema in NESTED} == {"strict", "strip", "open", None}


def test_a_pack_of_another_system_speaks_plainly() -> None:
    pack = PACKS["team.contracts.report_document"]
    assert validate_artifact(pack.schema, {**pack.example, "what_was_done": " \ufeff"}) == [
        "what_was_done: Must not be blank"
    ]


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        (
            "loop_control",
            {"decision": "maybe"},
            "decision: Invalid enum value. Expected 'continue' | 'stop', received 'maybe'",
        ),
        ("loop_control", {"decision": 3}, "decision: Expected 'continue' | 'stop', received number"),
        ("loop_control", {"summary": "x"}, ": Unrecognized key(s) in object: 'summary'"),
        ("loop_control", {"kind": "wr.other"}, 'kind: Invalid literal value, expected "wr.loop_control"'),
        ("loop_control", {"loopId": "Refine"}, f"loopId: {PATTERNS['delimiter-safe-id'][1]}"),
        ("loop_control", {"loopId": "refine\n"}, f"loopId: {PATTERNS['delimiter-safe-id'][1]}"),
        ("loop_control", {"loopId": "a" * 65}, "loopId: String must contain at most 64 character(s)"),
        ("loop_control", {"metadata": []}, "metadata: Expected object, received array"),
        (
            "loop_control",
            {"metadata": {"confidence": 101}},
            "metadata.confidence: Number must be less than or equal to 100",
        ),
        (
            "loop_control",
            {"metadata": {"issuesFound": -1}},
            "metadata.issuesFound: Number must be greater than or equal to 0",
        ),
        ("loop_control", {"metadata": {"issuesFound": 1.5}}, "metadata.issuesFound: Expected integer, received float"),
        (
            "loop_control",
            {"metadata": {"issuesFound": True}},
            "metadata.issuesFound: Expected number, received boolean",
        ),
        ("loop_control", {"metadata": {"reason": None}}, "metadata.reason: Expected string, received null"),
        ("gate_verdict", {"version": 2}, "version: Invalid literal value, expected 1"),
        ("gate_verdict", {"version": True}, "version: Invalid literal value, expected 1"),
        ("gate_verdict", {"rationale": "short"}, "rationale: String must contain at least 20 character(s)"),
        ("coordinator_signal", {"payload": "x"}, "payload: Expected object, received string"),
        ("coding_handoff", {"keyDecisions": ["x"] * 9}, "keyDecisions: Array must contain at most 8 element(s)"),
        ("coding_handoff", {"filesChanged": ["a", ""]}, "filesChanged.1: String must contain at least 1 character(s)"),
        ("verification_report", {"checks": []}, "checks: Array must contain at least 1 element(s)"),
        ("workflow_divergence", {"relatedStepId": "a..b"}, f"relatedStepId: {PATTERNS['expanded-step-id'][1]}"),
        ("assessment", {"dimensions": {}}, "dimensions: Must name at least one dimension"),
        ("assessment", {"dimensions": {"risk": 1}}, "dimensions.risk: Invalid input"),
        (
            "assessment",
            {"dimensions": {"risk": {"level": "x", "why": 1}}},
            "dimensions.risk: Unrecognized key(s) in object: 'why'",
        ),
    ],
)
def test_wording(name: str, changes: dict[str, Json], expected: str) -> None:
    assert issues(name, example_of(name, **changes)) == [expected]


@pytest.mark.parametrize(("value", "received"), [([], "array"), (None, "null"), ("x", "string"), (1, "number")])
def test_an_artifact_is_an_object(value: object, received: str) -> None:
    assert issues("loop_control", value) == [f": Expected object, received {received}"]


def test_a_missing_literal_is_said_like_a_wrong_one() -> None:
    assert issues("gate_verdict", {}) == [
        'kind: Invalid literal value, expected "wr.gate_verdict"',
        "version: Invalid literal value, expected 1",
        "verdict: Required",
        "confidence: Required",
        "rationale: Required",
    ]


def test_issues_come_in_declared_order_with_unknown_members_last() -> None:
    artifact = {"zzz": 1, "10": 1, "rationale": "", "verdict": "no", "version": 1, "kind": "wr.gate_verdict", "2": 1}
    assert [issue.split(":")[0] for issue in issues("gate_verdict", artifact)] == [
        "verdict",
        "confidence",
        "rationale",
        "",
    ]
    assert issues("gate_verdict", artifact)[-1] == ": Unrecognized key(s) in object: '2', '10', 'zzz'"


def test_team_size_is_worded_as_the_engine_words_it() -> None:
    artifact = example_of("differentiation_handoff")
    artifact["shapingHandoff"]["constraints"]["teamSize"] = 0
    assert issues("differentiation_handoff", artifact) == [
        "shapingHandoff.constraints.teamSize: Number must be greater than 0"
    ]


@pytest.mark.parametrize(
    ("provenance", "status", "expected"),
    [
        ({"kind": "probe_step", "result": "success"}, "available", []),
        ({"kind": "probe_step", "result": "success"}, "unknown", ["status"]),
        ({"kind": "probe_step", "result": "failure"}, "unknown", []),
        ({"kind": "probe_step", "result": "failure"}, "unavailable", []),
        ({"kind": "probe_step", "result": "failure"}, "available", ["status"]),
        ({"kind": "attempted_use", "result": "failure"}, "unavailable", ["provenance.failureCode"]),
        ({"kind": "attempted_use", "result": "failure", "failureCode": "tool_error"}, "unknown", []),
        (
            {"kind": "attempted_use", "result": "success", "failureCode": "unknown"},
            "available",
            ["provenance.failureCode"],
        ),
        ({"kind": "attempted_use", "result": "failure"}, "available", ["provenance.failureCode", "status"]),
        ({"kind": "manual_claim", "claimedBy": "user"}, "unavailable", []),
        ({"kind": "manual_claim", "claimedBy": "agent"}, "unknown", ["status"]),
        ({"kind": "manual_claim", "claimedBy": "agent", "result": "success"}, "available", ["provenance"]),
        ({"kind": "guess"}, "available", ["provenance.kind"]),
        ({}, "available", ["provenance.kind"]),
        ("probe_step", "available", ["provenance"]),
    ],
)
def test_capability_observations(provenance: Json, status: str, expected: list[str]) -> None:
    artifact = {
        "kind": "wr.capability_observation",
        "capability": "delegation",
        "status": status,
        "provenance": provenance,
    }
    assert [issue.split(":")[0] for issue in issues("capability_observation", artifact)] == expected


def test_a_report_of_failure_is_a_valid_report() -> None:
    assert issues("verification_report", example_of("verification_report", result="failed")) == []


def test_exclusions_may_be_left_out() -> None:
    artifact = example_of("differentiation_handoff")
    del artifact["shapingHandoff"]["constraints"]["exclusions"]
    assert issues("differentiation_handoff", artifact) == []


@pytest.mark.parametrize(
    ("name", "member", "most"), [("gate_verdict", "rationale", None), ("workflow_divergence", "summary", 1024)]
)
def test_lengths_count_utf16_units(name: str, member: str, most: int | None) -> None:
    least = schema_of(name)["properties"][member]["minLength"]
    astral = "\U0001f600"
    assert js.u16_length(astral) == 2
    if least % 2 == 0:
        assert issues(name, example_of(name, **{member: astral * (least // 2)})) == []
        assert issues(name, example_of(name, **{member: astral * (least // 2 - 1)})) != []
    if most:
        assert issues(name, example_of(name, **{member: astral * (most // 2)})) == []
        assert issues(name, example_of(name, **{member: astral * (most // 2) + "x"})) != []


@given(st.datetimes(), st.integers(0, 3), st.integers(0, 9999))
def test_every_real_moment_is_a_datetime(moment: datetime.datetime, form: int, fraction: int) -> None:
    text = moment.strftime("%m-%dT%H:%M")
    text = f"{moment.year:04}-{text}{['', ':59', ':00.' + str(fraction), ':07'][form]}Z"
    assert search(PATTERNS["datetime"][0])(text)


@given(st.integers(1, 9999), st.integers(0, 13), st.integers(0, 32))
def test_a_datetime_needs_a_date_that_exists(year: int, month: int, day: int) -> None:
    try:
        datetime.date(year, month, day)
        exists = True
    except ValueError:
        exists = False
    assert search(PATTERNS["datetime"][0])(f"{year:04}-{month:02}-{day:02}T00:00Z") is exists


@pytest.mark.parametrize(
    "text",
    ["2024-01-01", "2024-01-01T24:00Z", "2024-01-01T12:60Z", "2024-01-01T12:00", "2024-01-01T12:00+00:00",
     "2024-01-01T12:00:00.Z", "2024-01-01 12:00Z", "2024-01-01T12:00Z\n", "2024-1-1T12:00Z", "x2024-01-01T12:00Z"],
)  # fmt: skip
def test_other_forms_of_time_are_no_datetime(text: str) -> None:
    artifact = example_of("differentiation_handoff", generatedAt=text)
    assert issues("differentiation_handoff", artifact) == [f"generatedAt: {PATTERNS['datetime'][1]}"]


@given(st.uuids())
def test_uuids_of_any_version(value: Any) -> None:
    artifact = example_of("differentiation_handoff")
    artifact["shapingHandoff"]["evidenceTopK"] = [str(value), str(value).upper()]
    assert issues("differentiation_handoff", artifact) == []
    artifact["shapingHandoff"]["evidenceTopK"] = [str(value).replace("-", "")]
    assert issues("differentiation_handoff", artifact) == [f"shapingHandoff.evidenceTopK.0: {PATTERNS['uuid'][1]}"]


def test_a_foreign_pattern_can_not_hang_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contracts, "_PATTERN_SECONDS", 0.05)
    schema = {"type": "string", "pattern": "^(a|aa)+$"}
    assert validate_artifact(schema, "a" * 40) == []
    assert validate_artifact(schema, "a" * 80 + "!") == [": Must match the pattern ^(a|aa)+$"]


def test_a_known_kind_under_a_foreign_schema_does_not_crash() -> None:
    schema = {"type": "object", "x-objectMode": "open"}
    assert validate_artifact(schema, {"kind": "wr.capability_observation"}) == []
    assert validate_artifact(schema, {"kind": ["wr.assessment"]}) == []


# jsonschema, with lengths in UTF-16 units, is the second opinion.


def _min_length(_: Any, limit: int, value: Any, __: Any) -> Any:
    if isinstance(value, str) and js.u16_length(value) < limit:
        yield jsonschema.ValidationError("too short")


def _max_length(_: Any, limit: int, value: Any, __: Any) -> Any:
    if isinstance(value, str) and js.u16_length(value) > limit:
        yield jsonschema.ValidationError("too long")


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Any:
    # Python's own `$` would let a line end through, and its idea of blank is not that of ECMAScript.
    translated = (
        pattern.replace("$", r"\Z").replace(r"\S", f"[^{js.WHITESPACE_CLASS}]").replace(".*", r"[^\n\r\u2028\u2029]*")
    )
    if isinstance(value, str) and not re.search(translated, value, re.ASCII):
        yield jsonschema.ValidationError("no match")


Oracle = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft7Validator, {"minLength": _min_length, "maxLength": _max_length, "pattern": _pattern}
)
ORACLES = {name: Oracle(plain_schema(pack.schema)) for name, pack in PACKS.items()}
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 200),
    st.floats(-2, 2),
    st.text(max_size=3),
    st.just("\U0001f600" * 101),
    st.just("x" * 1025),
    st.builds(list),
    st.builds(dict),
    st.builds(lambda: ["x"] * 60),
    st.sampled_from(["available", "stop", "clean", "passed"]),
)


@st.composite
def mutants(draw: st.DrawFn) -> tuple[str, Any]:
    name = draw(st.sampled_from(sorted(PACKS)))
    artifact = copy.deepcopy(PACKS[name].example)
    for _ in range(draw(st.integers(1, 3))):
        containers = _containers(artifact)
        container = draw(st.sampled_from(containers))
        if isinstance(container, dict):
            member = draw(st.sampled_from([*container, "surprise"]))
            if member in container and draw(st.booleans()):
                del container[member]
            else:
                container[member] = draw(SCALARS)
        elif container and draw(st.booleans()):
            container[draw(st.integers(0, len(container) - 1))] = draw(SCALARS)
        else:
            container.append(draw(SCALARS))
    return name, artifact


def _containers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value, *(found for item in value.values() for found in _containers(item))]
    return [value, *(found for item in value for found in _containers(item))] if isinstance(value, list) else []


@given(mutants())
@settings(deadline=None, max_examples=times(75, deep=4_000))
def test_the_verdict_is_that_of_jsonschema(mutant: tuple[str, Any]) -> None:
    name, artifact = mutant
    found = validate_artifact(PACKS[name].schema, artifact)
    fits = ORACLES[name].is_valid(artifact)
    if name in ("wr.contracts.assessment", "wr.contracts.capability_observation") and fits:
        return  # rules beyond the schema may still object; they have tests of their own
    assert (found == []) is fits, found
