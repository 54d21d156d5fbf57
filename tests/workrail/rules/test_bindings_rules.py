"""Extension points: tokens, defaults, and what a project binds to them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lint_probe import fixed, lint

from workrail_lint import check_text
from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.workrail.rules import bindings
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.bindings import contract_problems, point
from workrail_lint.systems.workrail.rules.samples import step, workflow

TOKEN = "{{wr.bindings.checker}}"


def using(prompt: str, *points: dict[str, Any], **members: Any) -> dict[str, Any]:
    return workflow(step(prompt=prompt), extensionPoints=list(points) or ..., **members)


def places(rule: type[WorkflowRule], document: dict[str, Any], **settings: Any) -> list[str]:
    return [finding.pointer for finding in lint(rule, document, **settings)]


def reported(document: dict[str, Any], name: str, **options: Any) -> list[Finding]:
    found = check_text(json.dumps(document), "workflows/a.json", **options).findings
    return [finding for finding in found if finding.name == name]


def test_one_declaration_serves_all_tokens_of_a_workflow() -> None:
    steps = [step("one-step", f"Run {TOKEN}."), step("two-step", "{{wr.bindings.writer}} {{wr.bindings.Bad-Slot}}")]
    document = workflow(*steps)
    first, second = reported(document, "binding-no-extension-points")
    assert second.fix is None
    after = json.loads(fixed(first, document))
    assert [item["slotId"] for item in after["extensionPoints"]] == ["checker", "writer"]
    assert reported(after, "binding-no-extension-points") == []


def test_an_empty_list_of_extension_points_is_filled() -> None:
    document = {**using(f"Run {TOKEN}."), "extensionPoints": []}
    (found,) = reported(document, "binding-no-extension-points")
    assert len(json.loads(fixed(found, document))["extensionPoints"]) == 1


def test_a_bare_prefix_is_refused_but_declares_nothing() -> None:
    (found,) = reported(using("Run {{wr.bindings. now"), "binding-no-extension-points")
    assert found.fix is None


def test_only_the_misspelled_slots_are_respelled() -> None:
    document = using("{{wr.bindings.cheker}} {{wr.bindings.far_away}} {{wr.bindings.cheker}}", point())
    found = reported(document, "binding-slot-undeclared")
    mended = [finding for finding in found if finding.fix is not None]
    after = json.loads(fixed(mended[0], document))["steps"][0]["prompt"]
    assert after == f"{TOKEN} {{{{wr.bindings.far_away}}}} {TOKEN}"


@pytest.mark.parametrize(
    ("prompt", "default", "override", "expected"),
    [
        ("No token.", "{{wr.bindings.other}}", None, ["/extensionPoints/0/default"]),
        ("No token.", "routine-check", None, []),
        ("No token.", "routine-check", "{{wr.x}}", ["/extensionPoints/0/slotId"]),
        ("No token.", "{{wr.x}}", "routine-check", ["/extensionPoints/0/default"]),
        ("No token.", "{{user}}", None, []),
    ],
)
def test_values_that_hold_tokens(prompt: str, default: str, override: str | None, expected: list[str]) -> None:
    settings = {} if override is None else {"bindings": {"demo.example": {"checker": override}}}
    assert places(bindings.BindingDefaultToken, using(prompt, point(default=default)), **settings) == expected


def test_a_default_whose_token_survives_is_the_engines_error_and_told_once() -> None:
    document = using(f"Run {TOKEN}.", point(default="{{wr.bindings.other}}"), point("other"))
    (strict,) = reported(document, "binding-default-token")
    assert (strict.pointer, strict.severity) == ("/extensionPoints/0/default", Severity.ERROR)
    unused = using("Nothing.", point(default="{{wr.bindings.other}}"), point("other"))
    (parity,) = reported(unused, "binding-default-token", engine_parity=True)
    assert parity.severity is Severity.WARNING


SECTION = {"demo.example": {"checker": "", "writer": "routine-write"}}


def test_empty_overrides_count_and_unknown_ones_do_not() -> None:
    document = using(f"Run {TOKEN}.", point(), point("reader"))
    assert places(bindings.BindingOverrideEmpty, document, bindings=SECTION) == ["/extensionPoints/0/slotId"]
    (found,) = lint(bindings.BindingOverrideUnknownSlot, document, bindings=SECTION)
    assert "'writer'" in found.message
    assert "declared slots: checker, reader" in found.message


@pytest.mark.parametrize(
    "content",
    [None, [], {}, {"other.flow": {"checker": ""}}, {"demo.example": "x"}, {"demo.example": {"checker": 3}}],
)
def test_a_file_that_sets_nothing_here_is_no_override(content: Any) -> None:
    document = using(f"Run {TOKEN}.", point())
    assert places(bindings.BindingOverrideEmpty, document, bindings=content) == []
    assert places(bindings.BindingOverrideUnknownSlot, document, bindings=content) == []


def test_flat_entries_may_be_meant_for_other_workflows() -> None:
    flat = {"checker": "", "writer": "routine-write"}
    document = using(f"Run {TOKEN}.", point())
    assert places(bindings.BindingOverrideEmpty, document, bindings=flat) == ["/extensionPoints/0/slotId"]
    assert places(bindings.BindingOverrideUnknownSlot, document, bindings=flat) == []


def test_an_override_for_a_workflow_without_slots_is_told_at_its_root() -> None:
    assert places(bindings.BindingOverrideUnknownSlot, workflow(), bindings=SECTION) == ["", ""]


@pytest.mark.parametrize(
    ("default", "accepted", "found"),
    [
        ("wr.routine-plan-analysis", ["workflow"], True),
        ("routine-plan-analysis", ["workflow"], True),
        ("routine-of-our-own", ["workflow"], True),
        ("wr.routine-plan-analysis", ["routine"], False),
        ("wr.routine-plan-analysis", ["routine", "workflow"], False),
        ("wr.routine-plan-analysis", [], False),
        ("demo.example", ["routine"], True),
        ("demo.other", ["routine"], False),
        ("demo.other", ["workflow"], False),
    ],
)
def test_kinds_are_compared_when_the_target_is_known(default: str, accepted: list[str], found: bool) -> None:
    document = using(f"Run {TOKEN}.", point(default=default, acceptedKinds=accepted))
    assert bool(places(bindings.BindingMismatch, document)) is found


def test_the_kind_of_an_override_is_told_at_the_slot() -> None:
    document = using(f"Run {TOKEN}.", point(acceptedKinds=["workflow"], default="demo.other"))
    content = {"demo.example": {"checker": "routine-check"}}
    assert places(bindings.BindingMismatch, document, bindings=content) == ["/extensionPoints/0/slotId"]


@pytest.mark.parametrize(
    ("slot", "child", "count"),
    [
        ({"inputContract": {"requiredContext": ["a", "b"]}}, {"acceptedContext": ["a"]}, 1),
        ({"inputContract": {"requiredContext": ["a"]}}, {"accepts": {"context": ["a"]}}, 0),
        ({"inputContract": {"optionalContext": ["a"]}}, {}, 0),
        ({"inputContract": {"requiredContext": ["a"]}}, {}, 1),
        ({"outputContract": {"requiredArtifacts": ["wr.x"]}}, {"producedArtifacts": ["wr.y"]}, 1),
        ({"outputContract": {"artifacts": ["wr.x"]}}, {"produces": {"artifacts": ["wr.x"]}}, 0),
        ({"outputContract": {"notes": ["wr.x"]}}, {}, 0),
        ({"inputContract": None, "outputContract": 3}, {"context": "a"}, 0),
    ],
)
def test_contracts_of_a_slot_and_of_what_is_bound(slot: dict[str, Any], child: dict[str, Any], count: int) -> None:
    assert len(contract_problems(slot, child)) == count
