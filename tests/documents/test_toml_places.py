"""Where the entries of an array of tables stand, however the array is written."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.documents.toml_places import table_places

OURS = ("tool", "ours", "entries")


def heads(text: str, path: tuple[str, ...] = OURS) -> list[str]:
    return [text[start:end] for start, end in table_places(text, path)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[tool.ours.entries]]\na = 1\n\n[[tool.ours.entries]]\na = 2\n", ["[[tool.ours.entries]]"] * 2),
        ("[[ tool . \"ours\" . 'entries' ]] # [[tool.ours.entries]]\na = 1", ["[[ tool . \"ours\" . 'entries' ]]"]),
        ("[tool.ours]\nentries = [\n  {a = 1}, # one\n  {a = '}'},\n]\n", ["{a = 1}", "{a = '}'}"]),
        ("[tool]\nours.entries = [{a = 1, b.c = {d = 2}}]\n", ["{a = 1, b.c = {d = 2}}"]),
        ("tool = {ours = {entries = [{a = 1}], other = [{a = 2}]}}\n", ["{a = 1}"]),
        ('[tool.ours]\ntext = """\n[[tool.ours.entries]]\n"""\nentries = [{a = 1}]\n', ["{a = 1}"]),
        ("x = '''[[tool.ours.entries]]'''\n[[tool.ours.entries]]\n", ["[[tool.ours.entries]]"]),
        ('x = "a\\"[[tool.ours.entries]]"\n', []),
        ('x = """a\\\n  b"""""\n[[tool.ours.entries]]', ["[[tool.ours.entries]]"]),
        ("when = 2026-03-01 07:32:00\nat = 07:32:00\n[[tool.ours.entries]]\n", ["[[tool.ours.entries]]"]),
        ("[[tool.ours.entries]]\r\na = 1\r\n[[tool.ours.entries.inner]]\r\nb = 1\r\n", ["[[tool.ours.entries]]"]),
        ("entries = [{a = 1}]\n[tool.other]\nentries = [{a = 1}]\n", []),
        ("", []),
    ],
)
def test_every_way_to_write_it(text: str, expected: list[str]) -> None:
    tomllib.loads(text)
    assert heads(text) == expected


def test_the_top_level() -> None:
    assert heads("[[entries]]\na = 1\n", ("entries",)) == ["[[entries]]"]


@given(st.lists(st.text(alphabet=st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=12), max_size=5))
def test_there_is_one_place_for_each_entry(values: list[str]) -> None:
    escaped = [value.replace("\\", "\\\\").replace('"', '\\"') for value in values]
    headers = "".join(f'[[tool.ours.entries]]\na = "{value}"\n' for value in escaped)
    inline = ", ".join(f'{{a = "{value}"}}' for value in escaped)
    for text in (headers, f"[tool.ours]\nentries = [{inline}]\n"):
        found = tomllib.loads(text).get("tool", {}).get("ours", {}).get("entries", [])
        assert len(heads(text)) == len(found) == len(values)


@given(st.text(max_size=40))
def test_a_text_that_is_no_toml_has_no_places_and_raises_nothing(text: str) -> None:
    assert isinstance(table_places(text, OURS), list)
