"""Where durable data lives: a folder of the product's own, never beside the workflows it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from workrail_lint.base.result import Err, Ok

ENVIRONMENT_VARIABLE = "WORKRAIL_DATA_DIR"


def data_root(
    environ: Mapping[str, str], home: Path, *, override: Path | None = None, workflow_folders: Iterable[Path] = ()
) -> Ok[Path] | Err[str]:
    """The data root: the override, else the environment's, else a default in the user's data folder."""
    named = environ.get(ENVIRONMENT_VARIABLE)
    shared = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    root = (override or (Path(named) if named else shared / "workrail-lint")).absolute()
    for folder in workflow_folders:
        if root.is_relative_to(folder.absolute()):
            return Err(f"{root.name!r} lies in a folder that holds workflows; choose another data folder.")
    return Ok(root)
