"""The output of `catalog list`, `catalog show` and `catalog export`, as text and as JSON."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from workrail_lint.base.result import Err, Ok
from workrail_lint.base.suggest import nearest_id
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.catalog.catalog import (
    Capability,
    Catalog,
    CatalogPhase,
    Contract,
    Feature,
    PromptValue,
    Ref,
    Routine,
)
from workrail_lint.systems.workrail.catalog.checks import finding

KINDS = ("feature", "ref", "template", "contract", "capability")
_INDENT = "    "


Entry: TypeAlias = Feature | Ref | Routine | Contract | Capability


def builtins(catalog: Catalog) -> list[Entry]:
    """Return every builtin, by kind, in catalog order."""
    tables = (catalog.features, catalog.refs, catalog.templates, catalog.contracts, catalog.capabilities)
    return [entry for table in tables for entry in table.values()]


def _row(entry: Entry) -> dict[str, Any]:
    """Return what a listing says about a builtin."""
    row = {"kind": entry.kind, "id": entry.id, "phase": entry.phase.value}
    return {**row, "title": entry.title, "summary": entry.summary}


_OTHER_SYSTEMS = ("team.", "block.")


def list_text(catalog: Catalog) -> str:
    """Return a table for authors of workflows: kind, id, phase, title. Contracts of other systems are only counted."""
    every = builtins(catalog)
    own = [(e.kind, e.id, e.phase.value, e.title) for e in every if not e.id.startswith(_OTHER_SYSTEMS)]
    table = [("kind", "id", "phase", "title"), *own]
    widths = [max((len(row[column]) for row in table), default=0) for column in range(3)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]]) for row in table]
    remarks = ['design: works with target = "ir" only; the public engine does not have it']
    if len(own) < len(every):
        remarks.append(
            f"{len(every) - len(own)} contracts of teams and blocks are not for workflows; --json lists them"
        )
    return "".join(f"{line}\n" for line in [_heading(catalog), *lines, *remarks])


def list_json(catalog: Catalog) -> str:
    """Return every builtin as one JSON object."""
    return document_text({**_identity(catalog), "builtins": [_row(entry) for entry in builtins(catalog)]})


def show_text(catalog: Catalog, builtin_id: str) -> Ok[str] | Err[Finding]:
    """Return one builtin for people."""
    known = _find(catalog, builtin_id)
    if isinstance(known, Err):
        return known
    entry = known.value
    lines = [f"{entry.kind} {entry.id} ({entry.phase.value})", entry.title, entry.summary, *_details(entry)]
    return Ok("".join(f"{line}".rstrip() + "\n" for line in lines))


def show_json(catalog: Catalog, builtin_id: str) -> Ok[str] | Err[Finding]:
    """Return one builtin as one JSON object."""
    known = _find(catalog, builtin_id)
    return known if isinstance(known, Err) else Ok(document_text({**_row(known.value), **_data(known.value)}))


def export_text(catalog: Catalog) -> str:
    """Return the whole catalog as the file that `--catalog` takes."""
    return document_text(catalog.document)


def document_text(document: dict[str, Any]) -> str:
    """Return JSON as written to files: indented by two spaces, members in their order, with a final newline."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8 form, only an escape
        text = json.dumps(document, indent=2)
    return text + "\n"


def _find(catalog: Catalog, builtin_id: str) -> Ok[Entry] | Err[Finding]:
    routines = {routine.routine_id: routine.template_id for routine in catalog.templates.values()}
    known = builtins(catalog)
    entry = next((each for each in known if each.id == routines.get(builtin_id, builtin_id)), None)
    if entry is not None:
        return Ok(entry)
    near = nearest_id(builtin_id, [each.id for each in known])
    hint = f"did you mean {near}?" if near else "`catalog list` names all builtins"
    message = f'no builtin "{builtin_id}" in catalog {catalog.catalog_id} {catalog.version}; {hint}'
    return Err(finding("catalog-id-unknown", message))


