"""The closed sets of the durable log, the budgets its texts must keep, and what a person allows a run."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from pytest_workrail.engine.model.base import Value

Autonomy: TypeAlias = Literal["guided", "full_auto_stop_on_user_deps", "full_auto_never_stop"]
RiskPolicy: TypeAlias = Literal["conservative", "balanced", "aggressive"]
Capability: TypeAlias = Literal["delegation", "web_browsing"]
CapabilityStatus: TypeAlias = Literal["unknown", "available", "unavailable"]
NodeKind: TypeAlias = Literal["step", "checkpoint", "blocked_attempt", "gate_checkpoint"]
EdgeKind: TypeAlias = Literal["acked_step", "checkpoint"]
EdgeCauseKind: TypeAlias = Literal["idempotent_replay", "intentional_fork", "non_tip_advance", "checkpoint_created"]
OutputChannel: TypeAlias = Literal["recap", "artifact"]
GapSeverity: TypeAlias = Literal["info", "warning", "critical"]
ContextSource: TypeAlias = Literal["initial", "agent_delta"]
PreferenceSource: TypeAlias = Literal["user", "workflow_recommendation", "system"]
WorkflowSourceKind: TypeAlias = Literal["bundled", "user", "project", "remote", "plugin"]
GateKind: TypeAlias = Literal["coordinator_eval", "human_approval"]
DivergenceReason: TypeAlias = Literal[
    "missing_user_context", "capability_unavailable", "efficiency_skip", "safety_stop", "policy_constraint"
]
NonAssumableChoice: TypeAlias = Literal[
    "preference_tradeoff",
    "scope_boundary",
    "irreversible_action",
    "external_side_effect",
    "policy_or_compliance",
]
GapCategory: TypeAlias = Literal["contract_violation", "capability_missing", "user_only_dependency", "unexpected"]
TraceKind: TypeAlias = Literal[
    "selected_next_step", "evaluated_condition", "entered_loop", "exited_loop", "detected_non_tip_advance"
]

METRICS_OUTCOMES = ("success", "partial", "abandoned", "error")
# Context keys that a JavaScript reader of the log would take for something else.
RESERVED_KEYS = ("__proto__", "constructor", "prototype")
# Context keys that only a host may set.
SYSTEM_KEYS = ("eat_token", "parent_eat_token", "metrics_harness", "metrics_active_model")

MAX_BLOCKERS = 10
MAX_BLOCKER_MESSAGE_BYTES = 512
MAX_BLOCKER_SUGGESTED_FIX_BYTES = 1024
MAX_TRACE_ENTRIES = 25
MAX_TRACE_SUMMARY_BYTES = 512
MAX_TRACE_TOTAL_BYTES = 8192
MAX_TRACE_REFS = 10
MAX_SKIPPED_ENTRIES = 25
MAX_SKIPPED_BYTES = 8192
MAX_SHOWN_VALUE_BYTES = 256
MAX_NOTES_BYTES = 4096
MAX_VALIDATION_ISSUE_BYTES = 512
MAX_VALIDATION_SUGGESTION_BYTES = 1024
MAX_VALIDATION_LIST_BYTES = 4096
MAX_SHORT_STRING_LENGTH = 80
MAX_PATH_LENGTH = 512
MAX_CONTEXT_KEY_BYTES = 256

# Both from the most careful to the boldest.
AUTONOMIES: tuple[Autonomy, ...] = get_args(Autonomy)
RISK_POLICIES: tuple[RiskPolicy, ...] = get_args(RiskPolicy)


class Preferences(Value, frozen=True, omit_defaults=False):
    """The permissions that a person gives to a run. Both are always written."""

    autonomy: Autonomy = "guided"
    risk_policy: RiskPolicy = "conservative"

    @property
    def never_stops(self) -> bool:
        """True when a run records what is wrong and goes on."""
        return self.autonomy == "full_auto_never_stop"


DEFAULT_PREFERENCES = Preferences()
PRESETS: tuple[Preferences, ...] = (
    DEFAULT_PREFERENCES,
    Preferences("full_auto_stop_on_user_deps", "balanced"),
    Preferences("full_auto_never_stop", "conservative"),
)
