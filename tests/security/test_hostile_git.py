"""Repositories that try to make git run a program: it never runs, in no command that starts git."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.systems.blocks.workspaces import Repository
from workrail_lint.base import processes
from workrail_lint.base.git import find_repository
from workrail_lint.cli import main
from workrail_lint.cli.revision import Revision
from workrail_lint.systems.workrail.rules.samples import step, workflow

pytestmark = [
    pytest.mark.promise("Git runs no program", "hostile repositories of each class"),
    pytest.mark.promise("A revision costs a bounded time", "trees without an end"),
]

WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.invalid"}
WHO |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.invalid"}
MISSING = "1234567890123456789012345678901234567890"


def git(folder: Path, *arguments: str, given: bytes = b"") -> str:
    """Git as an attacker uses it while building a repository."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), **WHO, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *arguments], cwd=folder, env=env, check=True, capture_output=True, input=given)
    return done.stdout.decode().strip()


class Trap:
    """A program that leaves a mark when it runs."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder / "it-ran"
        self.path = folder / "trap.sh"
        self.path.write_text(f"#!/bin/sh\ntouch '{self.mark}'\nexit 1\n")
        self.path.chmod(0o755)


@pytest.fixture
def trap(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    return Trap(tmp_path_factory.mktemp("trap"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one workflow that changed since its only commit."""
    folder = tmp_path / "project"
    (folder / "workflows").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    write_workflow(folder / "workflows" / "a.json", "Do it.")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=start")
    write_workflow(folder / "workflows" / "a.json", "Do it well.")
    monkeypatch.chdir(folder)
    return folder


def write_workflow(path: Path, prompt: str) -> None:
    path.write_text(json.dumps(workflow(step("first"), step("second", prompt)), indent=2))


def configure(own: Path, **settings: str) -> None:
    for key, value in settings.items():
        git(own, "config", "--file", str(own / "config"), key.replace("__", "."), value)


# ------------------------------------------------------------------------------------------------------------- diff


def embed_bare(project: Path, trap: Trap) -> None:
    """The folder of the workflow is a bare repository, whose missing objects come over a command of its choice."""
    inner = project / "workflows"
    git(inner, "init", "--quiet", "--bare", "--initial-branch=main", "made.git")
    for path in (inner / "made.git").iterdir():
        path.rename(inner / path.name)
    config = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tworktree = .\n"
    config += f"\tsshCommand = {trap.path}\n\tfsmonitor = {trap.path}\n[extensions]\n\tpartialClone = origin\n"
    config += '[remote "origin"]\n\turl = ssh://x@localhost/x\n\tpromisor = true\n\tpartialclonefilter = blob:none\n'
    (inner / "config").write_text(config)
    (inner / "refs" / "heads" / "main").write_text(MISSING + "\n")


def embed_with_work_tree(project: Path, trap: Trap) -> None:
    embed_bare(project, trap)
    configure(project / "workflows", core__worktree=str(project))


def promise_objects(project: Path, trap: Trap) -> None:
    """An unpacked archive with a `.git` of its own: the commit's objects are promised by a remote."""
    own = project / ".git"
    configure(
        own, core__repositoryformatversion="1", extensions__partialClone="origin", core__sshCommand=str(trap.path)
    )
    configure(own, remote__origin__url="ssh://x@localhost/x", remote__origin__promisor="true")
    (own / "refs" / "heads" / "main").write_text(MISSING + "\n")


def promise_over_helper(project: Path, trap: Trap) -> None:
    promise_objects(project, trap)
    configure(project / ".git", remote__origin__url=f"ext::{trap.path}", protocol__ext__allow="always")


def promise_over_file(project: Path, trap: Trap) -> None:
    promise_objects(project, trap)
    configure(project / ".git", remote__origin__url=str(project), remote__origin__uploadpack=str(trap.path))


def promise_over_include(project: Path, trap: Trap) -> None:
    promise_objects(project, trap)
    git(project, "config", "--unset", "core.sshCommand")
    (project / "more").write_text(f"[core]\n\tsshCommand = {trap.path}\n\tfsmonitor = {trap.path}\n")
    configure(project / ".git", include__path="../more")


