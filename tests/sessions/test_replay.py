"""Replaying sessions on a new version: the verdict, the place, the reason, and whether one under way can go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from changed import replace
from session_files import Session, pin_of, step, workflow, write

from pytest_workrail.cli import main
from pytest_workrail.engine.model.ids import SessionId
from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.protocol.ports import WorkflowEntry
from pytest_workrail.engine.protocol.sessions import frozen
from pytest_workrail.engine.store.bundle import Producer
from pytest_workrail.engine.store.disk import on_disk
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy
from pytest_workrail.engine.store.transfer import export_session
from pytest_workrail.scenarios.drivers import play
from pytest_workrail.sessions.prompts import read_only_home
from pytest_workrail.sessions.replay import _own_pin
from pytest_workrail.sessions.versions import load_version, versions_below
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Err
from workrail_lint.cli import main as lint
from workrail_lint.systems.workrail.compile import compile_workflow

PLAIN = workflow(step("first"), step("second"), step("third"))
ROUNDS = workflow(
    step("first", notesOptional=True),
    {
        "id": "rounds",
        "title": "Rounds",
        "type": "loop",
        "loop": {"type": "while", "maxIterations": 4, "condition": {"var": "more", "equals": True}},
        "body": [step("work", notesOptional=True)],
    },
    step("last", notesOptional=True),
)


def done() -> Session:
    return Session(PLAIN).submit().submit("One.").submit("Two.").submit("Three.")


def judged(tmp_path: Path, session: Session, version: Any, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    write(tmp_path / "data", session.played())
    path = tmp_path / "new.json"
    path.write_text(version if isinstance(version, str) else json.dumps(version), encoding="utf-8")
    code = main(["sessions", "replay", "--data", str(tmp_path / "data"), "--workflow", str(path), "--json"])
    answer = json.loads(capsys.readouterr().out)
    (found,) = answer["sessions"]
    assert code == (1 if found["verdict"] in ("breaks", "invalid") else 0)
    assert answer["verdicts"][found["verdict"]] == 1
    assert isinstance(found, dict)
    return found


def test_the_same_version_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = judged(tmp_path, done(), PLAIN, capsys)
    assert (found["verdict"], found["at"], found["differences"]) == ("same", None, [])


def test_another_prompt_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    version = workflow(step("first"), step("second", prompt="Do it with care."), step("third", title="End"))
    found = judged(tmp_path, done(), version, capsys)
    assert found["verdict"] == "differs"
    assert found["differences"] == ["the prompt of step second changed", "the title of step third changed"]


CRITERIA = [{"type": "contains", "value": "proof", "message": "show proof"}]
CONTRACT = {"contractRef": "wr.contracts.gate_verdict"}


@pytest.mark.parametrize(
    ("version", "at", "call", "words"),
    [
        (workflow(step("first"), step("third")), "first", 3, "the next step 'second' no longer exists"),
        (workflow(step("first"), step("extra"), step("second"), step("third")), "first", 3, "sent to step extra"),
        (
            workflow(step("first"), step("second", runCondition={"var": "never"}), step("third")),
            "first",
            3,
            "sent to step third; it went to step second",
        ),
        (workflow(step("first"), step("second", validationCriteria=CRITERIA), step("third")), "second", 4, "no longer"),
        (workflow(step("first"), step("second", outputContract=CONTRACT), step("third")), "second", 4, "no longer"),
        (workflow(step("first"), step("second")), "second", 4, "'third' no longer exists"),
        (
            workflow(step("first"), step("second"), step("third"), step("fourth")),
            "third",
            5,
            "continues to step fourth",
        ),
    ],
)
def test_a_session_that_no_longer_gets_through_breaks_at_the_first_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], version: Any, at: str, call: int, words: str
) -> None:
    found = judged(tmp_path, done(), version, capsys)
    assert (found["verdict"], found["at"], found["call"]) == ("breaks", at, call)
    assert words in found["reason"]


def test_a_bound_that_is_now_too_low_breaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(ROUNDS).submit().submit(context={"more": True})
    session.submit().submit().submit(context={"more": False}).submit()
    version = json.loads(json.dumps(ROUNDS))
    version["steps"][1]["loop"]["maxIterations"] = 2
    found = judged(tmp_path, session, version, capsys)
    assert (found["verdict"], found["at"], found["call"]) == ("breaks", "work", 5)


@pytest.mark.parametrize(
    "version",
    [json.dumps({**PLAIN, "steps": []}), json.dumps({**PLAIN, "steps": [{}]}), json.dumps(PLAIN)[:-9]],
    ids=["no steps", "no id", "cut short"],
)
def test_a_version_that_does_not_compile_is_invalid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    found = judged(tmp_path, done(), version, capsys)
    assert found["verdict"] == "invalid"
    assert found["reason"]


def test_a_file_that_is_no_workflow_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "data", done().played())
    path = tmp_path / "new.json"
    path.write_text("{", encoding="utf-8")
    assert main(["sessions", "replay", "--data", str(tmp_path / "data"), "--workflow", str(path)]) == 2
    assert "new.json is not a workflow" in capsys.readouterr().err


def test_a_session_under_way_is_judged_from_where_it_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    under_way = Session(PLAIN).submit().submit("One.")
    longer = workflow(step("first"), step("second"), step("third"), step("fourth"))
    found = judged(tmp_path, under_way, longer, capsys)
    assert (found["verdict"], found["pending"], found["canContinue"]) == ("same", "second", True)


def test_a_session_under_way_that_leads_nowhere_breaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    under_way = Session(PLAIN).submit().submit("One.")
    never = [{"type": "length", "min": 9, "max": 3, "message": "impossible"}]
    dead_end = workflow(step("first"), step("second"), step("third", validationCriteria=never))
    found = judged(tmp_path, under_way, dead_end, capsys)
    assert (found["verdict"], found["at"], found["canContinue"]) == ("breaks", "second", False)
    assert "can't be brought to its end" in found["reason"]


def test_a_damaged_session_is_judged_as_far_as_it_can_be_trusted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = done()
    folder = write(tmp_path / "data", session.played())
    last = sorted((folder / "events").iterdir())[-1]
    last.write_bytes(last.read_bytes()[:-3])
    path = tmp_path / "new.json"
    path.write_text(json.dumps(PLAIN), encoding="utf-8")
    arguments = ["sessions", "replay", "--data", str(tmp_path / "data"), "--workflow", str(path)]
    assert main([*arguments, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["sessions"]
    assert found["verdict"] == "same"
    assert "damaged" in found["note"]
    assert main(arguments) == 0
    assert "note:" in capsys.readouterr().out


def test_the_same_matter_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in (1, 2, 3):
        session = Session(PLAIN, seed=seed).submit().submit("One.").submit("Two.").submit("Three.")
        write(tmp_path / "data", session.played())
    path = tmp_path / "new.json"
    path.write_text(json.dumps(workflow(step("first"), step("third"))), encoding="utf-8")
    assert main(["sessions", "replay", "--data", str(tmp_path / "data"), "--workflow", str(path)]) == 1
    shown = capsys.readouterr().out
    assert shown.count("breaks:") == 1
    assert shown.count("  sess_") == 3
    assert "3 runs replayed: 3 breaks" in shown


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[dict[str, Any], str]:
    assert main(["sessions", "replay", "--json", *arguments]) == code
    shown = capsys.readouterr()
    return json.loads(shown.out), shown.err


def test_what_is_not_replayed_is_said_and_fails_the_gate_if_it_is_of_the_workflow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, path = tmp_path / "data", tmp_path / "new.json"
    path.write_text(json.dumps(PLAIN), encoding="utf-8")
    options = ["--data", str(data), "--workflow", str(path)]
    write(data, done().played())
    write(data, Session(workflow(step("only"), id="demo.other"), seed=2).submit().played())
    (data / "sessions" / "sess_unreadable").mkdir()
    (data / "sessions" / "sess_unreadable" / "manifest.jsonl").write_text("no manifest", encoding="utf-8")
    answer, said = replayed(capsys, *options)
    assert answer["verdicts"]["same"] == 1
    assert answer["leftOut"] == {"demo.other": 1}
    assert [each["session"] for each in answer["failed"]] == ["sess_unreadable"]
    assert "1 run left out, of workflows that have no new version: demo.other" in said
    replayed(capsys, *options, "sess_unreadable", code=1)
    for pinned in (data / "workflows" / "pinned").iterdir():
        pinned.unlink()
    answer, said = replayed(capsys, *options, code=1)
    assert answer["sessions"] == []
    assert {each["reason"] for each in answer["failed"]} >= {"the pinned workflow is missing"}
    assert "was not replayed: the pinned workflow is missing" in said


def test_a_step_that_the_engine_generated_is_marked_as_its_defect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checked = workflow(step("first", verification={"command": "make check"}), step("second"))
    session = Session(checked).submit().submit("One.")
    assert session.answer["pending"]["stepId"] == "first__verification"
    found = judged(tmp_path, session, checked, capsys)
    assert found["verdict"] == "same"
    assert found["note"].startswith("known defect of the engine KD-02 at step first__verification: INTERNAL_ERROR")
    assert main(["sessions", "show", found["session"], "--data", str(tmp_path / "data"), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert [(each["id"], each["step"]) for each in run["engineDefects"]] == [("KD-02", "first__verification")]


NEVER_BEGUN = {
    "id": "rounds",
    "type": "loop",
    "title": "Rounds",
    "loop": {"type": "while", "condition": {"var": "never"}, "maxIterations": 2},
    "body": [step("first")],
}


@pytest.mark.parametrize("unasked", [step("first", runCondition={"var": "never"}), NEVER_BEGUN], ids=["step", "loop"])
def test_a_first_step_that_the_engine_did_not_ask_for_is_marked_as_its_defect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], unasked: dict[str, Any]
) -> None:
    """The engine began with a step whose condition is false; ours would not have."""
    version = workflow(unasked, step("second"))
    begun = Session(workflow(step("first"), step("second")), onboarding=False)
    begun.pin = pin_of(version, onboarding=False)
    found = judged(tmp_path, begun, version, capsys)
    assert "judged up to where our engine parts from the recording: call 1 was recorded as step first" in found["note"]
    assert "known defect of the engine KD-01 at step first" in found["note"]


def test_where_a_snapshot_is_missing_the_rest_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, path = tmp_path / "data", tmp_path / "new.json"
    path.write_text(json.dumps(PLAIN), encoding="utf-8")
    played = Session(PLAIN).submit().submit("One.").submit("Two.").played()
    write(data, played)
    second = [event for event in played.events if event["kind"] == "node_created"][1]["data"]["snapshotRef"]
    (data / "snapshots" / f"{second.replace(':', '_')}.json").unlink()
    (found,) = replayed(capsys, "--data", str(data), "--workflow", str(path))[0]["sessions"]
    assert (found["verdict"], found["canContinue"]) == ("same", None)
    assert found["note"] == "whether it can continue is not known: node #2: the snapshot is missing"
    assert main(["sessions", "record", "--data", str(data), "--out", str(tmp_path / "out")]) == 1
    assert "was not recorded: node #2: the snapshot is missing" in capsys.readouterr().err


@pytest.mark.parametrize("member", ["workflowId", "bindings", "assessments", "steps"])
def test_a_forged_pin_of_our_own_engine_is_named_and_stops_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], member: str
) -> None:
    data, path = tmp_path / "data", tmp_path / "new.json"
    path.write_text(json.dumps(PLAIN), encoding="utf-8")
    compiled = load_version(path).compiled
    assert compiled is not None
    session = Session(PLAIN, onboarding=False).submit("One.")
    ours = digest(canonical_bytes(session.pin))
    played = replace(session.played(), pin={name: value for name, value in compiled.ir.items() if name != member})
    forged = json.dumps(played.segments).replace(ours, digest(canonical_bytes(played.pin)))
    write(data, replace(played, segments=json.loads(forged)))
    write(data, Session(PLAIN, seed=2).submit().played())
    options = ["--data", str(data), "--workflow", str(path)]
    answer, _ = replayed(capsys, *options, code=1)
    assert answer["verdicts"]["same"] == 1
    (failed,) = answer["failed"]
    assert failed["reason"].startswith("the pinned workflow is ")
    assert main(["sessions", "show", played.session_id, "--data", str(data), "--prompts"]) == 0
    assert main(["sessions", "record", "--data", str(data), "--out", str(tmp_path / "out")]) in (0, 1)
    assert "internal error" not in capsys.readouterr().err


def test_sessions_of_our_own_engine_are_replayed_with_the_profile_they_had(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only profile locked stops a loop at its bound."""
    version = json.loads(json.dumps(ROUNDS))
    version["steps"][1]["loop"]["maxIterations"] = 1
    path, data = tmp_path / "new.json", tmp_path / "data"
    path.write_text(json.dumps(version), encoding="utf-8")
    compiled = load_version(path).compiled
    home = on_disk(data, FixedClock(), SeededEntropy())
    assert compiled is not None
    assert not isinstance(home, Err)
    engine = Engine(home.value, MemoryLibrary([WorkflowEntry(compiled.ir)]), Options(profile="locked"))
    start = {"workflowId": "demo.plain", "workspacePath": "/w", "goal": "g", "initialContext": {"more": True}}
    started = engine.start_workflow(start)
    assert not isinstance(started, Err)
    token = started.value.to_json()["continueToken"]
    for _ in range(2):
        answer = engine.continue_workflow({"continueToken": token, "intent": "advance"})
        assert not isinstance(answer, Err)
        token = answer.value.to_json()["continueToken"]
    assert answer.value.to_json()["kind"] == "blocked"
    options = ["--data", str(data), "--workflow", str(path)]
    assert "parts from the recording" in replayed(capsys, *options)[0]["sessions"][0]["note"]
    (found,) = replayed(capsys, *options, "--profile", "locked")[0]["sessions"]
    assert (found["verdict"], found["note"]) == ("same", "")
    # Our engine keeps no source: a recording runs the IR that was pinned, which nobody may edit.
    out = tmp_path / "out"
    assert main(["sessions", "record", "--data", str(data), "--profile", "locked", "--out", str(out)]) == 0
    (scenario,), (kept,) = out.glob("*.scenario.json"), (out / "workflows").glob("*.ir.json")
    playing = play(scenario, scenario.name)
    assert not isinstance(playing, Err)
    assert playing.value.failure is None
    assert lint(["check", str(out)]) == 0
    kept.write_text(kept.read_text(encoding="utf-8").replace("Do first.", "Do it."), encoding="utf-8")
    refused = play(scenario, scenario.name)
    assert isinstance(refused, Err)
    assert "differs from the one it is named after" in refused.error.reason()[0]


