"""The lock registry: our own file, its schema, and what is said about a bad one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.locks.registry import (
    REGISTRY_FILE,
    SCHEMA_FILE,
    load_registry,
    missing_citations,
    missing_sources,
    read_registry,
    schema_text,
    shipped_registry,
)

ROOT = Path(__file__).resolve().parents[2]
_CLAIM = re.compile(r"^\s*(?:\"\"\")?@enforces\s+([a-z0-9-]+)", re.MULTILINE | re.IGNORECASE)


def test_ours_is_sound() -> None:
    registry = shipped_registry()
    assert missing_sources(registry, ROOT) == []
    assert {lock.category for lock in registry.locks} == set(registry.categories)
    by_category = {name: sum(lock.category == name for lock in registry.locks) for name in registry.categories}
    ours = ("ir", "profile", "bench", "team", "blocks")
    assert [by_category[name] for name in ours[3:]] == [23, 22]
    reference = {name: count for name, count in by_category.items() if name not in ours}
    assert sum(reference.values()) == 118
    assert reference == {
        "storage": 20,
        "schema": 32,
        "tokens": 21,
        "protocol": 14,
        "hashing": 4,
        "errors": 8,
        "bundle": 6,
        "model": 3,
        "projection": 3,
        "types": 2,
        "architecture": 5,
    }
    assert [lock.id for lock in registry.locks if not lock.counts] == ["mkdirp-once-per-session"]


def test_the_schema_is_the_model() -> None:
    assert SCHEMA_FILE.read_text("utf-8") == schema_text()
    validator = jsonschema.Draft7Validator(json.loads(schema_text()))
    validator.validate(json.loads(REGISTRY_FILE.read_text("utf-8")))


def test_what_tests_claim_exists() -> None:
    known = {lock.id for lock in shipped_registry().locks}
    claimed = {
        (path.name, name)
        for path in Path(__file__).parent.glob("test_*.py")
        for name in _CLAIM.findall(path.read_text("utf-8"))
    }
    assert len(claimed) > 30
    assert {(file, name) for file, name in claimed if name not in known} == set()


def registry(*locks: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {
        "lockRegistryVersion": 1,
        "version": "1.0.0",
        "categories": {"c": "things"},
        "locks": list(locks),
        **members,
    }


LOCK = {"id": "a-b", "category": "c", "source": "README.md", "summary": "s", "revision": 1}


def pointers(value: Any) -> list[str]:
    result = read_registry(json.dumps(value))
    assert not result.is_ok
    assert all(problem.message for problem in result.error)
    return [problem.pointer for problem in result.error]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (registry(LOCK, LOCK), ["/locks/0/id", "/locks/1/id"]),
        (registry(LOCK | {"category": "d"}), ["/locks/0/category"]),
        (registry(LOCK | {"applies": "n/a"}), ["/locks/0/reason"]),
        (registry(LOCK | {"reason": "because"}), ["/locks/0/reason"]),
        (registry(LOCK | {"id": "A b"}), ["/locks/0/id"]),
        (registry(LOCK | {"summary": ""}), ["/locks/0/summary"]),
        (registry(LOCK | {"source": ""}), ["/locks/0/source"]),
        (registry(LOCK | {"revision": 0}), ["/locks/0/revision"]),
        (registry(LOCK | {"mood": "good"}), ["/locks/0/mood"]),
        (registry(lockRegistryVersion=2), ["/lockRegistryVersion"]),
        (registry(version="one"), ["/version"]),
        ([], [""]),
    ],
)
def test_bad_registries(value: Any, expected: list[str]) -> None:
    """@enforces schema-unknown-version-fail-fast"""
    assert pointers(value) == expected


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"applies": "static"},
        {"applies": ["static", "engine"]},
        {"applies": "n/a", "reason": "nothing to see"},
        {"obsolete": True},
    ],
)
def test_good_registries(more: dict[str, Any]) -> None:
    (lock,) = read_registry(json.dumps(registry(LOCK | more))).value.locks
    assert lock.counts is (more.get("applies") != "n/a" and not more.get("obsolete", False))


def test_a_registry_need_not_name_the_version_of_its_form() -> None:
    value = registry(LOCK)
    del value["lockRegistryVersion"]
    assert read_registry(json.dumps(value)).is_ok


@pytest.mark.parametrize("version", ["0.1.0", "1.0.0-beta.2", "1.0.0+build.7", "2.0.0-rc.1+5"])
def test_any_semantic_version_is_one(version: str) -> None:
    assert read_registry(json.dumps(registry(LOCK, version=version))).is_ok


@pytest.mark.parametrize("version", ["1.0", "1.0.0-", "1.0.0.0", "v1.0.0", "1.0.0\n"])
def test_other_versions_are_refused(version: str) -> None:
    assert pointers(registry(LOCK, version=version)) == ["/version"]


def test_what_can_be_written_in_several_ways_is_one_problem() -> None:
    assert pointers(registry(LOCK | {"applies": "sometimes"})) == ["/locks/0/applies"]
    assert pointers(registry(LOCK | {"applies": ["static", "often"]})) == ["/locks/0/applies", "/locks/0/applies/1"]
    assert pointers(registry({"id": "a-b"})) == ["/locks/0/category", "/locks/0/source", "/locks/0/summary"]
    assert pointers(registry(LOCK | {"a/b": 1})) == ["/locks/0/a~1b"]


def test_sources_lie_in_the_repository_and_need_not_be_text(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (tmp_path / "outside.md").write_text("# One\n")
    (root / "photo.bin").write_bytes(b"\xff\xfe# One\n")
    (root / "a.md").write_text("# Fixed\n\n# Fixed\n\nTitle\n=====\n\nPart\n---\n")
    missing = ["../outside.md", str(tmp_path / "outside.md"), ".", "photo.bin#one", "a\0b.md", "a.md#fixed-2"]
    there = ["photo.bin", "a.md#fixed", "a.md#fixed-1", "a.md#title", "a.md#part", "./a.md"]
    locks = [LOCK | {"id": f"l-{index}", "source": source} for index, source in enumerate(missing + there)]
    found = missing_sources(read_registry(json.dumps(registry(*locks))).value, root)
    assert [problem.pointer for problem in found] == [f"/locks/{index}/source" for index in range(len(missing))]


def test_sources_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One & Two\n\n## `code` here\n")
    named = ["a.md", "a.md#one--two", "a.md#code-here", "a.md#three", "b.md", "a.md#"]
    locks = [LOCK | {"id": f"l-{index}", "source": source} for index, source in enumerate(named)]
    found = missing_sources(read_registry(json.dumps(registry(*locks))).value, tmp_path)
    assert [problem.pointer for problem in found] == ["/locks/3/source", "/locks/4/source"]


ENGINE_STYLE = [
    "locks.md §1",
    "locks.md §1, §1.2 Amendment 1",
    "locks.md §9",
    "none.md §1",
    "performance",
    "locks.md § 2",
]


def test_a_registry_as_the_public_engine_has_it(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "locks.md").write_text("# Locks\n\n## 1) Storage\n\n### 1.2 Tokens (locked)\n\n§2 Gaps\n------\n")
    locks = [
        LOCK | {"id": f"l-{index}", "source": source} for index, source in enumerate([*ENGINE_STYLE, "locks.md §9"])
    ]
    for each in locks:
        del each["revision"]
    document = {"$schema": "./none.schema.json", "generatedWarning": "Don't edit.", **registry(*locks)}
    del document["lockRegistryVersion"]
    (folder / "registry.json").write_text(json.dumps(document), encoding="utf-8")
    loaded = load_registry(folder / "registry.json").value
    assert missing_sources(loaded, tmp_path) == []
    assert missing_citations(loaded, tmp_path, folder) == [
        "'locks.md §9' does not exist (2 locks)",
        "'none.md §1' does not exist (1 lock)",
        "'performance' does not exist (1 lock)",
    ]
    assert len(missing_citations(loaded, tmp_path / "docs" / "deeper", folder)) == len(ENGINE_STYLE)


def test_files_that_are_no_registry(tmp_path: Path) -> None:
    assert not load_registry(tmp_path / "none.json").is_ok
    (tmp_path / "bad.json").write_text("{")
    assert not load_registry(tmp_path / "bad.json").is_ok


@given(st.text() | st.binary())
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    read_registry(text)
