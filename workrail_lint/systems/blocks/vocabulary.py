"""The closed sets of the block contract, what follows from a node's type, and the limits of a run."""

from __future__ import annotations

from enum import Enum

from workrail_lint.base import js


class BlockType(str, Enum):
    """The purpose of a block."""

    PLAN = "plan"
    DEV = "dev"
    TEST = "test"
    REVIEW = "review"
    DEVOPS = "devops"


class ControlType(str, Enum):
    """Nodes that steer the run; they have no prompt and leave no file."""

    CONDITION = "condition"
    FOR_EACH = "forEach"
    SUB_WORKFLOW = "subWorkflow"


class OutputStatus(str, Enum):
    """How a block ended, in its own words."""

    COMPLETED = "completed"
    FAILED = "failed"
    PARTIAL = "partial"


class DeliverableKind(str, Enum):
    """The shapes of deliverables; the last three belong to the extended profile."""

    PLAN = "plan"
    CODE = "code"
    GENERIC = "generic"
    TEST = "test"
    REVIEW = "review"
    DEVOPS = "devops"


class MergeStrategy(str, Enum):
    """How the lanes of a parallel group come together."""

    CONCATENATE = "concatenate"
    WORKSPACE = "workspace"
    FAIL_ON_CONFLICT = "fail-on-conflict"


class Resolution(str, Enum):
    """How a conflict between lanes was settled."""

    FIRST_COMPLETE_WINS = "first-complete-wins"
    USER_RESOLVED = "user-resolved"


class Isolation(str, Enum):
    """How a lane gets a separate workspace."""

    GIT_WORKTREE = "git-worktree"
    TEMP_COPY = "temp-copy"


class AgentNodeType(str, Enum):
    """The roles a node can have."""

    PLANNER = "planner"
    BACKEND = "backend"
    FRONTEND = "frontend"
    REVIEWER = "reviewer"
    ORCHESTRATOR = "orchestrator"
    DEVOPS = "devops"
    IDEATION = "ideation"
    ARCHITECT = "architect"
    SURVEYOR = "surveyor"
    PRD = "prd"
    ACCEPTANCE = "acceptance"
    CODING = "coding"
    UTEST = "utest"
    DEBUGGER = "debugger"
    SECURITY = "security"
    VALIDATION = "validation"
    DEPLOYMENT = "deployment"
    MONITOR = "monitor"
    RELEASE = "release"
    CURSOR = "cursor"


class NodeKind(str, Enum):
    """Whether a node runs an agent or steers the run."""

    AGENT = "agent"
    CONTROL = "control"


class ConditionType(str, Enum):
    """When a transition holds."""

    ALWAYS = "always"
    ON_SUCCESS = "on_success"
    ON_FAILURE = "on_failure"
    EXPRESSION = "expression"


class GateMode(str, Enum):
    """Whether a person is asked after a block."""

    AUTO_CONTINUE = "auto_continue"
    GATE = "gate"


class GateType(str, Enum):
    """The kind of question asked before a node."""

    APPROVAL = "approval"
    REVIEW = "review"
    DECISION = "decision"
    CONFIRMATION = "confirmation"


class NodeStatus(str, Enum):
    """The status of a node in a run."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    WAITING_GATE = "waiting_gate"


class ExecutionStatus(str, Enum):
    """The status of a run."""

    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    WAITING_GATE = "waiting_gate"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"


class ContainerState(str, Enum):
    """The state of a container between blocks."""

    STARTING = "starting"
    IDLE = "idle"
    RUNNING = "running"
    DORMANT = "dormant"
    TERMINATED = "terminated"


class FailureMode(str, Enum):
    """Whether a failed lane stops the others."""

    LENIENT = "lenient"
    STRICT = "strict"


class Backend(str, Enum):
    """Which agent program runs a block."""

    CLAUDE = "claude"
    CURSOR = "cursor"
    CODEX = "codex"


class VariableType(str, Enum):
    """The type of a workflow variable."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    JSON = "json"
    ARRAY = "array"


class BlockProfile(str, Enum):
    """By what definitions are judged and run: the contract, the contract with its gaps left open, or the studio."""

    CONTRACT = "contract"
    LENIENT = "lenient"
    STUDIO = "studio"


class RepoSource(str, Enum):
    """Where the repository comes from."""

    LOCAL = "local"
    GITHUB = "github"


