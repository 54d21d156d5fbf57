"""Sessions drawn at random, for properties that must hold for all of them."""

from __future__ import annotations

from hypothesis import strategies as st
from sample_sessions import Story

_NOTES = st.none() | st.sampled_from(["short", "  ", "a longer note about facts", "é" * 40])
_ACTIONS = st.sampled_from(["advance", "advance", "advance", "block", "checkpoint", "prefer", "end"])


@st.composite
def stories(draw: st.DrawFn, max_size: int = 8) -> Story:
    """A started session with some actions, each on any node that is still open."""
    story = Story(seed=draw(st.sampled_from("abc")))
    story.start(draw(st.sampled_from(["demo", "", "fix the parser"])))
    nodes = [story.root]
    for number, action in enumerate(draw(st.lists(_ACTIONS, max_size=max_size))):
        source = draw(st.sampled_from(nodes))
        match action:
            case "advance":
                context = draw(st.none() | st.fixed_dictionaries({"n": st.integers(0, 9)}))
                artifacts = draw(st.lists(st.integers(0, 3) | st.none(), max_size=2))
                nodes.append(story.advance(source, draw(_NOTES), context=context, artifacts=artifacts))
            case "block":
                nodes.append(story.block(source, artifacts=[number]))
            case "checkpoint":
                nodes.append(story.checkpoint(source))
            case "prefer":
                story.prefer(source, draw(st.sampled_from(["guided", "full_auto_never_stop"])), f"change-{number}")
            case "end":
                story.advance(source, draw(_NOTES), ends=True)
    return story
