"""Variables and values: what is reported, how severely, and what is left to another finding."""

from __future__ import annotations

from typing import Any

import pytest
from lint_probe import lint

from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.rules import analysis_rules
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow

RULES: list[type[WorkflowRule]] = [
    cls
    for cls in vars(analysis_rules).values()
    if isinstance(cls, type)
    and issubclass(cls, analysis_rules.AnalysisRule)
    and hasattr(cls, "code")
    and cls.default_on
]
LARGE = {"var": "size", "equals": "large"}
SETTER = step("setter", "Measure it and set `size`.")


def found(*steps: dict[str, Any], path: str = "workflows/a.json", **members: Any) -> list[Finding]:
    document = workflow(*steps, **members)
    return [finding for rule in RULES for finding in lint(rule, document, path)]


def told(*steps: dict[str, Any], **members: Any) -> list[tuple[str, str, str]]:
    return [(item.severity.value, item.name, item.pointer) for item in found(*steps, **members)]


@pytest.mark.parametrize(
    "steps",
    [
        (SETTER, step("user", runCondition=LARGE)),
        (SETTER, step("user", promptFragments=[{"id": "a", "text": "x", "when": LARGE}])),
        (loop(step("user", runCondition=LARGE), SETTER),),
        (loop(step("user", runCondition={"var": "currentIteration", "gt": 1})),),
        (step(), step("user", runCondition={"var": "goal", "contains": "fast"})),
        (step("user", prompt="Measure and set `size`.", requireConfirmation=LARGE),),
        (step(prompt="Set `size`.", validationCriteria=[{"type": "length", "min": 1, "condition": LARGE}]),),
        (step(), step("user", runCondition={"var": "a.b"})),  # a fault of its own
        (step(), step("user", runCondition={"var": " size"})),
        (SETTER, step("user", runCondition={"var": "size", "equals": ["large"]})),
        (step(), parallel(prompt="x")),
    ],
)
def test_nothing_to_say(steps: tuple[dict[str, Any], ...]) -> None:
    assert told(*steps) == []


def test_a_variable_is_told_once_with_what_is_meant() -> None:
    wrong = {"var": "sise", "equals": 1}
    (item,) = found(SETTER, step("one", runCondition=wrong), step("two", runCondition=wrong))
    assert (item.severity.value, item.pointer) == ("error", "/steps/1/runCondition/var")
    assert item.message == (
        "nothing sets 'sise', so this step never runs; did you mean 'size'? (1 other condition reads it)"
    )


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"var": "zed", "equals": 1}, "this step never runs"),
        ({"var": "zed", "not_equals": 1}, "this step is never skipped"),
        ({"or": [{"var": "zed", "equals": 1}, LARGE]}, "nothing sets 'zed'; ask for it"),
    ],
)
def test_what_an_unset_variable_does(condition: dict[str, Any], words: str) -> None:
    (item,) = found(SETTER, step("user", runCondition=condition))
    assert words in item.message


def test_how_severe_a_variable_that_nothing_sets_is() -> None:
    reads = step("user", "Read {{pathOfFile}}.")
    assert told(reads) == [("warning", "variable-never-set", "/steps/0/prompt")]
    assert told(step("one", guidance=["Set `pathOfFile`."]), reads)[0][0] == "info"
    assert told(step("one", "Look at `pathOfFile`."), reads)[0][0] == "info"
    assert told(reads, path="routines/a.json")[0][0] == "info"
    assert told(reads, metaGuidance=["Keep `pathOfFile` short."])[0][0] == "info"
    each = loop(step("inner"), type="forEach", count=..., items="sourceFiles")
    assert told(each) == [("error", "variable-never-set", "/steps/0/loop/items")]
    near = step("one", "Set `pathOfFiles`.")
    assert told(near, reads)[0][0] == "error"
    far = step("one", "Set `pathOfFileOnDisk`.")
    (item,) = found(far, reads)
    assert (item.severity.value, "did you mean 'pathOfFileOnDisk'?" in item.message) == ("warning", True)


def test_what_would_be_reported_again_is_not_suggested() -> None:
    (item,) = found(step("user", "Read {{pathOfFile}}."), step("late", "Set `pathOfFiles`."))
    assert "did you mean" not in item.message


def test_an_unknown_template_may_set_anything() -> None:
    call = step("call", None, templateCall={"templateId": "wr.templates.nowhere"})
    assert told(call, step("user", runCondition={"var": "zed"})) == []


