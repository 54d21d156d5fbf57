"""Results of earlier runs, keyed by content and by everything else that decides a result.

One file for each project and way of looking (version, rules, catalog, configuration), replaced in one step, in the
user's own cache folder. Each is signed with a key that only the user can read: a file that is missing, damaged or
from somebody else is simply not used, and deleting it is always safe.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base.files import make_folders, read_bytes, remove_file, state_of, write_atomically
from workrail_lint.documents.scanner import loads
from workrail_lint.findings import Finding, Fix, Phase, Position, Safety, Severity, Span
from workrail_lint.systems.base import FileResult

if TYPE_CHECKING:
    from workrail_lint.documents.operations import Operation

_HEAD = b'{"format":8}'
_KEY_FILE = "key"
_KEY_BYTES = 32
_SIGNATURE_BYTES = 64  # in hexadecimal
_MOST_FILES = 400
_MOST_BYTES = 256 * 1024 * 1024


def content_key(data: bytes) -> str:
    return blake2b(data, digest_size=32).hexdigest()


def user_folder() -> str | None:
    """Where the results of this user are kept, unless a folder is named; None for a user without a home.

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


Entry = list[Any]  # content key, findings, record, system, other files that decided


class Cache:
    """The results of one way of looking at one project. `entries` maps a path to what is kept about it.

    An entry stays the line it was read from until it is needed: of ten thousand, most are only written again.
    """

    def __init__(self, root: str | None, key: str, folder: str | None = None) -> None:
        """`folder` is one of the project; without it, results are kept in the user's."""
        self.path: str | None = None
        self.entries: dict[str, bytes | Entry] = {}
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
        kept = self.entries.get(name)
        entry, operations = _parts(kept)
        if not _is_entry(entry) or entry[0] != content:
            return None
        if any(state_of(file, with_content=read) != state for file, read, state in entry[4]):
            return None
        return _known(name if path is None else path, entry, operations)

    def put(self, path: str, content: str, result: FileResult, system: int = 0) -> None:
        line = encoded(content, result, system)
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
        lines = [
            _HEAD,
            *(b"%b\t%b" % (_json(path), line) for path, line in self.entries.items() if type(line) is bytes),
        ]
        try:
            text = b"\n".join(lines)
            key = _user_key(make=True)
            if key is None:
                return
            make_folders(self._folder, self._below)
            ignore = os.path.join(self._folder, ".gitignore")
            if not os.path.lexists(ignore):
                write_atomically(ignore, b"*\n", self._below)
            write_atomically(self.path, _signature(key, self.path, text) + text, self._below)
            _prune(self._folder, self._below)
        except (OSError, ValueError):
            return


