"""A fix that moves text to where other rules read it: applied only if none of them objects."""

from __future__ import annotations

from collections import Counter

from workrail_lint.documents.json_edit import apply_fix, fix_edits
from workrail_lint.documents.operations import Operation
from workrail_lint.findings import Fix, Safety, unsafe
from workrail_lint.rules.ruleset import LazyRules
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.settings import Settings


def verified(title: str, operations: list[Operation], workflow: WorkflowContext) -> Fix:
    """Return an unsafe fix without operations where they would add a finding. Slow, but only once it is applied."""

    def without_harm() -> tuple[Operation, ...]:
        document = workflow.document
        edits = fix_edits(document, unsafe(title, *operations))
        if not edits or _codes(apply_fix(document.text, edits), workflow) - _codes(document.text, workflow):
            return ()
        return tuple(operations)

    return Fix(title, Safety.UNSAFE, without_harm)


def _codes(text: str, workflow: WorkflowContext) -> Counter[str]:
    from workrail_lint.systems.workrail.check import check_document  # it imports the rules

    settings = Settings(
        workflow.catalog,
        bindings=workflow.bindings,
        engine=workflow.engine,
        workspace=workflow.workspace,
        source_kind=workflow.source_kind,
        options=workflow.options,
    )
    rules = LazyRules(RULES, WorkflowRule, None, ())
    checked = check_document(text, workflow.path, settings, rules, is_routine=workflow.is_routine)
    return Counter(finding.code for finding in checked.findings)
