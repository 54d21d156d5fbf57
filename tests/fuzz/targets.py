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

from pytest_workrail.engine.model.events import read_event
from pytest_workrail.engine.model.ids import SessionId
from pytest_workrail.engine.model.snapshot import read_snapshot
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.disk import on_disk
from pytest_workrail.engine.store.filesystem import FileSessionStore
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, TreeFiles
from pytest_workrail.engine.tokens.formats import read_keyring
from pytest_workrail.golden import pending
from pytest_workrail.golden.diff import Causes, grouped, headline
from pytest_workrail.golden.encoding import encode, loads, migrated
from pytest_workrail.golden.show import change_lines, golden_names
from pytest_workrail.plugin.suite_records import read_record
from tests.fuzz import interface_targets, session_targets
from tests.fuzz.engines import SAMPLE, START, answered, engine_at, exported, new_engine, resealed
from tests.fuzz.target import BETWEEN, Target, json_of, smallest
from workrail_lint import check_text, compile_workflow
from workrail_lint.base.canonical import digest
from workrail_lint.base.terminal import Style
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.jsonl_reader import read_jsonl
from workrail_lint.documents.markdown_reader import read_markdown
from workrail_lint.documents.yaml_reader import read_yaml
from workrail_lint.project.baseline import parse_baseline
from workrail_lint.project.cache import Cache
from workrail_lint.project.config import load_config
from workrail_lint.systems.workrail.lockfile import parse_lockfile

SESSION = SessionId("sess_" + "a" * 26)
_SEGMENT = f"{layout.EVENTS}/00000000-00000004.jsonl"


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
    entry = json_of(data)
    cache = Cache(None, "")
    cache.entries = {"a.json": data}
    known = cache.get("a.json", entry[0] if isinstance(entry, list) and entry else "")
    for finding in known.result.findings if known is not None else ():
        assert finding.fix is None or finding.fix.operations is not None


def _goldens(data: bytes) -> None:
    """A golden and what a test saw instead: compared, shown, accepted in part."""
    old, _, new = data.partition(BETWEEN)
    for each in (old, new):
        migrated(each)
        pending._read_pending(each)
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
    pending._read_pending(pending.pending_bytes("test", old, new or _GOLDEN))


def _records(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "workrail-record.json")
        path.write_bytes(data)
        read_record(path)


def _bundles(data: bytes) -> None:
    for raw in (data, resealed(data)):
        answered(new_engine().import_session(raw))


def _tokens(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    engine = new_engine()
    for request in ({"continueToken": text}, {"continueToken": text, "output": {"notesMarkdown": "x"}}):
        answered(engine.continue_workflow(request))
    answered(engine.checkpoint_workflow({"checkpointToken": text}))
    read_keyring(data)


def _requests(data: bytes) -> None:
    value = json_of(data)
    engine = new_engine()
    tools = (engine.start_workflow, engine.continue_workflow, engine.checkpoint_workflow, engine.resume_session)
    for tool in (*tools, engine.list_workflows, engine.inspect_workflow):
        answered(tool(value))
    started = engine.start_workflow({"workflowId": SAMPLE["id"], "workspacePath": "/w", "goal": "x"})
    if started.is_ok and isinstance(value, dict):
        token = started.value.to_json().get("continueToken")
        answered(engine.continue_workflow({**value, "continueToken": token, "intent": "advance"}))


def _sessions(data: bytes) -> None:
    manifest, _, segment = data.partition(BETWEEN)
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
    line = json_of(first)
    if not isinstance(line, dict):
        return manifest
    line |= {"bytes": len(segment), "sha256": digest(segment)}
    return json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n" + rest


def _named(name: str) -> Callable[[bytes], object]:
    return lambda data: check_text(data, name)


def _token_seeds() -> tuple[bytes, ...]:
    started = new_engine().start_workflow(START).value.to_json()
    tokens = [value.encode() for name, value in started.items() if name.endswith("Token")]
    return (*tokens, b"st_x", b"ack1qqqq", b'{"v":1,"current":"00"}')


def _session_seeds() -> tuple[bytes, ...]:
    """A session as it lies on disk, under the name that the target reads."""
    with tempfile.TemporaryDirectory() as folder:
        engine_at(on_disk(Path(folder), FixedClock(), SeededEntropy("fuzz")).value).start_workflow(START)
        [session] = Path(folder, layout.SESSIONS).iterdir()
        manifest = (session / "manifest.jsonl").read_bytes()
        segment = min((session / layout.EVENTS).iterdir()).read_bytes()
    made = BETWEEN.join((manifest, segment)).replace(session.name.encode(), SESSION.encode())
    return (made, b'{"v":1,"manifestIndex":0,"kind":"segment_closed"}\n--\n{"v":1,"eventIndex":0}')


def _golden_seeds() -> tuple[bytes, ...]:
    plain = smallest("**/__goldens__/**/*.golden.json")
    edited = _GOLDEN.replace(b"the", b"a").replace(b'"stepId": "', b'"stepId": "x')
    return (*plain, BETWEEN.join((_GOLDEN, edited)), pending.pending_bytes("test", _GOLDEN, edited))


_GOLDEN = smallest("scenarios/__goldens__/*.golden.json", 1)[0]
_RECORD = {"version": 1, "exit": 0, "failed": 0, "ran": ["a.py::t"], "deselected": [], "coverage": None, "locks": None}
_RECORD["goldens"] = {"a.py::t": {"passed": True, "records": [["__goldens__/t", "same", ""]], "inline": []}}


_WORKFLOW = (json.dumps(SAMPLE).encode(), *smallest("workflows/*.json"))
TARGETS: dict[str, Target] = {
    "readers": Target(_readers, (b'{"a": [1, -2.5e3, "\\u0041"]}', b"a: &x [1]\nb: *x\n", b"# T\n- [ ] x\n")),
    "check": Target(_named("workflows/a.json"), _WORKFLOW),
    "compile": Target(_compile, _WORKFLOW),
    "scenarios": Target(_named("a.scenario.json"), smallest("scenarios/*.scenario.json")),
    "blocks": Target(_named("a.workflow.json"), smallest("scenarios/blocks/workflows/*.json")),
    "team": Target(_named(".agents-work/2026-03-01_a/status.json"), (b'{"current_state": "INTAKE", "tasks": []}',)),
    "catalog": Target(_named("catalog.json"), (b'{"catalogId": "x", "version": "1.0.0", "routines": []}',)),
    "configuration": Target(_configuration, (b'select = ["LP"]\n[severity]\nLP001 = "error"\n', b"[[suppress]]\n")),
    "lockfile": Target(parse_lockfile, (b'{"lockfileVersion": 1, "catalog": {}, "workflows": {}}',)),
    "baseline": Target(parse_baseline, (b'{"version": 1, "findings": {"a.json": {"x": 1}}}',)),
    "cache": Target(_cache, (b'["c", [["A", "a", "info", "m", "", "lint", null, null, {}, false, null]], null, 0]',)),
    "goldens": Target(_goldens, _golden_seeds()),
    "records": Target(_records, (json.dumps(_RECORD).encode(),)),
    "bundles": Target(_bundles, (exported(),)),
    "tokens": Target(_tokens, _token_seeds()),
    "requests": Target(_requests, (b'{"workflowId": "x", "goal": "y"}', b'{"output": {"artifacts": [{"kind": "x"}]}}')),
    "sessions": Target(_sessions, _session_seeds()),
    **session_targets.TARGETS,
    **interface_targets.TARGETS,
}
