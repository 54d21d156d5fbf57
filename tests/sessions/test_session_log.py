"""Reading logs: what is intact is read, what is not is named, and nothing is dropped, written or followed."""

from __future__ import annotations

import copy
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from session_files import Played, Session, step, workflow, write, write_log

from pytest_workrail.cli import main
from pytest_workrail.engine.model.events import EVENT_TYPES
from pytest_workrail.engine.model.ids import NodeId, SessionId
from pytest_workrail.sessions.data_folder import DataFolder, usual_place
from pytest_workrail.sessions.listing import summaries
from pytest_workrail.sessions.prompts import node_prompts, read_only_home
from pytest_workrail.sessions.script import Outcome, recorded_outcome
from pytest_workrail.sessions.session_log import Snapshots, read_log, summarise, trusted_log
from pytest_workrail.sessions.stats import count_sessions
from pytest_workrail.sessions.story import Remark, StoryNode, stories, story_json
from pytest_workrail.sessions.story_text import story_lines, story_mermaid
from pytest_workrail.sessions.versions import open_bundle, open_source
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Err, Ok

PLAIN = workflow(step("first"), step("second"), step("third", notesOptional=True))


def sample(notes: str = "Done.") -> Played:
    return Session(PLAIN).submit().submit().submit(notes).submit(notes, context={"found": 3}).played()


SAMPLE = sample()


def test_an_intact_log_is_read_whole(tmp_path: Path) -> None:
    write(tmp_path, SAMPLE)
    log = read_log(DataFolder(str(tmp_path)), SAMPLE.session_id)
    assert (log.damage, log.unknown) == (None, 0)
    assert [event.to_wire() for event in log.events] == SAMPLE.events


def test_a_line_separator_in_notes_is_no_line_end(tmp_path: Path) -> None:
    played = sample("one\u2028two\u2029three\x85four")
    write(tmp_path, played)
    folder = DataFolder(str(tmp_path))
    assert read_log(folder, played.session_id).damage is None
    (story,) = stories(folder, played.session_id)
    assert story.advances[2].notes == "one\u2028two\u2029three\x85four"
    assert all("\u2028" not in line for line in story_lines(story, full=True))


@pytest.mark.parametrize("event", [{"kind": "moon_phase_recorded"}, {"v": 2}, {"kind": 7}, {"v": True}])
def test_an_unknown_event_is_kept_and_shown(tmp_path: Path, event: dict[str, Any]) -> None:
    played = copy.deepcopy(SAMPLE)
    played.segments[-1].append({**played.events[-1], "eventIndex": len(played.events), **event})
    write(tmp_path, played)
    folder = DataFolder(str(tmp_path))
    log = read_log(folder, played.session_id)
    assert (log.damage, log.unknown, len(log.events)) == (None, 1, len(played.events))
    (story,) = stories(folder, played.session_id)
    (remark,) = [beat for beat in story.beats if isinstance(beat, Remark)]
    assert not remark.is_known
    assert sum("unknown event" in line for line in story_lines(story)) == 1
    assert [beat["kind"] for beat in story_json(story)["beats"]].count("unknown") == 1
    assert summarise(log, Snapshots(folder)).unknown == 1
    assert count_sessions(folder, [played.session_id]).unknown_events == 1
    prompts = node_prompts(folder, story)
    assert not isinstance(prompts, Err)
    assert prompts.value[2]["prompt"].startswith("Do first.")


@pytest.mark.parametrize("kind", sorted(str(each.__struct_config__.tag) for each in EVENT_TYPES))
def test_every_kind_of_event_is_told_and_counted_as_known(tmp_path: Path, kind: str) -> None:
    """An event that the log may hold is part of the story; none is shown as unknown."""
    sys.path.append(str(Path(__file__).parents[1] / "events"))
    from event_samples import sample as event_sample  # type: ignore[import-not-found]

    played = copy.deepcopy(SAMPLE)
    last = next(event for event in reversed(played.events) if event["kind"] == "node_created")
    event = {**event_sample(kind), "eventIndex": len(played.events), "sessionId": played.session_id}
    if "scope" in event:
        event["scope"] = {name: last["scope"][name] for name in event["scope"]}
    if kind == "run_started":
        event["scope"]["runId"] = "run_" + "b" * 26
    elif kind == "node_created":
        event["scope"]["nodeId"] = "node_" + "b" * 26
        event["data"]["parentNodeId"] = last["scope"]["nodeId"]
    elif kind == "edge_created":
        event["data"] |= {"fromNodeId": last["data"]["parentNodeId"], "toNodeId": last["scope"]["nodeId"]}
    elif kind == "advance_recorded":
        event["data"]["outcome"] = {"kind": "advanced", "toNodeId": last["scope"]["nodeId"]}
    played.segments[-1].append(event)
    write(tmp_path, played)
    folder = DataFolder(str(tmp_path))
    log = read_log(folder, played.session_id)
    assert (log.damage, log.unknown, len(log.events)) == (None, 0, len(played.events))
    for story in stories(folder, played.session_id, log):
        assert not any("unknown event" in line for line in story_lines(story, full=True))
        assert "unknown" not in [beat["kind"] for beat in story_json(story)["beats"]]
    assert summarise(log, Snapshots(folder)).unknown == count_sessions(folder, [played.session_id]).unknown_events == 0


