"""Gaps, preferences and the status of a run.

@enforces gaps-append-only-resolution
@enforces preferences-node-attached
@enforces run-status-closed-set
"""

from __future__ import annotations

from typing import get_args

import pytest
from sample_sessions import Story

from pytest_workrail.engine.model.blockers import GapReason, GapRecordedData, Resolves, Unresolved
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.engine.projections.dag import project_dag
from pytest_workrail.engine.projections.session_facts import RunStatus, effective_preferences, project_gaps, run_status

CONTRACT = GapReason("contract_violation", "missing_required_output")


def gap(gap_id, reason=CONTRACT, severity="critical", resolves=None):
    return GapRecordedData(
        gap_id=gap_id,
        severity=severity,
        reason=reason,
        summary="s",
        resolution=Unresolved() if resolves is None else Resolves(resolves_gap_id=resolves),
    )


def status(story):
    run = story.run
    snapshot = story.home.stores.snapshots.get(run.nodes[run.preferred_tip].snapshot_ref).value
    return run_status(story.truth.events, run, snapshot).value


def at(story, node):
    return effective_preferences(story.truth.events, story.run, node).value.autonomy


def test_a_gap_is_resolved_by_a_later_one_and_never_edited():
    story = Story()
    node = story.advance(story.start(), gaps=lambda a: [gap("one"), gap("two"), gap("low", severity="warning")])
    before = story.truth.events
    assert [g.data.gap_id for g in project_gaps(before).unresolved_critical(story.run_id)] == ["one", "two"]
    story.advance(node, gaps=lambda a: [gap("fix", severity="info", resolves="one")])
    gaps = project_gaps(story.truth.events)
    assert gaps.resolved == {"one"}
    assert [g.data.gap_id for g in gaps.unresolved_critical(story.run_id)] == ["two"]
    assert [g.data.gap_id for g in gaps.of_run(story.run_id)] == ["one", "two", "low", "fix"]
    assert story.truth.events[: len(before)] == before


def test_what_resolves_is_no_open_gap_itself():
    story = Story()
    story.advance(story.start(), gaps=lambda a: [gap("one"), gap("fix", resolves="one")])
    assert project_gaps(story.truth.events).unresolved_critical(story.run_id) == []


def test_of_two_gaps_with_one_id_the_later_counts():
    story = Story()
    story.advance(story.start(), gaps=lambda a: [gap("one")])
    events = story.truth.events
    first = next(event for event in events if event.kind == "gap_recorded")
    later = first.replaced(event_index=len(events), data=gap("one", severity="warning"), dedupe_key="gap:again")
    gaps = project_gaps((*events, later))
    assert gaps.by_id["one"].data.severity == "warning"
    assert gaps.unresolved_critical(story.run_id) == []


def test_preferences_follow_the_path():
    story = Story()
    first = story.start()
    second = story.advance(first)
    story.prefer(second, "full_auto_never_stop", "one")
    third = story.advance(second)
    sibling = story.advance(first)
    assert [at(story, node) for node in (first, second, third, sibling)] == [
        "guided",
        "full_auto_never_stop",
        "full_auto_never_stop",
        "guided",
    ]
    story.prefer(second, "full_auto_stop_on_user_deps", "two")
    assert at(story, third) == "full_auto_stop_on_user_deps"
    story.prefer(first, "full_auto_never_stop", "three")
    assert at(story, sibling) == "full_auto_never_stop"
    assert at(story, third) == "full_auto_stop_on_user_deps"


def test_without_any_word_the_defaults_hold_and_strangers_are_refused():
    story = Story()
    first = story.start()
    silent = tuple(event for event in story.truth.events if event.kind != "preferences_changed")
    assert effective_preferences(silent, story.run, first).value == Preferences("guided", "conservative")
    stranger = effective_preferences(silent, story.run, "node_" + "a" * 26)
    assert stranger.error.code == "PROJECTION_INVARIANT_VIOLATION"


def test_statuses():
    story = Story()
    first = story.start()
    assert status(story) == "in_progress"
    stuck = story.block(first)
    assert status(story) == "blocked"
    after = story.advance(stuck)
    assert status(story) == "in_progress"
    story.advance(after, ends=True)
    assert status(story) == "complete"


def test_a_run_that_never_stops_is_not_blocked():
    story = Story()
    stuck = story.block(story.start(autonomy="full_auto_never_stop"))
    assert status(story) == "in_progress"
    story.prefer(stuck, "guided")
    assert status(story) == "blocked"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (CONTRACT, "blocked"),
        (GapReason("capability_missing", "required_capability_unknown"), "blocked"),
        (GapReason("user_only_dependency", "needs_user_choice"), "blocked"),
        (GapReason("unexpected", "evaluation_error"), "in_progress"),
    ],
)
def test_which_open_gaps_stop_a_guided_run(reason, expected):
    story = Story()
    node = story.advance(story.start(), gaps=lambda a: [gap("one", reason)])
    assert status(story) == expected
    story.prefer(node, "full_auto_never_stop")
    assert status(story) == "in_progress"


def test_complete_comes_first_and_discloses_gaps():
    story = Story()
    story.advance(story.start(), ends=True, gaps=lambda a: [gap("one")])
    assert status(story) == "complete_with_gaps"
    other = Story()
    other.advance(other.start(), ends=True, gaps=lambda a: [gap("low", severity="warning")])
    assert status(other) == "complete"


def test_a_run_without_nodes_has_no_status():
    story = Story()
    story.start()
    run = project_dag(story.truth.events[:2]).value[story.run_id]
    snapshot = story.home.stores.snapshots.get(story.run.nodes[story.root].snapshot_ref).value
    assert run_status(story.truth.events, run, snapshot).error.code == "PROJECTION_INVARIANT_VIOLATION"


def test_the_closed_set():
    assert set(get_args(RunStatus)) == {"in_progress", "blocked", "complete", "complete_with_gaps"}
