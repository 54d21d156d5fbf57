"""Locks of the engine and its store that no other test looks at closely enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from crash_files import RecordingFiles
from protocol_bench import WORKSPACE, Bench, quiet, step, workflow
from sample_sessions import Story, tell_short

from pytest_workrail.engine.core.criteria import Validation
from pytest_workrail.engine.core.outcomes import within_budget
from pytest_workrail.engine.core.outputs import stored_notes, stored_validation
from pytest_workrail.engine.core.prompts import FixContext
from pytest_workrail.engine.model import events as payloads
from pytest_workrail.engine.model.blockers import Blocker, BlockerReport, WorkflowStepPointer
from pytest_workrail.engine.model.events import event_from
from pytest_workrail.engine.model.reasons import FollowupRequired, MissingNotes, blocker_report
from pytest_workrail.engine.model.step_keys import LoopPosition, parse_step_key, step_key
from pytest_workrail.engine.model.trace import DecisionTraceData, StepRef, TraceEntry
from pytest_workrail.engine.projections.dag import project_dag
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.filesystem import Holder, on_files
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy
from workrail_lint.base.js import u8_length


def test_an_append_writes_and_syncs_its_manifest_once() -> None:
    """@enforces single-manifest-fsync"""
    files = RecordingFiles()
    story = tell_short(Story(on_files(files, FixedClock(), SeededEntropy("once"), Holder(1, "main", "one"))))
    manifest = layout.manifest(story.session_id)
    done = Counter(op.name for op in files.ops if op.path == manifest)
    assert (done["write"], done["sync"]) == (len(story.plans), len(story.plans))
    assert len(story.truth.manifest) > len(story.plans), "each plan closes a segment and pins something"


def test_only_an_advance_appends() -> None:
    """@enforces advance-append-capable
    @enforces rehydrate-pure-no-writes
    """
    bench = Bench(workflow("small", quiet("one"), quiet("two")))
    bench.start()
    before = bench.events
    bench.look("CT1")
    bench.go("CT1")
    bench.engine.resume_session({"workspacePath": WORKSPACE})
    assert bench.events == before
    bench.advance("CT1")
    assert bench.events[: len(before)] == before
    assert len(bench.events) > len(before)


def test_a_replay_knows_nothing_of_what_came_later() -> None:
    """@enforces replay-fact-returning"""
    steps = (quiet("one"), step("two", "Two", "Two."), step("three", "Three", "Three."))
    bench = Bench(workflow("small", *steps))
    bench.start()
    first = bench.advance("CT1")
    assert first["pending"]["prompt"] == "Two.⟪NOTES_FULL⟫", "nobody has written notes yet"
    assert bench.go("CT2", notes="now there are notes")["kind"] == "ok"
    events = bench.events
    assert bench.advance("CT1") == first
    assert bench.events == events


def test_each_run_of_a_session_has_its_own_preferred_tip() -> None:
    """@enforces preferred-tip-per-run"""
    one, other = tell_short(Story(seed="one")), tell_short(Story(seed="other"))
    moved = [
        event_from(
            {
                **event.to_wire(),
                "sessionId": one.session_id,
                "eventIndex": event.event_index + one.truth.next_index,
                "dedupeKey": f"other:{event.event_index}",
            }
        ).value
        for event in other.truth.events
        if event.kind != "session_created"
    ]
    moved = [event.replaced(event_index=event.event_index - 1) for event in moved]
    runs = project_dag((*one.truth.events, *moved)).value
    assert {run_id: run.preferred_tip for run_id, run in runs.items()} == {
        one.run_id: one.run.preferred_tip,
        other.run_id: other.run.preferred_tip,
    }


@pytest.mark.parametrize("path", [(), (LoopPosition("refine", 0),), (LoopPosition("a", 3), LoopPosition("b-c", 12))])
def test_a_step_key_can_be_taken_apart(path: tuple[LoopPosition, ...]) -> None:
    """@enforces step-instance-key-format"""
    assert parse_step_key(step_key("plan.draft_1", path)).value == ("plan.draft_1", path)


LONG = "é" * 6000
POINTER = WorkflowStepPointer(step_id="one")
FIXES = FixContext({})


def a_blocker(message: str = "m", fix: str = "f") -> Blocker:
    return Blocker(code="MISSING_REQUIRED_NOTES", pointer=POINTER, message=message, suggested_fix=fix)


# What is too long, what a record makes of it, and what the engine makes of it.
BUDGETS: dict[str, tuple[Callable[[], object], Callable[[], int], int]] = {
    "notes": (
        lambda: payloads.NotesPayload(notes_markdown=LONG),
        lambda: u8_length(stored_notes(LONG) or ""),
        4096,
    ),
    "trace entries": (
        lambda: DecisionTraceData(trace_id="t", entries=(TraceEntry(kind="entered_loop", summary="s"),) * 26),
        lambda: len(within_budget([TraceEntry("entered_loop", "s", ())] * 40)),
        25,
    ),
    "trace entry": (
        lambda: DecisionTraceData(trace_id="t", entries=(TraceEntry(kind="entered_loop", summary=LONG),)),
        lambda: u8_length(within_budget([TraceEntry("entered_loop", LONG, (StepRef("one"),))])[0].summary),
        512,
    ),
    "trace": (
        lambda: DecisionTraceData(trace_id="t", entries=(TraceEntry(kind="entered_loop", summary="x" * 512),) * 17),
        lambda: sum(u8_length(e.summary) for e in within_budget([TraceEntry("entered_loop", LONG, ())] * 25)),
        8192,
    ),
    "blockers": (
        lambda: BlockerReport(blockers=(a_blocker(),) * 11),
        lambda: len(blocker_report([MissingNotes(f"step-{n}") for n in range(30)], FIXES)),
        10,
    ),
    "blocker message": (
        lambda: a_blocker(message=LONG),
        lambda: u8_length(blocker_report([FollowupRequired("a", "d", LONG, "g")], FIXES)[0].message),
        512,
    ),
    "blocker fix": (
        lambda: a_blocker(fix=LONG),
        lambda: u8_length(blocker_report([FollowupRequired("a", "d", "l", LONG)], FIXES)[0].suggested_fix),
        1024,
    ),
    "validation issue": (
        lambda: payloads.ValidationResult(valid=False, issues=(LONG,), suggestions=()),
        lambda: u8_length(stored_validation(Validation(False, (LONG,))).issues[0]),
        512,
    ),
    "validation suggestion": (
        lambda: payloads.ValidationResult(valid=False, issues=(), suggestions=(LONG,)),
        lambda: u8_length(stored_validation(Validation(False, (), (LONG,))).suggestions[0]),
        1024,
    ),
    "validation issues": (
        lambda: payloads.ValidationResult(valid=False, issues=("x" * 512,) * 9, suggestions=()),
        lambda: sum(
            map(u8_length, stored_validation(Validation(False, tuple(f"{n:03}" * 170 for n in range(20)))).issues)
        ),
        4096,
    ),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_every_budget_is_kept_by_the_record_and_by_its_maker(name: str) -> None:
    """@enforces budget-enforcement"""
    recorded, measured, limit = BUDGETS[name]
    with pytest.raises(ValueError, match=r"must not exceed|between 1 and"):
        recorded()
    assert 0 < measured() <= limit
