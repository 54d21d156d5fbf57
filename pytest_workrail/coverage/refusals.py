"""Why a step or a loop refuses what is submitted: blocker codes, the gaps of runs that go on, and unset variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from pytest_workrail.agents.correct import smallest_artifact, solve
from pytest_workrail.agents.values import failing_notes
from pytest_workrail.engine.core.conditions import evaluate
from pytest_workrail.engine.core.index import ASSESSMENT, ContractPack
from pytest_workrail.engine.core.modes import may_need_person
from pytest_workrail.engine.core.profiles import (
    Capabilities,
    Confirmation,
    LoopDecision,
    LoopLimit,
    LoopVariable,
    Profile,
    UnsetCondition,
)
from pytest_workrail.engine.core.smallest_set import ConditionSolver
from pytest_workrail.engine.model.reasons import (
    REASONS,
    CapabilityUnavailable,
    CapabilityUnknown,
    FollowupRequired,
    InvalidRequiredOutput,
    LoopLimitReached,
    MissingNotes,
    MissingRequiredOutput,
    UserOnlyDependency,
)
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep, RepeatingStep

APPROVAL = UserOnlyDependency.code
FOLLOWUP = FollowupRequired.code
AT_LIMIT = LoopLimitReached.code
# The reasons that answers of an agent can bring about, by the code of their blocker and by the detail of their gap.
REFUSALS = {reason.code: reason for reason in REASONS if reason.cause}
REFUSAL_OF_GAP = {reason.gap_reason[1]: reason for reason in REFUSALS.values()}
# What a run that never stops records instead of each blocker.
GAP_OF_BLOCKER: dict[str, str] = {code: reason.gap_reason[1] for code, reason in REFUSALS.items()}

# Every run is started with a goal.
_ALWAYS_SET = frozenset(("goal",))


def step_blockers(step: ProgramStep, profile: Profile, packs: Mapping[str, ContractPack]) -> list[str]:
    """Return the codes with which submitting a step can be blocked because of what the step itself asks for.

    What only a broken pattern or schema brings about is not among them: the linter refuses it.
    """
    codes: list[str] = list(_output_codes(step, packs))
    if step.probed_capability is not None and profile.capabilities is Capabilities.ENFORCE:
        codes += [CapabilityUnknown.code, CapabilityUnavailable.code]
    if step.requires_notes:
        codes.append(MissingNotes.code)
    if step.assessments is not None and step.assessments.consequences:
        codes.append(FOLLOWUP)
    if may_need_person(step) and profile.confirmation is Confirmation.USER_DEPENDENCY:
        codes.append(APPROVAL)
    return codes


def _output_codes(step: ProgramStep, packs: Mapping[str, ContractPack]) -> Iterator[str]:
    """Contract, assessments, criteria: the first that a step has decides."""
    contract, criteria = step.contract, step.criteria
    if contract is not None:
        if contract.required:
            yield MissingRequiredOutput.code
        pack = packs.get(contract.ref)
        if pack is not None and contract.ref != ASSESSMENT and can_reject(pack):
            yield InvalidRequiredOutput.code
    elif step.assessments is not None:
        yield InvalidRequiredOutput.code
    elif criteria is not None:
        yield MissingRequiredOutput.code
        if any(failing_notes(criteria, context) is not None for context in _distinguishing_contexts(criteria)):
            yield InvalidRequiredOutput.code


def _distinguishing_contexts(criteria: object) -> Iterator[dict[str, Json]]:
    """Contexts in which the rules of criteria apply: those for all, then each that only some contexts call for."""
    yield {}
    stack = [criteria]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(reversed(node))
        elif isinstance(node, dict):
            change = solve(node["condition"], True, {}, {}) if "type" in node and "condition" in node else None
            if change:
                yield change
            stack.extend(node[name] for name in ("not", "or", "and") if name in node)


def can_reject(pack: ContractPack) -> bool:
    """Return whether an artifact of the right kind can fail the schema: one without members, or with odd ones."""
    alone: dict[str, Json] = {"kind": pack.artifact_kind}
    whole: dict[str, Json] = smallest_artifact(pack) or alone
    strange: Json = {"unexpected": True}
    odd: list[dict[str, Json]] = [
        {**whole, name: strange} for name in ("unexpected", *pack.schema.get("properties", {}))
    ]
    return any(pack.issues({**artifact, **alone}) for artifact in (alone, *odd))


def loop_blockers(loop: RepeatingStep, profile: Profile, reaches_limit: bool) -> list[str]:
    """Return the codes that come from a loop and not from the step that is submitted."""
    codes: list[str] = []
    by_artifact = loop.loop.source.kind == "artifact"
    if by_artifact and profile.loop_decision is LoopDecision.REQUIRE and not any(map(_decides, loop.body)):
        codes += [MissingRequiredOutput.code, InvalidRequiredOutput.code]
    if reaches_limit and profile.loop_limit is LoopLimit.REPORT:
        codes.append(AT_LIMIT)
    return codes


def _decides(step: ProgramStep) -> bool:
    """Return whether the step sees to it in every iteration that there is a decision about the loop."""
    is_required = step.contract is not None and step.contract.required
    return step.decides_loop and is_required and step.run_condition is None


class UnsetVariables:
    """Which conditions and loops of one IR wait for unset variables, and which of them a run is asked about.

    Neither is said where something on the way has to set the variables, because other parts may need them first.
    """

    def __init__(self, program: Program, profile: Profile) -> None:
        self._steps = program.steps
        self._profile = profile

    def is_asked_for(self, step: ProgramStep) -> bool:
        """Return whether a run can be asked about a top-level step or loop."""
        return self._is_asked_by_condition(step) or self._is_asked_by_loop(step)

    def variables(self, place: str) -> frozenset[str]:
        """Return the variables that a top-level step or loop waits for."""
        step = next(each for each in self._steps if each.id == place)
        if self._is_asked_by_loop(step):
            return _of_loop(step)
        return _read(step)

    def can_wait(self, step: ProgramStep, loop: RepeatingStep | None) -> bool:
        """Return whether a run can show the condition of a step waiting for unset variables."""
        read = _read(step)
        if not read or read & (self._needed_by_loops | _ALWAYS_SET):
            return False
        if loop is not None and read & {*_read(loop), *_deciding(loop), *loop.loop.variables.raw.values()}:
            return False
        condition = step.run_condition
        patch = None if evaluate(condition, {}) else ConditionSolver(condition).smallest(True, {})
        return patch is not None

    def _is_asked_by_condition(self, step: ProgramStep) -> bool:
        match self._profile.unset_condition:
            case UnsetCondition.PASS_OVER:
                return False
            case UnsetCondition.ASK:
                read = _read(step)
                if not self.can_wait(step, None) or len(read) > 10 or _may_be_empty(step):
                    return False
                others = [each for each in self._steps if each is not step]
                # Whoever waits for the same variable is asked about first; and a run has to get under way without it.
                return not any(read & _all_read(each) for each in others) and bool(others)

    def _is_asked_by_loop(self, step: ProgramStep) -> bool:
        match self._profile.loop_variable:
            case LoopVariable.REFUSE:
                return False
            case LoopVariable.ASK:
                needed = _of_loop(step)
                before = self._steps[: self._steps.index(step)]
                runs_first = any(each.run_condition is None and each.type != "loop" for each in before)
                is_used = any(needed & (_all_read(each) | _of_loop(each)) for each in before)
                return bool(needed) and runs_first and not is_used and not needed & _read(step)

    @cached_property
    def _needed_by_loops(self) -> frozenset[str]:
        return frozenset(name for each in self._steps for name in _of_loop(each))


def _read(step: ProgramStep) -> frozenset[str]:
    """Return the variables that the condition of a step reads."""
    return frozenset(ConditionSolver(step.run_condition).variables)


def _all_read(step: ProgramStep) -> frozenset[str]:
    """Return the variables that decide whether a step, a loop or a step of its body is done."""
    inner = (name for each in step.body for name in _read(each))
    return frozenset((*_read(step), *_deciding(step), *inner))


def _deciding(step: ProgramStep) -> frozenset[str]:
    """Return the variables of the condition that a loop continues by."""
    return frozenset(ConditionSolver(step.loop_condition).variables)


def _of_loop(step: ProgramStep) -> frozenset[str]:
    """Return the variable that a loop runs over."""
    return frozenset(() if step.loop_variable is None else (step.loop_variable,))


def _may_be_empty(step: ProgramStep) -> bool:
    """Return whether a loop may be entered and show no step, so that setting its variables would not help."""
    if step.type != "loop":
        return False
    return step.loop.source.kind != "count" or all(each.run_condition is not None for each in step.body)
