"""What is fuzzed: for each target a function that takes any bytes, and inputs to start from.

A target may answer whatever it likes. An exception, an internal error, more than five seconds or more than 500 MB of
memory are findings; `python -m tests.fuzz` looks for them, and what it finds is kept in `found/`.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pytest_workrail.engine.events.ids import SessionId
from pytest_workrail.engine.events.kinds import read_event
from pytest_workrail.engine.events.snapshot import read_snapshot
from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.memory_library import MemoryLibrary
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.clocks import FixedClock, SeededEntropy
from pytest_workrail.engine.store.filesystem import FileSessionStore
from pytest_workrail.engine.store.home import Home, in_memory, on_disk
from pytest_workrail.engine.store.tree import TreeFiles
from pytest_workrail.engine.tokens.keys import read_keyring
from pytest_workrail.golden import pending
from pytest_workrail.golden.causes import Causes, grouped, headline
from pytest_workrail.golden.encoding import encode, loads
from pytest_workrail.golden.migration import migrated
from pytest_workrail.golden.show import change_lines, golden_names
from pytest_workrail.plugin.records import read_record
from workrail_lint import check_text, compile_workflow
from workrail_lint.base.canonical import digest
from workrail_lint.base.terminal import Style
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.jsonl_reader import read_jsonl
from workrail_lint.documents.markdown_reader import read_markdown
from workrail_lint.documents.yaml_reader import read_yaml
from workrail_lint.project.baseline import parse_baseline
from workrail_lint.project.cache import Cache, _is_entry
from workrail_lint.project.config import load_config
from workrail_lint.systems.workrail.lockfile import parse_lockfile
from workrail_lint.systems.workrail.rules.samples import step, workflow

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
SESSION = SessionId("sess_" + "a" * 26)
_SEGMENT = f"{layout.EVENTS}/00000000-00000004.jsonl"
_BETWEEN = b"\n--\n"  # where a target takes two files
_SAMPLE = workflow(
    step("first", "Do {{goal}}."), step("second", validationCriteria=[{"type": "contains", "value": "x"}])
)


class Target(NamedTuple):
    """A function to feed, and what to feed it first."""

    run: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _readers(data: bytes) -> None:
    for read in (read_json, read_jsonl, read_markdown, read_yaml):
        read(data)  # type: ignore[operator]


def _compile(data: bytes) -> None:
    made = compile_workflow(data)
    if made.is_ok:
        assert made.value.hash
        assert made.value.engine_hash is None or made.value.engine_hash


def _configuration(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "workrail-lint.toml")
        Path(path).write_bytes(data)
        load_config(path)


def _cache(data: bytes) -> None:
    entry = _json(data)
    if _is_entry(entry):
        cache = Cache(None, "")
        cache.entries = {"a.json": entry}
        cache.get("a.json", entry[0])


def _goldens(data: bytes) -> None:
    """A golden and what a test saw instead: compared, shown, accepted in part."""
    old, _, new = data.partition(_BETWEEN)
    for each in (old, new):
        migrated(each)
        pending._read(each)
    before, after = loads(old), loads(new or _GOLDEN)
    if not before.is_ok or not after.is_ok:
        return
    causes = Causes(before.value, after.value)
    for group in grouped([("a", list(causes))]):
        headline(group.difference)
        change_lines(group.difference, Style(True))
        list(golden_names(group.goldens, all_goldens=False))
    made = causes.with_only([cause.key.id for cause in causes][:1])
    if made.is_ok:
        assert loads(encode(made.value)).is_ok
    pending._read(pending.pending_bytes("test", old, new or _GOLDEN))


def _records(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "workrail-record.json")
        path.write_bytes(data)
        read_record(path)


def _engine() -> Engine:
    return _engine_at(in_memory(FixedClock(), SeededEntropy("fuzz")))


def _engine_at(home: Home) -> Engine:
    library = MemoryLibrary()
    library.put_ir(compile_workflow(json.dumps(_SAMPLE)).value.ir)
    return Engine(home, library, Options(profile="locked"))


def _answered(answer: Any) -> None:
    assert answer.is_ok or answer.error.cause is None, answer.error.cause


def _bundles(data: bytes) -> None:
    _answered(_engine().import_session(data))


def _tokens(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    engine = _engine()
    for request in ({"continueToken": text}, {"continueToken": text, "output": {"notesMarkdown": "x"}}):
        _answered(engine.continue_workflow(request))
    _answered(engine.checkpoint_workflow({"checkpointToken": text}))
    read_keyring(data)


def _requests(data: bytes) -> None:
    value = _json(data)
    engine = _engine()
    tools = (engine.start_workflow, engine.continue_workflow, engine.checkpoint_workflow, engine.resume_session)
    for tool in (*tools, engine.list_workflows, engine.inspect_workflow):
        _answered(tool(value))
    started = engine.start_workflow({"workflowId": _SAMPLE["id"], "workspacePath": "/w", "goal": "x"})
    if started.is_ok and isinstance(value, dict):
        token = started.value.to_json().get("continueToken")
        _answered(engine.continue_workflow({**value, "continueToken": token, "intent": "advance"}))


def _sessions(data: bytes) -> None:
    manifest, _, segment = data.partition(_BETWEEN)
    for written in (manifest, _resealed(manifest, segment)):
        contents = {layout.manifest(SESSION): written, f"{layout.session_dir(SESSION)}/{_SEGMENT}": segment}
        store = FileSessionStore(TreeFiles(contents))
        store.load(SESSION)
        store.load_validated_prefix(SESSION)
    read_event(data)
    read_snapshot(data)


def _resealed(manifest: bytes, segment: bytes) -> bytes:
    """The manifest with the digest of a damaged segment, so that what reads the segment gets to see it."""
    first, _, rest = manifest.partition(b"\n")
    line = _json(first)
    if not isinstance(line, dict):
        return manifest
    line |= {"bytes": len(segment), "sha256": digest(segment)}
    return json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n" + rest


def _named(name: str) -> Callable[[bytes], object]:
    return lambda data: check_text(data, name)


def _of(pattern: str, most: int = 4) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(FIXTURES.glob(pattern), key=lambda p: p.stat().st_size)[:most])


_START = {"workflowId": _SAMPLE["id"], "workspacePath": "/w", "goal": "x"}


def _bundle_seeds() -> tuple[bytes, ...]:
    engine = _engine()
    started = engine.start_workflow(_START)
    sessions = engine.home.stores.sessions.list_sessions().value
    bundles = [engine.export_session(entry.session_id).value for entry in sessions]
    return (*(json.dumps(bundle).encode() for bundle in bundles), json.dumps(started.value.to_json()).encode())


def _token_seeds() -> tuple[bytes, ...]:
    started = _engine().start_workflow(_START).value.to_json()
    tokens = [value.encode() for name, value in started.items() if name.endswith("Token")]
    return (*tokens, b"st_x", b"ack1qqqq", b'{"v":1,"current":"00"}')


def _session_seeds() -> tuple[bytes, ...]:
    """A session as it lies on disk, under the name that the target reads."""
    with tempfile.TemporaryDirectory() as folder:
        _engine_at(on_disk(Path(folder), FixedClock(), SeededEntropy("fuzz")).value).start_workflow(_START)
        [session] = Path(folder, layout.SESSIONS).iterdir()
        manifest = (session / "manifest.jsonl").read_bytes()
        segment = min((session / layout.EVENTS).iterdir()).read_bytes()
    made = _BETWEEN.join((manifest, segment)).replace(session.name.encode(), SESSION.encode())
    return (made, b'{"v":1,"manifestIndex":0,"kind":"segment_closed"}\n--\n{"v":1,"eventIndex":0}')


def _golden_seeds() -> tuple[bytes, ...]:
    plain = _of("**/__goldens__/**/*.golden.json")
    edited = _GOLDEN.replace(b"the", b"a").replace(b'"stepId": "', b'"stepId": "x')
    return (*plain, _BETWEEN.join((_GOLDEN, edited)), pending.pending_bytes("test", _GOLDEN, edited))


_GOLDEN = _of("scenarios/__goldens__/*.golden.json", 1)[0]
_RECORD = {"version": 1, "exit": 0, "failed": 0, "ran": ["a.py::t"], "deselected": [], "coverage": None, "locks": None}
_RECORD["goldens"] = {"a.py::t": {"passed": True, "records": [["__goldens__/t", "same", ""]], "inline": []}}


_WORKFLOW = (json.dumps(_SAMPLE).encode(), *_of("workflows/*.json"))
TARGETS: dict[str, Target] = {
    "readers": Target(_readers, (b'{"a": [1, -2.5e3, "\\u0041"]}', b"a: &x [1]\nb: *x\n", b"# T\n- [ ] x\n")),
    "check": Target(_named("workflows/a.json"), _WORKFLOW),
    "compile": Target(_compile, _WORKFLOW),
    "scenarios": Target(_named("a.scenario.json"), _of("scenarios/*.scenario.json")),
    "blocks": Target(_named("a.workflow.json"), _of("scenarios/blocks/workflows/*.json")),
    "team": Target(_named(".agents-work/2026-03-01_a/status.json"), (b'{"current_state": "INTAKE", "tasks": []}',)),
    "catalog": Target(_named("catalog.json"), (b'{"catalogId": "x", "version": "1.0.0", "routines": []}',)),
    "configuration": Target(_configuration, (b'select = ["LP"]\n[severity]\nLP001 = "error"\n', b"[[suppress]]\n")),
    "lockfile": Target(parse_lockfile, (b'{"lockfileVersion": 1, "catalog": {}, "workflows": {}}',)),
    "baseline": Target(parse_baseline, (b'{"version": 1, "findings": {"a.json": {"x": 1}}}',)),
    "cache": Target(_cache, (b'["c", [["A", "a", "info", "m", "", "lint", null, null, {}, false, null]], null, 0]',)),
    "goldens": Target(_goldens, _golden_seeds()),
    "records": Target(_records, (json.dumps(_RECORD).encode(),)),
    "bundles": Target(_bundles, _bundle_seeds()),
    "tokens": Target(_tokens, _token_seeds()),
    "requests": Target(_requests, (b'{"workflowId": "x", "goal": "y"}', b'{"output": {"artifacts": [{"kind": "x"}]}}')),
    "sessions": Target(_sessions, _session_seeds()),
}
