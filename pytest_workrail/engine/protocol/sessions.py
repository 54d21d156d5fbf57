"""Loading what a token names: a healthy session, its run, the node, its snapshot and its workflow. Reads only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct

from pytest_workrail.engine.core.index import CAPABILITY_OBSERVATION, DIVERGENCE, FORMAT, ContractPack
from pytest_workrail.engine.core.interpreter import Interpreter
from pytest_workrail.engine.core.outputs import OutputValidator
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.core.prompts import PromptRenderer
from pytest_workrail.engine.model.base import CorruptionReason, decode_json
from pytest_workrail.engine.model.events import Log
from pytest_workrail.engine.model.ids import (
    IdMint,
    RunId,
    SessionId,
    SnapshotRef,
    WorkflowHash,
    WorkflowRef,
    ref_of,
)
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.projections.dag import Node, Run, project_dag
from pytest_workrail.engine.projections.session_facts import node_context
from pytest_workrail.engine.protocol.errors import (
    ToolError,
    from_content,
    from_gate,
    from_store,
    internal,
    not_healthy,
    precondition,
    token_error,
)
from pytest_workrail.engine.protocol.ports import LoadSession, LoadSnapshot, LoadWorkflow, WorkflowEntry
from pytest_workrail.engine.store.gate import CorruptTail, Gate, assess
from pytest_workrail.engine.store.plan import AppendPermit, AppendPlan, EventBuilder, SessionTruth
from pytest_workrail.engine.store.ports import Clock, SessionStore, SnapshotStore
from pytest_workrail.engine.tokens.issuer import NodeAddress
from workrail_lint.base.canonical import CanonicalError, canonical_bytes, digest
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.model.build import ir_problem
from workrail_lint.systems.workrail.model.ir import Program as Definition
from workrail_lint.systems.workrail.model.ir import ProgramStep

ONBOARDING_STEP = "wr-system-onboarding"
_ONBOARDING_TITLE = "WorkRail Protocol Instructions"
_ONBOARDING_PROMPT = """\
You are working through a workflow, one step at a time. These rules hold for all of it:

1. Do the pending step and nothing else. What comes next depends on what you submit.
2. Submit a step with continue_workflow: the token of the last response, and in `output` the notes and artifacts \
the step asks for. When a step asks for neither, say `intent: "advance"`. A call with nothing but a token only shows \
the step again.
3. A blocked response says what is missing. Correct it and use the retry token of that response; the token you used \
before gives you the same answer again.
4. Put values that later steps need into `context`. A null removes one.
5. Tokens are opaque. Copy them exactly as they are.
6. If you lose track, call continue_workflow with your last token and `intent: "rehydrate"`.

