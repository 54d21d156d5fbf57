"""The one way to start git: it reads objects and references of a repository, and nothing else that lies there.

Git gets a separate folder, made for one call: our configuration, and copies of the references if a name has to be
resolved. Of the repository it sees the object store. So no setting of a repository or of the machine is ever read, and
there is no list of dangerous ones that could be incomplete.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from typing import NamedTuple

from workrail_lint.base import processes
from workrail_lint.base.files import MAX_FILE_BYTES, is_own, read_bytes, walk, write_in_place

GIT_FOLDER = ".git"
_MEGABYTE = 1024 * 1024
_LIMITS = processes.Limits(seconds=60, output=128 * _MEGABYTE, memory=2048 * _MEGABYTE)
# A small repository can have 10^10 files: its folders are one folder many times over.
_LISTING = _LIMITS._replace(seconds=10, output=32 * _MEGABYTE)
_READING = _LIMITS._replace(seconds=10, output=MAX_FILE_BYTES)
_MAX_COMMITS = 20_000
_MAX_REFERENCES = 100_000  # those with a file of their own
_MAX_REFERENCE_BYTES = 4096
_DISK_FAILS = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
_SETTINGS = {
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.fileMode": "false" if os.name == "nt" else "true",
    "core.fsync": "none",
    "core.hooksPath": os.devnull,
    # Mapped piece by piece, so that a repository may be larger than the memory that git gets.
    "core.packedGitLimit": "256m",
    "core.packedGitWindowSize": "32m",
    "core.symlinks": "false" if os.name == "nt" else "true",
    "init.defaultBranch": "main",
    "log.mailmap": "false",
}
# How a repository names its objects is the one thing that git takes from a file alone.
_SHA256_CONFIG = b"[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n"
_NO_HEAD = b"ref: refs/heads/none\n"
_SYMBOLIC = b"ref: "
_PACKED = "packed-refs"
_IS_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?").fullmatch
_IS_NAME = re.compile(rb"[^\0-\x20\x7f]+").fullmatch
_PACKED_LINES = re.compile(rb"^([0-9a-f]{40}(?:[0-9a-f]{24})?) ([^\0-\x20\x7f]+)(?=\r?$)", re.MULTILINE).finditer
_VARIABLES = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
    **{f"GIT_CONFIG_KEY_{at}": name for at, name in enumerate(_SETTINGS)},
    **{f"GIT_CONFIG_VALUE_{at}": value for at, value in enumerate(_SETTINGS.values())},
}


class Blob(NamedTuple):
    """A regular file of a revision."""

    ident: str
    size: int


class Place(NamedTuple):
    """Where a repository keeps its files: those of one worktree, and those that all of its worktrees share."""

    own: str
    shared: str

    @property
    def objects(self) -> str:
        return os.path.join(self.shared, "objects")


def executable() -> str | None:
    """Return where git is. Folders of the search path that depend on the current folder do not count."""
    return processes.program("git")


def run(
    *arguments: str, folder: str, variables: Mapping[str, str], limits: processes.Limits = _LIMITS
) -> processes.Ran:
    """Run git without any configuration. Which repository it may see is up to the variables."""
    program = executable()
    if program is None:
        return processes.Ran(processes.Ending.NOT_STARTED, None, b"", "git is not installed")
    usual = processes.environment()
    kept = {name: value for name, value in usual.items() if name in ("PATH", "SYSTEMROOT")}
    given = {**kept, **_VARIABLES, **variables}
    ran = processes.run([program, *arguments], folder=folder, variables=given, limits=limits)
    command = next(word for word in arguments if not word.startswith("-"))
    return ran if ran.code is not None else ran._replace(error=f"git {command} was stopped: {ran.error}")


@contextmanager
def private_folder(place: Place, revision: str | None = None, ident: str = "") -> Iterator[str]:
    """Yield a folder that git takes for a repository: with all references if a revision is to be resolved.

    `ident` is an object id of the repository, if one is known: its length says how the repository names objects.
    """
    with ExitStack() as stack:
        try:
            temporary = tempfile.TemporaryDirectory(prefix="workrail-git-", ignore_cleanup_errors=True)
            folder = stack.enter_context(temporary)
            _fill(folder, place, revision, ident)
        except OSError as problem:
            # It names no file: those of this folder mean nothing to a reader.
            raise OSError(problem.errno, f"git needs a temporary folder ({problem.strerror})") from None
        yield folder


def _fill(folder: str, place: Place, revision: str | None, ident: str) -> None:
    os.mkdir(os.path.join(folder, "refs"))
    write_in_place(os.path.join(folder, "HEAD"), _NO_HEAD, folder)
    _copy(place.shared, "shallow", folder)
    is_sha256 = len(ident) == 64 if revision is None else _copy_references(place, revision, folder)
    if is_sha256:
        write_in_place(os.path.join(folder, "config"), _SHA256_CONFIG, folder)


def _copy_references(place: Place, revision: str, folder: str) -> bool:
    """Give a private folder the references of a repository; returns whether they are SHA-256 ids.

    Nearly all of them go into one file, because making and removing many files is slow.
    """
    idents: dict[bytes, bytes] = {}  # of those with a file of their own
    for root in dict.fromkeys((place.shared, place.own)):  # what belongs to the worktree alone takes precedence
        for name in _files_below(root, "refs"):
            value = _reference(root, name)
            full_name = os.fsencode(name.replace(os.sep, "/"))
            if _IS_ID(value) and _IS_NAME(full_name):
                idents[full_name] = value
            elif value.startswith(_SYMBOLIC):
                _copy(root, name, folder)
        if "@{" in revision:  # asks for an earlier value
            for name in _files_below(root, "logs"):
                _copy(root, name, folder)
    packed = b""
    with suppress(OSError):
        packed = read_bytes(os.path.join(place.shared, _PACKED), follow=False)
    # Piece by piece: a repository may have a million of them.
    lines = BytesIO()
    for match in _PACKED_LINES(packed):
        if match[2] not in idents:
            lines.write(b"%b\n" % match[0])
    for full_name, ident in idents.items():
        lines.write(b"%b %b\n" % (ident, full_name))
    content = lines.getvalue()
    write_in_place(os.path.join(folder, _PACKED), content, folder)
    for name in {"HEAD", *re.findall("[A-Z_]+_HEAD", revision)}:
        _copy(place.own, name, folder)
    ident = content[: content.find(b" ")] if content else _reference(place.own, "HEAD")
    return _IS_ID(ident) is not None and len(ident) == 64


def _reference(root: str, name: str) -> bytes:
    try:
        return read_bytes(os.path.join(root, name), _MAX_REFERENCE_BYTES, follow=False).strip()
    except OSError:
        return b""


def _copy(root: str, name: str, folder: str) -> None:
    """Copy a regular file, if there is one and nothing else has its place."""
    target = os.path.join(folder, name)
    try:
        data = read_bytes(os.path.join(root, name), _LIMITS.output, follow=False)
    except OSError:
        return
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        write_in_place(target, data, folder)
    except OSError as problem:
        if problem.errno in _DISK_FAILS:
            raise


def _files_below(root: str, name: str) -> list[str]:
    """Return the files below a folder, seen from the root. No linked folder is entered."""
    names: list[str] = []
    top = os.path.join(root, name)
    for folder, _, files in () if os.path.islink(top) else walk(top):
        inside = os.path.relpath(folder, root)
        names += [os.path.join(inside, file) for file in files]
        if len(names) > _MAX_REFERENCES:
            break
    return names


class Repository:
    """A repository that is read; `folder` is its worktree."""

    def __init__(self, folder: str, place: Place | None = None) -> None:
        self.folder = folder
        self.place = place or _place(folder)
        self.stopped = ""  # why git was stopped when it was last asked, if it was

    # ------------------------------------------------------------------------------------------------- revisions

    def commit(self, revision: str) -> str | None:
        """Return the id of the commit that a name means; None when it means none."""
        with private_folder(self.place, revision) as folder:
            wanted = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
            ran = self._run(folder, "rev-parse", *wanted)
        return ran.output.decode("ascii", "replace").strip() if ran.code == 0 else None

    def why_unknown(self, revision: str) -> str:
        """Return why a revision means no commit although git itself might find one; empty when there is no reason."""
        if self.stopped:
            return self.stopped
        if re.search(r"@\{(u|upstream|push)\}", revision, re.IGNORECASE):
            return "the configuration of a repository is never read; name the branch itself, for example origin/main"
        if os.path.isdir(os.path.join(self.place.shared, "reftable")):
            return "references in the reftable format can't be read; name the commit by its id"
        return ""

    def files(self, commit: str) -> dict[str, Blob] | None:
        """Return the regular files of a commit by their paths from the top; None when they can't be listed."""
        with private_folder(self.place, ident=commit) as folder:
            ran = self._run(folder, "ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        if ran.code != 0:
            return None
        files = {}
        for line in filter(None, ran.output.split(b"\0")):
            facts, _, name = line.partition(b"\t")
            mode, _, ident, size = facts.decode("ascii").split()
            if mode.startswith("100"):
                # Git knows no size of an object that is missing, as in a partial clone. The file is there nonetheless.
                files[os.fsdecode(name)] = Blob(ident, int(size) if size.isdigit() else 0)
        return files

    def read(self, blob: Blob) -> bytes | None:
        """Return what a file of a revision holds; None when it is not there (as in a partial clone)."""
        with private_folder(self.place, ident=blob.ident) as folder:
            ran = self._run(folder, "cat-file", "blob", blob.ident, limits=_READING)
        return ran.output if ran.code == 0 else None

    def commits(self, path: str, most: int) -> list[tuple[str, int]]:
        """Return the last commits that changed a file, the newest first, each with its time in seconds since 1970."""
        head = self.commit("HEAD")
        if head is None:
            return []
        with private_folder(self.place, ident=head) as folder:
            wanted = ("log", f"--max-count={most}", "--format=%H %ct", head, "--", path)
            ran = self._run(folder, "--literal-pathspecs", *wanted)
        lines = ran.output.decode("ascii", "replace").split("\n") if ran.code == 0 else []
        return [(commit, int(seconds)) for commit, _, seconds in (line.partition(" ") for line in lines if line)]

    def read_at(self, commit: str, path: str) -> bytes | None:
        """Return what a file held in a commit; None when it was not there."""
        with private_folder(self.place, ident=commit) as folder:
            ran = self._run(folder, "cat-file", "blob", f"{commit}:{path}", limits=_READING)
        return ran.output if ran.code == 0 else None

    def last_changes(self, paths: Collection[str]) -> dict[str, int]:
        """Return when files were last changed by a commit, in seconds since 1970, by their paths from the top."""
        head = self.commit("HEAD")
        if head is None:
            return {}
        command = ("log", f"--max-count={_MAX_COMMITS}", "--format=%x01%ct", "--name-only", "--no-renames", "-z")
        with private_folder(self.place, ident=head) as folder:
            ran = self._run(folder, "--literal-pathspecs", *command, head, "--", *sorted(paths))
        times: dict[str, int] = {}
        at = 0
        for part in ran.output.split(b"\0") if ran.code == 0 else ():
            text = part.strip(b"\n")
            if text.startswith(b"\1"):
                at = int(text[1:])
            elif text:
                times.setdefault(os.fsdecode(text), at)
        return times

    def _run(self, private: str, *arguments: str, limits: processes.Limits | None = None) -> processes.Ran:
        variables = {"GIT_DIR": private, "GIT_OBJECT_DIRECTORY": self.place.objects}
        ran = run(*arguments, folder=private, variables=variables, limits=limits or _LISTING)
        self.stopped = ran.error if ran.code is None else ""
        return ran


def _place(folder: str) -> Place:
    """Return where the `.git` of a worktree leads: it is the place itself, or a file that names it."""
    own = os.path.join(folder, GIT_FOLDER)
    with suppress(OSError):
        own = os.path.join(folder, _line(own).removeprefix("gitdir:").strip())
    shared = own
    with suppress(OSError):
        shared = os.path.join(own, _line(os.path.join(own, "commondir")))
    return Place(os.path.realpath(own), os.path.realpath(shared))


def _line(path: str) -> str:
    return os.fsdecode(read_bytes(path, _MAX_REFERENCE_BYTES, follow=False)).rstrip("\n")


def find_repository(root: str, path: str) -> Repository | None:
    """Return the repository that a project lies in, else the outermost one on the way to a path in it.

    Only a `.git` makes a folder a repository. No commit can hold one, while it can hold a bare repository. Above the
    project, it must belong to the user or to root.
    """
    at = os.path.realpath(root)
    above = [at]
    while os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    inside = os.path.relpath(os.path.realpath(os.path.dirname(os.path.abspath(path))), at).split(os.sep)
    below = [] if os.pardir in inside else [os.path.join(at, *inside[: count + 1]) for count in range(len(inside))]
    for folder in (*above, *below):
        own = os.path.join(folder, GIT_FOLDER)
        if not os.path.islink(own) and os.path.exists(own) and (folder not in above[1:] or is_own(own)):
            return Repository(folder)
    return None
