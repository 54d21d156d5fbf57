"""Loading of user files: catalogs, fully checked, and custom routines (`--routines DIR`, or already loaded)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.files import is_below, output_root
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.wording import quoted
from workrail_lint.documents.json_reader import MAX_BYTES, JsonDocument
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.workrail.catalog.catalog import (
    Catalog,
    CatalogPhase,
    Routine,
    template_id_of,
)
from workrail_lint.systems.workrail.catalog.checks import (
    PathLike,
    Refusal,
    admit,
    check_document,
    finding,
    place,
    read_document,
    reason,
)


class Extended(NamedTuple):
    """The new catalog, and findings about routines that were skipped or replaced."""

    catalog: Catalog
    findings: list[Finding]


class Routines(NamedTuple):
    """Admitted definitions by template id, in load order, and findings about the others."""

    definitions: dict[str, dict[str, Any]]
    findings: list[Finding]
    recursive: dict[str, tuple[str, str]]  # template id to routine id and the step that calls a template


def with_routines(catalog: Catalog, routines: PathLike | Mapping[str, Any] | Iterable[object]) -> Extended:
    """Return a catalog with the given routines in addition to its own; they replace routines with the same id.

    `routines` is a folder (its `*.json` files, by name), a file, one definition, a list of definitions,
    or definitions by name.
    """
    added = collect_routines(routines)
    if not added.definitions and not added.recursive:
        return Extended(catalog, added.findings)
    ids = {definition["id"] for definition in added.definitions.values()}
    kept = [
        entry
        for entry in catalog.routine_entries
        if Routine(entry).template_id not in added.definitions and entry["definition"]["id"] not in ids
    ]
    entries = sort_entries(kept + routine_entries(added.definitions))
    extended = catalog.with_routine_entries(entries)
    extended.recursive_templates.update(added.recursive)
    return Extended(extended, added.findings)


def collect_routines(routines: PathLike | Mapping[str, Any] | Iterable[object]) -> Routines:
    """Read and admit routines; the later of two with the same template id wins."""
    result = Routines({}, [], {})
    for source, definition in _load(routines, result.findings):
        match admit(definition):
            case Err(refusal):
                result.findings.append(_refused(refusal, source))
                if refusal.step_id is not None:
                    result.recursive[template_id_of(definition["id"])] = (definition["id"], refusal.step_id)
            case Ok(admitted):
                template_id = template_id_of(admitted["id"])
                if template_id in result.definitions:
                    loser = result.definitions.pop(template_id)
                    result.findings.append(_collision(template_id, loser, admitted, source))
                result.definitions[template_id] = admitted
    return result


def routine_entries(definitions: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the catalog entries for custom routines."""
    phase = CatalogPhase.SHIPPED.value
    return [{"phase": phase, "definition": definition} for definition in definitions.values()]


def sort_entries(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return entries in the order of the catalog: by definition id, in UTF-16 code units. Ids are unique here."""
    by_id = {entry["definition"]["id"]: entry for entry in entries}
    return [by_id[routine_id] for routine_id in js.u16_sorted(by_id)]


def _load(
    routines: PathLike | Mapping[str, Any] | Iterable[object], findings: list[Finding]
) -> Iterator[tuple[str, Any]]:
    """Yield source name and definition, in load order; unreadable files are reported in `findings`."""
    if isinstance(routines, str | os.PathLike):
        for path in _files(os.fspath(routines), findings):
            match read_document(path, strict=False, max_bytes=MAX_BYTES):
                case Ok(document):
                    yield path, document.value
                case Err(errors):
                    findings.append(_unreadable(errors[0]))
    elif not isinstance(routines, Mapping):
        yield from (("", definition) for definition in routines)
    elif "steps" in routines or "id" in routines:
        yield "", dict(routines)
    else:
        yield from ((name, routines[name]) for name in sorted(routines))


def _files(path: str, findings: list[Finding]) -> list[str]:
    if os.path.isfile(path):
        return [path]
    try:
        with os.scandir(path) as entries:
            names = [e.name for e in entries if e.name.endswith(".json") and e.is_file()]
    except (OSError, ValueError) as error:
        message = f"can't be read: {reason(error)}"
        findings.append(finding("routines-not-readable", message, phase=Phase.READ, path=path))
        return []
    paths = []
    for file in (os.path.join(path, name) for name in sorted(names)):
        # What a repository links to may be a stranger's file: only the project's own are read.
        if os.path.islink(file) and not is_below(file, (path, output_root(path))):
            findings.append(_skipped("it is a symbolic link that leads out of the project", file))
        else:
            paths.append(file)
    return paths


def _skipped(why: str, path: str, pointer: str = "") -> Finding:
    message = f"skipped, because {why}"
    return finding("routine-skipped", message, pointer, severity=Severity.WARNING, phase=Phase.READ, path=path)


def _unreadable(error: Finding) -> Finding:
    skipped = _skipped(f"it is not valid JSON: {error.message}", error.path, error.pointer)
    skipped.span = error.span
    return skipped


def _refused(refusal: Refusal, source: str) -> Finding:
    if refusal.recursive:
        return Finding(
            "RECURSIVE_ROUTINE",
            "routine-not-expandable",
            Severity.WARNING,
            f"{refusal.message}, so it is not registered",
            refusal.pointer,
            phase=Phase.COMPILE,
            path=source,
        )
    return _skipped(refusal.message, source, refusal.pointer)


def _collision(template_id: str, loser: dict[str, Any], winner: dict[str, Any], source: str) -> Finding:
    message = (
        f"routines {quoted(loser['id'])} and {quoted(winner['id'])} both map to template {quoted(template_id)}; "
        "the later one is used"
    )
    return finding(
        "routine-template-collision", message, "/id", severity=Severity.WARNING, phase=Phase.REGISTRY, path=source
    )


def load_catalog(source: PathLike | dict[str, Any]) -> Ok[Catalog] | Err[list[Finding]]:
    """Return a catalog from a file or a loaded document, or everything that is wrong with it."""
    text: JsonDocument | None = None
    value: object = source
    if isinstance(source, str | os.PathLike):
        match read_document(source, strict=True):
            case Err(errors):
                return Err(errors)
            case Ok(text):
                value = text.value
    findings = check_document(value)
    if findings:
        name = os.fspath(source) if isinstance(source, str | os.PathLike) else ""
        return Err(place(findings, text, name))
    document: dict[str, Any] = value  # type: ignore[assignment]
    return Ok(Catalog(document, document.get("digest")))
