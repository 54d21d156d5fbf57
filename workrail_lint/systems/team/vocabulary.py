"""The closed sets and formats of the agent-team contract. It imports no other part of the system."""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import TypeGuard

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.timestamps import Timestamp, parse_timestamp


class AgentName(str, Enum):
    """The twelve roles, as they are written in every JSON document."""

    SPEC_AGENT = "SpecAgent"
    ARCHITECT = "Architect"
    PLANNER = "Planner"
    DESIGNER = "Designer"
    RESEARCHER = "Researcher"
    CODER = "Coder"
    REVIEWER = "Reviewer"
    QA = "QA"
    SECURITY = "Security"
    INTEGRATOR = "Integrator"
    DOCS = "Docs"
    ORCHESTRATOR = "Orchestrator"

    @property
    def file_name(self) -> str:
        """The same role in the front matter of a role file: `spec-agent`, `qa`."""
        return "spec-agent" if self is AgentName.SPEC_AGENT else self.value.lower()


class WorkflowState(str, Enum):
    """The state of a session."""

    INTAKE = "INTAKE"
    INTAKE_LEAN = "INTAKE_LEAN"
    DESIGN = "DESIGN"
    APPROVE_DESIGN = "APPROVE_DESIGN"
    PLAN = "PLAN"
    REVIEW_STRATEGY = "REVIEW_STRATEGY"
    IMPLEMENT_LOOP = "IMPLEMENT_LOOP"
    INTEGRATE = "INTEGRATE"
    RELEASE = "RELEASE"
    DONE = "DONE"
    ASK_USER = "ASK_USER"
    FIX_REVIEW = "FIX_REVIEW"
    FIX_TESTS = "FIX_TESTS"
    FIX_SECURITY = "FIX_SECURITY"
    FIX_BUILD = "FIX_BUILD"
    BLOCKED = "BLOCKED"


class FixLoop(str, Enum):
    """The states in which something is repaired; each is counted per task."""

    FIX_REVIEW = "FIX_REVIEW"
    FIX_TESTS = "FIX_TESTS"
    FIX_SECURITY = "FIX_SECURITY"
    FIX_BUILD = "FIX_BUILD"


class OutputStatus(str, Enum):
    """How an agent's work ended."""

    OK = "OK"
    BLOCKED = "BLOCKED"
    NEEDS_INFO = "NEEDS_INFO"
    NEEDS_DECISION = "NEEDS_DECISION"
    FAIL = "FAIL"


class TaskStatus(str, Enum):
    """How far a task is, in the order of its life."""

    NOT_STARTED = "not-started"
    IN_PROGRESS = "in-progress"
    IMPLEMENTED = "implemented"
    COMPLETED = "completed"
    BLOCKED = "blocked"


class TaskType(str, Enum):
    """The kind of work in a task."""

    FEAT = "feat"
    FIX = "fix"
    REFACTOR = "refactor"
    CHORE = "chore"
    TEST = "test"
    DOCS = "docs"


class DecisionStatus(str, Enum):
    """Whether the user has decided; all but the first are terminal."""

    PENDING = "pending"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class CorrectionStatus(str, Enum):
    """How far a requested change of the design is."""

    NONE = "none"
    QUEUED = "queued"
    DISPATCHED = "dispatched"
    COMPLETED = "completed"


class Strategy(str, Enum):
    """When work is reviewed: after every task, or once at the end."""

    PER_BATCH = "per-batch"
    SINGLE_FINAL = "single-final"


class Mode(str, Enum):
    """The full path, or the short one for a small and plain change."""

    FULL = "full"
    LEAN = "lean"


class ProjectType(str, Enum):
    """The kind of software being built."""

    WEB = "web"
    API = "api"
    CLI = "cli"
    LIB = "lib"
    MIXED = "mixed"


class RiskFlag(str, Enum):
    """A risk of a task."""

    SECURITY = "security"
    PERF = "perf"
    BREAKING_CHANGE = "breaking-change"
    NONE = "none"


