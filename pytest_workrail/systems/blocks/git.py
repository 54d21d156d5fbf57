"""A real git repository in a temporary folder, always with the same commits."""

from __future__ import annotations

import os

from workrail_lint.base import git
from workrail_lint.base.files import make_folders, remove_file, write_in_place
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
_SETTINGS = {"core.fsync": "none"}
# For all files and before any other word on it: nothing is made of them on their way in or out.
_VERBATIM = b"* -text -ident -filter !working-tree-encoding\n"
_SUBMODULE = b"160000 "
_GONE = "gone.txt"


def is_installed() -> bool:
    return git.executable() is not None


class Repository:
    """A repository that starts with one commit; `folder` is its main worktree."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._door = git.Repository(folder, _SETTINGS, _VARIABLES)
        self._own = self._door.own

    def create(self, *, with_files: bool) -> None:
        """Commit everything, or nothing: then all files are changes that no commit knows.

        Where there is no file, the change is one that is gone.
        """
        is_empty = not os.listdir(self.folder)
        self._git("init", "--quiet", "--template=")
        info = os.path.join(self._own, "info")
        make_folders(info, self._own)
        write_in_place(os.path.join(info, "attributes"), _VERBATIM)
        gone = os.path.join(self.folder, _GONE) if is_empty and not with_files else None
        if gone is not None:
            write_in_place(gone, b"")
        if with_files or gone is not None:
            self._git("add", "--all", "--force")
        self._git("commit", "--quiet", "--allow-empty", "--message=Start of the run")
        if gone is not None:
            remove_file(gone)

    @property
    def _is_there(self) -> bool:
        """Whether git's own folder is where it was made, and not somebody else's that a file or a link leads to."""
        return os.path.isdir(self._own) and not os.path.islink(self._own)

    @property
    def has_head(self) -> bool:
        return self._is_there and self._tried("rev-parse", "--quiet", "--verify", "HEAD^{commit}").code == 0

    @property
    def is_clean(self) -> bool:
        """Whether a worktree of the head commit would hold all that is here, but for the output folder.

        What git ignores counts as well, and of a submodule a worktree has no file.
        """
        here = (".", f":(exclude){OUTPUT_FOLDER}")
        # Git would start another git in a submodule, by that one's configuration.
        everything = ("--untracked-files=all", "--ignored=traditional", "--ignore-submodules=all")
        seen = self._tried("status", "--porcelain", *everything, "--", *here)
        if seen.code != 0 or seen.output.strip():
            return False
        kept = self._tried("ls-files", "--stage", "-z").output.split(b"\0")
        return not any(entry.startswith(_SUBMODULE) for entry in kept)

    def add_worktree(self, folder: str) -> None:
        """Make a worktree of the head commit.

        Its files are written in a second step: a configuration can hold for worktrees only, so which filters there are
        has to be asked where they would run.
        """
        self._git("worktree", "add", "--quiet", "--detach", "--no-checkout", folder, "HEAD")
        written = git.Repository(folder, _SETTINGS, _VARIABLES).run_on_files("reset", "--hard", "--quiet")
        if written.code != 0:
            raise RuntimeError(f"git reset failed: {written.error}")

    def forget_worktrees(self) -> None:
        """Drop what is kept of worktrees whose folders are gone, locked ones too."""
        if not self._is_there:
            return
        self._tried("worktree", "prune", "--expire=now")
        for folder in self.worktrees()[1:]:
            if not os.path.lexists(folder):
                self._tried("worktree", "remove", "--force", "--force", folder)

    def worktrees(self) -> list[str]:
        """The folders of all worktrees, the main one first."""
        listed = os.fsdecode(self._tried("worktree", "list", "--porcelain", "-z").output).split("\0")
        return [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")]

    def _tried(self, *arguments: str) -> git.Ran:
        return self._door.run_on_files(*arguments)

    def _git(self, *arguments: str) -> None:
        done = self._tried(*arguments)
        if done.code != 0:
            raise RuntimeError(f"git {arguments[0]} failed: {done.error}")