OTHER_RUN, OTHER_NODE = "run_" + "b" * 26, "node_" + "b" * 26


@pytest.mark.parametrize(
    ("kind", "scope", "data", "why"),
    [
        ("run_started", {}, {}, "the run was started before"),
        ("node_created", {"runId": OTHER_RUN}, {}, "node_created is about a run that was never started"),
        ("node_created", {}, {}, "the node exists already"),
        ("node_created", {"nodeId": OTHER_NODE}, {"parentNodeId": OTHER_NODE}, "the node follows one that does not"),
        ("node_created", {"nodeId": OTHER_NODE}, {"parentNodeId": None}, "the run has two first nodes"),
        ("preferences_changed", {"nodeId": OTHER_NODE}, {}, "preferences_changed is about a node that does not exist"),
        ("edge_created", {}, {"toNodeId": OTHER_NODE}, "the edge does not lead from a node to one that follows it"),
        ("edge_created", {}, {"fromNodeId": "the first"}, "the edge does not lead from a node to one that follows it"),
    ],
)
def test_what_comes_before_a_contradiction_is_kept(
    tmp_path: Path, kind: str, scope: dict[str, Any], data: dict[str, Any], why: str
) -> None:
    played = copy.deepcopy(SAMPLE)
    before = played.events
    event = copy.deepcopy(next(event for event in reversed(before) if event["kind"] == kind))
    event["eventIndex"] = len(before)
    event.get("scope", {}).update(scope)
    event["data"].update(data)
    if data.get("fromNodeId"):
        event["data"]["fromNodeId"] = next(each for each in before if each["kind"] == "node_created")["scope"]["nodeId"]
    played.segments[-1].append(event)
    write(tmp_path, played)
    log = read_log(DataFolder(str(tmp_path)), played.session_id)
    assert str(log.damage).startswith(f"event {len(before)}: {why}")
    assert [each.to_wire() for each in log.events] == before


def test_a_summary_is_about_the_run_that_was_started_last(tmp_path: Path) -> None:
    played = copy.deepcopy(SAMPLE)
    started = copy.deepcopy(next(event for event in played.events if event["kind"] == "run_started"))
    started["eventIndex"], started["scope"]["runId"] = len(played.events), OTHER_RUN
    started["data"]["workflowId"] = "demo.later"
    played.segments[-1].append(started)
    write(tmp_path, played)
    folder = DataFolder(str(tmp_path))
    summary = summarise(read_log(folder, played.session_id), Snapshots(folder))
    assert (summary.damage, summary.runs, summary.workflow_id) == (None, 2, "demo.later")


OPEN = Session(PLAIN).submit().submit("Done.").played()


def with_gap(played: Played, category: str) -> Played:
    """A person has added a critical gap to where the run stands."""
    at = next(event for event in reversed(played.events) if event["kind"] == "node_created")
    gap = {
        "gapId": "gap_late_0",
        "severity": "critical",
        "reason": {"category": category, "detail": "unexpected"},
        "summary": "Nobody has seen the result.",
        "resolution": {"kind": "unresolved"},
    }
    event = {**at, "eventIndex": len(played.events), "eventId": "evt_late", "kind": "gap_recorded", "data": gap}
    return replace(played, segments=[*played.segments, [event]])


