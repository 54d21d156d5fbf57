"""What the catalog commands print."""

from __future__ import annotations

import json

import pytest
from tables import for_each

from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.catalog import Catalog, load_core
from workrail_lint.systems.workrail.catalog.loading import load_catalog, with_routines
from workrail_lint.systems.workrail.catalog.render import (
    KINDS,
    builtins,
    document_text,
    export_text,
    list_json,
    list_text,
    show_json,
    show_text,
)

CORE = load_core()
IDS = [row.id for row in builtins(CORE)]


def shown(catalog: Catalog, builtin_id: str) -> str:
    result = show_text(catalog, builtin_id)
    assert isinstance(result, Ok), result
    return result.value


def test_the_listing_names_every_builtin_once() -> None:
    tables = (CORE.features, CORE.refs, CORE.templates, CORE.contracts, CORE.capabilities)
    assert [name for table in tables for name in table] == IDS
    assert list(dict.fromkeys(row.kind for row in builtins(CORE))) == list(KINDS)


def test_the_listing_as_text_is_a_table() -> None:
    title, heading, *lines, design, others = list_text(CORE).splitlines()
    assert title == f"core {CORE.version}  {CORE.digest}"
    assert heading.split() == ["kind", "id", "phase", "title"]
    own = [row for row in builtins(CORE) if not row.id.startswith(("team.", "block."))]
    assert len(lines) == len(own) < len(IDS)
    column = heading.index("id")
    for line, row in zip(lines, own, strict=True):
        assert line[column:].startswith(row.id)
        assert line.split() == [row.kind, row.id, row.phase.value, *row.title.split()]
        assert line == line.rstrip()
    assert design.startswith("design: ")
    assert others.startswith(f"{len(IDS) - len(own)} contracts of teams and blocks")


def test_the_listing_of_an_empty_catalog() -> None:
    empty = {**CORE.document, "features": [], "refs": [], "routines": [], "contracts": [], "capabilities": []}
    _, heading, remark = list_text(Catalog(empty)).splitlines()
    assert (heading, remark[:8]) == ("kind  id  phase  title", "design: ")


def test_the_listing_as_json() -> None:
    listing = json.loads(list_json(CORE))
    assert listing["catalogId"] == "core"
    assert listing["digest"] == CORE.digest
    assert [builtin["id"] for builtin in listing["builtins"]] == IDS
    assert set(listing["builtins"][0]) == {"kind", "id", "phase", "title", "summary"}


@for_each("builtin_id", IDS)
def test_every_builtin_can_be_shown(builtin_id: str) -> None:
    text = shown(CORE, builtin_id)
    result = show_json(CORE, builtin_id)
    assert isinstance(result, Ok)
    data = json.loads(result.value)
    assert data["id"] == builtin_id
    assert text.startswith(f"{data['kind']} {builtin_id} ({data['phase']})\n{data['title']}\n")
    assert all(line == line.rstrip() for line in text.splitlines())


def test_what_is_shown_of_each_kind() -> None:
    feature = shown(CORE, "wr.features.memory_context")
    assert "constraints:\n    - [wr.refs.memory_usage]\n" in feature
    assert "procedure:" not in feature
    assert '"enforce"' in shown(CORE, "wr.features.output_contracts")
    ref = CORE.refs["wr.refs.memory_usage"]
    assert all(f"    {line}\n" in shown(CORE, ref.id) for line in ref.text.split("\n"))
    contract = shown(CORE, "wr.contracts.assessment")
    assert "artifact kind: wr.assessment\n" in contract
    assert "checked by the public engine at run time: no\n" in contract
    assert '"x-objectMode": "strict"' in contract
    routine = shown(CORE, "wr.templates.routine.ideation")
    assert "arguments: quantity, deliverable\n" in routine
    assert "guidance added" not in routine
    conditional = shown(CORE, "wr.templates.routine.context-gathering")
    assert 'step step-execute-depth-1: Depth 1: read the interfaces (when {"var": "depth", "gte": 1})' in conditional
    assert "guidance added to every step:\n" in conditional
    assert "    when: early_if_required | lazy_on_first_use\n" in shown(CORE, "wr.templates.capability_probe")


def test_the_json_of_a_template_has_its_derived_data() -> None:
    result = show_json(CORE, "wr.templates.routine.hypothesis-challenge")
    assert isinstance(result, Ok)
    data = json.loads(result.value)
    assert data["requiredArgs"] == ["deliverableName"]
    assert data["conditionalStepIds"] == ["step-thorough-alternatives"]
    assert data["callable"] is True
    assert data["definition"]["id"] == data["routineId"] == "wr.routine-hypothesis-challenge"


def test_a_template_can_be_asked_for_by_its_routine_id() -> None:
    assert shown(CORE, "wr.routine-ideation") == shown(CORE, "wr.templates.routine.ideation")


def test_a_routine_that_can_not_be_called_says_so() -> None:
    broken = {"id": "b", "name": "B", "description": "D", "version": "1", "steps": [{"title": "no id"}]}
    catalog, _ = with_routines(CORE, [broken])
    text = shown(catalog, "wr.templates.routine.b")
    assert "not callable" in text
    assert "step (missing id): no id\n    (no prompt)\n" in text


@pytest.mark.parametrize("show", [show_text, show_json])
def test_an_unknown_id_gets_a_hint(show: object) -> None:
    assert callable(show)
    near = show(CORE, "wr.refs.memory_usages")
    assert isinstance(near, Err)
    assert near.error.name == "catalog-id-unknown"
    assert near.error.message.endswith("did you mean wr.refs.memory_usage?")
    far = show(CORE, "zzzzzzzz")
    assert isinstance(far, Err)
    assert "catalog list" in far.error.message


def test_an_export_can_be_loaded_again() -> None:
    document = json.loads(export_text(CORE))
    result = load_catalog(document)
    assert isinstance(result, Ok), result
    assert export_text(result.value) == export_text(CORE)


def test_text_without_a_utf8_form_is_escaped() -> None:
    text = document_text({"a": "\ud800", "b": "é"})
    assert json.loads(text.encode()) == {"a": "\ud800", "b": "é"}
    assert "é" in document_text({"b": "é"})
