"""What an author is told is true, is said once for each cause, and suggests only what would be valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workrail_lint import check, check_text
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, parallel, step, workflow
from workrail_lint.systems.workrail.rules.templates import routine

ROUTINE_PATH = "workflows/routines/check.json"


def findings(document: Any, path: str = "workflows/example.json", **settings: Any) -> list[Finding]:
    return check_text(json.dumps(document, indent=2) + "\n", path, **settings).findings


def of(code: str, document: Any, path: str = "workflows/example.json", **settings: Any) -> list[str]:
    return [finding.message for finding in findings(document, path, **settings) if finding.code == code]


def codes(document: Any) -> list[str]:
    """The codes of errors and warnings."""
    return [finding.code for finding in findings(document) if finding.severity.value != "info"]


# Values of variables


def _compared(*prompts: str, value: str = "trivial") -> dict[str, Any]:
    steps = [step(f"step-{number}", prompt) for number, prompt in enumerate(prompts)]
    return workflow(*steps, step("act", "Act.", runCondition={"var": "blastRadius", "equals": value}))


@pytest.mark.parametrize(
    "later",
    [
        "Update `blastRadius` to `wide` or `global` where the tests show more callers.",
        "Read the callers. Raise `blastRadius` to `wide` or `global`.",
        "If a public name changes, set `blastRadius` to `wide` or `global`.",
    ],
)
def test_a_change_or_a_case_does_not_list_all_values(later: str) -> None:
    assert of("CD028", _compared("Estimate `blastRadius`.", later)) == []


def test_a_sentence_that_sets_a_variable_lists_all_values() -> None:
    document = _compared("Read the callers and set `blastRadius` to `local`, `wide` or `global`.", value="tiny")
    assert of("CD028", document) != []


# Tokens


@pytest.mark.parametrize(
    "prompt",
    [
        'Draw the flow:\n```mermaid\nflowchart TD\n  start --> gate{{"Is it safe?"}}\n```\n',
        "List the containers with `docker ps --format '{{.Names}}'`.",
        "Keep the line `ref: ${{ github.ref_name }}` of the build file.",
    ],
)
def test_braces_of_another_language_are_not_expressions(prompt: str) -> None:
    assert codes(workflow(step(prompt=prompt))) == []


def test_braces_after_a_diagram_are_expressions() -> None:
    prompt = "```mermaid\nflowchart TD\n  a --> b\n```\nWork on {{round - 1}}."
    assert len(of("PR014", workflow(step(prompt=prompt)))) == 1


def _expressing(expression: str, **members: Any) -> str:
    document = workflow(step(), loop(step("inner-step", f"Do {expression} now."), **members))
    [message] = of("PR014", document)
    return message


def test_an_expression_names_what_replaces_it() -> None:
    assert "`promptFragments`" in _expressing("{{mode === 'deep' ? 'all of it' : 'a part'}}")
    assert "`iterationVar`" in _expressing("{{currentIteration - 1}}")
    assert "earlier step" in _expressing("{{total / 2}}")


def test_a_long_expression_is_cut() -> None:
    assert len(_expressing("{{mode === 'deep' ? '" + "all of it " * 40 + "' : 'a part'}}")) < 400


# Routines


@pytest.mark.parametrize(
    "guidance",
    ["Run `git log --follow {path}` for each.", "```sh\nfor path in *; do wc -l {path}; done\n```", "Echo ${path}."],
)
def test_braces_in_a_command_are_not_arguments(guidance: str) -> None:
    assert of("TP011", routine(step(prompt="Look at the history.", guidance=[guidance])), ROUTINE_PATH) == []


@pytest.mark.parametrize("guidance", ["Keep `{path}` short.", "Run `wc {target}`."])
def test_an_argument_in_guidance_is_reported(guidance: str) -> None:
    assert len(of("TP011", routine(step(prompt="Look at {target}.", guidance=[guidance])), ROUTINE_PATH)) == 1


# Suggestions


@pytest.mark.parametrize(
    ("ident", "suggestion"), [("Release", "project.release"), ("My Flow", "project.my_flow"), ("Ops.Roll", "ops.roll")]
)
def test_a_suggested_workflow_id_is_valid(ident: str, suggestion: str) -> None:
    [message] = of("ID001", {**workflow(step()), "id": ident})
    assert f"did you mean '{suggestion}'?" in message
    renamed = findings({**workflow(step()), "id": suggestion})
    assert not [finding for finding in renamed if finding.code.startswith("ID")]


def test_no_reserved_workflow_id_is_suggested() -> None:
    [message] = of("ID001", {**workflow(step()), "id": "wr.Mine"})
    assert "did you mean" not in message


def _rated(ref: str, **when: str) -> dict[str, Any]:
    dimension = {"id": "reach", "purpose": "How far it reaches.", "levels": ["narrow", "broad"]}
    effect = {"kind": "require_followup", "guidance": "Look at the callers too."}
    asked = step(
        prompt="Rate the coverage in a wr.assessment artifact.",
        assessmentRefs=[ref],
        assessmentConsequences=[{"when": {"anyEqualsLevel": "narrow", **when}, "effect": effect}],
    )
    return workflow(asked, assessments=[{"id": "coverage", "purpose": "Coverage.", "dimensions": [dimension]}])


@pytest.mark.parametrize("when", [{}, {"forAssessment": "coverage"}, {"forAssessment": "coverge"}])
def test_a_misspelled_assessment_is_one_finding(when: dict[str, str]) -> None:
    assert codes(_rated("coverge", **when)) == ["AS006"]


def test_a_consequence_is_not_compared_with_a_misspelled_reference() -> None:
    [message] = of("AS008", _rated("coverage", forAssessment="coverge"))
    assert message.endswith("did you mean 'coverage'?")


def test_a_reference_in_the_configured_folder_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "shared" / "routines"
    folder.mkdir(parents=True)
    own = {**routine(step(prompt="Sweep.")), "id": "acme.routine-sweep"}
    (folder / "sweep.json").write_text(json.dumps(own))
    asks = workflow(step(prompt="Spawn one WorkRail Executor running `acme.routine-sweep`."))
    assert of("RF016", asks, routines=folder) == []
    misspelled = workflow(step(prompt="Spawn one WorkRail Executor running `acme.routine-swep`."))
    [message] = of("RF016", misspelled, routines=folder)
    assert message.endswith("did you mean 'acme.routine-sweep'?")


def test_an_example_is_not_suggested_as_a_workflow(tmp_path: Path) -> None:
    folder = tmp_path / "workflows"
    (folder / "examples").mkdir(parents=True)
    asks = workflow(step(prompt="Spawn one WorkRail Executor running `acme.routine-swep`."))
    (folder / "main.json").write_text(json.dumps(asks))
    (folder / "examples" / "sweep.json").write_text(json.dumps({**workflow(step()), "id": "acme.routine-sweep"}))
    [message] = [finding.message for finding in check([folder], jobs=1).findings if finding.code == "RF016"]
    assert "did you mean" not in message


# Loops


def test_a_wrong_loop_id_is_advice_on_the_public_engine() -> None:
    source = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": "other"}
    document = workflow(step(), controlled_loop(conditionSource=source))
    assert [f.severity.value for f in findings(document) if f.code == "LP022"] == ["info"]
    del source["loopId"]
    assert of("LP022", document) == []


# One cause, one finding


def test_code_in_guidance_is_reported_once() -> None:
    code = [f"fun rule{number}(x) = x > {number} ? 'a' : 'b'" for number in range(5)]
    [message] = of("PR026", workflow(step(), metaGuidance=["Be brief.", *code]))
    assert "metaGuidance[1] and 4 other items" in message


def test_functions_without_a_definition_are_reported_once() -> None:
    calls = [step(f"step-{number}", functionReferences=["rank()", "group()"]) for number in range(3)]
    [message] = of("FN009", workflow(*calls))
    assert "'rank', 'group'" in message
    assert "5 other places" in message


def test_each_misspelled_function_has_its_finding() -> None:
    rank = {"name": "rank", "definition": "Sort by impact."}
    calls = [step(f"step-{number}", functionReferences=["ranc()"]) for number in range(2)]
    assert len(of("FN009", workflow(*calls, functionDefinitions=[rank]))) == 2


def test_a_variable_of_the_first_step_that_nothing_sets_is_one_finding() -> None:
    assert codes(workflow(step(prompt="Read the manual of {{gadget}}."))) == ["CD023"]
    assert codes(workflow(step(prompt="Work towards {{goal}}."))) == ["KD012"]


# Messages


def test_a_pattern_with_inline_flags_names_flags() -> None:
    criteria = [{"type": "regex", "pattern": "(?i)risk:", "message": "Name the risk."}]
    [message] = of("CR011", workflow(step(validationCriteria=criteria)))
    assert message.endswith("set `flags` to 'i'")


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Review the diff", "numbered findings"),
        ("Fix the bug", "file positions"),
        ("Greet the user", "something the agent can't write without doing the work"),
    ],
)
def test_weak_criteria_ask_for_what_the_step_is_about(title: str, words: str) -> None:
    criteria = [{"type": "contains", "value": "eightchr", "message": "Say it."}]
    [message] = of("CR002", workflow(step(title=title, validationCriteria=criteria)))
    assert words in message or "contract" in message
    assert "an 8-character answer" in message


def test_a_loop_over_what_its_body_sets_is_not_told_to_move() -> None:
    body = step("inner-step", "Read the file and set `parts` to a list of its parts.")
    document = workflow(step(), loop(body, type="forEach", count=..., items="parts", maxIterations=3))
    [message] = of("CD024", document)
    assert "move" not in message
    assert "set it before the loop" in message


def test_a_step_that_sets_its_own_condition_is_named() -> None:
    dig = step("dig", "Dig, then set `depth` to 1.", runCondition={"var": "depth", "equals": 1})
    [message] = of("CD024", workflow(step(), dig, step("more", "Dig more and set `depth` to 2.")))
    assert message.startswith("'depth' is set only by this step and by step 'more'")
    assert "move" not in message


def _gated(title: str, *following: dict[str, Any]) -> str:
    gate = {"kind": "human_approval", "condition": {"var": "isRisky", "equals": True}}
    own = step("own", "Do it and set `isRisky` to true or false.", title=title, requireConfirmation=gate)
    [message] = of("CD018", workflow(step(), own, *following))
    return message


def test_an_approval_stays_before_the_act() -> None:
    assert _gated("Deploy the service", step("report")).endswith("Set 'isRisky' in an earlier step")
    assert _gated("Assess the change").endswith("Set 'isRisky' in an earlier step")
    assert _gated("Assess the change", step("report")).endswith("Move it to the next step")


def test_messages_have_no_numbers_of_engine_defects() -> None:
    document = workflow(step(prompt="Work towards {{goal}}."), parallel(), loop(decision()), metricsProfile="research")
    assert not [finding.message for finding in findings(document) if "KD-" in finding.message]


# Wrong types and unknown members


@pytest.mark.parametrize(
    ("members", "form", "fixed"),
    [
        (
            {"outputContract": "wr.contracts.review_verdict"},
            '`{"contractRef": "wr.contracts.review_verdict"}`',
            {"contractRef": "wr.contracts.review_verdict"},
        ),
        ({"guidance": "Read first."}, '`["Read first."]`', ["Read first."]),
        ({"notesOptional": "true"}, "`true`", True),
        (
            {"prompt": ["Read it.", "Say what it does."]},
            '`"Read it.\\nSay what it does."`',
            "Read it.\nSay what it does.",
        ),
        (
            {"runCondition": "context.depth === 'deep'"},
            '`{"var": "depth", "equals": "deep"}`',
            {"var": "depth", "equals": "deep"},
        ),
        ({"runCondition": "score >= 3"}, '`{"var": "score", "gte": 3}`', {"var": "score", "gte": 3}),
        ({"runCondition": "depth is deep"}, '`{"var": "name", "equals": "value"}`', None),
        ({"outputContract": "a verdict"}, '`{"contractRef": "wr.contracts.review_verdict"}`', None),
        ({"validationCriteria": "must name a file"}, '`[{"type": "contains", "value": "…", "message": "…"}]`', None),
    ],
)
def test_a_wrong_type_shows_the_right_form(members: dict[str, Any], form: str, fixed: Any) -> None:
    [finding] = [each for each in findings(workflow(step(**members))) if each.code == "SC003"]
    assert finding.message.endswith(f"write {form}")
    operations = finding.fix.operations if finding.fix is not None else ()
    assert [getattr(each, "value", None) for each in operations] == ([] if fixed is None else [fixed])


@pytest.mark.parametrize(
    ("member", "where"),
    [
        ("outputRequired", "inside `promptBlocks`"),
        ("contractRef", "inside `outputContract`"),
        ("templateId", "inside `templateCall`"),
        ("maxIterations", "inside `loop` of a loop step"),
        ("text", "in an item of `promptFragments`"),
    ],
)
def test_an_unknown_member_says_where_it_belongs(member: str, where: str) -> None:
    [message] = of("SC001", workflow(step(**{member: "x"})))
    assert message.endswith(f"it belongs {where}")


def test_a_duplicate_id_names_the_other_step_and_its_line() -> None:
    _, message = of("ID008", workflow(step("plan", title="Plan it"), step("plan", title="Plan again")))
    assert message.endswith("step number 1 'Plan it' has the same id (line 13)")


# Places


def test_a_finding_in_a_long_prompt_points_at_the_words() -> None:
    filler = 'Read "all" of the code, then say what it does. ' * 8
    text = (
        json.dumps(workflow(step(), step("dig", f"{filler}Ask the owner of {{{{gadget}}}}. {filler}")), indent=2) + "\n"
    )
    [finding] = [each for each in check_text(text, "workflows/example.json").findings if each.code == "CD023"]
    assert finding.span is not None
    assert text[finding.span.start.offset : finding.span.end.offset] == "gadget"


def test_a_finding_in_a_short_prompt_points_at_the_string() -> None:
    text = json.dumps(workflow(step(), step("dig", "Ask the owner of {{gadget}}.")), indent=2) + "\n"
    [finding] = [each for each in check_text(text, "workflows/example.json").findings if each.code == "CD023"]
    assert finding.span is not None
    assert text[finding.span.start.offset : finding.span.end.offset] == '"Ask the owner of {{gadget}}."'
