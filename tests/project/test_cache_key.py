"""What decides about the results of a run, and so about whether earlier ones still hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import workrail_lint
from workrail_lint.project.cache import Cache
from workrail_lint.project.plan import DECIDING, _cache_key
from workrail_lint.systems.workrail.catalog import Catalog, load_core
from workrail_lint.systems.workrail.catalog.loading import with_routines
from workrail_lint.systems.workrail.rules.samples import step, workflow
from workrail_lint.systems.workrail.settings import Settings


def key(catalog: Catalog, **settings: Any) -> bytes:
    return _cache_key(Settings(catalog, base_catalog=load_core(), **settings), {})


def routine(prompt: str) -> dict[str, Any]:
    return workflow(step("look", prompt=prompt), id="wr.routine-mine")


def extended(*routines: dict[str, Any]) -> Catalog:
    return with_routines(load_core(), list(routines)).catalog


def test_routines_of_the_project_decide() -> None:
    keys = [
        key(load_core()),
        key(extended(routine("Look here."))),
        key(extended(routine("Look there."))),
        key(extended({**routine("Look here."), "steps": [{"id": "a", "templateCall": {"templateId": "x"}}]})),
    ]
    assert len(set(keys)) == len(keys)
    assert keys[1] == key(extended(routine("Look here.")))


def test_another_catalog_decides() -> None:
    other = Catalog({**load_core().document, "capabilities": []})
    assert _cache_key(Settings(other), {}) != _cache_key(Settings(load_core()), {})


def test_all_code_that_finds_something_decides() -> None:
    """In a checkout; what only shows findings does not."""
    rooms = {path.name for path in Path(workrail_lint.__file__).parent.iterdir() if (path / "__init__.py").exists()}
    assert set(DECIDING) == rooms - {"cli", "report", "server", "studio"}


def test_settings_of_a_system_decide() -> None:
    assert key(load_core(), options={"team-mode": "lean"}) != key(load_core(), options={"team-mode": "full"})


def test_the_key_needs_no_contract_packs() -> None:
    """They are large, and few workflows ask for one."""
    packs: list[str] = []

    def read() -> list[dict[str, Any]]:
        packs.append("read")
        return []

    document = load_core().document
    base = Catalog(document, document["digest"], read)
    _cache_key(Settings(base.with_routine_entries([]), base_catalog=base), {})
    assert packs == []


def test_no_cache_lies_among_the_files_of_the_project(tmp_path: Path, user_cache: Path) -> None:
    cache = Cache(str(tmp_path), "key")
    assert cache.path is not None
    assert Path(cache.path).is_relative_to(user_cache)
