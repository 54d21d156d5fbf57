"""`catalog import`: the builtins of an installed engine as a catalog file.

Routines are files and are read as such. The other builtins exist only as code, so a helper script that runs inside the
package under Node exports them. There is no fallback: what can't be read from the engine is an error, never replaced by
our own text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_hash, digest
from workrail_lint.base.processes import Ending, Limits, run
from workrail_lint.base.processes import program as find_program
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.wording import listed
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog import engine_digests
from workrail_lint.systems.workrail.catalog.catalog import PLACEMENTS, Catalog, CatalogPhase, digest_of, load_core
from workrail_lint.systems.workrail.catalog.checks import PathLike, check_document, finding, read_document
from workrail_lint.systems.workrail.catalog.contracts import validate_artifact
from workrail_lint.systems.workrail.catalog.loading import collect_routines, routine_entries, sort_entries
from workrail_lint.systems.workrail.engines.engine_schema import compare, facts
from workrail_lint.systems.workrail.engines.releases import is_newer, named_release

CATALOG_ID = "engine"
SECONDS = 60.0
_MAX_OUTPUT_BYTES = 128 * 1024 * 1024
_HELPER = "export_engine.mjs"
_ROUTINES = "workflows/routines"
_SPEC = "spec/authoring-spec.json"
SCHEMA_FILE = "spec/workflow.schema.json"
_PARTS = (
    "package.json",
    _SPEC,
    "dist/application/services/compiler/feature-registry.js",
    "dist/application/services/compiler/ref-registry.js",
    "dist/v2/durable-core/schemas/artifacts/index.js",
)
_BLOCKS = ("constraints", "procedure", "verify")
_SHIPPED = CatalogPhase.SHIPPED.value


def _registry_of(value_type: str) -> dict[str, Any]:
    members = {"id": {"type": "string"}, "value": {"type": value_type}}
    return {"type": "array", "items": {"type": "object", "properties": members, "required": list(members)}}


# The two answers of the helper.
_EXPORTED = {
    "type": "object",
    "properties": {
        "features": _registry_of("object"),
        "refs": _registry_of("string"),
        "contracts": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["features", "refs", "contracts"],
}
_FAILED = {
    "type": "object",
    "properties": {
        "failure": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("code", "module", "message")},
            "required": ["code", "module", "message"],
        }
    },
    "required": ["failure"],
}

Errors = Err[list[Finding]]


class Imported(NamedTuple):
    """The catalog of an engine, and findings about the import."""

    catalog: Catalog
    findings: list[Finding]


class _Versions(NamedTuple):
    engine: str
    authoring_spec: int


class _Exported(NamedTuple):
    """The output of the helper: raw values of the engine."""

    features: dict[str, dict[str, Any]]
    refs: dict[str, str]
    contracts: list[str]


def import_engine(directory: PathLike, *, node: str | None = None, seconds: float = SECONDS) -> Ok[Imported] | Errors:
    """Return the catalog of the engine package in `directory`. Runs the package's code under Node."""
    root = os.fspath(directory)
    missing = _missing_parts(root)
    if missing:
        return Err(missing)
    versions = _versions(root)
    if isinstance(versions, Err):
        return versions
    exported = _export(root, node, seconds)
    if isinstance(exported, Err):
        return exported
    return _assemble(root, versions.value, exported.value)


def _missing_parts(root: str) -> list[Finding]:
    if not os.path.isdir(root):
        return [_error("not-a-directory", "is not a directory; name the folder of an installed engine package", root)]
    missing = [part for part in _PARTS if not os.path.isfile(_below(root, part))]
    if not os.path.isdir(_below(root, _ROUTINES)):
        missing.append(_ROUTINES)
    return [
        _error("package-incomplete", f"has no {part}; is this an installed engine package?", root) for part in missing
    ]


def _versions(root: str) -> Ok[_Versions] | Errors:
    package = _object(root, "package.json")
    spec = _object(root, _SPEC)
    if isinstance(package, Err) or isinstance(spec, Err):
        return Err([*_errors(package), *_errors(spec)])
    engine, authoring_spec = js.string_in(package.value, "version"), spec.value.get("version")
    if not engine:
        return Err([_error("package-incomplete", "package.json has no 'version'", root)])
    if type(authoring_spec) is not int:
        return Err([_error("package-incomplete", f"{_SPEC} has no integer 'version'", root)])
    return Ok(_Versions(engine, authoring_spec))


def _object(root: str, part: str) -> Ok[dict[str, Any]] | Errors:
    match read_document(_below(root, part), strict=False):
        case Ok(document) if isinstance(document.value, dict):
            return Ok(document.value)
        case Ok(_):
            return Err([_error("package-incomplete", f"{part} must be a JSON object", root)])
        case Err(errors):
            return Err(errors)


