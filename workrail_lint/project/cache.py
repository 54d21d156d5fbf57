"""Results of earlier runs, keyed by content and by everything else that decides a result.

One file for each project and way of looking (version, rules, catalog, configuration), replaced in one step, in the
user's own cache folder. Each is signed with a key that only the user can read, so what it holds was written by this
program: a file that is missing, damaged or from another user is not used, and deleting it is always safe.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base.files import PRIVATE, make_private_folder, read_bytes, remove_file, state_of, write_atomically
from workrail_lint.documents.scanner import loads
from workrail_lint.findings import Confidence, Finding, Fix, Phase, Position, Safety, Severity, Span
from workrail_lint.systems.base import FileResult

if TYPE_CHECKING:
    from workrail_lint.documents.operations import Operation

_HEAD = b'{"format":9}'
_KEY_FILE = "key"
_KEY_BYTES = 32
_SIGNATURE_BYTES = 64  # in hexadecimal
_MOST_FILES = 400
_MOST_BYTES = 256 * 1024 * 1024


def content_key(data: bytes) -> str:
    return blake2b(data, digest_size=32).hexdigest()


def user_folder() -> str | None:
    """Return where the results of this user are kept, unless a folder is named; None for a user without a home.

    There `~` stays as it is, and a folder of that name in a project is not the user's.
    """
    home = os.path.expanduser("~")
    shared = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else os.environ.get("XDG_CACHE_HOME")
    if not shared or not os.path.isabs(shared):
        shared = os.path.join(home, ".cache")
    return os.path.join(shared, "workrail-lint") if os.path.isabs(shared) else None


class Known(NamedTuple):
    """A result, the system it is from, and the key of the content it is about ("" when there is no cache)."""

    result: FileResult
    system: int
    content: str


class Cache:
    """The results of one way of looking at one project. `entries` maps a path to what is kept about it.

    An entry stays the line it was read from until it is needed: of ten thousand, most are only written again.
    """

    def __init__(self, root: str | None, key: str, folder: str | None = None) -> None:
        """`folder` is one of the project; without it, results are kept in the user's."""
        self.path: str | None = None
        self.entries: dict[str, bytes] = {}
        self.changed = False
        self._folder = folder or user_folder() or ""
        self._below = root if folder and root else self._folder
        if root is not None and self._folder:
            name = content_key(os.fsencode(os.path.realpath(root)) + b"\0" + key.encode())[:32]
            self.path = os.path.join(self._folder, f"{name}.json")
            self.entries = _load(self.path)

    def content_key(self, data: bytes) -> str:
        """Return what stands for a content; "" when nothing is kept."""
        return content_key(data) if self.path is not None else ""

    def get(self, name: str, content: str, path: str | None = None) -> Known | None:
        """Return what is known about a file with this content, unless another file that decided has changed.

        What is kept under another name than its path is about the path that is given.
        """
        line = self.entries.get(name)
        if line is None:
            return None
        try:
            entry, operations = _parts(line)
            if entry[0] != content or any(state_of(file, with_content=read) != state for file, read, state in entry[4]):
                return None
            return _known(name if path is None else path, entry, operations)
        except (LookupError, TypeError, ValueError, RecursionError):
            return None  # not a line that `encoded` makes

    def put(self, path: str, content: str, result: FileResult, system: int = 0) -> None:
        line = None if self.path is None else encoded(content, result, system)
        if line is not None:
            self.keep(path, line)

    def keep(self, path: str, line: bytes) -> None:
        """Keep a result that is encoded already."""
        if self.path is not None:
            self.entries[path] = line
            self.changed = True

    def save(self) -> None:
        """Write new results. A folder that can't be written is not an error: the next run is only slower."""
        if self.path is None or not self.changed:
            return
        try:
            key = _user_key(make=True)
            if key is None:
                return
            make_private_folder(self._folder, self._below)
            ignore = os.path.join(self._folder, ".gitignore")
            if not os.path.lexists(ignore):
                write_atomically(ignore, b"*\n", self._below, mode=PRIVATE, is_output=False)
            write_atomically(self.path, self._signed(key), self._below, mode=PRIVATE, is_output=False)
            _prune(self._folder, self._below)
        except (OSError, ValueError):
            return

    def _signed(self, key: bytes) -> bytes:
        """Return the content of the file. It may be as large as the project, and is in memory once."""
        assert self.path is not None
        content = BytesIO()
        content.write(b" " * _SIGNATURE_BYTES + _HEAD)
        for path, line in self.entries.items():
            content.write(b"\n%b\t" % _json(path))
            content.write(line)
        with content.getbuffer() as view:
            signature = _signature(key, self.path, view[_SIGNATURE_BYTES:])
        content.seek(0)
        content.write(signature)
        return content.getvalue()


def encoded(content: str, result: FileResult, system: int) -> bytes | None:
    """Return a result as one line; None when it depends on what no key can speak for, or can't be written as JSON.

    The operations of the fixes come last, behind a tab: they can be as long as the file, and are rarely looked at.
    """
    if not result.cacheable:
        return None
    others = [[path, read, state_of(path, with_content=read)] for path, read in result.consulted.items()]
    operations: list[list[Any]] = []
    records = [_record(finding, operations) for finding in result.findings]
    try:
        line = _json([content, records, result.record, system, others])
        return b"%b\t%b" % (line, _json(operations)) if operations else line
    except (TypeError, ValueError, RecursionError):
        return None


def decoded(path: str, line: bytes) -> Known:
    """Return the cached result for a path from a line that `encoded` wrote."""
    return _known(path, *_parts(line))


def _parts(line: bytes) -> tuple[list[Any], bytes]:
    """Return the entry of a line, and the operations of its fixes."""
    entry, _, operations = line.partition(b"\t")
    return loads(entry), operations


