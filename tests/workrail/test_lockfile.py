"""What a lockfile keeps of a workflow, how it is read back, and how a workflow that changed since differs from it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workrail_lint import CompiledWorkflow, Err, Ok, compile_workflow
from workrail_lint.systems.workrail.catalog import load_core
from workrail_lint.systems.workrail.diff import Change
from workrail_lint.systems.workrail.lockfile import (
    Difference,
    Lockfile,
    catalog_entry,
    differences,
    entry_text,
    lock_entry,
    parse_lockfile,
)
from workrail_lint.systems.workrail.rules.samples import controlled_loop, step, workflow

PATH = "workflows/a.json"
CATALOG = {"id": "core", "version": "1", "digest": "sha256:0"}


def compiled(document: dict[str, Any]) -> CompiledWorkflow:
    result = compile_workflow(document)
    assert isinstance(result, Ok), result
    return result.value


@pytest.fixture(scope="module")
def pinned() -> CompiledWorkflow:
    return compiled(workflow(step("one"), controlled_loop()))


def difference(entry: dict[str, Any], now: CompiledWorkflow) -> Difference | None:
    """How one workflow differs from its entry."""
    found = differences(Lockfile(CATALOG, {PATH: entry}), {PATH: entry_text(lock_entry(now))}, None)
    assert len(found) <= 1
    return found[0] if found else None


def test_a_workflow_is_as_it_was_pinned(pinned: CompiledWorkflow) -> None:
    assert difference(lock_entry(pinned), pinned) is None


def test_another_engine_hash_alone_is_a_difference_of_the_engine(pinned: CompiledWorkflow) -> None:
    for before in ("sha256:1", None):
        found = difference({**lock_entry(pinned), "engineHash": before}, pinned)
        assert found == Difference(PATH, "engine", (), pinned.hash, pinned.hash)


@pytest.mark.parametrize("engine_hash", [{}, {"engineHash": "sha256:1"}], ids=["engine hash same", "engine hash too"])
def test_another_hash_of_the_same_behaviour_is_a_difference_of_metadata(
    pinned: CompiledWorkflow, engine_hash: dict[str, str]
) -> None:
    found = difference({**lock_entry(pinned), "hash": "sha256:1", **engine_hash}, pinned)
    assert found == Difference(PATH, "metadata", (), "sha256:1", pinned.hash)


def test_behaviour_that_changed_is_told_facet_by_facet(pinned: CompiledWorkflow) -> None:
    now = compiled(workflow(step("one"), controlled_loop(maxIterations=9)))
    changes = (Change("changed", "again", "loop.maxIterations", 3, 9),)
    assert difference(lock_entry(pinned), now) == Difference(PATH, "changed", changes, pinned.hash, now.hash)


def test_an_id_that_changed_is_told_before_all_else(pinned: CompiledWorkflow) -> None:
    now = compiled(workflow(step("one"), controlled_loop(maxIterations=9), id="demo.other"))
    found = difference(lock_entry(pinned), now)
    assert found is not None
    assert found.kind == "changed"
    assert found.changes[0] == Change("changed", "", "workflowId", "demo.example", "demo.other")
    assert [change.facet for change in found.changes] == ["workflowId", "loop.maxIterations"]


def test_workflows_that_came_and_went_are_told_in_the_order_of_paths(pinned: CompiledWorkflow) -> None:
    gone = {"b.json": lock_entry(pinned), "d.json": lock_entry(pinned)}
    come = dict.fromkeys(("c.json", "a.json"), entry_text(lock_entry(pinned)))
    assert differences(Lockfile(CATALOG, gone), come, None) == [
        Difference("a.json", "new", (), None, pinned.hash),
        Difference("b.json", "missing", (), pinned.hash, None),
        Difference("c.json", "new", (), None, pinned.hash),
        Difference("d.json", "missing", (), pinned.hash, None),
    ]
    assert [found.path for found in differences(Lockfile(CATALOG, gone), come, {"b.json", "c.json"})] == [
        "b.json",
        "c.json",
    ]
    assert differences(Lockfile(CATALOG, gone), come, set()) == []


def test_the_file_is_sorted_by_path_indented_and_readable_for_people(pinned: CompiledWorkflow) -> None:
    entry = {"workflowId": "ü", "hash": "sha256:1"}
    assert Lockfile(CATALOG, {"b.json": entry, "a.json": {}}).text() == (
        "{\n"
        '  "lockfileVersion": 1,\n'
        '  "catalog": {\n    "id": "core",\n    "version": "1",\n    "digest": "sha256:0"\n  },\n'
        '  "workflows": {\n    "a.json": {},\n'
        '    "b.json": {\n      "workflowId": "ü",\n      "hash": "sha256:1"\n    }\n  }\n}\n'
    )


def test_an_entry_names_the_workflow_both_hashes_and_what_it_does(pinned: CompiledWorkflow) -> None:
    entry = lock_entry(pinned)
    assert list(entry) == ["workflowId", "hash", "engineHash", "engineMode", "outline"]
    assert (entry["workflowId"], entry["engineMode"]) == ("demo.example", "pinned")
    assert (entry["hash"], entry["engineHash"]) == (pinned.hash, pinned.engine_hash)
    assert [item["id"] for item in entry["outline"]["steps"]] == ["one", "again", "inner-step", "decide"]


def test_what_was_written_is_read_back(pinned: CompiledWorkflow) -> None:
    lock = Lockfile(catalog_entry(load_core()), {PATH: lock_entry(pinned)})
    read = parse_lockfile(lock.text().encode())
    assert isinstance(read, Ok)
    assert read.value == lock
    assert read.value.catalog == {"id": "core", "version": load_core().version, "digest": load_core().digest}


ENTRY: dict[str, Any] = {
    "workflowId": "a",
    "hash": "sha256:0",
    "engineHash": None,
    "outline": {"workflow": {}, "steps": [{"id": "x", "loop": "y", "facets": {}}]},
}
LOCK: dict[str, Any] = {"lockfileVersion": 1, "catalog": CATALOG, "workflows": {"a": ENTRY}}


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key != name}


def refused(document: Any) -> str:
    read = parse_lockfile(json.dumps(document).encode())
    assert isinstance(read, Err), document
    return read.error


def test_the_smallest_lockfile_is_read() -> None:
    assert isinstance(parse_lockfile(json.dumps(LOCK).encode()), Ok)
    assert isinstance(
        parse_lockfile(json.dumps({**LOCK, "workflows": {"a": {**ENTRY, "engineHash": "s"}}}).encode()), Ok
    )


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        *(without(ENTRY, name) for name in ENTRY),
        {**ENTRY, "hash": None},
        {**ENTRY, "workflowId": 1},
        {**ENTRY, "engineHash": 0},
        {**ENTRY, "outline": []},
        {**ENTRY, "outline": {"workflow": {}}},
        {**ENTRY, "outline": {"workflow": {}, "steps": 1}},
        {**ENTRY, "outline": {"workflow": {}, "steps": ["x"]}},
        {**ENTRY, "outline": {"workflow": {}, "steps": [{"facets": {}}]}},
        {**ENTRY, "outline": {"workflow": {}, "steps": [{"id": "x"}]}},
        {**ENTRY, "outline": {"workflow": {}, "steps": [{"id": "x", "facets": "no pairs"}]}},
        {**ENTRY, "outline": {"workflow": {}, "steps": [{"id": 1, "facets": {}}]}},
        {**ENTRY, "outline": {"workflow": {}, "steps": [{"id": "x", "loop": None, "facets": {}}]}},
    ],
    ids=str,
)
def test_a_damaged_entry_is_named(entry: Any) -> None:
    assert "the entry of b " in refused({**LOCK, "workflows": {"a": ENTRY, "b": entry}})


@pytest.mark.parametrize(
    "document",
    [
        *({**LOCK, "catalog": without(CATALOG, name)} for name in CATALOG),
        {**LOCK, "catalog": {**CATALOG, "digest": 1}},
        {**LOCK, "catalog": None},
        without(LOCK, "workflows"),
        {**LOCK, "workflows": []},
    ],
    ids=str,
)
def test_a_damaged_catalog_or_list_of_workflows_is_told(document: Any) -> None:
    assert "catalog or workflows" in refused(document)


@pytest.mark.parametrize(
    "document", [None, [], "x", without(LOCK, "lockfileVersion"), {**LOCK, "lockfileVersion": True}]
)
def test_what_has_no_version_is_not_a_lockfile(document: Any) -> None:
    assert "lockfileVersion" in refused(document)


def test_a_lockfile_of_another_version_says_what_to_do() -> None:
    newer, older = (refused({**LOCK, "lockfileVersion": version}) for version in (2, 0))
    assert "version 2" in newer
    assert "update workrail-lint" in newer
    assert "version 0" in older
    assert "lock --update" in older


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"<<<<<<< HEAD\n", "line 1, column 1"),
        (b'{\n  "lockfileVersion": nope,\n  "catalog": nope }', "line 2, column 22"),
        (json.dumps(LOCK).encode().replace(b"{", b'{\n  "catalog": {},\n  ', 1), "line 2, column 3"),
    ],
    ids=["conflict", "two mistakes", "a member twice"],
)
def test_text_that_is_not_valid_json_names_its_first_problem_with_its_place_once(text: bytes, place: str) -> None:
    read = parse_lockfile(text)
    assert isinstance(read, Err)
    assert f"({place}: " in read.error
    assert f"{place}: {place}: " not in read.error