# ------------------------------------------------------------------------------------------------------ in pytest


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    session = done()
    data = pytester.path / "data"
    write(data, session.played())
    home = read_only_home(str(data))
    bundle = export_session(
        home.stores,
        SessionId(session.place.session_id),
        producer=Producer(app_version="0"),
        clock=home.clock,
        entropy=home.entropy,
    )
    assert not isinstance(bundle, Err)
    (pytester.path / "recorded").mkdir()
    (pytester.path / "recorded" / "plain.session.json").write_text(json.dumps(bundle.value), encoding="utf-8")
    (pytester.path / "workflows").mkdir()
    (pytester.path / "workflows" / "plain.json").write_text(json.dumps(PLAIN), encoding="utf-8")
    return pytester


def test_every_session_of_a_folder_is_an_item(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nworkrail_sessions = recorded data\ntestpaths = tests\n")
    (project.path / "tests").mkdir()
    found = project.runpytest("-v")
    found.assert_outcomes(passed=2)
    found.stdout.fnmatch_lines(["*plain.session.json::replay PASSED*"])
    changed = json.dumps(workflow(step("first"), step("third")))
    (project.path / "workflows" / "plain.json").write_text(changed, encoding="utf-8")
    broken = project.runpytest("-rf")
    broken.assert_outcomes(failed=2)
    broken.stdout.fnmatch_lines(["*breaks at step first, call 3 on workflows/plain.json: the next step 'second' no*"])
    (project.path / "workflows" / "plain.json").write_text(json.dumps({**PLAIN, "steps": [{}]}), encoding="utf-8")
    invalid = project.runpytest("-rf")
    invalid.assert_outcomes(failed=2)
    invalid.stdout.fnmatch_lines(["*session * invalid on workflows/plain.json: *"])


def test_without_a_version_in_the_project_the_pinned_one_is_replayed(project: pytest.Pytester) -> None:
    (project.path / "workflows" / "plain.json").unlink()
    project.makeini("[pytest]\nworkrail_sessions = recorded\n")
    project.runpytest().assert_outcomes(passed=1)


def test_a_damaged_file_is_one_failing_item(project: pytest.Pytester) -> None:
    path = project.path / "recorded" / "plain.session.json"
    path.write_text(path.read_text(encoding="utf-8").replace("One.", "Two!"), encoding="utf-8")
    project.makeini("[pytest]\nworkrail_sessions = recorded\n")
    found = project.runpytest()
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*can't be replayed: it is not an intact bundle*"])


def test_a_folder_that_is_not_there_is_a_warning(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nworkrail_sessions = nowhere\n")
    found = project.runpytest("--co")
    found.stdout.fnmatch_lines(["*workrail_sessions: there is no folder nowhere*"])


def test_the_fixture_gives_a_session_for_assertions(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        def test_session(workrail):
            session = workrail.session("recorded/plain.session.json")
            assert session.status == "complete"
            assert session.steps == ("wr-system-onboarding", "first", "second", "third")
            assert session.notes("second") == ("Two.",)
            assert session.artifacts("second") == ()
            assert (session.blockers, session.gaps, session.forks, session.pending) == ((), (), 0, None)
            assert session.context == {"goal": "Ship it"}
            assert session.replay().verdict == "same"
            assert session.replay("workflows/plain.json").verdict == "same"
            assert workrail.session("data").session_id.startswith("sess_")
            with pytest.raises(ValueError, match="can't be used as a session"):
                workrail.session("workflows")
        """
    )
    project.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize("broken", ["a.json", "z.json"])
def test_a_file_that_does_not_compile_hides_none_that_does(tmp_path: Path, broken: str) -> None:
    sound = workflow(step("first"))
    (tmp_path / "m.json").write_text(json.dumps(sound), encoding="utf-8")
    (tmp_path / broken).write_text(json.dumps({**sound, "steps": []}), encoding="utf-8")
    found = versions_below([str(tmp_path)])
    assert not isinstance(found, Err), found
    (version,) = found.value.values()
    assert (version.path.name, version.compiled is not None) == ("m.json", True)


def test_the_settings_of_the_first_path_hold_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        for file in ("kept", "draft"):
            document = json.dumps({**workflow(step("first")), "id": f"demo.{name}_{file}"})
            (tmp_path / name / f"{file}.json").write_text(document, encoding="utf-8")
    (tmp_path / "one" / "workrail-lint.toml").write_text('exclude = ["draft.json"]\n', encoding="utf-8")

    def ids(*paths: str) -> list[str]:
        versions = versions_below(list(paths))
        assert not isinstance(versions, Err), versions
        return sorted(versions.value)

    every = ["demo.one_draft", "demo.one_kept", "demo.other_draft", "demo.other_kept"]
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    assert ids(other, one) == every
    kept = ["demo.one_kept", "demo.other_kept"]
    assert ids(one, other) == kept
    assert ids(str(tmp_path / "one" / "kept.json"), one) == ["demo.one_kept"]
    monkeypatch.chdir(tmp_path / "one")
    assert ids("kept.json", other) == kept


def test_a_pin_of_our_own_engine_has_its_onboarding_step_back_when_it_runs() -> None:
    compiled = compile_workflow(PLAIN)
    assert not isinstance(compiled, Err)
    plain = compiled.value.ir
    pinned = frozen(plain, onboarding=True)
    assert not isinstance(pinned, Err)
    begun = _own_pin(pinned.value[0])
    assert not isinstance(begun, Err)
    assert (begun.value.ir, begun.value.runnable) == (plain, pinned.value[0])
    bare = _own_pin(plain)
    assert not isinstance(bare, Err)
    assert (bare.value.onboarding, bare.value.runnable) == (None, plain)
