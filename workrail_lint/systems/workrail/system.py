"""The WorkRail system: which files are its documents, and how each kind is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from workrail_lint.base.files import read_file
from workrail_lint.base.js import Json
from workrail_lint.base.result import Ok
from workrail_lint.documents.json_reader import FEW_PROBLEMS, MANY_PROBLEMS, JsonDocument, read_json
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Finding
from workrail_lint.rules.base import Rule
from workrail_lint.rules.locate import locate, reader_finding
from workrail_lint.rules.ruleset import LazyRules, RuleChoice
from workrail_lint.systems.base import FileResult, RunSettings, System, is_set_by_caller
from workrail_lint.systems.schemas import SCHEMA_SUFFIX
from workrail_lint.systems.workrail.check import CheckedDocument, cap_at_warning, check_document
from workrail_lint.systems.workrail.compat import Normalized
from workrail_lint.systems.workrail.document_kinds import (
    Kind,
    in_routines_folder,
    kind_by_name,
    kind_of,
    may_be_ours,
)
from workrail_lint.systems.workrail.identity import is_reserved, source_kind_of
from workrail_lint.systems.workrail.model.workflow import Workflow
from workrail_lint.systems.workrail.project_bindings import check_bindings_text, sections_of, unknown_slots
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.delivered_text import mentions_of
from workrail_lint.systems.workrail.rules.prose import text_index
from workrail_lint.systems.workrail.rules.rule_needs import (
    NO_ABOUT,
    NO_EXAMPLES,
    OTHER_SPEC_VERSION,
    UNCOUNTED,
    facts_of,
)
from workrail_lint.systems.workrail.rules.walk import run_rules
from workrail_lint.systems.workrail.settings import Settings, workflow_settings
from workrail_lint.systems.workrail.workflow_registry import (
    RENAMES,
    Delegation,
    Entry,
    Mention,
    registry_findings,
    with_free_ids,
)

# Facts for which rules advise a member of a workflow.
_ADVISED = {
    NO_ABOUT: "about",
    NO_EXAMPLES: "examples",
    UNCOUNTED: "metricsProfile",
    OTHER_SPEC_VERSION: "validatedAgainstSpecVersion",
}


class Linter:
    """Runs the rules over one document. `check_document` calls `lint` after all other phases."""

    __slots__ = ("_is_routine", "_path", "_rules", "_settings", "consulted", "mentions", "source_kind")

    def __init__(self, path: str, settings: Settings, rules: LazyRules[WorkflowRule], *, is_routine: bool) -> None:
        self._path = path
        self._settings = settings
        self._rules = rules
        self._is_routine = is_routine
        self.mentions: list[Mention] = []  # other workflows that its prompts name
        self.consulted: dict[str, bool] = {}  # paths that some finding, or its absence, depends on
        self.source_kind = _source_kind(path, settings)

    def lint(
        self,
        checked: CheckedDocument,
        normalized: Normalized,
        model: Workflow,
        refused: list[Finding],
        findings: list[Finding],
    ) -> list[Finding]:
        """Return what the rules find in a document, given what was found before."""
        settings = self._settings
        workflow = WorkflowContext(
            checked.document,
            model,
            settings.catalog,
            self._path,
            bindings=settings.bindings,
            compiled=checked.compiled,
            engine=settings.engine,
            normalized=normalized,
            is_routine=self._is_routine,
            workspace=settings.workspace,
            source_kind=self.source_kind,
            options=settings.options,
        )
        workflow.earlier = findings
        for finding in (*refused, *findings):
            info = RULES.by_name.get(finding.name)  # none for a construct of the design form, and for a plugin's rule
            if finding.fix is None and info is not None and info.mends:
                finding.fix = RULES.rule(finding.name).fix_for(finding, workflow)
        facts = facts_of(workflow)
        if settings.release is not None:
            facts -= advice_for_later(settings.release.schema)
        chosen = self._rules.for_document(facts, text_index(workflow).has)
        from_rules = run_rules(chosen, workflow)
        self.consulted = workflow.consulted
        self.mentions = [
            mention.replaced(pointer=normalized.pointer_map(mention.pointer)) for mention in mentions_of(workflow)
        ]
        return from_rules

    def entry(self, checked: CheckedDocument) -> Entry | None:
        """Return what other files need to know about a checked document."""
        if checked.workflow is None:
            return None
        return entry_of(self._path, checked.workflow, self.source_kind, self.mentions, checked.pointer_map)


def _source_kind(path: str, settings: Settings) -> str:
    """Return where a file comes from: as configured, else inferred from its path."""
    if settings.source_kind is not None:
        return settings.source_kind
    return source_kind_of(path, lambda: settings.bundled_ids)


def entry_of(
    path: str,
    workflow: Workflow,
    source_kind: str = "project",
    mentions: Iterable[Mention] = (),
    place: Callable[[str], str] = str,
) -> Entry | None:
    """Return the entry of a workflow; None for one without an id. `place` maps a pointer to the one in the file."""
    if not workflow.has("id"):
        return None
    delegations = tuple(
        Delegation(
            place(delegation.at("workflowId")),
            delegation.workflow_id,
            (*delegation.context_mapping.values(), *delegation.args),
        )
        for step in workflow.all_steps
        if step.kind == "parallel"
        for delegation in step.parallel_delegations
        if delegation.workflow_id
    )
    slots = tuple(_declared_slots(workflow))
    return Entry(path, workflow.id, source_kind, delegations, tuple(mentions), workflow.name, slots)


def _declared_slots(workflow: Workflow) -> Iterable[str]:
    """Return the slots of a workflow, also where the design form was refused."""
    match workflow.raw:
        case {"extensionPoints": {**slots}}:
            return map(str, slots)
    return dict.fromkeys(point.slot_id for point in workflow.extension_points if point.has("slotId"))


def advice_for_later(schema: dict[str, Any]) -> set[str]:
    """Return the facts for which rules would advise what the schema of a release refuses."""
    members = schema["definitions"]["Workflow"]["properties"]
    return {fact for fact, member in _ADVISED.items() if member not in members}


_CHECKED = (Kind.WORKFLOW, Kind.ROUTINE, Kind.BINDINGS, Kind.CATALOG)
_MAYBE = "workflow?"


class WorkRailSystem(System):
    """Workflows, routines, bindings and catalogs."""

    name = "workrail"
    table = RULES

    def __init__(self) -> None:
        self._lazy_rules: LazyRules[WorkflowRule] | None = None

    def claims(self, path: str, data: bytes, named: bool) -> str | None:
        kind = kind_by_name(path)
        if kind is not None:
            return kind.value if kind in _CHECKED else None
        if b'"catalogFormat"' in data and not path.endswith(SCHEMA_SUFFIX):
            return Kind.CATALOG.value
        if named:
            return Kind.WORKFLOW.value if not path.endswith((".md", ".yaml", ".jsonl", ".txt")) else None
        # Cheap signs only: whether a file that was merely found is a workflow shows when it is read.
        return _MAYBE if b'"steps"' in data or may_be_ours(path, "") else None

    def check(self, path: str, data: bytes | str, kind: str, settings: RunSettings) -> FileResult:
        return self._check(path, data, kind, workflow_settings(settings), alone=False)

    def check_data(self, path: str, data: bytes | str, kind: str, settings: RunSettings) -> FileResult:
        """Check a text that is on no disk: it meets no other file, so what it refers to is judged at once."""
        return self._check(path, data, kind, workflow_settings(settings), alone=True)

    def _check(self, path: str, data: bytes | str, kind: str, settings: Settings, *, alone: bool) -> FileResult:
        if kind == Kind.BINDINGS.value:
            return _check_bindings(path, data)
        if kind == Kind.CATALOG.value:
            return _check_catalog(path, data)
        most = MANY_PROBLEMS if settings.options.get("fixing") else FEW_PROBLEMS
        document = read_json(data, parity=settings.parity, most_problems=most)
        if kind == _MAYBE and not _is_workflow(path, document):
            return FileResult([], ours=False, cacheable=False)
        result = self._check_workflow(path, document, settings)
        if alone and result.record is not None:
            for findings in _registry_findings(entries_of({path: result.record}), settings, complete=False).values():
                locate(findings, document, path, value=document.value, fingerprints=settings.fingerprints)
                result.findings.extend(findings)
        return result

    def _check_workflow(self, path: str, document: JsonDocument, settings: Settings) -> FileResult:
        rules = self._rules()
        linter = Linter(path, settings, rules, is_routine=in_routines_folder(path))
        checked = check_document(document, path, settings, linter.lint, extra_describing=rules.extra_describing)
        locate(checked.findings, document, path, value=document.value, fingerprints=settings.fingerprints)
        entry = linter.entry(checked)
        record = None if entry is None else entry.as_record()
        return FileResult(checked.findings, record, consulted=linter.consulted)

    def _rules(self) -> LazyRules[WorkflowRule]:
        if self._lazy_rules is None:
            is_default = self.choice is None or self.choice.is_default
            self._lazy_rules = (
                _default_rules() if is_default and not self.extra_rules else _rules_of(self.choice, self.extra_rules)
            )
        return self._lazy_rules

    def describe(self, violations: Iterable[Violation], value: dict[str, Json]) -> list[Finding]:
        from workrail_lint.systems.workrail.schema_findings import schema_findings  # only a document with errors pays

        return schema_findings(violations, value, extra=self._rules().extra_describing)

    def cross_check(self, records: Mapping[str, object], settings: RunSettings, complete: bool) -> list[Finding]:
        """Ids, delegations and bindings over all files; `complete` when a whole project was looked at."""
        entries = entries_of(records)
        by_path = _registry_findings(entries, workflow_settings(settings), complete)
        by_path.update(_bindings_for(entries, records))
        for path, findings in by_path.items():
            _locate_again(findings, path, fingerprints=settings.fingerprints)
        return [finding for findings in by_path.values() for finding in findings]

    def reconsider(self, findings: list[Finding], records: Mapping[str, object]) -> list[Finding]:
        if len(records) < 2:
            return findings

        entries = entries_of(records)
        findings = _without_given(_said_once(findings), entries)
        if not any(finding.name in RENAMES for finding in findings):
            return findings
        return with_free_ids(findings, entries)


@cache
def _default_rules() -> LazyRules[WorkflowRule]:
    """Return the rules of runs that neither choose nor add any, which share them."""
    return _rules_of(None, ())


def _rules_of(choice: RuleChoice | None, extra: tuple[Rule, ...]) -> LazyRules[WorkflowRule]:
    return LazyRules(RULES, WorkflowRule, choice, tuple(rule for rule in extra if isinstance(rule, WorkflowRule)))


# True of the catalog, not of the file: once is enough.
_ABOUT_THE_RUN = "catalog-hash-not-engine"


def _said_once(findings: list[Finding]) -> list[Finding]:
    """Return the findings, with only the first of those that would be the same for every file."""
    repeated = [finding for finding in findings if finding.name == _ABOUT_THE_RUN]
    if len(repeated) < 2:
        return findings
    first = min(repeated, key=lambda finding: finding.path)
    return [finding for finding in findings if finding.name != _ABOUT_THE_RUN or finding is first]


def _without_given(findings: list[Finding], entries: list[Entry]) -> list[Finding]:
    """Return the findings without those about variables that a workflow which delegates to the file sets."""
    given: dict[str, set[str]] = {}
    for entry in entries:
        for delegation in entry.delegations:
            given.setdefault(delegation.target, set()).update(delegation.gives)
    paths = {entry.path: given[entry.id] for entry in entries if entry.id in given}
    return [finding for finding in findings if not is_set_by_caller(finding, paths)]


def entries_of(records: Mapping[str, object]) -> list[Entry]:
    """Return the entries of workflows, whose records are lists."""
    return [Entry.from_record(path, record) for path, record in records.items() if isinstance(record, list)]


def _registry_findings(entries: list[Entry], settings: Settings, complete: bool) -> dict[str, list[Finding]]:
    """Return what the entries of workflows show about each other, by path; the findings have no spans yet."""
    if len(entries) <= 1 and not any(each.delegations or each.mentions or is_reserved(each.id) for each in entries):
        return {}  # a single workflow that refers to no other can't clash

    says_names = any(mention.is_name for entry in entries for mention in entry.mentions)
    by_path = registry_findings(
        entries,
        bundled_ids=settings.bundled_ids,
        bundled_names=settings.bundled_names if says_names else None,
        routine_ids=settings.own_routine_ids,
        complete=complete,
    )
    if settings.parity:
        for findings in by_path.values():
            _cap(findings)
    return by_path


def _bindings_for(entries: list[Entry], records: Mapping[str, object]) -> dict[str, list[Finding]]:
    """Return what bindings files say about workflows that were looked at too, by path of the bindings file.

    Their records are objects.
    """
    declared: dict[str, set[str]] = {}
    for entry in entries:
        declared.setdefault(entry.id, set()).update(entry.slots)
    bindings = {path: record["sections"] for path, record in records.items() if isinstance(record, dict)}
    unknown = {path: unknown_slots(sections, declared) for path, sections in bindings.items()}
    return {path: findings for path, findings in unknown.items() if findings}


def _locate_again(findings: list[Finding], path: str, *, fingerprints: bool) -> None:
    """Findings made without the document get their spans from the file; one that is gone has none to give."""
    read = read_file(path)
    if isinstance(read, Ok):
        document = read_json(read.value, parity=True)
        locate(findings, document, path, value=document.value, fingerprints=fingerprints)


def _cap(findings: list[Finding]) -> None:
    for finding in findings:
        if not finding.details.get("engine"):
            cap_at_warning(finding)


def _is_workflow(path: str, document: JsonDocument) -> bool:
    if document.readable:
        return kind_of(path, document.value) in (Kind.WORKFLOW, Kind.ROUTINE)
    return may_be_ours(path, document.text)


def _check_bindings(path: str, data: bytes | str) -> FileResult:
    document, findings = check_bindings_text(data)
    _assign_rule_facts(findings)
    locate(findings, document, path, value=document.value)
    return FileResult(findings, {"sections": sections_of(document.value)} if document.readable else None)


def _check_catalog(path: str, data: bytes | str) -> FileResult:
    from workrail_lint.systems.workrail.catalog.checks import check_document  # few projects have a catalog

    document = read_json(data, max_bytes=None)
    findings = [reader_finding(problem, document.source, None, cut=False) for problem in document.problems]
    if document.readable:
        findings += check_document(document.value)
    _assign_rule_facts(findings)
    locate(findings, document, path, value=document.value)
    return FileResult(findings)


def _assign_rule_facts(findings: list[Finding]) -> None:
    """Codes and severities of the rules; what has no rule of its own keeps its name as code."""
    for finding in findings:
        rule = RULES.by_name.get(finding.name)
        if rule is not None:
            finding.code, finding.severity = rule.code, rule.severity
