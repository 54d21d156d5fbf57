"""Generation by variations: as few runs as show every goal, and what becomes of the scenarios that exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from pytest_workrail.scenarios.drivers import stamped
from pytest_workrail.scenarios.variations import Content, Shown, Subject, generated

SOURCES = {"from": "toy.json"}


class Letters(Subject):
    """A run says a word; it shows the letters of the word. A variation adds a letter, or two."""

    ident = "demo.letters"
    member = "toy"

    def __init__(self, goals: str, *plain: str, unplayable: str = "") -> None:
        self.goals = tuple(goals)
        self.words: list[str] = []
        self._plain = plain
        self._unplayable = unplayable

    def beginnings(self) -> Iterable[Content]:
        return [{"word": word} for word in self._plain]

    def variations(self, content: Content, goal: str) -> Iterator[Content]:
        yield {"word": content["word"] + goal}
        yield {"word": content["word"] + goal + "!"}

    def played(self, content: Content) -> Shown | None:
        self.words.append(content["word"])
        if set(content["word"]) & set(self._unplayable):
            return None
        return Shown(content, frozenset(content["word"]), {"said": content["word"]})

    def goals_of(self, document: Mapping[str, Any]) -> frozenset[str] | None:
        return None if document.get("fails") else frozenset(document["toy"]["word"])


def existing(name: str, word: str, *, ours: bool = True, edited: bool = False, fails: bool = False) -> dict[str, Any]:
    """A scenario that is there already."""
    bare: dict[str, Any] = {"toy": {"word": word}, **({"fails": True} if fails else {})}
    value = stamped(bare, [*word]) if ours else bare
    return {"name": f"{name}.scenario.json", "value": {**value, **({"description": "Mine."} if edited else {})}}


def answer(subject: Subject, *scenarios: dict[str, Any]) -> dict[str, Any]:
    piece = {"name": "toy", "workflow": "toy.json", "sources": SOURCES, "golden": False, "scenarios": list(scenarios)}
    return generated(subject, piece)


def words(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The name, the word and the description of every new scenario."""
    return [
        (each["name"].removesuffix(".scenario.json"), each["document"]["toy"]["word"], each["document"]["description"])
        for each in result["scenarios"]
    ]


def test_the_plain_run_is_varied_until_every_goal_is_shown() -> None:
    result = answer(Letters("abc", "a"))
    assert words(result) == [("toy.complete", "a", "The plain run to the end."), ("toy.b", "abc", "Shows b and c.")]
    first, _ = result.pop("scenarios")
    assert first == {
        "name": "toy.complete.scenario.json",
        "profiles": [],
        "turns": 0,
        "document": stamped(
            {
                "description": "The plain run to the end.",
                "toy": {"from": "toy.json", "word": "a"},
                "expect": {"said": "a"},
                "golden": False,
            },
            [],
        ),
    }
    assert result == {
        "workflow": "toy.json",
        "workflowId": "demo.letters",
        "goals": 3,
        "covered": 3,
        "new": ["a", "b", "c"],
        "uncovered": [],
        "infeasible": [],
        "redundant": [],
        "stale": [],
        "edited": [],
        "cost": {},
    }


def test_what_no_variation_shows_is_not_covered_and_nothing_is_played_twice() -> None:
    subject = Letters("axb", "a", unplayable="x")
    result = answer(subject)
    assert (result["covered"], result["uncovered"]) == (2, [{"goal": "x", "tried": ["variations"]}])
    assert words(result) == [("toy.complete", "a", "The plain run to the end."), ("toy.b", "ab", "Shows b.")]
    assert len(subject.words) == len(set(subject.words))


def test_scenarios_that_exist_count_and_are_judged() -> None:
    scenarios = [
        existing("mine", "a", ours=False),
        existing("old", "ab"),
        existing("same", "b"),
        existing("broken", "c", fails=True),
        existing("changed", "a", edited=True),
        existing("toy.complete", "a"),
    ]
    result = answer(Letters("abc", "a"), *scenarios)
    assert (result["covered"], result["new"]) == (3, ["c"])
    assert words(result) == [("toy.c", "ac", "Shows c.")]
    assert result["stale"] == ["broken.scenario.json"]
    assert result["edited"] == ["changed.scenario.json"]
    assert result["redundant"] == ["same.scenario.json"]


def test_where_nothing_is_missing_nothing_is_made() -> None:
    result = answer(Letters("ab", "a"), existing("all", "ab", ours=False))
    assert (result["covered"], result["new"], result["scenarios"]) == (2, [], [])


@pytest.mark.parametrize(
    ("goals", "name", "description"),
    [
        ("abcd", "toy.a", "Shows a, b, c and 1 more goal."),
        ("abcde", "toy.a", "Shows a, b, c and 2 more goals."),
        ("abc", "toy.a", "Shows a, b and c."),
    ],
)
def test_a_scenario_is_named_and_described_by_what_only_it_shows(goals: str, name: str, description: str) -> None:
    taken = existing("other", "z", ours=False)
    assert words(answer(Letters(goals, goals), taken)) == [(name, goals, description)]
    again = existing(name, "z", ours=False)
    assert words(answer(Letters(goals, goals), again)) == [(f"{name}-2", goals, description)]


@pytest.mark.parametrize(
    ("goal", "name"),
    [
        ("Ends: FAILED (time-out).", "toy.ends-failed-time-out"),
        (f"{'a' * 59} b c", f"toy.{'a' * 59}"),
        (f"{'a' * 58} b c", f"toy.{'a' * 58}-b"),
    ],
)
def test_the_name_of_a_file_is_made_of_a_goal(goal: str, name: str) -> None:
    class Phrases(Letters):
        def played(self, content: Content) -> Shown | None:
            return Shown(content, frozenset([goal]), {})

    subject = Phrases("", "-")
    subject.goals = (goal,)
    assert [each[0] for each in words(answer(subject, existing("other", "z", ours=False)))] == [name]


def test_a_search_gives_up_after_many_tries() -> None:
    class Endless(Letters):
        def variations(self, content: Content, goal: str) -> Iterator[Content]:
            yield from ({"word": f"a{number}"} for number in range(1000))

    subject = Endless("ab", "a")
    assert answer(subject)["covered"] == 1
    assert len(subject.words) == 121
