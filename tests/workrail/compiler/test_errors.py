"""Every error of the passes: its code, its place, and what its message has to contain."""

from __future__ import annotations

from typing import Any

import pytest

from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.catalog.loading import with_routines
from workrail_lint.systems.workrail.compiler.compiled import compile_definition
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow

ROUTINES = [
    {
        "id": "routine-args",
        "name": "Args",
        "description": "Takes arguments.",
        "version": "1.0.0",
        "steps": [{"id": "use", "title": "Use {what}", "prompt": "{what} {how} {what}"}],
    },
    {
        "id": "routine-blocks",
        "name": "Blocks",
        "description": "Has a step that can't be injected.",
        "version": "1.0.0",
        "steps": [{"id": "blocks", "title": "Blocks", "promptBlocks": {"goal": "x"}}],
    },
    {
        "id": "routine-audit",
        "name": "Audit",
        "description": "Collides with a virtual step.",
        "version": "1.0.0",
        "steps": [
            {"id": "a", "title": "A", "prompt": "A", "audit": {"prompt": "x"}},
            {"id": "a__audit", "title": "B", "prompt": "B"},
        ],
    },
]
CATALOG = with_routines(load_core(), ROUTINES).catalog
LEVELS = [{"id": "gate", "purpose": "p", "dimensions": [{"id": "d", "purpose": "p", "levels": ["low", "high"]}]}]


def errors(document: dict[str, Any], overrides: dict[str, str] | None = None) -> list[Any]:
    result = compile_definition(workflow_model(document), CATALOG, overrides)
    return result.error if isinstance(result, Err) else []


def call(template: str, **args: object) -> dict[str, Any]:
    return step("caller", None, templateCall={"templateId": template, "args": args})


def consequence(level: str, scope: str | None = None, kind: str = "require_followup") -> dict[str, Any]:
    when = {"anyEqualsLevel": level} | ({"forAssessment": scope} if scope else {})
    return {"when": when, "effect": {"kind": kind, "guidance": "g"}}


