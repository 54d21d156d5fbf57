"""A pinned workflow, ready to run: its IR with everything that is read from it once."""

from __future__ import annotations

from collections import OrderedDict
from functools import cache
from typing import Any

from pytest_workrail.engine.core.index import CAPABILITY_OBSERVATION, DIVERGENCE, FORMAT, ContractPack
from pytest_workrail.engine.core.interpreter import Interpreter
from pytest_workrail.engine.core.outputs import OutputValidator
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.core.prompts import PromptRenderer
from pytest_workrail.engine.model.base import decode_json
from pytest_workrail.engine.model.ids import WorkflowHash
from pytest_workrail.engine.protocol.errors import ToolError, from_content, internal, precondition
from pytest_workrail.engine.protocol.ports import LoadWorkflow
from workrail_lint.base.canonical import CanonicalError, canonical_bytes, digest
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.model.build import ir_problem
from workrail_lint.systems.workrail.model.ir import Program as Definition
from workrail_lint.systems.workrail.model.ir import ProgramStep

_KEPT = 64


class Program:
    """One IR under one profile. Immutable, so every session of the workflow shares it."""

    __slots__ = ("index", "interpreter", "ir", "renderer", "validator", "workflow_hash")

    def __init__(self, ir: dict[str, Any], workflow_hash: WorkflowHash, profile: Profile) -> None:
        self.ir = ir
        self.workflow_hash = workflow_hash
        self.interpreter = Interpreter(ir, profile)
        self.index = self.interpreter.index
        self.renderer = PromptRenderer(self.index, profile)
        self.validator = OutputValidator(self.index, profile)

    @property
    def definition(self) -> Definition:
        """The typed form of the IR."""
        return self.index.program

    def step(self, step_id: str) -> ProgramStep:
        """A step of the workflow. A snapshot names steps of the workflow it was taken from and no others."""
        return self.index.definitions[step_id]

    def report_pack(self, ref: str) -> ContractPack:
        """The pack of a report that an agent may submit at any step, whatever the workflow requires."""
        return self.index.packs.get(ref) or _report_packs()[ref]


@cache
def _report_packs() -> dict[str, ContractPack]:
    from workrail_lint.systems.workrail.catalog.catalog import load_core

    contracts = load_core().contracts
    return {
        ref: ContractPack(ref, contracts[ref].artifact_kind, contracts[ref].schema, contracts[ref].example)
        for ref in (CAPABILITY_OBSERVATION, DIVERGENCE)
    }


def frozen(ir: dict[str, Any], onboarding: bool) -> Ok[tuple[dict[str, Any], WorkflowHash]] | Err[ToolError]:
    """An IR as it comes back from its canonical bytes, and its hash: what a run sees from its first prompt on."""
    if onboarding:
        from pytest_workrail.engine.protocol.step_response import with_onboarding

        ir = with_onboarding(ir)
    try:
        raw = canonical_bytes(ir)
    except CanonicalError as problem:
        return Err(internal(f"The compiled workflow has no canonical form ({problem.code})."))
    decoded = decode_json(raw)
    if isinstance(decoded, Err) or not isinstance(decoded.value, dict):
        return Err(internal("The compiled workflow can't be read back."))
    return Ok((decoded.value, WorkflowHash(digest(raw))))


def ported_ir(pin: dict[str, Any]) -> Ok[dict[str, Any]] | Err[ToolError]:
    """What the public engine pinned, as an IR: a session that it began can be looked at and continued here."""
    from workrail_lint.systems.workrail.compile import compile_pin

    compiled = compile_pin(pin)
    if isinstance(compiled, Err):
        message = f"The workflow this run was started with can't run here: {compiled.error}."
        return Err(precondition(message, "Start the workflow again to pin a version that can."))
    onboarding = compiled.value.onboarding
    if onboarding is None:
        return Ok(compiled.value.ir)
    from pytest_workrail.engine.protocol.step_response import with_onboarding

    return Ok(with_onboarding(compiled.value.ir, title=onboarding.title, prompt=onboarding.prompt))


class Programs:
    """Pinned workflows by hash. Remembers a few: what a hash stands for never changes."""

    def __init__(self, load: LoadWorkflow, profile: Profile) -> None:
        self._load = load
        self._profile = profile
        self._kept: OrderedDict[WorkflowHash, Program] = OrderedDict()

    def of(self, workflow_hash: WorkflowHash) -> Ok[Program] | Err[ToolError]:
        """The program of a hash that a run pinned."""
        known = self._kept.get(workflow_hash)
        if known is not None:
            self._kept.move_to_end(workflow_hash)
            return Ok(known)
        loaded = self._load(workflow_hash)
        if isinstance(loaded, Err):
            return Err(from_content(loaded.error))
        if loaded.value is None:
            message = "The workflow this run was started with is no longer here."
            return Err(precondition(message, "Start the workflow again, or restore the data folder."))
        if loaded.value.get("sourceKind") == "v1_pinned":
            ported = ported_ir(loaded.value)
            return ported if isinstance(ported, Err) else Ok(self.add(ported.value, workflow_hash))
        if loaded.value.get("format") != FORMAT or ir_problem(loaded.value) is not None:
            message = "The workflow this run names is not an executable one."
            return Err(precondition(message, "Start the workflow again to pin an executable version of it."))
        return Ok(self.add(loaded.value, workflow_hash))

    def add(self, ir: dict[str, Any], workflow_hash: WorkflowHash) -> Program:
        """Take in an IR that is known to have this hash."""
        program = self._kept.get(workflow_hash) or Program(ir, workflow_hash, self._profile)
        self._kept[workflow_hash] = program
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return program
