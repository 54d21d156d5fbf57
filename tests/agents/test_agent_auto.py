"""The automatic agent: every valid workflow comes to its end, with the smallest answers there are."""

from __future__ import annotations

from typing import Any

import pytest
from agent_workflows import by_artifact, compiled, decide, first_moment, loop, play, step, workflow
from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_workrail.agents.correct import Auto, correct_answer
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.run.result import Run
from workrail_lint.systems.workrail.catalog.catalog import load_core

PROFILES = ("reference", "locked")
CONTRACTS = sorted(set(load_core().contracts) - {"wr.contracts.assessment", "wr.contracts.loop_control"})
READINESS = {
    "id": "readiness",
    "purpose": "Ready?",
    "dimensions": [
        {"id": "confidence", "purpose": "How sure", "levels": ["low", "high"]},
        {"id": "extent", "purpose": "How much", "levels": ["none", "low", "all"]},
        {"id": "mood", "purpose": "How it feels", "levels": ["good", "bad"], "required": False},
    ],
}
CONSEQUENCE = {"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "Look again."}}


def auto(authored: dict[str, Any], profile: str = "reference", **setup: Any) -> Run:
    return play(authored, Auto(), profile=profile, **setup)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("ref", CONTRACTS)
def test_every_contract_pack(ref: str, profile: str) -> None:
    run = auto(workflow(step("one", outputContract={"contractRef": ref})), profile)
    assert (run.status, run.blockers) == ("complete", ())
    (artifact,) = run.outputs["one"]["artifacts"]  # type: ignore[misc]
    assert artifact["kind"] == load_core().contracts[ref].artifact_kind


def test_only_what_is_asked_for_is_handed_in() -> None:
    steps = [
        step("quiet", notesOptional=True),
        step("noted"),
        step("optional", outputContract={"contractRef": "wr.contracts.gate_verdict", "required": False}),
        {"id": "apart", "type": "parallel", "title": "Apart", "parallelDelegations": [{"workflowId": "demo.other"}]},
    ]
    run = auto(workflow(*steps))
    assert run.steps == ("quiet", "noted", "optional", "apart")
    assert run.outputs == {"noted": {"notes": "Done: noted."}, "apart": {"notes": "Done: apart."}}


@pytest.mark.parametrize("profile", PROFILES)
def test_assessments_avoid_what_sets_off_a_followup(profile: str) -> None:
    other = {**READINESS, "id": "other"}
    asked = step("rate", assessmentRefs=["readiness", "other"], assessmentConsequences=[CONSEQUENCE])
    run = auto(workflow(asked, assessments=[READINESS, other]), profile)
    assert (run.status, run.blockers) == ("complete", ())
    levels = {(each.step_id, *level) for each in run.transcript.attempts for level in each.levels}
    assert levels == {
        ("rate", name, dimension, level)
        for name in ("readiness", "other")
        for dimension, level in (("confidence", "high"), ("extent", "none"))
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_criteria_decide_only_where_nothing_else_does(profile: str) -> None:
    criteria = [{"type": "contains", "value": "Risks", "message": "Name the risks."}]
    run = auto(workflow(step("told", validationCriteria=criteria)), profile)
    assert run.status == "complete"
    assert run.outputs["told"]["notes"] == "Risks"


def loops() -> dict[str, dict[str, Any]]:
    work = step("work")
    return {
        "decided by a step": loop("again", work, decide(), **by_artifact("again")),
        "decided by nobody": loop("again", work, step("more"), **by_artifact("again", 1000)),
        "decided by an optional step": loop(
            "again",
            work,
            step("maybe", outputContract={"contractRef": "wr.contracts.loop_control", "required": False}),
            **by_artifact("again", 1000),
        ),
        "while": loop("again", work, type="while", condition={"var": "done", "not_equals": True}, maxIterations=1000),
        "until": loop("again", work, type="until", condition={"var": "done", "equals": True}, maxIterations=1000),
        "count": loop("again", work, type="for", count=3, maxIterations=5),
        "count by name": loop("again", work, type="for", count="rounds", maxIterations=5),
        "for each": loop("again", work, type="forEach", items="files", maxIterations=5),
        "for each object": loop(
            "again",
            step("work", title="Look at {{file.path}}", prompt="{{file.path}} because of {{file.why.first}}"),
            type="forEach",
            items="files",
            itemVar="file",
            maxIterations=5,
        ),
        "for each object that is read oddly": loop(
            "again",
            step("work", prompt="Look at {{file. path}}."),
            type="forEach",
            items="files",
            itemVar="file",
            maxIterations=5,
        ),
        "nothing in it runs": loop("again", step("work", runCondition={"var": "never"}), **by_artifact("again")),
    }


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("kind", "first"),
    # Where nothing in it runs and nothing comes before, nobody could decide about the loop: such a run can't start.
    [(kind, first) for kind in loops() for first in (True, False) if not (first and kind == "nothing in it runs")],
)
def test_loops_come_to_an_end(kind: str, first: bool, profile: str) -> None:
    steps = [*([] if first else [step("before")]), loops()[kind], step("after")]
    run = auto(workflow(*steps), profile)
    assert (run.status, run.blockers, run.gaps) == ("complete", (), ())
    assert run.steps[-1] == "after"
    assert len(run.steps) < 10


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("config", "context"),
    [
        ({"type": "for", "count": "rounds", "maxIterations": 2}, {"rounds": 9}),
        ({"type": "forEach", "items": "files", "maxIterations": 2}, {"files": ["a", "b", "c", "d"]}),
    ],
    ids=["count", "list"],
)
def test_a_loop_at_its_limit_is_ended_by_the_context(
    config: dict[str, Any], context: dict[str, Any], profile: str
) -> None:
    run = auto(workflow(loop("again", step("work"), **config), step("after")), profile, context=context)
    assert (run.status, run.blockers) == ("complete", ())
    assert run.steps == ("work", "work", "after")


