"""The run DAG and the tip work goes on from.

@enforces runs-are-dags
@enforces preferred-tip-per-run
@enforces preferred-tip-algorithm
@enforces preferred-tip-no-timestamps
@enforces non-tip-advance-creates-fork
"""

from __future__ import annotations

from drawn_sessions import stories
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_sessions import Story, long_story

from pytest_workrail.engine.model.events import EdgeCreated, NodeCreated, RunStarted, event_from
from pytest_workrail.engine.projections.dag import project_dag
from pytest_workrail.engine.projections.incremental import ProjectionError
from pytest_workrail.engine.projections.session_facts import run_context
from workrail_lint.base.result import Err, Ok

NOWHERE = "node_" + "a" * 26


def changed(events, which, edit):
    """The events with the first one that `which` picks replaced by an edited copy."""
    place = next(at for at, event in enumerate(events) if which(event))
    value = events[place].to_wire()
    edit(value)
    return (*events[:place], event_from(value).value, *events[place + 1 :])


def corrupt(events):
    error = project_dag(events).error
    assert error.code == "PROJECTION_CORRUPTION_DETECTED"
    return error.message


def test_a_linear_run():
    story = Story()
    first = story.start()
    second = story.advance(first)
    third = story.advance(second)
    run = story.run
    assert list(run.nodes) == [first, second, third]
    assert [(edge.source, edge.target, edge.kind, edge.cause) for edge in run.edges] == [
        (first, second, "acked_step", "intentional_fork"),
        (second, third, "acked_step", "intentional_fork"),
    ]
    assert run.tips == (third,)
    assert run.preferred_tip == third
    assert run.lineage(third) == (first, second, third)
    assert run.children(first) == (second,)
    assert run.started.workflow_id == "demo-linear"
    assert [node.kind for node in run.nodes.values()] == ["step", "step", "step"]


def test_a_fork_and_its_cause():
    story = Story()
    first = story.start()
    one = story.advance(first)
    other = story.advance(first)
    run = story.run
    assert [edge.cause for edge in run.edges] == ["intentional_fork", "non_tip_advance"]
    assert run.tips == tuple(sorted([one, other]))
    assert run.children(first) == (one, other)
    # Both tips share the newest activity through their common ancestor: the later one wins.
    assert run.preferred_tip == other
    # Working on the older branch brings it back.
    story.prefer(one, "guided")
    assert story.run.preferred_tip == one
    below = story.advance(one)
    assert story.run.preferred_tip == below


def test_of_tips_with_the_same_activity_the_newer_one_is_preferred():
    for seed in ("one", "two", "three"):  # whichever id is the smaller one
        story = Story(seed=seed)
        first = story.start()
        shared = story.advance(first)
        story.advance(shared)
        newer = story.advance(shared)
        elsewhere = story.advance(first)
        assert story.run.preferred_tip == elsewhere
        story.prefer(shared, "guided")
        assert story.run.preferred_tip == newer


def test_a_checkpoint_makes_its_node_a_non_tip():
    story = Story()
    first = story.start()
    mark = story.checkpoint(first)
    run = story.run
    assert run.tips == (mark,)
    assert run.preferred_tip == mark
    assert run.nodes[mark].snapshot_ref == run.nodes[first].snapshot_ref
    assert run.advance_cause(first) == "non_tip_advance"
    assert run.advance_cause(mark) == "intentional_fork"


def test_chains_of_blocked_attempts():
    story = Story()
    first = story.start()
    one = story.block(first)
    two = story.block(one)
    after = story.advance(two)
    fresh = story.block(first)
    run = story.run
    assert [run.blocked_chain(node) for node in (first, one, two, after, fresh)] == [0, 1, 2, 0, 1]


def test_no_events_no_runs_and_a_run_without_nodes_has_no_tip():
    assert project_dag(()) == Ok({})
    story = Story()
    story.start()
    (run,) = project_dag(story.truth.events[:2]).value.values()
    assert (run.tips, run.preferred_tip) == ((), None)


def test_the_order_of_indexes_is_the_caller_s_business():
    events = long_story().truth.events
    assert project_dag(events[::-1]).error.code == "PROJECTION_INVARIANT_VIOLATION"
    assert project_dag((events[0], events[0])).error.code == "PROJECTION_INVARIANT_VIOLATION"


