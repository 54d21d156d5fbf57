"""The outcome of an advance: refused, stopped at a gate, or accepted with the next step. Pure functions.

A question is a block like any other in the log. What makes it one is the patch that its snapshot remembers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile
from typing import Any, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.criteria import Validation
from pytest_workrail.engine.core.full_auto import (
    USER_UNAVAILABLE,
    Resolution,
    asked_of_user,
    late_summaries,
    resolutions,
    undisclosed,
)
from pytest_workrail.engine.core.index import CAPABILITY_OBSERVATION, DIVERGENCE
from pytest_workrail.engine.core.interpreter import Question, Running, Selection, find_question, loop_question, state_of
from pytest_workrail.engine.core.modes import (
    Block,
    Proceed,
    approval_reason,
    autonomous_gate,
    decide,
    recommendation_warnings,
)
from pytest_workrail.engine.core.outcomes import (
    InterpreterError,
    InvalidLoopControl,
    LoopReportError,
    LoopVariableUnset,
    MissingContext,
    Passed,
)
from pytest_workrail.engine.core.outputs import (
    Invalid,
    Judgement,
    Missing,
    Observation,
    ReportedDivergence,
    Submission,
    capability_reasons,
    capability_status,
    divergences,
    observations,
)
from pytest_workrail.engine.core.profiles import (
    Profile,
)
from pytest_workrail.engine.core.prompts import render_context
from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.blockers import Gap, decision_gap, distinct_gaps, preferred_gap
from pytest_workrail.engine.model.events import (
    AdvancedOutcome,
    AdvanceRecorded,
    ArtifactPayload,
    Log,
    NodeOutputAppended,
    NotesPayload,
)
from pytest_workrail.engine.model.ids import EventId, NodeId
from pytest_workrail.engine.model.reasons import (
    CapabilityUnavailable,
    CapabilityUnknown,
    InvalidRequiredOutput,
    MissingContextKey,
    Reason,
    UserOnlyDependency,
)
from pytest_workrail.engine.model.snapshot import BlockedState, ExecutionSnapshot
from pytest_workrail.engine.model.step_keys import StepInstance
from pytest_workrail.engine.model.trace import TraceEntry
from pytest_workrail.engine.model.words import CapabilityStatus, GateKind, Preferences
from pytest_workrail.engine.projections.dag import Node
from pytest_workrail.engine.projections.incremental import of_node
from pytest_workrail.engine.projections.session_facts import Lineage
from pytest_workrail.engine.protocol.errors import ToolError, internal, precondition
from pytest_workrail.engine.protocol.sessions import NodePosition, SessionLoader, open_node
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.model.ir import ProgramStep
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL


class AskedQuestion(Struct, frozen=True):
    """One question on the lineage of a node, with the advance that led to it and what that submitted."""

    node_id: NodeId
    step_id: str
    variables: tuple[str, ...]
    asked_by: EventId
    submitted: Submission


class Questions:
    """The questions on the lineage of a node. Looks further up than the pending step only when it is asked to.

    `pending` are those that no step has answered yet; `in_chain` are those among the blocked attempts in a row that
    end at the node itself. Both oldest first.
    """

    def __init__(
        self,
        pending: tuple[AskedQuestion, ...] = (),
        in_chain: tuple[AskedQuestion, ...] = (),
        asked: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self.pending = pending
        self.in_chain = in_chain
        self._asked = cache(asked)

    def declined(self, context: Mapping[str, object]) -> frozenset[str]:
        """The variables that were asked for anywhere on the lineage and are still not set."""
        return frozenset(name for name in self._asked() if name not in context)

    def decisions(self, context: Mapping[str, object]) -> list[Gap]:
        """Return the gaps that the first success after a question records: the variables left unset."""
        return [
            decision_gap(name, each.step_id, each.asked_by)
            for each in self.pending
            for name in each.variables
            if name not in context
        ]

    @property
    def submitted(self) -> Submission:
        """The submission of the question that is being answered."""
        nothing = Submission()
        return next((each.submitted for each in reversed(self.in_chain) if each.submitted != nothing), nothing)


NO_QUESTIONS = Questions()


def asks_questions(profile: Profile) -> bool:
    """Whether a profile asks any. Where it asks none, a stored question is a plain block."""
    return profile.allows(MissingContextKey)


def question_patch(snapshot: ExecutionSnapshot) -> dict[str, Json] | None:
    """Return the values that a question proposes to set; None for a state that asks nothing."""
    reason = _reason(snapshot)
    return None if reason is None else dict(reason.patch or {})


def _reason(snapshot: ExecutionSnapshot) -> MissingContextKey | None:
    state = snapshot.state
    reason = state.blocked.reason if isinstance(state, BlockedState) else None
    return reason if isinstance(reason, MissingContextKey) and reason.patch is not None else None


def questions_above(loader: SessionLoader, position: NodePosition, profile: Profile) -> Questions:
    """The questions that were asked on the way to a node."""
    if not asks_questions(profile):
        return NO_QUESTIONS
    run, here = position.run, position.node.node_id

    def upwards() -> Iterator[Node]:
        return (run.nodes[each] for each in run.upwards(here))

    def asked_anywhere() -> frozenset[str]:
        return frozenset(name for each in _asked_at(loader, position, upwards()) for name in each.variables)

    since_step = takewhile(lambda node: node.kind != "step", upwards())
    pending = tuple(_asked_at(loader, position, since_step))[::-1]
    chain = {node.node_id for node in takewhile(lambda node: node.kind == "blocked_attempt", upwards())}
    return Questions(pending, tuple(each for each in pending if each.node_id in chain), asked_anywhere)


def _asked_at(loader: SessionLoader, position: NodePosition, nodes: Iterable[Node]) -> Iterator[AskedQuestion]:
    for node in nodes:
        if node.kind != "blocked_attempt" or node.parent is None:
            continue
        opened = open_node(loader, position.session, position.run, node)
        # A node above this one that can't be opened any more can't be asked about either.
        reason = None if isinstance(opened, Err) else _reason(opened.value.snapshot)
        if reason is None:
            continue
        for advance in of_node(position.events, AdvanceRecorded, node.parent):
            outcome = advance.data.outcome
            if isinstance(outcome, AdvancedOutcome) and outcome.to_node_id == node.node_id:
                submitted = submission_of(position.events, advance)
                variables = tuple(reason.patch or {})
                yield AskedQuestion(node.node_id, reason.step_id or "", variables, advance.event_id, submitted)


def submission_of(events: Log, advance: AdvanceRecorded) -> Submission:
    """The notes and artifacts that the log keeps of an advance."""
    attempt = advance.data.attempt_id
    notes: str | None = None
    artifacts: dict[int, Any] = {}
    opening = keys.artifact_output_id(attempt, 0)[:-1]
    for event in of_node(events, NodeOutputAppended, advance.scope.node_id):
        payload, output_id = event.data.payload, event.data.output_id
        if isinstance(payload, NotesPayload) and output_id == keys.recap_output_id(attempt):
            notes = payload.notes_markdown
        elif isinstance(payload, ArtifactPayload) and output_id.startswith(opening):
            artifacts[int(output_id[len(opening) :])] = payload.artifact
    return Submission(notes, tuple(artifacts[place] for place in sorted(artifacts)))


FIT_SCHEMA = "Provide a valid artifact matching the contract schema"


class AdvanceAttempt(Struct, frozen=True):
    """An advance as it was submitted, with the context it is judged in."""

    position: NodePosition
    instance: StepInstance
    submission: Submission
    context: dict[str, Any]
    preferences: Preferences
    is_retry: bool
    # Artifacts of earlier steps of the same loop iteration, where the profile lets them decide.
    earlier_artifacts: tuple[Json, ...] = ()
    dependencies: tuple[UserOnlyDependency, ...] = ()
    questions: Questions = NO_QUESTIONS
    # What is submitted was stored with the question that this answers, so it is judged and not stored again.
    is_resubmission: bool = False

    @property
    def step(self) -> ProgramStep:
        return self.position.program.step(self.instance.step_id)


class Reports(Struct, frozen=True):
    """The reports of an agent besides the output of the step.

    `rejected` are the contracts of reports that do not pass and that the step did not ask for.
    """

    observations: tuple[Observation, ...] = ()
    divergences: tuple[ReportedDivergence, ...] = ()
    rejected: tuple[str, ...] = ()


class Refused(Struct, frozen=True):
    """Blocked. `validated` names the contract that a recorded validation is about, if one is recorded."""

    reasons: tuple[Reason, ...]
    judgement: Judgement
    reports: Reports
    validation: Validation | None
    validated: str | None


class Asked(Struct, frozen=True):
    """Nothing is wrong, but variables are unset that a step waits for. `passed` are the steps passed over so far."""

    question: Question
    trace: tuple[TraceEntry, ...]
    passed: tuple[Passed, ...]
    judgement: Judgement
    reports: Reports


class Gated(Struct, frozen=True):
    """Stopped at a gate."""

    gate: GateKind


class Accepted(Struct, frozen=True):
    """The step is done. Gaps are what was passed over, tolerated, and beyond what the workflow recommends."""

    selection: Selection
    judgement: Judgement
    reports: Reports
    passed_over: tuple[Gap, ...]
    tolerated: tuple[Gap, ...]
    recommendations: tuple[Gap, ...]
    # The gaps of earlier advances that this submission resolves.
    resolved: tuple[Resolution, ...] = ()


AdvanceOutcome: TypeAlias = Refused | Asked | Gated | Accepted


def decide_advance(attempted: AdvanceAttempt, profile: Profile) -> Ok[AdvanceOutcome] | Err[ToolError]:
    """The verdict on an advance; an error when it can't be had and nothing may be written."""
    position, step = attempted.position, attempted.step
    judgement = position.program.validator.check(
        step, attempted.instance.loop_path, attempted.submission, attempted.context
    )
    reports = _reports(attempted, profile)
    reasons = judgement.reasons(
        _capability_reasons(attempted, reports, profile), _dependency_reasons(attempted, profile)
    )
    decision = decide(reasons, attempted.preferences, profile)
    if isinstance(decision, Block):
        match judgement.requirement:
            case Missing(ref) | Invalid(ref) if judgement.validation is not None:
                validated: str | None = ref
            case _:
                validated = None
        return Ok(Refused(decision.reasons, judgement, reports, judgement.validation, validated))
    if not attempted.is_retry:
        gate = autonomous_gate(step, _render_context(attempted), attempted.preferences, profile)
        if gate is not None:
            return Ok(Gated(gate))
    return _proceed(attempted, judgement, reports, decision, profile)