def _errors(result: Ok[Any] | Errors) -> list[Finding]:
    return result.error if isinstance(result, Err) else []


def _export(root: str, node: str | None, seconds: float) -> Ok[_Exported] | Errors:
    program = find_program(node or "node")
    if program is None and node is not None:
        return Err([_error("node-missing", f"{node} can't be run: it was not found", root)])
    if program is None:
        hint = "install Node.js, or run the import where the engine itself runs"
        return Err([_error("node-missing", "features, refs and contract ids can only be read with Node", root, hint)])
    helper = os.path.join(os.path.dirname(os.path.abspath(__file__)), _HELPER)
    # The helper gets an absolute path because it runs inside the package. Node reserves far more memory than it uses.
    limits = Limits(seconds, _MAX_OUTPUT_BYTES, memory=None)
    ran = run([os.path.abspath(program), helper, os.path.abspath(root)], folder=root, limits=limits)
    match ran.ending:
        case Ending.TIMED_OUT:
            return Err([_error("timeout", f"the package did not load within {seconds:g} seconds", root)])
        case Ending.NOT_STARTED:
            return Err([_error("node-missing", f"{program} can't be run: {ran.error}", root)])
        case Ending.OUTPUT_LIMIT:
            return Err([_error("bad-output", ran.error, root)])
        case Ending.EXITED:
            pass
    if ran.code != 0:
        why = next((line.strip() for line in ran.error.splitlines() if "Error" in line), "no reason given")
        return Err([_error("module-failed", f"Node exited with code {ran.code}: {why}", root)])
    return _parse(ran.output, root)


def _parse(output: bytes, root: str) -> Ok[_Exported] | Errors:
    document = read_json(output, max_bytes=None)
    answer = document.value
    if document.problems or not isinstance(answer, dict):
        return Err([_error("bad-output", "the helper did not print a JSON object", root)])
    value: dict[str, Any] = answer
    if not validate_artifact(_FAILED, value):
        failure = value["failure"]
        code = "module-failed" if failure["code"] == "module-failed" else "registry-shape"
        return Err([_error(code, f"{failure['module']}: {failure['message']}", root)])
    unexpected = validate_artifact(_EXPORTED, value) or [
        f"feature {entry['id']} has the id {entry['value'].get('id')}"
        for entry in value["features"]
        if entry["value"].get("id") != entry["id"]
    ]
    if unexpected:
        return Err([_error("registry-shape", f"the registries contain unexpected values: {unexpected[0]}", root)])
    return Ok(
        _Exported(
            {entry["id"]: entry["value"] for entry in value["features"]},
            {entry["id"]: entry["value"] for entry in value["refs"]},
            value["contracts"],
        )
    )


def _assemble(root: str, versions: _Versions, exported: _Exported) -> Ok[Imported] | Errors:
    routines = collect_routines(_below(root, _ROUTINES))
    notes = list(routines.findings)
    document: dict[str, Any] = {
        "catalogFormat": 1,
        "catalogId": CATALOG_ID,
        "catalogVersion": versions.engine,
        "engineVersion": versions.engine,
        "authoringSpecVersion": versions.authoring_spec,
        "features": [
            _feature(feature_id, exported.features[feature_id], versions.engine, notes, root)
            for feature_id in js.u16_sorted(exported.features)
        ],
        "refs": [_ref(ref_id, exported.refs[ref_id], versions.engine) for ref_id in js.u16_sorted(exported.refs)],
        "routines": sort_entries(routine_entries(routines.definitions)),
        "contracts": [_contract(ref, notes, root) for ref in js.u16_sorted(set(exported.contracts))],
        "capabilities": [],
    }
    broken = check_document(document)
    if broken:
        for item in broken:
            item.path = root
        return Err(broken)
    notes += _describe_unknown(root, document)
    document["digest"] = digest_of(document)
    if versions.engine == engine_digests.ENGINE_VERSION:
        notes += _verify(exported, document["routines"], root)
    return Ok(Imported(Catalog(document, document["digest"]), notes))


