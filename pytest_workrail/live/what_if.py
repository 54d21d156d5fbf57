"""A run or a session played up to a moment, another answer there, and the turns that follow. It writes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct
from pydantic import ValidationError

from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.run.result import Run
from pytest_workrail.scenarios.workflow_driver import Loaded, run_scenario
from workrail_lint.base.redaction import Redactor
from workrail_lint.base.result import Err, Ok
from workrail_lint.studio.runs import run_data
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.scenario import Scenario
from workrail_lint.systems.workrail.scenario_words import Behaviour

Data = dict[str, Any]
_OUTPUTS = ("notes", "artifacts")


class Change(Struct, frozen=True):
    """Another answer at one moment: variables to set, and what is submitted if not the right answer."""

    moment: int
    context: dict[str, Any]
    answer: dict[str, Any]


class ChangedRun(NamedTuple):
    """The scenario of a changed run, and the run."""

    scenario: Data
    run: Run

    def to_json(self) -> Data:
        """Return the run as a page draws it, redacted like every other one."""
        golden = json.loads(golden_bytes(self.run.transcript, ()))
        drawn = run_data(golden, "what if", "")
        return {"run": Redactor().report(drawn), "status": self.run.status}


def play(run: Mapping[str, Any], change: Change, workflow: CompiledWorkflow, path: str) -> Ok[ChangedRun] | Err[str]:
    """Play a run of the page again, with a change; `path` is the workflow as the scenario names it.

    What was answered before the moment is answered again, and after it the automatic agent answers.
    """
    turns = run.get("turns") or []
    if not 0 <= change.moment < len(turns):
        return Err("the run has no such moment")
    if turns[change.moment].get("step") is None:
        return Err("nothing is pending at this moment")
    document = _scenario(run, turns, change, path)
    try:
        Scenario.model_validate(document)
    except ValidationError as problem:
        return Err(f"the answer can't be submitted: {problem.errors()[0]['msg']}")
    played = run_scenario(Loaded(document, dict(workflow.ir))).run
    if played.ending.kind == "misplayed":
        return Err(f"this version of the workflow does not get to this moment: {played.ending.why}")
    steps: list[Any] = list(played.steps)
    return Ok(ChangedRun({**document, "expect": {"status": played.status, "steps": steps}}, played))


def _scenario(run: Mapping[str, Any], turns: list[Data], change: Change, path: str) -> Data:
    way = _way_to(turns, change.moment)
    start = {name: value for name, value in (turns[way[0]].get("context") or {}).items() if name != "goal"}
    changed: Data = {"step": turns[change.moment]["step"]}
    changed |= change.answer or {"does": Behaviour.RIGHT.value}
    if change.context:
        changed["context"] = change.context
    document: Data = {"workflow": path}
    if run.get("profile") in PROFILES and run["profile"] != "reference":
        document["profile"] = run["profile"]
    if run.get("mode") not in (None, "guided"):
        document["mode"] = run["mode"]
    if start:
        document["context"] = start
    return {**document, "agent": {"kind": "auto", "turns": [*_answers(turns, way), changed]}}


def _way_to(turns: list[Data], moment: int) -> list[int]:
    """Return the moments on the way to one, the first one first."""
    way = [moment]
    while (parent := turns[way[-1]].get("parent")) is not None:
        way.append(parent)
    return way[::-1]


def _answers(turns: list[Data], way: list[int]) -> Iterator[Data]:
    """Yield what was submitted on the way, as turns of a scenario."""
    for at in way[1:]:
        turn = turns[at]
        if turn.get("answered") is not None:
            given = {name: turn[name] for name in (*_OUTPUTS, "context") if turn.get(name) is not None}
            yield {"step": turn["answered"], **given}
