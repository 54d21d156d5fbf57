"""Start: pin a workflow, choose its first step, and open a session at it. Nothing is written before that is sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from pytest_workrail.engine.core.interpreter import (
    Question,
    Select,
    Selection,
    find_question,
    loop_question,
    snapshot_of,
)
from pytest_workrail.engine.core.outcomes import (
    InterpreterError,
    LoopReportError,
    LoopUnset,
    LoopVariableUnset,
    MissingContext,
    Passed,
    skipped_list,
)
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.events import (
    AutonomyChange,
    ContextSetData,
    GitSha1,
    ObservationData,
    ObservationKey,
    PathText,
    PreferencesChangedData,
    RiskPolicyChange,
    RunStartedData,
    Sha256,
    ShortString,
)
from pytest_workrail.engine.model.ids import Digest
from pytest_workrail.engine.model.trace import DecisionTraceData
from pytest_workrail.engine.model.words import (
    DEFAULT_PREFERENCES,
    MAX_PATH_LENGTH,
    MAX_SHORT_STRING_LENGTH,
    Preferences,
    PreferenceSource,
)
from pytest_workrail.engine.projections.session_facts import Workspace as WorkspaceFacts
from pytest_workrail.engine.protocol.advance_outcome import missing_context
from pytest_workrail.engine.protocol.errors import ToolError, from_content, internal, precondition
from pytest_workrail.engine.protocol.ports import InvalidWorkflow, WorkflowEntry, WorkflowLibrary, Workspace
from pytest_workrail.engine.protocol.recording import trace_data
from pytest_workrail.engine.protocol.requests import StartRequest, merged
from pytest_workrail.engine.protocol.responses import Started, skipped_members
from pytest_workrail.engine.protocol.sessions import (
    Program,
    Session,
    SessionLoader,
    SessionWriter,
    Written,
    engine_pin,
    find_node,
    frozen_program,
    load_session,
    open_node,
    pinned_hash,
)
from pytest_workrail.engine.protocol.step_response import ResponseFormat, progress, references_of
from pytest_workrail.engine.store.plan import AppendPermit, start_plan
from pytest_workrail.engine.store.ports import PinnedWorkflowStore
from pytest_workrail.engine.tokens.issuer import NodeAddress
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


class StartHandler(Struct, frozen=True):
    """Everything a start works with."""

    loader: SessionLoader
    writer: SessionWriter
    workflows: PinnedWorkflowStore
    library: WorkflowLibrary
    response_format: ResponseFormat
    workspace: Workspace
    inject_onboarding: bool

    def run(self, request: StartRequest) -> Ok[Started] | Err[ToolError]:
        """A new session at the first step of a workflow."""
        startable = find_startable(self.library, request.workflow_id)
        if isinstance(startable, Err):
            return startable
        program = self._program(startable.value)
        if isinstance(program, Err):
            return program
        context = merged(None, request.initial_context) | {"goal": request.goal}
        preferences = request.preferences or DEFAULT_PREFERENCES
        interpreter = program.value.interpreter

        def select(change: Mapping[str, Json]) -> Ok[Selection] | Err[InterpreterError]:
            return interpreter.next(interpreter.start(), {**context, **change}, never_stop=preferences.never_stops)

        selected = select({})
        if isinstance(selected, Err):
            return Err(_not_startable(selected.error, request, context, self.response_format.profile))
        if selected.value.is_complete:
            return Err(_no_first_step(selected.value, request, context, select, self.response_format.profile))
        place = self._open_session(startable.value, program.value, request, context, selected.value)
        if isinstance(place, Err):
            return place
        return self._answer(place.value, request)

    def _program(self, entry: WorkflowEntry) -> Ok[Program] | Err[ToolError]:
        programs = self.loader.programs
        program = frozen_program(entry.ir, self.inject_onboarding, programs.profile)
        if isinstance(program, Err) or entry.pin is None:
            return program if isinstance(program, Err) else Ok(programs.keep(program.value))
        pinned = pinned_hash(entry, self.inject_onboarding)
        if isinstance(pinned, Err):
            return pinned
        return Ok(programs.keep(Program(program.value.ir, pinned.value, programs.profile)))

    def _pin(self, entry: WorkflowEntry, program: Program) -> Ok[None] | Err[ToolError]:
        """Store what runs: the IR, or the pin of the public engine with the IR beside it."""
        pin = engine_pin(entry, self.inject_onboarding)
        stored = self.workflows.put(program.ir if pin is None else pin)
        if isinstance(stored, Ok) and pin is not None:
            kept = self.workflows.put_ir(stored.value, program.ir)
            return Err(from_content(kept.error)) if isinstance(kept, Err) else kept
        return Err(from_content(stored.error)) if isinstance(stored, Err) else Ok(None)

    def _open_session(
        self,
        entry: WorkflowEntry,
        program: Program,
        request: StartRequest,
        context: dict[str, Any],
        selection: Selection,
    ) -> Ok[NodeAddress] | Err[ToolError]:
        observations = _observations(self.workspace.facts(request.workspace_path))
        pinned = self._pin(entry, program)
        if isinstance(pinned, Err):
            return pinned
        kept = self.writer.store_snapshot(snapshot_of(selection.state))
        if isinstance(kept, Err):
            return kept
        mint = self.writer.mint
        place = NodeAddress(mint.session(), mint.run(), mint.node())

        def append(permit: AppendPermit, session: Session) -> Written:
            plan = start_plan(
                self.writer.builder(session, place.run_id),
                run=RunStartedData(
                    workflow_id=program.ir["workflowId"],
                    workflow_hash=program.workflow_hash,
                    workflow_source_kind=entry.source_kind,
                    workflow_source_ref=entry.source_ref,
                ),
                root=place.node_id,
                snapshot_ref=kept.value,
                preferences=_preferences(request.preferences),
                context=ContextSetData(context_id=keys.context_id(None), context=context, source="initial"),
                trace=self._trace(selection, context),
                observations=observations,
                gaps=[reason.as_gap().recorded(keys.gap_id(None, at)) for at, reason in enumerate(selection.gaps)],
            )
            return self.writer.append(permit, plan)

        written = self.writer.write(place.session_id, append)
        return written if isinstance(written, Err) else Ok(place)

    def _trace(self, selection: Selection, context: dict[str, Any]) -> DecisionTraceData | None:
        """How the first step was chosen, where steps before it were passed over and the profile tells of them."""
        data = trace_data(selection.trace, selection.passed, context, None, self.response_format.profile)
        return None if data is None or data.skipped is None else data

    def _answer(self, place: NodeAddress, request: StartRequest) -> Ok[Started] | Err[ToolError]:
        session = load_session(self.loader, place.session_id)
        if isinstance(session, Err):
            return session
        located = find_node(session.value, place)
        if isinstance(located, Err):
            return Err(internal("The session was written, but it is not there."))
        position = open_node(self.loader, session.value, *located.value)
        if isinstance(position, Err):
            return position
        step = progress(self.response_format, position.value, self.writer.mint.attempt())
        if isinstance(step, Err):
            return step
        ir = position.value.program.ir
        return Ok(Started(step.value, references=references_of(ir, self.workspace, request.workspace_path)))


def find_startable(library: WorkflowLibrary, workflow_id: str) -> Ok[WorkflowEntry] | Err[ToolError]:
    """The workflow of an id, if it can be started."""
    workflow = library.find(workflow_id)
    match workflow:
        case None:
            advice = "Ask list_workflows which workflows there are and use one of their ids."
            return Err(ToolError("NOT_FOUND", f"Workflow not found: {workflow_id}", advice))
        case InvalidWorkflow():
            reasons = "; ".join(workflow.errors)
            message = f"Workflow definition is invalid and cannot be started: {reasons}"
            return Err(precondition(message, "Correct the workflow file; `workrail-lint check` shows where."))
        case WorkflowEntry() if not workflow.ir["steps"]:
            message = f"Workflow {workflow_id} has no steps."
            return Err(precondition(message, "Add at least one step to the workflow file."))
        case WorkflowEntry():
            return Ok(workflow)


def _not_startable(
    error: InterpreterError, request: StartRequest, context: dict[str, Any], profile: Profile
) -> ToolError:
    if isinstance(error, MissingContext):
        return missing_context(error, "`initialContext` and call start_workflow again", profile)
    if isinstance(error, LoopVariableUnset):
        return _asks(error.message, loop_question(error.unset, context), error.passed, request, context)
    if isinstance(error, LoopReportError):
        advice = "Start with a context under which the loop ends, or have the author of the workflow look at the loop."
        return precondition(error.message, advice, error.reason().stored().to_wire())
    return internal(f"The first step can't be chosen ({error.code}): {error.message}")


def _no_first_step(
    selection: Selection, request: StartRequest, context: dict[str, Any], select: Select, profile: Profile
) -> ToolError:
    message = f"Workflow {request.workflow_id} has no step that can run with this context."
    match profile.unset_condition:
        case "pass_over":
            return precondition(message, "Set what the conditions of its steps ask for in `initialContext`.")
        case "ask":
            question = find_question(selection, context, frozenset(), select) or _loop_left(selection, context)
            if question is not None:
                return _asks(message, question, selection.passed, request, context)
            advice = "No variable that is still unset would help; `skipped` says what keeps each step from running."
            return precondition(message, advice, skipped_members(skipped_list(selection.passed, context)))


def _loop_left(selection: Selection, context: dict[str, Any]) -> Question | None:
    """A run that never stops leaves a loop whose variable is unset; where nothing else can run, that is asked for."""
    left = (each for each in selection.passed if isinstance(each, LoopUnset))
    return next((loop_question(each, context) for each in left), None)


def _asks(
    message: str, question: Question, passed: Sequence[Passed], request: StartRequest, context: dict[str, Any]
) -> ToolError:
    """There is no node yet that could hold a question, so it is an error that says what to start with."""
    variables: list[Json] = [
        {
            "variable": reason.key,
            "unmet": [each.to_wire() for each in reason.unmet or ()],
            "suggested": reason.suggested,
        }
        for reason in question.reasons()
    ]
    facts: dict[str, Json] = {
        "kind": "missing_context_key",
        "stepId": question.step_id,
        "variables": variables,
        "patch": question.patch,
        **skipped_members(skipped_list(passed, context)),
    }
    params: dict[str, Json] = {
        "workflowId": request.workflow_id,
        "workspacePath": request.workspace_path,
        "goal": request.goal,
        "initialContext": question.patch,
    }
    return ToolError(
        "PRECONDITION_FAILED",
        message,
        f"Step `{question.step_id}` waits for variables that are not set. Start again with their true values in "
        "`initialContext`, on top of what you sent, which is not repeated here; the patch holds values under which "
        "the step runs.",
        details={"details": facts, "nextCall": {"tool": "start_workflow", "params": params}},
    )


def _preferences(chosen: Preferences | None) -> PreferencesChangedData:
    effective = chosen or DEFAULT_PREFERENCES
    source: PreferenceSource = "system" if chosen is None else "user"
    return preferences_data(effective, source, keys.INITIAL_CHANGE)


def preferences_data(effective: Preferences, source: PreferenceSource, change_id: str) -> PreferencesChangedData:
    """Both preferences, as they are recorded."""
    return PreferencesChangedData(
        change_id=change_id,
        source=source,
        delta=(AutonomyChange(value=effective.autonomy), RiskPolicyChange(value=effective.risk_policy)),
        effective=effective,
    )


def _observations(facts: WorkspaceFacts) -> list[ObservationData]:
    """Return the observations about the workspace; a value that does not fit is left out, never cut."""
    values: dict[ObservationKey, Sha256 | PathText | ShortString | GitSha1] = {}
    if facts.repo_root_hash is not None:
        values["repo_root_hash"] = Sha256(Digest(facts.repo_root_hash))
    if facts.repo_root is not None and js.u16_length(facts.repo_root) <= MAX_PATH_LENGTH:
        values["repo_root"] = PathText(facts.repo_root)
    if facts.git_branch is not None and js.u16_length(facts.git_branch) <= MAX_SHORT_STRING_LENGTH:
        values["git_branch"] = ShortString(facts.git_branch)
    if facts.git_head_sha is not None:
        values["git_head_sha"] = GitSha1(facts.git_head_sha)
    return [ObservationData(key=key, value=value, confidence="high") for key, value in values.items()]
