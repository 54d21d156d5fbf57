"""The base of the model: values with typed members, one line of canonical JSON for each record.

Reading is total (any bytes give a record or a reason) and exact: a line that would be written back differently, say
with a null where the member must be absent, is refused. Members that this version does not know are kept as they are,
except in closed shapes, which refuse them.

Defining a value: a member that may be absent is `T | None = None`, and no member has another default, because a value
equal to its default is not written. A member for which null and absent differ is `Any | UnsetType = UNSET`. Free JSON
is `Any` or `dict[str, Any]`, and a class that holds some overrides `is_plain`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Annotated, Any, Generic, Literal, NoReturn, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError
from msgspec.structs import replace as _replace

from pytest_workrail.engine.model.ids import are_well_formed, malformed_id
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

__all__ = ["UNSET", "UnsetType"]

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

NonEmpty: TypeAlias = Annotated[str, Meta(min_length=1)]
# Numbers are JavaScript's: beyond this limit an integer has no exact value.
Index: TypeAlias = Annotated[int, Meta(ge=0, le=js.MAX_SAFE_INTEGER)]
JsonObject: TypeAlias = dict[str, Any]
_ATOMS = frozenset({str, int, bool, float, type(None)})


class CorruptionReason(Struct, frozen=True):
    """Why stored bytes can't be trusted: a closed code and a sentence for people."""

    code: CorruptionCode
    message: str


class ShapeError(ValueError):
    """A value that does not have the shape asked for."""