def monitor(project: Path, trap: Trap) -> None:
    configure(project / ".git", core__fsmonitor=str(trap.path), core__hooksPath=str(trap.path.parent))


def drive_diffs(project: Path, trap: Trap) -> None:
    """Drivers for every way of showing a file."""
    (project / ".gitattributes").write_text("*.json diff=trap filter=trap merge=trap\n")
    for key in ("diff.trap.command", "diff.trap.textconv", "filter.trap.smudge", "filter.trap.clean", "diff.external"):
        git(project, "config", key, str(trap.path))
    git(project, "config", "core.pager", str(trap.path))
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / ".git" / "info" / "attributes").write_text("*.json diff=trap filter=trap\n")


def sign(project: Path, trap: Trap) -> None:
    """A signature in the commit, and a program that is to look at it."""
    commit = git(project, "cat-file", "commit", "HEAD")
    head, _, message = commit.partition("\n\n")
    kinds = ("-----BEGIN PGP SIGNATURE-----", "-----BEGIN SSH SIGNATURE-----", "-----BEGIN SIGNED MESSAGE-----")
    for kind in kinds:
        end = kind.replace("BEGIN", "END")
        signed = f"{head}\ngpgsig {kind}\n \n AAAA\n {end}\n\n{message}\n"
        ident = git(project, "hash-object", "--literally", "-t", "commit", "-w", "--stdin", given=signed.encode())
        head = head.partition("\n")[0] + f"\nparent {ident}\n" + head.partition("\n")[2].split("\n", 1)[-1]
        git(project, "update-ref", "refs/heads/main", ident)
    for key in ("gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program"):
        git(project, "config", key, str(trap.path))
    git(project, "config", "gpg.ssh.allowedSignersFile", str(trap.path))
    git(project, "config", "log.showSignature", "true")


def run_everything(project: Path, trap: Trap) -> None:
    """Further settings that start a program in some command of git."""
    for key in ("alias.log", "alias.rev-parse", "alias.ls-tree", "alias.cat-file"):
        git(project, "config", key, f"!{trap.path}")
    keys = (
        "core.alternateRefsCommand",
        "core.gitProxy",
        "core.askPass",
        "sequence.editor",
        "uploadpack.packObjectsHook",
    )
    for key in (*keys, "pager.log", "pager.rev-parse", "interactive.diffFilter", "difftool.x.cmd", "trailer.x.command"):
        git(project, "config", key, str(trap.path))


CLASSES = [
    embed_bare,
    embed_with_work_tree,
    promise_objects,
    promise_over_helper,
    promise_over_file,
    promise_over_include,
    monitor,
    drive_diffs,
    sign,
    run_everything,
]
COMMANDS = [
    ["diff", "--git", "HEAD", "workflows/a.json"],
    ["diff", "--git", "HEAD", "workflows"],
    ["diff", "--git", "HEAD", "workflows/new.json"],
    ["studio", "--git", "HEAD", "--output", "studio.html", "workflows"],
    ["semver", "--base", "HEAD", "workflows"],
    ["lock", "workflows"],
    ["check", "workflows"],
]


@pytest.mark.parametrize("build", CLASSES, ids=lambda build: build.__name__)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_runs_what_a_repository_names(
    build: Callable[[Path, Trap], None], command: list[str], project: Path, trap: Trap
) -> None:
    build(project, trap)
    write_workflow(project / "workflows" / "new.json", "Do it anew.")
    assert main(command) in (0, 1, 2)
    assert not trap.mark.exists()


def test_an_embedded_repository_is_not_the_projects(
    project: Path, trap: Trap, capsys: pytest.CaptureFixture[str]
) -> None:
    embed_bare(project, trap)
    assert main(["diff", "--git", "HEAD", "workflows/a.json"]) == 1
    assert "Do it well." in capsys.readouterr().out


def test_the_environment_leads_nowhere_else(
    project: Path, trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap.path))
    assert main(["diff", "--git", "HEAD", "workflows/a.json"]) == 1
    assert not trap.mark.exists()


