"""The ids of a record are matched together: the verdict is the one that a pattern for each of them would give."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from functools import cache, reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any, NewType, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import NODEFAULT, Meta, Struct

from pytest_workrail.engine.model.base import CorruptionReason, Shape, Value
from pytest_workrail.engine.model.events import EVENTS
from pytest_workrail.engine.model.ids import _FORMS
from pytest_workrail.engine.model.manifest import RECORDS, segment_path
from pytest_workrail.engine.model.reasons import _safe
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.result import Err, Ok

sys.path.append(str(Path(__file__).parents[1] / "events"))
from event_samples import ARTIFACT, DATA, DIGEST, EVENT, SESSION, sample  # type: ignore[import-not-found]

MODEL = "pytest_workrail.engine.model."


@cache
def with_patterns(kind: type[Struct]) -> type[Struct]:
    """Return a subclass whose ids have patterns."""
    fields: list[Any] = []
    for field in msgspec.structs.fields(kind):
        strict = (field.name, patterned(field.type))
        fields.append(strict if field.default is NODEFAULT else (*strict, field.default))
    config = kind.__struct_config__
    return msgspec.defstruct(
        kind.__name__,
        fields,
        bases=(kind,),
        frozen=True,
        kw_only=True,
        omit_defaults=config.omit_defaults,
        tag=config.tag,
        tag_field=config.tag_field,
    )


def form_of(kind: Any) -> str | None:
    metas = getattr(kind, "__metadata__", ())
    return next((meta.extra["form"] for meta in metas if isinstance(meta, Meta) and meta.extra), None)


def patterned(kind: Any) -> Any:
    if isinstance(kind, NewType):
        return patterned(kind.__supertype__)
    form = form_of(kind)
    if form is not None:
        known = _FORMS[form]
        return Annotated[
            str, Meta(pattern=rf"^{known.pattern}\Z", min_length=known.min_length, max_length=known.max_length)
        ]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return reduce(or_, dict.fromkeys(map(patterned, arguments)))
    if origin is tuple:
        return tuple[patterned(arguments[0]), ...]  # type: ignore[misc]
    return with_patterns(kind) if isinstance(kind, type) and issubclass(kind, Struct) else kind


def manifest_samples() -> list[dict[str, Any]]:
    head = {"v": 1, "manifestIndex": 0, "sessionId": SESSION}
    span = {"firstEventIndex": 0, "lastEventIndex": 1, "segmentRelPath": segment_path(0, 1)}
    closed = {**head, "kind": "segment_closed", **span, "sha256": DIGEST, "bytes": 1}
    pinned = {"eventIndex": 0, "snapshotRef": DIGEST, "createdByEventId": EVENT}
    return [closed, {**head, "kind": "snapshot_pinned", **pinned}]


SHAPES: list[tuple[Shape[Any], list[dict[str, Any]]]] = [
    (
        EVENTS,
        [
            *map(sample, DATA),
            sample("node_output_appended", data__outputChannel="artifact", data__payload=ARTIFACT),
            sample("node_created", data__parentNodeId=None),
            sample("observation_recorded", data__key="repo_root_hash", data__value={"type": "sha256", "value": DIGEST}),
        ],
    ),
    (RECORDS, manifest_samples()),
]
BY_PATTERN = {shape: Shape[Any](patterned(shape.kind)) for shape, _ in SHAPES}


def is_id(text: str) -> bool:
    return any(re.fullmatch(form.pattern, text) for form in _FORMS.values() if form.min_length > 1)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each string that is an id, or a dedupe key."""
    if isinstance(value, str) and (is_id(value) or path == ("dedupeKey",)):
        yield path
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


