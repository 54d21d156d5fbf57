"""The state machine of a team session: states, transitions, guards, gates and limits as plain data.

The rules and the simulated orchestrator read the same tables, so that what the linter calls legal is what the
simulation does. What a stored status or a planned task means by these tables is in `model/nodes.py`.
"""

from __future__ import annotations

from typing import NamedTuple

from workrail_lint.base.closed_sets import is_member
from workrail_lint.base.patterns import Pattern
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    APPROVED,
    CHANGES_REQUESTED,
    META,
    REVIEW_STRATEGY_ID,
    AgentName,
    CorrectionStatus,
    FixLoop,
    Mode,
    Strategy,
    TaskStatus,
    TaskType,
    WorkflowState,
)

S = WorkflowState
A = AgentName

FULL_PATH = (
    S.INTAKE,
    S.DESIGN,
    S.APPROVE_DESIGN,
    S.PLAN,
    S.REVIEW_STRATEGY,
    S.IMPLEMENT_LOOP,
    S.INTEGRATE,
    S.RELEASE,
    S.DONE,
)
LEAN_PATH = (S.INTAKE_LEAN, S.IMPLEMENT_LOOP, S.INTEGRATE, S.DONE)
GATES = {APPROVE_DESIGN_ID: S.APPROVE_DESIGN, REVIEW_STRATEGY_ID: S.REVIEW_STRATEGY}
USER_STATES = (S.ASK_USER, S.APPROVE_DESIGN, S.REVIEW_STRATEGY)
TERMINAL_STATES = (S.DONE, S.BLOCKED)
# A question asked in one of these could never be returned from.
NOT_RETURNABLE = (S.ASK_USER, S.DONE, S.BLOCKED)
# States that only a full session ever sees.
FULL_ONLY = (S.DESIGN, S.APPROVE_DESIGN, S.PLAN, S.REVIEW_STRATEGY, S.RELEASE)


class Limits(NamedTuple):
    """How often something may be tried again; the first try is not counted."""

    reasks: int = 3  # of a gate, in one activation
    rewrites: int = 3  # of a file whose write or read-back failed
    dispatch_retries: int = 2  # of one dispatch
    repairs: int = 3  # of one task in one loop
    steps: int = 500  # of one simulated run
    parallel_dispatches: int = 2


LIMITS = Limits()

# ----------------------------------------------------------------------------------------------------- agents

AGENTS_OF_STATE: dict[WorkflowState, tuple[AgentName, ...]] = {
    S.INTAKE: (A.SPEC_AGENT, A.RESEARCHER),
    S.INTAKE_LEAN: (A.SPEC_AGENT,),
    S.DESIGN: (A.RESEARCHER, A.ARCHITECT, A.DESIGNER),
    S.APPROVE_DESIGN: (A.SPEC_AGENT, A.ARCHITECT, A.DESIGNER),  # corrections only
    S.PLAN: (A.PLANNER,),
    S.REVIEW_STRATEGY: (),
    S.IMPLEMENT_LOOP: (A.CODER, A.REVIEWER, A.QA, A.SECURITY),
    S.FIX_REVIEW: (A.CODER,),
    S.FIX_TESTS: (A.CODER, A.QA),
    S.FIX_SECURITY: (A.CODER,),
    S.FIX_BUILD: (A.INTEGRATOR, A.CODER),
    S.INTEGRATE: (A.INTEGRATOR,),
    S.RELEASE: (A.DOCS, A.INTEGRATOR),
    S.ASK_USER: (),
    S.DONE: (),
    S.BLOCKED: (),
}
_LEAN_AGENTS = {S.FIX_BUILD: (A.CODER,), S.INTEGRATE: ()}
CORRECTORS = AGENTS_OF_STATE[S.APPROVE_DESIGN]
CORE_AGENTS = (
    A.SPEC_AGENT,
    A.ARCHITECT,
    A.PLANNER,
    A.CODER,
    A.REVIEWER,
    A.QA,
    A.SECURITY,
    A.INTEGRATOR,
    A.DOCS,
)
LEAN_FORBIDDEN = (A.ARCHITECT, A.PLANNER, A.DESIGNER, A.RESEARCHER, A.INTEGRATOR, A.DOCS)
# Which loop repairs what an agent blocked.
LOOP_OF = {A.REVIEWER: FixLoop.FIX_REVIEW, A.QA: FixLoop.FIX_TESTS, A.SECURITY: FixLoop.FIX_SECURITY}
FINAL_REVIEW_GOAL = {
    Strategy.PER_BATCH: "Cross-task final review of all session changes",
    Strategy.SINGLE_FINAL: "Single-final review of all session changes",
}