CASES: list[tuple[str, dict[str, Any], str, str, list[str]]] = [
    (
        "UNKNOWN_TEMPLATE",
        workflow(step(), call("wr.templates.routine.argz")),
        "C1",
        "/steps/1/templateCall/templateId",
        ["'caller'", "wr.templates.routine.argz", "did you mean 'wr.templates.routine.args'"],
    ),
    (
        "TEMPLATE_EXPAND_FAILED",
        workflow(step(), call("wr.templates.routine.args", how=None)),
        "C1",
        "/steps/1/templateCall",
        ["'caller'", "routine-args", "'use'", "'what'"],
    ),
    (
        "TEMPLATE_EXPAND_FAILED",
        workflow(step(), call("wr.templates.routine.args", what="x", how=[1])),
        "C1",
        "/steps/1/templateCall/args/how",
        ["'caller'", "routine-args", "'use'", "'how'", "string, number or boolean"],
    ),
    (
        "TEMPLATE_EXPAND_FAILED",
        workflow(step(), call("wr.templates.routine.blocks")),
        "C1",
        "/steps/1/templateCall/templateId",
        ["'caller'", "routine-blocks", "'blocks'", "prompt"],
    ),
    (
        "DUPLICATE_STEP_ID",
        workflow(step("again"), loop(step("inner"), ident="again")),
        "C1",
        "/steps/1/id",
        ["'again'"],
    ),
    (
        "UNKNOWN_BINDING_SLOT",
        workflow(
            step(prompt="{{wr.bindings.slot_b}}"),
            extensionPoints=[{"slotId": "slot_a", "purpose": "p", "default": "d"}],
        ),
        "C2",
        "/steps/0/prompt",
        ["'first-step'", "'slot_b'", "did you mean 'slot_a'"],
    ),
    (
        "UNKNOWN_BINDING_SLOT",
        workflow(step(prompt=None, promptBlocks={"goal": "g", "verify": ["{{wr.bindings.x}}"]})),
        "C2",
        "/steps/0/promptBlocks/verify/0",
        ["'x'", "no declared slots"],
    ),
    (
        "UNKNOWN_FEATURE",
        workflow(features=["wr.features.capabilitys"]),
        "C3",
        "/features/0",
        ["wr.features.capabilitys", "did you mean 'wr.features.capabilities'"],
    ),
    (
        "UNKNOWN_REF",
        workflow(step(prompt=None, promptBlocks={"constraints": ["a", [{"kind": "ref", "refId": "toString"}]]})),
        "C4",
        "/steps/0/promptBlocks/constraints/1/0/refId",
        ["'first-step'", "'toString'", "wr.refs.memory_usage"],
    ),
    (
        "PROMPT_AND_BLOCKS_BOTH_SET",
        workflow(step(promptBlocks={"goal": "g"})),
        "C5",
        "/steps/0/promptBlocks",
        ["'first-step'"],
    ),
    ("EMPTY_BLOCKS", workflow(step(prompt=None, promptBlocks={})), "C5", "/steps/0/promptBlocks", ["'first-step'"]),
    (
        "UNRESOLVED_TOKEN",
        workflow(loop(step("inner", "say {{wr.x.y}} now"))),
        "C6",
        "/steps/0/body/0/prompt",
        ["'inner'", "in loop", "{{wr.x.y}}"],
    ),
    (
        "UNRESOLVED_TOKEN",
        workflow(step(prompt="say {{wr.x")),
        "C6",
        "/steps/0/prompt",
        ["'first-step'", "{{wr.…", "not closed"],
    ),
    (
        "VIRTUAL_STEP_ID_COLLISION",
        workflow(step(), call("wr.templates.routine.audit")),
        "C7",
        "/steps/1/templateCall",
        ["caller.a__audit", "demo.example"],
    ),
    (
        "UNKNOWN_CONTRACT_REF",
        workflow(loop(step("inner", outputContract={"contractRef": "my.contract"}))),
        "C11",
        "/steps/0/body/0/outputContract/contractRef",
        ["'inner'", "'again'", "my.contract", "wr.contracts.loop_control", "wr.contracts.gate_verdict"],
    ),
    (
        "UNKNOWN_CONTRACT_REF",
        workflow(parallel(synthesis={"outputContract": {"contractRef": "nope"}})),
        "C9",
        "/steps/0/synthesis/outputContract/contractRef",
        ["fan-out__synthesis", "nope"],
    ),
    (
        "UNKNOWN_ASSESSMENT_REF",
        workflow(step(assessmentRefs=["gat"]), assessments=LEVELS),
        "C10",
        "/steps/0/assessmentRefs/0",
        ["'first-step'", "'gat'", "gate"],
    ),
    (
        "CONSEQUENCE_WITHOUT_REFS",
        workflow(step(assessmentConsequences=[consequence("low")]), assessments=LEVELS),
        "C10",
        "/steps/0/assessmentConsequences",
        ["'first-step'"],
    ),
    (
        "CONSEQUENCE_FOR_UNKNOWN_ASSESSMENT",
        workflow(
            step(assessmentRefs=["gate"], assessmentConsequences=[consequence("low", "other")]), assessments=LEVELS
        ),
        "C10",
        "/steps/0/assessmentConsequences/0/when/forAssessment",
        ["'first-step'", "'other'"],
    ),
    (
        "CONSEQUENCE_UNKNOWN_LEVEL",
        workflow(step(assessmentRefs=["gate"], assessmentConsequences=[consequence("mid")]), assessments=LEVELS),
        "C10",
        "/steps/0/assessmentConsequences/0/when/anyEqualsLevel",
        ["'first-step'", "'mid'", "any referenced assessment"],
    ),
    (
        "CONSEQUENCE_UNSUPPORTED_EFFECT",
        workflow(
            step(assessmentRefs=["gate"], assessmentConsequences=[consequence("low", kind="stop")]), assessments=LEVELS
        ),
        "C10",
        "/steps/0/assessmentConsequences/0/effect/kind",
        ["'first-step'", "'stop'"],
    ),
    (
        "CONSEQUENCE_DUPLICATE_TRIGGER",
        workflow(
            step(assessmentRefs=["gate"], assessmentConsequences=[consequence("low"), consequence("low")]),
            assessments=LEVELS,
        ),
        "C10",
        "/steps/0/assessmentConsequences/1/when",
        ["'first-step'", "'low'", "without forAssessment", "deduplication key"],
    ),
    (
        "LOOP_NESTED",
        workflow({**loop(), "body": "other"}, loop(step("deep"), ident="other")),
        "C11",
        "/steps/0/body",
        ["'again'", "'other'"],
    ),
    ("LOOP_BODY_MISSING", workflow({**loop(), "body": "nope"}), "C11", "/steps/0/body", ["'again'", "'nope'"]),
    (
        "LOOP_BODY_MISSING",
        workflow({**loop(), "body": "caller"}, call("wr.templates.routine.args", what="x", how="y")),
        "C11",
        "/steps/0/body",
        ["'again'", "'caller'"],
    ),
]


