"""The promises of the engine about every call, checked after each turn of a hostile run.

The oracle repeats the run in a second world; the promises compare what both answered and stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from pytest_workrail.agents.agent import Exchange
from pytest_workrail.engine.core.conditions import is_met
from pytest_workrail.engine.core.index import LOOP_CONTROL_KIND, contract_packs
from pytest_workrail.engine.core.loops import body_of
from pytest_workrail.engine.core.outputs import Submission
from pytest_workrail.engine.core.profiles import (
    Profile,
)
from pytest_workrail.engine.model.events import (
    ContextSet,
    DecisionTraceAppended,
    Event,
    GapRecorded,
    NodeCreated,
    NodeOutputAppended,
    NotesPayload,
)
from pytest_workrail.engine.model.ids import NodeId
from pytest_workrail.engine.model.reasons import (
    FollowupRequired,
    InvalidRequiredOutput,
    MissingNotes,
    MissingRequiredOutput,
)
from pytest_workrail.engine.model.words import (
    MAX_BLOCKER_MESSAGE_BYTES,
    MAX_BLOCKER_SUGGESTED_FIX_BYTES,
    MAX_BLOCKERS,
    Preferences,
)
from pytest_workrail.engine.tokens.issuer import NodeAddress
from pytest_workrail.explore.hostile_world import CallRecord, World
from pytest_workrail.run.history import Position, position_of
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.js import Json, is_number, json_text
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.model.ir import (
    CountSource,
    ItemsSource,
    LoopArtifact,
    LoopCondition,
    NoSource,
    Program,
    ProgramStep,
    RepeatingStep,
)
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.scenario_words import ErrorCode

# What is promised, in the words of a report.
PROMISES: dict[str, str] = {
    "total": "every call gets an answer or an error of the closed set, never an internal one",
    "refused-changes-nothing": "a call that is refused writes nothing",
    "look-changes-nothing": "looking at a run writes nothing",
    "replay": "an advance that is on record gets its first answer again, byte for byte, and writes nothing",
    "context": "a step that is accepted changes the context as it says, and nothing else does",
    "order": "steps come in the order of the workflow, none of them twice",
    "fork": "what a node shows does not change because of other branches",
    "gaps": "what a run continues without is on record, and nothing else is",
    "goes-on": "every answer that does not end the run says how to continue, and that works",
    "recoverable": "a block by what was submitted can be retried, as often as the budget says",
    "ends": "right answers lead to the end, and a loop is left at its limit",
    "budget": "no answer and no record exceeds its budget",
    "healthy": "the session can be loaded after every call",
    "same": "the same turns give the same answers, also with a restart before each of them",
    "profiles": "both profiles agree where they have no choice",
}
# The budgets as the protocol states them, written down here once more.
_NOTES_BYTES, _CONTEXT_BYTES, _TRACE_ENTRIES = 4096, 262_144, 25
_RECOVERY_BYTES = {"oldest_first_24k": 24_576, "newest_first_12k": 12_288}
INTERACTIVE_ATTEMPTS, AUTONOMOUS_ATTEMPTS = 10, 3
_RECOVERY = "## Recovery Context"
_CODES = frozenset(code.value for code in ErrorCode)
# Blockers about what was submitted: submitting something else helps.
_SUBMITTED = {reason.code for reason in (MissingRequiredOutput, InvalidRequiredOutput, MissingNotes, FollowupRequired)}
_LOOKS = frozenset({"list_workflows", "inspect_workflow", "resume_session"})


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: steps done with their iteration (0 outside of loops), loops left, and what is pending.

    `inside` is the loop under way, `iteration` and `index` where in it; `pending` is None when the run is over.
    """

    done: frozenset[tuple[str, int]] = frozenset()
    inside: str | None = None
    iteration: int = 0
    index: int = 0
    pending: str | None = None


