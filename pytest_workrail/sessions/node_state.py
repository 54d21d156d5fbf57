"""The engine's state at a node, from its snapshot: what is pending, where in which loops, and what blocks it."""

from __future__ import annotations

from typing import Any

from pytest_workrail.records import Record
from pytest_workrail.sessions.data_folder import DataFolder
from workrail_lint.base.result import Err

_KEPT = 2_000
_KINDS = ("init", "running", "blocked", "complete")


class Blocker(Record):
    """One reason why a step was not accepted."""

    code: str
    message: str
    contract: str | None = None


class NodeState(Record):
    """What a snapshot says."""

    kind: str
    step: str | None = None
    loop_path: tuple[tuple[str, int], ...] = ()
    completed: tuple[str, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    is_retryable: bool = True
    gate: str | None = None


class StateReader:
    """Reads the states of snapshots and remembers a few: the nodes of many sessions share theirs."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder
        self._known: dict[str, NodeState | str] = {}

    def of(self, ref: str) -> NodeState | str:
        """The state of a snapshot, or what is wrong with it."""
        found = self._known.get(ref)
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[ref] = read_state(self._folder, ref)
        return found


def read_state(folder: DataFolder, ref: str) -> NodeState | str:
    """The state of a snapshot, or what is wrong with it."""
    read = folder.snapshot(ref)
    if isinstance(read, Err):
        return read.error
    payload = read.value.get("enginePayload")
    state = payload.get("engineState") if isinstance(payload, dict) else None
    if not isinstance(state, dict) or state.get("kind") not in _KINDS:
        return "the snapshot holds no state that is known here"
    gate = payload.get("gateCheckpoint") if isinstance(payload, dict) else None
    return NodeState(
        state["kind"],
        *_pending(state.get("pending")),
        _completed(state.get("completed")),
        *_blocked(state.get("blocked")),
        str(gate.get("gateKind")) if isinstance(gate, dict) else None,
    )


def _pending(value: Any) -> tuple[str | None, tuple[tuple[str, int], ...]]:
    step = value.get("step") if isinstance(value, dict) else None
    if not isinstance(step, dict) or not isinstance(step.get("stepId"), str):
        return None, ()
    path = step.get("loopPath")
    frames = path if isinstance(path, list) else []
    return step["stepId"], tuple(
        (str(frame.get("loopId")), frame["iteration"])
        for frame in frames
        if isinstance(frame, dict) and type(frame.get("iteration")) is int
    )


def _completed(value: Any) -> tuple[str, ...]:
    values = value.get("values") if isinstance(value, dict) else None
    return tuple(str(each) for each in values) if isinstance(values, list) else ()


def _blocked(value: Any) -> tuple[tuple[Blocker, ...], bool]:
    if not isinstance(value, dict):
        return (), True
    report = value.get("blockers")
    found = report.get("blockers") if isinstance(report, dict) else None
    blockers = [
        Blocker(str(each.get("code")), str(each.get("message", "")), _contract(each.get("pointer")))
        for each in (found if isinstance(found, list) else [])
        if isinstance(each, dict)
    ]
    return tuple(blockers), value.get("kind") != "terminal_block"


def _contract(pointer: Any) -> str | None:
    ref = pointer.get("contractRef") if isinstance(pointer, dict) else None
    return ref if isinstance(ref, str) else None
