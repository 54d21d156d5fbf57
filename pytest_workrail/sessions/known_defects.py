"""Known defects of the public engine that a recorded session ran into."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.story import Story
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.engine_defects import engine_defects

FIRST_STEP, GENERATED_STEP = "KD-01", "KD-02"


class KnownDefect(Struct, frozen=True):
    """A defect, and the step at which it shows."""

    id: str
    step: str | None
    engine: str  # what the engine does then

    def __str__(self) -> str:
        at = f" at step {self.step}" if self.step else ""
        return f"known defect of the engine {self.id}{at}: {self.engine}"

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "step": self.step, "engine": self.engine}


def known_defect(ident: str, step: str | None) -> KnownDefect:
    """A defect from the list of the known ones."""
    return KnownDefect(ident, step, engine_defects()[ident].engine)


def defects_of(folder: DataFolder, story: Story) -> tuple[KnownDefect, ...]:
    """Where a run came to a step that the engine generated: it has not pinned it, and fails when it is to show it."""
    pin = folder.pinned_workflow(story.workflow_hash)
    definition = None if isinstance(pin, Err) else pin.value.get("definition")
    if not isinstance(definition, dict):  # not the public engine's, or not there
        return ()
    pinned = set(_ids(definition.get("steps")))
    met = dict.fromkeys(node.step for node in story.nodes if node.step is not None and node.step not in pinned)
    return tuple(known_defect(GENERATED_STEP, step) for step in met)


def _ids(steps: Any) -> list[str]:
    found: list[str] = []
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict):
            found += [str(step.get("id")), *_ids(step.get("body"))]
    return found
