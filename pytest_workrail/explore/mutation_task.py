"""Mutants as independent pieces: some of one workflow, with the scenarios that judge them."""

from __future__ import annotations

from typing import Any

from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.explore.mutation_edit import Mutant
from pytest_workrail.explore.mutation_inert import inert_reason
from pytest_workrail.explore.mutation_judge import Baseline, baseline, judge
from pytest_workrail.explore.mutation_missing import MOST_RUNS, missing_scenario
from pytest_workrail.explore.mutation_operators import mutants
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.js import Json

TASK = "pytest_workrail.explore.mutation_task:perform"
_MUTANTS_PER_PIECE = 12


def pieces(number: int, workflow: dict[str, Any], ids: list[str]) -> list[Json]:
    """The pieces of one workflow. `workflow` has its `ir`, `injections`, `scenarios` and `profiles`."""
    return [
        {"workflow": number, **workflow, "mutants": list[Json](ids[start : start + _MUTANTS_PER_PIECE])}
        for start in range(0, len(ids), _MUTANTS_PER_PIECE)
    ]


_prepared: tuple[str, dict[str, Any], dict[str, Mutant], list[Baseline]] | None = None


def _prepare(piece: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Mutant], list[Baseline]]:
    """The IR, mutants and baselines of a workflow; pieces of one workflow come one after the other."""
    global _prepared
    key = digest(canonical_bytes([piece["ir"], piece["injections"], piece["scenarios"]]))
    if _prepared is None or _prepared[0] != key:
        found = {mutant.id: mutant for mutant in mutants(piece["ir"], piece["injections"])}
        scenarios = [
            baseline(each["name"], value, each.get("ir") or piece["ir"])
            for each in piece["scenarios"]
            for value in _by_profile(each["value"])
        ]
        _prepared = (key, piece["ir"], found, scenarios)
    return _prepared[1:]


def _by_profile(value: dict[str, Any]) -> list[dict[str, Any]]:
    """A scenario once for each profile that it is for."""
    named = value.get("profiles")
    if not named:
        return [value]
    rest = {name: member for name, member in value.items() if name != "profiles"}
    return [{**rest, "profile": profile} for profile in named]


def perform(piece: dict[str, Any]) -> Json:
    """Judge the mutants of a piece."""
    ir, known, scenarios = _prepare(piece)
    results: list[Json] = [
        _judged(known[name], ir, scenarios, piece["profiles"], piece.get("search", MOST_RUNS))
        for name in piece["mutants"]
    ]
    return {"workflow": piece["workflow"], "results": results}


def _judged(
    mutant: Mutant, ir: dict[str, Any], scenarios: list[Baseline], profiles: list[ProfileName], most: int
) -> dict[str, Json]:
    told: dict[str, Json] = {
        "id": mutant.id,
        "operator": mutant.operator,
        "place": mutant.place,
        "change": mutant.change,
        "pointer": mutant.pointer,
        "replays": 0,
    }
    # A proof costs less than replaying every scenario, none of which would notice.
    reason = inert_reason(mutant, ir, profiles)
    if reason is not None:
        return {**told, "status": "inert", "reason": reason}
    verdict = judge(mutant, ir, scenarios)
    told["replays"] = verdict.replays
    if verdict.killed_by is not None:
        return {**told, "status": "killed", "by": verdict.killed_by, "noticed": verdict.noticed}
    missing = missing_scenario(mutant, ir, profiles, most)
    if missing is None:
        return {**told, "status": "inert-bounded", "reason": f"none of {most} runs to its place shows a difference"}
    return {**told, "status": "survived", "visited": verdict.visited, "missing": missing}
