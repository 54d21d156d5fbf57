"""Sessions as scenarios: turns, forks, checkpoints, preferences, gates, redaction, and what is said when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from changed import replace
from session_files import Session, step, workflow, write

from pytest_workrail.cli import main
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.engine.tokens.issuer import CheckpointGrant
from pytest_workrail.scenarios.drivers import play
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.recording import RecordedScenario, record
from pytest_workrail.sessions.replay import Recorded, recorded_runs
from pytest_workrail.sessions.story import context_change
from workrail_lint.base.redaction import RULES, Redactor, own_rule
from workrail_lint.base.result import Err
from workrail_lint.cli import main as lint

pytestmark = pytest.mark.promise("Sessions are redacted", "recorded scenarios")

PLAIN = workflow(step("first"), step("second"), step("third"))
JUDGED = workflow(
    step("first"),
    step("verdict", outputContract={"contractRef": "wr.contracts.gate_verdict"}),
    step("close", validationCriteria=[{"type": "contains", "value": "closed", "message": "say closed"}]),
    id="demo.judged",
)
GOOD = {"kind": "wr.gate_verdict", "version": 1, "verdict": "approved", "confidence": "high", "rationale": "x" * 20}


def run_of(root: Path, session: Session) -> Recorded:
    played = session.played()
    write(root, played)
    runs = recorded_runs(DataFolder(str(root)), played.session_id)
    assert not isinstance(runs, Err), runs
    return runs.value[0]


def recorded(tmp_path: Path, session: Session, **options: Any) -> tuple[RecordedScenario, dict[str, Any]]:
    made = record(run_of(tmp_path / "data", session), tmp_path / "out", None, Redactor(), **options)
    assert not isinstance(made, Err), made
    scenario: dict[str, Any] = json.loads(made.value.path.read_text(encoding="utf-8"))
    return made.value, scenario


def turns_of(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = scenario["agent"]["turns"]
    return turns


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_artifacts_come_in_the_order_of_their_submission(tmp_path: Path, order: tuple[int, ...]) -> None:
    artifacts = [{"kind": "demo.note", "number": number} for number in order]
    _, scenario = recorded(tmp_path, Session(PLAIN).submit().submit("One.", artifacts=artifacts))
    assert [turn["artifacts"] for turn in turns_of(scenario) if turn["step"] == "first"] == [artifacts]


def test_a_number_that_becomes_a_boolean_is_a_change() -> None:
    before = {"flag": 1, "same": 2, "gone": 3}
    change = context_change(before, {"flag": True, "same": 2.0, "new": 4})
    assert [(name, type(value)) for name, value in change.items()] == [
        ("flag", bool),
        ("new", int),
        ("gone", type(None)),
    ]


def test_a_plain_session_needs_no_onboarding_step(tmp_path: Path) -> None:
    session = Session(PLAIN).submit(context={"given": 1}).submit("One.").submit("Two.").submit("Three.")
    made, scenario = recorded(tmp_path, session)
    assert (made.problem, made.filled) == (None, ())
    assert "onboarding" not in scenario
    assert scenario["context"] == {"given": 1}
    assert [turn["step"] for turn in turns_of(scenario)] == ["first", "second", "third"]
    assert scenario["expect"] == {"status": "complete"}


def test_the_onboarding_step_is_played_where_it_matters(tmp_path: Path) -> None:
    session = Session(PLAIN).submit().submit("One.").submit(node=1, context={"again": True}).submit("Once more.")
    made, scenario = recorded(tmp_path, session)
    assert made.problem is None
    assert scenario["onboarding"] is True
    assert [turn["step"] for turn in turns_of(scenario)][:1] == ["wr-system-onboarding"]
    assert {"step": "second", "call": "rewind", "node": 1} in turns_of(scenario)


def test_forks_go_back_to_a_node(tmp_path: Path) -> None:
    session = Session(PLAIN).submit().submit("One.").submit("Two.").submit("Other.", node=3).submit("Three.")
    made, scenario = recorded(tmp_path, session)
    assert made.problem is None
    assert {"step": "third", "call": "rewind", "node": 2} in turns_of(scenario)


def test_a_fork_after_the_end_is_played(tmp_path: Path) -> None:
    session = Session(PLAIN).submit().submit("One.").submit("Two.").submit("Three.").submit("Other.", node=3)
    made, scenario = recorded(tmp_path, session)
    assert made.problem is None
    assert {"step": "$complete", "call": "rewind", "node": 2} in turns_of(scenario)
    assert turns_of(scenario)[-1] == {"step": "third", "call": "leave"}


def test_a_session_under_way_is_left_where_it_stands(tmp_path: Path) -> None:
    made, scenario = recorded(tmp_path, Session(PLAIN).submit().submit("One."))
    assert made.problem is None
    assert scenario["expect"] == {"status": "in_progress"}
    assert turns_of(scenario)[-1] == {"step": "second", "call": "leave"}


def test_blocks_are_expected_and_lost_notes_filled_in(tmp_path: Path) -> None:
    session = Session(JUDGED).submit().submit().submit("One.")
    session.submit().submit(artifacts=[{**GOOD, "verdict": "maybe"}]).submit(artifacts=[GOOD])
    session.submit("still open").submit("closed it")
    made, scenario = recorded(tmp_path, session)
    assert made.problem is None
    expected = [turn["expect"].get("blockers") for turn in turns_of(scenario)]
    missing, invalid = ["MISSING_REQUIRED_OUTPUT"], ["INVALID_REQUIRED_OUTPUT"]
    assert expected == [["MISSING_REQUIRED_NOTES"], None, missing, invalid, None, invalid, None]
    assert made.filled == ("Turn 6: notes that fail the criteria again; those that were sent are not on record",)
    assert made.filled[0] in scenario["description"]


def test_checkpoints_and_preferences_are_turns(tmp_path: Path) -> None:
    session = Session(PLAIN).submit().submit("One.")
    bench, place = session._bench, session.address()
    token = bench.home.issuer.checkpoint_token(CheckpointGrant(place, bench.home.mint.attempt()))
    assert not isinstance(token, Err)
    bench.call("checkpoint_workflow", {"checkpointToken": token.value})
    assert not isinstance(bench.engine.prefer(place, Preferences("full_auto_never_stop", "conservative")), Err)
    session.submit(node=3).submit("Three.")
    made, scenario = recorded(tmp_path, session)
    assert made.problem is None
    assert {"step": "second", "call": "checkpoint"} in turns_of(scenario)
    prefers = {"mode": "full_auto_never_stop", "risk": "conservative"}
    assert {"step": "second", "prefers": prefers} in turns_of(scenario)
    assert scenario["expect"] == {"status": "complete_with_gaps"}


def test_a_daemon_session_stops_at_its_gate(tmp_path: Path) -> None:
    gated = workflow(step("first"), step("second", requireConfirmation=True))
    session = Session(gated, onboarding=False, is_autonomous="true").submit("One.").submit("Two.")
    assert session.answer["kind"] == "gate_checkpoint"
    made, scenario = recorded(tmp_path, session)
    assert made.problem is None
    assert scenario["expect"] == {"status": "gated"}
    assert made.filled == ("Turn 2: notes; the engine keeps none of an attempt that stops at a gate",)


def test_a_scenario_that_does_not_pass_says_why_in_its_file(tmp_path: Path) -> None:
    session = Session(PLAIN).submit().submit("One.").submit("Two.").submit("Three.")
    run = run_of(tmp_path / "data", session)
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(workflow(step("first"), step("new"), step("third"))), encoding="utf-8")
    made = record(run, tmp_path / "out", changed, Redactor())
    assert not isinstance(made, Err)
    assert made.value.problem is not None
    scenario = json.loads(made.value.path.read_text(encoding="utf-8"))
    assert scenario["workflow"] == "../changed.json"
    assert scenario["skip"].startswith("it does not pass here: the workflow has no step second")


def test_every_run_of_a_session_is_a_scenario(tmp_path: Path) -> None:
    played = Session(PLAIN).submit().submit("One.").played()
    again = [
        {**event, "eventIndex": len(played.events) + place}
        for place, event in enumerate(each for each in played.events if each["kind"] != "session_created")
    ]
    text = (
        json.dumps(again).replace('"run_', '"run_x').replace('"node_', '"node_x').replace('"node_xcreated', '"node_c')
    )
    text = text.replace('"run_xstarted', '"run_started').replace('"node_c"', '"node_created"')
    text = text.replace('"node_xoutput', '"node_output').replace('"evt_', '"evt_x')
    write(tmp_path / "data", replace(played, segments=[*played.segments, json.loads(text)]))
    arguments = ["--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]
    assert main(["sessions", "record", *arguments]) == 0
    found = {path.name for path in (tmp_path / "out").glob("*.scenario.json")}
    (first,) = (name for name in found if not name.endswith("-2.scenario.json"))
    assert found == {first, first.replace(".scenario", "-2.scenario")}


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    session = Session(PLAIN).submit().submit("One.")
    run = run_of(tmp_path / "data", session)
    assert not isinstance(record(run, tmp_path / "out", None, Redactor()), Err)
    assert isinstance(record(run, tmp_path / "out", None, Redactor()), Err)
    assert not isinstance(record(run, tmp_path / "out", None, Redactor(), force=True), Err)


# ------------------------------------------------------------------------------------------------------ redaction


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see /home/anna/work/plan.md today", "see /workspace/plan.md today"),
        ("C:\\Users\\anna\\plan.md", "/workspace/plan.md"),
        ("in /home/anna, C:/Users/anna and /Users/anna/", "in /workspace, /workspace and /workspace"),
        ("file:///home/anna/plan.md and \\\\server\\anna\\plan.md", "file:///workspace/plan.md and /workspace/plan.md"),
        ("C:/Users/anna/plan.md; /builds/anna/plan.md", "/workspace/plan.md; /workspace/plan.md"),
        ("a route /api/users, and/or 1/2, see /home page", "a route /api/users, and/or 1/2, see /workspace page"),
        ("https://example.org/home/page and a/b/c", "https://example.org/home/page and a/b/c"),
        ("fixed in " + "ab12" * 10, "fixed in " + f"{1:040x}"),
        ("ghp_" + "a" * 36, "[redacted secret]"),
        ("password=hunter22 now", "[redacted secret] now"),
        ("Authorization: Bearer " + "x" * 20, "Authorization: [redacted secret]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----", "[redacted secret]"),
        ("the token is opaque; a secret garden", "the token is opaque; a secret garden"),
        ("sha256:" + "a" * 64, "sha256:" + "a" * 64),
    ],
)
def test_rules_take_out_what_is_private_and_nothing_else(text: str, shown: str) -> None:
    assert Redactor().text(text) == shown


def test_the_folders_that_a_session_worked_in_are_taken_out_wherever_they_are() -> None:
    redactor = Redactor().for_workspace("/strange/place", None, "D:\\work")
    shown = redactor.text("at /strange/place/a/b.md, in /strange/place, D:\\work\\b.md; /strange/other")
    assert shown == "at /workspace/b.md, in /workspace, /workspace/b.md; /strange/other"
    assert redactor.counts == {"absolute-paths": 3}
    without = Redactor([rule for rule in RULES if rule.name != "absolute-paths"]).for_workspace("/strange/place")
    assert without.text("in /strange/place") == "in /strange/place"


def test_the_values_of_members_that_are_called_a_secret_are_taken_out() -> None:
    value = {"dbPassword": "hunter22", "nested": [{"API_KEY": "x", "tokens": 3, "tokenCount": "12"}], "secret": ""}
    secret = "[redacted secret]"
    shown = {"dbPassword": secret, "nested": [{"API_KEY": secret, "tokens": 3, "tokenCount": "12"}], "secret": ""}
    assert Redactor().value(value) == shown


def test_equal_commits_stay_equal() -> None:
    one, other = "a" * 40, "b" * 40
    assert Redactor().value([one, {"x": [other, one]}]) == [f"{1:040x}", {"x": [f"{2:040x}", f"{1:040x}"]}]


def test_reserved_variables_leave_and_rules_can_be_added_or_left_out() -> None:
    context = {"eat_token": "x", "metrics_outcome": "success", "triggerSource": "mcp", "goal": "Project Zebra"}
    own = own_rule("codenames=Project \\w+")
    assert not isinstance(own, Err)
    redactor = Redactor([*RULES, own.value])
    assert redactor.context(context) == {"goal": "[redacted]"}
    assert redactor.counts == {"reserved-context": 3, "codenames": 1}
    assert isinstance(own_rule("(unclosed"), Err)
    assert Redactor([rule for rule in RULES if rule.name != "reserved-context"]).context(context) == context


# ---------------------------------------------------------------------------------------------------- the command


def test_the_command_writes_scenarios_that_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(PLAIN, secret_path="/home/anna/x").submit().submit("At /home/anna/y.").submit("Two.").submit("3")
    write(tmp_path / "data", session.played())
    out = tmp_path / "out"
    code = main(["sessions", "record", "--data", str(tmp_path / "data"), "--out", str(out), "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert code == 0
    (made,) = answer["recorded"]
    assert made["passes"] is True
    assert made["redacted"] == {"absolute-paths": 2}
    path = Path(made["scenario"])
    assert not isinstance(play(path, path.name), Err)
    assert main(["sessions", "record", "--data", str(tmp_path / "data"), "--out", str(out)]) == 1
    assert "exists already" in capsys.readouterr().err


def test_the_rules_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "record", "--rules", "--redact", "names=Anna", "--keep", "secrets"]) == 0
    shown = capsys.readouterr().out
    assert [line.partition(":")[0] for line in shown.splitlines()] == [
        "reserved-context",
        "private-keys",
        "secret-members",
        "commit-ids",
        "absolute-paths",
        "names",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--keep", "nothing"], "there is no rule 'nothing'"),
        (["--redact", "("], "is not a regular expression"),
        ([], "say where the scenarios go"),
    ],
)
def test_bad_arguments_are_refused(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "record", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_the_shipped_sessions_are_what_the_engine_makes_today(tmp_path: Path) -> None:
    from shipped_sessions import SHIPPED, make

    make(tmp_path)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    shipped = {path.relative_to(SHIPPED): path.read_bytes() for path in SHIPPED.rglob("*") if path.is_file()}
    assert made == shipped


# ------------------------------------------------------------------------------------------------------ templates

EXPANDED = workflow(
    step("prepare"),
    {
        "id": "verify",
        "title": "Verify",
        "templateCall": {
            "templateId": "wr.templates.routine.final-verification",
            "args": {"deliverableName": "proof.md"},
        },
    },
    id="demo.expanded",
)


def expanded_session() -> Session:
    session = Session(EXPANDED).submit().submit("One.")
    while session.answer["pending"] is not None:
        session.submit("Verified.")
    return session


def test_a_session_over_expanded_templates_is_recorded_replayed_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their steps have ids that no file may have, such as `verify.step-one`: only the engine gives them."""
    made, scenario = recorded(tmp_path, expanded_session())
    assert made.problem is None
    steps = [turn["step"] for turn in turns_of(scenario)]
    assert steps[0] == "prepare"
    assert all(name.startswith("verify.") for name in steps[1:])
    pinned = json.loads((made.path.parent / scenario["workflow"]).read_text(encoding="utf-8"))
    assert pinned["sourceKind"] == "v1_pinned"
    data, source = ["--data", str(tmp_path / "data")], tmp_path / "expanded.json"
    source.write_text(json.dumps(EXPANDED), encoding="utf-8")
    assert main(["sessions", "replay", *data, "--workflow", str(source)]) == 0
    assert "1 run replayed: 1 same" in capsys.readouterr().out
    assert main(["sessions", "show", made.session, *data, "--prompts"]) == 0
    assert f"#3 {steps[1]}\n    | " in capsys.readouterr().out
    # A pinned workflow is no source, so checking the folder finds nothing wrong with it.
    assert lint(["check", str(made.path.parent)]) == 0
