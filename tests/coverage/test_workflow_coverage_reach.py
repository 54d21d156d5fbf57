"""What can't happen is no goal, and every goal can be reached: each is shown by a run that is made for it."""

from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from covered import by_artifact, goal_names, loop, names, step, workflow
from effort import times
from explorer import explore
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import for_each
from zoo import ZOO

from pytest_workrail import api
from pytest_workrail.agents.correct import Auto
from pytest_workrail.coverage.goals import BlockerGoal, GapGoal, GoalList, LoopGoal, goals
from pytest_workrail.coverage.observe import Paths, observe
from pytest_workrail.coverage.points import UNSET, Point
from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from pytest_workrail.run import start
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from workrail_lint import Ok, compile_workflow
from workrail_lint.systems.workrail.model.build import program_model

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
BOTH: tuple[ProfileName, ...] = ("reference", "locked")
MANY_TRIES = 12
NEVER = {"and": [{"var": "a", "equals": 1}, {"var": "a", "equals": 2}]}
EVER = {"or": [{"var": "a", "not_equals": 1}, {"var": "a", "equals": 1}]}
OPEN = {"var": "a", "equals": 1}


def of_kind(kind: str, source: dict[str, Any], profile: ProfileName = "reference") -> list[str]:
    return [name for name in goal_names(source, profile) if name.startswith(f"{kind}:")]


def test_a_condition_that_is_always_the_same() -> None:
    source = workflow(step("first"), step("never", runCondition=NEVER), step("ever", runCondition=EVER))
    assert of_kind("condition", source) == ["condition:never:false", "condition:ever:true"]
    assert of_kind("step", source) == ["step:first:done", "step:ever:done"], "and what it hides is no goal either"


def test_what_holds_while_the_step_runs_is_taken_into_account() -> None:
    fragments = [
        {"id": "same", "text": "Same.", "when": OPEN},
        {"id": "other", "text": "Other.", "when": {"not": OPEN}},
        {"id": "free", "text": "Free.", "when": {"var": "b"}},
    ]
    source = workflow(step("first", runCondition=OPEN, promptFragments=fragments, requireConfirmation=OPEN))
    assert of_kind("fragment", source) == [
        "fragment:first#same:shown",
        "fragment:first#other:hidden",
        "fragment:first#free:shown",
        "fragment:first#free:hidden",
    ]
    assert of_kind("gate", source) == ["gate:first:asked"]


def test_a_gate_that_never_asks_blocks_nobody() -> None:
    source = workflow(step("first", requireConfirmation=NEVER))
    assert of_kind("gate", source, "locked") == ["gate:first:free"]
    assert of_kind("blocker", source, "locked") == []


@pytest.mark.parametrize(
    ("members", "exits"),
    [
        ({"type": "while", "condition": EVER}, ["limit"]),
        ({"type": "while", "condition": NEVER}, ["zero"]),
        ({"type": "until", "condition": NEVER}, ["limit"]),
        ({"type": "while", "condition": OPEN}, ["zero", "one", "many", "limit"]),
        ({"type": "while", "condition": OPEN, "limit": 1}, ["zero", "limit"]),
        ({"type": "while", "condition": OPEN, "limit": 2}, ["zero", "one", "limit"]),
        ({"type": "for", "count": "n", "limit": 1}, ["zero", "one", "limit"]),
        ({"type": "while", "condition": OPEN, "runCondition": OPEN}, ["one", "many", "limit"]),
        ({"type": "while", "condition": {"var": "currentIteration", "lt": 3}}, ["many"]),
        ({"type": "while", "condition": {"var": "currentIteration", "lt": 9}}, ["limit"]),
        ({"type": "until", "condition": {"var": "currentIteration", "gte": 2}}, ["one"]),
        (by_artifact("again") | {"limit": 1}, ["limit"]),
    ],
    ids=str,
)
def test_how_loops_can_end(members: dict[str, Any], exits: list[str]) -> None:
    source = workflow(step("first"), loop("again", [step("inner")], **members), step("last"))
    assert of_kind("loop", source) == [f"loop:again:{case}" for case in exits]
    assert ("step:again/inner:done" in goal_names(source)) is (exits != ["zero"])


