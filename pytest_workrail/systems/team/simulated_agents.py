"""The simulated agents and the simulated user: they do what the scenario says, or else the minimum that is valid."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from pytest_workrail.scenarios.drivers import Fault, file_bytes
from pytest_workrail.systems.kernel.run import Answers, Replies
from pytest_workrail.systems.team import minimal_outputs as minimal
from pytest_workrail.systems.team.session import (
    REPO,
    STATUS,
    TASKS,
    Halt,
    Store,
    content_bytes,
    unscripted,
    with_task_status,
)
from workrail_lint.base.closed_sets import is_member
from workrail_lint.base.js import items_of, members_of, strings_of
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.pointer import child
from workrail_lint.systems.team.scenario import Moot, Refusal, Reply
from workrail_lint.systems.team.vocabulary import (
    AgentName,
    Defaults,
    Mode,
    OutputStatus,
    ReplyFault,
    TaskStatus,
    WorkflowState,
    is_task_id,
)

Answer: TypeAlias = str | Refusal | Moot | None

A = AgentName
_REPLIES = "/team/replies"
_USER = "/team/user"


class Call(NamedTuple):
    """A dispatch as its agent sees it."""

    agent: AgentName
    task: str
    state: WorkflowState
    mode: Mode
    goal: str
    question: str  # of a Researcher
    now: str
    obstacle: str = ""  # why a conscientious agent has to stop: a context file that is broken, tests that can't run


class File(NamedTuple):
    """Something an agent writes: a path below the session or, with `repo:` in front, below the repository."""

    path: str
    data: bytes


class Reaction(NamedTuple):
    """The reaction to a dispatch: files in the order they are written, then a reply or a fault."""

    files: tuple[File, ...]
    text: bytes = b""
    fault: ReplyFault | None = None


@dataclass(frozen=True, slots=True)
class AgentOutput:
    """The output of an agent, after the linter accepted it."""

    status: OutputStatus = OutputStatus.OK
    summary: str = ""
    next_agent: AgentName | None = None  # whom it recommends
    artifacts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, text: bytes) -> AgentOutput:
        value = members_of(json.loads(text))
        agent = members_of(value.get("next")).get("recommended_agent")
        return cls(
            OutputStatus(value["status"]),
            str(value.get("summary")),
            AgentName(agent) if is_member(agent, AgentName) else None,
            members_of(value.get("artifacts")),
        )

    def strings(self, *members: str) -> list[str]:
        """Return the strings of some artifacts."""
        return [each for member in members for each in strings_of(self.artifacts.get(member))]

    def objects(self, member: str) -> list[dict[str, Any]]:
        return [each for each in items_of(self.artifacts.get(member)) if type(each) is dict]

    @property
    def reason(self) -> str:
        """Return why it ended so: its first note, or else its summary."""
        return next(iter(self.strings("notes")), self.summary)


class SimulatedAgents:
    """All agents of a run."""

    def __init__(self, store: Store, replies: Mapping[str, Reply], defaults: Defaults) -> None:
        self._store = store
        self._replies = Replies(replies)
        self._defaults = defaults

    def unused(self) -> list[Fault]:
        """Return the replies that were never asked for."""
        return [
            Fault(f"this reply was not used: {key} was never dispatched", child(_REPLIES, key))
            for key in self._replies.unused
        ]

    def react(self, call: Call) -> Ok[Reaction] | Err[Halt]:
        name = f"{call.agent.value}/{call.task}"
        reply = self._replies.take(name, every_call=False)
        if reply is None and self._defaults is Defaults.NONE:
            return Err(unscripted(f"there is no reply for {self._replies.key(name)}", _REPLIES))
        return Ok(self._reaction(call, _default_reply(call) if reply is None else reply))

    def _reaction(self, call: Call, reply: Reply) -> Reaction:
        if reply.fault is ReplyFault.ERROR:
            return Reaction(_files(reply), fault=ReplyFault.ERROR)
        status = _status(reply)
        if reply.fault is ReplyFault.TIMEOUT:
            begun = self._start_status(call) if self._defaults is Defaults.MINIMAL_OK else ()
            return Reaction((*begun, *_files(reply)), fault=ReplyFault.TIMEOUT)
        files = self._work(call, reply, status)
        if reply.text is not None:
            return Reaction(files, reply.text.encode("utf-8", "surrogatepass"))
        written = [self._store.repo_path(file.path) for file in files if file.path not in _ledgers(call)]
        output = minimal.output(call.agent, call.task, status, call.mode, list(dict.fromkeys(written)))
        text = file_bytes(minimal.merged(output, reply.output or {}))
        if reply.fault is ReplyFault.INVALID:
            text = b"Here is what I did:\n```json\n" + text + b"```\n"
        return Reaction(files, text)

    def _work(self, call: Call, reply: Reply, status: OutputStatus) -> tuple[File, ...]:
        """Return what an agent writes: the minimum of its role, with the files of the scenario in place or added."""
        given = _files(reply)
        if self._defaults is Defaults.NONE:
            return given
        named = reply.files or {}
        is_ok = status is OutputStatus.OK
        usual = [file for file in self._artifacts(call) if file.path not in named] if is_ok else []
        others = [file for file in given if file.path != TASKS]
        # The plan says that the work is done, so it is written last.
        plan = [file for file in given if file.path == TASKS]
        ended = self._ended(call) if is_ok and TASKS not in named else ()
        return (*self._start_status(call), *usual, *others, *ended, *plan)

    def _start_status(self, call: Call) -> tuple[File, ...]:
        """Return the plan in which a Coder marks its task as started."""
        is_work = call.agent is A.CODER and is_task_id(call.task)
        return tuple(self._moved(call.task, TaskStatus.IN_PROGRESS)) if is_work else ()

    def _ended(self, call: Call) -> tuple[File, ...]:
        is_work = call.agent is A.CODER and is_task_id(call.task)
        return tuple(self._moved(call.task, TaskStatus.IMPLEMENTED)) if is_work else ()

    def _moved(self, task: str, status: TaskStatus) -> Iterator[File]:
        data = self._store.read(TASKS)
        changed = None if data is None else with_task_status(data, task, status)
        if changed is not None:
            yield File(TASKS, changed)

    def _artifacts(self, call: Call) -> Iterator[File]:
        match call.agent:
            case A.SPEC_AGENT:
                yield _text("spec.md", minimal.spec(call.goal))
                yield File("acceptance.json", minimal.acceptance())
                if not self._store.exists(STATUS):
                    yield File(STATUS, file_bytes(minimal.status(self._store.session, call.state, call.now)))
                if call.mode is Mode.LEAN and not self._store.exists(TASKS):
                    yield _text(TASKS, minimal.lean_tasks(call.goal))
            case A.ARCHITECT:
                yield _text("architecture.md", minimal.architecture())
            case A.DESIGNER:
                yield _text(minimal.DESIGN_SPEC, minimal.design_spec())
            case A.RESEARCHER:
                yield _text(minimal.RESEARCH, minimal.research(call.question))
            case A.PLANNER:
                specs = self._store.below("design-specs/")
                yield _text(TASKS, minimal.full_tasks(call.goal, self._store.session, specs))
            case A.CODER:
                yield _text(f"{REPO}{minimal.source_file(call.task)}", f"{call.task}\n")
            case A.DOCS:
                status = self._store.status() or {}
                issues = [str(issue) for issue in status.get("known_issues", [])]
                yield _text("report.md", minimal.report(issues))
            case _:
                return


def _ledgers(call: Call) -> tuple[str, ...]:
    """Return what an agent updates without reporting it as its work; a plan is the work of its author."""
    is_planner = call.agent is A.PLANNER or (call.mode is Mode.LEAN and call.agent is A.SPEC_AGENT)
    return (STATUS,) if is_planner else (STATUS, TASKS)


def _default_reply(call: Call) -> Reply:
    """Return the reply of an agent without a scripted one: its work, unless an obstacle prevents it."""
    if not call.obstacle:
        return Reply.model_validate({})
    return Reply.model_validate({"output": {"status": "BLOCKED", "artifacts": {"notes": [call.obstacle]}}})


def _status(reply: Reply) -> OutputStatus:
    value = (reply.output or {}).get("status", "OK")
    return OutputStatus(value) if is_member(value, OutputStatus) else OutputStatus.OK


def _files(reply: Reply) -> tuple[File, ...]:
    return tuple(
        File(path, content_bytes(content)) for path, content in (reply.files or {}).items() if content is not None
    )


def _text(path: str, text: str) -> File:
    return File(path, text.encode("utf-8", "surrogatepass"))


class SimulatedUser:
    """The simulated user: a queue of answers for each decision, and `otherwise` for those without one."""

    def __init__(
        self, answers: Mapping[str, tuple[Answer, ...]], otherwise: Callable[[str], Answer] | None = None
    ) -> None:
        self._answers = Answers(answers)
        self._otherwise = otherwise

    def answer(self, ident: str) -> Ok[Answer] | Err[Halt]:
        if not self._answers.has_next(ident):
            if self._otherwise is not None:
                return Ok(self._otherwise(ident))
            how = "is asked again" if self._answers.given[ident] else "is asked"
            return Err(unscripted(f"{ident} {how}, but the user has no answer for it", _USER))
        return Ok(self._answers.take(ident))

    def unused(self) -> list[Fault]:
        """Return the first answer to each question that was not asked for."""
        given = self._answers.given
        return [
            Fault(
                f"this answer was not used: {ident} was not asked{' again' if given[ident] else ''}",
                child(child(_USER, ident), index),
            )
            for ident, index in self._answers.unused()
            if index == given[ident]
        ]
