"""Scenario files: what the schema takes, what the check says before a run, and what the test says after one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from block_runs import chain, edge, lanes_of, node
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_workrail.scenarios import drivers
from pytest_workrail.scenarios.drivers import PlayedScenario, ScenarioFailure
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.schema.engine import compile_schema
from workrail_lint.systems.blocks.documents import SCENARIO
from workrail_lint.systems.blocks.rules.samples import GATE, workflow
from workrail_lint.systems.blocks.scenario import BlockScenario
from workrail_lint.systems.blocks.scenario_check import findings
from workrail_lint.systems.schemas import load_schema

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "scenarios" / "blocks"
SHIPPED = [json.loads(path.read_bytes()) for path in sorted(FOLDER.glob("*.scenario.json"))]
VALIDATOR = compile_schema(load_schema(SCENARIO))


def is_accepted(value: Any) -> bool:
    try:
        BlockScenario.model_validate(value)
    except ValidationError:
        return False
    return True


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, each in inner for place in places(each, (*at, key)))]


@st.composite
def bent(draw: st.DrawFn) -> Any:
    """A shipped scenario with something else somewhere in it."""
    value = json.loads(json.dumps(draw(st.sampled_from(SHIPPED))))
    place = draw(st.sampled_from(places(value)[1:]))
    target = value
    for key in place[:-1]:
        target = target[key]
    other = draw(st.sampled_from([None, True, 0, -1, 1.5, "", "none", "x", [], {}, ["x"], {"x": 1}, {"revise": "x"}]))
    if draw(st.booleans()) and isinstance(target, dict):
        target["surplus"] = other
    else:
        target[place[-1]] = other
    return value


@given(bent())
@settings(max_examples=times(150, deep=1_200), deadline=None)
def test_schema_and_model_agree(value: Any) -> None:
    assert (VALIDATOR.violations(value) == []) == is_accepted(value)


# -------------------------------------------------------------------------------------------------- before the run


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def put(definition: dict[str, Any], block: dict[str, Any] | None = None, **members: Any) -> Path:
        (tmp_path / "d.workflow.json").write_text(json.dumps(definition))
        path = tmp_path / "one.scenario.json"
        value = {"block": {"workflow": "d.workflow.json", **(block or {})}, **members}
        path.write_text(json.dumps(value, indent=2))
        return path

    return put


def told(path: Path) -> list[tuple[str, str]]:
    value = json.loads(path.read_text())
    return [(finding.name, finding.pointer) for finding in findings(value, str(path.parent))]


GATED = workflow(node("plan"), gates=[GATE])
ASKING = workflow(
    *(node(name) for name in "ab"),
    edges=[edge("a", "b", "expression", "go == true")],
    variables=[{"name": "ready", "type": "boolean", "required": False}],
)
LANES = lanes_of(node("a", "coding"), node("b", "coding"), strategy="fail-on-conflict")


@pytest.mark.parametrize(
    ("definition", "block", "expected"),
    [
        (chain(node("a")), {}, []),
        (chain(node("a")), {"workflow": "gone.json"}, [("scenario-workflow-missing", "/block/workflow")]),
        (chain(node("a")), {"workflows": ["gone.json"]}, [("scenario-workflow-missing", "/block/workflows/0")]),
        (workflow(node("a", "coder")), {}, [("scenario-workflow-invalid", "/block/workflow")]),
        (chain(node("a")), {"replies": {"b": {}}}, [("scenario-step-unknown", "/block/replies/b")]),
        (chain(node("a")), {"replies": {"a#0": {}}}, [("scenario-step-unknown", "/block/replies/a#0")]),
        (chain(node("a")), {"replies": {"a#x": {}}}, [("scenario-step-unknown", "/block/replies/a#x")]),
        (
            chain(node("a")),
            {"replies": {"a": {"raw": "", "output": "none"}}},
            [("scenario-member-ignored", "/block/replies/a/output")],
        ),
        (
            chain(node("a")),
            {"replies": {"a": {"timeout": True, "output": {}}}},
            [("scenario-member-ignored", "/block/replies/a/output")],
        ),
        (chain(node("a")), {"pauses": {"b": "resume"}}, [("scenario-step-unknown", "/block/pauses/b")]),
        (LANES, {"pauses": {"g": "resume"}}, []),
        (chain(node("a")), {"gates": {"a": ["continue"]}}, [("scenario-member-ignored", "/block/gates/a")]),
        (chain(node("a")), {"gates": {"b": ["continue"]}}, [("scenario-step-unknown", "/block/gates/b")]),
        (GATED, {"gates": {"plan": ["yes"]}}, []),
        (GATED, {"gates": {"plan": ["perhaps"]}}, [("scenario-choice-mismatch", "/block/gates/plan/0")]),
        (LANES, {"conflicts": {"p": "c"}}, [("scenario-choice-mismatch", "/block/conflicts/p")]),
        (LANES, {"conflicts": {"p": "manual"}}, [("scenario-choice-mismatch", "/block/conflicts/p")]),
        (LANES, {"conflicts": {"p": "manual"}, "manual": {"p": ""}}, []),
        (chain(node("a")), {"variables": {"goo": True}}, [("scenario-member-ignored", "/block/variables/goo")]),
        (ASKING, {"variables": {"go": True, "ready": True}}, []),
        (LANES, {"check": {"permutations": True}}, []),
        *(
            (flow, {"check": {"permutations": True}, **more}, [("scenario-checks-little", "/block/check/permutations")])
            for flow, more in (
                (chain(node("a")), {}),
                (LANES, {"failureMode": "strict"}),
                (lanes_of(*(node(name) for name in "abcde")), {}),
            )
        ),
    ],
)
def test_what_does_not_fit_is_told_before_anything_runs(
    definition: dict[str, Any], block: dict[str, Any], expected: list[tuple[str, str]], write: Any
) -> None:
    assert told(write(definition, block)) == expected


def test_expectations_name_nodes_that_are_there(write: Any) -> None:
    path = write(chain(node("a")), expect={"steps": ["a", "b"], "nodes": {"c": "failed"}}, golden=False)
    assert told(path) == [("scenario-step-unknown", "/expect/steps/1"), ("scenario-step-unknown", "/expect/nodes/c")]
    assert told(write(chain(node("a")), golden=False)) == [("scenario-checks-little", "/golden")]
    conflicts = [{"conflictingFile": "p", "lanes": ["a", "c"]}]
    path = write(LANES, expect={"applied": {"p": "c", "q": "manual"}, "conflicts": conflicts})
    assert told(path) == [
        ("scenario-step-unknown", "/expect/applied/p"),
        ("scenario-step-unknown", "/expect/conflicts/0/lanes/1"),
    ]


def test_expectations_name_codes_that_there_are(write: Any) -> None:
    blockers = ["BLOCK_FAILED", "BLOCK_FALED"]
    path = write(chain(node("a")), expect={"blockers": blockers, "findings": ["BC616", {"code": "BC999"}]})
    assert told(path) == [
        ("scenario-choice-mismatch", "/expect/blockers/1"),
        ("scenario-choice-mismatch", "/expect/findings/1"),
    ]


# --------------------------------------------------------------------------------------------------- after the run


def failure(path: Path) -> ScenarioFailure:
    made = drivers.play(path, path.name)
    assert isinstance(made, Err)
    return made.error


def faults(path: Path) -> list[str]:
    made = drivers.play(path, path.name)
    assert isinstance(made, Ok), str(made.error)
    run: PlayedScenario = made.value
    return [fault.pointer for fault in run.faults]


@pytest.mark.parametrize(
    ("expect", "pointers"),
    [
        ({}, []),
        ({"executionStatus": "failed"}, ["/expect/executionStatus"]),
        ({"steps": ["a"]}, ["/expect/steps"]),
        ({"steps": ["a", "a"]}, ["/expect/steps/1"]),
        ({"steps": ["a", "b", "b"]}, ["/expect/steps/2"]),
        ({"nodes": {"a": "failed"}}, ["/expect/nodes/a"]),
        ({"synthetic": {"a": "missing"}}, ["/expect/synthetic/a"]),
        ({"events": []}, ["/expect/events"]),
        ({"blockers": ["BLOCK_FAILED"]}, ["/expect/blockers/0"]),
        ({"findings": []}, ["/expect/findings"]),
        ({"findings": [{"code": "BC113", "file": "x"}]}, ["/expect/findings/0/file"]),
        ({"findings": [{"code": "BC113", "message": "nonsense"}]}, ["/expect/findings/0/message"]),
        ({"conflicts": [{"conflictingFile": "x"}]}, ["/expect/conflicts/0"]),
        ({"applied": {"x": "a"}}, ["/expect/applied/x"]),
        ({"files": {"x.py": "x\n", "gone.py": None}}, []),
        ({"files": {"x.py": None}}, ["/expect/files/x.py"]),
    ],
)
def test_every_expectation_can_fail(expect: dict[str, Any], pointers: list[str], write: Any) -> None:
    definition = chain(node("a"), node("b", "coding"))
    block = {"repo": {"files": {"x.py": "x\n"}}}
    assert faults(write(definition, block, expect=expect, description="Something.")) == pointers


def test_what_is_left_over_is_a_fault(write: Any) -> None:
    path = write(chain(node("a")), {"replies": {"a#2": {}}})
    assert faults(path) == ["/block/replies/a#2"]


def test_a_lock_needs_its_witness(write: Any) -> None:
    path = write(chain(node("a")), enforces=["block-env-nine", "block-gate-revise"])
    assert faults(path) == ["/enforces/1"]


def test_a_broken_contract_is_a_fault_unless_it_is_expected(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_workrail.systems.blocks.workspaces import Workspace

    monkeypatch.setattr(Workspace, "put_output", lambda *_: None)
    assert faults(write(chain(node("a")), expect={"executionStatus": "failed"})) == ["/block"]
    path = write(chain(node("a")), expect={"executionStatus": "failed", "findings": ["BC703"]})
    assert faults(path) == []


def test_a_failure_names_its_place(write: Any, tmp_path: Path) -> None:
    path = write(chain(node("a")), {"replies": {"b": {}}})
    assert str(failure(path)).startswith("one.scenario.json:5:")
    path.write_text("{")
    assert "one.scenario.json:1:" in str(failure(path))
    path.write_text('{"block": {}}')
    assert "workflow" in str(failure(path))
    assert "does not exist" in str(failure(tmp_path / "gone.scenario.json"))


def test_a_golden_only_where_one_is_wanted(write: Any) -> None:
    made = drivers.play(write(chain(node("a")), golden=False, expect={"steps": ["a"]}), "x")
    assert made.value.golden is None  # type: ignore[union-attr]
    made = drivers.play(write(chain(node("a")), name="mine", enforces=["block-env-nine"]), "x")
    assert isinstance(made, Ok)
    golden = json.loads(made.value.golden or b"")
    assert (golden["scenario"], golden["pack"], golden["locks"]) == ("mine", "block", ["block-env-nine"])