class Scrutiny(str, Enum):
    """How much of a block's work is shown at a gate."""

    SUMMARY = "summary"
    FILE_LIST = "file_list"
    FULL_CONTENT = "full_content"
    FULL_DETAIL = "full_detail"


class WorkflowStatus(str, Enum):
    """Whether a definition is in use."""

    ACTIVE = "active"
    PAUSED = "paused"


class PortType(str, Enum):
    """The direction of a port."""

    INPUT = "input"
    OUTPUT = "output"


class Synthetic(str, Enum):
    """Why the harness had to write an output in a block's place."""

    MISSING = "missing"
    MALFORMED = "malformed"
    MISMATCH = "mismatch"
    EXIT = "exit"
    TIMEOUT = "timeout"
    ABORTED = "aborted"


_NODE_TYPES: dict[BlockType, str] = {
    BlockType.PLAN: "planner architect ideation surveyor prd acceptance",
    BlockType.DEV: "coding backend frontend debugger cursor",
    BlockType.TEST: "utest validation",
    BlockType.REVIEW: "reviewer security orchestrator",
    BlockType.DEVOPS: "deployment devops monitor release",
}
BLOCK_TYPE_OF: dict[str, BlockType] = {
    node_type: block_type for block_type, names in _NODE_TYPES.items() for node_type in names.split()
}

# The kind that each block type delivers, and what else the extended profile accepts.
EXPECTED_KIND: dict[BlockType, DeliverableKind] = {
    BlockType.PLAN: DeliverableKind.PLAN,
    BlockType.DEV: DeliverableKind.CODE,
    BlockType.TEST: DeliverableKind.GENERIC,
    BlockType.REVIEW: DeliverableKind.GENERIC,
    BlockType.DEVOPS: DeliverableKind.CODE,
}
_RICHER_KIND = {
    BlockType.TEST: DeliverableKind.TEST,
    BlockType.REVIEW: DeliverableKind.REVIEW,
    BlockType.DEVOPS: DeliverableKind.DEVOPS,
}
CONTRACT_KINDS = (DeliverableKind.PLAN, DeliverableKind.CODE, DeliverableKind.GENERIC)

# Types whose lanes edit files, and so lose their work where lanes are only concatenated.
EDITING_TYPES = (BlockType.DEV, BlockType.TEST, BlockType.DEVOPS)


def kinds_of_profile(extended: bool) -> tuple[DeliverableKind, ...]:
    """Return the deliverable kinds that a profile knows."""
    return tuple(DeliverableKind) if extended else CONTRACT_KINDS


def accepted_kinds(block_type: BlockType, extended: bool) -> tuple[DeliverableKind, ...]:
    """Return the deliverable kinds that fit a block type, the expected one first."""
    kinds = (EXPECTED_KIND[block_type],)
    richer = _RICHER_KIND.get(block_type)
    return (*kinds, richer) if extended and richer is not None else kinds


def text_of(value: object) -> str | None:
    """Return a string that says something; None for anything else."""
    return value if isinstance(value, str) and not js.is_blank(value) else None


def texts_of(value: object) -> list[tuple[int, str]]:
    """Return the strings of a list with their positions."""
    return [(at, item) for at, item in enumerate(value if isinstance(value, list) else ()) if isinstance(item, str)]


BLOCK_TIME_LIMIT_MS = 300_000
DORMANCY_LIMIT_MS = 300_000
MAX_CONTAINERS = 10
MAX_REVISIONS = 10
MAX_SUB_WORKFLOW_DEPTH = 3
FOR_EACH_ITERATIONS = 100
PROMPT_FIELD_CHARACTERS = 4096
RESTRICTION_CHARACTERS = 256
SUMMARY_SENTENCES = 3
PERMUTED_LANES = 4  # groups with more lanes have too many orders to try them all
TELEMETRY_PORT = 9292
TELEMETRY_PATH = "/telemetry"


def time_limit_ms(attempt: int, timeout_seconds: float | None = None) -> float:
    """Return how long an attempt (counted from 0) may take: later ones get more time, up to twice as much."""
    base = BLOCK_TIME_LIMIT_MS if timeout_seconds is None else timeout_seconds * 1000
    return base * min(1 + 0.5 * attempt, 2)


# --------------------------------------------------------------------------------------------- simulated runs

CONFLICT_EVENT = "lane:conflict-detected"


