"""Outputs and linked folders: a repository can bring one along, and nothing is ever written through it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from forks import shared
from writers import COMMANDS as WRITERS
from writers import Bench, Command, clean_runs

from pytest_workrail.cli import main as dynamic
from pytest_workrail.engine.store.disk import DiskFiles
from pytest_workrail.golden import files as goldens
from workrail_lint.base.files import make_folders, output_root, remove_file, sweep, write_atomically, write_in_place
from workrail_lint.base.result import Err
from workrail_lint.cli import main
from workrail_lint.systems.workrail.rules.samples import step, workflow

pytestmark = pytest.mark.promise("Writes stay", "linked folders in the way of every output")

PLAIN = json.dumps(workflow(step("first"), step("second")))
FIXABLE = PLAIN.replace('"steps": [', '"metaGuidance": ["a", "a"], "steps": [')
WRITTEN = "a folder in its path is a symlink"
OWN_LEFTOVER = ".workrail-0123456789abcdef.tmp"

Program = Callable[[list[str]], int]
# Inputs that are outputs too, and ways to spell a place. `linked` is a folder of the project that leads out of it.
# Every other output of both programs and of pytest is in the table of `writers.py`.
COMMANDS: list[tuple[Program, str]] = [
    (main, "check --output linked/deep/out.json --format json"),
    (main, "check --output ./b/../linked/out.json --format json"),
    (main, "check --fix --unsafe-fixes --no-cache linked/precious.json"),
    (main, "format linked/precious.json"),
    (main, "init --ci github ."),
    (dynamic, "generate a.json --out linked"),
    (dynamic, "serve workflows --data linked"),
]


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything in a folder, and what it holds."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with links to a folder outside of it, in the places where something may be written."""
    outside, folder = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    folder.mkdir()
    (outside / "precious.json").write_text(FIXABLE)
    (outside / OWN_LEFTOVER).write_text("")
    for name in ("linked", ".github", "tests", ".cache"):
        (folder / name).symlink_to(outside)
    (folder / "a.json").write_text(PLAIN)
    (folder / "workflows").mkdir()
    (folder / "workflows" / "b.json").write_text(PLAIN)
    monkeypatch.chdir(folder)
    return folder


