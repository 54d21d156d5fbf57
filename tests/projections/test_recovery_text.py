"""Recovery text: its sections, its order, its budgets, in both profiles."""

from __future__ import annotations

import pytest
from drawn_sessions import stories
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import force_setattr
from sample_sessions import Story

from pytest_workrail.engine.model.events import EdgeCreated, NodeOutputAppended, event_from
from pytest_workrail.engine.model.step_keys import TRUNCATION_MARKER
from pytest_workrail.engine.projections.session_facts import recovery_text

OLDEST, NEWEST = "oldest_first_24k", "newest_first_12k"
BUDGET = {OLDEST: 24576, NEWEST: 12288}
TIER = "\nOmitted 1 lower-priority tier due to budget constraints."
CONTENT = "\nOmitted recovery content due to budget constraints."


def told(story, node, **options):
    return recovery_text(story.truth.events, story.run_id, node, **options)


def size(text):
    return len(text.encode("utf-8", "surrogatepass"))


def linear(*notes):
    story = Story()
    nodes = [story.start()]
    for each in notes:
        nodes.append(story.advance(nodes[-1], each))
    return story, nodes


def test_at_the_root_of_a_fresh_run_there_is_nothing_to_tell():
    story, nodes = linear()
    assert told(story, nodes[0]) == ""
    assert told(story, nodes[0], policy=NEWEST) == ""


def test_what_comes_after_and_what_came_before():
    story, nodes = linear("n1", "n2", "n3")
    assert told(story, nodes[1]) == (
        "## Recovery Context\n\n"
        f"### Branch Summary\nThis node has 1 child. Preferred branch tip: {nodes[3]}\n\n"
        "### Downstream Recap (Preferred Branch)\nn3\n\n"
        "### Ancestry Recap\nn1"
    )
    assert told(story, nodes[3]) == "## Recovery Context\n\n### Ancestry Recap\nn1\n\nn2\n\nn3"
    assert told(story, nodes[0]).endswith("### Downstream Recap (Preferred Branch)\nn2\n\nn3")


def test_newest_first():
    story, nodes = linear("n1", "n2", "n3", "n4")
    assert told(story, nodes[4], policy=NEWEST).endswith("### Ancestry Recap\nn4\n\nn3\n\nn2\n\nn1")
    assert "Preferred Branch)\nn4\n\nn3\n\n### Ancestry" in told(story, nodes[1], policy=NEWEST)


def test_each_branch_is_told_its_own_story():
    story, nodes = linear("n-first", "n-second")
    other = story.advance(nodes[1], "n-second-alt")
    assert told(story, other).endswith("### Ancestry Recap\nn-first\n\nn-second-alt")
    assert told(story, nodes[2]).endswith("### Ancestry Recap\nn-first\n\nn-second")
    # The preferred tip lies on the other branch, so there is no downstream to tell of from the older one.
    assert "This node has 2 children. Preferred branch tip: " + other in told(story, nodes[1])
    story.advance(nodes[2])
    story.prefer(other, "guided")
    assert "Downstream" not in told(story, nodes[2])
    assert "Preferred branch tip: " + other in told(story, nodes[2])


def test_blank_notes_and_blank_functions_make_no_section():
    story, nodes = linear(" \n\t")
    assert told(story, nodes[1], functions=" \n") == ""


def test_functions_come_last():
    story, nodes = linear("n1")
    text = told(story, nodes[1], functions="```\nfunction f(...)\n  x\n```")
    assert text.endswith("### Ancestry Recap\nn1\n\n### Function Definitions\n```\nfunction f(...)\n  x\n```")


@pytest.mark.parametrize("policy", [OLDEST, NEWEST])
def test_exactly_the_budget_fits(policy):
    story, nodes = linear("n1")
    base = size(told(story, nodes[1], functions="x", policy=policy)) - 1
    room = BUDGET[policy] - base
    assert size(told(story, nodes[1], functions="x" * room, policy=policy)) == BUDGET[policy]
    over = told(story, nodes[1], functions="x" * (room + 1), policy=policy)
    assert over == "## Recovery Context\n\n### Ancestry Recap\nn1" + TRUNCATION_MARKER + TIER


def test_oldest_first_cuts_the_end():
    story, nodes = linear(*["é" * 2000] * 8)
    text = told(story, nodes[8])
    assert text.endswith("é" + TRUNCATION_MARKER + CONTENT)
    assert BUDGET[OLDEST] - 1 <= size(text) <= BUDGET[OLDEST]
    with_functions = told(story, nodes[8], functions="f")
    assert with_functions.endswith("é" + TRUNCATION_MARKER + TIER)
    assert size(with_functions) <= BUDGET[OLDEST]


