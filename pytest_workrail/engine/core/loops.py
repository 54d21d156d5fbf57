"""Loops: what drives them, what their variables are, and the kernel that moves them on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.conditions import Context, is_met, json_of
from pytest_workrail.engine.core.index import LOOP_CONTROL_KIND, ContractPack, artifact_kind
from pytest_workrail.engine.core.outcomes import (
    InterpreterError,
    InvalidLoop,
    InvalidLoopControl,
    InvalidState,
    LoopReportError,
    LoopUnset,
    MaxIterationsExceeded,
    MissingContext,
    MissingLoopControl,
    Passed,
    PassedOver,
    Tracer,
    WrongLoopVariable,
    actual,
)
from pytest_workrail.engine.core.profiles import LoopIdCheck, Profile
from pytest_workrail.engine.core.smallest_set import ConditionSolver
from pytest_workrail.engine.model.step_keys import CompletedKeys, LoopFrame, LoopPosition, is_safe_id
from pytest_workrail.engine.model.trace import IterationRef, LoopRef, TraceEntry
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.model.ir import (
    BodyProgramStep,
    CountSource,
    ItemsSource,
    LoopArtifact,
    LoopCondition,
    NoSource,
    RepeatingStep,
)
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.model.workflow import Condition


def body_of(loop: RepeatingStep, profile: Profile) -> Sequence[BodyProgramStep]:
    """Return the steps that a loop runs under a profile. The public engine has no gates."""
    match profile.loop_gate:
        case "run":
            return loop.body
        case "leave_out":
            return [step for step in loop.body if not step.is_gate]


class Decided(Struct, frozen=True):
    """The last valid artifact says whether to go on."""

    word: ClassVar[str] = "found"
    goes_on: bool

    @property
    def detail(self) -> str:
        return f'decision="{"continue" if self.goes_on else "stop"}"'


class NotFound(Struct, frozen=True):
    """There is no artifact of that kind."""

    word: ClassVar[str] = "not_found"
    detail: str


class Unusable(Struct, frozen=True):
    """There are some, and each has issues; these are the last one's."""

    word: ClassVar[str] = "invalid"
    detail: ClassVar[str] = "Every wr.loop_control artifact fails its schema"
    issues: tuple[str, ...]


LoopReading: TypeAlias = Decided | NotFound | Unusable

_NO_ARTIFACTS = NotFound("No artifacts provided for loop control evaluation")
_NO_CONTROL = NotFound("No wr.loop_control artifact found")


def read_loop_control(artifacts: Sequence[Json], pack: ContractPack, loop_id: str, check: LoopIdCheck) -> LoopReading:
    """Return the decision that the artifacts contain for a loop: the last valid one counts."""
    if not artifacts:
        return _NO_ARTIFACTS
    last: tuple[str, ...] | None = None
    for artifact in reversed(artifacts):
        if not isinstance(artifact, dict) or artifact_kind(artifact) != LOOP_CONTROL_KIND:
            continue
        issues = loop_control_issues(artifact, pack, loop_id, check)
        if not issues:
            return Decided(artifact["decision"] == "continue")
        last = last or issues
    return _NO_CONTROL if last is None else Unusable(last)


def loop_control_issues(
    artifact: dict[str, Json], pack: ContractPack, loop_id: str, check: LoopIdCheck
) -> tuple[str, ...]:
    """Return the reasons why an artifact can't decide about this loop."""
    issues = pack.issues(artifact)
    match check:
        case "ignore":
            return issues
        case "match":
            return issues + _loop_id_issues(artifact, loop_id)


def _loop_id_issues(artifact: dict[str, Json], loop_id: str) -> tuple[str, ...]:
    if "loopId" not in artifact:
        return ("loopId: Required",)
    named = artifact["loopId"]
    # A loop id that breaks the schema has its issue already.
    if named == loop_id or not isinstance(named, str):
        return ()
    return (f'loopId: Invalid literal value, expected "{loop_id}"',)


_PREVIEW_UNITS = 60


class BodyStep(Struct, frozen=True):
    """A step inside a loop, with what its selection says in a trace. A gate only asks for what is not decided yet."""

    step_id: str
    condition: Condition | None
    selected: TraceEntry
    is_gate: bool = False


