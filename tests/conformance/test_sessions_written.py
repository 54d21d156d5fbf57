"""What our engine keeps of the calls of a recorded session: the files of the public engine, with declared differences.

Each session is played on a data folder, call by call as it was on the wire, and the files are held against the recorded
ones: layout, names, members, order and values.
"""

from __future__ import annotations

import json
import re
import shutil
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct
from recorded_sessions import body, calls, meta, requires_sessions, root
from tables import for_each

from pytest_workrail.engine.model.base import record_line
from pytest_workrail.engine.model.manifest import read_manifest_record
from pytest_workrail.engine.model.snapshot import read_snapshot
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.protocol.ports import WorkflowEntry
from pytest_workrail.engine.store.disk import SystemEntropy, on_disk
from pytest_workrail.engine.store.memory import FixedClock
from pytest_workrail.engine.tokens.formats import keyring_bytes, read_alias, read_keyring
from pytest_workrail.mcp.tools import EngineTools
from pytest_workrail.sessions.versions import load_version
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Err, Ok

pytestmark = requires_sessions

TOKEN = re.compile(r"\b(?:ct|ck|st)_[A-Za-z0-9_-]{20,}|\bst1[a-z0-9]{20,}|\bsess_[a-z2-7]{26}")
ID = re.compile(r"(?:sess|run|node|evt|attempt)_[a-z2-7]{26}")
# The public engine has its own defects there, or its answer is prose: played up to that call.
PARTS = {
    "notes-large-corrupt",
    "notes-rewind-after-end",
    "notes-default-text",
    "review-missing-invalid-right",
    "review-left-blocked",
    "review-invalid-left",
    "review-stop-on-user-deps",
    "schema-straight",
    "parallel-both",
    "parallel-one",
}
NOTES_DROPPED = {"signal-never-stop": 3}  # how many segments come before the one without notes that fail a criterion
# Their prompts are made from builtins, whose words are our own.
OWN_WORDS = {"demo.migration_plan"}
# What the public engine notes about its host and the workspace by itself. There is no repository in these tests.
OF_THE_HOST = {
    "git_start_recorded",
    "git_metrics_recorded",
    "token_checkpoint",
    "usage_recorded",
    "observation_recorded",
}
OF_THE_HOST_IN_CONTEXT = {
    "eat_token",
    "metrics_harness",
    "metrics_active_model",
    "triggerSource",
    "workspacePath",
    "parentSessionId",
}
# Members whose value is another one here: names made from an attempt instead of a random one (KD-06, KD-29, KD-34), the
# place of the file, the hash of a pin with our words for the onboarding step, and what depends on host and clock.
OTHER_VALUE = {
    "context_set": {"contextId"},
    "decision_trace_appended": {"traceId"},
    "preferences_changed": {"changeId"},
    "run_started": {"workflowHash", "workflowSourceRef", "triggerSource"},
    "node_created": {"workflowHash"},
    "session_created": {"parentSessionId"},
    "run_completed": {"startGitSha", "endGitSha", "gitBranch", "agentCommitShas", "captureConfidence", "durationMs"},
}
OTHER_DEDUPE_KEY = {
    "assessment_recorded",
    "context_set",
    "decision_trace_appended",
    "gap_recorded",
    "preferences_changed",
    "run_completed",
}


def _source(session: dict[str, Any]) -> Path:
    return root() / str(session["workflowFile"])


def _playable() -> list[dict[str, Any]]:
    """The sessions whose workflow is there; those that the engine brings along are not."""
    return [session for session in meta() if _source(session).is_file()]


each_session = for_each("session", _playable(), key=lambda session: str(session["name"]), least=0)


@cache
def _entry(path: Path) -> WorkflowEntry:
    compiled = load_version(path).compiled
    assert compiled is not None
    pin = compiled.engine_target()
    assert isinstance(pin, Ok)
    return WorkflowEntry(compiled.ir, source_ref=path.name, pin=pin.value)


def _tools(data: Path, source: Path, *, onboarding: bool) -> tuple[Engine, EngineTools]:
    home = on_disk(data, FixedClock(), SystemEntropy())
    assert isinstance(home, Ok)
    engine = Engine(home.value, MemoryLibrary([_entry(source)]), Options(inject_onboarding=onboarding))
    return engine, EngineTools(engine)


