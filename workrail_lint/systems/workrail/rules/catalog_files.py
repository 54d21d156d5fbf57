"""Catalog files of users. The checks of the catalog report the findings of these rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowRule

_PATH = "catalog.json"


def catalog(**lists: Any) -> dict[str, Any]:
    """A catalog document that is empty except for the given lists."""
    return {
        "catalogFormat": 1,
        "catalogId": "demo",
        "catalogVersion": "1.0.0",
        "engineVersion": None,
        "authoringSpecVersion": 3,
        "features": [],
        "refs": [],
        "routines": [],
        "contracts": [],
        "capabilities": [],
        **lists,
    }


def _capability(ident: str) -> dict[str, Any]:
    return {"id": ident, "title": "A capability", "summary": "What an agent may be able to do."}


def _contract(schema: dict[str, Any], example: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "wr.contracts.note",
        "artifactKind": "wr.note",
        "title": "Note",
        "summary": "A note of the step.",
        "phase": "shipped",
        "runtimeValidated": True,
        "schema": schema,
        "example": example,
    }


class CatalogDigestMismatch(WorkflowRule):
    code = "CA006"
    name = "catalog-digest-mismatch"
    severity = Severity.ERROR
    origin = "product"
    summary = "A catalog's content does not match its digest, or the known digest of its id and version."
    why = "Two different catalogs with the same name would give one workflow two hashes."

    def examples(self) -> Iterable[Example]:
        from workrail_lint.systems.workrail.catalog.catalog import digest_of

        content = catalog()
        good = {**content, "digest": digest_of(content)}
        yield Example({**content, "digest": "sha256:" + "0" * 64}, good, path=_PATH)


class CatalogDuplicateId(WorkflowRule):
    code = "CA012"
    name = "catalog-duplicate-id"
    severity = Severity.ERROR
    origin = "product"
    summary = "A list of a catalog contains the same id twice."
    why = "Ids in a catalog must be unique; otherwise it is undefined which entry a workflow gets."

    def examples(self) -> Iterable[Example]:
        one = _capability("delegation")
        yield Example(catalog(capabilities=[one, one]), catalog(capabilities=[one]), path=_PATH)


class CatalogNotSorted(WorkflowRule):
    code = "CA013"
    name = "catalog-not-sorted"
    severity = Severity.ERROR
    origin = "product"
    summary = "A list of a catalog is not sorted by id."
    why = "Two exports of the same builtins must be identical byte for byte, so the order is fixed."

    def examples(self) -> Iterable[Example]:
        first, second = _capability("delegation"), _capability("web_browsing")
        yield Example(catalog(capabilities=[second, first]), catalog(capabilities=[first, second]), path=_PATH)


class CatalogRoutineRefused(WorkflowRule):
    code = "CA014"
    name = "catalog-routine-refused"
    severity = Severity.ERROR
    origin = "product"
    summary = "A routine of a catalog can't be registered: a field is missing, or the routine calls a template."
    why = "The catalog seems to offer the routine, but every call to it fails as unknown."

    def examples(self) -> Iterable[Example]:
        def offering(**members: Any) -> dict[str, Any]:
            definition = samples.workflow(id="wr.routine-check", **members)
            return catalog(routines=[{"phase": "shipped", "definition": definition}])

        yield Example(offering(version=...), offering(), path=_PATH)


class CatalogExampleInvalid(WorkflowRule):
    code = "CA015"
    name = "catalog-example-invalid"
    severity = Severity.ERROR
    origin = "product"
    summary = "The example of a contract pack does not match the pack's schema."
    why = "Agents see the example; an artifact copied from it would be rejected as invalid."

    def examples(self) -> Iterable[Example]:
        def packed(text: object) -> dict[str, Any]:
            schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
            return catalog(contracts=[_contract(schema, {"kind": "wr.note", "text": text})])

        yield Example(packed(3), packed("Three."), path=_PATH)


class CatalogSchemaKeyword(WorkflowRule):
    code = "CA016"
    name = "catalog-schema-keyword"
    severity = Severity.ERROR
    origin = "product"
    summary = "The schema of a contract pack or of a feature's settings uses an unsupported keyword."
    why = "An unsupported keyword is never evaluated, so artifacts would pass that the author meant to reject."

    def examples(self) -> Iterable[Example]:
        def packed(**keywords: Any) -> dict[str, Any]:
            schema = {"type": "object", "properties": {"text": {"type": "string", **keywords}}}
            return catalog(contracts=[_contract(schema, {"kind": "wr.note", "text": "Three."})])

        yield Example(packed(format="email"), packed(minLength=1), path=_PATH)
