"""An IR, indexed: every step by its id, the loops, the contract packs."""

from __future__ import annotations

from typing import Any, NamedTuple

from pytest_workrail.engine.model.places import StepInstance, collation_key
from workrail_lint.base.js import Json

LOOP_CONTROL = "wr.contracts.loop_control"
ASSESSMENT = "wr.contracts.assessment"
CAPABILITY_OBSERVATION = "wr.contracts.capability_observation"
DIVERGENCE = "wr.contracts.workflow_divergence"
LOOP_CONTROL_KIND = "wr.loop_control"
ASSESSMENT_KIND = "wr.assessment"


class ContractPack(NamedTuple):
    """A kind of artifact and its schema."""

    ref: str
    artifact_kind: str
    schema: dict[str, Any]
    example: Json

    def issues(self, artifact: Json) -> tuple[str, ...]:
        """What is wrong with an artifact; nothing when it meets the contract."""
        from workrail_lint.systems.workrail.catalog.contracts import validate_artifact

        return tuple(validate_artifact(self.schema, artifact))


def contract_packs(ir: dict[str, Any]) -> dict[str, ContractPack]:
    """The packs of an IR by their ref."""
    return {
        pack["ref"]: ContractPack(pack["ref"], pack["artifactKind"], pack["schema"], pack.get("example"))
        for pack in ir["contracts"]
    }


def artifact_kind(artifact: Json) -> str | None:
    """The kind an artifact claims to be of."""
    kind = artifact.get("kind") if isinstance(artifact, dict) else None
    return kind if isinstance(kind, str) else None


_RANK = {"step": 0, "loop": 1, "workflow": 2}


def functions_block(ir: dict[str, Any], step: dict[str, Any], loops: tuple[dict[str, Any], ...] = ()) -> str:
    """The visible functions as one fenced block; empty when there is none. `loops` lie around the step."""
    visible: dict[str, dict[str, Any]] = {}
    for scope, holder in (("workflow", ir), *(("loop", loop) for loop in loops), ("step", step)):
        for function in holder.get("functions", []):
            if function.get("scope", scope) == scope:
                visible[_bare(function["name"])] = function
    wanted = {_bare(reference) for reference in step.get("functionReferences", [])}
    shown = [function for name, function in visible.items() if not wanted or name in wanted]
    if not shown:
        return ""
    shown.sort(key=lambda function: (_RANK[function.get("scope", "workflow")], collation_key(function["name"])))
    definitions = (f"function {_bare(function['name'])}(...)\n  {function['definition']}" for function in shown)
    return "```\n" + "\n\n".join(definitions) + "\n```"


def _bare(name: str) -> str:
    """A name without the parentheses with which authors refer to it."""
    return name.removesuffix("()")


FORMAT = "workrail.ir/1"


class IrIndex:
    """What interpreter, renderer and validator look up in one IR."""

    __slots__ = ("definitions", "ir", "loops", "packs")

    def __init__(self, ir: dict[str, Any]) -> None:
        if ir.get("format") != FORMAT:
            raise ValueError(f"not an IR of format {FORMAT}: {ir.get('format')!r}")
        self.ir = ir
        self.packs: dict[str, ContractPack] = contract_packs(ir)
        self.loops: dict[str, dict[str, Any]] = {step["id"]: step for step in ir["steps"] if step["type"] == "loop"}
        bodies = (step for loop in self.loops.values() for step in loop["body"])
        self.definitions: dict[str, dict[str, Any]] = {step["id"]: step for step in (*ir["steps"], *bodies)}

    @property
    def step_ids(self) -> list[str]:
        """The steps that can be pending: all but the loops."""
        return [step_id for step_id in self.definitions if step_id not in self.loops]

    def innermost_loop(self, instance: StepInstance) -> dict[str, Any] | None:
        """The loop a step instance stands in."""
        return self.loops[instance.loop_path[-1].loop_id] if instance.loop_path else None
