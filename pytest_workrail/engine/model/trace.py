"""The decision trace: how the next step was chosen, and which steps were passed over."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from pytest_workrail.engine.model.base import (
    Closed,
    Index,
    NonEmpty,
    Value,
)
from pytest_workrail.engine.model.blockers import Unmet
from pytest_workrail.engine.model.ids import SafeId, StepId
from pytest_workrail.engine.model.step_keys import LoopPosition
from pytest_workrail.engine.model.words import (
    MAX_SKIPPED_ENTRIES,
    MAX_TRACE_ENTRIES,
    MAX_TRACE_REFS,
    MAX_TRACE_SUMMARY_BYTES,
    MAX_TRACE_TOTAL_BYTES,
    TraceKind,
)
from workrail_lint.base import js


class StepRef(Closed, frozen=True, tag_field="kind", tag="step_id"):
    """A step."""

    step_id: StepId


class LoopRef(Closed, frozen=True, tag_field="kind", tag="loop_id"):
    """A loop."""

    loop_id: SafeId


class ConditionRef(Closed, frozen=True, tag_field="kind", tag="condition_id"):
    """A condition."""

    condition_id: NonEmpty


class IterationRef(Closed, frozen=True, tag_field="kind", tag="iteration"):
    """An iteration, counted from zero."""

    value: Index


TraceRef: TypeAlias = StepRef | LoopRef | ConditionRef | IterationRef


class TraceEntry(Value, frozen=True):
    """One decision on the way to the next step. Its budgets are checked where entries are stored."""

    kind: TraceKind
    summary: NonEmpty
    refs: Annotated[tuple[TraceRef, ...], Meta(max_length=MAX_TRACE_REFS)] | None = None


class SkippedStep(Closed, frozen=True, kw_only=True):
    """A step or loop that was passed over, and what kept it from being chosen; `loop` is the pass around the step."""

    step_id: StepId
    loop: LoopPosition | None = None
    # unset: setting unset variables would do. value: only other values would. never: nothing would.
    because: Literal["unset", "value", "never"]
    unmet: tuple[Unmet, ...]

    @property
    def is_plain(self) -> bool:
        return False


class SkippedList(Struct, frozen=True):
    """The recorded skips of a selection, within its budget; `omitted` counts the steps left out."""

    entries: tuple[SkippedStep, ...] = ()
    omitted: int = 0


NOTHING_SKIPPED = SkippedList()


class DecisionTraceData(Value, frozen=True):
    """How the next step was chosen. `skipped` is there when steps were passed over and the profile records it."""

    trace_id: NonEmpty
    entries: Annotated[tuple[TraceEntry, ...], Meta(min_length=1, max_length=MAX_TRACE_ENTRIES)]
    skipped: Annotated[tuple[SkippedStep, ...], Meta(max_length=MAX_SKIPPED_ENTRIES)] | None = None
    skipped_omitted: Index | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.entries) <= MAX_TRACE_ENTRIES:
            raise ValueError(f"a trace holds between 1 and {MAX_TRACE_ENTRIES} entries")
        total = 0
        for entry in self.entries:
            size = js.u8_length(entry.summary)
            if size > MAX_TRACE_SUMMARY_BYTES:
                raise ValueError(f"a summary must not exceed {MAX_TRACE_SUMMARY_BYTES} bytes")
            total += size
        if total > MAX_TRACE_TOTAL_BYTES:
            raise ValueError(f"summaries must not exceed {MAX_TRACE_TOTAL_BYTES} bytes together")

    @property
    def is_plain(self) -> bool:
        return self.skipped is None
