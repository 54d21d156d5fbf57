"""Every kind of coverage point: what there is of it, and which runs show it."""

from __future__ import annotations

from typing import Any

import pytest
from covered import by_artifact, goal_names, loop, names, shown, step, workflow
from msgspec.structs import replace

from pytest_workrail import api
from pytest_workrail.agents.misbehaving import Unsetting
from pytest_workrail.coverage.observe import observe

FLAG = {"var": "flag", "equals": True}


def test_steps_and_their_conditions() -> None:
    source = workflow(step("first"), step("maybe", runCondition=FLAG), step("last"))
    assert goal_names(source) == [
        "step:first:done",
        "condition:maybe:true",
        "condition:maybe:false",
        "condition:maybe:unset",
        "step:maybe:done",
        "step:last:done",
    ]
    off = {"flag": False}
    assert shown(source, context=off) == {"step:first:done", "condition:maybe:false", "step:last:done"}
    with_it = {"step:first:done", "condition:maybe:true", "step:maybe:done", "step:last:done"}
    assert shown(source, context={"flag": True}) == with_it


def unset_names(source: dict[str, Any], profile: Any) -> list[str]:
    return [name for name in goal_names(source, profile) if name.endswith((":unset", ":MISSING_CONTEXT_KEY"))]


LIST = {"type": "forEach", "items": "files"}


@pytest.mark.parametrize(
    ("steps", "waiting", "asked"),
    [
        ([step("maybe", runCondition=FLAG)], ["maybe"], ["maybe"]),
        # Unset is as good as any other value, or nothing can make it hold, or it is always set.
        ([step("maybe", runCondition={"var": "flag", "not_equals": True})], [], []),
        ([step("maybe", runCondition={"and": [FLAG, {"var": "flag", "equals": 1}]})], [], []),
        ([step("maybe", runCondition={"var": "goal", "equals": "x"})], [], []),
        # The first of two that wait for one variable is asked about.
        ([step("maybe", runCondition=FLAG), step("later", runCondition=FLAG)], ["maybe", "later"], []),
        # A loop needs its variable before the step is looked at, and asks for it.
        ([loop("each", [step("inner")], **LIST), step("maybe", runCondition={"var": "files"})], [], ["each"]),
        ([loop("each", [step("inner", runCondition=FLAG)], type="for", count=2)], ["each/inner"], []),
    ],
)
def test_variables_that_are_not_set(steps: list[dict[str, Any]], waiting: list[str], asked: list[str]) -> None:
    source = workflow(step("first"), *steps)
    conditions = [f"condition:{place}:unset" for place in waiting]
    assert unset_names(source, "reference") == conditions
    questions = {f"{kind}:{place}:MISSING_CONTEXT_KEY" for place in asked for kind in ("blocker", "gap")}
    assert set(unset_names(source, "locked")) == {*conditions, *questions}


def test_what_is_asked_for_is_shown_where_it_is_asked() -> None:
    each = loop("each", [step("inner")], **LIST)
    source = workflow(step("first"), step("maybe", runCondition=FLAG), each)
    nothing = {"first": [{}, {}]}
    asked = shown(source, api.script(nothing), profile="locked")
    assert {"blocker:each:MISSING_CONTEXT_KEY", "condition:maybe:unset"} <= asked
    passed = shown(source, api.script({"first": {}}), profile="locked", mode="full_auto_never_stop")
    assert {"gap:each:MISSING_CONTEXT_KEY", "gap:maybe:MISSING_CONTEXT_KEY"} <= passed


def test_a_step_that_is_passed_over_first_and_done_later_shows_both() -> None:
    source = workflow(step("first", runCondition=FLAG), step("second"), step("third"))
    late = api.script({"second": {"context": {"flag": True}}, "first": {}, "third": {}})
    assert {"condition:first:false", "condition:first:true", "step:first:done"} <= shown(source, late)


def test_a_step_that_is_not_done_is_not_covered() -> None:
    source = workflow(step("first"), step("second", notesOptional=False))
    assert shown(source, api.stubborn("missing_notes")) == {
        "step:first:done",
        "blocker:second:MISSING_REQUIRED_NOTES",
    }


def test_a_run_that_can_not_start_shows_why() -> None:
    source = workflow(step("only", runCondition=FLAG))
    assert shown(source, api.script({})) == {"condition:only:false", "condition:only:unset"}
    broken = workflow(loop("each", [step("inner")], type="for", count="n"))
    assert shown(broken, api.script({})) == set(), "a variable is missing, so nothing was chosen"


COUNTED = [(0, "zero"), (1, "one"), (2, "many"), (3, "many"), (4, "limit")]


