"""AS: assessments and their consequences."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lint_probe import fixed, lint

from workrail_lint import check_text
from workrail_lint.systems.workrail.rules.assessments import (
    AssessmentIdUnsafe,
    AssessmentLevelDuplicate,
    AssessmentMirrorDimension,
    AssessmentNoConsequence,
    ConsequenceUnscoped,
    assessment,
    consequence,
    dimension,
    rated,
)
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

BOTH = [assessment("depth", dimension("coverage")), assessment("breadth", dimension("reach"))]


@pytest.mark.parametrize(
    ("levels", "places"),
    [
        (["low", "high"], []),
        (["Low", "low"], ["/assessments/0/dimensions/0/levels/1"]),
        (["low", " low ", "LOW"], ["/assessments/0/dimensions/0/levels/1", "/assessments/0/dimensions/0/levels/2"]),
        (["low", "\ufefflow"], ["/assessments/0/dimensions/0/levels/1"]),  # JavaScript trims it
        (["low", "lower"], []),
    ],
)
def test_levels_that_look_alike(levels: list[str], places: list[str]) -> None:
    document = workflow(rated(), assessments=[assessment("depth", dimension("coverage", *levels))])
    assert [finding.pointer for finding in lint(AssessmentLevelDuplicate, document)] == places


def unscoped(guidance: str, *refs: str, scope: str | None = None, level: str = "low") -> dict[str, Any]:
    made = consequence(level, scope)
    made["effect"]["guidance"] = guidance
    return workflow(rated(*refs, assessmentConsequences=[made]), assessments=BOTH)


@pytest.mark.parametrize(
    ("document", "count"),
    [
        (unscoped("Do it again.", "depth", "breadth"), 1),
        (unscoped("Do it again.", "depth"), 0),
        (unscoped("Do it again.", "depth", "breadth", scope="depth"), 0),
        (unscoped("coverage low: read more. reach low: look wider.", "depth", "breadth"), 0),
        (unscoped("depth: read more. breadth: look wider.", "depth", "breadth"), 0),
        (unscoped("coverage low: read more.", "depth", "breadth"), 1),
        (unscoped("Do it again.", "depth", "breadth", level="unknown"), 0),
    ],
)
def test_unscoped(document: dict[str, Any], count: int) -> None:
    assert len(lint(ConsequenceUnscoped, document)) == count


def test_unscoped_in_a_body() -> None:
    asked = rated("depth", "breadth", assessmentConsequences=[consequence("low")])
    (finding,) = lint(ConsequenceUnscoped, workflow(loop(asked), assessments=BOTH))
    assert finding.pointer == "/steps/0/body/0/assessmentConsequences/0/when"


def test_a_consequence_elsewhere_is_enough() -> None:
    first = {**rated("depth"), "id": "first"}
    second = {**rated("depth", "breadth", assessmentConsequences=[consequence("low", "depth")]), "id": "second"}
    findings = lint(AssessmentNoConsequence, workflow(first, second, assessments=BOTH))
    assert [finding.pointer for finding in findings] == ["/steps/1/assessmentRefs/1"]


def test_a_level_the_assessment_lacks_is_no_consequence() -> None:
    narrow = [assessment("depth", dimension("coverage", "thin", "thick")), BOTH[1]]
    asked = rated("depth", "breadth", assessmentConsequences=[consequence("low")])
    (finding,) = lint(AssessmentNoConsequence, workflow(asked, assessments=narrow))
    assert finding.pointer == "/steps/0/assessmentRefs/0"


@pytest.mark.parametrize(
    ("levels", "mended"),
    [
        (["lov", "high"], [True]),
        (["low", "lov"], [False]),
        (["lov", "Low"], [True, False]),
        (["lov", "hihg"], [True] * 2),
    ],
)
def test_a_level_is_mended_unless_another_consequence_waits_for_it(levels: list[str], mended: list[bool]) -> None:
    asked = rated(assessmentConsequences=[consequence(level) for level in levels])
    found = check_text(json.dumps(workflow(asked, assessments=[assessment()]))).findings
    unknown = [finding for finding in found if finding.name == "consequence-level-unknown"]
    assert [finding.fix is not None for finding in unknown] == mended


def test_an_unsafe_id_is_renamed_everywhere() -> None:
    asked = rated("Gate One", "Other", assessmentConsequences=[consequence("low", "Gate One")])
    later = {**rated("Gate One"), "id": "later"}
    document = workflow(asked, loop(later), assessments=[assessment("Gate One"), assessment("Other")])
    first, second = lint(AssessmentIdUnsafe, document)
    assert (first.pointer, second.pointer) == ("/assessments/0/id", "/assessments/1/id")
    mended = json.loads(fixed(first, document))
    assert mended["assessments"][0]["id"] == "gate-one"
    assert mended["steps"][0]["assessmentRefs"] == ["gate-one", "Other"]
    assert mended["steps"][0]["assessmentConsequences"][0]["when"]["forAssessment"] == "gate-one"
    assert mended["steps"][1]["body"][0]["assessmentRefs"] == ["gate-one"]


def test_two_unsafe_ids_that_come_to_one_are_told_apart() -> None:
    names = ("Gate One", "gate one")
    asked = rated(*names, assessmentConsequences=[consequence("low", name) for name in names])
    first, second = lint(AssessmentIdUnsafe, workflow(asked, assessments=[assessment(name) for name in names]))
    assert first.fix is not None
    assert second.fix is None


def test_an_unsafe_id_without_consequences_harms_nobody() -> None:
    assert lint(AssessmentIdUnsafe, workflow(rated("Gate One"), assessments=[assessment("Gate One")])) == []


@pytest.mark.parametrize("ident", ["!!!", "Gate One"])
def test_no_fix_when_there_is_no_other_name(ident: str) -> None:
    asked = rated(ident, assessmentConsequences=[consequence("low")])
    document = workflow(asked, assessments=[assessment(ident), assessment("gate-one")])
    (finding,) = lint(AssessmentIdUnsafe, document)
    assert finding.fix is None


@pytest.mark.parametrize(
    ("dimensions", "count"),
    [
        (["confidence"], 1),
        (["Score"], 1),
        (["confidence", "coverage"], 0),
        (["confidence_in_tests"], 0),
        (["risk"], 1),
        (["coverage", "risk"], 1),
    ],
)
def test_mirrors(dimensions: list[str], count: int) -> None:
    branch = step("dig", runCondition={"and": [{"var": "risk", "equals": "high"}]})
    document = workflow(rated(), branch, assessments=[assessment("depth", *map(dimension, dimensions))])
    assert len(lint(AssessmentMirrorDimension, document)) == count
