"""The team system: which files are its documents, how each is checked, and a session folder as one unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workrail_lint.findings import Finding
from workrail_lint.systems.base import FileResult
from workrail_lint.systems.team.documents import SUFFIXES, TREES, TeamKind, claimed_kind, kind_by_name, place_by_path

if TYPE_CHECKING:
    from workrail_lint.project.selection import Selection
    from workrail_lint.rules.base import Rule
    from workrail_lint.systems.team.options import TeamOptions
    from workrail_lint.systems.team.rules.base import Document
    from workrail_lint.systems.team.rules.walk import RuleSet
    from workrail_lint.systems.team.session import Sessions

K = TeamKind
# What these say depends on other files of the session, which no content key can speak for.
_BY_SESSION = (K.TASKS, K.SPEC, K.ARCHITECTURE, K.REPORT, K.INPUT, K.OUTPUT, K.PLAN)
_CLOSING_STATES = ("DONE", "BLOCKED")


class TeamSystem:
    """Session folders of coordinated agent teams and the JSON that the agents exchange."""

    name = "team"
    suffixes = SUFFIXES

    def __init__(self, rules: RuleSet | None = None) -> None:
        self.selection: Selection | None = None  # which rules to run, None for all
        self._rule_set = rules  # sorted when they are first needed, unless somebody has done so
        self._sessions: Sessions | None = None

    def rules(self) -> tuple[Rule, ...]:
        from workrail_lint.systems.team.rules.registry import all_rules

        return all_rules()

    def may_claim(self, path: str) -> bool:
        """Whether a file can be ours at all, by its name; any JSON can, by its shape."""
        return path.endswith(".json") or kind_by_name(path) is not None

    def claims(self, path: str, data: bytes, named: bool) -> str | None:
        kind = claimed_kind(path, data, named=named)
        return None if kind is None else kind.value

    def check(self, path: str, data: bytes, kind: str, settings: Any) -> FileResult:
        return self.check_data(path, data, kind, settings)

    def check_data(self, path: str, data: bytes | str, kind: str, settings: Any) -> FileResult:
        """The same for a text that is on no disk."""
        from workrail_lint.systems.team.options import team_options
        from workrail_lint.systems.team.reading import reading_findings
        from workrail_lint.systems.team.unit import record_of

        options = team_options(settings.options)
        on_disk = getattr(settings, "workspace", None) is not None
        document, found = self._document(path, data, TeamKind(kind), options, on_disk)
        if document is None:
            return FileResult(found, cacheable=False)
        found += reading_findings(document.kind, document.reader, options.profile)
        if document.kind is K.TRACE and document.value:
            from workrail_lint.systems.team.trace import Trace

            found += self._rules().run_trace(Trace(document.value), options)
        elif document.reader.readable and (document.kind not in TREES or type(document.reader.value) is dict):
            found += self._rules().run(document)
        locate(found, document.reader, path, fingerprints=bool(settings.options.get("fingerprints")))
        cacheable = document.session is None or document.kind not in _BY_SESSION
        return FileResult(found, record_of(document), cacheable=cacheable and options.history_baseline is None)

    def _document(
        self, path: str, data: bytes | str, kind: TeamKind, options: TeamOptions, on_disk: bool
    ) -> tuple[Document | None, list[Finding]]:
        """The document with what is known around it; None when it is not to be judged."""
        from workrail_lint.systems.team.reading import finding, read_document, read_output
        from workrail_lint.systems.team.rules.base import Backlog, Document, ExchangeDocument, named_session
        from workrail_lint.systems.team.session import leads_out
        from workrail_lint.systems.team.vocabulary import AgentName, members_of

        known = self._known_sessions().of_file(path) if on_disk else None
        place, session = known if known is not None else (place_by_path(path), None)
        if on_disk and place is not None and leads_out(path, place.folder):
            message = "this is a link to a place outside the session folder; it is not followed"
            refused = finding("team-unreadable-document", message)
            refused.path = path
            return None, [refused]
        found: list[Finding] = []
        if kind is K.OUTPUT:
            reader, extra = read_output(data)
            found += [] if extra is None else [extra]
        else:
            reader = read_document(kind, data)
        views: dict[TeamKind, type[Document]] = {
            K.TASKS: Backlog,
            K.INPUT: ExchangeDocument,
            K.OUTPUT: ExchangeDocument,
            K.PLAN: ExchangeDocument,
        }
        document = views.get(kind, Document)(kind, path, reader, options, place=place, session=session)
        if isinstance(document, ExchangeDocument) and on_disk and session is None:
            name = named_session(members_of(document.value.get("task")))
            document.session = None if name is None else self._known_sessions().named(name, path)
        closing = isinstance(document, ExchangeDocument) and document.agent is AgentName.ORCHESTRATOR
        if kind is K.OUTPUT and closing and "{" not in reader.text and document.state in (None, *_CLOSING_STATES):
            return None, []  # the last word to the user is plain text
        return document, found

    def _known_sessions(self) -> Sessions:
        if self._sessions is None:
            from workrail_lint.systems.team.session import Sessions

            self._sessions = Sessions()
        return self._sessions

    def _rules(self) -> RuleSet:
        if self._rule_set is None:
            from workrail_lint.systems.team.rules.registry import all_rules
            from workrail_lint.systems.team.rules.walk import RuleSet

            active = None if self.selection is None else self.selection.active
            self._rule_set = RuleSet([rule for rule in all_rules() if active is None or rule.name in active])
        return self._rule_set

    def cross_check(self, records: dict[str, Any], settings: Any, complete: bool) -> list[Finding]:
        """The rules about whole sessions, for every session folder of a run that looked at a folder."""
        if not complete:
            return []  # files that were named are judged by themselves
        from workrail_lint.systems.team.options import team_options
        from workrail_lint.systems.team.unit import units_of

        found: list[Finding] = []
        for unit in units_of(records, team_options(settings.options)):
            found += self._rules().run_unit(unit)
        fingerprints = bool(settings.options.get("fingerprints"))
        by_path: dict[str, list[Finding]] = {}
        for finding in found:
            by_path.setdefault(finding.path, []).append(finding)
        for path, findings in by_path.items():
            if path in records:
                _locate_again(findings, path, TeamKind(records[path]["kind"]), fingerprints)
        return found


def _locate_again(findings: list[Finding], path: str, kind: TeamKind, fingerprints: bool) -> None:
    """Findings made without the document get their spans from the file; one that is gone has none to give."""
    from workrail_lint.documents.json_reader import MAX_BYTES
    from workrail_lint.systems.team.reading import read_document
    from workrail_lint.systems.team.session import read_artifact

    data = read_artifact(path, MAX_BYTES)
    if data is not None:
        locate(findings, read_document(kind, data), path, fingerprints=fingerprints)


def locate(findings: list[Finding], reader: Any, path: str, *, fingerprints: bool = True) -> None:
    """Give findings their file, their span, and what a baseline or suppression needs to know the place again."""
    value = getattr(reader, "value", None) if findings else None
    for finding in findings:
        finding.path = path
        if finding.span is None:
            finding.span = _span(reader, finding)
        if reader.readable:
            finding.details["place"] = _id_pointer(value, finding.pointer)
            if fingerprints:
                finding.details["valueHash"] = _value_hash(value, finding.pointer)


def _span(reader: Any, finding: Finding) -> Any:
    """The span of the place, or of the nearest one above it that exists."""
    pointer = finding.pointer
    while True:
        span = reader.locate(pointer, finding.on_name and pointer == finding.pointer)
        if span is not None or not pointer:
            return span
        pointer = "" if pointer.startswith("#") else pointer.rpartition("/")[0]


def _id_pointer(root: object, pointer: str) -> str:
    """A pointer in which tasks, decisions and criteria are named by their ids."""
    from workrail_lint.documents import pointer as pointers

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


def _value_hash(root: object, pointer: str) -> str:
    from workrail_lint.base.canonical import CanonicalError, canonical_hash
    from workrail_lint.documents.pointer import resolve

    try:
        return canonical_hash(resolve(root, pointer))[7:23]
    except (KeyError, ValueError, CanonicalError):
        return ""