def test_newest_first_leaves_out_whole_old_entries():
    story, nodes = linear(*(f"{number}:" + "x" * 2040 for number in range(8)))
    text = told(story, nodes[8], policy=NEWEST)
    assert "7:x" in text
    assert "2:x" not in text
    assert text.endswith(
        "x" + TRUNCATION_MARKER + "\nOmitted 3 older recap entries due to budget constraints; the newest are kept."
    )
    entries = [line for line in text.split("\n") if line.endswith("xxx")]
    assert [entry[0] for entry in entries] == ["7", "6", "5", "4", "3"]
    assert all(len(entry) == 2042 for entry in entries)
    with_functions = told(story, nodes[8], functions="f", policy=NEWEST)
    assert f"{TRUNCATION_MARKER}{TIER}\nOmitted 3 older" in with_functions


def test_newest_first_says_entry_for_one():
    story, nodes = linear(*(f"{number}:" + "x" * 3070 for number in range(4)))
    text = told(story, nodes[4], policy=NEWEST)
    assert "\nOmitted 1 older recap entry due to budget constraints; the newest are kept." in text


def test_newest_first_takes_the_oldest_of_both_sections_and_an_empty_section_disappears():
    story, nodes = linear(*(f"{number}:" + "x" * 4000 for number in range(5)))
    text = told(story, nodes[2], policy=NEWEST)
    # Downstream are 3 and 4, ancestors are 0 and 1: the ancestors are older and go first.
    assert "### Ancestry Recap\n1:" in text
    assert "0:x" not in text
    story, nodes = linear(*(f"{number}:" + "x" * 4000 for number in range(6)))
    text = told(story, nodes[1], policy=NEWEST)
    assert "Ancestry" not in text
    assert "Omitted 2 older" in text


def test_newest_first_cuts_only_a_last_entry_that_is_too_long():
    """Notes are limited to 4096 bytes, so this takes a log from elsewhere."""
    story, nodes = linear("a", "b")
    long = "y" * 20000
    events = []
    for event in story.truth.events:
        if isinstance(event, NodeOutputAppended):
            force_setattr(event.data.payload, "notes_markdown", long)
        events.append(event)
    text = recovery_text(tuple(events), story.run_id, nodes[2], policy=NEWEST)
    assert text.endswith(
        f"y{TRUNCATION_MARKER}\nOmitted 1 older recap entry due to budget constraints; the newest are kept.{CONTENT}"
    )
    assert size(text) == BUDGET[NEWEST]


def test_a_log_that_can_not_be_projected_costs_the_text_and_nothing_else():
    story, nodes = linear("n1")
    events = story.truth.events
    assert recovery_text(events[::-1], story.run_id, nodes[0]) == (
        "(Recovery context unavailable due to projection failure)"
    )
    assert recovery_text(events, "run_" + "a" * 26, nodes[0]) == "(Recovery context unavailable: run not found)"
    output = next(event for event in events if isinstance(event, NodeOutputAppended))
    wire = output.to_wire()
    wire["data"]["supersedesOutputId"] = "nothing"
    broken = tuple(event_from(wire).value if event is output else event for event in events)
    assert recovery_text(broken, story.run_id, nodes[0]) == (
        "(Recovery context unavailable due to outputs projection failure)"
    )


def test_a_checkpoint_counts_as_a_child():
    story, nodes = linear("n1")
    mark = story.checkpoint(nodes[1])
    assert f"This node has 1 child. Preferred branch tip: {mark}" in told(story, nodes[1])
    assert told(story, mark).endswith("### Ancestry Recap\nn1")
    assert any(isinstance(event, EdgeCreated) for event in story.truth.events)


@given(stories(), st.text(max_size=30), st.sampled_from([OLDEST, NEWEST]))
@settings(deadline=None, max_examples=times(30, deep=240))
def test_small_stories_are_told_whole(story, functions, policy):
    for node in story.run.nodes:
        text = told(story, node, functions=functions, policy=policy)
        assert "Omitted" not in text
        assert text == "" or text.startswith("## Recovery Context\n\n### ")


@given(
    st.lists(st.integers(1, 4096), min_size=1, max_size=12), st.integers(0, 30000), st.sampled_from([OLDEST, NEWEST])
)
@settings(deadline=None, max_examples=times(30, deep=240))
def test_no_text_exceeds_its_budget_and_what_is_missing_is_said(sizes, functions, policy):
    story, nodes = linear(*(("é" * (length // 2) or "x") for length in sizes))
    for node in (nodes[0], nodes[len(nodes) // 2], nodes[-1]):
        text = told(story, node, functions="f" * functions, policy=policy)
        assert size(text) <= BUDGET[policy]
        assert "\ufffd" not in text
        is_whole = TRUNCATION_MARKER not in text
        assert is_whole == ("Omitted" not in text)
        if is_whole and functions:
            assert text.endswith("f" * functions)
