"""The shapes of events, as far as this room relies on them: enough to never trip, cheap enough for thousands of logs.

The engine's own models say more and cost more. What they refuse beyond this (an id with an odd character, a trace over
its budget) does not keep anybody from reading what an agent did.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from workrail_lint.base import js

MAX_NOTES_BYTES = 4096
# Kinds that hosts write for themselves; kept, shown, and of no influence on a run.
HOST_KINDS: Final = frozenset(
    (
        "delivery_recorded",
        "review_draft_submitted",
        "usage_recorded",
        "token_checkpoint",
        "git_start_recorded",
        "git_metrics_recorded",
    )
)
NEVER_STOPS: Final = "full_auto_never_stop"
# Critical gaps of these categories stop every run that may stop.
STOPPING_CATEGORIES: Final = frozenset(("user_only_dependency", "contract_violation", "capability_missing"))
_SESSION, _RUN, _NODE = 0, 1, 2


def _text(value: Any) -> bool:
    return type(value) is str


def _text_or_null(value: Any) -> bool:
    return value is None or type(value) is str


def _object(value: Any) -> bool:
    return type(value) is dict


def _texts(value: Any) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


def _objects(value: Any) -> bool:
    return type(value) is list and all(type(item) is dict for item in value)


def _one_of(*words: str) -> Callable[[Any], bool]:
    known = frozenset(words)
    return lambda value: type(value) is str and value in known


def _members(**shape: Callable[[Any], bool]) -> Callable[[Any], bool]:
    checks = tuple(shape.items())
    return lambda value: type(value) is dict and all(check(value.get(name)) for name, check in checks)


def _list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: type(value) is list and all(map(check, value))


def _outcome(value: Any) -> bool:
    if type(value) is not dict:
        return False
    return (value.get("kind") == "advanced" and _text(value.get("toNodeId"))) or value.get("kind") == "blocked"


def _payload(value: Any) -> bool:
    if type(value) is not dict:
        return False
    if value.get("payloadKind") == "notes":
        notes = value.get("notesMarkdown")
        return type(notes) is str and len(notes) > 0 and js.u8_length(notes) <= MAX_NOTES_BYTES
    return value.get("payloadKind") == "artifact_ref" and _text(value.get("sha256"))


# Scope, then the members of `data` that must be there.
_SHAPES: dict[str, tuple[int, tuple[tuple[str, Callable[[Any], bool]], ...]]] = {
    "session_created": (_SESSION, ()),
    "observation_recorded": (_SESSION, (("key", _text), ("value", _object))),
    "run_started": (_RUN, (("workflowId", _text), ("workflowHash", _text))),
    "node_created": (
        _NODE,
        (
            ("nodeKind", _one_of("step", "checkpoint", "blocked_attempt", "gate_checkpoint")),
            ("parentNodeId", _text_or_null),
            ("workflowHash", _text),
            ("snapshotRef", _text),
        ),
    ),
    "edge_created": (
        _RUN,
        (
            ("edgeKind", _one_of("acked_step", "checkpoint")),
            ("fromNodeId", _text),
            ("toNodeId", _text),
            ("cause", _members(kind=_text)),
        ),
    ),
    "advance_recorded": (_NODE, (("attemptId", _text), ("outcome", _outcome))),
    "validation_performed": (
        _NODE,
        (("attemptId", _text), ("contractRef", _text), ("result", _members(issues=_texts, suggestions=_texts))),
    ),
    "node_output_appended": (_NODE, (("outputId", _text), ("payload", _payload))),
    "assessment_recorded": (
        _NODE,
        (("assessmentId", _text), ("dimensions", _list_of(_members(dimensionId=_text, level=_text)))),
    ),
    "assessment_consequence_applied": (
        _NODE,
        (("assessmentId", _text), ("trigger", _members(dimensionId=_text, level=_text))),
    ),
    "preferences_changed": (
        _NODE,
        (("source", _text), ("effective", _members(autonomy=_text, riskPolicy=_text))),
    ),
    "capability_observed": (_NODE, (("capability", _text), ("status", _text))),
    "gap_recorded": (
        _NODE,
        (
            ("gapId", _text),
            ("severity", _text),
            ("summary", _text),
            ("reason", _members(category=_text, detail=_text)),
            ("resolution", _object),
        ),
    ),
    "context_set": (_RUN, (("context", _object), ("source", _text))),
    "divergence_recorded": (_NODE, (("reason", _text), ("summary", _text))),
    "decision_trace_appended": (_NODE, (("entries", _list_of(_members(kind=_text, summary=_text))),)),
    "run_completed": (_RUN, ()),
}
_SHAPES |= dict.fromkeys(HOST_KINDS, (_SESSION, ()))


def is_known(event: dict[str, Any]) -> bool:
    """Whether an event is of a kind and version that can be read here."""
    version, kind = event.get("v"), event.get("kind")
    return version == 1 and version is not True and type(kind) is str and kind in _SHAPES


def shape_problem(event: dict[str, Any]) -> str | None:
    """What is wrong with a known event; None when nothing is."""
    kind = event["kind"]
    scope_level, members = _SHAPES[kind]
    data, scope = event.get("data"), event.get("scope")
    if type(data) is not dict:
        return f"{kind} has no data"
    if type(event.get("timestampMs")) is not int or type(event.get("eventId")) is not str:
        return f"{kind} has no time or id"
    if scope_level and (
        type(scope) is not dict
        or type(scope.get("runId")) is not str
        or (scope_level == _NODE and type(scope.get("nodeId")) is not str)
    ):
        return f"{kind} does not say which {'node' if scope_level == _NODE else 'run'} it is about"
    for name, check in members:
        if not check(data.get(name)):
            return f"{kind} has an invalid {name}"
    return None
