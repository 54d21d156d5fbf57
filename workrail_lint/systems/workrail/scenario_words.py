"""The closed sets of scenario files, as the engine and the simulated agents know them."""

from __future__ import annotations

from enum import Enum

# What a turn names instead of a step when the run is complete and is taken up again.
AFTER_END = "$complete"


class ProfileChoice(str, Enum):
    """Which engine the run is made on."""

    REFERENCE = "reference"
    LOCKED = "locked"


class Mode(str, Enum):
    """How much the run may do on its own."""

    GUIDED = "guided"
    STOP_ON_USER_DEPS = "full_auto_stop_on_user_deps"
    NEVER_STOP = "full_auto_never_stop"


class Risk(str, Enum):
    """How much the run may take upon itself."""

    CONSERVATIVE = "conservative"
    BALANCED = "balanced"
    AGGRESSIVE = "aggressive"


class Status(str, Enum):
    """How a run can end."""

    COMPLETE = "complete"
    COMPLETE_WITH_GAPS = "complete_with_gaps"
    BLOCKED = "blocked"
    GATED = "gated"
    IN_PROGRESS = "in_progress"
    ERROR = "error"


class AnswerKind(str, Enum):
    """The kind of answer to a call."""

    OK = "ok"
    BLOCKED = "blocked"
    GATED = "gated"
    COMPLETE = "complete"
    ERROR = "error"


class Because(str, Enum):
    """Why a step was passed over."""

    UNSET = "unset"
    VALUE = "value"
    NEVER = "never"


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


class CrashPoint(str, Enum):
    """Where the engine's process dies during a call: around the write of the state, or around that of the log."""

    BEFORE_STATE = "before-state"
    AFTER_STATE = "after-state"
    BEFORE_LOG = "before-log"
    AFTER_LOG = "after-log"


class PromiseName(str, Enum):
    """A promise that every run keeps, no matter what its agents do; `docs/exploring.md` explains each."""

    TOTAL = "total"
    REFUSED_CHANGES_NOTHING = "refused-changes-nothing"
    LOOK_CHANGES_NOTHING = "look-changes-nothing"
    REPLAY = "replay"
    CONTEXT = "context"
    ORDER = "order"
    FORK = "fork"
    GAPS = "gaps"
    GOES_ON = "goes-on"
    RECOVERABLE = "recoverable"
    ENDS = "ends"
    BUDGET = "budget"
    HEALTHY = "healthy"
    SAME = "same"
    PROFILES = "profiles"


class PersonDetail(str, Enum):
    """Something only a person can provide."""

    SECRET_OR_TOKEN = "needs_user_secret_or_token"
    ACCOUNT_ACCESS = "needs_user_account_access"
    ARTIFACT = "needs_user_artifact"
    CHOICE = "needs_user_choice"
    APPROVAL = "needs_user_approval"
    ENVIRONMENT_ACTION = "needs_user_environment_action"


class ChoiceKind(str, Enum):
    """The choices that no agent may make by itself."""

    PREFERENCE_TRADEOFF = "preference_tradeoff"
    SCOPE_BOUNDARY = "scope_boundary"
    IRREVERSIBLE_ACTION = "irreversible_action"
    EXTERNAL_SIDE_EFFECT = "external_side_effect"
    POLICY_OR_COMPLIANCE = "policy_or_compliance"


class HostReason(str, Enum):
    """A reason that only a host can report, because no workflow causes it."""

    CONTEXT_BUDGET_EXCEEDED = "context_budget_exceeded"
    INVARIANT_VIOLATION = "invariant_violation"
    STORAGE_CORRUPTION_DETECTED = "storage_corruption_detected"
    EVALUATION_ERROR = "evaluation_error"


class Severity(str, Enum):
    """How much a gap matters."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class BlockerCode(str, Enum):
    """A reason that stops an advance."""

    USER_ONLY_DEPENDENCY = "USER_ONLY_DEPENDENCY"
    MISSING_REQUIRED_OUTPUT = "MISSING_REQUIRED_OUTPUT"
    INVALID_REQUIRED_OUTPUT = "INVALID_REQUIRED_OUTPUT"
    MISSING_REQUIRED_NOTES = "MISSING_REQUIRED_NOTES"
    ASSESSMENT_FOLLOWUP_REQUIRED = "ASSESSMENT_FOLLOWUP_REQUIRED"
    MISSING_CONTEXT_KEY = "MISSING_CONTEXT_KEY"
    CONTEXT_BUDGET_EXCEEDED = "CONTEXT_BUDGET_EXCEEDED"
    REQUIRED_CAPABILITY_UNKNOWN = "REQUIRED_CAPABILITY_UNKNOWN"
    REQUIRED_CAPABILITY_UNAVAILABLE = "REQUIRED_CAPABILITY_UNAVAILABLE"
    INVARIANT_VIOLATION = "INVARIANT_VIOLATION"
    STORAGE_CORRUPTION_DETECTED = "STORAGE_CORRUPTION_DETECTED"


class GapDetail(str, Enum):
    """Something missing that a run can continue without."""

    MISSING_REQUIRED_OUTPUT = "missing_required_output"
    INVALID_REQUIRED_OUTPUT = "invalid_required_output"
    MISSING_REQUIRED_NOTES = "missing_required_notes"
    ASSESSMENT_FOLLOWUP_REQUIRED = "assessment_followup_required"
    REQUIRED_CAPABILITY_UNKNOWN = "required_capability_unknown"
    REQUIRED_CAPABILITY_UNAVAILABLE = "required_capability_unavailable"
    NEEDS_USER_SECRET_OR_TOKEN = "needs_user_secret_or_token"
    NEEDS_USER_ACCOUNT_ACCESS = "needs_user_account_access"
    NEEDS_USER_ARTIFACT = "needs_user_artifact"
    NEEDS_USER_CHOICE = "needs_user_choice"
    NEEDS_USER_APPROVAL = "needs_user_approval"
    NEEDS_USER_ENVIRONMENT_ACTION = "needs_user_environment_action"
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
