"""CA: catalog files of users, ids that must be in a closed set or in the catalog, and the catalog's share in a hash.

The rules about catalog files only describe what the checks of the catalog report.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.wording import name_list, quoted
from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.catalog.catalog import Catalog, digest_of, load_core
from workrail_lint.systems.workrail.compiler.nodes import catalog_hint, did_you_mean
from workrail_lint.systems.workrail.condition_logic import is_structure
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import label, step_members, text_at, use_suggestion


def _blocks(**sections: Any) -> dict[str, Any]:
    return samples.step(prompt=None, promptBlocks={"goal": "Find the cause.", **sections})


class CatalogIdUnknown(WorkflowRule):
    code = "CA001"
    name = "catalog-id-unknown"
    severity = Severity.ERROR
    origin = "compile"
    summary = "A feature, a ref or a template is not in the catalog."
    why = "These are closed sets: nothing could be put in its place, so the engine rejects the workflow."
    fix = "Use the closest known id."

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        if text_at(workflow.definition, finding.pointer) in workflow.catalog.features:
            return None
        return use_suggestion(finding, workflow)

    def examples(self) -> Iterable[Example]:
        def featured(ident: str) -> dict[str, Any]:
            return samples.workflow(_blocks(), features=[ident])

        def referring(ident: str) -> dict[str, Any]:
            return samples.workflow(_blocks(constraints=[[{"kind": "ref", "refId": ident}]]))

        def calling(ident: str) -> dict[str, Any]:
            call = {"templateId": f"wr.templates.routine.{ident}"}
            return samples.workflow(samples.step(), samples.step("simulate", None, templateCall=call))

        good = featured("wr.features.capabilities")
        yield Example(featured("wr.features.capabilites"), good, good)
        good = referring("wr.refs.memory_usage")
        yield Example(referring("wr.refs.memory_usege"), good, good)
        yield Example(referring("toString"), good)
        good = calling("execution-simulation")
        yield Example(calling("execution-simulaton"), good, good)


class ContractUnknown(WorkflowRule):
    code = "CA004"
    name = "contract-unknown"
    severity = Severity.ERROR
    origin = "compile"
    summary = "An output contract is not in the catalog."
    why = (
        "No output can ever satisfy an unknown contract. On a step that calls a template the engine drops the contract "
        "without checking it, but it is still wrong."
    )
    fix = "Use the closest known contract."
    needs = frozenset({"templateCall"})
    bad = {
        "prompt": "Submit a wr.review_verdict artifact.",
        "outputContract": {"contractRef": "wr.contracts.review_verdikt"},
    }
    good = {
        "prompt": "Submit a wr.review_verdict artifact.",
        "outputContract": {"contractRef": "wr.contracts.review_verdict"},
    }

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        return use_suggestion(finding, workflow)

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        ref = step.contract
        if not step.calls_template or ref is None or ref in workflow.catalog.contracts:
            return
        hint, details = catalog_hint(ref, workflow.catalog.workflow_contracts)
        pointer = step.at("outputContract", "contractRef")
        suggestion = details.get("suggestion")
        report(
            pointer,
            f"{label(step)}: unknown contract {quoted(ref)}{hint}",
            fix=unsafe(f"use {quoted(suggestion)}", Replace(pointer, str(suggestion))) if suggestion else None,
        )


class CatalogIdDesignOnly(WorkflowRule):
    code = "CA005"
    name = "catalog-id-design-only"
    severity = Severity.ERROR
    origin = "compile"
    summary = "A workflow for the public engine uses a builtin that the engine does not have."
    why = 'The builtin works with `target = "ir"` only; the public engine does not know it and rejects the workflow.'

    def examples(self) -> Iterable[Example]:
        yield Example(
            samples.workflow(_blocks(), features=["wr.features.mode_guidance"]),
            samples.workflow(_blocks(), features=["wr.features.capabilities"]),
            options={"engine_parity": True},
        )


class CatalogHashNotEngine(WorkflowRule):
    code = "CA007"
    name = "catalog-hash-not-engine"
    severity = Severity.INFO
    origin = "product"
    summary = "The workflow uses builtins of a catalog that was not imported from an engine."
    why = (
        "Features, refs and templates add text to prompts, and that text is part of the hash. The workflow runs with "
        "any catalog, but only one imported from an installed engine gives the engine's hash."
    )
    needs = frozenset({"promptBlocks", "templateCall"})
    bad = {"features": ["wr.features.capabilities"], "steps": [{"promptBlocks": {"goal": "Find the cause."}}]}
    good = {"promptBlocks": {"goal": "Find the cause."}}

    def applies(self, workflow: WorkflowContext) -> bool:
        used, text = step_members(workflow), workflow.document.text
        # A name may be written with escapes, but hardly ever is.
        adds_text = "features" in workflow.model or '"refId"' in text or "\\u00" in text
        is_concerned = "templateCall" in used or ("promptBlocks" in used and adds_text)
        return is_concerned and workflow.catalog.engine_version is None

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        has_blocks = "promptBlocks" in step_members(workflow)
        for use in workflow.builtin_uses:
            if use.kind == "contract" or (use.kind == "feature" and not has_blocks):
                continue  # adds no text to any prompt
            if use.kind == "template" and not self._is_catalog_template(use.id, workflow.catalog):
                continue
            report(
                use.pointer,
                f"the text of {use.kind} {quoted(use.id)} comes from catalog {quoted(workflow.catalog.catalog_id)}, "
                "so the hash differs from the engine's; import the engine's catalog to get the same hash",
            )
            return

    @staticmethod
    def _is_catalog_template(template_id: str, catalog: Catalog) -> bool:
        """Return whether a template comes from the catalog; the engine uses the text of the project's routines too."""
        used, shipped = catalog.templates.get(template_id), load_core().templates.get(template_id)
        if used is None:
            return False
        return catalog.catalog_id != load_core().catalog_id or (
            shipped is not None and used.definition is shipped.definition
        )


