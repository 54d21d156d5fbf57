"""A log that grew is read from where the last reading ended, and every other log from its start."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from sample_sessions import long_story

from pytest_workrail.engine.model.events import Log
from pytest_workrail.engine.projections.incremental import IncrementalProjection, longer
from workrail_lint.base.result import Ok


@dataclass(frozen=True)
class Reading:
    count: int


@pytest.fixture
def reads() -> tuple[IncrementalProjection[Reading], list[int]]:
    """A projection, and how many events it read each time."""
    sizes: list[int] = []

    def extend(reading: Reading, more: Log) -> Ok[Reading]:
        sizes.append(len(more))
        return Ok(Reading(reading.count + len(more)))

    return IncrementalProjection(lambda: Reading(0), extend), sizes


@pytest.mark.parametrize("is_remembered", [True, False])
def test_only_what_is_new_is_read(reads: tuple[IncrementalProjection[Reading], list[int]], is_remembered: bool) -> None:
    projection, sizes = reads
    events = tuple(long_story().truth.events)
    for end in (4, 6, 7):
        known = longer(events[: end - 1], events[end - 1 : end]) if is_remembered else events[:end]
        assert projection.of(known) == Ok(Reading(end))
        assert projection.of(known) == Ok(Reading(end))
    assert sizes == [4, 2, 1]


def test_the_longest_beginning_counts(reads: tuple[IncrementalProjection[Reading], list[int]]) -> None:
    projection, sizes = reads
    events = tuple(long_story().truth.events)
    for end in (6, 4, 5, 7):
        projection.of(events[:end])
    assert sizes == [6, 4, 1, 1]


def test_a_log_that_only_looks_like_it_is_read_anew(reads: tuple[IncrementalProjection[Reading], list[int]]) -> None:
    projection, sizes = reads
    events, others = tuple(long_story().truth.events), tuple(long_story().truth.events)
    projection.of(events[:4])
    projection.of((*others[:3], *events[3:6]))
    projection.of((*events[:3], others[3], *events[4:6]))
    assert sizes == [4, 6, 6]
