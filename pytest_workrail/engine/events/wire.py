"""How durable records become bytes and bytes become records.

A record is one line of canonical JSON. Reading is total (any bytes give a record or a reason) and exact: a
line that would be written back differently, say with a null where the member must be absent, is no record.
Members this version does not know are kept as they are, except in closed shapes, which refuse them.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Mapping, Set
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NoReturn,
    Self,
    TypeAlias,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
)

from pytest_workrail.engine.events.shapes import AtLeast, Check, HasMembers, Holds, Shape, ShapeError, checker
from pytest_workrail.records import Record
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


class CorruptionReason(Record):
    """Why stored bytes can't be trusted: a closed code and a sentence for people."""

    code: CorruptionCode
    message: str


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Wire(HasMembers):
    """A record, or a part of one: frozen, strict, camelCase outside, open to members of later versions."""

    is_closed: ClassVar[bool] = False
    # Optional members for which an explicit null is a value of its own.
    keeps_null: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, **values: object) -> None:
        _members[type(self)].fill(self, values)

    @classmethod
    def from_wire(cls, value: object) -> Self:
        """The record in plain JSON, or the record itself. Raises ShapeError; `read_value` is total."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict):
            raise ShapeError(f"Input should be a valid dictionary or instance of {cls.__name__}")
        made = cls.__new__(cls)
        _members[cls].fill(made, value)
        return made

    @classmethod
    def built(cls, **values: object) -> Self:
        """The record with these values, which this program made of checked ones: nothing is checked again."""
        made = _new(cls)
        if cls.keeps_null:
            values["_named"] = values.keys() & cls.keeps_null
        defaults = _members[cls].defaults
        _set_members(made, defaults | values if defaults else values)
        return made

    def replaced(self, **values: object) -> Self:
        """The same record with other values, which are not checked."""
        known = {name: self.__dict__[name] for name in self.names()}
        named = self._named | (values.keys() & self.keeps_null)
        return _restored(type(self), known | values, self._extra, named)

    def check_together(self) -> None:
        """Check what members only say together. Raises ValueError."""

    def to_wire(self) -> dict[str, Json]:
        """The record as plain JSON; optional members that are not set are absent, never null."""
        members = _members[self.__class__]
        out: dict[str, Json] = dict(zip(members.aliases, members.values(self.__dict__), strict=False))
        for name, alias, optional in members.others:
            value = out[alias]
            if value is None:
                if optional and name not in self._named:
                    del out[alias]
            elif value.__class__ not in _PLAIN:
                out[alias] = _plain(value)
        if self._extra:
            out.update(self._extra)
        return out

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """What the members are called in this program."""
        return _members[cls].names

    @classmethod
    def alias(cls, name: str) -> str:
        """What a member is called outside."""
        return _camel_case(name)

    @classmethod
    def tags(cls, name: str) -> tuple[str, ...]:
        """The values of a member that tells this kind of record from others."""
        return get_args(_members[cls].annotations[name])

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = _members[type(self)].values
        return bool(values(self.__dict__) == values(other.__dict__) and self._extra == other._extra)

    def __hash__(self) -> int:
        return hash(_members[type(self)].values(self.__dict__))

    def __repr__(self) -> str:
        known = [(name, self.__dict__[name]) for name in self.names()]
        shown = (f"{name}={value!r}" for name, value in (*known, *self._extra.items()))
        return f"{type(self).__name__}({', '.join(shown)})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name!r} of a {type(self).__name__} can't be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name!r} of a {type(self).__name__} can't be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        known = {name: self.__dict__[name] for name in self.names()}
        return _restored, (type(self), known, self._extra, self._named)


_new = object.__new__
_set_members = HasMembers.__dict__["__dict__"].__set__  # past `__setattr__`, which refuses
W = TypeVar("W", bound=Wire)


def _restored(kind: type[W], values: dict[str, object], extra: Mapping[str, Json], named: Set[str]) -> W:
    made = _new(kind)
    _set_members(made, {**values, "_extra": extra, "_named": named})
    return made


class ClosedWire(Wire):
    """A shape that refuses members it does not know."""

    is_closed: ClassVar[bool] = True


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def _annotations(kind: type) -> dict[str, Any]:
    known = kind.__annotations__
    if str not in map(type, known.values()):
        return known
    from inspect import get_annotations

    return get_annotations(kind, eval_str=True)


class _Members:
    """The members of a record: their names outside, their checks, and those that are not simply copied."""

    __slots__ = ("_checks", "_kind", "aliases", "annotations", "defaults", "names", "others", "values")

    def __init__(self, kind: type[Wire]) -> None:
        self._kind = kind
        self.annotations: dict[str, Any] = {}
        self.defaults: dict[str, Any] = {}
        # Modules with records do not put off their annotations: to evaluate them from text is what costs.
        for base in reversed(kind.__mro__[: kind.__mro__.index(Wire)]):
            for name, annotation in _annotations(base).items():
                if getattr(annotation, "__origin__", None) is not ClassVar:
                    self.annotations[name] = annotation
                    if name in base.__dict__:
                        self.defaults[name] = base.__dict__[name]
        self.names = tuple(self.annotations)
        pair = [*self.names, *self.names][: max(2, len(self.names))]  # of a single name, `itemgetter` makes no tuple
        self.values: Any = operator.itemgetter(*pair) if pair else lambda values: ()
        self.aliases = [_camel_case(name) for name in self.names]
        self.others = tuple(
            (name, alias, name in self.defaults)
            for name, alias in zip(self.names, self.aliases, strict=True)
            if not _is_scalar(self.annotations[name])
        )
        self._checks: list[tuple[str, str, Check]] = []

    def fill(self, record: Wire, given: Mapping[str, object]) -> None:
        """Give a new record its values, each checked. Members have two names: outside, and in this program."""
        if not self._checks:
            pairs = zip(self.names, self.aliases, strict=True)
            self._checks = [(name, alias, checker(self.annotations[name])) for name, alias in pairs]
        values, defaults, used = record.__dict__, self.defaults, 0
        for name, alias, check in self._checks:
            key = alias if alias in given else name
            if key in given:
                used += 1
                try:
                    values[name] = check(given[key])
                except ShapeError as problem:
                    raise problem.under(key) from None
            elif name in defaults:
                values[name] = defaults[name]
            else:
                raise ShapeError("Field required", alias)
        if used < len(given):
            values["_extra"] = self._unknown(given)
        kind = self._kind
        if kind.keeps_null:
            values["_named"] = {name for name in kind.keeps_null if name in given or _camel_case(name) in given}
        if kind.check_together is not Wire.check_together:
            try:
                record.check_together()
            except ValueError as problem:
                raise ShapeError(f"Value error, {problem}") from None

    def _unknown(self, given: Mapping[str, object]) -> dict[str, Json]:
        used = {alias if alias in given else name for name, alias, _ in self._checks}
        extra: dict[str, Any] = {key: value for key, value in given.items() if key not in used}
        for key in extra:
            if not isinstance(key, str):
                raise ShapeError("Keys should be strings", key)
            if self._kind.is_closed:
                raise ShapeError("Extra inputs are not permitted", key)
        return extra


class _Registry(dict[Any, _Members]):
    """The members of each kind of record that was met, by its class."""

    def __missing__(self, kind: type[Wire]) -> _Members:
        members = self[kind] = _Members(kind)
        return members


_members = _Registry()


def _is_scalar(annotation: Any) -> bool:
    """True for a type whose values are plain JSON and never null."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    annotation = getattr(annotation, "__supertype__", annotation)  # what a NewType is made of
    return annotation in (str, int, bool) or (get_origin(annotation) is Literal and None not in get_args(annotation))