@pytest.mark.parametrize(
    ("played", "status"),
    [
        (OPEN, "in_progress"),
        (with_gap(OPEN, "unexpected"), "in_progress"),
        (with_gap(OPEN, "contract_violation"), "blocked"),
        (SAMPLE, "in_progress"),
        (Session(PLAIN).submit().submit().played(), "blocked"),
        (with_gap(Session(PLAIN).submit().submit("1").submit("2").submit("3").played(), "x"), "complete_with_gaps"),
    ],
)
def test_the_status_is_the_engines_and_gaps_that_no_submission_left_count(
    tmp_path: Path, played: Played, status: str
) -> None:
    write(tmp_path, played)
    folder = DataFolder(str(tmp_path))
    (story,) = stories(folder, played.session_id)
    summary = summarise(read_log(folder, played.session_id), Snapshots(folder))
    assert (story.status, summary.status) == (status, status)
    is_late = played.events[-1]["eventId"] == "evt_late"
    assert summary.gaps == len(story.gaps) == int(is_late)
    assert any(line.startswith("  recorded: gap_recorded") for line in story_lines(story)) == is_late


def test_attempts_that_are_blocked_alike_are_one_line(tmp_path: Path) -> None:
    session = Session(PLAIN).submit()
    for notes in (None, None, None, "1", None, None, "2"):
        session.submit(notes)
    write(tmp_path, session.played())
    (story,) = stories(DataFolder(str(tmp_path)), SAMPLE.session_id)
    lines = list(story_lines(story))
    work = "requires notes documenting your work (output.notesMarkdown)."
    blocked = f'    blocked by MISSING_REQUIRED_NOTES: Step "{{}}" {work}'
    assert lines[lines.index("#2 first") : lines.index("#8 second [blocked]")] == [
        "#2 first",
        "  submitted at #2: blocked",
        "    notes: none",
        blocked.format("first"),
        "#3 first [blocked]",
        "  submitted at #3 to #4: blocked in the same way, 2 more times",
        "#5 first [blocked]",
        "  submitted at #5: accepted",
        "    notes: 1",
        "#6 second",
        "  submitted at #6: blocked",
        "    notes: none",
        blocked.format("second"),
        "#7 second [blocked]",
        "  submitted at #7: blocked again in the same way",
    ]
    assert sum(line.endswith(": blocked") for line in story_lines(story, full=True)) == 5


def test_a_session_of_many_branches_is_no_more_work_than_a_long_one(tmp_path: Path) -> None:
    """A comb: from every node of a long path another one branches off."""
    from effort import lines_run  # type: ignore[import-not-found]

    first, *others = SAMPLE.segments[0]

    def comb(size: int) -> Played:
        node = next(event for event in others if event["kind"] == "node_created")
        events = [first, *others]
        spine = node["scope"]["nodeId"]
        for number in range(size):
            for name in (f"node_spine{number}", f"node_tooth{number}"):
                at = {"eventIndex": len(events), "eventId": f"evt_{name}"}
                scope, data = {**node["scope"], "nodeId": name}, {**node["data"], "parentNodeId": spine}
                events.append({**node, **at, "scope": scope, "data": data})
            spine = f"node_spine{number}"
        return replace(SAMPLE, segments=[events])

    def work(size: int) -> int:
        write(tmp_path / str(size), comb(size))
        folder = DataFolder(str(tmp_path / str(size)))
        log = read_log(folder, SAMPLE.session_id)
        assert log.damage is None

        def look() -> None:
            summarise(log, Snapshots(folder))
            (story,) = stories(folder, SAMPLE.session_id, log)
            assert story.status == "in_progress"

        return int(lines_run(look))

    assert work(400) < 5 * work(100)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: (folder / "manifest.jsonl").unlink(), "no manifest"),
        (lambda folder: (folder / "manifest.jsonl").write_bytes(b"\xff\xfe\n"), "line 1: not a JSON record"),
        (lambda folder: _edit(folder / "manifest.jsonl", lambda raw: raw[:-9]), "cut short"),
        (lambda folder: _edit(folder / "manifest.jsonl", _swap_lines), "has index"),
        (
            lambda folder: _edit(folder / "manifest.jsonl", lambda raw: raw.replace(b"events/", b"../../")),
            "names its events",
        ),
        (lambda folder: _edit(folder / "manifest.jsonl", lambda raw: raw.replace(b'"v":1', b'"v":9')), "version 9"),
        (lambda folder: _edit(_segment(folder), lambda raw: raw[:-1]), "differs from what was written"),
        (lambda folder: _edit(_segment(folder), lambda raw: raw.replace(b"Done.", b"Fine.")), "differs from what"),
        (lambda folder: _segment(folder).unlink(), "is missing"),
        (lambda folder: _as_folder(_segment(folder)), "can't be read"),
    ],
)
def test_damage_is_named_and_the_rest_can_be_read(tmp_path: Path, change: Any, words: str) -> None:
    folder = write(tmp_path, SAMPLE)
    change(folder)
    data = DataFolder(str(tmp_path))
    log = read_log(data, SAMPLE.session_id)
    assert log.damage is not None
    assert words in log.damage
    assert [event.to_wire() for event in log.events] == SAMPLE.events[: len(log.events)]
    (summary,) = summaries(data, use_cache=False)
    assert (summary.status, summary.damage) == ("damaged", log.damage)


