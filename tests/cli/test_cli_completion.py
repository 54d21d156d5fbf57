"""`completion`: what a shell offers is what the parsers of both programs take."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from cli_types import Run

from pytest_workrail.cli import PROGRAM as TEST_PROGRAM
from pytest_workrail.cli import main as run_tests_program
from workrail_lint.cli import COMMANDS, PROGRAM, Program, completion
from workrail_lint.cli.check import SWITCHES
from workrail_lint.cli.completion import commands
from workrail_lint.cli.parser import Parser
from workrail_lint.report import FORMATS

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("workrail_lint", "pytest_workrail")
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


def _argument_names(parser: Parser) -> Iterator[str]:
    yield from (each.dest for each in parser.arguments if each.dest != "help")
    for _, inner in parser.actions.values():
        if inner is not None:
            yield from _argument_names(inner)


@pytest.mark.parametrize("program", [PROGRAM, TEST_PROGRAM], ids=lambda program: program.name)
def test_every_argument_is_read(program: Program) -> None:
    """An option that nothing reads has no effect."""
    source = "\n".join(path.read_text(encoding="utf-8") for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
    # As a member, or by a name in a table, as systems and the studio do it.
    read = set(re.findall(r"\b(?:args|arguments|options)\.(\w+)", source)) | set(re.findall(r'"(\w[\w-]*)"', source))
    parsers = ((name, completion.parser_of(program.package, name)) for name in program.commands)
    names = [(name, each) for name, parser in parsers if parser is not None for each in _argument_names(parser)]
    assert len(names) > 30
    assert [f"{name}: {each}" for name, each in names if not {each, each.replace("_", "-")} & read] == []


def test_every_command_is_known_with_its_options() -> None:
    known = {command.name: command for command in commands()}
    assert list(known) == list(COMMANDS)
    check = {name for option in known["check"].options for name in option.names}
    assert check >= {*SWITCHES, "--severity", "--format", "--catalog", "--help"}
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
    assert offered("check", "--format", "") == sorted(FORMATS)
    assert offered("check", "--severity", "w") == ["warning"]
    assert offered("check", "--severity", "=", "e") == ["error"]
    assert offered("check", "--severity", "=") == ["error", "info", "warning"]
    assert offered("check", "a.json", "--se") == ["--select", "--severity"]
    assert offered("lock", "--") == sorted(
        [
            *("--update", "--check", "--file", "--catalog", "--routines"),
            *("--bindings", "--bindings-dir", "--engine-version", "--config", "--isolated", "--help"),
        ]
    )
    assert offered("catalog", "") == ["--help", "export", "import", "list", "show"]
    assert offered("catalog", "list", "--format", "j") == ["json"]
    assert offered("completion", "") == ["bash", "fish", "zsh"]
    assert offered("guide", "lo") == ["loops"]
    assert offered("schema", "work") == ["workflow", "workflow-design"]
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


@pytest.fixture
def scripts(run: Run, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> dict[str, Path]:
    """The scripts of both programs for each shell, one file for each shell."""
    found = {}
    for name in ("bash", "zsh", "fish"):
        ours = run("completion", name).out
        assert run_tests_program(["completion", name]) == 0
        found[name] = tmp_path / f"script.{name}"
        found[name].write_text(ours + capsysbinary.readouterr().out.decode(), encoding="utf-8")
    return found


def test_fish_completes_both_programs(scripts: dict[str, Path], tmp_path: Path) -> None:
    program = shell("fish")
    asked = {
        "workrail-lint form": ["format"],
        "workrail-lint check --severity ": ["error", "info", "warning"],
        "workrail-lint catalog ex": ["export"],
        "workrail-test ": sorted(TEST_PROGRAM.commands),
        "workrail-test golden ac": ["accept"],
        "workrail-test generate --sch": ["--scheduler"],
        "workrail-test mutate flow": ["flow.json"],
    }
    (tmp_path / "flow.json").touch()
    lines = [f"source {scripts['fish']}", *(f'complete -C "{line}"; echo ==' for line in asked)]
    ran = subprocess.run(
        [program, "--no-config", "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    answers = [part.split("\n") for part in ran.stdout.split("==\n")]
    offered = [sorted(line.partition("\t")[0] for line in part if line) for part in answers]
    assert offered[:-1] == list(asked.values())


def test_zsh_completes_both_programs(scripts: dict[str, Path], tmp_path: Path) -> None:
    program = shell("zsh")
    (tmp_path / "flows").mkdir()
    environment = {**os.environ, "TERM": "dumb", "HOME": str(tmp_path), "ZDOTDIR": str(tmp_path)}
    zsh = pexpect.spawn(program, ["-f", "-i"], encoding="utf-8", cwd=str(tmp_path), env=environment, timeout=600)
    zsh.setwinsize(24, 200)
    # The words are in two parts, so that the echo of the line is not taken for its output.
    zsh.sendline(f"autoload -Uz compinit; compinit -D -u; source {scripts['zsh']}; echo rea''dy")
    zsh.expect_exact("ready")
    for typed, completed in (
        ("workrail-lint form", "workrail-lint format "),
        ("workrail-lint check --format sa", "--format sarif "),
        ("workrail-lint catalog ex", "catalog export "),
        ("workrail-test golden acc", "golden accept "),
        ("workrail-test generate --sch", "generate --scheduler "),
        ("workrail-test mutate fl", "mutate flows/"),
    ):
        zsh.send(f"{typed}\t")
        zsh.expect_exact(completed)
        zsh.send("\x15")  # forget the line
    zsh.close(force=True)


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_shell_can_read_its_scripts(scripts: dict[str, Path], name: str) -> None:
    program = shell(name)
    env = {**os.environ, "LC_ALL": "C"}  # bash warns of a locale that is missing
    checked = subprocess.run([program, "-n", str(scripts[name])], capture_output=True, text=True, check=False, env=env)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("program", [PROGRAM, TEST_PROGRAM], ids=lambda each: each.name)
@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_script_names_every_command_and_option(
    capsys: pytest.CaptureFixture[str], name: str, program: Program
) -> None:
    assert completion.write(name, program) == 0
    ran = capsys.readouterr()
    assert ran.err == ""
    for command in commands(program):
        assert command.options or command.actions, command.name
        assert command.name in ran.out
        for option in command.options:
            assert all((each[2:] if name == "fish" else each) in ran.out for each in option.names if each[:2] == "--")


def test_usage(run: Run) -> None:
    assert run("completion").code == 2
    assert run("completion", "tcsh").code == 2
    assert run("completion", "--help").code == 0
