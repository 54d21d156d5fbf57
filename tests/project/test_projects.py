"""A run over several projects: every file is judged by the nearest configuration above it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from workrail_lint.base.result import Ok
from workrail_lint.cli import main
from workrail_lint.project.config import Config, find_config
from workrail_lint.project.plan import projects
from workrail_lint.systems.workrail.rules.samples import step, workflow

# Something to find, the same in every project.
PLAIN = workflow(step(), about=...)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three projects: the repository itself, one inside of it, and one inside of that."""
    monkeypatch.chdir(tmp_path)
    for name in ("workflows", "inner/workflows", "inner/deep/workflows"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.json").write_text(json.dumps(PLAIN), encoding="utf-8")
    (tmp_path / "workrail-lint.toml").write_text('select = ["workflow-undescribed"]\n', encoding="utf-8")
    (tmp_path / "inner" / "pyproject.toml").write_text(
        '[tool.workrail-lint]\nselect = ["workflow-undescribed"]\n'
        'severity = {workflow-undescribed = "warning"}\nstrict = true\n',
        encoding="utf-8",
    )
    (tmp_path / "inner" / "deep" / "workrail-lint.toml").write_text('select = ["LP"]\n', encoding="utf-8")
    return tmp_path


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[tuple[str, str]]]:
    code = main(["check", "--no-cache", "--format", "json", *arguments])
    out = capsys.readouterr().out
    findings = json.loads(out)["findings"] if out else []
    return code, [(finding["path"], finding["severity"]) for finding in findings]


OUTER = (os.path.join("workflows", "a.json"), "info")
INNER = (os.path.join("inner", "workflows", "a.json"), "warning")


def test_a_folder_with_a_configuration_of_its_own(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert found(capsys) == (1, [INNER, OUTER])  # the inner project is strict
    assert found(capsys, "inner") == (1, [INNER])
    assert found(capsys, "workflows") == (0, [OUTER])


def test_named_files_of_several_projects(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["workflows/a.json", "inner/workflows/a.json", "inner/deep/workflows/a.json"]
    assert found(capsys, *names) == (1, [INNER, OUTER])
    assert found(capsys, *reversed(names)) == (1, [INNER, OUTER])
    assert found(capsys, ".", *names) == (1, [INNER, OUTER])


def test_one_configuration_for_all(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [path for path, _ in found(capsys, "--config", "workrail-lint.toml")[1]]
    assert paths == [
        os.path.join("inner", "deep", "workflows", "a.json"),
        os.path.join("inner", "workflows", "a.json"),
        os.path.join("workflows", "a.json"),
    ]
    assert len(found(capsys, "--isolated", "--select", "workflow-undescribed")[1]) == 3


def test_what_the_outer_project_excludes_is_nobodys(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "workrail-lint.toml").write_text('exclude = ["inner"]\nselect = ["workflow-undescribed"]\n')
    assert found(capsys) == (0, [OUTER])


def test_a_broken_configuration_further_down_is_told(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "inner" / "deep" / "workrail-lint.toml").write_text("selct = []\n")
    assert main(["check", "--no-cache"]) == 2
    assert "unknown key 'selct'" in capsys.readouterr().err


def test_ids_are_compared_within_a_project(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (repository, repository / "inner", repository / "inner" / "deep"):
        (folder / "pyproject.toml").unlink(missing_ok=True)
        (folder / "workrail-lint.toml").write_text('select = ["duplicate-workflow-id"]\n')
    assert found(capsys) == (0, [])
    (repository / "workflows" / "b.json").write_text(json.dumps(PLAIN))
    assert [path for path, _ in found(capsys)[1]] == [os.path.join("workflows", name) for name in ("a.json", "b.json")]


def test_bindings_stand_in_the_folder_of_the_configuration(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    point = {"slotId": "last_check", "purpose": "The last check.", "default": "one"}
    document = workflow(step(prompt="Run {{wr.bindings.last_check}}."), extensionPoints=[point])
    (repository / "workflows" / "a.json").write_text(json.dumps(document))
    (repository / ".workrail").mkdir()
    (repository / ".workrail" / "bindings.json").write_text('{"demo.example": {"last_check": "another"}}')
    monkeypatch.chdir(repository / "workflows")
    assert main(["compile", "a.json"]) == 0
    assert json.loads(capsys.readouterr().out)["bindings"]["overrides"] == {"last_check": "another"}


def test_many_named_files_read_their_configuration_once(repository: Path) -> None:
    asked = []

    def config_of(path: str) -> Config:
        asked.append(path)
        config = find_config(path)
        assert isinstance(config, Ok)
        return config.value

    names = [f"workflows/{number}.json" for number in range(50)]
    for name in names:
        Path(name).write_text("{}")
    [project] = projects(names, config_of, lambda config: (".json",), nested=True)
    assert len(asked) == 1
    assert [file.path for file in project.discovery.files] == sorted(names)