def test_a_manifest_that_can_not_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    _as_folder(write(tmp_path, SAMPLE) / "manifest.jsonl")
    log = read_log(DataFolder(str(tmp_path)), SAMPLE.session_id)
    assert str(log.damage).startswith("the manifest can't be read (")
    assert str(log.damage).endswith(")")


def _edit(path: Path, change: Any) -> None:
    path.write_bytes(change(path.read_bytes()))


def _segment(folder: Path, number: int = 3) -> Path:
    return sorted((folder / "events").iterdir())[number]


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _swap_lines(raw: bytes) -> bytes:
    first, second, *rest = raw.split(b"\n")
    return b"\n".join([second, first, *rest])


def test_links_are_not_followed(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    write(elsewhere, SAMPLE)
    (root / "sessions").mkdir(parents=True)
    (root / "sessions" / SAMPLE.session_id).symlink_to(elsewhere / "sessions" / SAMPLE.session_id)
    (listed,) = summaries(DataFolder(str(root)), use_cache=False)
    assert (listed.status, listed.events) == ("damaged", 0)
    assert listed.damage == "the session is a link, which is not followed"
    assert stories(DataFolder(str(root)), SAMPLE.session_id) == []
    folder = write(root / "second", SAMPLE)
    segment = _segment(folder)
    segment.rename(tmp_path / "kept")
    segment.symlink_to(tmp_path / "kept")
    assert "can't be read" in str(read_log(DataFolder(str(root / "second")), SAMPLE.session_id).damage)
    events = folder / "events"
    events.rename(tmp_path / "events")
    events.symlink_to(tmp_path / "events")
    assert "is missing" in str(read_log(DataFolder(str(root / "second")), SAMPLE.session_id).damage)


def test_a_huge_log_is_refused_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, SAMPLE)
    monkeypatch.setattr("pytest_workrail.sessions.session_log.MAX_SESSION_BYTES", 2_000)
    assert "more than 2,000 bytes" in str(read_log(DataFolder(str(tmp_path)), SAMPLE.session_id).damage)
    size = sum(path.stat().st_size for path in (tmp_path / "sessions").rglob("*.jsonl") if path.parent.name == "events")
    for most, is_damaged in ((size, False), (size - 1, True)):
        monkeypatch.setattr("pytest_workrail.sessions.session_log.MAX_SESSION_BYTES", most)
        assert (read_log(DataFolder(str(tmp_path)), SAMPLE.session_id).damage is not None) is is_damaged
    monkeypatch.setattr("pytest_workrail.sessions.data_folder.MAX_FILE_BYTES", 100)
    assert "can't be read" in str(read_log(DataFolder(str(tmp_path)), SAMPLE.session_id).damage)


def test_an_altered_snapshot_is_not_believed(tmp_path: Path) -> None:
    write(tmp_path, SAMPLE)
    for path in (tmp_path / "snapshots").iterdir():
        _edit(path, lambda raw: raw.replace(b"second", b"secret"))
    (story,) = stories(DataFolder(str(tmp_path)), SAMPLE.session_id)
    problems = [node.problem for node in story.nodes if node.problem is not None]
    assert problems
    assert all("differs from what was written" in problem for problem in problems)
    assert list(story_lines(story))


