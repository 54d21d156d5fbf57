"""The cache: nothing that comes with a repository is believed, and nothing is written through its links."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.explore.mutation_verdicts import MutationCache
from workrail_lint.cli import main
from workrail_lint.findings import Severity
from workrail_lint.project.cache import Cache, _signature, _user_key
from workrail_lint.systems.workrail.rules.samples import step, workflow

pytestmark = pytest.mark.promise("The cache is yours", "forged and foreign caches")

SOUND = json.dumps(workflow(step("first"), step("second")))
BROKEN = json.dumps({**workflow(step("first"), step("first")), "steps": [{"id": 1}]})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "victim"))
    (folder / "a.json").write_text(SOUND)
    return folder


def check(*options: str) -> int:
    return main(["check", *options, "."])


@pytest.mark.parametrize("link", ["entry", "ignore", "folder"])
def test_a_plain_check_writes_nowhere_else(link: str, project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    cache = project / ".workrail-cache"
    (project / "workrail-lint.toml").write_text('cache-dir = ".workrail-cache"\n')
    if link == "folder":
        cache.symlink_to(outside)
    else:
        check()
        entry = next(cache.glob("*.json"))
        (entry if link == "entry" else cache / ".gitignore").unlink()
        if link == "entry":
            entry.symlink_to(outside / "precious")
        else:
            (cache / ".gitignore").symlink_to(outside / "made")
        (project / "b.json").write_text(SOUND.replace("first", "third"))
    check()
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"precious": "precious"}


def test_the_old_place_is_neither_read_nor_written(project: Path) -> None:
    (project / ".workrail-cache").mkdir()
    check()
    assert list((project / ".workrail-cache").iterdir()) == []


def test_a_committed_cache_does_not_make_a_broken_workflow_pass(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attacker builds the cache at the same path, with a result that says nothing is wrong, and commits it."""
    (project / "workrail-lint.toml").write_text('cache-dir = ".workrail-cache"\n')
    (project / "a.json").write_text(BROKEN)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "attacker"))
    assert check() == 1
    entry = next((project / ".workrail-cache").glob("*.json"))
    head, *lines = entry.read_bytes()[64:].decode().split("\n")
    forged_lines = [head]
    for line in lines:
        path, _, kept = line.partition("\t")
        value = json.loads(kept.partition("\t")[0])
        forged_lines.append(f"{path}\t{json.dumps([value[0], [], *value[2:]])}")
    key = _user_key(make=False)
    assert key is not None
    forged = "\n".join(forged_lines).encode()
    entry.write_bytes(_signature(key, str(entry), forged) + forged)
    assert check() == 0  # so the forgery works where its key is trusted
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "victim"))
    assert check() == 1


def test_the_results_of_another_project_are_not_ours(project: Path, tmp_path: Path) -> None:
    check()
    folder = tmp_path / "victim" / "workrail-lint"
    entry = next(folder.glob("*.json"))
    shutil.copy(entry, folder / ("0" * 32 + ".json"))
    cache = Cache(None, "")
    cache.path = str(folder / ("0" * 32 + ".json"))
    from workrail_lint.project.cache import _load

    assert _load(str(entry)) != {}
    assert _load(cache.path) == {}


@pytest.mark.parametrize("key", ["readable by others", "a link", "too short", "a folder"])
def test_a_key_that_others_may_know_is_not_used(key: str, project: Path, tmp_path: Path) -> None:
    folder = tmp_path / "victim" / "workrail-lint"
    folder.mkdir(parents=True)
    path = folder / "key"
    if key == "a link":
        (tmp_path / "theirs").write_bytes(b"k" * 32)
        path.symlink_to(tmp_path / "theirs")
    elif key == "a folder":
        path.mkdir()
    else:
        path.write_bytes(b"k" * (3 if key == "too short" else 32))
        path.chmod(0o644 if key == "readable by others" else 0o600)
    assert check() == 0
    assert list(folder.glob("*.json")) == []


def test_without_a_home_nothing_in_the_project_takes_its_place(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user without a name, as in some containers: `~` stays `~`, and a repository can hold a folder of that name."""
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert check() == 0
    assert [path.name for path in project.iterdir()] == ["a.json"]
    folder = project / "~" / ".cache" / "workrail-lint"
    folder.mkdir(parents=True)
    (folder / "key").write_bytes(b"k" * 32)
    (folder / "key").chmod(0o600)
    assert check() == 0
    assert [path.name for path in folder.iterdir()] == ["key"]


def test_the_key_is_for_its_user_alone(project: Path, tmp_path: Path) -> None:
    check()
    assert (tmp_path / "victim" / "workrail-lint" / "key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("place", ["..", "/tmp", "../other", "linked", "."])
def test_a_configured_folder_lies_in_the_project(
    place: str, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "linked").symlink_to(tmp_path)
    (project / "workrail-lint.toml").write_text(f'cache-dir = "{place}"\n')
    assert check() == 2
    assert "'cache-dir' must be a folder inside the project" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["pipe", "device", "huge"])
def test_an_entry_that_is_no_file_is_not_read(kind: str, project: Path, tmp_path: Path) -> None:
    check()
    entry = next((tmp_path / "victim" / "workrail-lint").glob("*.json"))
    entry.unlink()
    if kind == "pipe":
        os.mkfifo(entry)
    elif kind == "device":
        entry.symlink_to("/dev/zero")
    else:
        with open(entry, "wb") as file:
            file.truncate(10**12)
    assert check() == 0


FINDING = ["AA001", "alpha", "info", "m", "", "lint", None, None, {}, False, None]


@given(st.data())
def test_records_of_any_other_shape_are_dropped(data: st.DataObject) -> None:
    """Signed or not, what can't be decoded is not an entry; nothing raises."""
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    )
    finding = list(FINDING)
    at = data.draw(st.integers(0, len(finding) - 1))
    finding[at] = data.draw(values)
    cache = Cache(None, "")
    cache.entries = {"a.json": json.dumps(["content", [finding], None, 0, []]).encode()}
    known = cache.get("a.json", "content")
    if known is not None:
        (decoded,) = known.result.findings
        assert isinstance(decoded.severity, Severity)
        assert decoded.fix is None or decoded.fix.operations == ()


def test_a_committed_verdict_on_a_mutant_is_not_believed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would let a suite that notices nothing pass `mutate --fail-under`."""
    names = ("id", "operator", "place", "change", "pointer")
    killed = {**dict.fromkeys(names, "x"), "status": "killed"}
    (project / ".workrail-cache").mkdir()
    (project / ".workrail-cache" / "mutation.json").write_text(json.dumps({"key": killed}))
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    cache = MutationCache(str(project))
    assert cache.get("key") is None
    cache.put("key", killed)
    cache.save()
    assert MutationCache(str(project)).get("key") == killed
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "of-somebody-else"))
    assert MutationCache(str(project)).get("key") is None