def play(session: dict[str, Any], data: Path) -> int:
    """Make the recorded calls on an engine of ours; how many segments there are as far as both answer alike."""
    wire = calls(session["name"])
    is_daemon = wire[0].get("out_of_band") == "daemon_start"
    engine, tools = _tools(data, _source(session), onboarding=not is_daemon)
    tokens: dict[str, str] = {}
    last = ""
    for call in wire:
        segments = len(list(data.glob("sessions/*/events/*")))
        if call.get("out_of_band") == "prefer":
            place = engine.place_of(last)
            assert isinstance(place, Ok)
            wanted = call["arguments"]
            engine.prefer(place.value, Preferences(wanted["autonomy"], wanted["riskPolicy"]))
            continue
        if "out_of_band" in call:
            sent = {name: value for name, value in call["arguments"].items() if name != "parentSessionId"}
            tool, arguments, recorded = "start_workflow", sent | {"initialContext": {"is_autonomous": "true"}}, None
            theirs, failed = call["response"], False
        else:
            recorded = call["request"]["params"]
            tool, arguments = recorded["name"], recorded["arguments"]
            theirs, failed = body(call), bool(call["response"].get("isError"))
        answer = tools.call(tool, _renamed(arguments, tokens))
        if theirs is None or answer.is_error != failed:
            assert session["name"] in PARTS, (call.get("n"), answer.data)
            return segments
        tokens |= dict(_names(theirs, dict(answer.data)))
        last = str(answer.data.get("continueToken", last))
    return len(list(data.glob("sessions/*/events/*")))


def _renamed(arguments: dict[str, Any], tokens: dict[str, str]) -> dict[str, Any]:
    """The arguments of a call with our tokens in them."""
    own: dict[str, Any] = json.loads(TOKEN.sub(lambda name: tokens.get(name[0], name[0]), json.dumps(arguments)))
    return own


def _names(theirs: Any, ours: Any) -> Iterator[tuple[str, str]]:
    """Yield the names that are at the same place in both answers."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for member in theirs.keys() & ours.keys():
            yield from _names(theirs[member], ours[member])
    elif isinstance(theirs, list) and isinstance(ours, list):
        for one, other in zip(theirs, ours, strict=False):
            yield from _names(one, other)
    elif isinstance(theirs, str) and isinstance(ours, str) and TOKEN.fullmatch(theirs):
        yield theirs, ours


class Kept(Struct, frozen=True):
    """A session in a data folder."""

    data: Path
    folder: Path

    def segments(self) -> list[list[dict[str, Any]]]:
        """Its events, segment by segment, without what the host notes."""
        read = [_lines(path) for path in sorted((self.folder / "events").iterdir())]
        kept = [[event for event in events if not _is_of_the_host(event)] for events in read]
        return [events for events in kept if events]

    def comparable(self, segments: list[list[dict[str, Any]]]) -> list[Any]:
        """The same without what differs on purpose, and with its ids numbered as they come."""
        numbers: dict[str, str] = {}
        text = json.dumps([[self._comparable(event) for event in events] for events in segments], sort_keys=True)
        numbered: list[Any] = json.loads(ID.sub(lambda name: numbers.setdefault(name[0], f"#{len(numbers)}"), text))
        return numbered

    def _comparable(self, event: dict[str, Any]) -> dict[str, Any]:
        kind = event["kind"]
        shown = {name: value for name, value in event.items() if name not in ("eventIndex", "timestampMs")}
        shown["data"] = {n: v for n, v in event["data"].items() if n not in OTHER_VALUE.get(kind, ())}
        if kind in OTHER_DEDUPE_KEY:
            del shown["dedupeKey"]
        if kind == "node_created":
            shown["data"]["snapshotRef"] = self.snapshot(event["data"]["snapshotRef"])
        if kind == "decision_trace_appended":  # why an artifact does not fit is in our words, after the dash
            cut = [entry | {"summary": entry["summary"].partition(" — ")[0]} for entry in event["data"]["entries"]]
            shown["data"]["entries"] = cut
        if kind == "context_set":
            context = event["data"]["context"]
            shown["data"]["context"] = {n: v for n, v in context.items() if n not in OF_THE_HOST_IN_CONTEXT}
        if kind == "validation_performed":
            del shown["data"]["result"]["suggestions"]  # our words
        return shown

    def snapshot(self, ref: str) -> Any:
        """A snapshot; for a blocked attempt without our words for its blockers."""
        raw = (self.data / "snapshots" / f"{ref.replace(':', '_')}.json").read_bytes()
        assert digest(raw) == ref
        assert isinstance(read_snapshot(raw), Ok)
        snapshot = json.loads(raw)
        state = snapshot["enginePayload"]["engineState"]
        if state["kind"] != "blocked":
            return ref
        for blocker in state["blocked"]["blockers"]["blockers"]:
            assert 0 < len(blocker.pop("suggestedFix").encode()) <= 1024
        return snapshot

    def manifest(self) -> list[dict[str, Any]]:
        return _lines(self.folder / "manifest.jsonl")

    def pin(self) -> dict[str, Any]:
        """The pinned workflow, without the step that a run may begin with, whose words are another's."""
        (run,) = [event for events in self.segments() for event in events if event["kind"] == "run_started"]
        named = run["data"]["workflowHash"]
        raw = (self.data / "workflows/pinned" / f"{named.replace(':', '_')}.json").read_bytes()
        assert digest(raw) == named
        content: dict[str, Any] = json.loads(raw)
        assert canonical_bytes(content) == raw
        steps = content["definition"]["steps"]
        content["definition"]["steps"] = [step for step in steps if step["id"] != "wr-system-onboarding"]
        return content


