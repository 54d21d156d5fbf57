"""Assessments and what follows from them."""

from __future__ import annotations

from typing import Any

import pytest
from engine_ir import pack, step, typed
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.engine.core.index import ASSESSMENT, contract_packs
from pytest_workrail.engine.core.outputs import assess, followups
from pytest_workrail.engine.model.events import RecordedDimension
from pytest_workrail.engine.model.reasons import FollowupRequired
from workrail_lint.systems.workrail.model.build import program_model

PACK = contract_packs(program_model({"contracts": [pack(ASSESSMENT)]}))[ASSESSMENT]
READINESS = {
    "id": "readiness",
    "purpose": "Ready?",
    "dimensions": [
        {"id": "confidence", "purpose": "How sure", "levels": ["low", "High"]},
        {"id": "scope", "purpose": "How wide", "levels": ["small", "SMALL", "large"], "required": False},
    ],
}
SAFETY = {
    "id": "safety",
    "purpose": "Safe?",
    "dimensions": [{"id": "risk", "purpose": "Risk", "levels": ["low", "high"]}],
}


def _artifact(**members: Any) -> dict[str, Any]:
    return {"kind": "wr.assessment", **members}


def _assess(*artifacts: Any, refs: tuple[str, ...] = ("readiness",)) -> Any:
    declared = program_model({"assessments": [READINESS, SAFETY]}).assessments
    return assess(refs, declared, artifacts, PACK)


def test_a_valid_assessment_is_recorded_with_its_canonical_levels() -> None:
    submitted = _artifact(
        dimensions={"scope": "large", "confidence": {"level": " HIGH ", "rationale": "  thin \n"}},
        summary="All in all.",
    )
    verdict, (recorded,) = _assess({"kind": "wr.other"}, submitted)
    assert (verdict.valid, verdict.issues) == (True, ())
    assert (recorded.assessment_id, recorded.artifact_index, recorded.summary) == ("readiness", 1, "All in all.")
    assert recorded.dimensions == (
        RecordedDimension("confidence", "High", "normalized", "thin"),
        RecordedDimension("scope", "large", "exact", None),
    )
    assert recorded.normalization_notes == ('Normalized level " HIGH " to canonical value "High".',)


def test_an_empty_rationale_is_dropped() -> None:
    _, (recorded,) = _assess(_artifact(dimensions={"confidence": {"level": "low", "rationale": " "}}))
    assert recorded.dimensions[0].rationale is None


@pytest.mark.parametrize(
    ("artifacts", "issues"),
    [
        ([], ['This step requires an assessment submission for "readiness".']),
        (["wr.assessment", {"kind": 5}], ['This step requires an assessment submission for "readiness".']),
        ([_artifact(dimensions={"scope": "large"})], ['Missing assessment dimension "confidence".']),
        (
            [_artifact(dimensions={"confidence": "maybe"})],
            ['Dimension "confidence": Level "maybe" is not allowed. Allowed levels: low, High.'],
        ),
        (
            [_artifact(dimensions={"confidence": "low", "mood": "good"})],
            ['Unknown assessment dimension "mood" for assessment "readiness".'],
        ),
    ],
)
def test_issues(artifacts: list[Any], issues: list[str]) -> None:
    verdict, recorded = _assess(*artifacts)
    assert (verdict.valid, list(verdict.issues), recorded) == (False, issues, ())
    assert len(verdict.suggestions) == len(issues)


def test_a_level_that_can_mean_two_things() -> None:
    verdict, _ = _assess(_artifact(dimensions={"confidence": "low", "scope": "Small"}))
    assert "ambiguous" in verdict.issues[0]
    assert "small, SMALL" in verdict.suggestions[0]
    exact, (recorded,) = _assess(_artifact(dimensions={"confidence": "low", "scope": "SMALL"}))
    assert exact.valid
    assert recorded.dimensions[1].level == "SMALL"


def test_the_first_candidate_is_taken_and_must_be_well_formed() -> None:
    good = _artifact(dimensions={"confidence": "low"})
    verdict, _ = _assess(_artifact(dimensions={}), good)
    assert len(verdict.issues) == 1
    assert "malformed" in verdict.issues[0]
    assert _assess(good, _artifact(dimensions={}))[0].valid


