"""A decision trace keeps its budget."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.engine.core.outcomes import Tracer, within_budget
from pytest_workrail.engine.model.step_keys import TRUNCATION_MARKER
from pytest_workrail.engine.model.trace import StepRef, TraceEntry
from workrail_lint.base import js


def _entries(*summaries: str) -> list[TraceEntry]:
    return [TraceEntry("selected_next_step", summary, (StepRef("s"),)) for summary in summaries]


# @enforces decision-trace-bounded
@pytest.mark.parametrize(
    ("summary", "sizes"),
    [
        ("x" * 600, [512] * 16),
        ("é" * 300, [511] * 16),
        ("x" * 400, [400] * 20 + [192]),
        ("x" * 330, [330] * 24 + [272]),
        ("x", [1] * 25),
    ],
)
def test_golden_vectors(summary: str, sizes: list[int]) -> None:
    kept = within_budget(_entries(*[summary] * 30))
    assert [js.u8_length(entry.summary) for entry in kept] == sizes


@settings(deadline=None)
@given(st.lists(st.text(max_size=700), max_size=40))
def test_whatever_comes_fits(summaries: list[str]) -> None:
    kept = within_budget(_entries(*summaries))
    assert len(kept) <= 25
    assert sum(js.u8_length(entry.summary) for entry in kept) <= 8192
    for entry, original in zip(kept, summaries, strict=False):
        assert js.u8_length(entry.summary) <= 512
        assert entry.summary == original or entry.summary.endswith(TRUNCATION_MARKER)


@settings(deadline=None)
@given(st.lists(st.text(max_size=700), max_size=40))
def test_a_tracer_that_stops_listening_loses_nothing(summaries: list[str]) -> None:
    tracer = Tracer()
    for entry in _entries(*summaries):
        tracer.add(entry)
    assert tracer.entries() == within_budget(_entries(*summaries))


def test_entries_as_json() -> None:
    assert _entries("Next.")[0].to_wire() == {
        "kind": "selected_next_step",
        "summary": "Next.",
        "refs": [{"kind": "step_id", "stepId": "s"}],
    }


def test_a_tracer_keeps_no_more_than_can_count() -> None:
    tracer = Tracer()
    for number in range(60):
        assert tracer.is_full is (number >= 25)
        tracer.record("selected_next_step", str(number))
    assert len(tracer._entries) == 25
    assert [entry.summary for entry in tracer.entries()] == [str(number) for number in range(25)]
