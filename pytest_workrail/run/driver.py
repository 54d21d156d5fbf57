"""The driver: carries out what an agent decides, call by call, until the run is over.

It plays the host. Tokens are its business, not the agent's; an agent names a token only when it wants the
wrong one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, assert_never

from msgspec import structs

from pytest_workrail.agents.agent import (
    Action,
    Agent,
    Attempt,
    Call,
    Checkpoint,
    EngineDefectMark,
    Exchange,
    Prefer,
    Problem,
    Provide,
    Rebind,
    Refusal,
    Rehydrate,
    Resend,
    Restart,
    Rewind,
    StartView,
    StepView,
    Stop,
    Submit,
    Transcript,
)
from pytest_workrail.engine.core.profiles import profile_of
from pytest_workrail.engine.model.ids import child_attempt, ref_of
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES
from pytest_workrail.engine.protocol.requests import merged
from pytest_workrail.engine.protocol.sessions import frozen_program
from pytest_workrail.engine.tokens.issuer import StateGrant
from pytest_workrail.run.bench import WORKSPACE, Bench, Setup
from pytest_workrail.run.engine_defects import mark_engine_defects
from pytest_workrail.run.history import History, Position, empty_projection, final_projection, log_size, position_at
from pytest_workrail.run.result import Ending, Run
from workrail_lint.base.canonical import digest
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err

_OTHER_VERSION = ref_of(digest(b"another version of the workflow"))


def drive(setup: Setup, agent: Agent, is_over: Callable[[Sequence[Attempt]], bool] | None = None) -> Run:
    """A whole run, from its start to wherever the agent leaves it, or to where its attempts say that it is over."""
    return _RunDriver(setup, agent, is_over).run()


class _RunDriver:
    """One run under way."""

    def __init__(self, setup: Setup, agent: Agent, is_over: Callable[[Sequence[Attempt]], bool] | None) -> None:
        self._is_over = is_over
        self._profile = profile_of(setup.profile)
        pinned = frozen_program(setup.ir, setup.onboarding, self._profile)
        if isinstance(pinned, Err):
            raise ValueError(pinned.error.message)
        self._setup = setup
        self._agent = agent
        self._bench = Bench(setup)
        self._program = pinned.value
        self._history = History()
        self._arrivals: Counter[str] = Counter()
        self._tokens: dict[str, str] = {}
        self._step_tokens: dict[str, str] = {}
        self._last_advance: dict[str, Json] | None = None
        self._position: Position | None = None
        # The position that was read last without a new answer, and the token it was read by.
        self._refreshed: Position | None = None
        self._refreshed_by = ""
        # The node on which the pending step was reached, before anything was submitted there.
        self._arrived_at: Position | None = None
        self._attempt = 1
        # What the node itself says, and whether the last call failed, which changes nothing about the node.
        self._refusal: Refusal | None = None
        self._has_failed = False
        self._is_complete = False
        # The length of the log before and after each exchange.
        self._sizes: list[tuple[int, int]] = []
        self._actions: list[Action] = []

    def run(self) -> Run:
        """Start, let the agent act until it is over, and sum up."""
        ending = self._start() or self._play()
        # Nothing can fit, or be left over, where nothing was played.
        unfit = self._agent.end() if ending.kind not in ("misplayed", "refused") else ()
        if unfit:
            ending = Ending("misplayed", unfit[0].message, unfit[0].place)
        return Run(self._transcript(), ending, log=() if self._position is None else tuple(self._position.events))

    def _start(self) -> Ending | None:
        setup = self._setup
        context = {**setup.context, "goal": setup.goal}
        start = StartView(self._program, self._profile, setup.preferences, context)
        added = self._agent.begin(start)
        request: dict[str, Json] = {
            "workflowId": self._program.ir["workflowId"],
            "workspacePath": WORKSPACE,
            "goal": setup.goal,
        }
        if setup.context or added:
            request["initialContext"] = {**setup.context, **added}
        if setup.preferences != DEFAULT_PREFERENCES:
            request["preferences"] = setup.preferences.to_wire()
        answer = self._bench.call("start_workflow", request)
        if answer.is_error:
            chosen = start.predict(added)
            self._sizes.append((0, 0))
            if isinstance(chosen, Err):
                self._history.tell(chosen, merged(context, added))
            elif chosen.value.is_complete:
                self._history.start(None, start, added, answer)
            return Ending("refused", str(answer.response["message"]))
        self._follow_answer(answer)
        self._sizes.append((0, len(self._current_position().events)))
        self._history.start(self._current_position().place.node_id, start, added, answer)
        self._tokens["$first"] = self._tokens["$continue"]
        return None

    def _play(self) -> Ending:
        for _ in range(self._setup.max_turns):
            action = self._agent.reopen() if self._is_complete else self._agent.act(self._view())
            match action:
                case None:
                    return Ending("complete", "The workflow is complete.")
                case Stop(why):
                    return Ending("stopped", why)
                case Problem():
                    problem: Problem | None = action
                case _:
                    self._actions.append(action)
                    problem = self._try_action(action)
            if problem is not None:
                return Ending("misplayed", problem.message, problem.place or self._agent.place())
            if self._is_over is not None and self._is_over(self._history.attempts):
                return Ending("stopped", "Its attempts have said enough.")
        if self._is_complete:
            return Ending("complete", "The workflow is complete.")
        return Ending("endless", f"The run was not complete after {self._setup.max_turns} turns.")

    # ------------------------------------------------------------------------------------------------- one action

    def _try_action(self, action: Action) -> Problem | None:
        """Do it, or say why it can't be done here."""
        match action:
            case Submit():
                self._submit(action)
            case Rehydrate():
                self._call("continue_workflow", self._rehydration(self._tokens["$continue"]))
            case Rewind(step_id, node):
                return self._rewind(step_id, node)
            case Checkpoint():
                self._call("checkpoint_workflow", {"checkpointToken": self._tokens["$checkpoint"]})
            case Resend():
                if self._last_advance is None:
                    return Problem("There is no earlier submission to send again.")
                self._call("continue_workflow", self._last_advance)
            case Restart():
                self._bench.restart()
            case Call(tool, request):
                self._call(tool, self._with_tokens(request))
            case Prefer(preferences):
                arrived = self._arrived_at or self._current_position()
                written = self._bench.engine.prefer(arrived.place, preferences)
                assert not isinstance(written, Err), written
            case Provide(step_id, detail):
                self._bench.engine.dependencies.answer(step_id, detail)
            case Rebind(overrides):
                self._bench.rebind(overrides)
            case Stop() | Problem():
                raise AssertionError("these end the run before they get here")
            case _:
                assert_never(action)
        return None

    def _submit(self, answer: Submit) -> None:
        request: dict[str, Json] = {"continueToken": self._tokens["$continue"], "intent": "advance"}
        if answer.context is not None:
            request["context"] = dict(answer.context)
        output: dict[str, Json] = {}
        # The canonical member takes no empty notes; its alias does, and an agent may well send them.
        if answer.notes:
            output["notesMarkdown"] = answer.notes
        elif answer.notes is not None:
            request["notes"] = answer.notes
        if answer.artifacts:
            output["artifacts"] = list(answer.artifacts)
        if output:
            request["output"] = output
        self._last_advance = request
        self._call("continue_workflow", request, is_advance=True)

    def _rewind(self, step_id: str | None, node: int | None) -> Problem | None:
        if node is not None:
            token = self._node_token(node)
            if token is None:
                return Problem(f"The run can't go back to node {node}, because it has no such node.")
        else:
            named = step_id or self._view().step_id
            token = self._step_tokens.get(named)
            if token is None:
                return Problem(f"The run can't go back to step '{named}', because it was never there.")
        answer = self._bench.call("continue_workflow", self._rehydration(token))
        self._sizes.append((len(self._current_position().events),) * 2)
        self._agent.receive(answer)
        self._has_failed = answer.is_error
        if not answer.is_error:
            self._move_to(answer)
        return None

    def _node_token(self, number: int) -> str | None:
        """Return the token that shows a node of the run."""
        position = self._current_position()
        nodes = tuple(position.run.nodes.values())
        if number > len(nodes):
            return None
        node = nodes[number - 1]
        place = structs.replace(position.place, node_id=node.node_id)
        issued = self._bench.home.issuer.long_state_token(StateGrant(place, ref_of(node.workflow_hash)))
        assert not isinstance(issued, Err), issued
        return issued.value

    def _rehydration(self, token: str) -> dict[str, Json]:
        return {"continueToken": token, "intent": "rehydrate", "workspacePath": WORKSPACE}

    def _with_tokens(self, request: dict[str, Json]) -> dict[str, Json]:
        symbols = {"$workspace": WORKSPACE, "$garbled": garbled(self._tokens["$continue"]), **self._tokens}
        if "$foreign" in request.values():
            symbols["$foreign"] = self._foreign_token()
        return {name: symbols.get(value, value) if isinstance(value, str) else value for name, value in request.items()}

    def _foreign_token(self) -> str:
        issuer = self._bench.home.issuer
        grant = issuer.resolve_continue(self._tokens["$continue"])
        assert not isinstance(grant, Err), grant
        own = grant.value
        token = issuer.continue_token(
            structs.replace(own, attempt_id=child_attempt(own.attempt_id), workflow_ref=_OTHER_VERSION)
        )
        assert not isinstance(token, Err), token
        return token.value

    def _call(self, tool: str, request: dict[str, Json], *, is_advance: bool = False) -> None:
        """Make a call, record what it did, and let the agent know."""
        view, before = self._view(), len(self._current_position().events)
        answer = self._bench.call(tool, request)
        self._agent.receive(answer)
        self._follow_answer(answer)
        events = self._current_position().events
        self._sizes.append((before, len(events)))
        added = events[before:]
        if is_advance or added:
            self._history.record(view, added, answer)
        if is_advance:
            self._tokens["$previous"] = str(request["continueToken"])

    # ------------------------------------------------------------------------------------------------ one answer

    def _follow_answer(self, answer: Exchange) -> None:
        """Where the run stands after an answer. An answer about something that is past changes nothing."""
        response = answer.response
        self._has_failed = answer.is_error
        if answer.is_error:
            return
        if answer.answer == "gated":
            self._tokens["$continue"] = self._tokens["$gate"] = str(response["gateToken"])
            self._refusal = "gated"
            self._stand_at(position_at(self._bench, self._tokens["$gate"]), self._tokens["$gate"])
        elif "resumeToken" in response:
            self._tokens["$resume"] = str(response["resumeToken"])
            self._refresh()
        elif isinstance(response.get("candidates"), list):
            candidates: Any = response["candidates"]
            self._tokens |= {"$resume": candidates[0]["resumeToken"]} if candidates else {}
        elif answer.answer == "complete":
            self._is_complete = True
            self._refresh()
        elif isinstance(response.get("continueToken"), str):
            self._advance_to(response)

    def _advance_to(self, response: dict[str, Any]) -> None:
        there, here = position_at(self._bench, response["continueToken"]), self._position
        if here is not None and there.node.created_index < here.node.created_index:
            self._refresh()
            return
        self._stand_at(there, response["continueToken"])
        self._keep_tokens(response)
        if there.node.kind == "blocked_attempt":
            is_new = here is None or there.node.node_id != here.node.node_id
            self._attempt += is_new
            self._refusal = "blocked" if response.get("retryable", self._refusal == "blocked") else "terminal"
        elif here is None or there.node.node_id != here.node.node_id:
            self._arrive(there, response["continueToken"])

    def _move_to(self, answer: Exchange) -> None:
        """Go on from the node of a rehydrate, even if it lies in the past."""
        response: dict[str, Any] = answer.response
        if not isinstance(response.get("continueToken"), str):  # nothing is pending there
            return
        there = position_at(self._bench, response["continueToken"])
        self._is_complete = False
        self._stand_at(there, response["continueToken"])
        self._keep_tokens(response)
        if there.node.kind == "blocked_attempt":
            self._attempt += 1
            self._refusal = "blocked"
        elif self._arrived_at is not None and there.node.node_id == self._arrived_at.node.node_id:
            self._attempt += 1
            self._refusal = None
        else:
            self._arrive(there, response["continueToken"])

    def _arrive(self, there: Position, token: str) -> None:
        assert there.instance is not None
        self._arrived_at = there
        self._arrivals[there.instance.step_id] += 1
        self._step_tokens[there.instance.step_id] = token
        self._attempt = 1
        self._refusal = None

    def _keep_tokens(self, response: dict[str, Any]) -> None:
        self._tokens["$continue"] = response.get("retryContinueToken") or response["continueToken"]
        self._tokens["$checkpoint"] = response["checkpointToken"]

    def _refresh(self) -> None:
        """The log may have grown without the run moving."""
        if self._position is None:
            return
        token = self._tokens["$continue"]
        is_known = self._position is self._refreshed and token == self._refreshed_by
        if is_known and log_size(self._bench, self._position.place) == len(self._position.events):
            return
        self._stand_at(position_at(self._bench, token), token)

    def _stand_at(self, position: Position, token: str) -> None:
        """Be at a node as it was just found by a token; it is looked up again once the log has grown."""
        self._position = self._refreshed = position
        self._refreshed_by = token

    def _current_position(self) -> Position:
        assert self._position is not None, "a run has no position before its start"
        return self._position

    def _view(self) -> StepView:
        # A person may have said something since the last answer.
        self._refresh()
        position = self._current_position()
        assert position.instance is not None
        return StepView(
            self._program,
            self._profile,
            position.preferences,
            position.state,
            position.instance,
            position.context,
            position.earlier,
            self._arrivals[position.instance.step_id],
            self._attempt,
            # Where nothing an agent does can help, a failed call on top of it makes no difference.
            "error" if self._has_failed and self._refusal not in ("terminal", "gated") else self._refusal,
            self._bench.exchanges[-1].response,
        )

    # ---------------------------------------------------------------------------------------------------- the end

    def _transcript(self) -> Transcript:
        exchanges = tuple(self._bench.exchanges)
        if self._position is None:
            final = empty_projection("error")
        else:
            status = "error" if self._has_failed else "gated" if self._refusal == "gated" else None
            blockers = list[Json](exchanges[-1].blockers)
            trace = self._history.last_trace if self._is_complete else ()
            final = final_projection(
                self._bench, self._position.place, blockers, trace, None if self._is_complete else status
            )
        return Transcript(
            self._program.ir["workflowId"],
            self._program.workflow_hash,
            self._profile.name,
            self._setup.preferences.autonomy,
            self._program.ir,
            exchanges,
            tuple(self._history.attempts),
            final,
            tuple(self._history.choices),
            self._engine_defects(exchanges),
            tuple(self._actions),
            self._history.skipped,
            self._history.left_out,
        )

    def _engine_defects(self, exchanges: tuple[Exchange, ...]) -> tuple[EngineDefectMark, ...]:
        match self._profile.engine_defects:
            case "mark":
                log = () if self._position is None else self._position.events
                return mark_engine_defects(self._program.index, exchanges, self._sizes, log)
            case "ignore":
                return ()


def garbled(token: str) -> str:
    """Return a token with its last character changed."""
    return token[:-1] + ("A" if token[-1] != "A" else "B")
