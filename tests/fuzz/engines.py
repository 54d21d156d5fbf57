"""An engine with one small workflow, for the targets that need one."""

from __future__ import annotations

import json
from typing import Any

from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.store.gate import Home
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from tests.fuzz.target import json_of
from workrail_lint import compile_workflow
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.systems.workrail.rules.samples import step, workflow

SAMPLE = workflow(
    step("first", "Do {{goal}}."), step("second", validationCriteria=[{"type": "contains", "value": "x"}])
)
START = {"workflowId": SAMPLE["id"], "workspacePath": "/w", "goal": "x"}


def new_engine() -> Engine:
    return engine_at(in_memory(FixedClock(), SeededEntropy("fuzz")))


def engine_at(home: Home) -> Engine:
    library = MemoryLibrary()
    library.put_ir(compile_workflow(json.dumps(SAMPLE)).value.ir)
    return Engine(home, library, Options(profile="locked"))


def answered(answer: Any) -> None:
    assert answer.is_ok or answer.error.cause is None, answer.error.cause


def exported() -> bytes:
    """A session that was started, as a bundle."""
    made = new_engine()
    made.start_workflow(START)
    [entry] = made.home.stores.sessions.list_sessions().value
    return json.dumps(made.export_session(entry.session_id).value).encode()


def resealed(data: bytes) -> bytes:
    """The bundle with the digests of what it holds now."""
    bundle = json_of(data)
    try:
        session = bundle["session"]
        parts = {"session/events": session["events"], "session/manifest": session["manifest"]}
        for group in ("snapshots", "pinnedWorkflows"):
            parts |= {f"session/{group}/{name}": session[group][name] for name in sorted(session[group])}
        made = {path: canonical_bytes(part) for path, part in parts.items()}
        entries = [{"path": path, "sha256": digest(raw), "bytes": len(raw)} for path, raw in made.items()]
        bundle["integrity"]["entries"] = entries
    except (TypeError, LookupError, ValueError, AttributeError, RecursionError):
        return data
    return json.dumps(bundle).encode()
