"""The output of an agent, whatever its role."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.operations import Replace
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.roles import ROLES, known_artifacts
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, OutputDocument, Report, TeamRule
from workrail_lint.systems.team.rules.inputs import report_blanks
from workrail_lint.systems.team.rules.shapes import ShapeRule
from workrail_lint.systems.team.vocabulary import (
    CHECKLIST,
    SAME,
    AgentName,
    OutputStatus,
    is_text,
    line_count,
    session_parts,
)
from workrail_lint.systems.team.wording import listed, shown, suggestion, type_name

# What is wrong with an artifact: pointers below it, and messages.
Problems = Iterator[tuple[str, str]]


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
    example_path = samples.exchange("Coder", side="output")

    def examples(self) -> Iterator[Example]:
        text = json.dumps(samples.agent_output(artifacts=samples.coded()), indent=2)
        good = text + "\n"
        yield self.example(f"```json\n{text}\n```\n", good, text)
        yield self.example(f"Here you are:\n{text}\n", good, text)


class OutputInvalid(ShapeRule):
    code = "TC531"
    name = "team-output-invalid"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A field of an output is missing, unknown, blank, or of another type or form."
    why = "The next dispatch is decided from these fields; what can't be read is lost."
    fix = "Replace `same` with the task, a role file with its agent, and a single string with a list."
    fix_safety = "safe"
    kind = TeamKind.OUTPUT
    example_path = samples.exchange("Coder", side="output")

    def check_output(self, document: OutputDocument, report: Report) -> None:
        report_blanks(document.model.gates, ("security_concerns",), report)
        self._output_task_same(document, report)
        artifacts, known = document.model.artifacts, known_artifacts(document.agent)
        path = artifacts.design_spec_file
        if path is not None and session_parts(path) is None and "design_spec_file" in known:
            report(artifacts.at("design_spec_file"), _NO_SESSION_PATH.format(shown(path)))
        for name, value in artifacts.raw.items():
            if name not in known:
                message = f"unknown artifact {shown(name)}; no agent reads it"
                report(artifacts.at(name), message, on_name=True, severity=Severity.INFO)
                continue
            for pointer, message in _CHECKS[name](name, value) if name in _CHECKS else ():
                message = message if f"'{name}'" in message else f"'{name}': {message}"
                report(artifacts.at(name) + pointer, message)
        options = document.model.artifacts.options if document.agent is A.RESEARCHER else ()
        recommended = [option.id or option.index for option in options if option.recommended]
        if len(recommended) > 1:
            names = listed(map(shown, recommended))
            report("/artifacts/options", f"more than one option is recommended: {names}", severity=Severity.WARNING)

    def _output_task_same(self, document: OutputDocument, report: Report) -> None:
        if document.model.next.recommended_task_id != SAME:
            return
        at, known = "/next/recommended_task_id", document.exchange
        fix = safe(f"replace with {known.task}", Replace(at, known.task)) if known else None
        message = f"recommended_task_id is 'same'; write {known.task if known else 'the id of the task'} instead"
        report(at, message, fix=fix, severity=Severity.WARNING)

    def examples(self) -> Iterator[Example]:
        good = samples.agent_output(artifacts=samples.coded())
        yield self.example(samples.agent_output(artifacts=samples.coded(), next=...), good)
        yield self.example(samples.agent_output("DONE", samples.coded()), samples.agent_output("OK", samples.coded()))

        def output(agent: str = "Reviewer", task: str = "meta") -> dict[str, Any]:
            following = {"recommended_agent": agent, "recommended_task_id": task, "reason": "The goal is unclear."}
            return samples.agent_output(artifacts=samples.coded(), next=following)

        good = output("SpecAgent")
        yield self.example(output("spec-agent"), good, good)
        yield self.example(output("Tester"), good)
        good = output(task="T-001")
        yield self.example(output(task="same"), good, good)
        good = samples.agent_output(artifacts=samples.coded(notes=["x"]))
        bad = samples.agent_output(artifacts=samples.coded(notes="x"))
        yield self.example(bad, good, good)
        bad, good = (
            samples.agent_output("BLOCKED", {"review_comments": [samples.review_comment(severity)]})
            for severity in ("high", "minor")
        )
        yield Example(bad, good, path=samples.exchange("Reviewer", side="output"))
        yield self.example(
            samples.agent_output(artifacts=samples.coded(extras=[])),
            samples.agent_output(artifacts=samples.coded(patch_summary="One form.")),
        )
        option = {"id": "OPT-1", "label": "Sessions", "pros": [], "cons": [], "effort": "low", "recommended": True}
        owed: dict[str, Any] = {"files_to_create_or_update": [], "notes": []}
        path = samples.exchange("Researcher", "meta", "output")
        good = samples.agent_output("OK", {**owed, "options": [option]})
        yield Example(samples.agent_output("OK", {**owed, "options": [{"id": "A"}]}), good, path=path)
        both = {**owed, "options": [option, {**option, "id": "OPT-2"}]}
        yield Example(samples.agent_output("OK", both), good, path=path)


class OutputStatusNotForRole(TeamRule):
    code = "TC533"
    name = "output-status-not-for-role"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`NEEDS_INFO` does not come from Researcher, or `NEEDS_DECISION` does not come from Security."
    why = "Each of the two opens a question to the user that only this role may ask; other roles report `BLOCKED`."
    example_path = samples.exchange("Coder", side="output")
    bad = samples.agent_output("NEEDS_INFO", samples.coded())
    good = samples.agent_output("BLOCKED", samples.coded())

    def check_output(self, document: OutputDocument, report: Report) -> None:
        status, agent = document.model.status, document.agent
        for owner, special in ((A.RESEARCHER, OutputStatus.NEEDS_INFO), (A.SECURITY, OutputStatus.NEEDS_DECISION)):
            if status == special and agent not in (None, owner):
                who = agent.value if agent else ""
                report("/status", f"{who} can't report {special.value}; only {owner.value} can")


class OutputSummaryLength(TeamRule):
    code = "TC536"
    name = "team-output-summary-length"
    severity = Severity.WARNING
    origin = FIXED
    summary = f"The summary has more than {_SENTENCES} sentences, or more than {_DESIGN_LINES} lines from the Designer."
    why = "The summary goes to every later agent and to the user; details belong in the artifacts."
    example_path = samples.exchange("Coder", side="output")
    bad = samples.agent_output(artifacts=samples.coded(), summary="One. Two. Three. Four. Five.")
    good = samples.agent_output(artifacts=samples.coded(), summary="Version 1.2 is in app.js, e.g. the form. It works.")

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


def sentence_count(text: str) -> int:
    """Count sentences; the dot of an abbreviation, a number or a file name does not end one."""
    plain = _ABBREVIATION.compiled.sub("", text.strip())
    ends = list(_SENTENCE_END.finditer(plain))
    rest = plain[ends[-1].end() :] if ends else plain
    return len(ends) + (1 if is_text(rest) else 0)


_NO_SESSION_PATH = "'design_spec_file' must be null or a path such as .agents-work/<session>/…, not {}"


class OutputArtifactMissing(TeamRule):
    code = "TC538"
    name = "output-artifact-missing"
    severity = Severity.WARNING
    origin = FIXED
    summary = "An agent reports `OK` without an artifact that its role must deliver."
    why = "The next agent receives only what is listed; work that is not listed counts as not done."
    example_path = samples.exchange("Coder", side="output")
    bad = samples.agent_output(artifacts=samples.coded(files_changed=...))
    good = samples.agent_output(artifacts=samples.coded())

    def check_output(self, document: OutputDocument, report: Report) -> None:
        output = document.model
        if document.agent is None or output.status != OutputStatus.OK or not output.has("artifacts"):
            return
        for name in ROLES[document.agent].required:
            if name not in output.artifacts:
                report("/artifacts", f"{document.agent.value} reports OK, but delivers no {name}")


_DETAILS = ("notes", "findings", "review_comments", "manual_steps")


class BlockedWithoutDetail(TeamRule):
    code = "TC540"
    name = "blocked-without-detail"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An agent reports `BLOCKED` or `FAIL`, but no notes, findings, review comments or manual steps."
    why = "A problem without a description can't be repaired."
    example_path = samples.exchange("Coder", side="output")
    bad = samples.agent_output("BLOCKED", {"notes": []})
    good = samples.agent_output("BLOCKED", {"notes": ["spec.md is missing"]})

    def check_output(self, document: OutputDocument, report: Report) -> None:
        status, artifacts = document.model.status, document.model.artifacts
        if status in ("BLOCKED", "FAIL") and not any(artifacts.raw.get(name) for name in _DETAILS):
            who = document.agent.value if document.agent else "the agent"
            at = "/artifacts" if "artifacts" in document.model else ""
            report(at, f"{who} reports {status} without details; fill in {listed(_DETAILS, 'or')}")


class GatesContradictStatus(TeamRule):
    code = "TC541"
    name = "gates-contradict-status"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The gates of an output contradict its status: done but not OK, or a Coder that waives its review."
    why = "The Orchestrator reads both, and one of them is wrong."
    example_path = samples.exchange("Coder", side="output")
    bad = (
        samples.agent_output("FAIL", gates={"meets_definition_of_done": True}),
        samples.agent_output(artifacts=samples.coded(), gates={"needs_review": False}),
    )
    good = (samples.agent_output("FAIL"), samples.agent_output(artifacts=samples.coded()))

    def check_output(self, document: OutputDocument, report: Report) -> None:
        status = document.model.status
        if document.model.gates.meets_definition_of_done and status not in (None, "OK"):
            report("/gates/meets_definition_of_done", f"the status is {status}, but meets_definition_of_done is true")
        waived = document.model.gates.needs_review is False
        if document.agent is A.CODER and document.model.status == "OK" and waived:
            report("/gates/needs_review", "a Coder that reports OK can't set needs_review to false")
