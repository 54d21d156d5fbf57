"""Settings of the team and block systems: where they may stand, what they may be, and that they arrive."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from workrail_lint.base.result import Err, Ok
from workrail_lint.cli import main
from workrail_lint.project.config import load_config, system_keys
from workrail_lint.systems.blocks.options import block_options
from workrail_lint.systems.team.options import team_options
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.vocabulary import AgentName, Mode, Profile

EVERYTHING = """\
team-profile = "legacy"
team-mode = "lean"
team-agent = "QA"
team-history-baseline = "earlier"
block-workflow = "shop.workflow.json"
block-tree = "."
block-deliverables = "extended"
block-profile = "lenient"
block-prompt-check = "off"

[team-section-aliases]
Goals = ["Ziele", "Wozu"]
"definition of done" = ["Fertig"]
"""


def configured(folder: Path, text: str) -> Any:
    path = folder / "workrail-lint.toml"
    path.write_text(text, encoding="utf-8")
    return load_config(str(path))


def test_the_choices_are_the_closed_sets_of_the_systems() -> None:
    keys = system_keys()
    assert keys["team-profile"].allowed == tuple(member.value for member in Profile)
    assert keys["team-mode"].allowed == tuple(member.value for member in Mode)
    assert keys["team-agent"].allowed == tuple(member.value for member in AgentName)


def test_every_setting_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = configured(tmp_path, EVERYTHING)
    assert isinstance(config, Ok), config
    monkeypatch.chdir(tmp_path)
    options = config.value.system_options()
    assert options.keys() == {key for key in system_keys() if key.startswith(("team-", "block-"))}
    team = team_options(options)
    assert (team.profile, team.mode, team.agent) == (Profile.LEGACY, Mode.LEAN, AgentName.QA)
    assert team.aliases == {"Goals": ["Ziele", "Wozu"], "definition of done": ["Fertig"]}
    assert team.history_baseline == os.path.join(str(tmp_path), "earlier")
    blocks = block_options(options)
    assert (blocks.extended, blocks.lenient, blocks.prompt_check) == (True, True, False)
    assert (blocks.workflow, blocks.tree) == (str(tmp_path / "shop.workflow.json"), str(tmp_path))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('team-mode = "quick"', "must be one of full, lean"),
        ('team-profile = "loose"', "must be one of strict, lenient, legacy"),
        ('team-agent = "reviewer"', "must be one of SpecAgent"),
        ('team-agents = "QA"', "did you mean 'team-agent'?"),
        ("team-section-aliases = []", "must be a table of lists"),
        ('team-section-aliases = {Goal = ["Ziel"]}', "no section 'Goal'; did you mean 'Goals'?"),
        ('team-section-aliases = {Quatsch = ["x"]}', "no section 'Quatsch'; sections are Goals, "),
        ('block-deliverables = "all"', "must be one of contract, extended"),
        ('block-prompt-check = "no"', "must be one of on, off"),
        ("block-tree = true", "must be a string"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, part: str) -> None:
    found = configured(tmp_path, text)
    assert isinstance(found, Err)
    assert part in found.error


# ------------------------------------------------------------------------------------------- on the command line


def codes(capsys: pytest.CaptureFixture[str], *arguments: str) -> set[str]:
    assert main(["check", "--no-cache", "--format", "jsonl", *arguments]) in (0, 1)
    return {json.loads(line)["code"] for line in capsys.readouterr().out.splitlines()}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKRAIL_LINT_DEBUG", "1")
    return tmp_path


def test_the_agent_of_an_exchange_can_be_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reply = samples.agent_output("NEEDS_INFO", {"notes": ["Which browser?"]})
    (project / "reply.output.json").write_text(json.dumps(reply, indent=2) + "\n", encoding="utf-8")
    assert codes(capsys, "reply.output.json") == set()
    assert "TC533" in codes(capsys, "--agent", "Coder", "reply.output.json")
    assert "TC533" not in codes(capsys, "--agent", "Researcher", "reply.output.json")
    (project / "workrail-lint.toml").write_text('team-agent = "Coder"\n', encoding="utf-8")
    assert "TC533" in codes(capsys, "reply.output.json")
    assert "TC533" not in codes(capsys, "--agent", "Researcher", "reply.output.json"), "the command line wins"


def test_only_an_agent_can_be_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--agent", "Nobody", "."]) == 2
    assert "SpecAgent" in capsys.readouterr().err


def test_sections_in_another_language(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = project / samples.SPEC
    target.parent.mkdir(parents=True)
    target.write_text(samples.spec().replace("Goals", "Ziele"), encoding="utf-8")
    assert "TC410" in codes(capsys, samples.SPEC)
    (project / "workrail-lint.toml").write_text('team-section-aliases = {goals = ["Ziele"]}\n', encoding="utf-8")
    assert "TC410" not in codes(capsys, samples.SPEC)
