"""Every command of workrail-test has a module, help, completion, a line in the docs and an example that is run."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_workrail.cli import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]
# Runs both programs where these modules are not installed.
WITHOUT = """
import sys
for name in ("pytest", "_pytest"):
    sys.modules[name] = None
from pytest_workrail.cli import COMMANDS, main

workflow = sys.argv[1]
assert main(["run", workflow, "--profile", "reference"]) == 0
for command in COMMANDS:
    print(command, main([command, "--help"]), file=sys.stderr)
assert main(["combine", "."]) == 2
"""
DOCS = ROOT / "docs"


def _pages() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in [*DOCS.rglob("*.md"), ROOT / "README.md"])


def test_every_command_has_a_module_that_says_what_it_is() -> None:
    for name in COMMANDS:
        module = importlib.import_module(f"pytest_workrail.cli.{name}")
        assert callable(module.main), name
        assert f"`workrail-test {name}" in (module.__doc__ or ""), name


def test_every_module_of_a_command_is_a_command() -> None:
    text = [
        path for path in (ROOT / "pytest_workrail" / "cli").glob("*.py") if "\ndef main(" in path.read_text("utf-8")
    ]
    assert {path.stem for path in text} - {"__init__", "__main__"} == set(COMMANDS)


def test_every_command_is_on_the_page_of_commands() -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8").partition("\n## workrail-test\n")[2]
    assert [name for name in COMMANDS if not re.search(rf"^\| \[?`{name}\b", page, re.MULTILINE)] == []


def test_every_command_has_an_example_that_is_run() -> None:
    pages = _pages()
    assert [name for name in COMMANDS if not re.search(rf"^\$ workrail-test {name}\b", pages, re.MULTILINE)] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: workrail-test {name}")
    assert "--help" in shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_completed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert [name for name in COMMANDS if not re.search(rf"(?<![\w-]){name}(?![\w-])", script)] == []


def test_without_pytest_a_command_works_or_says_what_to_install() -> None:
    workflow = ROOT / "fixtures" / "workflows" / "release-notes.json"
    command = [sys.executable, "-c", WITHOUT, str(workflow)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stderr.splitlines()
    needing = "workrail-test: this command needs pytest; install workrail-lint[pytest]"
    refused = {lines[at + 1].split()[0] for at, line in enumerate(lines[:-1]) if line == needing}
    assert refused == {"golden", "studio", "combine"}
    assert {line for line in lines if not line.endswith((" 0", " 2"))} == {needing}