def test_contradictions_are_corruption():
    events = long_story().truth.events

    def is_child(event):
        return isinstance(event, NodeCreated) and event.data.parent_node_id is not None

    def is_edge(event):
        return isinstance(event, EdgeCreated)

    def set_data(name, value):
        return lambda wire: wire["data"].update({name: value})

    assert "parent" in corrupt(changed(events, is_child, set_data("parentNodeId", NOWHERE)))
    assert "unknown" in corrupt(changed(events, is_edge, set_data("toNodeId", NOWHERE)))
    assert "unknown" in corrupt(changed(events, is_edge, set_data("fromNodeId", NOWHERE)))
    own_end = changed(events, is_edge, lambda wire: wire["data"].update(fromNodeId=wire["data"]["toNodeId"]))
    assert "not its parent" in corrupt(own_end)


def test_the_same_thing_twice():
    story = Story()
    story.start()
    events = story.truth.events
    last = events[-1].event_index

    def again(which, **data):
        wire = next(event for event in events if isinstance(event, which)).to_wire()
        wire["eventIndex"] = last + 1
        wire["data"].update(data)
        return (*events, event_from(wire).value)

    assert project_dag(again(RunStarted)).is_ok
    assert "two workflows" in corrupt(again(RunStarted, workflowHash="sha256:" + "0" * 64))
    same = project_dag(again(NodeCreated)).value
    assert same[story.run_id].nodes[story.root].created_index == 2
    assert "twice" in corrupt(again(NodeCreated, nodeKind="checkpoint"))


def preferred_by_definition(story):
    """The definition, word for word, without any shortcut."""
    events, run = story.truth.events, story.run

    def activity(node):
        indexes = [run.nodes[node].created_index]
        indexes += [edge.created_index for edge in run.edges if node in (edge.source, edge.target)]
        indexes += [event.event_index for event in events if event.scope and event.scope.node_id == node]
        return max(indexes)

    def score(tip):
        return max(activity(node) for node in run.lineage(tip))

    ranked = sorted(run.tips)
    ranked.sort(key=lambda tip: run.nodes[tip].created_index, reverse=True)
    ranked.sort(key=score, reverse=True)
    return ranked[0]


@given(stories(max_size=12))
@settings(deadline=None, max_examples=times(40, deep=320))
def test_the_preferred_tip_is_the_defined_one(story):
    assert story.run.preferred_tip == preferred_by_definition(story)


@given(stories(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=times(25, deep=160))
def test_clocks_decide_nothing(story, chance):
    events = story.truth.events
    other = tuple(event.replaced(timestamp_ms=chance.randint(1, 10**12)) for event in events)
    assert project_dag(other) == project_dag(events)


@given(stories())
@settings(deadline=None, max_examples=times(25, deep=160))
def test_every_run_is_a_tree_of_its_parents(story):
    run = story.run
    for node in run.nodes.values():
        path = run.lineage(node.node_id)
        assert path[0] == story.root
        assert len(set(path)) == len(path)
        assert (node.node_id in run.tips) == (run.children(node.node_id) == ())
    assert {edge.target for edge in run.edges} == set(run.nodes) - {story.root}


def test_errors_are_values():
    assert project_dag(long_story().truth.events[::-1]) == Err(
        ProjectionError("PROJECTION_INVARIANT_VIOLATION", "event 39 comes after event 40")
    )


def test_any_log_that_ends_with_a_plan_projects():
    story = long_story()
    for plan in story.plans:
        assert project_dag(story.truth.events[: plan.events[-1].event_index + 1]).is_ok


def test_logs_that_differ_only_in_what_python_calls_equal_are_told_apart():
    """Python says that true equals 1; whoever remembers readings must not take one log for the other."""

    def context(value):
        story = Story(seed="same")
        story.advance(story.start(), context={"flag": value})
        return run_context(story.truth.events, story.run_id)["flag"]

    assert context(True) is True
    assert context(1) is not True


@given(stories(max_size=10))
@settings(deadline=None, max_examples=times(25, deep=160))
def test_reading_on_gives_what_reading_anew_gives(story):
    events = story.truth.events
    for plan in story.plans:
        so_far = events[: plan.events[-1].event_index + 1]
        # Copies are equal but not the same, so nothing that was read before can be read on from.
        assert project_dag(so_far) == project_dag(tuple(event.replaced() for event in so_far))