Submit this step to begin."""


def with_onboarding(
    ir: dict[str, Any], *, title: str = _ONBOARDING_TITLE, prompt: str = _ONBOARDING_PROMPT
) -> dict[str, Any]:
    """The workflow with the onboarding step before its first own step. It is part of the hash.

    A run of another engine brings the words of its own step.
    """
    steps: list[dict[str, Any]] = ir["steps"]
    # Probes of required capabilities come before whatever the author wrote, and this counts as written.
    place = next((at for at, step in enumerate(steps) if step["provenance"]["source"] != "feature"), len(steps))
    return {**ir, "steps": [*steps[:place], _onboarding_step(title, prompt), *steps[place:]]}


def _onboarding_step(title: str, prompt: str) -> dict[str, Any]:
    return {
        "id": ONBOARDING_STEP,
        "title": title,
        "type": "step",
        "prompt": prompt,
        "confirmation": {"kind": "never"},
        "notes": "optional",
        "guidance": [],
        "output": {},
        "fragments": [],
        "functions": [],
        "functionCalls": [],
        "functionReferences": [],
        "provenance": {"source": "authored", "injected": []},
    }


_PROGRAMS_KEPT = 64
# By runs: a driver and its engine, the scenarios of one workflow under both profiles.
_PROGRAMS_SHARED = 4


class Program:
    """One IR under one profile. Immutable, so every session of the workflow shares it."""

    __slots__ = ("index", "interpreter", "ir", "renderer", "validator", "workflow_hash")

    def __init__(self, ir: dict[str, Any], workflow_hash: WorkflowHash, profile: Profile) -> None:
        self.ir = ir
        self.workflow_hash = workflow_hash
        self.interpreter = Interpreter(ir, profile)
        self.index = self.interpreter.index
        self.renderer = PromptRenderer(self.index, profile)
        self.validator = OutputValidator(self.index, profile)

    @property
    def definition(self) -> Definition:
        """The typed form of the IR."""
        return self.index.program

    def step(self, step_id: str) -> ProgramStep:
        """A step of the workflow. A snapshot names steps of the workflow it was taken from and no others."""
        return self.index.definitions[step_id]

    def report_pack(self, ref: str) -> ContractPack:
        """The pack of a report that an agent may submit at any step, whatever the workflow requires."""
        return self.index.packs.get(ref) or _report_packs()[ref]


@cache
def _report_packs() -> dict[str, ContractPack]:
    contracts = load_core().contracts
    return {
        ref: ContractPack(ref, contracts[ref].artifact_kind, contracts[ref].schema, contracts[ref].example)
        for ref in (CAPABILITY_OBSERVATION, DIVERGENCE)
    }


def frozen(ir: dict[str, Any], onboarding: bool) -> Ok[tuple[dict[str, Any], WorkflowHash]] | Err[ToolError]:
    """An IR as it comes back from its canonical bytes, and its hash: what a run sees from its first prompt on."""
    raw = _canonical(ir, onboarding)
    return raw if isinstance(raw, Err) else _decoded(raw.value)


def frozen_program(ir: dict[str, Any], onboarding: bool, profile: Profile) -> Ok[Program] | Err[ToolError]:
    """Return the program of an IR as it comes back from its canonical bytes: one for all that run the same bytes."""
    raw = _canonical(ir, onboarding)
    return raw if isinstance(raw, Err) else _program(raw.value, profile)


@lru_cache(maxsize=_PROGRAMS_SHARED)
def _program(raw: bytes, profile: Profile) -> Ok[Program] | Err[ToolError]:
    decoded = _decoded(raw)
    return decoded if isinstance(decoded, Err) else Ok(Program(*decoded.value, profile))


def _canonical(ir: dict[str, Any], onboarding: bool) -> Ok[bytes] | Err[ToolError]:
    try:
        return Ok(canonical_bytes(with_onboarding(ir) if onboarding else ir))
    except CanonicalError as problem:
        return Err(internal(f"The compiled workflow has no canonical form ({problem.code})."))


def _decoded(raw: bytes) -> Ok[tuple[dict[str, Any], WorkflowHash]] | Err[ToolError]:
    decoded = decode_json(raw)
    if isinstance(decoded, Err) or not isinstance(decoded.value, dict):
        return Err(internal("The compiled workflow can't be read back."))
    return Ok((decoded.value, WorkflowHash(digest(raw))))


def ported_ir(pin: dict[str, Any]) -> Ok[dict[str, Any]] | Err[ToolError]:
    """Return a pin of the public engine as an IR, so that its sessions can be viewed and continued here."""
    # The engine runs an IR; only sessions of the public engine need the compiler.
    from workrail_lint.systems.workrail.compile import compile_pin

    compiled = compile_pin(pin)
    if isinstance(compiled, Err):
        message = f"The workflow this run was started with can't run here: {compiled.error}."
        return Err(precondition(message, "Start the workflow again to pin a version that can."))
    onboarding = compiled.value.onboarding
    if onboarding is None:
        return Ok(compiled.value.ir)
    return Ok(with_onboarding(compiled.value.ir, title=onboarding.title, prompt=onboarding.prompt))


def engine_pin(entry: WorkflowEntry, onboarding: bool) -> dict[str, Any] | None:
    """Return the pin of a workflow that the public engine can continue; None where there is none."""
    if entry.pin is None or not onboarding:
        return entry.pin
    step = {"id": ONBOARDING_STEP, "title": _ONBOARDING_TITLE, "prompt": _ONBOARDING_PROMPT, "notesOptional": True}
    definition: dict[str, Any] = entry.pin["definition"]
    return {**entry.pin, "definition": {**definition, "steps": [step, *definition["steps"]]}}


def pinned_hash(entry: WorkflowEntry, onboarding: bool) -> Ok[WorkflowHash] | Err[ToolError]:
    """Return the hash under which a run of a workflow is pinned."""
    pin = engine_pin(entry, onboarding)
    if pin is not None:
        return Ok(WorkflowHash(digest(canonical_bytes(pin))))
    own = frozen(entry.ir, onboarding)
    return own if isinstance(own, Err) else Ok(own.value[1])


class Programs:
    """Pinned workflows by hash. Remembers a few: what a hash stands for never changes."""

    def __init__(self, load: LoadWorkflow, load_ir: LoadWorkflow, profile: Profile) -> None:
        self._load = load
        self._load_ir = load_ir
        self.profile = profile
        self._kept: OrderedDict[WorkflowHash, Program] = OrderedDict()

    def of(self, workflow_hash: WorkflowHash) -> Ok[Program] | Err[ToolError]:
        """The program of a hash that a run pinned."""
        known = self._kept.get(workflow_hash)
        if known is not None:
            self._kept.move_to_end(workflow_hash)
            return Ok(known)
        loaded = self._load(workflow_hash)
        if isinstance(loaded, Err):
            return Err(from_content(loaded.error))
        if loaded.value is None:
            message = "The workflow this run was started with is no longer here."
            return Err(precondition(message, "Start the workflow again, or restore the data folder."))
        if loaded.value.get("sourceKind") == "v1_pinned":
            own = self._load_ir(workflow_hash)
            if isinstance(own, Err):
                return Err(from_content(own.error))
            is_ours = own.value is not None and ir_problem(own.value) is None
            ported = Ok(own.value) if is_ours and own.value is not None else ported_ir(loaded.value)
            if isinstance(ported, Err):
                return ported
            return Ok(self.keep(Program(ported.value, workflow_hash, self.profile)))
        if loaded.value.get("format") != FORMAT or ir_problem(loaded.value) is not None:
            message = "The workflow this run names is not an executable one."
            return Err(precondition(message, "Start the workflow again to pin an executable version of it."))
        return Ok(self.keep(Program(loaded.value, workflow_hash, self.profile)))

    def keep(self, program: Program) -> Program:
        """Remember a program of this profile by its hash; return the one that is known under it, if any."""
        program = self._kept.setdefault(program.workflow_hash, program)
        if len(self._kept) > _PROGRAMS_KEPT:
            self._kept.popitem(last=False)
        return program


class SessionLoader(Struct, frozen=True):
    """Everything that can be read, and no way to write."""

    session: LoadSession
    snapshot: LoadSnapshot
    programs: Programs


class Session(Struct, frozen=True):
    """A healthy session and its runs."""

    session_id: SessionId
    truth: SessionTruth
    runs: dict[RunId, Run]

    def as_of(self, event_index: int) -> Ok[Session] | Err[ToolError]:
        """The session as it was right after the append that holds an event."""
        events = self.truth.as_of(event_index)
        if len(events) == len(self.truth.events):
            return Ok(self)
        return view_session(self.session_id, SessionTruth(events))


class NodePosition(Struct, frozen=True):
    """A node, and what is needed to look at it or to go on from it."""

    session: Session
    run: Run
    node: Node
    snapshot: ExecutionSnapshot
    program: Program

    @property
    def events(self) -> Log:
        return self.session.truth.events

    @property
    def place(self) -> NodeAddress:
        return NodeAddress(self.session.session_id, self.run.run_id, self.node.node_id)

    @property
    def workflow_ref(self) -> WorkflowRef:
        return ref_of(self.node.workflow_hash)

    def context(self, profile: Profile) -> dict[str, Any]:
        """The context as seen from this node."""
        return node_context(self.events, self.run, self.node.node_id, profile.rewind_context) or {}


def load_session(loader: SessionLoader, session_id: SessionId) -> Ok[Session] | Err[ToolError]:
    """A session, if it is healthy. One that is not here is healthy and empty."""
    loaded = loader.session(session_id)
    if isinstance(loaded, Ok):
        return view_session(session_id, loaded.value)
    health = assess(loaded)
    return Err(from_store(health.error) if isinstance(health, Err) else not_healthy(health.value))


def view_session(session_id: SessionId, truth: SessionTruth) -> Ok[Session] | Err[ToolError]:
    """A log that was loaded, as a session."""
    runs = project_dag(truth.events)
    if isinstance(runs, Ok):
        return Ok(Session(session_id, truth, runs.value))
    reason = CorruptionReason("non_contiguous_indices", runs.error.message)
    return Err(not_healthy(CorruptTail(reason)))


def find_node(
    session: Session, place: NodeAddress, workflow_ref: WorkflowRef | None = None
) -> Ok[tuple[Run, Node]] | Err[ToolError]:
    """The run and node a token names. A token that names no workflow is checked against its node alone."""
    run = session.runs.get(place.run_id)
    if run is None or run.started is None:
        return Err(token_error("TOKEN_UNKNOWN_NODE", "No run is known for this token."))
    expected = workflow_ref or ref_of(run.started.workflow_hash)
    if expected != ref_of(run.started.workflow_hash):
        return Err(token_error("TOKEN_WORKFLOW_HASH_MISMATCH", "The run executes another version of the workflow."))
    node = run.nodes.get(place.node_id)
    if node is None:
        return Err(token_error("TOKEN_UNKNOWN_NODE", "The run has no such node."))
    if expected != ref_of(node.workflow_hash):
        return Err(token_error("TOKEN_WORKFLOW_HASH_MISMATCH", "The node belongs to another version of the workflow."))
    return Ok((run, node))


def open_node(loader: SessionLoader, session: Session, run: Run, node: Node) -> Ok[NodePosition] | Err[ToolError]:
    """Return a node with its snapshot and program, which has all steps that the snapshot goes on from."""
    snapshot = loader.snapshot(node.snapshot_ref)
    if isinstance(snapshot, Err):
        return Err(from_content(snapshot.error))
    if snapshot.value is None:
        return Err(token_error("TOKEN_UNKNOWN_NODE", "The state of this node is no longer here."))
    program = loader.programs.of(node.workflow_hash)
    if isinstance(program, Err):
        return program
    foreign = _foreign_name(snapshot.value, program.value)
    if foreign is not None:
        message = f"The state of this node names {foreign}, which its workflow does not have."
        return Err(precondition(message, "Start the workflow again, or restore the data folder."))
    return Ok(NodePosition(session, run, node, snapshot.value, program.value))


def open_place(
    loader: SessionLoader, place: NodeAddress, workflow_ref: WorkflowRef | None = None
) -> Ok[NodePosition] | Err[ToolError]:
    """The node that a token names, in the session as it is now."""
    session = load_session(loader, place.session_id)
    if isinstance(session, Err):
        return session
    located = find_node(session.value, place, workflow_ref)
    return located if isinstance(located, Err) else open_node(loader, session.value, *located.value)


def _foreign_name(snapshot: ExecutionSnapshot, program: Program) -> str | None:
    """Return the pending step, or the loop around it, that a workflow does not have. Only a forged state names one."""
    pending = snapshot.pending_step
    if pending is None:
        return None
    index = program.index
    for place in pending.loop_path:
        if place.loop_id not in index.loops:
            return f'loop "{place.loop_id}"'
    is_step = pending.step_id in index.definitions and pending.step_id not in index.loops
    return None if is_step else f'step "{pending.step_id}"'


Written = Ok[None] | Err[ToolError]


class SessionWriter(Struct, frozen=True):
    """Sessions and snapshots to add to, behind the gate."""

    sessions: SessionStore
    snapshots: SnapshotStore
    gate: Gate
    mint: IdMint
    clock: Clock

    def write(self, session_id: SessionId, call: Callable[[AppendPermit, Session], Written]) -> Written:
        """Run `call` as the only writer of a session, with the session as it is now."""

        def inside(permit: AppendPermit, truth: SessionTruth) -> Written:
            session = view_session(session_id, truth)
            return session if isinstance(session, Err) else call(permit, session.value)

        outcome = self.gate.with_healthy_session_lock(session_id, inside)
        return Err(from_gate(outcome.error)) if isinstance(outcome, Err) else outcome.value

    def builder(self, session: Session, run_id: RunId) -> EventBuilder:
        """A builder for the next plan of a session."""
        return EventBuilder(
            session.session_id,
            run_id,
            first_index=session.truth.next_index,
            timestamp_ms=self.clock.now_ms(),
            new_event_id=self.mint.event,
        )

    def store_snapshot(self, snapshot: ExecutionSnapshot) -> Ok[SnapshotRef] | Err[ToolError]:
        """Store a snapshot, before the event that names it."""
        stored = self.snapshots.put(snapshot)
        return Err(from_content(stored.error)) if isinstance(stored, Err) else stored

    def append(self, permit: AppendPermit, plan: AppendPlan) -> Written:
        """Add a plan as a whole."""
        written = self.sessions.append(permit, plan)
        return Err(from_store(written.error)) if isinstance(written, Err) else Ok(None)
