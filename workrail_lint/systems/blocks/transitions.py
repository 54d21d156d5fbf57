"""Which nodes run: transitions judged by how their sources ended."""

from __future__ import annotations

from collections.abc import Mapping

from workrail_lint.base.js import Json
from workrail_lint.systems.blocks.expressions import Language, holds
from workrail_lint.systems.blocks.model.documents import StudioWorkflow, Transition
from workrail_lint.systems.blocks.vocabulary import ConditionType, Isolation, NodeStatus

_SETTLED = (NodeStatus.COMPLETED, NodeStatus.FAILED, NodeStatus.SKIPPED)


def transition_holds(
    transition: Transition, statuses: Mapping[str, NodeStatus], variables: Mapping[str, Json], language: Language
) -> bool:
    """Whether a transition applies, given the status of nodes and the values of variables."""
    status = statuses.get(transition.source, NodeStatus.PENDING)
    match transition.kind:
        case ConditionType.ALWAYS.value:
            return status in _SETTLED
        case ConditionType.ON_SUCCESS.value:
            return status is NodeStatus.COMPLETED
        case ConditionType.ON_FAILURE.value:
            return status is NodeStatus.FAILED
        case ConditionType.EXPRESSION.value:
            return holds(transition.expression, variables, language)
        case _:
            return False


def node_runs(
    definition: StudioWorkflow, node: str, statuses: Mapping[str, NodeStatus], variables: Mapping[str, Json]
) -> bool:
    """Whether a node runs once it is reached: nothing leads to it, or one transition that does holds."""
    incoming = definition.incoming[node]
    language = definition.language
    return not incoming or any(transition_holds(edge, statuses, variables, language) for edge in incoming)


def isolation(*, is_repository: bool, has_head: bool, is_clean: bool) -> Isolation:
    """How lanes are kept apart. A worktree of the head commit would hide edits that are not committed yet."""
    return Isolation.GIT_WORKTREE if is_repository and has_head and is_clean else Isolation.TEMP_COPY
