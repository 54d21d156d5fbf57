"""LC: files, versions, metrics, layout."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lint_probe import as_text, fixed, lint

from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.rules.lifecycle import (
    DeprecatedMember,
    DesignFormConstruct,
    FormatNoncanonical,
    MetricsProfileMissing,
    ModelIdHardcoded,
    SpecVersionOther,
    TooLittleSaid,
)
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow


@pytest.mark.parametrize(
    ("version", "ident", "severity"),
    [
        (3, "demo.x", None),
        (3.0, "demo.x", None),
        (2, "demo.x", Severity.INFO),
        (4, "demo.x", Severity.WARNING),
        (..., "demo.x", None),
        (..., "test-x", None),
        (2, "test-x", None),
        (9, "test-x", None),
    ],
)
def test_spec_versions(version: Any, ident: str, severity: Severity | None) -> None:
    document = workflow(validatedAgainstSpecVersion=version, id=ident)
    assert [finding.severity for finding in lint(SpecVersionOther, document)] == ([severity] if severity else [])


def test_routines_are_not_listed_and_need_no_words_for_a_listing() -> None:
    document = workflow(about=..., examples=..., validatedAgainstSpecVersion=...)
    assert len(lint(TooLittleSaid, document)) == 2
    assert lint(TooLittleSaid, document, is_routine=True) == []
    assert lint(TooLittleSaid, document, "workflows/internal/example.json") == []
    assert lint(TooLittleSaid, {**document, "id": "test-x"}) == []


@pytest.mark.parametrize(
    ("members", "places"),
    [
        ({"name": "Go", "description": "Reviews a change."}, []),
        ({"name": "TODO"}, ["/name"]),
        ({"description": " tbd "}, ["/description"]),
        ({"description": "Too short"}, ["/description"]),
        ({"description": "Not  short"}, []),
        ({"name": "demo.example"}, ["/name"]),
        ({"name": "demo.example", "description": "demo.example"}, ["/name", "/description"]),
    ],
)
def test_placeholders(members: dict[str, str], places: list[str]) -> None:
    assert [finding.pointer for finding in lint(TooLittleSaid, workflow(**members))] == places


def test_members_without_effect() -> None:
    document = workflow(loop(step(askForFiles=False, hasValidation=True)))
    (finding,) = lint(DeprecatedMember, document)
    assert finding.pointer == "/steps/0/body/0/hasValidation"
    assert finding.on_name
    assert json.loads(fixed(finding, document))["steps"][0]["body"][0].keys() == {"id", "title", "prompt"}


def test_design_form_is_written_out() -> None:
    rule = {"type": "length", "min": 200, "message": "Say more."}
    document = workflow(step("plan_it", validationCriteria=rule), version=..., agentRole="Careful senior engineer")
    found = lint(DesignFormConstruct, document)
    assert {finding.message.partition(" works with")[0] for finding in found} == {
        "a workflow without `version`",
        "top-level `agentRole`",
        "an underscore in a step id",
        "`validationCriteria` as a single rule",
    }
    assert {finding.severity for finding in found} == {Severity.WARNING}
    judged = lint(DesignFormConstruct, document, engine=True)
    assert {finding.severity for finding in judged} == {Severity.ERROR}
    assert "the engine rejects a workflow without `version`; add a semantic version such as `0.1.0`" in [
        finding.message for finding in judged
    ]
    text = fixed(found[0], document)
    assert lint(DesignFormConstruct, text) == []
    assert json.loads(text)["steps"][0]["validationCriteria"] == [rule]


def test_every_compatibility_code_has_words() -> None:
    module = importlib.import_module("workrail_lint.systems.workrail.compat.normalize")
    codes = [value for value in vars(module).values() if isinstance(value, module.Code)]
    assert list(module.CODES.values()) == codes
    assert all(code.name.startswith("compat-") and code.what and code.instead for code in codes)


# ------------------------------------------------------------------------------------------------ metrics


@pytest.mark.parametrize(
    ("made", "profile"),
    [
        (step(prompt="Commit the changes."), "coding"),
        (step(prompt="Run `git commit -m x`."), "coding"),
        (step(prompt="Then open a pull request."), "coding"),
        (step(prompt="Create the final PR."), "coding"),
        (step(prompt="Create all Jira tickets."), "ticket"),
        (step(outputContract={"contractRef": "wr.contracts.review_verdict"}), "review"),
        (step(prompt="Post the review on the pull request."), "review"),
        (step(prompt="Write a code review."), "review"),
        (step(prompt="Publish your review comments."), "review"),
        (step(prompt="Submit the review."), "review"),
        (step(prompt="Review the code and write a review plan."), None),
        (step(prompt="Commit to one direction."), None),
        (step(prompt="Read the pull request."), None),
        (step(prompt="Look at the commit history and the ticket."), None),
    ],
)
def test_deliveries(made: dict[str, Any], profile: str | None) -> None:
    found = lint(MetricsProfileMissing, workflow(made))
    assert bool(found) == (profile is not None)
    assert profile is None or f"'{profile}'" in found[0].message
    assert lint(MetricsProfileMissing, workflow(made, metricsProfile="none")) == []
    assert lint(MetricsProfileMissing, workflow(made), is_routine=True) == []


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("Use claude-3-5-sonnet-20241022 for it.", "claude-3-5-sonnet-20241022"),
        ("Use Claude-Opus-4.", "Claude-Opus-4"),
        ("Use GPT-4.", "GPT-4"),
        ("Use Gpt-4.", "Gpt-4"),
        ("Use LLaMA-3.", "LLaMA-3"),
        ("Use gpt-4o-mini.", "gpt-4o-mini"),
        ("Use gemini-2.5-pro here", "gemini-2.5-pro"),
        ("Use o3-mini.", "o3-mini"),
        ("Use llama3 locally", "llama3"),
        ("Use llama-3.1-70b locally", "llama-3.1-70b"),
        ("Read CLAUDE.md and claude-code docs.", None),
        ("Look at docs/gpt-4/notes.md.", None),
        ("Use a strong model.", None),
        ("Section o3-1 of the gpt- guide", None),
    ],
)
def test_model_names(text: str, model: str | None) -> None:
    found = lint(ModelIdHardcoded, workflow(step(prompt=text)))
    assert bool(found) == (model is not None), found
    assert model is None or f"'{model}'" in found[0].message


# ------------------------------------------------------------------------------------------------- layout


@pytest.mark.parametrize(("end", "word"), [("\r\n", "CR LF"), ("\r", "CR"), ("\n\r", "mixture")])
def test_line_endings(end: str, word: str) -> None:
    text = as_text(workflow()).replace("\n", end)
    (finding,) = lint(FormatNoncanonical, text)
    assert word in finding.message
    assert "\r" not in fixed(finding, text)
    assert lint(FormatNoncanonical, as_text(workflow())) == []


def test_escaped_line_ends_are_the_author_s() -> None:
    assert lint(FormatNoncanonical, as_text(workflow(step(prompt="one\r\ntwo")))) == []


@given(st.integers(0, 8), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_layout_is_safe_and_final(indent: int, ascii_only: bool, end: str) -> None:
    document = workflow(step(prompt='Gr\u00fc\u00dfe \u2028 \ud800 "x"'), extra=1.50)
    text = json.dumps(document, indent=indent or None, ensure_ascii=ascii_only).replace("\n", end)
    for rule in (FormatNoncanonical, FormatNoncanonical):
        for finding in lint(rule, text):
            text = fixed(finding, text)
    assert lint(FormatNoncanonical, text) == lint(FormatNoncanonical, text) == []
    assert canonical_bytes(read_json(text).value) == canonical_bytes(document)


def test_what_is_wrong_with_the_layout_is_said() -> None:
    plain = as_text(workflow())
    assert "newline" in lint(FormatNoncanonical, plain[:-1])[0].message
    assert "line 2 " in lint(FormatNoncanonical, plain.replace("\n  ", "\n   "))[0].message
    assert len(lint(FormatNoncanonical, plain.replace("\n  ", "\r\n   "))) == 1, "one fix mends both"
