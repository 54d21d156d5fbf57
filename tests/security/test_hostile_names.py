"""File names that begin with a dash: a repository can bring one along, and no command takes it for an option."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from pytest_workrail.cli import main as dynamic
from workrail_lint.cli import main
from workrail_lint.systems.workrail import scaffold
from workrail_lint.systems.workrail.rules import samples

pytestmark = pytest.mark.promise(
    "A file name is never an option", "file names that look like options, in every command and hook"
)

ROOT = Path(__file__).resolve().parents[2]
GOOD = json.dumps(samples.workflow(), indent=2) + "\n"
BROKEN = json.dumps(samples.workflow(samples.loop(maxIterations=...)), indent=2) + "\n"
# Names that a hook passes on, and that were options.
OPTIONS = ("--write-baseline=x.workflow.json", "--ignore=LP/workflows/a.json", "--output=x.scenario.json")
# What takes paths, with the one that is hostile last.
COMMANDS: dict[str, tuple[Callable[[list[str]], int], list[str]]] = {
    "check": (main, []),
    "compile": (main, []),
    "canonical": (main, []),
    "lock": (main, ["--update"]),
    "diff": (main, ["a.json"]),
    "format": (main, ["--check"]),
    "graph": (main, []),
    "studio": (main, ["--output", "page.html"]),
    "compare": (dynamic, []),
    "explore": (dynamic, ["--runs", "1"]),
    "generate": (dynamic, []),
    "mutate": (dynamic, []),
    "run": (dynamic, []),
    "serve": (dynamic, []),
    "golden list": (dynamic, []),
    "golden accept": (dynamic, []),
    "sessions import": (dynamic, []),
    "init": (main, []),  # last, because it makes the folder
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(GOOD)
    return tmp_path


@pytest.mark.parametrize("name", ["--hostile.json", "-1", "-x y.json"])
def test_no_command_takes_a_path_with_a_dash_before_the_separator(
    name: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / name).write_text(GOOD)
    wrong = {}
    for command, (program, options) in COMMANDS.items():
        code = program([*command.split(), *options, name])
        error = capsys.readouterr().err
        if code != 2 or "a path that begins with '-' must come after --" not in error:
            wrong[command] = code, error
    assert wrong == {}


def test_every_command_takes_a_path_with_a_dash_after_the_separator(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {}
    for command, (program, options) in COMMANDS.items():
        code = program([*command.split(), *options, "--", "--missing.json"])
        shown = capsys.readouterr()
        if "--missing.json" not in shown.out + shown.err or "unknown option" in shown.err:
            wrong[command] = code, shown
    assert wrong == {}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_hostile_name_hides_no_finding(name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(GOOD)
    (project / "broken.json").write_text(BROKEN)
    before = sorted(project.rglob("*"))
    assert main(["check", "--no-cache", "--", name, "broken.json"]) == 1
    assert "LP002" in capsys.readouterr().out
    assert sorted(project.rglob("*")) == before


def test_a_missing_option_says_why_it_is_a_path(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that somebody set as `args` of a hook come after the separator of its entry."""
    assert main(["check", "--", "--strict", "a.json"]) == 2
    assert "--strict does not exist; what follows -- is a path, not an option" in capsys.readouterr().err


def entries(text: str) -> list[str]:
    loaded = yaml.safe_load(text)
    hooks = loaded if isinstance(loaded, list) else [hook for repo in loaded["repos"] for hook in repo["hooks"]]
    return [hook["entry"] for hook in hooks if "entry" in hook]


def test_every_hook_ends_its_options() -> None:
    (scaffolded,) = (file.text for file in scaffold.files("a.b", "B") if file.path == ".pre-commit-config.yaml")
    texts = [(ROOT / name).read_text() for name in (".pre-commit-hooks.yaml", ".pre-commit-config.yaml")]
    found = [entries(text) for text in [*texts, scaffolded]]
    assert all(found)
    assert [entry for entries_of_file in found for entry in entries_of_file if not entry.endswith(" --")] == []