@pytest.mark.parametrize(
    ("condition", "outcomes"),
    [
        ({"var": "currentIteration", "gt": 3}, ["false"]),
        ({"var": "currentIteration", "gt": 2}, ["true", "false"]),
        ({"var": "currentIndex", "gte": 0}, ["true"]),
        ({"var": "currentItem", "equals": "urgent"}, ["true", "false"]),
    ],
    ids=str,
)
def test_variables_of_a_loop_are_known(condition: dict[str, Any], outcomes: list[str]) -> None:
    source = workflow(loop("each", [step("inner", runCondition=condition)], 3, type="forEach", items="list"))
    assert of_kind("condition", source) == [f"condition:each/inner:{outcome}" for outcome in outcomes]


@pytest.mark.parametrize(
    ("condition", "outcomes"),
    [
        ({"contains": "07"}, ["true", "false"]),
        ({"contains": "011"}, ["false"]),
        ({"equals": 107}, ["true", "false"]),
        ({"equals": 111}, ["false"]),
    ],
    ids=str,
)
def test_every_iteration_is_tried_where_a_number_is_read_as_text(
    condition: dict[str, Any], outcomes: list[str]
) -> None:
    """Only the 107th of 110 iterations has a number that contains `07`."""
    inner = step("inner", runCondition={"var": "currentIteration", **condition})
    source = workflow(loop("again", [inner], 110, type="for", count=110))
    assert of_kind("condition", source) == [f"condition:again/inner:{outcome}" for outcome in outcomes]


@pytest.mark.parametrize(
    "members",
    [
        [{"contains": "api"}, {"contains": "db"}],
        [{"gt": 3}, {"lt": 4}],
        [{"gt": 0.2}, {"lt": 0.8}],
        [{"gt": 10}, {"lt": 100}, {"not": {"var": "a", "in": [11, 99]}}],
    ],
    ids=str,
)
def test_a_case_that_only_an_unusual_value_shows_is_a_goal(members: list[dict[str, Any]]) -> None:
    condition = {"and": [part if "not" in part else {"var": "a", **part} for part in members]}
    source = workflow(step("first"), step("rare", runCondition=condition, notesOptional=False))
    assert of_kind("condition", source) == ["condition:rare:true", "condition:rare:false", "condition:rare:unset"]
    assert {"step:rare:done", "blocker:rare:MISSING_REQUIRED_NOTES"} <= set(goal_names(source))


def test_a_contradiction_over_many_variables_is_no_goal() -> None:
    large = {"and": [{"var": f"v{number}", "equals": number} for number in range(12)]}
    source = workflow(step("first", runCondition=large), step("last"))
    assert of_kind("condition", source) == ["condition:first:true", "condition:first:false", "condition:first:unset"]
    never = {"and": [*large["and"], {"var": "v7", "equals": 8}]}
    source = workflow(step("first", runCondition=never), step("last"))
    assert of_kind("condition", source) == ["condition:first:false"]
    body = [step("inner", runCondition={"and": [large, {"var": "currentIteration", "gte": 60}]})]
    looped = workflow(loop("each", body, 100, type="for", count="n"))
    assert of_kind("condition", looped) == ["condition:each/inner:true", "condition:each/inner:false"]


@pytest.mark.parametrize(
    ("between", "first", "second", "is_skippable"),
    [
        ([], {}, {}, True),
        ([step("always")], {}, {}, False),
        ([step("sometimes", runCondition=OPEN)], {}, {}, True),
        ([step("sometimes", runCondition=OPEN)], {}, {"runCondition": OPEN}, False),
        ([step("always")], {"runCondition": OPEN}, {}, True),
        ([step("always", runCondition=EVER)], {}, {}, False),
    ],
)
def test_a_decision_can_end_a_loop_before_it_begins(
    between: list[dict[str, Any]], first: dict[str, Any], second: dict[str, Any], is_skippable: bool
) -> None:
    source = workflow(
        loop("loop-one", [step("inner-one")], **by_artifact("loop-one"), **first),
        *between,
        loop("loop-two", [step("inner-two")], **by_artifact("loop-two"), **second),
        step("last"),
    )
    assert ("loop:loop-two:zero" in goal_names(source)) is is_skippable
    assert "loop:loop-two:zero" not in goal_names(source, "locked"), "a decision names its loop there"
    assert "loop:loop-one:zero" not in goal_names(source) or "runCondition" in first


