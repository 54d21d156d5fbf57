"""Writes what is known about the releases of the public engine: `python -m tools.engine_releases`.

`history FILE` makes the whole table from a file that lists every release with the changes of its schema and its
builtins. `release DIR` adds one release from an installed engine: its schema is compared with ours, and its catalog
with the builtins of the releases before. What can't be read from either, such as a check in the engine's code, is
written by hand in `tools/engines/notes.json`, by version, and merged into the table by `notes` and by the other two.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from workrail_lint.base.result import Err
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog.importer import import_engine
from workrail_lint.systems.workrail.engines.engine_schema import Facts, compare, shapes_in
from workrail_lint.systems.workrail.engines.releases import BUILTINS, TABLE, Release, read_table

NOTES = Path(__file__).parent / "engines" / "notes.json"
_NEWEST = "3.121.0"  # the release that the shipped schema describes
_FROM_HAND = ("pins", "checks", "dropped", "routines", "notes")
Entry = dict[str, Any]


def from_history(history: list[Entry]) -> list[Entry]:
    """Return the table of a history: the facts of the first release, and what changed with each one after it."""
    definitions = load_schema("workflow")["definitions"]
    state: Facts = {}
    before: dict[str, Any] = {}
    table: list[Entry] = []
    for release in history:
        described = shapes_in(state)
        state = _next_state(state, release)
        now = compare(state, definitions).differences
        entry: Entry = {"version": release["version"], "date": release["date"]}
        changes = _changes(before, now, definitions)
        # What a shape was before there was one is of no interest.
        changes = {path: change for path, change in changes.items() if path.partition("/")[0] in described}
        if changes:
            entry["schema"] = changes
        before = now
        added = (release["state"] if not table else release.get("added", {})).get("catalog", {})
        entry.update({kind: sorted(added[kind]) for kind in BUILTINS if added.get(kind)})
        changed = release.get("changed", {})
        if texts := changed.get("catalog", {}).get("refs_text"):
            entry["texts"] = sorted(texts)
        if changed.get("routine_files"):
            entry["routineTexts"] = True
        table.append(entry)
    return table


def _next_state(state: Facts, release: Entry) -> Facts:
    if not state:
        return dict(release["state"]["schema"])
    removed = release.get("removed", {}).get("schema", [])
    state = {pointer: dict(words) for pointer, words in state.items() if pointer not in removed}
    state.update(release.get("added", {}).get("schema", {}))
    for pointer, words in release.get("changed", {}).get("schema", {}).items():
        for word, change in words.items():
            state[pointer].pop(word, None)
            if change["to"] is not None:
                state[pointer][word] = change["to"]
    return state


def _changes(before: dict[str, Any], now: dict[str, Any], definitions: Entry) -> Entry:
    """Return what each changed place was before; a place inside of one that is listed is not."""
    absent = object()
    paths = [path for path in {**before, **now} if before.get(path, absent) != now.get(path, absent)]
    outermost = [path for path in paths if not any(path.startswith(f"{other}/") for other in paths)]
    return {path: {"was": before[path] if path in before else _at(definitions, path)} for path in sorted(outermost)}


def _at(definitions: Any, path: str) -> Any:
    """Return the value at a path below our definitions, None where there is none."""
    for token in path.split("/"):
        definitions = definitions[int(token)] if isinstance(definitions, list) else definitions.get(token)
        if definitions is None:
            return None
    return definitions


def from_engine(directory: Path, table: list[Release], date: str = "", node: str | None = None) -> Entry:
    """Return the entry of an installed engine: what its schema and its builtins add to those known so far."""
    imported = import_engine(directory, node=node)
    if isinstance(imported, Err):
        raise SystemExit(imported.error[0].message)
    for note in imported.value.findings:
        sys.stdout.write(f"{note.message}\n")
    catalog = imported.value.catalog
    entry: Entry = {"version": catalog.engine_version, "date": date}
    if catalog.engine_schema:
        entry["schema"] = catalog.engine_schema
    present: dict[str, dict[str, Any]] = {
        "features": catalog.features,
        "refs": catalog.refs,
        "contracts": catalog.contracts,
        "templates": catalog.templates,
    }
    for kind in BUILTINS:
        known = {name for release in table for name in release.builtins(kind)}
        if added := sorted(present[kind].keys() - known):
            entry[kind] = added
    return entry


def with_notes(table: list[Entry]) -> list[Entry]:
    """Return the table with what is written by hand, which replaces what was there of it."""
    notes = json.loads(NOTES.read_text(encoding="utf-8"))
    result = []
    for entry in table:
        hand = notes.get(entry["version"], {})
        own = {name: value for name, value in entry.items() if name not in _FROM_HAND}
        if "schema" in hand:
            own["schema"] = {**own.get("schema", {}), **hand["schema"]}
        result.append({**own, **{name: hand[name] for name in _FROM_HAND if name in hand}})
    return result


def table_text(table: list[Entry]) -> str:
    """Return the content of the file: one release on a line."""
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in table)
    return f'{{"shipped":"{_NEWEST}","releases":[\n{lines}\n]}}\n'


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description="Write what is known about the releases of the engine.")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("history").add_argument("file", type=Path)
    release = actions.add_parser("release")
    release.add_argument("directory", type=Path)
    release.add_argument("--date", default="", help="when it was released: YYYY-MM-DD")
    release.add_argument("--node", help="the Node.js program")
    actions.add_parser("notes")
    args = parser.parse_args()
    if args.action == "history":
        table = from_history(json.loads(args.file.read_bytes()))
    else:
        table = [release.entry for release in read_table()]
    if args.action == "release":
        table.append(from_engine(args.directory, list(read_table()), args.date, args.node))
    Path(TABLE).write_text(table_text(with_notes(table)), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
