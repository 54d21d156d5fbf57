"""Start-up is a feature: a clean file must not pay for what it does not need."""

from __future__ import annotations

import json
import shutil
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
    "json",
    "orjson",
    "rfc8785",
    "dataclasses",
    "inspect",
    "argparse",
    "pathlib",
    "multiprocessing",
    "tomllib",
    "typing",
    "subprocess",
}
_SCRIPT = """
import sys
from workrail_lint.cli import main
code = main(["check", *sys.argv[1:]])
print(code, *sorted(sys.modules))
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


_FINDING = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from workrail_lint.base.loading import load_faster
{0}load_faster()
import workrail_lint.findings, workrail_lint.findings.fix
for module in (workrail_lint.findings, workrail_lint.findings.fix):
    spec = module.__spec__
    place = module.__file__, module.__cached__, spec.origin, spec.cached, spec.parent, spec.has_location
    print(module.__name__, *place, getattr(module, "__path__", None), spec.submodule_search_locations)
    print(Path(module.__cached__).exists(), spec.loader.get_source(module.__name__)[:300])
print(getattr(workrail_lint.findings.fix, "ADDED", None))
try:
    import workrail_lint.nothing
except ModuleNotFoundError as error:
    print(error)
"""


def test_modules_are_found_as_python_finds_them(tmp_path: Path) -> None:
    package = Path(__file__).parents[2] / "workrail_lint"
    copied = tmp_path / "workrail_lint"
    for room in ("base", "documents", "findings"):
        shutil.copytree(package / room, copied / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(package / "__init__.py", copied)

    def shown(usual: str) -> str:
        command = [sys.executable, "-c", _FINDING.format(usual), str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    for _ in range(2):  # without compiled code, and with it
        assert shown("") == shown("# ")
    fix = copied / "findings" / "fix.py"
    fix.write_text(fix.read_text() + "\nADDED = 'changed'\n")  # compiled code that is out of date
    assert "changed" in shown("")
