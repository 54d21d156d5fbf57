"""The passes in order, from a definition to a compiled workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.bindings import Bound, resolve_bindings
from workrail_lint.systems.workrail.compiler.checks import check_assessments, check_contracts
from workrail_lint.systems.workrail.compiler.loops import LoopIndex, resolve_loops
from workrail_lint.systems.workrail.compiler.nodes import Nodes, authored_nodes, walk
from workrail_lint.systems.workrail.compiler.prompt_blocks import apply_features, render_blocks
from workrail_lint.systems.workrail.compiler.templates import expand_templates
from workrail_lint.systems.workrail.compiler.unresolved_tokens import scan_tokens
from workrail_lint.systems.workrail.compiler.virtual import expand_virtual

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog
    from workrail_lint.systems.workrail.model.workflow import Workflow


class Resolved(NamedTuple):
    """After C6: templates, bindings, features, refs and blocks are gone."""

    nodes: Nodes
    bound: Bound


class Executable(NamedTuple):
    """After C12: virtual steps expanded, loops and their bodies indexed."""

    nodes: Nodes
    lookup: LoopIndex


class Passed(NamedTuple):
    """What all passes make of a definition, and the errors of C1 to C6 and of C7 to C12."""

    resolved: Resolved
    executable: Executable
    resolve_errors: list[Finding]
    index_errors: list[Finding]


def run_passes(
    workflow: Workflow,
    catalog: Catalog,
    overrides: dict[str, str],
    authored: Nodes | None = None,
    *,
    for_engine: bool = False,
) -> Passed:
    """All passes. `authored` are the nodes of the workflow's steps, if already made; the passes change them."""
    resolved, errors = resolve(workflow, catalog, overrides, authored, for_engine=for_engine)
    executable, found = index_steps(workflow, resolved, catalog)
    return Passed(resolved, executable, errors, found)


def resolve(
    workflow: Workflow,
    catalog: Catalog,
    overrides: dict[str, str],
    authored: Nodes | None = None,
    *,
    for_engine: bool,
) -> tuple[Resolved, list[Finding]]:
    """C1 to C6. Features add their text in the order in which the author lists them.

    The public engine repeats a feature that is listed twice, and has no budget for injected text.
    """
    nodes, errors = expand_templates(authored or authored_nodes(workflow), catalog)
    steps = walk(nodes)
    bound, found = resolve_bindings(steps, workflow.extension_points, overrides)
    errors += found
    applied = workflow.features if for_engine else list(dict.fromkeys(workflow.features))
    with_blocks = [node for node in steps if node.model.kind == "standard" and node.model.prompt_blocks is not None]
    unknown_features = apply_features(with_blocks, applied, workflow.features, catalog)
    errors += unknown_features
    of_refs, of_blocks = render_blocks(with_blocks, catalog, budgeted=not for_engine)
    # Blocks may be empty only because a feature is unknown, and then the feature is the problem to fix.
    errors += of_refs + [error for error in of_blocks if not (unknown_features and error.code == "EMPTY_BLOCKS")]
    errors += scan_tokens(nodes, workflow, overrides)
    return Resolved(nodes, bound), errors


def index_steps(workflow: Workflow, resolved: Resolved, catalog: Catalog) -> tuple[Executable, list[Finding]]:
    """C7 to C12."""
    nodes, errors = expand_virtual(resolved.nodes, workflow.id)
    steps = walk(nodes)
    errors += check_contracts(steps, catalog)
    errors += check_assessments(steps, workflow.assessments)
    index, found = resolve_loops(nodes, workflow.id)
    return Executable(nodes, index), errors + found


def compile_errors(workflow: Workflow, catalog: Catalog, overrides: dict[str, str], passed: Passed) -> list[Finding]:
    """Why the engine does not compile a workflow; `passed` is what the passes of the IR made of it."""
    # The one thing in which the passes differ, but for what is no error here.
    if len(set(workflow.features)) < len(workflow.features):
        passed = run_passes(workflow, catalog, overrides, for_engine=True)
    return engine_errors_of(workflow, catalog, passed)


def engine_errors_of(workflow: Workflow, catalog: Catalog, passed: Passed) -> list[Finding]:
    """The errors for which the engine rejects a workflow, of passes that were run as the engine runs them."""
    from workrail_lint.systems.workrail.compiler.builtin_uses import design_only_errors

    found = distinct(passed.resolve_errors + passed.index_errors)
    return design_only_errors(workflow, catalog) or [error for error in found if error.details.get("engine")]


def distinct(errors: list[Finding]) -> list[Finding]:
    """One error for each (name, place): several passes detect a duplicate id, the first one reports it."""
    seen: set[tuple[str, str]] = set()
    result: list[Finding] = []
    for error in errors:
        key = (error.name, error.pointer)
        if key not in seen:
            seen.add(key)
            result.append(error)
    return result
