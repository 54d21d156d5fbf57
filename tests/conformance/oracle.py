"""What the reference engine answered, read in place from the corpus folder when there is one."""

from __future__ import annotations

import copy
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_PARTS = ("corpus", "oracle")


@cache
def shared_folder() -> Path | None:
    """The folder with `corpus/` and `oracle/`: WORKRAIL_CORPUS, or `shared` next to the project."""
    named = os.environ.get("WORKRAIL_CORPUS")
    folder = Path(named) if named else Path(__file__).resolve().parents[2].parent / "shared"
    return folder if all((folder / part).is_dir() for part in _PARTS) else None


requires_oracle = pytest.mark.skipif(
    shared_folder() is None,
    reason="no corpus: name a folder with corpus/ and oracle/ in WORKRAIL_CORPUS, or put it beside the project",
)


def _folder() -> Path:
    folder = shared_folder()
    if folder is None:
        raise RuntimeError("no corpus; mark the test with requires_oracle")
    return folder


def read_jsonl(name: str) -> list[dict[str, Any]]:
    """The rows of an oracle file, none when there is no corpus (so that tests can be collected)."""
    if shared_folder() is None:
        return []
    with open(_folder() / "oracle" / name, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def read_oracle(name: str) -> Any:
    """An oracle file that is one JSON document."""
    with open(_folder() / "oracle" / name, encoding="utf-8") as file:
        return json.load(file)


def base_path(path: str) -> Path:
    """Where a document named in an oracle row lies: `bases/…` beside the rows, all others in the corpus."""
    return _folder() / ("oracle" if path.startswith("bases/") else "corpus") / path


@cache
def _base_text(path: str) -> str:
    return base_path(path).read_text(encoding="utf-8")


def load_base(path: str) -> dict[str, Any]:
    """A fresh copy of a document named in an oracle row."""
    document: dict[str, Any] = json.loads(_base_text(path))
    return document


def apply_patch(document: Any, patch: list[dict[str, Any]]) -> Any:
    """The document after an RFC 6902 patch; the one given is left as it was.

    A member that is new goes last, one that is replaced keeps its place, and `move` is `remove`
    followed by `add`: member order is part of what the engine saw.
    """
    document = copy.deepcopy(document)
    for operation in patch:
        path = _tokens(operation["path"])
        match operation["op"]:
            case "add":
                document = _add(document, path, copy.deepcopy(operation["value"]))
            case "replace":
                document = _replace(document, path, copy.deepcopy(operation["value"]))
            case "remove":
                _take(document, path)
            case "move":
                document = _add(document, path, _take(document, _tokens(operation["from"])))
            case "copy":
                source = _tokens(operation["from"])
                document = _add(document, path, copy.deepcopy(_find(document, source)))
            case "test":
                assert _find(document, path) == operation["value"], operation
            case unknown:
                raise ValueError(f"unknown operation {unknown!r}")
    return document


def _tokens(pointer: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _find(document: Any, path: list[str]) -> Any:
    for token in path:
        document = document[int(token)] if isinstance(document, list) else document[token]
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _find(document, path[:-1])
    if isinstance(parent, list):
        parent.insert(len(parent) if path[-1] == "-" else int(path[-1]), value)
    else:
        parent[path[-1]] = value
    return document


def _replace(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _find(document, path[:-1])
    parent[int(path[-1]) if isinstance(parent, list) else path[-1]] = value
    return document


def _take(document: Any, path: list[str]) -> Any:
    parent = _find(document, path[:-1])
    return parent.pop(int(path[-1]) if isinstance(parent, list) else path[-1])