@pytest.mark.parametrize(("count", "case"), COUNTED)
@pytest.mark.parametrize("profile", ["reference", "locked"])
def test_loops_that_count(count: int, case: str, profile: Any) -> None:
    body = [step("inner")]
    expected = [f"loop:each:{each}" for each in ("zero", "one", "many", "limit")]
    by_number = workflow(loop("each", body, type="for", count="n"), step("last"))
    by_item = workflow(loop("each", body, type="forEach", items="list"), step("last"))
    for source, context in ((by_number, {"n": count}), (by_item, {"list": ["x"] * count})):
        assert [name for name in goal_names(source, profile) if name.startswith("loop")] == expected
        mode = "full_auto_never_stop"
        seen = shown(
            source,
            agent=api.script({"inner": [{}] * min(count, 3), "last": {}}),
            context=context,
            mode=mode,
            profile=profile,
        )
        assert {name for name in seen if name.startswith("loop")} == {f"loop:each:{case}"}


@pytest.mark.parametrize(("count", "case"), [(0.5, "one"), (1, "one"), (3, "many"), (7, "limit")])
def test_a_written_count_ends_in_one_way_only(count: float, case: str) -> None:
    source = workflow(loop("each", [step("inner")], type="for", count=count), step("last"))
    assert [name for name in goal_names(source) if name.startswith("loop")] == [f"loop:each:{case}"]
    assert f"loop:each:{case}" in shown(source)


@pytest.mark.parametrize("profile", ["reference", "locked"])
def test_loops_by_condition(profile: Any) -> None:
    source = workflow(step("first"), loop("again", [step("inner")], type="while", condition=FLAG), step("last"))
    for rounds, case in ((0, "zero"), (1, "one"), (2, "many")):
        turns = [{"context": {"flag": at + 1 < rounds}} for at in range(rounds)]
        script = {"first": {"context": {"flag": rounds > 0}}, "inner": turns, "last": {}}
        answers = {name: answer for name, answer in script.items() if answer != []}
        assert f"loop:again:{case}" in shown(source, api.script(answers), profile=profile)
    ever = {"first": {"context": {"flag": True}}, "inner": [{}] * 3, "last": {}}
    assert "loop:again:limit" in shown(source, api.script(ever), profile=profile, mode="full_auto_never_stop")


def test_a_loop_is_left_in_the_middle_of_an_iteration() -> None:
    body = [step("look"), step("repair")]
    source = workflow(loop("again", body, type="until", condition=FLAG), step("last"))
    script = {"look": [{}, {"context": {"flag": True}}], "repair": {}, "last": {}}
    assert "loop:again:many" in shown(source, api.script(script)), "the second iteration was begun"


def test_a_loop_by_decision_always_has_a_first_iteration() -> None:
    decide = step("decide", outputContract={"contractRef": "wr.contracts.loop_control"})
    source = workflow(loop("again", [decide], **by_artifact("again")), step("last"))
    cases = [name for name in goal_names(source) if name.startswith("loop")]
    assert cases == ["loop:again:one", "loop:again:many", "loop:again:limit"]
    go, stop = ({"artifacts": [{"kind": "wr.loop_control", "decision": word}]} for word in ("continue", "stop"))
    for answers, case in (([stop], "one"), ([go, stop], "many"), ([go, go, go], "limit")):
        seen = shown(source, api.script({"decide": answers, "last": {}}))
        assert {name for name in seen if name.startswith("loop")} == {f"loop:again:{case}"}


def test_idle_iterations_count_and_show_their_conditions() -> None:
    body = [step("inner", runCondition={"var": "currentIteration", "equals": 1})]
    source = workflow(loop("each", body, type="for", count=3), step("last"))
    assert {"loop:each:many", "condition:each/inner:true", "condition:each/inner:false"} <= shown(source)
    idle = workflow(loop("each", [step("inner", runCondition=FLAG)], type="for", count=1), step("last"))
    assert {"loop:each:one", "condition:each/inner:false"} <= shown(idle)


def test_long_ways_are_followed_to_their_end() -> None:
    """A log keeps only the first decisions of a selection; coverage knows all of them."""
    skipped = [step(f"step-{number}", runCondition={"var": f"v{number}"}) for number in range(40)]
    source = workflow(step("first"), *skipped, loop("each", [step("inner")], type="for", count="n"), step("last"))
    seen = shown(source, api.script({"first": {}, "last": {}}), context={"n": 0})
    assert "loop:each:zero" in seen
    assert len([name for name in seen if name.startswith("condition") and name.endswith("false")]) == 40


def test_two_loops_around_the_same_step_are_two_places() -> None:
    shared = step("inner", requireConfirmation=True)
    loops = [{**loop(name, [], type="for", count=1), "body": "inner"} for name in ("one", "two")]
    source = workflow(*loops, shared)
    assert {"gate:one/inner:asked", "gate:two/inner:asked", "step:two/inner:done"} <= shown(source)


