"""The known differences from the public engine (KD), as data: when each strikes and what the engine does then."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from workrail_lint.base.files import read_shipped

DATA_FILE = os.path.join(os.path.dirname(__file__), "engine_defects.json")
FORMAT = "workrail.engine-defects/1"
DECIDED = ("document", "submission", "run", "always", "kept")
OUTCOMES = ("fails", "corrupts", "differs", "log", "none")


class EngineDefect(NamedTuple):
    """One known difference.

    `decided` says what shows it: the document alone, a submission that the document allows, the run, every run, or
    nothing, where we do the same as the engine. `seen` are the versions that were seen to do it, `read` those of which
    only the source says so. `scenario` shows it; where no scenario can, it names tests.
    """

    id: str
    title: str
    seen: tuple[str, ...]
    read: tuple[str, ...]
    decided: tuple[str, ...]
    outcome: str
    when: str
    engine: str
    ours: str
    rules: tuple[str, ...]
    scenario: str

    @property
    def is_marked(self) -> bool:
        """Return whether runs mark the places where it strikes."""
        return self.outcome not in ("log", "none") and "always" not in self.decided


def _codes(named: str | Iterable[str]) -> tuple[str, ...]:
    return (named,) if isinstance(named, str) else tuple(named)


@cache
def engine_defects() -> dict[str, EngineDefect]:
    """Return the defects by id, in order."""
    document = json.loads(read_shipped(DATA_FILE))
    return {
        each["id"]: EngineDefect(
            each["id"],
            each["title"],
            tuple(each["seen"]),
            tuple(each.get("read", ())),
            tuple(each["decided"]),
            each["outcome"],
            each["when"],
            each["engine"],
            each["ours"],
            _codes(each.get("rule", ())),
            each["scenario"],
        )
        for each in document["defects"]
    }
