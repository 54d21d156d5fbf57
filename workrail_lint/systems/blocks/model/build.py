"""How the models of block documents come about: from a value, and from what it breaks of its schema."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeVar

from workrail_lint.documents.nodes import LEFT_OUT, Build, Node, place_below
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.systems.blocks.documents import BlockKind, validator
from workrail_lint.systems.blocks.expressions import CONTRACT, Language
from workrail_lint.systems.blocks.model.documents import (
    BlockOutput,
    Environment,
    FanInResult,
    GithubMount,
    LocalMount,
    RunTrace,
    StudioWorkflow,
    UnresolvedConflict,
)

N = TypeVar("N", bound=Node)
_CONFLICT = "/conflicts/0"  # where a single conflict is checked


def definition_model(
    value: dict[str, Any], language: Language = CONTRACT, violations: Sequence[Violation] | None = None
) -> StudioWorkflow:
    """Return the model of a definition, which is checked first unless the violations are given."""
    if violations is None:
        violations = validator(BlockKind.WORKFLOW).violations(value)
    model: StudioWorkflow = Build(violations).root(StudioWorkflow, value)
    model.__dict__["language"] = language
    return model


def output_model(value: dict[str, Any], extended: bool = False) -> BlockOutput:
    """Return the model of an output, or of what is recorded of one."""
    model: BlockOutput = Build(validator(BlockKind.OUTPUT, extended).violations(value)).root(BlockOutput, value)
    return model


def environment_model(value: dict[str, Any]) -> Environment:
    """Return the model of the environment of a block."""
    model: Environment = Build(validator(BlockKind.ENVIRONMENT).violations(value)).root(Environment, value)
    return model


def mount_model(value: dict[str, Any]) -> LocalMount | GithubMount:
    """Return the model of a mount. One without a valid source is taken for a local one."""
    is_github = value.get("source") == "github"
    known = value if is_github else {**value, "source": "local"}
    build = Build(validator(BlockKind.MOUNT).violations(known))
    model: LocalMount | GithubMount = build.root(GithubMount if is_github else LocalMount, value)
    return model


def fan_in_model(value: dict[str, Any], extended: bool = False) -> FanInResult:
    """Return the model of a fan-in result."""
    model: FanInResult = _FanInBuild(validator(BlockKind.FAN_IN, extended).violations(value)).root(FanInResult, value)
    return model


def trace_model(value: dict[str, Any]) -> RunTrace:
    """Return the model of a trace, or of a golden in one."""
    model: RunTrace = _FanInBuild(validator(BlockKind.TRACE).violations(value)).root(RunTrace, value)
    return model


def conflict_violations(conflict: dict[str, Any], pointer: str) -> list[Violation]:
    """Return what the members of a conflict break that are the same for every resolution."""
    value = {"conflicts": [{**conflict, "resolution": "user-resolved"}]}
    return [
        violation.replaced(pointer=pointer + violation.pointer.removeprefix(_CONFLICT))
        for violation in validator(BlockKind.FAN_IN).violations(value)
        if violation.pointer.startswith(_CONFLICT) and violation.member != "appliedFrom"
    ]


class DocumentModels:
    """The models of an object, made when one is asked for: the kind of the document says which one is right."""

    root: dict[str, Any]
    extended: bool

    @cached_property
    def output(self) -> BlockOutput:
        return output_model(self.root, self.extended)

    @cached_property
    def fan_in(self) -> FanInResult:
        return fan_in_model(self.root, self.extended)

    @cached_property
    def environment(self) -> Environment:
        return environment_model(self.root)

    @cached_property
    def mount(self) -> LocalMount | GithubMount:
        return mount_model(self.root)


class _FanInBuild(Build):
    """Builds fan-in results, also conflicts without a valid resolution, which the schema does not look into."""

    def node(self, cls: type[N], raw: dict[str, Any], parent: Node | None, key: str) -> N:
        if cls is UnresolvedConflict:
            violations = conflict_violations(raw, place_below(parent, key))
            self.left_out.update(violation.pointer for violation in violations if violation.keyword in LEFT_OUT)
        return super().node(cls, raw, parent, key)

    def unchecked(self, cls: type[N], raw: dict[str, Any], parent: Node | None, key: str) -> N | None:
        return self.node(cls, raw, parent, key) if cls is UnresolvedConflict else None
