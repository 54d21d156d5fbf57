"""Reading records of other engines: what is not known here is kept and listed instead of refused.

A word outside a closed set is a string, an id may have another form, and closed shapes take unknown members. The types
for this are derived from the strict ones, as subclasses, when the first line comes that these refuse.
"""

from __future__ import annotations

import types
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct

from pytest_workrail.engine.model.base import CorruptionReason, Shape, Value, decode_json
from pytest_workrail.engine.model.events import EVENT_TYPES, EVENTS, Event
from pytest_workrail.engine.model.manifest import RECORDS, ManifestRecord
from pytest_workrail.engine.model.snapshot import SNAPSHOTS, ExecutionSnapshot
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

R = TypeVar("R", bound=Value)
_KINDS = {str(kind.__struct_config__.tag): kind for kind in EVENT_TYPES}


class UnknownEvent(Struct, frozen=True):
    """An event of a kind or version that is not known here. It has no influence on a run."""

    value: dict[str, Any]

    @property
    def kind(self) -> str:
        """The kind, with the version where that is what is unknown."""
        kind, version = self.value.get("kind"), self.value.get("v")
        return str(kind) if js.strict_equal(version, 1) else f"{kind} (version {version})"

    @property
    def event_index(self) -> Any:
        return self.value.get("eventIndex")

    @property
    def session_id(self) -> Any:
        return self.value.get("sessionId")

    @property
    def event_id(self) -> str:
        return str(self.value.get("eventId"))

    @property
    def dedupe_key(self) -> str:
        return f"unknown:{self.event_index}"

    @property
    def timestamp_ms(self) -> int:
        at = self.value.get("timestampMs")
        return at if type(at) is int else 0

    @property
    def run_id(self) -> str | None:
        """The run it seems to belong to."""
        scope = self.value.get("scope")
        run_id = scope.get("runId") if isinstance(scope, dict) else None
        return run_id if isinstance(run_id, str) else None

    @property
    def scope(self) -> None:
        """Nothing that a projection could rely on."""
        return None

    def to_wire(self) -> dict[str, Any]:
        return self.value


AnyEvent = Event | UnknownEvent


def read_any_event(raw: bytes) -> Ok[AnyEvent] | Err[CorruptionReason]:
    """Return the event in one line, whoever wrote it."""
    known = EVENTS.read_line(raw, any_ids=True)
    if isinstance(known, Ok):
        return known
    decoded = decode_json(raw)
    return known if isinstance(decoded, Err) else any_event_from(decoded.value)


def any_event_from(value: Json) -> Ok[AnyEvent] | Err[CorruptionReason]:
    """Return the event in a decoded JSON value, whoever wrote it."""
    if isinstance(value, dict):
        kind = value.get("kind")
        if not js.strict_equal(value.get("v"), 1) or not isinstance(kind, str) or kind not in _KINDS:
            return Ok(UnknownEvent(value))
        known = EVENTS.read_value(value)
        return known if isinstance(known, Ok) else _wide_shape(_KINDS[kind]).read_value(value)
    return EVENTS.read_value(value)


class _Lenient(Generic[R]):
    """A shape that is tried with the strict types first."""

    def __init__(self, strict: Shape[R]) -> None:
        self._strict = strict

    def read_line(self, raw: bytes) -> Ok[R] | Err[CorruptionReason]:
        known = self._strict.read_line(raw, any_ids=True)
        return known if isinstance(known, Ok) else _wide_shape(self._strict.kind).read_line(raw)

    def read_value(self, value: Json) -> Ok[R] | Err[CorruptionReason]:
        known = self._strict.read_value(value)
        return known if isinstance(known, Ok) else _wide_shape(self._strict.kind).read_value(value)


ANY_RECORDS: _Lenient[ManifestRecord] = _Lenient(RECORDS)
ANY_SNAPSHOTS: _Lenient[ExecutionSnapshot] = _Lenient(SNAPSHOTS)


@cache
def _wide_shape(kind: Any) -> Shape[Any]:
    return Shape(_wide(kind))


@cache
def widened(kind: type[Struct]) -> type[Struct]:
    """Return a subclass without patterns, closed sets and closed shapes."""
    fields: list[Any] = []
    for field in msgspec.structs.fields(kind):
        wide = (field.name, _wide(field.type))
        fields.append(wide if field.default is NODEFAULT else (*wide, field.default))
    config = kind.__struct_config__
    return msgspec.defstruct(
        kind.__name__,
        fields,
        bases=(kind,),
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=False,
        tag=config.tag,
        tag_field=config.tag_field,
    )


def _wide(kind: Any) -> Any:
    if isinstance(kind, NewType):
        return _wide(kind.__supertype__)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _wide(arguments[0])
    if origin is Literal:
        return str if all(isinstance(word, str) for word in arguments) else kind
    if origin in (Union, types.UnionType):
        return reduce(or_, dict.fromkeys(map(_wide, arguments)))
    if origin is tuple:
        return tuple[_wide(arguments[0]), ...]  # type: ignore[misc]
    if origin is dict:
        return dict[_wide(arguments[0]), _wide(arguments[1])]  # type: ignore[misc]
    return widened(kind) if isinstance(kind, type) and issubclass(kind, Struct) else kind