class Oracle:
    """Answers for one IR under one profile."""

    def __init__(self, program: Program, profile: Profile) -> None:
        self._steps = program.steps
        self._loops = {loop.id: loop for loop in program.loops}
        self._packs = contract_packs(program)
        self._profile = profile

    def following(
        self, before: Progress, context: Mapping[str, Any], artifacts: Sequence[Json], never_stop: bool
    ) -> Progress | None:
        """Return where a run is once its pending step is done; None where it can't go on like this."""
        done = before.done
        if before.pending is not None:
            done |= {(before.pending, before.iteration if before.inside is not None else 0)}
        return self._search(replace(before, done=done, pending=None), context, artifacts, never_stop)

    def _search(
        self, at: Progress, context: Mapping[str, Any], artifacts: Sequence[Json], never_stop: bool
    ) -> Progress | None:
        while True:
            if at.inside is None:
                step = self._first_open(at, context)
                if step is None:
                    return replace(at, pending=None)
                if step.type != "loop":
                    return replace(at, pending=step.id)
                at = replace(at, inside=step.id, iteration=0, index=0)
            moved = self._in_loop(self._loops[at.inside or ""], at, context, artifacts, never_stop)
            if moved is None or moved.pending is not None:
                return moved
            at = moved

    def _first_open(self, at: Progress, context: Mapping[str, Any]) -> ProgramStep | None:
        for step in self._steps:
            if (step.id, 0) not in at.done and is_met(step.run_condition, context):
                return step
        return None

    def _in_loop(
        self,
        loop: RepeatingStep,
        at: Progress,
        context: Mapping[str, Any],
        artifacts: Sequence[Json],
        never_stop: bool,
    ) -> Progress | None:
        left = replace(at, done=at.done | {(loop.id, 0)}, inside=None, iteration=0, index=0)
        goes_on = self._goes_on(loop, at.iteration, context, artifacts, decides=False)
        if goes_on is None:
            return left if self._may_be_left_unset(loop, context) else None
        if not goes_on:
            return left
        variables = {**context, **_variables(loop, at.iteration, context)}
        for index, step in enumerate(body_of(loop, self._profile)):
            is_open = index >= at.index and (step.id, at.iteration) not in at.done
            if step.is_gate and self._decision(loop.id, artifacts) is not None:
                continue  # it only asks for what is not decided yet
            if is_open and is_met(step.run_condition, variables):
                return replace(at, index=index, pending=step.id)
        following = at.iteration + 1
        is_last = following >= loop.loop.max_iterations
        if is_last and self._profile.loop_limit == "exit":
            return left
        goes_on = self._goes_on(loop, following, context, artifacts, decides=True)
        if goes_on is None:
            # A missing decision is passed over by a run that never stops; a variable only where it is asked for.
            is_passed = never_stop and loop.loop.source.kind == "artifact"
            return left if is_passed or self._may_be_left_unset(loop, context) else None
        if not goes_on:
            return left
        if is_last:
            return left if never_stop else None
        return replace(at, iteration=following, index=0)

    def _may_be_left_unset(self, loop: RepeatingStep, context: Mapping[str, Any]) -> bool:
        """Return whether a loop is passed over once its variable was asked for, or by a run that asks nobody."""
        name = loop.loop_variable
        return name is not None and name not in context and self._profile.loop_variable == "ask"

    def _goes_on(
        self,
        loop: RepeatingStep,
        iteration: int,
        context: Mapping[str, Any],
        artifacts: Sequence[Json],
        *,
        decides: bool,
    ) -> bool | None:
        """Return whether a loop has this iteration; None where nobody can tell."""
        match loop.loop.source:
            case CountSource(count=count, variable=variable):
                limit: Any = count if count is not None else context.get(variable or "")
                return iteration < limit if is_number(limit) else None
            case ItemsSource(variable=variable):
                items = context.get(variable)
                return iteration < len(items) if isinstance(items, list) else None
            case LoopCondition(condition=condition):
                holds = is_met(condition, {**context, **_variables(loop, iteration, context)})
                return holds is (loop.loop.kind != "until")
            case LoopArtifact():
                decision = self._decision(loop.id, artifacts)
                if decision is not None:
                    return decision == "continue"
                return None if decides and self._profile.loop_decision == "require" else True
            case NoSource():
                return None

    def _decision(self, loop_id: str, artifacts: Sequence[Json]) -> str | None:
        """Return what the last artifact says that decides about a loop."""
        named = self._profile.loop_id == "match"
        for artifact in reversed(artifacts):
            if isinstance(artifact, dict) and artifact.get("kind") == LOOP_CONTROL_KIND:
                is_meant = not named or artifact.get("loopId") == loop_id
                if is_meant and not self._packs[LOOP_CONTROL].issues(artifact):
                    return str(artifact["decision"])
        return None


