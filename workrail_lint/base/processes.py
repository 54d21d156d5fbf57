"""The one way to start a process: nothing of the current folder is run, neither a program nor a module.

Programs are looked up in the absolute folders of the search path. Python starts with `-P`, and what it starts in turn
has `PYTHONSAFEPATH` set. A child gets the variables that are listed here and no others. Its time, its output and, where
the kernel can do it, its memory have a limit.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import IO, NamedTuple

_MEGABYTE = 1024 * 1024
# Where things are, in which language and zone, and what Python needs to start as this process did.
_KEPT = frozenset(
    (
        *(
            "HOME",
            "USER",
            "LOGNAME",
            "LANG",
            "LANGUAGE",
            "TZ",
            "TMPDIR",
            "TMP",
            "TEMP",
            "TERM",
            "NO_COLOR",
            "FORCE_COLOR",
        ),
        *(
            "PYTHONDONTWRITEBYTECODE",
            "PYTHONHASHSEED",
            "PYTHONHOME",
            "PYTHONNOUSERSITE",
            "PYTHONPYCACHEPREFIX",
            "PYTHONUTF8",
        ),
        *("APPDATA", "COMSPEC", "LOCALAPPDATA", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "USERPROFILE", "WINDIR"),
    )
)
_KEPT_FAMILIES = ("LC_", "XDG_", "WORKRAIL_")
# And what they are when nothing is left of them: an empty PATH would be the current folder.
_SEARCH_PATHS = {"PATH": os.defpath, "PYTHONPATH": ""}


class Limits(NamedTuple):
    """The resources a process may use. Memory is address space; None for programs that reserve more than they use."""

    seconds: float = 10
    output: int = 16 * _MEGABYTE
    memory: int | None = 4096 * _MEGABYTE


class Ending(Enum):
    """How a process came to its end."""

    EXITED = "exited"
    NOT_STARTED = "not started"
    TIMED_OUT = "timed out"
    OUTPUT_LIMIT = "output limit"


class Ran(NamedTuple):
    """The outcome of a process. `code` is None unless it exited; `error` then says why in words."""

    ending: Ending
    code: int | None
    output: bytes
    error: str


def program(name: str) -> str | None:
    """Return where a program is. Folders of the search path that depend on the current folder do not count."""
    if os.path.dirname(name):
        return shutil.which(name)
    # Folder by folder: on Windows `which` would look into the current folder first.
    folders = _absolute(os.environ.get("PATH", os.defpath), default="").split(os.pathsep)
    places = (shutil.which(os.path.join(folder, name)) for folder in folders if folder)
    return next(filter(None, places), None)


def python(*arguments: str) -> list[str]:
    """Return the command that runs this Python, without the current folder on its path."""
    return [sys.executable, "-P", *arguments]


def environment() -> dict[str, str]:
    """Return the variables that a child gets."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.upper() in _KEPT or name.upper().startswith(_KEPT_FAMILIES)
    }
    paths = {
        name: _absolute(os.environ[name], default) for name, default in _SEARCH_PATHS.items() if name in os.environ
    }
    return {**kept, **paths, "PYTHONSAFEPATH": "1"}


def _absolute(search_path: str, default: str = os.defpath) -> str:
    return os.pathsep.join(folder for folder in search_path.split(os.pathsep) if os.path.isabs(folder)) or default


def run(
    command: Sequence[str],
    *,
    folder: str | None = None,
    variables: Mapping[str, str] | None = None,
    limits: Limits = Limits(),  # noqa: B008 - a tuple
) -> Ran:
    """Run a program to its end. `variables` replace the usual environment."""
    return Child(command, folder=folder, variables=variables, limits=limits).result()


