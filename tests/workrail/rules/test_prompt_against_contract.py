"""Prompts that contradict a contract: what is reported, and what only looks like it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lint_probe import lint

from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.rules.assessments import AssessmentDimensionUnknown
from workrail_lint.systems.workrail.rules.prompt_contract import (
    ArtifactNotRequested,
    ContractPackMismatch,
    ContractProseMismatch,
    ExampleViolatesContract,
)
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, step, workflow

GATE = {"contractRef": "wr.contracts.gate_verdict"}
VALID = {"kind": "wr.gate_verdict", "version": 1, "verdict": "approved", "confidence": "high", "rationale": "x" * 20}


def showing(value: object, fence: str = "```json", **members: Any) -> dict[str, Any]:
    closing = fence[:3]
    return workflow(step(prompt=f"Submit this:\n{fence}\n{json.dumps(value)}\n{closing}\nThen stop.", **members))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verdict": "ok"}, "`verdict` must be approved, rejected or uncertain"),
        ({"version": 2}, "`version` must be 1"),
        ({"rationale": 5}, "`rationale` must be a string"),
        ({"rationale": "short"}, "`rationale` must have at least 20 characters"),
        ({"certainty": "high"}, "wr.gate_verdict has no field 'certainty'"),
    ],
)
def test_examples_that_are_refused(change: dict[str, Any], said: str) -> None:
    for value in ({**VALID, **change}, {"artifacts": [{**VALID, **change}]}, [{**VALID, **change}]):
        (finding,) = lint(ExampleViolatesContract, showing(value))
        assert said in finding.message
        assert finding.severity is Severity.WARNING
    (finding,) = lint(ExampleViolatesContract, showing({**VALID, **change}, outputContract=GATE))
    assert finding.severity is Severity.ERROR
    optional = {**GATE, "required": False}
    (finding,) = lint(ExampleViolatesContract, showing({**VALID, **change}, "~~~", outputContract=optional))
    assert finding.severity is Severity.WARNING


def test_a_missing_field() -> None:
    (finding,) = lint(ExampleViolatesContract, showing({k: v for k, v in VALID.items() if k != "confidence"}))
    assert "`confidence` is missing" in finding.message


@pytest.mark.parametrize(
    "value",
    [
        VALID,
        {**VALID, "verdict": "approved | rejected"},
        {**VALID, "verdict": "approved/rejected"},
        {**VALID, "verdict": "<verdict>"},
        {**VALID, "verdict": "approved or rejected"},
        {**VALID, "rationale": "..."},
        {**VALID, "rationale": "why…"},
        {**VALID, "kind": "something.else", "verdict": "ok"},
        {"verdict": "ok"},
        [1, 2],
        "text",
    ],
)
def test_examples_that_are_fine(value: object) -> None:
    assert lint(ExampleViolatesContract, showing(value)) == []


def test_an_example_that_is_no_json_is_left_alone() -> None:
    prompt = 'Submit:\n```json\n{"kind": "wr.gate_verdict", "verdict": ok -> fine}\n```'
    assert lint(ExampleViolatesContract, workflow(step(prompt=prompt))) == []
    deep = "```json\n" + '{"kind":' * 5000 + "\n```"
    assert lint(ExampleViolatesContract, workflow(step(prompt=deep))) == []


def judging(fields: str) -> list[str]:
    return [f.message for f in lint(ContractProseMismatch, workflow(step(prompt=f"Submit a {fields}.")))]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("wr.gate_verdict artifact with `verdict`, `certainty` and `rationale`", ["certainty"]),
        ("wr.gate_verdict with `verdict` set to `pass` or `fail`", ["pass"]),
        ("wr.gate_verdict artifact with `verdict` set to `pass` or `fail`, `certainty`", ["certainty", "pass"]),
        ("`wr.gate_verdict` containing the fields `verdict` (`approved` | `no`) and `why`", ["why", "no"]),
        ("wr.gate_verdict artifact with `verdict`: `ok`", ["ok"]),
        ("wr.loop_control artifact with `decision` and `summary`", ["summary"]),
    ],
)
def test_fields_and_values_that_are_refused(fields: str, said: list[str]) -> None:
    found = judging(fields)
    assert len(found) == len(said)
    assert all(any(f"'{word}'" in message for message in found) for word in said)


@pytest.mark.parametrize(
    "fields",
    [
        "wr.gate_verdict artifact with `verdict`, `confidence` and `rationale`",
        "wr.gate_verdict artifact with `verdict` set to `approved`, `rejected` or `uncertain`",
        "wr.gate_verdict artifact with `verdict` (`approved` or `rejected`), `confidence` (high), and a `rationale`",
        "wr.gate_verdict artifact with `verdict` and write `notes.md`",
        "wr.gate_verdict artifact. Work with `certainty`",
        "wr.gate_verdict artifact and record `certainty` in your notes",
        "wr.loop_control artifact with `decision` and `metadata.reason`",
        "wr.unknown_kind artifact with `certainty`",
        "team.session artifact with `certainty`",
        "wr.gate_verdict artifact with `verdict` set to `<approved|rejected>`",
    ],
)
def test_fields_and_values_that_are_fine(fields: str) -> None:
    assert judging(fields) == []


def test_a_prohibition_asks_for_nothing() -> None:
    prompt = "Never submit a wr.gate_verdict artifact with `certainty`."
    assert lint(ContractProseMismatch, workflow(step(prompt=prompt))) == []


@pytest.mark.parametrize(
    ("prompt", "count"),
    [
        ("Emit a wr.coding_handoff artifact.", 1),
        ("Submit the artifact for wr.contracts.coding_handoff.", 1),
        ("Emit a wr.gate_verdict artifact.", 0),
        ("Emit a wr.coding_handoff and a wr.gate_verdict artifact.", 0),
        ("Read the wr.coding_handoff artifact of the last session. Submit your verdict as an artifact.", 0),
        ("Do not emit a wr.coding_handoff artifact.", 0),
        ("Submit your verdict.", 0),
        ("Submit a wr.unknown_kind artifact.", 1),
        ("Submit a wr.unknown_kind artifact after the wr.gate_verdict.", 0),
    ],
)
def test_other_artifacts(prompt: str, count: int) -> None:
    found = lint(ContractPackMismatch, workflow(step(prompt=prompt, outputContract=GATE)))
    assert [f.pointer for f in found] == ["/steps/0/outputContract/contractRef"] * count


@pytest.mark.parametrize(
    ("prompt", "count"),
    [
        ("Emit a wr.coding_handoff artifact.", 1),
        ("Emit a wr.gate_verdict artifact.", 1),
        ("Read the wr.coding_handoff artifact of the last session. Submit your verdict as an artifact.", 0),
        ("Do not emit a wr.coding_handoff artifact.", 0),
        ("Submit a wr.loop_control artifact.", 0),  # LP023
        ("Emit a wr.coding_handoff or a wr.gate_verdict artifact.", 0),  # no contract takes either
        ("Submit a wr.unknown_kind artifact.", 0),
    ],
)
def test_an_artifact_that_the_engine_does_not_check(prompt: str, count: int) -> None:
    found = lint(ContractPackMismatch, workflow(step(prompt=prompt)))
    assert [f.pointer for f in found] == ["/steps/0"] * count


@pytest.mark.parametrize(
    ("prompt", "count"),
    [
        ("Judge the plan.", 1),
        ("Judge the plan. State the verdict and your confidence.", 1),
        ("Judge the plan and submit an artifact.", 0),
        ("Judge the plan: wr.gate_verdict.", 0),
        ("Judge the plan. Set `verdict`.", 0),
        ('Judge the plan. Set "confidence".', 0),
    ],
)
def test_artifacts_that_nobody_asks_for(prompt: str, count: int) -> None:
    assert len(lint(ArtifactNotRequested, workflow(step(prompt=prompt, outputContract=GATE)))) == count
    optional = {**GATE, "required": False}
    assert lint(ArtifactNotRequested, workflow(step(prompt=prompt, outputContract=optional))) == []


def test_who_need_not_ask() -> None:
    assert lint(ArtifactNotRequested, workflow(controlled_loop(step("inner"), decision()))) == []
    blocks = {"goal": [{"kind": "ref", "refId": "wr.refs.x"}], "procedure": ["Judge the plan."]}
    assert lint(ArtifactNotRequested, workflow(step(prompt=None, promptBlocks=blocks, outputContract=GATE))) == []
    assert lint(ArtifactNotRequested, workflow(step(assessmentRefs=["depth"]))) == []


DIMENSIONS = [{"id": name, "purpose": "How.", "levels": ["low", "high"]} for name in ("clarity", "accuracy")]
ASSESSMENTS = [{"id": "draft-quality", "purpose": "How good.", "dimensions": DIMENSIONS}]


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("Rate the dimension `tone` of draft-quality.", ["tone"]),
        ("In the wr.assessment artifact, rate the `tone` dimension.", ["tone"]),
        ("Rate draft-quality by the dimensions `clarity`, `tone` and `pace`.", ["tone", "pace"]),
        ("Rate the dimension `clarity` of draft-quality.", []),
        ("Rate the dimension `tone`.", []),
        ("Rate draft-quality. Each family has a dimension `tone`.", []),
        ("Never rate the dimension `tone` of draft-quality.", []),
    ],
)
def test_dimensions(prompt: str, names: list[str]) -> None:
    document = workflow(step(prompt=prompt, assessmentRefs=["draft-quality"]), assessments=ASSESSMENTS)
    found = lint(AssessmentDimensionUnknown, document)
    assert [name for finding in found for name in names if f"'{name}'" in finding.message] == names
    assert len(found) == len(names)
    assert lint(AssessmentDimensionUnknown, workflow(step(prompt=prompt), assessments=ASSESSMENTS)) == []
