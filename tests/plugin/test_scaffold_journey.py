"""What `workrail-lint init` makes works from the first command on, its hooks included."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import forks
import pytest


class Shell:
    """Runs commands in a folder as a person would, with the installed programs first on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "NO_COLOR": "1",
            "PRE_COMMIT_HOME": str(folder.parent / "pre-commit"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }

    def __call__(self, command: str, code: int = 0) -> str:
        ended, output = forks.shell(command, self.folder, self._environment)
        assert ended == code, f"$ {command}\n{output}"
        assert "Traceback" not in output
        return output


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "new"
    folder.mkdir()
    return Shell(folder)


def test_init_then_check_then_pytest(shell: Shell) -> None:
    made = shell("workrail-lint init")
    assert "created  workrail.lock.json" in made
    assert "nothing found" in shell("workrail-lint check .")
    assert "unchanged" in shell("workrail-lint lock --check")
    golden = "created  tests/__goldens__/first_workflow.golden.json # what an agent sees, from a real run"
    assert golden in made
    assert "1 match" in shell("pytest -v"), "green from the first run on"
    assert "goldens" not in shell("pytest"), "nothing to say, as nothing differs"
    assert "nothing found" in shell("workrail-lint check ."), "the golden is no document of its own"


def test_a_golden_that_is_there_stays_and_without_pytest_the_way_to_one_is_named(shell: Shell) -> None:
    shell("workrail-lint init")
    golden = shell.folder / "tests" / "__goldens__" / "first_workflow.golden.json"
    golden.write_text("mine")
    assert "kept     tests/__goldens__/first_workflow.golden.json" in shell("workrail-lint init")
    assert golden.read_text() == "mine"
    (shell.folder / "blocked").mkdir()
    (shell.folder / "blocked" / "pytest.py").write_text("raise SystemExit(1)")
    without = shell("cd blocked && PYTHONPATH=$PWD workrail-lint init")
    assert "pytest --workrail-golden=new" in without
    assert not (shell.folder / "blocked" / "tests" / "__goldens__").exists()


def test_the_steps_that_init_names_work(shell: Shell) -> None:
    told = shell("workrail-lint init sub --id team.one")
    steps = [line.partition("#")[0].strip() for line in told.partition("next:\n")[2].splitlines()]
    assert steps == ["cd sub", "workrail-lint check .", "pytest", "pre-commit install"]
    assert "1 passed" in shell(" && ".join(steps[:-1]))
    if shutil.which("git") and importlib.util.find_spec("pre_commit"):
        assert "pre-commit installed" in shell(f"git init -q sub && cd sub && {steps[-1]}")


def test_a_lockfile_that_is_there_stays_as_it_is(shell: Shell) -> None:
    shell("workrail-lint init --id team.one")
    before = (shell.folder / "workrail.lock.json").read_bytes()
    told = shell("workrail-lint init --id team.two")
    assert "kept     workrail.lock.json" in told
    assert "workrail-lint lock --update" in told
    assert (shell.folder / "workrail.lock.json").read_bytes() == before
    assert "lock --update" in shell("workrail-lint init --id team.two"), "nothing new, so nothing is pinned"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_hooks_accept_what_was_made_and_notice_a_change(shell: Shell) -> None:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    hooks = "python -m pre_commit run --all-files"
    shell("workrail-lint init")
    shell("pytest -q")
    shell("git init -q && git add -A")
    assert shell(hooks).count("Passed") == 2
    workflow = shell.folder / "workflows" / "first_workflow.json"
    workflow.write_text(workflow.read_text().replace("Do the next piece of", "Do some of"))
    changed = shell(hooks, code=1)
    assert "workflows/first_workflow.json: changed" in changed
    scenario = shell.folder / "tests" / "first_workflow.scenario.json"
    scenario.write_text(scenario.read_text().replace('"guided"', '"guidde"'))
    broken = shell(hooks, code=1)
    assert "did you mean 'guided'?" in broken
    assert broken.count("Failed") == 2
