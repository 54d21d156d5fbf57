"""One good event of every kind, and how to change them."""

from __future__ import annotations

import copy

SESSION = "sess_aaaqeayeaudaocajbifqydiob4"
RUN = "run_caireeyuculbogazdinryhi6d4"
NODE = "node_eaqseizeeutcokbjfivsyljof4"
OTHER = "node_aaaqeayeaudaocajbifqydiob4"
ATTEMPT = "attempt_gaytemzugu3doobzhi5typj6h4"
EVENT = "evt_" + "a" * 26
DIGEST = "sha256:" + "0" * 64
SHA1 = "0" * 40
NODE_SCOPE = {"runId": RUN, "nodeId": NODE}
RUN_SCOPE = {"runId": RUN}

BLOCKER = {"code": "INVARIANT_VIOLATION", "pointer": {"kind": "context_budget"}, "message": "m", "suggestedFix": "f"}
ARTIFACT = {"payloadKind": "artifact_ref", "sha256": DIGEST, "contentType": "application/json", "byteLength": 4}
ITERATION = {"kind": "iteration", "value": 0}

DATA = {
    "session_created": {"parentSessionId": SESSION},
    "observation_recorded": {
        "key": "git_branch",
        "value": {"type": "short_string", "value": "x" * 80},
        "confidence": "low",
    },
    "run_started": {
        "workflowId": "w",
        "workflowHash": DIGEST,
        "workflowSourceKind": "plugin",
        "workflowSourceRef": "",
        "triggerSource": "mcp",
    },
    "node_created": {
        "nodeKind": "gate_checkpoint",
        "parentNodeId": NODE,
        "workflowHash": DIGEST,
        "snapshotRef": DIGEST,
    },
    "edge_created": {
        "edgeKind": "acked_step",
        "fromNodeId": NODE,
        "toNodeId": OTHER,
        "cause": {"kind": "idempotent_replay", "eventId": EVENT},
    },
    "advance_recorded": {
        "attemptId": ATTEMPT,
        "intent": "ack_pending",
        "outcome": {"kind": "advanced", "toNodeId": OTHER},
    },
    "validation_performed": {
        "validationId": "v",
        "attemptId": ATTEMPT,
        "contractRef": "none",
        "result": {"valid": False, "issues": ["é" * 256], "suggestions": ["x" * 1024] * 4},
    },
    "node_output_appended": {
        "outputId": "o",
        "supersedesOutputId": "p",
        "outputChannel": "recap",
        "payload": {"payloadKind": "notes", "notesMarkdown": "é" * 2048},
    },
    "assessment_recorded": {
        "assessmentId": "a",
        "attemptId": ATTEMPT,
        "artifactOutputId": "o",
        "summary": "",
        "normalizationNotes": [""],
        "dimensions": [{"dimensionId": "d", "level": "low", "rationale": "r", "normalization": "normalized"}],
    },
    "assessment_consequence_applied": {
        "attemptId": ATTEMPT,
        "assessmentId": "a",
        "trigger": {"dimensionId": "d", "level": "l"},
        "effect": {"kind": "require_followup", "guidance": "g"},
    },
    "preferences_changed": {
        "changeId": "c",
        "source": "workflow_recommendation",
        "delta": [{"key": "riskPolicy", "value": "aggressive"}, {"key": "autonomy", "value": "guided"}],
        "effective": {"autonomy": "full_auto_stop_on_user_deps", "riskPolicy": "aggressive"},
    },
    "capability_observed": {
        "capObsId": "c",
        "capability": "delegation",
        "status": "unavailable",
        "provenance": {
            "kind": "attempted_use",
            "enforcementGrade": "strong",
            "detail": {"attemptContext": "system_probe", "result": "failure", "failureCode": "tool_missing"},
        },
    },
    "gap_recorded": {
        "gapId": "g",
        "severity": "critical",
        "reason": {"category": "unexpected", "detail": "evaluation_error"},
        "summary": "s",
        "resolution": {"kind": "resolves", "resolvesGapId": "h"},
        "evidenceRefs": [{"kind": "event", "eventId": EVENT}, {"kind": "output", "outputId": "o"}],
        "details": {"loopId": "l", "iteration": 1, "maxIterations": 1},
    },
    "context_set": {"contextId": "c", "context": {"a": [1, 2.5, None, {"b": "\ud800"}]}, "source": "initial"},
    "divergence_recorded": {
        "divergenceId": "d",
        "reason": "safety_stop",
        "summary": "s",
        "relatedStepId": "a.b",
    },
    "decision_trace_appended": {
        "traceId": "t",
        "entries": [{"kind": "entered_loop", "summary": "x" * 512, "refs": [ITERATION] * 10}] * 16,
    },
    "run_completed": {
        "startGitSha": None,
        "endGitSha": SHA1,
        "gitBranch": None,
        "agentCommitShas": [SHA1],
        "captureConfidence": "high",
        "durationMs": 0,
    },
    "usage_recorded": {"anything": ["goes", {"here": 1}]},
}
SCOPE = {
    "session_created": None,
    "observation_recorded": None,
    "usage_recorded": None,
    "run_started": RUN_SCOPE,
    "edge_created": RUN_SCOPE,
    "context_set": RUN_SCOPE,
    "run_completed": RUN_SCOPE,
}
GONE = object()


def sample(kind: str, **changes: object) -> dict[str, object]:
    """The good event of a kind, changed: `data__result__valid=1` sets a member, GONE removes one."""
    scope = SCOPE.get(kind, NODE_SCOPE)
    value: dict[str, object] = {
        "v": 1,
        "eventId": EVENT,
        "eventIndex": 0,
        "sessionId": SESSION,
        "kind": kind,
        "dedupeKey": f"{kind}:x",
        "data": copy.deepcopy(DATA.get(kind, {})),
        "timestampMs": 1,
    }
    if scope is not None:
        value["scope"] = dict(scope)
    for path, member in changes.items():
        *parents, last = path.split("__")
        place = value
        for name in parents:
            place = place[name]
        if member is GONE:
            del place[last]
        else:
            place[last] = member
    return value
