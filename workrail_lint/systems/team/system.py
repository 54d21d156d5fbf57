"""The team system: which files are its documents, how each is checked, and a session folder as one unit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

from workrail_lint.base.result import Err, Ok
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.json_reader import MAX_BYTES
from workrail_lint.findings import Finding, by_path
from workrail_lint.rules.locate import locate
from workrail_lint.rules.ruleset import MOST_OF_A_RULE, LazyRules, RuleChoice, RuleSet
from workrail_lint.systems.base import FileResult, Picture, RunSettings, System
from workrail_lint.systems.team import documents
from workrail_lint.systems.team.agent_files import AgentFile
from workrail_lint.systems.team.documents import MARKDOWN, SUFFIXES, TREES, TeamKind, place_by_path
from workrail_lint.systems.team.options import TeamOptions, team_options
from workrail_lint.systems.team.reading import finding, read_document, read_output, reading_findings
from workrail_lint.systems.team.rules import RULES
from workrail_lint.systems.team.rules.base import (
    AcceptanceDocument,
    Backlog,
    Document,
    ExchangeDocument,
    HistoryDocument,
    InputDocument,
    MarkdownFile,
    OutputDocument,
    PlanDocument,
    Reader,
    StatusDocument,
    TeamRule,
)
from workrail_lint.systems.team.rules.walk import run_document, run_trace, run_unit
from workrail_lint.systems.team.session import Sessions, leads_out, read_artifact
from workrail_lint.systems.team.trace import Trace
from workrail_lint.systems.team.unit import record_of, units_of
from workrail_lint.systems.team.vocabulary import AgentName

K = TeamKind
# What these say depends on other files of the session, which no content key can speak for.
_BY_SESSION = (K.TASKS, K.SPEC, K.ARCHITECTURE, K.REPORT, K.INPUT, K.OUTPUT, K.PLAN)
_CLOSING_STATES = ("DONE", "BLOCKED")


class TeamSystem(System):
    """Session folders of coordinated agent teams and the JSON that the agents exchange."""

    name = "team"
    table = RULES
    suffixes = SUFFIXES

    def __init__(self) -> None:
        self._rule_set: RuleSet[TeamRule] | None = None
        self._sessions: Sessions | None = None

    def may_claim(self, path: str) -> bool:
        return documents.may_claim(path)

    def claims(self, path: str, data: bytes, named: bool) -> str | None:
        return documents.claims(path, data, named)

    def check(self, path: str, data: bytes | str, kind: str, settings: RunSettings) -> FileResult:
        options = team_options(settings.options)
        on_disk = settings.workspace is not None
        document, findings = self._document(path, data, TeamKind(kind), options, on_disk)
        if document is None:
            return FileResult(findings, cacheable=False)
        findings += reading_findings(document.kind, document.reader, options.profile)
        if document.kind is K.TRACE and document.value:
            findings += run_trace(self._rules(), Trace(document.value), options)
        elif document.reader.readable and (document.kind not in TREES or type(document.reader.value) is dict):
            findings += run_document(self._rules(), document)
        _locate(findings, document.reader, path, settings.fingerprints)
        # An output is judged beside its input.
        cacheable = document.kind is not K.OUTPUT and (document.session is None or document.kind not in _BY_SESSION)
        return FileResult(findings, record_of(document), cacheable=cacheable and options.history_baseline is None)

    def _document(
        self, path: str, data: bytes | str, kind: TeamKind, options: TeamOptions, on_disk: bool
    ) -> tuple[Document | None, list[Finding]]:
        """Return the document with what is known around it; None when it is not to be judged."""
        known = self._known_sessions().of_file(path) if on_disk else None
        place, session = known if known is not None else (place_by_path(path), None)
        if on_disk and place is not None and leads_out(path, place.folder):
            message = "this symlink leads outside the session folder and is not followed"
            refused = finding("team-unreadable-document", message)
            refused.path = path
            return None, [refused]
        reader, extra = read_output(data) if kind is K.OUTPUT else (read_document(kind, data), None)
        findings = [] if extra is None else [extra]
        views: dict[TeamKind, type[Document]] = {
            K.STATUS: StatusDocument,
            K.TASKS: Backlog,
            K.ACCEPTANCE: AcceptanceDocument,
            K.HISTORY: HistoryDocument,
            K.INPUT: InputDocument,
            K.OUTPUT: OutputDocument,
            K.PLAN: PlanDocument,
            **dict.fromkeys(MARKDOWN, MarkdownFile),
            K.AGENT_FILE: AgentFile,
        }
        document = views.get(kind, Document)(kind, path, reader, options, place=place, session=session)
        if isinstance(document, InputDocument) and on_disk and session is None:
            name = document.named_session
            document.session = None if name is None else self._known_sessions().named(name, path)
        closing = isinstance(document, ExchangeDocument) and document.agent is AgentName.ORCHESTRATOR
        if kind is K.OUTPUT and closing and "{" not in reader.text and document.state in (None, *_CLOSING_STATES):
            return None, []  # the last word to the user is plain text
        return document, findings

    def _known_sessions(self) -> Sessions:
        if self._sessions is None:
            self._sessions = Sessions()
        return self._sessions

    def _rules(self) -> RuleSet[TeamRule]:
        if self._rule_set is None:
            self._rule_set = default_rules() if self.choice is None else _chosen_rules(self.choice)
        return self._rule_set

    def picture(self, path: str, data: bytes, kind: str, settings: RunSettings) -> Ok[Picture] | Err[list[Finding]]:
        """Return the session of a status file as a drawing, or why it can't be read."""
        from workrail_lint.systems.team.picture import picture  # a check draws nothing

        known, folder = self._known_sessions().of_file(path), os.path.dirname(path) or os.curdir
        session = self._known_sessions().at(folder, os.path.basename(folder)) if known is None else known[1]
        if session.status is None:
            return Err(self.check(path, data, kind, settings).findings)
        return Ok(picture(session, team_options(settings.options).mode))

    def cross_check(self, records: Mapping[str, object], settings: RunSettings, complete: bool) -> list[Finding]:
        """Return the rules about whole sessions, for every session folder of a run that looked at a folder."""
        if not complete:
            return []  # files that were named are judged by themselves

        all_findings: list[Finding] = []
        own = {path: record for path, record in records.items() if isinstance(record, dict)}
        for unit in units_of(own, team_options(settings.options)):
            all_findings += run_unit(self._rules(), unit)
        for path, findings in by_path(all_findings).items():
            if path in own:
                _locate_again(findings, path, TeamKind(own[path]["kind"]), settings.fingerprints)
        return all_findings


