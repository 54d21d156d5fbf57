"""Requirements that the role of an agent has for its output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from workrail_lint.documents.nodes import numbered
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.model.documents import ReviewComment, SecurityFinding
from workrail_lint.systems.team.roles import ROLES, WRITTEN_KEYS, may_write, review_verdict
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import FIXED, OutputDocument, Report, TeamRule
from workrail_lint.systems.team.vocabulary import (
    AgentName,
    FindingSeverity,
    OutputStatus,
    ProjectType,
    is_text,
    line_count,
)
from workrail_lint.systems.team.wording import shown

A = AgentName
_LINES = 80
# "medium: tokens are logged", "[HIGH] …", "critical - …"
_LEVEL = re.compile(r"\W*(low|medium|high|critical)\b(?=\s*[^\w\s])", re.IGNORECASE)
_WITHOUT_PAGES = (ProjectType.CLI, ProjectType.LIB)
_WEB_TOPIC = re.compile(r"\b(?:XSS|CSRF|cross-site (?:scripting|request forgery)|tenant scoping)\b", re.IGNORECASE)
_NOT_APPLICABLE = re.compile(r"\bN/A\b|\bnot applicable\b|\bskipped\b|\bdoes not apply\b", re.IGNORECASE)
_DESIGN_KEYS = ("design_spec_inline", "design_spec_file")


def _comments(document: OutputDocument) -> list[ReviewComment]:
    """Return the review comments that are objects."""
    return [comment for comment in document.model.artifacts.review_comments if not isinstance(comment, str)]


def finding_level(finding: str | SecurityFinding) -> FindingSeverity | None:
    """Return how bad a finding of Security is; a string may begin with that. None if it does not say."""
    if isinstance(finding, str):
        begin = _LEVEL.match(finding)
        return None if begin is None else FindingSeverity(begin[1].lower())
    return None if finding.severity is None else FindingSeverity(finding.severity)


def _finding(severity: str = "medium") -> dict[str, Any]:
    return {
        "severity": severity,
        "category": "Validation",
        "file": "src/login.js",
        "description": "The redirect target is not checked.",
        "recommended_fix": "Allow paths of this site only.",
    }


class StatusContradictsResults(TeamRule):
    code = "TC542"
    name = "status-contradicts-results"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The status of Security, Reviewer or QA does not match its findings, comments, verdict or test results."
    why = "`OK` completes the task, so the finding, the comment or the failing test is never acted on."

    def check_output(self, document: OutputDocument, report: Report) -> None:
        self._security_status_mismatch(document, report)
        self._review_status_mismatch(document, report)
        self._review_verdict_mismatch(document, report)
        self._qa_failures_ignored(document, report)

    def _security_status_mismatch(self, document: OutputDocument, report: Report) -> None:
        status = document.model.status
        if document.agent is not A.SECURITY or status is None:
            return
        levels = [finding_level(item) for item in document.model.artifacts.findings]
        known = [level for level in levels if level is not None]
        worst = max(known, key=lambda level: level.rank, default=FindingSeverity.LOW)
        if worst.rank >= FindingSeverity.HIGH.rank and status not in ("BLOCKED", "FAIL"):
            report("/status", f"a {worst.value} finding requires the status BLOCKED, not {status}")
        elif worst is FindingSeverity.MEDIUM and status == OutputStatus.OK:
            report("/status", "a medium finding requires the status NEEDS_DECISION, not OK")
        elif status == OutputStatus.NEEDS_DECISION and FindingSeverity.MEDIUM not in levels and None not in levels:
            report("/status", "NEEDS_DECISION requires a medium finding; without one the status must be OK")

    def _review_status_mismatch(self, document: OutputDocument, report: Report) -> None:
        if document.agent is not A.REVIEWER or document.model.status != "OK":
            return
        for comment in _comments(document):
            is_blocker = comment.severity == "blocker"
            if is_blocker or (comment.severity == "major" and comment.category == "Security"):
                kind = "a blocker" if is_blocker else "a major security issue"
                report(comment.pointer, f"comment {comment.index} is {kind}, but the status is OK")

    def _review_verdict_mismatch(self, document: OutputDocument, report: Report) -> None:
        status, comments = document.model.status, _comments(document)
        if document.agent is not A.REVIEWER or status is None:
            return
        verdict = review_verdict(document.model.summary)
        if verdict == "NEEDS FIXES" and status == "OK":
            report("/status", "the verdict is NEEDS FIXES, but the status is OK", severity=Severity.WARNING)
        if verdict.startswith("PASS") and status == "BLOCKED":
            report("/status", f"the verdict is {verdict}, but the status is BLOCKED", severity=Severity.WARNING)
        if verdict == "PASS WITH NOTES" and not any(comment.severity in ("nit", "minor") for comment in comments):
            report(
                "/summary",
                f"the verdict is {verdict} and the status {status}, but no comment is nit or minor",
                severity=Severity.WARNING,
            )
        result = f"the verdict {verdict} and the status OK" if verdict else "the status OK"
        for comment in comments:
            if comment.severity == "major" and comment.category != "Security" and status == "OK":
                report(
                    comment.pointer,
                    f"comment {comment.index} is major, which contradicts {result}",
                    severity=Severity.WARNING,
                )

    def _qa_failures_ignored(self, document: OutputDocument, report: Report) -> None:
        results = document.model.artifacts.test_results
        if document.agent is not A.QA or document.model.status != "OK" or results is None:
            return
        failed = results.failed or 0
        if failed > 0:
            report(results.at("failed"), f"{failed} test{'s' * (failed > 1)} failed, but the status is OK")

    def examples(self) -> Iterator[Example]:
        path = samples.exchange("Security", side="output")
        good = samples.agent_output("NEEDS_DECISION", {"findings": [_finding()], "notes": []})
        yield Example(samples.agent_output("OK", {"findings": [_finding()], "notes": []}), good, path=path)
        high = {"findings": [_finding("high")], "notes": []}
        yield Example(samples.agent_output("NEEDS_DECISION", high), samples.agent_output("BLOCKED", high), path=path)
        none: dict[str, Any] = {"findings": [], "notes": []}
        yield Example(samples.agent_output("NEEDS_DECISION", none), samples.agent_output("OK", none), path=path)
        comment = samples.review_comment("major", "Security")
        yield Example(
            _reviewed("OK", "Verdict: PASS.", comment),
            _reviewed("BLOCKED", "Verdict: NEEDS FIXES.", comment),
            path=samples.exchange("Reviewer", side="output"),
        )
        path = samples.exchange("Reviewer", side="output")
        good = _reviewed("BLOCKED", "Verdict: NEEDS FIXES.", samples.review_comment("major"))
        yield Example(_reviewed("OK", "Verdict: NEEDS FIXES."), good, path=path)
        yield Example(
            _reviewed("OK", "PASS WITH NOTES."),
            _reviewed("OK", "PASS WITH NOTES.", samples.review_comment("nit")),
            path=path,
        )

        def output(failed: int) -> dict[str, Any]:
            results = {"passed": 7, "failed": failed, "skipped": 0, "output": "see the log"}
            owed: dict[str, Any] = {"tests_added_or_updated": [], "commands_to_run": [], "notes": []}
            return samples.agent_output("OK", {**owed, "test_results": results})

        yield Example(output(2), output(0), path=samples.exchange("QA", side="output"))


def _reviewed(status: str, summary: str, *comments: dict[str, Any]) -> dict[str, Any]:
    return samples.agent_output(status, {"review_comments": list(comments)}, summary=summary)


class TopicNotForProject(TeamRule):
    code = "TC550"
    name = "topic-not-for-project"
    severity = Severity.WARNING
    origin = FIXED
    summary = "A review of a `cli` or `lib` project reports XSS, CSRF, tenant scoping or templates."
    why = (
        "Agents must skip what does not apply to the project type; either the finding is beside the point, or the "
        "project type is wrong and every other check was chosen by it."
    )

    def check_output(self, document: OutputDocument, report: Report) -> None:
        if document.agent not in (A.SECURITY, A.REVIEWER, A.QA) or document.project_type not in _WITHOUT_PAGES:
            return
        artifacts, who = document.model.artifacts, document.agent.value
        for name in ("findings", "review_comments"):
            for index, entry in numbered(getattr(artifacts, name)):
                topic = _web_topic(entry)
                if topic:
                    kind = document.project_type.value
                    message = f"{who} reports {topic}, which does not apply to a {kind} project"
                    report(artifacts.at(name, index), f"{message}; drop the finding, or correct project_type")

    def examples(self) -> Iterator[Example]:
        path = samples.exchange("Security", side="output")
        given: dict[str, Any] = {path.replace(".output.", ".input."): samples.agent_input(project_type="cli")}
        bad = samples.agent_output("NEEDS_DECISION", {"findings": [_finding() | {"category": "XSS"}], "notes": []})
        good = samples.agent_output("NEEDS_DECISION", {"findings": [_finding()], "notes": []})
        yield Example(bad, good, path=path, files=given)


def _web_topic(entry: str | SecurityFinding | ReviewComment) -> str:
    """Return the topic of web pages that a finding or comment is about, if any."""
    if isinstance(entry, str):
        texts = [entry]
    elif isinstance(entry, ReviewComment):
        texts = [entry.message or ""]
    elif entry.category == "XSS":
        return "XSS"
    else:
        texts = [entry.description or ""]
    topic = None if _NOT_APPLICABLE.search(texts[0]) else _WEB_TOPIC.search(texts[0])
    return "" if topic is None else topic[0]


class DesignSpecDelivery(TeamRule):
    code = "TC547"
    name = "design-spec-delivery"
    severity = Severity.ERROR
    origin = FIXED
    summary = f"A Designer delivers no design spec, or an inline spec of more than {_LINES} lines."
    why = "Without a spec there is nothing to build from; a long spec belongs in a file that other agents can read."
    example_path = samples.exchange("Designer", "meta", "output")

    def check_output(self, document: OutputDocument, report: Report) -> None:
        if document.agent is not A.DESIGNER or document.model.status != "OK":
            return
        artifacts = document.model.artifacts
        inline = artifacts.design_spec_inline
        is_wrong = any(name in artifacts and not artifacts.has(name) for name in _DESIGN_KEYS)
        is_listed = any("/design-specs/" in path for path in artifacts.files_to_create_or_update)
        if not is_text(inline) and artifacts.design_spec_file is None and not is_wrong and not is_listed:
            report(
                "/artifacts" if "artifacts" in document.model else "",
                "the output has neither design_spec_inline nor design_spec_file",
            )
        elif inline is not None and (lines := line_count(inline)) > _LINES:
            report(
                "/artifacts/design_spec_inline",
                f"design_spec_inline has {lines} lines; move a spec of more than {_LINES} lines to a file",
            )

    def examples(self) -> Iterator[Example]:
        none: dict[str, Any] = {"design_spec_inline": None, "design_spec_file": None, "notes": []}
        file = {**none, "design_spec_file": f"{samples.FOLDER}/design-specs/design-spec-form.md"}
        yield self.example(samples.agent_output("OK", none), samples.agent_output("OK", file))


class WriteOutsideRole(TeamRule):
    code = "TC549"
    name = "write-outside-role"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An agent wrote a file outside its role, in an older session, or outside the repository."
    why = "Separate roles keep agents from reviewing their own work; older sessions are a record that must not change."
    example_path = samples.exchange("Designer", "meta", "output")

    def check_output(self, document: OutputDocument, report: Report) -> None:
        agent = document.agent
        if agent is None:
            return
        artifacts = document.model.artifacts
        written = [
            (artifacts.at(name, index), path)
            for name in WRITTEN_KEYS
            for index, path in numbered(getattr(artifacts, name))
        ]
        if artifacts.design_spec_file is not None:
            written.append((artifacts.at("design_spec_file"), artifacts.design_spec_file))
        for pointer, path in written:
            if not may_write(agent, path, document.session_name):
                reach = ROLES[agent].reach.value
                report(pointer, f"{agent.value} can't write {shown(path)}; it may write {reach}")

    def examples(self) -> Iterator[Example]:
        def output(path: str) -> dict[str, Any]:
            spec = f"{samples.FOLDER}/design-specs/design-spec-form.md"
            return samples.agent_output(
                "OK", {"files_to_create_or_update": [path], "design_spec_file": spec, "notes": []}
            )

        good = output(f"{samples.FOLDER}/design-specs/design-spec-form.md")
        for bad in ("src/ui.css", "../../etc/passwd", ".agents-work/2025-12-01_old-work/spec.md"):
            yield self.example(output(bad), good)
