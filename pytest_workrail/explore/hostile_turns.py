"""Turns: what a hostile agent can do, as plain data with relative references.

A turn still means something when others are taken away, so that a story can be shortened. It is a list of a kind and
its arguments; `who` is 0 or 1, the agent.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

from pytest_workrail.engine.core.vocabulary import METRICS_OUTCOMES
from pytest_workrail.explore.hostile_stores import CRASH_POINTS
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.scenario_words import Behaviour

Turn: TypeAlias = tuple[Any, ...]

BEHAVIOURS = tuple(behaviour.value for behaviour in Behaviour)
WRONG_TOKENS = ("checkpoint", "garbled", "cut", "empty")
OVERSIZE = ("notes", "artifact", "context")
MALFORMED = 8
# Variables that no workflow reads, and values that tell types apart.
_NAMES = ("x", "note", "metrics_outcome")
_VALUES: tuple[Json, ...] = (None, True, False, 0, 1, "", "other", [], {"a": 1})
_MOST_BLOCKS = 12
_MOST_ROUNDS = 5
_FAR_BACK = 6

KINDS = (
    "adv",
    "block",
    "around",
    "context",
    "look",
    "resend",
    "old",
    "wrong",
    "malformed",
    "oversize",
    "rewind",
    "restart",
    "crash",
    "join",
    "checkpoint",
    "resume",
    "printed",
)
# How often each is drawn; what leads on is drawn more often, or a run would never get anywhere.
_WEIGHTS = (8, 2, 2, 5, 2, 2, 2, 1, 1, 1, 3, 1, 2, 2, 1, 1, 1)


def draw(random: Random, values: dict[str, list[Json]]) -> Turn:
    """A turn by chance. `values` are the variables of the workflow, each with values that make a difference."""
    kind = random.choices(KINDS, _WEIGHTS)[0]
    who = random.choice((0, 0, 1))
    makers: dict[str, Callable[[], tuple[Any, ...]]] = {
        "adv": lambda: (who, random.choice((*BEHAVIOURS, *("right",) * 14))),
        "block": lambda: (who, random.choice((1, 2, 3, 4, 9, 10, _MOST_BLOCKS))),
        "around": lambda: (who, random.randint(1, _MOST_ROUNDS)),
        "context": lambda: (who, *_change(random, values)),
        "resend": lambda: (who, random.randint(0, 2)),
        "old": lambda: (who, random.randint(1, _FAR_BACK)),
        "wrong": lambda: (who, random.choice(WRONG_TOKENS)),
        "malformed": lambda: (who, random.randrange(MALFORMED)),
        "oversize": lambda: (who, random.choice(OVERSIZE)),
        "rewind": lambda: (who, random.randint(1, _FAR_BACK)),
        "crash": lambda: (who, random.choice(CRASH_POINTS)),
        "restart": lambda: (),
        "join": lambda: (),
    }
    return (kind, *makers.get(kind, lambda: (who,))())


def _change(random: Random, values: dict[str, list[Json]]) -> tuple[str, Json]:
    name = random.choice((*_NAMES, *values, *values))
    if name == "metrics_outcome":
        return name, random.choice(METRICS_OUTCOMES)
    return name, random.choice((*_VALUES, *values.get(name, ())))


def simpler(turn: Turn) -> list[Turn]:
    """Plainer turns of the same kind, the plainest first: smaller numbers, plain behaviours, the first agent."""
    kind, *arguments = turn
    found: list[Turn] = []
    if arguments and arguments[0] == 1:
        found.append((kind, 0, *arguments[1:]))
    if kind == "adv":
        found += [(kind, arguments[0], plain) for plain in ("right", "nothing") if arguments[1] != plain]
    if kind in ("block", "around", "resend", "old", "rewind") and isinstance(arguments[1], int):
        least = 0 if kind == "resend" else 1
        found += [(kind, arguments[0], number) for number in range(least, arguments[1])]
    return found


def told(turn: Turn) -> str:
    """A turn in words."""
    kind, *arguments = turn
    agent = f"agent {arguments[0] + 1}" if arguments else ""
    rest = arguments[1:]
    match kind:
        case "adv":
            return f"{agent} submits the step: {rest[0].replace('_', ' ')}"
        case "block":
            return f"{agent} submits nothing, {rest[0]} times in a row"
        case "around":
            return f"{agent} goes around the loop, {rest[0]} times"
        case "context":
            shown = "removes" if rest[1] is None else "sets"
            return f"{agent} submits the step and {shown} {rest[0]}" + ("" if rest[1] is None else f" = {rest[1]!r}")
        case "look":
            return f"{agent} rehydrates"
        case "resend":
            return f"{agent} sends advance {-1 - rest[0]} again"
        case "old":
            return f"{agent} advances with its token {-1 - rest[0]}"
        case "wrong":
            return f"{agent} advances with a wrong token ({rest[0]})"
        case "malformed":
            return f"{agent} makes a malformed call (shape {rest[0] + 1})"
        case "oversize":
            return f"{agent} submits too much: {rest[0]}"
        case "rewind":
            return f"{agent} goes back to its token {-1 - rest[0]}"
        case "crash":
            return f"{agent} submits the step and the engine dies {rest[0].replace('-', ' the ')}"
        case "restart":
            return "the engine is restarted"
        case "join":
            return "agent 2 takes over the token of agent 1"
        case "checkpoint":
            return f"{agent} makes a checkpoint"
        case "resume":
            return f"{agent} asks for sessions to resume"
        case _:
            return f"{agent} makes the printed next call"
