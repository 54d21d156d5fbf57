"""The hooks of a rule about team documents and the views they receive.

A rule overrides the hooks it needs. Views hold values as they were written: a hook may receive anything that JSON,
YAML or Markdown can hold, so it must check types before it uses a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workrail_lint.documents.nodes import Build
from workrail_lint.documents.pointer import child
from workrail_lint.rules.base import Report as Report
from workrail_lint.rules.base import Rule
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.documents import WITH_SCHEMA, Exchange, Place, TeamKind, exchange_of, validator
from workrail_lint.systems.team.model.documents import Acceptance, Criterion, Task, TaskBacklog
from workrail_lint.systems.team.options import TeamOptions
from workrail_lint.systems.team.vocabulary import (
    AgentName,
    Mode,
    Strategy,
    WorkflowState,
    decision_number,
    items_of,
    members_of,
    session_parts,
    strings_of,
)

if TYPE_CHECKING:
    from workrail_lint.documents.json_reader import JsonDocument
    from workrail_lint.documents.jsonl_reader import JsonlDocument
    from workrail_lint.documents.markdown_reader import MarkdownDocument
    from workrail_lint.documents.schema.engine import Violation
    from workrail_lint.documents.yaml_reader import YamlDocument
    from workrail_lint.rules.describing import Description
    from workrail_lint.systems.team.agent_files import AgentFile
    from workrail_lint.systems.team.sections import Sections
    from workrail_lint.systems.team.session import Session
    from workrail_lint.systems.team.trace import Trace
    from workrail_lint.systems.team.unit import Unit

# Where a rule comes from. The lenient profile lowers what was decided because the contract is silent.
FIXED = "fixed by the team contract"
DECIDED = "decided for this product where the team contract is silent"


class Document:
    """One file of a session and what is known around it."""

    def __init__(
        self,
        kind: TeamKind,
        path: str,
        reader: JsonDocument | YamlDocument | JsonlDocument | MarkdownDocument,
        options: TeamOptions,
        *,
        place: Place | None = None,
        session: Session | None = None,
    ) -> None:
        self.kind = kind
        self.path = path
        self.reader: Any = reader
        self.options = options
        self.place = place  # None for a file outside any session folder
        self.session = session  # None when nothing is known about the session

    @property
    def text(self) -> str:
        return str(self.reader.text)

    @cached_property
    def value(self) -> dict[str, Any]:
        """The object that a JSON or YAML document holds."""
        return members_of(self.reader.value)

    @cached_property
    def violations(self) -> list[Violation]:
        """Return what the document breaks of its schema, if its kind has one."""
        return validator(self.kind).violations(self.value) if self.kind in WITH_SCHEMA else []

    @property
    def session_name(self) -> str | None:
        """The session the document belongs to, as far as it is known."""
        if self.session is not None:
            return self.session.name
        if self.place is not None:
            return self.place.name
        return None

    @property
    def mode(self) -> Mode:
        """The mode of the session; without a session a document is judged alone, mostly as full."""
        if self.session is not None:
            return self.session.mode(self.options.mode)
        status = self.value if self.kind is TeamKind.STATUS else None
        return machine.inferred_mode(status, has_architecture=False, task_count=None, option=self.options.mode)

    @property
    def strategy(self) -> Strategy | None:
        return None if self.session is None else self.session.strategy

    @property
    def state(self) -> str | None:
        """The state of the session, None when it is unknown."""
        return None if self.session is None else self.session.state


class Decision:
    """An entry of user_decisions that is an object."""

    def __init__(self, value: dict[str, Any], index: int) -> None:
        self.value = value
        self.index = index
        self.pointer = f"/user_decisions/{index}"

    @property
    def id(self) -> str:
        ident = self.value.get("decision_id")
        return ident if type(ident) is str else ""

    @property
    def label(self) -> str:
        """Return how a message names it."""
        return self.id or f"decision {self.index}"

    @property
    def status(self) -> object:
        return self.value.get("status")

    @property
    def number(self) -> int | None:
        return decision_number(self.id)

    @property
    def gate(self) -> WorkflowState | None:
        """The gate of a well-known decision."""
        return machine.GATES.get(self.id)

    def at(self, member: str) -> str:
        return child(self.pointer, member)


class AcceptanceDocument(Document):
    """acceptance.json."""

    @cached_property
    def criteria(self) -> Sequence[Criterion]:
        """The criteria that are objects."""
        model: Acceptance = Build(self.violations).root(Acceptance, self.value)
        return model.acceptance_criteria

    @cached_property
    def by_index(self) -> dict[int, Criterion]:
        return {criterion.index: criterion for criterion in self.criteria}


class Backlog(Document):
    """tasks.yaml."""

    @cached_property
    def model(self) -> TaskBacklog:
        model: TaskBacklog = Build(self.violations).root(TaskBacklog, self.value)
        return model

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks that are mappings."""
        return self.model.tasks

    @cached_property
    def by_index(self) -> dict[int, Task]:
        return {task.index: task for task in self.tasks}

    @cached_property
    def by_id(self) -> dict[str, Task]:
        found: dict[str, Task] = {}
        for task in self.tasks:
            if task.id:
                found.setdefault(task.id, task)
        return found

    @property
    def mode(self) -> Mode:
        # The plan at hand counts, not the one that was on disk when the session was read.
        session = self.session
        if session is None:
            return super().mode
        return machine.inferred_mode(
            session.status,
            has_architecture="architecture.md" in session.files,
            task_count=len(items_of(self.value.get("tasks"))),
            option=self.options.mode,
        )


