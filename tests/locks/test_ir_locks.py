"""Locks of the compiled workflow and its hash, held against the workflows that are shipped as fixtures."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from protocol_bench import Bench

import workrail_lint.systems.workrail.catalog.catalog as catalog
from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.core.interpreter import Interpreter
from workrail_lint import compile_workflow
from workrail_lint.base.canonical import canonical_hash, digest

FIXTURES = Path(__file__).parents[2] / "fixtures"
WORKFLOWS = sorted((FIXTURES / "workflows").glob("*.json"))
ROUTINES = FIXTURES / "routines"


def compiled(source: Any) -> Any:
    return compile_workflow(source, routines=ROUTINES).value


def steps_of(ir: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for step in ir["steps"]:
        yield step
        yield from step.get("body", ())


def named_contracts(ir: dict[str, Any]) -> set[str]:
    """The packs that steps and loops ask for."""
    found = {step["output"]["contract"]["ref"] for step in steps_of(ir) if "contract" in step.get("output", {})}
    found |= {"wr.contracts.assessment" for step in steps_of(ir) if "assessments" in step.get("output", {})}
    sources = [step["loop"]["source"] for step in ir["steps"] if step["type"] == "loop"]
    return found | {source["contractRef"] for source in sources if source["kind"] == "artifact"}


def turned(value: Any) -> Any:
    """The same document with the members of its objects in another order; some lists have no order either."""
    if isinstance(value, list):
        return [turned(item) for item in value]
    if not isinstance(value, dict):
        return value
    keeps_order = ("outputRequired",)
    return {name: inner if name in keeps_order else turned(inner) for name, inner in reversed(value.items())}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_an_ir_holds_what_a_run_needs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """@enforces ir-self-contained
    @enforces ir-only-input-of-the-engine
    """
    ir = compiled(path).ir
    assert named_contracts(ir) == {pack["ref"] for pack in ir["contracts"]}
    assert all(pack["schema"] for pack in ir["contracts"])
    assert not any("{{wr." in step.get("prompt", "") for step in steps_of(ir))

    def unreachable(*_: object) -> Any:
        raise AssertionError("the engine went for the catalog")

    monkeypatch.setattr(catalog, "load_core", unreachable)
    bench = Bench(ir)
    first = bench.start(initialContext={"files": [{"path": "a"}], "items": [{"name": "a"}], "n": 1})
    assert first.get("pending") or first["code"] == "PRECONDITION_FAILED"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_an_ir_says_nothing_of_where_it_was_made(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """@enforces ir-independent-of-surroundings"""
    here = compiled(path)
    document = json.loads(path.read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    (tmp_path / "other-name.json").write_text(json.dumps(turned(document)), encoding="utf-8")
    assert compiled(Path("other-name.json")).ir == here.ir
    assert str(tmp_path) not in json.dumps(here.ir)


FEATURES = ["wr.features.memory_context", "wr.features.capabilities", "wr.features.subagent_guidance"]


def with_features(features: list[str], **step: Any) -> Any:
    """A workflow of one step that uses the features."""
    document = {
        "id": "many-features",
        "name": "Many",
        "description": "d",
        "version": "1.0.0",
        "features": features,
        "steps": [{"id": "only", "title": "Only", **step}],
    }
    return compiled(document)


def test_the_member_features_is_sorted() -> None:
    """@enforces ir-independent-of-surroundings"""
    one, other = (with_features(order, prompt="Do it.") for order in (FEATURES, FEATURES[::-1]))
    assert [feature["id"] for feature in one.ir["features"]] == sorted(FEATURES)
    assert one.hash == other.hash, "no text is injected into a plain prompt"


@pytest.mark.parametrize("order", [*permutations(FEATURES)])
def test_features_add_their_text_in_authored_order(order: tuple[str, ...]) -> None:
    """@enforces feature-order-authored"""
    workflow = with_features([*order], promptBlocks={"goal": "Do it."})
    [step] = workflow.ir["steps"]
    injected = [item["id"] for item in step["provenance"]["injected"] if item["kind"] == "feature"]
    assert injected == list(order)
    assert [feature["id"] for feature in workflow.ir["features"]] == sorted(order)
    assert step["prompt"] == workflow.engine_target().value["definition"]["steps"][0]["prompt"]


def test_hash_seeds_change_nothing() -> None:
    """@enforces determinism
    @enforces ir-independent-of-surroundings
    """
    command = [sys.executable, "-m", "workrail_lint", "compile", "--emit", "hash", *map(str, WORKFLOWS)]
    command += ["--routines", str(ROUTINES)]
    told = {
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
        for seed in ("0", "4711")
    }
    assert len(told) == 1
    assert len(told.pop().splitlines()) == len(WORKFLOWS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_hash_is_that_of_the_canonical_bytes(path: Path) -> None:
    """@enforces workflow-hash-jcs-sha256
    @enforces hash-format-sha256-hex
    """
    workflow = compiled(path)
    assert workflow.hash == f"sha256:{hashlib.sha256(rfc8785.dumps(workflow.ir)).hexdigest()}"
    assert workflow.hash == canonical_hash(workflow.ir)


def test_a_digest_is_lower_case_hex() -> None:
    """@enforces hash-format-sha256-hex"""
    assert digest(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest(bytes([byte]))) for byte in range(256))


def ids_in(value: Any) -> Iterator[str]:
    """Every id an author wrote."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from ids_in(inner)
    if isinstance(value, dict) and isinstance(value.get("id"), str):
        yield value["id"]


SOURCES = {"authored", "template", "feature", "virtual", "normalized"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_step_says_where_it_came_from(path: Path) -> None:
    """@enforces ir-provenance-kept"""
    ids = set(ids_in(json.loads(path.read_text("utf-8"))))
    for step in steps_of(compiled(path).ir):
        provenance = step["provenance"]
        assert provenance["source"] in SOURCES
        assert provenance["source"] == "normalized" or (provenance["source"] == "authored") is (step["id"] in ids)
        assert ("origin" in provenance) is (provenance["source"] != "authored")
        for injected in provenance["injected"]:
            assert injected["kind"] in ("ref", "feature")
            assert 0 < injected["bytes"] <= len(step["prompt"].encode())
            assert re.fullmatch("sha256:[0-9a-f]{64}", injected["sha256"])


def test_what_was_put_into_a_prompt_is_named() -> None:
    """@enforces ir-provenance-kept"""
    named = {
        (injected["kind"], injected["id"])
        for path in WORKFLOWS
        for step in steps_of(compiled(path).ir)
        for injected in step["provenance"]["injected"]
    }
    assert {kind for kind, _ in named} == {"ref", "feature"}
    sources = {step["provenance"]["source"] for path in WORKFLOWS for step in steps_of(compiled(path).ir)}
    assert {"authored", "template", "virtual"} <= sources


@pytest.mark.parametrize("format_", ["workrail.ir/2", "workrail.ir", None])
def test_another_format_is_refused(format_: str | None) -> None:
    """@enforces ir-format-refused-when-unknown"""
    ir = {**compiled(WORKFLOWS[0]).ir, "format": format_}
    for reader in (IrIndex, Interpreter):
        with pytest.raises(ValueError, match="not an IR of format"):
            reader(ir)
