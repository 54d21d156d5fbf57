"""The closed sets of a simulated run: what a scenario can ask for, and what a run can say."""

from __future__ import annotations

from enum import Enum

from workrail_lint.systems.blocks.outputs import CONFLICT_EVENT


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
