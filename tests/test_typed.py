"""The stand-ins for `typing` and `enum` behave as the real ones do."""

from __future__ import annotations

import copy
import enum
import json
import pickle
import re
import typing
from typing import Any

import pytest

from workrail_lint.base import typed


class Ours(typed.NamedTuple):
    first: int
    second: str = "b"
    third: tuple[int, ...] = ()

    @property
    def both(self) -> str:
        return f"{self.first}{self.second}"


class Theirs(typing.NamedTuple):
    first: int
    second: str = "b"
    third: tuple[int, ...] = ()

    @property
    def both(self) -> str:
        return f"{self.first}{self.second}"


class _Below(Ours):
    __slots__ = ()


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, "x", (2,)), {}),
    ((1,), {"third": (3,)}),
    ((), {"second": "y", "first": 2}),
    ((), {}),
    ((1, "x", (), 4), {}),
    ((1,), {"first": 2}),
    ((1,), {"other": 2}),
]


@pytest.mark.parametrize(("values", "named"), CALLS)
def test_a_named_tuple_is_made_like_the_one_of_typing(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    try:
        expected = Theirs(*values, **named)
    except TypeError:
        with pytest.raises(TypeError):
            Ours(*values, **named)
        return
    made = Ours(*values, **named)
    assert made == expected
    assert (made.first, made.second, made.third, made.both) == (
        expected.first,
        expected.second,
        expected.third,
        expected.both,
    )
    assert made._asdict() == expected._asdict()
    assert repr(made) == repr(expected).replace("Theirs", "Ours")
    assert made._replace(second="z") == expected._replace(second="z")
    assert pickle.loads(pickle.dumps(made)) == made
    assert copy.deepcopy(made) == made
    assert hash(made) == hash(expected)


def test_its_class_has_the_same_facts() -> None:
    assert Ours._fields == Theirs._fields
    assert Ours.__match_args__ == Theirs.__match_args__
    assert Ours._field_defaults == Theirs._field_defaults
    assert Ours._make([1, "c", ()]) == Theirs(1, "c", ())
    assert not hasattr(Ours(1), "__dict__")
    assert isinstance(_Below(1)._replace(first=2), _Below)


def test_what_is_unknown_or_written_to_is_refused() -> None:
    with pytest.raises(ValueError, match="no field 'other'"):
        Ours(1)._replace(other=2)
    with pytest.raises(AttributeError):
        Ours(1).first = 2  # type: ignore[misc]


def test_it_matches_by_position() -> None:
    match Ours(1, "b"):
        case Ours(first, "b"):
            assert first == 1
        case _:
            pytest.fail("no match")


def test_a_generic_class_takes_arguments() -> None:
    kind = typed.TypeVar("kind")

    class Box(typed.Generic[kind]):
        pass

    assert Box[int] is Box
    assert typed.cast("int", "text") == "text"


class Real(str, enum.Enum):
    """The set as the standard library makes it."""

    FIRST = "first"
    SECOND = "second one"

    @property
    def length(self) -> int:
        return len(self.value)


class Light(str, typed.Enum):
    """The same set, as we make it."""

    FIRST = "first"
    SECOND = "second one"

    @property
    def length(self) -> int:
        return len(self.value)


@pytest.mark.parametrize("kind", [Real, Light])
def test_a_closed_set_is_one_of_the_standard_library(kind: Any) -> None:
    first, second = kind
    assert (first, second) == (kind.FIRST, kind.SECOND)
    assert [kind("second one") is second, kind(second) is second] == [True, True]
    assert first == "first"
    assert first in {kind.FIRST}
    assert isinstance(first, str)
    assert (second.name, second.value, second.length, len(kind)) == ("SECOND", "second one", 10, 2)
    assert str(second) == f"{second}" == f"{kind.__name__}.SECOND"
    assert repr(second) == f"<{kind.__name__}.SECOND: 'second one'>"
    assert json.dumps(second) == '"second one"'
    assert pickle.loads(pickle.dumps(second)) is second
    assert copy.deepcopy(second) is second is copy.copy(second)
    for unknown in ("third", None, []):
        with pytest.raises(ValueError, match=f"{re.escape(repr(unknown))} is not a valid {kind.__name__}"):
            kind(unknown)
