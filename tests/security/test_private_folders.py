"""Sessions, recordings, results that are kept, and keys: folders and files of theirs are for their user alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_workrail.cli import main as workrail_test
from pytest_workrail.engine.store.disk import on_disk
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy
from tests.sessions.session_files import Session, step, workflow, write
from workrail_lint.base.result import Err, Ok
from workrail_lint.cli import main

pytestmark = [
    pytest.mark.promise("A shared machine", "modes of sessions, recordings, caches and keys"),
    pytest.mark.skipif(os.name == "nt", reason="folders have no mode there"),
]
PLAIN = workflow(step("first"), step("second"))


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """Whoever runs this gives away all rights unless a program says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    found = [folder, *folder.rglob("*")]
    assert any(path.is_file() for path in found)
    return [f"{path} {path.stat().st_mode & 0o777:o}" for path in found if path.stat().st_mode & 0o077]


def give_rights(folder: Path) -> None:
    """Make folders what they were when nobody had asked for anything else."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def use_store(root: Path) -> Ok[None] | Err[str]:
    opened = on_disk(root, FixedClock(0), SeededEntropy("a"))
    if isinstance(opened, Err):
        return opened
    opened.value.keyring.rotate()
    return Ok(None)


def test_a_new_data_folder(tmp_path: Path) -> None:
    root = tmp_path / "data"
    assert use_store(root) == Ok(None)
    assert open_to_others(root) == []


def test_a_data_folder_that_others_could_look_into(tmp_path: Path) -> None:
    root = tmp_path / "data"
    use_store(root)
    give_rights(root)
    assert use_store(root) == Ok(None)
    assert root.stat().st_mode & 0o777 == 0o700
    assert {(root / name).stat().st_mode & 0o777 for name in ("keys", "sessions", "snapshots")} == {0o700}


def test_a_data_folder_of_another_user_that_others_can_look_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_rights(tmp_path / "data")

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchmod", refuse)
    opened = use_store(tmp_path / "data")
    assert isinstance(opened, Err)
    assert opened.error == "The data folder can't be used: others can read it, and it belongs to another user"


def test_what_is_recorded_exported_and_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    played = Session(PLAIN).submit().submit("One.").submit("Two.").played()
    write(tmp_path / "data", played)
    before = sorted(path.stat().st_mode for path in Path("data").rglob("*"))
    assert workrail_test(["sessions", "record", "--data", "data", "--out", "new/recorded"]) == 0
    assert open_to_others(Path("new")) == []
    assert workrail_test(["sessions", "export", played.session_id, "--data", "data", "--out", "other/a.json"]) == 0
    assert open_to_others(Path("other")) == []
    assert workrail_test(["sessions", "import", "other/a.json", "--into", "into/data"]) == 0
    assert open_to_others(Path("into")) == []
    assert sorted(path.stat().st_mode for path in Path("data").rglob("*")) == before, "which is only read"


def test_a_folder_of_the_project_that_is_recorded_into_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    give_rights(Path("scenarios"))
    write(tmp_path / "data", Session(PLAIN).submit().submit("One.").submit("Two.").played())
    assert workrail_test(["sessions", "record", "--data", "data", "--out", "scenarios"]) == 0
    assert Path("scenarios").stat().st_mode & 0o777 == 0o755
    assert not any(path.stat().st_mode & 0o077 for path in Path("scenarios").rglob("*"))


@pytest.mark.parametrize("is_there", [False, True])
def test_results_that_are_kept(is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, users = tmp_path / "project", tmp_path / "cache" / "workrail-lint"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("a.json").write_text(json.dumps(PLAIN))
    if is_there:
        give_rights(users)
        give_rights(project / "kept")
    assert main(["check", "a.json"]) == 0
    assert open_to_others(users) == []
    Path("workrail-lint.toml").write_text('cache-dir = "kept"\n')
    assert main(["check", "a.json"]) == 0
    assert open_to_others(project / "kept") == []


def test_what_is_meant_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text(json.dumps(PLAIN))
    assert main(["lock", "--update", "a.json"]) == 0
    assert Path("workrail.lock.json").stat().st_mode & 0o777 == 0o666
    assert workrail_test(["generate", "a.json", "--out", "scenarios"]) == 0
    assert Path("scenarios").stat().st_mode & 0o777 == 0o777
