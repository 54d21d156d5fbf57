"""The numbers of the block contract."""

from __future__ import annotations

BLOCK_TIME_LIMIT_MS = 300_000
DORMANCY_LIMIT_MS = 300_000
MAX_CONTAINERS = 10
MAX_REVISIONS = 10
MAX_SUB_WORKFLOW_DEPTH = 3
FOR_EACH_ITERATIONS = 100
PROMPT_FIELD_CHARACTERS = 4096
RESTRICTION_CHARACTERS = 256
SUMMARY_SENTENCES = 3
PERMUTED_LANES = 4  # groups with more lanes have too many orders to try them all
TELEMETRY_PORT = 9292
TELEMETRY_PATH = "/telemetry"


def time_limit_ms(attempt: int, timeout_seconds: float | None = None) -> float:
    """How long an attempt (counted from 0) may take: later ones get more time, up to twice as much."""
    base = BLOCK_TIME_LIMIT_MS if timeout_seconds is None else timeout_seconds * 1000
    return base * min(1 + 0.5 * attempt, 2)
