"""The smallest story in which each planted bug shows, as the search found it, and the promise it breaks.

Playing a story takes a moment, so every promise is judged in every run of the suite; `make test-deep` searches anew.
A story that no longer shows its bug is searched for again: `make test-deep ARGS=tests/explore/test_hostile.py`.
"""

from __future__ import annotations

from pytest_workrail.explore.hostile_search import Story

STORIES: dict[str, tuple[str, Story]] = {
    "completed steps are forgotten": ("order", Story((), "reference", "guided")),
    "the place in a loop is one step too far": ("order", Story((("around", 0, 2),), "reference", "guided")),
    "the first completed step is lost": ("order", Story((), "reference", "guided")),
    "the state is stored after the log": ("healthy", Story((("crash", 0, "before-state"),), "reference", "guided")),
    "the state of a block is not stored": ("healthy", Story((("block", 0, 1),), "reference", "guided")),
    "one state for all iterations of a step": ("order", Story((("look", 0),), "reference", "guided")),
    "a replay is rendered from today's log": ("replay", Story((("block", 0, 1),), "reference", "guided")),
    "the successor token is drawn by chance": ("total", Story((), "reference", "guided")),
    "a repeated call is carried out again": ("total", Story((), "reference", "guided")),
    "validation issues are told once": (
        "replay",
        Story((("context", 0, "metrics_outcome", "success"), ("block", 0, 1)), "reference", "guided"),
    ),
    "assessments are told once": ("replay", Story((), "reference", "guided")),
    "a replay looks at what is submitted now": (
        "replay",
        Story((("context", 0, "note", ""), ("adv", 1, "nothing")), "reference", "guided"),
    ),
    "a checkpoint token continues": ("total", Story((("wrong", 0, "checkpoint"),), "reference", "guided")),
    "a garbled token is taken for the last one": ("total", Story((("wrong", 0, "checkpoint"),), "reference", "guided")),
    "all looks at a node share one attempt": ("total", Story((("look", 0),), "reference", "guided")),
    "the token of the node before is given out": ("goes-on", Story((), "reference", "guided")),
    "tokens die with the engine that gave them out": ("ends", Story((), "reference", "guided")),
    "the retry token belongs to the node above": ("goes-on", Story((("block", 0, 1),), "reference", "guided")),
    "notes are stored without their budget": ("total", Story((("oversize", 0, "notes"),), "reference", "guided")),
    "four attempts instead of ten": ("recoverable", Story((("block", 0, 4),), "reference", "guided")),
    "attempts without end": ("recoverable", Story((("block", 0, 11),), "reference", "guided")),
    "context without its budget": ("budget", Story((("oversize", 0, "context"),), "reference", "guided")),
    "a trace without its budget": ("total", Story((), "reference", "guided")),
    "recovery text without its budget": (
        "budget",
        Story((("oversize", 0, "notes"), ("look", 0)), "reference", "guided"),
    ),
    "what is passed over never comes back": (
        "order",
        Story((("context", 0, "mode", None), ("context", 0, "mode", "early")), "reference", "guided"),
    ),
    "one iteration too many": ("order", Story((("adv", 0, "right"),), "reference", "guided", stays=True)),
    "one iteration too few": ("order", Story((("adv", 0, "right"),), "reference", "guided", stays=True)),
    "until is while": ("order", Story((), "reference", "guided")),
    "loop variables are not seen by conditions": ("order", Story((("around", 0, 3),), "reference", "guided")),
    "the first of several decisions counts": (
        "ends",
        Story(
            (("crash", 0, "after-log"), ("crash", 0, "after-state"), ("oversize", 0, "artifact")), "locked", "guided"
        ),
    ),
    "nobody hears a stop": ("order", Story((), "reference", "guided")),
    "decisions of earlier iterations count": (
        "order",
        Story((("adv", 0, "right"), ("around", 0, 2), ("block", 0, 2)), "locked", "full_auto_never_stop"),
    ),
    "a body begins anew after each step": (
        "order",
        Story((("adv", 0, "right"), ("around", 0, 1), ("context", 0, "mode", "careful")), "reference", "guided"),
    ),
    "conditions inside of loops are ignored": ("order", Story((), "reference", "guided")),
    "the last element of a list is left out": (
        "order",
        Story((("context", 0, "files", [{"name": "one"}, {"name": "two"}]),), "reference", "guided"),
    ),
    "no gap is recorded": ("gaps", Story((("block", 0, 1),), "reference", "full_auto_never_stop")),
    "gaps are only warnings": ("gaps", Story((("block", 0, 1),), "reference", "full_auto_never_stop")),
    "only the first gap is recorded": ("gaps", Story((("block", 0, 2),), "reference", "full_auto_never_stop")),
    "missing notes do not matter": ("gaps", Story((("block", 0, 1),), "reference", "guided")),
    "follow-ups are passed over": (
        "gaps",
        Story((("oversize", 0, "notes"), ("adv", 0, "followup_level")), "reference", "guided"),
    ),
    "two reasons to stop are none": (
        "gaps",
        Story((("context", 0, "metrics_outcome", "success"), ("block", 0, 1)), "reference", "guided"),
    ),
    "context of other branches counts": ("context", Story((("look", 0),), "locked", "guided")),
    "blocks of all branches count": (
        "recoverable",
        Story((("context", 0, "x", None), ("block", 0, 10), ("rewind", 0, 1)), "reference", "guided", stays=True),
    ),
    "a fork goes on with the newest state": (
        "order",
        Story((("look", 0), ("crash", 1, "before-log")), "reference", "guided"),
    ),
    "a node with two branches is closed": ("total", Story((), "reference", "guided")),
    "null does not remove a variable": (
        "context",
        Story((("context", 0, "size", False), ("context", 0, "size", None)), "reference", "guided"),
    ),
    "a change replaces the context": ("context", Story((), "reference", "guided")),
    "false and zero remove a variable": ("context", Story((("context", 0, "size", ""),), "reference", "guided")),
    "a step without a change clears the context": ("context", Story((), "reference", "guided")),
    "the first value of a variable stays": (
        "context",
        Story(
            (("context", 0, "metrics_outcome", "partial"), ("context", 0, "metrics_outcome", "abandoned")),
            "reference",
            "guided",
        ),
    ),
    "a look writes": ("look-changes-nothing", Story((("look", 0),), "reference", "guided")),
    "a refused call writes": ("refused-changes-nothing", Story((("block", 0, 11),), "reference", "guided")),
    "asking what to resume writes": ("look-changes-nothing", Story((("resume", 0),), "reference", "guided")),
    "a block prints no next call": ("goes-on", Story((("block", 0, 1),), "reference", "guided")),
    "two blockers can't be retried": (
        "recoverable",
        Story((("context", 0, "metrics_outcome", "success"), ("block", 0, 1)), "reference", "guided"),
    ),
}
