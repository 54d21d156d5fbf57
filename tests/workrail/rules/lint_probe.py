"""One rule on one document, without the phases before it."""

from __future__ import annotations

import json
from typing import Any

from workrail_lint.documents.json_edit import apply_fix, fix_edits
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding
from workrail_lint.rules.ruleset import RuleSet
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.compat import normalize
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.walk import run_rules

PATH = "workflows/example.json"


def as_text(document: Any) -> str:
    return document if isinstance(document, str) else json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def view(document: Any, path: str = PATH, **settings: Any) -> WorkflowContext:
    """What a rule sees of a document."""
    read = read_json(as_text(document))
    assert read.readable
    normalized = normalize(read.value)
    definition: dict[str, Any] = normalized.document
    return WorkflowContext(read, workflow_model(definition), load_core(), path, normalized=normalized, **settings)


def lint(rule: type[WorkflowRule], document: Any, path: str = PATH, **settings: Any) -> list[Finding]:
    return run_rules(RuleSet([rule()], WorkflowRule), view(document, path, **settings))


def fixed(finding: Finding, document: Any) -> str:
    """The text after a finding's fix."""
    read = read_json(as_text(document))
    assert finding.fix is not None
    edits = fix_edits(read, finding.fix)
    assert edits
    return apply_fix(read.text, edits)
