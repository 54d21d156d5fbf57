"""Exporting a session as a bundle, and importing a bundle as a new session."""

from __future__ import annotations

import datetime

from pytest_workrail.engine.model import ids
from pytest_workrail.engine.model.events import Event, event_from
from pytest_workrail.engine.model.ids import ID_BYTES, IdMint, SessionId, SnapshotRef, WorkflowHash
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot, snapshot_from
from pytest_workrail.engine.projections.dag import project_dag
from pytest_workrail.engine.store import bundle, log
from pytest_workrail.engine.store.bundle import BundleError, CheckedBundle, ExportFailure, ImportFailure, Producer
from pytest_workrail.engine.store.gate import Gate, GateError
from pytest_workrail.engine.store.plan import AppendPermit, AppendPlan, SessionTruth, pins_of
from pytest_workrail.engine.store.ports import Clock, LockIoError, SessionReader, StoreError, StoreIoError, Stores
from pytest_workrail.engine.tokens.issuer import Entropy
from workrail_lint.base.canonical import CanonicalError
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


def export_session(
    stores: Stores, session_id: SessionId, *, producer: Producer, clock: Clock, entropy: Entropy, salvage: bool = False
) -> Ok[dict[str, Json]] | Err[ExportFailure]:
    """The bundle of a session. With `salvage`, of as much of a damaged one as can be trusted."""
    truth = _truth(stores.sessions, session_id, salvage)
    if isinstance(truth, Err):
        return Err(ExportFailure("EXPORT_SESSION_STORE_ERROR", f"The session can't be read ({truth.error.code})."))
    if not truth.value.events:
        return Err(ExportFailure("BUNDLE_BUILD_EMPTY_EVENTS", "The session has no events."))
    snapshots: dict[SnapshotRef, ExecutionSnapshot] = {}
    for ref in bundle.required_snapshots(truth.value):
        snapshot = stores.snapshots.get(ref)
        if isinstance(snapshot, Err):
            return Err(ExportFailure("EXPORT_SNAPSHOT_STORE_ERROR", snapshot.error.message))
        if snapshot.value is None:
            return Err(ExportFailure("EXPORT_MISSING_SNAPSHOT", f"{ref} is missing"))
        snapshots[ref] = snapshot.value
    workflows: dict[WorkflowHash, dict[str, Json]] = {}
    for name in bundle.required_workflows(truth.value):
        workflow = stores.workflows.get(name)
        if isinstance(workflow, Err):
            return Err(ExportFailure("EXPORT_PINNED_WORKFLOW_STORE_ERROR", workflow.error.message))
        if workflow.value is None:
            return Err(ExportFailure("EXPORT_MISSING_PINNED_WORKFLOW", f"{name} is missing"))
        workflows[name] = workflow.value
    moment = datetime.datetime.fromtimestamp(clock.now_ms() / 1000, tz=datetime.UTC)
    try:
        return Ok(
            bundle.build(
                bundle_id=f"bundle_{ids.encode_base32(entropy.generate(ID_BYTES))}",
                exported_at=moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                producer=producer,
                session_id=session_id,
                truth=truth.value,
                snapshots=snapshots,
                pinned_workflows=workflows,
            )
        )
    except CanonicalError as problem:
        return Err(ExportFailure("EXPORT_BUILD_FAILED", str(problem)))


def _truth(sessions: SessionReader, session_id: SessionId, salvage: bool) -> Ok[SessionTruth] | Err[StoreError]:
    if not salvage:
        return sessions.load(session_id)
    prefix = sessions.load_validated_prefix(session_id)
    return prefix if isinstance(prefix, Err) else Ok(prefix.value.truth)


def import_bundle(
    raw: bytes, stores: Stores, gate: Gate, mint: IdMint
) -> Ok[SessionId] | Err[BundleError | ImportFailure]:
    """Bring a bundle in, always as a new session, after everything about it has been verified."""
    checked = bundle.check(raw)
    if isinstance(checked, Err):
        return checked
    session_id = mint.session()
    plan = _plan(checked.value, session_id)
    if isinstance(plan, Err):
        return plan
    snapshots: list[ExecutionSnapshot] = []
    for ref, content in checked.value.snapshots.items():
        snapshot = snapshot_from(content)
        if isinstance(snapshot, Err):
            return Err(ImportFailure("IMPORT_SNAPSHOT_PARSE_ERROR", f"{ref}: {snapshot.error.message}"))
        snapshots.append(snapshot.value)
    for each in snapshots:
        stored = stores.snapshots.put(each)
        if isinstance(stored, Err):
            return Err(ImportFailure("IMPORT_SNAPSHOT_STORE_ERROR", stored.error.message, stored.error.out_of_space))
    for workflow in checked.value.pinned_workflows.values():
        pinned = stores.workflows.put(workflow)
        if isinstance(pinned, Err):
            failed = pinned.error
            return Err(ImportFailure("IMPORT_PINNED_WORKFLOW_STORE_ERROR", failed.message, failed.out_of_space))

    def write(permit: AppendPermit, _: SessionTruth) -> Ok[None] | Err[StoreError]:
        return stores.sessions.append(permit, plan.value)

    outcome = gate.with_healthy_session_lock(session_id, write)
    failure: GateError | StoreError | None = None
    if isinstance(outcome, Err):
        failure = outcome.error
    elif isinstance(outcome.value, Err):
        failure = outcome.value.error
    if failure is not None:
        cause = failure.cause if isinstance(failure, GateError) else failure
        if isinstance(cause, StoreIoError | LockIoError) and cause.out_of_space:
            return Err(ImportFailure("IMPORT_SESSION_STORE_ERROR", cause.message, out_of_space=True))
        reason = f": {cause.message}" if isinstance(cause, StoreIoError | LockIoError) else ""
        return Err(ImportFailure("IMPORT_SESSION_STORE_ERROR", f"The session was not stored ({failure.code}){reason}."))
    return Ok(session_id)


def _plan(checked: CheckedBundle, session_id: SessionId) -> Ok[AppendPlan] | Err[BundleError]:
    """The bundle's events as one plan of the new session, tried before anything is written."""
    events: list[Event] = []
    for event in checked.events:
        renamed = event_from(_renamed(event, checked.session_id, session_id))
        if isinstance(renamed, Err):
            return Err(BundleError("BUNDLE_INVALID_FORMAT", renamed.error.message))
        events.append(renamed.value)
    plan = AppendPlan(tuple(events), pins_of(events))
    prepared = log.prepare(session_id, SessionTruth(), plan)
    if isinstance(prepared, Err):
        return Err(BundleError("BUNDLE_INVALID_FORMAT", prepared.error.message))
    dag = project_dag(plan.events)
    if isinstance(dag, Err):
        return Err(BundleError("BUNDLE_INVALID_FORMAT", dag.error.message))
    return Ok(plan)


def _renamed(event: Event, old: str, new: SessionId) -> dict[str, Json]:
    value = event.to_wire()
    value["sessionId"] = new
    value["dedupeKey"] = ":".join(new if part == old else part for part in event.dedupe_key.split(":"))
    return value
