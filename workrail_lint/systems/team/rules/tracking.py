"""TC110 to TC117: what status.json tracks: repairs, runtime flags and corrections of the design."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.documents.pointer import child
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.pointer_patterns import places
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import FIXED, Document, Report, TeamRule
from workrail_lint.systems.team.rules.status_facts import GATE, gate_of
from workrail_lint.systems.team.state_machine import CORRECTORS, LIMITS
from workrail_lint.systems.team.vocabulary import (
    META,
    CorrectionStatus,
    FixLoop,
    is_task_ref,
    members_of,
    words,
)
from workrail_lint.systems.team.wording import listed, shown, suggestion, type_name

_DISPATCH_MEMBERS = ("agent", "task_id", "at")


class RetryCountRange(TeamRule):
    code = "TC110"
    name = "retry-count-range"
    severity = Severity.ERROR
    origin = FIXED
    summary = f"A retry count is not an integer from 0 to {LIMITS.repairs}."
    why = "After the third repair the user must be asked; a larger number means that this did not happen."

    def check_status(self, document: Document, report: Report) -> None:
        for pointer, value in places(document.value, "/retry_counts/*/*"):
            if type(value) is not int or not 0 <= value <= LIMITS.repairs:
                _, _, task, loop = pointer.split("/")
                report(pointer, f"the {loop} count of {task} must be 0 to {LIMITS.repairs}, not {shown(value)}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("IMPLEMENT_LOOP", retry_counts={"T-001": {"FIX_TESTS": 4}}),
            samples.status("IMPLEMENT_LOOP", retry_counts={"T-001": {"FIX_TESTS": 3}}),
            path=samples.STATUS,
        )


class RetryLoopUnknown(TeamRule):
    code = "TC111"
    name = "retry-loop-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A retry count belongs to an unknown repair loop."
    why = "The count of an unknown loop is never read, so the real loop has no limit."
    describes = (("RetryCounts", "additionalProperties"),)

    def describe(self, violation: Violation, document: Document) -> Description:
        loop = violation.member
        return Description(f"unknown repair loop {shown(loop)}{suggestion(loop, words(FixLoop))}", on_name=True)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("IMPLEMENT_LOOP", retry_counts={"T-001": {"FIX_LINT": 1}}),
            samples.status("IMPLEMENT_LOOP", retry_counts={"T-001": {"FIX_BUILD": 1}}),
            path=samples.STATUS,
        )


class RetryKeyFormat(TeamRule):
    code = "TC112"
    name = "retry-key-format"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A key of `retry_counts` is neither a task id nor `meta`."
    why = "The count can't be found by the id of its task."

    def check_status(self, document: Document, report: Report) -> None:
        for name in members_of(document.value.get("retry_counts")):
            if not is_task_ref(name):
                report(child("/retry_counts", name), f"{shown(name)} is not a task id; use T-001 or meta", on_name=True)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("IMPLEMENT_LOOP", retry_counts={"task1": {}}),
            samples.status("IMPLEMENT_LOOP", retry_counts={"T-001": {}, "meta": {}}),
            path=samples.STATUS,
        )


class RuntimeFlagsShape(TeamRule):
    code = "TC113"
    name = "runtime-flags-shape"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`runtime_flags` lacks one of its two fields, or one of them has the wrong type."
    why = "Every dispatch reads these flags first; a wrong flag makes agents skip the conventions of the project."
    describes = (("RuntimeFlags", "required"), ("RuntimeFlags", "type"))

    def describe(self, violation: Violation, document: Document) -> Description:
        name, value = violation.member, violation.value
        if violation.keyword == "required":
            return Description(f"'{name}' is missing from runtime_flags")
        if name == "runtime_flags":
            return Description(f"runtime_flags must be an object, not {type_name(value)}")
        expected = "true or false" if violation.expected == ("boolean",) else "a date-time"
        return Description(f"'{name}' must be {expected}, not {type_name(value)}")

    def examples(self) -> Iterator[Example]:
        good = {"copilot_instructions_exists": True, "copilot_checked_at": "2026-03-01T09:00:00Z"}
        for bad in ({**good, "copilot_instructions_exists": "yes"}, {"copilot_instructions_exists": True}):
            yield Example(samples.status(runtime_flags=bad), samples.status(runtime_flags=good), path=samples.STATUS)


class GateTrackingShape(TeamRule):
    code = "TC114"
    name = "gate-tracking-shape"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`gate_tracking` has an entry other than `APPROVE_DESIGN`, or has the wrong structure."
    why = "It prevents the same correction from being sent twice; in another structure it prevents nothing."
    describes = (
        ("GateTracking", "type"),
        ("GateTracking", "additionalProperties"),
        ("DesignGate", "type"),
        ("CorrectionDispatch", "type", "last_correction_dispatch"),
    )

    def describe(self, violation: Violation, document: Document) -> Description:
        name, value = violation.member, violation.value
        if violation.keyword == "additionalProperties":
            return Description(f"unknown entry {shown(name)}; gate_tracking may only have APPROVE_DESIGN", on_name=True)
        kind = "an object or null" if name == "last_correction_dispatch" else "an object"
        return Description(f"{name} must be {kind}, not {type_name(value)}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status(gate_tracking={"REVIEW_STRATEGY": {}}),
            samples.status(gate_tracking={"APPROVE_DESIGN": {}}),
            path=samples.STATUS,
        )


class CorrectionStatusUnknown(TeamRule):
    code = "TC115"
    name = "correction-status-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`correction_status` is not one of the four known values."
    why = "A resumed session relies on it alone to decide whether a correction must be sent or must not be sent again."
    describes = (("CorrectionStatus", "enum"), ("CorrectionStatus", "type"))

    def describe(self, violation: Violation, document: Document) -> Description | None:
        value = violation.value
        if value is None:
            return None
        return Description(f"unknown correction status {shown(value)}{suggestion(value, words(CorrectionStatus))}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("APPROVE_DESIGN", gate_tracking=samples.correction("done")),
            samples.status("APPROVE_DESIGN", gate_tracking=samples.correction("completed")),
            path=samples.STATUS,
        )


class CorrectionDispatchMissing(TeamRule):
    code = "TC116"
    name = "correction-dispatch-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A correction is dispatched or completed, but `last_correction_dispatch` is missing."
    why = "Without the time of the dispatch a resumed session can't tell whether the artifact has changed since."

    def check_status(self, document: Document, report: Report) -> None:
        gate = gate_of(document.value)
        state = gate.get("correction_status")
        if state not in ("dispatched", "completed"):
            return
        last = gate.get("last_correction_dispatch")
        if last is None or (type(last) is dict and all(last.get(name) is None for name in _DISPATCH_MEMBERS)):
            report(f"{GATE}/correction_status", f"the correction is {state}, but last_correction_dispatch is missing")

    def examples(self) -> Iterator[Example]:
        bad = samples.correction("dispatched", last_correction_dispatch=...)
        yield Example(
            samples.status("APPROVE_DESIGN", gate_tracking=bad),
            samples.status("APPROVE_DESIGN", gate_tracking=samples.correction("dispatched")),
            path=samples.STATUS,
        )


class CorrectionDispatchPartial(TeamRule):
    code = "TC117"
    name = "correction-dispatch-partial"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`last_correction_dispatch` is incomplete, or names an agent or a task that makes no corrections."
    why = (
        "Corrections go to SpecAgent, Architect or Designer with the task `meta`; an incomplete record proves nothing."
    )

    def check_status(self, document: Document, report: Report) -> None:
        last = gate_of(document.value).get("last_correction_dispatch")
        if type(last) is not dict:
            return
        pointer = f"{GATE}/last_correction_dispatch"
        unset = [name for name in _DISPATCH_MEMBERS if last.get(name) is None]
        if 0 < len(unset) < len(_DISPATCH_MEMBERS):
            at = child(pointer, unset[0]) if unset[0] in last else pointer
            report(
                at,
                f"{listed(map(shown, unset))} {'are' if len(unset) > 1 else 'is'} not set; set all three or none",
            )
        agents = tuple(agent.value for agent in CORRECTORS)
        if last.get("agent") is not None and last["agent"] not in agents:
            report(f"{pointer}/agent", f"{shown(last['agent'])} can't make corrections; use {listed(agents, 'or')}")
        if last.get("task_id") is not None and last["task_id"] != META:
            report(f"{pointer}/task_id", f"a correction must have the task meta, not {shown(last['task_id'])}")
        if last.get("at") is not None and type(last["at"]) is not str:
            report(f"{pointer}/at", f"'at' must be a date-time, not {type_name(last['at'])}")

    def examples(self) -> Iterator[Example]:
        bad = {"agent": "Coder", "task_id": "meta", "at": None}
        yield Example(
            samples.status(
                "APPROVE_DESIGN", gate_tracking=samples.correction("dispatched", last_correction_dispatch=bad)
            ),
            samples.status("APPROVE_DESIGN", gate_tracking=samples.correction("dispatched")),
            path=samples.STATUS,
        )
