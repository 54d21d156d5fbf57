"""The last phase of a check: the rules about a workflow, and what other files need to know about it.

Apart from `check`, so that compiling imports no rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workrail_lint.findings import Finding
from workrail_lint.rules.ruleset import LazyRules
from workrail_lint.systems.workrail.check import CheckedDocument
from workrail_lint.systems.workrail.compat import Normalized
from workrail_lint.systems.workrail.engines.releases import Target
from workrail_lint.systems.workrail.identity import source_kind_of
from workrail_lint.systems.workrail.model.workflow import Workflow
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
from workrail_lint.systems.workrail.settings import Settings
from workrail_lint.systems.workrail.workflow_registry import Delegation, Entry, Mention

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
            facts -= advice_for_later(settings.release)
        chosen = self._rules.for_document(facts, text_index(workflow).has)
        from_rules = run_rules(chosen, workflow)
        self.consulted = workflow.consulted
        self.mentions = [
            mention._replace(pointer=normalized.pointer_map(mention.pointer)) for mention in mentions_of(workflow)
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
    return Entry(path, workflow.id, source_kind, delegations, tuple(mentions), workflow.name)


def declared_slots(workflow: Workflow) -> list[str]:
    """Return the slots of a workflow, also where the design form was refused."""
    match workflow.raw:
        case {"extensionPoints": {**slots}}:
            return list(map(str, slots))
    return list(dict.fromkeys(point.slot_id for point in workflow.extension_points if point.has("slotId")))


def advice_for_later(target: Target) -> set[str]:
    """Return the facts for which rules would advise what the release refuses."""
    members = target.schema["definitions"]["Workflow"]["properties"]
    return {fact for fact, member in _ADVISED.items() if member not in members}
