"""The walk over a team document: calls the hooks of every rule that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding, Fix, Severity
from workrail_lint.systems.team.documents import MARKDOWN, TeamKind
from workrail_lint.systems.team.options import TeamOptions
from workrail_lint.systems.team.places import places
from workrail_lint.systems.team.rules.base import (
    DECIDED,
    Backlog,
    Decision,
    Dispatch,
    Document,
    ExchangeDocument,
    TeamRule,
)
from workrail_lint.systems.team.sections import Sections
from workrail_lint.systems.team.vocabulary import AgentName, Profile, is_member, items_of
from workrail_lint.systems.team.wording import one_line

if TYPE_CHECKING:
    from workrail_lint.systems.team.trace import Trace
    from workrail_lint.systems.team.unit import Unit

K = TeamKind
_HOOKS = tuple(name for name in vars(TeamRule) if name.startswith("check_"))
# A document that breaks one rule more often than this is broken as a whole; every further place costs time to find.
MOST_OF_A_RULE = 100
_LEGACY_INFO = ("TC304", "TC702", "TC709")
# The members that name files, by kind: a `*` stands for every element of a list.
_PATHS: dict[TeamKind, tuple[str, ...]] = {
    K.TASKS: ("/tasks/*/files_expected/*", "/tasks/*/context_files/*"),
    K.INPUT: (
        "/task/context_files/*",
        "/task/session_changed_files/*/path",
        "/task/session_changed_files/*/old_path",
    ),
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


class Reporter:
    """What a rule calls to report; the profile has the last word about how bad a finding is."""

    __slots__ = ("document", "profile", "rule", "sink")

    def __init__(self, rule: TeamRule, profile: Profile, sink: list[Finding], document: Document | None) -> None:
        self.rule = rule
        self.profile = profile
        self.sink = sink
        self.document = document

    def __call__(
        self,
        pointer: str,
        message: str,
        *,
        fix: Fix | None = None,
        on_name: bool = False,
        severity: Severity | None = None,
        at: tuple[int, int] | None = None,
        path: str | None = None,
    ) -> None:
        rule = self.rule
        level = lowered(rule, severity or rule.severity, self.profile)
        finding = Finding(rule.code, rule.name, level, one_line(message), pointer, fix=fix, on_name=on_name)
        if at is not None and self.document is not None:
            finding.span = self.document.reader.source.span(*at)
        if path is not None:
            finding.path = path
        self.sink.append(finding)


def lowered(rule: TeamRule, severity: Severity, profile: Profile) -> Severity:
    """How bad a finding is under a profile."""
    if profile is Profile.LEGACY and rule.code in _LEGACY_INFO:
        return Severity.INFO
    if profile is not Profile.STRICT and rule.origin == DECIDED and severity is Severity.ERROR:
        return Severity.WARNING
    return severity


class RuleSet:
    """Rules sorted by the hooks they have, so that a hook costs only the rules that use it."""

    def __init__(self, rules: list[TeamRule]) -> None:
        self._hooks: dict[str, list[TeamRule]] = {
            hook: [rule for rule in rules if getattr(type(rule), hook) is not getattr(TeamRule, hook)]
            for hook in _HOOKS
        }

    def _calls(
        self, hook: str, options: TeamOptions, sink: list[Finding], document: Document | None = None
    ) -> list[tuple[Callable[..., None], Reporter]]:
        return [(getattr(rule, hook), Reporter(rule, options.profile, sink, document)) for rule in self._hooks[hook]]

    def run(self, document: Document) -> list[Finding]:
        """The findings about one document, in no particular order."""
        found: list[Finding] = []

        def each(hook: str, *views: Any) -> None:
            for check, report in self._calls(hook, document.options, found, document):
                check(*views, report)

        each("check_any", document)
        for hook, strings in (("check_string", strings_of_document(document)), ("check_path", paths_of(document))):
            calls = self._calls(hook, document.options, found, document)
            for value, pointer in strings:
                for check, report in calls:
                    check(value, pointer, document, report)
        match document.kind:
            case K.STATUS:
                each("check_status", document)
                for decision in decisions_of(document):
                    each("check_decision", decision, document)
            case K.TASKS:
                assert isinstance(document, Backlog)
                each("check_backlog", document)
                for task in document.tasks:
                    each("check_task", task, document)
            case K.ACCEPTANCE:
                each("check_acceptance", document)
            case K.HISTORY:
                each("check_history", document)
            case K.INPUT | K.OUTPUT | K.PLAN:
                assert isinstance(document, ExchangeDocument)
                each(
                    {K.INPUT: "check_input", K.OUTPUT: "check_output"}.get(document.kind, "check_dispatch_plan"),
                    document,
                )
                for dispatch in dispatches_of(document):
                    each("check_dispatch", dispatch, document)
            case kind if kind in MARKDOWN:
                each("check_markdown", document, Sections(document.reader, document.options.aliases))
        return capped(found)

    def run_unit(self, unit: Unit) -> list[Finding]:
        """The findings about a session folder as a whole, each with the path it belongs to."""
        found: list[Finding] = []
        for check, report in self._calls("check_session", unit.options, found):
            check(unit, report)
        return capped(found)

    def run_trace(self, trace: Trace, options: TeamOptions) -> list[Finding]:
        """The findings about the recorded events of a run."""
        found: list[Finding] = []
        for check, report in self._calls("check_trace", options, found):
            check(trace, report)
        return capped(found)


def capped(found: list[Finding]) -> list[Finding]:
    """At most so many findings of one rule; the last one says how many more there are."""
    if len(found) <= MOST_OF_A_RULE:
        return found
    kept: dict[str, list[Finding]] = {}
    for finding in found:
        kept.setdefault(finding.code, []).append(finding)
    for findings in kept.values():
        if len(findings) > MOST_OF_A_RULE:
            findings[MOST_OF_A_RULE - 1].message += f" (and {len(findings) - MOST_OF_A_RULE} more like this)"
            del findings[MOST_OF_A_RULE:]
    return [finding for findings in kept.values() for finding in findings]


def decisions_of(document: Document) -> list[Decision]:
    entries = enumerate(items_of(document.value.get("user_decisions")))
    return [Decision(entry, index) for index, entry in entries if type(entry) is dict]


def dispatches_of(document: ExchangeDocument) -> list[Dispatch]:
    """The tasks that a document hands to agents; the Orchestrator itself is handed none."""
    if document.kind is K.INPUT:
        orchestrated = document.agent is AgentName.ORCHESTRATOR
        return (
            []
            if orchestrated or type(document.value.get("task")) is not dict
            else [Dispatch(document.value, "", document.agent)]
        )
    if document.kind is not K.PLAN:
        return []
    return [
        Dispatch(
            item, f"/dispatch/{index}", AgentName(item["agent"]) if is_member(item.get("agent"), AgentName) else None
        )
        for index, item in enumerate(items_of(document.value.get("dispatch")))
        if type(item) is dict and type(item.get("task")) is dict
    ]


def strings_of_document(document: Document) -> Iterator[tuple[str, str]]:
    """Every string value with its pointer, without recursion; Markdown has none."""
    if document.kind in MARKDOWN:
        return
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
    """Every string that names a file, with its pointer."""
    for pattern in _PATHS.get(document.kind, ()):
        for pointer, value in places(document.reader.value, pattern):
            if type(value) is str:
                yield value, pointer
