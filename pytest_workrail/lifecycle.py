"""A whole workflow with prepared outputs, and how it ended, as one value.

from pytest_workrail.lifecycle import run_lifecycle
result = run_lifecycle("workflows/review.json", {"read": {"notesMarkdown": "Read all of it."}})
assert result.kind == "success"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeAlias, TypedDict, Unpack

from pytest_workrail.agents.scripted import Fixtures, Prepared, StepOutput
from pytest_workrail.engine.core.profiles import ProfileName, profile_of
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.golden.document import lifecycle_bytes
from pytest_workrail.run import start
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from pytest_workrail.run.result import Run
from workrail_lint.base.js import Json
from workrail_lint.findings import Finding

__all__ = [
    "Blocked",
    "CompilationFailed",
    "Failed",
    "Fixtures",
    "Gated",
    "IntegrityFailure",
    "IterationsExceeded",
    "LifecycleOptions",
    "LifecycleResult",
    "MissingFixture",
    "PromptRenderFailed",
    "StepOutput",
    "Success",
    "run_lifecycle",
]

MAX_STEPS = 100


@dataclass(frozen=True, slots=True)
class _Result:
    """Base of all results. `run` is the run itself; a workflow that does not compile has none."""

    kind: ClassVar[str]
    run: Run | None = field(default=None, kw_only=True, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return the kind and its members, spelled as in JSON."""
        members = (each.name for each in fields(self) if each.name != "run")
        return {"kind": self.kind, **{_camel(name): _plain(getattr(self, name)) for name in members}}

    def golden(self) -> str:
        """Transcript and log, the same on every machine: ids and tokens as symbols, our wording by its name."""
        if self.run is None:
            raise RuntimeError("there is no golden, because the workflow does not compile")
        return lifecycle_bytes(self.run.transcript, self.run.log).decode("utf-8")


@dataclass(frozen=True, slots=True)
class Success(_Result):
    """The workflow is complete. `status` says whether there are gaps."""

    kind = "success"
    steps_visited: tuple[str, ...]
    status: str
    gaps: tuple[dict[str, Json], ...]


@dataclass(frozen=True, slots=True)
class Blocked(_Result):
    """A step was refused, and nothing else was prepared for it."""

    kind = "blocked"
    step_id: str
    blockers: tuple[dict[str, Json], ...]


@dataclass(frozen=True, slots=True)
class Gated(_Result):
    """The run waits at a gate."""

    kind = "gated"
    step_id: str
    gate_kind: str


@dataclass(frozen=True, slots=True)
class CompilationFailed(_Result):
    """The workflow does not compile."""

    kind = "compilation_failed"
    errors: tuple[dict[str, Json], ...]


@dataclass(frozen=True, slots=True)
class IntegrityFailure(_Result):
    """The stored session is inconsistent."""

    kind = "integrity_failure"
    step_id: str | None
    message: str


@dataclass(frozen=True, slots=True)
class PromptRenderFailed(_Result):
    """The prompt of a step could not be rendered."""

    kind = "prompt_render_failed"
    step_id: str | None
    message: str


@dataclass(frozen=True, slots=True)
class MissingFixture(_Result):
    """Nothing was prepared for a step."""

    kind = "missing_fixture"
    step_id: str


@dataclass(frozen=True, slots=True)
class IterationsExceeded(_Result):
    """The run was not complete after the maximum number of rounds."""

    kind = "driver_exceeded_iterations"
    limit: int


@dataclass(frozen=True, slots=True)
class Failed(_Result):
    """A call failed; `envelope` is the error as an agent would see it."""

    kind = "error"
    envelope: dict[str, Json]


LifecycleResult: TypeAlias = (
    Success
    | Blocked
    | Gated
    | CompilationFailed
    | IntegrityFailure
    | PromptRenderFailed
    | MissingFixture
    | IterationsExceeded
    | Failed
)


class LifecycleOptions(TypedDict, total=False):
    """The options of such a run."""

    initial_context: Mapping[str, Json] | None
    preferences: Preferences | Mapping[str, str] | None
    profile: ProfileName  # "reference" unless given
    max_steps: int  # 100 unless given


def run_lifecycle(workflow: start.Source, fixtures: Fixtures, **options: Unpack[LifecycleOptions]) -> LifecycleResult:
    """Drive a workflow with prepared outputs, round by round, until it ends or gets stuck."""
    __tracebackhide__ = True
    start.known_options(options, LifecycleOptions)
    profile, max_steps = options.get("profile", "reference"), options.get("max_steps", MAX_STEPS)
    profile_of(profile)
    agent = Prepared(fixtures)
    chosen = start.preferences_of(options.get("preferences"))
    initial_context = options.get("initial_context")
    context = start.context_of({} if initial_context is None else initial_context)
    try:
        compiled = start.compile(workflow)
    except start.WorkflowInvalid as invalid:
        return compilation_failed(invalid)
    setup = Setup(compiled.ir, profile, chosen, context=context, max_turns=max_steps)
    return _result(drive(setup, agent), agent, max_steps)


def compilation_failed(invalid: start.WorkflowInvalid) -> CompilationFailed:
    """Return what is wrong with a workflow, as a result."""
    return CompilationFailed(tuple(map(_error, invalid.findings)))


def _result(run: Run, agent: Prepared, max_steps: int) -> LifecycleResult:
    final: dict[str, Any] = run.transcript.final
    last: dict[str, Any] = run.responses[-1]
    if run.ending.kind == "complete":
        return Success(run.steps, run.status, tuple(final["gaps"]), run=run)
    if agent.lacks is not None:
        return MissingFixture(agent.lacks, run=run)
    if run.transcript.exchanges[-1].is_error:
        return _failure(run, last)
    if last.get("kind") == "gate_checkpoint":
        return Gated(last["stepId"], last["gateKind"], run=run)
    # More rounds would not have changed the results above, nor a step that can't be tried again.
    if run.ending.kind == "endless" and last.get("retryable") is not False:
        return IterationsExceeded(max_steps, run=run)
    return Blocked(last["pending"]["stepId"], tuple(final["blockers"]), run=run)


def _failure(run: Run, envelope: dict[str, Any]) -> LifecycleResult:
    details: dict[str, Any] = envelope["details"].get("details", {})
    if "notRendered" in details:
        return PromptRenderFailed(details["notRendered"], envelope["message"], run=run)
    if envelope["code"] == "SESSION_NOT_HEALTHY":
        tried = run.transcript.attempts
        return IntegrityFailure(tried[-1].step_id if tried else None, envelope["message"], run=run)
    return Failed(envelope, run=run)


def _error(finding: Finding) -> dict[str, Json]:
    members = {name: getattr(finding, name) for name in ("code", "name", "pointer", "message")}
    return {**members, "phase": finding.phase.value}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
