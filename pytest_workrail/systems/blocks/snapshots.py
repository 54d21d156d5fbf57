"""What a workspace holds at a moment, and what changed between two.

Content decides. Yet a file whose status is as it was is not read again, unless it was so young when it was looked at
that a second write could have left the same status behind.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import NamedTuple

from pytest_workrail.systems.blocks.workspaces import Workspace, file_digest

_YOUNG_NS = 100_000_000
_Status = tuple[int, int, int, int]


class _Seen(NamedTuple):
    status: _Status
    digest: str
    young: bool


class Snapshot:
    """Every file of a workspace and the hash of its content."""

    def __init__(self, workspace: Workspace, earlier: Snapshot | None = None) -> None:
        """Look at a workspace; `earlier` is a look at the same one."""
        known = {} if earlier is None else earlier._files
        now = time.time_ns()
        self._files: dict[str, _Seen] = {}
        for path in workspace.files():
            place = workspace.place(path)
            status = _status(place)
            seen = known.get(path)
            if seen is None or seen.young or seen.status != status:
                seen = _Seen(status, file_digest(place), status[1] > now - _YOUNG_NS)
            self._files[path] = seen

    @property
    def paths(self) -> list[str]:
        return list(self._files)

    def digest(self, path: str) -> str | None:
        seen = self._files.get(path)
        return None if seen is None else seen.digest


def _status(place: str) -> _Status:
    try:
        found = os.lstat(place)
    except OSError:
        return 0, 0, 0, 0
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


class Changes(NamedTuple):
    """What differs between two snapshots; deleted paths count as modified. Both sorted."""

    modified: tuple[str, ...] = ()
    created: tuple[str, ...] = ()

    @property
    def paths(self) -> list[str]:
        return sorted({*self.modified, *self.created})


def changes(before: Snapshot, after: Snapshot) -> Changes:
    """What happened between two snapshots."""
    modified = sorted(path for path in before.paths if before.digest(path) != after.digest(path))
    created = sorted(path for path in after.paths if before.digest(path) is None)
    return Changes(tuple(modified), tuple(created))


class Watch:
    """Workspaces by name that an agent must not touch."""

    def __init__(self, workspaces: Mapping[str, Workspace]) -> None:
        self._workspaces = workspaces
        self._seen: dict[str, Snapshot] = {}

    def remember(self, own: str) -> None:
        """Remember how everything but an agent's own workspace is before it starts."""
        for name, workspace in self._workspaces.items():
            if name != own:
                self._seen[name] = Snapshot(workspace, self._seen.get(name))

    def known(self, name: str) -> Snapshot | None:
        """The last look at a workspace, if there was one."""
        return self._seen.get(name)

    def foreign_changes(self, own: str) -> list[tuple[str, str]]:
        """The name and path of everything that has changed since."""
        found: list[tuple[str, str]] = []
        for name in self._workspaces:
            if name != own:
                before = self._seen[name]
                self._seen[name] = Snapshot(self._workspaces[name], before)
                found += [(name, path) for path in changes(before, self._seen[name]).paths]
        return found