@cache
def default_rules() -> RuleSet[TeamRule]:
    """Return all rules that are on by default, shared by everyone who asks for nothing in particular."""
    return _chosen_rules(None)


def _chosen_rules(choice: RuleChoice | None) -> RuleSet[TeamRule]:
    return LazyRules(RULES, TeamRule, choice, most=MOST_OF_A_RULE).for_document()


def _locate_again(findings: list[Finding], path: str, kind: TeamKind, fingerprints: bool) -> None:
    """Findings made without the document get their spans from the file; one that is gone has none to give."""
    data = read_artifact(path, MAX_BYTES)
    if data is not None:
        _locate(findings, read_document(kind, data), path, fingerprints)


def _locate(findings: list[Finding], reader: Reader, path: str, fingerprints: bool) -> None:
    locate(findings, reader, path, value=reader.value, fingerprints=fingerprints, named=_id_pointer)


def _id_pointer(root: object, pointer: str) -> str:
    """Return a pointer in which tasks, decisions and criteria are named by their ids."""
    if not pointer.startswith("/"):
        return pointer
    named: list[str] = []
    value = root
    for token in pointers.decode(pointer):
        if isinstance(value, list) and token.isascii() and token.isdigit() and int(token) < len(value):
            value = value[int(token)]
            members = value if isinstance(value, dict) else {}
            ident = members.get("id") or members.get("decision_id")
            named.append(ident if isinstance(ident, str) else token)
        else:
            value = value.get(token) if isinstance(value, dict) else None
            named.append(token)
    return pointers.encode(named)
