"""`completion`: what a shell offers is what the parsers take."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cli_types import Run

from workrail_lint.cli import COMMANDS
from workrail_lint.cli.check_options import FORMATS, SWITCHES
from workrail_lint.cli.completion import commands

# The words are those after the script; the last one is being completed.
ASK = (
    'source "$1"',
    "shift",
    'COMP_WORDS=("$@")',
    "COMP_CWORD=$(($# - 1))",
    "_workrail_lint",
    'printf "%s\\n" "${COMPREPLY[@]}"',
)


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture
def offered(run: Run, tmp_path: Path) -> object:
    """What bash offers for the last of some words."""
    program = shell("bash")
    script = tmp_path / "completion.bash"
    script.write_text(run("completion", "bash").out, encoding="utf-8")

    def complete(*words: str) -> list[str]:
        line = "; ".join(ASK)
        ran = subprocess.run(
            [program, "--norc", "-c", line, "bash", str(script), "workrail-lint", *words],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**os.environ, "LC_ALL": "C"},
        )
        assert ran.stderr == ""
        return sorted(ran.stdout.split("\n"))[1:] if ran.stdout.strip() else []

    return complete


def test_every_command_is_known_with_its_options() -> None:
    known = {command.name: command for command in commands()}
    assert list(known) == list(COMMANDS)
    check = {name for option in known["check"].options for name in option.names}
    assert check >= {*SWITCHES, "--severity", "--output-format", "--catalog", "--help"}
    assert [action.name for action in known["catalog"].actions] == [
        "catalog list",
        "catalog show",
        "catalog export",
        "catalog import",
    ]
    assert all(command.options for command in known.values() if not command.actions)


def test_bash_completes_commands_options_and_choices(offered: object) -> None:
    assert callable(offered)
    assert offered("") == sorted([*COMMANDS, "--help", "--version"])
    assert offered("co") == ["compile", "completion"]
    assert offered("check", "--output-format", "") == sorted(FORMATS)
    assert offered("check", "--severity", "w") == ["warning"]
    assert offered("check", "--severity", "=", "e") == ["error"]
    assert offered("check", "--severity", "=") == ["error", "info", "warning"]
    assert offered("check", "a.json", "--se") == ["--select", "--severity"]
    assert offered("lock", "--") == sorted(
        [
            *("--update", "--check", "--file", "--catalog", "--routines"),
            *("--bindings", "--bindings-dir", "--config", "--isolated", "--help"),
        ]
    )
    assert offered("catalog", "") == ["--help", "export", "import", "list", "show"]
    assert offered("catalog", "list", "--output-format", "j") == ["json"]
    assert offered("completion", "") == ["bash", "fish", "zsh"]
    assert offered("init", "--id", "") == []


def test_bash_completes_files_and_folders(offered: object, tmp_path: Path) -> None:
    assert callable(offered)
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "with space.json").touch()
    (tmp_path / "other.json").touch()
    assert offered("check", "work") == ["workflows"]
    assert offered("check", "workflows/") == ["workflows/with space.json"]
    assert offered("check", "--baseline", "o") == ["other.json"]
    assert offered("check", "--routines", "") == ["workflows"]
    assert offered("init", "") == ["workflows"]


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_shell_can_read_its_script(run: Run, name: str, tmp_path: Path) -> None:
    program = shell(name)
    script = tmp_path / "script"
    script.write_text(run("completion", name).out, encoding="utf-8")
    checked = subprocess.run([program, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_script_names_every_command_and_option(run: Run, name: str) -> None:
    ran = run("completion", name)
    assert (ran.code, ran.err) == (0, "")
    for command in commands():
        assert command.name in ran.out
        for option in command.options:
            assert all((each[2:] if name == "fish" else each) in ran.out for each in option.names if each[:2] == "--")


def test_usage(run: Run) -> None:
    assert run("completion").code == 2
    assert run("completion", "tcsh").code == 2
    assert run("completion", "--help").code == 0
