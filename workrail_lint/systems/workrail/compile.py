"""`compile_workflow`: from a file, text or loaded document to a compiled workflow, or to why not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from workrail_lint.base.canonical import CanonicalError
from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.findings import Finding, Phase, Severity, unreadable
from workrail_lint.rules.locate import locate
from workrail_lint.systems.workrail.check import CheckedDocument, check_document, engine_errors
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.engine_target import HashMode, engine_snapshot
from workrail_lint.systems.workrail.compiler.pinned import compile_pin, is_pin
from workrail_lint.systems.workrail.project_bindings import project_overrides
from workrail_lint.systems.workrail.settings import Settings, resolve_bindings, resolve_catalog


def compile_workflow(
    source: os.PathLike[str] | str | bytes | dict[str, Any],
    catalog: object = None,
    routines: object = None,
    bindings: object = None,
) -> Ok[CompiledWorkflow] | Err[list[Finding]]:
    """Compile a workflow.

    `source` is a path object, JSON text (str or bytes) or the loaded document, also one that the public engine has
    pinned; `catalog`, `routines` and
    `bindings` are paths or loaded data. A failure is a list of findings with places and messages.
    """
    active = resolve_catalog(catalog, routines)
    if isinstance(active, Err):
        return active
    content = resolve_bindings(bindings)
    if isinstance(content, Err):
        return content
    settings = Settings(active.value, bindings=content.value, engine=False)
    return compile_source(source, settings)


def compile_source(
    source: os.PathLike[str] | str | bytes | dict[str, Any], settings: Settings
) -> Ok[CompiledWorkflow] | Err[list[Finding]]:
    """The same with the catalog and the bindings already loaded, for many workflows in one process."""
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
    """The snapshot that the public engine makes of a document, or why it refuses it.

    `references` resolves the declared references, for the modes that hold them. Without a mode it is what is pinned.
    """
    errors = engine_errors(document, path, settings)
    if errors:
        return Err(errors)
    definition: dict[str, Any] = document.value  # type: ignore[assignment]  # the engine accepts it
    overrides = project_overrides(settings.bindings, definition.get("id")).overrides
    declared = references(definition.get("references", []))
    return engine_snapshot(definition, settings.catalog, overrides, mode or HashMode.PINNED, declared)


def read_for_compiling(data: bytes | str) -> JsonDocument:
    """Read a workflow as the public engine does: what it can read is compiled here too."""
    return read_json(data, parity=True)


def refusals(checked: CheckedDocument, path: str) -> list[Finding]:
    """Why a checked document does not compile: its errors, located, under the codes that `check` uses."""
    errors = [
        finding
        for finding in checked.findings
        if finding.severity is Severity.ERROR and finding.phase is not Phase.START
    ]
    locate(errors, checked.document, path, value=checked.document.value)
    return errors


def errors_of(checked: CheckedDocument, path: str) -> list[Finding]:
    """The same under the codes of the compiler, where it has one."""
    errors = refusals(checked, path)
    for finding in errors:
        if finding.phase is Phase.COMPILE:
            finding.code = str(finding.details.pop("compileCode", finding.code))
    return errors
