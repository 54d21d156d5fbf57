"""`workrail.lock.json`: the golden hashes of a repository's workflows, and what each workflow did when pinned."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple

from workrail_lint.base.result import Err, Ok
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.schema.engine import Validator, compile_schema
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.engine_target import HashMode
from workrail_lint.systems.workrail.diff import Change, compare, outline, outline_from_json

FILE_NAME = "workrail.lock.json"
VERSION = 1


class Entries(Mapping[str, dict[str, Any]]):
    """The entries of a lockfile by path. Only their texts are kept, because values take several times the memory."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    def __getitem__(self, path: str) -> dict[str, Any]:
        value: Any = read_json(self.texts[path], max_bytes=None).value
        entry: dict[str, Any] = value  # checked when the file was read
        return entry

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


class Lockfile(NamedTuple):
    """Entries by path, the catalog they were made with, and the engine that their engine hashes are of."""

    catalog: dict[str, str]
    workflows: Mapping[str, dict[str, Any]]
    engine_version: str | None = None  # None in a file that does not say

    def text(self) -> str:
        """Return the file's content: stable order, two-space indentation, a final newline."""
        entries = {path: entry_text(entry) for path, entry in self.workflows.items()}
        return lockfile_bytes(self.catalog, entries, self.engine_version).decode()

    def has_text(self, path: str, text: str) -> bool:
        """Return whether an entry is known to have this text. False says nothing: the layout may differ."""
        return isinstance(self.workflows, Entries) and self.workflows.texts.get(path) == text


def lockfile_bytes(catalog: dict[str, str], entries: Mapping[str, str], engine_version: str | None = None) -> bytes:
    """Return the content of a lockfile, from the texts of its entries."""
    engine = {} if engine_version is None else {"engineVersion": engine_version}
    head = _text({"lockfileVersion": VERSION, **engine, "catalog": catalog}).removesuffix("\n}")
    # Piece by piece: one wide character would widen a text of tens of megabytes.
    content = BytesIO()

    def write(text: str) -> None:
        # A file name that is not UTF-8 has lone surrogates, which JSON must escape.
        content.write(text.encode("utf-8", "backslashreplace"))

    write(f'{head},\n  "workflows": {{')
    for number, path in enumerate(sorted(entries)):
        write(f"{',' if number else ''}\n    {_text(path)}: ")
        write(entries[path])
    write("\n  }\n}\n" if entries else "}\n}\n")
    return content.getvalue()


def entry_text(entry: dict[str, Any]) -> str:
    """Return an entry as it is in a lockfile. No string of JSON holds a line break, so all of them are layout."""
    return _text(entry).replace("\n", "\n    ")


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


class Difference(NamedTuple):
    """How a workflow differs from its entry."""

    path: str
    kind: str  # "new", "missing", "changed", "metadata" or "engine"
    changes: tuple[Change, ...]
    before: str | None  # the pinned hash
    after: str | None


def lock_entry(compiled: CompiledWorkflow) -> dict[str, Any]:
    return {
        "workflowId": compiled.workflow_id,
        "hash": compiled.hash,
        "engineHash": compiled.engine_hash,
        "engineMode": HashMode.PINNED.value,
        "outline": outline(compiled.ir).as_json(),
    }


def catalog_entry(catalog: Catalog) -> dict[str, str]:
    return {"id": catalog.catalog_id, "version": catalog.version, "digest": catalog.digest}


def parse_lockfile(data: bytes) -> Ok[Lockfile] | Err[str]:
    """Read a lockfile; a damaged one, or one from a newer version, is an error in words."""
    return _parse_by_entry(data) or _parse_whole(data)


# The layout of a lockfile as it is written: the head, entries at the depth of four spaces, the end.
_HEAD_END = b',\n  "workflows": {'
_END = b"\n  }\n}\n"
_PINNED = re.compile(rb'\n    ("(?:[^"\\\n]|\\[^\n])*"): (\{\n(?:      [^\n]*\n)*    \})(,?)')


def _parse_by_entry(data: bytes) -> Ok[Lockfile] | None:
    """Return what a sound lockfile in its usual layout holds, without having all its values in memory; else None."""
    at = data.find(_HEAD_END)
    head = _sound(data[:at] + b"}") if at >= 0 else None
    if type(head) is not dict or head.get("lockfileVersion") != VERSION or "workflows" in head:
        return None
    if _validator().violations({**head, "workflows": {}}):
        return None
    texts: dict[str, str] = {}
    at += len(_HEAD_END)
    has_more = True
    while has_more:
        match = _PINNED.match(data, at)
        name = _sound(match[1]) if match else None
        if match is None or type(name) is not str or name in texts:
            return None
        if _entry_validator().violations(_sound(match[2])):
            return None
        texts[name] = match[2].decode()
        at, has_more = match.end(), bool(match[3])
    return Ok(Lockfile(head["catalog"], Entries(texts), head.get("engineVersion"))) if data[at:] == _END else None