def _is_of_the_host(event: dict[str, Any]) -> bool:
    # An engine that was started again signs what it put into the context once more.
    return event["kind"] in OF_THE_HOST or ":drift-refresh:" in event["dedupeKey"]


def _lines(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    assert raw.endswith(b"\n")
    return [json.loads(line) for line in raw.split(b"\n")[:-1]]


def _recorded(session: dict[str, Any]) -> Kept:
    return Kept(root() / "data", root() / "data/sessions" / session["sessionId"])


def _members(records: list[dict[str, Any]], kind: str) -> set[tuple[object, ...]]:
    """The members of records, by their kinds."""
    return {(record[kind], record.get("aliasSlot"), *sorted(record)) for record in records}


def _folders(data: Path) -> set[str]:
    paths = [path.relative_to(data) for path in data.rglob("*") if path.is_dir()]
    return {re.sub(r"sess_\w+", "ID", path.as_posix()) for path in paths}


@each_session
def test_the_same_calls_leave_the_same_files(session: dict[str, Any], tmp_path: Path) -> None:
    played = play(session, tmp_path)
    recorded = _recorded(session)
    if played == 0:  # an answer in prose to the first call
        assert session["name"] == "notes-default-text"
        return
    (folder,) = (tmp_path / "sessions").iterdir()
    own = Kept(tmp_path, folder)
    theirs, ours = recorded.segments(), own.segments()
    if session["name"] in PARTS or session["name"] in NOTES_DROPPED:
        played = NOTES_DROPPED.get(session["name"], played)
        theirs, ours = theirs[:played], ours[:played]
    assert own.comparable(ours) == recorded.comparable(theirs)
    if session["workflowId"] not in OWN_WORDS:
        assert own.pin() == recorded.pin()

    # Each segment is what the manifest says of it.
    first = 0
    for record in own.manifest():
        if record["kind"] == "segment_closed":
            raw = (folder / record["segmentRelPath"]).read_bytes()
            assert (record["bytes"], record["sha256"]) == (len(raw), digest(raw))
            assert record["firstEventIndex"] == first
            first = record["lastEventIndex"] + 1
            assert (
                record["segmentRelPath"] == f"events/{record['firstEventIndex']:08}-{record['lastEventIndex']:08}.jsonl"
            )
    assert _members(own.manifest(), "kind") <= _members(recorded.manifest(), "kind")
    assert [record["manifestIndex"] for record in own.manifest()] == list(range(len(own.manifest())))

    # Only the folder of our own form is not theirs. They keep how long their tools took, and where workflows are.
    assert _folders(tmp_path) - _folders_of_theirs() == {"workflows/compiled"}
    assert _folders_of_theirs() - _folders(tmp_path) == {"perf", "workflow-sources"}
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in tmp_path.rglob("*")}
    assert modes == {(True, 0o700), (False, 0o600)}
    assert json.loads((tmp_path / "keys/keyring.json").read_bytes()).keys() == _keyring().keys()
    assert _members(_lines(tmp_path / "keys/token-index.jsonl"), "tokenKind") <= _aliases()


