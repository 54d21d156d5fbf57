"""What the rules find in a document, and what other files need to know about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workrail_lint.findings import Finding
from workrail_lint.rules.ruleset import LazyRules
from workrail_lint.systems.workrail.compat import Normalized
from workrail_lint.systems.workrail.identity import source_kind_of
from workrail_lint.systems.workrail.model.workflow import Workflow
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.delivered_text import mentions_of
from workrail_lint.systems.workrail.rules.facts import facts_of
from workrail_lint.systems.workrail.rules.prose import text_index
from workrail_lint.systems.workrail.rules.walk import run_rules
from workrail_lint.systems.workrail.settings import Settings
from workrail_lint.systems.workrail.workflow_registry import Entry, entry_of

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.check import CheckedDocument


def lint(
    checked: CheckedDocument,
    normalized: Normalized,
    model: Workflow,
    refused: list[Finding],
    found: list[Finding],
    path: str,
    settings: Settings,
    rules: LazyRules[WorkflowRule],
    is_routine: bool,
) -> list[Finding]:
    """Return what the rules find in a document, given what was found before."""
    checked.source_kind = _source_kind(path, settings)
    workflow = WorkflowContext(
        checked.document,
        model,
        settings.catalog,
        path,
        bindings=settings.bindings,
        compiled=checked.compiled,
        engine=settings.engine,
        normalized=normalized,
        is_routine=is_routine,
        workspace=settings.workspace,
        source_kind=checked.source_kind,
        options=settings.options,
    )
    workflow.found = found
    for finding in (*refused, *found):
        if finding.fix is None and not finding.name.startswith("compat-") and RULES.by_name[finding.name].mends:
            finding.fix = RULES.rule(finding.name).fix_for(finding, workflow)
    chosen = rules.for_document(facts_of(workflow), text_index(workflow).has)
    from_rules = run_rules(chosen, workflow)
    checked.consulted = workflow.consulted
    checked.mentions = [
        mention._replace(pointer=normalized.pointer_map(mention.pointer)) for mention in mentions_of(workflow)
    ]
    return from_rules


def entry_for(path: str, checked: CheckedDocument, settings: Settings) -> Entry | None:
    """Return what other files need to know about a checked document."""
    kind = checked.source_kind or _source_kind(path, settings)
    return entry_of(path, checked.document.value, kind, checked.mentions)


def _source_kind(path: str, settings: Settings) -> str:
    """Where a file comes from: as configured, else as its path tells."""
    if settings.source_kind is not None:
        return settings.source_kind
    return source_kind_of(path, lambda: settings.bundled_ids)
