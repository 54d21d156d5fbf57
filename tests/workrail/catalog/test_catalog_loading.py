"""Catalog files that users bring: what is refused, why, and where."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tools.models.workrail.catalog import CatalogDocument, catalog_schema
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents import pointer
from workrail_lint.findings import Finding
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog import Catalog, load_core
from workrail_lint.systems.workrail.catalog.catalog import digest_of
from workrail_lint.systems.workrail.catalog.checks import check_document, format_validator, order_problems
from workrail_lint.systems.workrail.catalog.loading import load_catalog
from workrail_lint.systems.workrail.catalog.render import document_text


def routine(routine_id: str = "wr.routine-a", **changes: Any) -> dict[str, Any]:
    step = {"id": "one", "title": "One", "prompt": "Do {what}."}
    return {"id": routine_id, "name": "A", "description": "D", "version": "1.0.0", "steps": [step], **changes}


def document(**changes: Any) -> dict[str, Any]:
    base = {
        "catalogFormat": 1,
        "catalogId": "mine",
        "catalogVersion": "0.1.0",
        "engineVersion": None,
        "authoringSpecVersion": 3,
        "features": [
            {
                "id": "wr.features.tidy",
                "title": "Tidy",
                "summary": "",
                "phase": "shipped",
                "inject": {"constraints": ["Tidy up.", [{"kind": "ref", "refId": "wr.refs.tidy"}]]},
            }
        ],
        "refs": [{"id": "wr.refs.tidy", "title": "Tidy", "summary": "", "phase": "deprecated", "text": "Tidy:"}],
        "routines": [{"phase": "shipped", "definition": routine()}],
        "contracts": [
            {
                "id": "wr.contracts.done",
                "artifactKind": "wr.done",
                "title": "Done",
                "summary": "",
                "phase": "shipped",
                "runtimeValidated": True,
                "schema": {"type": "object", "x-objectMode": "strict", "properties": {"kind": {"type": "string"}}},
                "example": {"kind": "wr.done"},
            }
        ],
        "capabilities": [{"id": "telepathy", "title": "Telepathy", "summary": ""}],
    }
    return {**copy.deepcopy(base), **changes}


def changed(at: str, value: Any = None, *, delete: bool = False) -> dict[str, Any]:
    result = document()
    *path, last = [int(t) if t.isdigit() else t for t in pointer.decode(at)]
    target: Any = result
    for token in path:
        target = target[token]
    if delete:
        del target[last]
    elif isinstance(target, list) and last == len(target):
        target.append(value)
    else:
        target[last] = value
    return result


def problems(source: Any) -> list[tuple[str, str]]:
    result = load_catalog(source)
    assert isinstance(result, Err), "this catalog should be refused"
    return [(finding.name, finding.pointer) for finding in result.error]


def loaded(source: Any) -> Catalog:
    result = load_catalog(source)
    assert isinstance(result, Ok), result
    return result.value


def test_a_good_catalog_loads_from_data_and_from_a_file(tmp_path: Path) -> None:
    content = document()
    content["digest"] = digest_of(content)
    path = tmp_path / "mine.json"
    path.write_text(document_text(content))
    for source in (content, path, str(path)):
        catalog = loaded(source)
        assert (catalog.catalog_id, catalog.version, catalog.digest) == ("mine", "0.1.0", content["digest"])
        assert list(catalog.templates) == ["wr.templates.routine.a"]
        assert catalog.features["wr.features.tidy"].procedure == ()
        assert catalog.refs["wr.refs.tidy"].placements == ("goal", "constraints", "procedure", "verify")
        assert catalog.contracts["wr.contracts.done"].mode == "strict"
        assert catalog.document == content


def test_the_example_in_the_guide_is_a_catalog() -> None:
    guide = Path(__file__).parents[3] / "docs" / "catalog.md"
    (example,) = re.findall(r"```json\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    catalog = loaded(json.loads(example))
    assert catalog.templates["wr.templates.routine.tidy"].required_args == ("room",)


def test_the_digest_is_computed_when_none_is_declared() -> None:
    assert loaded(document()).digest == digest_of(document())


# Where a problem shows when that is not the place that was changed.
ELSEWHERE = {
    ("/refs/0/placements", "schema-enum"): "/refs/0/placements/0",
    ("/routines/0/argValues", "schema-bounds"): "/routines/0/argValues/a",
    ("/contracts/0/artifactKind", "catalog-example-invalid"): "/contracts/0/example",
    ("/features/0/configSchema", "catalog-schema-keyword"): "/features/0/configSchema/format",
}


@pytest.mark.parametrize(
    ("at", "value", "name"),
    [
        ("/extra", 1, "schema-unknown-member"),
        ("/features/0/extra", 1, "schema-unknown-member"),
        ("/features/0/inject/goal", [], "schema-unknown-member"),
        ("/routines/0/extra", 1, "schema-unknown-member"),
        ("/contracts/0/extra", 1, "schema-unknown-member"),
        ("/capabilities/0/phase", "design", "schema-unknown-member"),
        ("/catalogFormat", 2, "schema-enum"),
        ("/catalogFormat", True, "schema-enum"),
        ("/catalogVersion", "1.0", "schema-pattern"),
        ("/catalogId", "", "schema-bounds"),
        ("/engineVersion", 3, "schema-type"),
        ("/authoringSpecVersion", 0, "schema-bounds"),
        ("/authoringSpecVersion", "3", "schema-type"),
        ("/features", {}, "schema-type"),
        ("/features/0/id", "wr.features.Tidy", "schema-pattern"),
        ("/features/0/id", "wr.refs.tidy", "schema-pattern"),
        ("/features/0/phase", "beta", "schema-enum"),
        ("/features/0/inject/constraints/0", 7, "schema-type"),
        ("/features/0/inject/constraints/1/0/kind", "html", "schema-enum"),
        ("/features/0/inject/constraints/1/0/refId", "", "schema-bounds"),
        ("/features/0/inject/constraints/1/0/refId", "wr.refs.other", "catalog-id-unknown"),
        ("/refs/0/id", "wr.refs.tidy\n", "schema-pattern"),
        ("/refs/0/placements", ["title"], "schema-enum"),
        ("/routines/0/templateId", "templates.a", "schema-pattern"),
        ("/routines/0/argValues", {"a": []}, "schema-bounds"),
        ("/routines/0/definition", [], "schema-type"),
        ("/routines/0/definition/id", 3, "catalog-invalid"),
        ("/routines/0/definition/steps/0", "one", "catalog-invalid"),
        ("/routines/0/definition/steps/0/templateCall", {"templateId": "x"}, "catalog-invalid"),
        ("/contracts/0/artifactKind", "done", "schema-pattern"),
        ("/contracts/0/artifactKind", "wr.other", "catalog-example-invalid"),
        ("/contracts/0/example", {"kind": "wr.done", "extra": 1}, "catalog-example-invalid"),
        ("/contracts/0/schema/patternProperties", {}, "catalog-schema-keyword"),
        ("/contracts/0/runtimeValidated", 1, "schema-type"),
        ("/features/0/configSchema", {"format": "x"}, "catalog-schema-keyword"),
        ("/capabilities/0/id", "tele pathy", "schema-pattern"),
        ("/digest", "sha256:" + "0" * 64, "catalog-invalid"),
        ("/digest", "0" * 64, "schema-pattern"),
    ],
)
def test_one_wrong_value_is_one_problem_at_its_place(at: str, value: Any, name: str) -> None:
    place = ELSEWHERE.get((at, name), at)
    assert problems(changed(at, value)) == [(name, place)]


OPTIONAL = {"configSchema", "placements", "templateId", "argValues", "digest", "constraints", "procedure", "verify"}


def _members(value: Any, at: str = "") -> list[str]:
    found = []
    for name, member in value.items():
        found.append(f"{at}/{name}")
        if name in ("features", "refs", "routines", "contracts", "capabilities"):
            found += _members(member[0], f"{at}/{name}/0")
        elif name == "inject":
            found += _members({}, f"{at}/{name}")
    return found


@pytest.mark.parametrize("at", _members(document()))
def test_every_member_is_required_unless_the_format_says_otherwise(at: str) -> None:
    assert at.rpartition("/")[2] not in OPTIONAL
    assert ("schema-missing-member", pointer.parent(at)) in problems(changed(at, delete=True))


def test_order_and_repetition() -> None:
    second = {**document()["refs"][0], "id": "wr.refs.a"}
    assert problems(changed("/refs/1", second)) == [("catalog-invalid", "/refs/1/id")]
    twice = copy.deepcopy(document()["refs"][0])
    assert problems(changed("/refs/1", twice)) == [("catalog-invalid", "/refs/1/id")]
    early = {"phase": "shipped", "definition": routine("a")}
    assert problems(changed("/routines/1", early))[0] == ("catalog-invalid", "/routines/1/definition/id")


def test_order_is_by_utf16_code_unit() -> None:
    entries = [{"phase": "shipped", "definition": routine(name)} for name in ("\U0001f600", "\ufb01")]
    assert list(order_problems(document(routines=entries))) == []
    assert [at for at, _, _ in order_problems(document(routines=entries[::-1]))] == ["/routines/1/definition/id"]


def test_two_routines_for_one_template() -> None:
    entries = [{"phase": "shipped", "definition": routine(name)} for name in ("routine-a", "wr.routine-a")]
    assert problems(document(routines=entries)) == [("routine-template-collision", "/routines/1/definition/id")]
    entries[1]["templateId"] = "wr.templates.other"
    assert list(loaded(document(routines=entries)).templates) == ["wr.templates.routine.a", "wr.templates.other"]


def test_the_name_of_the_core_catalog_is_taken() -> None:
    core = load_core()
    impostor = document(catalogId=core.catalog_id, catalogVersion=core.version)
    assert problems(impostor) == [("catalog-invalid", "/catalogVersion")]
    assert loaded(core.document).digest == core.digest
    assert loaded(document(catalogId=core.catalog_id, catalogVersion="99.0.0"))


def test_a_value_without_a_digest_is_reported() -> None:
    contract = {**document()["contracts"][0], "example": {"kind": "wr.done"}, "schema": {"maximum": float("inf")}}
    assert problems(document(contracts=[contract])) == [("number-not-finite", "")]


@pytest.mark.parametrize("value", [None, [], "", 3])
def test_a_document_that_is_no_object(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(value))
    assert problems(path) == [("schema-type", "")]


def test_findings_in_a_file_have_positions(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(changed("/features/0/colour", "red"), indent=1))
    result = load_catalog(path)
    assert isinstance(result, Err)
    (finding,) = result.error
    assert finding.path == str(path)
    assert finding.span is not None
    line = path.read_text().splitlines()[finding.span.start.line - 1]
    assert line[finding.span.start.column - 1 : finding.span.end.column - 1] == '"colour"'
    assert "expected one of id, title" in finding.message


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("{", "json-syntax"),
        ("", "json-syntax"),
        ('{"a":1,"a":2}', "json-duplicate-key"),
        ("[1,]", "json-trailing-comma"),
    ],
)
def test_text_that_is_no_json(text: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    result = load_catalog(path)
    assert isinstance(result, Err)
    assert name in {finding.name for finding in result.error}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path, "a\0b"):
        result = load_catalog(path)
        assert isinstance(result, Err)
        assert [finding.name for finding in result.error] == ["file-not-readable"]


def test_the_check_needs_no_pydantic(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(document()))
    code = (
        "import sys\n"
        "from workrail_lint.systems.workrail.catalog.loading import load_catalog\n"
        "assert load_catalog(sys.argv[1]).is_ok\n"
        "print([name for name in ('pydantic', 'jsonschema', 'regex') if name in sys.modules])\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# The schema that files are checked with is generated from the model; both must say the same.


def test_the_shipped_schema_is_the_model_s() -> None:
    assert load_schema("catalog") == catalog_schema()


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 2),
    st.text(max_size=2),
    st.builds(list),
    st.builds(dict),
    st.just("design"),
)


@st.composite
def mutants(draw: st.DrawFn) -> dict[str, Any]:
    content = document()
    for _ in range(draw(st.integers(1, 2))):
        places = [value for value in _containers(content) if value]
        target = draw(st.sampled_from(places))
        key = draw(st.sampled_from(sorted(target) if isinstance(target, dict) else range(len(target))))
        action = draw(st.sampled_from(["replace", "delete", "add", "repeat"]))
        if action == "delete":
            del target[key]
        elif action == "replace":
            target[key] = draw(JUNK)
        elif isinstance(target, dict):
            target["surprise"] = draw(JUNK)
        else:
            target.append(copy.deepcopy(target[key]))
    return content


def _containers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        below = [v for k, v in value.items() if k not in ("definition", "schema", "example", "configSchema")]
        return [value, *(found for item in below for found in _containers(item))]
    return [value, *(found for item in value for found in _containers(item))] if isinstance(value, list) else []


@given(mutants())
@settings(deadline=None, max_examples=times(50, deep=3_000))
def test_model_and_schema_agree(content: dict[str, Any]) -> None:
    shaped = format_validator().violations(content) == []
    fine = shaped and not list(order_problems(content))
    try:
        CatalogDocument.model_validate(content)
        accepted = True
    except ValidationError:
        accepted = False
    assert accepted is fine


@given(mutants())
@settings(deadline=None, max_examples=times(40, deep=2_000))
def test_no_document_makes_the_check_raise(content: dict[str, Any]) -> None:
    result = load_catalog(content)
    if isinstance(result, Err):
        assert result.error
        assert all(isinstance(item, Finding) and item.message for item in result.error)
        assert check_document(content) == result.error
    else:
        catalog = result.value
        assert catalog.features is not None
        assert catalog.templates is not None
        assert catalog.digest == digest_of(content)
