"""Start-up is a feature: a clean file must not pay for what it does not need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from workrail_lint.systems.workrail.rules.samples import step, workflow

HEAVY = {
    "pydantic",
    "pydantic_core",
    "jsonschema",
    "pluggy",
    "yaml",
    "regex",
    "orjson",
    "rfc8785",
    "dataclasses",
    "inspect",
    "pathlib",
    "multiprocessing",
    "tomllib",
    "subprocess",
}
ROOT = Path(__file__).parents[2]
BUG_TRIAGE = "fixtures/workflows/bug-triage.json"
# What argparse imports is not ours to avoid, and differs between versions of Python.
_SCRIPT = """
import argparse, sys
parser = argparse.ArgumentParser()
parser.add_argument("--option", metavar="X", help="y")
parser.parse_args([])
before = set(sys.modules)
from workrail_lint.cli import main
code = main(["check", *sys.argv[1:]])
print(code, *sorted(set(sys.modules) - before))
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    shown = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    code, *modules = shown.stdout.splitlines()[-1].split()  # after the report
    assert code == "0"
    return set(modules)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "workflows" / "example.json"
    path.parent.mkdir()
    path.write_text(json.dumps(workflow(step("first"), step("second")), indent=2) + "\n", encoding="utf-8")
    return tmp_path


def test_a_clean_file_loads_nothing_heavy(project: Path) -> None:
    modules = loaded(project, "--no-cache", "workflows/example.json")
    assert modules & HEAVY == set()


def test_a_cached_result_loads_no_rules_and_no_compiler(project: Path) -> None:
    loaded(project, "workflows/example.json")
    modules = loaded(project, "workflows/example.json")
    assert modules & HEAVY == set()
    assert not [name for name in modules if name.startswith("workrail_lint.systems.workrail.rules.")]
    assert "workrail_lint.systems.workrail.compiler.compiled" not in modules


# Each module costs 0.3 M instructions, a bare Python 40 M. Merge modules that are always read together.
def test_a_clean_file_loads_few_modules() -> None:
    modules = loaded(ROOT, "--no-cache", "--isolated", BUG_TRIAGE)
    own = [name for name in modules if name.startswith("workrail_lint")]
    assert len(own) <= 106, f"{len(own)} modules, where 105 were enough"


# A named tuple costs 1 M instructions to define, a plain class (`base.result.Record`) 0.1 M. Its annotations are text,
# which typing compiles, as it does the bound of a type variable given as text; the first time takes another 10 M.
_COMPILED_ANNOTATIONS = """
import contextlib, io, sys
from typing import ForwardRef
count = 0
prepare = ForwardRef.__init__
def counting(self, *given, **options):
    global count
    count += 1
    prepare(self, *given, **options)
ForwardRef.__init__ = counting
from workrail_lint.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["check", "--no-cache", "--isolated", sys.argv[1]])
print(count)
"""


def test_a_check_compiles_no_annotations(project: Path) -> None:
    flawed = json.dumps(workflow(step("first", prompt="Write `a.md`."), step("second", prompt="Read {{nothing}}.")))
    (project / "workflows" / "flawed.json").write_text(flawed, encoding="utf-8")
    for path in (ROOT / BUG_TRIAGE, project / "workflows" / "flawed.json"):
        done = subprocess.run(
            [sys.executable, "-c", _COMPILED_ANNOTATIONS, path], capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["0"], path


# Compiling one takes as long as loading two modules. A rule that looks for words tries its pattern only near them.
_PATTERNS = """
import re, sys
from workrail_lint.cli import main
count = 0
compiled = re.compile
def counting(*given):
    global count
    count += sys._getframe(1).f_globals["__name__"] == "workrail_lint.base.patterns"
    return compiled(*given)
re.compile = counting
main(["check", "--no-cache", "--isolated", sys.argv[1]])
print(count)
"""


def test_a_clean_file_compiles_few_patterns() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PATTERNS, ROOT / BUG_TRIAGE], capture_output=True, text=True, check=True
    )
    assert int(done.stdout.splitlines()[-1]) <= 11


def test_rules_about_loops_wait_for_a_loop(project: Path) -> None:
    modules = loaded(project, "--no-cache", "workflows/example.json")
    assert "workrail_lint.systems.workrail.rules.loop_config" not in modules
    assert "workrail_lint.systems.workrail.rules.criteria" not in modules


def test_one_finding_loads_its_rules_and_no_other_contract(project: Path) -> None:
    advised = workflow(step("first"), step("second", runCondition={"var": "round", "equals": 1}))
    (project / "workflows" / "advised.json").write_text(json.dumps(advised, indent=2) + "\n", encoding="utf-8")
    clean = loaded(project, "--no-cache", "workflows/example.json")
    found = loaded(project, "--no-cache", "workflows/advised.json")
    others = ("workrail_lint.systems.team", "workrail_lint.systems.blocks")
    assert not [name for name in found if name.startswith(others)]
    assert "workrail_lint.report.text" in found
    assert len(found - clean) <= 35


def test_importing_the_package_costs_nothing() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", "import sys, workrail_lint; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not [name for name in shown.stdout.split() if name.startswith("workrail_lint.")]


def test_compiling_imports_no_rules_and_no_analysis() -> None:
    rooms = ("rules.", "analysis.analysis", "lint", "schema_findings", "system")
    code = "import sys, workrail_lint.systems.workrail.compile; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    unwanted = tuple(f"workrail_lint.systems.workrail.{room}" for room in rooms)
    assert [name for name in done.stdout.split() if name.startswith(unwanted)] == []
