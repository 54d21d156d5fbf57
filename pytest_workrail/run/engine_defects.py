"""Where the public engine would have failed or answered differently, marked in the runs of profile reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct

from pytest_workrail.agents.agent import EngineDefectMark, Exchange
from pytest_workrail.engine.core.criteria import evaluate_criteria
from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.core.prompts import last_step_id
from pytest_workrail.engine.model.events import (
    AssessmentConsequenceApplied,
    ContextSet,
    DecisionTraceAppended,
    Envelope,
    GapRecorded,
    Log,
    NodeCreated,
    NodeOutputAppended,
    PreferencesChanged,
    RunCompleted,
    ValidationPerformed,
)
from pytest_workrail.engine.model.ids import NodeId
from pytest_workrail.engine.model.reasons import InvalidRequiredOutput, MissingNotes, MissingRequiredOutput
from pytest_workrail.engine.model.step_keys import is_safe_id
from pytest_workrail.engine.model.trace import LoopRef
from pytest_workrail.engine.projections.dag import project_dag
from pytest_workrail.engine.protocol.errors import ErrorCode
from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.blocker_codes import BlockerCode
from workrail_lint.systems.workrail.engine_defects import engine_defects
from workrail_lint.systems.workrail.model.ir import ProgramStep

_ROOT = Pattern(r"\{\{(?!wr\.)([A-Za-z_][A-Za-z0-9_]*)(?:\.[A-Za-z0-9_.]+)?\}\}")

_VERDICT = "wr.contracts.review_verdict"
_HANDOFF = "wr.contracts.differentiation_handoff"
_MARKER = "\n\n[TRUNCATED]"
_NOTES_BYTES, _CUT = 4096, 4083
_GUIDANCE_BYTES = 950
_FAILING_ISSUE_BYTES = 4096
_READING = ": artifact match="  # in a trace, where a loop looked for its decision


Kind = TypeVar("Kind", bound=Envelope)


class DocumentFacts:
    """Looked up for every exchange of a run, computed once where needed."""

    def __init__(self, index: IrIndex) -> None:
        self.index = index
        self.definitions = index.definitions

    @cached_property
    def generated(self) -> set[str]:
        """The steps that the public engine selects but has not pinned."""
        return {
            step_id
            for step_id, step in self.definitions.items()
            if step.provenance.source == "virtual" and not step.is_gate
        }

    @cached_property
    def unset_loop_variables(self) -> set[str]:
        """Steps of bodies by reference that read a variable of their loop."""
        return {
            step.id
            for loop in self.index.loops.values()
            if loop.body_ref is not None
            for step in loop.body
            if self.variables(step.id) & set(loop.loop.variables.raw.values())
        }

    @cached_property
    def misplaced_metrics(self) -> set[str]:
        """The steps whose prompt has the final metrics here or there, but not in both engines."""
        program = self.index.program
        if program.metrics_profile in (None, "none") or not program.steps:
            return set()
        last = program.steps[-1]
        if last.type == "loop":
            final = last_step_id(program)
            return {final} if last.body_ref is not None and final is not None else set()
        return {(last.provenance.origin or "").partition("#")[0]} if last.id in self.generated else set()

    @cached_property
    def unsafe_sources(self) -> set[str]:
        """The loops whose condition source names an id that the public engine can't read back."""
        sources = {loop_id: loop.loop.source for loop_id, loop in self.index.loops.items()}
        named = {loop_id: each.loop_id for loop_id, each in sources.items() if each.kind == "artifact"}
        return {loop_id for loop_id, name in named.items() if name is not None and not is_safe_id(name)}

    def variables(self, step_id: str) -> set[str]:
        """Return the variables that the texts of a step show."""
        return {name for text in self.definitions[step_id].texts if "{{" in text for name in _ROOT.findall(text)}

    @staticmethod
    def contract(step: ProgramStep | None) -> str | None:
        """Return the contract of a step's output."""
        return None if step is None or step.contract is None else step.contract.ref

    @staticmethod
    def messages(step: ProgramStep | None) -> Iterator[str]:
        """Yield what the criteria of a step say when they fail."""
        stack = [None if step is None else step.criteria]
        while stack:
            node = stack.pop()
            if isinstance(node, list):
                stack += node
            elif isinstance(node, dict):
                if isinstance(node.get("message"), str):
                    yield js.text(node["message"])
                stack += [node[name] for name in ("and", "or", "not") if name in node]

    @staticmethod
    def fails_criteria(step: ProgramStep | None, notes: str, context: dict[str, Any]) -> bool:
        """Return whether notes do not meet the criteria of a step."""
        if step is None or step.criteria is None:
            return False

        verdict = evaluate_criteria(step.criteria, notes, context)
        return isinstance(verdict, Ok) and not verdict.value.valid


