"""Schema findings against the reference engine: the same verdict, and the right place."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import apply_patch, load_base, read_jsonl, requires_oracle

from workrail_lint.documents.schema.engine import compile_schema
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.schema_findings import schema_findings

VALIDATOR = compile_schema(load_schema("workflow"))


def mutants() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    rows = [(row, apply_patch(load_base(row["base"]), row["patch"])) for row in read_jsonl("mutants.jsonl")]
    return [(row, document) for row, document in rows if isinstance(document, dict)]


@pytest.fixture(scope="module")
def judged() -> list[tuple[dict[str, Any], list[Any]]]:
    return [(row, schema_findings(VALIDATOR.violations(document), document)) for row, document in mutants()]


@requires_oracle
def test_a_mutant_has_schema_findings_exactly_when_the_engine_refuses_it_there(judged: Any) -> None:
    wrong = [row["id"] for row, found in judged if bool(found) != (row["verdict"] in ("schema_failed", "threw"))]
    assert wrong == []


@requires_oracle
def test_findings_have_rules_and_show_on_one_line(judged: Any) -> None:
    for row, found in judged:
        for finding in found:
            assert finding.name in RULES.by_name, row["id"]
            assert finding.message.isprintable(), row["id"]


@requires_oracle
def test_every_finding_of_a_single_patch_is_near_the_patch(judged: Any) -> None:
    far: list[str] = []
    count = 0
    for row, found in judged:
        if not found or len(row["patch"]) != 1:
            continue
        count += 1
        place = row["patch"][0]["path"].removesuffix("/-")  # appended: below the list
        if not any(place.startswith(f.pointer) or f.pointer.startswith(place) for f in found):
            far.append(row["id"])
    assert count > 500
    assert len(far) <= count * 0.01, far
