"""The golden of a run: what has to be the same every time, and nothing else."""

from __future__ import annotations

import os
import re
from typing import Any

from pytest_workrail.golden.encoding import map_strings
from pytest_workrail.systems.blocks.run_state import WORKSPACE
from workrail_lint.findings import Finding
from workrail_lint.systems.blocks import paths
from workrail_lint.systems.blocks.comparison import TRACE_MEMBERS

_STEP = ("node", "stepIndex", "env", "prompt", "promptSha256", "output", "synthetic", "nodeStatus", "detected")
_FAN_IN = ("group", "isolation", "completionOrder", "result", "applied")
_TS, _EXECUTION, _TELEMETRY, _ABSOLUTE = "«TS»", "«EXEC1»", "«TELEMETRY_URL»", "«ABS»"
# The only absolute paths that may stand in an artifact.
_CONSTANT = re.compile(rf"(?:/tmp)?{paths.WORKSPACE}(?:-lane-\d+)?(?:/.*)?", re.DOTALL)
_ABSOLUTE_PATH = re.compile(r"/[^\s/]\S*|[A-Za-z]:[\\/]\S*")


def golden_of(trace: dict[str, Any], findings: list[Finding], locks: list[str], folder: str) -> dict[str, Any]:
    """A trace without what differs from run to run. `folder` is the temporary one that the run had."""
    places = _Places(folder)
    made: dict[str, Any] = places.masked({name: trace[name] for name in TRACE_MEMBERS})
    made["steps"] = [_step(step) for step in made["steps"]]
    made["events"] = [_event(event) for event in made["events"]]
    made["fanIns"] = [_fan_in(item) for item in made["fanIns"]]
    made["findings"] = places.masked([finding_entry(finding) for finding in findings])
    made["locks"] = sorted(locks)
    return made


def finding_entry(finding: Finding) -> dict[str, Any]:
    """A finding as goldens hold it."""
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "file": finding.path,
        "pointer": finding.pointer,
        "message": finding.message,
    }


def _step(step: dict[str, Any]) -> dict[str, Any]:
    env = {**step["env"], "EXECUTION_ID": _EXECUTION, "TELEMETRY_URL": _TELEMETRY}
    return {**{name: step[name] for name in _STEP}, "env": env, "output": _output(step["output"])}


def _event(event: dict[str, Any]) -> dict[str, Any]:
    # The path of a write that was refused is the one thing in an event that can lead anywhere.
    return {**event, "data": _without_places(event["data"])} if event["type"] == "write_blocked" else event


def _fan_in(item: dict[str, Any]) -> dict[str, Any]:
    outputs = [_output(output) for output in item["result"]["blockOutputs"]]
    return {**{name: item[name] for name in _FAN_IN}, "result": {**item["result"], "blockOutputs": outputs}}


def _output(output: dict[str, Any] | None) -> Any:
    """An output without its time, and without paths that only mean something on one machine."""
    return None if output is None else _without_places(output)


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _TS if name == "timestamp" else _without_places(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_without_places(item) for item in value]
    if isinstance(value, str) and _ABSOLUTE_PATH.fullmatch(value) and not _CONSTANT.fullmatch(value):
        return _ABSOLUTE
    return value


class _Places:
    """Where a run took place, and what stands for it; the most precise first."""

    def __init__(self, folder: str) -> None:
        self._root = os.path.realpath(folder)
        root = re.escape(self._root)
        self._names = [
            (re.compile(rf"{root}[\\/]{WORKSPACE}"), "«WORKSPACE»"),
            (re.compile(rf"{root}[\\/]lane-(\d+)"), r"«LANE\1»"),
            (re.compile(root), _ABSOLUTE),
        ]

    def masked(self, value: Any) -> Any:
        """A value in which nothing tells the place."""
        return map_strings(value, lambda text, _: self._text(text), self._text)

    def _text(self, text: str) -> str:
        if self._root in text:
            for place, name in self._names:
                text = place.sub(name, text)
        return text