def encoded(content: str, result: FileResult, system: int) -> bytes | None:
    """A result as one line; None when it depends on what no key can speak for, or can't be written as JSON.

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
    """Return what a line that `encoded` made says about a path."""
    return _known(path, *_parts(line))


def _parts(line: bytes | Entry | None) -> tuple[Any, bytes]:
    """The entry of a line, and the operations of its fixes."""
    if not isinstance(line, bytes):
        return line, b""
    entry, _, operations = line.partition(b"\t")
    return _parsed(entry), operations


@cache
def _encoder() -> Callable[[object], str]:
    return json.JSONEncoder(separators=(",", ":")).encode


def _json(value: object) -> bytes:
    return _encoder()(value).encode()


def _parsed(line: bytes) -> Any:
    try:
        return loads(line)
    except (ValueError, RecursionError):
        return None


def _known(path: str, entry: Entry, operations: bytes) -> Known:
    content, records, record, system, _ = entry
    later = _Operations(operations)
    return Known(FileResult([_finding(path, item, later) for item in records], record), system, content)


def _user_key(*, make: bool) -> bytes | None:
    """Return the key that this user signs with; None if there is none, or if someone else could know it."""
    folder = user_folder()
    if folder is None:
        return None
    path = os.path.join(folder, _KEY_FILE)
    try:
        if make and not os.path.lexists(path):
            make_folders(folder, folder, 0o700)
            write_atomically(path, os.urandom(_KEY_BYTES), folder, mode=0o600)
        info = os.lstat(path)
        if hasattr(os, "geteuid") and (info.st_uid != os.geteuid() or info.st_mode & 0o077):
            return None
        key = read_bytes(path, _KEY_BYTES, follow=False)
    except OSError:
        return None
    return key if len(key) == _KEY_BYTES else None


def _signature(key: bytes, path: str, text: bytes) -> bytes:
    """For a file of one name: the results of one project say nothing about another."""
    name = os.path.basename(path).encode()
    return blake2b(name + b"\0" + text, key=key, digest_size=_SIGNATURE_BYTES // 2).hexdigest().encode()


def _load(path: str) -> dict[str, bytes | Entry]:
    try:
        data = read_bytes(path, _MOST_BYTES, follow=False)
        key = _user_key(make=False)
        signature, text = data[:_SIGNATURE_BYTES], data[_SIGNATURE_BYTES:]
        if key is None or _signature(key, path, text) != signature:
            return {}
        head, *lines = text.split(b"\n")
        if head != _HEAD:
            return {}
        pairs = [line.partition(b"\t") for line in lines]
        names = [loads(name) for name, _, _ in pairs]
        return {name: entry for name, (_, _, entry) in zip(names, pairs, strict=True) if type(name) is str}
    except (OSError, ValueError, RecursionError):
        return {}


def _prune(folder: str, root: str) -> None:
    """Forget the results that were not made anew for longest; every change of the rules begins a new file."""
    paths = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".json")]
    for path in sorted(paths, key=os.path.getmtime)[:-_MOST_FILES]:
        remove_file(path, root)


# ----------------------------------------------------------------------------------------------------------- records


def _is_entry(value: Any) -> bool:
    """Return whether a value has the shape that `encoded` gives an entry, so that nothing further on trips over it."""
    if type(value) is not list or len(value) != 5:
        return False
    content, findings, _, system, others = value
    if type(content) is not str or not _is_count(system) or type(findings) is not list or type(others) is not list:
        return False
    return all(map(_is_finding, findings)) and all(map(_is_other, others))


def _is_other(value: Any) -> bool:
    return type(value) is list and [type(item) for item in value] == [str, bool, str]


def _is_finding(value: Any) -> bool:
    """One look at everything: a run may read a hundred thousand of them."""
    if type(value) is not list or len(value) != 11:
        return False
    code, name, severity, message, pointer, phase, span, help_text, details, on_name, fix = value
    if not (type(code) is type(name) is type(severity) is type(message) is type(pointer) is type(phase) is str):
        return False
    if severity not in _SEVERITIES or phase not in _PHASES or type(on_name) is not bool:
        return False
    if not (help_text is None or type(help_text) is str) or not _is_span(span) or not _is_details(details):
        return False
    return fix is None or _is_fix(fix)


_SEVERITIES = {level.value: level for level in Severity}
_PHASES = {phase.value: phase for phase in Phase}
_SAFETIES = {safety.value: safety for safety in Safety}


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_text_or_none(value: Any) -> bool:
    return value is None or type(value) is str


def _is_anything(value: Any) -> bool:
    return True


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_span(value: Any) -> bool:
    if value is None:
        return True
    return type(value) is list and [*map(type, value)] == _EIGHT_NUMBERS and min(value) >= 0


_EIGHT_NUMBERS = [int] * 8
_IN_DETAILS = frozenset((str, int, bool))


def _is_details(value: Any) -> bool:
    return type(value) is dict and _IN_DETAILS.issuperset(map(type, value.values()))


def _is_fix(value: Any) -> bool:
    if type(value) is not list or len(value) != 3:
        return False
    title, safety, number = value
    return type(title) is type(safety) is str and safety in _SAFETIES and _is_count(number)


def _are_operations(value: Any) -> bool:
    return type(value) is list and all(type(item) is list and _is_operation(*item) for item in value)


def _is_operation(name: Any = None, *values: Any) -> bool:
    kind = _operations().get(name) if isinstance(name, str) else None
    if kind is None or len(values) != len(kind.__match_args__):
        return False
    return all(_SHAPES[field](value) for field, value in zip(kind.__match_args__, values, strict=True))


@cache
def _operations() -> dict[str, Any]:
    """The kinds of operations by name; few runs apply a fix."""
    from workrail_lint.documents import operations as kinds

    found = (kinds.Cut, kinds.Insert, kinds.Remove, kinds.Rename, kinds.Replace, kinds.ReplaceText, kinds.Respell)
    return {kind.__name__: kind for kind in found}


_KEPT = (str, int)  # and bool, which is an int


def _record(finding: Finding, operations: list[list[Any]]) -> list[Any]:
    """A finding as JSON; the operations of its fix are added to those of the others."""
    fix = None if finding.fix is None else _fix_record(finding.fix, operations)
    span = None if finding.span is None else [*finding.span.start, *finding.span.end]
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
        self._read: list[Any] | None = None

    def __call__(self, number: int) -> tuple[Operation, ...]:
        if self._read is None:
            read = _parsed(self._line)
            self._read = read if type(read) is list else []
        # A fix without operations is one that can't be applied.
        found: Any = self._read[number] if number < len(self._read) else None
        kinds = _operations()
        return tuple(kinds[name](*values) for name, *values in found) if _are_operations(found) else ()


def _fix(record: list[Any], operations: _Operations) -> Fix:
    title, safety, number = record
    return Fix(title, _SAFETIES[safety], lambda: operations(number))


_SHAPES: dict[str, Callable[[Any], bool]] = {
    "pointer": _is_text,
    "name": _is_text_or_none,
    "old": _is_text,
    "new": _is_text,
    "text": _is_text,
    "start": _is_count,
    "end": _is_count,
    "index": lambda value: value is None or _is_count(value),
    "value": _is_anything,
}


_tuple = tuple.__new__  # for the right number of values: a run may read a hundred thousand places


def _finding(path: str, record: list[Any], operations: _Operations) -> Finding:
    code, name, severity, message, pointer, phase, span, help_text, details, on_name, fix = record
    return Finding(
        sys.intern(code),
        sys.intern(name),
        _SEVERITIES[severity],
        message,
        pointer,
        phase=_PHASES[phase],
        path=path,
        span=None if span is None else _tuple(Span, (_tuple(Position, span[:4]), _tuple(Position, span[4:]))),
        fix=None if fix is None else _fix(fix, operations),
        help=help_text,
        details=details,
        on_name=on_name,
    )
