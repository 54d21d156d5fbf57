"""Scenario files on the side of the linter: shape, sense, and what they say about their workflow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.findings import Finding
from workrail_lint.rules.base import Example, Rule
from workrail_lint.rules.example_files import as_bytes
from workrail_lint.systems.base import RunSettings
from workrail_lint.systems.builtin import scenario_system
from workrail_lint.systems.scenario.rules import RULES
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.check import Settings
from workrail_lint.systems.workrail.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{number}")
    for rule in RULES.rules()
    for number, example in enumerate(rule.examples(), 1)
]


def found(folder: Path, example: Example, content: Any) -> list[Finding]:
    """What a check of an example's scenario finds, the files of the example being there."""
    for name, value in {**example.files, example.path: content}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_bytes(value))
    path = folder / example.path
    system = scenario_system()
    data = path.read_bytes()
    kind = system.claims(str(path), data, True)
    assert kind == "scenario"
    return system.check(str(path), data, kind, Settings(load_core())).findings


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_examples_show_their_rule(rule: Rule, example: Example, tmp_path: Path) -> None:
    bad = found(tmp_path, example, example.bad)
    assert {finding.code for finding in bad} == {rule.code}
    assert all(finding.severity is rule.severity for finding in bad)
    assert all(finding.span is not None and finding.path.endswith(".scenario.json") for finding in bad)
    assert found(tmp_path, example, example.good) == []


def test_codes_and_names_are_in_order() -> None:
    codes = [rule.code for rule in RULES.rules()]
    assert codes == [f"SN{number:03}" for number in range(1, len(codes) + 1)]
    assert len({rule.name for rule in RULES.rules()}) == len(codes)
    assert all(rule.name.startswith("scenario-") for rule in RULES.rules())


@pytest.mark.parametrize(
    ("text", "name", "place"),
    [
        ('{"workflow": "a.json",}', "json-trailing-comma", (1, 22)),
        ("{}", "schema-missing-member", (1, 1)),
        ('{"workflow": "a.json", "mode": "gided"}', "schema-enum", (1, 32)),
        ('{"workflow": "a.json",\n "agent": {"kind": "auto", "turn": []}}', "schema-unknown-member", (2, 28)),
        ('{"workflow": "a.json", "expect": {"blockers": [{"step": "x"}]}}', "schema-missing-member", (1, 48)),
        ('{"workflow": "a.json", "expect": {"blockers": ["MISSING_NOTES"]}}', "schema-enum", (1, 48)),
        ('{"workflow": "a.json", "expect": {"gaps": [{"detail": "missing_notes"}]}}', "schema-enum", (1, 55)),
        ('{"workflow": "a.json", "expect": {"error": "NOT_THERE"}}', "schema-enum", (1, 44)),
        ("3", "json-syntax", (1, 1)),
    ],
)
def test_shape_is_told_as_in_workflows(text: str, name: str, place: tuple[int, int], tmp_path: Path) -> None:
    path = str(tmp_path / "a.scenario.json")
    (finding, *_) = scenario_system().check_data(path, text, "scenario", Settings(load_core())).findings
    assert finding.name == name
    assert finding.code[:2] in ("SY", "SC"), "known under the code it has everywhere"
    assert finding.span is not None
    assert (finding.span.start.line, finding.span.start.column) == place


def test_other_files_are_left_to_others() -> None:
    assert scenario_system().claims("a.json", b'{"workflow": "x"}', True) is None
    assert scenario_system().cross_check({}, RunSettings(), True) == []