@pytest.mark.parametrize(("code", "document", "pass_name", "pointer", "parts"), CASES)
def test_error(code: str, document: dict[str, Any], pass_name: str, pointer: str, parts: list[str]) -> None:
    found = [error for error in errors(document) if error.code == code]
    assert found, errors(document)
    error = found[0]
    assert error.details["pass"] == pass_name
    assert error.pointer == pointer
    assert "\n" not in error.message
    for part in parts:
        assert part in error.message


def test_body_id_collision_names_id_and_workflow() -> None:
    document = workflow(step("same"), loop(step("same")))
    codes = {error.code for error in errors(document)}
    assert codes == {"DUPLICATE_STEP_ID", "LOOP_BODY_ID_COLLISION"} or codes == {"DUPLICATE_STEP_ID"}
    assert any("'same'" in error.message for error in errors(document))


def test_several_passes_report_in_one_run() -> None:
    document = workflow(
        call("wr.templates.none"),
        step("two", "{{wr.bindings.x}}"),
        step("three", None, promptBlocks={}),
        step("four", outputContract={"contractRef": "nope"}),
    )
    assert {error.code for error in errors(document)} == {
        "UNKNOWN_TEMPLATE",
        "UNKNOWN_BINDING_SLOT",
        "UNRESOLVED_TOKEN",
        "EMPTY_BLOCKS",
        "UNKNOWN_CONTRACT_REF",
    }


def test_a_routine_nobody_knows_may_be_ones_own() -> None:
    (own,) = errors(workflow(step(), call("wr.templates.routine.sweep-the-yard")))
    assert own.message.endswith("Load your own routines with --routines DIR or the setting routines")
    for other in ("wr.templates.routine.argz", "elsewhere"):
        (error,) = errors(workflow(step(), call(other)))
        assert "--routines" not in error.message


def test_author_text_in_messages_stays_on_one_line() -> None:
    (error,) = errors(workflow(step("a\nb", None, templateCall={"templateId": "x\x1b[31m"})))
    assert "\n" not in error.message
    assert "\x1b" not in error.message


def test_too_much_injected_text_is_an_error() -> None:
    part = [{"kind": "ref", "refId": "wr.refs.synthesis_under_disagreement"}]
    document = workflow(step(prompt=None, promptBlocks={"constraints": [part] * 40}))
    (error,) = errors(document)
    assert error.name == "prompt-refs-budget"
    assert error.details["engine"] is False


def test_body_steps_are_checked_in_full_but_not_in_the_engines_name() -> None:
    document = workflow(
        loop(step("inner", assessmentRefs=["gate"], assessmentConsequences=[consequence("mid")])), assessments=LEVELS
    )
    result = compile_definition(workflow_model(document), CATALOG)
    assert isinstance(result, Ok)
    (error,) = result.value.remarks
    assert (error.code, error.details["engine"]) == ("CONSEQUENCE_UNKNOWN_LEVEL", False)


def test_the_default_of_a_slot_may_resolve_a_later_token() -> None:
    points = [
        {"slotId": "first", "purpose": "p", "default": "{{wr.bindings.second}}"},
        {"slotId": "second", "purpose": "p", "default": "done"},
    ]
    resolves = workflow(step(prompt="{{wr.bindings.first}} {{wr.bindings.second}}"), extensionPoints=points)
    result = compile_definition(workflow_model(resolves), CATALOG)
    assert isinstance(result, Ok)
    assert result.value.resolved[0]["prompt"] == "done done"
    survives = workflow(step(prompt="{{wr.bindings.second}} {{wr.bindings.first}}"), extensionPoints=points)
    assert [error.code for error in errors(survives)] == ["UNRESOLVED_TOKEN"]


def test_overrides_resolve_undeclared_slots_in_the_compiler() -> None:
    document = workflow(step(prompt="{{wr.bindings.mine}}"))
    assert errors(document, {"mine": ""}) == []