def test_the_decision_that_ended_one_loop_ends_the_next_in_a_run() -> None:
    source = workflow(
        loop("loop-one", [step("inner-one")], **by_artifact("loop-one")),
        loop("loop-two", [step("inner-two")], **by_artifact("loop-two")),
        step("last"),
    )
    run = api.run(source)
    assert run.steps == ("inner-one", "last")
    assert "loop:loop-two:zero" in names(observe(run.transcript))


@pytest.mark.parametrize(("ends_at", "outcomes"), [(2, ["true", "false"]), (1, ["false"])])
def test_a_loop_that_its_own_condition_ends_has_no_iteration_beyond(ends_at: int, outcomes: list[str]) -> None:
    second = step("second", runCondition={"var": "currentIteration", "equals": 2})
    goes_on = {"var": "currentIteration", "lte": ends_at}
    source = workflow(loop("again", [step("inner"), second], 3, type="while", condition=goes_on))
    assert of_kind("condition", source) == [f"condition:again/second:{outcome}" for outcome in outcomes]


def test_a_loop_that_counts_goes_on_while_its_count_is_above_the_iteration() -> None:
    low, high = {"var": "n", "lte": 0}, {"var": "n", "gte": 2}
    body = [step("low", runCondition=low), step("high", runCondition=high), step("inner")]
    source = workflow(loop("each", body, 3, type="for", count="n"))
    assert of_kind("condition", source) == [
        "condition:each/low:false",
        "condition:each/high:true",
        "condition:each/high:false",
    ]
    entered = workflow(loop("each", [step("inner")], 3, type="for", count="n", runCondition={"var": "n", "gt": 0}))
    assert of_kind("loop", entered) == ["loop:each:one", "loop:each:many", "loop:each:limit"]


def test_criteria_that_accept_anything_and_criteria_of_some_contexts() -> None:
    anything = [{"type": "contains", "value": "", "message": "Say something."}]
    something = [{"type": "contains", "value": "done", "message": "Say that it is done."}]
    sometimes = [{**something[0], "condition": OPEN}]
    never = [{**something[0], "condition": NEVER}]
    for criteria, fails in ((anything, False), (something, True), (sometimes, True), (never, False)):
        source = workflow(step("first", validationCriteria=criteria))
        expected = ["blocker:first:MISSING_REQUIRED_OUTPUT", *["blocker:first:INVALID_REQUIRED_OUTPUT"] * fails]
        assert of_kind("blocker", source) == expected


def test_a_contract_that_nothing_of_its_kind_can_break() -> None:
    ir = api.compile(workflow(step("first", outputContract={"contractRef": "wr.contracts.gate_verdict"}))).ir
    kind = ir["contracts"][0]["artifactKind"]
    lenient = {"type": "object", "properties": {"kind": {"const": kind}}}
    tolerant = {**ir, "contracts": [{**ir["contracts"][0], "schema": lenient}]}
    assert _blockers(tolerant) == ["MISSING_REQUIRED_OUTPUT"]
    # One member that may be left out, but not be just anything.
    strict = {**lenient, "properties": {**lenient["properties"], "verdict": {"type": "string"}}}
    breakable = {**ir, "contracts": [{**ir["contracts"][0], "schema": strict}]}
    assert _blockers(breakable) == ["MISSING_REQUIRED_OUTPUT", "INVALID_REQUIRED_OUTPUT"]


def _blockers(ir: dict[str, Any]) -> list[str | None]:
    found = goals(program_model(ir), PROFILES["reference"])
    return [point.case for point in found if point.kind is BlockerGoal]


# ----------------------------------------------------------------------------------------------- everything is reached


@cache
def shipped() -> dict[str, dict[str, Any]]:
    """The IR of every workflow that comes with the project."""
    paths = sorted([*FIXTURES.glob("workflows/*.json"), *FIXTURES.glob("scenarios/workflows/*.json")])
    compiled = {path.stem: compile_workflow(path, routines=FIXTURES / "routines") for path in paths}
    return {name: result.value.ir for name, result in compiled.items() if isinstance(result, Ok)}


def unreached(ir: dict[str, Any], profile: ProfileName) -> list[Point]:
    """The goals that no run shows, after as many tries as there are sensible ways."""
    seen = set(observe(drive(Setup(ir, profile), Auto()).transcript))
    missing = []
    for goal in goals(program_model(ir), PROFILES[profile]):
        for transcript in islice(explore(ir, profile, goal), MANY_TRIES):
            if goal in seen:
                break
            seen |= observe(transcript)
        if goal not in seen:
            missing.append(goal)
    return missing


