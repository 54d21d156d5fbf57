"""Small workflows for coverage tests, and short ways to see what runs of them show."""

from __future__ import annotations

from typing import Any

from pytest_workrail import api
from pytest_workrail.coverage.goals import goals
from pytest_workrail.coverage.observe import observe
from pytest_workrail.coverage.points import Point
from pytest_workrail.engine.core.profiles import PROFILES, ProfileName


def step(step_id: str, **members: Any) -> dict[str, Any]:
    """A step that asks for nothing but what it is given."""
    return {"id": step_id, "title": step_id, "prompt": f"Do {step_id}.", "notesOptional": True, **members}


def loop(loop_id: str, body: list[dict[str, Any]], /, limit: int = 3, **source: Any) -> dict[str, Any]:
    members = {name: source.pop(name) for name in ("runCondition",) if name in source}
    return {
        "id": loop_id,
        "type": "loop",
        "title": loop_id,
        "loop": {"maxIterations": limit, **source},
        "body": body,
        **members,
    }


def by_artifact(loop_id: str) -> dict[str, Any]:
    """The members of a loop that decisions drive."""
    source = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": loop_id}
    return {"type": "while", "conditionSource": source}


def workflow(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    head = {"id": "demo.covered", "name": "Covered", "description": "Shows what is covered.", "version": "1.0.0"}
    return {**head, **members, "steps": list(steps)}


def names(points: Any) -> set[str]:
    return {point.name for point in points}


def goal_names(source: dict[str, Any], profile: ProfileName = "reference") -> list[str]:
    """What there is to show in a workflow, in order."""
    return [point.name for point in goal_points(source, profile)]


def goal_points(source: dict[str, Any], profile: ProfileName = "reference") -> tuple[Point, ...]:
    return goals(api.compile(source).program, PROFILES[profile])


def shown(source: dict[str, Any], agent: Any = None, **options: Any) -> set[str]:
    """What one run shows of what there is to show."""
    run = api.run(source, agent, **options)
    profile: ProfileName = options.get("profile", "reference")
    return names(observe(run.transcript)) & set(goal_names(source, profile))
