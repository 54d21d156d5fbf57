"""The hooks of a rule about team documents and the views they receive.

A rule overrides the hooks it needs. The model of a document has what its schema allows: a hook never sees a value of a
wrong type, and `"member" in node` tells whether a member is written at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from workrail_lint.base.js import items_of, members_of
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.documents.jsonl_reader import JsonlDocument
from workrail_lint.documents.markdown_reader import MarkdownDocument
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.documents.yaml_reader import YamlDocument
from workrail_lint.rules.base import Report as Report
from workrail_lint.rules.base import Rule
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.documents import WITH_SCHEMA, Exchange, Place, TeamKind, exchange_of
from workrail_lint.systems.team.model.build import document_model, validator
from workrail_lint.systems.team.model.documents import (
    Acceptance,
    AgentInput,
    AgentOutput,
    ChangeRequest,
    Criterion,
    Decision,
    DispatchPlan,
    GivenTask,
    SessionStatus,
    Task,
    TaskBacklog,
)
from workrail_lint.systems.team.options import TeamOptions
from workrail_lint.systems.team.sections import Sections
from workrail_lint.systems.team.session import Session, inferred_mode, project_type_beside
from workrail_lint.systems.team.trace import Trace
from workrail_lint.systems.team.vocabulary import AgentName, Mode, ProjectType, Strategy, session_parts

if TYPE_CHECKING:
    from workrail_lint.systems.team.agent_files import AgentFile
    from workrail_lint.systems.team.unit import Unit

Reader: TypeAlias = JsonDocument | YamlDocument | JsonlDocument | MarkdownDocument

# Where a rule comes from. The lenient profile lowers what the contract does not state.
FIXED = "fixed by the team contract"
DECIDED = "decided for this product where the team contract is silent"
PRACTICE = "good practice that the team contract does not require"


class Document:
    """One file of a session and what is known around it."""

    reader: Reader  # a kind of document has one kind of reader

    def __init__(
        self,
        kind: TeamKind,
        path: str,
        reader: Reader,
        options: TeamOptions,
        *,
        place: Place | None = None,
        session: Session | None = None,
    ) -> None:
        self.kind = kind
        self.path = path
        self.reader = reader
        self.options = options
        self.place = place  # None for a file outside any session folder
        self.session = session  # None when nothing is known about the session

    @property
    def text(self) -> str:
        return self.reader.text

    @cached_property
    def value(self) -> dict[str, Any]:
        """The object that a JSON or YAML document holds."""
        return members_of(self.reader.value)

    @cached_property
    def violations(self) -> list[Violation]:
        """Return what the document breaks of its schema, if its kind has one."""
        return validator(self.kind).violations(self.value) if self.kind in WITH_SCHEMA else []

    @property
    def reported(self) -> list[Violation]:
        """The violations that authors hear of."""
        return self.violations

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
        return inferred_mode(None, has_architecture=False, task_count=None, option=self.options.mode)

    @property
    def strategy(self) -> Strategy | None:
        return None if self.session is None else self.session.strategy

    @property
    def state(self) -> str | None:
        """The state of the session, None when it is unknown."""
        return None if self.session is None else self.session.state


class StatusDocument(Document):
    """status.json."""

    @cached_property
    def model(self) -> SessionStatus:
        return document_model(SessionStatus, self.value, self.violations)

    @property
    def decisions(self) -> Sequence[Decision]:
        """The decisions that are objects."""
        return self.model.user_decisions

    @property
    def mode(self) -> Mode:
        if self.session is not None:
            return super().mode
        return inferred_mode(self.model, has_architecture=False, task_count=None, option=self.options.mode)


class HistoryDocument(Document):
    """approve-design-history.jsonl."""

    reader: JsonlDocument

    @cached_property
    def violations(self) -> list[Violation]:
        return [violation for violations in self._by_line.values() for violation in violations]

    @cached_property
    def entries(self) -> dict[int, ChangeRequest]:
        """The lines that hold an object, by index."""
        return {
            index: document_model(ChangeRequest, members_of(self.reader.lines[index].value), violations, f"/{index}")
            for index, violations in self._by_line.items()
        }

    @cached_property
    def _by_line(self) -> dict[int, list[Violation]]:
        """Schema violations of each line that holds an object, by index."""
        check = validator(self.kind).violations
        return {
            line.index: [each.replaced(pointer=f"/{line.index}{each.pointer}") for each in check(line.value)]
            for line in self.reader.lines
            if type(line.value) is dict
        }


class AcceptanceDocument(Document):
    """acceptance.json."""

    @cached_property
    def criteria(self) -> Sequence[Criterion]:
        """The criteria that are objects."""
        return document_model(Acceptance, self.value, self.violations).acceptance_criteria

    @cached_property
    def by_index(self) -> dict[int, Criterion]:
        return {criterion.index: criterion for criterion in self.criteria}


class Backlog(Document):
    """tasks.yaml."""

    reader: YamlDocument

    @cached_property
    def model(self) -> TaskBacklog:
        return document_model(TaskBacklog, self.value, self.violations)

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks that are mappings."""
        return self.model.tasks

    @cached_property
    def by_index(self) -> dict[int, Task]:
        return {task.index: task for task in self.tasks}

    @cached_property
    def by_id(self) -> dict[str, Task]:
        tasks: dict[str, Task] = {}
        for task in self.tasks:
            if task.id:
                tasks.setdefault(task.id, task)
        return tasks

    @property
    def mode(self) -> Mode:
        # The plan at hand counts, not the one that was on disk when the session was read.
        session = self.session
        if session is None:
            return super().mode
        return inferred_mode(
            session.status,
            has_architecture="architecture.md" in session.files,
            task_count=len(items_of(self.value.get("tasks"))),
            option=self.options.mode,
        )


