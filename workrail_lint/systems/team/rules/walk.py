"""The walk over a team document: calls the hooks of every rule that has them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from workrail_lint.base.js import items_of, members_of
from workrail_lint.documents.pointer import child
from workrail_lint.documents.source_text import SourceText
from workrail_lint.findings import Finding, Severity
from workrail_lint.rules.base import Rule
from workrail_lint.rules.describing import Describers
from workrail_lint.rules.locate import nearest_span
from workrail_lint.rules.ruleset import RuleSet
from workrail_lint.rules.table import RuleInfo
from workrail_lint.systems.team.agent_files import AgentFile, SampleOutput
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.options import TeamOptions
from workrail_lint.systems.team.rules import RULES
from workrail_lint.systems.team.rules.base import (
    FIXED,
    PRACTICE,
    AcceptanceDocument,
    Backlog,
    Document,
    ExchangeDocument,
    HistoryDocument,
    MarkdownFile,
    StatusDocument,
    TeamRule,
)
from workrail_lint.systems.team.sections import Sections
from workrail_lint.systems.team.trace import Trace
from workrail_lint.systems.team.unit import Unit
from workrail_lint.systems.team.vocabulary import Profile
from workrail_lint.systems.team.wording import tidy_message


def places(root: Any, pattern: str) -> list[tuple[str, Any]]:
    """Return the places that a pattern names; `*` matches every member or element."""
    matches: list[tuple[str, Any]] = [("", root)]
    for token in pattern.split("/")[1:]:
        below: list[tuple[str, Any]] = []
        for pointer, value in matches:
            if token == "*":
                entries = value.items() if type(value) is dict else enumerate(items_of(value))
                below += [(child(pointer, name), item) for name, item in entries]
            elif token in members_of(value):
                below.append((child(pointer, token), value[token]))
        matches = below
    return matches


K = TeamKind
_LEGACY_INFO = ("TC702", "TC709")
# What the rules about agent files say of every alternative, those about outputs need not say of the first.
_SAID_OF_FILES = ("TC533", "TC549")
_SHAPES_OF_FILES = ("OutputStatus", "AgentName")
# The members that name files, by kind: a `*` matches every element of a list.
_PATHS: dict[TeamKind, tuple[str, ...]] = {
    K.TASKS: ("/tasks/*/files_expected/*", "/tasks/*/context_files/*"),
    K.INPUT: ("/task/context_files/*", "/task/session_changed_files/*/path", "/task/session_changed_files/*/old_path"),
    K.PLAN: (
        "/dispatch/*/task/context_files/*",
        "/dispatch/*/task/session_changed_files/*/path",
        "/dispatch/*/task/session_changed_files/*/old_path",
    ),
    K.OUTPUT: (
        "/artifacts/files_to_create_or_update/*",
        "/artifacts/files_changed/*",
        "/artifacts/tests_added_or_updated/*",
        "/artifacts/design_spec_file",
        "/artifacts/review_comments/*/file",
        "/artifacts/findings/*/file",
    ),
}

_EXCHANGE_HOOKS = {K.INPUT: "check_input", K.OUTPUT: "check_output", K.PLAN: "check_dispatch_plan"}


def lowered(rule: Rule | RuleInfo, severity: Severity, profile: Profile) -> Severity:
    """Return how bad a finding is under a profile."""
    if profile is Profile.LEGACY and rule.code in _LEGACY_INFO:
        return Severity.INFO
    if profile is Profile.STRICT or rule.origin == FIXED:
        return severity
    if rule.origin == PRACTICE:
        return Severity.INFO
    return Severity.WARNING if severity is Severity.ERROR else severity


def run_document(rules: RuleSet[TeamRule], document: Document) -> list[Finding]:
    """Return the findings about one document, in no particular order."""
    _begin(rules, document.options, document.reader.source)

    def each(hook: str, *views: object) -> None:
        for check, report in rules.calls(hook):
            check(*views, report)

    # Other rules find the violations that no rule describes in the values themselves.
    _describers().report(document.reported, document, rules.collector)
    each("check_any", document)
    for hook, strings in (("check_string", strings_of_document(document)), ("check_path", paths_of(document))):
        calls = rules.calls(hook)
        for value, pointer in strings:
            for check, report in calls:
                check(value, pointer, document, report)
    match document:
        case StatusDocument():
            each("check_status", document)
            for decision in document.decisions:
                each("check_decision", decision, document)
        case Backlog():
            each("check_backlog", document)
            for task in document.tasks:
                each("check_task", task, document)
        case AcceptanceDocument():
            each("check_acceptance", document)
        case HistoryDocument():
            each("check_history", document)
        case ExchangeDocument():
            each(_EXCHANGE_HOOKS[document.kind], document)
            for dispatch in document.dispatches:
                each("check_dispatch", dispatch, document)
        case AgentFile():
            each("check_agent_file", document)
            return [*rules.collector.finish(), *_sample_findings(rules, document)]
        case MarkdownFile():
            each("check_markdown", document, Sections(document.reader, document.options.aliases))
    return rules.collector.finish()


@cache
def _describers() -> Describers[TeamRule]:
    return Describers((info for info in RULES.infos if info.describes), RULES.rule)


def _sample_findings(rules: RuleSet[TeamRule], file: AgentFile) -> list[Finding]:
    """Return what is wrong with the outputs that instructions show.

    What fixes an output can't mend the text around it.
    """
    findings: list[Finding] = []
    for sample in file.outputs:
        _begin(rules, file.options, sample.document.source)
        output = SampleOutput(file, sample)
        reported = [violation for violation in output.reported if violation.shape not in _SHAPES_OF_FILES]
        _describers().report(reported, output, rules.collector)
        for check, report in rules.calls("check_output"):
            if report.rule.code not in _SAID_OF_FILES:
                check(output, report)
        heading = file.reader.heading_of(sample.start)
        for finding in rules.collector.finish():
            finding.span = finding.span or nearest_span(sample.document, finding)
            finding.fix = None
            finding.pointer = f"#{heading.title}" if heading is not None else ""
            finding.message = f"in this sample output, {finding.message}"
            findings.append(finding)
    return findings


def run_unit(rules: RuleSet[TeamRule], unit: Unit) -> list[Finding]:
    """Return the findings about a session folder as a whole, each with the path it belongs to."""
    _begin(rules, unit.options)
    for check, report in rules.calls("check_session"):
        check(unit, report)
    return rules.collector.finish()


def run_trace(rules: RuleSet[TeamRule], trace: Trace, options: TeamOptions) -> list[Finding]:
    """Return the findings about the recorded events of a run."""
    _begin(rules, options)
    for check, report in rules.calls("check_trace"):
        check(trace, report)
    return rules.collector.finish()


def _begin(rules: RuleSet[TeamRule], options: TeamOptions, source: SourceText | None = None) -> None:
    rules.collector.begin(
        levels=lambda rule, severity: lowered(rule, severity, options.profile), tidy=tidy_message, source=source
    )


def strings_of_document(document: Document) -> Iterator[tuple[str, str]]:
    """Yield every string value with its pointer, without recursion."""
    stack: list[tuple[object, str]] = [(document.reader.value, "")]
    while stack:
        value, pointer = stack.pop()
        if type(value) is str:
            yield value, pointer
        elif type(value) is dict:
            stack += [(item, child(pointer, name)) for name, item in value.items()]
        elif type(value) is list:
            stack += [(item, f"{pointer}/{index}") for index, item in enumerate(value)]


def paths_of(document: Document) -> Iterator[tuple[str, str]]:
    """Yield every string that names a file, with its pointer."""
    for pattern in _PATHS.get(document.kind, ()):
        for pointer, value in places(document.reader.value, pattern):
            if type(value) is str:
                yield value, pointer
