"""What the kernel sees of a process and of all that it starts: programs, files, networks. It needs strace.

A process forked from a traced server is traced too, so that watching a command costs little more than running it.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from forks import Forks, started

_OPENS = ("open", "openat", "openat2", "creat")
_CHANGES = (
    *("rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "mknod", "mknodat"),
    *("truncate", "chmod", "fchmodat", "chown", "lchown", "fchownat", "utime", "utimes", "utimensat", "setxattr"),
)
_OPEN_CHANGES = ("fchmod", "fchown", "fsetxattr")  # of what is open already
_LINKS = ("link", "linkat", "symlink", "symlinkat")  # of which only the new name is a change
_NETWORKS = ("connect", "bind", "sendto", "sendmsg")
_MOVES = ("chdir", "fchdir")
_STARTS = ("execve", "execveat")
_CALL = re.compile(r"(\w+)\((.*)\)\s+= (-?\d+)(?:<(/.*)>(?:\(deleted\))?)?(?: .*)?$")
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>")
_UNFINISHED = " <unfinished ...>"
# A path, and the folder it is relative to, if that is given before it.
_PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
_OPEN = re.compile(r"\d+<(/[^>]*)>")


class Seen(NamedTuple):
    """Calls that had an effect."""

    programs: list[str]
    read: list[str]
    written: list[str]
    networks: list[str]


def prefix(trace: Path) -> list[str]:
    """Return what stands before a command whose calls are written to a file."""
    calls = ",".join((*_STARTS, *_MOVES, *_OPENS, *_CHANGES, *_OPEN_CHANGES, *_LINKS, *_NETWORKS))
    options = ["-f", "--seccomp-bpf", "-qq", "-y", "-s", "4096", "-e", f"trace={calls}", "-e", "signal=none"]
    return [shutil.which("strace") or "strace", *options, "-o", str(trace)]


@functools.cache
def works() -> bool:
    """Return whether strace is installed, and may trace here."""
    with tempfile.NamedTemporaryFile() as trace:
        command = [*prefix(Path(trace.name)), sys.executable, "-c", ""]
        return shutil.which("strace") is not None and subprocess.run(command, check=False).returncode == 0


class Server(NamedTuple):
    """A server of which the kernel's view is kept."""

    forks: Forks
    trace: Path


@functools.cache
def server() -> Server:
    """Return one traced server for all tests of a worker."""
    folder = tempfile.TemporaryDirectory(prefix="traced-", ignore_cleanup_errors=True)
    trace = Path(folder.name, "trace")
    _FOLDERS.append(folder)
    forks = started(prefix(trace))
    forks.run(["python", "-c", ""], Path(folder.name), {})  # from now on there is a trace
    return Server(forks, trace)


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []  # removed when the worker ends


def calls(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield processes and their calls, whole: one that other processes interrupt takes two lines."""
    unfinished: dict[str, str] = {}
    for line in lines:
        process, _, rest = line.partition(" ")
        rest = rest.lstrip()
        if rest.endswith(_UNFINISHED):
            unfinished[process] = rest.removesuffix(_UNFINISHED)
        elif resumed := _RESUMED.match(rest):
            yield process, unfinished.pop(process, "") + rest[resumed.end() :]
        else:
            yield process, rest


def seen(lines: Iterable[str], start: Path) -> Seen:
    """Return what came of the calls of a trace, of processes that were started in a folder."""
    result = Seen([], [], [], [])
    folders: dict[str, Path] = {}
    for process, call in calls(lines):
        found = _CALL.match(call)
        if found is None or (found[3].startswith("-") and found[1] not in _NETWORKS):
            continue
        name, arguments, _, opened = found.groups()
        here = folders.get(process, start)
        paths = [Path(folder or here, path) for folder, path in _PATH.findall(arguments)]
        if name in _STARTS:
            result.programs.append(str(paths[0]))
        elif name in _MOVES:
            folders[process] = paths[0] if paths else Path(_opened(arguments))
        elif name in _OPENS:
            writes = name == "creat" or re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC)", _PATH.sub("", arguments))
            (result.written if writes else result.read).append(opened or str(paths[0]))
        elif name in _NETWORKS:
            result.networks.extend([call] if "AF_INET" in arguments else [])
        else:
            changed = paths[-1:] if name in _LINKS else paths or [Path(_opened(arguments))]
            result.written.extend(str(path.parent.resolve() / path.name) for path in changed)
    return result


def _opened(arguments: str) -> str:
    """Return the path of the open file that is the first argument."""
    found = _OPEN.match(arguments)
    return found[1] if found else "/not known"


def parts(trace: Path, offset: int = 0) -> Sequence[str]:
    """Return the lines of a trace from an offset."""
    with trace.open(errors="replace") as file:
        file.seek(offset)
        return file.read().splitlines()