class Child:
    """A process without input, in a separate group, so that what it started ends with it."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: str | None = None,
        variables: Mapping[str, str] | None = None,
        limits: Limits = Limits(),  # noqa: B008 - a tuple
    ) -> None:
        self._limits = limits
        self._deadline = time.monotonic() + limits.seconds
        self._problem: tuple[Ending, str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._streams: list[_Stream] = []
        try:
            if not os.path.isabs(command[0]):
                raise FileNotFoundError(f"{command[0]} is not an absolute path")
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment() if variables is None else dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as problem:
            self._problem = (Ending.NOT_STARTED, getattr(problem, "strerror", None) or str(problem))
            return
        if limits.memory is not None:
            limit_memory(self._process.pid, limits.memory)
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            self._streams.append(_Stream(pipe, limits.output, self._stop_printing))

    def result(self) -> Ran:
        """Wait for the process, or end it at its limit."""
        if self._process is None:
            assert self._problem is not None
            return Ran(self._problem[0], None, b"", self._problem[1])
        try:
            # A child of the child may keep a stream open after the child's own end.
            is_late = not all(stream.wait_until(self._deadline) for stream in self._streams)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(max(0, self._deadline - time.monotonic()))
            if is_late or self._process.returncode is None:
                message = f"it took more than {self._limits.seconds:g} seconds"
                self._problem = self._problem or (Ending.TIMED_OUT, message)
        finally:
            self.kill()
        if self._problem is not None:
            return Ran(self._problem[0], None, b"", self._problem[1])
        output, error = (bytes(stream.data) for stream in self._streams)
        return Ran(Ending.EXITED, self._process.returncode, output, error.decode(errors="replace").strip())

    def kill(self) -> None:
        """End the process and those it started."""
        if self._process is None:
            return
        if self._process.returncode is None or any(stream.is_open for stream in self._streams):
            _end_group(self._process)
        self._process.wait()
        for stream in self._streams:
            stream.close()

    def _stop_printing(self) -> None:
        self._problem = (Ending.OUTPUT_LIMIT, f"it printed more than {self._limits.output:,} bytes")
        assert self._process is not None
        _end_group(self._process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and those it started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


class _Stream:
    """Reads what a process prints while it is printed, up to a limit."""

    def __init__(self, pipe: IO[bytes], limit: int, at_limit: Callable[[], None]) -> None:
        self.data = bytearray()
        self._pipe = pipe
        self._limit = limit
        self._at_limit = at_limit
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while chunk := os.read(self._pipe.fileno(), 65_536):
            self.data += chunk
            if len(self.data) > self._limit:
                self._at_limit()
                return

    @property
    def is_open(self) -> bool:
        return self._thread.is_alive()

    def wait_until(self, deadline: float) -> bool:
        """Wait for the end of the stream; False when it does not come in time."""
        self._thread.join(max(0, deadline - time.monotonic()))
        return not self.is_open

    def close(self) -> None:
        self._thread.join(1)  # a process that left the group may keep the pipe; its reader ends with us
        if not self.is_open:
            self._pipe.close()


def limit_memory(process: int = 0, size: int = 4096 * _MEGABYTE) -> None:
    """Limit the address space of a process, of this one by default."""
    try:
        from resource import RLIMIT_AS, prlimit
    except ImportError:  # only Linux can limit another process, and a limit of our own would stay
        return
    with suppress(OSError, ValueError):
        prlimit(process, RLIMIT_AS, (size, size))


def run_attached(command: Sequence[str]) -> None:
    """Run a program that the user named, such as an editor, on the user's terminal. OSError: it can't be started."""
    executable = program(command[0])
    if executable is None:
        raise FileNotFoundError(f"{command[0]} was not found")
    subprocess.run([executable, *command[1:]], check=False)


def open_in_browser(address: str) -> bool:
    """Show an address in the user's browser; False where there is none. The browser has the user's environment."""
    path = os.environ.get("PATH")
    try:
        if path is not None:
            os.environ["PATH"] = _absolute(path)
        return webbrowser.open(address)
    finally:
        if path is not None:
            os.environ["PATH"] = path


def start_apart(command: Sequence[str]) -> None:
    """Start a program that the user named and that has its own window, and leave it. OSError: it can't be started."""
    executable = program(command[0])
    if executable is None:
        raise FileNotFoundError(f"{command[0]} was not found")
    apart = subprocess.DEVNULL
    process = subprocess.Popen(
        [executable, *command[1:]], stdin=apart, stdout=apart, stderr=apart, start_new_session=True
    )
    threading.Thread(target=process.wait, daemon=True).start()


class Conversation:
    """A process that is asked in lines and answers in lines. OSError: it can't be started."""

    def __init__(self, command: Sequence[str], *, folder: str, variables: Mapping[str, str]) -> None:
        if not os.path.isabs(command[0]):
            raise FileNotFoundError(f"{command[0]} is not an absolute path")
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment(), **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def send(self, line: bytes) -> None:
        """Write a line. Nothing is raised for a process that is gone: it does not answer."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()

    def receive(self, seconds: float) -> bytes | None:
        """Return the next line; None if the process is gone or says nothing for so long."""
        try:
            return self._lines.get(timeout=seconds) or None
        except queue.Empty:
            return None

    def close(self) -> None:
        """End the process and those it started."""
        _end_group(self._process)
        self._process.wait()
        self._reader.join(1)
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
