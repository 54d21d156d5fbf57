"""Files as they were in a git revision."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from workrail_lint.base.files import MAX_FILE_BYTES
from workrail_lint.base.git import Blob, Repository, executable, find_repository
from workrail_lint.base.terminal import err, printable
from workrail_lint.cli import UsageError


def earlier_versions(root: str, path: str, most: int) -> Iterator[tuple[str, int, bytes]]:
    """Yield a file as the last commits left it, the newest first: the commit, its time, the content.

    Nothing is yielded where git or a repository is missing.
    """
    repository = None if executable() is None else find_repository(root, path)
    if repository is None:
        return
    name = _name_in(repository, path)
    for commit, seconds in repository.commits(name, most):
        data = repository.read_at(commit, name)
        if data is not None:
            yield commit, seconds, data


def _name_in(repository: Repository, path: str) -> str:
    """Return a path as a repository names it. Links to folders on the way are followed, a link itself is not."""
    folder, name = os.path.split(os.path.abspath(path))
    whole = os.path.join(os.path.realpath(folder), name)
    return os.path.relpath(whole, repository.folder).replace(os.sep, "/")


class Revision:
    """A revision of the repository that a project lies in; `path` is one of the paths to compare."""

    def __init__(self, name: str, root: str, path: str) -> None:
        self.name = name
        if executable() is None:
            raise UsageError("git is not installed")
        repository = find_repository(root, path)
        if repository is None:
            raise UsageError(f"git: {printable(path)} is not in a git repository")
        self._repository: Repository = repository
        commit = None if name.startswith("-") else repository.commit(name)
        if commit is None:
            why = repository.why_unknown(name)
            raise UsageError(f"git: not a revision: {printable(name)}{why and f' ({why})'}")
        files = repository.files(commit)
        if files is None:
            raise UsageError(f"git: the files of {printable(name)} can't be listed{self._why_stopped()}")
        self._files = files

    def read(self, path: str) -> bytes:
        """Return a file as it was, whose folder need not be there any more; one that was not there is a usage error."""
        blob = self._blob(path)
        if blob is None:
            raise UsageError(f"git: path {printable(path)} does not exist in {printable(self.name)}")
        if blob.size > MAX_FILE_BYTES:
            raise UsageError(f"git: {printable(path)} has more than {MAX_FILE_BYTES:,} bytes")
        data = self._repository.read(blob)
        if data is None:
            raise UsageError(f"git: {printable(path)} can't be read from {printable(self.name)}{self._why_stopped()}")
        return data

    def files(self, folder: str) -> list[str]:
        """Return the files below a folder as it was, seen from where the folder is seen from."""
        top = self._inside(os.path.join(folder, "x"))[:-1]
        names = [name[len(top) :] for name in self._files if name.startswith(top)]
        return [os.path.normpath(os.path.join(folder, name)) for name in names]

    def holds(self, path: str) -> bool:
        return self._blob(path) is not None

    def gone(self) -> list[str]:
        """Return the JSON files of the whole repository that are there no more, seen from the current folder."""
        top = self._repository.folder
        paths = [os.path.join(top, name) for name in self._files if name.endswith(".json")]
        return [os.path.relpath(path) for path in paths if not os.path.lexists(path)]

    def last_changes(self, paths: Sequence[str]) -> dict[str, int]:
        """Return when files that are there now were last committed, in seconds since 1970."""
        inside = {self._inside(path): path for path in paths}
        changes = self._repository.last_changes(inside)
        if self._repository.stopped:
            err(f"workrail-lint: when files were last changed is unknown{self._why_stopped()}")
        return {path: changes[name] for name, path in inside.items() if name in changes}

    def _why_stopped(self) -> str:
        return self._repository.stopped and f": {printable(self._repository.stopped)}"

    def _blob(self, path: str) -> Blob | None:
        return self._files.get(self._inside(path))

    def _inside(self, path: str) -> str:
        return _name_in(self._repository, path)
