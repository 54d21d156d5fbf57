"""How the models of block documents come about: from a value, and from what it breaks of its schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workrail_lint.documents.nodes import Build
from workrail_lint.systems.blocks.documents import BlockKind, validator
from workrail_lint.systems.blocks.expressions import CONTRACT, Language
from workrail_lint.systems.blocks.model.documents import StudioWorkflow

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation


def definition_model(
    value: dict[str, Any], language: Language = CONTRACT, violations: Sequence[Violation] | None = None
) -> StudioWorkflow:
    """Return the model of a definition, which is checked first unless the violations are given."""
    if violations is None:
        violations = validator(BlockKind.WORKFLOW).violations(value)
    model: StudioWorkflow = Build(violations).root(StudioWorkflow, value)
    model.__dict__["language"] = language
    return model
