"""Which agents worked, what they wrote, and which gates a task passed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base.closed_sets import is_member
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.model.events import (
    AgentDispatched,
    AgentReplied,
    CorrectionChanged,
    DecisionClosed,
    FileWritten,
    StateEntered,
    StatusRead,
    TaskStatusSet,
    WriteFailed,
)
from workrail_lint.systems.team.rules.base import FIXED, Report, TeamRule
from workrail_lint.systems.team.rules.trace_states import TRACE, at, enter, trace
from workrail_lint.systems.team.state_machine import CORE_AGENTS, LEAN_FORBIDDEN, MESSAGE_PARTS
from workrail_lint.systems.team.trace import Trace
from workrail_lint.systems.team.vocabulary import META, AgentName, Mode, Strategy, WorkflowState, session_parts
from workrail_lint.systems.team.wording import listed, shown

S = WorkflowState
A = AgentName
_LOOP = "IMPLEMENT_LOOP"
_OWNED = ("spec.md", "acceptance.json", "architecture.md")
_OWNED_FOLDERS = ("adr/", "research/", "design-specs/")


def _work(agent: str, task: str = "T-001", status: str = "OK", state: str = _LOOP) -> list[dict[str, Any]]:
    """Return a dispatch done the right way, and its reply."""
    return [
        at(state, "read_status"),
        at(state, "dispatch", agent=agent, task=task, attempt=1),
        at(state, "reply", agent=agent, status=status),
    ]


def _completed(by: str | None = None) -> dict[str, Any]:
    return at(_LOOP, "task_status", task="T-001", status="completed", **({} if by is None else {"by": by}))


class CorrectionDispatchedTwice(TeamRule):
    code = "TC808"
    name = "correction-dispatched-twice"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A correction of the design was dispatched although it had already been dispatched."
    why = "Two agents, or one agent twice, change the design for one request; the second undoes or repeats the first."
    example_path = TRACE

    def check_trace(self, trace: Trace, report: Report) -> None:
        granted = 0
        status: str | None = None
        for event in trace.events:
            match event:
                case CorrectionChanged():
                    status = event.to
                    granted = granted + 1 if status == "dispatched" else 0
                case AgentDispatched(state="APPROVE_DESIGN") if (event.attempt or 0) <= 1:
                    if granted == 0:
                        problem = f"the correction is already {status or 'dispatched'}"
                        report(event.pointer, f"{event.agent} is dispatched, but {problem}")
                    granted = max(0, granted - 1)

    def examples(self) -> Iterator[Example]:
        state = "APPROVE_DESIGN"
        sent = [at(state, "correction", to="dispatched", agent="Architect"), *_work("Architect", META, state=state)]
        done = at(state, "correction", to="completed")
        yield self.example(
            trace(enter(state), *sent, *_work("Architect", META, state=state), done), trace(enter(state), *sent, done)
        )


class RoleBoundary(TeamRule):
    code = "TC809"
    name = "role-boundary"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An agent wrote outside of its role: in the repository, in an older session, or a user decision."
    why = "The Orchestrator coordinates and does no work, except after a lean intake that failed three times."
    example_path = TRACE

    def check_trace(self, trace: Trace, report: Report) -> None:
        self._role_boundary(trace, report)
        for event in trace.events:
            if not isinstance(event, FileWritten | WriteFailed):
                continue
            file = event.file.removeprefix("repo:")
            parts = session_parts(file)
            is_other = parts is not None and trace.session not in ("", parts[0])
            if file.startswith("../") or is_other:
                wrote = "wrote" if isinstance(event, FileWritten) else "tried to write"
                report(event.pointer, f"{event.author} {wrote} {shown(file)}, which belongs to another session")
        for event in trace.of_type(FileWritten):
            author = event.author
            if author != A.ORCHESTRATOR and event.decisions and is_member(author, AgentName):
                report(
                    event.pointer,
                    f"{author} wrote {listed(event.decisions)}; only the Orchestrator may write user decisions",
                )

    def _role_boundary(self, trace: Trace, report: Report) -> None:
        for event in trace.of_type(FileWritten):
            file = event.file
            if event.author != A.ORCHESTRATOR:
                continue
            outside = file.startswith("repo:") and not _is_own_session(file, trace)
            owned = file in _OWNED or file.startswith(_OWNED_FOLDERS)
            is_taken_over = owned and event.state != S.INTAKE_LEAN
            if outside or is_taken_over or (file == "report.md" and trace.mode_at(event) is Mode.FULL):
                report(
                    event.pointer,
                    f"the Orchestrator wrote {shown(file.removeprefix('repo:'))}, which is outside its role",
                )

    def examples(self) -> Iterator[Example]:
        yield self.example(
            trace(enter(_LOOP), at(_LOOP, "write", file="repo:src/a.py")),
            trace(enter(_LOOP), at(_LOOP, "write", file="repo:src/a.py", by="Coder")),
        )

        def wrote(session: str) -> dict[str, Any]:
            file = f"repo:.agents-work/{session}/spec.md"
            return trace(enter(_LOOP), at(_LOOP, "write", file=file, by="Coder"), session="2026-03-01_add-login")

        yield self.example(wrote("2026-02-01_old-work"), wrote("2026-03-01_add-login"))

        def decided(**by: str) -> dict[str, Any]:
            return trace(enter("INTAKE"), at("INTAKE", "write", file="status.json", set=["UD-1=answered"], **by))

        yield self.example(decided(by="SpecAgent"), decided())


def _is_own_session(file: str, trace: Trace) -> bool:
    parts = session_parts(file.removeprefix("repo:"))
    return parts is not None and trace.session in ("", parts[0])


class CompletedWithoutGates(TeamRule):
    code = "TC811"
    name = "completed-without-gates"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A task was completed without its review or other required gates, or not by the Orchestrator."
    why = "Work counts as done that was never checked."
    example_path = TRACE

    def check_trace(self, trace: Trace, report: Report) -> None:
        self._promoted_without_gates(trace, report)
        for event in trace.of_type(TaskStatusSet):
            if event.status == "completed" and event.author != A.ORCHESTRATOR:
                report(
                    event.pointer, f"{event.author} set {event.task} to completed; only the Orchestrator may do that"
                )
        self._reviewer_skipped(trace, report)

    def _promoted_without_gates(self, trace: Trace, report: Report) -> None:
        passed: set[tuple[str, str]] = set()
        for event in trace.events:
            match event:
                case AgentReplied():
                    key = event.agent, trace.task_of(event)
                    (passed.add if event.status == "OK" else passed.discard)(key)
                case DecisionClosed():
                    passed |= {(agent, event.task or "") for agent in event.waives}
                case TaskStatusSet(status="completed", task=task):
                    required = [agent.value for agent in trace.required(task)]
                    missing = [agent for agent in required if not {(agent, task), (agent, META)} & passed]
                    if missing:
                        report(event.pointer, f"{task} is completed without the OK of {listed(missing)}")

    def _reviewer_skipped(self, trace: Trace, report: Report) -> None:
        reviewed: set[str] = set()
        for event in trace.events:
            match event:
                case AgentDispatched(agent=A.REVIEWER):
                    reviewed.add(trace.task_of(event))
                case DecisionClosed() if A.REVIEWER in event.waives:
                    # Only what a review refused can be lifted; in a resumed run that review came before.
                    reviewed.add(event.task or "")
                case TaskStatusSet(status="completed", task=task) if not {task, META} & reviewed:
                    report(event.pointer, f"{task} is completed without a review")

    def examples(self) -> Iterator[Example]:
        work = [enter(_LOOP), *_work("Coder"), *_work("Reviewer")]
        needed: dict[str, Any] = {"required": {"T-001": ["Security"]}}
        yield self.example(
            trace(*work, _completed(), **needed), trace(*work, *_work("Security"), _completed(), **needed)
        )
        passed = [enter(_LOOP), *_work("Coder"), *_work("Reviewer")]
        yield self.example(trace(*passed, _completed(by="Coder")), trace(*passed, _completed()))
        coded = [enter(_LOOP), *_work("Coder")]
        yield self.example(
            trace(*coded, _completed(), mode="lean"), trace(*coded, *_work("Reviewer"), _completed(), mode="lean")
        )


class AgentsOfTheRun(TeamRule):
    code = "TC812"
    name = "run-without-agents"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A run lacks an agent or review that its mode requires, or dispatched one that it does not have."
    why = "Each core agent does a part that no other agent does, such as security or documentation."
    example_path = TRACE

    def check_trace(self, trace: Trace, report: Report) -> None:
        self._core_agent_not_run(trace, report)
        self._final_review_count(trace, report)
        for event in trace.of_type(AgentDispatched):
            if trace.mode_at(event) is Mode.LEAN and event.agent in LEAN_FORBIDDEN:
                report(event.pointer, f"a lean run can't dispatch {event.agent}")

    def _core_agent_not_run(self, trace: Trace, report: Report) -> None:
        if trace.model.resumed:
            return  # who worked before is not in this trace
        seen = {event.agent for event in trace.of_type(AgentDispatched)}
        missing = [agent.value for agent in CORE_AGENTS if agent not in seen]
        for event in trace.of_type(StateEntered):
            if event.state == S.DONE and trace.mode_at(event) is Mode.FULL and missing:
                report(event.pointer, f"the run is DONE, but {listed(missing)} never ran")

    def _final_review_count(self, trace: Trace, report: Report) -> None:
        final = 0
        is_waived = False
        entered: list[str | None] = []
        for event in trace.events:
            match event:
                case AgentDispatched(agent=A.REVIEWER) if trace.task_of(event) == META:
                    if trace.mode_at(event) is Mode.LEAN:
                        report(event.pointer, f"a lean run has no final review; this is number {final + 1}")
                    elif trace.strategy is Strategy.SINGLE_FINAL and final:
                        report(event.pointer, f"single-final allows one review; this is number {final + 1}")
                case AgentReplied(agent=A.REVIEWER, status="OK") if trace.task_of(event) == META:
                    final += 1
                case DecisionClosed(task="meta") if A.REVIEWER in event.waives:
                    is_waived = True  # the user lives with what the review found, whatever is repaired later
                case StateEntered(state=state):
                    per_batch = trace.mode_at(event) is Mode.FULL and trace.strategy is Strategy.PER_BATCH
                    # After a repair of the build the review has been.
                    from_loop = entered[-1:] == [S.IMPLEMENT_LOOP] and S.INTEGRATE not in entered
                    if state == S.INTEGRATE and from_loop and per_batch and not (final or is_waived):
                        problem = "INTEGRATE follows 0 final reviews; per-batch requires one across all tasks"
                        report(event.pointer, problem)
                    if state in (S.FIX_REVIEW, S.FIX_TESTS, S.FIX_SECURITY):
                        final = 0  # a repair sends the whole pass round again
                    entered.append(state)

    def examples(self) -> Iterator[Example]:
        def run(*agents: str) -> dict[str, Any]:
            work = [event for agent in agents for event in _work(agent)]
            return trace(*work, enter("DONE"))

        names = [agent.value for agent in CORE_AGENTS]
        yield self.example(run(*names[:-1]), run(*names))
        done = [enter(_LOOP), *_work("Coder"), *_work("Reviewer"), _completed()]
        final = _work("Reviewer", META)
        yield self.example(trace(*done, enter("INTEGRATE")), trace(*done, *final, enter("INTEGRATE")))
        once = trace(enter(_LOOP), *final, enter("INTEGRATE"), strategy="single-final")
        yield self.example(trace(enter(_LOOP), *final, *final, strategy="single-final"), once)
        yield self.example(
            trace(enter(_LOOP), *_work("Docs"), mode="lean"), trace(enter(_LOOP), *_work("Coder"), mode="lean")
        )


class StrategyNotReread(TeamRule):
    code = "TC814"
    name = "strategy-not-reread"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A Reviewer, QA or Security was dispatched without reading `status.json` first."
    why = "The strategy on disk counts, not the one that an agent remembers."
    example_path = TRACE
    bad = trace(enter(_LOOP), *_work("Reviewer"), *_work("QA")[1:])
    good = trace(enter(_LOOP), *_work("Reviewer"), *_work("QA"))

    def check_trace(self, trace: Trace, report: Report) -> None:
        is_fresh = False
        for event in trace.events:
            match event:
                case StatusRead():
                    is_fresh = True
                case AgentDispatched(agent=agent):
                    is_gate = trace.mode_at(event) is Mode.FULL and agent in (A.REVIEWER, A.QA, A.SECURITY)
                    if is_gate and not is_fresh:
                        problem = "status.json was not read since the last dispatch"
                        report(event.pointer, f"{agent} is dispatched, but {problem}")
                    is_fresh = False


class DispatchMessageIncomplete(TeamRule):
    code = "TC819"
    name = "dispatch-message-incomplete"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A dispatch message lacks a part, or its parts are out of order."
    why = "The agent starts from this message alone: its role, the contract, the conventions, the session, its input."
    example_path = TRACE

    def check_trace(self, trace: Trace, report: Report) -> None:
        for event in trace.of_type(AgentDispatched):
            if not event.has("parts"):
                continue
            parts = list(event.message_parts)
            has_conventions = event.conventions or "conventions" in parts
            wanted = [part.name for part in MESSAGE_PARTS if not part.optional or has_conventions]
            missing = [name for name in wanted if name not in parts]
            if missing:
                report(event.pointer, f"the message to {event.agent} lacks {listed(missing)}")
            elif parts != wanted:
                report(event.pointer, f"the parts of the message to {event.agent} are out of order: {listed(parts)}")

    def examples(self) -> Iterator[Example]:
        def sent(*parts: str) -> dict[str, Any]:
            dispatch = at(
                _LOOP, "dispatch", agent="Coder", task="T-001", attempt=1, conventions=True, parts=list(parts)
            )
            return trace(enter(_LOOP), dispatch)

        names = [part.name for part in MESSAGE_PARTS]
        good = sent(*names)
        yield self.example(sent(*(name for name in names if name != "conventions")), good)
        yield self.example(sent(*reversed(names)), good)
