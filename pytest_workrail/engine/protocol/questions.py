"""Questions a run has asked: which variables, for which step, and what was submitted when they were asked. Reads only.

A question is a block like any other in the log. What makes it one is the patch that its snapshot remembers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import takewhile

from msgspec import Struct

from pytest_workrail.engine.core.outputs import Submission
from pytest_workrail.engine.core.profiles import LoopVariable, Profile, UnsetCondition
from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.blockers import Gap, decision_gap
from pytest_workrail.engine.model.events import (
    AdvancedOutcome,
    AdvanceRecorded,
    ArtifactPayload,
    NodeOutputAppended,
    NotesPayload,
)
from pytest_workrail.engine.model.ids import EventId, NodeId
from pytest_workrail.engine.model.reasons import MissingContextKey
from pytest_workrail.engine.model.snapshot import BlockedState, ExecutionSnapshot
from pytest_workrail.engine.projections.dag import Node
from pytest_workrail.engine.projections.incremental import of_node
from pytest_workrail.engine.protocol.sessions import NodePosition, SessionLoader, open_node
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err


class AskedQuestion(Struct, frozen=True):
    """One question on the lineage of a node, with the advance that led to it and what that submitted."""

    node_id: NodeId
    step_id: str
    variables: tuple[str, ...]
    asked_by: EventId
    submitted: Submission | None


class Questions:
    """The questions on the lineage of a node. Looks further up than the pending step only when it is asked to.

    `pending` are those that no step has answered yet; `in_chain` are those among the blocked attempts in a row that
    end at the node itself. Both oldest first.
    """

    def __init__(
        self,
        pending: tuple[AskedQuestion, ...] = (),
        in_chain: tuple[AskedQuestion, ...] = (),
        asked: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self.pending = pending
        self.in_chain = in_chain
        self._asked = cache(asked)

    def declined(self, context: Mapping[str, object]) -> frozenset[str]:
        """The variables that were asked for anywhere on the lineage and are still not set."""
        return frozenset(name for name in self._asked() if name not in context)

    def decisions(self, context: Mapping[str, object]) -> list[Gap]:
        """What the first success below a question puts on record: the variables that were left unset."""
        return [
            decision_gap(name, each.step_id, each.asked_by)
            for each in self.pending
            for name in each.variables
            if name not in context
        ]

    @property
    def submitted(self) -> Submission:
        """What was submitted with the question that is being answered."""
        stored = (each.submitted for each in reversed(self.in_chain) if each.submitted is not None)
        return next(stored, Submission())


NO_QUESTIONS = Questions()


def asks_questions(profile: Profile) -> bool:
    """Whether a profile asks any. Where it asks none, a stored question is a plain block."""
    match profile.unset_condition, profile.loop_variable:
        case UnsetCondition.PASS_OVER, LoopVariable.REFUSE:
            return False
        case _:
            return True


def question_patch(snapshot: ExecutionSnapshot) -> dict[str, Json] | None:
    """What a question proposes to set; None for a state that asks nothing."""
    reason = _reason(snapshot)
    return None if reason is None else dict(reason.patch or {})


def _reason(snapshot: ExecutionSnapshot) -> MissingContextKey | None:
    state = snapshot.state
    reason = state.blocked.reason if isinstance(state, BlockedState) else None
    return reason if isinstance(reason, MissingContextKey) and reason.patch is not None else None


def questions_above(loader: SessionLoader, position: NodePosition, profile: Profile) -> Questions:
    """The questions that were asked on the way to a node."""
    if not asks_questions(profile):
        return NO_QUESTIONS
    run, here = position.run, position.node.node_id

    def upwards() -> Iterator[Node]:
        return (run.nodes[each] for each in run.upwards(here))

    def asked_anywhere() -> frozenset[str]:
        return frozenset(name for each in _asked_at(loader, position, upwards()) for name in each.variables)

    since_step = takewhile(lambda node: node.kind != "step", upwards())
    pending = tuple(_asked_at(loader, position, since_step))[::-1]
    chain = {node.node_id for node in takewhile(lambda node: node.kind == "blocked_attempt", upwards())}
    return Questions(pending, tuple(each for each in pending if each.node_id in chain), asked_anywhere)


def _asked_at(loader: SessionLoader, position: NodePosition, nodes: Iterable[Node]) -> Iterator[AskedQuestion]:
    for node in nodes:
        if node.kind != "blocked_attempt" or node.parent is None:
            continue
        opened = open_node(loader, position.session, position.run, node)
        # A node above this one that can't be opened any more can't be asked about either.
        reason = None if isinstance(opened, Err) else _reason(opened.value.snapshot)
        if reason is None:
            continue
        for advance in of_node(position.events, AdvanceRecorded, node.parent):
            outcome = advance.data.outcome
            if isinstance(outcome, AdvancedOutcome) and outcome.to_node_id == node.node_id:
                submitted = _submitted(position, advance)
                variables = tuple(reason.patch or {})
                yield AskedQuestion(node.node_id, reason.step_id or "", variables, advance.event_id, submitted)


def _submitted(position: NodePosition, advance: AdvanceRecorded) -> Submission | None:
    """The notes and artifacts that the log keeps of an advance; None when it keeps none."""
    attempt = advance.data.attempt_id
    notes: str | None = None
    artifacts: dict[int, Json] = {}
    opening = keys.artifact_output_id(attempt, 0)[:-1]
    for event in of_node(position.events, NodeOutputAppended, advance.scope.node_id):
        payload, output_id = event.data.payload, event.data.output_id
        if isinstance(payload, NotesPayload) and output_id == keys.recap_output_id(attempt):
            notes = payload.notes_markdown
        elif isinstance(payload, ArtifactPayload) and output_id.startswith(opening):
            artifacts[int(output_id[len(opening) :])] = payload.artifact
    if notes is None and not artifacts:
        return None
    return Submission(notes, tuple(artifacts[place] for place in sorted(artifacts)))