class Value(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A record or a part of one: camelCase outside, open to members of later versions."""

    @property
    def kind(self) -> str:
        """The tag that tells this class from the others of its union."""
        return cast("str", self.__struct_config__.tag)

    @property
    def is_plain(self) -> bool:
        """Whether there is no free JSON inside, so that every encoder writes the same bytes."""
        return True

    def to_wire(self) -> dict[str, Json]:
        """Return the value as plain JSON, in the order of its members. Absent members are left out."""
        members = _members(type(self))
        out: dict[str, Json] = {} if members.tag is None else dict([members.tag])
        for name, outside, default in members.names:
            value = getattr(self, name)
            if value is not UNSET and (value is not None or default is not None):
                out[outside] = value if type(value) in _ATOMS else _plain(value)
        return out

    @classmethod
    def from_wire(cls: type[V], value: object) -> V:
        """Return the value in plain JSON. Raise ShapeError when it has another shape."""
        return _convert(value, cls)

    def replaced(self: V, **changes: Any) -> V:
        """Return the same value with other members, which are not checked. Unknown members are dropped."""
        return _replace(self, **changes)


class Closed(Value, frozen=True, forbid_unknown_fields=True):
    """A shape that refuses members it does not know."""


class StoredRecord(Value, frozen=True, dict=True):
    """One line of a file, or a whole file. Keeps the members of later versions."""

    def to_wire(self) -> dict[str, Json]:
        kept = self.__dict__.get("_wire")
        return super().to_wire() if kept is None else cast("dict[str, Json]", kept)

    @property
    def unknown_members(self) -> tuple[str, ...]:
        """The paths of the members that this version does not know."""
        return cast("tuple[str, ...]", self.__dict__.get("_unknown", ()))


V = TypeVar("V", bound=Value)
R = TypeVar("R", bound=Value)


class _Members(Struct, frozen=True):
    names: tuple[tuple[str, str, object], ...]  # in this program, outside, what stands for an absent one
    tag: tuple[str, str] | None
    inside: frozenset[str]  # names of this program that differ from those outside


@cache
def _members(kind: type[Struct]) -> _Members:
    fields = msgspec.structs.fields(kind)
    config = kind.__struct_config__
    return _Members(
        tuple((field.name, field.encode_name, field.default) for field in fields),
        None if config.tag_field is None else (config.tag_field, cast("str", config.tag)),
        frozenset(field.name for field in fields if field.name != field.encode_name),
    )


def _plain(value: Any) -> Json:
    if isinstance(value, Value):
        return value.to_wire()
    if type(value) is tuple:
        return [_plain(item) for item in value]
    if hasattr(value, "to_json"):
        return list(value.to_json())
    return cast("Json", value)  # free JSON


def _to_json(value: Any) -> Any:
    """Encode a type of ours that is not made of members."""
    return value.to_json()


def _from_json(kind: type, value: Any) -> Any:
    return kind.from_json(value)  # type: ignore[attr-defined]  # only such types reach the hook


_encoder = msgspec.json.Encoder(order="sorted", enc_hook=_to_json)
_encode = _encoder.encode


def canonical(record: Value) -> bytes:
    """Return the canonical JSON of a record. Raise CanonicalError when free JSON inside has none."""
    if record.is_plain and not (isinstance(record, StoredRecord) and record.unknown_members):
        try:
            return _encode(record)
        except UnicodeEncodeError:
            pass  # half of a surrogate pair
    return canonical_bytes(record.to_wire())


def record_line(record: Value) -> bytes:
    """Return the line a record is stored as."""
    return canonical(record) + b"\n"


def check_bytes(text: str, limit: int) -> None:
    """Raise ValueError for a text beyond its budget in UTF-8 bytes."""
    if len(text) * 4 > limit and js.u8_length(text) > limit:
        raise ValueError(f"must not exceed {limit} bytes")


def check_length(text: str, limit: int) -> None:
    """Raise ValueError for a text beyond its budget in UTF-16 code units."""
    if js.u16_length(text) > limit:
        raise ValueError(f"must not exceed {limit} characters")


# ------------------------------------------------------------------------------------------------------------ reading


def _finite(lexeme: str) -> int | float:
    value = js.number(lexeme)
    if math.isinf(value):
        raise ValueError(f"{lexeme[:20]} is out of range")
    return value


def _refuse(lexeme: str) -> NoReturn:
    raise ValueError(f"{lexeme} is not JSON")


_decoder = json.JSONDecoder(parse_float=_finite, parse_int=_finite, parse_constant=_refuse)


def decode_json(raw: bytes) -> Ok[Json] | Err[str]:
    """Return the JSON value some bytes spell, or why they spell none. Never raise."""
    try:
        value: Json = _decoder.decode(raw.decode("utf-8"))
    except (ValueError, RecursionError) as problem:
        return Err(str(problem) if isinstance(problem, ValueError) else "nested too deeply")
    return Ok(value)


def nesting(value: Json) -> int:
    """Return how deeply containers are nested. Not recursive."""
    depth, layer = 0, [value]
    while layer := [item for item in layer if isinstance(item, dict | list)]:
        depth += 1
        layer = [inner for item in layer for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


def _convert(value: object, kind: type[V]) -> V:
    try:
        record = msgspec.convert(value, kind, dec_hook=_from_json)
    except ValidationError as problem:
        raise ShapeError(_described(str(problem))) from None
    except UnicodeEncodeError:  # half of a surrogate pair, where a word of a closed set or an id is expected
        raise ShapeError("a string is not valid Unicode") from None
    malformed = malformed_id(record)
    if malformed is not None:
        raise ShapeError(f"{malformed}: not an id of this kind")
    return record


def _described(problem: str) -> str:
    """Return msgspec's words with the place first, and without the value: it may be anything, and secret."""
    what, _, place = problem.partition(" - at `")
    what = re.sub(r"(?s)^Invalid (enum )?value .*", "not a known value", what).replace("`", "")
    where = place.rstrip("`").removeprefix("$").lstrip(".")
    return f"{where}: {what}" if where else what


# An integer that JavaScript may round. Nearly no line has so many digits in a row, and looking for those is fast.
_LONG_INTEGER = re.compile(rb"[:,\[]-?[0-9]{16}").search
_DIGITS_ALIKE = bytes.maketrans(b"0123456789", b"0000000000")
_SIXTEEN_DIGITS = b"0" * 16


def _has_long_integer(raw: bytes) -> bool:
    return _SIXTEEN_DIGITS in raw.translate(_DIGITS_ALIKE) and _LONG_INTEGER(raw) is not None


def _refuse_fraction(lexeme: str) -> NoReturn:
    """Refuse a number in free JSON that JavaScript may spell in its own way."""
    raise ValueError(lexeme)


class Shape(Generic[R]):
    """Reads the records of one type, which may be a union."""

    def __init__(self, kind: object) -> None:
        self.kind: Any = kind

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[R]:
        return msgspec.json.Decoder(self.kind, dec_hook=_from_json, float_hook=_refuse_fraction)

    def read_line(self, raw: bytes, *, any_ids: bool = False) -> Ok[R] | Err[CorruptionReason]:
        """Return the record in some bytes. Bytes that are not JSON count as a write that was cut short.

        With `any_ids`, ids may have other forms than ours, as long as they have their length.
        """
        try:
            record = self._decoder.decode(raw)
            # Equal bytes prove that nothing is unknown, repeated, null where absent is meant, or badly encoded.
            is_exact = _encode(record) == raw and (record.is_plain or not _has_long_integer(raw))
            if is_exact and (any_ids or malformed_id(record) is None):
                return Ok(record)
        except (ValueError, msgspec.MsgspecError, RecursionError):
            pass  # the way below says why
        match decode_json(raw):
            case Err(message):
                return Err(CorruptionReason("non_contiguous_indices", f"not a JSON record: {message}"))
            case Ok(value):
                return self.read_value(value)

    def read_lines(self, raw: bytes, *, any_ids: bool = False) -> list[R] | None:
        """Return the records of a file in one go; None unless each line is exactly what would be written."""
        try:
            records = self._decoder.decode_lines(raw)
            if _encoder.encode_lines(records) != raw:
                return None
        except (ValueError, msgspec.MsgspecError, RecursionError):
            return None
        if not all(record.is_plain for record in records) and _has_long_integer(raw):
            return None
        return records if any_ids or are_well_formed(records) else None

    def read_value(self, value: Json) -> Ok[R] | Err[CorruptionReason]:
        """Return the record in a decoded JSON value."""
        if isinstance(value, dict) and "v" in value and not js.strict_equal(value["v"], 1):
            return Err(CorruptionReason("unknown_schema_version", f"version {js.text(value['v'])} is not known here"))
        try:
            record = self.read(value)
        except ShapeError as problem:
            return Err(CorruptionReason("schema_validation_failed", str(problem)))
        return Ok(record)

    def read(self, value: object) -> R:
        """Return the record in plain JSON. Raise ShapeError for another shape, or what would be written differently."""
        try:
            record: R = _convert(value, self.kind)
            unknown = tuple(_unknown_members(record, value, ""))
        except RecursionError:
            raise ShapeError("nested too deeply") from None
        if unknown and isinstance(record, StoredRecord):
            record.__dict__.update(_wire=value, _unknown=unknown)
        return record


def _unknown_members(node: Any, value: Any, place: str) -> Iterator[str]:
    """Yield the paths of members that no type knows. Raise ShapeError for what would be written differently."""
    if isinstance(node, tuple):
        for index, (item, inner) in enumerate(zip(node, value, strict=True)):
            yield from _unknown_members(item, inner, f"{place}{index}.")
    elif isinstance(node, Struct):
        members = _members(type(node))
        known = set()
        if members.tag is not None:
            known.add(members.tag[0])
            if members.tag[0] not in value:
                raise ShapeError(f"{place}{members.tag[0]}: missing")
        for name, outside, default in members.names:
            known.add(outside)
            item = getattr(node, name)
            if outside in value:
                if item is None and default is None:
                    raise ShapeError(f"{place}{outside}: must be absent, not null")
                yield from _unknown_members(item, value[outside], f"{place}{outside}.")
            elif item is not None and item is not UNSET:
                raise ShapeError(f"{place}{outside}: missing")
        for name in value.keys() - known:
            if name in members.inside:
                raise ShapeError(f"{place}{name}: not the name of this member")
            yield f"{place}{name}"
