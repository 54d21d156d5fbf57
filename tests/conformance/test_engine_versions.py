"""Verdicts and hashes of 26 releases of the engine, under `--engine-version` of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from effort import times
from oracle import read_jsonl, requires_oracle, shared_folder

from workrail_lint import Ok, check_text
from workrail_lint.base.canonical import canonical_hash
from workrail_lint.systems.workrail.catalog.catalog import Catalog, load_core
from workrail_lint.systems.workrail.catalog.loading import load_catalog
from workrail_lint.systems.workrail.compile import compile_for_engine, read_for_compiling
from workrail_lint.systems.workrail.settings import Settings, resolve_catalog, resolve_release

_FOLDER = "oracle/versions"
# What goes wrong in a run of these old workflows, and the ids of those that come with the engine.
_NOT_REFUSED = {"criteria-regex-invalid", "condition-malformed", "variable-never-set", "workflow-id-reserved"}

pytestmark = [
    requires_oracle,
    pytest.mark.skipif(
        shared_folder() is None or not (shared_folder() / _FOLDER).is_dir(),  # type: ignore[operator]
        reason="the corpus has no answers of other releases",
    ),
]


def folder() -> Path:
    shared = shared_folder()
    assert shared is not None
    return shared


@cache
def catalog_of(version: str) -> Catalog:
    """The builtins of a release; ours, restricted to its time, for the first ones, which have none of their own."""
    path = folder() / _FOLDER / "catalogs" / f"{version}.json"
    if not path.is_file():
        return load_core()
    loaded = load_catalog(path)
    assert isinstance(loaded, Ok), loaded
    return loaded.value


@cache
def settings_of(version: str) -> Settings:
    release = resolve_release(version)
    assert isinstance(release, Ok)
    catalog = resolve_catalog(catalog_of(version), release=release.value)
    assert isinstance(catalog, Ok)
    return Settings(catalog.value, parity=True, release=release.value)


def text_of(document: str) -> bytes:
    """A document of the matrix, which may also be one of the corpus or of the bases."""
    base = folder() / _FOLDER if document.startswith("documents/") else folder()
    return (base / document).read_bytes()


def rows(of_each_kind: int) -> Iterator[dict[str, Any]]:
    """Yield so many rows of each release, group and verdict."""
    kinds: Counter[tuple[str, ...]] = Counter()
    for row in read_jsonl("versions/matrix.jsonl"):
        kind = row["version"], row["group"], row["verdict"], *row.get("kinds", ())[:1]
        kinds[kind] += 1
        if kinds[kind] <= of_each_kind:
            yield row


@pytest.mark.search
def test_verdicts_and_hashes_of_every_release() -> None:
    wrong = []
    verdicts = hashes = 0
    for number, row in enumerate(rows(times(3, deep=10_000))):
        if number % times(5, deep=1):
            continue
        document = read_for_compiling(text_of(row["document"]))
        answer = compile_for_engine(document, "workflows/example.json", settings_of(row["version"]))
        verdicts += 1
        if isinstance(answer, Ok) is not (row["verdict"] == "valid"):
            wrong.append((row["id"], row["verdict"], row.get("kinds"), answer))
        elif isinstance(answer, Ok):
            hashes += 1
            if canonical_hash(answer.value) != row["hash"]:
                wrong.append((row["id"], "hash", row["document"], None))
    assert wrong == []
    assert verdicts >= times(500, deep=9_000)
    assert hashes >= times(90, deep=2_800)


@pytest.mark.search
def test_the_workflows_of_a_release_are_clean_under_it() -> None:
    wrong = []
    own = [row for row in read_jsonl("versions/matrix.jsonl") if row["group"] == "own" and row["verdict"] == "valid"]
    for row in own[:: times(8, deep=1)]:
        version = row["version"]
        report = check_text(text_of(row["document"]), row["path"], catalog=catalog_of(version), engine_version=version)
        wrong += [(row["id"], each.name, each.message) for each in report.errors if each.name not in _NOT_REFUSED]
    assert len(own) > 500
    assert wrong == []
