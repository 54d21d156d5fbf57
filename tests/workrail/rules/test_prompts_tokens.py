"""Tokens: where they work, how they are spelled, and braces that mean something else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lint_probe import fixed, lint, view

from workrail_lint import check_text
from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.workrail.rules import prompt_parts
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.prompt_parts import SLOTS
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow

TOKEN = "{{wr.bindings.checker}}"
CALL = {"templateId": "wr.templates.routine.execution-simulation"}


def places(rule: type[WorkflowRule], *steps: dict[str, Any]) -> list[str]:
    return [finding.pointer for finding in lint(rule, workflow(*steps, extensionPoints=SLOTS))]


def check(*steps: dict[str, Any], **members: Any) -> list[Finding]:
    return check_text(json.dumps(workflow(*steps, **members)), "workflows/example.json").findings


def by_name(found: list[Finding]) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for finding in found:
        result.setdefault(finding.name, []).append(finding.pointer)
    return result


@pytest.mark.parametrize(
    ("made", "pointer"),
    [
        (step(title=TOKEN), "/steps/0/title"),
        (step(agentRole=f"A role with {TOKEN}"), "/steps/0/agentRole"),
        (step(guidance=["a", TOKEN]), "/steps/0/guidance/1"),
        (step(audit={"prompt": TOKEN}), "/steps/0/audit/prompt"),
        (step(audit={"rubric": [TOKEN]}), "/steps/0/audit/rubric/0"),
        (step(verification={"prompt": TOKEN}), "/steps/0/verification/prompt"),
        (step(verification={"command": TOKEN}), "/steps/0/verification/command"),
        (parallel(synthesis={"prompt": TOKEN}), "/steps/0/synthesis/prompt"),
        (parallel(parallelDelegations=[{"workflowId": "aa.bb", "goal": TOKEN}]), "/steps/0/parallelDelegations/0/goal"),
        (loop(step("inner-step", title=TOKEN)), "/steps/0/body/0/title"),
        (step(title="{{ WR.bindings.checker }}"), "/steps/0/title"),
        (step(title="{{wr.bindings.checker"), "/steps/0/title"),
    ],
)
def test_fields_where_no_token_is_resolved(made: dict[str, Any], pointer: str) -> None:
    assert places(prompt_parts.TokenUnsupportedField, made) == [pointer]


@pytest.mark.parametrize(
    "made",
    [
        step(prompt=f"Run {TOKEN}."),
        step(prompt=None, promptBlocks={"goal": TOKEN, "outputRequired": {"a": TOKEN}}),
        step(title="{{wrapped}} {wr.x}"),
        step(title=TOKEN, prompt=None, templateCall=CALL),
        step(promptFragments=[{"id": "aa", "text": TOKEN}]),
    ],
)
def test_fields_that_resolve_drop_or_refuse_tokens_themselves(made: dict[str, Any]) -> None:
    assert places(prompt_parts.TokenUnsupportedField, made) == []


def test_an_escaped_brace_is_a_brace() -> None:
    text = json.dumps(workflow(step(title="T {{wr.x}}"))).replace("{{", "\\u007b\\u007b")
    assert [f.pointer for f in lint(prompt_parts.TokenUnsupportedField, text)] == ["/steps/0/title"]


@pytest.mark.parametrize(
    ("spelled", "right"),
    [
        ("{{ wr.bindings.checker }}", TOKEN),
        ("{{wr.bindings. checker }}", None),  # compiling refuses it, under the same name
        ("{{Wr.Bindings.Checker}}", TOKEN),
        ("{{\u00a0wr.bindings.checker\ufeff}}", TOKEN),
        ("{{ wr.bindings.missing }}", "no fix"),
        ("{{ wr.refs.memory_usage }}", "no fix"),
    ],
)
def test_spellings_that_hide_a_token(spelled: str, right: str | None) -> None:
    document = workflow(step(prompt=f"Run {spelled} now."), extensionPoints=SLOTS)
    found = lint(prompt_parts.TokenMalformed, document)
    if right is None:
        assert found == []
    elif right == "no fix":
        assert [finding.fix for finding in found] == [None]
    else:
        assert json.loads(fixed(found[0], document))["steps"][0]["prompt"] == f"Run {right} now."


@pytest.mark.parametrize("prompt", [f"Run {TOKEN}.", "{{user}}", "{{wrapped.wr.x}}", "{{ wry.x }}", "wr.x", "{ wr.x }"])
def test_other_braces_are_no_malformed_tokens(prompt: str) -> None:
    assert places(prompt_parts.TokenMalformed, step(prompt=prompt)) == []


def test_several_ill_spelled_tokens_are_one_finding_and_one_fix() -> None:
    prompt = "{{ wr.bindings.checker }} and {{WR.bindings.checker}} and {{ wr.bindings.checker }}"
    document = workflow(step(prompt=prompt), extensionPoints=SLOTS)
    (found,) = lint(prompt_parts.TokenMalformed, document)
    assert json.loads(fixed(found, document))["steps"][0]["prompt"] == f"{TOKEN} and {TOKEN} and {TOKEN}"


def test_a_fragment_is_malformed_only_where_the_structure_does_not_refuse_it() -> None:
    def fragment(text: str) -> dict[str, Any]:
        return step(promptFragments=[{"id": "aa", "text": text}])

    assert places(prompt_parts.TokenMalformed, fragment("{{ wr.x }}")) == ["/steps/0/promptFragments/0/text"]
    assert places(prompt_parts.TokenMalformed, fragment("{{WR.x}}")) == []
    assert by_name(check(fragment("{{WR.x}}")))["token-unresolved"] == ["/steps/0/promptFragments/0/text"]


def test_spaces_without_end_do_not_slow_the_search_down() -> None:
    assert places(prompt_parts.TokenMalformed, step(prompt="{{wr." + " " * 200_000)) == ["/steps/0/prompt"]


@given(st.text(alphabet=st.sampled_from("{} wWrR.bindgschk"), max_size=30))
def test_the_respelled_text_has_no_ill_spelled_token_of_a_declared_slot(text: str) -> None:
    workflow_view = view(workflow(step(), extensionPoints=SLOTS))
    respelled = text
    for old, new in prompt_parts.normalized_tokens(text, workflow_view):
        respelled = respelled.replace(old, new)
    assert prompt_parts.normalized_tokens(respelled, workflow_view) == []


def test_a_binding_token_without_any_slot_is_one_error() -> None:
    errors = [finding.name for finding in check(step(prompt=f"Run {TOKEN}.")) if finding.severity is Severity.ERROR]
    assert errors == ["binding-no-extension-points"]


@pytest.mark.parametrize(
    ("prompt", "spaced", "odd"),
    [
        ("Hi {{user}} and {{user.first_name}}", 0, 0),
        ("Hi {{ user }}", 1, 0),
        ("Hi {{user }} and {{ user.name}}", 1, 0),
        ("Hi {{\u2003user}}", 1, 0),
        ("{{count + 1}}", 0, 1),
        ("{{ count + 1 }}", 0, 1),
        ("{{items.0}} {{a-b}} {{a..b}}", 0, 1),
        ("{{}} {{ }} {user} {{{user}}} { {user} }", 0, 0),
        ("{{wr.x}} {{ wr.x }} {{WR.x}}", 0, 0),
        ('{"a":{"b":1}}', 0, 0),
    ],
)
def test_context_tokens_in_a_prompt(prompt: str, spaced: int, odd: int) -> None:
    assert len(places(prompt_parts.ContextTokenSpaced, step(prompt=prompt))) == spaced
    assert len(places(prompt_parts.ContextTokenExpression, step(prompt=prompt))) == odd


def test_the_spaces_are_removed_and_nothing_else() -> None:
    asks = step(prompt="Set `user` to an object with a name and an id.")
    document = workflow(asks, step("greet", "A {{ user }} B {{user.id }} C {{ user }} {{ x + 1 }} {{ok}}"))
    (found,) = lint(prompt_parts.ContextTokenSpaced, document)
    text = json.loads(fixed(found, document))["steps"][1]["prompt"]
    assert text == "A {{user}} B {{user.id}} C {{user}} {{ x + 1 }} {{ok}}"


def test_spaces_stay_where_the_token_would_show_that_it_is_unset() -> None:
    (found,) = lint(prompt_parts.ContextTokenSpaced, workflow(step(prompt="Greet {{ user }}.")))
    assert found.fix is None


@pytest.mark.parametrize(
    ("made", "rule", "count"),
    [
        (step(agentRole="Expert in {{language}}"), prompt_parts.ContextTokenField, 1),
        (step(guidance=["Use {{ language }}"]), prompt_parts.ContextTokenField, 1),
        (step(guidance=["{{a + b}}"]), prompt_parts.ContextTokenField, 0),
        (step(guidance=["{{a + b}}"]), prompt_parts.ContextTokenExpression, 1),
        (step(title="For {{user}}"), prompt_parts.ContextTokenField, 0),
        (step(title="For {{ user }}"), prompt_parts.ContextTokenSpaced, 1),
        (step(verification={"prompt": "Ask {{ user }}"}), prompt_parts.ContextTokenSpaced, 1),
        (step(promptFragments=[{"id": "aa", "text": "{{ user }}"}]), prompt_parts.ContextTokenSpaced, 1),
        (step(prompt=None, title="{{ user }}", templateCall=CALL), prompt_parts.ContextTokenSpaced, 0),
    ],
)
def test_which_fields_are_rendered_with_the_context(made: dict[str, Any], rule: type[WorkflowRule], count: int) -> None:
    assert len(places(rule, made)) == count


def test_part_fix_needs_a_single_part_and_a_declared_slot() -> None:
    rule = prompt_parts.TokenUnresolved()

    def fix(goal: list[dict[str, str]]) -> bool:
        shown = view(workflow(step(prompt=None, promptBlocks={"goal": goal}), extensionPoints=SLOTS))
        pointer = f"/steps/0/promptBlocks/goal/{len(goal) - 1}/text"
        return rule.fix_for(Finding("PR005", rule.name, Severity.ERROR, "", pointer), shown) is not None

    assert fix([{"kind": "text", "text": TOKEN}])
    assert not fix([{"kind": "text", "text": "a"}, {"kind": "text", "text": TOKEN}])
    assert not fix([{"kind": "text", "text": "{{wr.bindings.missing}}"}])