class GitState(str, Enum):
    """The git state of the workspace when a run starts."""

    CLEAN = "clean"
    DIRTY = "dirty"
    NONE = "none"


class Containers(str, Enum):
    """Whether containers are kept between blocks; `none` is a machine that has no container runtime at all."""

    WARM = "warm"
    COLD = "cold"
    NONE = "none"


class Enforcement(str, Enum):
    """The way restrictions are enforced: the wording of the prompt, or a hook that refuses the write."""

    PROMPT = "prompt"
    HOOK = "hook"


class Profile(str, Enum):
    """Which deliverable kinds are known."""

    CONTRACT = "contract"
    EXTENDED = "extended"


class RunProfile(str, Enum):
    """By what a definition is run; the other profiles of a project only change how bad findings are."""

    CONTRACT = "contract"
    STUDIO = "studio"


class PauseAnswer(str, Enum):
    """How a pause that the user asked for ends."""

    RESUME = "resume"
    ABORT = "abort"


class EventType(str, Enum):
    """Everything a run can tell."""

    EXECUTION_STARTED = "execution_started"
    EXECUTION_COMPLETED = "execution_completed"
    EXECUTION_FAILED = "execution_failed"
    EXECUTION_ABORTED = "execution_aborted"
    FOLDER_CREATED = "folder_created"
    GATE_WAITING = "gate_waiting"
    NODE_STARTED = "node_started"
    NODE_COMPLETED = "node_completed"
    NODE_FAILED = "node_failed"
    NODE_SKIPPED = "node_skipped"
    NODE_RETRY = "node_retry"
    NODE_RETRY_EXHAUSTED = "node_retry_exhausted"
    BLOCK_GATE_OPEN = "block_gate_open"
    GATE_DECIDED = "gate_decided"
    BLOCK_REVISION = "block_revision"
    WRITE_BLOCKED = "write_blocked"
    LANE_STARTED = "lane_started"
    LANE_SETTLED = "lane_settled"
    FAN_IN = "fan_in"
    LANE_CONFLICT = CONFLICT_EVENT
    EXECUTION_PAUSED = "execution_paused"
    EXECUTION_RESUMED = "execution_resumed"


class BlockerCode(str, Enum):
    """Everything that can block a run."""

    OUTPUT_MISSING = "BLOCK_OUTPUT_MISSING"
    OUTPUT_INVALID = "BLOCK_OUTPUT_INVALID"
    FAILED = "BLOCK_FAILED"
    TIMED_OUT = "BLOCK_TIMED_OUT"
    LANE_CONFLICT = "BLOCK_LANE_CONFLICT"
    GATE_OPEN = "BLOCK_GATE_OPEN"
    REVISIONS_EXHAUSTED = "BLOCK_REVISIONS_EXHAUSTED"
    PLAN_CYCLE = "BLOCK_PLAN_CYCLE"
    RUNTIME_MISSING = "BLOCK_RUNTIME_MISSING"
    RESTRICTED_WRITE = "BLOCK_RESTRICTED_WRITE"
    ABORTED = "BLOCK_ABORTED"


# The code under which tools that know all contracts alike file a blocker.
COMMON_CODE = {
    BlockerCode.OUTPUT_MISSING: "MISSING_REQUIRED_OUTPUT",
    BlockerCode.OUTPUT_INVALID: "INVALID_REQUIRED_OUTPUT",
    BlockerCode.FAILED: "INVARIANT_VIOLATION",
    BlockerCode.TIMED_OUT: "INVARIANT_VIOLATION",
    BlockerCode.LANE_CONFLICT: "USER_ONLY_DEPENDENCY",
    BlockerCode.GATE_OPEN: "USER_ONLY_DEPENDENCY",
    BlockerCode.REVISIONS_EXHAUSTED: "USER_ONLY_DEPENDENCY",
    BlockerCode.PLAN_CYCLE: "INVARIANT_VIOLATION",
    BlockerCode.RUNTIME_MISSING: "REQUIRED_CAPABILITY_UNAVAILABLE",
    BlockerCode.RESTRICTED_WRITE: "INVARIANT_VIOLATION",
    BlockerCode.ABORTED: "USER_ONLY_DEPENDENCY",
}

# Words of a scenario.
CONTINUE = "continue"
ABORT = "abort"
REVISE = "revise"
NO_OUTPUT = "none"
