"""Git sees the objects of a repository and our settings, and still resolves what a user may name in any layout."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from effort import peak_memory
from test_hostile_git import git

from workrail_lint.base.files import write_in_place
from workrail_lint.base.git import Repository, find_repository
from workrail_lint.cli import main

pytestmark = pytest.mark.promise("Git runs no program", "every layout of a repository, every way to name a commit")

REVISIONS = [
    *("HEAD", "@", "HEAD~2", "main", "main^", "heads/main", "refs/heads/main", "v1", "tags/v1", "v1~1", "light"),
    *("topic/one", "origin/main", "origin", "remotes/origin/topic", "HEAD^{/two}", ":/two", "ORIG_HEAD"),
    *("HEAD@{0}", "main@{1}", "@{1}", "@{-1}", "v1-1-gSHORT", "SHORT", "FULL", "FULL^^", "BLOB", "nowhere", "v1:a.txt"),
]


def commit(folder: Path, text: str) -> None:
    (folder / "a.txt").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", f"--message={text}")


def history(folder: Path, *options: str) -> Path:
    """A repository with five commits, branches, tags, remote branches and reflogs."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main", *options)
    for text in ("one", "two", "three"):
        commit(folder, text)
    git(folder, "tag", "--annotate", "--message=v1", "v1")
    git(folder, "tag", "light", "HEAD~1")
    git(folder, "checkout", "--quiet", "-b", "topic/one")
    commit(folder, "four")
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD~1")
    git(folder, "update-ref", "refs/remotes/origin/topic", "HEAD")
    git(folder, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    git(folder, "checkout", "--quiet", "main")
    commit(folder, "five")
    git(folder, "reset", "--quiet", "--hard", "HEAD")
    return folder


def plain(base: Path) -> Path:
    return history(base / "plain")


def packed(base: Path) -> Path:
    folder = history(base / "packed")
    git(folder, "gc", "--quiet", "--prune=now")
    git(folder, "pack-refs", "--all")
    return folder


def packed_then_moved(base: Path) -> Path:
    """The file of a reference counts for more than the list."""
    folder = packed(base)
    commit(folder, "six")
    return folder


def detached(base: Path) -> Path:
    folder = history(base / "detached")
    git(folder, "checkout", "--quiet", "--detach", "v1")
    return folder


def worktree(base: Path) -> Path:
    history(base / "main")
    git(base / "main", "worktree", "add", "--quiet", "--detach", str(base / "tree"), "topic/one")
    commit(base / "tree", "in the worktree")
    return base / "tree"


def submodule(base: Path) -> Path:
    history(base / "part")
    outer = history(base / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(base / "part"), "inner")
    return outer / "inner"


def separate(base: Path) -> Path:
    return history(base / "separate", f"--separate-git-dir={base / 'elsewhere'}")


def bare_beside_worktrees(base: Path) -> Path:
    """A bare repository in a hidden folder that a `.git` file names."""
    history(base / "source")
    folder = base / "project"
    folder.mkdir()
    git(base, "clone", "--quiet", "--bare", str(base / "source"), str(folder / ".bare"))
    (folder / ".git").write_text("gitdir: ./.bare\n")
    return folder


def alternates(base: Path) -> Path:
    history(base / "source")
    git(base, "clone", "--quiet", "--shared", str(base / "source"), str(base / "clone"))
    return base / "clone"


def relative_alternates(base: Path) -> Path:
    folder = alternates(base)
    (folder / ".git" / "objects" / "info" / "alternates").write_text("../../../source/.git/objects\n")
    return folder


def shallow(base: Path) -> Path:
    history(base / "source")
    git(base, "clone", "--quiet", "--depth=3", (base / "source").as_uri(), str(base / "clone"))
    return base / "clone"


def sha256(base: Path) -> Path:
    return history(base / "long", "--object-format=sha256")


def linked_objects(base: Path) -> Path:
    """As some tools lay out many checkouts: the objects are elsewhere. References that are a link are not read."""
    folder = history(base / "linked")
    (folder / ".git" / "objects").rename(base / "objects")
    (folder / ".git" / "objects").symlink_to(base / "objects")
    return folder


LAYOUTS: list[Callable[[Path], Path]] = [
    *(plain, packed, packed_then_moved, detached, worktree, submodule, separate, bare_beside_worktrees, alternates),
    *(relative_alternates, shallow, sha256, linked_objects),
]


def opened(folder: Path) -> Repository:
    repository = find_repository(str(folder), str(folder / "a.txt"))
    assert repository is not None
    assert repository.folder == str(folder)
    return repository


def by_git(folder: Path, revision: str) -> str | None:
    try:
        return git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except subprocess.CalledProcessError:
        return None


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_every_revision_is_what_git_says(layout: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = layout(tmp_path)
    repository = opened(folder)
    full = git(folder, "rev-parse", "HEAD")
    idents = {"SHORT": full[:9], "FULL": full, "BLOB": git(folder, "rev-parse", "HEAD:a.txt")}
    asked = [re.sub("SHORT|FULL|BLOB", lambda found: idents[found[0]], each) for each in REVISIONS]
    assert {each: repository.commit(each) for each in asked} == {each: by_git(folder, each) for each in asked}
    assert repository.commit("HEAD") == full


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_files_and_times_are_what_git_says(layout: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = layout(tmp_path)
    repository = opened(folder)
    head = repository.commit("HEAD")
    assert head is not None
    files = repository.files(head)
    assert files is not None
    assert set(files) == set(git(folder, "ls-tree", "-r", "--name-only", "HEAD").split())
    assert (repository.read(files["a.txt"]) or b"").decode() == git(folder, "cat-file", "blob", "HEAD:a.txt")
    when = git(folder, "log", "-1", "--format=%ct", "--", "a.txt")
    assert repository.last_changes(["a.txt", "gone"]) == {"a.txt": int(when)}


def test_a_configuration_that_git_refuses_is_not_even_read(tmp_path: Path) -> None:
    folder = plain(tmp_path)
    expected = git(folder, "rev-parse", "HEAD")
    (folder / ".git" / "config").write_text("[this is no configuration")
    assert opened(folder).commit("HEAD") == expected


def test_replaced_commits_stay_what_they_were(tmp_path: Path) -> None:
    folder = plain(tmp_path)
    expected = git(folder, "rev-parse", "HEAD~1")
    git(folder, "replace", "HEAD", "HEAD~2")
    assert opened(folder).commit("HEAD~1") == expected


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_can_be_read(tmp_path: Path) -> None:
    folder = plain(tmp_path)
    expected = git(folder, "rev-parse", "HEAD")
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, 12345, 12345)
    assert by_git(folder, "HEAD") is None
    assert opened(folder).commit("HEAD") == expected


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = plain(tmp_path)
    before = sorted(folder.rglob("*"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    repository = opened(folder)
    head = repository.commit("main")
    assert head is not None
    repository.files(head)
    repository.last_changes(["a.txt"])
    assert list(temporary.iterdir()) == []
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("revision", ["@{upstream}", "main@{u}", "@{PUSH}"])
def test_what_only_the_configuration_knows_is_explained(revision: str, tmp_path: Path) -> None:
    repository = opened(plain(tmp_path))
    assert repository.commit(revision) is None
    assert "name the branch itself" in repository.why_unknown(revision)
    assert repository.why_unknown("nowhere") == ""


def test_many_references_are_in_memory_about_twice(tmp_path: Path) -> None:
    folder = history(tmp_path / "many")
    ident = git(folder, "rev-parse", "HEAD").strip()
    lines = "".join(f"{ident} refs/tags/t{number:06}\n" for number in range(50_000))
    (folder / ".git" / "packed-refs").write_text(lines)
    found: list[object] = []
    assert peak_memory(lambda: found.append(Repository(str(folder)).commit("t000007"))) < 4 * len(lines)
    assert found == [ident]


def test_a_full_disk_is_said_whatever_git_could_not_be_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = plain(tmp_path)
    (folder / ".git" / "shallow").write_text(git(folder, "rev-parse", "HEAD"))
    monkeypatch.chdir(folder)
    calls = failing = 0

    def failing_at_one(call: Callable[..., object]) -> Callable[..., object]:
        def guarded(path: object, *arguments: object) -> object:
            nonlocal calls
            if not os.path.isdir(str(path)):
                calls += 1
                if calls == failing:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "HEAD")
            return call(path, *arguments)

        return guarded

    monkeypatch.setattr("workrail_lint.base.git.write_in_place", failing_at_one(write_in_place))
    monkeypatch.setattr(os, "mkdir", failing_at_one(os.mkdir))
    for failing in count(1):
        calls = 0
        code = main(["diff", "--git", "HEAD@{0}", "a.json"])
        said = capsys.readouterr().err
        if calls < failing:
            break
        wanted = "workrail-lint: input or output failed: git needs a temporary folder (No space left on device)\n"
        assert (code, said) == (2, wanted), failing
    assert said == "workrail-lint: a.json does not exist\n"
    assert failing > 8
