"""Workflows that are compiled outside of a check: from a file, text or loaded document, from a pin, from a kept IR.

A pin is a workflow as the public engine stored it: prompts are rendered, bindings and injected texts are in place, so
only the steps that the engine makes at run time are left to do. A kept IR stands for a source that was not kept; its
file name ends in the first digits of its hash, so that an edit is noticed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.canonical import CanonicalError, canonical_bytes, digest
from workrail_lint.base.files import inside, read_file
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.findings import Finding, Phase, Severity, unreadable
from workrail_lint.rules.locate import locate
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.check import CheckedDocument, check_document, engine_errors
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.engine_target import ONBOARDING_STEP, HashMode, engine_snapshot
from workrail_lint.systems.workrail.compiler.tokens import Bound
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.project_bindings import project_overrides, strings
from workrail_lint.systems.workrail.settings import Settings, resolve_bindings, resolve_catalog, resolve_release


def compile_workflow(
    source: os.PathLike[str] | str | bytes | dict[str, Any],
    catalog: object = None,
    routines: object = None,
    bindings: object = None,
    engine_version: str | None = None,
) -> Ok[CompiledWorkflow] | Err[list[Finding]]:
    """Compile a workflow.

    `source` is a path object, JSON text (str or bytes) or the loaded document, also one that the public engine has
    pinned; `catalog`, `routines` and
    `bindings` are paths or loaded data. `engine_version` is the release of the public engine that `engine_hash` is of,
    the newest known without it. A failure is a list of findings with places and messages.
    """
    base = resolve_catalog(catalog)
    if isinstance(base, Err):
        return base
    release = resolve_release(engine_version, base.value)
    if isinstance(release, Err):
        return Err([Finding("engine-version", "engine-version", Severity.ERROR, release.error, phase=Phase.READ)])
    active = resolve_catalog(base.value, routines, release=release.value)
    if isinstance(active, Err):
        return active
    content = resolve_bindings(bindings)
    if isinstance(content, Err):
        return content
    settings = Settings(active.value, bindings=content.value, engine=False, release=release.value)
    return compile_source(source, settings)


def compile_source(
    source: os.PathLike[str] | str | bytes | dict[str, Any], settings: Settings
) -> Ok[CompiledWorkflow] | Err[list[Finding]]:
    """Compile like `compile_workflow` with a catalog and bindings already loaded, for many workflows in one process."""
    path = ""
    if isinstance(source, os.PathLike):
        path = os.fspath(source)
        read = read_file(path)
        if isinstance(read, Err):
            return Err([unreadable(read.error)])
        source = read.value
    if isinstance(source, dict):
        try:
            source = json.dumps(source)
        except (TypeError, ValueError, RecursionError) as error:
            message = f"the workflow is not a JSON document: {error}"
            return Err([Finding("json-syntax", "json-syntax", Severity.ERROR, message, phase=Phase.READ)])
    document = read_for_compiling(source)
    if isinstance(document.value, dict) and "sourceKind" in document.value and is_pin(document.value):
        pinned = compile_pin(document.value)
        return Err([_pin_finding(pinned.error, path)]) if isinstance(pinned, Err) else Ok(pinned.value.compiled)
    return compile_document(document, path, settings)


def compile_document(
    document: JsonDocument, path: str, settings: Settings
) -> Ok[CompiledWorkflow] | Err[list[Finding]]:
    """Compile a document that was read."""
    checked = check_document(document, path, settings, None)
    if checked.compiled is None:
        return Err(errors_of(checked, path))
    try:
        checked.compiled.ir_bytes  # noqa: B018 - kept there; a workflow without canonical bytes has no hash
    except CanonicalError as error:
        message = f"the workflow has no hash: {error}"
        return Err([Finding("workflow-no-hash", "workflow-no-hash", Severity.ERROR, message, phase=Phase.COMPILE)])
    return Ok(checked.compiled)


def _pin_finding(problem: str, path: str) -> Finding:
    message = f"the pinned workflow can't run here: {problem}"
    return Finding("pinned-workflow", "pinned-workflow", Severity.ERROR, message, path=path, phase=Phase.COMPILE)


def compile_for_engine(
    document: JsonDocument,
    path: str,
    settings: Settings,
    mode: HashMode | None = None,
    references: Callable[[list[dict[str, Any]]], list[dict[str, Any]] | None] = lambda declared: None,
) -> Ok[dict[str, Any]] | Err[list[Finding]]:
    """Return the snapshot that the public engine makes of a document, or why it refuses it.

    `references` resolves the declared references, for the modes that hold them. Without a mode it is what is pinned.
    """
    errors = engine_errors(document, path, settings)
    if errors:
        return Err(errors)
    definition: dict[str, Any] = document.value  # type: ignore[assignment]  # the engine accepts it
    overrides = project_overrides(settings.bindings, definition["id"])
    declared = references(definition.get("references", []))
    return engine_snapshot(
        workflow_model(definition),
        settings.catalog,
        overrides,
        mode or HashMode.PINNED,
        declared,
        release=settings.release,
    )


def read_for_compiling(data: bytes | str) -> JsonDocument:
    """Read a workflow as the public engine does: what it can read is compiled here too."""
    return read_json(data, parity=True)


def refusals(checked: CheckedDocument, path: str) -> list[Finding]:
    """Return why a checked document does not compile: its errors, located, under the codes that `check` uses."""
    errors = [
        finding
        for finding in checked.findings
        if finding.severity is Severity.ERROR and finding.phase is not Phase.START
    ]
    locate(errors, checked.document, path, value=checked.document.value)
    return errors


def errors_of(checked: CheckedDocument, path: str) -> list[Finding]:
    """Return the errors of `refusals`, under the codes of the compiler where it has one."""
    errors = refusals(checked, path)
    for finding in errors:
        if finding.phase is Phase.COMPILE:
            finding.code = str(finding.details.pop("compileCode", finding.code))
    return errors


SOURCE_KIND = "v1_pinned"
ONBOARDING_ID = str(ONBOARDING_STEP["id"])
# Applied already: compiling them again would add their text a second time, or ask for slots that are filled.
_APPLIED = ("features", "extensionPoints")


class Onboarding(NamedTuple):
    """The step that the engine puts before the first one, in the words that this run was given."""

    title: str
    prompt: str


class PinnedWorkflow(NamedTuple):
    """A pinned workflow: a definition without the onboarding step, compiled, and that step if there was one."""

    definition: dict[str, Any]
    compiled: CompiledWorkflow
    onboarding: Onboarding | None

    @property
    def ir(self) -> dict[str, Any]:
        """The IR without the onboarding step, with the bindings that the engine resolved."""
        return self.compiled.ir

    @property
    def is_source(self) -> bool:
        """Return whether the definition could be a file of a project; the ids of expanded templates could not."""
        return not any("." in step_id for step_id in self.compiled.step_by_id)


def is_pin(value: dict[str, Any]) -> bool:
    """Return whether a pinned document is one of the public engine's."""
    return value.get("sourceKind") == SOURCE_KIND


