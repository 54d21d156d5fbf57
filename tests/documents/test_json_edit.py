"""Fix operations as text edits."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.json_edit import apply_edit, apply_edits, difference, fix_edit
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings.fix import (
    Cut,
    Edit,
    Insert,
    Operation,
    Remove,
    Rename,
    Replace,
    ReplaceText,
    unsafe,
)

TEXT = """{
  "id": "a",
  "list": [1, 2, 3],
  "nested": {
    "x": "say {{ name }}",
    "y": {}
  }
}
"""


def edited(*operations: Operation, text: str = TEXT) -> str:
    edit = fix_edit(read_json(text, parity=True), unsafe("test", *operations))
    assert edit is not None
    return apply_edit(text, edit)


def test_rename_touches_only_the_name() -> None:
    assert edited(Rename("/id", "ident")) == TEXT.replace('"id"', '"ident"')


def test_remove_first_middle_last_and_only() -> None:
    assert edited(Remove("/id")) == TEXT.replace('"id": "a",\n  ', "")
    assert edited(Remove("/list/1")) == TEXT.replace("[1, 2, 3]", "[1, 3]")
    assert edited(Remove("/list/2")) == TEXT.replace("[1, 2, 3]", "[1, 2]")
    assert edited(Remove("/nested/y")) == TEXT.replace(',\n    "y": {}', "")
    assert edited(Remove("/a"), text='{ "a": 1 }') == "{}"


def test_several_removals_in_one_container() -> None:
    assert json.loads(edited(Remove("/list/2"), Remove("/list/1"))) == {**json.loads(TEXT), "list": [1]}


def test_insert_follows_the_style_around_it() -> None:
    assert edited(Insert("/nested", "z", None, 1)) == TEXT.replace('"y": {}', '"y": {},\n    "z": 1')
    assert edited(Insert("/list", None, 0, 0)) == TEXT.replace("[1, 2, 3]", "[0, 1, 2, 3]")
    assert edited(Insert("/nested/y", "k", None, [1])) == TEXT.replace(
        '"y": {}', '"y": {\n      "k": [\n        1\n      ]\n    }'
    )
    assert edited(Insert("", "b", None, 2), text='{"a":1}') == '{"a":1, "b": 2}'


def test_replace_and_replace_text() -> None:
    assert edited(Replace("/list", [9])) == TEXT.replace("[1, 2, 3]", "[9]")
    assert edited(ReplaceText("/nested/x", "{{ name }}", "{{name}}")) == TEXT.replace("{{ name }}", "{{name}}")
    escaped = '{"a": "tab\\t \\"x\\" é"}'
    assert json.loads(edited(ReplaceText("/a", '"x"', "y"), text=escaped)) == {"a": "tab\t y é"}


def test_cuts_speak_of_original_offsets() -> None:
    assert edited(Cut(0, 1), Cut(5, 6), text=" [1,2,]") == "[1,2]"


def test_a_place_that_is_gone_gives_no_edit() -> None:
    assert fix_edit(read_json(TEXT), unsafe("test", Remove("/nope"))) is None


def test_line_endings_are_kept() -> None:
    text = TEXT.replace("\n", "\r\n")
    changed = edited(Insert("/nested", "z", None, {"a": 1}), text=text)
    assert changed.count("\n") == changed.count("\r\n")


def test_overlapping_edits_wait_for_the_next_round() -> None:
    text, applied = apply_edits("abcdef", [Edit(0, 2, "X"), Edit(1, 3, "Y"), Edit(4, 5, "Z")])
    assert (text, applied) == ("XcdZf", [True, False, True])


@given(st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_difference_leads_from_one_text_to_the_other(old: str, new: str) -> None:
    edit = difference(old, new)
    assert (apply_edit(old, edit) if edit else old) == new


_values = st.recursive(
    st.integers(0, 9) | st.text('ab\n"é', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.dictionaries(st.text("ab/~", max_size=2), _values, min_size=1, max_size=4),
    st.sampled_from([None, 2, "\t"]),
    st.data(),
)
def test_removing_and_replacing_does_just_that(
    value: dict[str, object], indent: int | str | None, data: st.DataObject
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    found: list[str] = []
    stack: list[tuple[object, str]] = [(value, "")]
    while stack:
        item, place = stack.pop()
        children = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        for key, child in children:
            found.append(pointers.child(place, key))
            stack.append((child, found[-1]))
    target = data.draw(st.sampled_from(found))
    new = data.draw(_values)
    for operation in (Remove(target), Replace(target, new), Insert("", "new", None, new)):  # type: ignore[arg-type]
        expected = json.loads(text)
        if isinstance(operation, Insert):
            expected["new"] = new
        else:
            container = pointers.resolve(expected, pointers.parent(target))
            token = pointers.decode(target)[-1]
            key = int(token) if isinstance(container, list) else token
            if isinstance(operation, Remove):
                del container[key]  # type: ignore[attr-defined]
            else:
                container[key] = new  # type: ignore[index]
        edit = fix_edit(read_json(text), unsafe("test", operation))
        result = apply_edit(text, edit) if edit else text
        assert json.loads(result) == expected


def test_no_change_is_no_edit() -> None:
    assert fix_edit(read_json(TEXT), unsafe("test", Replace("/id", "a"))) is None


@pytest.mark.parametrize("text", ["{}", "[]", "1"])
def test_removing_the_root_is_refused(text: str) -> None:
    assert fix_edit(read_json(text), unsafe("test", Remove(""))) is None
