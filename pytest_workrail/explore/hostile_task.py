"""Hostile runs as independent pieces: one workflow under one profile and mode with one seed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pytest_workrail.engine.core.modes import AUTONOMIES
from pytest_workrail.explore.hostile_promises import PROMISES
from pytest_workrail.explore.hostile_run import Story
from pytest_workrail.explore.hostile_search import explore
from pytest_workrail.explore.hostile_seeds import generated_seeds
from pytest_workrail.explore.hostile_turns import KINDS, told
from workrail_lint.base.js import Json

TASK = "pytest_workrail.explore.hostile_task:perform"
_RUNS_PER_PIECE = 25


def pieces(
    number: int, ir: dict[str, Any], profiles: list[Any], runs: int, seed: int, seconds: float | None
) -> list[Json]:
    """The pieces of one workflow: its runs, spread evenly over profiles and modes."""
    ways = [(profile, mode) for profile in profiles for mode in AUTONOMIES]
    shares = [runs // len(ways) + (index < runs % len(ways)) for index in range(len(ways))]
    found: list[Json] = []
    for (profile, mode), share in zip(ways, shares, strict=True):
        for part, start in enumerate(range(0, share, _RUNS_PER_PIECE)):
            found.append(
                {
                    "workflow": number,
                    "ir": ir,
                    "profile": profile,
                    "mode": mode,
                    "seed": f"{seed} {profile} {mode} {part}",
                    "runs": min(_RUNS_PER_PIECE, share - start),
                    "seconds": None if seconds is None else seconds * _RUNS_PER_PIECE / max(1, runs),
                }
            )
    return found


def perform(piece: dict[str, Any]) -> Json:
    """Search one piece."""
    from time import process_time

    limit = None if piece["seconds"] is None else process_time() + piece["seconds"]
    search = explore(
        piece["ir"],
        piece["profile"],
        piece["mode"],
        piece["seed"],
        piece["runs"],
        generated_seeds(piece["ir"], piece["profile"]),
        is_over=lambda: limit is not None and process_time() > limit,
    )
    story = None if search.story is None else asdict(search.story)
    return {
        "workflow": piece["workflow"],
        "runs": search.runs,
        "states": search.states,
        "tried": dict(search.tried),
        "landed": dict(search.landed),
        "occasions": dict(search.occasions),
        "broken": None if search.broken is None else list(search.broken),
        "story": story,
    }


def combined(results: list[dict[str, Any]]) -> dict[str, Any]:
    """What the pieces of one workflow found together; of several stories about one promise, the shortest."""
    tried = {kind: sum(each["tried"].get(kind, 0) for each in results) for kind in KINDS}
    landed = {kind: sum(each["landed"].get(kind, 0) for each in results) for kind in KINDS}
    occasions = {name: sum(each["occasions"].get(name, 0) for each in results) for name in PROMISES}
    shortest: dict[str, dict[str, Any]] = {}
    for each in results:
        if each["broken"] is None:
            continue
        promise, how = each["broken"]
        known = shortest.get(promise)
        if known is None or len(each["story"]["turns"]) < len(known["story"]["turns"]):
            shortest[promise] = {"promise": promise, "how": how, "story": each["story"]}
    violations = [_violation(shortest[name]) for name in PROMISES if name in shortest]
    return {
        "runs": sum(each["runs"] for each in results),
        "states": sum(each["states"] for each in results),
        "faults": {
            "tried": sum(tried.values()),
            "landed": sum(landed.values()),
            "byKind": {kind: {"tried": tried[kind], "landed": landed[kind]} for kind in KINDS if tried[kind]},
        },
        "noOccasion": [name for name, number in occasions.items() if not number],
        "violations": violations,
    }


def _violation(found: dict[str, Any]) -> dict[str, Any]:
    story = found["story"]
    return {
        "promise": found["promise"],
        "promised": PROMISES[found["promise"]],
        "how": found["how"],
        "profile": story["profile"],
        "mode": story["mode"],
        "transcript": [told(tuple(turn)) for turn in story["turns"]],
        "turns": story["turns"],
        "files": story["files"],
        "stays": story["stays"],
    }


def story_of(violation: dict[str, Any]) -> Story:
    """The story of a violation."""
    turns = tuple(tuple(turn) for turn in violation["turns"])
    return Story(turns, violation["profile"], violation["mode"], violation["files"], violation["stays"])