def test_git_is_never_taken_from_the_current_folder(project: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(trap.path, project / "git")
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    assert main(["diff", "--git", "HEAD", "workflows/a.json"]) == 1
    assert not trap.mark.exists()


@pytest.mark.parametrize(
    "revision",
    ["--output=stolen", "-p", "--upload-pack=x", "HEAD --output=stolen", "HEAD:workflows", "", "nowhere", "\0"],
)
def test_a_revision_is_never_an_option(revision: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", f"--git={revision}", "workflows/a.json"]) == 2
    assert capsys.readouterr().err.startswith("workrail-lint: git: not a revision: ")
    assert not (project / "stolen").exists()


@pytest.mark.parametrize("name", ["--output=stolen.json", "-p.json", ":(glob)x.json", "HEAD:a.json", "a b\nc.json"])
def test_a_file_name_is_never_an_option(name: str, project: Path) -> None:
    folder = project / "workflows"
    write_workflow(folder / name, "Do it.")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "--message=named")
    write_workflow(folder / name, "Do it well.")
    assert main(["diff", "--git", "HEAD", f"workflows/{name}"]) == 1
    assert main(["diff", "--git", "HEAD", "workflows"]) == 1
    assert not (project / "stolen.json").exists()


def test_a_file_that_unpacks_to_much_more_is_not_read(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "workflows" / "a.json").write_bytes(b" " * 70_000_000)
    git(project, "add", ".")
    git(project, "commit", "--quiet", "--message=bomb")
    write_workflow(project / "workflows" / "a.json", "Do it.")
    assert main(["diff", "--git", "HEAD", "workflows/a.json"]) == 2
    assert "has more than 67,108,864 bytes" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["diff", "--git"], ["semver", "--check", "--base"]], ids=" ".join)
