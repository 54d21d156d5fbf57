"""Agents, files and scenarios that mean no good: clear findings, nothing written outside, no crash and no hang."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from team_plays import APPROVED, SESSION, blockers, codes, folder, full, gates, played, resumed, status, tasks

from pytest_workrail.scenarios.drivers import SimulatedClock
from pytest_workrail.systems.team import run
from pytest_workrail.systems.team.lock_evidence import EVIDENCE
from pytest_workrail.systems.team.session import FailingWrite, Store, with_task_status
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.team.vocabulary import TaskStatus, WorkflowState, WriteFault

LAUGHS = "a: &a [x, x]\nb: &b [*a, *a, *a]\n" + "".join(f"c{n}: &c{n} [*b, *b]\n" for n in range(50)) + "tasks: *b\n"


def everything(folder_: Path) -> dict[str, bytes]:
    """All files below a folder, links as what they point at."""
    return {
        path.relative_to(folder_).as_posix(): os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        for path in sorted(folder_.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


@pytest.mark.parametrize(
    "path",
    [
        "../../../outside.txt",
        "repo:../outside.txt",
        "repo:/etc/outside.txt",
        "/etc/outside.txt",
        "repo:C:\\outside.txt",
        "repo:~/outside.txt",
        "repo:src/../../outside.txt",
        "repo:.agents-work/1999-12-01_old-work/spec.md",
        "repo:.agents-work/notes.md",
        "repo:.agents-work",
        "repo:",
        "a\0b",
        f"repo:{'x' * 300}",
        "spec.md/below",
    ],
)
def test_an_agent_that_writes_where_nobody_may(tmp_path: Path, path: str) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    old = {".agents-work/1999-12-01_old-work/spec.md": "# Then\n"}
    found = full(replies={"Coder/T-001": {"files": {path: "gotcha"}}}, repository=old, keep=root)
    assert found.final_state == "BLOCKED"
    assert "TEAM_PROTOCOL_VIOLATION" in blockers(found)
    inside = everything(tmp_path)
    assert all(name.startswith("repository/") for name in inside)
    assert inside["repository/.agents-work/1999-12-01_old-work/spec.md"] == b"# Then\n"
    assert not any(b"gotcha" in data for data in inside.values())


def test_a_link_out_of_the_repository_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept", encoding="utf-8")
    root = tmp_path / "repository"
    (root / "src").mkdir(parents=True)
    (root / "src" / "link").symlink_to(outside)
    (root / "src" / "file.txt").symlink_to(outside / "kept.txt")
    files = {"repo:src/link/kept.txt": "gotcha", "repo:src/file.txt": "gotcha"}
    found = full(replies={"Coder/T-001": {"files": files}}, keep=root)
    assert found.final_state == "BLOCKED"
    assert (outside / "kept.txt").read_text(encoding="utf-8") == "kept"


def test_a_session_to_resume_may_hold_links(tmp_path: Path) -> None:
    source = tmp_path / "session"
    source.mkdir()
    (tmp_path / "secret.md").write_text("# secret\n", encoding="utf-8")
    (source / "spec.md").symlink_to(tmp_path / "secret.md")
    (source / "status.json").write_text('{"current_state": "DESIGN"}', encoding="utf-8")
    found = played(start={"resume": str(source)})
    assert "spec.md" not in found.artifacts
    assert found.final_state == "BLOCKED"


@pytest.mark.parametrize("data", [b"\xff\xfe{}", b'{"current_state": "PL\xc4N"}', b"\x00" * 9, b"[1]", b""])
def test_a_status_in_another_encoding(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "status.json").write_bytes(data)
    (tmp_path / "tasks.yaml").write_bytes("tasks: [é]".encode("utf-16"))
    found = played(start={"resume": str(tmp_path)})
    assert blockers(found) == ["TEAM_PERSISTENCE_FAILED"]
    assert {"TC001", "TC004"} & set(codes(found))
    assert found.golden_bytes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1, 2]",
        "null",
        '{"status": "OK", "status": "OK"}',
        "\ufeff{}",
        "\ud800",
        "[" * 100_000,
        '{"a":' * 50_000,
        '{"status": NaN}',
        "x" * 3_000_000,
    ],
)
def test_replies_that_are_none(text: str) -> None:
    replies = {f"Architect/meta#{n}": {"text": text} for n in (1, 2, 3)}
    found = played(replies=replies)
    assert blockers(found) == ["TEAM_SUBAGENT_FAILED"]
    assert [event["reason"] for event in found.named("dispatch_error")] == ["invalid"] * 3
    assert {finding.code for finding in found.findings} & {"TC001", "TC002", "TC003", "TC004", "TC530", "TC531"}


def test_a_reply_of_fifty_megabytes() -> None:
    huge = '{"status": "OK", "summary": "' + "x" * 50_000_000 + '"}'
    found = played(replies={"SpecAgent/meta#1": {"text": huge}}, limits={"steps": 4})
    assert [event["reason"] for event in found.named("dispatch_error")] == ["invalid"]
    assert "TC001" in codes(found)


@pytest.mark.parametrize("plan", [LAUGHS, "tasks: [", "tasks:\n- !!python/object:os.system {}\n", "\t", "x" * 300_000])
def test_plans_that_are_none(plan: str) -> None:
    replies = {f"Planner/meta#{n}": {"files": {"tasks.yaml": plan}} for n in (1, 2, 3)}
    found = played(user=APPROVED, replies=replies)
    assert found.final_state == "BLOCKED"
    assert set(blockers(found)) == {"TEAM_ARTIFACT_INVALID", "TEAM_SUBAGENT_FAILED"}
    assert len(found.blockers) <= 10


def test_blockers_have_budgets() -> None:
    spec = "# " + "x" * 5000 + "\n"
    note = "n" * 5000
    reply = {"output": {"status": "FAIL", "artifacts": {"notes": [note]}}, "files": {"spec.md": spec}}
    (blocker,) = played(replies={"SpecAgent/meta": reply}).blockers
    assert len(blocker.suggested_fix.encode()) <= 1024
    assert blocker.suggested_fix.endswith("[TRUNCATED]")


# ------------------------------------------------------------------------------------------ odd documents

STATES = [state.value for state in WorkflowState]
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 9)
    | st.text(max_size=6)
    | st.sampled_from([s.value for s in WorkflowState]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
MEMBERS = [
    "known_issues",
    "user_decisions",
    "gate_tracking",
    "runtime_flags",
    "retry_counts",
    "last_ci_result",
    "last_update",
    "session",
    "blocker",
]


@given(
    st.sampled_from(STATES),
    st.dictionaries(st.sampled_from(MEMBERS), ODD, max_size=4),
    st.dictionaries(st.sampled_from(["id", "status", "depends_on", "acceptance_checks", "goal", "context_files"]), ODD),
)
@settings(max_examples=times(25, deep=600), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_session_is_too_odd_to_be_resumed(state: str, members: dict[str, Any], task: dict[str, Any]) -> None:
    """Whatever the files say, a run ends: in a state, with a reason, and with findings about what is odd."""
    found = status(state, *gates())
    plan = tasks()
    plan["tasks"][0].update(task)
    files = folder({**found, **members}, **{"tasks.yaml": plan})
    run = resumed(files, user={"UD-1": ["yes"]}, start={"as": "IMPLEMENT_LOOP"}, limits={"steps": 150})
    assert run.final_state in WorkflowState
    assert run.golden_bytes
    if run.final_state == "BLOCKED" and run.blockers:
        assert all(blocker.message and blocker.suggested_fix for blocker in run.blockers)


@given(st.dictionaries(st.sampled_from(["status", "summary", "artifacts", "gates", "next"]), ODD, min_size=1))
@settings(max_examples=times(20, deep=400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_reply_is_too_odd(output: dict[str, Any]) -> None:
    found = played(replies={"SpecAgent/meta#1": {"output": output}}, limits={"steps": 3})
    assert found.final_state in WorkflowState
    assert found.named("reply", "dispatch_error")


# ----------------------------------------------------------------------------------------------- the store


def store(root: Path, *faults: FailingWrite) -> Store:
    return Store(root, SESSION, SimulatedClock(), faults)


def test_faults_of_the_store(tmp_path: Path) -> None:
    faults = [FailingWrite("a", 1, WriteFault.IO_ERROR), FailingWrite("a", 2, WriteFault.LOST)]
    place = store(tmp_path, *faults, FailingWrite("a", 3, WriteFault.CORRUPT), FailingWrite("b", 9, WriteFault.LOST))
    assert isinstance(place.write("a", b"0123456789"), Err)
    assert place.read("a") is None
    assert place.write("a", b"0123456789") == Ok(None)
    assert place.read("a") is None
    assert place.write("a", b"0123456789") == Ok(None)
    assert place.read("a") == b"01234"
    assert place.write("a", b"0123456789") == Ok(None)
    assert place.read("a") == b"0123456789"
    assert [fault.file for fault in place.unused_faults] == ["b"]


def test_lines_are_appended_behind_what_was_there(tmp_path: Path) -> None:
    place = store(tmp_path, FailingWrite("h", 2, WriteFault.CORRUPT))
    place.append("h", b"", b"one\n")
    place.append("h", b"one\n", b"second\n")
    assert place.read("h") == b"one\nsec"
    place.append("h", b"one\n", b"second\n")
    assert place.read("h") == b"one\nsecond\n"


def test_a_disk_that_really_fails(tmp_path: Path) -> None:
    place = store(tmp_path)
    (place.folder / "status.json").mkdir()
    assert isinstance(place.write("status.json", b"{}"), Err)
    assert isinstance(place.append("status.json", b"", b"x\n"), Err)
    assert place.status() is None


def test_nobody_puts_a_file_elsewhere(tmp_path: Path) -> None:
    place = store(tmp_path)
    for file in ("../x", "repo:.agents-work/2001-01-01_other-one/x"):
        with pytest.raises(ValueError, match=r"session|leaves"):
            place.put(file, b"")
    with pytest.raises(ValueError, match="leaves"):
        place.seed("../x", b"")


@given(st.sampled_from(list(TaskStatus)), st.sampled_from(["'not-started'", '"not-started"', "not-started", "x # why"]))
def test_a_status_is_changed_and_nothing_else(state: TaskStatus, written: str) -> None:
    text = f"tasks:\n- {{id: T-001, status: other}}\n- id: T-002  # the second\n  status: {written}\n  goal: é\n"
    changed = with_task_status(text.encode(), "T-002", state)
    assert changed is not None
    kept = written.partition(" #")[1] + written.partition(" #")[2]
    assert changed.decode() == text.replace(f"status: {written}", f"status: {state.value}{kept}")
    assert with_task_status(text.encode(), "T-009", state) is None


def test_the_answer_survives_anything_a_user_can_type() -> None:
    answer = 'changes-requested: \ud800 “é” \u2028 \\ " \n 🙂'
    found = played(user={"UD-APPROVE-DESIGN": [answer, "approved"], "UD-REVIEW-STRATEGY": ["batch"]})
    assert found.final_state == "DONE"
    assert found.artifacts["approve-design-history.jsonl"][0]["answer"] == answer
    assert found.golden_bytes.decode()


@pytest.mark.parametrize(
    ("team", "pointer"),
    [
        ({"start": {"resume": {"status.json": {}, "status.json/x": "y"}}}, "/team/start/resume/status.json~1x"),
        ({"start": {"resume": {"status.json": {}, "../x": "y"}}}, "/team/start/resume/..~1x"),
        ({"start": {"resume": {"status.json": {}, "a\0b": "y"}}}, "/team/start/resume/a\0b"),
        ({"start": {"resume": {"status.json": {}, "x" * 300: "y"}}}, f"/team/start/resume/{'x' * 300}"),
        (
            {"start": {"resume": {"status.json": {}}, "mtimes": {"status.json": "soon"}}},
            "/team/start/mtimes/status.json",
        ),
        ({"repository": {"src": "a file", "src/x": "y"}}, "/team/repository/src~1x"),
        ({"repository": {"/etc/x": "y"}}, "/team/repository/~1etc~1x"),
    ],
)
def test_what_can_not_be_there_at_the_start(team: dict[str, Any], pointer: str) -> None:
    found = run(team)
    assert [problem.pointer for problem in found.problems] == [pointer]
    assert found.events == ()


@pytest.mark.parametrize("tracking", ["x", 3, [], {"APPROVE_DESIGN": 1.5}])
def test_locks_look_at_any_status(tracking: Any) -> None:
    files = {"status.json": {"current_state": "APPROVE_DESIGN", "gate_tracking": tracking}}
    locks = list(EVIDENCE.checks)
    found = run({"team": {"start": {"resume": files}}, "enforces": locks})
    assert set(found.locks) == set(locks)
