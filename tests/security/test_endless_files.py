"""Pipes and devices in the place of files: whatever names one, a command ends, and says what it is."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import forks
import pytest
from effort import times
from writers import REGISTRY

from pytest_workrail.cli import PROGRAM as TEST_PROGRAM
from pytest_workrail.plugin import options
from pytest_workrail.plugin.options import AUTO_WORKFLOWS, SESSION_WORKFLOWS, SESSIONS
from pytest_workrail.systems.kernel.run import remove_tree
from workrail_lint.cli import PROGRAM as LINT_PROGRAM
from workrail_lint.cli import Program, main
from workrail_lint.cli.completion import Argument, commands
from workrail_lint.project.config import system_keys
from workrail_lint.systems.workrail.rules.samples import step, workflow

pytestmark = [
    pytest.mark.promise(
        "Reads are bounded",
        "pipes, devices and deeply nested folders wherever a file or folder is named or looked for",
    ),
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here"),
]
PATIENCE = 300  # seconds until a command is said to hang; none of them is judged by it
ENDLESS = ("pipe.json", "/dev/zero", "/dev/tty", "full")
DEPTH = 500
FIXTURES = Path(__file__).parents[2] / "fixtures"
OWN_KEYS = ("baseline", "workspace", "cache-dir")
WITHIN = ("a.json", "a.scenario.json", "a.session.json", "a.yaml", "manifest.jsonl", "workrail.lock.json", "index.json")
LOOKED_FOR = ("workrail-lint.toml", "pyproject.toml", ".workrail/bindings.json", "workrail.lock.json")
# What a command does between reading its arguments and writing its files, kept short.
BRIEFLY = {"explore": ["--runs", "2"]}
# They serve until somebody leaves, or run another program.
LEFT_OUT = {("workrail-test", name) for name in ("studio", "conform", "serve")} | {("workrail-lint", "server")}


@contextmanager
def an_end() -> Iterator[None]:
    """Fail when what is done inside does not end. What waits for a pipe is interrupted."""

    def hangs(*_: object) -> None:
        raise AssertionError("it does not end")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make_project()
    return tmp_path


def make_project() -> None:
    """Make the current folder a project with a pipe, and with a folder in which every file is one."""
    Path("workflows").mkdir()
    Path("workflows/a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    os.mkfifo("pipe.json")
    for folder in ("full", "full/workflows", "full/sessions/sess_a/events"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name in WITHIN:
            os.mkfifo(Path(folder) / name)


def keys() -> list[str]:
    return [*OWN_KEYS, *(key for key, setting in system_keys().items() if setting.is_path)]


@pytest.mark.parametrize("key", keys())
def test_a_configuration_that_names_one(key: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("team", "blocks"):
        if key.startswith(name.removesuffix("s")):
            shutil.copytree(FIXTURES / name, name)
    for value in ENDLESS:
        Path("workrail-lint.toml").write_text(f"{key} = {json.dumps(value)}\n")
        for command in (["check", "."], ["check", "--no-cache", "."], ["compile", "workflows/a.json"]):
            with an_end():
                assert main(command) in (0, 1, 2), (key, value)
            assert "internal error" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["workrail-lint.toml", "pyproject.toml", ".workrail/bindings.json", "workrail.lock.json"]
)
def test_one_where_a_file_is_looked_for(name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    os.mkfifo(name)
    for program, command in (
        (LINT_PROGRAM, ["check", "."]),
        (LINT_PROGRAM, ["lock", "--check", "workflows"]),
        (LINT_PROGRAM, ["lock", "--update", "workflows"]),
        (LINT_PROGRAM, ["init", "."]),
        (TEST_PROGRAM, ["run", "workflows/a.json"]),
    ):
        with an_end():
            assert main(command, program) in (0, 1, 2, 3)
        assert "internal error" not in capsys.readouterr().err


def lines(program: Program) -> Iterator[list[str]]:
    """Every option and argument that takes files or folders, with each of the endless ones."""
    known: set[Argument] = set()
    for command in commands(program):
        for each in command.actions or (command,):
            if (program.name, command.name) in LEFT_OUT:
                continue
            words = [*each.name.split(), *BRIEFLY.get(each.name, ())]
            rest = [] if each.positional is None else ["workflows/a.json"]
            options = [option for option in each.options if option not in known]
            known.update(options)
            for value in ENDLESS:
                yield from ([*words, option.names[-1], value, *rest] for option in options if takes_paths(option))
                if each.positional is not None and takes_paths(each.positional):
                    yield [*words, value]


def takes_paths(argument: Argument) -> bool:
    return argument.takes_files or argument.takes_folders


@pytest.mark.parametrize("program", [LINT_PROGRAM, TEST_PROGRAM], ids=lambda program: program.name)
def test_every_option_that_takes_one(program: Program, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong: list[tuple[Any, list[str]]] = []
    tried = 0
    for line in lines(program):
        tried += 1
        with an_end():
            code = main(line, program)
        said = capsys.readouterr()
        if code not in (0, 1, 2, 3) or "internal error" in said.err:
            wrong.append((code, line))
    assert wrong == []
    assert tried > 50


@pytest.mark.parametrize("option", ["--data", "--record"])
def test_a_server_for_agents(option: str, project: Path) -> None:
    pytest.importorskip("mcp", reason="the MCP SDK is not installed")
    for value in ENDLESS:
        ran = forks.shared().answer(["workrail-test", "serve", "workflows", option, value], project, b"")
        assert ran.returncode in (0, 2), (value, ran.stderr)
        assert b"internal error" not in ran.stderr


@pytest.fixture
def nested(project: Path) -> Iterator[None]:
    """A folder in a folder, more often than functions may call one another."""
    shutil.rmtree("full")
    os.chdir("workflows")
    for _ in range(DEPTH):
        os.mkdir("d")
        os.chdir("d")
    Path("b.json").write_text(json.dumps(workflow(step("first"), id="project.deep")))
    os.chdir(project)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(DEPTH)
    yield
    sys.setrecursionlimit(limit)
    remove_tree("workflows")


@pytest.mark.parametrize("program", [LINT_PROGRAM, TEST_PROGRAM], ids=lambda program: program.name)
def test_folders_nested_deeper_than_the_stack(
    program: Program, nested: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command with the folder as its argument, and in the deep ring with each option that takes a folder."""
    wrong = []
    for command in commands(program):
        for action in command.actions or (command,):
            if action.positional is None or not takes_paths(action.positional) or command.name == "serve":
                continue
            words = [*action.name.split(), *BRIEFLY.get(action.name, ())]
            options = [option.names[-1] for option in action.options if option.takes_folders]
            lines = [[*words, "workflows"], *([*words, option, "workflows", "workflows"] for option in options)]
            for line in lines[: times(1, deep=len(lines))]:
                with an_end():
                    code = main(line, program)
                said = capsys.readouterr().err
                if code not in (0, 1, 2, 3) or "internal error" in said:
                    wrong.append((line, said))
    assert wrong == []


