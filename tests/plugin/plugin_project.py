"""A small project with a workflow, for tests that run pytest on it."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from forks import run_pytest, run_pytest_here

PLUGIN = "pytest_workrail.plugin"
REVIEW: dict[str, Any] = {
    "id": "demo.review",
    "name": "Review",
    "description": "Reads a change and judges it.",
    "version": "1.0.0",
    "steps": [
        {"id": "read-change", "title": "Read", "prompt": "Read {{what}}."},
        {
            "id": "give-verdict",
            "title": "Judge",
            "prompt": "Judge it.",
            "outputContract": {"contractRef": "wr.contracts.gate_verdict"},
        },
    ],
}


class Project:
    """A folder that pytest is run in."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.write("pytest.ini", "[pytest]\n")
        self.write("workflows/review.json", REVIEW)

    def write(self, name: str, content: Any) -> Path:
        """Write a file: text as it is, anything else as JSON."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8")
        return path

    def scenario(self, name: str, /, **members: Any) -> Path:
        """A scenario of the review, without a golden unless it asks for one."""
        value = {"workflow": "../workflows/review.json", "golden": False, **members}
        return self.write(f"scenarios/{name}.scenario.json", value)

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest with the plugin in this process."""
        return run_pytest_here(self.pytester, *arguments)

    def run_apart(self, *arguments: str) -> pytest.RunResult:
        """Run pytest with the plugin in a process of its own."""
        return run_pytest(self.pytester, *self._plugin(), *arguments)

    def _plugin(self) -> list[str]:
        installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
        return [] if installed else ["-p", PLUGIN]
