from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import jsonschema
import pytest
from pydantic import Discriminator, RootModel, Tag
from workflow_specimen import BINDINGS, DESIGN_WORKFLOW, WORKFLOW

from tools.models import generate
from tools.models.schema import json_schema
from tools.models.workrail import vocabulary as enums
from workrail_lint import systems
from workrail_lint.documents.models import AnyText, ByType, Closed, Number
from workrail_lint.documents.schema.dialect import KEYWORDS, python_pattern
from workrail_lint.documents.schema.engine import compile_schema
from workrail_lint.systems.schemas import kinds, load_schema

OURS = ("bindings", "workflow", "workflow-design")


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema within a schema, itself included."""
    if isinstance(schema, list):
        for part in schema:
            yield from subschemas(part)
    elif isinstance(schema, dict):
        yield schema
        for keyword, parameter in schema.items():
            if keyword in ("properties", "definitions"):
                yield from subschemas(list(parameter.values()))
            elif keyword not in ("const", "enum", "required", "type"):
                yield from subschemas(parameter)


SYSTEMS = Path(systems.__file__ or "").parent


def test_the_shipped_files_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    """The schemas, packs and classes of all systems."""
    assert generate.main(["--check"]) == 0, capsys.readouterr().err


def test_generating_writes_what_is_stale_or_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new" / "x.schema.json"
    monkeypatch.setattr(generate, "files", lambda: {str(target): "{}\n"})
    assert generate.main(["--check"]) == 1
    assert "x.schema.json is out of date" in capsys.readouterr().err
    assert not target.exists()
    assert generate.main([]) == 0
    assert target.read_text(encoding="utf-8") == "{}\n"
    assert generate.main(["--check"]) == 0


@pytest.mark.parametrize("system", sorted(generate.SCHEMAS))
def test_every_kind_ships_and_nothing_else(system: str) -> None:
    shipped = {path.name.removesuffix(".schema.json") for path in Path(SYSTEMS, system, "schemas").glob("*.json")}
    assert shipped == set(generate.SCHEMAS[system]) | ({"lock-registry"} if system == "workrail" else set())
    assert set(generate.SCHEMAS[system]) <= set(kinds())


@pytest.mark.parametrize("kind", ["nothing", "", "../schemas/workflow", "workflow.schema.json"])
def test_an_unknown_kind_has_no_schema(kind: str) -> None:
    with pytest.raises(KeyError):
        load_schema(kind)


@pytest.mark.parametrize("kind", OURS)
def test_it_is_a_draft_07_schema_in_our_dialect(kind: str) -> None:
    schema = load_schema(kind)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    jsonschema.Draft7Validator.check_schema(schema)
    for part in subschemas(schema):
        assert part.keys() <= KEYWORDS
        if "pattern" in part:
            python_pattern(part["pattern"])
    compile_schema(schema)


@pytest.mark.parametrize("kind", OURS)
def test_editors_have_something_to_show(kind: str) -> None:
    for name, definition in load_schema(kind)["definitions"].items():
        assert definition["title"], name
        assert definition["description"].endswith("."), name
        for member, part in definition.get("properties", {}).items():
            assert part["title"], (name, member)
            assert part["description"].endswith("."), (name, member)


@pytest.mark.parametrize("kind", OURS)
def test_alternatives_are_told_apart_and_never_guessed(kind: str) -> None:
    for part in subschemas(load_schema(kind)):
        assert "oneOf" not in part
        assert all(alternative.keys() == {"required"} for alternative in part.get("anyOf", ()))


@pytest.mark.parametrize("kind", ["workflow", "workflow-design"])
def test_every_object_is_closed(kind: str) -> None:
    for name, definition in load_schema(kind)["definitions"].items():
        if "properties" in definition:
            assert definition["additionalProperties"] is False, name


@pytest.mark.parametrize("kind", ["workflow", "workflow-design"])
def test_closed_sets_come_from_the_enums(kind: str) -> None:
    sets = {name: [member.value for member in cls] for name, cls in inspect.getmembers(enums, _is_closed_set)}
    definitions = load_schema(kind)["definitions"]
    used = {name: definition["enum"] for name, definition in definitions.items() if "enum" in definition}
    assert len(used) >= 10
    for name, values in used.items():
        assert values == sets[name]


def _is_closed_set(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, Enum) and value is not Enum


@pytest.mark.parametrize(
    ("kind", "specimens"),
    [("workflow", [WORKFLOW]), ("workflow-design", [WORKFLOW, DESIGN_WORKFLOW]), ("bindings", [BINDINGS])],
)
def test_the_specimens_leave_no_member_untried(kind: str, specimens: list[dict[str, Any]]) -> None:
    """The property tests start from the specimens, so they reach what the specimens reach."""
    schema = load_schema(kind)
    for name, definition in schema["definitions"].items():
        members = definition.get("properties", {})
        seen = refused(schema, name, members, specimens)
        for member in members.keys() - seen:
            # What stands inside of another member of the same definition is reached when that one is allowed.
            assert refused(schema, name, [member], specimens), f"workflow_specimen.py has no {name} with {member!r}"


def refused(schema: dict[str, Any], name: str, members: Iterable[str], specimens: list[dict[str, Any]]) -> set[str]:
    """Return which members of a definition are found in the specimens when all of these are forbidden."""
    forbidden = {**schema["definitions"][name].get("properties", {}), **dict.fromkeys(members, False)}
    changed = {**schema["definitions"][name], "properties": forbidden}
    validator = compile_schema({**schema, "definitions": {**schema["definitions"], name: changed}})
    found = [violation for specimen in specimens for violation in validator.violations(specimen)]
    assert {(violation.keyword, violation.shape) for violation in found} <= {("false", name)}
    return {violation.pointer.rpartition("/")[2] for violation in found}


class Other(Closed):
    """Another document."""

    size: Annotated[float, Number(0)] | None
    mixed: Annotated[Annotated[AnyText, Tag("string")] | Annotated[bool, Tag("boolean")], Discriminator(ByType())]


def test_a_null_is_told_apart_too() -> None:
    schema = json_schema(Other)
    validator = compile_schema(schema)
    assert schema["definitions"]["Other"]["properties"]["mixed"]["type"] == ["string", "boolean"]
    assert validator.violations({"size": None, "mixed": "x"}) == []
    assert [(v.pointer, v.keyword) for v in validator.violations({"size": -1, "mixed": 1})] == [
        ("/size", "minimum"),
        ("/mixed", "type"),
    ]


def test_a_union_without_a_switch_is_refused() -> None:
    class Guess(RootModel[str | int]):
        """Either."""

    with pytest.raises(TypeError, match="switch"):
        json_schema(Guess)
