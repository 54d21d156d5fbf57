"""The automatic agent on every workflow of the corpus: complete under both profiles, the same bytes each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from oracle import read_oracle, requires_oracle, shared_folder

from pytest_workrail.agents.agent import Transcript
from pytest_workrail.agents.correct import Auto
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from workrail_lint import Ok, compile_workflow
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.catalog.loading import with_routines

pytestmark = requires_oracle

PROFILES = ("reference", "locked")
# A step of it has criteria that no engine can evaluate, which `check` calls an error (CR011).
CRITERIA_INVALID = ("fixes/dc834526/before/adaptive-ticket-creation.json",)


@cache
def workflows() -> dict[str, dict[str, Any]]:
    """The IR of every workflow of the corpus that is valid."""
    shared = shared_folder()
    if shared is None:
        return {}
    corpus = shared / "corpus"
    catalog = with_routines(load_core(), corpus / "workflows" / "routines").catalog
    compiled = {
        path.relative_to(corpus).as_posix(): compile_workflow(path, catalog=catalog)
        for path in sorted(corpus.rglob("*.json"))
    }
    return {name: result.value.ir for name, result in compiled.items() if isinstance(result, Ok)}


def transcript_bytes(transcript: Transcript) -> bytes:
    """Every bit of a transcript, tokens and ids included."""
    return canonical_bytes(to_builtins(transcript))


def test_everything_that_the_engine_accepts_is_run() -> None:
    accepted = {path for path, row in read_oracle("verdicts.json").items() if row["verdict"] == "valid"}
    assert accepted
    assert accepted <= set(workflows())


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", workflows())
def test_runs_to_completion(name: str, profile: Any) -> None:
    run = drive(Setup(workflows()[name], profile), Auto())
    end = ("blocked", ("INVARIANT_VIOLATION",)) if name in CRITERIA_INVALID else ("complete", ())
    assert (run.status, run.blockers, run.gaps) == (*end, ()), run.ending.why


def digests() -> dict[str, str]:
    """The digest of every transcript, by workflow and profile; versions around a fix are left out."""
    return {
        f"{name} {profile}": digest(transcript_bytes(drive(Setup(ir, profile), Auto()).transcript))
        for name, ir in workflows().items()
        if not name.startswith("fixes/")
        for profile in PROFILES
    }


@pytest.mark.deep
def test_hash_seed_time_zone_and_folder_change_nothing(tmp_path: Path) -> None:
    shared = shared_folder()
    assert shared is not None
    here = Path(__file__)
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); "
        "from test_auto_agent import digests; print(json.dumps(digests()))"
    )
    elsewhere = {"PYTHONHASHSEED": "4242", "TZ": "Pacific/Kiritimati", "LC_ALL": "C"}
    found = {"WORKRAIL_CORPUS": str(shared.resolve()), "PYTHONPATH": str(here.parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code, str(here.parent)],
        cwd=tmp_path,
        env={**os.environ, **elsewhere, **found},
        capture_output=True,
        check=True,
    )
    answers = json.loads(done.stdout)
    assert answers == digests()
    assert len(answers) > 50