def _variables(loop: RepeatingStep, iteration: int, context: Mapping[str, Any]) -> dict[str, Any]:
    names = loop.loop.variables
    values: dict[str, Any] = {names.iteration: iteration + 1}
    items = context.get(loop.loop_variable or "") if loop.loop.source.kind == "items" else None
    if isinstance(items, list):
        values[names.item or ""] = items[iteration] if iteration < len(items) else None
        values[names.index_ or ""] = iteration
    return values


class BrokenPromise(Exception):  # noqa: N818 - a result of a search, not an error of ours
    """A promise that a run has broken, and how."""

    def __init__(self, promise: str, how: str) -> None:
        super().__init__(how)
        self.promise = promise
        self.how = how


@dataclass(frozen=True, slots=True)
class _KnownNode:
    """The expected state of a node, by our own account."""

    progress: Progress
    context: dict[str, Json]


class Promises:
    """Watches one run. `occasions` counts how often each promise could have been broken."""

    def __init__(self) -> None:
        self.occasions: dict[str, int] = {}
        self._nodes: dict[NodeId, _KnownNode] = {}
        self._run_context: dict[str, Json] = {}
        self._answers: dict[str, str] = {}
        self._shown: dict[tuple[NodeId, Preferences], str] = {}
        self._given: set[str] = set()
        # The output that each question on the way was asked about; an answer without one of its own is judged by it.
        self._questions: dict[NodeId, Submission] = {}
        self._oracle: Oracle | None = None

    # ------------------------------------------------------------------------------------------------ keeping track

    def started(self, world: World, exchange: Exchange, context: dict[str, Json]) -> None:
        self._oracle = Oracle(world.program.definition, world.profile)
        self._run_context = context
        position = world.position(str(exchange.response["continueToken"]))
        if position is None:
            raise BrokenPromise("healthy", "the node of the first answer can't be opened")
        progress = self._oracle.following(Progress(), context, (), world.preferences.never_stops)
        self._nodes[position.node.node_id] = _KnownNode(progress or Progress(), context)
        self._check_order(world, position, progress)
        self._check_context(position, context)
        self._going_on(world, exchange)
        self._stored_budgets(world.log())
        self._given |= _tokens(exchange.response)

    def refused(self, world: World, exchange: Exchange, context: dict[str, Json]) -> None:
        """A run that can't start: there has to be nothing to start with."""
        first = Oracle(world.program.definition, world.profile).following(
            Progress(), context, (), world.preferences.never_stops
        )
        can_start = first is not None and first.pending is not None
        self.expect("total", not can_start, f"start_workflow fails: {exchange.response['message']}")

    def called(self, world: World, record: CallRecord) -> None:
        """Everything that can be said about one call."""
        self._healthy(world)
        exchange = record.exchange
        if exchange is not None:
            self._total(record, exchange)
            self._known_token(record, exchange)
            self._nothing_written(record, exchange)
            self._replayed(record, exchange)
            if not exchange.is_error:
                self._budgets(world, exchange)
                self._going_on(world, exchange)
                self._recoverable(exchange)
                self._blocked_look(world, record, exchange)
        self._retries(world, record)
        self._stored_budgets(record.added)
        for event in record.added:
            if isinstance(event, NodeCreated):
                self._follow_node(world, record, event)
        self._unchanged_nodes(world, record)

    def _occasion(self, promise: str) -> None:
        self.occasions[promise] = self.occasions.get(promise, 0) + 1

    def expect(self, promise: str, holds: bool, how: str) -> None:
        self._occasion(promise)
        if not holds:
            raise BrokenPromise(promise, how)

    # ----------------------------------------------------------------------------------------------- about one call

    def _healthy(self, world: World) -> None:
        assert world.session_id is not None
        session = world.bench.engine.session(world.session_id)
        if isinstance(session, Err):
            raise BrokenPromise("healthy", f"the session can't be loaded any more: {session.error.message}")
        for run_id in session.value.runs:
            status = world.bench.engine.status(world.session_id, run_id)
            self.expect("healthy", isinstance(status, Ok), "the run has no status any more")

    def _total(self, record: CallRecord, exchange: Exchange) -> None:
        if not exchange.is_error:
            self._occasion("total")
            return
        code = exchange.response["code"]
        self.expect("total", code in _CODES, f"the error code {code} is not in the closed set")
        # The public engine, too, has no better word for an advance at a gate.
        at_gate = record.position is not None and record.position.node.kind == "gate_checkpoint"
        is_internal = code in ("INTERNAL_ERROR", "SESSION_NOT_HEALTHY") and not at_gate
        self.expect("total", not is_internal, f"{record.tool} fails: {exchange.response['message']}")
        self.expect("goes-on", code != "TOKEN_SESSION_LOCKED", "the session is locked although no one writes to it")

    def _known_token(self, record: CallRecord, exchange: Exchange) -> None:
        """Only tokens that were given out are taken, and whoever looks at a node gets one of its own."""
        token = record.request.get("continueToken")
        if isinstance(token, str) and not exchange.is_error:
            self.expect("total", token in self._given, "a token that was never given out is taken")
            fresh = exchange.response.get("continueToken")
            if record.request.get("intent") == "rehydrate" and isinstance(fresh, str):
                self.expect("goes-on", fresh not in self._answers, "rehydrating gives out a token that was used before")
        self._given |= _tokens(exchange.response)

    def _nothing_written(self, record: CallRecord, exchange: Exchange) -> None:
        is_look = record.tool in _LOOKS or record.request.get("intent") == "rehydrate"
        if exchange.is_error:
            self.expect("refused-changes-nothing", not record.added, f"a refused {record.tool} wrote to the log")
        elif is_look:
            self.expect("look-changes-nothing", not record.added, "rehydrating wrote to the log")

    def _replayed(self, record: CallRecord, exchange: Exchange) -> None:
        token = record.request.get("continueToken")
        if not record.is_advance or not isinstance(token, str) or exchange.response.get("code") == "VALIDATION_ERROR":
            return
        first, answer = self._answers.get(token), json_text(exchange.response)
        if first is None:
            if not exchange.is_error:
                self._answers[token] = answer
            return
        self.expect("replay", answer == first, "the same advance gets another answer than the first time")
        self.expect("replay", not record.added, "an advance that is on record was carried out again")

    def _budgets(self, world: World, exchange: Exchange) -> None:
        blockers = exchange.blockers
        self.expect("budget", len(blockers) <= MAX_BLOCKERS, f"an answer has {len(blockers)} blockers")
        for blocker in blockers:
            small = js.u8_length(blocker["message"]) <= MAX_BLOCKER_MESSAGE_BYTES
            self.expect("budget", small, "the message of a blocker is too long")
            fix = blocker.get("suggestedFix", "")
            self.expect("budget", js.u8_length(fix) <= MAX_BLOCKER_SUGGESTED_FIX_BYTES, "a suggested fix is too long")
        prompt = (exchange.pending or {}).get("prompt", "")
        _, heading, recovery = prompt.partition(_RECOVERY)
        if heading:
            limit = _RECOVERY_BYTES[world.profile.recap]
            self.expect("budget", js.u8_length(heading + recovery) <= limit, "the recovery text exceeds its budget")

    def _stored_budgets(self, added: tuple[Event, ...]) -> None:
        for event in added:
            if isinstance(event, NodeOutputAppended) and isinstance(event.data.payload, NotesPayload):
                size = js.u8_length(event.data.payload.notes_markdown)
                self.expect("budget", size <= _NOTES_BYTES, f"notes of {size} bytes are stored")
            elif isinstance(event, ContextSet):
                size = len(canonical_bytes(event.data.context))
                self.expect("budget", size <= _CONTEXT_BYTES, f"a context of {size} bytes is stored")
            elif isinstance(event, DecisionTraceAppended):
                self.expect("budget", len(event.data.entries) <= _TRACE_ENTRIES, "a trace has too many entries")

    def _going_on(self, world: World, exchange: Exchange) -> None:
        if exchange.step is None:
            return
        call: Any = exchange.response.get("nextCall")
        if call is None:
            is_final = bool(exchange.blockers) and not exchange.response.get("retryable", False)
            self.expect("goes-on", is_final, "an answer with a pending step prints no next call")
            return
        position = world.position(call["params"].get("continueToken"))
        self.expect("goes-on", position is not None, "the token of the printed next call is not known")
        assert position is not None
        step = None if position.instance is None else position.instance.step_id
        self.expect("goes-on", step == exchange.step, "the printed next call is about another step")
        if exchange.blockers:
            is_block = position.node.kind == "blocked_attempt"
            self.expect("goes-on", is_block, "the printed next call after a block does not start from the block")

    def _blocked_look(self, world: World, record: CallRecord, exchange: Exchange) -> None:
        """Someone who looks at a node that is blocked for good has to learn so."""
        at = record.position
        if at is None or record.request.get("intent") != "rehydrate" or at.node.kind != "blocked_attempt":
            return
        if world.is_final_block(at):
            self.expect("goes-on", bool(exchange.blockers), "rehydrating a final block does not show the block")

    def _recoverable(self, exchange: Exchange) -> None:
        codes, response = set(exchange.codes), exchange.response
        if codes and codes <= _SUBMITTED:
            retryable = response.get("retryable") is True and isinstance(response.get("retryContinueToken"), str)
            self.expect("recoverable", retryable, f"a block by {', '.join(sorted(codes))} can't be retried")

    def _retries(self, world: World, record: CallRecord) -> None:
        at = record.position
        if at is None or not record.is_advance or at.node.kind != "blocked_attempt":
            return
        chain = self.failed_attempts(at)
        autonomous = at.context.get("is_autonomous") in (True, "true")
        budget = AUTONOMOUS_ATTEMPTS if autonomous else INTERACTIVE_ATTEMPTS
        self.expect("recoverable", not record.added or chain < budget, f"attempt {chain + 1} in a row was taken")
        refused = record.exchange is not None and record.exchange.response.get("code") == "PRECONDITION_FAILED"
        # A loop whose variable is missing is refused in the same way.
        is_about_loop = any(loop.loop_variable is not None for loop in world.program.definition.loops)
        if refused and not is_about_loop:
            self.expect("recoverable", chain >= budget, f"attempt {chain + 1} in a row was refused")

    def failed_attempts(self, at: Position) -> int:
        """Return how many attempts in a row have failed, from a node upwards; a question is not one of them."""
        return sum(node_id not in self._questions for node_id in _blocked_attempts(at))

    def _judged_output(self, record: CallRecord) -> Submission:
        """Return the output by which an advance is judged: its own, or that of the question it only answers."""
        output: Any = record.request.get("output") or {}
        submission = Submission(output.get("notesMarkdown"), tuple(output.get("artifacts", ())))
        if submission != Submission() or record.position is None:
            return submission
        asked = (self._questions[each] for each in _blocked_attempts(record.position) if each in self._questions)
        return next(asked, submission)

    # ------------------------------------------------------------------------------------------------ about the run

    def _follow_node(self, world: World, record: CallRecord, event: NodeCreated) -> None:
        node_id, parent = event.scope.node_id, event.data.parent_node_id
        known = None if parent is None else self._nodes.get(parent)
        if known is None:
            raise BrokenPromise("order", "a node follows from one that was never there")
        position = _opened(world, event)
        if position is None:
            raise BrokenPromise("healthy", "a node that was just made can't be opened")
        assert self._oracle is not None
        lineage = world.profile.rewind_context == "lineage"
        context = _changed(known.context if lineage else self._run_context, record.request.get("context"))
        if event.data.node_kind != "step":
            # What was submitted waits for the answer to a question; any other block keeps nothing of it.
            self._nodes[node_id] = known
            if world.is_question(position):
                self._nodes[node_id] = replace(known, context=context)
                self._questions[node_id] = self._judged_output(record)
            self._check_pending(world, position, known.progress)
            return
        self._run_context = context
        before = record.position
        artifacts = (*(before.earlier if before is not None else ()), *self._judged_output(record).artifacts)
        never_stop = (before.preferences if before is not None else world.preferences).never_stops
        progress = self._oracle.following(known.progress, context, artifacts, never_stop)
        self._nodes[node_id] = _KnownNode(progress or Progress(), context)
        self._check_order(world, position, progress)
        self._check_context(position, context)
        if before is not None:
            self._check_gaps(world, record, before)

    def _check_order(self, world: World, position: Position, progress: Progress | None) -> None:
        if progress is None:
            raise BrokenPromise("order", "the run continues although the workflow can't")
        self._check_pending(world, position, progress)

    def _check_pending(self, world: World, position: Position, progress: Progress) -> None:
        instance = position.instance
        step = None if instance is None else instance.step_id
        wanted = progress.pending
        how = f"step {step or 'none'} is pending, but {wanted or 'none'} comes next"
        self.expect("order", step == wanted, how)
        if instance is not None and instance.loop_path:
            at = instance.loop_path[-1]
            right = (at.loop_id, at.iteration) == (progress.inside, progress.iteration)
            self.expect("order", right, f"iteration {at.iteration + 1} of {at.loop_id} is under way too early or late")
        key = (step, progress.iteration if progress.inside is not None else 0)
        self.expect("order", key not in progress.done, f"step {step} comes up twice")

    def _check_context(self, position: Position, context: dict[str, Json]) -> None:
        same = js.deep_equal(position.context, context)
        self.expect("context", same, _context_difference(position.context, context))

    def _check_gaps(self, world: World, record: CallRecord, before: Position) -> None:
        """Whether what the step itself lacked is on record, in a run that goes on without it, or was not lacking."""
        view = world.view(before)
        if view is None:
            return
        given: Any = record.request.get("context")
        judged = world.program.validator.check(
            view.step, view.instance.loop_path, self._judged_output(record), view.merged(given)
        )
        lacking = len(judged.reasons())
        critical = [
            event.data for event in record.added if isinstance(event, GapRecorded) and event.data.severity == "critical"
        ]
        if not before.preferences.never_stops:
            self.expect("gaps", not lacking, "a step was accepted although something it asks for is missing")
            self.expect("gaps", not critical, "a gap was recorded in a run that stops")
        elif lacking:
            self.expect("gaps", len(critical) >= lacking, "the run continued without something, and no gap says so")

    def _unchanged_nodes(self, world: World, record: CallRecord) -> None:
        """Under lineage context a node that was seen once stays as it is, whatever happens on other branches."""
        if world.profile.rewind_context != "lineage" or record.exchange is None:
            return
        token = record.request.get("continueToken")
        if record.request.get("intent") != "rehydrate" or not isinstance(token, str) or record.exchange.is_error:
            return
        position = world.position(token)
        if position is None:
            return
        pending = record.exchange.pending or {}
        seen = {
            "step": pending.get("stepId"),
            "title": pending.get("title"),
            "prompt": str(pending.get("prompt", "")).partition(_RECOVERY)[0].rstrip(),
            "context": dict(sorted(position.context.items())),
        }
        text = json_text(seen)
        # A person may set other preferences at a node; then it says so.
        first = self._shown.setdefault((position.node.node_id, position.preferences), text)
        self.expect("fork", first == text, f"the node of step {seen['step']} shows something other than before")
        known = self._nodes.get(position.node.node_id)
        if known is not None:
            same = js.deep_equal(position.context, known.context)
            self.expect("fork", same, _context_difference(position.context, known.context))


