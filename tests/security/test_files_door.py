"""Files: what is read is regular and bounded, what is written follows no link and is there whole or not at all."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import pytest_workrail
import workrail_lint
from workrail_lint.base.files import read_bytes, read_file, sweep, write_atomically, write_in_place
from workrail_lint.cli import main
from workrail_lint.systems.workrail.rules.samples import step, workflow

pytestmark = [
    pytest.mark.promise("Reads are bounded", "one way to files; links, devices"),
    pytest.mark.promise("Writes stay", "modes, owners and leftovers"),
]

# ------------------------------------------------------------------------------------------------- nobody goes round

DOOR = "workrail_lint/base/files.py"
# Who opens something that is no file of anybody: a stream that was closed, a folder to sync or lock, the example of a
# rule in a folder that its test made.
ALLOWED = {
    DOOR,
    "workrail_lint/cli/__init__.py",
    "workrail_lint/testing.py",
    "pytest_workrail/cli/golden.py",
    "pytest_workrail/engine/store/disk.py",
}
OF_OS = {"open", "replace", "rename", "renames", "truncate", "link", "symlink", "mkfifo", "mknod"}
OF_OS |= {"copy", "copy2", "copyfile", "copytree", "move"}
OF_PATHS = {"write_text", "write_bytes", "read_text", "symlink_to", "hardlink_to"}
# Copies between the folders of one run, where agents work; links stay links.
COPIES = {
    "pytest_workrail/systems/blocks/workspaces.py": ["os.symlink", "shutil.copyfile", "shutil.copytree"],
}
# Modules with ways of their own to a file, or to another machine.
OTHER_DOORS = {"codecs", "fileinput", "gzip", "bz2", "lzma", "zipfile", "tarfile", "sqlite3", "dbm", "shelve", "pickle"}
OTHER_DOORS |= {
    "mmap",
    "linecache",
    "socket",
    "ssl",
    "http",
    "urllib.request",
    "ftplib",
    "smtplib",
    "xmlrpc",
    "requests",
}


@cache
def sources() -> dict[str, tuple[set[str], set[str]]]:
    """The calls of each module that open a file, and its imports."""
    found = {}
    for package in (workrail_lint, pytest_workrail):
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            found[path.relative_to(root.parent).as_posix()] = set(opened(nodes)), set(imported(nodes))
    return found


def opened(nodes: list[ast.AST]) -> Iterator[str]:
    """Calls that open, write or rename a file."""
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id == "open":
            yield "open"
        elif isinstance(called, ast.Attribute):
            owner = called.value
            if isinstance(owner, ast.Name) and owner.id in ("os", "io", "shutil") and called.attr in OF_OS:
                yield f"{owner.id}.{called.attr}"
            elif called.attr == "replace" and len(node.args) == 1 and not node.keywords:  # of a path
                yield ".replace"
            elif called.attr == "read_text" and ast.unparse(owner).startswith("distribution("):
                pass  # what an installer noted about a package
            elif called.attr in OF_PATHS or (
                called.attr in ("open", "read_bytes")
                and not (isinstance(owner, ast.Name) and owner.id in ("files", "webbrowser"))
            ):
                yield f".{called.attr}"


def test_everything_goes_through_one_door() -> None:
    found = {name: sorted(calls) for name, (calls, _) in sources().items() if name not in ALLOWED}
    assert {name: calls for name, calls in found.items() if calls} == COPIES


def imported(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_nobody_has_another_door() -> None:
    names = {*OTHER_DOORS, *(f"{module}.{name}" for module in ("os", "io", "shutil") for name in OF_OS)}
    found = {name: sorted(names & imports) for name, (_, imports) in sources().items()}
    # The live page listens, on loopback.
    assert {name: modules for name, modules in found.items() if modules} == {"pytest_workrail/live/server.py": ["http"]}


# ---------------------------------------------------------------------------------------------------------- reading


def special_files(tmp_path: Path) -> dict[str, str]:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    growing = tmp_path / "large"
    with open(growing, "wb") as file:
        file.truncate(10**12)
    endless = tmp_path / "endless.json"
    endless.symlink_to("/dev/zero")
    paths = {"fifo": fifo, "loop": loop, "huge": growing, "link to a device": endless, "folder": tmp_path}
    return {**{name: str(path) for name, path in paths.items()}, "device": "/dev/zero", "kernel log": "/proc/kmsg"}


KINDS = ["fifo", "loop", "huge", "link to a device", "folder", "device", "kernel log"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_regular_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    read = read_file(special_files(tmp_path)[kind])
    assert not read.is_ok
    with pytest.raises(OSError, match=r"."):
        read_bytes(special_files_at(tmp_path)[kind])


def special_files_at(tmp_path: Path) -> dict[str, str]:
    names = {"fifo": "pipe", "loop": "loop", "huge": "large", "link to a device": "endless.json", "folder": "."}
    made = {kind: str(tmp_path / name) for kind, name in names.items()}
    return {**made, "device": "/dev/zero", "kernel log": "/proc/kmsg"}


def test_a_file_that_grows_while_it_is_read_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "grows"
    path.write_bytes(b"x")
    read = os.read
    monkeypatch.setattr(os, "read", lambda handle, size: read(handle, size) or b"y" * min(size, 1000))
    with pytest.raises(OSError, match="more than 5,000 bytes"):
        read_bytes(str(path), 5_000)


COMMANDS = {
    "workflow": ["check", "{}"],
    "catalog": ["check", "--catalog", "{}", "a.json"],
    "routines": ["compile", "--routines", "{}", "a.json"],
    "bindings": ["compile", "--bindings", "{}", "a.json"],
    "configuration": ["check", "--config", "{}", "a.json"],
    "baseline": ["check", "--baseline", "{}", "a.json"],
    "lockfile": ["lock", "--check", "--lockfile", "{}", "a.json"],
    "canonical": ["canonical", "{}"],
    "diff": ["diff", "{}", "a.json"],
    "graph": ["graph", "{}"],
}


@pytest.mark.parametrize("kind", ["fifo", "huge", "device", "link to a device"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_waits_for_or_swallows_one(
    command: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    special = special_files(tmp_path)[kind]
    assert main([part.format(special) for part in COMMANDS[command]]) in (0, 1, 2, 3)
    shown = capsys.readouterr()
    assert "internal error" not in shown.err


@pytest.mark.parametrize("name", ["workrail-lint.toml", "pyproject.toml"])
@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_a_configuration_that_is_no_file_does_not_hang(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    if kind == "fifo":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to("/dev/zero")
    assert main(["check", "a.json"]) in (0, 2)


# ---------------------------------------------------------------------------------------------------------- writing


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "a.json").write_text(FIXABLE)
    return folder


FIXABLE = json.dumps({**workflow(step("first"), step("second")), "metaGuidance": ["a", "a"]}, indent=2).replace(
    "\n  ]", ",\n  ]"
)


def test_a_fix_does_not_leave_the_project(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = project.parent / "outside.json"
    outside.write_text(FIXABLE)
    (project / "b.json").symlink_to(outside)
    main(["check", "--fix", "--unsafe-fixes", "--no-cache", "."])
    assert outside.read_text() == FIXABLE
    assert (project / "a.json").read_text() != FIXABLE
    assert "b.json is a symbolic link that leads out of the project" in capsys.readouterr().out


def test_a_fix_of_a_named_link_does_not_write_through_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = project.parent / "outside.json"
    outside.write_text(FIXABLE)
    (project / "b.json").symlink_to(outside)
    main(["check", "--fix", "--unsafe-fixes", "--no-cache", "b.json"])
    assert outside.read_text() == FIXABLE
    assert "b.json can't be written (an output must be a regular file, not a symlink)" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["check", "--fix", "--unsafe-fixes", "--no-cache"], ["format"]], ids=" ".join)
@pytest.mark.parametrize("named", ["linked/b.json", "linked", "./linked/../linked/b.json"])
def test_nothing_is_written_through_a_linked_folder(
    command: list[str], named: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    text = FIXABLE if "--fix" in command else json.dumps(workflow(step("first"), step("second")))
    (outside / "b.json").write_text(text)
    (project / "linked").symlink_to(outside)
    main([*command, named])
    assert (outside / "b.json").read_text() == text
    assert [path.name for path in outside.iterdir()] == ["b.json"]


def test_nothing_outside_is_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a log that everybody can read, a line of a file outside would be a secret told."""
    secret = project.parent / "secret.json"
    secret.write_text('{"id": "x", "steps": [{"prompt": "hunter2"}]')
    (project / "b.json").symlink_to(secret)
    main(["check", "--no-cache", "."])
    assert "hunter2" not in capsys.readouterr().out


