"""C6: which finding a surviving token is, and where its author finds it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.findings import Finding, Phase
from workrail_lint.systems.workrail.catalog.catalog import Catalog, load_core
from workrail_lint.systems.workrail.compiler.compiled import resolve
from workrail_lint.systems.workrail.compiler.tokens import SENTINEL, _first_token, scan_tokens
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

POINTS = [
    {"slotId": "outer", "purpose": "Holds a token.", "default": "{{wr.bindings.inner}}"},
    {"slotId": "inner", "purpose": "Holds a word.", "default": "routine-check"},
]


def scan(*steps: dict[str, Any], overrides: dict[str, str] | None = None, **members: Any) -> list[Finding]:
    definition = workflow(*steps, **members)
    resolved, _ = resolve(workflow_model(definition), load_core(), overrides or {}, for_engine=False)
    return scan_tokens(resolved.nodes, workflow_model(definition), overrides or {})


def blocks(**sections: Any) -> dict[str, Any]:
    return step(prompt=None, promptBlocks=sections)


def place(finding: Finding) -> tuple[str, str]:
    return finding.name, finding.pointer


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (step(prompt="See {{wr.refs.memory_usage}}."), ("token-unresolved", "/steps/0/prompt")),
        (blocks(goal="See {{wr.x}}."), ("token-unresolved", "/steps/0/promptBlocks/goal")),
        (blocks(goal="Fine.", verify=["a", "{{wr.x}}"]), ("token-unresolved", "/steps/0/promptBlocks/verify/1")),
        (blocks(outputRequired={"a/b": "{{wr.x}}"}), ("token-unresolved", "/steps/0/promptBlocks/outputRequired/a~1b")),
        (
            blocks(outputRequired={"{{wr.x}}": "a"}),
            ("token-unresolved", "/steps/0/promptBlocks/outputRequired/{{wr.x}}"),
        ),
        (
            blocks(goal=[{"kind": "text", "text": "a"}, {"kind": "text", "text": "{{wr.bindings.inner}}"}]),
            ("token-unresolved", "/steps/0/promptBlocks/goal/1/text"),
        ),
        (
            blocks(procedure=[[{"kind": "text", "text": "{{wr.x}}"}]]),
            ("token-unresolved", "/steps/0/promptBlocks/procedure/0/0/text"),
        ),
        (step(prompt="Run {{wr.bindings.outer}}."), ("binding-default-token", "/extensionPoints/0/default")),
        (blocks(goal="Run {{wr.bindings.outer}}."), ("binding-default-token", "/extensionPoints/0/default")),
        (step(prompt="Run {{wr.bindings.inner"), ("token-malformed", "/steps/0/prompt")),
        (step(prompt="Run {{wr.bindings.inner }}."), ("token-malformed", "/steps/0/prompt")),
        (step(prompt="Run {{wr.bindings.missing}}."), ("token-unresolved", "/steps/0/prompt")),
    ],
)
def test_the_most_specific_name_at_the_exact_place(made: dict[str, Any], expected: tuple[str, str]) -> None:
    (found,) = scan(made, extensionPoints=POINTS)
    assert place(found) == expected
    assert (found.code, found.phase, found.details["engine"]) == ("UNRESOLVED_TOKEN", Phase.COMPILE, True)


def test_the_first_text_in_the_order_of_rendering_is_named() -> None:
    (found,) = scan(blocks(verify=["{{wr.x}}"], goal="{{wr.y}}", constraints=["{{wr.z}}"]))
    assert place(found) == ("token-unresolved", "/steps/0/promptBlocks/goal")
    assert found.details["token"] == "{{wr.y}}"


def test_a_valid_token_beside_a_broken_one_is_not_blamed() -> None:
    (found,) = scan(blocks(goal="{{wr.bindings.inner}}", verify=["{{wr.bindings.missing}}"]), extensionPoints=POINTS)
    assert place(found) == ("token-unresolved", "/steps/0/promptBlocks/verify/0")


def test_a_default_that_a_later_token_of_the_same_text_resolves_is_fine() -> None:
    assert scan(step(prompt="{{wr.bindings.outer}} {{wr.bindings.inner}}"), extensionPoints=POINTS) == []
    (found,) = scan(step(prompt="{{wr.bindings.inner}} {{wr.bindings.outer}}"), extensionPoints=POINTS)
    assert place(found) == ("binding-default-token", "/extensionPoints/0/default")


def test_an_override_is_blamed_at_its_slot() -> None:
    made = step(prompt="Run {{wr.bindings.inner}}.")
    (found,) = scan(made, extensionPoints=POINTS, overrides={"inner": "{{wr.x}}"})
    assert place(found) == ("binding-default-token", "/extensionPoints/1/slotId")
    assert "override" in found.message


def test_the_message_names_the_step_its_place_and_the_token() -> None:
    (found,) = scan(loop(step("inner-step", "See {{wr.x}}.")))
    assert found.pointer == "/steps/0/body/0/prompt"
    assert "'inner-step'" in found.message
    assert "in loop 'again'" in found.message
    assert "'{{wr.x}}'" in found.message
    assert found.details["isLoopBodyStep"] is True


def test_a_token_in_an_argument_is_found_in_the_call() -> None:
    call = {"templateId": "wr.templates.routine.ideation", "args": {"deliverable": "{{wr.x}}", "quantity": 3}}
    found = scan(step(), step("call-it", None, templateCall=call))
    assert {place(item) for item in found} == {("token-unresolved", "/steps/1/templateCall/args/deliverable")}


def test_an_output_named_like_a_prototype_is_gone_before_the_scan() -> None:
    assert (
        scan(blocks(goal="Fine.", outputRequired={"__proto__": "{{wr.bindings.inner}}"}), extensionPoints=POINTS) == []
    )


def test_text_that_a_builtin_brought_in_is_told_at_the_prompt() -> None:
    document = load_core().document
    refs = [
        {**ref, "text": "See {{wr.x}}."} if ref["id"] == "wr.refs.memory_usage" else ref for ref in document["refs"]
    ]
    definition = workflow(blocks(goal=[{"kind": "ref", "refId": "wr.refs.memory_usage"}]))
    resolved, _ = resolve(workflow_model(definition), Catalog({**document, "refs": refs}), {}, for_engine=False)
    (found,) = scan_tokens(resolved.nodes, workflow_model(definition), {})
    assert place(found) == ("token-unresolved", "/steps/0/promptBlocks")


@pytest.mark.parametrize("prompt", ["{{ wr.x }}", "{{WR.x}}", "{wr.x}", "{{user}}", "{{wr}}"])
def test_what_the_engine_does_not_see_is_left_to_the_linter(prompt: str) -> None:
    assert scan(step(prompt=prompt)) == []


@given(st.text(alphabet=st.sampled_from("{}wr. a"), max_size=40))
def test_the_first_token_is_what_the_pattern_of_the_engine_finds(text: str) -> None:
    match = re.search(r"\{\{wr\.[^}]*\}\}", text)
    assert _first_token(text) == (match[0] if match else None)


@given(
    st.lists(st.sampled_from(["{{wr.", "}}", "}", "a ", "{{wr.bindings.inner}}", "{{wr.bindings.outer}}"]), max_size=8)
)
def test_a_finding_exactly_when_the_rendered_prompt_has_a_token(pieces: list[str]) -> None:
    definition = workflow(step(prompt="x" + "".join(pieces)), extensionPoints=POINTS)
    resolved, _ = resolve(workflow_model(definition), load_core(), {}, for_engine=False)
    found = scan_tokens(resolved.nodes, workflow_model(definition), {})
    assert len(found) == (SENTINEL in resolved.nodes[0].step["prompt"])


def test_many_unclosed_tokens_cost_no_more_than_one_look() -> None:
    (found,) = scan(step(prompt="{{wr." * 100_000 + "}"))
    assert found.name == "token-malformed"
