"""The compiler and the canonicalizer against what the reference engine answered."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest
from oracle import apply_patch, base_path, load_base, read_jsonl, read_oracle, requires_oracle, shared_folder

from workrail_lint import Ok, canonical_bytes
from workrail_lint.base.canonical import CanonicalError, canonical_hash, digest
from workrail_lint.base.result import Err
from workrail_lint.documents.json_reader import read_json
from workrail_lint.systems.workrail.catalog.catalog import Catalog, load_core
from workrail_lint.systems.workrail.catalog.loading import with_routines
from workrail_lint.systems.workrail.compiler.compiled import compile_definition, resolve
from workrail_lint.systems.workrail.compiler.engine_target import engine_snapshot
from workrail_lint.systems.workrail.compiler.nodes import Node, walk
from workrail_lint.systems.workrail.model.build import workflow_model

pytestmark = requires_oracle

# Compiling documents that the schema refuses is not asked for; there the engine stringifies whatever it meets.
_JUDGED = ("valid", "structural_failed", "startability_failed", "v1_compilation_failed")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    folder = shared_folder()
    assert folder is not None
    return with_routines(load_core(), folder / "corpus" / "workflows" / "routines").catalog


def uses_builtin_text(definition: Any) -> bool:
    return bool(definition.get("features")) or '"refId"' in json.dumps(definition)


def test_jcs() -> None:
    rows = read_jsonl("jcs.jsonl")
    assert len(rows) > 100
    for row in rows:
        document = read_json(row["source"], parity=True, max_bytes=None)
        assert document.readable, row
        if "error" in row:
            with pytest.raises(CanonicalError) as caught:
                canonical_bytes(document.value)
            assert caught.value.code == row["error"]
        else:
            data = canonical_bytes(document.value)
            assert data.decode() == row["jcs"], row["id"]
            assert hashlib.sha256(data).hexdigest() == row["sha256"]


def test_raw_text(catalog: Catalog) -> None:
    """Parse verdicts, and the digest wherever the engine had one."""
    tolerated = {"json-duplicate-key", "json-invalid-utf8"}
    for row in read_jsonl("rawtext.jsonl"):
        document = read_json(base64.b64decode(row["b64"]), parity=True)
        blocking = [p.name for p in document.problems if p.blocking and p.name not in tolerated]
        parsed = document.readable and not blocking
        assert parsed is (row["verdict"] != "unparseable"), (row["name"], document.problems)
        if row.get("hash"):
            snapshot = engine_snapshot(workflow_model(document.value), catalog)  # type: ignore[arg-type]
            assert isinstance(snapshot, Ok)
            data = canonical_bytes(snapshot.value)
            assert digest(data) == row["hash"], row["name"]
            assert data.decode() == row["canonical"]


def test_hashes_of_real_workflows(catalog: Catalog) -> None:
    checked = 0
    for path, row in read_oracle("hashes.json").items():
        definition = read_json(base_path(path).read_bytes()).value
        assert isinstance(definition, dict)
        snapshot = engine_snapshot(workflow_model(definition), catalog)
        assert isinstance(snapshot, Ok), path
        executable = compile_definition(workflow_model(definition), catalog)
        assert isinstance(executable, Ok), path
        assert [node.id for node in executable.value.nodes] == row["compiledStepIds"], path
        if not uses_builtin_text(definition):
            assert canonical_hash(snapshot.value) == row["pinnedHash"], path
            checked += 1
    assert checked >= 50


def prompt_pattern(node: Node) -> re.Pattern[str]:
    """The node's prompt with every injected stretch left open."""
    prompt = node.step["prompt"]
    pieces, at = [], 0
    for item in node.injections:
        if item.start >= at:
            pieces.append(re.escape(prompt[at : item.start]))
            at = item.end
    pieces.append(re.escape(prompt[at:]))
    return re.compile(".*".join(pieces), re.DOTALL)


def test_snapshots_differ_only_inside_injected_text(catalog: Catalog) -> None:
    compared = 0
    for row in read_jsonl("snapshots.jsonl"):
        definition = read_json(base_path(row["path"]).read_bytes()).value
        assert isinstance(definition, dict)
        snapshot = engine_snapshot(workflow_model(definition), catalog).value
        if not uses_builtin_text(definition):
            assert canonical_bytes(snapshot).decode() == row["canonical"], row["path"]
            continue
        expected = json.loads(row["canonical"])
        resolved, errors = resolve(workflow_model(definition), catalog, {}, for_engine=True)
        assert errors == []
        for node in walk(resolved.nodes):
            if node.injections:
                theirs = find_step(expected["definition"]["steps"], node.id)
                assert prompt_pattern(node).fullmatch(theirs["prompt"]), (row["path"], node.id)
                theirs["prompt"] = node.step["prompt"]
                compared += 1
        assert canonical_bytes(snapshot) == canonical_bytes(expected), row["path"]
    assert compared > 20


def find_step(steps: list[dict[str, Any]], ident: str) -> dict[str, Any]:
    for step in steps:
        if step["id"] == ident:
            return step
        for inner in step["body"] if isinstance(step.get("body"), list) else ():
            if inner["id"] == ident:
                return inner
    raise KeyError(ident)


def test_hashes_of_mutants(catalog: Catalog) -> None:
    equal = refused = 0
    for row in read_jsonl("mutants.jsonl"):
        if row["verdict"] not in _JUDGED:
            continue
        definition = apply_patch(load_base(row["base"]), row["patch"])
        assert isinstance(definition, dict)
        snapshot = engine_snapshot(workflow_model(definition), catalog)
        assert isinstance(snapshot, Ok) is bool(row.get("hash")), (row["id"], snapshot)
        if isinstance(snapshot, Err):
            refused += 1
        elif not uses_builtin_text(definition):
            assert canonical_hash(snapshot.value) == row["hash"], row["id"]
            equal += 1
    assert equal > 500
    assert refused > 150
