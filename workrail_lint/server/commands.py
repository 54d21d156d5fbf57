"""The commands of code lenses: `workrail-test` in a separate process, with its result in words."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any, NamedTuple

from workrail_lint.base.processes import Child, Ending, Limits, python

_MOST_LINES = 12
_LIMITS = Limits(seconds=300)


class Ran(NamedTuple):
    """How a command ended: all that it printed, and a summary for a message."""

    is_fine: bool
    summary: str
    output: str
    data: Any = None


def arguments_of(command: str, path: str, scenarios: str) -> list[str]:
    """The arguments of `workrail-test` for a command of the editor; `scenarios` is the folder they are kept in."""
    return {
        "workrail.run": ["run", path],
        "workrail.generate": ["generate", path, "--out", scenarios],
        "workrail.coverage": ["generate", path, "--out", scenarios, "--check", "--json"],
        "workrail.mutate": ["mutate", path, "--scenarios", scenarios],
    }[command]


COMMANDS = ("workrail.run", "workrail.generate", "workrail.coverage", "workrail.mutate")


def scenario_folder(path: str, root: str, known: list[str]) -> str:
    """Where the scenarios of a workflow are: beside those that there are, else a folder of the project."""
    name = os.path.splitext(os.path.basename(path))[0]
    for each in known:
        if os.path.basename(each).startswith(f"{name}."):
            return os.path.dirname(each) or os.curdir
    return os.path.dirname(known[0]) or os.curdir if known else os.path.join(os.path.relpath(root), "scenarios")


async def run(arguments: list[str]) -> Ran:
    """Run `workrail-test`. It is ended when the editor cancels, or after some minutes."""
    code = "import sys; from pytest_workrail.cli import main; sys.exit(main())"
    child = Child(python("-c", code, *arguments), limits=_LIMITS)
    try:
        ran = await asyncio.to_thread(child.result)
    finally:
        child.kill()
    output, errors = ran.output.decode("utf-8", "replace"), ran.error
    if ran.ending is not Ending.EXITED:
        return Ran(False, f"workrail-test {arguments[0]} was ended: {errors}", "")
    if "--json" in arguments:
        try:
            return Ran(ran.code in (0, 1), errors.strip(), output, json.loads(output))
        except ValueError:
            return Ran(False, errors.strip() or "workrail-test printed no result", output)
    text = (output + errors).strip()
    lines = text.splitlines()
    more = [f"… {len(lines) - _MOST_LINES} more lines in the log"] if len(lines) > _MOST_LINES else []
    return Ran(ran.code == 0, "\n".join([*lines[:_MOST_LINES], *more]), text)


def coverage_of(data: Any) -> dict[str, tuple[int, int]]:
    """Return how many goals of each step scenarios show, and how many it has, from the report of `generate`."""
    result: dict[str, tuple[int, int]] = {}
    for workflow in data.get("workflows", ()):
        known = list(workflow.get("known", ()))
        missing = [*workflow.get("new", ()), *(each["goal"] for each in workflow.get("uncovered", ()))]
        for goals, is_shown in ((known, 1), (missing, 0)):
            for goal in goals:
                parts = goal.split(":")
                if len(parts) > 2:
                    step = parts[2].partition(".")[0].partition("__")[0]
                    covered, total = result.get(step, (0, 0))
                    result[step] = (covered + is_shown, total + 1)
    return result