def test_fragments_shown_and_hidden() -> None:
    fragments = [{"id": "often", "text": "Always."}, {"id": "rare", "text": "Rarely.", "when": FLAG}]
    source = workflow(step("first", promptFragments=fragments))
    assert goal_names(source)[1:] == [
        "fragment:first#often:shown",
        "fragment:first#rare:shown",
        "fragment:first#rare:hidden",
    ]
    assert "fragment:first#rare:hidden" in shown(source)
    assert "fragment:first#rare:shown" in shown(source, context={"flag": True})


def test_gates_asked_and_free() -> None:
    source = workflow(
        step("always", requireConfirmation=True), step("when", requireConfirmation=FLAG), step("never"), step("last")
    )
    gates = [name for name in goal_names(source) if name.startswith("gate")]
    assert gates == ["gate:always:asked", "gate:when:asked", "gate:when:free"]
    assert {"gate:always:asked", "gate:when:free"} <= shown(source)
    assert "gate:when:asked" in shown(source, context={"flag": True})


@pytest.mark.parametrize("kind", [None, "parallel"])
def test_a_gate_that_stops_an_autonomous_run_was_asked(kind: str | None) -> None:
    plain = step("stop", requireConfirmation=True)
    delegated = {**plain, "type": "parallel", "parallelDelegations": [{"workflowId": "demo.other"}]}
    del delegated["prompt"]
    source = workflow(plain if kind is None else delegated)
    assert "gate:stop:asked" in shown(source, context={"is_autonomous": "true"})
    assert "step:stop:done" not in shown(source, context={"is_autonomous": "true"})


def test_a_parallel_step_never_says_that_nobody_has_to_confirm_it() -> None:
    asked = {"var": "flag", "equals": True}
    plain = step("stop", requireConfirmation=asked)
    delegated = {**plain, "type": "parallel", "parallelDelegations": [{"workflowId": "demo.other"}]}
    del delegated["prompt"]
    for source, cases in ((workflow(plain), ["asked", "free"]), (workflow(delegated), ["asked"])):
        gates = [name for name in goal_names(source) if name.startswith("gate:")]
        assert gates == [f"gate:stop:{case}" for case in cases]


ASSESSMENTS = [
    {
        "id": "risk",
        "purpose": "How risky it is.",
        "dimensions": [{"id": "size", "purpose": "How much.", "levels": ["small", "large"]}],
    }
]
FOLLOWUP = {"when": {"anyEqualsLevel": "large"}, "effect": {"kind": "require_followup", "guidance": "Split it."}}


def test_levels_and_consequences() -> None:
    source = workflow(step("rate", assessmentRefs=["risk"], assessmentConsequences=[FOLLOWUP]), assessments=ASSESSMENTS)
    assert goal_names(source)[1:] == [
        "level:rate#risk.size:small",
        "level:rate#risk.size:large",
        "consequence:rate:large",
        "blocker:rate:INVALID_REQUIRED_OUTPUT",
        "blocker:rate:ASSESSMENT_FOLLOWUP_REQUIRED",
        "gap:rate:invalid_required_output",
        "gap:rate:assessment_followup_required",
    ]
    assert shown(source) == {"step:rate:done", "level:rate#risk.size:small"}
    blocked = shown(source, api.auto({"rate": [{"does": "followup_level"}, {"does": "wrong_level"}]}))
    assert blocked >= {
        "level:rate#risk.size:large",
        "consequence:rate:large",
        "blocker:rate:ASSESSMENT_FOLLOWUP_REQUIRED",
        "blocker:rate:INVALID_REQUIRED_OUTPUT",
    }
    gone_on = shown(source, api.auto({"rate": {"does": "followup_level"}}), mode="full_auto_never_stop")
    assert {"gap:rate:assessment_followup_required", "consequence:rate:large"} <= gone_on
    assert "blocker:rate:ASSESSMENT_FOLLOWUP_REQUIRED" not in gone_on


def test_a_consequence_of_one_assessment_is_not_shown_by_another() -> None:
    both = [*ASSESSMENTS, {**ASSESSMENTS[0], "id": "cost"}]
    of_each = [FOLLOWUP | {"when": {"anyEqualsLevel": "large", "forAssessment": name}} for name in ("risk", "cost")]
    source = workflow(step("rate", assessmentRefs=["risk", "cost"], assessmentConsequences=of_each), assessments=both)

    def rated(name: str, level: str) -> dict[str, Any]:
        return {"kind": "wr.assessment", "assessmentId": name, "dimensions": {"size": level}}

    artifacts = [rated("risk", "small"), rated("cost", "large")]
    names = shown(source, api.auto({"rate": {"artifacts": artifacts}}))
    assert {name for name in names if name.startswith("consequence:")} == {"consequence:rate#cost:large"}


