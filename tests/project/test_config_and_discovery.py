"""Configuration files and the files a run looks at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.base.files import matches, write_atomically
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.pointer import id_pointer, place_matches
from workrail_lint.project.config import find_config, load_config
from workrail_lint.project.discovery import discover


def test_the_nearest_configuration_holds(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.workrail-lint]\nignore = ["LP"]\n')
    found = find_config(str(inner))
    assert isinstance(found, Ok)
    assert found.value.strings("ignore") == ["LP"]
    (tmp_path / "a" / "workrail-lint.toml").write_text('ignore = ["CD"]\ncatalog = "c.json"\n')
    found = find_config(str(inner / "file.json"))
    assert isinstance(found, Ok)
    assert found.value.strings("ignore") == ["CD"]
    assert found.value.file("catalog") == str(tmp_path / "a" / "c.json")


@pytest.mark.parametrize("table", ["tool.workrail-lint", 'tool."workrail-lint"', "tool.'workrail-lint'"])
def test_the_table_of_a_project_file_may_be_quoted(tmp_path: Path, table: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[{table}]\nignore = ["LP"]\n')
    found = find_config(str(tmp_path))
    assert isinstance(found, Ok)
    assert found.value.strings("ignore") == ["LP"]


def test_a_project_file_of_others_is_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other\nbroken")
    found = find_config(str(tmp_path))
    assert isinstance(found, Ok)
    assert found.value.values == {}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("ignor = []", "did you mean 'ignore'?"),
        ("ignore = 3", "must be a list"),
        ('strict = "yes"', "must be a bool"),
        ('compat = "maybe"', "must be one of"),
        ("= 1", "not valid TOML"),
        ("catalog = []", "must be a string"),
        ("severity = []", "must be a table"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "workrail-lint.toml"
    path.write_text(text)
    found = load_config(str(path))
    assert isinstance(found, Err)
    assert part in found.error


def test_missing_and_binary_configuration(tmp_path: Path) -> None:
    assert isinstance(load_config(str(tmp_path / "none.toml")), Err)
    path = tmp_path / "workrail-lint.toml"
    path.write_bytes(b"\xff\xfe")
    assert isinstance(load_config(str(path)), Err)


def test_discovery_is_sorted_complete_and_skips_what_is_not_ours(tmp_path: Path) -> None:
    for name in ("b.json", "a.json", "sub/c.json", "node_modules/x.json", ".git/y.json", "skip/z.json", "note.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    found = discover([str(tmp_path)], exclude=["skip"])
    assert [os.path.relpath(file.path, tmp_path) for file in found.files] == ["a.json", "b.json", "sub/c.json"]
    assert not any(file.named for file in found.files)
    assert discover([str(tmp_path / "note.txt")]).files[0].named
    assert discover([str(tmp_path / "none")]).problems
    assert discover(["a\0b"]).problems
    only = discover([str(tmp_path)], include=["sub/*"])
    assert [os.path.basename(file.path) for file in only.files] == ["c.json"]
    twice = discover([str(tmp_path / "a.json"), str(tmp_path)])
    assert len([file for file in twice.files if file.path.endswith("a.json")]) == 1


@pytest.mark.parametrize(
    "text", ["tool = 3 # tool.workrail-lint", "[[tool]]\n[[tool.workrail-lint]]", "tool.workrail-lint = 3"]
)
def test_a_pyproject_whose_table_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert load_config(str(tmp_path / "pyproject.toml")) == Err(
        f"{tmp_path / 'pyproject.toml'}: [tool.workrail-lint] must be a table"
    )


def test_patterns(tmp_path: Path) -> None:
    path = str(tmp_path / "workflows" / "old" / "a.json")
    for pattern in ("a.json", "old", "workflows/old/*", "workflows/**", "*.json", "workflows/old/a.json", "old/"):
        assert matches(path, str(tmp_path), [pattern]), pattern
    for pattern in ("b.json", "new", "workflows/*.txt", "ol"):
        assert not matches(path, str(tmp_path), [pattern]), pattern


def test_places_by_id() -> None:
    document = {
        "steps": [{"id": "one"}, {"id": "plan", "promptFragments": [{"id": "x", "text": "t"}]}, {"title": "none"}]
    }
    assert id_pointer(document, "/steps/1/promptFragments/0/text") == "/steps/plan/promptFragments/x/text"
    assert id_pointer(document, "/steps/2/title") == "/steps/2/title"
    assert id_pointer(document, "/steps/9/title") == "/steps/9/title"
    assert place_matches("a.json#/steps/*/prompt", "deep/a.json", "/steps/plan/prompt")
    assert place_matches("w/*.json", "w/a.json", "/anything")
    assert not place_matches("w/b.json#/steps", "w/a.json", "/steps")
    # With and without a star, a place is itself and what is below it.
    for wanted in ("/steps/plan", "/steps/plan/", "/steps/pla*", "/*/plan"):
        for pointer in ("/steps/plan", "/steps/plan/prompt", "/steps/plan/a/b"):
            assert place_matches(f"w/a.json#{wanted}", "w/a.json", pointer), (wanted, pointer)
        for pointer in ("", "/steps", "/steps/other", "/steps/other/plan"):
            assert not place_matches(f"w/a.json#{wanted}", "w/a.json", pointer), (wanted, pointer)
    assert not place_matches("w/a.json#/steps/plan", "w/a.json", "/steps/planning")


@given(
    st.recursive(st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)), st.text()
)
def test_id_pointers_are_total(document: object, pointer: str) -> None:
    assert isinstance(id_pointer(document, pointer), str)


def test_atomic_writes_keep_permissions_and_follow_no_link(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    with pytest.raises(OSError, match="not a symlink"):
        write_atomically(str(link), b"new", str(tmp_path))
    assert link.is_symlink()
    assert path.read_text() == "old"
    write_atomically(str(path), b"new", str(tmp_path))
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(OSError, match="No such file"):
        write_atomically(str(tmp_path / "none" / "x"), b"", str(tmp_path))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.txt", "link.txt"]
    write_atomically(os.devnull, b"gone", os.path.dirname(os.devnull))
