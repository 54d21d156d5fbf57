"""A workspace on disk, its git repository with always the same commits, and what changed between two snapshots.

Files are written below its root and nowhere else. No link is followed, neither as the file itself nor as a folder on
the way to it: writing through one is refused. A file with a second name elsewhere is replaced, not written to.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple, TypeAlias

from pytest_workrail.systems.kernel.run import remove_tree
from workrail_lint.base import git
from workrail_lint.base.files import make_folders, read_bytes, remove_file, replace_file, walk, write_in_place
from workrail_lint.base.processes import Ran
from workrail_lint.systems.blocks.paths import (
    GIT_FOLDER,
    OUTPUT_FOLDER,
    REJECTED_SUFFIX,
    RUN_FOLDER,
    is_agents_path,
    output_name,
)

_WHO = "Simulated run"
_ADDRESS = "run@example.invalid"
_WHEN = "2000-01-01T00:00:00+0000"
_VARIABLES = {
    "GIT_AUTHOR_NAME": _WHO,
    "GIT_AUTHOR_EMAIL": _ADDRESS,
    "GIT_AUTHOR_DATE": _WHEN,
    "GIT_COMMITTER_NAME": _WHO,
    "GIT_COMMITTER_EMAIL": _ADDRESS,
    "GIT_COMMITTER_DATE": _WHEN,
}
# For all files and before any other word on it: nothing is made of them on their way in or out.
_VERBATIM = b"* -text -ident -filter !working-tree-encoding\n"
_SUBMODULE = b"160000 "
_GONE = "gone.txt"


def is_git_installed() -> bool:
    return git.executable() is not None


class Repository:
    """A repository that starts with one commit; `folder` is its main worktree.

    Agents can change everything in it. So git never works with its configuration, and which worktrees there are is read
    and written here.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._own = os.path.join(folder, git.GIT_FOLDER)
        self._worktrees = os.path.join(self._own, "worktrees")
        # Without a look at what else the folder names: what is shared with another repository is not ours to change.
        self._place = git.Place(self._own, self._own)

    def create(self, *, with_files: bool) -> None:
        """Commit everything, or nothing: then all files are changes that no commit knows.

        Where there is no file, the change is one that is gone.
        """
        is_empty = not os.listdir(self.folder)
        if os.path.lexists(self._own):
            raise RuntimeError(f"{self.folder} is a repository already")
        _output(git.run("init", "--quiet", "--template=", folder=self.folder, variables={}))
        make_folders(os.path.join(self._own, "info"), self._own)
        write_in_place(os.path.join(self._own, "info", "attributes"), _VERBATIM, self._own)
        gone = os.path.join(self.folder, _GONE) if is_empty and not with_files else None
        if gone is not None:
            write_in_place(gone, b"", self.folder)
        if with_files or gone is not None:
            _output(self._run("add", "--all", "--force"))
        tree = _output(self._run("write-tree"))
        commit = _output(self._run("commit-tree", "-m", "Start of the run", tree))
        write_in_place(os.path.join(self._own, "refs", "heads", "main"), f"{commit}\n".encode(), self._own)
        if gone is not None:
            remove_file(gone, self.folder, is_output=False)

    @property
    def _is_there(self) -> bool:
        """Whether git's own folder is where it was made, and not someone else's that a file or a link leads to."""
        return os.path.isdir(self._own) and not os.path.islink(self._own) and not os.path.islink(self._worktrees)

    @property
    def _head(self) -> str | None:
        return git.Repository(self.folder, self._place).commit("HEAD") if self._is_there else None

    @property
    def has_head(self) -> bool:
        return self._head is not None

    @property
    def is_clean(self) -> bool:
        """Whether a worktree of the head commit would hold all that is here, but for the output folder.

        What git ignores counts as well, and of a submodule a worktree has no file.
        """
        if not self._is_there:
            return False
        here = (".", f":(exclude){OUTPUT_FOLDER}")
        # Git would start another git in a submodule, by that one's configuration.
        everything = ("--untracked-files=all", "--ignored=traditional", "--ignore-submodules=all")
        status = self._run("status", "--porcelain", *everything, "--", *here)
        if status.code != 0 or status.output.strip():
            return False
        entries = self._run("ls-files", "--stage", "-z").output.split(b"\0")
        return not any(entry.startswith(_SUBMODULE) for entry in entries)

    def add_worktree(self, folder: str) -> None:
        """Make a worktree of the head commit, as git lays one out."""
        head = self._head
        if head is None:
            raise RuntimeError("there is no commit to make a worktree of")
        own = wanted = os.path.join(self._worktrees, os.path.basename(folder))
        number = 0
        while os.path.lexists(own):  # an agent may have made one of this name
            number += 1
            own = f"{wanted}{number}"
        make_folders(own, self._own)
        os.makedirs(folder, exist_ok=True)
        link = os.path.join(folder, git.GIT_FOLDER)
        for path, line in {
            os.path.join(own, "HEAD"): head,
            os.path.join(own, "commondir"): os.path.join(os.pardir, os.pardir),
            os.path.join(own, "gitdir"): link,
            link: f"gitdir: {own}",
        }.items():
            write_in_place(path, os.fsencode(f"{line}\n"), os.path.dirname(path))
        _output(self._run("read-tree", "--reset", "-u", head, worktree=folder, own=own))

    def forget_worktrees(self) -> None:
        """Drop what is kept of worktrees whose folders are gone, locked ones too."""
        for own, link in self._links():
            if not os.path.lexists(link):
                remove_tree(own)
        with suppress(OSError):
            os.rmdir(self._worktrees)  # if that was the last one

    def worktrees(self) -> list[str]:
        """Return the folders of all worktrees, the main one first."""
        return [self.folder, *(os.path.dirname(link) for _, link in self._links())]

    def _links(self) -> Iterator[tuple[str, str]]:
        """Yield what is kept of each worktree but the main one, and the file in the worktree that leads there."""
        if not self._is_there or not os.path.isdir(self._worktrees):
            return
        for name in sorted(os.listdir(self._worktrees)):
            own = os.path.join(self._worktrees, name)
            if os.path.islink(own):
                continue
            with suppress(OSError):
                link = os.fsdecode(read_bytes(os.path.join(own, "gitdir"), follow=False)).rstrip("\n")
                yield own, os.path.join(own, link)

    def _run(self, *arguments: str, worktree: str = "", own: str = "") -> Ran:
        """Run git on files: those of the main worktree, or of another one."""
        with git.private_folder(self._place, "HEAD") as private:
            make_folders(os.path.join(private, "info"), private)
            write_in_place(os.path.join(private, "info", "attributes"), _VERBATIM, private)
            variables = {
                **_VARIABLES,
                "GIT_DIR": private,
                "GIT_OBJECT_DIRECTORY": self._place.objects,
                "GIT_WORK_TREE": worktree or self.folder,
                "GIT_INDEX_FILE": os.path.join(own or self._own, "index"),
            }
            return git.run(*arguments, folder=worktree or self.folder, variables=variables)


