"""What holds for every document, sound or damaged, under every policy."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from compat_shipping_schema import schema_errors
from compat_strategies import JSON, damaged_documents, design_documents, shipping_documents
from effort import times
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from workrail_lint.base import js
from workrail_lint.documents import pointer as pointers
from workrail_lint.systems.workrail.compat import Policy, normalize
from workrail_lint.systems.workrail.compat.normalize import is_design_form
from workrail_lint.systems.workrail.compat.rewrite import rewrite

SLOW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=times(25, deep=200))
ANY = design_documents() | damaged_documents() | JSON
POLICIES = st.sampled_from(list(Policy))


def nodes(root: Any) -> dict[str, Any]:
    """Every value by pointer."""
    found: dict[str, Any] = {}
    stack: list[tuple[str, Any]] = [("", root)]
    while stack:
        place, value = stack.pop()
        found[place] = value
        if isinstance(value, dict | list):
            entries = value.items() if isinstance(value, dict) else enumerate(value)
            stack += [(pointers.child(place, token), inner) for token, inner in entries]
    return found


def same(one: Any, other: Any) -> bool:
    """Equal as far as this place goes: what stands inside containers is looked at in its own place."""
    if isinstance(one, dict | list):
        return type(one) is type(other)
    return js.strict_equal(one, other)


def covered(place: str, by: set[str]) -> bool:
    while True:
        if place in by:
            return True
        if not place:
            return False
        place = pointers.parent(place)


@SLOW
@given(design_documents())
def test_a_sound_design_document_becomes_a_valid_shipping_document(document: dict[str, Any]) -> None:
    result = normalize(document)
    assert result.errors == []
    assert schema_errors(result.document) == []


@SLOW
@given(ANY, POLICIES)
def test_the_input_is_never_changed(document: Any, policy: Policy) -> None:
    before = copy.deepcopy(document)
    normalize(document, policy)
    assert js.deep_equal(document, before)


@SLOW
@given(ANY, st.sampled_from([Policy.NORMALIZE, Policy.LOSSLESS]))
def test_normalizing_twice_is_normalizing_once(document: Any, policy: Policy) -> None:
    once = normalize(document, policy)
    twice = normalize(once.document, policy)
    assert twice.warnings == []
    assert twice.document is once.document
    if not once.errors:
        assert twice.errors == []


@SLOW
@given(ANY)
def test_rejecting_changes_nothing_and_warns_of_nothing(document: Any) -> None:
    rejected = normalize(document, Policy.REJECT)
    assert rejected.document is document
    assert rejected.warnings == []
    assert rejected.refused == ()
    assert rejected.step_codes == {}
    for place in nodes(document):
        assert rejected.pointer_map(place) == place
    normalized = normalize(document)
    found = {(error.code, error.pointer) for error in rejected.errors}
    for warning in normalized.warnings:
        if warning.code != "compat-condition-unused":
            assert (warning.code, warning.pointer) in found


@SLOW
@given(ANY, POLICIES)
def test_every_report_is_about_a_place_in_the_original_and_in_document_order(document: Any, policy: Policy) -> None:
    result = normalize(document, policy)
    for reports in ([w.pointer for w in result.warnings], [e.pointer for e in result.errors]):
        assert reports == sorted(reports, key=pointers.sort_key)
        for place in reports:
            pointers.resolve(document, place)
    for place in result.refused:
        pointers.resolve(document, place)
    for place in result.step_codes:
        assert isinstance(pointers.resolve(result.document, place), dict)


@SLOW
@given(ANY, st.sampled_from([Policy.NORMALIZE, Policy.LOSSLESS]))
def test_nothing_is_silent(document: Any, policy: Policy) -> None:
    result = normalize(document, policy)
    if result.document is document:
        assert not any(warning.action.value == "rewrite" for warning in result.warnings)
        return
    reported = {warning.pointer for warning in result.warnings}
    kept: set[str] = set()
    for place, value in nodes(result.document).items():
        origin = result.pointer_map(place)
        if same(value, pointers.resolve(document, origin)):
            kept.add(origin)
        else:
            assert covered(origin, reported), (place, origin)
    for place in nodes(document):
        assert place in kept or covered(place, reported), place


@SLOW
@given(ANY)
def test_a_lossless_policy_refuses_exactly_what_loses_something(document: Any) -> None:
    freely = normalize(document)
    strictly = normalize(document, Policy.LOSSLESS)
    lost = {(warning.code, warning.pointer) for warning in freely.warnings if warning.lossy}
    assert not any(warning.lossy for warning in strictly.warnings)
    assert lost == {(e.code, e.pointer) for e in strictly.errors} - {(e.code, e.pointer) for e in freely.errors}


@SLOW
@given(shipping_documents() | damaged_documents(), POLICIES)
def test_the_look_before_the_rewrite_misses_nothing(document: dict[str, Any], policy: Policy) -> None:
    if not is_design_form(document):
        event("not design form")
        result = rewrite(document, policy)
        assert result.document is document
        assert result.warnings == []
        assert result.errors == []


@SLOW
@given(damaged_documents())
def test_a_document_without_design_form_constructs_is_what_comes_back(document: dict[str, Any]) -> None:
    result = normalize(document)
    if not result.warnings:
        assert result.document is document


@given(JSON.filter(lambda value: not isinstance(value, dict)), POLICIES)
def test_what_is_no_object_comes_back(document: Any, policy: Policy) -> None:
    assert normalize(document, policy).document is document


@pytest.mark.parametrize("policy", list(Policy))
def test_deep_nesting_does_not_exhaust_the_stack(policy: Policy) -> None:
    criteria: Any = {"type": "contains", "value": "x"}
    condition: Any = []
    for _ in range(5_000):
        criteria = {"not": criteria}
        condition = [condition]
    document = {
        "conditions": condition,
        "features": [{"id": "wr.features.capabilities", "config": condition}],
        "capabilities": {"delegation": condition},
        "steps": [
            {"id": "one", "validationCriteria": criteria, "output": {"contractRef": condition}},
            {"type": "loop", "id": condition, "loopId": "a", "while": condition, "body": {"body": condition}},
        ],
    }
    result = normalize(document, policy)
    assert result.errors