def _known(path: str, entry: list[Any], operations: bytes) -> Known:
    content, records, record, system, _ = entry
    later = _Operations(operations)
    return Known(FileResult([_finding(path, item, later) for item in records], record), system, content)


@cache
def _encoder() -> Callable[[object], str]:
    return json.JSONEncoder(separators=(",", ":")).encode


def _json(value: object) -> bytes:
    return _encoder()(value).encode()


def _user_key(*, make: bool) -> bytes | None:
    """Return the key that this user signs with; None if there is none, or if someone else could know it."""
    folder = user_folder()
    if folder is None:
        return None
    path = os.path.join(folder, _KEY_FILE)
    try:
        if make and not os.path.lexists(path):
            make_private_folder(folder, folder)
            write_atomically(path, os.urandom(_KEY_BYTES), folder, mode=PRIVATE, is_output=False)
        info = os.lstat(path)
        if hasattr(os, "geteuid") and (info.st_uid != os.geteuid() or info.st_mode & 0o077):
            return None
        key = read_bytes(path, _KEY_BYTES, follow=False)
    except OSError:
        return None
    return key if len(key) == _KEY_BYTES else None


def _signature(key: bytes, path: str, text: memoryview) -> bytes:
    """Sign the results for a file of this name: those of one project say nothing about another."""
    name = os.path.basename(path).encode()
    state = blake2b(name + b"\0", key=key, digest_size=_SIGNATURE_BYTES // 2)
    state.update(text)
    return state.hexdigest().encode()


def _load(path: str) -> dict[str, bytes]:
    try:
        data = read_bytes(path, _MOST_BYTES, follow=False)
        key = _user_key(make=False)
        signature = data[:_SIGNATURE_BYTES]
        if key is None or _signature(key, path, memoryview(data)[_SIGNATURE_BYTES:]) != signature:
            return {}
        head, *lines = data.split(b"\n")
        if head != signature + _HEAD:
            return {}
        del data  # as large as the lines
        pairs = (line.partition(b"\t") for line in lines)
        return {name: entry for text, _, entry in pairs if type(name := loads(text)) is str}
    except (OSError, ValueError, RecursionError):
        return {}


def _prune(folder: str, root: str) -> None:
    """Forget the results that were not made anew for longest; every change of the rules begins a new file."""
    paths = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".json")]
    for path in sorted(paths, key=os.path.getmtime)[:-_MOST_FILES]:
        remove_file(path, root, is_output=False)


# ----------------------------------------------------------------------------------------------------------- records


_SEVERITIES = {level.value: level for level in Severity}
_CONFIDENCES = {level.value: level for level in Confidence}
_PHASES = {phase.value: phase for phase in Phase}
_SAFETIES = {safety.value: safety for safety in Safety}


@cache
def _operations() -> dict[str, Any]:
    """Return the kinds of operations by name; few runs apply a fix."""
    from workrail_lint.documents import operations as kinds

    classes = (kinds.Cut, kinds.Insert, kinds.Remove, kinds.Rename, kinds.Replace, kinds.ReplaceText, kinds.Respell)
    return {kind.__name__: kind for kind in classes}


def _offsets(place: Position) -> tuple[int, int, int, int]:
    return place.line, place.column, place.offset, place.byte_offset


_KEPT = (str, int)  # and bool, which is an int


def _record(finding: Finding, operations: list[list[Any]]) -> list[Any]:
    """Return a finding as JSON; the operations of its fix are added to those of the others."""
    fix = None if finding.fix is None else _fix_record(finding.fix, operations)
    span = None if finding.span is None else [*_offsets(finding.span.start), *_offsets(finding.span.end)]
    return [
        finding.code,
        finding.name,
        finding.severity.value,
        finding.message,
        finding.pointer,
        finding.phase.value,
        span,
        finding.help,
        {name: value for name, value in finding.details.items() if isinstance(value, _KEPT)},
        finding.on_name,
        fix,
        finding.confidence.value,
    ]


def _fix_record(fix: Fix, operations: list[list[Any]]) -> list[Any]:
    operations.append(
        [
            [type(operation).__name__, *(getattr(operation, name) for name in operation.__match_args__)]
            for operation in fix.operations
        ]
    )
    return [fix.title, fix.safety.value, len(operations) - 1]


class _Operations:
    """The operations of the fixes in one line, parsed when the first of them is needed."""

    __slots__ = ("_line", "_read")

    def __init__(self, line: bytes) -> None:
        self._line = line
        self._read: Any = None

    def __call__(self, number: int) -> tuple[Operation, ...]:
        kinds = _operations()
        try:
            if self._read is None:
                self._read = loads(self._line)
            return tuple(kinds[name](*values) for name, *values in self._read[number])
        except (LookupError, TypeError, ValueError, RecursionError):
            return ()  # a fix without operations is one that can't be applied


def _fix(record: list[Any], operations: _Operations) -> Fix:
    title, safety, number = record
    return Fix(title, _SAFETIES[safety], lambda: operations(number))


def _finding(path: str, record: list[Any], operations: _Operations) -> Finding:
    code, name, severity, message, pointer, phase, span, help_text, details, on_name, fix, confidence = record
    return Finding(
        sys.intern(code),
        sys.intern(name),
        _SEVERITIES[severity],
        message,
        pointer,
        phase=_PHASES[phase],
        path=path,
        span=None if span is None else Span(Position(*span[:4]), Position(*span[4:])),
        fix=None if fix is None else _fix(fix, operations),
        help=help_text,
        details=details,
        on_name=on_name,
        confidence=_CONFIDENCES[confidence],
    )