def _output(ran: Ran) -> str:
    if ran.code != 0:
        raise RuntimeError(f"git failed: {ran.error}")
    return ran.output.decode().strip()


_YOUNG_NS = 100_000_000
_Status = tuple[int, int, int, int]

_OURS = (OUTPUT_FOLDER, RUN_FOLDER)


Content: TypeAlias = bytes | str | None
"""The content of a path: the bytes of a file, the target of a link, or nothing."""


class Workspace:
    """A folder that blocks work in."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)

    def place(self, path: str) -> str:
        return os.path.join(self.root, *path.split("/"))

    # ------------------------------------------------------------------------------------------------- files

    def link_on(self, path: str) -> str | None:
        """Return the first part of a path that is a link; None if there is none."""
        names = path.split("/")
        for count in range(1, len(names) + 1):
            part = "/".join(names[:count])
            if os.path.islink(self.place(part)):
                return part
        return None

    def read(self, path: str) -> bytes | None:
        """Return the content of a regular file; None if there is none, or only behind a link."""
        try:
            if self.link_on(path) is not None:
                return None
            return read_bytes(self.place(path), follow=False)
        except (OSError, ValueError):
            return None

    def write(self, path: str, data: bytes | None) -> bool:
        """Write a file, or delete it (None). False when that would leave the workspace or meets something else."""
        if not is_agents_path(path):
            return False
        try:
            if self.link_on(path) is not None:
                return False
            if data is None:
                if os.path.lexists(self.place(path)):
                    os.remove(self.place(path))
                return True
            make_folders(os.path.dirname(self.place(path)), self.root)
            _detach_links(self.place(path))
            write_in_place(self.place(path), data, self.root)
        except (OSError, ValueError):
            return False
        return True

    def copy_from(self, other: Workspace, path: str) -> None:
        """Make a path what it is in another workspace: that file, or none. A folder there does not count."""
        if os.path.isdir(other.place(path)):
            return
        data = other.read(path)
        if data is None:
            self.drop(path)
        elif self.put(path, data):
            # A script that can be run there can be run here.
            mode = stat.S_IMODE(os.lstat(other.place(path)).st_mode)
            os.chmod(self.place(path), mode | stat.S_IRUSR | stat.S_IWUSR)

    def put(self, path: str, data: bytes) -> bool:
        """Write a file even where something else is in its way; False when it is none that agents have."""
        if not is_agents_path(path):
            return False
        self.make_room(path)
        return self.write(path, data)

    def drop(self, path: str) -> None:
        """Delete a file, or a link; never what lies behind one, and no folder."""
        above = path.rpartition("/")[0]
        if is_agents_path(path) and (not above or self.link_on(above) is None):
            place = self.place(path)
            if os.path.islink(place) or os.path.isfile(place):
                os.remove(place)

    def make_room(self, path: str) -> None:
        """Take away whatever is in the way of a file: a link or a file where a folder belongs, or the other way round.

        For merges: the lane that won has a file there, so the workspace shall have one too.
        """
        names = path.split("/")
        for count in range(1, len(names)):
            part = self.place("/".join(names[:count]))
            if os.path.lexists(part) and (os.path.islink(part) or not os.path.isdir(part)):
                os.remove(part)
        place = self.place(path)
        if os.path.islink(place):
            os.remove(place)
        elif os.path.isdir(place):
            remove_tree(place)

    def content(self, path: str) -> Content:
        """Return what is at a path, for `restore`."""
        return os.readlink(self.place(path)) if os.path.islink(self.place(path)) else self.read(path)

    def restore(self, path: str, content: Content) -> None:
        """Make a path what it was."""
        self.make_room(path)
        if isinstance(content, str):
            self.drop(path)
            make_folders(os.path.dirname(self.place(path)), self.root)
            os.symlink(content, self.place(path))
        else:
            self.write(path, content)

    # --------------------------------------------------------------------------------------------- snapshots

    def files(self) -> Iterator[str]:
        """Yield every path that is not a folder, sorted folder by folder, without git's and our own."""
        for folder, folders, names in walk(self.root):
            at_root = folder == self.root
            kept = [name for name in folders if name != GIT_FOLDER and not (at_root and name in _OURS)]
            # A link to a folder is listed among the folders; it is not entered, and counts as a file.
            linked = [name for name in kept if os.path.islink(os.path.join(folder, name))]
            folders[:] = sorted(set(kept) - set(linked))
            inner = "" if at_root else os.path.relpath(folder, self.root).replace(os.sep, "/") + "/"
            for name in sorted([*names, *linked]):
                if name != GIT_FOLDER:
                    yield inner + name

    def hash_of(self, path: str) -> str | None:
        """Return the hash of one file; None if there is none, or only behind a link."""
        above = path.rpartition("/")[0]
        if above and self.link_on(above) is not None:
            return None
        return file_digest(self.place(path)) if os.path.lexists(self.place(path)) else None

    def text_hashes(self) -> dict[str, str]:
        """Return every file with its hash as goldens record it: line endings of text do not matter."""
        return {path: _text_digest(self.place(path)) for path in self.files()}

    # ----------------------------------------------------------------------------------------- output folder

    @property
    def output_folder(self) -> str:
        return self.place(OUTPUT_FOLDER)

    def make_output_folder(self) -> None:
        """Have a real output folder, whatever an agent put in its place."""
        if os.path.islink(self.output_folder) or os.path.isfile(self.output_folder):
            os.remove(self.output_folder)
        os.makedirs(self.output_folder, exist_ok=True)

    def output_names(self) -> list[str]:
        return [] if os.path.islink(self.output_folder) else sorted(os.listdir(self.output_folder))

    def _output(self, node: str) -> str:
        return os.path.join(self.output_folder, output_name(node))

    def has_output(self, node: str) -> bool:
        return not os.path.islink(self.output_folder) and os.path.lexists(self._output(node))

    def output_bytes(self, node: str) -> bytes | None:
        """Return the output of a block as far as it can be read; empty for a link, a folder or a pipe."""
        if not self.has_output(node):
            return None
        try:
            return read_bytes(self._output(node), follow=False)
        except OSError:
            return b""

    def remove_output(self, node: str) -> None:
        if self.has_output(node):
            _remove(self._output(node))

    def reject_output(self, node: str) -> None:
        """Set a file aside. Anything else has no content to keep."""
        place = self._output(node)
        _remove(place + REJECTED_SUFFIX)
        if os.path.islink(place) or not os.path.isfile(place):
            _remove(place)
        else:
            replace_file(place, place + REJECTED_SUFFIX)

    def put_output(self, node: str, data: bytes) -> None:
        self.make_output_folder()
        _remove(self._output(node))
        write_in_place(self._output(node), data, self.root)

    def take_outputs(self, other: Workspace, node: str) -> None:
        """Copy what another workspace has of a block: its output and what was rejected."""
        self.make_output_folder()
        for name in (output_name(node), output_name(node) + REJECTED_SUFFIX):
            source, target = os.path.join(other.output_folder, name), os.path.join(self.output_folder, name)
            if os.path.isfile(source) and not os.path.islink(source):
                _remove(target)
                shutil.copyfile(source, target)

    def share_outputs(self, other: Workspace) -> None:
        """Give another workspace a copy of the output folder."""
        copy_tree(self.output_folder, other.output_folder)

    def copy_to(self, folder: str) -> None:
        """Copy everything except git's own files; links stay links."""

        def is_skipped(at: str, name: str) -> bool:
            return name == GIT_FOLDER or (at == self.root and name == RUN_FOLDER)

        copy_tree(self.root, folder, is_skipped)


