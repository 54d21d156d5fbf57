"""Expected failures as values: every operation that can fail on bad input returns Ok or Err."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

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
