"""Which configuration counts: what is in the project, and above it only what the user or root owns."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tables import for_each

from pytest_workrail.run.project import project_sources
from workrail_lint.base.files import is_own
from workrail_lint.base.git import find_repository
from workrail_lint.base.result import Ok
from workrail_lint.cli import main
from workrail_lint.cli.server import open_project, parser
from workrail_lint.project.config import find_config
from workrail_lint.systems.team.session import Sessions
from workrail_lint.systems.workrail.rules.samples import step, workflow

pytestmark = [
    pytest.mark.promise("A shared machine", "configurations, repositories and sessions of other users"),
    pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owner here"),
]
SOMEBODY = 54_321
FILES = {"workrail-lint.toml": 'ignore = ["ALL"]\ncatalog = "c.json"\n'}
FILES["pyproject.toml"] = f"[tool.workrail-lint]\n{FILES['workrail-lint.toml']}"


def give_away(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
    """Make files belong to somebody else. Who may not change owners becomes somebody else instead."""
    if os.geteuid():
        monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
        return
    for path in paths:
        os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)


def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A folder that all may write to, and a project in it, which is the current folder."""
    project = tmp_path / "shared" / "project"
    (project / "workflows").mkdir(parents=True)
    (project / "workflows" / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    monkeypatch.chdir(project)
    return tmp_path / "shared", project


def used(start: Path) -> str | None:
    found = find_config(str(start))
    assert isinstance(found, Ok)
    return found.value.path


@for_each("name", FILES)
def test_what_another_user_put_above_the_project_does_not_count(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shared, project = make(tmp_path, monkeypatch)
    above = shared / name
    above.write_text(FILES[name])
    assert used(project) == str(above)
    with monkeypatch.context() as somebody:
        give_away(somebody, above)
        assert used(project / "workflows" / "a.json") is None
        assert main(["check", "workflows", "--no-cache"]) == 0
        said = capsys.readouterr().err
        assert said.count(f"{above} belongs to another user and is not used; name it with --config to use it") == 1
        assert main(["check", "workflows", "--config", str(above)]) == 2  # what the user names does count
        assert "c.json" in capsys.readouterr().err
        opened = open_project(parser().parse_args([]), os.path.join("workflows", "a.json"))
        assert (opened.config.path, opened.problem) == (None, None)
        sources = project_sources(str(project))
        assert isinstance(sources, Ok)
        assert sources.value.catalog is None


def test_an_own_link_to_a_foreign_file_and_a_foreign_link_to_an_own_file_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, project = make(tmp_path, monkeypatch)
    real, link = tmp_path / "real.toml", shared / "workrail-lint.toml"
    real.write_text('ignore = ["LP"]\n')
    link.symlink_to(real)
    assert used(project) == str(link)
    with monkeypatch.context() as somebody:
        give_away(somebody, real)
        assert used(project) is None
    if not os.geteuid():
        os.chown(real, 0, 0)
        give_away(monkeypatch, link)
        assert used(project) is None


@for_each("place", ["", "workflows"])
def test_what_is_in_the_project_counts_whoever_owns_it(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current folder, as in a container that another user's folder is mounted in; and a folder that is named."""
    _, project = make(tmp_path, monkeypatch)
    own = project / place / "workrail-lint.toml"
    own.write_text('ignore = ["LP"]\n')
    with monkeypatch.context() as somebody:
        give_away(somebody, own, own.parent)
        assert used(project / "workflows" / "a.json") == str(own)
        monkeypatch.chdir("/")
        assert used(own.parent) == str(own)


def test_nothing_above_the_repository_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, project = make(tmp_path, monkeypatch)
    above, top = shared / "workrail-lint.toml", project / "pyproject.toml"
    above.write_text('ignore = ["LP"]\n')
    monkeypatch.chdir(project / "workflows")
    assert used(project / "workflows") == str(above)
    (project / ".git").mkdir()
    assert used(project / "workflows") is None
    top.write_text(FILES["pyproject.toml"])
    give_away(monkeypatch, top)
    if not os.geteuid():  # the repository is the user's own, whoever wrote this file
        assert used(project / "workflows") == str(top)


def test_a_repository_below_the_current_folder_is_a_part_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a submodule is: with the same configuration, whether it is named or found."""
    _, project = make(tmp_path, monkeypatch)
    own = project / "workrail-lint.toml"
    own.write_text('ignore = ["LP"]\n')
    (project / "workflows" / ".git").write_text("gitdir: ../.git/modules/workflows\n")
    assert used(project / "workflows" / "a.json") == str(own)
    monkeypatch.chdir(project / "workflows")
    assert used(project / "workflows" / "a.json") is None


def test_a_foreign_repository_above_the_project_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else anybody could make a folder that all may write to a repository, and its configuration believed."""
    shared, project = make(tmp_path, monkeypatch)
    (shared / ".git").mkdir()
    (shared / "workrail-lint.toml").write_text(FILES["workrail-lint.toml"])
    assert used(project) is not None
    assert find_repository(str(project), "workflows/a.json") is not None
    give_away(monkeypatch, shared / ".git", shared / "workrail-lint.toml")
    assert used(project) is None
    assert find_repository(str(project), "workflows/a.json") is None


def test_foreign_team_sessions_above_the_project_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, _ = make(tmp_path, monkeypatch)
    session = shared / ".agents-work" / "2026-01-01_work"
    session.mkdir(parents=True)
    (session / "status.json").write_text('{"current_state": "PLAN"}')
    (session / "tasks.yaml").write_text("tasks: []\n")
    assert Sessions().named(session.name, "workflows/a.json") is not None
    give_away(monkeypatch, session)
    assert Sessions().named(session.name, "workflows/a.json") is None


def test_what_is_not_there_is_nobodys(tmp_path: Path) -> None:
    assert not is_own(str(tmp_path / "none"))
    assert is_own(str(tmp_path))