def _opened(world: World, event: NodeCreated) -> Position | None:
    assert world.session_id is not None
    try:
        return position_of(world.bench, NodeAddress(world.session_id, event.scope.run_id, event.scope.node_id))
    except (AssertionError, KeyError):
        return None


def _tokens(response: Mapping[str, Any]) -> set[str]:
    """Return every token of an answer with which a run can be continued."""
    call = response.get("nextCall") or {}
    tokens = [response.get(name) for name in ("continueToken", "retryContinueToken", "gateToken", "resumeToken")]
    tokens.append(call.get("params", {}).get("continueToken"))
    tokens += [each.get("resumeToken") for each in response.get("candidates", ())]
    return {token for token in tokens if isinstance(token, str)}


def _blocked_attempts(at: Position) -> Iterator[NodeId]:
    """Yield the blocked attempts in a row that end at a node, the newest first."""
    upwards = at.run.upwards(at.node.node_id)
    return takewhile(lambda node_id: at.run.nodes[node_id].kind == "blocked_attempt", upwards)


def _context_difference(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    for name in sorted({*actual, *expected}):
        if name not in expected:
            return f"variable {name} is set, but no accepted step has set it"
        if name not in actual:
            return f"variable {name} is not set, but an accepted step has set it"
        if not js.deep_equal(actual[name], expected[name]):
            return f"variable {name} is {actual[name]!r}, expected {expected[name]!r}"
    return "the context is the same"


def _changed(context: Mapping[str, Json], change: Any) -> dict[str, Json]:
    """Return a context with a change to it; null removes a variable."""
    merged = {**context, **(change or {})}
    return {name: value for name, value in merged.items() if value is not None or name not in (change or {})}
