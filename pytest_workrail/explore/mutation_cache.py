"""Verdicts of the last report, so that only what changed since then is judged again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_workrail.explore.mutation_edit import Mutant, Removed, value_at
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.version import VERSION
from workrail_lint.project.cache import Cache
from workrail_lint.systems.base import FileResult

_MEMBERS = {"id", "operator", "place", "change", "pointer", "status"}
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
    """Results by key, in the user's cache folder: a cache that comes with a project could raise its score."""

    def __init__(self, root: str, *, enabled: bool = True) -> None:
        self._cache = Cache(root if enabled else None, f"mutation {VERSION}")

    def get(self, key: str) -> dict[str, Any] | None:
        known = self._cache.get(key, key)
        found = None if known is None else known.result.record
        return found if isinstance(found, dict) and set(found) >= _MEMBERS else None

    def put(self, key: str, result: dict[str, Any]) -> None:
        self._cache.put(key, key, FileResult([], result))

    def save(self) -> None:
        """Keep what was judged last, and of the rest as much as fits."""
        for key in list(self._cache.entries)[:-_MOST]:
            del self._cache.entries[key]
        self._cache.save()
