"""The state of the project behind a live page: its data, made anew when one of its files changes."""

from __future__ import annotations

import argparse
import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

from pytest_workrail.golden.edits import Explained, outlines_since
from pytest_workrail.golden.files import ENDING, PENDING, SCENARIO_ENDING
from pytest_workrail.golden.pending import PendingChanges, pending_changes, pending_data
from workrail_lint.base.canonical import digest
from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, printable
from workrail_lint.cli import UsageError
from workrail_lint.cli.arguments import configuration, settings
from workrail_lint.cli.studio import Shown, collect, deciding_files, read_suite
from workrail_lint.cli.watch import states
from workrail_lint.project.config import Config
from workrail_lint.studio.page import script_bytes

Data = dict[str, Any]


class NothingToShow(Exception):  # noqa: N818 - it is no error of ours
    """There is no workflow, and no other document that a page draws."""


class View(NamedTuple):
    """One state of the project: the JSON that a page reads, its digest, and what actions look things up in."""

    content: bytes
    digest: str
    collected: Shown
    files: dict[str, str]  # the path of each workflow, by its name on the page
    changes: PendingChanges
    explained: Explained

    def run(self, name: str, path: str | None) -> Data | None:
        """Return a run by the name and the path that the page has of it, with nothing redacted."""
        return next(
            (run for run in self.collected.inputs.runs if run["name"] == name and path in (None, run.get("path"))), None
        )

    def workflow_path(self, ident: str) -> str | None:
        """Return the name of the file of a workflow."""
        return next((item["path"] for item in self.collected.data["workflows"] if item["id"] == ident), None)


class Board:
    """The project of a live page. It raises `NothingToShow` where there is nothing to show from the start."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.config: Config = configuration(args, args.paths[0])
        self.root = os.path.abspath(self.config.root)
        self._lock = threading.Lock()
        self._suite = read_suite(args)
        self._states = self._watched()
        self.view = self._made()

    def refresh(self) -> bool:
        """Make the view anew, and return whether it changed. A project that can't be read keeps its last view."""
        with self._lock:
            try:
                view = self._made()
            except (UsageError, NothingToShow) as problem:
                err(f"workrail-test studio: {problem}")
                return False
            has_changed = view.digest != self.view.digest
            self.view = view
            return has_changed

    def has_changed_files(self) -> bool:
        """Return whether a file changed since this was last asked."""
        before, self._states = self._states, self._watched()
        return before != self._states

    def add_suite(self, report: Data) -> None:
        """Take over the runs and outcomes of tests that ran again."""
        with self._lock:
            ran = {each["test"] for each in report.get("tests", ())}
            merged: Data = {}
            for member in ("runs", "tests"):
                kept = [each for each in self._suite.get(member, ()) if each.get("test") not in ran]
                merged[member] = [*kept, *report.get(member, ())]
            self._suite = merged

    def scenarios(self) -> list[str]:
        """Return the files of the scenarios of the project, as pytest calls them."""
        names = (os.path.relpath(path, self.root) for path in self._watched() if path.endswith(SCENARIO_ENDING))
        return sorted(name.replace(os.sep, "/") for name in names if not name.startswith(os.pardir + os.sep))

    def _watched(self) -> dict[str, tuple[int, int]]:
        return states([*self.args.paths, *deciding_files(self.args)], (ENDING + PENDING,))

    def _made(self) -> View:
        changes = pending_changes([Path(path) for path in self.args.paths])
        active = settings(self.args, self.config)
        outlines, base = outlines_since(changes.groups, self.args.git, self.config, active)
        explained = Explained(changes.groups, outlines, base)
        goldens = {**pending_data(changes, changes.groups), **explained.to_json()}
        collected = collect(self.args, goldens=goldens, runs=self._suite)
        if collected is None:
            raise NothingToShow("no workflow was found")
        names = [item["path"] for item in collected.data["workflows"]]
        files = {name: os.path.join(self.root, name) for name in names}
        hashes = {name: file_hash(path) for name, path in files.items()}
        collected.data["live"] = {"readOnly": self.args.read_only, "files": hashes, "scenarios": self.scenarios()}
        content = script_bytes(collected.data)
        return View(content, digest(content), collected, files, changes, explained)


def file_hash(path: str) -> str | None:
    """Return the hash of a file, by which a request says which state of it was looked at; None if it can't be read."""
    read = read_file(path)
    if isinstance(read, Err):
        err(f"workrail-test studio: {printable(path)} can't be read: {read.error.message}")
        return None
    return digest(read.value)
