"""What `generate` does for systems that generate scenarios in their own way."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from pytest_workrail.cli.searched_scenarios import scenario_files
from pytest_workrail.cli.searches import shown_path
from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.terminal import err, printable
from workrail_lint.cli.arguments import compiled_by_other
from workrail_lint.project.config import Config
from workrail_lint.project.discovery import discover
from workrail_lint.systems.base import ScenarioKind, System, resolved
from workrail_lint.systems.builtin import known_systems

# A task and the piece it is for.
Work = tuple[str, dict[str, Any]]


def systems_without_files() -> list[str]:
    """The systems for which scenarios are generated from their contract alone."""
    return [system.name for system in known_systems() if _kind(system) is not None and not system.compiled_kinds]


def _kind(system: System) -> ScenarioKind | None:
    return system.scenario if system.scenario is not None and system.scenario.generator else None


def other_documents(paths: list[str], config: Config) -> list[tuple[str, ScenarioKind]]:
    """The files at and below the paths that another system than that of workflows generates scenarios for."""
    found: list[tuple[str, ScenarioKind]] = []
    include, exclude = config.strings("include"), config.strings("exclude")
    for file in discover(paths, include=include, exclude=exclude, root=config.root).files:
        data = read_file(file.path)
        owner = compiled_by_other(file.path, data.value) if isinstance(data, Ok) else None
        kind = None if owner is None else _kind(owner.system)
        if kind is not None:
            found.append((file.path, kind))
    return found


def system_work(name: str, folder: str | None, golden: bool) -> Work:
    """What is generated from the contract of a system."""
    (kind,) = [kind for system in known_systems() if system.name == name and (kind := _kind(system)) is not None]
    work = document_work(name, kind, folder, golden)
    assert work is not None, "a contract can always be used"
    return work


def document_work(path: str, kind: ScenarioKind, folder: str | None, golden: bool) -> Work | None:
    """What is generated for one document; None, with a message, if it can't be used."""
    prepared = resolved(f"{kind.generator}:prepare")(path, folder or os.path.dirname(path) or os.curdir)
    if isinstance(prepared, Err):
        err(f"workrail-test: {printable(path)} can't be used: {printable(prepared.error)}")
        return None
    present = [] if folder is None else list(_present(path, kind, folder))
    piece = {"workflow": path, **prepared.value, "scenarios": present, "golden": golden}
    return f"{kind.generator}:perform", piece


def _present(path: str, kind: ScenarioKind, folder: str) -> Iterator[dict[str, Any]]:
    is_about = resolved(f"{kind.generator}:is_about")
    for file in scenario_files(folder):
        read = read_file(file)
        try:
            value = json.loads(read.value) if isinstance(read, Ok) else None
        except (ValueError, RecursionError):
            continue
        if not isinstance(value, dict) or not isinstance(value.get(kind.member), dict) or value.get("skip"):
            continue
        if is_about(value, os.path.dirname(file), path):
            yield {"name": shown_path(os.path.relpath(file, folder)), "value": value}