def test_contracts_blockers_and_gaps() -> None:
    source = workflow(step("judge", outputContract={"contractRef": "wr.contracts.gate_verdict"}))
    assert goal_names(source)[1:] == [
        "contract:judge:wr.contracts.gate_verdict",
        "blocker:judge:MISSING_REQUIRED_OUTPUT",
        "blocker:judge:INVALID_REQUIRED_OUTPUT",
        "gap:judge:missing_required_output",
        "gap:judge:invalid_required_output",
    ]
    assert shown(source) == {"step:judge:done", "contract:judge:wr.contracts.gate_verdict"}
    twice = api.auto({"judge": [{"does": "wrong_kind"}, {"does": "invalid_artifact"}]})
    assert {"blocker:judge:MISSING_REQUIRED_OUTPUT", "blocker:judge:INVALID_REQUIRED_OUTPUT"} <= shown(source, twice)
    gap = shown(source, api.auto({"judge": {"does": "missing_artifact"}}), mode="full_auto_never_stop")
    assert gap == {"step:judge:done", "gap:judge:missing_required_output"}


def test_what_a_profile_never_produces_is_no_goal_of_it() -> None:
    decide = step("decide", requireConfirmation=True)
    source = workflow(loop("again", [decide], **by_artifact("again")), capabilities={"web_browsing": "required"})
    only_locked = set(goal_names(source, "locked")) - set(goal_names(source, "reference"))
    assert only_locked == {
        "blocker:wr_probe_web_browsing:REQUIRED_CAPABILITY_UNKNOWN",
        "blocker:wr_probe_web_browsing:REQUIRED_CAPABILITY_UNAVAILABLE",
        "gap:wr_probe_web_browsing:required_capability_unknown",
        "gap:wr_probe_web_browsing:required_capability_unavailable",
        "blocker:again/decide:USER_ONLY_DEPENDENCY",
        "gap:again/decide:needs_user_approval",
        "step:again/again__gate:done",
        "contract:again/again__gate:wr.contracts.loop_control",
        "blocker:again/again__gate:MISSING_REQUIRED_OUTPUT",
        "blocker:again/again__gate:INVALID_REQUIRED_OUTPUT",
        "gap:again/again__gate:missing_required_output",
        "gap:again/again__gate:invalid_required_output",
        "blocker:again:INVARIANT_VIOLATION",
        "gap:again:invariant_violation",
    }
    assert set(goal_names(source, "reference")) < set(goal_names(source, "locked"))


def test_a_loop_answers_for_its_own_blockers() -> None:
    decide = step("decide", runCondition={"var": "never"}, outputContract={"contractRef": "wr.contracts.loop_control"})
    source = workflow(loop("again", [step("inner"), decide], 1, **by_artifact("again")), step("last"))
    go = {"kind": "wr.loop_control", "decision": "continue", "loopId": "again"}
    answers = [{}, {"artifacts": [{**go, "loopId": "other"}]}, {"artifacts": [go]}]
    seen = shown(source, api.auto({"inner": answers}), profile="locked")
    assert seen >= {
        "blocker:again:MISSING_REQUIRED_OUTPUT",
        "blocker:again:INVALID_REQUIRED_OUTPUT",
        "blocker:again:INVARIANT_VIOLATION",
        "loop:again:limit",
        "loop:again:one",
    }
    assert not {name for name in seen if name.startswith("blocker:again/inner")}


def test_only_a_critical_gap_is_one_that_a_run_continued_with() -> None:
    source = workflow(step("plan"), step("ship", runCondition={"var": "size", "equals": "large"}))
    transcript = api.run(source, Unsetting(), "full_auto_never_stop", "locked").transcript
    (gap,) = transcript.final["gaps"]
    assert gap["severity"] == "critical"
    name = "gap:ship:MISSING_CONTEXT_KEY"
    assert name in names(observe(transcript))
    remark = replace(transcript, final={**transcript.final, "gaps": [{**gap, "severity": "info"}]})
    assert name not in names(observe(remark))


def test_a_run_is_asked_for_up_to_ten_variables_at_once() -> None:
    def waiting(count: int) -> list[str]:
        condition = {"and": [{"var": f"v{number}", "equals": number} for number in range(count)]}
        source = workflow(step("plan"), step("ship", runCondition=condition))
        return [name for name in goal_names(source, "locked") if name.endswith("MISSING_CONTEXT_KEY")]

    assert waiting(2) == waiting(10) == ["blocker:ship:MISSING_CONTEXT_KEY", "gap:ship:MISSING_CONTEXT_KEY"]
    assert waiting(11) == []
