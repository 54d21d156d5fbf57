"""What agents answer at every step of the zoo, and what is said about whole runs: digests, kept in `expected/`.

python tests/agents/run_outputs.py            # writes `expected/` anew
python tests/agents/run_outputs.py elements   # prints all of it for one workflow, to compare two versions
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parents[1])]

from msgspec import structs
from zoo import ZOO

from pytest_workrail.agents.agent import Action, StepView, Submit
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.misbehaving import behave, possible
from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.engine.model.words import PRESETS
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from pytest_workrail.run.result import Run, exchange_lines
from workrail_lint.base.canonical import digest
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.scenario_words import Behaviour

EXPECTED = Path(__file__).parent / "expected" / "runs.txt"


class Watched(Auto):
    """Notes the answer of every behaviour at every step, and gives each third time one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._turn = 0

    def act(self, view: StepView) -> Action:
        self._turn += 1
        ways = possible(view)
        self.lines.append(f"{view.step_id}: {' '.join(ways)}")
        for behaviour in Behaviour:
            answer = behave(behaviour, view)
            shown = structs.asdict(answer.value) if isinstance(answer, Ok) else answer.error
            self.lines.append(f"  {behaviour.value}: {json.dumps(shown, sort_keys=True, default=str)}")
        if self._turn % 3 == 1 and view.refusal not in ("gated", "error", "terminal"):
            answer = behave(ways[self._turn % len(ways)], view)
            if isinstance(answer, Ok) and isinstance(answer.value, Submit):
                return answer.value
        return super().act(view)


def said(run: Run) -> Iterator[str]:
    """Yield what a test can ask about a run."""
    yield from (repr(run), run.outline(), *exchange_lines(run.transcript))
    names = ("status", "steps", "blockers", "gaps", "engine_defects", "skipped", "outputs", "context", "prompts")
    for name in names:
        yield f"{name}: {json.dumps(getattr(run, name), sort_keys=True, default=str)}"


def runs() -> Iterator[tuple[str, list[str]]]:
    """Yield every run of the zoo by its name: what the agents answer, then what is said about it."""
    full = {"größe": "large", "count": 8, "text": "now", "files": ["special", "b"]}
    contexts: tuple[dict[str, Any], ...] = ({}, full)
    for (name, source), (number, preset), profile in product(ZOO.items(), enumerate(PRESETS), PROFILES):
        made = compile_workflow(source)
        assert isinstance(made, Ok), made.error
        agent = Watched()
        setup = Setup(made.value.ir, profile, preset, context=contexts[number % 2], max_turns=40)
        run = drive(setup, agent)
        yield f"{name} {profile} {preset.autonomy}", [*agent.lines, *said(run)]


def lines() -> Iterator[str]:
    for name, text in runs():
        yield f"{name}: {len(text)} lines {digest(chr(10).join(text).encode())[7:19]}"


if __name__ == "__main__":
    if sys.argv[1:]:
        for name, text in runs():
            if name.startswith(sys.argv[1]):
                sys.stdout.write("\n".join([name, *text, ""]))
    else:
        EXPECTED.parent.mkdir(exist_ok=True)
        EXPECTED.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
