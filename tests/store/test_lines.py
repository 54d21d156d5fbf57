"""The lines of a segment: canonical JSON, however they are written, and nothing that a caller could still change."""

from __future__ import annotations

from itertools import count

import pytest

from pytest_workrail.engine.model.base import record_line
from pytest_workrail.engine.model.events import NodeOutputData, NotesPayload
from pytest_workrail.engine.model.ids import IdMint
from pytest_workrail.engine.model.trace import DecisionTraceData
from pytest_workrail.engine.store.log import prepare
from pytest_workrail.engine.store.plan import EventBuilder, SessionTruth, Step, advance_plan

_numbers = count()
_MINT = IdMint(lambda size: next(_numbers).to_bytes(size, "big"))
_HASH = "sha256:" + "0" * 64


def _plan(notes: str, skipped: list[object] | None):
    session, run = _MINT.session(), _MINT.run()
    builder = EventBuilder(session, run, first_index=0, timestamp_ms=1, new_event_id=_MINT.event)
    trace = {"traceId": "trace_x", "entries": [{"kind": "selected_next_step", "summary": notes, "refs": []}]}
    step = Step(_MINT.node(), _MINT.attempt(), _MINT.node(), _HASH, _HASH, "intentional_fork")
    return session, advance_plan(
        builder,
        step,
        trace=DecisionTraceData.from_wire(trace if skipped is None else {**trace, "skipped": skipped}),
        outputs=[
            NodeOutputData(output_id="out", output_channel="recap", payload=NotesPayload(notes_markdown=notes)),
        ],
    )


@pytest.mark.parametrize("notes", ["plain", 'quoted "twice" \\', "line\nend\u2028", "wide 😀 é", "half \ud800"])
def test_a_line_is_the_canonical_form_of_its_event(notes: str) -> None:
    session, plan = _plan(notes, None)
    prepared = prepare(session, SessionTruth(), plan).value
    assert len(plan.events) == 5
    assert prepared.segment == b"".join(map(record_line, plan.events))
    assert prepared.events == plan.events


def test_what_a_trace_quotes_from_the_context_is_written_canonically_and_kept_apart() -> None:
    held = [1.0, 1e21]
    unmet = {"variable": "x", "operator": "equals", "expected": 2, "actual": {"kind": "value", "value": held}}
    session, plan = _plan("n", [{"stepId": "later", "because": "value", "unmet": [unmet]}])
    prepared = prepare(session, SessionTruth(), plan).value
    assert prepared.segment == b"".join(map(record_line, plan.events))
    assert b'"value":[1,1e+21]' in prepared.segment
    held.append(3.0)
    assert prepared.events[1].data.skipped[0].unmet[0].actual.value == [1, 1e21]
