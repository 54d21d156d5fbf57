"""The structural schema says what the reference engine's own schema said, on every recorded document."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

from oracle import apply_patch, load_base, read_jsonl, read_oracle, requires_oracle
from pydantic import ValidationError

from tools.models.workrail.design import DesignWorkflow
from tools.models.workrail.workflow import Workflow
from workrail_lint.base import js
from workrail_lint.documents.schema.engine import Violation, compile_schema
from workrail_lint.systems.schemas import load_schema

pytestmark = requires_oracle

# An exception before the engine looked at its schema: in all recorded cases the shape is at fault.
REJECTED = ("schema_failed", "threw")


@cache
def documents() -> tuple[tuple[dict[str, Any], Any], ...]:
    """Every mutant's row and what its patch makes of its base."""
    return tuple((row, apply_patch(load_base(row["base"]), row["patch"])) for row in read_jsonl("mutants.jsonl"))


@cache
def found() -> dict[str, list[Violation]]:
    """The violations of every mutant, by its id."""
    validator = compile_schema(load_schema("workflow"))
    return {row["id"]: validator.violations(document) for row, document in documents()}


def accepts(model: type[Workflow | DesignWorkflow], document: Any) -> bool:
    try:
        model.model_validate(document)
    except ValidationError:
        return False
    return True


def test_there_are_rows_of_both_kinds() -> None:
    verdicts = [row["verdict"] in REJECTED for row, _ in documents()]
    assert verdicts.count(True) > 100
    assert verdicts.count(False) > 100


def test_mutants() -> None:
    wrong = [
        (row["id"], row["verdict"], row["messages"][:2], found()[row["id"]][:2])
        for row, _ in documents()
        if bool(found()[row["id"]]) != (row["verdict"] in REJECTED)
    ]
    assert wrong == []


def test_mutants_against_the_model() -> None:
    wrong = [
        (row["id"], row["verdict"], row["messages"][:2])
        for row, document in documents()
        if accepts(Workflow, document) == (row["verdict"] in REJECTED)
    ]
    assert wrong == []


def test_the_design_form_takes_what_the_engine_takes() -> None:
    validator = compile_schema(load_schema("workflow-design"))
    taken = [(row["id"], document) for row, document in documents() if row["verdict"] not in REJECTED]
    assert [name for name, document in taken if validator.violations(document)] == []
    assert [name for name, document in taken if not accepts(DesignWorkflow, document)] == []


def test_published_workflows() -> None:
    validator = compile_schema(load_schema("workflow"))
    wrong = [
        path
        for path, answer in read_oracle("verdicts.json").items()
        if bool(validator.violations(load_base(path))) != (answer["verdict"] in REJECTED)
    ]
    assert wrong == []


def test_raw_texts() -> None:
    """Overflowing numbers, lone surrogates, special names and extreme nesting, as the engine read them."""
    validator = compile_schema(load_schema("workflow"))
    checked = 0
    wrong = []
    for row in read_jsonl("rawtext.jsonl"):
        if row["verdict"] == "unparseable":
            continue
        text = base64.b64decode(row["b64"]).decode("utf-8", "replace")
        try:
            document = json.loads(text, parse_int=js.number, parse_float=js.number)
        except RecursionError:
            continue  # for the position-aware reader, not for the standard library's
        checked += 1
        if bool(validator.violations(document)) != (row["verdict"] in REJECTED):
            wrong.append((row["name"], row["verdict"], row["messages"][:2]))
    assert wrong == []
    assert checked > 10


def test_a_single_fault_is_reported_once() -> None:
    """Renaming a required member, or emptying an object, is more than one fault; nearly all else is one."""
    counts = [
        len(found()[row["id"]])
        for row, _ in documents()
        if row["verdict"] in REJECTED and len(row["patch"]) == 1 and row["operator"] not in MORE_THAN_ONE_FAULT
    ]
    assert len(counts) > 100
    assert counts.count(1) / len(counts) > 0.98


MORE_THAN_ONE_FAULT = {"rename_top_field", "rename_step_field", "document_replaced"}
