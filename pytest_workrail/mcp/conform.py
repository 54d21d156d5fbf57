"""Our answers against those of an installed engine: verdicts, hashes and live exchanges.

A run is played on our engine first. Its requests then go to the installed one, with that one's tokens in place of
ours, for as long as both stand at the same step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.agents.agent import Action, Agent, Exchange, StartView, StepView, Submit, Transcript
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.misbehaving import Erratic
from pytest_workrail.engine.protocol.sessions import ONBOARDING_STEP
from pytest_workrail.mcp.engine_process import EngineProcess
from pytest_workrail.run.bench import WORKSPACE, Setup
from pytest_workrail.run.driver import drive
from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.js import Json

GOAL = "Compare the answers of two engines."
# Members of a request that the engine does not announce; what they would say is said by the first submission.
_OURS = ("initialContext", "preferences")
_NAMED = ("continueToken", "retryContinueToken", "checkpointToken", "resumeToken", "gateToken", "sessionId")


class Checked(Struct, frozen=True):
    """A workflow to compare: what we say of it, and the IR that its runs play. `refusal`: why the engine refuses it."""

    path: str
    workflow_id: str
    refusal: str | None
    pin: dict[str, Any] | None
    ir: dict[str, Any] | None


class Difference(Struct, frozen=True):
    """One answer that is not alike. `declared` are the known defects of the engine that explain it."""

    workflow: str
    kind: str  # verdict, hash, answer, words or silence
    place: str
    ours: Json
    engine: Json
    declared: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return {
            "workflow": self.workflow,
            "kind": self.kind,
            "place": self.place,
            "ours": self.ours,
            "engine": self.engine,
            "declaredBy": list[Json](self.declared),
        }


class Figures(Struct):
    """How much was compared, and what differs."""

    verdicts: int = 0
    hashes: int = 0
    exchanges: int = 0
    differences: list[Difference] = []

    @property
    def undeclared(self) -> list[Difference]:
        return [each for each in self.differences if not each.declared]


def compare_engine(engine: EngineProcess, workflows: Sequence[Checked], workspace: str, *, exchanges: int) -> Figures:
    """Compare all verdicts and hashes, and so many exchanges on the workflows that both accept."""
    figures = Figures(differences=[])
    accepted: list[tuple[Checked, bool]] = []
    for each in workflows:
        started = _start(engine, each, workspace, figures)
        if started is not None and each.pin is not None and each.ir is not None:
            _compare_hash(engine, each, workspace, figures, started)
            accepted.append((each, _onboarding_step(started) is not None))
    seed = 0
    while accepted and figures.exchanges < exchanges:
        before = figures.exchanges
        for each, has_onboarding in accepted:
            if figures.exchanges < exchanges:
                limit = exchanges - figures.exchanges
                _play(
                    engine,
                    each,
                    workspace,
                    figures,
                    Setup(each.ir or {}, "reference", seed=seed, goal=GOAL, onboarding=has_onboarding, max_turns=limit),
                )
        seed += 1
        if figures.exchanges == before:
            break
    return figures


def _start(engine: EngineProcess, workflow: Checked, workspace: str, figures: Figures) -> dict[str, Any] | None:
    """Compare the verdicts; return the engine's first answer where both accept the workflow."""
    request: dict[str, Json] = {"workflowId": workflow.workflow_id, "workspacePath": workspace, "goal": GOAL}
    started = engine.call("start_workflow", request)
    figures.verdicts += 1
    if started is None:
        figures.differences.append(Difference(workflow.path, "silence", "start_workflow", None, None))
    elif started.is_error is not (workflow.refusal is not None):
        ours = "valid" if workflow.refusal is None else workflow.refusal
        theirs = _message(started.data) if started.is_error else "valid"
        figures.differences.append(Difference(workflow.path, "verdict", "start_workflow", ours, theirs))
    elif not started.is_error:
        return started.data
    return None


def _onboarding_step(started: Mapping[str, Any]) -> dict[str, Json] | None:
    """Return the step that the engine puts before the first one of every workflow, as it pins it."""
    pending = started.get("pending")
    if not isinstance(pending, dict) or pending.get("stepId") != ONBOARDING_STEP:
        return None
    return {
        "id": ONBOARDING_STEP,
        "title": pending.get("title"),
        "prompt": pending.get("prompt"),
        "notesOptional": True,
    }


def _compare_hash(
    engine: EngineProcess, workflow: Checked, workspace: str, figures: Figures, started: Mapping[str, Any]
) -> None:
    """Compare the hashes that are pinned, with or without the step that the engine puts first."""
    request: dict[str, Json] = {"workflowId": workflow.workflow_id, "workspacePath": workspace, "mode": "metadata"}
    answer = engine.call("inspect_workflow", request)
    pin: dict[str, Any] = workflow.pin or {}
    definition, first = pin["definition"], _onboarding_step(started)
    hashes = [canonical_hash(pin)]
    if first is not None:
        hashes.append(canonical_hash({**pin, "definition": {**definition, "steps": [first, *definition["steps"]]}}))
    theirs = None if answer is None else answer.data.get("workflowHash")
    figures.hashes += 1
    if theirs not in hashes:
        figures.differences.append(Difference(workflow.path, "hash", "inspect_workflow", hashes[0], theirs))


