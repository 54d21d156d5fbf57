"""Bugs planted in the engine, to find out whether the search for broken promises finds them.

Each is a patch of one or two functions, in force while its context is open. The engine on disk stays sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

import pytest
from changed import replace
from msgspec import structs

from pytest_workrail.engine.core import interpreter, loops, prompts, skipped
from pytest_workrail.engine.core.loops import Decided, NotFound
from pytest_workrail.engine.core.modes import DEFAULT_PREFERENCES, Block, Proceed
from pytest_workrail.engine.core.profiles import RewindContext
from pytest_workrail.engine.core.state import Running
from pytest_workrail.engine.model.events import ContextSetData
from pytest_workrail.engine.model.ids import AttemptId
from pytest_workrail.engine.model.places import CompletedKeys
from pytest_workrail.engine.model.reasons import FollowupRequired, MissingNotes, Reason
from pytest_workrail.engine.model.snapshot import BlockedState
from pytest_workrail.engine.projections import dag, lineage
from pytest_workrail.engine.protocol import (
    advance,
    advance_outcome,
    engine,
    recording,
    rehydrate,
    responses,
    sessions,
    step_response,
)
from pytest_workrail.engine.protocol import (
    rehydrate as replay,
)
from pytest_workrail.engine.protocol import (
    requests as context,
)
from pytest_workrail.engine.protocol import (
    sessions as writer,
)
from pytest_workrail.engine.protocol import (
    step_response as blocked_response,
)
from pytest_workrail.engine.tokens import issuer
from pytest_workrail.engine.tokens.issuer import ContinueGrant
from pytest_workrail.run import history as run_position
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.compile import compile_workflow

GUIDED, STOPS, NEVER = "guided", "full_auto_stop_on_user_deps", "full_auto_never_stop"

Patch = tuple[Any, str, Any]


@dataclass(frozen=True)
class Planted:
    """A bug: what is wrong, its kind, where it shows, and how it is put in."""

    name: str
    kind: str
    make: Callable[[], list[Patch]]
    workflow: str = "decision"
    profile: str = "reference"
    mode: str = GUIDED

    @contextmanager
    def planted(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patches:
            for target, name, value in self.make():
                patches.setattr(target, name, value)
            yield


# Objects whose ids are remembered: as long as they are here, no other object gets the same id.
KEPT: list[Any] = []


def _session_of(events: Any) -> int:
    """Something that is one within a run and another in the next, although all ids are the same there."""
    KEPT.append(events[0])
    return id(events[0])


# ---------------------------------------------------------------------------------------------------------- workflows


def _step(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "title": name.title(), "prompt": f"Do {name}. Tell what you did.", **more}


def _workflow(name: str, steps: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"id": name, "name": name, "description": "For the search.", "version": "1.0.0", "steps": steps, **more}


_LOOP_CONTRACT = {"outputContract": {"contractRef": "wr.contracts.loop_control"}}
WORKFLOWS: dict[str, dict[str, Any]] = {
    "decision": _workflow(
        "decision",
        [
            _step("plan"),
            {
                "id": "rounds",
                "type": "loop",
                "title": "Rounds",
                "loop": {
                    "type": "while",
                    "conditionSource": {
                        "kind": "artifact_contract",
                        "contractRef": "wr.contracts.loop_control",
                        "loopId": "rounds",
                    },
                    "maxIterations": 3,
                },
                "body": [_step("work"), _step("decide", **_LOOP_CONTRACT)],
            },
            _step("ship", runCondition={"var": "size", "equals": "large"}),
            _step("close"),
        ],
    ),
    "assessed": _workflow(
        "assessed",
        [
            _step("draft"),
            _step(
                "judge",
                assessmentRefs=["quality"],
                assessmentConsequences=[
                    {
                        "when": {"anyEqualsLevel": "low"},
                        "effect": {"kind": "require_followup", "guidance": "Look again at the weak parts."},
                    }
                ],
            ),
            _step("close"),
        ],
        assessments=[
            {
                "id": "quality",
                "purpose": "How good it is.",
                "dimensions": [
                    {"id": "depth", "purpose": "How deep.", "levels": ["low", "high"]},
                    {"id": "width", "purpose": "How wide.", "levels": ["low", "high"]},
                ],
            }
        ],
    ),
    "conditions": _workflow(
        "conditions",
        [
            _step("ask"),
            _step("early", runCondition={"var": "mode", "equals": "early"}),
            {
                "id": "passes",
                "type": "loop",
                "title": "Passes",
                "loop": {
                    "type": "until",
                    "condition": {"var": "ready", "equals": True},
                    "maxIterations": 3,
                    "iterationVar": "pass",
                },
                "body": [
                    _step("prepare", runCondition={"var": "mode", "equals": "careful"}),
                    _step("try"),
                    _step("again", runCondition={"var": "pass", "gt": 1}),
                ],
            },
            _step("close"),
        ],
    ),
    "approval": _workflow("approval", [_step("plan"), _step("delete", requireConfirmation=True), _step("close")]),
    "long": _workflow(
        "long",
        [*(_step(f"step-{n}", runCondition={"var": f"v{n}", "equals": "on"}) for n in range(30)), _step("close")],
    ),
    "list": _workflow(
        "list",
        [
            _step("collect"),
            {
                "id": "each",
                "type": "loop",
                "title": "Each",
                "loop": {"type": "forEach", "items": "files", "maxIterations": 4},
                "body": [_step("visit"), _step("note")],
            },
            _step("close"),
        ],
    ),
}


@cache
def compiled(name: str) -> dict[str, Any]:
    made = compile_workflow(WORKFLOWS[name])
    assert isinstance(made, Ok), made.error
    return made.value.ir


# ---------------------------------------------------------------------------------------------------------------- state


def _forgotten_steps() -> list[Patch]:
    return [(CompletedKeys, "with_key", lambda self, key: self)]


def _after_completing(change: Callable[[Running], Running]) -> list[Patch]:
    sound = interpreter.Interpreter.complete

    def complete(self: Any, state: Any, step: Any) -> Any:
        done = sound(self, state, step)
        return Ok(change(done.value)) if isinstance(done, Ok) and isinstance(done.value, Running) else done

    return [(interpreter.Interpreter, "complete", complete)]


def _place_in_body_too_far() -> list[Patch]:
    def further(state: Running) -> Running:
        stack = tuple(frame.replaced(body_index=min(2, frame.body_index + 2)) for frame in state.loop_stack)
        return structs.replace(state, loop_stack=stack)

    return _after_completing(further)


def _lost_first_step() -> list[Patch]:
    def forgetful(state: Running) -> Running:
        if len(state.completed) < 3:
            return state
        return structs.replace(state, completed=CompletedKeys(list(state.completed)[1:]), progress=None)

    return _after_completing(forgetful)


def _state_after_log() -> list[Patch]:
    waiting: list[Any] = []
    sound = writer.SessionWriter.append

    def store(self: Any, snapshot: Any) -> Any:
        waiting.append(snapshot)
        return Ok(snapshot.ref)

    def append(self: Any, permit: Any, plan: Any) -> Any:
        written = sound(self, permit, plan)
        while waiting:
            self.snapshots.put(waiting.pop())
        return written

    return [(writer.SessionWriter, "store_snapshot", store), (writer.SessionWriter, "append", append)]


def _blocked_state_lost() -> list[Patch]:
    sound = writer.SessionWriter.store_snapshot

    def store(self: Any, snapshot: Any) -> Any:
        return Ok(snapshot.ref) if isinstance(snapshot.state, BlockedState) else sound(self, snapshot)

    return [(writer.SessionWriter, "store_snapshot", store)]


def _state_written_once_per_step() -> list[Patch]:
    """A cache of states that forgets which iteration it is in."""
    sound = recording.snapshot_for
    known: dict[Any, Any] = {}

    def cached(entry: Any, outcome: Any, profile: Any) -> Any:
        made = sound(entry, outcome, profile)
        step = made.pending_step
        if step is None or isinstance(made.state, BlockedState):
            return made
        return known.setdefault((_session_of(entry.position.events), step.step_id), made)

    return [(advance, "snapshot_for", cached)]


# --------------------------------------------------------------------------------------------------------------- replay


def _replay_of_today() -> list[Patch]:
    return [(sessions.Session, "as_of", lambda self, index: Ok(self))]


def _successor_by_chance() -> list[Patch]:
    numbers = count()
    return [(replay, "child_attempt", lambda attempt: AttemptId(f"{attempt[:-6]}{next(numbers):06d}"))]


def _carried_out_again() -> list[Patch]:
    asked: dict[Any, int] = {}
    sound = advance._recorded

    def recorded(session: Any, grant: Any) -> Any:
        key = (_session_of(session.truth.events), grant.place.node_id, grant.attempt_id)
        asked[key] = asked.get(key, 0) + 1
        # From the second call on, whoever asks is told that nothing is on record.
        return None if asked[key] > 3 else sound(session, grant)

    return [(advance, "_recorded", recorded)]


def _validation_told_once() -> list[Patch]:
    told: set[Any] = set()
    sound = replay.facts.validation

    def validation(events: Any, ref: Any) -> Any:
        key = (_session_of(events), ref)
        if key in told:
            return None
        told.add(key)
        return sound(events, ref)

    return [(replay.facts, "validation", validation)]


def _assessments_told_once() -> list[Patch]:
    told: set[Any] = set()
    sound = replay.facts.assessments

    def assessments(events: Any, node: Any) -> Any:
        key = (_session_of(events), node)
        if key in told:
            return ()
        told.add(key)
        return sound(events, node)

    return [(replay.facts, "assessments", assessments)]


def _replay_reads_new_answer() -> list[Patch]:
    """An advance on record is answered by what is submitted now: a block where nothing is submitted."""
    sound = advance.AdvanceHandler.run

    def run(self: Any, grant: Any, request: Any) -> Any:
        answer = sound(self, grant, request)
        if isinstance(answer, Ok) and not request.has_output and isinstance(answer.value, responses.Continued):
            return Ok(replace(answer.value, warnings=(responses.BindingDrift("slot", "a", "b"),)))
        return answer

    return [(advance.AdvanceHandler, "run", run)]


# ---------------------------------------------------------------------------------------------------------------- token


def _checkpoint_token_continues() -> list[Patch]:
    sound = issuer.TokenIssuer.resolve_continue

    def resolve(self: Any, text: str) -> Any:
        found = sound(self, text)
        if isinstance(found, Ok):
            return found
        marked = self.resolve_checkpoint(text)
        known = getattr(self, "_ref", None)
        if isinstance(marked, Err) or known is None:
            return found
        return Ok(ContinueGrant(marked.value.place, marked.value.attempt_id, known))

    made = issuer.TokenIssuer.continue_token

    def issue(self: Any, grant: Any, slot: Any = None) -> Any:
        self._ref = grant.workflow_ref
        return made(self, grant, slot)

    return [(issuer.TokenIssuer, "resolve_continue", resolve), (issuer.TokenIssuer, "continue_token", issue)]


def _garbled_token_taken() -> list[Patch]:
    sound = issuer.TokenIssuer.resolve_continue
    last: list[Any] = []

    def resolve(self: Any, text: str) -> Any:
        found = sound(self, text)
        if isinstance(found, Ok):
            last[:] = [found]
        return last[0] if isinstance(found, Err) and last and len(text) > 8 else found

    return [(issuer.TokenIssuer, "resolve_continue", resolve)]


def _looks_share_an_attempt() -> list[Patch]:
    sound = rehydrate.progress

    def progress(format_: Any, position: Any, attempt: Any, recovery_text: Any = None) -> Any:
        shared = AttemptId(f"attempt_{str(position.node.node_id)[-20:]}")
        return sound(format_, position, shared, recovery_text)

    return [(rehydrate, "progress", progress)]


def _token_of_parent() -> list[Patch]:
    sound = step_response.issue_tokens

    def issue(maker: Any, grant: Any) -> Any:
        known = getattr(maker, "_before", grant)
        maker._before = grant
        return sound(maker, grant if known.place.run_id != grant.place.run_id else known)

    return [(step_response, "issue_tokens", issue)]


def _token_dies_with_engine() -> list[Patch]:
    """An engine knows the tokens that it gave out itself, and no others."""
    sound, made = engine.Engine._continue, engine.Engine._answer

    def answer(self: Any, *arguments: Any) -> Any:
        given = made(self, *arguments)
        if isinstance(given, Ok):
            shown = given.value.to_json()
            known = self.__dict__.setdefault("_known", set())
            known |= {shown.get(name) for name in ("continueToken", "retryContinueToken", "gateToken")}
        return given

    def going_on(self: Any, request: Any) -> Any:
        if request.token not in self.__dict__.get("_known", set()) and request.token.startswith("ct_"):
            return Err(engine.token_error("TOKEN_UNKNOWN_NODE", "Not known here."))
        return sound(self, request)

    return [(engine.Engine, "_answer", answer), (engine.Engine, "_continue", going_on)]


def _retry_token_is_used_up() -> list[Patch]:
    sound = blocked_response.attempt_token

    def token(issuer: Any, position: Any, attempt: Any, slot: Any = None) -> Any:
        if slot == "retry":
            parent = position.run.nodes[position.node.parent]
            place = replace(position.place, node_id=parent.node_id)
            return issuer.continue_token(ContinueGrant(place, attempt, position.workflow_ref), slot)
        return sound(issuer, position, attempt, slot)

    return [(blocked_response, "attempt_token", token)]


# --------------------------------------------------------------------------------------------------------------- budget


def _notes_without_budget() -> list[Patch]:
    return [(recording, "stored_notes", lambda notes: notes or None)]


def _retry_budget_of_four() -> list[Patch]:
    return [(advance, "INTERACTIVE_ATTEMPTS", 4)]


def _no_retry_budget() -> list[Patch]:
    return [(advance, "INTERACTIVE_ATTEMPTS", 1_000)]


def _context_without_budget() -> list[Patch]:
    return [(context, "_size_problem", lambda value, tool: None)]


def _trace_without_budget() -> list[Patch]:
    return [(skipped, "MAX_TRACE_ENTRIES", 1_000), (skipped, "MAX_TRACE_TOTAL_BYTES", 10**9)]


def _recovery_without_budget() -> list[Patch]:
    """Each node of the way brings the whole story again."""
    sound = rehydrate.recovery_text

    def told(events: Any, run_id: Any, node: Any, **more: Any) -> str:
        text = sound(events, run_id, node, **more)
        return text * (1 + len(text) // 256)

    return [(rehydrate, "recovery_text", told)]


def _long_messages() -> list[Patch]:
    sound = recording.blocker_report

    def report(*arguments: Any, **named: Any) -> Any:
        made = sound(*arguments, **named)
        return tuple(structs.replace(each, message=each.message * 12) for each in made)

    return [(recording, "blocker_report", report)]


# ---------------------------------------------------------------------------------------------------------------- order


def _passed_over_for_good() -> list[Patch]:
    sound = interpreter._Search._top_level

    def top(self: Any) -> Any:
        before = self.open_steps
        found = sound(self)
        chosen = found.step_id if found is not None else (self.stack[-1].loop_id if self.stack else None)
        bit = self.plan.bits.get(chosen, 0)
        if bit:
            self.open_steps = before & ~(bit - 1)
            for step in self.plan.steps:
                if self.plan.bits[step.step_id] < bit and step.condition is not None:
                    self.completed = self.completed.with_key(step.step_id)
        return found

    return [(interpreter._Search, "_top_level", top)]


def _loop_plan(change: Callable[[Any], None]) -> list[Patch]:
    sound = loops.LoopPlan.__init__

    def init(self: Any, *arguments: Any, **named: Any) -> None:
        sound(self, *arguments, **named)
        change(self)

    return [(loops.LoopPlan, "__init__", init)]


def _limit_too_high() -> list[Patch]:
    return _loop_plan(lambda plan: setattr(plan, "max_iterations", plan.max_iterations + 1))


def _limit_too_low() -> list[Patch]:
    return _loop_plan(lambda plan: setattr(plan, "max_iterations", plan.max_iterations - 1))


def _until_is_while() -> list[Patch]:
    return _loop_plan(lambda plan: setattr(plan, "kind", "while"))


def _loop_variables_lost() -> list[Patch]:
    return [(loops.LoopPlan, "project", lambda self, iteration, given: dict(given))]


def _first_decision_counts() -> list[Patch]:
    sound = loops.read_loop_control
    return [(loops, "read_loop_control", lambda artifacts, *more: sound(tuple(artifacts)[:1], *more))]


def _stop_is_not_heard() -> list[Patch]:
    def deaf(artifacts: Any, pack: Any, loop_id: str, check: Any) -> Any:
        found = loops_read(artifacts, pack, loop_id, check)
        return NotFound("none") if isinstance(found, Decided) and not found.goes_on else found

    loops_read = loops.read_loop_control
    return [(loops, "read_loop_control", deaf)]


def _old_decisions_count() -> list[Patch]:
    def all_of_run(self: Any, position: Any, instance: Any) -> Any:
        found = lineage.Lineage(position.events, position.run, position.node.node_id).artifacts(lambda node: True)
        return Ok(tuple(found))

    return [(advance.AdvanceHandler, "_artifacts_of_iteration", all_of_run)]


def _body_begins_anew() -> list[Patch]:
    sound = loops.LoopKernel.move
    return [
        (loops.LoopKernel, "move", lambda self, frame, done: sound(self, frame.replaced(body_index=0), done)),
    ]


def _conditions_ignored_in_loops() -> list[Patch]:
    sound = loops.LoopKernel._eligible

    def eligible(self: Any, frame: Any, done: Any) -> Any:
        for index in range(frame.body_index, len(self._plan.body)):
            if not done(self._plan.body[index].step_id):
                return index
        return sound(self, frame, done)

    return [(loops.LoopKernel, "_eligible", eligible)]


def _list_loses_its_last() -> list[Patch]:
    sound = loops.LoopKernel._within_items

    def within(self: Any, iteration: int) -> Any:
        return sound(self, iteration + 1 if iteration else iteration)

    return [(loops.LoopKernel, "_within_items", within)]


# ------------------------------------------------------------------------------------------------------------------ gap


def _no_gaps() -> list[Patch]:
    return [(recording, "_gaps", lambda outcome, attempt: [])]


def _gaps_are_warnings() -> list[Patch]:
    sound = Reason.as_gap
    return [(Reason, "as_gap", lambda reason, severity="warning": sound(reason, "warning"))]


def _one_gap_is_enough() -> list[Patch]:
    sound = recording._gaps
    return [(recording, "_gaps", lambda outcome, attempt: sound(outcome, attempt)[:1])]


def _notes_are_never_missed() -> list[Patch]:
    sound = advance_outcome.decide

    def decide(reasons: Any, preferences: Any, profile: Any) -> Any:
        decision = sound(reasons, preferences, profile)
        missing = isinstance(decision, Block) and all(isinstance(each, MissingNotes) for each in decision.reasons)
        return Proceed((), ()) if missing else decision

    return [(advance_outcome, "decide", decide)]


def _followups_are_passed() -> list[Patch]:
    sound = advance_outcome.decide

    def decide(reasons: Any, preferences: Any, profile: Any) -> Any:
        return sound([each for each in reasons if not isinstance(each, FollowupRequired)], preferences, profile)

    return [(advance_outcome, "decide", decide)]


def _gaps_where_it_stops() -> list[Patch]:
    sound = advance_outcome.decide

    def decide(reasons: Any, preferences: Any, profile: Any) -> Any:
        return Proceed(tuple(reasons), ()) if len(reasons) > 1 else sound(reasons, preferences, profile)

    return [(advance_outcome, "decide", decide)]


# ----------------------------------------------------------------------------------------------------------------- fork


def _other_branches_count() -> list[Patch]:
    sound = lineage.node_context

    def everywhere(events: Any, run: Any, node: Any, choice: Any) -> Any:
        return sound(events, run, node, RewindContext.RUN)

    return [(sessions, "node_context", everywhere), (run_position, "node_context", everywhere)]


def _blocks_of_all_branches() -> list[Patch]:
    def chain(self: Any, node: Any) -> int:
        blocked = sum(each.kind == "blocked_attempt" for each in self.nodes.values())
        return blocked if self.nodes[node].kind == "blocked_attempt" else 0

    return [(dag.Run, "blocked_chain", chain)]


def _fork_at_the_tip() -> list[Patch]:
    """A fork goes on with the state of the newest node, not of the one it starts from."""
    sound = advance.open_node

    def opened(loader: Any, session: Any, run: Any, node: Any) -> Any:
        tip = run.nodes[run.preferred_tip] if run.preferred_tip is not None else node
        found = sound(loader, session, run, node)
        newest = sound(loader, session, run, tip)
        if isinstance(found, Err) or isinstance(newest, Err) or tip.kind != "step" or newest.value.snapshot.is_complete:
            return found
        return Ok(replace(found.value, snapshot=newest.value.snapshot))

    return [(advance, "open_node", opened)]


def _old_nodes_are_closed() -> list[Patch]:
    sound = advance._refusal

    def refusal(position: Any, autonomous: bool) -> Any:
        if not position.run.is_tip(position.node.node_id) and len(position.run.children(position.node.node_id)) > 1:
            return advance.token_error("TOKEN_UNKNOWN_NODE", "This branch is closed.")
        return sound(position, autonomous)

    return [(advance, "_refusal", refusal)]


# -------------------------------------------------------------------------------------------------------------- context


def _null_stays() -> list[Patch]:
    def kept(stored: Any, delta: Any) -> dict[str, Any]:
        return {**(stored or {}), **{name: value for name, value in (delta or {}).items() if value is not None}}

    return [(advance, "merged", kept)]


def _context_replaced() -> list[Patch]:
    sound = context.merged
    return [(advance, "merged", lambda stored, delta: sound({} if delta else stored, delta))]


def _falsy_removes() -> list[Patch]:
    def dropped(stored: Any, delta: Any) -> dict[str, Any]:
        both = {**(stored or {}), **(delta or {})}
        return {name: value for name, value in both.items() if value}

    return [(advance, "merged", dropped)]


def _context_lost_without_change() -> list[Patch]:
    sound = recording._context

    def stored(entry: Any) -> Any:
        made = sound(entry)
        if made is not None:
            return made
        ident = recording.keys.context_id(entry.attempt)
        return ContextSetData(context_id=ident, context={}, source="agent_delta")

    return [(recording, "_context", stored)]


def _first_value_stays() -> list[Patch]:
    def kept(stored: Any, delta: Any) -> dict[str, Any]:
        old = dict(stored or {})
        for name, value in (delta or {}).items():
            if value is None:
                old.pop(name, None)
            else:
                old.setdefault(name, value)
        return old

    return [(advance, "merged", kept)]


# ---------------------------------------------------------------------------------------- looking, refusing, going on


def _look_writes() -> list[Patch]:
    sound = engine.Engine._rehydrate

    def look(self: Any, place: Any, ref: Any, request: Any) -> Any:
        self.operator.prefer(place, DEFAULT_PREFERENCES)
        return sound(self, place, ref, request)

    return [(engine.Engine, "_rehydrate", look)]


def _refusal_writes() -> list[Patch]:
    sound = advance.AdvanceHandler.run

    def run(self: Any, grant: Any, request: Any) -> Any:
        answer = sound(self, grant, request)
        if isinstance(answer, Err):
            engine.Operator(self.writer).prefer(grant.place, DEFAULT_PREFERENCES)
        return answer

    return [(advance.AdvanceHandler, "run", run)]


def _checkpoint_forgets() -> list[Patch]:
    """Asking where to resume marks the session."""
    sound = engine.Engine.resume_session

    def resume_session(self: Any, request: Any) -> Any:
        answer = sound(self, request)
        entries = self.home.stores.sessions.list_sessions().value
        for entry in entries:
            found = self.session(entry.session_id).value
            for run_id, run in found.runs.items():
                self.operator.prefer(
                    issuer.NodeAddress(entry.session_id, run_id, run.preferred_tip), DEFAULT_PREFERENCES
                )
        return answer

    return [(engine.Engine, "resume_session", resume_session)]


def _next_call_ignores_retry() -> list[Patch]:
    def token(self: Any, retry: Any = None) -> Any:
        return None if retry is not None else (None if self.tokens is None else self.tokens.continue_token)

    return [(responses.Progress, "next_token", token)]


def _two_blockers_no_retry() -> list[Patch]:
    sound = replay.blocked_response

    def blocked(*arguments: Any) -> Any:
        made = sound(*arguments)
        several = isinstance(made, Ok) and len(made.value.blockers) > 1
        return Ok(replace(made.value, retry_token=None)) if several else made

    return [(replay, "blocked_response", blocked)]


def _followup_is_final() -> list[Patch]:
    return [(FollowupRequired, "is_retryable", False)]


def _second_engine_forgets_notes_rule() -> list[Patch]:
    """A renderer that tells what to submit only once in its life."""
    sound = prompts.PromptRenderer.render
    told: set[int] = set()

    def render(self: Any, instance: Any, situation: Any) -> Any:
        shown = sound(self, instance, situation)
        if id(self) in told:
            return replace(shown, prompt=shown.prompt + "\n\nAs before.")
        told.add(id(self))
        KEPT.append(self)
        return shown

    return [(prompts.PromptRenderer, "render", render)]


def _answer_counts_calls() -> list[Patch]:
    numbers = count()
    sound = step_response.progress

    def progress(*arguments: Any, **named: Any) -> Any:
        made = sound(*arguments, **named)
        if isinstance(made, Ok) and made.value.pending is not None and next(numbers) % 50 == 49:
            pending = replace(made.value.pending, title=made.value.pending.title + "!")
            return Ok(replace(made.value, pending=pending))
        return made

    return [(replay, "progress", progress), (rehydrate, "progress", progress)]


PLANTED: tuple[Planted, ...] = (
    Planted("completed steps are forgotten", "state", _forgotten_steps),
    Planted("the place in a loop is one step too far", "state", _place_in_body_too_far),
    Planted("the first completed step is lost", "state", _lost_first_step),
    Planted("the state is stored after the log", "state", _state_after_log),
    Planted("the state of a block is not stored", "state", _blocked_state_lost),
    Planted("one state for all iterations of a step", "state", _state_written_once_per_step),
    Planted("a replay is rendered from today's log", "replay", _replay_of_today, "list"),
    Planted("the successor token is drawn by chance", "replay", _successor_by_chance),
    Planted("a repeated call is carried out again", "replay", _carried_out_again),
    Planted("validation issues are told once", "replay", _validation_told_once, "assessed"),
    Planted("assessments are told once", "replay", _assessments_told_once, "assessed"),
    Planted("a replay looks at what is submitted now", "replay", _replay_reads_new_answer),
    Planted("a checkpoint token continues", "token", _checkpoint_token_continues),
    Planted("a garbled token is taken for the last one", "token", _garbled_token_taken),
    Planted("all looks at a node share one attempt", "token", _looks_share_an_attempt),
    Planted("the token of the node before is given out", "token", _token_of_parent),
    Planted("tokens die with the engine that gave them out", "token", _token_dies_with_engine),
    Planted("the retry token belongs to the node above", "token", _retry_token_is_used_up),
    Planted("notes are stored without their budget", "budget", _notes_without_budget),
    Planted("four attempts instead of ten", "budget", _retry_budget_of_four),
    Planted("attempts without end", "budget", _no_retry_budget),
    Planted("context without its budget", "budget", _context_without_budget, "approval"),
    Planted("a trace without its budget", "budget", _trace_without_budget, "long"),
    Planted("recovery text without its budget", "budget", _recovery_without_budget, "list"),
    Planted("what is passed over never comes back", "order", _passed_over_for_good, "conditions"),
    Planted("one iteration too many", "order", _limit_too_high),
    Planted("one iteration too few", "order", _limit_too_low),
    Planted("until is while", "order", _until_is_while, "conditions"),
    Planted("loop variables are not seen by conditions", "order", _loop_variables_lost, "conditions"),
    Planted("the first of several decisions counts", "order", _first_decision_counts, profile="locked"),
    Planted("nobody hears a stop", "order", _stop_is_not_heard),
    Planted("decisions of earlier iterations count", "order", _old_decisions_count, profile="locked"),
    Planted("a body begins anew after each step", "order", _body_begins_anew, "conditions"),
    Planted("conditions inside of loops are ignored", "order", _conditions_ignored_in_loops, "conditions"),
    Planted("the last element of a list is left out", "order", _list_loses_its_last, "list"),
    Planted("no gap is recorded", "gap", _no_gaps, mode=NEVER),
    Planted("gaps are only warnings", "gap", _gaps_are_warnings, mode=NEVER),
    Planted("only the first gap is recorded", "gap", _one_gap_is_enough, "assessed", mode=NEVER),
    Planted("missing notes do not matter", "gap", _notes_are_never_missed),
    Planted("follow-ups are passed over", "gap", _followups_are_passed, "assessed"),
    Planted("two reasons to stop are none", "gap", _gaps_where_it_stops, "assessed"),
    Planted("context of other branches counts", "fork", _other_branches_count, profile="locked"),
    Planted("blocks of all branches count", "fork", _blocks_of_all_branches),
    Planted("a fork goes on with the newest state", "fork", _fork_at_the_tip),
    Planted("a node with two branches is closed", "fork", _old_nodes_are_closed),
    Planted("null does not remove a variable", "context", _null_stays),
    Planted("a change replaces the context", "context", _context_replaced),
    Planted("false and zero remove a variable", "context", _falsy_removes),
    Planted("a step without a change clears the context", "context", _context_lost_without_change),
    Planted("the first value of a variable stays", "context", _first_value_stays),
    Planted("a look writes", "look", _look_writes),
    Planted("a refused call writes", "look", _refusal_writes),
    Planted("asking what to resume writes", "look", _checkpoint_forgets),
    Planted("a block prints no next call", "goes-on", _next_call_ignores_retry),
    Planted("two blockers can't be retried", "recoverable", _two_blockers_no_retry, "assessed"),
    Planted("a follow-up is final", "recoverable", _followup_is_final, "assessed"),
    Planted("a prompt changes with the life of the engine", "same", _second_engine_forgets_notes_rule),
    Planted("an answer counts the calls before it", "same", _answer_counts_calls),
)