class LoopPlan:
    """One loop of an IR, read once."""

    __slots__ = ("_pack", "body", "definition", "kind", "loop_id", "max_iterations", "solvers", "source", "variables")

    def __init__(self, definition: RepeatingStep, body: tuple[BodyStep, ...], packs: dict[str, ContractPack]) -> None:
        self.definition = definition
        self.loop_id = definition.id
        self.kind = definition.loop.kind
        self.max_iterations = definition.loop.max_iterations
        self.source = definition.loop.source
        self.variables = definition.loop.variables
        self.body = body
        self.solvers = {step.step_id: ConditionSolver(json_of(step.condition)) for step in body}
        self.solvers[self.loop_id] = ConditionSolver(json_of(definition.loop_condition))
        self._pack = packs.get(LOOP_CONTROL)
        if self.source.kind == "artifact" and self._pack is None:
            raise ValueError(f"the IR has no pack {LOOP_CONTROL}, which loop '{self.loop_id}' is driven by")

    @property
    def pack(self) -> ContractPack:
        """The contract of this loop's decisions."""
        assert self._pack is not None
        return self._pack

    @property
    def source_loop_id(self) -> str:
        """The id that the condition source gives, which a trace shows; by default the loop's own."""
        named = self.source.loop_id if self.source.kind == "artifact" else None
        return named if named is not None and is_safe_id(named) else self.loop_id

    def project(self, iteration: int, context: Context) -> dict[str, Any]:
        """The context with the loop's variables on top."""
        return {**context, **loop_variables(self.definition, iteration, context)}


def loop_variables(definition: RepeatingStep, iteration: int, context: Context) -> dict[str, Any]:
    """Return the variables of one iteration: its number from one and, for a list, the element and its index."""
    names, source = definition.loop.variables, definition.loop.source
    values: dict[str, Any] = {names.iteration: iteration + 1}
    items = context.get(source.variable) if source.kind == "items" else None
    if isinstance(items, list):
        # Past the end, where nothing is rendered, the element is simply not set.
        values[names.item or ""] = items[iteration] if iteration < len(items) else None
        values[names.index_ or ""] = iteration
    return values


class Execute(Struct, frozen=True):
    """Run this body step of the current iteration."""

    body_index: int


class Advance(Struct, frozen=True):
    """Start this iteration."""

    iteration: int


class Exit(Struct, frozen=True):
    """Leave the loop; with a report when it should not have ended like this, or can't be entered."""

    reported: LoopReportError | LoopUnset | None = None


Move: TypeAlias = Execute | Advance | Exit


class Watcher(Protocol):
    """Sees what a search for the next step comes across. The search does not depend on it."""

    def evaluated(self, step_id: str, position: LoopPosition | None, holds: bool) -> None:
        """The run condition of a step or loop was evaluated, inside a loop or at the top level."""

    def asked(self, loop_id: str, iteration: int, enters: bool) -> None:
        """A loop decided whether to run an iteration."""

    def chosen(self, step_id: str, position: LoopPosition | None, completed: CompletedKeys) -> None:
        """A step is the next one, or a loop is entered."""

    def left(self, frame: LoopFrame, reported: LoopReportError | LoopUnset | None, completed: CompletedKeys) -> None:
        """A loop ended."""