def changed(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def at(value: Any, path: tuple[str | int, ...]) -> str:
    return str(reduce(lambda each, key: each[key], path, value))


def damages(text: str) -> Iterator[str]:
    for place in {0, len(text) // 2, len(text) - 1}:
        for character in ("0", "1", "8", "G", "g", "_", ":", "\n", "é", " ", "a"):
            yield text[:place] + character + text[place + 1 :]
    yield from (
        text + "\n",
        text[:-1],
        text + "a",
        text.upper(),
        "None",
        "",
        "\n" * len(text),
        f"{text}\nKa",
        f"a\nK{text}",
    )
    for prefix in ("sess_", "run_", "node_", "attempt_", "evt_", "wf_", "sha256:"):
        yield prefix + text.partition("_")[2]
        yield (prefix + "a" * 80)[: len(text)]


def differing(shape: Shape[Any], value: Any) -> bool:
    line = canonical_bytes(value)
    expected = BY_PATTERN[shape].read_value(value).is_ok
    is_read_at_once = shape.read_lines(line + b"\n") is not None  # never so with free JSON of odd numbers
    verdicts = (shape.read_line(line).is_ok, shape.read_value(value).is_ok)
    return verdicts != (expected, expected) or (is_read_at_once and not expected)


def test_every_damaged_id_has_the_verdict_of_a_pattern() -> None:
    wrong = [
        (value["kind"], path, new)
        for shape, values in SHAPES
        for value in values
        for path in places(value)
        for new in (at(value, path), *damages(at(value, path)))
        if differing(shape, changed(value, path, new))
    ]
    assert wrong == []


@given(st.data())
def test_any_text_has_the_verdict_of_a_pattern(data: st.DataObject) -> None:
    shape, values = data.draw(st.sampled_from(SHAPES))
    value = data.draw(st.sampled_from(values))
    path = data.draw(st.sampled_from(list(places(value))))
    text = at(value, path)
    place = data.draw(st.integers(0, len(text)))
    new = text[:place] + data.draw(st.text(max_size=3)) + text[place + data.draw(st.integers(0, 3)) :]
    assert not differing(shape, changed(value, path, new))


def test_an_id_is_a_member_and_only_one_of_known_length_may_be_absent() -> None:
    """What is joined is the members of a record, and None where one is absent."""

    def ids_in(kind: Any) -> Iterator[str]:
        inner = getattr(kind, "__supertype__", None)
        form = form_of(kind)
        if form is not None:
            yield form
        for each in (*get_args(kind), *(() if inner is None else (inner,))):
            yield from ids_in(each)

    wrong = []
    kinds = [kind for kind in subclasses(Value) if kind.__module__.startswith(MODEL)]
    for kind in kinds:
        for field in msgspec.structs.fields(kind):
            forms = set(ids_in(field.type))
            if not forms:
                continue
            is_union = get_origin(field.type) in (Union, types.UnionType)
            is_fixed = all(_FORMS[form].min_length == _FORMS[form].max_length for form in forms)
            if get_origin(field.type) in (tuple, dict, list) or len(forms) > 1 or (is_union and not is_fixed):
                wrong.append(f"{kind.__name__}.{field.name}")
    assert kinds
    assert wrong == []


def subclasses(kind: type) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


@pytest.mark.parametrize(
    ("name", "safe"), [("plain_1-x", "plain_1-x"), ("Big Idea!", "big-idea-"), ("größe", "gr-e"), ("é", "-"), ("", "-")]
)
def test_a_dimension_can_be_called_anything(name: str, safe: str) -> None:
    assert _safe(name) == safe


@pytest.mark.parametrize("path", ["eventId", "sessionId", "scope.runId", "scope.nodeId", "data.snapshotRef"])
def test_the_place_of_a_malformed_id_is_named(path: str) -> None:
    value = sample("node_created")
    assert isinstance(EVENTS.read_value(value), Ok)
    *parts, last = path.split(".")
    part = value
    for name in parts:
        part = part[name]
    part[last] = part[last][:-1] + "!"
    assert EVENTS.read_value(value) == Err(
        CorruptionReason("schema_validation_failed", f"{path}: not an id of this kind")
    )