def _proceed(
    attempted: AdvanceAttempt, judgement: Judgement, reports: Reports, decision: Proceed, profile: Profile
) -> Ok[AdvanceOutcome] | Err[ToolError]:
    selected = _select(attempted, profile)
    if isinstance(selected, Err):
        match selected.error:
            case ToolError() as error:
                return Err(error)
            case LoopVariableUnset(unset, trace, passed_over):
                asked = loop_question(unset, attempted.context)
                return Ok(Asked(asked, trace, passed_over, judgement, reports))
            case InvalidLoopControl(issues=issues) as reported:
                invalid = Validation(False, issues, (FIT_SCHEMA,))
                return Ok(Refused((reported.reason(),), judgement, reports, invalid, LOOP_CONTROL))
            case reported:
                return Ok(Refused((reported.reason(),), judgement, reports, judgement.validation, None))
    selection = selected.value
    question = _question(attempted, selection, profile)
    if question is not None and not attempted.preferences.never_stops:
        return Ok(Asked(question, selection.trace, selection.passed, judgement, reports))
    passed = [reason.as_gap() for reason in decision.passed_over if not _is_disclosed(reason, attempted)]
    passed += [reason.as_gap() for reason in selection.gaps]
    passed += [reason.as_gap() for reason in (() if question is None else question.reasons())]
    passed += attempted.questions.decisions(attempted.context)
    tolerated = [reason.as_gap("warning") for reason in decision.tolerated]
    tolerated += [InvalidRequiredOutput(ref).as_gap("warning") for ref in reports.rejected]
    tolerated += _absent_capabilities(attempted, reports, profile)
    tolerated += _undisclosed(attempted, reports, profile)
    recommended = recommendation_warnings(attempted.position.program.definition, attempted.preferences)
    kept = _kept((*passed, *tolerated, *recommended), profile)
    critical, warnings, beyond = (
        tuple([gap for gap in group if id(gap) in kept]) for group in (passed, tolerated, recommended)
    )
    resolved = _resolved(attempted, profile)
    return Ok(Accepted(selection, judgement, reports, critical, warnings, beyond, resolved))


