"""The commands of code lenses, `workrail-test` in a process with its result in words; and the page of a workflow."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any, NamedTuple

from workrail_lint.base.processes import Child, Ending, Limits, python
from workrail_lint.findings import Finding
from workrail_lint.report.json import range_object, step_of
from workrail_lint.server.document import OpenDocument
from workrail_lint.studio.inputs import Inputs
from workrail_lint.studio.page import page
from workrail_lint.studio.project import project_data
from workrail_lint.studio.workflow import Source


def preview(document: OpenDocument) -> str:
    """Return a page about the text as it is typed, with its findings."""
    source = Source(document.path, document.compiled, [_finding(each) for each in document.checked.findings])
    known = document.project.plan.selection.known
    reasons = {
        each.name: rule.why
        for each in document.checked.findings
        if (rule := known.get(each.code, each.name)) is not None
    }
    data = project_data(document.path, [source], Inputs(), document.project.settings.catalog, reasons=reasons)
    return page(data, document.path)


def _finding(finding: Finding) -> dict[str, Any]:
    fix = finding.fix
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "pointer": finding.pointer,
        "step": step_of(finding),
        "range": None if finding.span is None else range_object(finding.span),
        "fix": None if fix is None else {"title": fix.title, "safety": fix.safety.value},
    }


_MOST_LINES = 12
_LIMITS = Limits(seconds=300)


class Ran(NamedTuple):
    """How a command ended: all that it printed, and a summary for a message."""

    is_fine: bool
    summary: str
    output: str
    data: Any = None


def arguments_of(command: str, path: str, scenarios: str) -> list[str]:
    """Return the arguments of `workrail-test` for a command of the editor.

    `scenarios` is the folder they are kept in.
    """
    return {
        "workrail.run": ["run", path],
        "workrail.generate": ["generate", path, "--out", scenarios],
        "workrail.coverage": ["generate", path, "--out", scenarios, "--check", "--json"],
        "workrail.mutate": ["mutate", path, "--scenarios", scenarios],
    }[command]


COMMANDS = ("workrail.run", "workrail.generate", "workrail.coverage", "workrail.mutate")


def scenario_folder(path: str, root: str, known: list[str]) -> str:
    """Return where the scenarios of a workflow are: beside those that there are, else a folder of the project."""
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
