"""Identifiers: one type per kind of thing, checked where text becomes an id, never again after that.

In a record that is read, the decoder checks how long an id is. A pattern for each id would take most of the time of
decoding, so the characters of all ids of a record are checked by one regular expression, `are_well_formed`.
"""

from __future__ import annotations

import base64
import hashlib
import types
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cache, lru_cache
from operator import attrgetter
from typing import Annotated, Any, Literal, NewType, TypeAlias, TypeVar, Union, get_args, get_origin

from msgspec import Meta, Struct
from msgspec.structs import fields

from workrail_lint.base.canonical import hash_ref
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

Base32Fault: TypeAlias = Literal["BASE32_INVALID_CHARACTER", "BASE32_INVALID_LENGTH", "BASE32_NON_CANONICAL"]

_BASE32 = Pattern(r"[a-z2-7]*")
# The text lengths, modulo eight, that a whole number of bytes can have.
_WHOLE = frozenset({0, 2, 4, 5, 7})


_DIGITS = b"abcdefghijklmnopqrstuvwxyz234567" * 8  # by the value of a byte; none is above 31
_SPREAD = 20  # the bytes of 32 digits


def _repeated(digits: int, offset: int) -> int:
    """A mask for every other group of that many five-bit digits, where each digit is about to take eight bits."""
    return sum((1 << 5 * digits) - 1 << place + offset for place in range(0, 256, 16 * digits))


# Digits are five bits apart in the number and eight in the result: split it in halves, then those in halves, and so on.
_HALVES = [(3 * digits, _repeated(digits, 0), _repeated(digits, 5 * digits)) for digits in (16, 8, 4, 2, 1)]


def encode_base32(raw: bytes) -> str:
    """The base32 text of some bytes. For ids this takes a third of the standard library's time."""
    if len(raw) > _SPREAD:
        return base64.b32encode(raw).decode("ascii").rstrip("=").lower()
    digits = (8 * len(raw) + 4) // 5
    number = int.from_bytes(raw, "big") << 5 * digits - 8 * len(raw)
    for shift, low, high in _HALVES:
        number = number & low | (number & high) << shift
    return number.to_bytes(digits, "big").translate(_DIGITS).decode("ascii")


def decode_base32(text: str) -> Ok[bytes] | Err[Base32Fault]:
    """The bytes of a base32 text; two texts never give the same bytes."""
    if not _BASE32.fullmatch(text):
        return Err("BASE32_INVALID_CHARACTER")
    if len(text) % 8 not in _WHOLE:
        return Err("BASE32_INVALID_LENGTH")
    raw = base64.b32decode(text.upper() + "=" * (-len(text) % 8))
    # The last character may carry bits beyond the last byte; left set, they would give one id two spellings.
    if encode_base32(raw) != text:
        return Err("BASE32_NON_CANONICAL")
    return Ok(raw)


ID_BYTES = 16
MAX_DEDUPE_KEY_LENGTH = 256
_ATTEMPT_DOMAIN = "wr_attempt_next_v1:"


class IdKind(str, Enum):
    """The prefixes of the ids that are made of sixteen bytes."""

    SESSION = "sess"
    RUN = "run"
    NODE = "node"
    ATTEMPT = "attempt"
    EVENT = "evt"
    WORKFLOW = "wf"


class _Form(Struct, frozen=True):
    """The format of the ids of a kind. None of them contains a line end."""

    pattern: str
    min_length: int
    max_length: int

    @classmethod
    def of(cls, kind: IdKind) -> _Form:
        length = len(kind.value) + len("_") + 26
        return cls(rf"{kind.value}_[a-z2-7]{{26}}", length, length)


# By the letter that stands before such an id where those of a record are joined.
_FORMS = {
    "S": _Form.of(IdKind.SESSION),
    "R": _Form.of(IdKind.RUN),
    "N": _Form.of(IdKind.NODE),
    "A": _Form.of(IdKind.ATTEMPT),
    "E": _Form.of(IdKind.EVENT),
    "W": _Form.of(IdKind.WORKFLOW),
    "D": _Form(r"sha256:[0-9a-f]{64}", 71, 71),
    "K": _Form(r"[a-z0-9_:>-]+", 1, MAX_DEDUPE_KEY_LENGTH),
}


