"""Outputs: history, what still counts, and the notes along a path."""

from __future__ import annotations

import pytest
from drawn_sessions import stories
from effort import times
from hypothesis import given, settings
from sample_sessions import Story

from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.events import NodeOutputAppended, event_from
from pytest_workrail.engine.projections.session_facts import project_outputs


def with_outputs(*outputs):
    """A started session whose root node has these outputs: (id, supersedes, channel)."""
    story = Story()
    story.start()
    events = list(story.truth.events)
    for output_id, supersedes, channel in outputs:
        notes = {"payloadKind": "notes", "notesMarkdown": output_id}
        artifact = {"payloadKind": "artifact_ref", "sha256": "sha256:" + "0" * 64, "contentType": "x", "byteLength": 0}
        data = {"outputId": output_id, "outputChannel": channel, "payload": notes if channel == "recap" else artifact}
        if supersedes is not None:
            data["supersedesOutputId"] = supersedes
        wire = {
            **events[2].to_wire(),
            "kind": "node_output_appended",
            "eventIndex": len(events),
            "dedupeKey": f"output:{len(events)}",
            "data": data,
        }
        events.append(event_from(wire).value)
    return story, tuple(events)


def ids(outputs):
    return [output.data.output_id for output in outputs]


def test_what_is_superseded_is_history():
    story, events = with_outputs(
        ("a", None, "recap"), ("b", "a", "recap"), ("x", None, "artifact"), ("c", "b", "recap"), ("d", None, "recap")
    )
    outputs = project_outputs(events).value.by_node[story.root]
    assert ids(outputs.history) == ["a", "b", "x", "c", "d"]
    assert ids(outputs.current) == ["x", "c", "d"]


@pytest.mark.parametrize(
    "outputs",
    [
        [("a", "nothing", "recap")],
        [("a", "b", "recap"), ("b", None, "recap")],
        [("a", "a", "recap")],
        [("a", None, "recap"), ("b", "a", "artifact")],
    ],
    ids=["unknown", "later", "itself", "other channel"],
)
def test_superseding_anything_but_an_earlier_output_of_the_channel_is_corruption(outputs):
    assert project_outputs(with_outputs(*outputs)[1]).error.code == "PROJECTION_CORRUPTION_DETECTED"


def test_a_circle_is_a_violation():
    outputs = [("a", None, "recap"), ("b", "a", "recap"), ("a", "b", "recap")]
    assert project_outputs(with_outputs(*outputs)[1]).error.code == "PROJECTION_INVARIANT_VIOLATION"


def test_superseding_an_output_of_another_node_is_corruption():
    story = Story()
    first = story.start()
    second = story.advance(first, "notes")
    story.advance(second, "more")
    events = list(story.truth.events)
    place = max(at for at, event in enumerate(events) if isinstance(event, NodeOutputAppended))
    earlier = next(event.data.output_id for event in events if isinstance(event, NodeOutputAppended))
    wire = events[place].to_wire()
    wire["data"]["supersedesOutputId"] = earlier
    events[place] = event_from(wire).value
    assert project_outputs(tuple(events)).error.code == "PROJECTION_CORRUPTION_DETECTED"


def test_two_current_recaps_of_one_attempt_are_corruption():
    name = keys.recap_output_id("attempt_" + "a" * 26)
    assert (
        project_outputs(with_outputs((name, None, "recap"), (name, None, "recap"))[1]).error.code
        == "PROJECTION_CORRUPTION_DETECTED"
    )
    other = f"{name}_corrected"
    assert project_outputs(with_outputs((name, None, "recap"), (other, name, "recap"))[1]).is_ok


def test_each_branch_keeps_its_own_notes():
    story = Story()
    first = story.start()
    second = story.advance(first, "n-first")
    third = story.advance(second, "n-second")
    other = story.advance(second, "n-second-alt")
    outputs, run = project_outputs(story.truth.events).value, story.run
    assert [recap.text for recap in outputs.path_recaps(run.lineage(third))] == ["n-first", "n-second"]
    assert [recap.text for recap in outputs.path_recaps(run.lineage(other))] == ["n-first", "n-second-alt"]
    assert len(outputs.by_node[second].current) == 2


def test_the_notes_of_a_retry_belong_to_the_blocked_node():
    story = Story()
    first = story.start()
    stuck = story.block(first, artifacts=[1])
    after = story.advance(stuck, "finally")
    outputs, run = project_outputs(story.truth.events).value, story.run
    assert [recap.text for recap in outputs.path_recaps(run.lineage(after))] == ["finally"]
    assert [payload.content for payload in outputs.by_node[first].artifacts()] == [1]


def test_indexes_out_of_order_are_the_caller_s_business():
    assert project_outputs(with_outputs()[1][::-1]).error.code == "PROJECTION_INVARIANT_VIOLATION"
    assert project_outputs(()).value.by_node == {}


@given(stories())
@settings(deadline=None, max_examples=times(25, deep=160))
def test_a_path_tells_each_advance_once_in_order(story):
    outputs, run = project_outputs(story.truth.events).value, story.run
    for node in run.nodes:
        indexes = [recap.event_index for recap in outputs.path_recaps(run.lineage(node))]
        assert indexes == sorted(set(indexes))
        assert len(indexes) <= len(run.lineage(node)) - 1
