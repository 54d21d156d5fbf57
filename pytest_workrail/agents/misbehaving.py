"""Agents that misbehave, one name for each way.

They never learn, never do the same twice, set no variables, or work where answers get lost, memory goes, tokens are
mangled and the engine's process ends. Chance is the same for the same seed, on every machine and in every order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.agents.agent import (
    Action,
    Agent,
    Call,
    Exchange,
    Problem,
    Rehydrate,
    Resend,
    Restart,
    Rewind,
    StartView,
    StepView,
    Stop,
    Submit,
    unknown_step_message,
)
from pytest_workrail.agents.correct import (
    Auto,
    assessment_artifacts,
    contract_artifact,
    correct_answer,
    loop_decision,
    observation,
    start_context,
)
from pytest_workrail.agents.values import failing_notes
from pytest_workrail.engine.core.index import LOOP_CONTROL_KIND, ContractPack, artifact_kind
from pytest_workrail.engine.model.step_keys import StepInstance
from pytest_workrail.engine.model.words import MAX_NOTES_BYTES
from pytest_workrail.engine.protocol.requests import MAX_CONTEXT_BYTES
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.model.workflow import AssessmentDimension
from workrail_lint.systems.workrail.scenario_words import Behaviour, FaultKind

_BYTES = 6
_RANGE = 1 << 8 * _BYTES

_FOREIGN_KIND = "demo.unrelated"
_FOREIGN_LOOP = "some-other-loop"
_NOTES = "it does not require notes"
_ARTIFACT = "it requires no artifact"
_ASSESSMENT = "it has no assessment"
_LOOP = "no loop is controlled by its artifact"
_BEFORE: dict[FaultKind, Action] = {
    FaultKind.LOSE_MEMORY: Rehydrate(),
    FaultKind.GARBLE_TOKEN: Call("continue_workflow", {"continueToken": "$garbled", "intent": "advance"}),
    FaultKind.STALE_TOKEN: Call("continue_workflow", {"continueToken": "$previous", "intent": "advance"}),
    FaultKind.WRONG_TOKEN: Call("continue_workflow", {"continueToken": "$checkpoint", "intent": "advance"}),
    FaultKind.RESTART_ENGINE: Restart(),
}


def fraction(seed: int, *about: object) -> float:
    """Return a number from 0 up to but not including 1, decided by the seed and by what it is about."""
    text = "/".join(map(str, (seed, *about)))
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:_BYTES], "big") / _RANGE


class _Recipe(Struct, frozen=True):
    """How a behaviour is done; `needs` says what a step must have for it, when it has not."""

    bend: Callable[[StepView, Submit], Submit | None]
    needs: str


def behave(behaviour: Behaviour, view: StepView) -> Ok[Submit] | Err[str]:
    """Return the answer of an agent with this behaviour, or why the behaviour is not possible at this step."""
    way = _WAYS[behaviour]
    answer = way.bend(view, correct_answer(view))
    if answer is None:
        return Err(f"{behaviour.value} is not possible at step '{view.step_id}': {way.needs}")
    return Ok(answer)


def possible(view: StepView) -> tuple[Behaviour, ...]:
    """Return the behaviours that the pending step gives an occasion for, in their order."""
    correct = correct_answer(view)
    return tuple(name for name, way in _WAYS.items() if way.bend(view, correct) is not None)


# ------------------------------------------------------------------------------------------------------------- notes


def _empty_answer(view: StepView, correct: Submit) -> Submit | None:
    return Submit()


def _without_notes(view: StepView, correct: Submit) -> Submit | None:
    return replace(correct, notes=None) if view.step.requires_notes else None


def _blank_notes(view: StepView, correct: Submit) -> Submit | None:
    return replace(correct, notes=" \n\t") if view.step.requires_notes else None


def _oversize_notes(view: StepView, correct: Submit) -> Submit | None:
    line = f"{correct.notes or 'Notes'}\n"
    return replace(correct, notes=line * (2 * MAX_NOTES_BYTES // len(line) + 1))


def _failing_notes(view: StepView, correct: Submit) -> Submit | None:
    step = view.step
    if step.criteria is None or step.contract is not None or step.assessments is not None:
        return None

    notes = failing_notes(step.criteria, view.merged(correct.context))
    return None if notes is None else replace(correct, notes=notes)


# --------------------------------------------------------------------------------------------------------- artifacts


def _pack(view: StepView) -> ContractPack | None:
    """Return the contract of the step, whether it has to be met or not."""
    contract = view.step.contract
    return None if contract is None else view.program.index.packs.get(contract.ref)


def _is_asked_for_artifacts(view: StepView) -> bool:
    step = view.step
    return step.assessments is not None if step.contract is None else step.contract.required


def _artifacts(view: StepView, correct: Submit) -> tuple[dict[str, Json], ...]:
    """Return what a contract or an assessment looks at, first: also where a contract would be content without it."""
    pack, handed_in = _pack(view), tuple(each for each in correct.artifacts if isinstance(each, dict))
    if pack is None:
        return handed_in if _is_asked_for_artifacts(view) else ()
    if any(artifact_kind(each) == pack.artifact_kind for each in handed_in):
        return handed_in
    artifact = contract_artifact(view, pack.ref)
    return () if artifact is None else (artifact, *handed_in)


def _without_artifact(view: StepView, correct: Submit) -> Submit | None:
    return replace(correct, artifacts=()) if _is_asked_for_artifacts(view) else None


def _wrong_kind(view: StepView, correct: Submit) -> Submit | None:
    if not _is_asked_for_artifacts(view):
        return None
    foreign: dict[str, Json] = {"kind": _FOREIGN_KIND, "summary": "Not what was asked for."}
    return replace(correct, artifacts=(foreign,))


def _invalid_artifact(view: StepView, correct: Submit) -> Submit | None:
    """Return the right kind, with a member that nobody asked for and without the first one that was."""
    artifacts = _artifacts(view, correct)
    if not artifacts:
        return None
    first, *others = artifacts
    dropped = next(name for name in first if name != "kind")
    broken = {name: value for name, value in first.items() if name != dropped}
    return replace(correct, artifacts=({**broken, "unexpected": True}, *others))


def _oversize_artifact(view: StepView, correct: Submit) -> Submit | None:
    """The right kind, with more text in one member than its schema takes."""
    pack, artifacts = _pack(view), _artifacts(view, correct)
    if pack is None or not artifacts:
        return None
    for name, schema in pack.schema.get("properties", {}).items():
        grown = _above_bound(schema)
        if grown is not None:
            return replace(correct, artifacts=({**artifacts[0], name: grown}, *artifacts[1:]))
    return None


def _above_bound(schema: dict[str, Any]) -> Json:
    """Return a value that breaks nothing but an upper bound; None where there is no such bound."""
    if schema.get("type") == "string" and "maxLength" in schema:
        return "x" * (int(schema["maxLength"]) + 1)
    if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        inner = _above_bound(schema["items"])
        return None if inner is None else [inner]
    return None


# ------------------------------------------------------------------------------------------------------- assessments


def _assessed(view: StepView) -> bool:
    return view.step.assessments is not None and view.step.contract is None


def _dimensions(view: StepView) -> Iterator[tuple[str, AssessmentDimension]]:
    asked = () if view.step.assessments is None else view.step.assessments.refs
    for assessment in view.program.definition.assessments:
        if assessment.id in asked:
            yield from ((assessment.id, dimension) for dimension in assessment.dimensions)


def _wrong_level(view: StepView, correct: Submit) -> Submit | None:
    if not _assessed(view):
        return None
    _, first = next(_dimensions(view))
    level = "off the scale"
    return replace(correct, artifacts=tuple(assessment_artifacts(view, {first.id: level})))


def _followup_level(view: StepView, correct: Submit) -> Submit | None:
    if view.step.assessments is None:
        return None
    for consequence in view.step.assessments.consequences:
        when = consequence.when
        for assessment_id, dimension in _dimensions(view):
            is_meant = when.for_assessment in (None, assessment_id)
            if is_meant and when.any_equals_level in dimension.levels:
                chosen = {dimension.id: when.any_equals_level}
                return _with_assessments(correct, tuple(assessment_artifacts(view, chosen)))
    return None


def _with_assessments(correct: Submit, assessments: tuple[dict[str, Json], ...]) -> Submit:
    """Return the answer with these assessments, beside the artifact of a contract where there is one."""
    kinds = {artifact_kind(artifact) for artifact in assessments}
    others = tuple(artifact for artifact in correct.artifacts if artifact_kind(artifact) not in kinds)
    return replace(correct, artifacts=(*others, *assessments))


def _missing_dimension(view: StepView, correct: Submit) -> Submit | None:
    if not _assessed(view):
        return None
    first: Any = correct.artifacts[0]
    if len(first["dimensions"]) < 2:
        return None
    *kept, _ = first["dimensions"].items()
    return replace(correct, artifacts=({**first, "dimensions": dict(kept)}, *correct.artifacts[1:]))


def _unknown_dimension(view: StepView, correct: Submit) -> Submit | None:
    if not _assessed(view):
        return None
    first: Any = correct.artifacts[0]
    dimensions = {**first["dimensions"], "unheard_of": "high"}
    return replace(correct, artifacts=({**first, "dimensions": dimensions}, *correct.artifacts[1:]))


# ------------------------------------------------------------------------------------------- loops and capabilities


def _decides(correct: Submit) -> bool:
    """Return whether this is where the right answer says that the loop is over."""
    return any(artifact_kind(artifact) == LOOP_CONTROL_KIND for artifact in correct.artifacts)


def _other_artifacts(correct: Submit) -> tuple[Json, ...]:
    return tuple(artifact for artifact in correct.artifacts if artifact_kind(artifact) != LOOP_CONTROL_KIND)


def _keep_looping(view: StepView, correct: Submit) -> Submit | None:
    if view.loop is None or not _decides(correct):
        return None
    decision = loop_decision(view.profile, view.loop, "continue")
    return replace(correct, artifacts=(*_other_artifacts(correct), decision))


def _no_decision(view: StepView, correct: Submit) -> Submit | None:
    return replace(correct, artifacts=_other_artifacts(correct)) if _decides(correct) else None


def _wrong_loop(view: StepView, correct: Submit) -> Submit | None:
    if not _decides(correct):
        return None
    decision: dict[str, Json] = {"kind": LOOP_CONTROL_KIND, "decision": "stop", "loopId": _FOREIGN_LOOP}
    return replace(correct, artifacts=(*_other_artifacts(correct), decision))


def _claim_capability(view: StepView, correct: Submit) -> Submit | None:
    capability = view.step.probed_capability
    if capability is None:
        return None
    claim: dict[str, Json] = {"kind": "manual_claim", "claimedBy": "agent"}
    return replace(correct, artifacts=(observation(capability, "available", claim),))


def _lack_capability(view: StepView, correct: Submit) -> Submit | None:
    probed = view.step.probed_capability
    if probed is not None:
        failed: dict[str, Json] = {"kind": "probe_step", "result": "failure"}
        return replace(correct, artifacts=(observation(probed, "unavailable", failed),))
    required = view.program.definition.required_capabilities
    if not required:
        return None
    missing: dict[str, Json] = {"kind": "attempted_use", "result": "failure", "failureCode": "tool_missing"}
    return replace(correct, artifacts=(*correct.artifacts, observation(required[0], "unavailable", missing)))


def _diverge(view: StepView, correct: Submit) -> Submit | None:
    report: dict[str, Json] = {
        "kind": "wr.workflow_divergence",
        "reason": "efficiency_skip",
        "summary": "Left out what earlier work already covers.",
        "relatedStepId": view.step_id,
    }
    return replace(correct, artifacts=(*correct.artifacts, report))


def _oversize_context(view: StepView, correct: Submit) -> Submit | None:
    return replace(correct, context={**(correct.context or {}), "everything": "x" * (MAX_CONTEXT_BYTES + 1)})


_WAYS: dict[Behaviour, _Recipe] = {
    Behaviour.RIGHT: _Recipe(lambda _, correct: correct, ""),
    Behaviour.NOTHING: _Recipe(_empty_answer, ""),
    Behaviour.MISSING_NOTES: _Recipe(_without_notes, _NOTES),
    Behaviour.BLANK_NOTES: _Recipe(_blank_notes, _NOTES),
    Behaviour.OVERSIZE_NOTES: _Recipe(_oversize_notes, ""),
    Behaviour.FAILING_NOTES: _Recipe(_failing_notes, "it has no validation criteria, or they accept anything"),
    Behaviour.MISSING_ARTIFACT: _Recipe(_without_artifact, _ARTIFACT),
    Behaviour.WRONG_KIND: _Recipe(_wrong_kind, _ARTIFACT),
    Behaviour.INVALID_ARTIFACT: _Recipe(_invalid_artifact, _ARTIFACT),
    Behaviour.OVERSIZE_ARTIFACT: _Recipe(_oversize_artifact, "it requires no artifact with a string of limited length"),
    Behaviour.WRONG_LEVEL: _Recipe(_wrong_level, _ASSESSMENT),
    Behaviour.FOLLOWUP_LEVEL: _Recipe(_followup_level, "no level of its assessments has a consequence"),
    Behaviour.MISSING_DIMENSION: _Recipe(_missing_dimension, "it has no assessment with several dimensions"),
    Behaviour.UNKNOWN_DIMENSION: _Recipe(_unknown_dimension, _ASSESSMENT),
    Behaviour.KEEP_LOOPING: _Recipe(_keep_looping, _LOOP),
    Behaviour.NO_DECISION: _Recipe(_no_decision, _LOOP),
    Behaviour.WRONG_LOOP: _Recipe(_wrong_loop, _LOOP),
    Behaviour.CLAIM_CAPABILITY: _Recipe(_claim_capability, "it probes no capability"),
    Behaviour.LACK_CAPABILITY: _Recipe(_lack_capability, "the workflow requires no capability"),
    Behaviour.DIVERGE: _Recipe(_diverge, ""),
    Behaviour.OVERSIZE_CONTEXT: _Recipe(_oversize_context, ""),
}


class Stubborn(Agent):
    """Behaves in one way wherever a step gives occasion for it, however often it is refused.

    Steps that are not meant, or give no occasion, get the right answer. The run ends when the engine has enough.
    """

    kind = "stubborn"
    example: ClassVar[dict[str, Json]] = {"does": "missing_notes", "steps": ["two"]}

    @classmethod
    def from_plan(cls, plan: Mapping[str, Any], seed: int) -> Agent:
        return cls(Behaviour(plan["does"]), plan.get("steps"))

    def __init__(self, behaviour: Behaviour, steps: Collection[str] | None = None) -> None:
        self._behaviour = behaviour
        self._steps = steps
        self._auto = Auto()
        self._fault: Problem | None = None

    def begin(self, start: StartView) -> dict[str, Json]:
        known = start.program.index.step_ids
        unknown = [step_id for step_id in self._steps or () if step_id not in known]
        self._fault = Problem(unknown_step_message(unknown[0], known)) if unknown else None
        return self._auto.begin(start)

    def act(self, view: StepView) -> Action:
        if self._fault is not None:
            return self._fault
        if self._steps is None or view.step_id in self._steps:
            answer = behave(self._behaviour, view)
            if isinstance(answer, Ok):
                is_over = view.refusal in ("terminal", "gated", "error")
                return Stop("The engine accepts no more attempts.") if is_over else answer.value
        return self._auto.act(view)


class Unsetting(Agent):
    """Does every step right and sets no variables, also when it is asked for them. Gives up when that is refused."""

    def __init__(self) -> None:
        self._refused: Json = None

    def begin(self, start: StartView) -> dict[str, Json]:
        self._refused = None
        return {}

    def act(self, view: StepView) -> Action:
        blockers = view.response.get("blockers")
        if view.refusal is not None and (view.refusal != "blocked" or blockers == self._refused):
            return Stop("The right answer without variables was refused.")
        self._refused = None if view.refusal is None else blockers
        return replace(correct_answer(view), context=None)


class Erratic(Agent):
    """Does something random at every attempt, and the right thing when its patience is over.

    A block that can't be retried makes it go back to the step and do it right. Where the right thing is refused, it
    gives up.
    """

    kind = "erratic"
    example: ClassVar[dict[str, Json]] = {"patience": 3}

    @classmethod
    def from_plan(cls, plan: Mapping[str, Any], seed: int) -> Agent:
        return cls(seed, plan.get("patience", 2))

    def __init__(self, seed: int = 0, patience: int = 2) -> None:
        self._seed = seed
        self._patience = patience
        self._done_right: set[StepInstance] = set()

    def begin(self, start: StartView) -> dict[str, Json]:
        self._done_right = set()
        return start_context(start)

    def act(self, view: StepView) -> Action:
        if view.refusal == "gated":
            return Stop("The run waits at a gate, which an agent can't open.")
        if view.refusal is not None and view.instance in self._done_right:
            return Stop("The right answer was refused.")
        if view.refusal == "terminal":
            return Rewind()
        if view.attempt > self._patience or view.refusal == "error":
            self._done_right.add(view.instance)
            return correct_answer(view)
        choices = possible(view)
        at = fraction(self._seed, view.step_id, view.visit, view.attempt)
        answer = behave(choices[int(at * len(choices))], view)
        return answer.value if isinstance(answer, Ok) else correct_answer(view)


class Fault(Struct, frozen=True):
    """A fault and when it happens: at a step, on a visit, or wherever it can; always, or as chance decides."""

    kind: FaultKind
    step_id: str | None = None
    visit: int | None = None
    rate: float = 1.0


class Lossy(Agent):
    """Another agent, with faults. Each fault happens once on each visit that it is meant for."""

    def __init__(self, inner: Agent, faults: Sequence[Fault], seed: int = 0) -> None:
        self._inner = inner
        self._faults = tuple(faults)
        self._seed = seed
        self._happened: set[tuple[int, str, int]] = set()
        self._waiting: deque[Action] = deque()
        self._has_advanced = False
        self._is_inner = False

    def begin(self, start: StartView) -> dict[str, Json]:
        self._happened.clear()
        self._waiting.clear()
        self._has_advanced = self._is_inner = False
        return self._inner.begin(start)

    def act(self, view: StepView) -> Action:
        if not self._waiting:
            self._waiting.extend(_BEFORE[kind] for kind in self._now(view) if kind in _BEFORE)
        if self._waiting:
            self._is_inner = False
            return self._waiting.popleft()
        action = self._inner.act(view)
        self._is_inner = True
        if isinstance(action, Submit):
            self._has_advanced = True
            if FaultKind.LOSE_ANSWER in self._now(view, after=True):
                self._waiting.append(Resend())
        return action

    def _now(self, view: StepView, *, after: bool = False) -> list[FaultKind]:
        """Return the faults that happen here, now that they are asked for."""
        kinds: list[FaultKind] = []
        for number, fault in enumerate(self._faults):
            key = (number, view.step_id, view.visit)
            is_meant = (
                fault.step_id in (None, view.step_id)
                and fault.visit in (None, view.visit)
                and (fault.kind is FaultKind.LOSE_ANSWER) is after
                and (fault.kind is not FaultKind.STALE_TOKEN or self._has_advanced)
            )
            if is_meant and key not in self._happened and fraction(self._seed, *key) < fault.rate:
                self._happened.add(key)
                kinds.append(fault.kind)
        return kinds

    def reopen(self) -> Rewind | None:
        self._is_inner = True
        return self._inner.reopen()

    def receive(self, answer: Exchange) -> None:
        if self._is_inner:
            self._is_inner = False
            self._inner.receive(answer)

    def place(self) -> str:
        return self._inner.place()

    def end(self) -> tuple[Problem, ...]:
        return self._inner.end()