def copy_tree(source: str, target: str, is_skipped: Callable[[str, str], bool] = lambda at, name: False) -> None:
    """Copy a folder. Links stay links; pipes, sockets and devices have no content that could be copied."""

    def skipped(at: str, names: list[str]) -> list[str]:
        return [name for name in names if is_skipped(at, name) or not _has_content(os.path.join(at, name))]

    shutil.copytree(source, target, symlinks=True, ignore=skipped, dirs_exist_ok=True)


def _has_content(place: str) -> bool:
    mode = os.lstat(place).st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _detach_links(place: str) -> None:
    """Remove a file that has another name too: writing to it would change the file under that name as well."""
    if os.path.isfile(place) and os.lstat(place).st_nlink > 1:
        os.remove(place)


def _remove(place: str) -> None:
    if os.path.isdir(place) and not os.path.islink(place):
        remove_tree(place)
    elif os.path.lexists(place):
        os.remove(place)


def file_digest(place: str) -> str:
    """Return the hash of a file; for a link, the hash of its target path."""
    try:
        status = os.lstat(place)
        if stat.S_ISLNK(status.st_mode):
            return "link " + hashlib.sha256(os.fsencode(os.readlink(place))).hexdigest()
        if not stat.S_ISREG(status.st_mode):
            return "no file"
        return hashlib.sha256(read_bytes(place, follow=False)).hexdigest()
    except OSError:
        return "unreadable"


