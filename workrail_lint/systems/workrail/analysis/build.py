"""The analysis of a definition, compiled or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workrail_lint.systems.workrail.analysis.analysis import Analysis

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog
    from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
    from workrail_lint.systems.workrail.model.workflow import Workflow


def analyse(
    workflow: Workflow,
    catalog: Catalog,
    *,
    compiled: CompiledWorkflow | None = None,
    path: str = "",
    is_routine: bool = False,
    given: frozenset[str] = frozenset(),
) -> Analysis:
    """What can be known about a workflow. One that does not compile is followed as far as the passes get."""
    routine = is_routine or _is_routine(workflow, path)
    if compiled is not None:
        return Analysis(
            workflow,
            compiled.nodes,
            compiled.loops,
            catalog,
            given=given,
            is_routine=routine,
        )
    from workrail_lint.systems.workrail.compiler.pipeline import index_steps, resolve

    resolved, errors = resolve(workflow, catalog, {}, for_engine=False)
    executable, _ = index_steps(workflow, resolved, catalog)
    return Analysis(
        workflow,
        executable.nodes,
        executable.lookup.loops,
        catalog,
        given=given,
        is_routine=routine,
        is_complete=not any(error.code in _MISSING_TEXT for error in errors),
    )


# Errors after which some text that may set variables is not there.
_MISSING_TEXT = ("UNKNOWN_TEMPLATE", "TEMPLATE_EXPAND_FAILED", "UNKNOWN_FEATURE", "UNKNOWN_REF")


def _is_routine(workflow: Workflow, path: str) -> bool:
    """Whether others call the workflow and set variables that can't be seen here."""
    folders = path.replace("\\", "/").split("/")[:-1]
    if "routines" in folders or "internal" in folders:
        return True
    return "routine" in workflow.id.replace("-", ".").replace("_", ".").split(".")
