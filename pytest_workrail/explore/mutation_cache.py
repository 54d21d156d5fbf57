"""Verdicts of the last report, so that only what changed since then is judged again."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pytest_workrail.explore.mutation_edit import Mutant, Removed, value_at
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.files import CACHE_FOLDER, read_bytes, write_atomically
from workrail_lint.base.version import VERSION

_FILE = "mutation.json"
_MOST = 50_000


def mutant_keys(mutants: Sequence[Mutant], payload: dict[str, Any]) -> dict[str, str]:
    """What the verdict on each mutant depends on, by its id: step and neighbours, the change, the scenarios."""
    ir = payload["ir"]
    suite = digest(canonical_bytes([VERSION, payload["profiles"], payload["scenarios"]]))
    keys: dict[str, str] = {}
    for mutant in mutants:
        value = "removed" if isinstance(mutant.value, Removed) else mutant.value
        if mutant.path[-1] in ("steps", "body"):
            index = mutant.at[-1]
            assert isinstance(index, int)
            around, value = value_at(ir, mutant.path)[max(0, index - 1) : index + 2], None
        elif mutant.path[0] == "steps":
            around = value_at(ir, mutant.path[:2])
        else:
            around = value_at(ir, mutant.path[:2]) if len(mutant.path) > 1 else value_at(ir, mutant.path)
        described = [suite, ir["workflowId"], mutant.id, mutant.change, around, value]
        keys[mutant.id] = digest(canonical_bytes(described))
    return keys


class MutationCache:
    """Results by key, in the cache folder of a project. A cache that can't be read or written is none."""

    def __init__(self, root: str, *, enabled: bool = True) -> None:
        self._root = root
        self._path = os.path.join(root, CACHE_FOLDER, _FILE)
        self._enabled = enabled
        self._known: dict[str, Any] = {}
        self._used: dict[str, Any] = {}
        if enabled:
            with suppress(OSError, ValueError, RecursionError):
                known = json.loads(read_bytes(self._path, follow=False))
                self._known = known if isinstance(known, dict) else {}

    def get(self, key: str) -> dict[str, Any] | None:
        found = self._known.get(key)
        if not isinstance(found, dict) or not {"id", "operator", "place", "change", "pointer", "status"} <= set(found):
            return None
        self._used[key] = found
        return found

    def put(self, key: str, result: dict[str, Any]) -> None:
        self._used[key] = result

    def save(self) -> None:
        """Keep what was used now first, and of the rest as much as fits."""
        if not self._enabled or self._used.keys() <= self._known.keys():
            return
        kept = dict(list({**self._used, **self._known}.items())[:_MOST])
        with suppress(OSError):
            write_atomically(self._path, json.dumps(kept).encode(), below=self._root)