class LoopKernel:
    """Decides what one loop does next, for one call of the interpreter."""

    __slots__ = ("_artifacts", "_context", "_passed", "_plan", "_profile", "_projected", "_tracer", "_watcher")

    def __init__(
        self,
        plan: LoopPlan,
        profile: Profile,
        context: Context,
        artifacts: Sequence[Json],
        tracer: Tracer,
        passed: dict[str, Passed] | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self._plan = plan
        self._watcher = watcher
        # What is passed over, by step; shared by the kernels of one selection.
        self._passed = {} if passed is None else passed
        self._profile = profile
        self._context = context
        self._artifacts = artifacts
        self._tracer = tracer
        self._projected: dict[str, Any] | None = None  # the context with the variables of the current iteration

    def move(self, frame: LoopFrame, is_completed: Callable[[str], bool]) -> Move | InterpreterError:
        """Check the frame, then enter, execute, advance or exit."""
        problem = self._problem(frame)
        if problem is not None:
            return problem
        enters = self._enters(frame.iteration, ends_iteration=False)
        if isinstance(enters, LoopUnset):
            return Exit(enters)
        if enters is False and frame.iteration == 0:
            self._note_no_pass(is_completed)
        if enters is not True:
            return Exit() if enters is False else enters
        body_index = self._eligible(frame, is_completed)
        if body_index is not None:
            return Execute(body_index)
        return self._after_body(frame.iteration + 1)

    def _after_body(self, following: int) -> Move | InterpreterError:
        plan = self._plan
        at_limit = following >= plan.max_iterations
        if at_limit and self._profile.loop_limit == "exit":
            return Exit()
        enters = self._enters(following, ends_iteration=True)
        if isinstance(enters, MissingLoopControl | InvalidLoopControl | LoopUnset):
            return Exit(enters)
        if enters is not True:
            return Exit() if enters is False else enters
        if at_limit:
            return Exit(MaxIterationsExceeded(plan.loop_id, following, int(plan.max_iterations)))
        return Advance(following)

    def _problem(self, frame: LoopFrame) -> InterpreterError | None:
        plan = self._plan
        if not (_is_count(frame.iteration) and _is_count(frame.body_index)):
            return InvalidState("Loop iteration and body index must be non-negative integers", plan.loop_id)
        if not plan.body:
            return InvalidLoop(f"Loop '{plan.loop_id}' has an empty body", plan.loop_id)
        limit = plan.max_iterations
        if not _is_count(limit):
            written = js.text(limit)
            return InvalidLoop(f"maxIterations must be a non-negative integer (got {written})", plan.loop_id)
        if frame.iteration >= limit:
            message = f"Iteration {frame.iteration} of loop '{plan.loop_id}' is beyond its limit of {js.text(limit)}"
            return InvalidState(message, plan.loop_id)
        if frame.body_index > len(plan.body):
            message = f"Loop '{plan.loop_id}' is past the end of its body"
            return InvalidState(message, plan.loop_id)
        return None

    def _eligible(self, frame: LoopFrame, is_completed: Callable[[str], bool]) -> int | None:
        body = self._plan.body
        for index in range(frame.body_index, len(body)):
            step = body[index]
            if is_completed(step.step_id) or (step.is_gate and self._is_decided()):
                continue
            if step.condition is None:
                return index
            holds = self._applies(step, frame.iteration)
            if self._watcher is not None:
                self._watcher.evaluated(step.step_id, LoopPosition(self._plan.loop_id, frame.iteration), holds)
            if holds:
                return index
            self._passed[step.step_id] = self._passed_over(step.step_id, frame.iteration)
        return None

    def _applies(self, step: BodyStep, iteration: int) -> bool:
        """Return whether the run condition of a step of the body holds."""
        if self._projected is None:
            self._projected = self._plan.project(iteration, self._context)
        return is_met(step.condition, self._projected)

    def _is_decided(self) -> bool:
        """Return whether there is a decision about the loop already, so that its gate need not ask for one."""
        plan = self._plan
        reading = read_loop_control(self._artifacts, plan.pack, plan.loop_id, self._profile.loop_id)
        return isinstance(reading, Decided)

    def _passed_over(self, step_id: str, iteration: int) -> PassedOver:
        plan = self._plan
        own = loop_variables(plan.definition, iteration, self._context)
        return PassedOver(step_id, plan.solvers[step_id], True, LoopPosition(plan.loop_id, iteration), own)

    def _note_no_pass(self, is_completed: Callable[[str], bool]) -> None:
        """The loop's own condition let no pass begin. Once a step of the first pass is done, one did."""
        plan = self._plan
        if plan.source.kind != "condition" or any(is_completed(step.step_id) for step in plan.body):
            return
        own = loop_variables(plan.definition, 0, self._context)
        self._passed[plan.loop_id] = PassedOver(
            plan.loop_id, plan.solvers[plan.loop_id], plan.kind != "until", None, own
        )

    def _enters(self, iteration: int, ends_iteration: bool) -> bool | LoopUnset | InterpreterError:
        enters = self._should_enter(iteration, ends_iteration)
        if self._watcher is not None:
            self._watcher.asked(self._plan.loop_id, iteration, enters is True)
        if iteration == 0 and enters is True:
            loop_id = self._plan.loop_id
            summary = f"Entered loop '{loop_id}' at iteration 0."
            self._tracer.record("entered_loop", summary, LoopRef(loop_id), IterationRef(0))
        return enters

    def _should_enter(self, iteration: int, ends_iteration: bool) -> bool | LoopUnset | InterpreterError:
        plan = self._plan
        match plan.source:
            case CountSource() as source:
                return self._within_count(iteration, source)
            case ItemsSource() as source:
                return self._within_items(iteration, source.variable)
            case LoopCondition() as source:
                holds = is_met(source.condition, plan.project(iteration, self._context))
                goes_on = holds is not (plan.kind == "until")
                self._record_result("context", iteration, goes_on)
                return goes_on
            case LoopArtifact():
                return self._by_artifact(iteration, ends_iteration)
            case NoSource():
                return InvalidLoop(f"Loop '{plan.loop_id}' has nothing that decides about it", plan.loop_id)

    def _within_count(self, iteration: int, source: CountSource) -> bool | LoopUnset | MissingContext:
        if source.count is not None:
            return iteration < source.count
        variable = source.variable or ""
        if self._asks_for(variable):
            return LoopUnset(self._plan.loop_id, variable, "count", 1)
        count = self._context.get(variable)
        if not js.is_number(count):
            message = f"for loop '{self._plan.loop_id}' requires numeric context['{variable}']"
            return self._missing(message, variable, "number")
        return iteration < count  # type: ignore[operator]

    def _within_items(self, iteration: int, variable: str) -> bool | LoopUnset | MissingContext:
        plan = self._plan
        if self._asks_for(variable):
            return LoopUnset(plan.loop_id, variable, "items", [{} if self._reads_members() else "item"])
        items = self._context.get(variable)
        if not isinstance(items, list):
            return self._missing(
                f"forEach loop '{plan.loop_id}' requires array context['{variable}']", variable, "array"
            )
        if iteration == 0 and items and not isinstance(items[0], dict) and self._reads_members():
            item = plan.variables.item
            preview = js.u16_prefix(js.text(items[0]), _PREVIEW_UNITS)
            message = (
                f"forEach loop '{plan.loop_id}' reads members of {item} in its prompts, but '{variable}' holds "
                f'{_type_name(items[0])}s (the first is "{preview}"), not objects'
            )
            return self._missing(message, variable, "array_of_objects")
        return iteration < len(items)

    def _asks_for(self, variable: str) -> bool:
        match self._profile.loop_variable:
            case "refuse":
                return False
            case "ask":
                return variable not in self._context

    def _reads_members(self) -> bool:
        """Whether the prompts of the body read members of the item, which then has to be an object."""
        member = f"{{{{{self._plan.variables.item}."
        return any(member in step.prompt for step in self._plan.definition.body)

    def _missing(
        self, message: str, variable: str, expected: Literal["number", "array", "array_of_objects"]
    ) -> MissingContext:
        wrong = WrongLoopVariable(variable, expected, actual(variable, self._context))
        return MissingContext(message, self._plan.loop_id, wrong)

    def _by_artifact(self, iteration: int, ends_iteration: bool) -> bool | MissingLoopControl | InvalidLoopControl:
        plan = self._plan
        reading = read_loop_control(self._artifacts, plan.pack, plan.loop_id, self._profile.loop_id)
        self._record_reading(reading, iteration)
        required = ends_iteration and self._profile.loop_decision == "require"
        outcome: bool | MissingLoopControl | InvalidLoopControl
        match reading:
            case Decided(goes_on):
                outcome = goes_on
            case NotFound():
                outcome = MissingLoopControl(plan.loop_id, iteration - 1) if required else True
            case Unusable(issues):
                outcome = InvalidLoopControl(plan.loop_id, iteration - 1, issues) if required else True
        self._record_result("artifact", iteration, outcome is True)
        return outcome

    def _record_reading(self, reading: LoopReading, iteration: int) -> None:
        if self._tracer.is_full:
            return
        loop_id = self._plan.source_loop_id
        summary = f"Loop '{loop_id}' iteration {iteration}: artifact match={reading.word} — {reading.detail}"
        self._tracer.record("evaluated_condition", summary, LoopRef(loop_id), IterationRef(iteration))

    def _record_result(self, label: str, iteration: int, goes_on: bool) -> None:
        if self._tracer.is_full:
            return
        loop_id = self._plan.loop_id
        outcome = "continue" if goes_on else "exit"
        summary = f"Evaluated {label} condition for loop '{loop_id}' at iteration {iteration}: {outcome}."
        self._tracer.record("evaluated_condition", summary, LoopRef(loop_id), IterationRef(iteration))


def _is_count(value: object) -> bool:
    if isinstance(value, float):
        return value >= 0 and value.is_integer()
    return type(value) is int and value >= 0


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, list):
        return "array"
    return "string" if isinstance(value, str) else "number"