def agents_of(state: WorkflowState, mode: Mode) -> tuple[AgentName, ...]:
    """Return who may be dispatched in a state."""
    if mode is Mode.LEAN and state in _LEAN_AGENTS:
        return _LEAN_AGENTS[state]
    return AGENTS_OF_STATE[state]


def is_correction(agent: object, task_id: object) -> bool:
    """Return whether a dispatch in APPROVE_DESIGN is a correction, the only one allowed there."""
    return agent in CORRECTORS and task_id == META


# ------------------------------------------------------------------------------------------------ transitions


class Guard(NamedTuple):
    """A condition for leaving a state: files that exist, and rules that find no error in them."""

    files: tuple[str, ...] = ()
    says: str = ""


_INTAKE_FILES = ("spec.md", "acceptance.json", "status.json")
GUARDS: dict[str, Guard] = {
    "G-INTAKE": Guard(_INTAKE_FILES, "the intake artifacts exist and are valid"),
    "G-LEAN": Guard((*_INTAKE_FILES, "tasks.yaml"), "the same, and one task"),
    "G-DESIGN": Guard(("architecture.md",), "the design is complete"),
    "G-APPROVED": Guard(says="the stored design decision is approved and no correction is open"),
    "G-PLAN": Guard(("tasks.yaml",), "the plan is valid"),
    "G-STRATEGY": Guard(says="the stored review strategy is canonical"),
    "G-TASK": Guard(says="Reviewer OK, and QA and Security OK where they are required"),
    "G-FINAL": Guard(says="the final review, or the combined pass, is OK"),
    "G-CI": Guard(says="the build is green, or there is none and all cmd checks succeed"),
    "G-RELEASE": Guard(
        ("report.md",),
        "the report is valid, the build is not red, every criterion is met or waived",
    ),
    "G-SAVED": Guard(says="every decision of this visit is terminal and was read back equal"),
}


class Transition(NamedTuple):
    """One row: from a state, by an event, if the guards hold, to another. Rows are tried top to bottom."""

    state: WorkflowState
    event: str
    guards: tuple[str, ...]
    target: WorkflowState
    mode: Mode | None = None  # None: in both


