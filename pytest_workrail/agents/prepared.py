"""An agent that hands in what is prepared for each step, and goes no further where nothing is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_workrail.agents.actions import Action, Stop, Submit
from pytest_workrail.agents.agent import Agent, StartView, StepView
from workrail_lint.base.js import Json, deep_equal
from workrail_lint.base.suggest import hint

# `notesMarkdown`, `artifacts` and `context`, each of which may be left out.
StepOutput: TypeAlias = Mapping[str, Any]
# Called with a step's id and `{"loopPath", "visit"}`; None stands for nothing prepared.
Prepare: TypeAlias = Callable[[str, dict[str, Json]], "StepOutput | None"]
Fixtures: TypeAlias = "Mapping[str, StepOutput | Sequence[StepOutput]] | Prepare"

_MEMBERS = ("notesMarkdown", "artifacts", "context")


class Prepared(Agent):
    """Hands in prepared outputs. A list gives one at each visit, its last one over and over.

    A step that was refused is tried again with the next output. Submitting the same output again would change nothing,
    so the agent stops there.
    """

    def __init__(self, fixtures: Fixtures) -> None:
        if not callable(fixtures) and not isinstance(fixtures, Mapping):
            raise TypeError(f"fixtures must be a mapping by step id or a function, not a {type(fixtures).__name__}")
        self._fixtures = fixtures
        self._asked: Counter[str] = Counter()
        self._last: Submit | None = None
        self.lacks: str | None = None  # the step for which nothing was prepared

    def begin(self, start: StartView) -> dict[str, Json]:
        """Start from the first of each list."""
        self._asked.clear()
        self._last = self.lacks = None
        return {}

    def act(self, view: StepView) -> Action:
        """Submit the prepared output, if there is one and it can change anything."""
        if view.refusal in ("terminal", "gated", "error"):
            return Stop("No output can change this.")
        found = self._prepared(view)
        if found is None:
            self.lacks = view.step_id
            return Stop(f"No output is prepared for step '{view.step_id}'.")
        answer = _submission(found, view.step_id)
        if view.refusal == "blocked" and _is_same(answer, self._last):
            return Stop("The same output was already refused.")
        self._last = answer
        return answer

    def _prepared(self, view: StepView) -> StepOutput | None:
        """An attempt after a refusal takes the next output, so it counts as a visit."""
        step_id = view.step_id
        self._asked[step_id] += 1
        visit = self._asked[step_id]
        if callable(self._fixtures):
            path: list[Json] = [{"loopId": at.loop_id, "iteration": at.iteration} for at in view.instance.loop_path]
            return self._fixtures(step_id, {"loopPath": path, "visit": visit})
        given = self._fixtures.get(step_id)
        if given is None or isinstance(given, Mapping):
            return given
        return given[min(visit, len(given)) - 1] if given else None


def _submission(output: object, step_id: str) -> Submit:
    if not isinstance(output, Mapping):
        raise TypeError(f"the fixture of step '{step_id}' must be a mapping, not a {type(output).__name__}")
    for name in output:
        if name not in _MEMBERS:
            raise TypeError(f"the fixture of step '{step_id}' has no member '{name}'{hint(str(name), _MEMBERS)}")
    context, artifacts = output.get("context"), output.get("artifacts")
    if context is not None and not isinstance(context, Mapping):
        raise TypeError(f"the context of step '{step_id}' must be a mapping, not a {type(context).__name__}")
    if artifacts is not None and not isinstance(artifacts, list | tuple):
        raise TypeError(f"the artifacts of step '{step_id}' must be a list, not a {type(artifacts).__name__}")
    return Submit(
        output.get("notesMarkdown"),
        tuple(_copied(list(artifacts or ()))),
        None if context is None else _copied(dict(context)),
    )


def _copied(value: Any) -> Any:
    """A value as it is now, whatever a function does to it before it is asked again."""
    try:
        return _listed(value)
    except RecursionError:
        return value  # too deep, or without end: the call it is handed in with says so


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _listed(item) for name, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value


def _is_same(answer: Submit, last: Submit | None) -> bool:
    """Whether two outputs are one as JSON, where a boolean is no number."""
    if last is None or answer.notes != last.notes:
        return False
    return deep_equal(list(answer.artifacts), list(last.artifacts)) and deep_equal(answer.context, last.context)
