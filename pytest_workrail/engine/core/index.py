"""An IR, indexed: every step by its id, the loops, the contract packs."""

from __future__ import annotations

from typing import Any

from pytest_workrail.engine.core.packs import ContractPack, contract_packs
from pytest_workrail.engine.model.places import StepInstance

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
