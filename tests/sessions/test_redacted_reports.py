"""What is written of a session for others to see is redacted as `sessions record` does: reports, pages, the studio."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from session_files import Session, step, workflow, write

from pytest_workrail.cli import main
from workrail_lint.base.redaction import NAMES, Redactor
from workrail_lint.cli import main as lint

pytestmark = pytest.mark.promise("Sessions are redacted", "reports, pages, lists and counts of sessions with secrets")

PLAIN = workflow(step("first"), step("second"))
KEY = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"
SECRETS = {
    "eat_token": "an-eat-token-of-a-host",
    "parent_eat_token": "another-eat-token",
    "metrics_harness": "a-private-harness",
    "dbPassword": "open-sesame",
    "place": "/home/ada-l/secret-project/notes.md",
}
NOTES = f"Wrote /home/ada-l/secret-project/notes.md with ct_{'a' * 24} and ghp_{'b' * 30}.\n{KEY}"
LEAKS = (*list(SECRETS.values())[:4], "ada-l", "secret-project", "ct_aaaa", "ghp_", "c2VjcmV0", "eat_token", "sk-bbb")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.json").write_text(json.dumps(PLAIN), encoding="utf-8")
    played = Session(PLAIN, seed=1).submit().submit(NOTES, context={"count": 3}).played()
    for event in played.events:
        if event["kind"] == "context_set":  # a host may set what an agent may not
            event["data"]["context"].update(SECRETS)
    write(tmp_path / "data", played)
    return tmp_path / "data"


def leaks(text: str) -> list[str]:
    return [leak for leak in LEAKS if leak in text]


def shown(data: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["sessions", "show", "sess_", "--data", str(data), *arguments]) == 0
    return capsys.readouterr().out


def test_everything_on_a_page_is_redacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prompt = f"Look into /etc/hosts. {KEY} Use ghp_{'b' * 30}."
    workflow_of_project = workflow(step("first", prompt=prompt), step("second"))
    Path("plain.json").write_text(json.dumps(workflow_of_project))
    call = {"tool": "start_workflow", "request": {"context": SECRETS}, "response": {"pending": {"stepId": "first"}}}
    call["response"]["pending"]["prompt"] = [[None, NOTES]]
    failed = {"test": "a.scenario.json::a", "state": "failed", "seconds": 1, "message": NOTES}
    run = {"test": failed["test"], "workflow": workflow_of_project["id"], "transcript": [call], "final": {}}
    Path("runs.json").write_text(json.dumps({"runs": [run], "tests": [failed]}))
    group = {"id": "a", "goldens": ["a"], "old": NOTES, "new": {"eat_token": SECRETS["eat_token"]}}
    Path("pending.json").write_text(json.dumps({"groups": [group]}))
    survivor = {"id": "X:first", "change": NOTES, "missing": {"context": SECRETS}}
    mutated = {"workflowId": workflow_of_project["id"], "survived": [survivor]}
    Path("mutation.json").write_text(json.dumps({"workflows": [mutated]}))
    given = ("--runs", "runs.json", "--goldens", "pending.json", "--mutation", "mutation.json", "--format", "json")
    assert lint(["studio", "plain.json", *given, "--output", "data.json"]) == 0
    page = Path("data.json").read_text()
    assert leaks(page) == []
    assert "/etc/hosts" in page, "what an author writes of places stays"
    assert "/workspace/notes.md" in page


def test_a_report_a_page_and_the_studio(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = shown(data, capsys, "--json")
    assert leaks(report) == []
    assert json.loads(report)["redacted"]["reserved-context"] > 0
    assert "/workspace/notes.md" in report
    changes = [beat["context"] for beat in json.loads(report)["runs"][0]["beats"] if beat.get("context")]
    assert changes[-1]["count"] == 3
    shown(data, capsys, "--html", "story.html")
    page = Path("story.html").read_text(encoding="utf-8")
    assert leaks(page) == []
    assert "/workspace/notes.md" in page
    # A report from before reports were redacted.
    raw = shown(data, capsys, "--json", *(part for rule in NAMES for part in ("--keep", rule)))
    assert len(leaks(raw)) > 5
    Path("raw.json").write_text(raw, encoding="utf-8")
    assert lint(["studio", "plain.json", "--sessions", "raw.json", "--output", "studio.html"]) == 0
    studio = Path("studio.html").read_text(encoding="utf-8")
    assert leaks(studio) == []
    assert "/workspace/notes.md" in studio


def test_lists_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The goal is what a person typed; the name of a step comes from the pinned workflow."""
    played = Session(workflow(step(f"sk-{'b' * 30}"), step("second")), seed=1, onboarding=False).played()
    for event in played.events:
        if event["kind"] == "context_set":
            event["data"]["context"]["goal"] = "Mend /home/ada-l/secret-project/notes.md, api_key=open-sesame"
    write(tmp_path, played)
    keep = [part for rule in NAMES for part in ("--keep", rule)]
    for command in ("list", "stats"):
        assert main(["sessions", command, "--data", str(tmp_path), "--json", *keep]) == 0
        assert len(leaks(capsys.readouterr().out)) >= 1, command
        assert main(["sessions", command, "--data", str(tmp_path), "--json"]) == 0
        report = capsys.readouterr().out
        assert leaks(report) == [], command
        assert json.loads(report)["redacted"]["secrets"] > 0, command


def test_a_terminal_shows_what_happened(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "secret-project" in shown(data, capsys, "--full")


def test_redacting_twice_changes_nothing() -> None:
    value: Any = {"context": SECRETS, "notes": NOTES, "sha": "a" * 40}
    once = Redactor().report(value)
    assert Redactor().report(once) == once