# ------------------------------------------------------------------------------------------------------------ pytest

TEST = """
def test_a(workrail):
    assert workrail.run("workflows/a.json").status == "complete"
"""
LOCKS = ("--workrail-locks", "locks.json")
OPTIONS = {
    **{f"--workrail-{name}": () for name in ("cov-json", "cov-source", "runs-json", "html", "record", "locks")},
    **{f"--workrail-{name}": LOCKS for name in ("lock-record", "lock-report", "sabotages")},
}


def run_pytest(pytester: pytest.Pytester, *arguments: str) -> None:
    pytester.makepyfile(TEST)
    with an_end():
        ran = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--workrail-cov=table", *arguments)
    said = ran.stdout.str() + ran.stderr.str()
    assert ran.ret != pytest.ExitCode.INTERNAL_ERROR, said
    assert "it does not end" not in said


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_of_pytest(option: str, pytester: pytest.Pytester) -> None:
    make_project()
    Path("locks.json").write_text(json.dumps(REGISTRY))
    for value in ENDLESS:
        run_pytest(pytester, f"{option}={value}", *OPTIONS[option])


@pytest.mark.parametrize("name", [AUTO_WORKFLOWS, SESSIONS, SESSION_WORKFLOWS])
def test_a_setting_of_pytest(name: str, pytester: pytest.Pytester) -> None:
    make_project()
    for value in ENDLESS:
        run_pytest(pytester, "-o", f"{name}={value}", ".")


def test_pipes_where_pytest_collects_files(pytester: pytest.Pytester) -> None:
    make_project()
    os.mkfifo("test_b.scenario.json")
    run_pytest(pytester, ".", "-o", f"{AUTO_WORKFLOWS}=**/*.json", "-o", f"{SESSIONS}=full")
    run_pytest(pytester, "full/a.scenario.json")


def test_all_options_that_name_paths_are_tried() -> None:
    """A new one is added here, or is known not to name a path."""
    parser = pytest.Parser(_ispytest=True)
    options.add_options(parser)
    named = {
        option.names()[0]
        for group in parser._groups
        for option in group.options
        if option.attrs().get("metavar") in ("FILE", "DIR", "PATH", "FOLDER", "REGISTRY", "MODULE")
    }
    assert named == set(OPTIONS)