def _describe_unknown(root: str, document: dict[str, Any]) -> list[Finding]:
    """Return what to say about an engine that no table lists; the schema of a newer one goes into the document."""
    version = document["engineVersion"]
    if isinstance(named_release(version), Ok):
        return []
    newest = engine_digests.ENGINE_VERSION
    unknown = f"engine {version} is not known to this version of workrail-lint"
    if not is_newer(version, newest):
        message = f"{unknown}; choose the release it is with --engine-version (workrail-lint engine list)"
        return [_warning("engine-unknown", message, root)]
    schema = _object(root, SCHEMA_FILE)
    if isinstance(schema, Err):
        message = f"{unknown}, and {SCHEMA_FILE} can't be read; workflows are judged as by {newest}"
        return [_warning("engine-unknown", message, root)]
    comparison = compare(facts(schema.value), load_schema("workflow")["definitions"])
    document["engineSchema"] = {path: {"is": value} for path, value in sorted(comparison.differences.items())}
    places = [path.replace("/properties/", ".") for path in document["engineSchema"]]
    changed = f"its schema differs at {listed(places)}" if places else "its schema is the same"
    notes = [
        _warning(
            "engine-unknown", f"{unknown}; workflows are judged as by {newest}, with its builtins; {changed}", root
        )
    ]
    if comparison.unknown:
        message = f"parts of its schema could not be derived: {listed(comparison.unknown)}"
        notes.append(_warning("schema-unknown", message, root))
    return notes


def _feature(feature_id: str, value: dict[str, Any], engine: str, notes: list[Finding], root: str) -> dict[str, Any]:
    ignored = [name for name in value if name != "id" and name not in _BLOCKS]
    if ignored:
        message = f"feature '{feature_id}' has unknown fields, which are ignored: {', '.join(ignored)}"
        notes.append(_warning("member-ignored", message, root))
    inject = {block: value[block] for block in _BLOCKS if value.get(block)}
    return {**_header(feature_id, engine), "inject": inject, "configSchema": None}


def _ref(ref_id: str, text: str, engine: str) -> dict[str, Any]:
    return {**_header(ref_id, engine), "text": text, "placements": list(PLACEMENTS)}


def _header(builtin_id: str, engine: str) -> dict[str, Any]:
    summary = f"As defined by engine {engine}."
    return {"id": builtin_id, "title": _title(builtin_id), "summary": summary, "phase": _SHIPPED}


def _title(builtin_id: str) -> str:
    words = builtin_id.rpartition(".")[2].replace("_", " ")
    return words[:1].upper() + words[1:]


def _contract(ref: str, notes: list[Finding], root: str) -> dict[str, Any]:
    known = load_core().contracts.get(ref)
    if known is not None:
        return {
            "id": ref,
            "artifactKind": known.artifact_kind,
            "title": known.title,
            "summary": known.summary,
            "phase": _SHIPPED,
            "runtimeValidated": known.runtime_validated,
            "schema": known.schema,
            "example": known.example,
        }
    message = f"unknown contract '{ref}'; any object of its kind is accepted"
    notes.append(_warning("contract-unknown", message, root))
    kind = "wr." + ref.rpartition(".")[2]
    return {
        "id": ref,
        "artifactKind": kind,
        "title": _title(ref),
        "summary": "Its schema is not known; nothing about the artifact is checked.",
        "phase": _SHIPPED,
        "runtimeValidated": False,
        "schema": {"type": "object", "x-objectMode": "open"},
        "example": {"kind": kind},
    }


def _verify(exported: _Exported, routines: list[dict[str, Any]], root: str) -> list[Finding]:
    """Compare with the published content of that version."""
    features = {name: canonical_hash(value) for name, value in exported.features.items()}
    refs = {name: digest(text.encode("utf-8", "surrogatepass")) for name, text in exported.refs.items()}
    definitions = [entry["definition"] for entry in routines]
    return [
        *_compare("feature", features, engine_digests.FEATURES, root),
        *_compare("ref", refs, engine_digests.REFS, root),
        *_compare("routine", {d["id"]: canonical_hash(d) for d in definitions}, engine_digests.ROUTINES, root),
    ]


def _compare(kind: str, actual: Mapping[str, str], known: Mapping[str, str], root: str) -> list[Finding]:
    engine = engine_digests.ENGINE_VERSION
    notes = []
    for name in js.u16_sorted({*actual, *known}):
        if name not in known:
            message = f"{kind} '{name}' is not part of the published engine {engine}"
        elif name not in actual:
            message = f"{kind} '{name}' of engine {engine} is missing from this package"
        elif actual[name] != f"sha256:{known[name]}":
            message = f"{kind} '{name}' differs from the published engine {engine}"
        else:
            continue
        notes.append(_warning("differs", message, root))
    return notes


def _below(root: str, part: str) -> str:
    return os.path.join(root, *part.split("/"))


def _error(name: str, message: str, root: str, hint: str | None = None) -> Finding:
    return finding(f"catalog-import-{name}", message, phase=Phase.READ, path=root, help_text=hint)


def _warning(name: str, message: str, root: str) -> Finding:
    return finding(f"catalog-import-{name}", message, severity=Severity.WARNING, phase=Phase.READ, path=root)
