"""Where the public engine would have failed or answered differently in a finished run.

Each detector looks at one exchange: the call, the answer, and what it added to the log. What a detector looks for is
in the data of the known differences; here is only how to recognise it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pytest_workrail.agents.transcript import EngineDefectMark, Exchange
from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.events.kinds import Log
from pytest_workrail.records import Record
from pytest_workrail.run.defect_facts import DocumentFacts
from pytest_workrail.run.defect_history import History, warned_nodes
from workrail_lint.base import js
from workrail_lint.systems.workrail.engine_defects import engine_defects

_VERDICT = "wr.contracts.review_verdict"
_HANDOFF = "wr.contracts.differentiation_handoff"
_MARKER = "\n\n[TRUNCATED]"
_NOTES_BYTES, _CUT = 4096, 4083
_GUIDANCE_BYTES = 950
_FAILING_ISSUE_BYTES = 4096


class Moment(Record):
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
        pending = None if self.exchange.is_error else self.response.get("pending")
        return None if pending is None else str(pending["stepId"])

    @property
    def step(self) -> dict[str, Any] | None:
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
    def blockers(self) -> set[str]:
        report = self.response.get("blockers")
        return {blocker["code"] for blocker in report["blockers"]} if isinstance(report, dict) else set()

    @property
    def notes(self) -> str:
        output = self.exchange.request.get("output")
        given = output.get("notesMarkdown") if isinstance(output, dict) else None
        notes = self.exchange.request.get("notes") if given is None else given
        return notes if isinstance(notes, str) else ""

    @property
    def artifacts(self) -> list[Any]:
        output = self.exchange.request.get("output")
        given = output.get("artifacts") if isinstance(output, dict) else None
        artifacts = self.exchange.request.get("artifacts") if given is None else given
        return artifacts if isinstance(artifacts, list) else []

    def new(self, kind: str) -> list[Any]:
        """The data of the events of a kind that this exchange added."""
        return [event.data for event in self.added if event.kind == kind]


Detector = Callable[[Moment], bool]


def mark_engine_defects(
    index: IrIndex, exchanges: Sequence[Exchange], sizes: Sequence[tuple[int, int]], log: Log
) -> tuple[EngineDefectMark, ...]:
    """The marks of a run. `sizes` are the lengths of the log before and after each exchange."""
    facts, history = DocumentFacts(index), History(log)
    found: list[EngineDefectMark] = []
    for number, (exchange, (before, after)) in enumerate(zip(exchanges, sizes, strict=True)):
        moment = Moment(facts, history, exchange, log[before:after])
        history.at(before, after)
        found += _marks(number, moment)
        history.add(exchange, before, after)
    return tuple(found)


def _marks(number: int, moment: Moment) -> Iterator[EngineDefectMark]:
    for ident, strikes in DETECTORS.items():
        if not strikes(moment):
            continue
        defect = engine_defects()[ident]
        outcome = "fails" if ident == "KD-05" and _issue_too_long(moment) else defect.outcome
        at = moment.answered_step or moment.history.step_of(moment.exchange)
        yield EngineDefectMark(ident, number, at, outcome, defect.engine)


def _first_step(moment: Moment) -> bool:
    first = moment.facts.index.ir["steps"][0]
    is_start = moment.exchange.tool == "start_workflow" and not moment.exchange.is_error
    return is_start and (first["type"] == "loop" or moment.answered_step != first["id"])


def _generated_step(moment: Moment) -> bool:
    return moment.is_new_step and moment.answered_step in moment.facts.generated


def _long_fix(moment: Moment) -> bool:
    contract = moment.facts.contract(moment.step)
    if contract == _VERDICT and moment.blockers & {"MISSING_REQUIRED_OUTPUT", "INVALID_REQUIRED_OUTPUT"}:
        return bool(moment.added)
    applied = moment.new("assessment_consequence_applied")
    return any(js.u8_length(data.effect.guidance) > _GUIDANCE_BYTES for data in applied)


def _notes_cut(moment: Moment) -> bool:
    stored = any(data.output_channel == "recap" for data in moment.new("node_output_appended"))
    raw = moment.notes.encode("utf-8", "surrogatepass") if stored else b""
    return len(raw) > _NOTES_BYTES and raw[_CUT] & 0xC0 == 0x80


def _long_issue(moment: Moment) -> bool:
    results = [data.result for data in moment.new("validation_performed")]
    return any(text.endswith(_MARKER) for each in results for text in (*each.issues, *each.suggestions))


def _issue_too_long(moment: Moment) -> bool:
    texts = [*moment.facts.messages(moment.step), *_strings(moment.artifacts)]
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
    return bool(moment.new("run_completed")) and moment.history.has_completed


def _second_warning(moment: Moment) -> bool:
    return any(node in moment.history.warned_nodes for node in warned_nodes(moment.added))


def _function_reference(moment: Moment) -> bool:
    references = (moment.step or {}).get("functionReferences", ())
    shown = moment.is_rehydrate and "### Function Definitions" in moment.history.prompt_of(moment.exchange)
    return shown and any(name.endswith("()") for name in references)


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
    return step is not None and "." in step["id"] and "MISSING_REQUIRED_NOTES" in moment.blockers


def _error(moment: Moment, code: str) -> bool:
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
    gaps = [data for data in moment.new("gap_recorded") if data.gap_id.startswith("gap_")]
    return any(data.reason.detail == "evaluation_error" for data in gaps)


def _lost_notes(moment: Moment) -> bool:
    if not moment.is_success or not moment.notes:
        return False
    return moment.facts.fails_criteria(moment.step, moment.notes, moment.history.context)


def _unmeetable_contract(moment: Moment) -> bool:
    kinds = {each.get("kind") for each in moment.artifacts if isinstance(each, dict)}
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
    lists = [data.result.issues for data in moment.new("validation_performed")]
    return any(len(issues) > 1 and not all(map(str.isascii, issues)) for issues in lists)


def _metrics(moment: Moment) -> bool:
    return moment.is_new_step and moment.answered_step in moment.facts.misplaced_metrics


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
}
