"""Fix operations as text edits."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.json_edit import Editor, apply_edit, apply_fix, apply_fixes, difference, fix_edits
from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.operations import Cut, Edit, Insert, Operation, Remove, Rename, Replace, ReplaceText
from workrail_lint.documents.source_text import in_order
from workrail_lint.findings import unsafe

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
    edits = fix_edits(read_json(text, parity=True), unsafe("test", *operations))
    assert edits
    return apply_fix(text, edits)


def test_rename_touches_only_the_name() -> None:
    assert edited(Rename("/id", "ident")) == TEXT.replace('"id"', '"ident"')


def test_a_name_is_given_once() -> None:
    assert fix_edits(read_json(TEXT), unsafe("test", Rename("/nested/x", "y"))) == ()
    assert fix_edits(read_json(TEXT), unsafe("test", Rename("/nested/x", "x"))) == ()


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
    assert fix_edits(read_json(TEXT), unsafe("test", Remove("/nope"))) == ()
    assert fix_edits(read_json(TEXT), unsafe("test", Replace("/id", "b"), Replace("/nope", 1))) == ()
    assert fix_edits(read_json(TEXT), unsafe("test", Remove("/nope/a"), Rename("/nope/b", "c"))) == ()


def test_line_endings_are_kept() -> None:
    text = TEXT.replace("\n", "\r\n")
    changed = edited(Insert("/nested", "z", None, {"a": 1}), text=text)
    assert changed.count("\n") == changed.count("\r\n")


def test_overlapping_edits_wait_for_the_next_round() -> None:
    text, applied = apply_fixes("abcdef", [(Edit(0, 2, "X"),), (Edit(1, 3, "Y"),), (Edit(4, 5, "Z"),)])
    assert (text, applied) == ("XcdZf", [True, False, True])


def test_a_fix_is_applied_whole_or_not_at_all() -> None:
    text, applied = apply_fixes("abcdef", [(Edit(2, 3, "X"),), (Edit(0, 1, "Y"), Edit(2, 4, "Y")), (Edit(0, 1, "Z"),)])
    assert (text, applied) == ("ZbXdef", [True, False, True])


_edits = st.tuples(st.integers(0, 6), st.integers(0, 6), st.text("xy", max_size=2)).map(
    lambda parts: Edit(min(parts[:2]), max(parts[:2]), parts[2])
)


@given(st.lists(_edits, max_size=8))
def test_no_two_edits_that_are_applied_overlap(edits: list[Edit]) -> None:
    text, applied = apply_fixes("abcdef", [(edit,) for edit in edits])
    chosen: list[Edit] = []
    for edit, is_applied in zip(edits, applied, strict=True):
        clashes = [
            other
            for other in chosen
            if not (edit.end <= other.start or edit.start >= other.end)
            or (edit.start == edit.end == other.start == other.end)
        ]
        assert is_applied == (not clashes)
        chosen += [edit] if is_applied else []
    expected = "abcdef"
    for edit in sorted(chosen, key=in_order, reverse=True):
        expected = apply_edit(expected, edit)
    assert text == expected


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
        result = apply_fix(text, fix_edits(read_json(text), unsafe("test", operation)))
        assert json.loads(result) == expected


def test_no_change_is_no_edit() -> None:
    assert fix_edits(read_json(TEXT), unsafe("test", Replace("/id", "a"))) == ()


@pytest.mark.parametrize("text", ["{}", "[]", "1"])
def test_removing_the_root_is_refused(text: str) -> None:
    assert fix_edits(read_json(text), unsafe("test", Remove(""))) == ()


# ------------------------------------------------------------------------------------- several operations in one fix


def places(value: object, place: str = "") -> list[str]:
    """The pointers of everything below a value."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [
        p for key, inner in children for p in (pointers.child(place, key), *places(inner, pointers.child(place, key)))
    ]


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, list[Operation]]:
    """A text, and operations that find their places when each is applied to the result of those before."""
    value = draw(st.dictionaries(st.text("ab/~", min_size=1, max_size=2), _values, min_size=1, max_size=4))
    text = json.dumps(value, indent=draw(st.sampled_from([None, 2, "\t"])), ensure_ascii=False)
    current, operations = text, []
    for _ in range(draw(st.integers(2, 4))):
        now = json.loads(current)
        found = places(now)
        target = draw(st.sampled_from([*found, ""]))
        inner = pointers.resolve(now, target)
        name = draw(st.text("cd", min_size=1, max_size=2))
        possible: list[Operation] = []
        if target:
            possible += [Remove(target), Replace(target, draw(_values))]
            if isinstance(pointers.resolve(now, pointers.parent(target)), dict):
                possible.append(Rename(target, f"{name}-{len(operations)}"))
        if isinstance(inner, dict):
            possible.append(Insert(target, f"{name}+{len(operations)}", None, draw(_values)))
        elif isinstance(inner, list):
            possible.append(Insert(target, None, draw(st.integers(0, 3)), draw(_values)))
        if not possible:
            continue
        operations.append(draw(st.sampled_from(possible)))
        current = apply_fix(current, fix_edits(read_json(current), unsafe("one", operations[-1])))
    assume(len(operations) > 1)
    return text, operations