def compile_pin(pin: dict[str, Any]) -> Ok[PinnedWorkflow] | Err[str]:
    """Return the workflow of a pin, or why it can't run. A pin comes from a folder that anybody may have written to."""
    definition = js.object_in(pin, "definition")
    steps = js.list_in(definition, "steps")
    if not is_pin(pin) or definition is None or steps is None:
        return Err("it is not a pinned workflow of the engine")
    onboarding = None
    if steps and js.string_in(steps[0], "id") == ONBOARDING_ID:
        first, *steps = steps
        onboarding = Onboarding(str(first.get("title", "")), str(first.get("prompt", "")))
    own = {name: value for name, value in definition.items() if name not in _APPLIED} | {"steps": steps}
    settings = Settings(load_core(), engine=False, pinned=True)
    compiled = compile_document(read_for_compiling(json.dumps(own)), "", settings)
    if isinstance(compiled, Err):
        return Err(f"it does not compile: {compiled.error[0].message}")
    bound = Bound(*(strings(pin.get(member)) for member in ("resolvedBindings", "pinnedOverrides")))
    return Ok(PinnedWorkflow(own, compiled.value.bound_to(bound), onboarding))


_NAME = Pattern(r".*-([0-9a-f]{12})\.ir\.json\Z")


def kept_ir_name(base: str, ir: dict[str, Any]) -> str:
    """Return the file name of an IR, after what it is of."""
    return f"{base}-{_digits(ir)}.ir.json"


def is_kept_ir(path: str) -> bool:
    """Return whether a file name is that of such an IR."""
    return path.endswith(".ir.json") and _NAME.match(path) is not None


def read_kept_ir(path: str) -> Ok[dict[str, Any]] | Err[list[Finding]]:
    """Return the IR of a file, if it is the one that the file is named after."""
    read = read_file(path)
    if isinstance(read, Err):
        return Err([unreadable(read.error)])
    named = _NAME.match(path)
    try:
        ir = json.loads(read.value)
        is_intact = isinstance(ir, dict) and named is not None and _digits(ir) == named[1]
    except (ValueError, RecursionError, CanonicalError):
        is_intact = False
    if is_intact:
        return Ok(ir)
    message = "the compiled workflow differs from the one it is named after; it is not a file to be edited"
    return Err([Finding("ir-altered", "ir-altered", Severity.ERROR, message, path=path, phase=Phase.COMPILE)])


def _digits(ir: dict[str, Any]) -> str:
    return digest(canonical_bytes(ir)).removeprefix("sha256:")[:12]


_REFERENCE_MEMBERS = ("id", "title", "source", "purpose", "authoritative")


def resolve_references(
    references: list[dict[str, Any]], workspace: str, package_root: str | None = None
) -> list[dict[str, Any]]:
    """Return each declared reference with its status, as the engine notes it at the start of a run.

    `package_root` is the installed engine's folder; without one, nothing of it can be resolved.
    """
    return [_resolved_reference(reference, workspace, package_root) for reference in references]


def _resolved_reference(reference: dict[str, Any], workspace: str, package_root: str | None) -> dict[str, Any]:
    resolve_from = reference.get("resolveFrom", "workspace")
    entry: dict[str, Any] = {name: reference[name] for name in _REFERENCE_MEMBERS if name in reference}
    entry["resolveFrom"] = resolve_from
    base = package_root if resolve_from == "package" else workspace
    path = inside(base, reference["source"]) if base is not None else None
    if path is not None and os.path.isfile(path):
        return {**entry, "status": "resolved", "resolvedPath": path}
    return {**entry, "status": "unresolved"}
