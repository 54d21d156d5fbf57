"""Releases of the engine as data: schemas, builtins and checks by version, and which version brings what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tables import for_each

from tools import engine_releases
from workrail_lint import Err, Ok, check_text, compile_workflow
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.catalog.engine_digests import ENGINE_VERSION
from workrail_lint.systems.workrail.engines.engine_schema import SHAPES, compare, facts
from workrail_lint.systems.workrail.engines.releases import (
    BUILTINS,
    TABLE,
    Target,
    derived_target,
    find_release,
    named_release,
    read_table,
    target,
)
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.samples import loop, step

DEFINITIONS = load_schema("workflow")["definitions"]
BLOCKS = step(prompt=None, promptBlocks={"goal": "Find the cause."})
PARALLEL = {"id": "two-angles", "type": "parallel", "title": "Two", "parallelDelegations": [{"workflowId": "demo.x"}]}
DIMENSION = {"id": "risk", "purpose": "How risky it is.", "levels": ["low", "high"]}
ASSESSMENTS = [{"id": "review", "purpose": "How good it is.", "dimensions": [DIMENSION]}]


def workflow(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A workflow with nothing that the first releases do not know."""
    return samples.workflow(*steps, **{"about": ..., "examples": ..., "validatedAgainstSpecVersion": ..., **members})


def named(version: str) -> Target:
    release = named_release(version)
    assert isinstance(release, Ok), release
    return release.value


def messages(document: dict[str, Any], version: str) -> list[str]:
    report = check_text(json.dumps(document), "workflows/example.json", engine_version=version)
    return [finding.message for finding in report.findings if finding.name == "engine-version-needed"]


def judged(*, when: dict[str, str]) -> dict[str, Any]:
    """A workflow with a step whose assessment has a consequence."""
    effect = {"kind": "require_followup", "guidance": "Look again."}
    consequence = {"when": when, "effect": effect}
    return workflow(step(assessmentRefs=["review"], assessmentConsequences=[consequence]), assessments=ASSESSMENTS)


def test_the_table_is_in_order_and_ends_with_the_release_that_the_package_describes() -> None:
    table = read_table()
    assert [release.order for release in table] == sorted({release.order for release in table})
    assert table[-1].version == ENGINE_VERSION
    assert target(ENGINE_VERSION).schema["definitions"] == DEFINITIONS
    assert (table[0].version, len(table)) == ("1.4.0", 241)


def test_the_builtins_of_all_releases_are_those_of_the_catalog() -> None:
    core = load_core()
    known = {kind: {name for release in read_table() for name in release.builtins(kind)} for kind in BUILTINS}
    shipped = {"features": core.features, "refs": core.refs, "templates": core.templates}
    for kind, entries in shipped.items():
        assert known[kind] == {name for name, entry in entries.items() if entry.phase.value == "shipped"}, kind
    assert known["contracts"] <= core.contracts.keys()


def test_every_schema_is_one_that_editors_understand() -> None:
    for release in read_table():
        if release.schema:
            jsonschema.Draft7Validator.check_schema(target(release.version).schema)


@for_each(
    "version, expected",
    [
        ("3.60.0", "3.60.0"),
        ("3.60", "3.60.1"),
        ("v3.1", "3.1.0"),
        ("1.4", "1.4.0"),
        ("3.121.0", None),
        ("3.121", None),
    ],
)
def test_a_version_names_a_release(version: str, expected: str | None) -> None:
    release = find_release(version)
    assert isinstance(release, Ok)
    assert (None if release.value is None else release.value.version) == expected


@for_each(
    "version, said",
    [
        ("3.999", "engine 3.999 is not known; the newest known is 3.121"),
        ("0.9", "engine 0.9 is not known; the oldest known is 1.4"),
        ("3.61.7", "there is no engine 3.61.7; the nearest releases are 3.61.0 and 3.62.0"),
        ("latest", "'latest' is not a version; write it like '3.121'"),
        ("", "'' is not a version; write it like '3.121'"),
    ],
)
def test_a_version_that_names_none_is_explained(version: str, said: str) -> None:
    assert find_release(version) == Err(said)