def _id(letter: str) -> Meta:
    form = _FORMS[letter]
    return Meta(min_length=form.min_length, max_length=form.max_length, extra={"form": letter})


SessionId = NewType("SessionId", Annotated[str, _id("S")])
RunId = NewType("RunId", Annotated[str, _id("R")])
NodeId = NewType("NodeId", Annotated[str, _id("N")])
AttemptId = NewType("AttemptId", Annotated[str, _id("A")])
EventId = NewType("EventId", Annotated[str, _id("E")])
# The short `wf_` form of a workflow hash.
WorkflowRef = NewType("WorkflowRef", Annotated[str, _id("W")])
WorkflowHash = NewType("WorkflowHash", Annotated[str, _id("D")])
SnapshotRef = NewType("SnapshotRef", Annotated[str, _id("D")])
Digest = NewType("Digest", Annotated[str, _id("D")])

DedupeKey: TypeAlias = Annotated[str, _id("K")]
GitSha: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}\Z")]
# Without the characters that separate the parts of a step instance key.
SafeId: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9_-]+\Z")]
StepId: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\Z")]


class IdError(Struct, frozen=True):
    """A text that is not an id of the kind asked for."""

    expected: str
    text: str

    @property
    def message(self) -> str:
        """The message that names the expected format."""
        return f"not {self.expected}: {self.text!r}"


Brand = TypeVar("Brand")


def _checker(expected: str, letter: str, brand: Callable[[str], Brand]) -> Callable[[str], Ok[Brand] | Err[IdError]]:
    shape = Pattern(_FORMS[letter].pattern)

    def check(text: str) -> Ok[Brand] | Err[IdError]:
        return Ok(brand(text)) if shape.fullmatch(text) else Err(IdError(expected, text))

    return check


session_id = _checker("a session id", "S", SessionId)
run_id = _checker("a run id", "R", RunId)
node_id = _checker("a node id", "N", NodeId)
attempt_id = _checker("an attempt id", "A", AttemptId)
event_id = _checker("an event id", "E", EventId)
workflow_ref = _checker("a workflow hash reference", "W", WorkflowRef)
workflow_hash = _checker("a workflow hash", "D", WorkflowHash)
snapshot_ref = _checker("a snapshot reference", "D", SnapshotRef)


def format_id(kind: IdKind, raw: bytes) -> str:
    """The text of an id from its sixteen bytes."""
    if len(raw) != ID_BYTES:
        raise ValueError(f"an id has {ID_BYTES} bytes, not {len(raw)}")
    return f"{kind.value}_{encode_base32(raw)}"


def id_bytes(kind: IdKind, text: str) -> Ok[bytes] | Err[IdError]:
    """The sixteen bytes behind an id; an id whose spelling is not the canonical one has none."""
    prefix = f"{kind.value}_"
    decoded = decode_base32(text.removeprefix(prefix))
    if not text.startswith(prefix) or not isinstance(decoded, Ok) or len(decoded.value) != ID_BYTES:
        return Err(IdError(f"the text of sixteen bytes after {prefix!r}", text))
    return decoded


@lru_cache(maxsize=256)  # a session asks for the same few at each step
def ref_of(digest: WorkflowHash) -> WorkflowRef:
    """The short reference of a workflow hash."""
    return WorkflowRef(hash_ref(digest))


@lru_cache(maxsize=16)  # a step asks twice: when it prepares its tokens, and when it answers
def child_attempt(attempt: AttemptId) -> AttemptId:
    """The attempt that follows another one. Derived, so that a replay names the same successor."""
    seed = hashlib.sha256((_ATTEMPT_DOMAIN + attempt).encode("utf-8")).digest()
    return AttemptId(format_id(IdKind.ATTEMPT, seed[:ID_BYTES]))


class IdMint:
    """Fresh ids from a source of random bytes."""

    __slots__ = ("_generate",)

    def __init__(self, generate: Callable[[int], bytes]) -> None:
        self._generate = generate

    def _fresh(self, kind: IdKind) -> str:
        return format_id(kind, self._generate(ID_BYTES))

    def session(self) -> SessionId:
        """A new session id."""
        return SessionId(self._fresh(IdKind.SESSION))

    def run(self) -> RunId:
        """A new run id."""
        return RunId(self._fresh(IdKind.RUN))

    def node(self) -> NodeId:
        """A new node id."""
        return NodeId(self._fresh(IdKind.NODE))

    def attempt(self) -> AttemptId:
        """A new attempt id, for a start or a rehydrate."""
        return AttemptId(self._fresh(IdKind.ATTEMPT))

    def event(self) -> EventId:
        """A new event id."""
        return EventId(self._fresh(IdKind.EVENT))


