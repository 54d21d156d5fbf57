"""The documents to measure with: the corpus when it is there, otherwise the shipped fixtures."""

from __future__ import annotations

import os
from pathlib import Path


def workflow_files() -> list[Path]:
    project = Path(__file__).resolve().parents[1]
    shared = Path(os.environ.get("WORKRAIL_CORPUS") or project.parent / "shared")
    corpus = shared / "corpus"
    folder = corpus if corpus.is_dir() else project / "fixtures" / "workflows"
    # Not the versions before and after a fix: they are the same workflows again.
    return sorted(path for path in folder.rglob("*.json") if "fixes" not in path.relative_to(folder).parts)


def routines_folder() -> Path:
    project = Path(__file__).resolve().parents[1]
    shared = Path(os.environ.get("WORKRAIL_CORPUS") or project.parent / "shared")
    routines = shared / "corpus" / "workflows" / "routines"
    return routines if routines.is_dir() else project / "fixtures" / "routines"
