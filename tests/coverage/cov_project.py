"""A small project with two workflows, for tests that measure their coverage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from covered import step, workflow
from forks import run_pytest, run_pytest_here

FORKED = workflow(
    step("look"), step("mend", runCondition={"var": "broken", "equals": True}), step("tell", notesOptional=False)
)


class CovProject:
    """A folder that pytest is run in, always with the JSON of the coverage."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.write("pytest.ini", "[pytest]\n")
        self.write("workflows/forked.json", FORKED)

    def write(self, name: str, content: Any) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def scenario(self, name: str, /, **members: Any) -> None:
        """A scenario in which nothing is broken, unless it says so."""
        usual = {"workflow": "workflows/forked.json", "golden": False, "context": {"broken": False}}
        self.write(f"{name}.scenario.json", {**usual, **members})

    def run(self, *options: str) -> pytest.RunResult:
        return run_pytest_here(self.pytester, "-p", "no:cacheprovider", "--workrail-cov-json=cov.json", *options)

    def run_apart(self, *options: str) -> pytest.RunResult:
        """The same in a process of its own, from which workers of xdist start at once."""
        return run_pytest(self.pytester, "-p", "no:cacheprovider", "--workrail-cov-json=cov.json", *options)

    @property
    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads((self.path / "cov.json").read_bytes())
        return report

    def covered(self, number: int = 0) -> dict[str, list[str]]:
        """The points of a workflow that were shown, with the tests that did."""
        points = self.report["workflows"][number]["points"]
        return {f"{each['kind']}:{each['place']}:{each['case']}": each["tests"] for each in points if each["tests"]}


@pytest.fixture
def project(pytester: pytest.Pytester) -> CovProject:
    return CovProject(pytester)
