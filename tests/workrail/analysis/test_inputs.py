"""What the caller of a workflow provides, and who knows about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workrail_lint import check_text, compile_workflow
from workrail_lint.base.result import Ok
from workrail_lint.cli import main
from workrail_lint.systems.workrail.analysis.inputs import configured_inputs, declared_inputs
from workrail_lint.systems.workrail.model.build import program_model, workflow_model
from workrail_lint.systems.workrail.rules.samples import step, workflow

INPUTS = "Inputs: `ticketKey`, `urgency` (low, normal or high), `isDryRun` (boolean), `retries` (number)."


def reading(**members: Any) -> dict[str, Any]:
    when = {"var": "urgency", "equals": "high"}
    return workflow(step(), step("dig", "Dig into {{ticketKey}}.", runCondition=when), **members)


def codes(document: Any, **settings: Any) -> list[str]:
    text = json.dumps(document, indent=2) + "\n"
    return [f.code for f in check_text(text, "w.json", **settings).findings if f.severity.value != "info"]


def test_without_a_declaration_nothing_sets_them() -> None:
    assert codes(reading()) == ["CD023", "CD023"]


@pytest.mark.parametrize(
    "members",
    [
        {"preconditions": ["The tracker is reachable.", INPUTS]},
        {"about": f"Looks into a ticket.\n\n{INPUTS}\n\nUse it for bugs."},
        {"about": f"Looks into a ticket.\n- **{INPUTS.replace(':', '**:')}"},
    ],
)
def test_a_declared_input_is_set(members: dict[str, Any]) -> None:
    assert codes(reading(**members)) == []


def test_the_engine_accepts_the_declaration() -> None:
    assert codes(reading(preconditions=[INPUTS], about=INPUTS), engine_parity=True) == []


def test_a_text_about_inputs_declares_none() -> None:
    text = json.dumps(reading(about="Validates `ticketKey` and `urgency` of other inputs."))
    assert [f.code for f in check_text(text, "w.json").findings if f.code == "CD023"] == ["CD023", "CD023"]


def test_the_values_of_an_input_are_known() -> None:
    document = reading(preconditions=[INPUTS])
    document["steps"][1]["runCondition"]["equals"] = "urgent"
    assert codes(document) == ["CD028"]


def test_a_misspelled_input_is_an_error() -> None:
    document = reading(preconditions=[INPUTS])
    document["steps"][1]["prompt"] = "Dig into {{ticketKye}}."
    [finding] = [f for f in check_text(json.dumps(document), "w.json").findings if f.code == "CD023"]
    assert (finding.severity.value, "did you mean 'ticketKey'?" in finding.message) == ("error", True)


def test_the_message_says_how_to_declare_one() -> None:
    first = next(f for f in check_text(json.dumps(reading()), "w.json").findings if f.code == "CD023")
    advice = first.message.rpartition("declare it in `preconditions`: ")[2].strip('"')
    assert codes(reading(preconditions=[advice, "Inputs: `ticketKey`, `urgency`."])) == []


@pytest.mark.parametrize(
    "sentence",
    ["`ticketKey` is provided by the caller.", "The coordinator passes `ticketKey` and `urgency` in the context."],
)
def test_a_sentence_says_that_the_caller_provides_it(sentence: str) -> None:
    document = workflow(step(prompt=f"{sentence} Read it."), step("dig", "Dig into {{ticketKey}}."))
    assert codes(document) == []


def test_inputs_of_the_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "main.json").write_text(json.dumps(reading()))
    config = tmp_path / "workrail-lint.toml"

    def found() -> int:
        main(["check", "--no-cache", "--exit-zero", "--format", "concise", str(tmp_path)])
        return capsys.readouterr().out.count("CD023")

    config.write_text('[inputs]\n"demo.other" = ["ticketKey"]\n')
    assert found() == 2
    config.write_text('[inputs]\n"demo.example" = ["ticketKey"]\n"*" = ["urgency"]\n')
    assert found() == 0


def test_who_is_configured() -> None:
    options: dict[str, object] = {"inputs": {"*": ["a"], "demo.x": ["b"], "demo.y": ["c"]}}
    assert configured_inputs(options, "demo.x") == {"a", "b"}
    assert configured_inputs({}, "demo.x") == frozenset()


def test_examples_have_the_declared_values() -> None:
    document = reading(preconditions=[INPUTS])
    inputs = declared_inputs(workflow_model(document))
    expected = {"ticketKey": "example ticketKey", "urgency": "low", "isDryRun": True, "retries": 1}
    assert {name: each.example for name, each in inputs.items()} == expected
    compiled = compile_workflow(document)
    assert isinstance(compiled, Ok)
    assert declared_inputs(program_model(compiled.value.ir)) == inputs