LOOPED = {
    "id": "each-item",
    "type": "loop",
    "title": "Each item",
    "loop": {"type": "forEach", "items": "items", "itemVar": "item", "indexVar": "at", "maxIterations": 3},
    "body": [step("handle-item", prompt="Handle {{item}} at {{at}}.")],
}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"stepId":"handle-item"', '"stepId":"elsewhere"', 'names step "elsewhere", which its workflow does not have'),
        ('"stepId":"handle-item"', '"stepId":"each-item"', 'names step "each-item", which its workflow does not have'),
        ('"loopId":"each-item"', '"loopId":"elsewhere"', 'names loop "elsewhere", which its workflow does not have'),
        ('"iteration":0', '"iteration":77', None),
    ],
)
def test_a_forged_snapshot_is_named_where_its_prompt_would_be(
    tmp_path: Path, old: str, new: str, problem: str | None
) -> None:
    """Digests are right, but the state is one that no run of the pinned workflow gets into."""
    played = Session(workflow(step("first"), LOOPED), items=["a", "b"]).submit("Done.").submit("Done.").played()
    log, forged = json.dumps(played.segments), {}
    for ref, content in played.snapshots.items():
        raw = canonical_bytes(content).decode().replace(old, new).encode()
        log, forged[digest(raw)] = log.replace(ref, digest(raw)), json.loads(raw)
    assert forged.keys() != played.snapshots.keys()
    write(tmp_path, replace(played, segments=json.loads(log), snapshots=forged))
    folder = DataFolder(str(tmp_path))
    (story,) = stories(folder, played.session_id)
    prompts = node_prompts(folder, story)
    assert not isinstance(prompts, Err)
    problems = [found["problem"] for found in prompts.value.values() if "problem" in found]
    assert len(problems) == (problem is not None)
    assert all(str(problem) in each for each in problems)
    assert any("prompt" in found for found in prompts.value.values())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3) | st.just("sess_x"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=times(25, deep=160))
@given(where=st.integers(0, len(SAMPLE.events) - 1), data=st.data())
def test_a_forged_log_never_makes_a_reader_trip(
    tmp_path_factory: pytest.TempPathFactory, where: int, data: st.DataObject
) -> None:
    """Digests are right, contents are anything: a member is replaced or dropped somewhere in an event."""
    segments = copy.deepcopy(SAMPLE.segments)
    event = [each for segment in segments for each in segment][where]
    parent: dict[str, Any] = event
    while True:
        name = data.draw(st.sampled_from(sorted(parent)))
        if isinstance(parent[name], dict) and parent[name] and data.draw(st.booleans()):
            parent = parent[name]
            continue
        break
    if data.draw(st.booleans()):
        del parent[name]
    else:
        parent[name] = data.draw(_JSON)
    root = tmp_path_factory.mktemp("forged")
    write(root, SAMPLE)
    try:
        write_log(root, SAMPLE.session_id, segments)
    except (KeyError, TypeError):  # the manifest of such a log can't even be written
        return
    folder = DataFolder(str(root))
    log = read_log(folder, SAMPLE.session_id)
    summary = summarise(log, Snapshots(folder))
    found = stories(folder, SAMPLE.session_id, log)
    for story in found:
        assert (summary.damage is None) == (story.damage is None), (summary.damage, story.damage)
        assert list(story_lines(story, full=True))
        assert story_mermaid(story)
        json.dumps(story_json(story))
    count_sessions(folder, [SAMPLE.session_id])
    # What the engine's own models take, this reader takes too.
    typed = read_only_home(str(root)).stores.sessions.load(SessionId(SAMPLE.session_id))
    if not isinstance(typed, Err):
        assert log.damage is None


# -------------------------------------------------------------------------------------------------- the folder


def test_the_usual_place_is_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert usual_place({}) == os.path.join("/home/somebody", ".workrail", "data")
    assert usual_place({"WORKRAIL_DATA_DIR": "/elsewhere"}) == "/elsewhere"


_READ_ONLY = """
import json, os, sys
root = os.path.realpath(sys.argv[1])
opened = []

def watch(event, arguments):
    if event in ("open", "os.open") or event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link",
                                                 "os.symlink", "os.chmod", "os.truncate", "os.utime"):
        path = arguments[0]
        if isinstance(path, int) or not os.path.realpath(os.fsdecode(path)).startswith(root):
            return
        flags = arguments[2] if event == "open" else os.O_RDWR
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
        if event != "open" or (isinstance(flags, int) and flags & writes):
            opened.append((event, os.fsdecode(path)))

sys.addaudithook(watch)
from pytest_workrail.cli import main
codes = [main(["sessions", *command, "--data", sys.argv[1]]) for command in json.loads(sys.argv[2])]
seen = list(opened)
try:  # the watch itself works
    open(os.path.join(root, "missing", "probe"), "w")
except OSError:
    pass
print(codes, seen, len(opened) - len(seen), file=sys.stderr)
"""


