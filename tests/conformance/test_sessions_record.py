"""Sessions that the public engine recorded, as scenarios: each passes at once, and holds nothing of the machine."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from recorded_sessions import data, meta, requires_sessions

from pytest_workrail.scenarios.drivers import play
from pytest_workrail.sessions.recording import RecordedScenario, record
from pytest_workrail.sessions.replay import recorded_runs
from workrail_lint.base.redaction import Redactor
from workrail_lint.base.result import Err

pytestmark = requires_sessions


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RecordedScenario]:
    folder = tmp_path_factory.mktemp("recorded")
    found: dict[str, RecordedScenario] = {}
    for session in meta():
        runs = recorded_runs(data(), session["sessionId"])
        assert not isinstance(runs, Err)
        made = record(runs.value[0], folder, None, Redactor())
        assert not isinstance(made, Err), made
        found[session["name"]] = made.value
    return found


def test_every_session_becomes_a_scenario_that_passes(recorded: dict[str, RecordedScenario]) -> None:
    assert len(recorded) == len(meta())
    assert {name: each.problem for name, each in recorded.items() if each.problem is not None} == {}
    assert all((each.path.parent / "__goldens__").is_dir() for each in recorded.values())


def test_played_again_a_scenario_gives_the_same_golden(recorded: dict[str, RecordedScenario]) -> None:
    for name in ("notes-rewind-after-end", "notes-daemon-gate", "refine-limit", "gate-weak-twice", "random-05"):
        path = recorded[name].path
        again = play(path, path.name)
        assert not isinstance(again, Err)
        golden = path.parent / "__goldens__" / f"{path.name.removesuffix('.scenario.json')}.golden.json"
        assert again.value.golden == golden.read_bytes()


def test_what_the_log_does_not_hold_is_named(recorded: dict[str, RecordedScenario]) -> None:
    filled = {name for name, each in recorded.items() if each.filled}
    # Long notes, notes that failed a criterion, blocked and gated attempts.
    assert {"notes-large", "signal-criteria", "gate-weak", "notes-daemon-gate"} <= filled
    assert "notes-straight" not in filled


def test_reserved_context_paths_and_commits_are_gone(recorded: dict[str, RecordedScenario]) -> None:
    for each in recorded.values():
        text = each.path.read_text(encoding="utf-8")
        assert not re.search(r"eat_token|metrics_|triggerSource", text)
        assert not re.search(r"(?<![0-9a-f])(?!0{30})[0-9a-f]{40}(?![0-9a-f])", text)
        scenario: dict[str, Any] = json.loads(text)
        assert not Path(scenario["workflow"]).is_absolute()
    assert recorded["notes-commit"].redacted["reserved-context"] > 0
