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
from pytest_workrail.engine.store.home import in_memory
from pytest_workrail.engine.store.tree import TreeFiles
from pytest_workrail.engine.tokens.keys import read_keyring
from pytest_workrail.golden.encoding import loads
from workrail_lint import check_text, compile_workflow
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
        cache.system_of("a.json")


def _engine() -> Engine:
    library = MemoryLibrary()
    library.put_ir(compile_workflow(json.dumps(_SAMPLE)).value.ir)
    return Engine(in_memory(FixedClock(), SeededEntropy("fuzz")), library, Options(profile="locked"))


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
    manifest, _, segment = data.partition(b"\n--\n")
    contents = {layout.manifest(SESSION): manifest, f"{layout.session_dir(SESSION)}/events/0.jsonl": segment}
    store = FileSessionStore(TreeFiles(contents))
    store.load(SESSION)
    store.load_validated_prefix(SESSION)
    read_event(data)
    read_snapshot(data)


def _named(name: str) -> Callable[[bytes], object]:
    return lambda data: check_text(data, name)


def _of(pattern: str, most: int = 4) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(FIXTURES.glob(pattern), key=lambda p: p.stat().st_size)[:most])


def _session_seeds() -> tuple[bytes, ...]:
    engine = _engine()
    started = engine.start_workflow({"workflowId": _SAMPLE["id"], "workspacePath": "/w", "goal": "x"})
    sessions = engine.home.stores.sessions.list_sessions().value if hasattr(engine, "home") else ()
    bundles = [engine.export_session(entry.session_id) for entry in sessions]
    made = [json.dumps(bundle.value).encode() for bundle in bundles if bundle.is_ok]
    return (*made, json.dumps(started.value.to_json()).encode() if started.is_ok else b"{}")


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
    "goldens": Target(loads, _of("**/__goldens__/**/*.golden.json")),
    "bundles": Target(_bundles, _session_seeds()),
    "tokens": Target(_tokens, (b"st_x", b"ack1qqqq", b'{"v":1,"current":"00"}')),
    "requests": Target(_requests, (b'{"workflowId": "x", "goal": "y"}', b'{"output": {"artifacts": [{"kind": "x"}]}}')),
    "sessions": Target(_sessions, (b'{"v":1,"manifestIndex":0,"kind":"segment_closed"}\n--\n{"v":1,"eventIndex":0}',)),
}
