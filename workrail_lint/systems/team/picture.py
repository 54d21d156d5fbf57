"""A session folder as people see it: the states it went through, and who did, asked and decided what in each.

The data has the members of a simulated run, so that one page shows both. A recorded trace in the folder is taken as it
is. Without one the events follow from the files: from the status how far the session is, from its decisions and the
exchanges what happened in a state. A folder does not record the order within a state.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from workrail_lint.base.js import members_of, objects_of, strings_of
from workrail_lint.base.wording import counted
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.jsonl_reader import read_jsonl
from workrail_lint.systems.base import Picture
from workrail_lint.systems.drawing.shapes import Block, Card, Group, Note
from workrail_lint.systems.team.documents import MAX_HISTORY_BYTES, exchange_of
from workrail_lint.systems.team.reading import read_output
from workrail_lint.systems.team.session import Session, read_artifact
from workrail_lint.systems.team.state_machine import (
    AGENTS_OF_STATE,
    FULL_PATH,
    GATES,
    LEAN_PATH,
    TERMINAL_STATES,
    USER_STATES,
)
from workrail_lint.systems.team.vocabulary import APPROVE_DESIGN_ID, Mode, WorkflowState

Data = dict[str, Any]
S = WorkflowState
_HISTORY = "approve-design-history.jsonl"
_TRACE, _OUTPUT, _PLAN = ".trace.json", ".output.json", ".plan.json"


def picture(session: Session, option: Mode | None) -> Picture:
    """Return a session as `graph` and `studio` show it."""
    mode = session.mode(option)
    path = LEAN_PATH if mode is Mode.LEAN else FULL_PATH
    trace = _recorded(session)
    if trace is None:
        trace = list(_events(session, path))
    record = {
        "pack": "team",
        "mode": mode.value,
        "finalState": session.state,
        "states": [event["state"] for event in trace if event["event"] == "enter_state"],
        "tasks": {task.id: task.status for task in session.tasks or ()},
        "titles": {task.id: task.title or task.goal for task in session.tasks or ()},
        "decisions": [] if session.status is None else [each.raw for each in session.status.user_decisions],
        "blockers": _blockers(session),
        "trace": trace,
    }
    return Picture(session.name, tuple(_blocks(session, trace, path)), record)


# ---------------------------------------------------------------------------------------------------------- data


def _recorded(session: Session) -> list[Data] | None:
    """Return the events of the trace in the folder; of several, the last by name."""
    for file in sorted((file for file in session.files if file.endswith(_TRACE)), reverse=True):
        events = objects_of(_json(session, file).get("trace"))
        named = [event for event in events if isinstance(event.get("event"), str) and event.get("state") in [*S]]
        if named:
            return named
    return None


def _events(session: Session, path: Sequence[WorkflowState]) -> Iterator[Data]:
    exchanges = list(_exchanges(session, path))
    for state in _visited(session, path):
        yield {"event": "enter_state", "state": state.value}
        yield from (event for event in exchanges if event["state"] == state)
        yield from _asked(session, state)
        if state is S.IMPLEMENT_LOOP:
            yield from _work(session)
    if session.state in [*TERMINAL_STATES]:
        yield {"event": "end", "state": session.state}


def _visited(session: Session, path: Sequence[WorkflowState]) -> list[WorkflowState]:
    """Return the states up to the one that the status names: no session comes there by another way."""
    status = session.status
    if status is None or status.current_state is None:
        return []
    current = S(status.current_state)
    if current in path:
        return list(path[: path.index(current) + 1])
    reached = [S(each.state_context) for each in status.user_decisions if each.state_context in [*path]]
    if current.value.startswith("FIX_") or any(task.status != "not-started" for task in session.tasks or ()):
        reached.append(S.IMPLEMENT_LOOP)
    if status.returns_to in [*path]:
        reached.append(S(str(status.returns_to)))
    last = max((path.index(state) for state in reached if state in path), default=0)
    return [*path[: last + 1], current]


def _exchanges(session: Session, path: Sequence[WorkflowState]) -> Iterator[Data]:
    """Yield dispatches and replies in the order of their numbers."""
    state: WorkflowState | None = None  # that the last plan names
    for file in sorted(session.files):
        if file.endswith(_PLAN) and _json(session, file).get("state") in [*S]:
            state = S(_json(session, file)["state"])
        exchange = exchange_of(file)
        if exchange is None or (file.endswith(_OUTPUT) and f"{file.removesuffix(_OUTPUT)}.input.json" in session.files):
            continue  # an input brings its output with it
        agent, task = exchange
        if state is None or agent not in AGENTS_OF_STATE[state]:
            state = next((each for each in path if agent in AGENTS_OF_STATE[each]), S.IMPLEMENT_LOOP)
        about = {"state": state.value, "agent": agent.value, "task": task}
        yield {"event": "dispatch", **about}
        data = read_artifact(os.path.join(session.folder, f"{file.rpartition('.')[0].rpartition('.')[0]}{_OUTPUT}"))
        reply = members_of(None if data is None else read_output(data)[0].value)
        if reply:
            result = {name: reply[name] for name in ("status", "summary") if isinstance(reply.get(name), str)}
            yield {"event": "reply", **about, **result}


def _asked(session: Session, state: WorkflowState) -> Iterator[Data]:
    """Yield what the user was asked in a state, and each decision."""
    status = session.status
    if status is None:
        return
    if state is S.APPROVE_DESIGN:
        yield from _corrections(session)
    for decision in status.user_decisions:
        if decision.state_context == state or (state not in USER_STATES and GATES.get(decision.decision_id) == state):
            yield {"event": "ask", "state": state.value, "decisions": [decision.decision_id]}
            if decision.status not in (None, "pending"):
                closed = {"id": decision.decision_id, "status": decision.status, "answer": decision.answer}
                yield {"event": "decision", "state": state.value, **closed}


def _corrections(session: Session) -> Iterator[Data]:
    """Yield each answer of the history that asked for changes, and how far the last correction is."""
    where = {"state": S.APPROVE_DESIGN.value}
    data = read_artifact(os.path.join(session.folder, _HISTORY), MAX_HISTORY_BYTES)
    for line in objects_of([] if data is None else read_jsonl(data, max_bytes=MAX_HISTORY_BYTES).value):
        closed = {"id": APPROVE_DESIGN_ID, "status": "answered", "answer": line.get("answer")}
        yield {"event": "ask", **where, "decisions": [APPROVE_DESIGN_ID]}
        yield {"event": "decision", **where, **closed}
    gate = None if session.status is None else session.status.design_gate
    if gate is not None and gate.correction_status not in (None, "none"):
        last = gate.last_correction_dispatch
        agent = {} if last is None or last.agent is None else {"agent": last.agent}
        yield {"event": "correction", **where, "to": gate.correction_status, **agent}


def _work(session: Session) -> Iterator[Data]:
    """Yield how far each task is, and how often it was repaired."""
    where = {"state": S.IMPLEMENT_LOOP.value}
    counts = {} if session.status is None else session.status.retry_counts
    for task in session.tasks or ():
        repairs = counts[task.id].raw if task.id in counts else {}
        for loop, count in repairs.items():
            if isinstance(count, int) and count > 0:
                yield {"event": "retry_count", **where, "task": task.id, "loop": loop, "count": count}
        if task.status is not None:
            yield {"event": "task_status", **where, "task": task.id, "status": task.status}


def _blockers(session: Session) -> list[Data]:
    if session.status is None or session.state != S.BLOCKED:
        return []
    issues = "; ".join(session.status.known_issues)
    return [{"code": session.status.blocker, "message": issues or "the session is blocked"}]


def _json(session: Session, file: str) -> Data:
    data = read_artifact(os.path.join(session.folder, file))
    document = None if data is None else read_json(data)
    return members_of(document.value if document is not None and document.readable else None)


# -------------------------------------------------------------------------------------------------------- drawing


def _blocks(session: Session, trace: Sequence[Data], path: Sequence[WorkflowState]) -> Iterator[Block]:
    """Yield a frame for each state with its events, then the states that are still to come."""
    stays: list[tuple[str, list[Data]]] = []
    for event in trace:
        if event["event"] == "enter_state" or not stays:
            stays.append((event["state"], []))
        stays[-1][1].append(event)
    for number, (state, events) in enumerate(stays):
        cards = tuple(_cards(session, events, f"{number}"))
        is_here = number == len(stays) - 1 and state not in [*TERMINAL_STATES]
        note = "the session is here" if is_here else ""
        if cards:
            yield Group(state, "state", state, note, None, cards)
        else:
            yield Card(state, state, about=note)
    reached = [path.index(S(state)) for state, _ in stays if state in [*path]]
    if session.state != S.BLOCKED:
        for state in path[max(reached, default=-1) + 1 :]:
            yield Card(state.value, state.value, about="not reached", writer="virtual")


def _cards(session: Session, events: Sequence[Data], prefix: str) -> Iterator[Card]:
    """Yield a card for each exchange, question, correction, task and blocker of a stay in a state."""
    decisions = {} if session.status is None else {each.decision_id: each for each in session.status.user_decisions}
    for number, event in enumerate(events):
        ident, rest = f"{prefix}.{number}", events[number + 1 :]
        match event["event"]:
            case "dispatch":
                reply = _first(rest, "reply", agent=event.get("agent")) or {}
                status = str(reply.get("status") or "no reply recorded")
                text = f"{status}: {reply['summary']}" if reply.get("summary") else status
                yield Card(ident, f"{event.get('agent')} {event.get('task')}", (Note("reply", text),), status)
            case "ask":
                for name in strings_of(event.get("decisions")):
                    known, closed = decisions.get(name), _first(rest, "decision", id=name)
                    stored = known.answer if known is not None else None
                    answer = None if closed is None else closed.get("answer") or stored or closed.get("status")
                    text = f"answered: {answer}" if answer else "not answered yet"
                    question = known.question if known is not None and known.question else name
                    yield Card(f"{ident}.{name}", question, (Note("gate", text),), str(answer or "pending"))
            case "correction":
                yield Card(ident, f"Correction {event.get('to')}", (), str(event.get("agent") or ""))
            case "dispatch_error":
                yield Card(ident, f"{event.get('agent')} {event.get('task')}", (), f"failed: {event.get('reason')}")
            case "blocker":
                yield Card(ident, f"Blocked: {event.get('code')}", (), "")
    yield from _task_cards(session, events, prefix)


def _first(events: Iterable[Data], kind: str, **members: object) -> Data | None:
    for event in events:
        if event["event"] == kind and all(event.get(name) == value for name, value in members.items()):
            return event
    return None


def _task_cards(session: Session, events: Sequence[Data], prefix: str) -> Iterator[Card]:
    """Yield one card for each task that got further in a stay: its states, its repairs, what it waited for."""
    known = {task.id: task for task in session.tasks or ()}
    went: dict[str, list[str]] = {}
    repairs: dict[str, list[str]] = {}
    for event in events:
        if event["event"] == "task_status":
            went.setdefault(str(event.get("task")), []).append(str(event.get("status")))
        elif event["event"] == "retry_count":
            text = f"{event.get('loop')} {counted(int(event.get('count') or 0), 'time')}"
            repairs.setdefault(str(event.get("task")), []).append(text)
    for ident in [*went, *(task for task in repairs if task not in went)]:
        task = known.get(ident)
        title = (task.title or task.goal or ident) if task is not None else ident
        status = " → ".join(went.get(ident, ()))
        notes = [Note("task", f"{ident} {status}".rstrip())]
        if ident in repairs:
            notes.append(Note("repairs", f"repaired: {', '.join(repairs[ident])}"))
        if task is not None and task.depends_on:
            notes.append(Note("depends", f"after {', '.join(task.depends_on)}"))
        yield Card(f"{prefix}.{ident}", title, tuple(notes), notes[0].text)