def warned_nodes(events: Log) -> set[NodeId]:
    """Return the nodes at which a run beyond its recommendation was warned about."""
    return {
        event.scope.node_id
        for event in events
        if isinstance(event, GapRecorded) and event.data.gap_id.startswith("rec_warn_")
    }


class History:
    """Grows with the exchanges of one run."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._nodes: dict[str, NodeId] = {}
        self._steps: dict[str, str] = {}
        self._advances: dict[str, int] = {}
        self._recaps: Counter[NodeId] = Counter()
        self._has_recap_from: int | None = None
        self._read = 0
        self._size = 0
        self.context: dict[str, Any] = {}
        self.terminal_tokens: set[str] = set()
        self.warned_nodes: set[NodeId] = set()
        self.has_completed = False

    def at(self, before: int, after: int) -> None:
        """Take in what was stored before an exchange, and the context that holds after it."""
        self._take(before)
        self._size = before
        for event in self._log[before:after]:
            if isinstance(event, ContextSet):
                self.context = dict(event.data.context)

    def add(self, exchange: Exchange, before: int, after: int) -> None:
        """Take in an exchange: which node and step its tokens stand for."""
        response: dict[str, Any] = exchange.response
        if exchange.is_error:
            return
        token = exchange.request.get("continueToken", exchange.request.get("checkpointToken"))
        if after > before and isinstance(token, str):
            self._advances.setdefault(token, after)
        created = [event for event in self._log[before:after] if isinstance(event, NodeCreated)]
        known = self._nodes.get(str(token))
        # The tokens that a checkpoint gives are those of the node it was made at.
        node = created[-1].scope.node_id if created and exchange.tool != "checkpoint_workflow" else known
        step = exchange.step or self._steps.get(str(token))
        for name in ("continueToken", "retryContinueToken", "checkpointToken", "resumeToken"):
            value = response.get(name)
            if isinstance(value, str) and node is not None and step is not None:
                self._nodes.setdefault(value, node)
                self._steps.setdefault(value, step)
        if response.get("kind") == "blocked" and response.get("retryable") is False:
            self.terminal_tokens.add(str(response.get("continueToken")))

    def _take(self, size: int) -> None:
        self.warned_nodes |= warned_nodes(self._log[self._read : size])
        for event in self._log[self._read : size]:
            if isinstance(event, RunCompleted):
                self.has_completed = True
            elif isinstance(event, NodeOutputAppended) and event.data.output_channel == "recap":
                self._recaps[event.scope.node_id] += 1
                self._has_recap_from = self._has_recap_from or event.event_index
            elif isinstance(event, ContextSet):
                self.context = dict(event.data.context)
        self._read = max(self._read, size)

    def step_of(self, exchange: Exchange) -> str | None:
        """Return the step that a call is about."""
        return self._steps.get(str(exchange.request.get("continueToken")))

    @staticmethod
    def prompt_of(exchange: Exchange) -> str:
        return "" if exchange.pending is None else str(exchange.pending["prompt"])

    @property
    def has_forked_recaps(self) -> bool:
        """Whether two advances with notes left one node."""
        return any(count > 1 for count in self._recaps.values())

    def changed_since_advance(self, exchange: Exchange) -> bool:
        """Return whether context, preferences or the first notes were stored after the advance that is sent again."""
        recorded = self._advances.get(str(exchange.request.get("continueToken")))
        if recorded is None:
            return False
        later = self._log[recorded : self._size]
        first_notes = self._has_recap_from is not None and self._has_recap_from >= recorded
        return first_notes or any(isinstance(event, ContextSet | PreferencesChanged) for event in later)

    def shows_other_branch(self, exchange: Exchange) -> bool:
        """Return whether a node with children is looked at while the newest branch starts elsewhere."""
        node = self._nodes.get(str(exchange.request.get("continueToken")))
        runs = project_dag(self._log[: self._size])
        if node is None or isinstance(runs, Err):
            return False
        run = next((each for each in runs.value.values() if node in each.nodes), None)
        if run is None or run.preferred_tip is None or run.is_tip(node):
            return False
        return node not in run.lineage(run.preferred_tip)


class Moment(Struct, frozen=True):
    """One exchange with what came before it."""

    facts: DocumentFacts
    history: History
    exchange: Exchange
    added: Log

    @property
    def response(self) -> dict[str, Any]:
        return self.exchange.response

    @property
    def answered_step(self) -> str | None:
        """The step that is pending after a successful call."""
        return None if self.exchange.is_error else self.exchange.step

    @property
    def step(self) -> ProgramStep | None:
        """The step that was submitted, or looked at."""
        at = self.history.step_of(self.exchange)
        return None if at is None else self.facts.definitions.get(at)

    @property
    def is_advance(self) -> bool:
        request = self.exchange.request
        if self.exchange.tool != "continue_workflow":
            return False
        return request.get("intent", "advance" if self._has_output else "rehydrate") == "advance"

    @property
    def _has_output(self) -> bool:
        return not self.exchange.request.keys().isdisjoint(("output", "notes", "artifacts"))

    @property
    def is_rehydrate(self) -> bool:
        return self.exchange.tool == "continue_workflow" and not self.is_advance

    @property
    def is_success(self) -> bool:
        return self.is_advance and bool(self.added) and self.response.get("kind") == "ok"

    @property
    def is_new_step(self) -> bool:
        """Whether a step became pending, and was not only shown again."""
        is_start = self.exchange.tool == "start_workflow"
        return self.answered_step is not None and (is_start or self.is_success)

    @property
    def blockers(self) -> set[BlockerCode]:
        return set(self.exchange.codes)

    @property
    def notes(self) -> str:
        return self.exchange.notes or ""

    def new(self, kind: type[Kind]) -> list[Kind]:
        """Return the events of a kind that this exchange added."""
        return [event for event in self.added if isinstance(event, kind)]


Detector = Callable[[Moment], bool]


def mark_engine_defects(
    index: IrIndex, exchanges: Sequence[Exchange], sizes: Sequence[tuple[int, int]], log: Log
) -> tuple[EngineDefectMark, ...]:
    """The marks of a run. `sizes` are the lengths of the log before and after each exchange."""
    facts, history = DocumentFacts(index), History(log)
    marks: list[EngineDefectMark] = []
    for number, (exchange, (before, after)) in enumerate(zip(exchanges, sizes, strict=True)):
        moment = Moment(facts, history, exchange, log[before:after])
        history.at(before, after)
        marks += _marks(number, moment)
        history.add(exchange, before, after)
    return tuple(marks)


def _marks(number: int, moment: Moment) -> Iterator[EngineDefectMark]:
    for ident, strikes in DETECTORS.items():
        if not strikes(moment):
            continue
        defect = engine_defects()[ident]
        outcome = "fails" if ident == "KD-05" and _issue_too_long(moment) else defect.outcome
        at = moment.answered_step or moment.history.step_of(moment.exchange)
        yield EngineDefectMark(ident, number, at, outcome, defect.engine)


def _first_step(moment: Moment) -> bool:
    first = moment.facts.index.program.steps[0]
    is_start = moment.exchange.tool == "start_workflow" and not moment.exchange.is_error
    return is_start and (first.type == "loop" or moment.answered_step != first.id)


def _generated_step(moment: Moment) -> bool:
    return moment.is_new_step and moment.answered_step in moment.facts.generated


def _long_fix(moment: Moment) -> bool:
    contract = moment.facts.contract(moment.step)
    if contract == _VERDICT and moment.blockers & {MissingRequiredOutput.code, InvalidRequiredOutput.code}:
        return bool(moment.added)
    applied = moment.new(AssessmentConsequenceApplied)
    return any(js.u8_length(event.data.effect.guidance) > _GUIDANCE_BYTES for event in applied)


def _notes_cut(moment: Moment) -> bool:
    stored = any(event.data.output_channel == "recap" for event in moment.new(NodeOutputAppended))
    raw = moment.notes.encode("utf-8", "surrogatepass") if stored else b""
    return len(raw) > _NOTES_BYTES and raw[_CUT] & 0xC0 == 0x80


def _long_issue(moment: Moment) -> bool:
    results = [event.data.result for event in moment.new(ValidationPerformed)]
    return any(text.endswith(_MARKER) for each in results for text in (*each.issues, *each.suggestions))


def _issue_too_long(moment: Moment) -> bool:
    texts = [*moment.facts.messages(moment.step), *_strings(moment.exchange.artifacts)]
    return any(js.u8_length(text) > _FAILING_ISSUE_BYTES for text in texts)


def _strings(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, list):
            stack += node
        elif isinstance(node, dict):
            stack += node.values()


def _second_completion(moment: Moment) -> bool:
    return bool(moment.new(RunCompleted)) and moment.history.has_completed


def _second_warning(moment: Moment) -> bool:
    return any(node in moment.history.warned_nodes for node in warned_nodes(moment.added))


def _function_reference(moment: Moment) -> bool:
    references = () if moment.step is None else moment.step.function_references
    has_functions = moment.is_rehydrate and "### Function Definitions" in moment.history.prompt_of(moment.exchange)
    return has_functions and any(name.endswith("()") for name in references)


def _replay(moment: Moment) -> bool:
    is_repeated = moment.is_advance and not moment.exchange.is_error and not moment.added
    return is_repeated and moment.history.changed_since_advance(moment.exchange)


def _first_prompt(moment: Moment) -> bool:
    if moment.exchange.tool != "start_workflow" or moment.answered_step is None:
        return False
    given = moment.exchange.request.get("initialContext")
    known = {"goal", *(given if isinstance(given, dict) else ())}
    return bool(moment.facts.variables(moment.answered_step) & known)


def _dotted_id(moment: Moment) -> bool:
    step = moment.step
    return step is not None and "." in step.id and MissingNotes.code in moment.blockers


def _error(moment: Moment, code: ErrorCode) -> bool:
    return moment.exchange.is_error and moment.response.get("code") == code


def _foreign_hash(moment: Moment) -> bool:
    return moment.is_advance and _error(moment, "TOKEN_WORKFLOW_HASH_MISMATCH")


def _terminal_retry(moment: Moment) -> bool:
    is_scope_error = moment.is_advance and _error(moment, "TOKEN_SCOPE_MISMATCH")
    return is_scope_error and moment.exchange.request["continueToken"] in moment.history.terminal_tokens


def _reserved_key(moment: Moment) -> bool:
    if not _error(moment, "VALIDATION_ERROR"):
        return False
    details = moment.response.get("details", {}).get("details", {})
    return bool(details.get("kind") == "context_reserved_key")


def _evaluation_gap(moment: Moment) -> bool:
    gaps = [event.data for event in moment.new(GapRecorded) if event.data.gap_id.startswith("gap_")]
    return any(gap.reason.detail == "evaluation_error" for gap in gaps)


def _lost_notes(moment: Moment) -> bool:
    if not moment.is_success or not moment.notes:
        return False
    return moment.facts.fails_criteria(moment.step, moment.notes, moment.history.context)


def _unmeetable_contract(moment: Moment) -> bool:
    kinds = {each.get("kind") for each in moment.exchange.artifacts if isinstance(each, dict)}
    met = moment.is_success and "wr.differentiation_handoff" in kinds
    return met and moment.facts.contract(moment.step) == _HANDOFF


def _loop_variable(moment: Moment) -> bool:
    return moment.answered_step is not None and moment.answered_step in moment.facts.unset_loop_variables


def _two_recaps(moment: Moment) -> bool:
    looks = moment.is_rehydrate or moment.exchange.tool == "resume_session"
    return looks and not moment.exchange.is_error and moment.history.has_forked_recaps


def _foreign_branch(moment: Moment) -> bool:
    return moment.is_rehydrate and not moment.exchange.is_error and moment.history.shows_other_branch(moment.exchange)


def _collation(moment: Moment) -> bool:
    lists = [event.data.result.issues for event in moment.new(ValidationPerformed)]
    return any(len(issues) > 1 and not all(map(str.isascii, issues)) for issues in lists)


def _metrics(moment: Moment) -> bool:
    return moment.is_new_step and moment.answered_step in moment.facts.misplaced_metrics


def _unsafe_loop_id(moment: Moment) -> bool:
    entries = [entry for event in moment.new(DecisionTraceAppended) for entry in event.data.entries]
    refs = [ref for entry in entries if _READING in entry.summary for ref in entry.refs or ()]
    return any(isinstance(ref, LoopRef) and ref.loop_id in moment.facts.unsafe_sources for ref in refs)


def _unsafe_dimension(moment: Moment) -> bool:
    applied = moment.new(AssessmentConsequenceApplied)
    return any(not is_safe_id(event.data.trigger.dimension_id) for event in applied)


DETECTORS: dict[str, Detector] = {
    "KD-01": _first_step,
    "KD-02": _generated_step,
    "KD-03": _long_fix,
    "KD-04": _notes_cut,
    "KD-05": _long_issue,
    "KD-06": _second_completion,
    "KD-07": _second_warning,
    "KD-09": _function_reference,
    "KD-10": _replay,
    "KD-12": _first_prompt,
    "KD-13": _dotted_id,
    "KD-14": _foreign_hash,
    "KD-15": _terminal_retry,
    "KD-16": _reserved_key,
    "KD-17": _evaluation_gap,
    "KD-18": _lost_notes,
    "KD-30": _unmeetable_contract,
    "KD-33": _loop_variable,
    "KD-36": _two_recaps,
    "KD-37": _foreign_branch,
    "KD-41": _collation,
    "KD-42": _metrics,
    "KD-43": _unsafe_loop_id,
    "KD-44": _unsafe_dimension,
}