@pytest.mark.parametrize("secret", ["hunter2\n", "12-hunter2", "TOKEN=hunter2 x\n"])
@pytest.mark.parametrize("is_linked", [True, False])
@pytest.mark.parametrize("setting", ["catalog", "baseline", "routines", "bindings"])
def test_no_word_of_a_file_that_a_repository_names_is_shown(
    setting: str, is_linked: bool, secret: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pull request can name any file in its configuration or in a scenario, and read the log of the check."""
    (project.parent / "secret").write_text(secret)
    (project / "routines").mkdir()
    for name in ("named.json", "routines/r.json"):
        (project / name).symlink_to(project.parent / "secret")
    named = "routines" if setting == "routines" else "named.json" if is_linked else "../secret"
    (project / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    (project / "workrail-lint.toml").write_text(f'{setting} = "{named}"\n')
    (project / "a.scenario.json").write_text(json.dumps({"workflow": named}))
    for command in (["check", "."], ["compile", "a.json"]):
        main(command)
        shown = capsys.readouterr()
        assert "hunter2" not in shown.out + shown.err, command


@pytest.mark.parametrize(
    "command",
    [
        ["check", "--output", "out"],
        ["check", "--write-baseline", "out"],
        ["lock", "--update", "--lockfile", "out"],
        ["graph", "a.json", "--output", "out"],
        ["catalog", "export", "--output", "out"],
    ],
    ids=lambda command: command[0],
)
def test_no_output_is_written_through_a_link(command: list[str], project: Path) -> None:
    outside = project.parent / "outside.json"
    outside.write_text("precious")
    (project / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    (project / "out").symlink_to(outside)
    assert main(command) == 2
    assert outside.read_text() == "precious"


def test_outputs_still_go_to_standard_output(project: Path) -> None:
    (project / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    command = [sys.executable, "-m", "workrail_lint", "graph", "a.json", "--output", "/dev/stdout"]
    shown = subprocess.run(command, capture_output=True, check=False, text=True)
    assert "flowchart" in shown.stdout


def test_mode_and_owner_stay(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o604)
    if os.geteuid() == 0:
        os.chown(path, 12345, 23456)
    before = path.stat()
    write_atomically(str(path), b"new", str(tmp_path))
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert path.read_text() == "new"


def test_folders_on_the_way_are_no_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "linked").symlink_to(outside)
    with pytest.raises(OSError, match="a folder in its path is a symlink"):
        write_atomically(str(inside / "linked" / "deep" / "a"), b"x", str(inside), parents=True)
    with pytest.raises(OSError, match="not below"):
        write_atomically(str(inside / ".." / "a"), b"x", str(inside), parents=True)
    write_atomically(str(inside / "made" / "deep" / "a"), b"x", str(inside), parents=True)
    assert list(outside.iterdir()) == []


def test_a_pipe_is_not_written_in_place(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"."):
        write_in_place(str(tmp_path / "pipe"), b"x", str(tmp_path))


# -------------------------------------------------------------------------------------------------------- leftovers

ENDLESS = """
import os
import sys
from workrail_lint.base.files import write_atomically
print("ready", flush=True)
data = [b"a" * 200_000, b"b" * 200_000]
for turn in range(10**9):
    write_atomically(sys.argv[1], data[turn % 2], os.path.dirname(sys.argv[1]))
"""


def test_killed_writers_lose_nothing_and_leave_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_atomically(str(path), b"a" * 200_000, str(tmp_path))
    left = 0
    for turn in range(12):
        process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(0.003 * turn)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
        assert path.read_bytes() in (b"a" * 200_000, b"b" * 200_000)
        left += len(list(tmp_path.iterdir())) - 1
        write_atomically(str(path), b"a" * 200_000, str(tmp_path))
        assert list(tmp_path.iterdir()) == [path]
    assert left > 0  # so that there was something to sweep


def test_what_is_being_written_is_not_swept(tmp_path: Path) -> None:
    path = tmp_path / "a"
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    for _ in range(2_000):
        sweep(str(tmp_path), str(tmp_path))
    assert process.poll() is None
    process.kill()
    _, error = process.communicate()
    assert error == b""


def test_only_leftovers_of_ours_are_swept(tmp_path: Path) -> None:
    names = [".workrail-notes", "x.tmp", ".workrail-cache"]
    for name in names:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".workrail-0123456789abcdef.tmp").symlink_to(tmp_path / "x.tmp")
    sweep(str(tmp_path), str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {*names, ".workrail-0123456789abcdef.tmp"}


@pytest.mark.parametrize(
    "command",
    [
        ["mutate", "a.json", "--html", "{}"],
        ["mutate", "a.json", "--report", "{}"],
        ["explore", "a.json", "--runs", "1", "--out", "{}/folder"],
        ["generate", "a.json", "--out", "{}/folder"],
        ["golden", "diff", "--html", "{}"],
    ],
    ids=lambda command: " ".join(command[:1] + command[-2:-1]),
)
def test_no_result_of_a_test_command_is_written_through_a_link(
    command: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_workrail.cli import main as test_main

    outside = project.parent / "outside.json"
    outside.write_text("precious")
    (project / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    (project / "out").symlink_to(outside)
    code = test_main([part.format("out") for part in command])
    assert "internal error" not in capsys.readouterr().err
    assert code == 2 or command[0] == "explore"  # which has nothing to write as long as no promise is broken
    assert outside.read_text() == "precious"


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_an_editor_does_not_wait_for_a_configuration_that_is_no_file(kind: str, project: Path) -> None:
    """An action of the language server adds to the configuration, so it reads it first."""
    pytest.importorskip("pygls", reason="pygls is not installed")
    from types import SimpleNamespace

    from workrail_lint.findings import Edit
    from workrail_lint.server.protocol import Server, _workspace_edit

    path = str(project / "workrail-lint.toml")
    if kind == "fifo":
        os.mkfifo(path)
    else:
        Path(path).symlink_to("/dev/zero")
    server = SimpleNamespace(documents={})
    server.read = lambda path: Server.read(server, path)  # type: ignore[arg-type]
    made = _workspace_edit(server, {path: [Edit(0, 0, "[[suppress]]")]})  # type: ignore[arg-type]
    assert made.document_changes is not None
    assert len(made.document_changes) == 2
