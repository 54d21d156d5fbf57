"""Nothing in the tables of a driver can lack its check, its sample or its line in the docs.

A driver lists its events, blockers, expectations and lock evidence (`Driver`). Each entry is looked up everywhere it
has to be; what is missing is named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest

from pytest_workrail.locks.registry import shipped_registry
from pytest_workrail.systems import blocks, team
from pytest_workrail.systems.kernel.scenario import Driver, LockEvidence, in_order
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.blocker_codes import BlockerCode

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = ROOT / "pytest_workrail" / "systems"
NAMES = sorted(folder.parent.name for folder in SYSTEMS.glob("*/__init__.py") if folder.parent.name != "kernel")
AnyDriver = Driver[Any, Any]
# A value that no run meets, by the type that the schema of a scenario gives to an expectation.
WRONG = {
    "array": ["no-such-item"],
    "object": {"no-such-name": "no-such-value"},
    "string": "no-such-value",
    "integer": 99,
}


@cache
def driver_of(name: str) -> AnyDriver:
    driver: AnyDriver = import_module(f"pytest_workrail.systems.{name}.scenario").DRIVER
    return driver


@cache
def scenarios(folder: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in sorted((ROOT / folder).glob("*.scenario.json"))]


@cache
def goldens(folder: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in sorted((ROOT / folder / "__goldens__").glob("*.golden.json"))]


def events_in(golden: dict[str, Any], member: str) -> list[dict[str, Any]]:
    return [
        item
        for value in golden.values()
        if isinstance(value, list)
        for item in value
        if isinstance(item, dict) and {"n", member} <= item.keys()
    ]


def expectations_of_schema(driver: AnyDriver) -> dict[str, str]:
    """Return the members of `expect` in the schema of scenarios, each with its type."""
    schema = load_schema(f"{driver.pack}-scenario")
    members = schema["definitions"]["Expectations"]["properties"]
    return {name: str(value.get("type", "string")) for name, value in members.items()}


# ------------------------------------------------------------------------------------------------------------- the walk


def gaps(driver: AnyDriver) -> list[str]:
    """Name everything that the tables of a driver lack."""
    return [*event_gaps(driver), *blocker_gaps(driver), *expectation_gaps(driver), *evidence_gaps(driver)]


def event_gaps(driver: AnyDriver) -> Iterator[str]:
    page = (ROOT / driver.docs).read_text("utf-8")
    events = [each for golden in goldens(driver.samples) for each in events_in(golden, driver.event_member)]
    kinds = {event[driver.event_member] for event in events}
    for kind in driver.events:
        if kind not in kinds:
            yield f"event {kind}: no golden in {driver.samples} has one"
        if f"`{kind}`" not in page:
            yield f"event {kind}: {driver.docs} does not explain it"
    for kind in sorted(kinds - set(driver.events)):
        yield f"event {kind}: emitted, but not in the table"
    for member in driver.hidden:
        if any(member in event for event in events):
            yield f"member {member} of an event: hidden, but in a golden"


def blocker_gaps(driver: AnyDriver) -> Iterator[str]:
    page = (ROOT / driver.docs).read_text("utf-8")
    shown = {blocker["code"] for golden in goldens(driver.samples) for blocker in golden["blockers"]}
    codes = {code for kind in {type(code) for code in driver.blockers} for code in kind}
    for code in sorted(codes, key=lambda each: str(each.value)):
        name = str(code.value)
        if driver.blockers.get(code) not in get_args(BlockerCode):
            yield f"blocker {name}: no code that all contracts share"
        if name not in shown:
            yield f"blocker {name}: no golden in {driver.samples} has one"
        if f"`{name}`" not in page:
            yield f"blocker {name}: {driver.docs} does not explain it"


def expectation_gaps(driver: AnyDriver) -> Iterator[str]:
    page = (ROOT / driver.docs).read_text("utf-8")
    used = {name for scenario in scenarios(driver.samples) for name in scenario.get("expect", {})}
    known = expectations_of_schema(driver)
    run = sample_run(driver.pack)
    for name in sorted({*driver.expectations, *known}):
        if name not in known:
            yield f"expectation {name}: the schema of scenarios does not have it"
        elif name not in driver.expectations:
            yield f"expectation {name}: nothing compares it with a run"
        elif not list(driver.expectations[name](WRONG[known[name]], run, f"/expect/{name}")):
            yield f"expectation {name}: a wrong value goes unnoticed"
        if name not in used:
            yield f"expectation {name}: no scenario in {driver.samples} has one"
        if f"`{name}`" not in page:
            yield f"expectation {name}: {driver.docs} does not mention it"


def evidence_gaps(driver: AnyDriver) -> Iterator[str]:
    page = (ROOT / "docs" / "lock-coverage.md").read_text("utf-8")
    registered = {lock.id for lock in shipped_registry().locks if lock.id.startswith(f"{driver.pack}-")}
    claimed = {lock for scenario in scenarios(driver.samples) for lock in scenario.get("enforces", ())}
    shown = {lock for golden in goldens(driver.samples) for lock in demonstrated(golden)}
    for lock in sorted({*driver.evidence.checks, *registered}):
        if lock not in registered:
            yield f"lock {lock}: not in the registry"
        if lock not in driver.evidence.checks:
            yield f"lock {lock}: no check tells whether a run demonstrates it"
        if lock not in claimed or lock not in shown:
            yield f"lock {lock}: no scenario in {driver.samples} demonstrates it"
        if lock not in page:
            yield f"lock {lock}: docs/lock-coverage.md does not list it"


def demonstrated(golden: dict[str, Any]) -> list[str]:
    locks = golden["locks"]
    return [lock for lock in locks if locks[lock]] if isinstance(locks, dict) else locks


@cache
def sample_run(pack: str) -> Any:
    if pack == "team":
        return team.run({"mode": "lean"})
    return blocks.run(ROOT / "fixtures" / "scenarios" / "blocks" / "in-a-row.scenario.json")


# ------------------------------------------------------------------------------------------------------------ the tests


@pytest.mark.parametrize("name", NAMES)
def test_the_tables_of_a_driver_are_complete(name: str) -> None:
    assert gaps(driver_of(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_plays_what_the_manifest_names(name: str) -> None:
    manifest = json.loads((ROOT / "workrail_lint" / "systems" / name / "manifest.json").read_bytes())
    assert f"pytest_workrail.systems.{name}.scenario:play" in json.dumps(manifest)
    assert manifest_module(manifest) == f"pytest_workrail.systems.{name}.generation"


def manifest_module(value: Any) -> str:
    """Return the generator that a manifest names, wherever it stands."""
    if isinstance(value, dict):
        return value["generator"] if "generator" in value else "".join(map(manifest_module, value.values()))
    return ""


class NewCode(Enum):
    """A blocker that nobody has documented or shown."""

    NEW = "NEW_BLOCKER"


def test_whatever_is_new_is_named_with_what_it_lacks() -> None:
    driver = driver_of("team")
    evidence: LockEvidence[Any] = LockEvidence()
    evidence.checks.update(driver.evidence.checks)
    evidence.of("team-new-lock")(lambda run: True)
    changed = replace(
        driver,
        events=(*driver.events, "new_event"),
        blockers={**driver.blockers, NewCode.NEW: "NO_SUCH_CODE"},
        expectations={**driver.expectations, "newMember": in_order("item", "name", lambda run: [])},
        evidence=evidence,
        hidden=(*driver.hidden, "attempt"),
    )
    samples, page = driver.samples, driver.docs
    assert gaps(changed) == [
        f"event new_event: no golden in {samples} has one",
        f"event new_event: {page} does not explain it",
        "member attempt of an event: hidden, but in a golden",
        "blocker NEW_BLOCKER: no code that all contracts share",
        f"blocker NEW_BLOCKER: no golden in {samples} has one",
        f"blocker NEW_BLOCKER: {page} does not explain it",
        "expectation newMember: the schema of scenarios does not have it",
        f"expectation newMember: no scenario in {samples} has one",
        f"expectation newMember: {page} does not mention it",
        "lock team-new-lock: not in the registry",
        f"lock team-new-lock: no scenario in {samples} demonstrates it",
        "lock team-new-lock: docs/lock-coverage.md does not list it",
    ]


def test_whatever_is_left_out_is_named() -> None:
    driver = driver_of("blocks")
    expectations = {**driver.expectations, "files": lambda wanted, run, pointer: ()}
    del expectations["steps"]
    evidence: LockEvidence[Any] = LockEvidence()
    evidence.checks.update({lock: driver.evidence.checks[lock] for lock in list(driver.evidence.checks)[1:]})
    left_out = next(iter(driver.evidence.checks))
    changed = replace(driver, events=driver.events[1:], expectations=expectations, evidence=evidence)
    assert gaps(changed) == [
        f"event {driver.events[0]}: emitted, but not in the table",
        "expectation files: a wrong value goes unnoticed",
        "expectation steps: nothing compares it with a run",
        f"lock {left_out}: no check tells whether a run demonstrates it",
    ]