def _resolved(attempted: AdvanceAttempt, profile: Profile) -> tuple[Resolution, ...]:
    """Return the gaps on the lineage that the submission resolves."""
    match profile.late_outputs:
        case "ignore":
            return ()
        case "resolve_gaps":
            if not attempted.submission.artifacts:
                return ()
            position, contract = attempted.position, attempted.step.contract
            packs = position.program.index.packs
            lineage = Lineage(position.events, position.run, position.node.node_id)
            gaps = lineage.open_gaps(late_summaries(packs))
            return resolutions(gaps, packs, attempted.submission.artifacts, None if contract is None else contract.ref)


def _undisclosed(attempted: AdvanceAttempt, reports: Reports, profile: Profile) -> list[Gap]:
    """Return the record that a prompt asked a user who is not there, and that nothing says what became of it."""
    asked = asked_of_user(attempted.step, _render_context(attempted), attempted.preferences, profile)
    if all(question.is_conditional for question in asked):
        return []
    if any(divergence.reason == USER_UNAVAILABLE for divergence in reports.divergences):
        return []
    return [undisclosed(attempted.instance.step_id)]


def _absent_capabilities(attempted: AdvanceAttempt, reports: Reports, profile: Profile) -> list[Gap]:
    """Return the preferred capabilities that are not there, each said once on a lineage."""
    match profile.capabilities:
        case "record":
            return []
        case "enforce":
            position = attempted.position
            absent = absent_capabilities(position, {attempted.instance.step_id}, reports.observations)
            if not absent:
                return []
            lineage = Lineage(position.events, position.run, position.node.node_id)
            known = {gap.summary for gap in lineage.open_gaps()}
            gaps = [preferred_gap(name, status) for name, status in absent.items()]
            return [gap for gap in gaps if gap.summary not in known]


