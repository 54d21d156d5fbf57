"""Names that must be the same each time the same thing is said: dedupe keys and derived ids.

They are built from stable identifiers alone, never from an event id, an index or a time, so that writing a
plan a second time is recognised as a repetition.
"""

from __future__ import annotations

import hashlib

from pytest_workrail.engine.model.events import ObservationKey
from pytest_workrail.engine.model.ids import MAX_DEDUPE_KEY_LENGTH, AttemptId, NodeId, RunId, SessionId

_PLAIN = "abcdefghijklmnopqrstuvwxyz0123456789_:>-"


def is_dedupe_key(text: str) -> bool:
    """Whether an event can be known by this text."""
    return len(text) <= MAX_DEDUPE_KEY_LENGTH and _is_plain(text)


def _is_plain(text: str) -> bool:
    return bool(text) and not text.strip(_PLAIN)


def _part(text: str) -> str:
    """A component written by an author: as it is when a key may hold it, else a digest of it."""
    return text if _is_plain(text) else _shortened(text)


def _shortened(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def session_created(session: SessionId) -> str:
    """One per session."""
    return f"session_created:{session}"


def run_started(session: SessionId, run: RunId) -> str:
    """One per run."""
    return f"run_started:{session}:{run}"


def node_created(session: SessionId, run: RunId, node: NodeId) -> str:
    """One per node."""
    return f"node_created:{session}:{run}:{node}"


def edge_created(session: SessionId, run: RunId, source: NodeId, target: NodeId) -> str:
    """One per pair of nodes."""
    return f"edge_created:{session}:{run}:{source}->{target}:acked_step"


def checkpoint(session: SessionId, run: RunId, parent: NodeId, attempt: AttemptId) -> str:
    """Return the key of a checkpoint call: that of its edge."""
    return f"checkpoint:{session}:{run}:{parent}:{attempt}"


def checkpoint_node(session: SessionId, run: RunId, parent: NodeId, attempt: AttemptId) -> str:
    """The node of a checkpoint call."""
    return f"checkpoint_node:{checkpoint(session, run, parent, attempt)}"


def advance_recorded(session: SessionId, node: NodeId, attempt: AttemptId) -> str:
    """Return the key of an advance."""
    return f"advance_recorded:{session}:{node}:{attempt}"


def validation_performed(session: SessionId, attempt: AttemptId) -> str:
    """At most one per attempt."""
    return f"validation_performed:{session}:{attempt}"


def node_output_appended(session: SessionId, output: str) -> str:
    """One per output."""
    return f"node_output_appended:{session}:{_part(output)}"


def assessment_recorded(session: SessionId, node: NodeId, attempt: AttemptId, assessment: str) -> str:
    """One per assessment of an attempt."""
    return f"assessment_recorded:{session}:{node}:{attempt}:{_part(assessment)}"


def consequence_applied(
    session: SessionId, node: NodeId, attempt: AttemptId, assessment: str, dimension: str, occurrence: int
) -> str:
    """One per consequence; from the second on the same dimension on, numbered.

    Two names of the greatest length that authors may use are too long for one key.
    """
    opening = f"assessment_consequence_applied:{session}:{node}:{attempt}"
    ending = "" if occurrence == 1 else f":{occurrence}"
    key = f"{opening}:{_part(assessment)}:{_part(dimension)}{ending}"
    if len(key) <= MAX_DEDUPE_KEY_LENGTH:
        return key
    return f"{opening}:{_shortened(assessment)}:{_shortened(dimension)}{ending}"


def preferences_changed(session: SessionId, run: RunId, node: NodeId, change: str) -> str:
    """One per change."""
    return f"preferences_changed:{session}:{run}:{node}:{_part(change)}"


def gap_recorded(session: SessionId, gap: str) -> str:
    """One per gap."""
    return f"gap_recorded:{session}:{_part(gap)}"


def context_set(session: SessionId, run: RunId, attempt: AttemptId | None) -> str:
    """One at the start and at most one per attempt."""
    return f"context_set:{session}:{run}:{attempt or 'initial'}"


def observation_recorded(session: SessionId, key: ObservationKey) -> str:
    """One per fact."""
    return f"observation_recorded:{session}:{key}"


def capability_observed(session: SessionId, observation: str) -> str:
    """One per observation."""
    return f"capability_observed:{session}:{_part(observation)}"


def divergence_recorded(session: SessionId, divergence: str) -> str:
    """One per divergence."""
    return f"divergence_recorded:{session}:{_part(divergence)}"


def decision_trace_appended(session: SessionId, trace: str) -> str:
    """One per trace."""
    return f"decision_trace_appended:{session}:{_part(trace)}"


def run_completed(session: SessionId, run: RunId, node: NodeId) -> str:
    """One per branch that ends."""
    return f"run_completed:{session}:{run}:{node}"


INITIAL_CHANGE = "prefs_initial"


def gap_id(attempt: AttemptId | None, index: int) -> str:
    """A gap for a reason; without an attempt, one that arose at the start."""
    return f"gap_{attempt or 'initial'}_{index}"


def downgraded_gap_id(attempt: AttemptId, index: int) -> str:
    """A gap for a reason that the risk policy let pass."""
    return f"warn_{attempt}_{index}"


def resolving_gap_id(attempt: AttemptId, index: int) -> str:
    """A gap that an output of the attempt resolves: the marker that closes it."""
    return f"resolved_{attempt}_{index}"


def recommendation_gap_id(attempt: AttemptId, index: int) -> str:
    """A gap for preferences beyond what the workflow recommends."""
    return f"rec_warn_{attempt}_{index}"


def context_id(attempt: AttemptId | None) -> str:
    """The context an attempt left, or the initial one."""
    return f"ctx_{attempt or 'initial'}"


def trace_id(attempt: AttemptId | None) -> str:
    """The decision trace of an attempt, or of the start."""
    return f"trace_{attempt or 'initial'}"


def validation_id(attempt: AttemptId) -> str:
    """The validation of an attempt; named by snapshots even when no event was written."""
    return f"validation_{attempt}"


def observation_id(attempt: AttemptId, index: int) -> str:
    """The capability observation of the artifact at this place of a submission."""
    return f"capobs_{attempt}_{index}"


def divergence_id(attempt: AttemptId, index: int) -> str:
    """The divergence of the artifact at this place of a submission."""
    return f"div_{attempt}_{index}"


def recap_output_id(attempt: AttemptId) -> str:
    """The notes of an attempt."""
    return f"out_recap_{attempt}"


def artifact_output_id(attempt: AttemptId, index: int) -> str:
    """The artifact at this place of a submission."""
    return f"out_artifact_{attempt}_{index}"