class ChangeType(str, Enum):
    """A kind of change to a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


class CiStatus(str, Enum):
    """The result of the last build."""

    UNKNOWN = "unknown"
    GREEN = "green"
    RED = "red"


class ReviewSeverity(str, Enum):
    """How bad a review comment is, least first."""

    NIT = "nit"
    MINOR = "minor"
    MAJOR = "major"
    BLOCKER = "blocker"


class ReviewCategory(str, Enum):
    """The subject of a review comment."""

    SECURITY = "Security"
    ARCHITECTURE = "Architecture"
    LOGIC = "Logic"
    PERFORMANCE = "Performance"
    QUALITY = "Quality"
    DEVILS_ADVOCATE = "Devil's Advocate"


class FindingSeverity(str, Enum):
    """How bad a security finding is, least first."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        return list(FindingSeverity).index(self)


class FindingCategory(str, Enum):
    """The subject of a security finding."""

    XSS = "XSS"
    CSP = "CSP"
    SSRF = "SSRF"
    AUTH = "Auth"
    SECRETS = "Secrets"
    DEPS = "Deps"
    VALIDATION = "Validation"
    OTHER = "Other"


class Level(str, Enum):
    """How sure a researcher is, and how much work an option takes."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class BlockerSlug(str, Enum):
    """Why a session is blocked, as status.json says it."""

    MANDATORY_USER_DECISION_MISSING = "mandatory_user_decision_missing"
    SUBAGENT_FAILURE = "subagent_failure"
    PERSISTENCE_ERROR = "persistence_error"
    ARTIFACT_INVALID = "artifact_invalid"
    AGENT_BLOCKED = "agent_blocked"
    AGENT_FAILED = "agent_failed"
    CORRECTION_UNVERIFIED = "correction_unverified"


class Profile(str, Enum):
    """How strictly a session is judged."""

    STRICT = "strict"
    LENIENT = "lenient"
    LEGACY = "legacy"


META = "meta"
SAME = "same"
APPROVE_DESIGN_ID = "UD-APPROVE-DESIGN"
REVIEW_STRATEGY_ID = "UD-REVIEW-STRATEGY"
APPROVED = "approved"
CHANGES_REQUESTED = "changes-requested:"
NO_RESPONSE = "no response provided"
KNOWN_TOOLS = ("read_file", "write_file", "apply_patch", "run_cmd", "search_repo")
# Task state lives in tasks.yaml alone, so these must not be in status.json.
TASK_STATE_KEYS = ("completed_tasks", "blocked_tasks", "in_progress_tasks", "task_status", "tasks")
CHECKLIST = ("security", "architecture", "logic", "performance", "quality", "devils_advocate")
CHECK_PREFIXES = ("cmd: ", "manual: ")
PLACEHOLDERS = ("<session>", "T-XXX", "AC-XXX", "YYYY-MM-DD", "UD-<N>")
SESSIONS_FOLDER = ".agents-work"

TASK_ID = r"^T-[0-9]{3,}$"
TASK_REF = r"^(?:T-[0-9]{3,}|meta)$"
AC_ID = r"^AC(?:-[A-Z0-9]+)*-[0-9]{3}$"
SESSION_NAME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}_[a-z0-9]+(?:-[a-z0-9]+)*$"
DECISION_ID = r"^UD-(?:[0-9]+|APPROVE-DESIGN|REVIEW-STRATEGY)$"
CHECK = r"^(?:cmd|manual): .*\S"
OPTION_ID = r"^OPT-[0-9]+$"
TIMESTAMP = (
    r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])$"
)

_TASK_ID, _TASK_REF = Pattern(TASK_ID[:-1]), Pattern(TASK_REF[:-1])
_SESSION, _DECISION = Pattern(SESSION_NAME[:-1]), Pattern(DECISION_ID[:-1])
_MOMENT = Pattern(
    r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_AC_IN_TEXT = Pattern(r"(?<![A-Za-z0-9-])AC(?:-[A-Z0-9]+)*-[0-9]{3}(?![A-Za-z0-9]|-[A-Za-z0-9])")
_TASK_IN_TEXT = Pattern(r"(?<![A-Za-z0-9-])T-[0-9]{3,}(?![A-Za-z0-9-])")
_DRIVE = Pattern(r"[A-Za-z]:")


def is_text(value: object) -> TypeGuard[str]:
    """Return whether a value is a string that is not blank."""
    return type(value) is str and not js.is_blank(value)


def line_count(text: str) -> int:
    """Count lines; a newline at the end does not start another line."""
    return text.removesuffix("\n").count("\n") + 1


def is_task_id(value: object) -> TypeGuard[str]:
    return type(value) is str and _TASK_ID.fullmatch(value) is not None


def is_task_ref(value: object) -> TypeGuard[str]:
    return type(value) is str and _TASK_REF.fullmatch(value) is not None


def is_decision_id(value: object) -> TypeGuard[str]:
    return type(value) is str and _DECISION.fullmatch(value) is not None


def is_session_name(value: object) -> TypeGuard[str]:
    """Return whether a value is a session name with a date that exists; its words are not counted."""
    return type(value) is str and _SESSION.fullmatch(value) is not None and is_date(value[:10])


def is_check(value: object) -> TypeGuard[str]:
    return type(value) is str and any(value.startswith(p) and is_text(value[len(p) :]) for p in CHECK_PREFIXES)


def is_bare_command(value: object) -> TypeGuard[str]:
    """Return whether only the prefix of a check is missing; a misspelled prefix does not count."""
    return is_text(value) and not value.strip().casefold().startswith(tuple(p.rstrip() for p in CHECK_PREFIXES))


def is_date(text: str) -> bool:
    """Return whether `2026-02-30` is a day."""
    try:
        date(int(text[:4]), int(text[5:7]), int(text[8:10]))
    except ValueError:
        return False
    return True


def moment(value: object) -> Timestamp | None:
    """Return the time that a date-time with seconds names; None for anything else."""
    return parse_timestamp(value) if type(value) is str and _MOMENT.fullmatch(value) else None


def is_timestamp(value: object) -> TypeGuard[str]:
    time = moment(value)
    return time is not None and time.has_zone


def ac_ids_in(text: str) -> list[str]:
    """Return the acceptance criteria that a string names, in order, without duplicates."""
    return list(dict.fromkeys(_AC_IN_TEXT.findall(text))) if "AC-" in text else []


def task_ids_in(text: str) -> list[str]:
    """Return the tasks that a string names, in order."""
    return _TASK_IN_TEXT.findall(text)


def machine_reason(path: str) -> str | None:
    """Return why a path holds on one machine only, or leaves the repository; None for a plain repository path."""
    if path.startswith("/"):
        return "is absolute"
    if path.startswith("~"):
        return "starts in a home folder"
    if _DRIVE.match(path):
        return "names a drive"
    if "\\" in path:
        return "uses backslashes"
    return "leaves the repository" if ".." in path.split("/") else None


def session_parts(path: str) -> tuple[str, str] | None:
    """Return `.agents-work/<session>/<rest>` as session and rest; None for other paths, and for ones that climb out."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or len(parts) < 3 or parts[0] != SESSIONS_FOLDER or ".." in parts:
        return None
    return parts[1], "/".join(parts[2:])


def decision_number(value: object) -> int | None:
    """Return the number of a sequential decision id; None for a well-known id, another string, or a huge number."""
    if not is_decision_id(value) or not value[3:].isdigit() or len(value) > 18:
        return None
    return int(value[3:])


class WriteFault(str, Enum):
    """How a write fails: with an error, silently, or halfway."""

    IO_ERROR = "io_error"
    LOST = "lost"
    CORRUPT = "corrupt"


class ReplyFault(str, Enum):
    """How a dispatch fails: it can't be sent, no reply arrives, or the reply is invalid."""

    ERROR = "error"
    TIMEOUT = "timeout"
    INVALID = "invalid"


class Defaults(str, Enum):
    """The default behaviour of agents that the scenario does not script."""

    MINIMAL_OK = "minimal-ok"
    NONE = "none"


class CheckResult(str, Enum):
    """How a command of a check ends."""

    PASS = "pass"
    FAIL = "fail"


DEFAULT_SESSION = "2000-01-01_simulated-session"
