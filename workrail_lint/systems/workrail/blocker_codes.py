"""Why an advance stops, and what a run can go on without: the closed sets of codes."""

from __future__ import annotations

from typing import Literal, TypeAlias

# What stops an advance.
BlockerCode: TypeAlias = Literal[
    "USER_ONLY_DEPENDENCY",
    "MISSING_REQUIRED_OUTPUT",
    "INVALID_REQUIRED_OUTPUT",
    "MISSING_REQUIRED_NOTES",
    "ASSESSMENT_FOLLOWUP_REQUIRED",
    "MISSING_CONTEXT_KEY",
    "CONTEXT_BUDGET_EXCEEDED",
    "REQUIRED_CAPABILITY_UNKNOWN",
    "REQUIRED_CAPABILITY_UNAVAILABLE",
    "INVARIANT_VIOLATION",
    "STORAGE_CORRUPTION_DETECTED",
]
# What a run goes on without, by category.
ContractViolation: TypeAlias = Literal[
    "missing_required_output",
    "invalid_required_output",
    "missing_required_notes",
    "assessment_followup_required",
]
CapabilityMissing: TypeAlias = Literal["required_capability_unknown", "required_capability_unavailable"]
Unexpected: TypeAlias = Literal["invariant_violation", "storage_corruption_detected", "evaluation_error"]
UserDependency: TypeAlias = Literal[
    "needs_user_secret_or_token",
    "needs_user_account_access",
    "needs_user_artifact",
    "needs_user_choice",
    "needs_user_approval",
    "needs_user_environment_action",
]
# All of them.
GapDetail: TypeAlias = Literal[ContractViolation, CapabilityMissing, UserDependency, Unexpected]
