"""Which builtins a definition names, and where: one walk that several modules share."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.base.typed import TYPE_CHECKING, Any, NamedTuple
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import authored_nodes, compile_error, walk
from workrail_lint.systems.workrail.compiler.prompt_blocks import LIST_SECTIONS

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog


class Use(NamedTuple):
    """A builtin named by the definition."""

    kind: str  # "feature", "ref", "template" or "contract"
    id: str
    pointer: str


def builtin_uses(definition: dict[str, Any]) -> Iterator[Use]:
    features = definition.get("features")
    for index, ident in enumerate(features if isinstance(features, list) else ()):
        if isinstance(ident, str):
            yield Use("feature", ident, f"/features/{index}")
    for node in walk(authored_nodes(definition.get("steps"))):
        step = node.step
        call = step.get("templateCall")
        if isinstance(call, dict):
            if isinstance(call.get("templateId"), str):
                yield Use("template", call["templateId"], f"{node.pointer}/templateCall/templateId")
            continue  # everything else on a calling step is discarded
        yield from _contract_uses(step, node.pointer)
        blocks = step.get("promptBlocks")
        if isinstance(blocks, dict):
            yield from _ref_uses(blocks, f"{node.pointer}/promptBlocks")


def _contract_uses(step: dict[str, Any], pointer: str) -> Iterator[Use]:
    synthesis = step.get("synthesis")
    holders = [(step, pointer)]
    if isinstance(synthesis, dict):
        holders.append((synthesis, f"{pointer}/synthesis"))
    for holder, place in holders:
        contract = holder.get("outputContract")
        if isinstance(contract, dict) and isinstance(contract.get("contractRef"), str):
            yield Use("contract", contract["contractRef"], f"{place}/outputContract/contractRef")


def _ref_uses(blocks: dict[str, Any], pointer: str) -> Iterator[Use]:
    goal = blocks.get("goal")
    values = [("goal", goal)] if isinstance(goal, list) else []
    for section in LIST_SECTIONS:
        items = blocks.get(section)
        if isinstance(items, list):
            values += [(f"{section}/{i}", item) for i, item in enumerate(items) if type(item) is list]
    for place, value in values:
        for index, part in enumerate(value):
            if isinstance(part, dict) and part.get("kind") == "ref" and isinstance(part.get("refId"), str):
                yield Use("ref", part["refId"], f"{pointer}/{place}/{index}/refId")


def design_only_uses(definition: dict[str, Any], catalog: Catalog) -> list[Use]:
    """The builtins that exist in the design (and our catalog) but in no engine."""
    uses = list(builtin_uses(definition))
    if not uses:
        return []  # the catalog is not even loaded
    known: dict[str, Any] = {
        "feature": catalog.features,
        "ref": catalog.refs,
        "template": catalog.templates,
        "contract": catalog.contracts,
    }
    return [use for use in uses if (entry := known[use.kind].get(use.id)) is not None and entry.phase == "design"]


def design_only_errors(definition: dict[str, Any], catalog: Catalog) -> list[Finding]:
    return [
        compile_error(
            "DESIGN_ONLY_ID",
            "catalog-id-design-only",
            "C1" if use.kind == "template" else "C3",
            None,
            f"no engine has the {use.kind} {quoted(use.id)}; it works with the ir target only",
            use.pointer,
        )
        for use in design_only_uses(definition, catalog)
    ]
