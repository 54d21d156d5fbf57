"""format: one style, the same meaning, and nothing written without being asked for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli_types import Run
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from workrail_lint.documents.json_format import ordered, restyled
from workrail_lint.documents.schema.walk import SchemaWalk
from workrail_lint.systems.schemas import schema_walk
from workrail_lint.systems.workrail.rules.samples import controlled_loop, step, workflow

GOOD = workflow(step("first"), controlled_loop())
MOVED = {"steps": GOOD["steps"], **{name: value for name, value in GOOD.items() if name != "steps"}}


def test_members_take_the_order_of_the_model(run: Run, write: Any, tmp_path: Path) -> None:
    write("a.json", MOVED)
    before = (tmp_path / "a.json").read_text()
    assert run("format", "--check", "a.json").code == 0  # unless it is asked for, the author's order stays
    assert run("format", "--check", "--sort", "a.json").code == 1
    shown = run("format", "--diff", "--sort", "a.json")
    assert shown.code == 1
    assert '+  "id": "demo.example",' in shown.out
    assert (tmp_path / "a.json").read_text() == before
    assert run("format", "--sort", "a.json").code == 0
    after = (tmp_path / "a.json").read_text()
    assert list(json.loads(after))[:3] == ["id", "name", "description"]
    assert list(json.loads(after))[-1] == "steps"
    assert json.loads(after) == MOVED
    assert run("format", "--check", "a.json").code == 0


def test_a_new_project_and_the_fixtures_are_in_style(run: Run) -> None:
    fixtures = Path(__file__).parents[2] / "fixtures"
    assert run("init", "new", "--ci", "none").code == 0
    folders = ("workflows", "routines", "scenarios/workflows", "scenarios/engine-defects/workflows")
    files = [str(path) for path in fixtures.glob("broken/*.json") if not path.name.startswith("SY")]  # SY: not JSON
    ran = run("format", "--check", "--isolated", "new", *(str(fixtures / folder) for folder in folders), *files)
    assert (ran.code, ran.out) == (0, "")


def test_a_diff_is_coloured_where_colours_are(run: Run, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.json", MOVED)
    plain = run("format", "--diff", "--sort", "a.json").out
    assert plain.startswith("--- a.json\n+++ a.json\n@@ ")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = run("format", "--diff", "--sort", "a.json").out
    assert "\x1b[32m+" in coloured
    assert "\x1b[31m-" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain


def test_layout_is_mended_without_the_order(run: Run, write: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(MOVED))
    assert run("format", "--check", "a.json").code == 1
    assert run("format", "a.json").code == 0
    after = (tmp_path / "a.json").read_text()
    assert list(json.loads(after)) == list(MOVED)
    assert after.startswith('{\n  "steps": [\n')


def test_what_can_not_be_read_stays(run: Run, write: Any, tmp_path: Path) -> None:
    write("a.json", GOOD)
    for text in ('{"id": "demo.x", "steps": [}', '{"id": "demo.x", "id": "demo.y", "steps": []}'):
        (tmp_path / "a.json").write_text(text)
        ran = run("format", "a.json")
        assert (ran.code, (tmp_path / "a.json").read_text()) == (1, text)
        assert "is not valid JSON" in ran.err


def test_no_workflow_and_no_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert run("format", "empty").code == 3
    assert run("format", "missing.json").code == 2


def test_texts_and_spellings_are_left_alone() -> None:
    text = '{"name": "\\u00e4 \\/ x", "id": "demo.x", "n": 1.50e1, "steps": []}'
    made = restyled(text, schema_walk("workflow"))
    assert made is not None
    for literal in ('"\\u00e4 \\/ x"', "1.50e1"):
        assert literal in made


_VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=10,
)
_SCHEMA = {"$ref": "#/d", "d": {"properties": {name: {"$ref": "#/d"} for name in "dcba"}, "items": {"$ref": "#/d"}}}


@settings(max_examples=times(40, deep=320), deadline=None)
@given(_VALUES, st.integers(0, 2))
def test_only_the_order_changes_and_only_once(value: Any, indent: int) -> None:
    walk = SchemaWalk(_SCHEMA)
    text = json.dumps(value, indent=indent or None)
    made = ordered(text, walk)
    assert json.loads(made) == value
    assert ordered(made, walk) == made
    if isinstance(value, dict):
        assert list(json.loads(made)) == [name for name in "dcba" if name in value]


@pytest.mark.parametrize(
    ("tokens", "name"), [((), "steps"), (("steps", "0"), "prompt"), (("steps", "0", "loop"), "type")]
)
def test_the_schema_knows_the_members_of_a_place(tokens: tuple[str, ...], name: str) -> None:
    from workrail_lint.systems.schemas import schema_walk

    walk = schema_walk("workflow")
    assert name in {member.name for member in walk.members(walk.at(tokens))}


def test_the_schema_is_asked_once_for_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    members = SchemaWalk.members
    monkeypatch.setattr(SchemaWalk, "members", lambda walk, schemas: (asked.append(1), members(walk, schemas))[1])
    counts = []
    for count in (5, 50):
        asked.clear()
        steps = [{"title": "T", "prompt": "Do it.", "id": f"step-{number}"} for number in range(count)]
        document = {"steps": steps, "id": "demo.example", "name": "N", "description": "D", "version": "1.0.0"}
        assert restyled(json.dumps(document), schema_walk("workflow")) is not None
        counts.append(len(asked))
    assert counts[0] == counts[1]