_PLAIN = frozenset({str, int, bool})  # types whose values are plain JSON already


def _plain(value: object) -> Json:
    kind = type(value)
    if kind in _PLAIN:
        return value  # type: ignore[return-value]  # mypy does not narrow by it
    if kind is tuple:
        # A list holds one type of item, and text is plain already.
        if value and type(value[0]) is str:  # type: ignore[index]  # as above
            return list(value)  # type: ignore[call-overload,no-any-return]  # as above
        return [_plain(item) for item in value]  # type: ignore[attr-defined]  # as above
    if isinstance(value, Wire):
        return value.to_wire()
    return value  # type: ignore[return-value]  # scalars and JSON members are plain already


Item = TypeVar("Item")
# JSON has one list; records hold it as a tuple.
Items: TypeAlias = tuple[Item, ...]
JsonObject: TypeAlias = dict[str, object]


def _non_empty(text: str) -> None:
    if not text:
        raise ValueError("must not be empty")


NonEmpty: TypeAlias = Annotated[str, Holds(_non_empty)]
Index: TypeAlias = Annotated[int, AtLeast(0)]


def max_utf8(limit: int) -> Holds:
    """A budget in UTF-8 bytes."""

    def check(text: str) -> None:
        if js.u8_length(text) > limit:
            raise ValueError(f"must not exceed {limit} bytes")

    return Holds(check)


def max_u16(limit: int) -> Holds:
    """A budget in UTF-16 code units."""

    def check(text: str) -> None:
        if js.u16_length(text) > limit:
            raise ValueError(f"must not exceed {limit} characters")

    return Holds(check)


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


R = TypeVar("R", bound=Wire)


def read_record(raw: bytes, shape: Shape[R]) -> Ok[R] | Err[CorruptionReason]:
    """The record in some bytes. Bytes that are not JSON count as a broken sequence: a write was cut short."""
    match decode_json(raw):
        case Err(message):
            return Err(CorruptionReason("non_contiguous_indices", f"not a JSON record: {message}"))
        case Ok(value):
            return read_value(value, shape)


def read_value(value: Json, shape: Shape[R]) -> Ok[R] | Err[CorruptionReason]:
    """The record in a decoded JSON value."""
    if isinstance(value, dict) and "v" in value and not js.strict_equal(value["v"], 1):
        return Err(CorruptionReason("unknown_schema_version", f"version {js.text(value['v'])} is not known here"))
    try:
        record = shape.read(value)
    except ShapeError as problem:
        return Err(CorruptionReason("schema_validation_failed", str(problem)))
    # Python's equality will do: where true could pass for 1, a strict field has refused it already.
    if record.to_wire() != value:
        return Err(CorruptionReason("schema_validation_failed", "not the form in which this record is written"))
    return Ok(record)


def nesting(value: Json) -> int:
    """How deeply containers are nested. Not recursive."""
    depth, layer = 0, [value]
    while layer := [item for item in layer if isinstance(item, dict | list)]:
        depth += 1
        layer = [inner for item in layer for inner in (item.values() if isinstance(item, dict) else item)]
    return depth
