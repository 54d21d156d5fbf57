"""Records behave as frozen dataclasses with slots do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field
from typing import ClassVar

import pytest

from pytest_workrail.records import Record, replace


class Point(Record):
    kind: ClassVar[str] = "point"

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list, compare=False)
    secret: str = field(default="s", repr=False)


class Other(Record):
    x: int
    y: int = 0


class Counter(Record, frozen=False):
    count: int = 0


class Light(Record, guarded=False):
    x: int
    y: int = 0


class Even(Record):
    value: int

    def __post_init__(self) -> None:
        if self.value % 2:
            raise ValueError("odd")


def test_members_defaults_and_factories() -> None:
    made = Point(1)
    assert (made.x, made.y, made.tags, made.secret) == (1, 0, [], "s")
    assert Point(1).tags is not made.tags
    assert Point(y=3, x=2, tags=["a"]) == Point(2, 3)
    assert Point.kind == "point"
    assert Point.__match_args__ == ("x", "y", "tags", "secret")


def test_equal_are_those_of_one_kind_with_equal_members() -> None:
    assert Point(1) == Point(1, tags=["not compared"])
    assert hash(Point(1)) == hash(Point(1, tags=["not compared"]))
    assert Point(1) != Point(2)
    assert Point(1) != Other(1)
    assert Other(1) != (1, 0)
    assert Even(2) == Even(2)
    assert Counter() == Counter(0)


def test_a_record_can_not_be_changed() -> None:
    made = Other(1)
    with pytest.raises(AttributeError, match="'x' of a Other can't be set"):
        made.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="'x' of a Other can't be deleted"):
        del made.x
    with pytest.raises(AttributeError):
        made.z = 2  # type: ignore[attr-defined]


def test_one_without_a_guard_is_a_value_like_the_others() -> None:
    made = Light(1)
    assert made == Light(1, 0) != Light(2)
    assert hash(made) == hash(Light(1))
    assert made != Other(1)
    assert replace(made, y=5) == Light(1, 5) == pickle.loads(pickle.dumps(Light(1, 5)))


def test_one_that_can_has_no_hash() -> None:
    made = Counter()
    made.count += 1
    assert made == Counter(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_wrong_arguments_are_errors() -> None:
    for values, named in (((), {}), ((1, 2, [], "", 5), {}), ((1,), {"x": 1}), ((1,), {"z": 1})):
        with pytest.raises(TypeError):
            Point(*values, **named)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="odd"):
        Even(1)


def test_shown_copied_and_taken_elsewhere() -> None:
    made = Point(1, 2, ["a"])
    assert repr(made) == "Point(x=1, y=2, tags=['a'])"
    assert replace(made, y=5) == Point(1, 5)
    for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert again == made
        assert again.tags == ["a"]
    assert copy.deepcopy(made).tags is not made.tags


def test_dataclasses_take_them() -> None:
    assert dataclasses.is_dataclass(Point)
    assert [each.name for each in dataclasses.fields(Point(1))] == ["x", "y", "tags", "secret"]
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 0, "tags": [], "secret": "s"}
    assert dataclasses.replace(Point(1), x=2) == Point(2)


def test_many_of_a_kind_are_made_as_the_first() -> None:
    class Kind(Record):
        a: int
        b: int = 2
        c: list[int] = field(default_factory=list)

    ways = [((1,), {}), ((1, 3), {"c": [4]}), ((), {"c": [5], "a": 6})]
    first, *others = [[Kind(*values, **named) for values, named in ways] for _ in range(50)]
    assert [(each.a, each.b, each.c) for each in first] == [(1, 2, []), (1, 3, [4]), (6, 2, [5])]
    assert all(made == first for made in others)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        Kind()  # type: ignore[call-arg]