def test_a_file_that_the_clone_lacks_is_not_taken_for_a_new_one(
    command: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a partial clone, where a comparison with nothing would find nothing wrong."""
    git(project, "commit", "--quiet", "--all", "--message=again", "--allow-empty")
    ident = git(project, "rev-parse", "HEAD:workflows/a.json")
    (project / ".git" / "objects" / ident[:2] / ident[2:]).unlink()
    assert main([*command, "HEAD", "workflows"]) == 2
    assert "workflows/a.json can't be read from HEAD" in capsys.readouterr().err


def test_a_repository_below_the_current_folder_is_found(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    assert main(["diff", "--git", "HEAD", "project/workflows/a.json"]) == 1


# ----------------------------------------------------------------------------------------------------- block driver


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.py").write_text("a\n")
    Repository(str(folder)).create(with_files=True)
    return folder


def hooks(folder: Path, trap: Trap) -> None:
    for name in ("post-checkout", "post-index-change", "pre-commit", "reference-transaction", "post-commit"):
        (folder / ".git" / "hooks").mkdir(exist_ok=True)
        shutil.copy(trap.path, folder / ".git" / "hooks" / name)
    configure(folder / ".git", core__hooksPath=str(folder / ".git" / "hooks"))


def fsmonitor(folder: Path, trap: Trap) -> None:
    configure(folder / ".git", core__fsmonitor=str(trap.path))
    git(folder, "update-index", "--fsmonitor")
    trap.mark.unlink(missing_ok=True)


def filters(folder: Path, trap: Trap) -> None:
    """A filter for all files, committed, and so that git has to look at them anew."""
    (folder / ".gitattributes").write_text("* filter=trap\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=attributes")
    for name in ("clean", "smudge"):
        configure(folder / ".git", **{f"filter__trap__{name}": str(trap.path)})
    (folder / ".git" / "info" / "attributes").write_text("* filter=trap\n")
    os.utime(folder / "a.py", (1, 1))


def filter_process(folder: Path, trap: Trap) -> None:
    filters(folder, trap)
    configure(folder / ".git", filter__trap__process=str(trap.path), filter__trap__required="true")


def included_filter(folder: Path, trap: Trap) -> None:
    filters(folder, trap)
    shutil.copy(folder / ".git" / "config", folder / ".git" / "more")
    (folder / ".git" / "config").write_text("[include]\n\tpath = more\n")


def conditional_filter(folder: Path, trap: Trap) -> None:
    """A filter that only a worktree of the repository has."""
    included_filter(folder, trap)
    (folder / ".git" / "config").write_text(f'[includeIf "gitdir:**/worktrees/**"]\n\tpath = {folder}/.git/more\n')


def filter_of_the_worktree(folder: Path, trap: Trap) -> None:
    filters(folder, trap)
    (folder / ".git" / "config").rename(folder / ".git" / "config.worktree")
    (folder / ".git" / "config").write_text(
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n"
    )


def submodule(folder: Path, trap: Trap) -> None:
    inner = folder / "part"
    inner.mkdir()
    (inner / "a.py").write_text("a\n")
    Repository(str(inner)).create(with_files=True)
    git(folder, "add", "part")
    git(folder, "commit", "--quiet", "--message=part")
    filters(inner, trap)
    fsmonitor(inner, trap)


def common_folder(folder: Path, trap: Trap) -> None:
    """The configuration of another repository, by a file in git's own folder."""
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    filters(other, trap)
    fsmonitor(other, trap)
    (folder / ".git" / "commondir").write_text(str(other / ".git"))
    (folder / ".gitattributes").write_text("* filter=trap\n")


def programs(folder: Path, trap: Trap) -> None:
    """Everything else that names a program."""
    for key in ("core.editor", "core.pager", "gpg.program", "core.askPass", "credential.helper", "core.sshCommand"):
        git(folder, "config", key, str(trap.path))
    git(folder, "config", "commit.gpgSign", "true")
    git(folder, "config", "status.submoduleSummary", "true")
    git(folder, "config", "alias.status", f"!{trap.path}")


@pytest.mark.parametrize(
    "build",
    [
        hooks,
        fsmonitor,
        filters,
        filter_process,
        included_filter,
        conditional_filter,
        filter_of_the_worktree,
        submodule,
        common_folder,
        programs,
    ],
    ids=lambda build: build.__name__,
)
def test_the_block_driver_runs_nothing_that_a_workspace_names(
    build: Callable[[Path, Trap], Any], workspace: Path, trap: Trap
) -> None:
    build(workspace, trap)
    repository = Repository(str(workspace))
    assert repository.has_head in (True, False)
    assert repository.is_clean in (True, False)
    tree = workspace.parent / "tree"
    repository.add_worktree(str(tree))
    assert (tree / "a.py").read_text() == "a\n"
    shutil.rmtree(tree)
    repository.forget_worktrees()
    assert not trap.mark.exists()


def test_git_works_on_the_workspace_and_not_where_its_configuration_points(workspace: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    configure(workspace / ".git", core__worktree=str(elsewhere))
    repository = Repository(str(workspace))
    assert repository.is_clean
    (workspace / "a.py").write_text("changed\n")
    assert not repository.is_clean


@pytest.mark.parametrize("name", ["worktrees", "worktrees/kept"])
def test_what_a_link_among_the_worktrees_leads_to_is_neither_changed_nor_removed(
    name: str, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    kept = outside / "kept" if name == "worktrees" else outside
    kept.mkdir(parents=True)
    (kept / "gitdir").write_text(str(tmp_path / "gone" / ".git"))
    link = workspace / ".git" / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside)
    repository = Repository(str(workspace))
    assert repository.worktrees() == [str(workspace)]
    repository.forget_worktrees()
    assert repository.has_head == (name != "worktrees")
    if repository.has_head:
        repository.add_worktree(str(tmp_path / "kept"))
        assert repository.worktrees() == [str(workspace), str(tmp_path / "kept")]
        assert git(tmp_path / "kept", "status", "--porcelain") == ""
    assert sorted(path.name for path in outside.rglob("*")) == sorted({"gitdir", kept.name} - {"outside"})


@pytest.mark.parametrize("place", ["refs/heads/main", "packed-refs", "shallow", "HEAD"])
def test_a_pipe_in_the_place_of_a_file_holds_nothing_up(place: str, project: Path) -> None:
    path = project / ".git" / place
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert main(["diff", "--git", "HEAD", "workflows/a.json"]) in (1, 2)


@pytest.mark.parametrize("name", ["refs", "logs", "packed-refs"])
def test_references_that_are_a_link_are_not_read(name: str, project: Path, tmp_path: Path) -> None:
    """A link to the root folder would have everything on the machine opened, in search of a branch."""
    ident = git(project, "rev-parse", "HEAD")
    files = {
        "refs": ("heads/secret", ident, "secret"),
        "logs": ("HEAD", f"{ident} {ident} a <a@example.invalid> 1 +0000\tx\n" * 2, "HEAD@{1}"),
        "packed-refs": ("", f"{ident} refs/heads/secret\n", "secret"),
    }
    inner, content, revision = files[name]
    outside = tmp_path / "outside"
    target = outside / inner
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content)
    path = project / ".git" / name
    found = find_repository(str(project), str(project / "x"))
    assert found is not None
    if path.is_dir():
        shutil.rmtree(path)
    if outside.is_dir():
        shutil.copytree(outside, path)
    else:
        shutil.copy(outside, path)
    assert found.commit(revision) == ident
    path.rename(tmp_path / "not-a-link")
    path.symlink_to(outside)
    assert found.commit(revision) is None


def plant_tree_bomb(project: Path) -> None:
    """Commit 10^10 files in eleven objects: every folder is the one below it, ten times over."""
    blob = git(project, "hash-object", "-w", "--stdin", given=b"{}").strip()
    entries = "".join(f"100644 blob {blob}\t{number}.json\n" for number in range(10))
    for _ in range(10):
        tree = git(project, "mktree", given=entries.encode()).strip()
        entries = "".join(f"040000 tree {tree}\td{number}\n" for number in range(10))
    commit = git(project, "commit-tree", tree, "-p", "HEAD", "-m", "bomb").strip()
    git(project, "update-ref", "HEAD", commit)


LISTINGS = {
    "diff of a file": ["diff", "--git", "HEAD", "workflows/a.json"],
    "diff of a folder": ["diff", "--git", "HEAD", "."],
    "studio": ["studio", "workflows", "--output", "page.html", "--git", "HEAD"],
}
CUT = {
    "output": (processes.Limits(seconds=60, output=1_000_000), "it printed more than 1,000,000 bytes"),
    "time": (processes.Limits(seconds=0.5, output=10**12), "it took more than 0.5 seconds"),
}


@pytest.mark.parametrize("limit", CUT)
@pytest.mark.parametrize("name", LISTINGS)
def test_a_tree_with_10_000_000_000_files_is_cut_at_its_limits(
    name: str, limit: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant_tree_bomb(project)
    limits, message = CUT[limit]
    monkeypatch.setattr("workrail_lint.base.git._LISTING", limits)
    assert main(LISTINGS[name]) == 2
    said = capsys.readouterr().err
    assert f"git: the files of HEAD can't be listed: git ls-tree was stopped: {message}" in said
    assert not Path("page.html").exists()


MEASURED = """
import resource, subprocess, sys
ran = subprocess.run(sys.argv[1:], capture_output=True)
print(ran.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, ran.stderr.decode())
"""


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units")
@pytest.mark.parametrize("name", LISTINGS)
def test_the_limits_of_a_listing(name: str, project: Path) -> None:
    """The same with the real limits, 10 seconds and 32 MB of names: in little memory, before a minute has passed."""
    plant_tree_bomb(project)
    command = [sys.executable, "-c", MEASURED, sys.executable, "-P", "-m", "workrail_lint", *LISTINGS[name]]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    code, kilobytes, message = ran.stdout.split(maxsplit=2)
    assert (code, "git ls-tree was stopped" in message) == ("2", True)
    assert int(kilobytes) < 200_000


def test_what_else_git_is_asked_for_is_cut_too(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A revision is not called unknown because git did not come to an end."""
    monkeypatch.setattr("workrail_lint.base.git._LISTING", processes.Limits(output=10))
    assert main(["diff", "--git", "HEAD", "workflows/a.json"]) == 2
    assert "(git rev-parse was stopped: it printed more than 10 bytes)" in capsys.readouterr().err


def test_dates_that_git_did_not_come_to_are_said_to_be_unknown(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [f"workflows/{'a' * number}.json" for number in range(1, 9)]
    for path in paths:
        write_workflow(project / path, "Do it.")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "--message=more")
    revision = Revision("HEAD", str(project), paths[0])
    assert len(revision.last_changes(paths)) == len(paths)
    monkeypatch.setattr("workrail_lint.base.git._LISTING", processes.Limits(output=50))
    assert revision.last_changes(paths) == {}
    assert "when files were last changed is unknown: git log was stopped: it printed" in capsys.readouterr().err