class ExchangeDocument(Document):
    """An agent's input or output."""

    @cached_property
    def exchange(self) -> Exchange | None:
        return exchange_of(self.path)

    @cached_property
    def violations(self) -> list[Violation]:
        found = super().violations
        if self.kind is not TeamKind.INPUT or self.agent is not AgentName.ORCHESTRATOR:
            return found
        # The Orchestrator is given the request of the user in the place of a task.
        return [each for each in found if each.member != "task" and not f"{each.pointer}/".startswith("/task/")]

    @property
    def agent(self) -> AgentName | None:
        """Whose exchange it is; None if it is unknown."""
        return self.options.agent or (self.exchange.agent if self.exchange else None)

    @property
    def session_name(self) -> str | None:
        """The session whose folder contains the file, else the one its context files agree on."""
        return super().session_name or named_session(members_of(self.value.get("task")))


def named_session(task: dict[str, Any]) -> str | None:
    """The one session that the context files of a task name."""
    parts = map(session_parts, strings_of(task.get("context_files")))
    names = {part[0] for part in parts if part is not None}
    return names.pop() if len(names) == 1 else None


class Dispatch:
    """A task as it is given to an agent: an input as a whole, or an item of a dispatch plan."""

    def __init__(self, value: dict[str, Any], pointer: str, agent: AgentName | None) -> None:
        self.value = value
        self.pointer = pointer
        self.agent = agent
        self.task = members_of(value.get("task"))

    def at(self, *tokens: str | int) -> str:
        """The pointer of something below the task."""
        pointer = f"{self.pointer}/task"
        for token in tokens:
            pointer = child(pointer, token)
        return pointer

    @property
    def files(self) -> list[tuple[int, str]]:
        """The context files that are strings, with their indexes."""
        items = enumerate(items_of(self.task.get("context_files")))
        return [(index, item) for index, item in items if type(item) is str]


class TeamRule(Rule):
    """A rule about team documents. Override the hooks that are needed, and only those."""

    def describe(self, violation: Violation, document: Any) -> Description | None:
        return None

    def check_any(self, document: Document, report: Report) -> None:
        """Every document that can be read."""

    def check_string(self, value: str, pointer: str, document: Document, report: Report) -> None:
        """Every string of a JSON, YAML or JSON Lines document."""

    def check_path(self, value: str, pointer: str, document: Document, report: Report) -> None:
        """Every string that names a file."""

    def check_status(self, document: Document, report: Report) -> None:
        """status.json."""

    def check_decision(self, decision: Decision, document: Document, report: Report) -> None:
        """Every user decision."""

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        """tasks.yaml."""

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        """Every task of it."""

    def check_acceptance(self, document: AcceptanceDocument, report: Report) -> None:
        """acceptance.json."""

    def check_markdown(self, document: Document, sections: Sections, report: Report) -> None:
        """Every Markdown document."""

    def check_history(self, document: Document, report: Report) -> None:
        """approve-design-history.jsonl."""

    def check_input(self, document: ExchangeDocument, report: Report) -> None:
        """An agent's input."""

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        """The task of an input, and of every item of a dispatch plan."""

    def check_output(self, document: ExchangeDocument, report: Report) -> None:
        """An agent's output."""

    def check_dispatch_plan(self, document: ExchangeDocument, report: Report) -> None:
        """A dispatch plan of the Orchestrator."""

    def check_trace(self, trace: Trace, report: Report) -> None:
        """The recorded events of a run."""

    def check_agent_file(self, file: AgentFile, report: Report) -> None:
        """The instruction file of an agent."""

    def check_session(self, unit: Unit, report: Report) -> None:
        """A session folder as a whole."""
