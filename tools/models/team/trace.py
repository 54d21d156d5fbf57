"""The recorded events of a run, and what they do not show."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import TypeAliasType

from tools.models.team.scalars import Open, TaskRef, Texts
from workrail_lint.documents.models import AnyText, ByMember, Listed, Maybe, Number, OneOf
from workrail_lint.systems.team import vocabulary as words

_Whole = Annotated[int, Number(0, whole=True)]


class _Event(Open):
    n: Maybe[_Whole] = Field(None, description="Its number, from 1.")
    state: OneOf[words.WorkflowState] = Field(description="The state it happened in.")


class StateEntered(_Event):
    """The run entered a state."""

    event: Literal["enter_state"]
    state: OneOf[words.WorkflowState] = Field(description="The state that was entered.")


class StatusRead(_Event):
    """The Orchestrator read status.json."""

    event: Literal["read_status"]


class _Dispatch(_Event):
    agent: AnyText = Field(description="The agent.")
    task: TaskRef = Field(description="Its task.")
    attempt: _Whole = Field(description="The number of the attempt, from 1.")


class AgentDispatched(_Dispatch):
    """An agent was given a task."""

    event: Literal["dispatch"]
    input: Maybe[AnyText] = Field(None, description="A digest of its input.")
    message_parts: Maybe[Texts] = Field(None, alias="parts", description="The parts of the message to it, in order.")
    conventions: Maybe[bool] = Field(None, description="Whether the repository has conventions to send along.")
    context: Maybe[Texts] = Field(None, description="The context files of its input.")


class AgentReplied(_Event):
    """An agent replied."""

    event: Literal["reply"]
    agent: AnyText = Field(description="The agent.")
    status: OneOf[words.OutputStatus] = Field(description="The status of its output.")
    task: Maybe[TaskRef] = Field(None, description="Its task; without it the one it was last dispatched with.")


class DispatchFailed(_Dispatch):
    """A dispatch brought no usable reply."""

    event: Literal["dispatch_error"]
    reason: Maybe[AnyText] = Field(None, description="Why.")
    problems: Maybe[Texts] = Field(None, description="What is wrong with an invalid reply.")


class _Write(_Event):
    file: AnyText = Field(description="The file: a path below the session, or `repo:` and a path.")
    set: Maybe[Texts] = Field(None, description="What was set in status.json, such as `UD-1=pending`.")
    lines: Maybe[_Whole] = Field(None, description="How many lines were appended.")
    by: Maybe[AnyText] = Field(None, description="Who wrote; the Orchestrator unless named.")


class FileWritten(_Write):
    """A file was written."""

    event: Literal["write"]


class WriteFailed(_Write):
    """A file could not be written."""

    event: Literal["write_error"]


class WriteVerified(_Event):
    """The check that reads a written file back."""

    event: Literal["verify"]
    ok: bool = Field(description="Whether it was what had been written.")


class UserAsked(_Event):
    """The user was asked."""

    event: Literal["ask"]
    decisions: Texts = Field(description="The decisions that the user was asked for.")


class UserReplied(_Event):
    """The user replied."""

    event: Literal["user_reply"]
    decisions: Texts = Field(description="The decisions that the reply is about.")
    cancel: Any = Field(None, description="Those that the user refused to take, or true for all.")


class DecisionClosed(_Event):
    """A decision was settled."""

    event: Literal["decision"]
    id: AnyText = Field(description="The decision.")
    status: OneOf[words.DecisionStatus] = Field(description="Its status.")
    waives: Maybe[Texts] = Field(None, description="The agents whose gate the answer lifts.")
    task: Maybe[TaskRef] = Field(None, description="The task whose gate that is.")


class CorrectionChanged(_Event):
    """The correction of the design got a new status."""

    event: Literal["correction"]
    to: OneOf[words.CorrectionStatus] = Field(description="The status.")
    agent: Maybe[AnyText] = Field(None, description="Who corrects.")


class RetryCounted(_Event):
    """A repair of a task was counted."""

    event: Literal["retry_count"]
    task: TaskRef = Field(description="The task.")
    loop: OneOf[words.FixLoop] = Field(description="The repair loop.")
    count: _Whole = Field(description="How many repairs there have been.")


class TaskStatusSet(_Event):
    """A task got a new status."""

    event: Literal["task_status"]
    task: AnyText = Field(description="The task.")
    status: OneOf[words.TaskStatus] = Field(description="The status.")
    by: Maybe[AnyText] = Field(None, description="Who set it; the Orchestrator unless named.")


class CheckRun(_Event):
    """An acceptance check ran."""

    event: Literal["check_run"]
    check: Maybe[AnyText] = Field(None, description="The check.")
    ok: Maybe[bool] = Field(None, description="Whether it passed.")


class BlockerRaised(_Event):
    """The session can't continue."""

    event: Literal["blocker"]
    code: Maybe[AnyText] = Field(None, description="Why.")


class RunEnded(_Event):
    """The run ended."""

    event: Literal["end"]


TraceEvent = TypeAliasType(
    "TraceEvent",
    Annotated[
        Annotated[StateEntered, Tag("enter_state")]
        | Annotated[StatusRead, Tag("read_status")]
        | Annotated[AgentDispatched, Tag("dispatch")]
        | Annotated[AgentReplied, Tag("reply")]
        | Annotated[DispatchFailed, Tag("dispatch_error")]
        | Annotated[FileWritten, Tag("write")]
        | Annotated[WriteFailed, Tag("write_error")]
        | Annotated[WriteVerified, Tag("verify")]
        | Annotated[UserAsked, Tag("ask")]
        | Annotated[UserReplied, Tag("user_reply")]
        | Annotated[DecisionClosed, Tag("decision")]
        | Annotated[CorrectionChanged, Tag("correction")]
        | Annotated[RetryCounted, Tag("retry_count")]
        | Annotated[TaskStatusSet, Tag("task_status")]
        | Annotated[CheckRun, Tag("check_run")]
        | Annotated[BlockerRaised, Tag("blocker")]
        | Annotated[RunEnded, Tag("end")],
        Discriminator(ByMember("event")),
    ],
)


class RunTrace(Open):
    """The events of a run, and what they do not show."""

    mode: Maybe[OneOf[words.Mode]] = Field(None, description="The mode in which the run began; full unless named.")
    trace: Listed[TraceEvent] = Field(description="The events, in order.")
    session: Maybe[AnyText] = Field(None, description="The name of the session.")
    strategy: Maybe[OneOf[words.Strategy]] = Field(None, description="The review strategy; per-batch unless named.")
    resumed: Maybe[bool] = Field(None, description="Whether the run continued a session.")
    pending: Maybe[Texts] = Field(None, description="The decisions that were pending on disk when it began.")
    required: Maybe[dict[str, Listed[OneOf[words.AgentName]]]] = Field(
        None, description="By task, the agents whose OK it needs besides the Reviewer's."
    )
