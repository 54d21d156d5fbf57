"""Workflow coverage for people and for programs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from pytest_workrail.coverage.points import Kind
from pytest_workrail.coverage.tally import Score, Tally, WorkflowTally
from workrail_lint.base.js import Json
from workrail_lint.base.wording import counted

_SHORT_HASH = len("sha256:") + 8
_MOST_PATHS = 5


def table(tally: Tally, *, missing: bool = False) -> list[str]:
    """One line for each workflow and one for all of them; with `missing`, the points that are not covered."""
    kinds = [kind for kind in Kind if tally.score(kind).points]
    rows = [["workflow", *(f"{kind.value}s" for kind in kinds), "total"]]
    labels = _labels(tally)
    rows += [_row(labels[index], workflow, kinds) for index, workflow in enumerate(tally)]
    rows.append(_row("TOTAL", tally, kinds))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(_padded(cell, widths[at], at == 0) for at, cell in enumerate(row)).rstrip() for row in rows]
    if missing:
        for label, workflow in zip(labels, tally, strict=True):
            absent = [point.name for point, tests in workflow.points() if not tests]
            if absent:
                lines += ["", f"{label}, not covered:", *(f"  {name}" for name in absent)]
    return lines


def incomplete_workflows(tally: Tally) -> list[str]:
    """The ids of the workflows of which something is not covered."""
    return [each.workflow_id for each in tally if each.score().covered < each.score().points]


def closing_command(tally: Tally, paths: Sequence[str] = ()) -> str:
    """How to get the scenarios that are missing. `paths` are the files of the workflows, if they are known."""
    score = tally.score()
    named = " ".join(map(shlex.quote, paths)) if 0 < len(paths) <= _MOST_PATHS else "WORKFLOW…"
    missing = counted(score.points - score.covered, "goal")
    return f"{missing} not covered; `workrail-test generate {named} --out DIR` writes scenarios for them"


def _labels(tally: Tally) -> list[str]:
    """The ids, with the beginning of the hash if one id has several versions."""
    ids = [workflow.workflow_id for workflow in tally]
    return [
        workflow.workflow_id
        if ids.count(workflow.workflow_id) == 1
        else f"{workflow.workflow_id} ({workflow.workflow_hash[:_SHORT_HASH]})"
        for workflow in tally
    ]


def _row(label: str, of: Tally | WorkflowTally, kinds: list[Kind]) -> list[str]:
    cells = [_fraction(of.score(kind)) for kind in kinds]
    score = of.score()
    return [label, *cells, f"{_fraction(score)} {int(score.percent)}%"]


def _fraction(score: Score) -> str:
    return f"{score.covered}/{score.points}" if score.points else "-"


def _padded(cell: str, width: int, left: bool) -> str:
    return cell.ljust(width) if left else cell.rjust(width)


def document(tally: Tally) -> str:
    """Everything as JSON, with the tests that covered each point."""
    value: dict[str, Json] = {
        "version": 1,
        "total": _score(tally.score()),
        "workflows": [_workflow(workflow) for workflow in tally],
    }
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _score(score: Score) -> dict[str, Json]:
    return {"covered": score.covered, "points": score.points, "percent": score.percent}


def _workflow(workflow: WorkflowTally) -> dict[str, Json]:
    kinds = {kind.value: workflow.score(kind) for kind in Kind}
    return {
        "workflowId": workflow.workflow_id,
        "workflowHash": workflow.workflow_hash,
        "profiles": list[Json](workflow.profiles),
        "total": _score(workflow.score()),
        "kinds": {name: _score(score) for name, score in kinds.items() if score.points},
        "points": [
            {"kind": point.kind.value, "place": point.place, "case": point.case, "tests": list[Json](tests)}
            for point, tests in workflow.points()
        ],
    }
