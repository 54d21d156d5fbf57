"""The one design-form word that occurs outside workflow documents: in the inputs of a run."""

from __future__ import annotations

from workrail_lint.documents import pointer as pointers
from workrail_lint.findings import Finding, Phase, Severity

VARIABLES_ALIAS = "compat-variables-alias"


def variables_alias(inputs: object, pointer: str = "") -> Finding | None:
    """The error for an object of run inputs that has `variables` instead of `context` (D20)."""
    if not isinstance(inputs, dict) or "variables" not in inputs:
        return None
    remedy = "merge its members into `context` and remove it" if "context" in inputs else "rename it to `context`"
    return Finding(
        VARIABLES_ALIAS,
        VARIABLES_ALIAS,
        Severity.ERROR,
        f"a run ignores `variables`; {remedy}",
        pointers.child(pointer, "variables"),
        phase=Phase.LINT,
        on_name=True,
    )