def test_no_command_writes_through_a_linked_folder(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = project.parent / "outside"
    before = tree(outside)
    wrong: dict[str, object] = {}
    for program, line in COMMANDS:
        code = program(line.split())
        error = capsys.readouterr().err
        if tree(outside) != before:
            wrong[line] = sorted(tree(outside))
            break
        refuses = WRITTEN in error and "internal error" not in error
        if not refuses or (code != 2 and "--fix" not in line):  # of many files, a fix may still write the others
            wrong[line] = code, error
    assert wrong == {}


def test_an_output_in_a_project_elsewhere_goes_through_no_linked_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The user is in another folder and types the whole path; what makes it a project is its .git or configuration."""
    outside = project.parent / "outside"
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (outside / "pyproject.toml").write_text("")  # which does not make the link a project
    (project / ".git").mkdir()
    monkeypatch.chdir(elsewhere)
    before = tree(outside)
    assert main(["graph", str(project / "a.json"), "--output", str(project / "linked" / "out.svg")]) == 2
    assert WRITTEN in capsys.readouterr().err
    assert tree(outside) == before


def test_a_path_outside_of_the_project_is_the_users_own(project: Path) -> None:
    """A link of the user's own, such as /tmp on some systems, is in nobody's way."""
    outside = project.parent / "outside"
    (project.parent / "own").symlink_to(outside)
    assert main(["graph", "a.json", "--output", str(project.parent / "own" / "out.svg")]) == 0
    assert (outside / "out.svg").is_file()


@pytest.mark.parametrize("command", [each for each in WRITERS if "@" in each.line], ids=lambda command: command.line)
def test_no_output_of_the_table_goes_through_a_linked_folder(command: Command, tmp_path: Path) -> None:
    """Each command of both programs and each option of pytest that writes to a place that the user names."""
    bench = Bench(tmp_path)
    command.prepare(bench)
    outside = tmp_path / "now" / "outside"
    outside.mkdir()
    (outside / "precious.json").write_text(FIXABLE)
    (bench.project / "linked").symlink_to(outside)
    before = tree(outside)
    ran = bench.run(command.words_in("linked/"), breaks=command.breaks)
    assert tree(outside) == before
    assert WRITTEN in ran.output
    assert ran.code != 0 or "serve" in command.words  # whose client has left by then
    assert "internal error" not in ran.output


def test_a_named_output_of_the_table_is_marked(tmp_path: Path) -> None:
    """Whoever adds a command that writes to a place that the user names marks it, so that a link is tried there too."""
    unmarked = [
        (command.line, name)
        for command, clean in clean_runs([each for each in WRITERS if "@" not in each.line], tmp_path)
        for name in (word.rpartition("=")[2] for word in command.words)
        if f"project/{name}" in clean.new
    ]
    assert unmarked == []


@pytest.mark.parametrize("mode", ["new", "update"])
def test_no_golden_of_a_suite_is_written_through_a_linked_folder(mode: str, project: Path) -> None:
    outside = project.parent / "outside"
    scenario = {"workflow": "../project/a.json", "profile": "reference", "agent": {"kind": "auto"}}
    (outside / "a.scenario.json").write_text(json.dumps(scenario))
    before = tree(outside)
    run = ["pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", "--workrail-write-in-ci"]
    code, printed = shared().run([*run, f"--workrail-golden={mode}", "linked/a.scenario.json"], project, os.environ)
    assert tree(outside) == before
    assert WRITTEN in printed
    assert code in (1, 4)


def test_a_cache_folder_of_the_project_is_no_link(project: Path) -> None:
    outside = project.parent / "outside"
    (project / "workrail-lint.toml").write_text('cache-dir = ".cache/deep"\n')
    before = tree(outside)
    assert main(["check", "a.json"]) == 2
    assert tree(outside) == before


def test_no_golden_or_recording_is_written_or_removed_through_a_linked_folder(project: Path) -> None:
    """What `serve --record`, `sessions record`, pending changes and their decisions have in common."""
    outside = project.parent / "outside"
    before = tree(outside)
    for path in (project / "linked" / "precious.json", project / "linked" / "__goldens__" / "new.golden.json"):
        written = goldens.write(path, b"x")
        assert isinstance(written, Err)
        assert WRITTEN in written.error
    assert isinstance(goldens.remove(project / "linked" / "precious.json"), Err)
    goldens.remove_leftovers(project / "linked")
    assert tree(outside) == before


def test_a_data_folder_with_linked_folders_is_not_written_to(project: Path) -> None:
    outside = project.parent / "outside"
    (project / "data").mkdir()
    (project / "data" / "sessions").symlink_to(outside)
    before = tree(outside)
    files = DiskFiles(project / "data")

    def create(path: str) -> None:
        with files.create(path) as handle:
            handle.write(b"x")

    def extend(path: str) -> None:
        with files.extend(path) as handle:
            handle.write(b"x")

    (project / "data" / "real").write_text("x")
    for write in (
        lambda: files.make_dir("sessions/one"),
        lambda: create("sessions/a"),
        lambda: extend("sessions/precious.json"),
        lambda: files.replace("real", "sessions/a"),
        lambda: files.link("real", "sessions/a"),
        lambda: files.remove("sessions/precious.json"),
    ):
        with pytest.raises(OSError, match=WRITTEN):
            write()
    files.sweep("sessions")
    assert tree(outside) == before


# --------------------------------------------------------------------------------------------------------- the door


def test_every_way_to_write_takes_a_root(project: Path) -> None:
    outside = project.parent / "outside"
    before = tree(outside)
    path, root = str(project / "linked" / "precious.json"), str(project)
    for write in (
        lambda: write_atomically(path, b"x", root),
        lambda: write_atomically(str(project / "linked" / "a" / "b"), b"x", root, parents=True),
        lambda: write_in_place(path, b"x", root),
        lambda: remove_file(path, root),
        lambda: make_folders(str(project / "linked" / "new"), root),
    ):
        with pytest.raises(OSError, match=WRITTEN):
            write()
    sweep(str(project / "linked"), root)
    assert tree(outside) == before


def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is checked is what is written to: names are resolved from the open folder, not from the path again."""
    outside = project.parent / "outside"
    before = tree(outside)
    folder = project / "real"
    folder.mkdir()
    write_all = os.write

    def swapped(handle: int, data: bytes) -> int:
        if folder.is_dir() and not folder.is_symlink():
            folder.rename(project / "moved")
            folder.symlink_to(outside)
        return write_all(handle, data)

    monkeypatch.setattr(os, "write", swapped)
    write_atomically(str(folder / "a"), b"x", str(project))
    assert tree(outside) == before
    assert tree(project / "moved") == {"a": b"x"}


def test_the_root_of_an_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path(os.path.realpath(tmp_path))
    (real / "repository" / "package").mkdir(parents=True)
    (real / "free").mkdir()
    (real / "repository" / ".git").write_text("")
    (real / "repository" / "package" / "pyproject.toml").write_text("")
    monkeypatch.chdir(real / "free")
    expected = {
        real / "repository" / "package" / "out": real / "repository",
        real / "repository": real / "repository",
        real / "free" / "out" / "deep": real / "free",
        real / "other" / "new": real,
        real: real,
    }
    assert {folder: Path(output_root(str(folder))) for folder in expected} == expected
