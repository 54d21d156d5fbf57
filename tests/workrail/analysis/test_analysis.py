"""Steps, texts, uses and order: on the compiled workflow, pointing back into the source."""

from __future__ import annotations

from typing import Any

import pytest
from effort import lines_run, times
from hypothesis import given, settings
from hypothesis import strategies as st

from workrail_lint.systems.workrail.analysis.analysis import Analysis, analyse
from workrail_lint.systems.workrail.analysis.definitions_and_uses import Definition, Use
from workrail_lint.systems.workrail.analysis.logic import nearest_name
from workrail_lint.systems.workrail.analysis.order import covered, exclusive, may_precede, must_precede
from workrail_lint.systems.workrail.analysis.output import analysis_data
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.catalog.loading import with_routines
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.rules.samples import controlled_loop, loop, parallel, step, workflow

LARGE = {"var": "size", "equals": "large"}
SIZES = step("scan", "Set `size` to one of: `small`, `large`.")


def of(*steps: dict[str, Any], path: str = "workflows/a.json", **members: Any) -> Analysis:
    return analyse(workflow_model(workflow(*steps, **members)), load_core(), path=path)


def use_of(analysis: Analysis, name: str) -> Use:
    return analysis.by_name[name][0]


def setter_of(analysis: Analysis, name: str) -> Definition:
    return analysis.setters(name)[0]


def test_positions_follow_the_run() -> None:
    found = of(step("body"), SIZES, {**loop(), "body": "body"}, step("end"))
    assert [(item.id, item.position, item.loop) for item in found.steps] == [
        ("scan", (1, 0), None),
        ("again", (2, 0), None),
        ("body", (2, 1), "again"),
        ("end", (3, 0), None),
    ]


def test_every_kind_of_use_has_its_place() -> None:
    fragment = {"id": "f", "when": {"var": "b"}, "text": "{{c.d}}"}
    rule = [{"type": "length", "min": 1, "message": "x", "condition": {"var": "g"}}]
    delegations = [{"workflowId": "demo.x", "runCondition": {"var": "h"}, "contextMapping": {"i": "j"}}]
    found = of(
        step("one", runCondition={"not": {"var": "a"}}, promptFragments=[fragment], requireConfirmation={"var": "e"}),
        loop(type="while", count=..., condition={"var": "f"}),
        step("two", validationCriteria=rule),
        parallel(parallelDelegations=delegations),
        loop(type="forEach", count=..., items="k", ident="each"),
        loop(count="l", ident="times"),
    )
    places = {(use.name, use.kind): use.pointer for use in found.uses}
    assert places == {
        ("a", "runCondition"): "/steps/0/runCondition/not/var",
        ("b", "fragment"): "/steps/0/promptFragments/0/when/var",
        ("c", "token"): "/steps/0/promptFragments/0/text",
        ("e", "gate"): "/steps/0/requireConfirmation/var",
        ("f", "loop"): "/steps/1/loop/condition/var",
        ("g", "criteria"): "/steps/2/validationCriteria/0/condition/var",
        ("h", "delegation"): "/steps/3/parallelDelegations/0/runCondition/var",
        ("i", "mapping"): "/steps/3/parallelDelegations/0/contextMapping/i",
        ("k", "items"): "/steps/4/loop/items",
        ("l", "count"): "/steps/5/loop/count",
    }


def test_tokens_of_the_engine_and_expressions_are_no_uses() -> None:
    prompt = "{{wr.bindings.x}} {{a + 1}} {{ spaced }} {{context.y}} {{workflowId}}"
    assert of(step(prompt=prompt, agentRole="{{role}}", guidance=["{{said}}"])).uses == []


def test_a_template_points_at_its_call_and_its_arguments_at_themselves() -> None:
    call = {"templateId": "wr.templates.routine.ideation", "args": {}}
    required = load_core().templates["wr.templates.routine.ideation"].required_args
    call["args"] = dict.fromkeys(required, "Think about {{topic}}.")
    found = of(step("call", None, templateCall=call, runCondition=LARGE))
    assert {(item.origin.pointer, item.origin.via) for item in found.steps} == {("/steps/0/templateCall", "template")}
    runs = [use for use in found.uses if use.kind == "runCondition"]
    assert [(use.pointer, use.origin.via) for use in runs] == [("/steps/0/runCondition/var", "authored")]
    tokens = {use.pointer for use in found.uses if use.name == "topic"}
    assert tokens == {f"/steps/0/templateCall/args/{name}" for name in required}


def test_an_output_that_a_template_requires_is_known_by_its_name() -> None:
    judge = step("judge", "Judge.", promptBlocks={"goal": "Judge.", "outputRequired": {"verdict": "the result"}})
    catalog = with_routines(load_core(), [workflow(judge, id="routine-judge")]).catalog
    call = step("call", None, templateCall={"templateId": "wr.templates.routine.judge", "args": {}})
    found = analyse(workflow_model(workflow(call)), catalog)
    assert [(made.pointer, made.confidence) for made in found.setters("verdict")] == [
        ("/steps/0/templateCall", "stated")
    ]
    assert found.setters("templateCall") == []