def test_an_element_has_the_members_that_texts_read_from_it() -> None:
    run = auto(workflow(step("before"), loops()["for each object"]))
    assert run.context["files"] == [{"path": "path", "why": {"first": "first"}}]
    assert "path because of first" in run.prompts["work"]


def test_a_run_of_nothing_but_conditions_starts_somewhere() -> None:
    conditional = [
        step("impossible", runCondition={"and": [{"var": "a", "gt": 2}, {"var": "a", "lt": 1}]}),
        step("possible", runCondition={"var": "size", "gte": 10}),
    ]
    run = auto(workflow(*conditional))
    assert (run.status, run.steps) == ("complete", ("possible",))
    assert run.context["size"] == 10


ONLY_IF = {"var": "size", "gte": 10}
HIDDEN = {
    "while": loop(
        "again", step("work", runCondition=ONLY_IF), type="while", maxIterations=2, condition={"var": "more"}
    ),
    "until": loop(
        "again",
        step("work", runCondition=ONLY_IF),
        type="until",
        maxIterations=2,
        condition={"var": "phase", "not_equals": "open"},
    ),
    "count": loop("again", step("work", runCondition=ONLY_IF), type="for", count="rounds", maxIterations=2),
    "list": loop("again", step("work", runCondition=ONLY_IF), type="forEach", items="files", maxIterations=2),
    "fixed count": loop("again", step("work", runCondition=ONLY_IF), type="for", count=2, maxIterations=2),
    "artifact": loop("again", step("work", runCondition=ONLY_IF), **by_artifact("again")),
    "passed by": loop(
        "again",
        step("work", runCondition={"var": "goal", "equals": "no"}),
        type="while",
        maxIterations=2,
        condition={"var": "done", "not_equals": True},
    ),
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", HIDDEN)
def test_a_run_that_begins_with_a_loop_of_nothing_but_conditions(kind: str, profile: str) -> None:
    run = auto(workflow(HIDDEN[kind], step("after", runCondition={"var": "late"})), profile)
    assert (run.status, run.blockers) == ("complete", ())
    assert run.steps
    # Under profile locked the gate of the loop comes first, and the step waits for its condition.
    starts = {"passed by": "after", "artifact": "again__gate" if profile == "locked" else "work"}
    assert run.steps[0] == starts.get(kind, "work")


def test_what_a_loop_needs_can_make_a_rule_apply() -> None:
    rule = {"type": "contains", "value": "Counted", "message": "m", "condition": {"var": "rounds", "gte": 1}}
    counted = loop("again", step("work"), type="for", count="rounds", maxIterations=2)
    run = auto(workflow(step("before", validationCriteria=[rule]), counted))
    assert (run.status, run.blockers) == ("complete", ())


def test_variables_get_only_what_they_may_have() -> None:
    ended = {"type": "until", "maxIterations": 2, "condition": {"var": "metrics_outcome", "not_equals": None}}
    run = auto(workflow(loop("again", step("work"), **ended)), "locked")
    assert (run.status, run.context["metrics_outcome"]) == ("complete", "success")


def test_a_run_that_never_stops_has_what_comes_after_a_limit() -> None:
    beyond = loop("beyond", step("work"), type="for", count=3, maxIterations=1)
    listed = loop("listed", step("look"), type="forEach", items="files", maxIterations=2)
    run = auto(workflow(beyond, listed), "locked", preferences=Preferences("full_auto_never_stop", "conservative"))
    assert (run.status, run.steps) == ("complete_with_gaps", ("work", "look"))


def test_what_can_not_be_met_leaves_the_run_blocked() -> None:
    broken = [
        {"type": "contains", "value": "long enough", "message": "m"},
        {"type": "length", "max": 3, "message": "m"},
    ]
    run = auto(workflow(step("stuck", validationCriteria=broken)))
    assert (run.status, run.ending.kind) == ("blocked", "stopped")
    assert run.blockers == ("INVALID_REQUIRED_OUTPUT",)


def test_a_gate_and_a_final_block_are_left_to_others() -> None:
    gated = workflow(step("risky", requireConfirmation={"kind": "human_approval"}))
    assert auto(gated, context={"is_autonomous": "true"}).status == "gated"
    assert auto(gated).status == "complete"


@pytest.mark.parametrize("profile", PROFILES)
def test_capabilities_are_shown_to_be_there(profile: str) -> None:
    run = auto(workflow(step("surf"), capabilities={"web_browsing": "required", "delegation": "required"}), profile)
    assert (run.status, run.gaps) == ("complete", ())
    assert run.steps == ("wr_probe_delegation", "wr_probe_web_browsing", "surf")


def test_never_stopping_is_no_excuse() -> None:
    authored = workflow(step("before"), loops()["decided by nobody"], step("after"))
    run = auto(authored, "locked", preferences=Preferences("full_auto_never_stop"))
    assert (run.status, run.gaps) == ("complete", ())


# ------------------------------------------------------------------------------------------------- drawn workflows


def drawn_steps() -> st.SearchStrategy[dict[str, Any]]:
    outputs = st.one_of(
        st.just({}),
        st.just({"notesOptional": True}),
        st.sampled_from(CONTRACTS).map(lambda ref: {"outputContract": {"contractRef": ref}}),
        st.just({"assessmentRefs": ["readiness"], "assessmentConsequences": [CONSEQUENCE]}),
        st.integers(1, 200).map(
            lambda low: {
                "validationCriteria": {
                    "and": [
                        {"type": "contains", "value": "facts", "message": "m"},
                        {"type": "length", "min": low, "message": "m"},
                    ]
                }
            }
        ),
    )
    conditions = st.one_of(
        st.just({}),
        st.sampled_from(
            [
                {"var": "a", "equals": "x"},
                {"var": "b", "gt": 2},
                {"not": {"var": "c"}},
                {"or": [{"var": "a"}, {"var": "b"}]},
            ]
        ).map(lambda condition: {"runCondition": condition}),
    )
    return st.builds(lambda output, condition: {**output, **condition}, outputs, conditions)


def drawn_loops() -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from(
        [
            {"type": "while", "condition": {"var": "a", "not_equals": "x"}, "maxIterations": 7},
            {"type": "until", "condition": {"var": "b", "gte": 3}, "maxIterations": 7},
            {"type": "for", "count": 2, "maxIterations": 4},
            {"type": "for", "count": "n", "maxIterations": 4},
            {"type": "forEach", "items": "list", "maxIterations": 4},
            "artifact",
        ]
    )


@st.composite
def drawn_workflows(draw: st.DrawFn) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [step("step-0")]
    for number in range(1, draw(st.integers(1, 4)) + 1):
        if draw(st.booleans()):
            steps.append(step(f"step-{number}", **draw(drawn_steps())))
            continue
        body = [step(f"body-{number}-{at}", **draw(drawn_steps())) for at in range(draw(st.integers(1, 2)))]
        config = draw(drawn_loops())
        name = f"loop-{number}"
        if config == "artifact":
            config = by_artifact(name)
            body += [decide(f"decide-{number}")] if draw(st.booleans()) else []
        steps.append(loop(name, *body, **config))
    return workflow(*steps, assessments=[READINESS])


@settings(max_examples=times(25, deep=600), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn_workflows(), st.sampled_from(PROFILES))
def test_drawn_workflows_complete_and_repeat_themselves(authored: dict[str, Any], profile: str) -> None:
    run = auto(authored, profile)
    assert (run.status, run.blockers, run.gaps) == ("complete", (), ()), run.responses[-1]
    assert auto(authored, profile).transcript == run.transcript


@settings(max_examples=times(25, deep=600), deadline=None)
@given(drawn_steps())
def test_no_part_of_an_answer_can_be_left_out(members: dict[str, Any]) -> None:
    members = {name: value for name, value in members.items() if name != "runCondition"}
    view = first_moment(workflow(step("one", **members), assessments=[READINESS]))
    answer = correct_answer(view)
    assert view.reasons(answer) == ()
    from changed import replace

    if answer.notes is not None:
        assert view.reasons(replace(answer, notes=None)) != ()
    for at in range(len(answer.artifacts)):
        fewer = answer.artifacts[:at] + answer.artifacts[at + 1 :]
        assert view.reasons(replace(answer, artifacts=fewer)) != ()


def test_one_agent_plays_many_runs() -> None:
    agent = Auto()
    authored = workflow(step("one"), step("two"))
    first = play(authored, agent)
    assert play(authored, agent).transcript == first.transcript
    assert compiled(authored)["workflowId"] == first.transcript.workflow_id
