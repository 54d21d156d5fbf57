"""Which builtins a definition names, and where: one walk that several modules share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base.wording import quoted
from workrail_lint.documents.nodes import numbered
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.compiler.nodes import compile_error
from workrail_lint.systems.workrail.model.workflow import StandardStep, Step, SynthesisConfig, Workflow


class Use:
    """A builtin named by the definition."""

    __slots__ = ("id", "kind", "pointer")

    def __init__(self, kind: str, id: str, pointer: str) -> None:
        self.kind = kind  # "feature", "ref", "template" or "contract"
        self.id = id
        self.pointer = pointer


def builtin_uses(workflow: Workflow) -> list[Use]:
    """Return every builtin that a workflow names."""
    uses = [Use("feature", ident, f"/features/{index}") for index, ident in numbered(workflow.features)]
    for step in workflow.all_steps:
        uses += _uses_of(step)
    return uses


def _uses_of(step: Step) -> Iterator[Use]:
    if step.kind == "parallel":
        if step.synthesis is not None:
            yield from _contract_of(step.synthesis)
    elif step.kind == "standard":
        call = step.template_call
        if call is not None:
            if call.has("templateId"):
                yield Use("template", call.template_id, call.at("templateId"))
            return  # everything else on a calling step is discarded
        yield from _contract_of(step)
        for part in step.prompt_blocks.prompt_parts() if step.prompt_blocks is not None else ():
            if part.kind == "ref" and part.has("refId"):
                yield Use("ref", part.ref_id, part.at("refId"))


def _contract_of(holder: StandardStep | SynthesisConfig) -> Iterator[Use]:
    contract = holder.output_contract
    if contract is not None and contract.has("contractRef"):
        yield Use("contract", contract.contract_ref, contract.at("contractRef"))


def design_only_uses(workflow: Workflow, catalog: Catalog) -> list[Use]:
    """The builtins that exist in the design (and our catalog) but in no engine."""
    uses = builtin_uses(workflow)
    if not uses:
        return []  # the catalog is not even loaded
    known: dict[str, Any] = {
        "feature": catalog.features,
        "ref": catalog.refs,
        "template": catalog.templates,
        "contract": catalog.contracts,
    }
    return [use for use in uses if (entry := known[use.kind].get(use.id)) is not None and entry.phase == "design"]


def design_only_errors(workflow: Workflow, catalog: Catalog) -> list[Finding]:
    return [
        compile_error(
            "DESIGN_ONLY_ID",
            "catalog-id-design-only",
            "C1" if use.kind == "template" else "C3",
            None,
            f"no engine has the {use.kind} {quoted(use.id)}; it works with the ir target only",
            use.pointer,
        )
        for use in design_only_uses(workflow, catalog)
    ]