def test_there_are_shipped_workflows() -> None:
    assert len(shipped()) > 10


@pytest.mark.search
@pytest.mark.parametrize(
    ("name", "profile"),
    [(name, BOTH[(n + m) % 2]) for n, name in enumerate(shipped()) for m in range(times(1, deep=2))],
)
def test_every_goal_of_a_shipped_workflow_can_be_reached(name: str, profile: ProfileName) -> None:
    assert unreached(shipped()[name], profile) == []


VALUES = st.sampled_from([1, 2, "x", "yes", True, None])


def conditions(*variables: str) -> st.SearchStrategy[dict[str, Any]]:
    """Conditions on these variables, many of which always come out the same."""
    name = st.sampled_from(variables)
    compared = st.sampled_from(["equals", "not_equals"])
    ordered = st.sampled_from(["gt", "gte", "lt", "lte"])
    leaf = st.one_of(
        st.builds(lambda variable, operator, value: {"var": variable, operator: value}, name, compared, VALUES),
        st.builds(
            lambda variable, operator, value: {"var": variable, operator: value}, name, ordered, st.integers(0, 3)
        ),
        st.builds(lambda variable: {"var": variable}, name),
    )
    several = st.lists(leaf, min_size=1, max_size=3)
    return st.one_of(
        leaf,
        st.builds(lambda inner: {"not": inner}, leaf),
        st.builds(lambda word, inner: {word: inner}, st.sampled_from(["and", "or"]), several),
    )


CONDITIONS = conditions("a", "b", "currentIteration")


@st.composite
def steps(draw: st.DrawFn, step_id: str, *, is_open: bool = False) -> dict[str, Any]:
    members: dict[str, Any] = {"notesOptional": draw(st.booleans())}
    if not is_open and draw(st.booleans()):
        members["runCondition"] = draw(CONDITIONS)
    if draw(st.booleans()):
        members["promptFragments"] = [{"id": "part", "text": "More.", "when": draw(CONDITIONS)}]
    match draw(st.sampled_from(["plain", "gate", "contract", "assessment", "criteria"])):
        case "gate":
            members["requireConfirmation"] = draw(st.one_of(st.just(True), CONDITIONS))
        case "contract":
            members["outputContract"] = {"contractRef": "wr.contracts.gate_verdict", "required": draw(st.booleans())}
        case "assessment":
            effect = {"kind": "require_followup", "guidance": "Look again."}
            members["assessmentRefs"] = ["risk"]
            members["assessmentConsequences"] = [{"when": {"anyEqualsLevel": "large"}, "effect": effect}]
        case "criteria":
            members["validationCriteria"] = [{"type": "contains", "value": "done", "message": "Say so."}]
    return step(step_id, **members)


@st.composite
def loops(draw: st.DrawFn, loop_id: str) -> dict[str, Any]:
    """A loop with variables of its own, so that whoever explores can have it without anything else.

    None is driven by decisions: one decision is heard by every loop that is asked in the same search.
    """
    own = loop_id.replace("-", "_")
    decided = conditions(f"{own}_more", "currentIteration")
    source: dict[str, Any]
    match draw(st.sampled_from(["while", "until", "count", "variable", "items"])):
        case "count":
            source = {"type": "for", "count": 1}
        case "variable":
            source = {"type": "for", "count": f"{own}_count"}
        case "items":
            source = {"type": "forEach", "items": f"{own}_items"}
        case kind:
            source = {"type": kind, "condition": draw(decided)}
    # Whoever is to end a loop has to be in it, so there is one step that always runs.
    body = [draw(steps(f"{loop_id}-0", is_open=True)), *draw(st.lists(steps(f"{loop_id}-1"), max_size=1))]
    entered = {"runCondition": draw(conditions(f"{own}_entered"))} if draw(st.booleans()) else {}
    return loop(loop_id, body, draw(st.integers(1, 3)), **source, **entered)


@st.composite
def workflows(draw: st.DrawFn) -> dict[str, Any]:
    dimension = {"id": "size", "purpose": "How much.", "levels": ["small", "large"]}
    listed = [
        draw(st.one_of(steps(f"step-{number}"), loops(f"loop-{number}"))) for number in range(draw(st.integers(1, 3)))
    ]
    assessments = [{"id": "risk", "purpose": "How risky.", "dimensions": [dimension]}]
    return workflow(*listed, assessments=assessments)