def _identity(catalog: Catalog) -> dict[str, Any]:
    return {
        "catalogId": catalog.catalog_id,
        "catalogVersion": catalog.version,
        "engineVersion": catalog.engine_version,
        "authoringSpecVersion": catalog.authoring_spec_version,
        "digest": catalog.digest,
    }


def _heading(catalog: Catalog) -> str:
    return f"{catalog.catalog_id} {catalog.version}  {catalog.digest}"


def _details(entry: Entry) -> list[str]:
    match entry:
        case Feature():
            lines = []
            for block in ("constraints", "procedure", "verify"):
                values: tuple[PromptValue, ...] = getattr(entry, block)
                if values:
                    lines += ["", f"{block}:", *(f"{_INDENT}- {_value_text(value)}" for value in values)]
            if entry.config_schema is not None:
                lines += ["", "config:", *_json_lines(entry.config_schema)]
            return lines
        case Ref():
            return ["", "text:", *(_INDENT + line for line in entry.text.split("\n"))]
        case Contract():
            known = entry.phase is not CatalogPhase.DESIGN
            checked = "yes" if entry.runtime_validated else "no"
            return [
                "",
                f"artifact kind: {entry.artifact_kind}",
                f"unknown members: {entry.mode}",
                f"checked by the public engine at run time: {checked if known else 'it does not know this contract'}",
                "",
                "schema:",
                *_json_lines(entry.schema),
                "",
                "example:",
                *_json_lines(entry.example),
            ]
        case Routine():
            return _routine_lines(entry)
        case Capability():
            return []


def _routine_lines(routine: Routine) -> list[str]:
    lines = ["", f"routine: {routine.routine_id} {routine.definition['version']}"]
    lines.append(f"arguments: {', '.join(routine.required_args) or 'none'}")
    lines += [f"{_INDENT}{name}: {' | '.join(values)}" for name, values in routine.arg_values.items()]
    if not routine.callable:
        lines.append("not callable: a step lacks an id, a title or a prompt")
    guidance = routine.definition.get("metaGuidance")
    if isinstance(guidance, list) and guidance:
        lines += ["", "guidance added to every step:", *(f"{_INDENT}- {item}" for item in guidance)]
    for step in routine.steps:
        condition = step.get("runCondition")
        when = f" (when {json.dumps(condition, ensure_ascii=False)})" if condition else ""
        lines += ["", f"step {step.get('id', '(missing id)')}: {step.get('title', '')}{when}"]
        lines += [_INDENT + line for line in str(step.get("prompt", "(no prompt)")).split("\n")]
    return lines


def _data(entry: Entry) -> dict[str, Any]:
    match entry:
        case Feature():
            inject = {block: list(getattr(entry, block)) for block in ("constraints", "procedure", "verify")}
            return {"inject": inject, "configSchema": entry.config_schema}
        case Ref():
            return {"text": entry.text, "placements": list(entry.placements)}
        case Contract():
            return {
                "artifactKind": entry.artifact_kind,
                "mode": entry.mode,
                "runtimeValidated": entry.runtime_validated,
                "schema": entry.schema,
                "example": entry.example,
            }
        case Routine():
            return {
                "routineId": entry.routine_id,
                "requiredArgs": list(entry.required_args),
                "argValues": entry.arg_values,
                "stepIds": list(entry.step_ids),
                "conditionalStepIds": list(entry.conditional_step_ids),
                "callable": entry.callable,
                "definition": entry.definition,
            }
        case Capability():
            return {}


def _value_text(value: PromptValue) -> str:
    if isinstance(value, str):
        return value
    return "".join(part["text"] if part["kind"] == "text" else f"[{part['refId']}]" for part in value)


def _json_lines(value: object) -> list[str]:
    return [_INDENT + line for line in json.dumps(value, indent=2, ensure_ascii=False).split("\n")]
