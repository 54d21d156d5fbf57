"""A small project with locks, run by pytest in a folder of its own."""

from __future__ import annotations

import json
import textwrap
from importlib.metadata import entry_points
from typing import Any

import pytest
from forks import run_pytest, run_pytest_here

# Until the plugin is installed under its own name, a project has to ask for the coverage part itself.
_CARRIER = """
from pytest_workrail.coverage import options

def pytest_addoption(parser):
    options.add_options(parser.getgroup("workrail"))

def pytest_configure(config):
    options.configure(config)
"""


_OPTIONS = ("-p", "no:cacheprovider", "--workrail-locks=locks.json", "--workrail-lock-report=out")


def carried(pytester: pytest.Pytester) -> None:
    """Make sure that the options are there."""
    if not any(point.name == "workrail" for point in entry_points(group="pytest11")):
        pytester.makeconftest(_CARRIER)


def lock(lock_id: str, **members: Any) -> dict[str, Any]:
    return {"id": lock_id, "category": "protocol", "source": "design.md", "summary": f"{lock_id} holds.", **members}


class LockProject:
    """Writes registries and tests, runs pytest, and reads what the reports say."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        carried(pytester)
        pytester.makefile(".md", design="# Design")
        pytester.makeini("[pytest]\naddopts = --strict-markers\n")
        self.registry(lock("first"), lock("second"))

    def registry(self, *locks: dict[str, Any], **members: Any) -> None:
        registry = {
            "lockRegistryVersion": 1,
            "version": "1.0.0",
            "categories": {"protocol": "Tools.", "storage": "Files."},
            "locks": list(locks),
            **members,
        }
        (self.pytester.path / "locks.json").write_text(json.dumps(registry), encoding="utf-8")

    def tests(self, source: str, name: str = "test_locks") -> None:
        text = f"import pytest\n{textwrap.dedent(source)}"
        (self.pytester.path / f"{name}.py").write_text(text, encoding="utf-8")

    def helpers(self, source: str) -> None:
        path = self.pytester.path / "conftest.py"
        before = path.read_text("utf-8") if path.exists() else ""
        path.write_text(before + source, encoding="utf-8")

    def sabotages(self, source: str) -> None:
        text = f"from pytest_workrail.locks.sabotage import breaks\n{textwrap.dedent(source)}"
        (self.pytester.path / "sabotages.py").write_text(text, encoding="utf-8")

    def run(self, *options: str) -> pytest.RunResult:
        return run_pytest_here(self.pytester, *_OPTIONS, *options)

    def run_apart(self, *options: str) -> pytest.RunResult:
        """A run in a process of its own, for what must not happen in this one."""
        return run_pytest(self.pytester, *_OPTIONS, "-p", "no:hypothesispytest", *options)

    @property
    def report(self) -> dict[str, Any]:
        """The report of the last run."""
        value: dict[str, Any] = json.loads((self.pytester.path / "out" / "lock-coverage.json").read_text("utf-8"))
        return value

    @property
    def enforced(self) -> list[str]:
        return [entry["lockId"] for entry in self.report["covered"]]

    @property
    def flaws(self) -> dict[str, str]:
        """Why locks that are claimed are not enforced."""
        return {entry["lockId"]: claim["flaw"] for entry in self.report["uncovered"] for claim in entry["claims"]}

    @property
    def proven(self) -> list[str]:
        return [entry["lockId"] for entry in self.report["covered"] if entry["proofs"]]


@pytest.fixture
def project(pytester: pytest.Pytester) -> LockProject:
    return LockProject(pytester)
