"""The analysis of a definition, compiled or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workrail_lint.systems.workrail.analysis.analysis import Analysis

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.analysis.texts import GroupsOf
    from workrail_lint.systems.workrail.author_texts import Group
    from workrail_lint.systems.workrail.catalog.catalog import Catalog
    from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow


def analyse(
    definition: dict[str, Any],
    catalog: Catalog,
    *,
    compiled: CompiledWorkflow | None = None,
    path: str = "",
    is_routine: bool = False,
    trusted: set[str] | None = None,
    groups_of: GroupsOf | None = None,
    top: list[Group] | None = None,
    given: frozenset[str] = frozenset(),
) -> Analysis:
    """What can be known about a workflow. One that does not compile is followed as far as the passes get.

    A caller that has the texts of the steps, or those outside, passes them on.
    """
    routine = is_routine or _is_routine(definition, path)
    if compiled is not None:
        return Analysis(
            definition,
            compiled.nodes,
            compiled.loops,
            catalog,
            trusted=trusted,
            groups_of=groups_of,
            top=top,
            given=given,
            is_routine=routine,
        )
    from workrail_lint.systems.workrail.compiler.pipeline import index_steps, resolve

    resolved, errors = resolve(definition, catalog, {}, for_engine=False)
    executable, _ = index_steps(definition, resolved, catalog)
    return Analysis(
        definition,
        executable.nodes,
        executable.lookup.loops,
        catalog,
        trusted=trusted,
        groups_of=groups_of,
        top=top,
        given=given,
        is_routine=routine,
        is_complete=not any(error.code in _MISSING_TEXT for error in errors),
    )


# Errors after which some text that may set variables is not there.
_MISSING_TEXT = ("UNKNOWN_TEMPLATE", "TEMPLATE_EXPAND_FAILED", "UNKNOWN_FEATURE", "UNKNOWN_REF")


def _is_routine(definition: dict[str, Any], path: str) -> bool:
    """Whether others call the workflow and set variables that can't be seen here."""
    folders = path.replace("\\", "/").split("/")[:-1]
    if "routines" in folders or "internal" in folders:
        return True
    ident = definition.get("id")
    return isinstance(ident, str) and "routine" in ident.replace("-", ".").replace("_", ".").split(".")