class MarkdownFile(Document):
    """A document for people: a spec, a report, the instructions of an agent."""

    reader: MarkdownDocument


class ExchangeDocument(Document):
    """A document that the Orchestrator and an agent exchange: an input, an output or a dispatch plan."""

    @cached_property
    def exchange(self) -> Exchange | None:
        return exchange_of(self.path)

    @property
    def agent(self) -> AgentName | None:
        """Whose exchange it is; None if it is unknown."""
        return self.options.agent or (self.exchange.agent if self.exchange else None)

    @property
    def dispatches(self) -> list[Dispatch]:
        """The tasks that the document gives to agents."""
        return []


class Dispatch:
    """A task as it is given to an agent: that of an input, or of an item of a dispatch plan."""

    def __init__(self, task: GivenTask, agent: AgentName | None) -> None:
        self.task = task
        self.agent = agent
        self.at = task.at

    @property
    def files(self) -> list[tuple[int, str]]:
        """The context files with their indexes."""
        return list(numbered(self.task.context_files))


class InputDocument(ExchangeDocument):
    """An agent's input."""

    @cached_property
    def model(self) -> AgentInput:
        return document_model(AgentInput, self.value, self.violations)

    @property
    def reported(self) -> list[Violation]:
        if self.agent is not AgentName.ORCHESTRATOR:
            return self.violations
        # The Orchestrator is given the request of the user in the place of a task.
        return [
            each for each in self.violations if each.member != "task" and not f"{each.pointer}/".startswith("/task/")
        ]

    @property
    def dispatches(self) -> list[Dispatch]:
        """The task; the Orchestrator receives none."""
        is_given = self.agent is not AgentName.ORCHESTRATOR and self.model.has("task")
        return [Dispatch(self.model.task, self.agent)] if is_given else []

    @property
    def session_name(self) -> str | None:
        """The session whose folder contains the file, else the one its context files agree on."""
        return super().session_name or self.named_session

    @property
    def named_session(self) -> str | None:
        """The one session that the context files name."""
        parts = map(session_parts, self.model.task.context_files)
        names = {part[0] for part in parts if part is not None}
        return names.pop() if len(names) == 1 else None


class OutputDocument(ExchangeDocument):
    """An agent's output."""

    @cached_property
    def project_type(self) -> ProjectType | None:
        """The kind of project in the input of the agent; None if it is unknown."""
        return self.options.project_type or project_type_beside(self.path)

    @cached_property
    def model(self) -> AgentOutput:
        return document_model(AgentOutput, self.value, self.violations)


class PlanDocument(ExchangeDocument):
    """A dispatch plan of the Orchestrator."""

    @cached_property
    def model(self) -> DispatchPlan:
        return document_model(DispatchPlan, self.value, self.violations)

    @property
    def dispatches(self) -> list[Dispatch]:
        return [
            Dispatch(item.task, None if item.agent is None else AgentName(item.agent))
            for item in self.model.dispatch
            if item.has("task")
        ]


class TeamRule(Rule):
    """A rule about team documents. Override the hooks that are needed, and only those."""

    def describe(self, violation: Violation, document: Any) -> Description | None:
        return None

    def check_any(self, document: Document, report: Report) -> None:
        """Check a document that can be read."""

    def check_string(self, value: str, pointer: str, document: Document, report: Report) -> None:
        """Check a string of a JSON, YAML or JSON Lines document."""

    def check_path(self, value: str, pointer: str, document: Document, report: Report) -> None:
        """Check a string that names a file."""

    def check_status(self, document: StatusDocument, report: Report) -> None:
        """Check a status.json."""

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        """Check a user decision."""

    def check_backlog(self, backlog: Backlog, report: Report) -> None:
        """Check a tasks.yaml."""

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        """Check a task of tasks.yaml."""

    def check_acceptance(self, document: AcceptanceDocument, report: Report) -> None:
        """Check an acceptance.json."""

    def check_markdown(self, document: MarkdownFile, sections: Sections, report: Report) -> None:
        """Check a Markdown document."""

    def check_history(self, document: HistoryDocument, report: Report) -> None:
        """Check an approve-design-history.jsonl."""

    def check_input(self, document: InputDocument, report: Report) -> None:
        """Check an agent's input."""

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        """Check the task of an input, or of an item of a dispatch plan."""

    def check_output(self, document: OutputDocument, report: Report) -> None:
        """Check an agent's output."""

    def check_dispatch_plan(self, document: PlanDocument, report: Report) -> None:
        """Check a dispatch plan of the Orchestrator."""

    def check_trace(self, trace: Trace, report: Report) -> None:
        """Check the recorded events of a run."""

    def check_agent_file(self, file: AgentFile, report: Report) -> None:
        """Check the instruction file of an agent."""

    def check_session(self, unit: Unit, report: Report) -> None:
        """Check a session folder as a whole."""