@cache
def _folders_of_theirs() -> set[str]:
    return _folders(root() / "data")


@cache
def _keyring() -> dict[str, Any]:
    keyring: dict[str, Any] = json.loads((root() / "data/keys/keyring.json").read_bytes())
    return keyring


@cache
def _aliases() -> set[tuple[object, ...]]:
    return _members(_lines(root() / "data/keys/token-index.jsonl"), "tokenKind")


def test_records_written_again_are_the_same_bytes() -> None:
    data = root() / "data"
    for path in data.glob("sessions/*/manifest.jsonl"):
        for line in path.read_bytes().splitlines(keepends=True):
            stored = read_manifest_record(line[:-1])
            assert isinstance(stored, Ok)
            assert record_line(stored.value) == line
    for path in (data / "snapshots").iterdir():
        snapshot = read_snapshot(path.read_bytes())
        assert isinstance(snapshot, Ok)
        assert record_line(snapshot.value) == path.read_bytes() + b"\n"
    for path in (data / "workflows/pinned").iterdir():
        assert canonical_bytes(json.loads(path.read_bytes())) == path.read_bytes()
    keyring = (data / "keys/keyring.json").read_bytes()
    pair = read_keyring(keyring)
    assert isinstance(pair, Ok)
    assert keyring_bytes(pair.value) == keyring
    for record in _lines(data / "keys/token-index.jsonl"):
        alias = read_alias(canonical_bytes(record))
        assert isinstance(alias, Ok)
        assert json.loads(record_line(alias.value)) == record


@for_each("session", [each for each in meta() if each["ends"] == "open"], key=lambda each: str(each["name"]), least=0)
def test_a_real_session_goes_on_here_and_keeps_its_bytes(session: dict[str, Any], tmp_path: Path) -> None:
    if session["name"] in PARTS:
        return
    recorded = _recorded(session)
    for each in ("keys", "snapshots", "workflows/pinned", f"sessions/{session['sessionId']}"):
        shutil.copytree(recorded.data / each, tmp_path / each, copy_function=shutil.copyfile)
    for path in (tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())):
        path.chmod(0o700)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    home = on_disk(tmp_path, FixedClock(), SystemEntropy())
    assert isinstance(home, Ok)
    request = {"continueToken": _open_token(session), "intent": "advance", "output": {"notesMarkdown": "Looked at it."}}
    answer = Engine(home.value, MemoryLibrary()).continue_workflow(request)
    grown = {path for path, raw in before.items() if path.read_bytes() != raw}
    assert all(path.read_bytes().startswith(before[path]) for path in grown)
    manifest = tmp_path / f"sessions/{session['sessionId']}/manifest.jsonl"
    if isinstance(answer, Err):
        # Its loop goes over a list that is not set.
        assert session["name"] in ("batch-v2", "files-forgotten")
        assert (answer.error.code, grown) == ("PRECONDITION_FAILED", set())
    else:
        assert manifest in grown
        assert grown <= {manifest, tmp_path / "keys/token-index.jsonl"}


def _open_token(session: dict[str, Any]) -> str:
    """The last token of a session that was not used, else the last one."""
    wire = calls(session["name"])
    answers = [call["response"] if "out_of_band" in call else body(call) for call in wire]
    tokens = [answer["continueToken"] for answer in answers if answer and answer.get("continueToken")]
    used = {call["request"]["params"]["arguments"].get("continueToken") for call in wire if "request" in call}
    return str(next((token for token in reversed(tokens) if token not in used), tokens[-1]))
