"""Builds the shipped catalog `core.json` from its sources.

    python -m tools.catalog.generate [--check]

The contract packs of the other document systems stay in files of their own; the digest is over all of them together.
The sources are written for people: a text is a list of lines, a pattern is named (`@uuid`), a closed
object says so once, refs leave out their usual placements, and a routine that needs no separate entry
is just its definition.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tools.generated import bring_up_to_date
from workrail_lint.systems.schemas import shipped_packs
from workrail_lint.systems.workrail import catalog
from workrail_lint.systems.workrail.catalog.catalog import CORE_FILE, PLACEMENTS, by_id, digest_of
from workrail_lint.systems.workrail.catalog.contracts import PATTERNS
from workrail_lint.systems.workrail.catalog.loading import sort_entries
from workrail_lint.systems.workrail.catalog.render import document_text

_HERE = Path(__file__).parent
_SHIPPED = Path(catalog.__file__).parent
_SOURCE = _HERE / "source"


def core_document() -> dict[str, Any]:
    """Return the core catalog, assembled from its sources, without the packs that are kept elsewhere."""
    document = {
        **_read("catalog.json"),
        "features": [_feature(entry) for entry in _read("features.json")],
        "refs": [_ref(entry) for entry in _read("refs.json")],
        "routines": sort_entries([_routine(path) for path in sorted((_SOURCE / "routines").glob("*.json"))]),
        "contracts": [{**entry, "schema": _schema(entry["schema"])} for entry in _read("contracts.json")],
        "capabilities": _read("capabilities.json"),
    }
    complete = {**document, "contracts": by_id([*document["contracts"], *shipped_packs()])}
    return {**document, "digest": digest_of(complete)}


def files() -> dict[str, str]:
    """Return every generated file and its text."""
    return {str(_SHIPPED / CORE_FILE): document_text(core_document())}


def main(arguments: list[str]) -> int:
    return bring_up_to_date(files(), arguments)


def _read(name: str) -> Any:
    return json.loads((_SOURCE / name).read_text(encoding="utf-8"))


def _lines(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "\n".join(value)


def _feature(entry: dict[str, Any]) -> dict[str, Any]:
    config = entry["configSchema"]
    return {**entry, "configSchema": None if config is None else _schema(config)}


def _ref(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "text": _lines(entry["text"]), "placements": list(PLACEMENTS)}


def _routine(path: Path) -> dict[str, Any]:
    source = json.loads(path.read_text(encoding="utf-8"))
    entry = source if "definition" in source else {"phase": "shipped", "definition": source}
    steps = [{**step, "prompt": _lines(step["prompt"])} for step in entry["definition"]["steps"]]
    return {**entry, "definition": {**entry["definition"], "steps": steps}}


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for keyword, value in schema.items():
        match keyword:
            case "properties":
                out[keyword] = {name: _schema(member) for name, member in value.items()}
            case "oneOf":
                out[keyword] = [_schema(alternative) for alternative in value]
            case "items" | "additionalProperties":
                out[keyword] = _schema(value)
            case "pattern":
                out[keyword] = PATTERNS[value.removeprefix("@")][0]
            case _:
                out[keyword] = value
    if schema.get("x-objectMode") == "strict":
        out["additionalProperties"] = False
    return out


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
