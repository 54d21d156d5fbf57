"""The data of a page: all workflows of a project, and what other commands found out about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Ok
from workrail_lint.base.version import VERSION
from workrail_lint.studio.inputs import Inputs
from workrail_lint.studio.page_data import BuiltinView, Data, PackedWorkflows, ProjectView, Reports
from workrail_lint.studio.workflow import Source, workflow_view
from workrail_lint.systems.workrail.catalog.catalog import Catalog, Feature
from workrail_lint.systems.workrail.compiler.engine_target import HashMode
from workrail_lint.systems.workrail.diff import Change
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.model.workflow import Step, Workflow


def project_data(
    name: str,
    sources: Iterable[Source],
    inputs: Inputs,
    catalog: Catalog,
    *,
    changes: Mapping[str, list[Change] | None] | None = None,
    revision: str | None = None,
    reasons: Mapping[str, str] | None = None,
    committed: Mapping[str, int] | None = None,
) -> Data:
    """Return everything a page shows.

    Each source is looked at once, so they need not be in memory together. `changes` by path; None for a workflow that
    is new since the revision. `reasons` say why the rules exist, by their names. `committed` says when a file was last
    changed in git, by path.
    """
    runs = [dict(run) for run in inputs.runs]
    observed = inputs.observed_workflows
    workflows = PackedWorkflows(has_revision=revision is not None)
    users: dict[str, list[str]] = {}  # the workflows that use a builtin
    for source in sources:
        view = workflow_view(source)
        own = set() if view.hash is None else {view.hash}
        # What the public engine pins has another hash than the IR; making it takes a while.
        pinned = own | _pinned(source) if view.id in observed else own
        view.reports = Reports(
            inputs.coverage_of(view.id, own),
            inputs.mutation_of(view.id, own),
            inputs.sessions_of(view.id, pinned),
            inputs.cost_of(view.id, own),
            (committed or {}).get(source.path),
        )
        for run in runs:
            if run.get("workflow") == view.id:
                run["stale"] = run.get("hash") not in pinned
        if changes is not None and source.path in changes:
            view.changes = _changes(changes[source.path])
        workflows.add(view)
        for ident in sorted(view.builtins):
            users.setdefault(ident, []).append(view.id)
    return ProjectView(
        project=name,
        tool=VERSION,
        revision=revision,
        reasons=dict(reasons or {}),
        workflows=workflows,
        runs=runs,
        goldens=inputs.pending_goldens,
        catalog=_builtins(catalog, users),
        locks=inputs.lock_counts,
    ).as_json()


def _pinned(source: Source) -> set[str]:
    """The hashes under which the public engine keeps this version, whatever its mode."""
    compiled = source.checked.compiled
    if compiled is None:
        return set()
    targets = [compiled.engine_target(mode) for mode in HashMode]
    return {digest(canonical_bytes(target.value)) for target in targets if isinstance(target, Ok)}


def _changes(changes: list[Change] | None) -> Data:
    if changes is None:
        return {"isNew": True, "list": []}
    return {"isNew": False, "list": [change.as_json() for change in changes]}


def _builtins(catalog: Catalog, users: Mapping[str, list[str]]) -> list[BuiltinView]:
    """Return every builtin: what it adds, and which workflows use it."""
    result: list[BuiltinView] = []

    def add(kind: str, ident: str, title: str, summary: str, **more: Any) -> None:
        result.append(BuiltinView(kind, ident, title, summary, **more, usedBy=users.get(ident, [])))

    for feature in catalog.features.values():
        add("feature", feature.id, feature.title, feature.summary, text="\n".join(_feature_lines(feature)))
    for ref in catalog.refs.values():
        add("ref", ref.id, ref.title, ref.summary, text=ref.text)
    for pack in catalog.contracts.values():
        add("contract", pack.id, pack.title, pack.summary, schema=pack.schema, example=pack.example)
    for ident, routine in catalog.templates.items():
        model = workflow_model(routine.definition)
        add("template", ident, model.name, model.description, steps=_template_steps(model, is_used=ident in users))
    return result


def _template_steps(routine: Workflow, *, is_used: bool) -> list[Data]:
    """Return what a template puts in place of its call, without the prompts where nothing uses it: pages stay small."""
    return [
        {"id": step.id, "title": step.title or "", **({"prompt": _prompt(step)} if is_used else {})}
        for step in routine.steps
    ]


def _prompt(step: Step) -> str:
    return (step.prompt or "") if step.kind == "standard" else ""


def _feature_lines(feature: Feature) -> list[str]:
    lines = []
    for section in ("constraints", "procedure", "verify"):
        for value in getattr(feature, section):
            parts = value if isinstance(value, list) else [{"text": value}]
            text = "".join(part.get("text", f"[{part.get('refId')}]") for part in parts)
            lines.append(f"{section}: {text}")
    return lines
