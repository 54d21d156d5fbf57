"""What the members of records may be: annotations, and the checks that are made of them.

A check takes a value and gives it back as a record holds it, or raises `ShapeError` for the first thing that is wrong.
Checks are made when a record of their kind is first looked at: a run meets few of all the kinds there are.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping, Set
from functools import cache
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

Check = Callable[[Any], Any]
T = TypeVar("T")


class ShapeError(ValueError):
    """A value that is not of its shape: where, and what is wrong with it. It quotes no values but tags."""

    def __init__(self, message: str, *place: object) -> None:
        super().__init__(message)
        self.message = message
        self.place = [*place]

    def under(self, *parts: object) -> ShapeError:
        """The same, seen from further out."""
        self.place[:0] = parts
        return self

    def __str__(self) -> str:
        place = ".".join(map(str, self.place))
        return f"{place}: {self.message}" if place else self.message


class Pattern(NamedTuple):
    """A string of one form, as a regular expression for all of it."""

    text: str
    longest: int | None = None


class AtLeast(NamedTuple):
    """A number that is not smaller."""

    limit: int


class Above(NamedTuple):
    """A number that is greater."""

    limit: int


class Sized(NamedTuple):
    """How many items there are."""

    least: int = 0
    most: int | None = None


class Holds(NamedTuple):
    """A value that a function accepts; for one that it does not, the function raises ValueError."""

    check: Callable[[Any], object]


class Tagged(NamedTuple):
    """A union of records that a member tells apart."""

    member: str


class HasMembers:
    """The base of records: objects that members can be taken from. Beside them, what this version does not know."""

    # Most records have neither of these of their own.
    _extra: Mapping[str, Any] = {}  # members that no field stands for
    _named: Set[str] = frozenset()  # the fields that were given, where that makes a difference


class Shape(Generic[T]):
    """Reads values of an annotation."""

    __slots__ = ("_annotation", "_check")

    def __init__(self, annotation: object) -> None:
        self._annotation = annotation
        self._check: Check | None = None

    def read(self, value: object) -> T:
        """The value, checked. Raises ShapeError."""
        if self._check is None:
            self._check = checker(self._annotation)
        checked: T = self._check(value)
        return checked


def checker(annotation: Any) -> Check:
    """The check for an annotation, made once: many members share an annotation."""
    known = _checks.get(id(annotation))
    if known is None:
        known = _checks[id(annotation)] = annotation, _checker(annotation)
    return known[1]


# By identity, because different annotations can compare equal. Keeping the annotation keeps its id from being reused.
_checks: dict[int, tuple[Any, Check]] = {}


def _checker(annotation: Any) -> Check:
    own: Check | None = getattr(annotation, "from_wire", None)  # a record's own
    if own is not None:
        return own
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    plain = getattr(annotation, "__supertype__", None)  # what a NewType is made of
    if plain is not None:
        return checker(plain)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _marked(*arguments)
    if origin is Literal:
        return _literal(arguments)
    if origin is tuple:
        return _items(arguments[0])
    if origin is dict:
        return _mapping(*map(checker, arguments))
    if origin is Union or origin is types.UnionType:
        return _union(arguments)
    raise TypeError(f"no shape of a record: {annotation!r}")


def _anything(value: Any) -> Any:
    return value


def _string(value: Any) -> Any:
    if not isinstance(value, str):
        raise ShapeError("Input should be a valid string")
    return value


def _integer(value: Any) -> Any:
    if not isinstance(value, int) or value is True or value is False:
        raise ShapeError("Input should be a valid integer")
    return value


def _boolean(value: Any) -> Any:
    if value is not True and value is not False:
        raise ShapeError("Input should be a valid boolean")
    return value


def _null(value: Any) -> None:
    if value is not None:
        raise ShapeError("Input should be None")


_PLAIN: dict[Any, Check] = {
    object: _anything,
    str: _string,
    int: _integer,
    bool: _boolean,
    None: _null,
    type(None): _null,
}


def _marked(base: Any, *marks: Any) -> Check:
    check: Check | None = None
    for mark in marks:
        match mark:
            case Tagged(member):
                check = _tagged(get_args(base), member)
            case Sized():
                check = _items(get_args(base)[0], mark)
            case Pattern():
                check = _pattern(mark)
            case AtLeast(limit):
                check = _at_least(limit, f"Input should be greater than or equal to {limit}")
            case Above(limit):
                check = _at_least(limit + 1, f"Input should be greater than {limit}")
            case Holds(holds):
                check = _held(check or checker(base), holds)
            case _:
                raise TypeError(f"no mark of a shape: {mark!r}")
    return check or checker(base)


def _pattern(mark: Pattern) -> Check:
    matches = _matcher(mark.text.removeprefix("^").removesuffix("$"))
    longest = mark.longest

    def check(value: Any) -> Any:
        if not isinstance(value, str):
            raise ShapeError("Input should be a valid string")
        if (longest is None or len(value) <= longest) and matches(value):
            return value
        _refuse_half_characters(value)
        if longest is not None and len(value) > longest:
            raise ShapeError(f"String should have at most {longest} characters")
        raise ShapeError(f"String should match pattern '{mark.text}'")

    return check


def _matcher(pattern: str) -> Callable[[str], object]:
    """A test for whether a text matches a pattern. Ids and digests are a prefix and characters of one class.

    To compile a pattern takes longer than a run looks for it.
    """
    prefix, _, rest = pattern.partition("[")
    spelled, _, times = rest.partition("]")
    size = len(prefix) + int(times[1:-1]) if times[1:-1].isdecimal() and times[0] + times[-1] == "{}" else None
    if not prefix.strip(_LITERAL) and spelled.strip("^") == spelled and "\\" not in spelled:
        begin, allowed = len(prefix), _characters(spelled)
        if size is not None:
            return lambda text: len(text) == size and text[:begin] == prefix and not text[begin:].strip(allowed)
        if times == "+":
            return lambda text: len(text) > begin and text[:begin] == prefix and not text[begin:].strip(allowed)
    return re.compile(pattern).fullmatch


_LITERAL = "abcdefghijklmnopqrstuvwxyz0123456789_:"


@cache
def _characters(spelled: str) -> str:
    """What a class of characters stands for."""
    found, at = "", 0
    while at < len(spelled):
        is_range = spelled[at + 1 : at + 2] == "-" and at + 2 < len(spelled)
        last = spelled[at + 2] if is_range else spelled[at]
        found += "".join(map(chr, range(ord(spelled[at]), ord(last) + 1)))
        at += 3 if is_range else 1
    return found


def _at_least(limit: int, message: str) -> Check:
    def check(value: Any) -> Any:
        if _integer(value) < limit:
            raise ShapeError(message)
        return value

    return check


def _held(inner: Check, holds: Callable[[Any], object]) -> Check:
    def check(value: Any) -> Any:
        checked = inner(value)
        try:
            holds(checked)
        except ValueError as problem:
            raise ShapeError(f"Value error, {problem}") from None
        return checked

    return check


def _literal(allowed: tuple[Any, ...]) -> Check:
    known = {each: each for each in allowed}
    message = f"Input should be {_either([repr(each) for each in allowed])}"

    def check(value: Any) -> Any:
        try:
            return known[value]
        except (KeyError, TypeError):
            if isinstance(value, str) and isinstance(allowed[0], str):
                _refuse_half_characters(value)
            raise ShapeError(message) from None

    return check


def _refuse_half_characters(text: str) -> None:
    """A string with half of a surrogate pair is none of a closed form."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ShapeError("Input should be a valid string, unable to parse raw data as a unicode string") from None


