"""Rules of the model that a new class can't forget: each test names what is missing."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec import NODEFAULT, UNSET

from pytest_workrail.engine.core.interpreter import Running, snapshot_of
from pytest_workrail.engine.core.prompts import FixContext
from pytest_workrail.engine.model import lenient, manifest, snapshot
from pytest_workrail.engine.model.base import StoredRecord, Value, canonical
from pytest_workrail.engine.model.blockers import BlockerReport, GapReason
from pytest_workrail.engine.model.events import EVENT_TYPES, Envelope, HostEvent, read_event
from pytest_workrail.engine.model.ids import AttemptId
from pytest_workrail.engine.model.lenient import UnknownEvent, read_any_event, widened
from pytest_workrail.engine.model.reasons import HEADINGS, REASONS, Reason, RetryableReason, TerminalReason
from pytest_workrail.engine.model.snapshot import BlockedState, RetryableBlock, TerminalBlock, read_snapshot
from pytest_workrail.engine.model.step_keys import StepInstance
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.systems.workrail.blocker_codes import BlockerCode

sys.path.append(str(Path(__file__).parents[1] / "events"))
from event_samples import ATTEMPT, DATA, sample  # type: ignore[import-not-found]

MODEL = "pytest_workrail.engine.model."

ENGINE = Path(__file__).resolve().parents[2] / "pytest_workrail" / "engine"


def subclasses(kind: type) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def values() -> list[type[Value]]:
    """Every class of the model, without those derived for lenient reading."""
    derived = {kind for each in subclasses(Value) for kind in [each] if kind.__bases__[0].__name__ == kind.__name__}
    return [kind for kind in subclasses(Value) if kind.__module__.startswith(MODEL) and kind not in derived]


def leaves(base: type) -> list[type[Value]]:
    """The classes of which there are values: nothing is derived from them."""
    known = values()
    parents = {each for kind in known for each in kind.__bases__}
    return [kind for kind in known if issubclass(kind, base) and kind not in parents]


def test_only_what_may_be_absent_has_a_default() -> None:
    """A value that equals its default is not written, unless its class says so; then nothing may be absent."""
    wrong = []
    for kind in values():
        may_be_absent = kind.__struct_config__.omit_defaults
        for field in msgspec.structs.fields(kind):
            if field.default is NODEFAULT and field.default_factory is NODEFAULT:
                continue
            if (field.default is None or field.default is UNSET) is not may_be_absent:
                wrong.append(f"{kind.__name__}.{field.name}")
    assert wrong == []


def holds_free_json(kind: Any, seen: tuple[Any, ...] = ()) -> bool:
    if kind is Any:
        return True
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = () if kind in seen else msgspec.structs.fields(kind)
        return any(holds_free_json(field.type, (*seen, kind)) for field in fields)
    return any(holds_free_json(each, seen) for each in get_args(kind))


def test_a_class_with_free_json_says_so() -> None:
    """Free JSON must not go through an encoder that spells numbers and sorts names in its own way."""
    silent = [kind.__name__ for kind in values() if holds_free_json(kind) and kind.is_plain is Value.is_plain]
    assert silent == []


def test_a_pattern_ends_where_the_string_does() -> None:
    """`$` would also accept a line feed behind it."""

    def patterns(kind: Any) -> Iterator[str]:
        for meta in getattr(kind, "__metadata__", ()):
            if isinstance(meta, msgspec.Meta) and meta.pattern is not None:
                yield meta.pattern
        inner = getattr(kind, "__supertype__", None)
        for each in (*get_args(kind), *(() if inner is None else (inner,))):
            yield from patterns(each)

    found = {
        (kind.__name__, pattern)
        for kind in values()
        for field in msgspec.structs.fields(kind)
        for pattern in patterns(field.type)
    }
    assert found
    assert [each for each in found if not each[1].endswith(r"\Z")] == []


# ------------------------------------------------------------------------------------------------------------- events


def test_every_kind_of_event_is_in_the_union_and_has_a_sample() -> None:
    assert set(leaves(Envelope)) == set(EVENT_TYPES)
    kinds = {str(kind.__struct_config__.tag) for kind in EVENT_TYPES if not issubclass(kind, HostEvent)}
    assert kinds == set(DATA) - {str(kind.__struct_config__.tag) for kind in subclasses(HostEvent)}


def names_used(*rooms: str) -> set[str]:
    """Return the names that the modules of some rooms of the engine use, beyond importing them."""
    files = [path for room in rooms for path in (ENGINE / room).glob("*.py")]
    return {
        node.id
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name)
    }


def test_every_kind_of_event_is_written_and_read_by_the_engine() -> None:
    own = {kind.__name__ for kind in EVENT_TYPES if not issubclass(kind, HostEvent)}
    only_shown = {"SessionCreated", "AssessmentConsequenceApplied"}  # by `sessions`; the engine decides nothing by them
    missing = [f"nothing writes {name}" for name in sorted(own - names_used("store", "protocol"))]
    missing += [f"no projection reads {name}" for name in sorted(own - only_shown - names_used("projections"))]
    assert missing == []
    assert only_shown & names_used("projections") == set()


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__struct_config__.tag)
def test_every_kind_is_read_strictly_and_leniently_to_the_same_bytes(kind: type[Envelope]) -> None:
    value = sample(str(kind.__struct_config__.tag))
    raw = canonical_bytes(value)
    strict, any_engine = read_event(raw).value, read_any_event(raw).value
    assert type(strict) is type(any_engine) is kind
    assert canonical(strict) == raw
    # What another engine added, and ids of another form, do not keep anybody from reading it.
    foreign = {**value, "eventId": "another form", "later": {"a": 1.5}}
    read = read_any_event(canonical_bytes(foreign)).value
    assert isinstance(read, kind)
    assert not isinstance(read, UnknownEvent)
    assert (read.kind, read.unknown_members) == (value["kind"], ("later",))
    assert canonical(read) == canonical_bytes(foreign)


def test_an_unknown_event_keeps_its_bytes() -> None:
    for change in ({"kind": "moon_phase_recorded"}, {"v": 2}, {"kind": 7}):
        raw = canonical_bytes({**sample("node_created"), **change})
        read = read_any_event(raw).value
        assert isinstance(read, UnknownEvent)
        assert canonical_bytes(read.to_wire()) == raw


def test_the_derived_types_take_any_word_and_keep_the_rules() -> None:
    wide = widened(GapReason)
    assert issubclass(wide, GapReason)
    assert msgspec.convert({"category": "new", "detail": "x"}, wide).detail == "x"  # type: ignore[attr-defined]
    for shape in (lenient.ANY_RECORDS, lenient.ANY_SNAPSHOTS):
        assert shape.read_line(b"{}").error.code == "schema_validation_failed"
    closed = {"v": 1, "manifestIndex": 0, "sessionId": "s", "kind": "segment_closed", "sha256": "d", "bytes": 1}
    span = {"firstEventIndex": 0, "lastEventIndex": 1, "segmentRelPath": manifest.segment_path(0, 1)}
    assert lenient.ANY_RECORDS.read_value({**closed, **span}).is_ok
    assert not lenient.ANY_RECORDS.read_value({**closed, **span, "segmentRelPath": "events/x"}).is_ok
    state = {"kind": "complete", "later": True}
    stored = {"v": 1, "kind": "execution_snapshot", "enginePayload": {"v": 1, "engineState": state}}
    assert not snapshot.snapshot_from(stored).is_ok
    kept = lenient.ANY_SNAPSHOTS.read_value(stored).value
    assert (kept.is_complete, kept.to_wire()) == (True, stored)


# ------------------------------------------------------------------------------------------------------------ reasons

LONG = "x" * 3000
SAMPLES: dict[str, Any] = {
    "contract_ref": LONG,
    "step_id": LONG,
    "assessment_id": LONG,
    "dimension_id": LONG + "é",
    "level": LONG,
    "guidance": LONG,
    "key": LONG,
    "loop_id": LONG,
    "iteration": 2**53 - 1,
    "max_iterations": 2**53 - 1,
    "capability": "delegation",
    "detail": "needs_user_approval",
}


def a_reason(kind: type[Reason]) -> Reason:
    """One of a kind, with the longest members an author can write."""
    required = [field.name for field in msgspec.structs.fields(kind) if field.default is NODEFAULT]
    assert [name for name in required if name not in SAMPLES] == [], f"no sample for a member of {kind.__name__}"
    return kind(**{name: SAMPLES[name] for name in required})


def test_every_reason_is_in_a_union_and_every_code_has_a_reason() -> None:
    assert set(leaves(Reason)) == set(REASONS)
    assert {kind for kind in REASONS if kind.is_retryable} == set(get_args(RetryableReason))
    assert {kind for kind in REASONS if not kind.is_retryable} == set(get_args(TerminalReason))
    assert {kind.code for kind in REASONS} == set(get_args(BlockerCode)) == set(HEADINGS)


@pytest.mark.parametrize("kind", REASONS, ids=lambda kind: kind.__name__)
def test_a_reason_says_everything_within_its_budgets_and_survives_a_snapshot(kind: type[Reason]) -> None:
    reason = a_reason(kind)
    blocker = reason.blocker(FixContext({}))
    assert all((kind.heading, blocker.message, blocker.suggested_fix, reason.summary()))
    assert GapReason(*kind.gap_reason).detail
    assert reason.as_gap().recorded("gap").summary == reason.summary()
    report = BlockerReport((blocker,))
    block = (
        RetryableBlock(reason=reason.stored(), blockers=report, retry_attempt_id=AttemptId(ATTEMPT))  # type: ignore[arg-type]
        if kind.is_retryable
        else TerminalBlock(reason.stored(), report)  # type: ignore[arg-type]
    )
    made = snapshot_of(Running(pending=StepInstance("one")), blocked=block)
    state = read_snapshot(made.to_bytes()).value.state
    assert isinstance(state, BlockedState)
    assert (state.blocked.reason, state.blocked.blockers) == (reason.stored(), report)


def test_facts_that_are_not_stored_are_refused_in_a_snapshot() -> None:
    named = {kind: kind.transient for kind in REASONS if kind.transient}
    assert named
    for kind, members in named.items():
        known = {field.name for field in msgspec.structs.fields(kind)}
        assert set(members) <= known, kind
    with_kinds = next(kind for kind, members in named.items() if "kinds" in members)
    made = a_reason(with_kinds).replaced(kinds=("x",))
    with pytest.raises(ValueError, match="not stored"):
        TerminalBlock(made, BlockerReport((made.blocker(FixContext({})),)))  # type: ignore[arg-type]


def test_records_that_are_stored_keep_what_they_do_not_know() -> None:
    assert all(issubclass(kind, StoredRecord) for kind in (*EVENT_TYPES, snapshot.ExecutionSnapshot))
