"""Which builtins a definition names, and where: one walk that several modules share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base.wording import quoted
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import compile_error
from workrail_lint.systems.workrail.compiler.prompt_blocks import part_lists

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog

# The members of a step that can name one.
_USING = frozenset(("templateCall", "outputContract", "synthesis", "promptBlocks"))


class Use(NamedTuple):
    """A builtin named by the definition."""

    kind: str  # "feature", "ref", "template" or "contract"
    id: str
    pointer: str


def builtin_uses(definition: dict[str, Any]) -> list[Use]:
    features, steps = definition.get("features"), definition.get("steps")
    uses = [
        Use("feature", ident, f"/features/{index}")
        for index, ident in enumerate(features if isinstance(features, list) else ())
        if isinstance(ident, str)
    ]
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        _add_uses(step, f"/steps/{index}", uses)
        body = step.get("body") if isinstance(step, dict) and step.get("type") == "loop" else None
        for position, inner in enumerate(body if isinstance(body, list) else ()):
            _add_uses(inner, f"/steps/{index}/body/{position}", uses)
    return uses


def _add_uses(step: object, pointer: str, uses: list[Use]) -> None:
    if not isinstance(step, dict) or _USING.isdisjoint(step):
        return
    call = step.get("templateCall")
    if isinstance(call, dict):
        if isinstance(call.get("templateId"), str):
            uses.append(Use("template", call["templateId"], f"{pointer}/templateCall/templateId"))
        return  # everything else on a calling step is discarded
    if "outputContract" in step:
        _add_contract(step, pointer, uses)
    if "synthesis" in step:
        _add_contract(step["synthesis"], f"{pointer}/synthesis", uses)
    blocks = step.get("promptBlocks")
    if isinstance(blocks, dict):
        _add_refs(blocks, pointer, uses)


def _add_contract(holder: object, pointer: str, uses: list[Use]) -> None:
    contract = holder.get("outputContract") if isinstance(holder, dict) else None
    if isinstance(contract, dict) and isinstance(contract.get("contractRef"), str):
        uses.append(Use("contract", contract["contractRef"], f"{pointer}/outputContract/contractRef"))


def _add_refs(blocks: dict[str, Any], pointer: str, uses: list[Use]) -> None:
    for place, parts in part_lists(blocks):
        for index, part in enumerate(parts):
            if isinstance(part, dict) and part.get("kind") == "ref" and isinstance(part.get("refId"), str):
                uses.append(Use("ref", part["refId"], f"{pointer}/promptBlocks/{place}/{index}/refId"))


def design_only_uses(definition: dict[str, Any], catalog: Catalog) -> list[Use]:
    """The builtins that exist in the design (and our catalog) but in no engine."""
    uses = builtin_uses(definition)
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
