"""The kinds that are counted on request: who decided, who was next in line, and what was left out."""

from __future__ import annotations

from typing import Any

import pytest
from covered import loop, names, step, workflow

from pytest_workrail import api
from pytest_workrail.coverage.goals import DecidesGoal, LeftOutGoal, OrderGoal, goals
from pytest_workrail.coverage.observe import observe
from pytest_workrail.coverage.points import GoalKind, Members, Point
from pytest_workrail.engine.core.profiles import REFERENCE
from workrail_lint.systems.workrail.model.build import unchecked_condition

EITHER = {"or": [{"var": "size", "equals": "large"}, {"not": {"var": "risk", "equals": "low"}}]}


def strong(source: dict[str, Any], kind: type[GoalKind]) -> list[str]:
    return [point.name for point in goals(api.compile(source).program, REFERENCE, strong=True) if point.kind is kind]


def shown(source: dict[str, Any], **options: Any) -> set[str]:
    return names(observe(api.run(source, **options).transcript, strong=True))


def test_they_are_counted_on_request_only() -> None:
    source = workflow(step("first"), step("second", runCondition=EITHER))
    plain = {point.kind for point in goals(api.compile(source).program, REFERENCE)}
    assert not plain & {DecidesGoal, OrderGoal, LeftOutGoal}
    assert strong(source, DecidesGoal) == [
        "decides:second:/or/0 true",
        "decides:second:/or/0 false",
        "decides:second:/or/1/not true",
        "decides:second:/or/1/not false",
    ]
    assert strong(source, OrderGoal) == ["order:first:second"]


def test_a_member_decides_if_the_whole_would_be_different_without_it() -> None:
    source = workflow(step("first"), step("second", runCondition=EITHER))
    large = shown(source, context={"size": "large", "risk": "low"})
    assert "decides:second:/or/0 true" in large
    assert not any(name.startswith("decides:second:/or/1") for name in large)
    both = shown(source, context={"size": "large"})
    assert not any(name.startswith("decides:") for name in both), "either of them would do"
    neither = shown(source, context={"size": "small", "risk": "low"})
    assert {"decides:second:/or/0 false", "decides:second:/or/1/not true"} <= neither


def test_a_member_that_never_matters_is_no_goal() -> None:
    needless = {"or": [{"var": "n", "gt": 3}, {"var": "n", "gt": 5}]}
    source = workflow(step("first"), step("second", runCondition=needless))
    assert "decides:second:/or/1 true" not in strong(source, DecidesGoal)
    assert "decides:second:/or/0 true" in strong(source, DecidesGoal)


def test_neighbours_show_their_order_where_both_could_run() -> None:
    when = {"var": "go"}
    source = workflow(step("first", runCondition=when), step("second", runCondition=when), step("third"))
    assert strong(source, OrderGoal) == ["order:first:second", "order:second:third"]
    assert {"order:first:second", "order:second:third"} <= shown(source, context={"go": True})
    apart = workflow(step("first", runCondition=when), step("second", runCondition={"not": when}), step("third"))
    assert strong(apart, OrderGoal) == ["order:second:third"]


def test_inside_a_loop_the_iteration_is_known() -> None:
    late = {"and": [{"var": "currentIteration", "gte": 2}, {"var": "go"}]}
    source = workflow(loop("each", [step("inner"), step("later", runCondition=late)], 3, type="for", count=2))
    assert "decides:each/later:/and/0 false" in shown(source, context={"go": True})
    assert "order:each/inner:later" in shown(source, context={"go": True})


def test_a_dimension_that_is_left_out() -> None:
    dimensions = [
        {"id": name, "purpose": "How much.", "levels": ["small", "large"], **members}
        for name, members in (("effort", {}), ("risk", {"required": False}))
    ]
    source = workflow(
        step("judge", assessmentRefs=["size"]),
        assessments=[{"id": "size", "purpose": "How big.", "dimensions": dimensions}],
    )
    goal = "left-out:judge#size.{}:accepted or refused"
    assert strong(source, LeftOutGoal) == [goal.format("effort"), goal.format("risk")]
    assert goal.format("risk") in shown(source), "the shortest answer leaves out what is optional"
    assert goal.format("effort") not in shown(source)
    transcript = api.run(source).transcript
    weak = {point for point in observe(transcript, strong=True) if not point.kind.is_strong}
    assert observe(transcript) == weak, "on request only"


def test_a_member_that_decides_only_in_a_late_iteration_is_a_goal() -> None:
    condition = {"or": [{"var": "round", "gte": 4}, {"var": "ready", "equals": True}]}
    body = [step("try")]
    source = workflow(
        step("plan"), loop("again", body, limit=6, type="until", condition=condition, iterationVar="round")
    )
    assert "decides:again:/or/0 true" in strong(source, DecidesGoal)


def test_the_only_dimension_of_an_assessment_can_not_be_left_out() -> None:
    def rated(*dimensions: str) -> dict[str, Any]:
        described = [{"id": name, "purpose": name, "levels": ["low", "high"]} for name in dimensions]
        assessments = [{"id": "risk", "purpose": "How risky.", "dimensions": described}]
        return workflow(step("rate", assessmentRefs=["risk"]), assessments=assessments)

    assert strong(rated("size"), LeftOutGoal) == []
    assert len(strong(rated("size", "depth"), LeftOutGoal)) == 2


def test_a_single_comparison_decides_alone_and_is_no_member() -> None:
    assert Members(unchecked_condition({"var": "a"})).places == {}
    both = unchecked_condition({"and": [{"var": "a"}, {"var": "b"}]})
    assert list(Members(both).places.values()) == ["/and/0", "/and/1"]


@pytest.mark.parametrize(("case", "is_there"), [("/and/0", True), ("/not/and/0", False), ("/not/not/and/0", True)])
def test_only_an_odd_number_of_negations_turns_a_member_round(case: str, is_there: bool) -> None:
    for truth, shows in (("true", is_there), ("false", not is_there)):
        assert DecidesGoal.shows_there(Point(DecidesGoal, "step", f"{case} {truth}")) is shows