def test_set_too_late() -> None:
    reads = step("user", "Read {{pathOfFile}}.")
    late = step("late", "Set `pathOfFile`.")
    assert told(reads, late) == [("warning", "variable-set-too-late", "/steps/0/prompt")]
    assert told(step("talk", "Speak of `pathOfFile`."), reads, late) == []
    each = loop(step("inner"), type="forEach", count=..., items="pathOfFile")
    assert told(each, late) == [("error", "variable-set-too-late", "/steps/0/loop/items")]
    # Whether to enter the loop at all is asked before its body has run.
    outside = {**loop(step("inner", "Set `pathOfFile`.")), "runCondition": {"var": "pathOfFile", "equals": "x"}}
    assert [row[1] for row in told(step(), outside)] == ["variable-set-too-late"]


def test_set_by_the_same_step() -> None:
    own = step("own", "Set `pathOfFile` and read {{pathOfFile}}.")
    assert told(own) == [("warning", "variable-set-by-same-step", "/steps/0/prompt")]
    (item,) = found(loop(own))
    assert (item.name, "the first round of the loop has no value" in item.message) == ("variable-maybe-unset", True)


def test_maybe_unset_says_when() -> None:
    sizes = step("scan", "Classify `size` as small or large.")
    sample = step("sample", "Store the path as `samplePath`.", runCondition=LARGE)
    (item,) = found(sizes, sample, step("user", "Read {{samplePath}}."))
    assert item.message == (
        "'samplePath' is set only by step 'sample', which is skipped when size is 'small'; "
        'the agent will see "[unset: samplePath]"'
    )
    assert told(sizes, sample, step("user", "If `samplePath` is set, read {{samplePath}}."))[0][0] == "info"
    assert told(sizes, sample, step("m", "Mind `samplePath`."), step("user", "Read {{samplePath}}.")) == []
    loops = loop(step("inner", "Set `lastResult`."), count="rounds")
    (item,) = found(step("s", "Set `rounds`."), loops, step("user", "Read {{lastResult}}."))
    assert "which may run zero times" in item.message


def test_loop_variables_stay_in_their_loop() -> None:
    each = loop(step("inner", "Read {{file}}."), type="forEach", count=..., items="files", itemVar="file")
    setter = step("setter", "Set `files` to a list of paths.")
    assert told(setter, each, step("end", "Close {{file}}.")) == [
        ("warning", "loop-variable-outside-loop", "/steps/2/prompt")
    ]
    named = {**loop(type="forEach", count=..., items="files", itemVar="file"), "body": "inner"}
    assert told(setter, named, step("inner", "Read {{file}}.")) == []


def test_members_of_items() -> None:
    def reading(prompt: str, asks: str) -> list[tuple[str, str, str]]:
        each = loop(step("inner", prompt), type="forEach", count=..., items="files")
        return told(step("setter", asks), each)

    asks = "Set `files` to a list of objects with `path` and `lineCount`."
    place = "/steps/1/body/0/prompt"
    assert reading("{{currentItem.path}}", asks) == []
    assert reading("{{currentItem.linecount}}", asks) == [("warning", "item-member-unknown", place)]
    assert reading("{{currentItem.owner}}", asks) == [("warning", "item-member-unknown", place)]
    some = "Set `files` to a list of items with `path` and `lineCount`."
    assert reading("{{currentItem.owner}}", some) == [("info", "item-member-unknown", place)]
    assert reading("{{currentItem.owner}}", "Set `files` to a list of files.") == []


def test_loops_that_never_start() -> None:
    body = step("inner", "Set `openCount` to the number of open rows.")

    def again(first: str, kind: str, condition: dict[str, Any]) -> list[str]:
        made = loop(body, type=kind, count=..., condition=condition)
        return [row[1] for row in told(step("first", first), made)]

    assert again("Go.", "while", {"var": "openCount", "gt": 0}) == ["loop-never-entered"]
    assert again("Go.", "while", {"var": "openCount", "not_equals": 0}) == []
    assert again("Go.", "until", {"var": "openCount", "equals": 0}) == []
    assert again("Go.", "until", {"var": "openCount", "equals": None}) == ["loop-never-entered"]
    assert again("Look at `openCount`.", "while", {"var": "openCount", "gt": 0}) == []


LEVELS = step("triage", "Set `level` to exactly one of: `minor`, `major`, `critical`.")
OPEN = step("triage", "Set `level` as you see fit. Call it whole-codebase when all is concerned.")


