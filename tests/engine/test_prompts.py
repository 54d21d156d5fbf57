"""The assembled prompt and its slots."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from engine_ir import for_count, parallel, step, while_artifact, workflow

from pytest_workrail.engine.core.index import ContractPack, IrIndex
from pytest_workrail.engine.core.profiles import LOCKED, REFERENCE, Profile
from pytest_workrail.engine.core.prompts import (
    PendingStep,
    PromptRenderer,
    PromptStyle,
    Situation,
    _next_input,
    contract_guidance,
    last_step_id,
)
from pytest_workrail.engine.model.step_keys import LoopPosition, StepInstance
from pytest_workrail.engine.model.words import Preferences
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.systems.workrail.model.build import program_model

_SHAS = "metrics_commit_shas"
_SIZES = ["metrics_files_changed", "metrics_lines_added", "metrics_lines_removed"]
CRITERIA = {
    "and": [
        {"type": "contains", "value": "## Risks", "message": "Needs a Risks section"},
        {"type": "length", "min": 20, "message": "Too short"},
    ]
}
ASSESSMENTS = [
    {
        "id": "readiness",
        "purpose": "Ready?",
        "dimensions": [
            {"id": "confidence", "purpose": "How sure", "levels": ["low", "high"]},
            {"id": "scope", "purpose": "How wide", "levels": ["small", "large"], "required": False},
        ],
    },
    {"id": "safety", "purpose": "Safe?", "dimensions": [{"id": "risk", "purpose": "Risk", "levels": ["a", "b"]}]},
]


def _render(
    ir: dict[str, Any],
    step_id: str,
    *path: tuple[str, int],
    profile: Profile = REFERENCE,
    context: dict[str, Any] | None = None,
    **situation: Any,
) -> PendingStep:
    instance = StepInstance(step_id, tuple(LoopPosition(*at) for at in path))
    return PromptRenderer(IrIndex(ir), profile).render(instance, Situation(context or {}, **situation))


def _one(made: dict[str, Any], **options: Any) -> PendingStep:
    ir_options = {name: options.pop(name) for name in ("assessments", "metricsProfile") if name in options}
    return _render(workflow(made, **ir_options), made["id"], **options)


class TestWorkedExamples:
    def test_linear(self) -> None:
        report = step("report", title="Report", prompt="Report on {{topic}}.")
        first = _one(step("gather", prompt="Collect facts."))
        assert first.golden_prompt == "Collect facts.⟪NOTES_FULL⟫"
        brief = _one(report, context={"topic": "caching"}, has_recap=True)
        assert (brief.title, brief.golden_prompt) == ("Report", "Report on caching.⟪NOTES_BRIEF⟫")

    def test_contract(self) -> None:
        verdict = step("verdict", prompt="Judge it.", contract="wr.contracts.gate_verdict")
        assert _one(verdict).golden_prompt == "Judge it.⟪CONTRACT⟫"

    def test_loop(self) -> None:
        draft = step(
            "draft", title="Draft {{currentIteration}}", prompt="Draft pass {{currentIteration}}.", notes="optional"
        )
        decide = step("decide", prompt="Again?", contract="wr.contracts.loop_control")
        ir = workflow(while_artifact("refine", draft, decide, limit=3))
        first = _render(ir, "draft", ("refine", 0))
        assert (first.title, first.golden_prompt) == ("Draft 1", "⟪LOOP_FIRST⟫Draft pass 1.")
        second = _render(ir, "draft", ("refine", 1))
        assert (second.title, second.golden_prompt) == ("Draft 2", "⟪LOOP_NEXT⟫Draft pass 2.")
        assert _render(ir, "decide", ("refine", 1)).golden_prompt == "Again?⟪CONTRACT⟫"

    def test_recovery(self) -> None:
        recovery = "## Recovery Context\n\n### Ancestry Recap\nn-first"
        second = _one(step("second", prompt="Two."), has_recap=True, recovery=recovery)
        assert second.golden_prompt == f"Two.⟪NOTES_FULL⟫\n\n{recovery}"
        assert _one(step("one", prompt="One."), recovery="").golden_prompt == "One.⟪NOTES_FULL⟫"

    def test_assessment(self) -> None:
        made = step("assess", prompt="Rate it.", output={"assessments": {"refs": ["readiness"], "consequences": []}})
        assert _one(made, assessments=ASSESSMENTS).golden_prompt == "Rate it.⟪ASSESSMENT⟫⟪NOTES_FULL⟫"

    def test_criteria(self) -> None:
        made = step("summarize", prompt="Sum up.", output={"criteria": CRITERIA})
        expected = 'Sum up.\n\n**OUTPUT REQUIREMENTS:**\n- Must contain: "## Risks"\n- Length: ≥20 chars⟪NOTES_FULL⟫'
        assert _one(made).golden_prompt == expected


def test_the_order_of_all_slots() -> None:
    made = step(
        "body",
        prompt="P.",
        notes="required",
        output={
            "criteria": CRITERIA,
            "assessments": {"refs": ["readiness"], "consequences": []},
        },
        fragments=[{"id": "f", "text": "Fragment."}],
    )
    ir = workflow(for_count("loop", 3, made), assessments=ASSESSMENTS, metricsProfile="research")
    shown = _render(ir, "body", ("loop", 1), recovery="## Recovery Context\n\nR").golden_prompt
    assert shown == (
        '⟪LOOP_NEXT⟫P.\n\n**OUTPUT REQUIREMENTS:**\n- Must contain: "## Risks"\n- Length: ≥20 chars'
        "⟪ASSESSMENT⟫⟪NOTES_FULL⟫\n\nFragment.⟪METRICS⟫\n\n## Recovery Context\n\nR"
    )


class TestLoopBanner:
    IR = workflow(for_count("secret-loop", 4, step("body", prompt="P.", notes="optional"), limit=4))

    def test_first(self) -> None:
        prompt = _render(self.IR, "body", ("secret-loop", 0)).prompt
        banner, body = prompt.split("\n")
        assert banner.startswith("> ")
        assert "(up to 4 passes)" in banner
        assert body == "P."

    @pytest.mark.parametrize(
        ("iteration", "bar", "scope"),
        [(1, "██░░", "second pass"), (2, "███░", "diminishing"), (3, "████", "final pass")],
    )
    def test_later(self, iteration: int, bar: str, scope: str) -> None:
        prompt = _render(self.IR, "body", ("secret-loop", iteration)).prompt
        lines = prompt.split("\n")
        assert lines[0] == "---"
        assert lines[1] == f"**Progress: [{bar}] Pass {iteration + 1} of 4**"
        assert lines[2] == lines[4] == ""
        assert lines[3].startswith("**Scope**: ")
        assert scope in lines[3]
        assert "recap" in lines[5]
        assert lines[6:] == ["---", "P."]
        assert "secret-loop" not in prompt


@pytest.mark.parametrize(
    ("criteria", "lines"),
    [
        ({"type": "regex", "pattern": "a+", "flags": "i", "message": "m"}, ["Must match pattern: a+ (flags: i)"]),
        ({"type": "regex", "pattern": "a+", "message": "m"}, ["Must match pattern: a+"]),
        ({"type": "length", "min": 1, "max": 2, "message": "m"}, ["Length: ≥1 chars, ≤2 chars"]),
        ({"type": "length", "max": 2, "message": "m"}, ["Length: ≤2 chars"]),
        ({"type": "schema", "schema": {}, "message": "m"}, []),
        ({"type": "contains", "value": "x"}, []),
        ([{"type": "contains", "value": "x", "message": "m"}], []),
        ({"or": [{"type": "contains", "value": "x", "message": "m"}]}, []),
        ({"not": {"type": "contains", "value": "x", "message": "m"}}, []),
        (
            {"and": [{"and": [{"type": "contains", "value": str(n), "message": "m"}]} for n in range(7)]},
            [f'Must contain: "{n}"' for n in range(5)],
        ),
    ],
)
def test_requirements(criteria: object, lines: list[str]) -> None:
    prompt = _one(step("s", prompt="P.", notes="optional", output={"criteria": criteria})).prompt
    slot = "\n\n**OUTPUT REQUIREMENTS:**\n" + "\n".join(f"- {line}" for line in lines) if lines else ""
    assert prompt == f"P.{slot}"


class TestContractSlot:
    def test_it_says_everything_one_needs(self) -> None:
        prompt = _one(step("s", prompt="P.", contract="wr.contracts.gate_verdict")).prompt
        assert prompt.startswith(
            "P.\n\n**OUTPUT REQUIREMENTS (System):**\n- Artifact contract: wr.contracts.gate_verdict\n- "
        )
        for fact in ('"wr.gate_verdict"', "output.artifacts", "approved | rejected | uncertain", "`rationale`"):
            assert fact in prompt
        example = json.loads(prompt.partition("```json\n")[2].partition("\n```")[0])
        assert example["kind"] == "wr.gate_verdict"

    def test_an_unknown_contract_gets_two_lines(self) -> None:
        ir = {**workflow(step("s", prompt="P.", contract="wr.contracts.gate_verdict")), "contracts": []}
        assert _render(ir, "s").prompt.count("\n- ") == 2

    def test_the_order_of_members_in_the_ir_does_not_show(self) -> None:
        for ref in ("review_verdict", "differentiation_handoff", "capability_observation", "loop_control"):
            ir = workflow(step("s", prompt="P.", contract=f"wr.contracts.{ref}"))
            reread = json.loads(canonical_bytes(ir))
            assert _render(reread, "s").prompt == _render(ir, "s").prompt

    @pytest.mark.parametrize(("profile", "named"), [(REFERENCE, False), (LOCKED, True)])
    def test_a_decision_must_name_its_loop_where_the_profile_asks(self, profile: Profile, named: bool) -> None:
        decide = step("decide", contract="wr.contracts.loop_control")
        ir = workflow(while_artifact("refine", decide))
        prompt = _render(ir, "decide", ("refine", 0), profile=profile).prompt
        assert ('"refine"' in prompt) is named
        outside = _render(workflow(decide), "decide", profile=profile).prompt
        assert '"refine"' not in outside


def test_a_probe_is_told_which_capability() -> None:
    contract = {"ref": "wr.contracts.capability_observation", "required": True, "capability": "delegation"}
    prompt = _one(step("probe", output={"contract": contract})).prompt
    assert 'Set `capability` to "delegation"' in prompt
    example = json.loads(prompt.partition("```json\n")[2].partition("\n```")[0])
    assert example["capability"] == "delegation"


def test_assessment_slot() -> None:
    made = step(
        "s",
        prompt="P.",
        notes="optional",
        output={"assessments": {"refs": ["safety", "readiness"], "consequences": []}},
    )
    prompt = _one(made, assessments=ASSESSMENTS).prompt
    assert prompt.startswith("P.\n\n**ASSESSMENT REQUIREMENTS (System):**\n")
    assert prompt.index('Assessment target: "readiness"') < prompt.index('Assessment target: "safety"')
    assert '`assessmentId` to "safety"' in prompt
    assert (
        "- Purpose: Ready?\n- Dimensions:\n  confidence (low | high): How sure\n  scope (small | large): How wide\n"
        in prompt
    )
    example = json.loads(prompt.partition("```json\n")[2].partition("\n```")[0])
    assert example["dimensions"]["confidence"]["level"] == "low"
    single = step("s", output={"assessments": {"refs": ["readiness"], "consequences": []}})
    assert "assessmentId" not in _one(single, assessments=ASSESSMENTS).prompt


@pytest.mark.parametrize("has_recap", [False, True])
def test_notes_slots_say_what_is_needed(has_recap: bool) -> None:
    prompt = _one(step("s", prompt="P."), has_recap=has_recap).prompt
    assert prompt.startswith("P.\n\n**NOTES REQUIRED (System):**")
    for fact in ("output.notesMarkdown", "this step only", "blocked"):
        assert fact in prompt


@pytest.mark.parametrize(
    ("profile", "first", "last"),
    [
        ("coding", [_SHAS], [_SHAS, "metrics_outcome", "metrics_pr_numbers", *_SIZES]),
        ("review", [], ["metrics_outcome", "metrics_pr_numbers"]),
        ("research", [], ["metrics_outcome"]),
        ("design", [], ["metrics_outcome"]),
        ("ticket", [], ["metrics_outcome"]),
        ("none", [], []),
        (None, [], []),
    ],
)
def test_metrics(profile: str | None, first: list[str], last: list[str]) -> None:
    ir = workflow(step("one"), step("two"))
    if profile:
        ir["metricsProfile"] = profile
    for step_id, keys in (("one", first), ("two", last)):
        prompt = _render(ir, step_id).prompt
        assert ("\n\n**METRICS (System):**" in prompt) is bool(keys)
        assert set(re.findall("metrics_[a-z_]+", prompt)) == set(keys)


def test_the_last_step_of_a_loop_is_the_last_that_works() -> None:
    decide = step("decide", contract="wr.contracts.loop_control")
    assert last_step_id(program_model(workflow(step("a"), while_artifact("l", step("w"), decide)))) == "w"
    assert last_step_id(program_model(workflow(step("a"), while_artifact("l", decide)))) is None
    assert last_step_id(program_model(workflow(step("a"), step("b")))) == "b"
    assert last_step_id(program_model(workflow())) is None


@pytest.mark.parametrize("style", list(PromptStyle))
def test_the_banner_of_a_body_by_reference_names_no_limit(style: PromptStyle) -> None:
    inline = for_count("loop", 3, step("body", prompt="P.", notes="optional"), limit=3)
    ir = workflow({**inline, "bodyRef": "earlier"})
    passes = [_render(ir, "body", ("loop", number), style=style).prompt for number in range(3)]
    shown = [_render(workflow(inline), "body", ("loop", number), style=style).prompt for number in range(3)]
    assert not any("of 3" in prompt or "up to" in prompt or "█" in prompt or "final" in prompt for prompt in passes)
    assert "up to 3 passes" in shown[0]
    assert "final" in shown[2]
    if style is PromptStyle.FULL:
        assert passes[2].startswith("---\n**Pass 3**\n\n**Scope**: Returns are diminishing")
    locked = [_render(ir, "body", ("loop", number), style=style, profile=LOCKED).prompt for number in range(3)]
    assert locked == shown


def test_a_parallel_step_has_no_slots_and_asks_for_no_confirmation() -> None:
    made = parallel("fan-out", {"workflowId": "a"}, confirmation={"kind": "always", "gate": "human_approval"})
    shown = _one(made, metricsProfile="coding")
    assert shown.prompt.startswith("# Parallel Subagent Spawning Phase\n")
    assert [part.slot for part in shown.parts] == [None]
    assert (shown.gate, shown.requires_confirmation) == ("human_approval", False)


def test_fields_beside_the_prompt() -> None:
    shown = _one(
        step("s", agentRole="Reviewer", modelTier="heavy", confirmation={"kind": "always", "gate": "coordinator_eval"})
    )
    assert (shown.agent_role, shown.model_tier, shown.requires_confirmation) == ("Reviewer", "heavy", True)
    plain = _one(step("s"))
    assert (plain.agent_role, plain.model_tier, plain.gate) == (None, None, None)


def test_clean_style_drops_headings_and_notes_but_keeps_bullets() -> None:
    made = step("body", prompt="P.", output={"criteria": CRITERIA})
    ir = workflow(for_count("loop", 3, made))
    recovery = "## Recovery Context\n\n### Ancestry Recap\nn1"
    prompt = _render(ir, "body", ("loop", 1), style=PromptStyle.CLEAN, recovery=recovery).prompt
    banner, _, rest = prompt.partition("\n\n")
    assert banner.startswith("This is pass 2 of 5")
    assert rest == (
        'P.\n\n- Must contain: "## Risks"\n- Length: ≥20 chars\n\nYour previous work:\n\n### Ancestry Recap\nn1'
    )
    contract = _one(step("s", prompt="P.", contract="wr.contracts.gate_verdict"), style=PromptStyle.CLEAN).prompt
    assert contract.startswith("P.\n\n- Artifact contract: ")


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"const": "ä"}, '"ä"'),
        ({"enum": ["a", 2]}, "a | 2"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "text or null"),
        ({"type": "array", "items": {"type": "number"}}, "list of number"),
        ({"type": "array", "minItems": 1, "maxItems": 3}, "non-empty list, at most 3 items of any value"),
        ({"type": "array", "minItems": 2}, "list of at least 2 items of any value"),
        ({"type": "object"}, "object"),
        ({"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "boolean"}}},
         "object {b: boolean, a?: any value}"),
        ({"type": "string", "minLength": 1}, "non-empty text"),
        ({"type": "string", "minLength": 20, "maxLength": 90}, "text of at least 20 characters, at most 90 characters"),
        ({"type": "string", "maxLength": 0}, "text, at most 0 characters"),
        ({}, "any value"),
    ],
)  # fmt: skip
def test_a_field_of_a_contract_in_a_few_words(shape: dict[str, Any], words: str) -> None:
    schema = {"properties": {"kind": {"const": "a.b"}, "one": shape}}
    start = ["Artifact contract: wr.a", 'Submit one artifact of kind "a.b" in `output.artifacts`.']
    for required, title in (({"required": ["kind", "one"]}, "Required"), ({}, "Optional")):
        pack = ContractPack("wr.a", "a.b", {**schema, **required}, None)
        assert contract_guidance("wr.a", pack, {}) == [*start, f"{title} fields: `one` ({words})."]


def test_a_contract_with_its_example_and_fixed_members() -> None:
    inner = {"properties": {"x": {}, "y": {}}, "required": ["y"]}
    schema = {
        "required": ["kind", "two"],
        "properties": {"kind": {}, "one": {}, "two": {"items": inner}, "zero": {}},
        "x-objectMode": "strict",
    }
    example = {"other": 1, "zero": 0, "loopId": "some", "two": [{"x": 1, "a": 0, "y": 2}], "one": "ä", "kind": "a.b"}
    lines = contract_guidance("wr.a", ContractPack("wr.a", "a.b", schema, example), {"one": "set"})
    arranged = {"kind": "a.b", "two": [{"y": 2, "x": 1, "a": 0}], "one": "set", "zero": 0, "other": 1}
    assert lines[3:] == [
        "Optional fields: `one` (any value); `zero` (any value).",
        'Set `one` to "set"; nothing else is accepted here.',
        "Any other field makes the artifact invalid.",
        f"Example:\n```json\n{json.dumps(arranged)}\n```",
    ]
    assert contract_guidance("wr.a", None, {}) == [
        "Artifact contract: wr.a",
        "Submit an artifact that meets this contract in `output.artifacts`.",
    ]


GUIDED = Preferences("guided", "conservative")
NEVER = Preferences("full_auto_never_stop", "aggressive")


@pytest.mark.parametrize(
    ("confirmer", "situation", "source", "needed"),
    [
        (None, {}, None, ""),
        (None, {"asked_for": ("a", "b"), "dependencies": ("x",)}, "you", "`a`, `b`"),
        (None, {"dependencies": ("x", "y")}, "user", "x; y"),
        ("user", {}, "user", "approval of this step"),
        ("user", {"preferences": NEVER}, None, ""),
        ("coordinator", {}, "coordinator", "approval of this step"),
        ("coordinator", {"dependencies": ("x",)}, "user", "approval of this step; x"),
        ("coordinator", {"dependencies": ("x",), "preferences": NEVER}, "user", "x"),
    ],
)
def test_who_has_to_provide_what(confirmer: Any, situation: dict[str, Any], source: str | None, needed: str) -> None:
    answer = _next_input(confirmer, Situation({}, **{"preferences": GUIDED, **situation}))
    assert (None if answer is None else (answer.source, answer.needed)) == (
        None if source is None else (source, needed)
    )