TRANSITIONS: tuple[Transition, ...] = (
    Transition(S.INTAKE, "spec-ok", ("G-INTAKE",), S.DESIGN, Mode.FULL),
    Transition(S.INTAKE, "research-needs-info", (), S.ASK_USER, Mode.FULL),
    Transition(S.INTAKE_LEAN, "spec-ok", ("G-LEAN",), S.IMPLEMENT_LOOP, Mode.LEAN),
    Transition(S.INTAKE_LEAN, "dispatch-exhausted", (), S.IMPLEMENT_LOOP, Mode.LEAN),
    Transition(S.DESIGN, "design-ok", ("G-DESIGN",), S.APPROVE_DESIGN, Mode.FULL),
    Transition(S.DESIGN, "research-needs-info", (), S.ASK_USER, Mode.FULL),
    Transition(S.APPROVE_DESIGN, "approved", ("G-APPROVED", "G-SAVED"), S.PLAN, Mode.FULL),
    Transition(S.APPROVE_DESIGN, "changes-requested", ("G-SAVED",), S.APPROVE_DESIGN, Mode.FULL),
    Transition(S.APPROVE_DESIGN, "answer-unusable", (), S.APPROVE_DESIGN, Mode.FULL),
    Transition(S.PLAN, "plan-ok", ("G-PLAN",), S.REVIEW_STRATEGY, Mode.FULL),
    Transition(S.REVIEW_STRATEGY, "strategy-chosen", ("G-STRATEGY", "G-SAVED"), S.IMPLEMENT_LOOP, Mode.FULL),
    Transition(S.REVIEW_STRATEGY, "answer-unusable", (), S.REVIEW_STRATEGY, Mode.FULL),
    Transition(S.IMPLEMENT_LOOP, "coder-ok", (), S.IMPLEMENT_LOOP),
    Transition(S.IMPLEMENT_LOOP, "reviewer-blocked", (), S.FIX_REVIEW),
    Transition(S.IMPLEMENT_LOOP, "qa-blocked", (), S.FIX_TESTS),
    Transition(S.IMPLEMENT_LOOP, "security-blocked", (), S.FIX_SECURITY),
    Transition(S.IMPLEMENT_LOOP, "repairs-exhausted", (), S.ASK_USER),
    Transition(S.IMPLEMENT_LOOP, "pass-with-notes", (), S.ASK_USER),
    Transition(S.IMPLEMENT_LOOP, "security-needs-decision", (), S.ASK_USER),
    Transition(S.IMPLEMENT_LOOP, "task-passed", ("G-TASK",), S.IMPLEMENT_LOOP),
    Transition(S.IMPLEMENT_LOOP, "all-tasks-passed", ("G-FINAL",), S.INTEGRATE, Mode.FULL),
    Transition(S.IMPLEMENT_LOOP, "all-tasks-passed", (), S.INTEGRATE, Mode.LEAN),
    Transition(S.IMPLEMENT_LOOP, "more-complex-than-lean", (), S.INTAKE, Mode.LEAN),
    Transition(S.FIX_REVIEW, "repaired", (), S.IMPLEMENT_LOOP),
    Transition(S.FIX_TESTS, "repaired", (), S.IMPLEMENT_LOOP),
    Transition(S.FIX_SECURITY, "repaired", (), S.IMPLEMENT_LOOP),
    Transition(S.INTEGRATE, "integrated", ("G-CI",), S.RELEASE, Mode.FULL),
    Transition(S.INTEGRATE, "integrated", ("G-CI",), S.DONE, Mode.LEAN),
    Transition(S.INTEGRATE, "build-red", (), S.FIX_BUILD),
    Transition(S.INTEGRATE, "repairs-exhausted", (), S.ASK_USER),
    Transition(S.RELEASE, "build-red", (), S.FIX_BUILD, Mode.FULL),
    Transition(S.RELEASE, "repairs-exhausted", (), S.ASK_USER, Mode.FULL),
    Transition(S.FIX_BUILD, "repaired", (), S.INTEGRATE),
    Transition(S.RELEASE, "released", ("G-RELEASE",), S.DONE, Mode.FULL),
)
# What an answer in ASK_USER may lead to besides the state the question came from.
ANSWER_TARGETS = (S.FIX_REVIEW, S.FIX_TESTS, S.FIX_SECURITY, S.FIX_BUILD)


def may_follow(state: WorkflowState, target: WorkflowState, mode: Mode) -> bool:
    """Return whether one state may come directly after another, for whatever event. Resuming is not a transition."""
    if target is S.BLOCKED:
        return state not in TERMINAL_STATES
    if state is S.ASK_USER:
        # Where the question came from: even a gate, though asking there is worth a warning.
        return target not in NOT_RETURNABLE
    if target is S.ASK_USER:
        # Decisions that are still open when a session is resumed are asked from wherever it stood.
        return state not in (*GATES.values(), *TERMINAL_STATES)
    return any(row.state is state and row.target is target and row.mode in (None, mode) for row in TRANSITIONS)


OPEN_CORRECTION = (CorrectionStatus.QUEUED, CorrectionStatus.DISPATCHED)
# The artifacts a correcting agent owns: newer than the dispatch, they are the evidence of its work.
CORRECTION_EVIDENCE = {
    A.SPEC_AGENT: ("spec.md", "acceptance.json"),
    A.ARCHITECT: ("architecture.md", "adr/"),
    A.DESIGNER: ("design-specs/",),
}

# ------------------------------------------------------------------------------------------------------ tasks

T = TaskStatus
TASK_EDGES: dict[TaskStatus, tuple[TaskStatus, ...]] = {
    T.NOT_STARTED: (T.IN_PROGRESS, T.BLOCKED),
    T.IN_PROGRESS: (T.IMPLEMENTED, T.BLOCKED),
    T.IMPLEMENTED: (T.COMPLETED, T.IN_PROGRESS, T.BLOCKED),
    T.COMPLETED: (),
    T.BLOCKED: (T.IN_PROGRESS,),
}
STARTED = (T.IN_PROGRESS, T.IMPLEMENTED, T.COMPLETED)
QA_TYPES = (TaskType.FEAT, TaskType.FIX, TaskType.REFACTOR, TaskType.TEST)


