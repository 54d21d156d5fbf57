"""The engine and its world for one run: stores, clock, and a workspace of which nothing is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from pytest_workrail.agents.agent import Exchange, one_of
from pytest_workrail.engine.core.profiles import Profile, ProfileName
from pytest_workrail.engine.model.reasons import (
    ContextBudgetExceeded,
    EvaluationFailed,
    InvariantViolation,
    MissingContextKey,
    StorageCorruption,
    UserOnlyDependency,
)
from pytest_workrail.engine.model.words import (
    DEFAULT_PREFERENCES,
    PRESETS,
    RISK_POLICIES,
    Autonomy,
    Preferences,
    RiskPolicy,
)
from pytest_workrail.engine.protocol.engine import Answer, Dependencies, Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary, NoWorkspace
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.blocker_codes import UserDependency as DependencyDetail

# A workspace of which nothing is known, so that no run depends on the machine it is made on.
WORKSPACE = "/workspace"
GOAL = "Run this workflow once."
# The longest loop there can be, with a body of twenty steps.
MAX_TURNS = 20_000
# What a host can say against an advance although no workflow brings it about.
HostReason: TypeAlias = (
    UserOnlyDependency
    | MissingContextKey
    | ContextBudgetExceeded
    | InvariantViolation
    | StorageCorruption
    | EvaluationFailed
)


class Declared(Struct, frozen=True):
    """Something that stands against every advance of a step until a person provides it."""

    step_id: str
    reason: HostReason


class Setup(Struct, frozen=True):
    """The start of a run. The seed decides about ids and tokens, and about nothing else."""

    ir: dict[str, Any]
    profile: ProfileName | Profile = "reference"
    preferences: Preferences = DEFAULT_PREFERENCES
    goal: str = GOAL
    context: dict[str, Json] = {}
    declared: tuple[Declared, ...] = ()
    seed: int = 0
    max_turns: int = MAX_TURNS
    onboarding: bool = False


def preferences(mode: Autonomy, risk: RiskPolicy | None) -> Preferences:
    """Return a mode with the risk policy it is meant to go with, unless another one is given."""
    __tracebackhide__ = True
    presets = {preset.autonomy: preset for preset in PRESETS}
    one_of("mode", mode, presets)
    if risk is None:
        return presets[mode]
    one_of("risk policy", risk, RISK_POLICIES)
    return Preferences(mode, risk)


class _DeclaredReasons(Dependencies):
    """The declared reasons in the place of the engine's own list, which knows only those about persons."""

    def __init__(self, declared: Sequence[Declared]) -> None:
        super().__init__()
        self._reasons = list(declared)

    def of(self, step_id: str) -> tuple[UserOnlyDependency, ...]:
        # The engine treats every reason of the closed set alike, whatever this list is called.
        return tuple(each.reason for each in self._reasons if each.step_id == step_id)  # type: ignore[misc]

    def answer(self, step_id: str, detail: DependencyDetail) -> None:
        self._reasons = [
            each for each in self._reasons if each.step_id != step_id or getattr(each.reason, "detail", None) != detail
        ]


class _BenchWorkspace(NoWorkspace):
    """A workspace of which nothing is known but what its project binds to the slots of the workflow."""

    def __init__(self, ir: dict[str, Any]) -> None:
        self.bindings: dict[str, str] = dict(ir["bindings"]["overrides"])

    def overrides(self, workflow_id: str, workspace_path: str | None) -> Mapping[str, str]:
        return self.bindings


class Bench:
    """Calls tools and keeps every exchange, in order."""

    def __init__(self, setup: Setup) -> None:
        self.home = in_memory(FixedClock(step_ms=1), SeededEntropy(f"run {setup.seed}"))
        self.exchanges: list[Exchange] = []
        self._library = MemoryLibrary()
        self._library.put_ir(setup.ir)
        self._setup = setup
        self._reasons = _DeclaredReasons(setup.declared)
        self._workspace = _BenchWorkspace(setup.ir)
        self._options = Options(profile=setup.profile, inject_onboarding=setup.onboarding)
        self.engine = self._engine()

    def _engine(self) -> Engine:
        engine = Engine(self.home, self._library, self._options, self._workspace)
        engine.dependencies = self._reasons
        return engine

    def restart(self) -> None:
        """Another engine on the same data; whatever the first one had in memory is gone."""
        self.engine = self._engine()

    def rebind(self, overrides: dict[str, str]) -> None:
        """The project binds something else from now on."""
        self._workspace.bindings = dict(overrides)

    def call(self, tool: str, request: dict[str, Json]) -> Exchange:
        """Call a tool by its name."""
        tools = {
            "start_workflow": self.engine.start_workflow,
            "continue_workflow": self.engine.continue_workflow,
            "checkpoint_workflow": self.engine.checkpoint_workflow,
            "resume_session": self.engine.resume_session,
            "list_workflows": self.engine.list_workflows,
            "inspect_workflow": self.engine.inspect_workflow,
        }
        answer: Answer = tools[tool](request)
        exchange = (
            Exchange(tool, request, answer.error.to_json(), True)
            if isinstance(answer, Err)
            else Exchange(tool, request, answer.value.to_json(), False)
        )
        self.exchanges.append(exchange)
        return exchange
