"""The limits that agents, stored files and other engines rely on. A change of one is a change of the protocol."""

from __future__ import annotations

from pytest_workrail.engine.core import conditions, criteria, interpreter, loops, outcomes, prompts
from pytest_workrail.engine.model import base, ids, words
from pytest_workrail.engine.projections import resume, session_facts
from pytest_workrail.engine.protocol import advance, errors, requests
from pytest_workrail.engine.store import disk, ports
from pytest_workrail.engine.tokens import formats

LIMITS = {
    words: {
        "MAX_BLOCKERS": 10,
        "MAX_BLOCKER_MESSAGE_BYTES": 512,
        "MAX_BLOCKER_SUGGESTED_FIX_BYTES": 1024,
        "MAX_TRACE_ENTRIES": 25,
        "MAX_TRACE_SUMMARY_BYTES": 512,
        "MAX_TRACE_TOTAL_BYTES": 8192,
        "MAX_TRACE_REFS": 10,
        "MAX_SKIPPED_ENTRIES": 25,
        "MAX_SKIPPED_BYTES": 8192,
        "MAX_SHOWN_VALUE_BYTES": 256,
        "MAX_NOTES_BYTES": 4096,
        "MAX_VALIDATION_ISSUE_BYTES": 512,
        "MAX_VALIDATION_SUGGESTION_BYTES": 1024,
        "MAX_VALIDATION_LIST_BYTES": 4096,
        "MAX_SHORT_STRING_LENGTH": 80,
        "MAX_PATH_LENGTH": 512,
        "MAX_CONTEXT_KEY_BYTES": 256,
    },
    base: {"MAX_NESTING": 200},
    ids: {"ID_BYTES": 16, "MAX_DEDUPE_KEY_LENGTH": 256},
    formats: {
        "KEY_BYTES": 32,
        "NONCE_BYTES": 12,
        "MAC_BYTES": 6,
        "LONG_VERSION": 1,
        "SIGNATURE_BYTES": 32,
    },
    requests: {
        "MAX_CONTEXT_BYTES": 262_144,
        "MAX_CONTEXT_DEPTH": 64,
        "_MAX_SUGGESTIONS": 3,
        "_MAX_TEMPLATE_DEPTH": 3,
    },
    advance: {"INTERACTIVE_ATTEMPTS": 10, "AUTONOMOUS_ATTEMPTS": 3},
    errors: {"LOCK_RETRY_AFTER_MS": 1000, "SPACE_RETRY_AFTER_MS": 30_000},
    ports: {"RETRY_AFTER_MS": 250},
    disk: {"_MAX_BYTES": 536_870_912},
    session_facts: {"RECOVERY_BUDGET": 12_288},
    resume: {
        "MAX_CANDIDATES": 5,
        "MAX_SESSIONS_TO_SCAN": 200,
        "MAX_PREVIEW_BYTES": 2048,
        "MAX_RECAP_ANCESTORS": 100,
        "_TITLE_PART_BYTES": 320,
        "_RECAP_PART_BYTES": 1600,
        "_TITLE_UNITS": 120,
        "_MIN_DESCRIPTION": 10,
    },
    conditions: {"MAX_DEPTH": 100},
    criteria: {"MAX_LINES": 25, "MAX_BYTES": 4096, "_MAX_SCHEMA_BYTES": 512, "_MAX_DEPTH": 20},
    interpreter: {"MAX_ROUNDS": 10_000},
    outcomes: {"_MIN_CUT_BYTES": 24},
    prompts: {"_MAX_REQUIREMENTS": 5, "_PREVIEW_UNITS": 60},
    loops: {"_PREVIEW_UNITS": 60},
}


def test_every_limit_is_what_others_rely_on() -> None:
    wrong = [
        f"{module.__name__}.{name} is {getattr(module, name)}, not {limit}"
        for module, limits in LIMITS.items()
        for name, limit in limits.items()
        if getattr(module, name) != limit
    ]
    assert wrong == []