@given(changes())
def test_operations_build_on_each_other(change: tuple[str, list[Operation]]) -> None:
    text, operations = change
    expected = text
    for operation in operations:
        expected = apply_fix(expected, fix_edits(read_json(expected), unsafe("one", operation)))
    result = apply_fix(text, fix_edits(read_json(text), unsafe("all", *operations)))
    assert json.loads(result) == json.loads(expected)
    assert list(json.loads(result)) == list(json.loads(expected))


def test_the_layout_around_is_kept_when_operations_build_on_each_other() -> None:
    result = edited(Rename("/nested/y", "z"), Insert("/nested/z", "k", None, [1]), Remove("/nested/x"))
    assert result == TEXT.replace(
        '"x": "say {{ name }}",\n    "y": {}', '"z": {\n      "k": [\n        1\n      ]\n    }'
    )
    one_line = '{"a": {"b": 1}, "c": 2}'
    assert edited(Rename("/a/b", "d"), Insert("/a", "e", None, {}), text=one_line) == '{"a": {"d": 1, "e": {}}, "c": 2}'


def test_operations_that_are_apart_are_edits_of_their_own() -> None:
    fix = unsafe("both", Replace("/id", "b"), Remove("/nested/y"))
    assert [TEXT[edit.start : edit.end] for edit in fix_edits(read_json(TEXT), fix)] == ['"a"', ',\n    "y": {}']


def test_raw_characters_and_places_in_one_fix() -> None:
    text = '{"a": 1, /* why */ "b": 2}'
    assert edited(Replace("/b", 3), Cut(8, 18), text=text) == '{"a": 1, "b": 3}'


def test_many_fixes_of_one_text_take_no_longer_than_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """No fix of its own reads the text again, or goes through all of a large container."""
    count = 500
    text = json.dumps({"list": [{"id": index, "old": 1} for index in range(count)]}, indent=2)
    editor = Editor(read_json(text))
    read: list[int] = []

    def reading(part: str, **options: object) -> JsonDocument:
        read.append(len(part))
        return read_json(part, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("workrail_lint.documents.json_edit.read_json", reading)
    fixes = [
        editor.edits(unsafe("x", Rename(f"/list/{index}/old", "new"), Replace(f"/list/{index}/new", 2)))
        for index in range(count)
    ]
    assert max(read) < 100
    changed, applied = apply_fixes(text, fixes)
    assert all(applied)
    assert json.loads(changed) == {"list": [{"id": index, "new": 2} for index in range(count)]}
    fixes = [editor.edits(unsafe("x", Remove(f"/list/{index}"))) for index in range(count - 1)]
    changed, applied = apply_fixes(text, fixes)
    assert all(applied)
    assert json.loads(changed) == {"list": [{"id": count - 1, "old": 1}]}