class FeatureConfigNotAllowed(WorkflowRule):
    code = "CA008"
    name = "feature-config-not-allowed"
    severity = Severity.ERROR
    origin = "lock"
    summary = "A feature that takes no configuration has one, or a configuration has an unknown setting."
    why = "Settings are a closed set; an unknown one never takes effect."
    fix = "Remove the configuration, or the unknown setting."
    bad = {
        "features": [{"id": "wr.features.memory_context", "config": {}}],
        "steps": [{"promptBlocks": {"goal": "Find the cause."}}],
    }
    good = {"features": ["wr.features.memory_context"], "steps": [{"promptBlocks": {"goal": "Find the cause."}}]}

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        feature, _, member = finding.pointer.rpartition("/")
        ident = text_at(workflow.document.value, f"{feature}/id")
        if member == "config" and ident is not None:
            return unsafe("remove the configuration", Replace(feature, ident))
        return unsafe(f"remove {quoted(member)}", Remove(finding.pointer))


class CapabilityUnknown(WorkflowRule):
    code = "CA009"
    name = "capability-unknown"
    severity = Severity.ERROR
    origin = "lock"
    summary = "A capability, its level, or the time to probe it is unknown."
    why = "An unknown capability can't be probed, so a step that needs it could never be unlocked."
    needs = frozenset({"templateCall"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        """Check a call that names a capability; top-level capabilities are checked while reading the document."""
        call = step.template_call if step.kind == "standard" else None
        routine = workflow.catalog.templates.get(call.template_id) if call is not None else None
        if call is None or routine is None:
            return
        for name, allowed in routine.arg_values.items():
            value = call.args.get(name)
            if value is None or is_structure(value) or value in allowed:
                continue  # missing or of a wrong type (which compiling reports), or valid
            given = js.text(value)
            hint, _ = did_you_mean(given, allowed)
            report(
                call.at("args", name),
                f"{label(step)}: {quoted(name)} must be one of {name_list(allowed)}, not {quoted(given)}{hint}",
            )

    def examples(self) -> Iterable[Example]:
        def wanting(**capabilities: str) -> dict[str, Any]:
            return samples.workflow(_blocks(), capabilities=capabilities)

        yield Example(wanting(terminal="required"), wanting(web_browsing="required"))

        def probing(name: str) -> dict[str, Any]:
            args = {"capability": name, "when": "lazy_on_first_use"}
            call = {"templateId": "wr.templates.capability_probe", "args": args}
            return samples.workflow(samples.step(), samples.step("probe-it", None, templateCall=call))

        yield Example(probing("terminal"), probing("delegation"))


_PATH = "catalog.json"


def catalog(**lists: Any) -> dict[str, Any]:
    """Return a catalog document that is empty except for the given lists."""
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


class CatalogInvalid(WorkflowRule):
    code = "CA006"
    name = "catalog-invalid"
    severity = Severity.ERROR
    origin = "product"
    summary = "A catalog contradicts itself: its digest, its order, a repeated id, or a routine that can't be used."
    why = "A catalog that can't be trusted would compile other prompts than its authors reviewed."

    def examples(self) -> Iterable[Example]:
        content = catalog()
        good = {**content, "digest": digest_of(content)}
        yield Example({**content, "digest": "sha256:" + "0" * 64}, good, path=_PATH)
        one = _capability("delegation")
        yield Example(catalog(capabilities=[one, one]), catalog(capabilities=[one]), path=_PATH)
        first, second = _capability("delegation"), _capability("web_browsing")
        yield Example(catalog(capabilities=[second, first]), catalog(capabilities=[first, second]), path=_PATH)

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
