"""The search for a run that breaks a promise: steered by states not seen yet, seeded, and shortened in the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from random import Random
from typing import Any

from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.explore.hostile_run import Outcome, Story, play
from pytest_workrail.explore.hostile_turns import Turn, draw, simpler
from pytest_workrail.explore.mutation_conditions import compared_values
from pytest_workrail.records import Record, replace
from workrail_lint.base.js import Json

_DEEP_EVERY = 4
_FILES_EVERY = 8
_FROM_KEPT = 0.6
_FEWEST, _MOST = 3, 14
_MOST_ROUNDS = 20
# Promises that only a run that is played again can break.
_DEEP = frozenset({"same", "profiles"})


class Search(Record, frozen=False):
    """What a search found. `story` is the shortest one that breaks `broken`, if one does."""

    runs: int = 0
    states: int = 0
    tried: dict[str, int] = field(default_factory=dict)
    landed: dict[str, int] = field(default_factory=dict)
    occasions: dict[str, int] = field(default_factory=dict)
    broken: tuple[str, str] | None = None
    story: Story | None = None
    found_after: int = 0  # turns of the run that broke it first


def explore(
    ir: dict[str, Any],
    profile: ProfileName,
    mode: str,
    seed: str,
    runs: int,
    seeds: Sequence[tuple[Turn, ...]] = (),
    is_over: Callable[[], bool] = lambda: False,
) -> Search:
    """Play hostile runs until one breaks a promise. Many start with the beginning of a seed, a run that gets somewhere.

    `is_over` may end the search early, never change it.
    """
    random = Random(seed)
    values = workflow_values(ir)
    search = Search()
    seen: set[str] = set()
    kept: list[tuple[Turn, ...]] = [*seeds]
    for number in range(runs):
        if is_over():
            break
        turns = _BEGINNINGS[number] if number < len(_BEGINNINGS) else _drawn(random, kept, values)
        story = Story(turns, profile, mode, number % _FILES_EVERY == _FILES_EVERY - 1, number % 2 == 1)
        outcome = play(ir, story, deep=number % _DEEP_EVERY == 0)
        _count(search, outcome)
        if outcome.broken is not None:
            search.broken = outcome.broken
            search.found_after = len(turns)
            search.story = shortened(ir, story, outcome)
            search.broken = play(ir, search.story, deep=outcome.broken[0] in _DEEP).broken or outcome.broken
            break
        if not seen.issuperset(outcome.states):
            seen.update(outcome.states)
            kept.append(turns)
    search.states = len(seen)
    return search


# One who does everything right, one who forgets everything, one who is never satisfied.
_BEGINNINGS: tuple[tuple[Turn, ...], ...] = (
    (),
    (("adv", 0, "right"), ("look", 0), ("adv", 0, "right"), ("look", 0)),
    (("block", 0, 12),),
    (("around", 0, 5), ("around", 0, 5)),
)


def _drawn(random: Random, kept: Sequence[tuple[Turn, ...]], values: dict[str, list[Json]]) -> tuple[Turn, ...]:
    prefix: tuple[Turn, ...] = ()
    if kept and random.random() < _FROM_KEPT:
        chosen = random.choice(kept)
        prefix = chosen[: random.randint(0, len(chosen))]
    return (*prefix, *(draw(random, values) for _ in range(random.randint(_FEWEST, _MOST))))


def workflow_values(ir: dict[str, Any]) -> dict[str, list[Json]]:
    """The variables of a workflow that an agent may set, each with values that make a difference."""
    values = compared_values(ir)
    for step in ir["steps"]:
        source = step["loop"]["source"] if step["type"] == "loop" else {}
        if "variable" in source:
            lengths: list[Json] = [0, 1, 3]
            lists: list[Json] = [[], [{"name": "one"}], [{"name": "one"}, {"name": "two"}]]
            values[source["variable"]] = lengths if source["kind"] == "count" else lists
    return {name: found for name, found in values.items() if name not in ("goal", "is_autonomous")}


def _count(search: Search, outcome: Outcome) -> None:
    search.runs += 1
    for counted, more in ((search.tried, outcome.tried), (search.landed, outcome.landed)):
        for kind, number in more.items():
            counted[kind] = counted.get(kind, 0) + number
    for promise, number in outcome.occasions.items():
        search.occasions[promise] = search.occasions.get(promise, 0) + number


# ---------------------------------------------------------------------------------------------------------- shortening


def shortened(ir: dict[str, Any], story: Story, outcome: Outcome) -> Story:
    """The same broken promise with as few and as plain turns as can be: no single turn can be left out."""
    assert outcome.broken is not None
    promise = outcome.broken[0]

    def breaks(candidate: Story) -> bool:
        broken = play(ir, candidate, deep=promise in _DEEP).broken
        return broken is not None and broken[0] == promise

    if outcome.at is not None:
        cut = replace(story, turns=story.turns[: outcome.at + 1])
        story = cut if breaks(cut) else story
    for plainer in (replace(story, files=False), replace(story, stays=False), replace(story, files=False, stays=False)):
        if plainer != story and breaks(plainer):
            story = plainer
    # Each round leaves something out or makes it plainer, so it ends; an engine that answers by chance ends it too.
    for _ in range(_MOST_ROUNDS):
        plain = _with_plainer_turns(_with_fewer_turns(story, breaks), breaks)
        if plain == story:
            break
        story = plain
    return _with_fewer_turns(story, breaks)


def _with_fewer_turns(story: Story, breaks: Callable[[Story], bool]) -> Story:
    """Delta debugging: large pieces first, then smaller ones, and single turns until none can go."""
    turns, size = story.turns, max(1, len(story.turns) // 2)
    while turns:
        for start in range(0, len(turns), size):
            left = turns[:start] + turns[start + size :]
            if breaks(replace(story, turns=left)):
                turns = left
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
    return replace(story, turns=turns)


def _with_plainer_turns(story: Story, breaks: Callable[[Story], bool]) -> Story:
    for index in range(len(story.turns)):
        for plain in simpler(story.turns[index]):
            turns = (*story.turns[:index], plain, *story.turns[index + 1 :])
            if breaks(replace(story, turns=turns)):
                story = replace(story, turns=turns)
                break
    return story


def is_minimal(ir: dict[str, Any], story: Story, promise: str) -> bool:
    """Whether leaving out any one turn keeps the promise, or breaks another one."""
    for index in range(len(story.turns)):
        left = replace(story, turns=story.turns[:index] + story.turns[index + 1 :])
        broken = play(ir, left, deep=promise in _DEEP).broken
        if broken is not None and broken[0] == promise:
            return False
    return True