def done_statuses(strategy: Strategy | None) -> tuple[TaskStatus, ...]:
    """Return the statuses in which a dependency counts as done."""
    return (T.IMPLEMENTED, T.COMPLETED) if strategy is Strategy.SINGLE_FINAL else (T.COMPLETED,)


# -------------------------------------------------------------------------------------------------- artifacts

_ARTIFACTS = {
    S.DESIGN: ("spec.md", "acceptance.json"),
    S.APPROVE_DESIGN: ("architecture.md",),
    S.REVIEW_STRATEGY: ("tasks.yaml",),
    S.DONE: ("report.md",),
}


def rank(state: object, returns_to: object = None) -> int | None:
    """Return how far along the full path a state is; None for BLOCKED and for unknown states.

    ASK_USER is as far as the state it returns to, a repair loop as far as the state it repairs.
    """
    if state == S.ASK_USER:
        return rank(returns_to) if returns_to != S.ASK_USER else None
    if state == S.INTAKE_LEAN:
        return 0
    if state == S.FIX_BUILD:
        return FULL_PATH.index(S.INTEGRATE)
    if is_member(state, FixLoop):
        return FULL_PATH.index(S.IMPLEMENT_LOOP)
    return next((place for place, step in enumerate(FULL_PATH) if step == state), None)


def is_at_or_past(state: object, milestone: WorkflowState, returns_to: object = None) -> bool:
    place = rank(state, returns_to)
    return place is not None and place >= FULL_PATH.index(milestone)


def required_artifacts(state: object, mode: Mode, returns_to: object = None) -> tuple[str, ...]:
    """Return the files a session must hold while it rests in a state."""
    place = rank(state, returns_to)
    needed = ["status.json"]
    for step, files in _ARTIFACTS.items():
        if place is not None and place >= FULL_PATH.index(step):
            needed += files
    return tuple(name for name in needed if mode is Mode.FULL or name != "architecture.md")


# -------------------------------------------------------------------------------------------------- decisions

_STRATEGY_WORDS = {
    "per-batch": Strategy.PER_BATCH,
    "perbatch": Strategy.PER_BATCH,
    "batch": Strategy.PER_BATCH,
    "each-batch": Strategy.PER_BATCH,
    "single-final": Strategy.SINGLE_FINAL,
    "singlefinal": Strategy.SINGLE_FINAL,
    "single": Strategy.SINGLE_FINAL,
    "final": Strategy.SINGLE_FINAL,
    "one-final": Strategy.SINGLE_FINAL,
}
_APPROVALS = ("approve", "looks good", "go ahead", "lgtm")
_GAPS = Pattern(r"[\s_]+")


def normal_strategy(answer: str) -> Strategy | None:
    """Return the strategy that an answer means, by the table of synonyms."""
    word = _GAPS.compiled.sub("-", answer.strip().casefold()).removesuffix("-review")
    return _STRATEGY_WORDS.get(word)


def normal_approval(answer: str) -> str:
    """Return an answer about the design as it is stored: plain consent becomes `approved`, everything else stays."""
    return APPROVED if answer.strip().casefold() in _APPROVALS else answer


def is_approval(answer: object) -> bool:
    return type(answer) is str and answer.startswith(APPROVED)


def is_change_request(answer: object) -> bool:
    return type(answer) is str and answer.startswith(CHANGES_REQUESTED)


# --------------------------------------------------------------------------------------------- dispatch message


class MessagePart(NamedTuple):
    """A part of what an agent is sent, in its place; the conventions come only when the project has some."""

    name: str
    optional: bool = False


MESSAGE_PARTS = (
    MessagePart("role"),
    MessagePart("contract"),
    MessagePart("conventions", optional=True),
    MessagePart("session"),
    MessagePart("input"),
    MessagePart("first-steps"),
)
_ROLE_ORDER = (
    A.ORCHESTRATOR,
    A.SPEC_AGENT,
    A.ARCHITECT,
    A.PLANNER,
    A.CODER,
    A.REVIEWER,
    A.QA,
    A.SECURITY,
    A.INTEGRATOR,
    A.DOCS,
    A.DESIGNER,
    A.RESEARCHER,
)


def role_file(agent: AgentName) -> str:
    """Return the file that describes an agent's role, as a dispatch message names it."""
    return f".github/agents/{_ROLE_ORDER.index(agent):02d}-{agent.file_name}.md"