def _sound(data: bytes) -> Any:
    """Return the value of a JSON text; None if anything is wrong with it."""
    document = read_json(data, max_bytes=None)
    return document.value if document.readable and not document.problems else None


def _parse_whole(data: bytes) -> Ok[Lockfile] | Err[str]:
    document = read_json(data, max_bytes=None)
    if not document.readable or document.problems:
        problem = document.problems[0]
        where = document.source.position(problem.start)
        place = f"line {where.line}, column {where.column}: "
        return Err(f"it is not valid JSON ({place}{problem.message.removeprefix(place)})")
    value: Any = document.value
    if type(value) is not dict or type(value.get("lockfileVersion")) is not int:
        return Err("it has no lockfileVersion, so it is not a lockfile")
    version = value["lockfileVersion"]
    if version != VERSION:
        newer = version > VERSION
        return Err(
            f"it has version {version}, this program knows version {VERSION}"
            + ("; update workrail-lint" if newer else "; remove it and write it again with lock --update")
        )
    violations = _validator().violations(value)
    if any(not violation.pointer.startswith("/workflows/") for violation in violations):
        return Err("its engineVersion, catalog or workflows member is damaged")
    if violations:
        return Err(f"the entry of {pointers.decode(violations[0].pointer)[1]} is damaged")
    return Ok(Lockfile(value["catalog"], value["workflows"], value.get("engineVersion")))


_STRING = {"type": "string"}
_ENTRY = {
    "type": "object",
    "required": ["workflowId", "hash", "engineHash", "outline"],
    "properties": {
        "workflowId": _STRING,
        "hash": _STRING,
        "engineHash": {"type": ["string", "null"]},
        "outline": {
            "type": "object",
            "required": ["workflow", "steps"],
            "properties": {
                "workflow": {"type": "object"},
                "steps": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["id", "facets"],
                        "properties": {"id": _STRING, "loop": _STRING, "facets": {"type": "object"}},
                    },
                },
            },
        },
    },
}


@cache
def _entry_validator() -> Validator:
    return compile_schema(_ENTRY)


@cache
def _validator() -> Validator:
    catalog = dict.fromkeys(("id", "version", "digest"), _STRING)
    return compile_schema(
        {
            "type": "object",
            "required": ["catalog", "workflows"],
            "properties": {
                "engineVersion": _STRING,
                "catalog": {"type": "object", "required": [*catalog], "properties": catalog},
                "workflows": {"type": "object", "additionalProperties": _ENTRY},
            },
        }
    )


def differences(lock: Lockfile, entries: Mapping[str, str], asked: set[str] | None) -> list[Difference]:
    """Return what no longer is as it was pinned, by path. `asked` restricts the look to some paths.

    `entries` are the texts of the entries that the workflows have now.
    """
    result: list[Difference] = []
    for path in sorted(entries.keys() | lock.workflows.keys()):
        if asked is not None and path not in asked:
            continue
        if path in entries and lock.has_text(path, entries[path]):
            continue
        entry, now = lock.workflows.get(path), json.loads(entries[path]) if path in entries else None
        if entry is None and now is not None:
            result.append(Difference(path, "new", (), None, now["hash"]))
        elif now is None and entry is not None:
            result.append(Difference(path, "missing", (), entry["hash"], None))
        elif entry is not None and now is not None and (difference := _difference(path, entry, now)):
            result.append(difference)
    return result


def _difference(path: str, entry: dict[str, Any], now: dict[str, Any]) -> Difference | None:
    if entry["hash"] == now["hash"] and entry["engineHash"] == now["engineHash"]:
        return None
    changes = tuple(compare(outline_from_json(entry["outline"]), outline_from_json(now["outline"])))
    if entry["workflowId"] != now["workflowId"]:  # no behaviour of its own, but all that runs is known by it
        changes = (Change("changed", "", "workflowId", entry["workflowId"], now["workflowId"]), *changes)
    kind = "changed" if changes else ("engine" if entry["hash"] == now["hash"] else "metadata")
    return Difference(path, kind, changes, entry["hash"], now["hash"])
