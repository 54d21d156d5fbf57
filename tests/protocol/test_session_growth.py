"""A step of a long session is as much work as a step of a short one: counted in lines, so machines don't matter."""

from __future__ import annotations

import pytest
from effort import lines_run

from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.store.filesystem import Holder, on_files
from pytest_workrail.engine.store.gate import Home
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, TreeFiles, in_memory
from workrail_lint import compile_workflow

ROUNDS = 110
EARLY, LATE = 25, 100
# Among more keys a search takes a few lines more; work that grows with the session would take four times as much.
SLACK = 1.1


def step(name: str) -> dict[str, object]:
    return {"id": name, "title": name.title(), "prompt": "Do it."}


LINEAR = [step(f"step-{at}") for at in range(ROUNDS)]
LOOP = [
    {
        "id": "again",
        "type": "loop",
        "title": "Again",
        "loop": {"type": "for", "count": ROUNDS, "maxIterations": ROUNDS},
        "body": [step("inside")],
    }
]


def memory() -> Home:
    return in_memory(FixedClock(), SeededEntropy("growth"))


def files() -> Home:
    return on_files(TreeFiles(), FixedClock(), SeededEntropy("growth"), Holder(1, "main", "one"))


class Session:
    """A session that is played step by step."""

    def __init__(self, steps: list[dict[str, object]], home: Home, profile: str) -> None:
        authored = {"id": "long", "name": "Long", "description": "Goes on.", "version": "1.0.0", "steps": steps}
        library = MemoryLibrary()
        library.put_ir(compile_workflow(authored).value.ir)
        self._engine = Engine(home, library, Options(profile=profile))
        self._answer = self._engine.start_workflow({"workflowId": "long", "workspacePath": "/w", "goal": "g"})
        self._played = 0

    def advance(self) -> None:
        token = self._answer.value.response.progress.tokens.continue_token
        request = {"continueToken": token, "output": {"notesMarkdown": "n"}, "context": {"at": self._played}}
        self._answer = self._engine.continue_workflow(request)
        assert self._answer.is_ok
        self._played += 1

    def lines_at(self, place: int) -> int:
        """The fewest lines that one of a few steps takes, from a place on."""
        while self._played < place:
            self.advance()
        return min(lines_run(self.advance) for _ in range(5))


@pytest.mark.parametrize("profile", ["reference", "locked"])
@pytest.mark.parametrize("steps", [LINEAR, LOOP], ids=["steps", "rounds of a loop"])
@pytest.mark.parametrize("home", [memory, files])
def test_a_late_step_is_as_much_work_as_an_early_one(steps, home, profile):
    session = Session(steps, home(), profile)
    early, late = session.lines_at(EARLY), session.lines_at(LATE)
    assert late <= early * SLACK
