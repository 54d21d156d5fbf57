"""Workspaces in folders: what is known of a repository, and what its project binds to the slots of a workflow.

What version control says about a folder is read from a few small files of the repository instead of running a program:
no process, and the same answer everywhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_workrail.engine.projections.session_facts import Workspace as WorkspaceFacts
from pytest_workrail.engine.protocol.ports import GitEnd
from workrail_lint.base.canonical import digest
from workrail_lint.base.files import read_bytes
from workrail_lint.systems.workrail.compile import resolve_references
from workrail_lint.systems.workrail.project_bindings import project_overrides
from workrail_lint.systems.workrail.settings import BINDINGS_FILE

_SHA = re.compile(r"[0-9a-f]{40}")
_BRANCH = "ref: refs/heads/"


class DiskWorkspace:
    """Workspaces in folders. `package_root` is where the files of an installed engine lie, if there is one."""

    def __init__(self, package_root: str | None = None) -> None:
        self._package_root = package_root

    def facts(self, workspace_path: str) -> WorkspaceFacts:
        """Repository, branch and commit of a folder; nothing when it lies in no repository."""
        root = _repository(Path(workspace_path))
        if root is None:
            return WorkspaceFacts()
        git = _git_folder(root)
        head = "" if git is None else _read(git / "HEAD")
        branch = head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else None
        sha = None if git is None else _commit(git, head)
        name = root.as_posix()
        return WorkspaceFacts(branch or None, sha, digest(name.encode("utf-8", "surrogatepass")), name)

    def end(self, workspace_path: str | None) -> GitEnd:
        """The commit a folder stands at. Which commits are the agent's own can't be told from that."""
        return GitEnd() if workspace_path is None else GitEnd(self.facts(workspace_path).git_head_sha)

    def resolve(self, reference: Mapping[str, Any], workspace_path: str | None) -> str | None:
        """Return the file a reference leads to."""
        if workspace_path is None and reference.get("resolveFrom") != "package":
            return None
        (entry,) = resolve_references([dict(reference)], workspace_path or ".", self._package_root)
        return entry.get("resolvedPath")

    def overrides(self, workflow_id: str, workspace_path: str | None) -> Mapping[str, str] | None:
        """The bindings of a project for a workflow; no file is no overrides, an unreadable one says nothing."""
        if workspace_path is None:
            return None
        try:
            content = json.loads(read_bytes(str(Path(workspace_path) / BINDINGS_FILE)))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            return None
        return project_overrides(content, workflow_id)


def _repository(folder: Path) -> Path | None:
    return next((each for each in (folder, *folder.parents) if os.path.exists(each / ".git")), None)


def _git_folder(root: Path) -> Path | None:
    """Return the folder with the repository's data; in a worktree a file names it."""
    marker = root / ".git"
    if os.path.isdir(marker):
        return marker
    named = _read(marker)
    return root / named.removeprefix("gitdir:").strip() if named.startswith("gitdir:") else None


def _commit(git: Path, head: str) -> str | None:
    if _SHA.fullmatch(head):
        return head
    name = head.removeprefix("ref:").strip()
    shared = _read(git / "commondir")
    for folder in (git, git / shared) if shared else (git,):
        sha = _read(folder / name) if name else ""
        if _SHA.fullmatch(sha):
            return sha
        packed = re.search(rf"^([0-9a-f]{{40}}) {re.escape(name)}$", _read(folder / "packed-refs"), re.MULTILINE)
        if packed:
            return packed[1]
    return None


def _read(path: Path) -> str:
    try:
        return read_bytes(str(path)).decode().strip()
    except (OSError, ValueError):
        return ""
