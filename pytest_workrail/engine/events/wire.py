"""How durable records become bytes and bytes become records.

A record is one line of canonical JSON. Reading is total (any bytes give a record or a reason) and exact: a
line that would be written back differently, say with a null where the member must be absent, is no record.
Members this version does not know are kept as they are, except in closed shapes, which refuse them.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

CorruptionCode: TypeAlias = Literal[
    "digest_mismatch",
    "non_contiguous_indices",
    "missing_attested_segment",
    "unknown_schema_version",
    "schema_validation_failed",
]

# A line nested deeper than this could be written by one caller and be out of reach of another, whose own
# call stack is deeper: the standard decoder recurses.
MAX_NESTING = 200


@dataclass(frozen=True, slots=True)
class CorruptionReason:
    """Why stored bytes can't be trusted: a closed code and a sentence for people."""

    code: CorruptionCode
    message: str


class Wire(BaseModel):
    """A record, or a part of one: frozen, strict, camelCase outside, open to members of later versions."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", alias_generator=to_camel, populate_by_name=True)
    # Optional members for which an explicit null is a value of its own.
    keeps_null: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def from_wire(cls, value: Mapping[str, Json]) -> Self:
        """The record in plain JSON that this program made. What comes from elsewhere goes to `read_value`."""
        return cls.model_validate(value)

    def to_wire(self) -> dict[str, Json]:
        """The record as plain JSON; optional members that are not set are absent, never null."""
        out: dict[str, Json] = {}
        values = self.__dict__
        for name, alias, optional in _members(type(self)):
            value = values[name]
            if value is None:
                if not optional or (name in self.keeps_null and name in self.model_fields_set):
                    out[alias] = None
            else:
                out[alias] = _plain(value)
        if self.model_extra:
            out.update(self.model_extra)
        return out


class ClosedWire(Wire):
    """A shape that refuses members it does not know."""

    model_config = ConfigDict(extra="forbid")


@functools.cache
def _members(shape: type[Wire]) -> tuple[tuple[str, str, bool], ...]:
    return tuple((name, field.alias or name, not field.is_required()) for name, field in shape.model_fields.items())


def _plain(value: object) -> Json:
    kind = type(value)
    if kind is str or kind is int:
        return value  # type: ignore[return-value]  # the common case, and mypy does not narrow by it
    if kind is tuple:
        return [_plain(item) for item in value]  # type: ignore[attr-defined]  # as above
    if isinstance(value, Wire):
        return value.to_wire()
    return value  # type: ignore[return-value]  # scalars and JSON members are plain already


Item = TypeVar("Item")
# JSON has one list; the models hold it as a tuple, which strict mode would refuse to build from a list.
Items: TypeAlias = Annotated[tuple[Item, ...], Field(strict=False)]
JsonObject: TypeAlias = dict[str, object]


def _non_empty(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


# Free text is checked here and not by pydantic's own constraints, which refuse lone surrogates.
NonEmpty: TypeAlias = Annotated[str, AfterValidator(_non_empty)]
Index: TypeAlias = Annotated[int, Field(ge=0)]


def max_utf8(limit: int) -> AfterValidator:
    """A budget in UTF-8 bytes."""

    def check(text: str) -> str:
        if js.u8_length(text) > limit:
            raise ValueError(f"must not exceed {limit} bytes")
        return text

    return AfterValidator(check)


def max_u16(limit: int) -> AfterValidator:
    """A budget in UTF-16 code units."""

    def check(text: str) -> str:
        if js.u16_length(text) > limit:
            raise ValueError(f"must not exceed {limit} characters")
        return text

    return AfterValidator(check)


def _finite(lexeme: str) -> int | float:
    value = js.number(lexeme)
    if math.isinf(value):
        raise ValueError(f"{lexeme[:20]} is out of range")
    return value


def _refuse(lexeme: str) -> float:
    raise ValueError(f"{lexeme} is not JSON")


_decoder = json.JSONDecoder(parse_float=_finite, parse_int=_finite, parse_constant=_refuse)


def decode_json(raw: bytes) -> Ok[Json] | Err[str]:
    """The JSON value some bytes spell, or why they spell none. Never raises."""
    try:
        value: Json = _decoder.decode(raw.decode("utf-8"))
    except (ValueError, RecursionError) as problem:
        return Err(str(problem) if isinstance(problem, ValueError) else "nested too deeply")
    return Ok(value)


def record_line(record: Wire) -> bytes:
    """The line a record is stored as."""
    return canonical_bytes(record.to_wire()) + b"\n"


Record = TypeVar("Record", bound=Wire)


def read_record(raw: bytes, shape: TypeAdapter[Record]) -> Ok[Record] | Err[CorruptionReason]:
    """The record in some bytes. Bytes that are not JSON count as a broken sequence: a write was cut short."""
    match decode_json(raw):
        case Err(message):
            return Err(CorruptionReason("non_contiguous_indices", f"not a JSON record: {message}"))
        case Ok(value):
            return read_value(value, shape)


def read_value(value: Json, shape: TypeAdapter[Record]) -> Ok[Record] | Err[CorruptionReason]:
    """The record in a decoded JSON value."""
    if isinstance(value, dict) and "v" in value and not js.strict_equal(value["v"], 1):
        return Err(CorruptionReason("unknown_schema_version", f"version {js.text(value['v'])} is not known here"))
    try:
        record = shape.validate_python(value)
    except ValidationError as problem:
        return Err(CorruptionReason("schema_validation_failed", describe(problem)))
    # Python's equality will do: where true could pass for 1, a strict field has refused it already.
    if record.to_wire() != value:
        return Err(CorruptionReason("schema_validation_failed", "not the form in which this record is written"))
    return Ok(record)


def describe(problem: ValidationError) -> str:
    """The first thing wrong, without addresses or input values."""
    first = problem.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def nesting(value: Json) -> int:
    """How deeply containers are nested. Not recursive."""
    depth, layer = 0, [value]
    while layer := [item for item in layer if isinstance(item, dict | list)]:
        depth += 1
        layer = [inner for item in layer for inner in (item.values() if isinstance(item, dict) else item)]
    return depth
