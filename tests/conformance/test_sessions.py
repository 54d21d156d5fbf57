"""Sessions that the public engine recorded: read without loss, shown, counted, played again, rehydrated, replayed."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

from recorded_sessions import body, calls, data, meta, requires_sessions, root
from tables import for_each

from pytest_workrail.engine.model.base import record_line
from pytest_workrail.engine.model.events import read_event
from pytest_workrail.engine.protocol.engine import Engine
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.sessions.listing import Summary, summaries
from pytest_workrail.sessions.prompts import read_only_home
from pytest_workrail.sessions.recorded_session import replay_on_version, replay_session
from pytest_workrail.sessions.replay import (
    Judgement,
    Outcome,
    Recorded,
    Reproduction,
    compare_run,
    recorded_runs,
    reproduce,
)
from pytest_workrail.sessions.stats import count_sessions
from pytest_workrail.sessions.story import stories, story_json
from pytest_workrail.sessions.story_text import story_lines, story_mermaid
from pytest_workrail.sessions.versions import Version, load_version
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.result import Err

pytestmark = requires_sessions
# The engine's own log is over its own limit; everything before that is intact.
CORRUPT = "notes-large-corrupt"
# The engine advances to a step that its compiler made and then can't render it: an error on the wire, but in the log.
ENGINE_DEFECT = {"schema-straight", "parallel-both", "parallel-one"}
_STATUS = {"complete": {"complete", "complete_with_gaps"}, "open": {"in_progress"}, "gate": {"gate"}}


def _name(session: dict[str, Any]) -> str:
    return str(session["name"])


each_session = for_each("session", meta(), key=_name, least=0)


@cache
def listed() -> dict[str, Summary]:
    return {each.session: each for each in summaries(data(), use_cache=False)}


@cache
def recorded(session_id: str) -> Recorded:
    runs = recorded_runs(data(), session_id)
    assert not isinstance(runs, Err), runs
    (run,) = runs.value
    return run


@cache
def reproduced(session_id: str) -> Reproduction:
    return reproduce(recorded(session_id))


@each_session
def test_every_session_is_listed_with_its_status_and_counts(session: dict[str, Any]) -> None:
    summary = listed()[session["sessionId"]]
    assert summary.workflow_id == session["workflowId"]
    if session["name"] == CORRUPT:
        assert summary.status == "damaged"
        assert summary.damage is not None
        return
    assert summary.status in _STATUS.get(session["ends"], {session["ends"]})
    assert summary.events == session["events"]
    assert summary.damage is None
    assert summary.unknown == 0


def test_the_counts_are_those_of_the_recording() -> None:
    found = listed().values()
    assert len(found) == len(meta())
    assert sum(each.blocks for each in found) == 49
    assert sum(each.gaps for each in found) == 6
    assert sum(each.checkpoints for each in found) == 4
    assert sum(each.forks for each in found) == 11


@each_session
def test_the_story_says_the_same_as_the_list_and_can_be_shown(session: dict[str, Any]) -> None:
    summary = listed()[session["sessionId"]]
    (story,) = stories(data(), session["sessionId"])
    advances = story.advances
    kinds = Counter(story.node(each.target).kind for each in advances)
    assert (kinds["step"], kinds["blocked_attempt"]) == (summary.steps, summary.blocks)
    assert sum(each.is_fork for each in advances) == summary.forks
    assert sum(len(each.gaps) for each in advances) == summary.gaps
    assert story.preferred_tip is not None
    assert story.node(story.preferred_tip).step == summary.step
    if summary.damage is None:
        assert story.status == summary.status
    text = list(story_lines(story, full=True))
    assert sum(line.startswith("  submitted at") for line in text) == len(advances)
    assert json.loads(json.dumps(story_json(story)))["preferredPath"][0] == 1
    assert story_mermaid(story).count("-->|") + story_mermaid(story).count("==>|") == len(advances)


def test_the_statistics_add_up() -> None:
    statistics = count_sessions(data(), [each["sessionId"] for each in meta()])
    total = Counter[str]()
    for stats in statistics.workflows.values():
        for step in stats.steps.values():
            total.update(calls=step.calls, blocks=step.blocks, abandoned=step.abandoned)
    found = listed().values()
    assert sum(each.sessions for each in statistics.workflows.values()) == len(meta())
    assert statistics.damaged == 1
    assert total["blocks"] == sum(each.blocks for each in found)
    under_way = ("in_progress", "blocked", "gate")
    assert total["abandoned"] == sum(each.status in under_way for each in found)
    loops = statistics.workflows["demo.refine_until_clean"].loops["refine"]
    assert loops.hit_bound == sum(each["name"] == "refine-limit" or each["name"] == "random-08" for each in meta())


@each_session
def test_events_written_again_are_the_same_bytes(session: dict[str, Any]) -> None:
    folder = root() / "data" / "sessions" / session["sessionId"] / "events"
    for segment in sorted(folder.iterdir()):
        for line in segment.read_bytes().split(b"\n")[:-1]:
            assert canonical_bytes(json.loads(line)) == line
            event = read_event(line)
            if isinstance(event, Err):
                assert session["name"] == CORRUPT
            else:
                assert record_line(event.value) == line + b"\n"


@each_session
def test_the_log_alone_is_enough_to_play_a_session_again(session: dict[str, Any]) -> None:
    run = recorded(session["sessionId"])
    reproduction = reproduced(session["sessionId"])
    assert reproduction.parts_at is None, reproduction.describe(run.script)
    if session["name"] == CORRUPT:
        return
    on_wire = _on_wire(session["name"])
    ours = [(each.kind, each.pending, each.is_complete, each.codes) for each in reproduction.outcomes]
    if session["name"] in ENGINE_DEFECT:
        # The log says that the engine went on to the generated step, and so do we.
        assert len(ours) == len(on_wire) + 1
        assert "__" in str(ours[-1][1])
    else:
        assert len(ours) == len(on_wire)
    assert all(theirs in (None, our) for our, theirs in zip(ours, on_wire, strict=False))


def _on_wire(name: str) -> list[tuple[str, str | None, bool, tuple[str, ...]] | None]:
    """What the calls that leave a trace were answered with; None where the answer is prose or none was recorded."""
    found: list[Any] = []
    used: set[str] = set()
    for call in calls(name):
        if "out_of_band" in call:
            found += [None] if call["out_of_band"] == "daemon_start" else []
            continue
        tool, sent = call["request"]["params"]["name"], call["request"]["params"]["arguments"]
        if tool not in ("start_workflow", "continue_workflow") or call["response"].get("isError"):
            continue
        token = sent.get("continueToken")
        has_output = any(sent.get(member) for member in ("output", "notes", "artifacts"))
        intent = sent.get("intent") or ("advance" if has_output else "rehydrate")
        if token is not None and (intent == "rehydrate" or token in used):
            continue
        used.add(str(token))
        answer = body(call)
        found.append(None if answer is None else _shape(answer))
    return found


def _shape(answer: dict[str, Any]) -> tuple[str, str | None, bool, tuple[str, ...]]:
    codes = tuple(each["code"] for each in answer.get("blockers", {}).get("blockers", ()))
    step = (answer.get("pending") or {}).get("stepId") or answer.get("stepId")
    return (answer.get("kind", "ok"), step, bool(answer.get("isComplete")), codes)


@cache
def _engine() -> Engine:
    return Engine(read_only_home(str(root() / "data")), MemoryLibrary())


@each_session
def test_every_real_token_is_rehydrated_read_only(session: dict[str, Any]) -> None:
    tokens: dict[str, str | None] = {}
    for call in calls(session["name"]):
        answer = body(call) or {}
        step = (answer.get("pending") or {}).get("stepId") or answer.get("stepId")
        names = ("continueToken", "retryContinueToken", "resumeToken", "gateToken")
        tokens |= {answer[name]: step for name in names if answer.get(name)}
    for token, step in tokens.items():
        request = {"continueToken": token, "intent": "rehydrate", "workspacePath": "/workspace/demo"}
        answered = _engine().continue_workflow(request)
        if session["name"] == CORRUPT:
            assert isinstance(answered, Err)
            assert answered.error.code == "SESSION_NOT_HEALTHY"
            continue
        assert not isinstance(answered, Err), answered.error.message
        pending: Any = answered.value.to_json()["pending"]
        assert step is None or pending["stepId"] == step


@cache
def _second_versions() -> dict[str, Version]:
    versions = [load_version(path) for path in sorted((root() / "workflows" / "v2").glob("*.json"))]
    return {version.workflow_id: version for version in versions}


def _judged(session: dict[str, Any], versions: dict[str, Version]) -> Judgement:
    run = recorded(session["sessionId"])
    version = versions.get(session["workflowId"])
    # Without a file it is bundled with the engine, and unchanged.
    return compare_run(run, run.pinned.ir) if version is None else replay_on_version(run, version)


@for_each("session", [each for each in meta() if each["version"] == 1], key=_name, least=0)
def test_a_replay_on_version_2_is_judged_as_the_engine_behaves(session: dict[str, Any]) -> None:
    expected, found = session["onVersion2"], _judged(session, _second_versions())
    if expected["verdict"] != "breaks":
        assert found.verdict in ("same", "differs"), found.reason
        return
    assert found.verdict == "breaks"
    assert found.at == expected["step"]
    assert found.reason
    assert isinstance(found.now, Outcome)
    kind, pending, *_, codes = expected["now"]
    assert (found.now.kind, found.now.pending) == (kind, pending)
    assert kind == "error" or list(found.now.codes) == codes


@for_each("session", [each for each in meta() if each["version"] == 2], key=_name, least=0)
def test_a_session_of_version_2_is_the_same_on_version_2(session: dict[str, Any]) -> None:
    # Texts that builtins inject are our own, so where a workflow uses features the wording differs.
    expected = "differs" if session["workflowId"] == "demo.migration_plan" else "same"
    assert _judged(session, _second_versions()).verdict == expected


def test_a_session_is_the_same_on_its_own_version() -> None:
    by_workflow = {each["workflowId"]: each for each in meta() if each["version"] == 1}
    for path in sorted((root() / "workflows" / "v1").glob("*.json")):
        version = load_version(path)
        session = by_workflow.get(version.workflow_id)
        if session is not None and version.workflow_id != "demo.migration_plan":
            judged = replay_session(data(), session["sessionId"], {version.workflow_id: version})
            assert [each.verdict for each in judged.judgements] == ["same"]
