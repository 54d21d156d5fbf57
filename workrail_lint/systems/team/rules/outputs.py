"""TC530 to TC541: the output of an agent, whatever its role."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.operations import Replace
from workrail_lint.documents.pointer import child
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.roles import LIST_KEYS, ROLE_KEYS, ROLES, UNIVERSAL_KEYS
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Document, OutputDocument, Report, TeamRule
from workrail_lint.systems.team.rules.inputs import report_blanks
from workrail_lint.systems.team.vocabulary import (
    CHECKLIST,
    SAME,
    AgentName,
    Level,
    OutputStatus,
    is_text,
    line_count,
    session_parts,
    words,
)
from workrail_lint.systems.team.wording import field_problem, listed, shown, suggestion, type_name

Problems = Iterator[tuple[str, str]]


def type_problems(name: str, value: Any) -> Problems:
    """Pointer below the artifact and message, for everything in it that has the wrong type or shape."""
    check = _CHECKS.get(name)
    if check is not None:
        yield from check(name, value)


def _texts(name: str, value: Any) -> Problems:
    if type(value) is not list:
        yield "", f"'{name}' must be a list of strings, not {type_name(value)}"
        return
    for index, item in enumerate(value):
        if type(item) is not str:
            yield f"/{index}", f"'{name}' must contain strings, not {type_name(item)}"


def _text_or_null(name: str, value: Any) -> Problems:
    if value is not None and type(value) is not str:
        yield "", f"'{name}' must be a string or null, not {type_name(value)}"


def _text_or_texts(name: str, value: Any) -> Problems:
    if type(value) is not str:
        yield from _texts(name, value)


def _checklist(name: str, value: Any) -> Problems:
    if type(value) is not dict:
        yield "", f"'{name}' must be an object, not {type_name(value)}"
        return
    for topic, verdict in value.items():
        at = child("", topic)
        if topic not in CHECKLIST:
            yield at, f"unknown checklist topic {shown(topic)}{suggestion(topic, CHECKLIST)}"
        elif type(verdict) is not str or not (verdict in ("OK", "issues_found") or verdict.startswith("N/A")):
            yield at, f"{shown(topic)} must be OK, issues_found or N/A with a reason, not {shown(verdict)}"


_CHECKS: dict[str, Callable[[str, Any], Problems]] = {
    "research_summary": _text_or_null,
    "patch_summary": _text_or_texts,
    "checklist_summary": _checklist,
    "coverage_gaps": _text_or_texts,
    "ci_notes": _text_or_texts,
}


A = AgentName
# Possessive, and not to be tried again inside a run of stops: a summary of a million dots takes no longer than it is.
_SENTENCE_END = Pattern(r"(?<![.!?])[.!?]++[\"')\]]*+(?:\s++(?=[\"'(\[]*[A-Z0-9])|\s*+$)")
_ABBREVIATION = Pattern(r"\b(?:e\.g|i\.e|etc|vs|cf|approx)\.", re.IGNORECASE)
_SENTENCES = 3
_SHAPES = ("AgentOutput", "Gates", "Next")
_DESIGN_LINES = 80


class OutputNotJsonOnly(TeamRule):
    code = "TC530"
    name = "output-not-json-only"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An output contains something besides its JSON object."
    why = "A program reads the reply; prose or a code fence around the object counts as a failed dispatch."
    fix = "Keep the object and remove the rest, if there is exactly one object."
    fix_safety = "safe"

    def examples(self) -> Iterator[Example]:
        text = json.dumps(samples.agent_output(artifacts=samples.coded()), indent=2)
        good = text + "\n"
        yield Example(f"```json\n{text}\n```\n", good, text, path=samples.exchange("Coder", side="output"))
        yield Example(f"Here you are:\n{text}\n", good, text, path=samples.exchange("Coder", side="output"))


class OutputFieldMissing(TeamRule):
    code = "TC531"
    name = "team-output-field-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An output lacks a required field, or the field is blank or has the wrong type."
    why = "The next dispatch is decided from these fields; a missing gate is neither open nor closed."
    describes = (
        *((shape, keyword) for keyword in ("required", "type", "pattern") for shape in _SHAPES),
        ("Artifacts", "type", "artifacts"),
        *((shape, keyword) for shape in ("OutputStatus", "AgentName") for keyword in ("type", "enum")),
    )

    def describe(self, violation: Violation, document: Document) -> Description | None:
        value = violation.value
        if violation.keyword in ("pattern", "enum") and is_text(value):
            if violation.member != "recommended_task_id" or value == SAME:
                return None
            return Description(f"{shown(value)} is not a task id; use an id such as T-001, or meta")
        return Description(field_problem(violation))

    def check_output(self, document: OutputDocument, report: Report) -> None:
        report_blanks(document.model.gates, ("security_concerns",), report)

    def examples(self) -> Iterator[Example]:
        good = samples.agent_output(artifacts=samples.coded())
        yield Example(
            samples.agent_output(artifacts=samples.coded(), next=...),
            good,
            path=samples.exchange("Coder", side="output"),
        )


class OutputStatusUnknown(TeamRule):
    code = "TC532"
    name = "team-output-status-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The status of an output is not one of the five known values."
    why = "This value alone decides what happens next."
    describes = (("OutputStatus", "enum"),)

    def describe(self, violation: Violation, document: Document) -> Description | None:
        status = violation.value
        if not is_text(status):
            return None
        return Description(f"unknown output status {shown(status)}{suggestion(status, words(OutputStatus))}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.agent_output("DONE", samples.coded()),
            samples.agent_output("OK", samples.coded()),
            path=samples.exchange("Coder", side="output"),
        )


class OutputStatusNotForRole(TeamRule):
    code = "TC533"
    name = "output-status-not-for-role"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`NEEDS_INFO` does not come from Researcher, or `NEEDS_DECISION` does not come from Security."
    why = "Each of the two opens a question to the user that only this role may ask; other roles report `BLOCKED`."

    def check_output(self, document: OutputDocument, report: Report) -> None:
        status, agent = document.model.status, document.agent
        for owner, special in ((A.RESEARCHER, OutputStatus.NEEDS_INFO), (A.SECURITY, OutputStatus.NEEDS_DECISION)):
            if status == special and agent not in (None, owner):
                who = agent.value if agent else ""
                report("/status", f"{who} can't report {special.value}; only {owner.value} can")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.agent_output("NEEDS_INFO", samples.coded()),
            samples.agent_output("BLOCKED", samples.coded()),
            path=samples.exchange("Coder", side="output"),
        )


class OutputAgentName(TeamRule):
    code = "TC534"
    name = "output-agent-name"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The recommended agent does not exist."
    why = "JSON documents use the agent names of the contract; the name of a role file starts no agent."
    fix = "Replace the name of a role file with the agent name."
    fix_safety = "safe"
    describes = (("AgentName", "enum"),)

    def describe(self, violation: Violation, document: Document) -> Description | None:
        name, at = violation.value, violation.pointer
        if not is_text(name):
            return None
        meant = next((agent for agent in AgentName if name.casefold() in (agent.file_name, agent.value.lower())), None)
        fix = safe(f"replace with {meant.value}", Replace(at, meant.value)) if meant else None
        near = f"; did you mean '{meant.value}'?" if meant else suggestion(name, words(AgentName))
        return Description(f"unknown agent {shown(name)}{near}", fix)

    def examples(self) -> Iterator[Example]:
        def output(agent: str) -> dict[str, Any]:
            following = {"recommended_agent": agent, "recommended_task_id": "meta", "reason": "The goal is unclear."}
            return samples.agent_output(artifacts=samples.coded(), next=following)

        good = output("SpecAgent")
        yield Example(output("spec-agent"), good, good, path=samples.exchange("Coder", side="output"))
        yield Example(output("Tester"), good, path=samples.exchange("Coder", side="output"))


class OutputTaskSame(TeamRule):
    code = "TC535"
    name = "output-task-same"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The recommended task is `same`."
    why = "The contract requires the id; `same` must be looked up in an input that may no longer exist."
    fix = "Replace it with the id of the task that the exchange is about."
    fix_safety = "safe"

    def check_output(self, document: OutputDocument, report: Report) -> None:
        if document.model.next.recommended_task_id != SAME:
            return
        at, known = "/next/recommended_task_id", document.exchange
        fix = safe(f"replace with {known.task}", Replace(at, known.task)) if known else None
        report(
            at, f"recommended_task_id is 'same'; write {known.task if known else 'the id of the task'} instead", fix=fix
        )

    def examples(self) -> Iterator[Example]:
        def output(task: str) -> dict[str, Any]:
            following = {"recommended_agent": "Reviewer", "recommended_task_id": task, "reason": "It is done."}
            return samples.agent_output(artifacts=samples.coded(), next=following)

        good = output("T-001")
        yield Example(output("same"), good, good, path=samples.exchange("Coder", side="output"))


class OutputSummaryLength(TeamRule):
    code = "TC536"
    name = "team-output-summary-length"
    severity = Severity.WARNING
    origin = FIXED
    summary = f"The summary has more than {_SENTENCES} sentences, or more than {_DESIGN_LINES} lines from the Designer."
    why = "The summary goes to every later agent and to the user; details belong in the artifacts."

    def check_output(self, document: OutputDocument, report: Report) -> None:
        summary = document.model.summary
        if not is_text(summary):
            return
        if document.agent is A.DESIGNER:
            lines = line_count(summary)
            if lines > _DESIGN_LINES:
                report("/summary", f"the summary has {lines} lines; write at most {_DESIGN_LINES}")
        elif (count := sentence_count(summary)) > _SENTENCES:
            report("/summary", f"the summary has {count} sentences; write at most {_SENTENCES}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.agent_output(artifacts=samples.coded(), summary="One. Two. Three. Four. Five."),
            samples.agent_output(
                artifacts=samples.coded(), summary="Version 1.2 is in app.js, e.g. the form. It works."
            ),
            path=samples.exchange("Coder", side="output"),
        )


def sentence_count(text: str) -> int:
    """Count sentences; the dot of an abbreviation, a number or a file name does not end one."""
    plain = _ABBREVIATION.compiled.sub("", text.strip())
    ends = list(_SENTENCE_END.finditer(plain))
    rest = plain[ends[-1].end() :] if ends else plain
    return len(ends) + (1 if is_text(rest) else 0)


def _known_keys(document: OutputDocument) -> tuple[str, ...]:
    """The artifacts that an output may have; those of any role if its agent is unknown."""
    return (*UNIVERSAL_KEYS, *(ROLE_KEYS if document.agent is None else ROLES[document.agent].keys))


_NO_SESSION_PATH = "'design_spec_file' must be null or a path such as .agents-work/<session>/…, not {}"


def _wrong(name: str, violation: Violation) -> str:
    """The problem of an artifact as a whole."""
    value = violation.value
    if name == "design_spec_file":
        return _NO_SESSION_PATH.format(shown(value))
    if violation.shape == "Level":
        return f"'{name}': unknown {name} {shown(value)}{suggestion(value, words(Level))}"
    kinds = {"array": "a list", "object": "an object", "string": "a string or null"}
    kind = "a list of strings" if name in LIST_KEYS else kinds[violation.expected[0]]
    return f"'{name}' must be {kind}, not {type_name(value)}"


def _wrong_part(name: str, violation: Violation, *, is_element: bool) -> str:
    """The problem of an element of an artifact, or of a member of one."""
    value, member = violation.value, violation.member
    if violation.shape == "TestResults":
        expected = "a string" if violation.expected == ("string",) else "a number of tests"
        text = type_name(value) if member == "output" else shown(value)
        return f"'{name}': '{member}' must be {expected}, not {text}"
    if is_element:
        expected = "strings" if name in LIST_KEYS else "strings or objects"
        return f"'{name}' must contain {expected}, not {type_name(value)}"
    if member in ("severity", "category"):
        return f"'{name}': unknown {member} {shown(value)}{suggestion(value, violation.schema['enum'])}"
    return f"'{name}': '{member}' must be a string, not {type_name(value)}"


class OutputArtifactType(TeamRule):
    code = "TC537"
    name = "output-artifact-type"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An artifact has the wrong type or shape."
    why = "Later agents and reports iterate over these lists; values of another type or shape are lost."
    fix = "Wrap a single string in a list."
    fix_safety = "safe"

    describes = tuple(
        (shape,)
        for shape in (
            "Artifacts",
            "ReviewComment",
            "ReviewSeverity",
            "ReviewCategory",
            "SecurityFinding",
            "FindingSeverity",
            "FindingCategory",
            "TestResults",
            "Level",
        )
    )

    def describe(self, violation: Violation, document: OutputDocument) -> Description | None:
        _, _, name, *below = violation.pointer.split("/")
        if name not in _known_keys(document) or violation.keyword == "pattern":
            return None
        if not below:
            at, value = violation.pointer, violation.value
            wraps = is_text(value) and name in (*LIST_KEYS, "review_comments", "findings")
            return Description(
                _wrong(name, violation), safe("wrap it in a list", Replace(at, [value])) if wraps else None
            )
        return Description(_wrong_part(name, violation, is_element=len(below) == 1))

    def check_output(self, document: OutputDocument, report: Report) -> None:
        artifacts = document.model.artifacts
        path = artifacts.design_spec_file
        if path is not None and session_parts(path) is None and "design_spec_file" in _known_keys(document):
            report(artifacts.at("design_spec_file"), _NO_SESSION_PATH.format(shown(path)))
        for name, value in artifacts.raw.items():
            if name in _known_keys(document):
                for pointer, message in type_problems(name, value):
                    message = message if f"'{name}'" in message else f"'{name}': {message}"
                    report(artifacts.at(name) + pointer, message)

    def examples(self) -> Iterator[Example]:
        good = samples.agent_output(artifacts=samples.coded(notes=["x"]))
        bad = samples.agent_output(artifacts=samples.coded(notes="x"))
        yield Example(bad, good, good, path=samples.exchange("Coder", side="output"))
        comment = {
            "severity": "high",
            "category": "Logic",
            "file": "a.js",
            "line": "1",
            "message": "m",
            "suggested_fix": "f",
        }
        review = {"review_comments": [{**comment, "severity": "minor"}]}
        yield Example(
            samples.agent_output("BLOCKED", {"review_comments": [comment]}),
            samples.agent_output("BLOCKED", review),
            path=samples.exchange("Reviewer", side="output"),
        )


class OutputArtifactMissing(TeamRule):
    code = "TC538"
    name = "output-artifact-missing"
    severity = Severity.WARNING
    origin = FIXED
    summary = "An agent reports `OK` without an artifact that its role must deliver."
    why = "The next agent receives only what is listed; work that is not listed counts as not done."

    def check_output(self, document: OutputDocument, report: Report) -> None:
        output = document.model
        if document.agent is None or output.status != OutputStatus.OK or not output.has("artifacts"):
            return
        for name in ROLES[document.agent].required:
            if name not in output.artifacts:
                report("/artifacts", f"{document.agent.value} reports OK, but delivers no {name}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.agent_output(artifacts=samples.coded(files_changed=...)),
            samples.agent_output(artifacts=samples.coded()),
            path=samples.exchange("Coder", side="output"),
        )


class OutputArtifactUnknown(TeamRule):
    code = "TC539"
    name = "output-artifact-unknown"
    severity = Severity.INFO
    origin = DECIDED
    summary = "An artifact is neither common to all agents nor specific to the role."
    why = "No agent reads it."

    def check_output(self, document: OutputDocument, report: Report) -> None:
        known = _known_keys(document)
        artifacts = document.model.artifacts
        for name in artifacts.raw:
            if name not in known:
                report(artifacts.at(name), f"unknown artifact {shown(name)}; no agent reads it", on_name=True)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.agent_output(artifacts=samples.coded(extras=[])),
            samples.agent_output(artifacts=samples.coded(patch_summary="One form.")),
            path=samples.exchange("Coder", side="output"),
        )


_DETAILS = ("notes", "findings", "review_comments", "manual_steps")


class BlockedWithoutDetail(TeamRule):
    code = "TC540"
    name = "blocked-without-detail"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An agent reports `BLOCKED` or `FAIL`, but no notes, findings, review comments or manual steps."
    why = "A problem without a description can't be repaired."

    def check_output(self, document: OutputDocument, report: Report) -> None:
        status, artifacts = document.model.status, document.model.artifacts
        if status in ("BLOCKED", "FAIL") and not any(artifacts.raw.get(name) for name in _DETAILS):
            who = document.agent.value if document.agent else "the agent"
            at = "/artifacts" if "artifacts" in document.model else ""
            report(at, f"{who} reports {status} without details; fill in {listed(_DETAILS, 'or')}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.agent_output("BLOCKED", {"notes": []}),
            samples.agent_output("BLOCKED", {"notes": ["spec.md is missing"]}),
            path=samples.exchange("Coder", side="output"),
        )


class DoneClaimContradiction(TeamRule):
    code = "TC541"
    name = "done-claim-contradiction"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "An agent claims that the definition of done is met, but its status is not `OK`."
    why = "One of the two is wrong, so the work is either repeated or released by mistake."

    def check_output(self, document: OutputDocument, report: Report) -> None:
        status = document.model.status
        if document.model.gates.meets_definition_of_done and status not in (None, "OK"):
            report("/gates/meets_definition_of_done", f"the status is {status}, but meets_definition_of_done is true")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.agent_output("FAIL", gates={"meets_definition_of_done": True}),
            samples.agent_output("FAIL"),
            path=samples.exchange("Coder", side="output"),
        )