def test_refs_features_and_bindings_point_at_what_took_them_in() -> None:
    catalog = load_core()
    ref, feature = next(iter(catalog.refs)), next(iter(catalog.features))
    blocks = {"goal": [{"kind": "text", "text": "Do it. "}, {"kind": "ref", "refId": ref}], "procedure": ["Go."]}
    found = of(
        step("one", None, promptBlocks=blocks),
        step("two", "Run {{wr.bindings.review}}."),
        features=[feature],
        extensionPoints=[{"slotId": "review", "purpose": "x", "default": "set `verdictLevel`"}],
    )
    origins = {(text.origin.pointer, text.origin.via) for text in found.texts}
    assert ("/steps/0/promptBlocks/goal/1", "ref") in origins
    assert ("/extensionPoints/0", "binding") in origins
    assert [made.pointer for made in found.setters("verdictLevel")] == ["/extensionPoints/0"]


def test_a_virtual_step_comes_after_its_step() -> None:
    found = of(step("build", runCondition=LARGE, verification={"prompt": "Check {{target}}. Set `passRate`."}))
    assert [item.id for item in found.steps] == ["build", "build__verification"]
    assert [[each.raw for each in item.conditions] for item in found.steps] == [[LARGE], [LARGE]]
    assert (use_of(found, "target").step, use_of(found, "target").pointer) == (1, "/steps/0/verification/prompt")
    assert setter_of(found, "passRate").step == 1


def test_how_sure_a_definition_is() -> None:
    found = of(
        step("one", None, promptBlocks={"goal": "Go.", "outputRequired": {"alpha": "the thing"}}),
        step("two", "Note `beta`.", guidance=["Set `gamma`."]),
        loop(step("inner"), type="forEach", count=..., items="things", itemVar="thing"),
        metaGuidance=["Set `delta`."],
        preconditions=["Context variable {{ticketKey}} holds the ticket."],
    )
    names = ("alpha", "beta", "gamma", "delta", "thing", "ticketKey")
    assert {name: [made.confidence for made in found.definitions(name)] for name in names} == {
        "alpha": ["stated"],
        "beta": ["listed"],
        "gamma": ["undelivered"],
        "delta": ["mentioned"],
        "thing": ["certain"],
        "ticketKey": ["caller"],
    }
    assert all(found.is_given(name) for name in ("goal", "is_autonomous", "metrics_anything"))


def test_a_step_must_come_first_when_its_conditions_follow() -> None:
    sample = step("sample", "Store the path as `samplePath`.", runCondition=LARGE)
    same = of(SIZES, sample, step("user", "{{samplePath}}", runCondition={"and": [LARGE, {"var": "fast"}]}))
    assert must_precede(same, setter_of(same, "samplePath"), use_of(same, "samplePath")) is None
    other = of(SIZES, sample, step("user", "{{samplePath}}"))
    answer = must_precede(other, setter_of(other, "samplePath"), use_of(other, "samplePath"))
    assert answer is not None
    assert answer.assignment == {"size": "small"}  # surely set, so never unset


def test_branches_together_cover_a_use() -> None:
    def branch(ident: str, value: str) -> dict[str, Any]:
        return step(ident, "Set `reportPath`.", runCondition={"var": "size", "equals": value})

    user = step("user", "{{reportPath}}")
    both = of(SIZES, branch("a", "small"), branch("b", "large"), user)
    assert covered(both, both.setters("reportPath"), use_of(both, "reportPath"))
    one = of(SIZES, branch("a", "small"), user)
    assert not covered(one, one.setters("reportPath"), use_of(one, "reportPath"))
    assert exclusive(both, both.steps[1], both.steps[2])
    assert not exclusive(both, both.steps[0], both.steps[2])


def test_loops_that_surely_run() -> None:
    setter, user = step("setter", "Set `lastResult`."), step("user", "{{lastResult}}")
    for made, surely in (
        (loop(setter), True),
        (controlled_loop(setter, step("inner-step")), True),
        (loop(setter, count="rounds"), False),
        (loop(setter, type="while", count=..., condition=LARGE), False),
    ):
        found = of(made, user)
        answer = must_precede(found, setter_of(found, "lastResult"), use_of(found, "lastResult"))
        assert (answer is None) is surely, made


def test_an_earlier_round_may_have_set_it() -> None:
    setter, user = step("setter", "Set `lastResult`."), step("user", "{{lastResult}}")
    inside = of(loop(user, setter))
    assert may_precede(inside, setter_of(inside, "lastResult"), use_of(inside, "lastResult"))
    outside = of(user, setter)
    assert not may_precede(outside, setter_of(outside, "lastResult"), use_of(outside, "lastResult"))