def absent_capabilities(
    position: NodePosition, reached: Collection[str] = (), observed: Sequence[Observation] = ()
) -> dict[str, CapabilityStatus]:
    """Return the preferred capabilities that are not known to be there, as far as their probes were reached."""
    program = position.program.definition
    if not program.preferred_capabilities:
        return {}
    status = _capability_status(position, reached, observed)
    names = (name for name in program.preferred_capabilities if status.get(name, "available") != "available")
    return {name: status[name] for name in names}


def _capability_status(
    position: NodePosition, reached: Collection[str], observed: Sequence[Observation]
) -> dict[str, CapabilityStatus]:
    """Return what is known at a node of each capability whose probe was reached; `observed` comes on top."""
    known = Lineage(position.events, position.run, position.node.node_id).observations()
    state = state_of(position.snapshot)
    completed = state.completed if isinstance(state, Running) else ()
    return capability_status(position.program.definition, {*reached, *completed}, [*known, *observed])


def _kept(gaps: Sequence[Gap], profile: Profile) -> set[int]:
    """The gaps to record, by identity: two that say the same are still two."""
    match profile.repeated_gaps:
        case "record":
            return set(map(id, gaps))
        case "once":
            return set(map(id, distinct_gaps(gaps)))


def _question(attempted: AdvanceAttempt, selection: Selection, profile: Profile) -> Question | None:
    """Return the question to ask before the run completes. An answer to a question decides, so it raises no other."""
    match profile.unset_condition:
        case "pass_over":
            return None
        case "ask":
            if attempted.questions.in_chain or not selection.is_complete:
                return None
            context = attempted.context
            declined = attempted.questions.declined(context)
            return find_question(selection, context, declined, lambda patch: _next(attempted, {**context, **patch}))


def _next(attempted: AdvanceAttempt, context: dict[str, Any]) -> Ok[Selection] | Err[InterpreterError]:
    """Return the selection after the pending step in a context."""
    interpreter = attempted.position.program.interpreter
    done = interpreter.complete(state_of(attempted.position.snapshot), attempted.instance)
    if isinstance(done, Err):
        return done
    return interpreter.next(
        done.value,
        context,
        attempted.earlier_artifacts + attempted.submission.artifacts,
        never_stop=attempted.preferences.never_stops,
        is_declined=lambda variable: variable in attempted.questions.declined(context),
    )


def _select(attempted: AdvanceAttempt, profile: Profile) -> Ok[Selection] | Err[_Reported | ToolError]:
    selected = _next(attempted, attempted.context)
    if isinstance(selected, Ok):
        return selected
    error = selected.error
    if isinstance(error, LoopReportError | LoopVariableUnset):
        return Err(error)
    if isinstance(error, MissingContext):
        return Err(missing_context(error, "`context` and call continue_workflow again with the same token", profile))
    return Err(internal(f"The next step can't be chosen ({error.code}): {error.message}"))


_Reported: TypeAlias = LoopReportError | LoopVariableUnset


