"""Records: values with named members, as dataclasses with slots are, and much cheaper to define.

A dataclass writes and compiles six methods when it is defined. A run defines two hundred kinds of values and makes some
dozens of them. So records share their methods, and the one that has to be quick, `__init__`, is written for kinds of
which many values are made. What `dataclasses` offers for values (`fields`, `asdict`) takes records too.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, Field, field, make_dataclass
from itertools import islice, repeat
from operator import attrgetter
from typing import Any, ClassVar, NoReturn, TypeVar, dataclass_transform


class _Fields:
    """What `dataclasses` looks for, made by itself when it looks. Dear: `replace` below does without."""

    def __get__(self, record: object, kind: type[Record]) -> dict[str, Field[Any]]:
        described = [(name, object, _as_field(given)) for name, given in kind._given.items()]
        made: Any = make_dataclass(kind.__name__, described)
        fields: dict[str, Field[Any]] = made.__dataclass_fields__
        return fields


def _as_field(given: Any) -> Any:
    return given if isinstance(given, Field) else field() if given is MISSING else field(default=given)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class _RecordType(type):
    """Turns annotations into slots. With `frozen=False` members can be set, and there is no hash.

    With `guarded=False` only type checkers prevent assignment. Such a record takes a third of the time to make, which
    matters for the kinds that every step of a run makes.
    """

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        members: dict[str, Any],
        *,
        frozen: bool = True,
        guarded: bool = True,
    ) -> _RecordType:
        given: dict[str, Any] = {}
        for base in bases:
            given |= base.__dict__.get("_given", {})
        slots = []
        for member, shape in _annotations(members).items():
            if not shape.startswith("ClassVar"):
                if member not in given:
                    slots.append(member)
                given[member] = members.pop(member, MISSING)
        members["__slots__"] = tuple(slots)
        members["_given"] = given
        members["__match_args__"] = tuple(given)
        members["_compared"] = _COMPARED
        members.setdefault("__init__", _first_init)
        if frozen and guarded:
            members |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
        elif not frozen:
            members.setdefault("__hash__", None)
        return super().__new__(cls, name, bases, members)


def _annotations(members: dict[str, Any]) -> dict[str, str]:
    """Return the annotations of a class body, as they are written. Since Python 3.14 they are made on demand."""
    if sys.version_info >= (3, 14):
        from annotationlib import Format, call_annotate_function, get_annotate_from_class_namespace

        annotate = get_annotate_from_class_namespace(members)
        if annotate is not None:
            return call_annotate_function(annotate, Format.STRING)
    written: dict[str, str] = members.get("__annotations__", {})
    return written


def _refuse_setting(self: object, name: str, value: object) -> NoReturn:
    raise AttributeError(f"{name!r} of a {type(self).__name__} can't be set")


def _refuse_deleting(self: object, name: str) -> NoReturn:
    raise AttributeError(f"{name!r} of a {type(self).__name__} can't be deleted")


def _is_left_out(given: Any, way: str) -> bool:
    return isinstance(given, Field) and not getattr(given, way)


class _Compared:
    """Replaces itself, at the first comparison, with a getter of the members that are compared."""

    def __get__(self, record: object, kind: type[Record]) -> Any:
        names = [name for name, given in kind._given.items() if not _is_left_out(given, "compare")]
        if len(names) > 1:
            kind._compared = attrgetter(*names)
        else:
            kind._compared = staticmethod(lambda record: tuple(getattr(record, name) for name in names))
        return kind._compared


_COMPARED = _Compared()


# Generating the `__init__` of a kind pays off after about this many values.
_FEW = 64
_made: dict[type, int] = {}
_set = object.__setattr__  # a frozen record refuses its own


def _first_init(self: Record, *values: Any, **named: Any) -> None:
    kind: Any = type(self)
    if kind.__dict__.get("__init__") is not _first_init:
        kind = next(each for each in kind.__mro__ if each.__dict__.get("__init__") is _first_init)
    made = _made[kind] = _made.get(kind, 0) + 1
    if made > _FEW or not _is_filled(self, kind._given, values, named):
        kind.__init__ = _written_init(kind)  # takes the place of this one
        kind.__init__(self, *values, **named)
    elif hasattr(kind, "__post_init__"):
        self.__post_init__()  # type: ignore[attr-defined]  # asked for just above


def _is_filled(record: Record, given: dict[str, Any], values: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Set the members of a new record. False if the values do not fit its members."""
    used = 0
    if len(values) < len(given):
        rest = []
        for name, default in islice(given.items(), len(values), None):
            if name in named:
                rest.append(named[name])
                used += 1
            elif default is MISSING:
                return False
            elif type(default) is not Field:
                rest.append(default)
            elif default.default_factory is not MISSING:
                rest.append(default.default_factory())
            elif default.default is not MISSING:
                rest.append(default.default)
            else:
                return False
        values += tuple(rest)
    for _ in map(_set, repeat(record), given, values):
        pass
    return used == len(named) and len(values) == len(given)


def _written_init(kind: type[Record]) -> Any:
    """The `__init__` of a kind of records, as one would write it by hand."""
    known: dict[str, Any] = {"MISSING": MISSING}
    parameters, lines = [], []
    is_guarded = kind.__setattr__ is _refuse_setting
    for name, given in kind._given.items():
        has_factory = isinstance(given, Field) and given.default_factory is not MISSING
        default = given.default if isinstance(given, Field) else given
        known[f"default_{name}"] = given.default_factory if has_factory else default
        if has_factory:
            parameters.append(f"{name}=MISSING")
            lines.append(f"if {name} is MISSING: {name} = default_{name}()")
        else:
            parameters.append(name if default is MISSING else f"{name}=default_{name}")
        if is_guarded:
            known[f"set_{name}"] = getattr(kind, name).__set__  # past `__setattr__`, which refuses
            lines.append(f"set_{name}(self, {name})")
        else:
            lines.append(f"self.{name} = {name}")
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(['self', *parameters])}):\n {body}", known)
    return known["__init__"]


class Record(metaclass=_RecordType, frozen=False):
    """A value with named members. Two are equal if they are of one kind and their members are."""

    __dataclass_fields__: ClassVar[Any] = _Fields()
    _given: ClassVar[dict[str, Any]]  # what the class says of each member: its default, a field, or MISSING
    _compared: ClassVar[Any]  # the members that count when two are compared

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(self._compared(self) == self._compared(other))

    def __hash__(self) -> int:
        return hash(self._compared(self))

    def __repr__(self) -> str:
        shown = (name for name, given in self._given.items() if not _is_left_out(given, "repr"))
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), tuple(getattr(self, name) for name in self._given))


R = TypeVar("R", bound=Record)


def replace(record: R, /, **changes: Any) -> R:
    """The same record with other values."""
    kept = {name: getattr(record, name) for name in record._given if name not in changes}
    return type(record)(**kept, **changes)


def _restored(kind: type[Record], values: tuple[object, ...]) -> Record:
    made = object.__new__(kind)
    for name, value in zip(kind._given, values, strict=True):
        object.__setattr__(made, name, value)
    return made