@for_each(
    "document, version, said",
    [
        (
            workflow(PARALLEL),
            "3.60",
            "step 'two-angles': `parallel` steps need engine 3.117; this project targets 3.60.1",
        ),
        (
            workflow(loop(PARALLEL)),
            "3.117",
            (
                "step 'two-angles' (in loop 'again'): `parallel` steps in a loop need engine 3.118; "
                "this project targets 3.117"
            ),
        ),
        (workflow(metricsProfile="coding"), "3.60", "`metricsProfile` needs engine 3.66; this project targets 3.60.1"),
        (
            workflow(step(outputContract={"contractRef": "wr.contracts.gate_verdict"})),
            "3.87.0",
            "step 'first-step': `wr.contracts.gate_verdict` needs engine 3.88; this project targets 3.87",
        ),
        (
            workflow(BLOCKS, features=["wr.features.capabilities"]),
            "3.9.1",
            "`wr.features.capabilities` needs engine 3.9.2; this project targets 3.9.1",
        ),
        (
            workflow(step(), BLOCKS | {"id": "then"}),
            "1.13.0",
            "step 'then': engine 1.13, which this project targets, needs `prompt` here; engine 1.13.1 does not",
        ),
        (
            judged(when={"anyEqualsLevel": "high"}),
            "3.14",
            "step 'first-step': `anyEqualsLevel` needs engine 3.15; this project targets 3.14",
        ),
    ],
    key=lambda row: row[2],
)
def test_a_finding_names_the_release_that_brings_what_is_missing(
    document: dict[str, Any], version: str, said: str
) -> None:
    assert said in messages(document, version)
    assert messages(document, ENGINE_VERSION) == []


def test_the_oldest_form_of_a_trigger_is_valid_only_in_its_time() -> None:
    old = judged(when={"dimensionId": "risk", "equalsLevel": "high"})
    assert check_text(json.dumps(old), "workflows/a.json", engine_version="3.11").ok
    assert not check_text(json.dumps(old), "workflows/a.json", engine_version="3.15").ok
    assert not check_text(json.dumps(old), "workflows/a.json").ok
    for wrong in ({"dimensionId": "cost", "equalsLevel": "high"}, {"dimensionId": "risk", "equalsLevel": "huge"}):
        assert len(messages(judged(when=wrong), "3.11")) == 1


def test_what_a_release_does_not_check_is_a_warning_there() -> None:
    document = json.dumps(workflow(step(prompt="Ask {{wr.bindings.reviewer}} to look at it.")))
    for version, is_refused in (("3.1", False), ("3.4", True), (ENGINE_VERSION, True)):
        report = check_text(document, "workflows/a.json", engine_version=version)
        [finding] = [each for each in report.findings if each.name == "binding-no-extension-points"]
        assert (finding in report.errors) is is_refused, version


def test_the_hash_is_that_of_the_release() -> None:
    document = workflow(BLOCKS, step("then"))
    hashes = {}
    for version in ("1.15.0", "1.16.1", "3.60", ENGINE_VERSION):
        compiled = compile_workflow(document, engine_version=version)
        assert isinstance(compiled, Ok)
        hashes[version] = compiled.value.engine_hash
    assert hashes["1.16.1"] == hashes["3.60"] == hashes[ENGINE_VERSION] != hashes["1.15.0"]
    assert None not in hashes.values()
    newer = compile_workflow(workflow(step(), metricsProfile="coding"), engine_version="3.60")
    assert isinstance(newer, Ok)
    assert newer.value.engine_hash is None


def test_an_unknown_version_is_refused_by_the_library() -> None:
    with pytest.raises(ValueError, match="newest known"):
        check_text("{}", engine_version="4.0")
    refused = compile_workflow(workflow(), engine_version="4.0")
    assert isinstance(refused, Err)
    assert "newest known" in refused.error[0].message


