"""Generation for systems whose scenarios are not turns of an agent: a plain run, varied until every goal was shown.

A system lists its goals, knows how to vary a scenario so that one of them may happen, and plays it. What a run has
shown is read from the run, so a variation that misses costs time and never truth.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from pytest_workrail.golden.files import SCENARIO_ENDING
from pytest_workrail.scenarios.drivers import is_generated, is_untouched, redundant, stamped
from workrail_lint.base.js import Json, json_text
from workrail_lint.base.wording import counted, listed

_MOST_TRIES = 120
_LONGEST_NAME = 60
_NAMED_GOALS = 3

Content = dict[str, Any]


class Shown(Struct, frozen=True):
    """A run: its scenario with whatever it needed to hold together, the goals it showed, and what can be expected."""

    content: Content
    goals: frozenset[str]
    expect: dict[str, Json]


class Subject(ABC):
    """The subject of generated scenarios."""

    ident: str
    member: str  # of a scenario, for the content
    goals: tuple[str, ...]

    @abstractmethod
    def beginnings(self) -> Iterable[Content]:
        """Plain runs; the first is the shortest one to the end."""

    @abstractmethod
    def variations(self, content: Content, goal: str) -> Iterable[Content]:
        """Changes of a run that may make a goal happen, the most likely first."""

    @abstractmethod
    def played(self, content: Content) -> Shown | None:
        """Return what comes of a run; None where the scenario can't be made to hold together."""

    @abstractmethod
    def goals_of(self, document: Mapping[str, Any]) -> frozenset[str] | None:
        """Return what a scenario that exists shows; None if it fails."""


def generated(subject: Subject, piece: Mapping[str, Any]) -> dict[str, Json]:
    """Return the result for one subject, in the form that `generate` reports. `piece` has the scenarios that exist."""
    present = {each["name"]: each["value"] for each in piece["scenarios"]}
    shows = {name: subject.goals_of(document) for name, document in present.items()}
    before = frozenset().union(*(goals for goals in shows.values() if goals is not None)) & set(subject.goals)
    runs = search(subject, before)
    missing = set(subject.goals) - before - set().union(*(run.goals for run in runs))
    new = [goal for goal in subject.goals if goal not in before and goal not in missing]
    known = {name: goals & set(subject.goals) for name, goals in shows.items() if goals is not None}
    ours = [name for name in known if is_untouched(present[name]) and not name.endswith(f".complete{SCENARIO_ENDING}")]
    kept = [name for name in present if shows[name] is not None or not is_untouched(present[name])]
    return {
        "workflow": piece["workflow"],
        "workflowId": subject.ident,
        "goals": len(subject.goals),
        "covered": len(subject.goals) - len(missing),
        "new": list[Json](new),
        "uncovered": [{"goal": goal, "tried": ["variations"]} for goal in subject.goals if goal in missing],
        "infeasible": [],
        "scenarios": list(_scenarios(subject, piece, runs, new, kept)),
        "redundant": list[Json](redundant(known, ours)),
        "stale": [name for name in present if shows[name] is None and is_untouched(present[name])],
        "edited": [name for name in present if is_generated(present[name]) and not is_untouched(present[name])],
        "cost": {},
    }


def search(subject: Subject, before: frozenset[str]) -> list[Shown]:
    """Runs that show what nobody has shown before, as few as they can be."""
    missing = dict.fromkeys(goal for goal in subject.goals if goal not in before)
    plain = [run for content in subject.beginnings() if (run := subject.played(content)) is not None]
    kept = list(plain)
    tried = {json_text(run.content) for run in plain}
    for run in plain:
        _cover(missing, run)
    is_dry = False
    while missing and not is_dry:
        is_dry = True
        for goal in list(missing):
            # A variation made for one goal may show another; it is tried once, so it is kept for that one.
            while goal in missing and (variation := _showing_new(subject, goal, kept, tried, missing)) is not None:
                kept.append(variation)
                _cover(missing, variation)
                is_dry = False
    wanted = [goal for goal in subject.goals if goal not in before]
    return _fewest(kept, wanted, keep_first=not before)


def _cover(missing: dict[str, None], run: Shown) -> None:
    for goal in run.goals:
        missing.pop(goal, None)


def _showing_new(
    subject: Subject, goal: str, kept: Sequence[Shown], tried: set[str], missing: Mapping[str, None]
) -> Shown | None:
    """A run made for a goal: a variation of a late run, which shows other things as well, or of an earlier one."""
    tries = 0
    for base in reversed(kept):
        for content in subject.variations(base.content, goal):
            key = json_text(content)
            if key in tried:
                continue
            tried.add(key)
            tries += 1
            run = subject.played(content)
            if run is not None and not run.goals.isdisjoint(missing):
                return run
            if tries == _MOST_TRIES:
                return None
    return None


def _fewest(runs: Sequence[Shown], wanted: Sequence[str], *, keep_first: bool) -> list[Shown]:
    left = set(wanted)
    chosen: list[Shown] = []
    if keep_first and runs:
        chosen.append(runs[0])
        left -= runs[0].goals
    while left:
        best = max(runs, key=lambda run: (len(run.goals & left), -len(json_text(run.content))), default=None)
        if best is None or not best.goals & left:
            break
        chosen.append(best)
        left -= best.goals
    for run in sorted(chosen[1:] if keep_first else chosen, key=lambda run: len(run.goals)):
        others = set().union(*(other.goals for other in chosen if other is not run))
        if run.goals.intersection(wanted) <= others:
            chosen.remove(run)
    return chosen


def _scenarios(
    subject: Subject, piece: Mapping[str, Any], runs: Sequence[Shown], new: Sequence[str], taken_files: Sequence[str]
) -> Iterator[Json]:
    used = set(taken_files)
    for run in runs:
        others = set().union(*(other.goals for other in runs if other is not run))
        own = [goal for goal in new if goal in run.goals and goal not in others]
        is_plain = run is runs[0] and not piece["scenarios"]
        name = _name(piece["name"], "complete" if is_plain else (own or ["more"])[0], used)
        used.add(name)
        document: dict[str, Json] = {
            "description": "The plain run to the end." if is_plain else _description(own),
            subject.member: {**piece["sources"], **run.content},
            "expect": run.expect,
            "golden": piece["golden"],
        }
        yield {"name": name, "profiles": [], "turns": 0, "document": stamped(document, own)}


def _name(stem: str, goal: str, used: set[str]) -> str:
    base = re.sub(r"[^a-z0-9]+", "-", goal.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    name, number = f"{stem}.{base}{SCENARIO_ENDING}", 2
    while name in used:
        name, number = f"{stem}.{base}-{number}{SCENARIO_ENDING}", number + 1
    return name


def _description(own: Sequence[str]) -> str:
    if not own:
        return "A run that others cover as well."
    rest = len(own) - _NAMED_GOALS
    more = [counted(rest, "more goal")] if rest > 0 else []
    return f"Shows {listed([*own[:_NAMED_GOALS], *more])}."
