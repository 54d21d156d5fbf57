"""What an agent is told about a contract: the kind, the fields and an example, read from the pack itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from pytest_workrail.engine.core.index import ContractPack
from pytest_workrail.engine.core.profiles import LoopIdCheck, Profile
from workrail_lint.systems.workrail.model.ir import ProgramStep


def fixed_members(step: ProgramStep, loop_id: str | None, profile: Profile) -> dict[str, str]:
    """Return the members of a step's artifact whose value follows from where the step is."""
    fixed: dict[str, str] = {}
    if step.probed_capability is not None:
        fixed["capability"] = step.probed_capability
    if step.decides_loop and loop_id is not None and profile.loop_id is LoopIdCheck.MATCH:
        fixed["loopId"] = loop_id
    return fixed


def contract_guidance(ref: str, pack: ContractPack | None, fixed: Mapping[str, str]) -> list[str]:
    """One line per fact; the last may be a fenced block. `fixed` are members that allow one value only."""
    lines = [f"Artifact contract: {ref}"]
    if pack is None:
        return [*lines, "Submit an artifact that meets this contract in `output.artifacts`."]
    lines.append(f'Submit one artifact of kind "{pack.artifact_kind}" in `output.artifacts`.')
    required = pack.schema.get("required", [])
    fields = {name: shape for name, shape in _members(pack.schema) if name != "kind"}
    must = [_field(name, shape) for name, shape in fields.items() if name in required]
    may = [_field(name, shape) for name, shape in fields.items() if name not in required]
    if must:
        lines.append(f"Required fields: {'; '.join(must)}.")
    if may:
        lines.append(f"Optional fields: {'; '.join(may)}.")
    example = pack.example
    if isinstance(example, dict):
        # A loop id that is not asked for would only mislead.
        shown = {name: value for name, value in example.items() if name != "loopId"}
        example = {**shown, **fixed}
    lines += [f'Set `{name}` to "{value}"; nothing else is accepted here.' for name, value in fixed.items()]
    if pack.schema.get("x-objectMode") == "strict":
        lines.append("Any other field makes the artifact invalid.")
    if example is not None:
        lines.append(f"Example:\n{fenced_json(_arranged(example, pack.schema))}")
    return lines


def fenced_json(value: object) -> str:
    """A value as a fenced block."""
    return f"```json\n{json.dumps(value, ensure_ascii=False)}\n```"


def _members(schema: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The members a schema knows, required ones first.

    Sorted here, because an IR read back from its canonical bytes has lost the order of the catalog, and
    a prompt must not tell the two apart.
    """
    required = schema.get("required", [])
    members = schema.get("properties", {})
    return sorted(members.items(), key=lambda member: (_rank(member[0], required), member[0]))


def _rank(name: str, required: list[str]) -> int:
    return required.index(name) if name in required else len(required)


def _arranged(value: Any, schema: Mapping[str, Any]) -> Any:
    """An example with its members in the order in which they are described."""
    if isinstance(value, list):
        return [_arranged(item, schema.get("items", {})) for item in value]
    if not isinstance(value, dict):
        return value
    required = schema.get("required", [])
    shapes = schema.get("properties", {})
    names = sorted(value, key=lambda name: (_rank(name, required), name not in shapes, name))
    return {name: _arranged(value[name], shapes.get(name, {})) for name in names}


def _field(name: str, shape: dict[str, Any]) -> str:
    return f"`{name}` ({_shape(shape)})"


def _shape(shape: dict[str, Any]) -> str:
    """A schema in a few words: values where there is a choice, otherwise the type and its bounds."""
    if "const" in shape:
        return json.dumps(shape["const"], ensure_ascii=False)
    if "enum" in shape:
        return " | ".join(str(member) for member in shape["enum"])
    if "oneOf" in shape:
        return " or ".join(_shape(alternative) for alternative in shape["oneOf"])
    match shape.get("type"):
        case "array":
            return f"{_bounded('list', shape, 'Items', 'items')} of {_shape(shape.get('items', {}))}"
        case "object":
            needed = shape.get("required", [])
            inner = (f"{name}{'' if name in needed else '?'}: {_shape(member)}" for name, member in _members(shape))
            return f"object {{{', '.join(inner)}}}" if shape.get("properties") else "object"
        case "string":
            return _bounded("text", shape, "Length", "characters")
        case kind:
            return str(kind or "any value")


def _bounded(noun: str, shape: dict[str, Any], what: str, unit: str) -> str:
    low, high = shape.get(f"min{what}", 0), shape.get(f"max{what}")
    if low == 1:
        noun = f"non-empty {noun}"
    elif low:
        noun = f"{noun} of at least {low} {unit}"
    return noun if high is None else f"{noun}, at most {high} {unit}"


class FixContext(Struct, frozen=True):
    """What a suggested fix can refer to. `fixed` are the members of an artifact that the place of its step gives."""

    packs: Mapping[str, ContractPack]
    is_autonomous: bool = False
    fixed: Mapping[str, str] = {}

    @property
    def tool(self) -> str:
        """The tool with which this agent submits a step."""
        return "complete_step" if self.is_autonomous else "continue_workflow"

    def guidance(self, contract_ref: str, loop_id: str | None) -> list[str] | None:
        """Return what an agent has to know about a contract; None for one without a pack."""
        pack = self.packs.get(contract_ref)
        if pack is None:
            return None
        return contract_guidance(contract_ref, pack, self.fixed if loop_id is None else {"loopId": loop_id})
