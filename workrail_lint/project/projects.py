"""Paths grouped by their configuration.

A folder below a path may have its own configuration: its files are checked with that one, and compared with each
other, not with those around it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable

from workrail_lint.project.config import Config, config_file
from workrail_lint.project.discovery import Discovery, Found, discover


class Project:
    """The files of one configuration."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.problems: list[tuple[str, str]] = []
        self.is_whole = False  # a folder was checked, not some of its files
        self._files: dict[str, Found] = {}

    def add(self, path: str, found: Discovery) -> None:
        self.is_whole = self.is_whole or os.path.isdir(path)
        self.problems += found.problems
        for file in found.files:
            key = os.path.normpath(file.path)
            if file.named or key not in self._files:
                self._files[key] = file

    def has(self, path: str) -> bool:
        """Return whether a path is one of the files."""
        whole = os.path.abspath(path)
        return any(os.path.abspath(file.path) == whole for file in self._files.values())

    @property
    def discovery(self) -> Discovery:
        return Discovery([self._files[key] for key in sorted(self._files)], self.problems, [])


def projects(
    paths: list[str], config_of: Callable[[str], Config], suffixes: Callable[[Config], tuple[str, ...]], *, nested: bool
) -> list[Project]:
    """The projects in the order they are found; `nested` says that folders may have their own configuration."""
    is_apart = (lambda folder, names: config_file(folder, names) is not None) if nested else None
    found: dict[str, Project] = {}
    known: dict[str, Project] = {}  # by folder: many files are named together, and most are in the same folder
    waiting = deque(paths)
    while waiting:
        path = waiting.popleft()
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        project = known.get(folder)
        if project is None:
            config = config_of(path)
            project = known[folder] = found.setdefault(config.path or config.root, Project(config))
        config = project.config
        include, exclude = config.strings("include"), config.strings("exclude")
        discovery = discover(
            [path], include=include, exclude=exclude, root=config.root, suffixes=suffixes(config), is_apart=is_apart
        )
        project.add(path, discovery)
        waiting.extend(discovery.apart)
    return list(found.values())