def _either(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


_ANY_SIZE = Sized()


def _items(annotation: Any, size: Sized = _ANY_SIZE) -> Check:
    item = checker(annotation)
    least, most = size

    def check(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise ShapeError("Input should be a valid tuple")
        made, count, first = [], 0, None
        for each in value:
            try:
                made.append(item(each))
            except ShapeError as problem:
                first = first or problem.under(count)
                if most is None:
                    break
            count += 1
            # Too many good ones are worse than a bad one.
            if most is not None and len(made) > most:
                raise ShapeError(f"Tuple should have at most {_counted(most)} after validation, not {len(value)}")
        if first is not None:
            raise first
        if count < least:
            raise ShapeError(f"Tuple should have at least {_counted(least)} after validation, not {count}")
        return tuple(made)

    return check


def _counted(count: int) -> str:
    return f"{count} item" if count == 1 else f"{count} items"


def _mapping(key: Check, item: Check) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ShapeError("Input should be a valid dictionary")
        made = {}
        for name, each in value.items():
            try:
                checked = key(name)
            except ShapeError as problem:
                raise problem.under(name, "[key]") from None
            try:
                made[checked] = item(each)
            except ShapeError as problem:
                raise problem.under(name) from None
        return made

    return check


def _union(choices: tuple[Any, ...]) -> Check:
    inner = [(each, checker(each)) for each in choices if each is not type(None)]
    if len(inner) == 1:
        return _nullable(inner[0][1])

    def check(value: Any) -> Any:
        first: ShapeError | None = None
        for each, choice in inner:
            try:
                return choice(value)
            except ShapeError as problem:
                first = first or problem.under(_label(each))
        raise first or ShapeError("nothing to choose from")

    return _nullable(check) if len(inner) < len(choices) else check


def _nullable(inner: Check) -> Check:
    def check(value: Any) -> Any:
        return None if value is None else inner(value)

    return check


def _label(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return f"literal[{','.join(map(repr, get_args(annotation)))}]"
    return str(annotation.__name__)


def _tagged(choices: tuple[Any, ...], member: str) -> Check:
    kinds = {tag: kind for kind in choices for tag in kind.tags(member)}
    outside = choices[0].alias(member)
    names = f"'{member}'" if member == outside else f"'{member}' | '{outside}'"

    def check(value: Any) -> Any:
        if isinstance(value, dict):
            tag = value.get(member, value.get(outside, kinds))
        elif isinstance(value, HasMembers):
            tag = getattr(value, member, kinds)
        else:
            raise ShapeError("Input should be a valid dictionary or object to extract fields from")
        if tag is kinds:
            raise ShapeError(f"Unable to extract tag using discriminator {names}")
        kind = kinds.get(tag) if isinstance(tag, str) else None
        if kind is None:
            expected = ", ".join(f"'{each}'" for each in kinds)
            shown = str(tag).encode("utf-8", "surrogatepass").decode("utf-8", "replace")
            message = f"Input tag '{shown}' found using {names} does not match any of the expected tags: {expected}"
            raise ShapeError(message)
        try:
            return kind.from_wire(value)
        except ShapeError as problem:
            raise problem.under(tag) from None

    return check
