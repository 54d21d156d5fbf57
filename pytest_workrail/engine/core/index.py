"""An IR, indexed: every step by its id, the loops, the contract packs."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from pytest_workrail.engine.model.step_keys import StepInstance, collation_key
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.catalog.contracts import validate_artifact
from workrail_lint.systems.workrail.model.build import program_model
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep, RepeatingStep
from workrail_lint.systems.workrail.model.workflow import FunctionDefinition

ASSESSMENT = "wr.contracts.assessment"
CAPABILITY_OBSERVATION = "wr.contracts.capability_observation"
DIVERGENCE = "wr.contracts.workflow_divergence"
LOOP_CONTROL_KIND = "wr.loop_control"
ASSESSMENT_KIND = "wr.assessment"


class ContractPack(Struct, frozen=True):
    """A kind of artifact and its schema."""

    ref: str
    artifact_kind: str
    schema: dict[str, Any]
    example: Json

    def issues(self, artifact: Json) -> tuple[str, ...]:
        """Return the issues of an artifact; nothing when it meets the contract."""
        return tuple(validate_artifact(self.schema, artifact))


def contract_packs(program: Program) -> dict[str, ContractPack]:
    """Return the contract packs of a workflow by their ref."""
    return {
        pack.ref: ContractPack(pack.ref, pack.artifact_kind, pack.schema_, pack.example) for pack in program.contracts
    }


def artifact_kind(artifact: Json) -> str | None:
    """The kind an artifact claims to be of."""
    kind = artifact.get("kind") if isinstance(artifact, dict) else None
    return kind if isinstance(kind, str) else None


_RANK = {"step": 0, "loop": 1, "workflow": 2}


def functions_block(program: Program, step: ProgramStep, loops: tuple[RepeatingStep, ...] = ()) -> str:
    """Return the visible functions as one fenced block; empty when there is none. `loops` are around the step."""
    visible: dict[str, FunctionDefinition] = {}
    scopes = (("workflow", program.functions), *(("loop", loop.functions) for loop in loops), ("step", step.functions))
    for scope, functions in scopes:
        for function in functions:
            if function.scope in (None, scope):
                visible[_bare(function.name)] = function
    wanted = {_bare(reference) for reference in step.function_references}
    listed = [function for name, function in visible.items() if not wanted or name in wanted]
    if not listed:
        return ""
    listed.sort(key=lambda function: (_RANK[function.scope or "workflow"], collation_key(function.name)))
    definitions = (f"function {_bare(function.name)}(...)\n  {function.definition}" for function in listed)
    return "```\n" + "\n\n".join(definitions) + "\n```"


def _bare(name: str) -> str:
    """A name without the parentheses with which authors refer to it."""
    return name.removesuffix("()")


FORMAT = "workrail.ir/1"


def typed_program(ir: dict[str, Any]) -> Program:
    """Return the typed form of an IR. Raise ValueError if it is of another format."""
    if ir.get("format") != FORMAT:
        raise ValueError(f"not an IR of format {FORMAT}: {ir.get('format')!r}")
    return program_model(ir)


class IrIndex:
    """The lookups of interpreter, renderer and validator in one IR."""

    __slots__ = ("definitions", "loops", "packs", "program")

    def __init__(self, ir: dict[str, Any] | Program) -> None:
        program = ir if isinstance(ir, Program) else typed_program(ir)
        self.program = program
        self.packs = contract_packs(program)
        self.loops = {loop.id: loop for loop in program.loops}
        bodies = (step for loop in program.loops for step in loop.body)
        self.definitions: dict[str, ProgramStep] = {step.id: step for step in (*program.steps, *bodies)}

    @property
    def step_ids(self) -> list[str]:
        """The steps that can be pending: all but the loops."""
        return [step_id for step_id in self.definitions if step_id not in self.loops]

    def innermost_loop(self, instance: StepInstance) -> RepeatingStep | None:
        """Return the loop that a step instance is in."""
        return self.loops[instance.loop_path[-1].loop_id] if instance.loop_path else None