def _text_digest(place: str) -> str:
    if not os.path.isfile(place) or os.path.islink(place):
        return file_digest(place)
    try:
        data = read_bytes(place, follow=False)
        data.decode()
    except (OSError, UnicodeDecodeError):
        return file_digest(place)
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


# ------------------------------------------------------------------------------------------------------------ snapshots


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
        status = os.lstat(place)
    except OSError:
        return 0, 0, 0, 0
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


class Changes(NamedTuple):
    """The differences between two snapshots; deleted paths count as modified. Both sorted."""

    modified: tuple[str, ...] = ()
    created: tuple[str, ...] = ()

    @property
    def paths(self) -> list[str]:
        return sorted({*self.modified, *self.created})


def changes(before: Snapshot, after: Snapshot) -> Changes:
    """Return what changed between two snapshots."""
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
        """Return the last snapshot of a workspace; None if there is none."""
        return self._seen.get(name)

    def foreign_changes(self, own: str) -> list[tuple[str, str]]:
        """Return the workspace and path of everything that changed since."""
        changed: list[tuple[str, str]] = []
        for name in self._workspaces:
            if name != own:
                before = self._seen[name]
                self._seen[name] = Snapshot(self._workspaces[name], before)
                changed += [(name, path) for path in changes(before, self._seen[name]).paths]
        return changed
