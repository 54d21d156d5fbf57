"""Reference resolution: the only part of a digest that looks at the disk, hence apart from the compiler."""

from __future__ import annotations

import os
from typing import Any

_COPIED = ("id", "title", "source", "purpose", "authoritative")


def resolve_references(
    references: list[dict[str, Any]], workspace: str, package_root: str | None = None
) -> list[dict[str, Any]]:
    """Each declared reference with its status, as the engine notes it at the start of a run.

    `package_root` is the installed engine's folder; without one, nothing of it can be resolved.
    """
    return [_resolve(reference, workspace, package_root) for reference in references]


def _resolve(reference: dict[str, Any], workspace: str, package_root: str | None) -> dict[str, Any]:
    resolve_from = reference.get("resolveFrom", "workspace")
    entry: dict[str, Any] = {name: reference[name] for name in _COPIED if name in reference}
    entry["resolveFrom"] = resolve_from
    base = package_root if resolve_from == "package" else workspace
    path = inside(base, reference["source"]) if base is not None else None
    if path is not None and os.path.isfile(path):
        return {**entry, "status": "resolved", "resolvedPath": path}
    return {**entry, "status": "unresolved"}


def inside(base: str, source: str) -> str | None:
    """The normalized path of a source below its base, or None when it leaves the base.

    Symbolic links are not followed here; whether one leads out of the base is a finding of its own.
    """
    root = os.path.normpath(os.path.abspath(base))
    path = os.path.normpath(os.path.join(root, source))
    if "\x00" in path:
        return None
    return path if path == root or path.startswith(root.rstrip(os.sep) + os.sep) else None
