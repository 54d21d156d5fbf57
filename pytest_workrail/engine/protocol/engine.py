"""The engine as its users see it: one object, six tools, and what people do beside them.

Each tool takes a plain request and gives a `Reply` or a `ToolError`; nothing is ever raised across this line.
What most runs never call is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct, structs

from pytest_workrail.engine.core.criteria import TIME_LIMIT_SECONDS
from pytest_workrail.engine.core.profiles import Profile, ProfileName, profile_of
from pytest_workrail.engine.core.prompts import PromptStyle
from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.events import (
    CapabilityObserved,
    CapabilityObservedData,
    DivergenceData,
    DivergenceRecorded,
    PreferencesChanged,
)
from pytest_workrail.engine.model.ids import RunId, SessionId, WorkflowRef
from pytest_workrail.engine.model.reasons import UserOnlyDependency
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.engine.projections.incremental import of_node
from pytest_workrail.engine.projections.session_facts import RunStatus, run_status
from pytest_workrail.engine.protocol import text
from pytest_workrail.engine.protocol.advance import AdvanceHandler
from pytest_workrail.engine.protocol.errors import (
    ToolError,
    from_issuer,
    from_transfer,
    internal,
    token_error,
    unexpected,
)
from pytest_workrail.engine.protocol.library import NoWorkspace, inspect_workflow, list_workflows
from pytest_workrail.engine.protocol.ports import WorkflowLibrary, Workspace
from pytest_workrail.engine.protocol.rehydrate import CheckpointHandler, rehydrate, resume
from pytest_workrail.engine.protocol.requests import (
    AdvanceRequest,
    ContinueRequest,
    RehydrateRequest,
    ToolName,
    passed_over,
    read_checkpoint,
    read_continue,
    read_inspect,
    read_list,
    read_resume,
    read_start,
)
from pytest_workrail.engine.protocol.responses import (
    CheckpointSet,
    Disclosure,
    ExecutionResponse,
    Listing,
    Reply,
    Response,
)
from pytest_workrail.engine.protocol.sessions import (
    Programs,
    Session,
    SessionLoader,
    SessionWriter,
    Written,
    find_node,
    load_session,
    open_node,
)
from pytest_workrail.engine.protocol.start import StartHandler, preferences_data
from pytest_workrail.engine.protocol.step_response import ResponseFormat
from pytest_workrail.engine.store.bundle import Producer
from pytest_workrail.engine.store.gate import Home, healthy_summaries
from pytest_workrail.engine.store.plan import AppendPermit, AppendPlan, EventBuilder, preferences_plan
from pytest_workrail.engine.store.transfer import export_session, import_bundle
from pytest_workrail.engine.tokens.issuer import NodeAddress
from workrail_lint.base.ecma_regex import shared_time
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.blocker_codes import UserDependency as DependencyDetail


class Dependencies:
    """The needs that only a person can meet, as a scenario declares them, until it says they are met."""

    def __init__(self) -> None:
        self._declared: list[UserOnlyDependency] = []

    def declare(self, dependency: UserOnlyDependency) -> None:
        """From now on the step needs a person."""
        self._declared.append(dependency)

    def answer(self, step_id: str, detail: DependencyDetail) -> None:
        """The person has provided it."""
        self._declared = [each for each in self._declared if (each.step_id, each.detail) != (step_id, detail)]

    def of(self, step_id: str) -> tuple[UserOnlyDependency, ...]:
        """Return the needs that a step still waits for, in declared order."""
        return tuple([each for each in self._declared if each.step_id == step_id])


T = TypeVar("T")
Answer = Ok[Reply] | Err[ToolError]


class Options(Struct, frozen=True):
    """How an engine is set up. The profile is not part of a session: another engine may continue it under another."""

    profile: Profile | ProfileName = "reference"
    style: PromptStyle = PromptStyle.FULL
    inject_onboarding: bool = False
    app_version: str = "0"


def _guarded(call: Callable[[], Ok[T] | Err[ToolError]]) -> Ok[T] | Err[ToolError]:
    try:
        with shared_time(TIME_LIMIT_SECONDS):
            return call()
    except Exception as problem:
        return Err(unexpected(problem))


class Engine:
    """Runs the workflows of a library in a home."""

    def __init__(
        self, home: Home, library: WorkflowLibrary, options: Options | None = None, workspace: Workspace | None = None
    ) -> None:
        chosen = options or Options()
        self.profile = profile_of(chosen.profile)
        self.home = home
        self.dependencies = Dependencies()
        self._options = chosen
        self._library = library
        self._workspace = workspace or NoWorkspace()

        def declared(step_id: str) -> tuple[UserOnlyDependency, ...]:
            return self.dependencies.of(step_id)

        self._response_format = ResponseFormat(self.profile, chosen.style, home.issuer, declared)
        stores = home.stores
        self.loader = SessionLoader(
            stores.sessions.load,
            stores.snapshots.get,
            Programs(stores.workflows.get, stores.workflows.get_ir, self.profile),
        )
        self._writer = SessionWriter(stores.sessions, stores.snapshots, home.gate, home.mint, home.clock)
        self._advancing = AdvanceHandler(self.loader, self._writer, self._response_format, self._workspace, declared)

    def list_workflows(self, request: object) -> Answer:
        """The workflows that can be started."""
        asked = self._known("list_workflows", request)
        return self._answer(asked, read_list, lambda asked: list_workflows(self._library, asked))

    def inspect_workflow(self, request: object) -> Answer:
        """One workflow before it is started."""
        asked = self._known("inspect_workflow", request)
        return self._answer(
            asked, read_inspect, lambda asked: inspect_workflow(self._library, self._workspace, asked, self.profile)
        )

    def start_workflow(self, request: object) -> Answer:
        """Begin a run."""
        starting = StartHandler(
            self.loader,
            self._writer,
            self.home.stores.workflows,
            self._library,
            self._response_format,
            self._workspace,
            self._options.inject_onboarding,
        )
        return self._answer(self._known("start_workflow", request), read_start, starting.run)

    def continue_workflow(self, request: object) -> Answer:
        """Submit the pending step, or look at it again."""
        return self._answer(request, read_continue, self._continue)

    def checkpoint_workflow(self, request: object) -> Answer:
        """Mark a node to come back to."""

        def checkpoint(token: str) -> Ok[Response] | Err[ToolError]:
            grant = self.home.issuer.resolve_checkpoint(token)
            if isinstance(grant, Err):
                return Err(from_issuer(grant.error))
            return CheckpointHandler(self.loader, self._writer, self.home.issuer).run(grant.value)

        return self._answer(request, read_checkpoint, lambda asked: checkpoint(asked.checkpoint_token))

    def resume_session(self, request: object) -> Answer:
        """Find a session again."""
        stores = self.home.stores
        return self._answer(
            request,
            read_resume,
            lambda asked: resume(
                lambda: healthy_summaries(stores, rewind_context=self.profile.rewind_context),
                self.home.issuer,
                self._workspace,
                asked,
            ),
        )

    def passed_over(self, tool: ToolName, request: object) -> tuple[str, ...]:
        """Return the members of a call that are passed over, as the public engine does."""
        return passed_over(tool, request) if self.profile.unknown_members == "pass_over" else ()

    def _known(self, tool: ToolName, request: object) -> object:
        """Return a request without what is passed over."""
        unknown = self.passed_over(tool, request)
        if not unknown or not isinstance(request, dict):
            return request
        return {name: value for name, value in request.items() if name not in unknown}

    def _answer(
        self,
        request: object,
        read: Callable[[object], Ok[T] | Err[ToolError]],
        act: Callable[[T], Ok[Response] | Err[ToolError]],
    ) -> Answer:
        def call() -> Answer:
            asked = read(request)
            if isinstance(asked, Err):
                return asked
            response = act(asked.value)
            if isinstance(response, Err):
                return response
            disclosed = self._disclosed(response.value)
            return Ok(Reply(text.items(disclosed, self._options.style), disclosed))

        answer = _guarded(call)
        return Err(self._named(answer.error)) if isinstance(answer, Err) else answer

    def _disclosed(self, response: Response) -> Response:
        """The answer of a tool that is about no step, in the form the profile wants."""
        match self.profile.answers, response:
            case "union", CheckpointSet() | Listing():
                return structs.replace(response, disclosure=Disclosure(response.workflow_id))
            case _:
                return response

    def _named(self, error: ToolError) -> ToolError:
        match self.profile.answers:
            case "engine":
                return error
            case "union":
                return structs.replace(error, kind="error")

    def _continue(self, request: ContinueRequest) -> Ok[ExecutionResponse] | Err[ToolError]:
        if request.token.startswith(("st_", "st1")):
            return self._show_node(request)
        grant = self.home.issuer.resolve_continue(request.token)
        if isinstance(grant, Err):
            return Err(from_issuer(grant.error))
        if isinstance(request, AdvanceRequest):
            return self._advancing.run(grant.value, request)
        return self._rehydrate(grant.value.place, grant.value.workflow_ref, request)

    def _show_node(self, request: ContinueRequest) -> Ok[ExecutionResponse] | Err[ToolError]:
        """A state token shows a node and can't submit anything."""
        if isinstance(request, AdvanceRequest):
            message = (
                "A state token can't submit a step, so its output was not taken."
                if request.has_output
                else "A state token can't advance a run."
            )
            advice = "Rehydrate with this token first, then advance with the continue token of that response."
            return Err(token_error("TOKEN_SCOPE_MISMATCH", message, advice))
        grant = self.home.issuer.resolve_state(request.token)
        if isinstance(grant, Err):
            return Err(from_issuer(grant.error))
        return self._rehydrate(grant.value.place, grant.value.workflow_ref, request)

    def _rehydrate(
        self, place: NodeAddress, workflow_ref: WorkflowRef, request: RehydrateRequest
    ) -> Ok[ExecutionResponse] | Err[ToolError]:
        path = request.workspace_path
        return rehydrate(self.loader, self._response_format, self._workspace, self.home.mint, place, workflow_ref, path)

    def place_of(self, token: str) -> Ok[NodeAddress] | Err[ToolError]:
        """The node a continue or state token speaks of."""

        def call() -> Ok[NodeAddress] | Err[ToolError]:
            issuer = self.home.issuer
            grant = issuer.resolve_state(token) if token.startswith(("st_", "st1")) else issuer.resolve_continue(token)
            return Err(from_issuer(grant.error)) if isinstance(grant, Err) else Ok(grant.value.place)

        return _guarded(call)

    def session(self, session_id: SessionId) -> Ok[Session] | Err[ToolError]:
        """A session as it is now, if it is healthy."""
        return _guarded(lambda: load_session(self.loader, session_id))

    def status(self, session_id: SessionId, run_id: RunId) -> Ok[RunStatus] | Err[ToolError]:
        """How a run stands, in one word."""

        def call() -> Ok[RunStatus] | Err[ToolError]:
            session = load_session(self.loader, session_id)
            if isinstance(session, Err):
                return session
            run = session.value.runs.get(run_id)
            if run is None or run.preferred_tip is None:
                return Err(token_error("TOKEN_UNKNOWN_NODE", "The session has no such run."))
            tip = open_node(self.loader, session.value, run, run.nodes[run.preferred_tip])
            if isinstance(tip, Err):
                return tip
            status = run_status(session.value.truth.events, run, tip.value.snapshot)
            return Err(internal(status.error.message)) if isinstance(status, Err) else status

        return _guarded(call)

    def prefer(self, place: NodeAddress, preferences: Preferences) -> Ok[None] | Err[ToolError]:
        """A person sets the preferences at a node; they hold from there on down."""

        def plan(builder: EventBuilder, session: Session) -> AppendPlan:
            # Numbered by what was said at this node before, so that the name stays the same for the same change.
            number = len(of_node(session.truth.events, PreferencesChanged, place.node_id))
            change = preferences_data(preferences, "user", f"prefs_user_{number}")
            return preferences_plan(builder, place.node_id, change)

        return self._write(place, plan)

    def observe(self, place: NodeAddress, observation: CapabilityObservedData) -> Ok[None] | Err[ToolError]:
        """A host reports on a capability."""

        def plan(builder: EventBuilder, _: Session) -> AppendPlan:
            key = keys.capability_observed(place.session_id, observation.cap_obs_id)
            builder.write(CapabilityObserved, key, observation, place.node_id)
            return builder.plan()

        return self._write(place, plan)

    def diverge(self, place: NodeAddress, divergence: DivergenceData) -> Ok[None] | Err[ToolError]:
        """A host reports that the agent left the path."""

        def plan(builder: EventBuilder, _: Session) -> AppendPlan:
            key = keys.divergence_recorded(place.session_id, divergence.divergence_id)
            builder.write(DivergenceRecorded, key, divergence, place.node_id)
            return builder.plan()

        return self._write(place, plan)

    def _write(self, place: NodeAddress, plan: Callable[[EventBuilder, Session], AppendPlan]) -> Written:
        """Write what people and hosts say about a node."""

        def append(permit: AppendPermit, session: Session) -> Written:
            node = find_node(session, place)
            if isinstance(node, Err):
                return node
            return self._writer.append(permit, plan(self._writer.builder(session, place.run_id), session))

        return _guarded(lambda: self._writer.write(place.session_id, append))

    def export_session(self, session_id: SessionId, *, salvage: bool = False) -> Ok[dict[str, Json]] | Err[ToolError]:
        """A session as one document; with `salvage`, as much of a damaged one as can be trusted."""

        def call() -> Ok[dict[str, Json]] | Err[ToolError]:
            producer = Producer(app_version=self._options.app_version)
            home = self.home
            bundle = export_session(
                home.stores,
                session_id,
                producer=producer,
                clock=home.clock,
                entropy=home.entropy,
                salvage=salvage,
            )
            return Err(from_transfer(bundle.error)) if isinstance(bundle, Err) else bundle

        return _guarded(call)

    def import_session(self, bundle: bytes) -> Ok[SessionId] | Err[ToolError]:
        """A session from a document, always as a new one."""

        def call() -> Ok[SessionId] | Err[ToolError]:
            home = self.home
            session = import_bundle(bundle, home.stores, home.gate, home.mint)
            return Err(from_transfer(session.error)) if isinstance(session, Err) else session

        return _guarded(call)

    def rotate_keys(self) -> Ok[None] | Err[ToolError]:
        """A fresh signing key. Tokens of the key before it still work, older ones no longer do."""

        def call() -> Ok[None] | Err[ToolError]:
            rotated = self.home.keyring.rotate()
            return Err(from_issuer(rotated.error)) if isinstance(rotated, Err) else Ok(None)

        return _guarded(call)