def test_the_domain_is_the_union_and_numbers_have_none() -> None:
    found = of(
        step("one", "Set `bandWidth` to one of: `low`, `high`."),
        step("two", "If it fails, set `bandWidth` to `none-yet`. Set `retryCount` to the number of retries."),
        step("three", "x", runCondition={"and": [{"var": "bandWidth"}, {"var": "retryCount"}]}),
    )
    known = found.domain("bandWidth")
    assert known is not None
    assert (known.values, known.kind) == (("low", "high", "none-yet"), "one-of")
    assert found.domain("retryCount") is None


def test_reachability_has_an_example_or_a_proof() -> None:
    never = {"and": [LARGE, {"var": "size", "equals": "small"}]}
    data = analysis_data(of(SIZES, step("a", "x", runCondition=LARGE), step("b", "x", runCondition=never)))
    rows = {row["pointer"]: (row["verdict"], row["example"]) for row in data["reachability"]}
    assert rows == {
        "/steps/0": ("possible", {}),
        "/steps/1": ("possible", {"size": "large"}),
        "/steps/2": ("impossible", None),
    }


def test_routines_are_known_by_path_and_id() -> None:
    assert of(step(), path="routines/a.json").is_routine
    assert of(step(), path="x/internal/a.json").is_routine
    assert of(step(), id="wr.routine-review").is_routine
    assert not of(step(), id="wr.routines-of-life").is_routine


def test_which_name_was_meant() -> None:
    def meant(name: str, *known: str) -> tuple[str, bool] | None:
        found = nearest_name(name, known)
        return None if found is None else (found.name, found.close)

    assert meant("impactlevel", "impactLevel", "impactLevels") == ("impactLevel", True)
    assert meant("impact_level", "impactLevel") == ("impactLevel", True)
    assert meant("servceName", "serviceName") == ("serviceName", True)
    assert meant("size", "site", "side") == ("side", True)  # a tie: by code points
    assert meant("size", "sites") is None
    assert meant("planApproved", "planApprovedByOwner") == ("planApprovedByOwner", False)
    assert meant("plan", "planning") is None


MEMBERS = (
    *("id", "type", "prompt", "promptBlocks", "goal", "procedure", "runCondition", "var", "equals", "and", "loop"),
    *("body", "items", "promptFragments", "when", "text", "templateCall", "requireConfirmation"),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=5) | st.sampled_from(["{{x}}", "Set `x`.", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(MEMBERS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=times(75, deep=600), deadline=None)
@given(st.lists(VALUES, max_size=4), VALUES)
def test_any_shape_can_be_analysed_and_comes_out_alike(steps: list[Any], other: Any) -> None:
    definition = {"id": "demo.a", "steps": steps, "metaGuidance": other, "features": other, "extensionPoints": other}
    first = analyse(workflow_model(definition), load_core())
    assert analysis_data(first) == analysis_data(analyse(workflow_model(definition), load_core()))


def test_twice_the_text_is_twice_the_work() -> None:
    def work(count: int) -> int:
        steps = [
            step(f"s{i}", f"Set `value{i % 20}` to one of: `a`, `b`. " * 5, runCondition={"var": f"value{i % 20}"})
            for i in range(count)
        ]
        definition = workflow(*steps)

        def run() -> None:
            found = analyse(workflow_model(definition), load_core())
            for name in found.by_name:
                found.domain(name)

        run()
        return lines_run(run)

    assert work(80) < 3 * work(40)


def test_many_names_are_looked_up_in_one_pass() -> None:
    def work(count: int) -> int:
        steps = [
            step(f"s{i}", f"Set `value{i}` to one of: `a`, `b`.", runCondition={"var": f"value{i}"})
            for i in range(count)
        ]
        definition = workflow(*steps)

        def run() -> None:
            found = analyse(workflow_model(definition), load_core())
            assert all(found.setters(name) for name in found.by_name)

        run()
        return lines_run(run)

    assert work(400) < 3 * work(200)


@pytest.mark.parametrize("name", ["", "a b", "{{", "1x"])
def test_a_variable_that_can_have_no_such_name_is_not_searched_for(name: str) -> None:
    found = of(step("a", "Set `x`."), step("b", "y", runCondition={"var": name, "equals": "no"}))
    assert found.domain(name) is None
    assert found.definitions(name) == []


def test_few_and_many_names_are_found_alike() -> None:
    texts = [step("a", "Set `alpha-x`, alphaOne, context.betaTwo, x.betaTwo, alphaOnes, $alphaOne and `alphaOne`.")]
    names = ["alphaOne", "betaTwo", "alpha-x", "gamma"]
    few, many = of(*texts), of(*texts)
    assert not any(many.definitions(f"other{i}") for i in range(100))
    for name in names:
        assert few.definitions(name) == many.definitions(name)
        assert few.mentions(name) == many.mentions(name)
    assert few.setters("alphaOne")
    assert few.setters("betaTwo")


def test_one_long_line_is_cut_into_clauses() -> None:
    def work(count: int) -> int:
        prompt = "Set `alphaValue`, " * count
        definition = workflow(step("a", prompt), step("b", "x", runCondition={"var": "alphaValue"}))
        return lines_run(lambda: analyse(workflow_model(definition), load_core()).definitions("alphaValue"))

    assert work(800) < 3 * work(400)
