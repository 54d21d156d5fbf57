"""The recorded events of a run, as the rules about traces see them.

A trace document is an object: `mode`, `trace` (the events), and what the events do not show: `session`,
`strategy`, `resumed` (true when the run continued a session), `pending` (decisions that were pending on disk when
it began) and `required` (task to the agents whose OK it needs besides the Reviewer's).

Every event has `event` and `state`. Other fields, by event:

| event | members |
| --- | --- |
| enter_state | - (`state` is the one entered) |
| dispatch | `agent`, `task`, `attempt`; optionally `input` (a digest) and `parts` (of the message, in order) |
| dispatch_error | `agent`, `task`, `attempt` |
| reply | `agent`, `status` |
| write, write_error | `file` (below the session, or `repo:` and a path); `set` (`UD-1=pending`), `lines`; `by` |
| verify | `ok` |
| ask, user_reply | `decisions`; on a reply `cancel` when the user refused |
| decision | `id`, `status`; `waives` (agents whose gate the answer lifts) and `task` |
| correction | `to`, `agent` |
| retry_count | `task`, `loop`, `count` |
| task_status | `task`, `status`, `by` |
| read_status, check_run, blocker, end | - |

`by` is left out where it is the Orchestrator.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from workrail_lint.systems.team.vocabulary import (
    AgentName,
    Mode,
    Strategy,
    WorkflowState,
    is_member,
    items_of,
    members_of,
    strings_of,
)

EVENTS = (
    "enter_state",
    "read_status",
    "dispatch",
    "reply",
    "dispatch_error",
    "write",
    "write_error",
    "verify",
    "ask",
    "user_reply",
    "decision",
    "correction",
    "retry_count",
    "task_status",
    "check_run",
    "blocker",
    "end",
)


class Event:
    """One event and its position in the document."""

    __slots__ = ("data", "index", "mode", "name", "task")

    def __init__(self, data: dict[str, Any], index: int, mode: Mode, task: str) -> None:
        self.data = data
        self.index = index
        self.name = data.get("event")
        self.mode = mode  # of the run at this point: a lean run that grows continues as a full one
        self.task = task  # of a reply: the one its agent was last dispatched with

    @property
    def pointer(self) -> str:
        return f"/trace/{self.index}"

    @property
    def state(self) -> WorkflowState | None:
        state = self.data.get("state")
        return WorkflowState(state) if is_member(state, WorkflowState) else None

    @property
    def agent(self) -> AgentName | None:
        agent = self.data.get("agent")
        return AgentName(agent) if is_member(agent, AgentName) else None

    @property
    def by(self) -> str:
        """Who wrote or set something; the Orchestrator unless it says otherwise."""
        return self.text("by") or AgentName.ORCHESTRATOR.value

    def text(self, member: str) -> str:
        value = self.data.get(member)
        return value if type(value) is str else ""

    def texts(self, member: str) -> list[str]:
        return strings_of(self.data.get(member))

    def is_true(self, member: str) -> bool:
        return self.data.get(member) is True

    def number(self, member: str) -> int:
        value = self.data.get(member)
        return value if type(value) is int else 0

    @property
    def decisions(self) -> list[str]:
        """The decisions that an event is about: those asked, answered or written."""
        if self.name in ("write", "write_error"):
            pairs = (item.partition("=") for item in self.texts("set"))
            return [name for name, _, _ in pairs if name.startswith("UD-")]
        return self.texts("decisions")


class Trace:
    """A run by its events."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        mode, strategy = value.get("mode"), value.get("strategy")
        self.mode = Mode(mode) if is_member(mode, Mode) else Mode.FULL
        self.strategy = Strategy(strategy) if is_member(strategy, Strategy) else Strategy.PER_BATCH
        self.is_resumed = value.get("resumed") is True
        self.pending = strings_of(value.get("pending"))
        session = value.get("session")
        self.session = session if type(session) is str else ""

    @cached_property
    def events(self) -> list[Event]:
        found: list[Event] = []
        mode = self.mode
        tasks: dict[str, str] = {}
        for index, item in enumerate(items_of(self.value.get("trace"))):
            data = members_of(item)
            if data.get("event") == "enter_state" and data.get("state") == WorkflowState.INTAKE:
                mode = Mode.FULL
            agent, task = data.get("agent"), data.get("task")
            if data.get("event") == "dispatch" and type(agent) is str and type(task) is str:
                tasks[agent] = task
            known = task if type(task) is str else tasks.get(agent, "") if type(agent) is str else ""
            found.append(Event(data, index, mode, known))
        return found

    def named(self, *names: str) -> Iterator[Event]:
        return (event for event in self.events if event.name in names)

    def required(self, task: str) -> list[AgentName]:
        """Whose OK a task needs before it is completed."""
        others = strings_of(members_of(self.value.get("required")).get(task))
        return [AgentName.REVIEWER, *(AgentName(agent) for agent in others if is_member(agent, AgentName))]