def test_no_command_opens_anything_in_the_folder_for_writing(tmp_path: Path) -> None:
    import subprocess

    root, out = tmp_path / "data", tmp_path / "out"
    write(root, SAMPLE)
    (tmp_path / "plain.json").write_text(json.dumps(PLAIN), encoding="utf-8")
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    commands = [
        ["list"],
        ["show", SAMPLE.session_id, "--prompts"],
        ["stats"],
        ["export", SAMPLE.session_id, "--out", str(tmp_path / "x.session.json")],
        ["replay", "--workflow", str(tmp_path / "plain.json")],
        ["record", "--out", str(out)],
    ]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    try:
        run = subprocess.run(
            [sys.executable, "-c", _READ_ONLY, str(root), json.dumps(commands)],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            check=False,
        )
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert run.stderr.splitlines()[-1] == "[0, 0, 0, 0, 0, 0] [] 1", run.stderr
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
    assert list(out.glob("*.scenario.json"))


def test_events_out_of_order_are_damage(tmp_path: Path) -> None:
    write(tmp_path, SAMPLE)
    log = read_log(DataFolder(str(tmp_path)), SAMPLE.session_id)
    assert trusted_log(SAMPLE.session_id, log.events).damage is None
    *before, last = log.events
    late = trusted_log(SAMPLE.session_id, [*before, structs.replace(last, event_index=0)])
    assert (late.events, late.runs) == ((), {})
    assert late.damage


def test_a_node_says_how_the_engine_answered() -> None:
    class Kept:
        def __init__(self, snapshot: Any) -> None:
            self.of = lambda ref: snapshot

    node = StoryNode(1, NodeId("node_1"), "step", None, 0, 0, "ref", Kept("it is missing"))  # type: ignore[arg-type]
    assert recorded_outcome(node) == Outcome("unknown", None, is_complete=False)


def test_a_session_is_opened_where_a_path_names_it(tmp_path: Path) -> None:
    root, file = tmp_path / "data", str(tmp_path / "x.session.json")
    session = str(write(root, SAMPLE))
    assert main(["sessions", "export", SAMPLE.session_id, "--data", str(root), "--out", file]) == 0
    for path, place in ((file, file), (str(root), str(root)), (session, str(root))):
        opened = open_source(path)
        assert isinstance(opened, Ok), opened.error
        folder, names = opened.value
        assert (folder.root, folder.exists, names) == (place, True, [SAMPLE.session_id])
    assert isinstance(open_source(str(tmp_path)), Err)


def test_a_bundle_that_can_not_be_opened_is_refused_with_the_reason(tmp_path: Path) -> None:
    assert open_bundle(str(tmp_path / "nowhere")) == Err("it can't be read (No such file or directory)")
    broken = tmp_path / "broken.session.json"
    broken.write_text("{}", encoding="utf-8")
    error = open_bundle(str(broken)).error
    assert error.startswith("it is not an intact bundle (")
    assert error.endswith(")")


@pytest.mark.parametrize(
    ("goals", "title"),
    [
        ([("initial", "Ship it")], "Ship it"),
        ([("initial", "")], ""),
        ([("initial", 5)], ""),
        ([("initial", None)], ""),
        ([("agent_delta", "Later"), ("initial", "First"), ("initial", "Second")], "First"),
        ([("initial", ""), ("initial", "Second")], "Second"),
        ([("initial", "x" * 120)], "x" * 120),
        ([("initial", "x" * 121)], "x" * 120),
        ([], ""),
    ],
    ids=str,
)
def test_the_title_of_a_session_is_the_goal_it_was_started_with(
    tmp_path: Path, goals: list[tuple[str, Any]], title: str
) -> None:
    played = copy.deepcopy(SAMPLE)
    context = next(event for event in played.events if event["kind"] == "context_set")
    begun = [
        {**context, "data": {**context["data"], "source": source, "context": {} if goal is None else {"goal": goal}}}
        for source, goal in goals
    ]
    events = [event for event in played.events if event["kind"] != "context_set"]
    at = played.events.index(context)
    events[at:at] = [{**event, "eventId": f"evt_{number:026}"} for number, event in enumerate(begun)]
    played.segments[:] = [[{**event, "eventIndex": index} for index, event in enumerate(events)]]
    write(tmp_path, played)
    folder = DataFolder(str(tmp_path))
    summary = summarise(read_log(folder, played.session_id), Snapshots(folder))
    assert (summary.title, summary.damage) == (title, None)
