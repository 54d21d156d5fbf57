"""The passes in order, the compiled workflow that they make, and the two things rendered from it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workrail_lint.base.canonical import canonical_bytes, canonical_record, digest, is_plain
from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.compat import SideModel
from workrail_lint.systems.workrail.compiler.nodes import (
    Node,
    Nodes,
    RawStep,
    StepSource,
    authored_nodes,
    design_only_errors,
    rendered_steps,
    walk,
)
from workrail_lint.systems.workrail.compiler.prompt_blocks import BUDGET_EXCEEDED, apply_features, render_blocks
from workrail_lint.systems.workrail.compiler.steps import (
    GATE_ID_COLLISION,
    Loop,
    LoopIndex,
    check_assessments,
    check_contracts,
    expand_virtual,
    resolve_loops,
)
from workrail_lint.systems.workrail.compiler.templates import expand_templates, insert_probes
from workrail_lint.systems.workrail.compiler.tokens import Bound, resolve_bindings, scan_tokens
from workrail_lint.systems.workrail.model.build import program_model
from workrail_lint.systems.workrail.model.workflow import Workflow

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.compiler.engine_target import HashMode
    from workrail_lint.systems.workrail.engines.releases import Target
    from workrail_lint.systems.workrail.model.ir import Program


class Resolved:
    """After C6: templates, bindings, features, refs and blocks are gone."""

    __slots__ = ("bound", "nodes")

    def __init__(self, nodes: Nodes, bound: Bound) -> None:
        self.nodes = nodes
        self.bound = bound


class Executable:
    """After C12: virtual steps expanded, loops and their bodies indexed."""

    __slots__ = ("lookup", "nodes")

    def __init__(self, nodes: Nodes, lookup: LoopIndex) -> None:
        self.nodes = nodes
        self.lookup = lookup


class Passed:
    """The result of all passes, with the errors of C1 to C6 and of C7 to C12."""

    __slots__ = ("executable", "index_errors", "resolve_errors", "resolved")

    def __init__(
        self, resolved: Resolved, executable: Executable, resolve_errors: list[Finding], index_errors: list[Finding]
    ) -> None:
        self.resolved = resolved
        self.executable = executable
        self.resolve_errors = resolve_errors
        self.index_errors = index_errors


def run_passes(
    workflow: Workflow,
    catalog: Catalog,
    overrides: dict[str, str],
    *,
    for_engine: bool = False,
    release: Target | None = None,
) -> Passed:
    """Run all passes. What an older `release` of the engine does not check is a warning."""
    resolved, errors = resolve(workflow, catalog, overrides, for_engine=for_engine)
    executable, index_errors = index_steps(workflow, resolved, catalog)
    if release is not None:
        release.drop_later_checks(errors + index_errors)
    return Passed(resolved, executable, errors, index_errors)


def resolve(
    workflow: Workflow, catalog: Catalog, overrides: dict[str, str], *, for_engine: bool
) -> tuple[Resolved, list[Finding]]:
    """C1 to C6. Features add their text in the order in which the author lists them.

    The public engine repeats a feature that is listed twice, and has no budget for injected text.
    """
    nodes, errors = expand_templates(authored_nodes(workflow), catalog)
    steps = walk(nodes)
    bound, binding_errors = resolve_bindings(steps, workflow.extension_points, overrides)
    errors += binding_errors
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
    index, loop_errors = resolve_loops(nodes, workflow.id)
    return Executable(nodes, index), errors + loop_errors


def compile_errors(
    workflow: Workflow, catalog: Catalog, overrides: dict[str, str], passed: Passed, release: Target | None = None
) -> list[Finding]:
    """Why the engine does not compile a workflow; `passed` is what the passes of the IR made of it."""
    if _repeats_features(workflow):
        passed = run_passes(workflow, catalog, overrides, for_engine=True, release=release)
    return engine_errors_of(workflow, catalog, passed)


def _repeats_features(workflow: Workflow) -> bool:
    """Return whether the passes of the two targets differ: the engine applies a feature as often as it is listed."""
    return len(set(workflow.features)) < len(workflow.features)


def engine_errors_of(workflow: Workflow, catalog: Catalog, passed: Passed) -> list[Finding]:
    """The errors for which the engine rejects a workflow, of passes that were run as the engine runs them."""
    all_errors = distinct(passed.resolve_errors + passed.index_errors)
    return design_only_errors(workflow, catalog) or [error for error in all_errors if error.details.get("engine")]


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


# The compiled workflow: what the passes made, and the two things rendered from it.


class CompiledWorkflow:
    """A compiled workflow. `ir` is what runs and `hash` its digest; the rest shows how it was made."""

    def __init__(
        self,
        model: Workflow,
        catalog: Catalog,
        overrides: dict[str, str],
        resolved: Resolved,
        executable: Executable,
        side: SideModel | None,
        warnings: list[tuple[str, str]],
        remarks: list[Finding],
        find_engine_errors: Callable[[], list[Finding]] | None,
        plain_source: Callable[[], bool],
        release: Target | None,
    ) -> None:
        self.model = model
        self.catalog = catalog
        self.overrides = overrides
        self.side = side
        self.warnings = warnings
        self.remarks = remarks  # errors for which neither target rejects the workflow
        self._find_engine_errors = find_engine_errors
        self._plain_source = plain_source
        self.release = release  # of the engine that is meant; None: the newest
        self._resolved = resolved
        self._executable = executable

    @property
    def workflow_id(self) -> str:
        return self.model.id

    @property
    def definition(self) -> dict[str, Any]:
        """The workflow that was compiled, in the shipping form."""
        return self.model.raw

    @property
    def catalog_id(self) -> str:
        return self.catalog.catalog_id

    @property
    def catalog_digest(self) -> str:
        return self.catalog.digest

    @property
    def nodes(self) -> Nodes:
        """The executable steps with their provenance."""
        return self._executable.nodes

    @property
    def resolved(self) -> list[RawStep]:
        """The authored steps after C6, before virtual steps."""
        return rendered_steps(self._resolved.nodes)

    @property
    def steps(self) -> list[RawStep]:
        """The step list after C7."""
        return rendered_steps(self._executable.nodes)

    @property
    def step_by_id(self) -> dict[str, Node]:
        return self._executable.lookup.by_id

    @property
    def loops(self) -> dict[str, Loop]:
        return self._executable.lookup.loops

    @property
    def loop_body_step_ids(self) -> set[str]:
        return self._executable.lookup.body_ids

    @property
    def resolved_bindings(self) -> dict[str, str]:
        return self._resolved.bound.resolved

    @property
    def resolved_overrides(self) -> dict[str, str]:
        return self._resolved.bound.overrides

    def bound_to(self, bound: Bound) -> CompiledWorkflow:
        """The same workflow with bindings that were resolved before it came here."""
        return CompiledWorkflow(
            self.model,
            self.catalog,
            self.overrides,
            Resolved(self._resolved.nodes, bound),
            self._executable,
            self.side,
            self.warnings,
            self.remarks,
            self._find_engine_errors,
            self._plain_source,
            self.release,
        )

    @cached_property
    def ir(self) -> dict[str, Any]:
        from workrail_lint.systems.workrail.compiler.ir import render_ir  # a check needs no IR

        nodes, index, bound = self._executable.nodes, self._executable.lookup, self._resolved.bound
        return render_ir(self.definition, nodes, index, bound, self.catalog, self.side, self.warnings)

    @cached_property
    def program(self) -> Program:
        """The IR as typed nodes."""
        return program_model(self.ir)

    @cached_property
    def ir_bytes(self) -> bytes:
        """The canonical bytes of the IR."""
        return (canonical_record if self._adds_only_text else canonical_bytes)(self.ir)

    @cached_property
    def _adds_only_text(self) -> bool:
        """Return whether the passes add only text, apart from contracts, steps of routines and names of slots.

        Then an ordinary encoder writes the IR and the snapshot in canonical form.
        """
        if not self._plain_source() or not "".join(self.resolved_bindings).isascii():
            return False
        parts = [(pack["ref"], pack) for pack in self.ir["contracts"]]
        for node in walk(self._executable.nodes):
            if node.origin is not None:
                if node.origin.source in _FROM_CATALOG:
                    parts.append((node.origin.text, node.step))
                elif not is_plain(node.step):
                    return False
        return _are_plain(parts, self.catalog)

    @cached_property
    def hash(self) -> str:
        """`workflowHash`: the digest of the IR."""
        return digest(self.ir_bytes)

    def engine_target(
        self, mode: HashMode | None = None, references: list[dict[str, Any]] | None = None
    ) -> Ok[dict[str, Any]] | Err[list[Finding]]:
        """The snapshot the public engine would pin, or why it rejects the workflow; without a mode the pinned one."""
        # A check needs no snapshot, and what makes one runs the passes of this module again.
        from workrail_lint.systems.workrail.compiler.engine_target import HashMode, engine_snapshot

        if self.engine_errors:
            return Err(self.engine_errors)
        is_same = not _repeats_features(self.model)
        passed = Passed(self._resolved, self._executable, [], []) if is_same else None
        mode = mode or HashMode.PINNED
        return engine_snapshot(self.model, self.catalog, self.overrides, mode, references, passed, self.release)

    @cached_property
    def engine_errors(self) -> list[Finding]:
        """Why the public engine rejects the document this was compiled from; empty if it accepts it.

        Computed on demand, because a caller that only runs the IR does not need it.
        """
        return [] if self._find_engine_errors is None else self._find_engine_errors()

    @cached_property
    def engine_hash(self) -> str | None:
        """The digest of the pinned snapshot; None if the public engine rejects the document."""
        snapshot = self.engine_target()
        if isinstance(snapshot, Err):
            return None
        return digest((canonical_record if self._adds_only_text else canonical_bytes)(snapshot.value))


_FROM_CATALOG = ("template", "feature")


def _are_plain(parts: list[tuple[str, dict[str, Any]]], catalog: Catalog) -> bool:
    """Return whether an ordinary encoder writes parts of the catalog in canonical form; many workflows have the same.

    A step of a routine may get texts and a condition from its caller, both of which are known to be plain.
    """
    known = catalog.plain_parts
    for ref, part in parts:
        if ref not in known:
            known[ref] = is_plain(part)
        if not known[ref]:
            return False
    return True


def compile_definition(
    workflow: Workflow,
    catalog: Catalog,
    overrides: dict[str, str] | None = None,
    *,
    side: SideModel | None = None,
    warnings: list[tuple[str, str]] | None = None,
    normalized: dict[str, tuple[str, ...]] | None = None,
    find_engine_errors: Callable[[], list[Finding]] | None = None,
    plain_source: Callable[[], bool] = lambda: False,
    passed: Passed | None = None,
    release: Target | None = None,
) -> Ok[CompiledWorkflow] | Err[list[Finding]]:
    """Run the passes over a workflow that the schema accepts.

    `normalized` names, by pointer, the steps that the compatibility policy rewrote and the codes that did.
    `find_engine_errors` returns the public engine's errors about the document as written, `plain_source` whether an
    ordinary encoder is known to write the workflow in canonical form. `passed` is the result of the passes, if known.
    """
    overrides = overrides or {}
    passed = passed or run_passes(workflow, catalog, overrides, release=release)
    resolved, executable, index_errors = passed.resolved, passed.executable, passed.index_errors
    if normalized:
        resolved = Resolved(_mark_normalized(resolved.nodes, normalized), resolved.bound)
    if side is not None and side.capabilities:
        authored = authored_nodes(workflow)
        nodes, of_probes = insert_probes(resolved.nodes, authored, side.capabilities, catalog)
        executable, index_errors = index_steps(workflow, Resolved(nodes, resolved.bound), catalog)
        index_errors = of_probes + index_errors
    elif normalized:
        executable, index_errors = index_steps(workflow, resolved, catalog)
    errors = distinct(passed.resolve_errors + index_errors)
    if any(map(prevents_compiling, errors)):
        return Err(errors)
    return Ok(
        CompiledWorkflow(
            workflow,
            catalog,
            overrides,
            resolved,
            executable,
            side,
            warnings or [],
            errors,
            find_engine_errors,
            plain_source,
            release,
        )
    )


def prevents_compiling(error: Finding) -> bool:
    """Return whether an error prevents compiling.

    Everything that the engine rejects, text that would have to be cut, and the id of a generated step that is taken.

    What the engine does not check (such as a duplicate fragment id in a loop body) runs there as well as here.
    """
    return error.details.get("engine") is not False or error.code in (BUDGET_EXCEEDED, GATE_ID_COLLISION)


def _mark_normalized(nodes: Nodes, codes: dict[str, tuple[str, ...]]) -> Nodes:
    def mark(node: Node) -> Node:
        body = tuple(map(mark, node.body)) if node.body else None
        applied = codes.get(node.pointer) if node.origin is None else None
        origin = StepSource("normalized", "+".join(applied)) if applied is not None else None
        return node if body is None and origin is None else node.replaced(body=body, origin=origin)

    return tuple(map(mark, nodes))
