"""Results of functions: Ok or Err wherever bad input can make them fail, and records of several values."""

from __future__ import annotations

from typing import Any, Generic, NoReturn, Self, TypeVar

T = TypeVar("T", covariant=True)
E = TypeVar("E", covariant=True)


class Ok(Generic[T]):
    """A success and its value."""

    __match_args__ = ("value",)
    __slots__ = ("value",)
    is_ok = True

    def __init__(self, value: T) -> None:
        self.value: T = value

    def __repr__(self) -> str:
        return f"Ok({self.value!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ok) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash((Ok, self.value))


class Err(Generic[E]):
    """A failure that was foreseen, and what there is to say about it."""

    __match_args__ = ("error",)
    __slots__ = ("error",)
    is_ok = False

    def __init__(self, error: E) -> None:
        self.error: E = error

    @property
    def value(self) -> NoReturn:
        """Reaching for the value of a failure is a bug in the caller; say which failure it was."""
        raise ValueError(f"no value: {self.error!r}")

    def __repr__(self) -> str:
        return f"Err({self.error!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Err) and bool(self.error == other.error)

    def __hash__(self) -> int:
        return hash((Err, self.error))


class Record:
    """Several values under names, equal to another of the same class with the same values.

    Classes on the path of every check are plain ones with slots: each named tuple there would cost as much as
    importing three modules.
    """

    __slots__: tuple[str, ...] = ()
    __match_args__: tuple[str, ...] = ()

    def replaced(self, **changes: Any) -> Self:
        """Return a copy with other values for some names."""
        return type(self)(**{name: changes.get(name, getattr(self, name)) for name in self.__slots__})

    def __repr__(self) -> str:
        text = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({text})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.__slots__))
