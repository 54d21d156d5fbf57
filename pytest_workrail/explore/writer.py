"""Generated scenarios as files: what they look like, which are there already, and whose they are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_workrail.coverage.observe import observe
from pytest_workrail.coverage.points import Point
from pytest_workrail.explore.cover import Selected
from pytest_workrail.explore.plans import Plan, expectations, turn_documents
from pytest_workrail.golden.keys import SCENARIO_ENDING
from pytest_workrail.scenarios.drivers import play
from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.files import read_bytes
from workrail_lint.base.js import Json
from workrail_lint.base.result import Ok

BY = "workrail-test generate"
_PROFILES = ("reference", "locked")


def scenario_document(selected: Selected, workflow: str, sentence: str, *, golden: bool) -> dict[str, Json]:
    """A run as a scenario file."""
    plan = selected.plan
    document: dict[str, Json] = {"description": sentence, "workflow": workflow}
    profiles = [name for name in _PROFILES if name in plan.profiles]
    if len(profiles) > 1:
        document["profiles"] = list[Json](profiles)
    elif profiles != ["reference"]:
        document["profile"] = profiles[0]
    if plan.preferences.autonomy != "guided":
        document["mode"] = plan.preferences.autonomy
    if plan.context:
        document["context"] = dict(plan.context)
    document["agent"] = {"kind": "scripted", "turns": turn_documents(_played(plan))}
    document["expect"] = expectations(plan.run)
    document["golden"] = golden
    return stamped(document, [f"{name}:{point.name}" for name, point in selected.unique])


def _played(plan: Plan) -> Any:
    return () if plan.run.ending.kind == "refused" else plan.taken


def stamped(document: dict[str, Json], shown: list[str]) -> dict[str, Json]:
    """The document with a note of who wrote it, and a digest that tells when somebody else changed it."""
    bare = {name: value for name, value in document.items() if name != "generated"}
    made: dict[str, Json] = {"by": BY, "goals": list[Json](shown), "digest": canonical_hash(bare)}
    return {**bare, "generated": made}


def is_edited(document: dict[str, Any]) -> bool:
    """Whether a generated scenario is no longer what was written."""
    bare = {name: value for name, value in document.items() if name != "generated"}
    return bool(document.get("generated", {}).get("digest") != canonical_hash(bare))


def file_bytes(document: dict[str, Json]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


@dataclass(frozen=True, slots=True)
class Existing:
    """A scenario file about a workflow: what it shows where it passes, None where it fails, and whose it is."""

    path: Path
    document: dict[str, Any]
    shown: dict[str, frozenset[Point]] | None

    @property
    def is_ours(self) -> bool:
        """Written by us, and nobody changed it since."""
        return self.document.get("generated", {}).get("by") == BY and not is_edited(self.document)


def existing_scenarios(folder: Path, workflow: Path) -> Iterator[Existing]:
    """The scenarios in a folder that are about a workflow, played."""
    target = os.path.realpath(workflow)
    for path in sorted(folder.glob(f"*{SCENARIO_ENDING}")) if folder.is_dir() else ():
        try:
            document = json.loads(read_bytes(os.fspath(path)))
        except (OSError, ValueError, RecursionError):
            continue
        named = document.get("workflow") if isinstance(document, dict) else None
        if not isinstance(named, str) or os.path.realpath(path.parent / named) != target:
            continue
        yield Existing(path, document, _shown(path))


def _shown(path: Path) -> dict[str, frozenset[Point]] | None:
    playing = play(path, path.name)
    if not isinstance(playing, Ok):
        return None
    found: dict[str, frozenset[Point]] = {}
    for played in (playing.value, *playing.value.further):
        if played.faults or played.transcript is None:
            return None
        found[played.transcript.profile] = observe(played.transcript, strong=True)
    return found