# ---------------------------------------------------------------------------------------------------- ids of a record


# An id that may be absent is written as None, which is shorter than any id that may be.
_OPTIONAL = "".join(letter for letter, form in _FORMS.items() if form.min_length > len("None"))
_JOINED = Pattern(rf"(?:(?:{'|'.join(letter + form.pattern for letter, form in _FORMS.items())}|[{_OPTIONAL}]None)\n)*")


class _Ids:
    """Where the ids are in the values of one class: paths in this program, with those outside."""

    __slots__ = ("ids", "inside", "read", "template")

    def __init__(self, kind: type[Struct]) -> None:
        self.ids: dict[str, tuple[str, str]] = {}  # with the letter of its form
        self.inside: dict[str, tuple[str, Callable[[object], Any]]] = {}  # unions and lists: the value tells the class
        for field in fields(kind):
            letter = _letter(field.type)
            if letter is not None:
                self.ids[field.name] = (field.encode_name, letter)
            elif isinstance(field.type, type) and issubclass(field.type, Struct):
                part = _ids_of(field.type)
                for path, (outside, inner) in part.ids.items():
                    self.ids[f"{field.name}.{path}"] = (f"{field.encode_name}.{outside}", inner)
                for path, (outside, _) in part.inside.items():
                    self._add_inside(f"{field.name}.{path}", f"{field.encode_name}.{outside}")
            elif any(_ids_of(each) for each in _structs(field.type)):
                self._add_inside(field.name, field.encode_name)
        self.read = attrgetter(*self.ids) if self.ids else None
        self.template = "".join(f"{letter}%s\n" for _, letter in self.ids.values())

    def _add_inside(self, path: str, outside: str) -> None:
        self.inside[path] = (outside, attrgetter(path))

    def __bool__(self) -> bool:
        return bool(self.ids or self.inside)


_ids_of = cache(_Ids)


def _letter(kind: Any) -> str | None:
    """Return the letter of the id that a member is, or is unless it is None."""
    if isinstance(kind, NewType):
        return _letter(kind.__supertype__)
    if get_origin(kind) is Annotated:
        return next((meta.extra["form"] for meta in kind.__metadata__ if isinstance(meta, Meta) and meta.extra), None)
    if get_origin(kind) in (Union, types.UnionType):
        return next((letter for each in get_args(kind) if (letter := _letter(each)) is not None), None)
    return None


def _structs(kind: Any) -> Iterator[type[Struct]]:
    if isinstance(kind, type) and issubclass(kind, Struct):
        yield kind
    for each in get_args(kind):
        yield from _structs(each)


def are_well_formed(records: Iterable[Struct]) -> bool:
    """Return whether each id, in values that were decoded, has the form of its kind."""
    lines: list[str] = []
    count = sum([_join_ids(record, lines) for record in records])
    joined = "".join(lines)
    # A dedupe key with a line end in it would be read as two.
    return joined.count("\n") == count and _JOINED.fullmatch(joined) is not None


def _join_ids(record: Struct, lines: list[str]) -> int:
    """Add a line for each id of a value, and return how many there are."""
    known = _ids_of(type(record))
    count = len(known.ids)
    if known.read is not None:
        lines.append(known.template % known.read(record))
    for _, read in known.inside.values():
        value = read(record)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Struct):
                count += _join_ids(item, lines)
    return count


def malformed_id(record: Struct) -> str | None:
    """Return the path of an id, in a value that was decoded, that does not have the form of its kind."""
    return None if are_well_formed((record,)) else next(_malformed_ids(record))


def _malformed_ids(record: Struct) -> Iterator[str]:
    known = _ids_of(type(record))
    for path, (outside, letter) in known.ids.items():
        line = f"{letter}{attrgetter(path)(record)}\n"
        if line.count("\n") > 1 or not _JOINED.fullmatch(line):
            yield outside
    for outside, read in known.inside.values():
        value = read(record)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Struct):
                yield from (f"{outside}.{inner}" for inner in _malformed_ids(item))