def engine_schema(**members: Any) -> dict[str, Any]:
    """Our schema laid out like the engine's, with more members of a step."""
    names = {shape: place[1:] for place, shape in SHAPES.items() if place[0] == "#" and "/" not in place}
    names = {shape: name for shape, name in names.items() if "<" not in name}

    def their(part: Any) -> Any:
        if isinstance(part, list):
            return [their(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            name = part["$ref"].rpartition("/")[2]
            return {"$ref": f"#/$defs/{names[name]}"} if name in names else their(DEFINITIONS[name])
        return {word: their(value) for word, value in part.items() if word not in ("if", "then", "else", "allOf")}

    defs = {name: their({**DEFINITIONS[shape]}) for shape, name in names.items()}
    defs["standardStep"]["properties"] |= members
    sources = [{"$ref": "#/$defs/standardStep"}, {"$ref": "#/$defs/parallelStep"}]
    defs["loopStep"]["properties"]["body"] = {"oneOf": [{"type": "string"}, {"items": {"oneOf": sources}}]}
    defs["loopConfig"]["allOf"] = [{"then": {"anyOf": [{}, {}]}}]
    root = their(DEFINITIONS["Workflow"])
    refs = [{"$ref": f"#/$defs/{name}"} for name in ("standardStep", "loopStep", "parallelStep")]
    root["properties"]["steps"] = {"type": "array", "minItems": 1, "items": {"oneOf": refs}}
    defs["confirmationRule"] = {"oneOf": [{}, {"$ref": "#/$defs/condition"}, {}]}
    return {**root, "$defs": defs}


def test_the_schema_of_an_engine_is_compared_with_ours() -> None:
    same = compare(facts(engine_schema()), DEFINITIONS)
    assert (same.differences, same.unknown) == ({}, [])
    found = compare(facts(engine_schema(colour={"enum": ["red", "blue"]}, title={"type": "string"})), DEFINITIONS)
    assert found.differences == {
        "StandardStep/properties/colour": {"enum": ["red", "blue"]},
        "StandardStep/properties/title/minLength": None,
        "StandardStep/properties/title/maxLength": None,
    }
    unlike = engine_schema()
    unlike["$defs"] |= {"confirmationRule": {"oneOf": [{}] * 4}, "newThing": {"type": "object"}}
    assert compare(facts(unlike), DEFINITIONS).unknown == ["#confirmationRule", "#newThing"]


def test_an_engine_that_no_table_lists_is_judged_by_its_own_schema() -> None:
    changes = compare(facts(engine_schema(colour={"enum": ["red", "blue"]})), DEFINITIONS).differences
    unknown = derived_target("3.125.0", {path: {"is": value} for path, value in changes.items()})
    assert unknown.validator.violations(workflow(step(colour="red"))) == []
    assert len(unknown.validator.violations(workflow(step(colour="green")))) == 1
    assert unknown.pins == "resolved"


def test_the_shipped_table_has_what_is_written_by_hand() -> None:
    """`python -m tools.engine_releases notes` would write the same file."""
    table = [release.entry for release in read_table()]
    assert engine_releases.table_text(engine_releases.with_notes(table)) == Path(TABLE).read_text(encoding="utf-8")
    versions = {release.version for release in read_table()}
    assert json.loads(engine_releases.NOTES.read_text(encoding="utf-8")).keys() <= versions


def test_a_history_becomes_a_table() -> None:
    """Two releases: the first with the facts of today but for one member, which comes with the second."""
    now = facts(engine_schema())
    first = {pointer: words for pointer, words in now.items() if pointer != "#standardStep/audit"}
    builtins = {"features": ["wr.features.capabilities"]}
    history = [
        {"version": "1.0.0", "date": "2026-01-01", "state": {"schema": first, "catalog": builtins}},
        {
            "version": "1.1.0",
            "date": "2026-01-02",
            "added": {
                "schema": {"#standardStep/audit": now["#standardStep/audit"]},
                "catalog": {"refs": ["wr.refs.memory_usage"]},
            },
            "changed": {"routine_files": True},
        },
    ]
    assert engine_releases.from_history(history) == [
        {"version": "1.0.0", "date": "2026-01-01", "features": ["wr.features.capabilities"]},
        {
            "version": "1.1.0",
            "date": "2026-01-02",
            "schema": {"StandardStep/properties/audit": {"was": None}},
            "refs": ["wr.refs.memory_usage"],
            "routineTexts": True,
        },
    ]
