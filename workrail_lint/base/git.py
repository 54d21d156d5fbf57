"""The one way to start git: in a repository that may be hostile, no program that its files name is ever run.

A repository is given by its place or found by its `.git`, so a folder that only looks like a bare repository is never
taken for one. The configuration of the machine is not read. Settings of the repository that start programs (hooks,
file monitors, filters, helpers, transports) are overruled, and nothing is fetched.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Collection
from typing import NamedTuple

GIT_FOLDER = ".git"
_TIMEOUT_SECONDS = 60
_MAX_OUTPUT_BYTES = 128 * 1024 * 1024
_MAX_COMMITS = 20_000
# What a command line says wins over every file; `filter.*` is a family of names, see `_filters`.
_SETTINGS = {
    "advice.detachedHead": "false",
    "commit.gpgSign": "false",
    "core.askPass": "",
    "core.attributesFile": os.devnull,
    "core.autocrlf": "false",
    "core.editor": "false",
    "core.excludesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.gitProxy": "",
    "core.hooksPath": os.devnull,
    "core.pager": "",
    "core.sshCommand": "false",
    "credential.helper": "",
    "diff.external": "",
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
    "init.defaultBranch": "main",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "safe.directory": "*",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
}
_FILTER_OFF = {"clean": "", "smudge": "", "process": "", "required": "false"}


class Ran(NamedTuple):
    """How a git command ended. A code of None: it was stopped, or could not be started; `error` says why."""

    code: int | None
    output: bytes
    error: str


class Blob(NamedTuple):
    """A regular file of a revision."""

    ident: str
    size: int


def executable() -> str | None:
    """Where git is. Folders of the search path that depend on the current folder do not count."""
    import shutil

    return shutil.which("git", path=_search_path())


def _search_path() -> str:
    given = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in given if os.path.isabs(folder))


class Repository:
    """A repository at a known place; `folder` is its worktree."""

    def __init__(self, folder: str, settings: dict[str, str] | None = None, variables: dict[str, str] | None = None):
        self.folder = folder
        self.own = os.path.join(folder, GIT_FOLDER)
        self._settings = {**_SETTINGS, **(settings or {})}
        self._variables = variables or {}

    def run(self, *arguments: str, given: bytes = b"") -> Ran:
        """Run a command that reads objects and references. Arguments from outside go behind `--end-of-options`."""
        return self._run(arguments, given, self._settings)

    def run_on_files(self, *arguments: str) -> Ran:
        """Run a command that reads or writes the worktree, where a repository could ask for filters."""
        return self._run(arguments, b"", {**self._settings, **self._filters()})

    def _filters(self) -> dict[str, str]:
        """For every filter that the repository defines, settings that make it do nothing."""
        listed = self.run("config", "--includes", "--list", "--name-only", "-z").output.split(b"\0")
        keys = {os.fsdecode(key).rpartition(".")[0] for key in listed if key.startswith(b"filter.")}
        return {f"{key}.{name}": value for key in sorted(keys) for name, value in _FILTER_OFF.items()}

    def _run(self, arguments: tuple[str, ...], given: bytes, settings: dict[str, str]) -> Ran:
        program = executable()
        if program is None:
            return Ran(None, b"", "git is not installed")
        # Into files: a pipe would have to be emptied while the command runs, and could grow without bound.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as error, tempfile.TemporaryFile() as stdin:
            stdin.write(given)
            stdin.seek(0)
            try:
                code = subprocess.run(
                    [program, *arguments],
                    cwd=self.folder,
                    env=self._environment(settings),
                    stdin=stdin,
                    stdout=output,
                    stderr=error,
                    timeout=_TIMEOUT_SECONDS,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                return Ran(None, b"", f"git {arguments[0]} took more than {_TIMEOUT_SECONDS} seconds")
            except (OSError, ValueError) as problem:
                return Ran(None, b"", f"git can't be run: {problem}")
            if output.seek(0, os.SEEK_END) > _MAX_OUTPUT_BYTES:
                return Ran(None, b"", f"git {arguments[0]} gave more than {_MAX_OUTPUT_BYTES:,} bytes")
            output.seek(0)
            error.seek(0)
            return Ran(code, output.read(), error.read(10_000).decode(errors="replace").strip())

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        """Nothing of the machine but where programs are."""
        made = {
            "PATH": _search_path(),
            "LC_ALL": "C",
            "TZ": "UTC",
            # With its places given, git looks for no repository, and not for a worktree elsewhere.
            "GIT_DIR": self.own,
            "GIT_WORK_TREE": self.folder,
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            **self._variables,
            "GIT_CONFIG_COUNT": str(len(settings)),
        }
        for at, (name, value) in enumerate(settings.items()):
            made[f"GIT_CONFIG_KEY_{at}"], made[f"GIT_CONFIG_VALUE_{at}"] = name, value
        if "SYSTEMROOT" in os.environ:
            made["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
        return made

    # ------------------------------------------------------------------------------------------------- revisions

    def commit(self, revision: str) -> str | None:
        """The id of the commit that a name means; None when it means none."""
        ran = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        return ran.output.decode("ascii", "replace").strip() if ran.code == 0 else None

    def files(self, commit: str) -> dict[str, Blob] | None:
        """The regular files of a commit by their paths from the top; None when they can't be listed."""
        ran = self.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        if ran.code != 0:
            return None
        found = {}
        for line in filter(None, ran.output.split(b"\0")):
            facts, _, name = line.partition(b"\t")
            mode, _, ident, size = facts.decode("ascii").split()
            if mode.startswith("100") and size.isdigit():
                found[os.fsdecode(name)] = Blob(ident, int(size))
        return found

    def read(self, blob: Blob) -> bytes | None:
        """What a file of a revision holds; None when it is not there (as in a partial clone)."""
        ran = self.run("cat-file", "blob", blob.ident)
        return ran.output if ran.code == 0 else None

    def last_changes(self, paths: Collection[str]) -> dict[str, int]:
        """When files were last changed by a commit, in seconds since 1970, by their paths from the top."""
        command = ("log", f"--max-count={_MAX_COMMITS}", "--format=%x01%ct", "--name-only", "--no-renames", "-z")
        ran = self.run("--literal-pathspecs", *command, "--end-of-options", "HEAD", "--", *sorted(paths))
        found: dict[str, int] = {}
        at = 0
        for part in ran.output.split(b"\0") if ran.code == 0 else ():
            text = part.strip(b"\n")
            if text.startswith(b"\1"):
                at = int(text[1:])
            elif text:
                found.setdefault(os.fsdecode(text), at)
        return found


def find_repository(root: str, path: str) -> Repository | None:
    """The repository that a project lies in; where it lies in none, the outermost one on the way to a path in it.

    Only a `.git` makes a folder a repository. No commit can hold one, while it can hold a bare repository.
    """
    at = os.path.realpath(root)
    above = [at]
    while os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    inside = os.path.relpath(os.path.realpath(os.path.dirname(os.path.abspath(path))), at).split(os.sep)
    below = [] if os.pardir in inside else [os.path.join(at, *inside[: count + 1]) for count in range(len(inside))]
    for folder in (*above, *below):
        own = os.path.join(folder, GIT_FOLDER)
        if not os.path.islink(own) and os.path.exists(own):
            return Repository(folder)
    return None
