"""Files as they were in a git revision."""

from __future__ import annotations

import os
import subprocess

from workrail_lint.base.terminal import printable
from workrail_lint.cli import UsageError

_TIMEOUT_SECONDS = 60


class Revision:
    """A revision of the git repository that contains a path."""

    def __init__(self, name: str) -> None:
        if name.startswith("-"):
            raise UsageError(f"'{printable(name)}' is not a git revision")
        self.name = name

    def read(self, path: str) -> bytes:
        """A file of the revision; its folder may be gone today. A file that did not exist is a usage error."""
        folder = os.path.dirname(os.path.abspath(path))
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        inside = os.path.relpath(os.path.abspath(path), folder).replace(os.sep, "/")
        return self._git(folder, "show", f"{self.name}:./{inside}")

    def files(self, folder: str) -> list[str]:
        """The files below a folder in the revision, relative to the same place as the folder."""
        listed = self._git(folder, "ls-tree", "-r", "-z", "--name-only", self.name, ".")
        return [os.path.normpath(os.path.join(folder, os.fsdecode(name))) for name in listed.split(b"\0") if name]

    def holds(self, path: str) -> bool:
        folder, name = os.path.split(os.path.abspath(path))
        return bool(self._git(folder, "ls-tree", "-z", "--name-only", self.name, f"./{name}"))

    def mentioning(self, text: str, path: str) -> list[str]:
        """The JSON files of the whole repository that contained a string."""
        folder = os.path.dirname(os.path.abspath(path))
        top = os.fsdecode(self._git(folder, "rev-parse", "--show-toplevel")).rstrip("\n")
        found = self._git(top, "grep", "-lzF", "-e", text, self.name, "--", "*.json", may_find_nothing=True)
        names = [os.fsdecode(name).partition(":")[2] for name in found.split(b"\0") if name]
        return [os.path.relpath(os.path.join(top, name)) for name in names]

    def _git(self, folder: str, *arguments: str, may_find_nothing: bool = False) -> bytes:
        try:
            ran = subprocess.run(
                ["git", *arguments], cwd=folder, capture_output=True, check=False, timeout=_TIMEOUT_SECONDS
            )
        except FileNotFoundError:
            missing = "git is not installed" if os.path.isdir(folder) else f"{printable(folder)} does not exist"
            raise UsageError(missing) from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"git can't be run: {error}") from None
        if ran.returncode and not (may_find_nothing and ran.returncode == 1):
            reason = ran.stderr.decode(errors="replace").strip().splitlines()
            raise UsageError(f"git: {printable(reason[0]) if reason else 'failed'}")
        return ran.stdout
