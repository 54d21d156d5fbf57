"""Under engine parity an error is exactly what the public engine rejects, and it points at the right place."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from oracle import apply_patch, base_path, load_base, read_jsonl, read_oracle, requires_oracle, shared_folder

from workrail_lint import check_text
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.catalog.catalog import Catalog, load_core
from workrail_lint.systems.workrail.catalog.extend import with_routines

pytestmark = requires_oracle


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    folder = shared_folder()
    assert folder is not None
    return with_routines(load_core(), folder / "corpus" / "workflows" / "routines").catalog


def errors(text: str | bytes, path: str, catalog: Catalog) -> list[Finding]:
    return check_text(text, path, catalog=catalog, engine_parity=True).errors


def test_verdicts_of_published_workflows(catalog: Catalog) -> None:
    for path, row in read_oracle("verdicts.json").items():
        found = errors(base_path(path).read_bytes(), path, catalog)
        assert bool(found) is (row["verdict"] != "valid"), (path, row, found)


def test_verdicts_of_raw_texts(catalog: Catalog) -> None:
    for row in read_jsonl("rawtext.jsonl"):
        found = errors(base64.b64decode(row["b64"]), "workflows/raw.json", catalog)
        assert bool(found) is (row["verdict"] != "valid"), (row["name"], row["verdict"], found)


def near(pointer: str, patched: str) -> bool:
    """At, above, or directly inside the patched place."""
    if pointer == patched or patched.startswith(f"{pointer}/"):
        return True
    return pointer.startswith(f"{patched}/")


def test_verdicts_and_places_of_mutants(catalog: Catalog) -> None:
    wrong: list[Any] = []
    placed = total = 0
    for row in read_jsonl("mutants.jsonl"):
        document = apply_patch(load_base(row["base"]), row["patch"])
        found = errors(json.dumps(document), row["base"], catalog)
        if bool(found) is not (row["verdict"] != "valid"):
            wrong.append((row["id"], row["verdict"], row["messages"][:1], str(row["patch"])[:200], found[:2]))
        elif found and len(row["patch"]) == 1:
            total += 1
            patched = row["patch"][0]["path"].removesuffix("/-")
            placed += any(near(finding.pointer, patched) for finding in found)
    assert wrong == []
    assert placed / total >= 0.98, (placed, total)
