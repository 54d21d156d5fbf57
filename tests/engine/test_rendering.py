"""Texts that depend on the context."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from engine_ir import for_each, parallel, step, typed, workflow
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.engine.core.index import functions_block
from pytest_workrail.engine.core.modes import (
    approval_reason,
    autonomous_gate,
    needs_person,
    required_gate,
    waits_for_confirmation,
)
from pytest_workrail.engine.core.profiles import LOCKED, REFERENCE
from pytest_workrail.engine.core.prompts import fragments_text, parallel_prompt, render_context, substitute
from pytest_workrail.engine.model.reasons import UserOnlyDependency
from pytest_workrail.engine.model.step_keys import LoopPosition
from pytest_workrail.engine.model.words import Preferences
from workrail_lint.systems.workrail.model.build import program_model

_CONTEXT: dict[str, Any] = {
    "name": "cache",
    "n": 1.0,
    "none": None,
    "flag": True,
    "list": [1, {"a": 2}],
    "deep": {"a": {"b": "x", "none": None}, "text": "words", "empty": {}},
    "long": "y" * 70,
    "exact": "z" * 60,
    "wr": {"refs": "taken"},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no tokens", "no tokens"),
        ("{{name}} and {{n}}", "cache and 1"),
        ("{{deep.a.b}}", "x"),
        ("{{list}} {{deep}}", "1,[object Object] [object Object]"),
        ("{{list.length}}", "2"),
        ("{{list.other}}", "[unset: list.other]"),
        ("{{missing}}", "[unset: missing]"),
        ("{{missing.a.b}}", "[unset: missing.a.b]"),
        ("{{none}}", "[unset: none]"),
        ("{{none.a}}", "[unset: none.a]"),
        ("{{deep.a.c}}", "[unset: deep.a.c]"),
        ("{{deep.a.none}}", "[unset: deep.a.none]"),
        ("{{deep.zz.y}}", "[unset: deep.zz.y -- 'deep.zz' is undefined (\"undefined\"), not object]"),
        ("{{deep.a.none.y}}", "[unset: deep.a.none.y -- 'deep.a.none' is null (\"null\"), not object]"),
        ("{{list.x.y}}", "[unset: list.x.y -- 'list.x' is undefined (\"undefined\"), not object]"),
        ("{{name.x}}", "[unset: name.x -- 'name' is string (\"cache\"), not object]"),
        ("{{deep.text.x.y}}", "[unset: deep.text.x.y -- 'deep.text' is string (\"words\"), not object]"),
        ("{{n.x}}", "[unset: n.x -- 'n' is number (\"1\"), not object]"),
        ("{{flag.x}}", "[unset: flag.x -- 'flag' is boolean (\"true\"), not object]"),
        ("{{long.x}}", f"[unset: long.x -- 'long' is string (\"{'y' * 60}…\"), not object]"),
        ("{{exact.x}}", f"[unset: exact.x -- 'exact' is string (\"{'z' * 60}\"), not object]"),
        ("{{wr.refs}} {{wr.bindings.a}}", "{{wr.refs}} {{wr.bindings.a}}"),
        ("{{wrap}}", "[unset: wrap]"),
        ("{{ name }} {{name }} {{a+b}} {{1a}} {{a.}} {{a..b}} {{}} {{é}}", None),
        ("{{list.0}}", None),
        ("{{{name}}}", "{cache}"),
    ],
)
def test_template_tokens(text: str, expected: str | None) -> None:
    assert substitute(text, _CONTEXT) == (text if expected is None else expected)


@settings(deadline=None)
@given(
    st.text("{}ab.wr_ 1", max_size=20), st.dictionaries(st.sampled_from(["a", "b", "wr"]), st.integers() | st.none())
)
def test_substitution_is_total(text: str, context: dict[str, Any]) -> None:
    assert isinstance(substitute(text, context), str)


def test_values_are_not_substituted_again() -> None:
    assert substitute("{{a}}", {"a": "{{b}}", "b": "x"}) == "{{b}}"


def test_the_variables_of_the_innermost_loop_lie_on_top() -> None:
    names = {"item": "slice", "index": "idx"}
    loop = for_each("per-slice", "slices", step("build"), variables=names)
    context = {"slices": ["api", "ui"], "idx": "shadowed"}
    seen = render_context(typed(loop), (LoopPosition("per-slice", 1),), context)
    assert substitute("#{{idx}} {{slice}} in pass {{currentIteration}}", seen) == "#1 ui in pass 2"
    assert render_context(None, (), context) is context
    past_the_end = render_context(typed(loop), (LoopPosition("per-slice", 5),), context)
    assert substitute("{{slice}}", past_the_end) == "[unset: slice]"


def test_fragments() -> None:
    made = step(
        "s",
        fragments=[
            {"id": "a", "text": "Always {{name}}."},
            {"id": "b", "text": "Never.", "when": {"var": "missing"}},
            {"id": "c", "text": "Sometimes.", "when": {"var": "flag"}},
        ],
    )
    assert fragments_text(typed(made), _CONTEXT) == "Always cache.\n\nSometimes."
    assert fragments_text(typed(step("s")), _CONTEXT) == ""


class TestParallel:
    def test_only_active_delegations_are_listed_and_numbered(self) -> None:
        made = parallel(
            "fan-out",
            {"workflowId": "skipped", "runCondition": {"var": "missing"}},
            {"workflowId": "wr.review", "args": {"familyName": "security", "depth": 2, "list": [1.0]}},
            {
                "workflowId": "wr.scan",
                "goal": "Scan all.",
                "allowedTools": ["grep", "read"],
                "contextMapping": {"name": "topic", "missing": "gone", "none": "gone2", "n": "count"},
                "args": {"count": "seven"},
            },
            {"workflowId": "wr.plain"},
        )
        prompt = parallel_prompt(typed(made), _CONTEXT)
        assert prompt.startswith("# Parallel Subagent Spawning Phase\n")
        assert "skipped" not in prompt
        assert "gone" not in prompt
        first, second, third = prompt.split("## Delegation ")[1:]
        assert first == (
            "1\n- Workflow: `wr.review`\n- Goal: Run security review family for workflow wr.review\n"
            "- Inputs:\n  - `depth`: 2\n  - `familyName`: security\n  - `list`: [1]\n\n"
        )
        assert second == (
            "2\n- Workflow: `wr.scan`\n- Goal: Scan all.\n- Allowed tools: grep, read\n"
            "- Inputs:\n  - `count`: seven\n  - `topic`: cache\n\n"
        )
        assert third == "3\n- Workflow: `wr.plain`\n- Goal: Run wr.plain"

    def test_nothing_to_spawn(self) -> None:
        made = parallel("fan-out", {"workflowId": "a", "runCondition": {"var": "missing"}})
        prompt = parallel_prompt(typed(made), {})
        assert prompt.startswith("# Parallel Subagent Spawning Phase (Bypassed)\n")
        assert "nothing to spawn" in prompt
        assert "advance" in prompt


class TestConfirmation:
    NEVER = step("s")
    DEFAULT = step("s", confirmation={"kind": "always", "gate": "coordinator_eval"})
    COORDINATOR = step("s", confirmation={"kind": "always", "gate": "coordinator_eval", "explicit": True})
    PERSON = step("s", confirmation={"kind": "when", "gate": "human_approval", "condition": {"var": "risky"}})

    def test_who_has_to_confirm(self) -> None:
        assert required_gate(typed(self.NEVER), {}) is None
        assert required_gate(typed(self.DEFAULT), {}) == "coordinator_eval"
        assert required_gate(typed(self.PERSON), {}) is None
        assert required_gate(typed(self.PERSON), {"risky": 1}) == "human_approval"
        assert needs_person(typed(self.DEFAULT), {})
        assert not needs_person(typed(self.COORDINATOR), {})
        assert needs_person(typed(self.PERSON), {"risky": 1})
        assert not needs_person(typed(self.PERSON), {})

    @pytest.mark.parametrize("autonomous", ["true", True, "yes", None])
    def test_gates_stand_in_autonomous_runs_only(self, autonomous: object) -> None:
        gate = autonomous_gate(typed(self.DEFAULT), {"is_autonomous": autonomous}, Preferences(), REFERENCE)
        assert gate == ("coordinator_eval" if autonomous == "true" else None)

    @pytest.mark.parametrize(
        ("autonomy", "profile", "is_reason", "waits"),
        [
            ("guided", REFERENCE, False, True),
            ("full_auto_stop_on_user_deps", REFERENCE, False, True),
            ("full_auto_never_stop", REFERENCE, False, True),
            ("guided", LOCKED, False, True),
            ("full_auto_stop_on_user_deps", LOCKED, True, True),
            ("full_auto_never_stop", LOCKED, True, False),
        ],
    )
    def test_modes(self, autonomy: Any, profile: Any, is_reason: bool, waits: bool) -> None:
        preferences = Preferences(autonomy)
        expected = UserOnlyDependency("needs_user_approval", "s") if is_reason else None
        assert approval_reason(typed(self.DEFAULT), {}, preferences, profile) == expected
        assert approval_reason(typed(self.COORDINATOR), {}, preferences, profile) is None
        assert approval_reason(typed(self.NEVER), {}, preferences, profile) is None
        assert waits_for_confirmation(True, preferences, profile) is waits
        assert not waits_for_confirmation(False, preferences, profile)
        gate = autonomous_gate(typed(self.DEFAULT), {"is_autonomous": "true"}, preferences, profile)
        assert gate == (None if is_reason else "coordinator_eval")


class TestFunctions:
    IR = workflow(
        functions=[
            {"name": "shared", "definition": "the workflow's"},
            {"name": "b_top", "definition": "top", "scope": "workflow"},
            {"name": "hidden", "definition": "of a step", "scope": "step"},
        ]
    )
    LOOP: ClassVar[dict[str, Any]] = {
        "type": "loop",
        "functions": [
            {"name": "in_loop", "definition": "l", "scope": "loop"},
            {"name": "shared", "definition": "the loop's"},
        ],
    }

    def test_inner_definitions_win_and_scopes_are_sorted(self) -> None:
        made = step("s", functions=[{"name": "mine()", "definition": "m", "scope": "step"}])
        assert functions_block(program_model(self.IR), typed(made), (typed(self.LOOP),)) == (
            "```\nfunction mine(...)\n  m\n\nfunction in_loop(...)\n  l\n\n"
            "function b_top(...)\n  top\n\nfunction shared(...)\n  the loop's\n```"
        )

    def test_references_select_with_or_without_parentheses(self) -> None:
        made = step("s", functionReferences=["shared()", "unknown()"])
        assert (
            functions_block(program_model(self.IR), typed(made)) == "```\nfunction shared(...)\n  the workflow's\n```"
        )

    def test_no_function_no_block(self) -> None:
        assert functions_block(program_model(workflow()), typed(step("s"))) == ""
        assert functions_block(program_model(self.IR), typed(step("s", functionReferences=["nobody()"]))) == ""
