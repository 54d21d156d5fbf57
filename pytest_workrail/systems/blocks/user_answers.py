"""What people answer: queues of gate answers, choices about conflicts, pauses. Nothing may be left over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_workrail.systems.blocks.setup import Revise
from workrail_lint.documents.pointer import child
from workrail_lint.systems.blocks.merging import MANUAL, PathConflict
from workrail_lint.systems.blocks.run_vocabulary import ABORT

ScenarioProblem = tuple[str, str]
"""A pointer into the scenario's block, and what is wrong there."""


class UserAnswers:
    """All answers of a scenario, and which of them were asked for."""

    def __init__(
        self,
        gates: Mapping[str, Sequence[str | Revise]],
        conflicts: Mapping[str, str],
        manual: Mapping[str, str],
        pauses: Mapping[str, str],
    ) -> None:
        self._gates = gates
        self._asked = dict.fromkeys(gates, 0)
        self._conflicts = conflicts
        self._chosen: set[str] = set()
        self._manual = manual
        self._written: set[str] = set()
        self._pauses = pauses
        self._paused: set[str] = set()
        self._misfits: list[ScenarioProblem] = []

    def answer(self, node: str) -> str | Revise | None:
        """The next answer to a question about a node; None if there is none."""
        at = self._asked.get(node, 0)
        if at >= len(self._gates.get(node, ())):
            return None
        self._asked[node] = at + 1
        return self._gates[node][at]

    def reject_last(self, node: str, possible: Sequence[str]) -> None:
        """The last answer about a node does not fit the question."""
        pointer = child(child("/gates", node), self._asked[node] - 1)
        self._misfits.append((pointer, f"the gate of {node} accepts only {', '.join(dict.fromkeys(possible))}"))

    def choices(self, path_conflicts: Sequence[PathConflict]) -> dict[str, str] | None:
        """The winner of each conflict; None if a choice is missing. One abort aborts all."""
        made: dict[str, str] = {}
        for clash in path_conflicts:
            choice, possible = self._conflicts.get(clash.path), (*clash.lanes, MANUAL, ABORT)
            if choice is None:
                continue
            self._chosen.add(clash.path)
            if choice in possible:
                made[clash.path] = choice
            else:
                text = f"{clash.path} accepts only {', '.join(possible)}"
                self._misfits.append((child("/conflicts", clash.path), text))
        return made if len(made) == len(path_conflicts) or ABORT in made.values() else None

    def manual_text(self, path: str) -> str:
        self._written.add(path)
        return self._manual[path]

    def pause(self, name: str) -> str | None:
        """How the pause before a node or group ends; None when there is none."""
        if name in self._paused or name not in self._pauses:
            return None
        self._paused.add(name)
        return self._pauses[name]

    def problems(self) -> Iterator[ScenarioProblem]:
        """Answers that did not fit, and everything in the scenario that was not used."""
        yield from self._misfits
        for node, answers in self._gates.items():
            for at in range(self._asked[node], len(answers)):
                yield (
                    child(child("/gates", node), at),
                    f"this answer was not used: {node} did not ask for it",
                )
        for path in self._conflicts:
            if path not in self._chosen:
                yield child("/conflicts", path), f"this choice was not used: there was no conflict about {path}"
        for path in self._manual:
            if path not in self._written:
                yield child("/manual", path), f"this content was not used: {MANUAL} was not chosen for {path}"
        for name in self._pauses:
            if name not in self._paused:
                yield child("/pauses", name), f"this pause was not used: the run did not reach {name}"
