"""The settings that a run passes to a system with each file, and the result it gets back.

Apart from `base`, because compiling and cached results need no system.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workrail_lint.findings import Finding


class RunSettings:
    """The settings of a run for all systems: options by their configuration names, and the folder of the project."""

    __slots__ = ("options", "workspace")

    def __init__(self, options: dict[str, object] | None = None, workspace: str | None = None) -> None:
        self.options = options or {}
        self.workspace = workspace  # the folder of the project, None when there is no disk

    @property
    def fingerprints(self) -> bool:
        """Return whether findings are to be compared with a baseline, or written to one."""
        return bool(self.options.get("fingerprints"))

    def cache_facts(self) -> dict[str, object]:
        """Return the settings that affect findings, for the key of the cache."""
        return {"options": self.options, "workspace": self.workspace}


class FileResult(NamedTuple):
    """The result for one file: findings with their positions, and the record that cross-file rules read."""

    findings: list[Finding]
    record: object = None  # plain JSON, so that it can be kept in the cache
    ours: bool = True  # false for a file that was found and turned out not to be a document of ours
    cacheable: bool = True  # false when the result depends on what no content and no other file can speak for
    consulted: Mapping[str, bool] = {}  # other paths that decided, and whether what is in them did
