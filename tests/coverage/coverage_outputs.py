"""What runs of the shipped workflows show of them, kept in `expected/`.

python tests/coverage/coverage_outputs.py     # writes it anew
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

sys.path += [str(Path(__file__).parents[1])]

from zoo import ZOO

from pytest_workrail import api
from pytest_workrail.agents.agent import Action, StepView
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.misbehaving import behave, possible
from pytest_workrail.coverage.goals import goals
from pytest_workrail.coverage.observe import observe
from pytest_workrail.coverage.report import CoverageSession, document, table
from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.engine.model.words import PRESETS
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.compile import compile_workflow

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = Path(__file__).parent / "expected"


def outputs() -> dict[str, str]:
    """The goals of every workflow under each profile, and what a report says after some runs of it."""
    session = CoverageSession()
    lines: list[str] = []
    for path in sorted((ROOT / "fixtures" / "workflows").glob("*.json")):
        compiled = compile_workflow(path, routines=ROOT / "fixtures" / "routines").value
        for name, profile in PROFILES.items():
            lines += [f"{path.stem} {name}: {point.name}" for point in goals(compiled.program, profile)]
        for number, mode in enumerate(("guided", "full_auto_never_stop")):
            test = f"test_{path.stem}_{mode}"
            session.record(test, api.run(compiled, mode=mode, profile="reference").transcript)
            session.test_finished(test, passed=number == 0 or "release" in path.stem)
    lines += [f"zoo {line}" for line in shown()]
    report = "\n".join(table(session.tally, missing=True))
    return {
        "goals.txt": "\n".join(lines) + "\n",
        "report.txt": f"{report}\n",
        "report.json": f"{json.dumps(json.loads(document(session.tally)), indent=1)}\n",
    }


class Fickle(Auto):
    """Does something else at every step: everything a step gives an occasion for, in turn, then what is right."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self._turn = first

    def act(self, view: StepView) -> Action:
        self._turn += 1
        if self._turn % 3 == 0 or view.refusal in ("gated", "error", "terminal"):
            return super().act(view)
        ways = possible(view)
        answer = behave(ways[self._turn % len(ways)], view)
        return answer.value if isinstance(answer, Ok) else super().act(view)


def shown() -> Iterator[str]:
    """Yield every goal of the zoo, the strong ones included, and how many of some wayward runs show it."""
    for (name, source), (profile, known) in product(ZOO.items(), PROFILES.items()):
        compiled = compile_workflow(source).value
        seen: Counter[str] = Counter()
        for number, mode in enumerate(("guided", "full_auto_stop_on_user_deps", "full_auto_never_stop")):
            for first in (0, 3):
                context = {"files": ["a", "special"][: 1 + number], "many": number, "count": 2 * first}
                context |= {"größe": "large", "text": "now", "done": True} if first else {}
                preset = next(each for each in PRESETS if each.autonomy == mode)
                setup = Setup(compiled.ir, profile, preset, context=context, max_turns=60)
                run = drive(setup, Fickle(first + number))
                seen.update(point.name for point in observe(run.transcript, strong=True))
        goal_names = [point.name for point in goals(compiled.program, known, strong=True)]
        yield from (f"{name} {profile}: {goal} {seen[goal]}" for goal in goal_names)
        yield from (
            f"{name} {profile}: no goal: {point} {seen[point]}" for point in sorted(seen.keys() - {*goal_names})
        )


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    for name, text in outputs().items():
        (EXPECTED / name).write_text(text, encoding="utf-8")
