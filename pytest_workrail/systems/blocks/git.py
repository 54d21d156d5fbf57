"""A real git repository in a temporary folder: no configuration of the machine, no hooks, always the same commits."""

from __future__ import annotations

import os
import shutil
import subprocess

from workrail_lint.systems.blocks.paths import GIT_FOLDER, OUTPUT_FOLDER

_WHO = "Simulated run"
_ADDRESS = "run@example.invalid"
_WHEN = "2000-01-01T00:00:00+0000"
_SETTINGS = {
    "core.autocrlf": "false",
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.fsync": "none",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "init.defaultBranch": "main",
    "advice.detachedHead": "false",
    "safe.directory": "*",
}
# For all files and before any other word on it: nothing is made of them on their way in or out.
_VERBATIM = "* -text -ident -filter !working-tree-encoding\n"
_SUBMODULE = "160000 "
_GONE = "gone.txt"


def is_installed() -> bool:
    return shutil.which("git") is not None


class Repository:
    """A repository that starts with one commit; `folder` is its main worktree."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._own = os.path.join(folder, GIT_FOLDER)

    def create(self, *, with_files: bool) -> None:
        """Commit everything, or nothing: then all files are changes that no commit knows.

        Where there is no file, the change is one that is gone.
        """
        is_empty = not os.listdir(self.folder)
        self._git("init", "--quiet", "--template=")
        info = os.path.join(self._own, "info")
        os.makedirs(info, exist_ok=True)
        with open(os.path.join(info, "attributes"), "w", encoding="utf-8") as file:
            file.write(_VERBATIM)
        gone = os.path.join(self.folder, _GONE) if is_empty and not with_files else None
        if gone is not None:
            with open(gone, "w", encoding="utf-8"):
                pass
        if with_files or gone is not None:
            self._git("add", "--all", "--force")
        self._git("commit", "--quiet", "--allow-empty", "--message=Start of the run")
        if gone is not None:
            os.remove(gone)

    @property
    def _is_there(self) -> bool:
        """Whether git's own folder is where it was made, and not somebody else's that a file or a link leads to."""
        return os.path.isdir(self._own) and not os.path.islink(self._own)

    @property
    def has_head(self) -> bool:
        return self._is_there and self._tried("rev-parse", "--quiet", "--verify", "HEAD^{commit}").returncode == 0

    @property
    def is_clean(self) -> bool:
        """Whether a worktree of the head commit would hold all that is here, but for the output folder.

        What git ignores counts as well, and of a submodule a worktree has no file.
        """
        here = (".", f":(exclude){OUTPUT_FOLDER}")
        seen = self._tried("status", "--porcelain", "--untracked-files=all", "--ignored=traditional", "--", *here)
        if seen.returncode != 0 or seen.stdout.strip():
            return False
        kept = self._tried("ls-files", "--stage", "-z").stdout.split("\0")
        return not any(entry.startswith(_SUBMODULE) for entry in kept)

    def add_worktree(self, folder: str) -> None:
        self._git("worktree", "add", "--quiet", "--detach", folder, "HEAD")

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
        listed = self._tried("worktree", "list", "--porcelain", "-z").stdout.split("\0")
        return [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")]

    def _tried(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            # With its place given, git does not look for a repository in the folders above.
            env={**_environment(), "GIT_DIR": self._own},
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def _git(self, *arguments: str) -> str:
        done = self._tried(*arguments)
        if done.returncode != 0:
            raise RuntimeError(f"git {arguments[0]} failed: {done.stderr.strip()}")
        return done.stdout


def _environment() -> dict[str, str]:
    """Nothing of the machine but where programs are."""
    made = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_AUTHOR_NAME": _WHO,
        "GIT_AUTHOR_EMAIL": _ADDRESS,
        "GIT_AUTHOR_DATE": _WHEN,
        "GIT_COMMITTER_NAME": _WHO,
        "GIT_COMMITTER_EMAIL": _ADDRESS,
        "GIT_COMMITTER_DATE": _WHEN,
        "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
    }
    for at, (name, value) in enumerate(_SETTINGS.items()):
        made[f"GIT_CONFIG_KEY_{at}"], made[f"GIT_CONFIG_VALUE_{at}"] = name, value
    if "SYSTEMROOT" in os.environ:
        made["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    return made