def test_an_assessment_of_something_else_names_both() -> None:
    verdict, _ = _assess(_artifact(assessmentId="safety", dimensions={"confidence": "sky-high", "unknown": "x"}))
    assert (len(verdict.issues), len(verdict.suggestions)) == (1, 1)
    assert '"safety"' in verdict.issues[0]
    assert '"readiness"' in verdict.issues[0]


def test_several_assessments_are_matched_by_id_and_recorded_together_or_not_at_all() -> None:
    refs = ("safety", "readiness")
    ready = _artifact(assessmentId="readiness", dimensions={"confidence": "low"})
    safe = _artifact(assessmentId="safety", dimensions={"risk": "LOW"})
    verdict, recorded = _assess(ready, _artifact(assessmentId="safety"), safe, refs=refs)
    assert verdict.valid
    assert [(each.assessment_id, each.artifact_index) for each in recorded] == [("safety", 2), ("readiness", 0)]
    missing, nothing = _assess(ready, _artifact(dimensions={"risk": "low"}), refs=refs)
    assert missing.issues[0].startswith('Missing assessment artifact for "safety". ')
    assert (len(missing.issues), nothing) == (1, ())


def test_undeclared_assessments_are_the_only_issue() -> None:
    verdict, _ = _assess(refs=("nobody", "readiness", "none"))
    assert [issue.split('"')[1] for issue in verdict.issues] == ["nobody", "none"]
    nothing_declared, _ = assess(["a", "b"], [], [], PACK)
    assert len(nothing_declared.issues) == 2


def _consequence(level: str, guidance: str, assessment: str | None = None) -> dict[str, Any]:
    when = {"anyEqualsLevel": level} if assessment is None else {"anyEqualsLevel": level, "forAssessment": assessment}
    return {"when": when, "effect": {"kind": "require_followup", "guidance": guidance}}


def test_consequences_fire_once_each_in_their_order() -> None:
    ready = _artifact(assessmentId="readiness", dimensions={"confidence": "LOW", "scope": "large"})
    safe = _artifact(assessmentId="safety", dimensions={"risk": "low"})
    _, recorded = _assess(ready, safe, refs=("readiness", "safety"))
    written = [
        _consequence("large", "Narrow it."),
        _consequence("low", "Of safety.", "safety"),
        _consequence("low", "Of any."),
        _consequence("LOW", "Canonical levels only."),
        _consequence("large", "Not there.", "safety"),
    ]
    asked = typed(step("s", output={"assessments": {"refs": ["readiness"], "consequences": written}})).assessments
    consequences = asked.consequences
    assert followups(consequences, recorded) == (
        FollowupRequired("readiness", "scope", "large", "Narrow it."),
        FollowupRequired("safety", "risk", "low", "Of safety."),
        FollowupRequired("readiness", "confidence", "low", "Of any."),
    )
    assert followups(consequences, ()) == ()


_levels = st.sampled_from(["low", "High", "HIGH", " low ", "small", "Small", "nope", ""])
_answers = (
    _levels | st.fixed_dictionaries({"level": _levels}, optional={"rationale": st.text(max_size=3)}) | st.integers()
)
_dimensions = st.dictionaries(st.sampled_from(["confidence", "scope", "risk", "mood"]), _answers)
_submissions = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["wr.assessment", "wr.other"])},
        optional={"assessmentId": st.sampled_from(["readiness", "safety", 5]), "dimensions": _dimensions},
    ),
    max_size=3,
)


@settings(deadline=None)
@given(_submissions, st.sampled_from([("readiness",), ("safety",), ("readiness", "safety")]))
def test_every_submission_is_either_recorded_or_explained(artifacts: list[Any], refs: tuple[str, ...]) -> None:
    verdict, recorded = _assess(*artifacts, refs=refs)
    assert verdict.valid is not bool(verdict.issues)
    assert len(verdict.suggestions) == len(verdict.issues)
    if verdict.valid:
        assert [each.assessment_id for each in recorded] == list(refs)
        for each in recorded:
            declared = {
                d["id"]: d["levels"]
                for a in (READINESS, SAFETY)
                if a["id"] == each.assessment_id
                for d in a["dimensions"]
            }
            assert all(dimension.level in declared[dimension.dimension_id] for dimension in each.dimensions)
    else:
        assert recorded == ()
