"""Which parts of a workflow are too damaged for rules to look at."""

from __future__ import annotations

import pytest

from workrail_lint.documents.schema.engine import Violation
from workrail_lint.systems.workrail.rules.walk import damaged_places


def places(*violations: tuple[str, str]) -> set[str]:
    return damaged_places([Violation(pointer, keyword, None, "", None, {}) for pointer, keyword in violations])


@pytest.mark.parametrize(
    ("pointer", "damaged"),
    [
        ("/name", "/name"),
        ("/assessments/0/dimensions/1/levels", "/assessments"),
        ("/steps", "/steps"),
        ("/steps/3", "/steps/3"),
        ("/steps/3/title", "/steps/3"),
        ("/steps/3/body", "/steps/3"),
        ("/steps/3/runCondition/and/0/var", "/steps/3"),
        ("/steps/3/body/1/title", "/steps/3/body/1"),
        ("/steps/3/body/1/runCondition/and/0/var", "/steps/3/body/1"),
        ("/assessments/0/body/1/title", "/assessments"),
    ],
)
def test_a_value_of_a_wrong_type_damages_the_step_or_member_that_holds_it(pointer: str, damaged: str) -> None:
    for keyword in ("type", "anyOf", "oneOf"):
        assert places((pointer, keyword)) == {damaged}


@pytest.mark.parametrize("keyword", ["pattern", "required", "additionalProperties", "minItems"])
def test_a_value_of_the_right_type_damages_nothing(keyword: str) -> None:
    assert places(("/steps/3/title", keyword), ("/name", keyword), ("", keyword)) == set()


def test_a_step_of_an_unknown_kind_is_damaged_whatever_the_schema_calls_it() -> None:
    assert places(("/steps/3/type", "enum")) == {"/steps/3"}
    assert places(("/steps/3/typed", "enum")) == set()


def test_a_document_that_is_no_object_has_no_part_to_leave_out() -> None:
    assert places(("", "type")) == set()


def test_every_violation_counts() -> None:
    found = places(("", "type"), ("/steps/0/title", "pattern"), ("/steps/1/title", "type"), ("/name", "type"))
    assert found == {"/steps/1", "/name"}