def test_every_place_that_names_a_step_is_looked_at(tmp_path: Path) -> None:
    workflow = {
        "id": "demo.two",
        "name": "W",
        "description": "d",
        "version": "1.0.0",
        "steps": [{"id": "one", "title": "One", "prompt": "p"}],
    }
    (tmp_path / "w.json").write_text(json.dumps(workflow))
    turn = {"step": "x1", "provides": {"detail": "needs_user_approval", "step": "x2"}, "expect": {"pending": "x3"}}
    scenario = {
        "workflow": "w.json",
        "profile": "locked",
        "agent": {
            "kind": "auto",
            "turns": [turn, {"step": "one", "call": "rewind", "to": "x4"}],
            "faults": [{"fault": "lose_answer", "step": "x5"}, {"fault": "lose_memory"}],
        },
        "declares": [{"reason": "evaluation_error", "step": "x6"}],
        "expect": {
            "steps": ["one", "x7"],
            "blockers": ["MISSING_REQUIRED_NOTES", {"code": "MISSING_REQUIRED_NOTES", "step": "x8"}],
            "gaps": [{"detail": "missing_required_notes", "step": "x9"}],
            "outputs": {"x10": {}},
        },
    }
    path = str(tmp_path / "a.scenario.json")
    read = scenario_system().check(path, json.dumps(scenario), "scenario", RunSettings())
    named = [finding.message.split()[5].rstrip(";") for finding in read.findings]
    assert named == [f"x{number}" for number in range(1, 11)]
    steps = {"workflow": "w.json", "agent": {"kind": "stubborn", "does": "nothing", "steps": ["one", "y"]}}
    (finding,) = scenario_system().check(path, json.dumps(steps), "scenario", RunSettings()).findings
    assert finding.pointer == "/agent/steps/1"


def test_everything_a_scenario_can_hold() -> None:
    """Model and schema agree on a scenario with every member there is, and on the agents and turns it can have."""
    whole = {
        "$schema": "s",
        "name": "n",
        "description": "d",
        "workflow": "w",
        "routines": "r",
        "catalog": "c",
        "bindings": {"slot": "value"},
        "profile": "locked",
        "mode": "full_auto_never_stop",
        "risk": "aggressive",
        "goal": "g",
        "context": {"a": None},
        "seed": 3,
        "maxTurns": 9,
        "golden": False,
        "skip": "why",
        "enforces": ["a-lock"],
        "declares": [
            {"reason": "user_only_dependency", "step": "a", "detail": "needs_user_choice", "choice": "scope_boundary"},
            {"reason": "missing_context_key", "step": "a", "key": "k"},
            {"reason": "storage_corruption_detected", "step": "a"},
        ],
        "expect": {
            "status": "gated",
            "steps": ["a"],
            "blockers": ["MISSING_CONTEXT_KEY", {"code": "INVARIANT_VIOLATION", "step": "a", "message": "m"}],
            "gaps": ["needs_user_choice", {"detail": "evaluation_error", "severity": "warning", "summary": "s"}],
            "outputs": {"a": {"notes": "n", "artifacts": [1]}},
            "context": {"a": 1},
            "error": "TIMEOUT",
        },
        "agent": {
            "kind": "scripted",
            "turns": [
                {"step": "a", "visit": 2, "notes": "", "artifacts": [None], "context": {"x": 1}},
                {
                    "step": "a",
                    "does": "right",
                    "repeats": True,
                    "expect": {"answer": "ok", "blockers": [], "code": "NOT_FOUND"},
                },
                {"step": "a", "call": "inspect_workflow", "request": {"mode": "metadata"}},
                {"step": "a", "prefers": {"mode": "guided", "risk": "balanced"}},
                {"step": "a", "provides": {"detail": "needs_user_artifact", "step": "b"}},
                {"step": "a", "rebinds": {}},
            ],
            "faults": [{"fault": "lose_answer", "step": "a", "visit": 1, "rate": 0.5}],
        },
    }
    assert scenario_system().read(json.dumps(whole)).findings == []
    assert Scenario.model_validate(whole).agent is not None
    for agent in ({"kind": "auto"}, {"kind": "stubborn", "does": "nothing"}, {"kind": "erratic", "patience": 1}):
        assert scenario_system().read(json.dumps({**whole, "agent": agent})).findings == []
        Scenario.model_validate({**whole, "agent": agent})


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)
MEMBERS = sorted(Scenario.model_json_schema()["properties"])


@given(st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=4))
def test_schema_and_model_agree_on_anything(drawn: dict[str, Any]) -> None:
    value = {"workflow": "w.json", **drawn}
    try:
        Scenario.model_validate(value)
    except ValueError:
        is_valid = False
    else:
        is_valid = True
    assert (scenario_system().read(json.dumps(value)).findings == []) is is_valid


def test_reading_a_scenario_needs_neither_pytest_nor_pydantic() -> None:
    code = (
        "import sys; "
        'from workrail_lint.systems.builtin import scenario_system; scenario_system().read(\'{"workflow": "w"}\'); '
        "print([name for name in ('pytest', 'pydantic', 'pytest_workrail') if name in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