def compiled(source: dict[str, Any]) -> dict[str, Any] | None:
    result = compile_workflow(source)
    return result.value.ir if isinstance(result, Ok) else None


def is_passable(ir: dict[str, Any]) -> bool:
    """Whether every loop can end by itself. Where one can't, only a run that never stops gets to what is behind it."""
    cases: dict[str, set[str]] = {}
    for point in goals(program_model(ir), PROFILES["locked"]):
        if point.kind is LoopGoal:
            cases.setdefault(point.place, set()).add(point.case)
    return {"limit"} not in cases.values()


@given(workflows(), st.sampled_from(BOTH))
@settings(max_examples=times(8, deep=200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_goal_of_any_workflow_can_be_reached(source: dict[str, Any], profile: ProfileName) -> None:
    ir = compiled(source)
    if ir is not None and is_passable(ir):
        assert unreached(ir, profile) == []


# How often a loop ran is known better than what an agent may do about it: a decision can come before the loop, and a
# loop can be left in the middle of its last iteration. Both are shown, and neither is asked for.
NOT_ALWAYS_GOALS = {LoopGoal, BlockerGoal, GapGoal}


@given(
    workflows(),
    st.sampled_from(BOTH),
    st.integers(0, 1000),
    st.fixed_dictionaries({"a": VALUES, "b": VALUES, "loop_0_count": st.integers(0, 4)}),
    st.sampled_from(["guided", "full_auto_never_stop"]),
)
@settings(max_examples=times(25, deep=600), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_a_run_shows_is_a_goal_and_the_way_is_the_runs_own(
    source: dict[str, Any], profile: ProfileName, seed: int, context: dict[str, Any], mode: Any
) -> None:
    ir = compiled(source)
    if ir is None:
        return
    transcript = drive(
        Setup(ir, profile, start.preferences(mode, None), context=context, max_turns=200), api.erratic(seed)
    ).transcript
    possible = set(goals(program_model(ir), PROFILES[profile]))
    shown = [point for point in observe(transcript) - possible if point.kind not in NOT_ALWAYS_GOALS]
    # That variables are unset is asked for only where nothing on the way may need them.
    assert [point for point in shown if point.case != UNSET] == []
    chosen = [
        state.chosen for _, state, _ in Paths(program_model(ir), PROFILES[profile]).follow_all(transcript.choices)
    ]
    told: list[Any] = [exchange.response.get("pending") for exchange in transcript.exchanges if not exchange.is_error]
    walked = [step.step_id for step in chosen if step is not None]
    assert list(dict.fromkeys(walked)) == list(dict.fromkeys(each["stepId"] for each in told if each))


@for_each(
    "member, deciding",
    [
        ({"var": "round", "equals": 1}, ["/and/0 true", "/and/0 false", "/and/1 true", "/and/1 false"]),
        ({"var": "round", "lt": 1}, ["/and/0 false"]),
        ({"var": "round", "gt": 3}, ["/and/0 false"]),
    ],
)
def test_the_members_of_a_loop_decide_about_iterations_that_there_are(
    member: dict[str, Any], deciding: list[str]
) -> None:
    condition = {"and": [member, {"var": "open"}]}
    source = workflow(loop("each", [step("work")], type="while", condition=condition, iterationVar="round"))
    points = goals(api.compile(source).program, PROFILES["reference"], strong=True)
    assert [point.case for point in points if point.kind.name == "decides"] == deciding


@pytest.mark.parametrize("profile", BOTH)
def test_a_case_is_a_goal_or_excluded_and_each_end_of_a_loop_is_one_of_both(profile: ProfileName) -> None:
    loops = workflow(
        loop("fixed", [step("first")], type="for", count=2),
        loop("open", [step("second")], type="while", condition=OPEN),
        loop("asked", [step("third")], type="until", condition={"var": "done"}),
        step("never", runCondition=NEVER),
    )
    for source in (loops, *ZOO.values()):
        listed = GoalList(api.compile(source).program, PROFILES[profile])
        excluded = {each.point for each in listed.excluded}
        assert excluded.isdisjoint(listed.goals)
        ends = [point for point in (*excluded, *listed.goals) if point.kind is LoopGoal]
        assert {place: sum(point.place == place for point in ends) for place in {point.place for point in ends}} == (
            dict.fromkeys((point.place for point in ends), 4)
        )