@pytest.mark.parametrize(
    ("first", "condition", "expected"),
    [
        (LEVELS, {"var": "level", "equals": "critcal"}, ("error", "value-outside-domain", "/equals")),
        (LEVELS, {"var": "level", "equals": "urgent"}, ("warning", "value-outside-domain", "/equals")),
        (LEVELS, {"var": "level", "not_equals": "critcal"}, ("warning", "value-outside-domain", "/not_equals")),
        (LEVELS, {"var": "level", "in": ["minor", "urgent"]}, ("warning", "value-outside-domain", "/in/1")),
        (LEVELS, {"var": "level", "equals": " Minor"}, None),
        (LEVELS, {"var": "level", "not_equals": None}, None),
        (LEVELS, {"var": "level", "gte": 2}, ("warning", "comparison-type", "/gte")),
        (LEVELS, {"var": "level", "in": ["minor", "major", "critical"]}, ("warning", "condition-only-tests-unset", "")),
        (LEVELS, {"var": "level"}, None),
        (OPEN, {"var": "level", "equals": "whole_codebase"}, ("warning", "value-spelled-differently", "/equals")),
        (OPEN, {"var": "level", "equals": "whole-codebase"}, None),
        (OPEN, {"var": "level", "equals": "anything"}, None),
        (step("t", "Set `level` (true/false)."), {"var": "level", "equals": "yes"}, None),
        (
            step("t", "Set `level` (true/false)."),
            {"var": "level", "equals": "always"},
            ("warning", "comparison-type", "/equals"),
        ),
        (
            step("t", "Set `level` to a list of names."),
            {"var": "level", "equals": "x"},
            ("warning", "comparison-type", "/equals"),
        ),
        (step("t", "Set `level` to the number of rows."), {"var": "level", "gt": 2}, None),
        (step("t", "Set `level`."), {"and": [{"var": "level", "gt": 1}, {"var": "level", "lt": 2}]}, None),
        (
            step("t", "Set `level`."),
            {"and": [{"var": "level", "gt": 3}, {"var": "level", "lt": 2}]},
            ("error", "condition-never-true", ""),
        ),
        (
            step("t", "Set `level`."),
            {"or": [{"var": "goal"}, {"and": [{"var": "level", "gt": 3}, {"var": "level", "lt": 2}]}]},
            ("warning", "condition-never-true", "/or/1"),
        ),
        (
            step("t", "Set `level`."),
            {"or": [{"var": "level", "equals": 1}, {"var": "level", "not_equals": 1}]},
            ("warning", "condition-always-true", ""),
        ),
        (step("t", "Set `level`."), {"var": "level", "gte": 0}, ("warning", "condition-only-tests-unset", "")),
    ],
)
def test_values(first: dict[str, Any], condition: dict[str, Any], expected: tuple[str, str, str] | None) -> None:
    rows = told(first, step("user", runCondition=condition))
    if expected is None:
        assert rows == []
    else:
        severity, name, place = expected
        assert rows == [(severity, name, f"/steps/1/runCondition{place}")]


def test_conditions_on_one_variable_are_spelled_alike() -> None:
    steps = [
        step(f"s{i}", runCondition={"var": "level", "equals": value})
        for i, value in enumerate(("full_scan", "full_scan", "full-scan"))
    ]
    both = step("t", "Set `level`: a full_scan is a full-scan.")
    assert told(both, *steps) == [("warning", "value-spelled-differently", "/steps/3/runCondition/equals")]


def test_a_condition_that_the_one_around_it_decides() -> None:
    def inside(when: dict[str, Any]) -> list[tuple[str, str]]:
        fragment = {"id": "f", "when": when, "text": "x"}
        rows = told(SETTER, step("user", runCondition=LARGE, promptFragments=[fragment]))
        return [(severity, name) for severity, name, _ in rows]

    assert inside({"var": "size", "equals": "small"}) == [("warning", "condition-never-true")]
    assert inside({"var": "size", "equals": "LARGE"}) == [("info", "condition-always-true")]
    assert inside({"var": "size", "contains": "lar"}) == [("info", "condition-always-true")]


def test_a_step_that_never_runs_has_one_finding() -> None:
    never = {"and": [LARGE, {"var": "size", "equals": "small"}]}
    dead = step(
        "dead", "Read {{nobody}}.", runCondition=never, promptFragments=[{"id": "f", "when": never, "text": "x"}]
    )
    assert told(SETTER, dead) == [("error", "condition-never-true", "/steps/1/runCondition")]
    inner = {**loop(step("inner", "Read {{nobody}}.")), "runCondition": never}
    assert told(SETTER, inner) == [("error", "condition-never-true", "/steps/1/runCondition")]


def test_branches_that_forget_a_value() -> None:
    def branches(*values: str, **members: Any) -> list[tuple[str, str, str]]:
        steps = [step(f"s{i}", runCondition={"var": "level", "equals": value}) for i, value in enumerate(values)]
        return told(LEVELS, *steps, *members.get("more", ()))

    assert branches("minor", "major") == [("warning", "branch-value-unhandled", "/steps/1/runCondition")]
    assert branches("minor", "major", "critical") == []
    assert branches("minor") == []
    rest = step("rest", runCondition={"var": "level", "not_equals": "minor"})
    assert branches("minor", "major", more=(rest,)) == []
