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
from typing import Any

from workrail_lint.base.files import make_folders, read_bytes, remove_file, write_atomically
from workrail_lint.documents.operations import Cut, Insert, Remove, Rename, Replace, ReplaceText, Respell
from workrail_lint.findings import Finding, Fix, Phase, Position, Safety, Severity, Span
from workrail_lint.systems.base import FileResult

_FORMAT = 6
_KEY_FILE = "key"
_KEY_BYTES = 32
_SIGNATURE_BYTES = 64  # in hexadecimal
_MOST_FILES = 400


def content_key(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def user_folder() -> str:
    """Where the results of this user are kept, unless a folder is named."""
    home = os.path.expanduser("~")
    shared = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else os.environ.get("XDG_CACHE_HOME")
    if not shared or not os.path.isabs(shared):
        shared = os.path.join(home, ".cache")
    return os.path.join(shared, "workrail-lint")


class Cache:
    """The results of one way of looking at one project. `entries` maps a path to its content key and result."""

    def __init__(self, root: str | None, key: str, folder: str | None = None) -> None:
        """`folder` is one of the project; without it, results are kept in the user's."""
        self.path: str | None = None
        self.entries: dict[str, list[Any]] = {}
        self.changed = False
        self._folder = folder or user_folder()
        self._below = root if folder and root else self._folder
        if root is not None:
            name = content_key(os.fsencode(os.path.realpath(root)) + b"\0" + key.encode())[:32]
            self.path = os.path.join(self._folder, f"{name}.json")
            self.entries = _load(self.path)

    def get(self, path: str, content: str) -> FileResult | None:
        entry = self.entries.get(path)
        if entry is None or entry[0] != content:
            return None
        return FileResult([_finding(path, item) for item in entry[1]], entry[2])

    def system_of(self, path: str) -> int:
        """Which system a cached result is from."""
        return int(self.entries[path][3])

    def put(self, path: str, content: str, result: FileResult, system: int = 0) -> None:
        if self.path is None or not result.cacheable:
            return
        records = [_record(finding) for finding in result.findings]
        if any(record is None for record in records):
            return
        self.entries[path] = [content, records, result.record, system]
        self.changed = True

    def save(self) -> None:
        """Write new results. A folder that can't be written is not an error: the next run is only slower."""
        if self.path is None or not self.changed:
            return
        try:
            text = json.dumps({"format": _FORMAT, "entries": self.entries}).encode()
            key = _user_key(make=True)
            if key is None:
                return
            make_folders(self._folder, self._below)
            ignore = os.path.join(self._folder, ".gitignore")
            if not os.path.lexists(ignore):
                write_atomically(ignore, b"*\n")
            write_atomically(self.path, _signature(key, self.path, text) + text)
            _prune(self._folder)
        except (OSError, TypeError, ValueError):
            return


def _user_key(*, make: bool) -> bytes | None:
    """What this user signs with; None when there is none, or when somebody else could know it."""
    folder = user_folder()
    path = os.path.join(folder, _KEY_FILE)
    try:
        if make and not os.path.lexists(path):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            write_atomically(path, os.urandom(_KEY_BYTES), mode=0o600)
        info = os.lstat(path)
        if hasattr(os, "geteuid") and (info.st_uid != os.geteuid() or info.st_mode & 0o077):
            return None
        key = read_bytes(path, _KEY_BYTES, follow=False)
    except OSError:
        return None
    return key if len(key) == _KEY_BYTES else None


def _signature(key: bytes, path: str, text: bytes) -> bytes:
    """For a file of one name: the results of one project say nothing about another."""
    import hashlib

    name = os.path.basename(path).encode()
    return hashlib.blake2b(name + b"\0" + text, key=key, digest_size=_SIGNATURE_BYTES // 2).hexdigest().encode()


def _load(path: str) -> dict[str, list[Any]]:
    try:
        data = read_bytes(path, follow=False)
        key = _user_key(make=False)
        signature, text = data[:_SIGNATURE_BYTES], data[_SIGNATURE_BYTES:]
        if key is None or _signature(key, path, text) != signature:
            return {}
        document = json.loads(text)
        entries = document["entries"]
        if document["format"] != _FORMAT or not isinstance(entries, dict):
            return {}
        return {name: entry for name, entry in entries.items() if _is_entry(entry)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _prune(folder: str) -> None:
    """Forget the results that were not made anew for longest; every change of the rules begins a new file."""
    paths = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".json")]
    for path in sorted(paths, key=os.path.getmtime)[:-_MOST_FILES]:
        remove_file(path)


# ----------------------------------------------------------------------------------------------------------- records


def _is_entry(value: Any) -> bool:
    """Whether a value has the shape that `put` gives an entry, so that nothing further on trips over it."""
    if not _fits(value, (_is_text, _is_list, _is_anything, _is_count)):
        return False
    return all(_is_finding(record) for record in value[1])


def _is_finding(value: Any) -> bool:
    shape = (_is_text, _is_text, _is_one_of(Severity), _is_text, _is_text, _is_one_of(Phase))
    rest = (_is_span, _is_text_or_none, _is_details, _is_flag, _is_fix)
    return _fits(value, shape + rest)


def _fits(value: Any, shape: tuple[Callable[[Any], bool], ...]) -> bool:
    fits = isinstance(value, list) and len(value) == len(shape)
    return fits and all(check(item) for check, item in zip(shape, value, strict=True))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_anything(value: Any) -> bool:
    return True


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_one_of(kind: type[Severity] | type[Phase] | type[Safety]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in {member.value for member in kind}


def _is_span(value: Any) -> bool:
    return value is None or (_is_list(value) and len(value) == 8 and all(map(_is_count, value)))


def _is_details(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str | int) for item in value.values())


def _is_fix(value: Any) -> bool:
    if value is None:
        return True
    if not _fits(value, (_is_text, _is_one_of(Safety), _is_list)):
        return False
    return all(isinstance(operation, list) and _is_operation(*operation) for operation in value[2])


def _is_operation(name: Any = None, *values: Any) -> bool:
    kind = _OPERATIONS.get(name) if isinstance(name, str) else None
    if kind is None or len(values) != len(kind.__match_args__):
        return False
    return all(_SHAPES[field](value) for field, value in zip(kind.__match_args__, values, strict=True))


def _record(finding: Finding) -> list[Any] | None:
    """A finding as JSON; None when its fix is too large to keep (it would hold most of the file)."""
    fix = None if finding.fix is None else _fix_record(finding.fix)
    if fix is not None and len(json.dumps(fix)) > _LARGEST_FIX:
        return None
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
        {name: value for name, value in finding.details.items() if isinstance(value, str | int | bool)},
        finding.on_name,
        fix,
    ]


def _fix_record(fix: Fix) -> list[Any]:
    operations = [
        [type(operation).__name__, *(getattr(operation, name) for name in operation.__match_args__)]
        for operation in fix.operations
    ]
    return [fix.title, fix.safety.value, operations]


def _fix(record: list[Any]) -> Fix:
    title, safety, operations = record
    return Fix(title, Safety(safety), tuple(_OPERATIONS[name](*values) for name, *values in operations))


_LARGEST_FIX = 2_000
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
_OPERATIONS: dict[str, Any] = {
    kind.__name__: kind for kind in (Cut, Insert, Remove, Rename, Replace, ReplaceText, Respell)
}


def _finding(path: str, record: list[Any]) -> Finding:
    code, name, severity, message, pointer, phase, span, help_text, details, on_name, fix = record
    return Finding(
        code,
        name,
        Severity(severity),
        message,
        pointer,
        phase=Phase(phase),
        path=path,
        span=None if span is None else Span(Position(*span[:4]), Position(*span[4:])),
        fix=None if fix is None else _fix(fix),
        help=help_text,
        details=details,
        on_name=on_name,
    )