def missing_context(error: MissingContext, where: str, profile: Profile) -> ToolError:
    """A loop can't be decided because a variable is not there. Supplying it helps."""
    advice = f"Set the variable that loop '{error.loop_id}' needs in {where}; nothing was written."
    match profile.loop_variable:
        case "refuse":
            return precondition(error.message, advice)
        case "ask":
            facts: dict[str, Json] = {"kind": "loop_variable_invalid", "loopId": error.loop_id}
            if error.wrong is not None:
                wrong = error.wrong
                facts |= {"variable": wrong.variable, "expected": wrong.expected, "actual": wrong.actual.to_wire()}
            return precondition(error.message, advice, facts)


def _render_context(attempted: AdvanceAttempt) -> Any:
    loop = attempted.position.program.index.innermost_loop(attempted.instance)
    return render_context(loop, attempted.instance.loop_path, attempted.context)


def _reports(attempted: AdvanceAttempt, profile: Profile) -> Reports:
    """Observations and divergences in a submission. They are read even where nobody asked for them."""
    step, artifacts, program = attempted.step, attempted.submission.artifacts, attempted.position.program
    if not artifacts:
        return Reports((), (), ())  # the packs of reports need the whole catalog
    observed, odd_observations = observations(step, artifacts, program.report_pack(CAPABILITY_OBSERVATION))
    diverged, odd_divergences = divergences(artifacts, program.report_pack(DIVERGENCE))
    odd: list[tuple[int, str]] = []
    match profile.capabilities:
        case "record":
            pass
        case "enforce":
            odd += [(place, CAPABILITY_OBSERVATION) for place in odd_observations]
    match profile.divergence:
        case "artifact":
            diverged = ()
        case "event":
            odd += [(place, DIVERGENCE) for place in odd_divergences]
    asked = None if step.contract is None else step.contract.ref
    return Reports(observed, diverged, tuple(ref for _, ref in sorted(odd) if ref != asked))


def _capability_reasons(attempted: AdvanceAttempt, reports: Reports, profile: Profile) -> Sequence[Reason]:
    position = attempted.position
    program = position.program.definition
    if not profile.allows(CapabilityUnknown) or not program.required_capabilities:
        return ()
    status = _capability_status(position, {attempted.instance.step_id}, reports.observations)
    return capability_reasons(program, status)


def _is_disclosed(reason: Reason, attempted: AdvanceAttempt) -> bool:
    """A missing capability is one gap, however many steps go on without it."""
    if not isinstance(reason, CapabilityUnknown | CapabilityUnavailable):
        return False
    position = attempted.position
    lineage = Lineage(position.events, position.run, position.node.node_id)
    return bool(lineage.open_gaps((reason.as_gap().summary,)))


def _dependency_reasons(attempted: AdvanceAttempt, profile: Profile) -> Sequence[Reason]:
    if not profile.allows(UserOnlyDependency):
        return ()
    approval = approval_reason(attempted.step, _render_context(attempted), attempted.preferences, profile)
    return (*(() if approval is None else (approval,)), *attempted.dependencies)


def decides_together(profile: Profile) -> bool:
    """Whether artifacts of earlier steps of an iteration count when its loop is decided."""
    match profile.loop_decision:
        case "assume_continue":
            return False
        case "require":
            return True


def earlier_artifacts(
    loader: SessionLoader, position: NodePosition, profile: Profile
) -> Ok[tuple[Json, ...]] | Err[ToolError]:
    """The artifacts of the steps before this one in its loop iteration, oldest first, where they count for the loop."""
    here = position.snapshot.pending_step
    if here is None or not here.loop_path or not decides_together(profile):
        return Ok(())
    inside: list[NodeId] = []
    asked: set[NodeId] = set()
    for node_id in position.run.upwards(position.node.node_id):
        opened = open_node(loader, position.session, position.run, position.run.nodes[node_id])
        if isinstance(opened, Err):
            return opened
        pending = opened.value.snapshot.pending_step
        if pending is None or pending.loop_path != here.loop_path:
            break
        inside.append(node_id)
        if asks_questions(profile) and question_patch(opened.value.snapshot) is not None:
            asked.add(node_id)
    artifacts = Lineage(position.events, position.run, position.node.node_id).artifacts(inside, asked)
    return Ok(tuple(artifacts))  # type: ignore[arg-type]  # artifacts are JSON, which the log holds as objects