class _Bare(Agent):
    """Another agent, in a run that can't be started with a context: its first submission has it."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._context: dict[str, Json] = {}

    def begin(self, start: StartView) -> dict[str, Json]:
        self._context = self._agent.begin(start)
        return {}

    def act(self, view: StepView) -> Action:
        action = self._agent.act(view)
        missing = {name: value for name, value in self._context.items() if name not in view.context}
        if not isinstance(action, Submit) or not missing:
            return action
        return replace(action, context={**missing, **(action.context or {})})

    def receive(self, answer: Exchange) -> None:
        self._agent.receive(answer)


def _play(engine: EngineProcess, workflow: Checked, workspace: str, figures: Figures, setup: Setup) -> None:
    """Play a run on both engines: the agent of the first one does everything right, the others do not."""
    transcript = drive(setup, _Bare(Erratic(setup.seed) if setup.seed else Auto())).transcript
    theirs: dict[str, Json] = {WORKSPACE: workspace}
    for number, ours in enumerate(transcript.exchanges[: setup.max_turns]):
        request = {name: value for name, value in ours.request.items() if number or name not in _OURS}
        answer = engine.call(ours.tool, _translated(request, theirs))
        figures.exchanges += 1
        place = f"run {setup.seed + 1}, call {number + 1}: {ours.tool}"
        if answer is None:
            figures.differences.append(Difference(workflow.path, "silence", place, None, None))
            return
        expected, given = _shape(ours.response, ours.is_error), _shape(answer.data, answer.is_error)
        declared = _declared(transcript, number)
        if expected != given:
            parts = [name for name in expected if expected[name] != given[name]]
            mine, other = ({name: each[name] for name in parts} for each in (expected, given))
            figures.differences.append(Difference(workflow.path, "answer", place, mine, other, declared))
            return
        for name, (words, others) in _words(ours.response, answer.data).items():
            if words != others:
                difference = Difference(workflow.path, "words", f"{place}: {name}", words, others, declared)
                figures.differences.append(difference)
        theirs.update(_names(ours.response, answer.data))


def _shape(data: Mapping[str, Any], is_error: bool) -> dict[str, Json]:
    """Return what has to be alike in two answers for a run to go on."""
    pending, report = data.get("pending"), data.get("blockers")
    blockers = report.get("blockers") if isinstance(report, dict) else None
    return {
        "error": data.get("code", "error") if is_error else None,
        "kind": data.get("kind"),
        "pending": pending.get("stepId") if isinstance(pending, dict) else None,
        "isComplete": data.get("isComplete"),
        "nextIntent": data.get("nextIntent"),
        "blockers": [each.get("code") for each in blockers or () if isinstance(each, dict)],
    }


def _words(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, tuple[Json, Json]]:
    """Return what an agent reads, by its place, in both answers."""
    pairs = [(each.get("pending") or {}) for each in (ours, theirs)]
    if pairs[0].get("stepId") == ONBOARDING_STEP:
        return {}  # its words are the engine's own
    return {f"pending.{name}": (pairs[0].get(name), pairs[1].get(name)) for name in ("title", "prompt")}


def _names(ours: Any, theirs: Any) -> dict[str, Json]:
    """Return the engine's token or id for each of ours, from the same places of two answers."""
    result: dict[str, Json] = {}
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            if name in _NAMED and isinstance(value, str) and isinstance(theirs.get(name), str):
                result[value] = theirs[name]
            else:
                result |= _names(value, theirs.get(name))
    return result


def _translated(value: Json, names: Mapping[str, Json]) -> Any:
    if isinstance(value, dict):
        return {name: _translated(inner, names) for name, inner in value.items()}
    if isinstance(value, list):
        return [_translated(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value


def _declared(transcript: Transcript, number: int) -> tuple[str, ...]:
    """Return the known defects of the engine that show at a call, or have ended the run before."""
    return tuple(
        dict.fromkeys(
            mark.id
            for mark in transcript.engine_defects
            if mark.exchange == number or (mark.exchange < number and mark.outcome != "differs")
        )
    )


def _message(data: Mapping[str, Any]) -> str:
    return str(data.get("message") or data.get("code") or data.get("text") or data)


def groups(differences: Sequence[Difference]) -> Iterator[tuple[str, list[Difference]]]:
    """Yield the differences that are of one kind and have one explanation, the undeclared ones first."""
    keys = sorted({(bool(each.declared), each.kind, each.declared) for each in differences})
    for is_declared, kind, declared in keys:
        title = f"{kind}, declared by {', '.join(declared)}" if is_declared else f"{kind}, not declared"
        yield title, [each for each in differences if (each.kind, each.declared) == (kind, declared)]
