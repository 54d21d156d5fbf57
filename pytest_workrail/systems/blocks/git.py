"""A real git repository in a temporary folder, always with the same commits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from pytest_workrail.systems.kernel.run import remove_tree
from workrail_lint.base import git
from workrail_lint.base.files import make_folders, read_bytes, remove_file, write_in_place
from workrail_lint.base.processes import Ran
from workrail_lint.systems.blocks.paths import OUTPUT_FOLDER

_WHO = "Simulated run"
_ADDRESS = "run@example.invalid"
_WHEN = "2000-01-01T00:00:00+0000"
_VARIABLES = {
    "GIT_AUTHOR_NAME": _WHO,
    "GIT_AUTHOR_EMAIL": _ADDRESS,
    "GIT_AUTHOR_DATE": _WHEN,
    "GIT_COMMITTER_NAME": _WHO,
    "GIT_COMMITTER_EMAIL": _ADDRESS,
    "GIT_COMMITTER_DATE": _WHEN,
}
# For all files and before any other word on it: nothing is made of them on their way in or out.
_VERBATIM = b"* -text -ident -filter !working-tree-encoding\n"
_SUBMODULE = b"160000 "
_GONE = "gone.txt"


def is_installed() -> bool:
    return git.executable() is not None


class Repository:
    """A repository that starts with one commit; `folder` is its main worktree.

    Agents can change everything in it. So git never works with its configuration, and which worktrees there are is read
    and written here.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._own = os.path.join(folder, git.GIT_FOLDER)
        self._worktrees = os.path.join(self._own, "worktrees")
        # Without a look at what else the folder names: what is shared with another repository is not ours to change.
        self._place = git.Place(self._own, self._own)

    def create(self, *, with_files: bool) -> None:
        """Commit everything, or nothing: then all files are changes that no commit knows.

        Where there is no file, the change is one that is gone.
        """
        is_empty = not os.listdir(self.folder)
        if os.path.lexists(self._own):
            raise RuntimeError(f"{self.folder} is a repository already")
        _output(git.run("init", "--quiet", "--template=", folder=self.folder, variables={}))
        make_folders(os.path.join(self._own, "info"), self._own)
        write_in_place(os.path.join(self._own, "info", "attributes"), _VERBATIM, self._own)
        gone = os.path.join(self.folder, _GONE) if is_empty and not with_files else None
        if gone is not None:
            write_in_place(gone, b"", self.folder)
        if with_files or gone is not None:
            _output(self._run("add", "--all", "--force"))
        tree = _output(self._run("write-tree"))
        commit = _output(self._run("commit-tree", "-m", "Start of the run", tree))
        write_in_place(os.path.join(self._own, "refs", "heads", "main"), f"{commit}\n".encode(), self._own)
        if gone is not None:
            remove_file(gone, self.folder)

    @property
    def _is_there(self) -> bool:
        """Whether git's own folder is where it was made, and not someone else's that a file or a link leads to."""
        return os.path.isdir(self._own) and not os.path.islink(self._own) and not os.path.islink(self._worktrees)

    @property
    def _head(self) -> str | None:
        return git.Repository(self.folder, self._place).commit("HEAD") if self._is_there else None

    @property
    def has_head(self) -> bool:
        return self._head is not None

    @property
    def is_clean(self) -> bool:
        """Whether a worktree of the head commit would hold all that is here, but for the output folder.

        What git ignores counts as well, and of a submodule a worktree has no file.
        """
        if not self._is_there:
            return False
        here = (".", f":(exclude){OUTPUT_FOLDER}")
        # Git would start another git in a submodule, by that one's configuration.
        everything = ("--untracked-files=all", "--ignored=traditional", "--ignore-submodules=all")
        status = self._run("status", "--porcelain", *everything, "--", *here)
        if status.code != 0 or status.output.strip():
            return False
        entries = self._run("ls-files", "--stage", "-z").output.split(b"\0")
        return not any(entry.startswith(_SUBMODULE) for entry in entries)

    def add_worktree(self, folder: str) -> None:
        """Make a worktree of the head commit, as git lays one out."""
        head = self._head
        if head is None:
            raise RuntimeError("there is no commit to make a worktree of")
        own = wanted = os.path.join(self._worktrees, os.path.basename(folder))
        number = 0
        while os.path.lexists(own):  # an agent may have made one of this name
            number += 1
            own = f"{wanted}{number}"
        make_folders(own, self._own)
        os.makedirs(folder, exist_ok=True)
        link = os.path.join(folder, git.GIT_FOLDER)
        for path, line in {
            os.path.join(own, "HEAD"): head,
            os.path.join(own, "commondir"): os.path.join(os.pardir, os.pardir),
            os.path.join(own, "gitdir"): link,
            link: f"gitdir: {own}",
        }.items():
            write_in_place(path, os.fsencode(f"{line}\n"), os.path.dirname(path))
        _output(self._run("read-tree", "--reset", "-u", head, worktree=folder, own=own))

    def forget_worktrees(self) -> None:
        """Drop what is kept of worktrees whose folders are gone, locked ones too."""
        for own, link in self._links():
            if not os.path.lexists(link):
                remove_tree(own)
        with suppress(OSError):
            os.rmdir(self._worktrees)  # if that was the last one

    def worktrees(self) -> list[str]:
        """Return the folders of all worktrees, the main one first."""
        return [self.folder, *(os.path.dirname(link) for _, link in self._links())]

    def _links(self) -> Iterator[tuple[str, str]]:
        """Yield what is kept of each worktree but the main one, and the file in the worktree that leads there."""
        if not self._is_there or not os.path.isdir(self._worktrees):
            return
        for name in sorted(os.listdir(self._worktrees)):
            own = os.path.join(self._worktrees, name)
            if os.path.islink(own):
                continue
            with suppress(OSError):
                link = os.fsdecode(read_bytes(os.path.join(own, "gitdir"), follow=False)).rstrip("\n")
                yield own, os.path.join(own, link)

    def _run(self, *arguments: str, worktree: str = "", own: str = "") -> Ran:
        """Run git on files: those of the main worktree, or of another one."""
        with git.private_folder(self._place, "HEAD") as private:
            make_folders(os.path.join(private, "info"), private)
            write_in_place(os.path.join(private, "info", "attributes"), _VERBATIM, private)
            variables = {
                **_VARIABLES,
                "GIT_DIR": private,
                "GIT_OBJECT_DIRECTORY": self._place.objects,
                "GIT_WORK_TREE": worktree or self.folder,
                "GIT_INDEX_FILE": os.path.join(own or self._own, "index"),
            }
            return git.run(*arguments, folder=worktree or self.folder, variables=variables)


def _output(ran: Ran) -> str:
    if ran.code != 0:
        raise RuntimeError(f"git failed: {ran.error}")
    return ran.output.decode().strip()
