"""Closed sets that scenario files share with the engine and the simulated agents."""

from __future__ import annotations

from enum import Enum

# What a turn names instead of a step when the run is complete and is taken up again.
AFTER_END = "$complete"


class ProfileChoice(str, Enum):
    """Which engine the run is made on."""

    REFERENCE = "reference"
    LOCKED = "locked"


class Behaviour(str, Enum):
    """The ways to answer a step, one of them right."""

    RIGHT = "right"
    NOTHING = "nothing"
    MISSING_NOTES = "missing_notes"
    BLANK_NOTES = "blank_notes"
    OVERSIZE_NOTES = "oversize_notes"
    FAILING_NOTES = "failing_notes"
    MISSING_ARTIFACT = "missing_artifact"
    WRONG_KIND = "wrong_kind"
    INVALID_ARTIFACT = "invalid_artifact"
    OVERSIZE_ARTIFACT = "oversize_artifact"
    WRONG_LEVEL = "wrong_level"
    FOLLOWUP_LEVEL = "followup_level"
    MISSING_DIMENSION = "missing_dimension"
    UNKNOWN_DIMENSION = "unknown_dimension"
    KEEP_LOOPING = "keep_looping"
    NO_DECISION = "no_decision"
    WRONG_LOOP = "wrong_loop"
    CLAIM_CAPABILITY = "claim_capability"
    LACK_CAPABILITY = "lack_capability"
    DIVERGE = "diverge"
    OVERSIZE_CONTEXT = "oversize_context"


class FaultKind(str, Enum):
    """A fault between an agent and its engine."""

    LOSE_ANSWER = "lose_answer"  # the answer never arrives, so the same call is made again
    LOSE_MEMORY = "lose_memory"  # the agent starts afresh and rehydrates
    GARBLE_TOKEN = "garble_token"  # a character of the token changes on the way
    STALE_TOKEN = "stale_token"  # the token of an earlier step is used once more
    WRONG_TOKEN = "wrong_token"  # the checkpoint token is taken for the continue token
    RESTART_ENGINE = "restart_engine"  # the engine's process ends and another one takes over


class CallName(str, Enum):
    """A call that an agent can make at a step besides submitting it."""

    REHYDRATE = "rehydrate"
    REWIND = "rewind"
    CHECKPOINT = "checkpoint"
    RESEND = "resend"
    RESTART = "restart"
    LEAVE = "leave"
    RAW = "raw"  # continue_workflow with exactly the members of the request
    CONTINUE_WORKFLOW = "continue_workflow"
    CHECKPOINT_WORKFLOW = "checkpoint_workflow"
    RESUME_SESSION = "resume_session"
    LIST_WORKFLOWS = "list_workflows"
    INSPECT_WORKFLOW = "inspect_workflow"


class PersonDetail(str, Enum):
    """Something only a person can provide."""

    SECRET_OR_TOKEN = "needs_user_secret_or_token"
    ACCOUNT_ACCESS = "needs_user_account_access"
    ARTIFACT = "needs_user_artifact"
    CHOICE = "needs_user_choice"
    APPROVAL = "needs_user_approval"
    ENVIRONMENT_ACTION = "needs_user_environment_action"


class HostReason(str, Enum):
    """A reason that only a host can report, because no workflow causes it."""

    CONTEXT_BUDGET_EXCEEDED = "context_budget_exceeded"
    INVARIANT_VIOLATION = "invariant_violation"
    STORAGE_CORRUPTION_DETECTED = "storage_corruption_detected"
    EVALUATION_ERROR = "evaluation_error"


class ErrorCode(str, Enum):
    """Why a call can fail."""

    VALIDATION_ERROR = "VALIDATION_ERROR"
    NOT_FOUND = "NOT_FOUND"
    PRECONDITION_FAILED = "PRECONDITION_FAILED"
    TOKEN_INVALID_FORMAT = "TOKEN_INVALID_FORMAT"
    TOKEN_UNSUPPORTED_VERSION = "TOKEN_UNSUPPORTED_VERSION"
    TOKEN_BAD_SIGNATURE = "TOKEN_BAD_SIGNATURE"
    TOKEN_SCOPE_MISMATCH = "TOKEN_SCOPE_MISMATCH"
    TOKEN_UNKNOWN_NODE = "TOKEN_UNKNOWN_NODE"
    TOKEN_WORKFLOW_HASH_MISMATCH = "TOKEN_WORKFLOW_HASH_MISMATCH"
    TOKEN_SESSION_LOCKED = "TOKEN_SESSION_LOCKED"
    SESSION_NOT_HEALTHY = "SESSION_NOT_HEALTHY"
    TIMEOUT = "TIMEOUT"
    INTERNAL_ERROR = "INTERNAL_ERROR"
