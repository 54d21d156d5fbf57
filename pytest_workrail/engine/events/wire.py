"""How durable records become bytes and bytes become records.

A record is one line of canonical JSON. Reading is total (any bytes give a record or a reason) and exact: a
line that would be written back differently, say with a null where the member must be absent, is no record.
Members this version does not know are kept as they are, except in closed shapes, which refuse them.
"""

from __future__ import annotations

import functools
import json
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar, get_args, get_origin

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


_set_member = object.__setattr__  # a record is frozen once it is made


class Wire(BaseModel):
    """A record, or a part of one: frozen, strict, camelCase outside, open to members of later versions."""

    # Built when one is first checked: a run that needs few kinds of records does not pay for all of them.
    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="allow",
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,
    )
    # Optional members for which an explicit null is a value of its own.
    keeps_null: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def from_wire(cls, value: Mapping[str, Json]) -> Self:
        """The record in plain JSON that this program made. What comes from elsewhere goes to `read_value`."""
        return cls.model_validate(value)

    @classmethod
    def built(cls, **values: object) -> Self:
        """The record with these values, which this program made of checked ones: nothing is checked again."""
        made = cls.__new__(cls)
        _set_member(made, "__dict__", {**_shape(cls).defaults, **values})
        _set_member(made, "__pydantic_fields_set__", set(values))
        _set_member(made, "__pydantic_extra__", {} if cls.model_config["extra"] == "allow" else None)
        _set_member(made, "__pydantic_private__", None)
        return made

    def to_wire(self) -> dict[str, Json]:
        """The record as plain JSON; optional members that are not set are absent, never null."""
        shape = _shape(type(self))
        out = shape.plain_members(self.__dict__)
        for name, alias, optional in shape.others:
            value = out[alias]
            if value is not None:
                out[alias] = _plain(value)
            elif optional and not (name in self.keeps_null and name in self.model_fields_set):
                del out[alias]
        if self.model_extra:
            out.update(self.model_extra)
        return out


class ClosedWire(Wire):
    """A shape that refuses members it does not know."""

    model_config = ConfigDict(extra="forbid")


class _Shape:
    """The members of a record: their names outside, and those that may need more than being copied."""

    __slots__ = ("_aliases", "_values", "defaults", "others")

    def __init__(self, record: type[Wire]) -> None:
        fields = record.model_fields
        names = [*fields, *fields][: max(2, len(fields))]  # of a single name, `itemgetter` makes no tuple
        self._values = operator.itemgetter(*names) if fields else lambda values: ()
        self.defaults = {name: field.default for name, field in fields.items() if not field.is_required()}
        self._aliases = [field.alias or name for name, field in fields.items()]
        self.others = tuple(
            (name, field.alias or name, not field.is_required())
            for name, field in fields.items()
            if not _is_scalar(field.annotation)
        )

    def plain_members(self, values: dict[str, Any]) -> dict[str, Json]:
        return dict(zip(self._aliases, self._values(values), strict=False))


def _is_scalar(annotation: Any) -> bool:
    """True for a type whose values are plain JSON and never null."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    annotation = getattr(annotation, "__supertype__", annotation)  # what a NewType is made of
    return annotation in (str, int, bool) or (get_origin(annotation) is Literal and None not in get_args(annotation))


_shape = functools.cache(_Shape)


def _plain(value: object) -> Json:
    kind = type(value)
    if kind is str or kind is int:
        return value  # type: ignore[return-value]  # the common case, and mypy does not narrow by it
    if kind is tuple:
        # A list holds one type of item, and text is plain already.
        if value and type(value[0]) is str:  # type: ignore[index]  # as above
            return list(value)  # type: ignore[call-overload,no-any-return]  # as above
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


def adapter(shape: Any) -> TypeAdapter[Any]:
    """Reads records of a shape; built when it is first used."""
    return TypeAdapter(shape, config=None if isinstance(shape, type) else ConfigDict(defer_build=True))


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
