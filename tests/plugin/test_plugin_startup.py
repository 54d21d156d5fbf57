"""What the plugin costs when nobody uses it: next to nothing, and nothing heavy is imported."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    *("pydantic", "jsonschema", "orjson", "regex", "yaml"),
    *("workrail_lint.findings", "workrail_lint.documents", "workrail_lint.systems.workrail"),
    *(
        "pytest_workrail.engine.core",
        "pytest_workrail.engine.protocol",
        "pytest_workrail.run.driver",
        "pytest_workrail.golden.plugin",
    ),
)


@pytest.mark.parametrize("arguments", [[], ["-k", "one"], ["--collect-only"]], ids=str)
def test_nothing_heavy_is_imported(pytester: pytest.Pytester, arguments: list[str]) -> None:
    pytester.makepyfile(test_one="def test_one():\n    assert 1 + 1 == 2\n\ndef test_two():\n    assert 2 + 2 == 4\n")
    pytester.makeconftest(
        f"""
import sys

def pytest_unconfigure():
    print("HEAVY", sorted(name for name in sys.modules if name in {HEAVY!r}))
    print("OURS", len([name for name in sys.modules if name.startswith("pytest_workrail")]))
"""
    )
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "pytest_workrail.plugin", "-p", "no:cacheprovider", *arguments],
        cwd=pytester.path,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "HEAVY []" in result.stdout
    ours = next(line for line in result.stdout.splitlines() if line.startswith("OURS"))
    assert int(ours.split()[1]) <= 10, "a handful of small modules"


def test_a_run_needs_neither_goldens_nor_scenarios() -> None:
    script = (
        "import sys\n"
        "from pytest_workrail.api import run\n"
        "assert run('fixtures/workflows/three-passes.json').status == 'complete'\n"
        "rooms = ('pytest_workrail.golden', 'pytest_workrail.scenarios')\n"
        "print(*(name for name in sys.modules if name.startswith(rooms)))\n"
        "from pytest_workrail.api import Comparison\n"
        "print(Comparison.__module__)\n"
    )
    shown = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == ["", "pytest_workrail.golden.profiles"]


def test_only_public_names_of_pytest_are_used() -> None:
    for path in (ROOT / "pytest_workrail").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import _pytest" not in text, path
        assert "from _pytest" not in text, path


def test_options_and_settings_carry_our_name(pytester: pytest.Pytester) -> None:
    from pytest_workrail.plugin.options import add_options

    seen: list[str] = []

    class Group:
        def addoption(self, *names: str, **_: object) -> None:
            seen.extend(names)

    class Parser:
        def getgroup(self, *_: object) -> Group:
            return Group()

        def addini(self, name: str, *_: object, **__: object) -> None:
            seen.append(name)

    add_options(Parser())  # type: ignore[arg-type]
    assert len(seen) > 5
    assert all(name.removeprefix("--").startswith("workrail") for name in seen)


# What a scenario about a workflow needs none of: packages, and rooms of ours for other work.
NOT_FOR_A_RUN = (
    *("pydantic", "pydantic_core", "jsonschema", "regex", "yaml", "hypothesis", "mcp", "multiprocessing"),
    *("workrail_lint.systems.team.scenario", "workrail_lint.systems.blocks.scenario"),
    *("pytest_workrail.systems", "pytest_workrail.explore", "pytest_workrail.sessions", "pytest_workrail.mcp"),
    *("pytest_workrail.strategies", "pytest_workrail.lifecycle"),
)


def test_a_scenario_imports_nothing_heavy(pytester: pytest.Pytester) -> None:
    steps = [{"id": "first-step", "title": "First", "prompt": "Look at the change."}]
    workflow = {"id": "small", "name": "Small", "description": "One step.", "version": "1.0.0", "steps": steps}
    agent = {"kind": "auto", "turns": [{"step": "first-step", "does": "missing_notes"}]}
    scenario = {"workflow": "workflow.json", "agent": agent, "expect": {"blockers": ["MISSING_REQUIRED_NOTES"]}}
    pytester.path.joinpath("workflow.json").write_text(json.dumps(workflow))
    pytester.path.joinpath("one.scenario.json").write_text(json.dumps(scenario))
    pytester.makeconftest(
        f"""
import sys

def pytest_unconfigure():
    print("HEAVY", sorted(name for name in sys.modules if name in {NOT_FOR_A_RUN!r}))
"""
    )
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "pytest_workrail.plugin", "--workrail-golden=new", "."],
        cwd=pytester.path,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in result.stdout, result.stdout + result.stderr
    assert "HEAVY []" in result.stdout


def test_the_help_of_pytest_shows_only_options_that_are_explained() -> None:
    help = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    shown = set(re.findall(r"^  (--workrail[a-z-]*)", help.stdout, re.MULTILINE))
    docs = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    assert "--workrail-golden" in shown
    assert {option for option in shown if not re.search(rf"{option}(?![a-z-])", docs)} == set()
