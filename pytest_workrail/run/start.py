"""Running workflows: how they are compiled, who plays, and the options of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack

from pytest_workrail.agents.agent import Agent, member_of, one_of
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.misbehaving import Erratic, Fault, Lossy, Stubborn
from pytest_workrail.agents.scripted import Answer, Scripted, script_turns
from pytest_workrail.engine.core.profiles import ProfileName, profile_of
from pytest_workrail.engine.model.words import (
    AUTONOMIES,
    DEFAULT_PREFERENCES,
    RISK_POLICIES,
    Autonomy,
    Preferences,
    RiskPolicy,
)
from pytest_workrail.run.bench import GOAL, MAX_TURNS, Declared, Setup
from pytest_workrail.run.bench import preferences as preferences
from pytest_workrail.run.driver import drive
from pytest_workrail.run.result import Run, exchange_lines
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err
from workrail_lint.base.suggest import hint
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.scenario_words import Behaviour, FaultKind

# A path, JSON text, a loaded document, or a workflow that is compiled already.
Source: TypeAlias = "str | os.PathLike[str] | bytes | Mapping[str, Any] | CompiledWorkflow"
Script: TypeAlias = "Mapping[str, Answer | Sequence[Answer]]"


class WorkflowInvalid(AssertionError):  # noqa: N818 - reads as what it is in a test report
    """The workflow does not compile; `findings` say why."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("\n".join(["the workflow does not compile:", *map(_finding_line, findings)]))
        self.findings = findings


class RunFailed(AssertionError):  # noqa: N818 - reads as what it is in a test report
    """The agent's script does not fit the run, or the run never came to an end. `run` is how far it got."""

    def __init__(self, run: Run) -> None:
        place = f" ({run.ending.place})" if run.ending.place else ""
        super().__init__("\n".join([f"{run.ending.why}{place}", "the run so far:", *exchange_lines(run.transcript)]))
        self.run = run


def _finding_line(finding: Finding) -> str:
    at = "" if finding.span is None else f":{finding.span.start.line}:{finding.span.start.column}"
    return f"  {_relative(finding.path) or 'workflow'}{at}: {finding.code} {finding.message} ({finding.pointer or '/'})"


def _relative(path: str) -> str:
    """Return a path as a reader would write it: without the folder everything happens in."""
    return path.removeprefix(os.path.join(os.getcwd(), ""))


def compile(  # noqa: A001 - the name of the fixture's method
    workflow: Source, *, catalog: object = None, routines: object = None, bindings: object = None
) -> CompiledWorkflow:
    """Return the compiled workflow. Raises WorkflowInvalid when it does not compile."""
    __tracebackhide__ = True
    if isinstance(workflow, CompiledWorkflow):
        return workflow
    if isinstance(workflow, Mapping):
        source: Any = dict(workflow)
    elif isinstance(workflow, str) and not workflow.lstrip().startswith("{"):
        source = Path(workflow)
    else:
        source = workflow
    compiled = compile_workflow(source, catalog=catalog, routines=routines, bindings=bindings)
    if isinstance(compiled, Err):
        raise WorkflowInvalid(compiled.error)
    return compiled.value


def script(answers: Script, otherwise: Agent | None = None) -> Agent:
    """Return an agent that does what is written down, by step id; strict unless somebody acts otherwise."""
    __tracebackhide__ = True
    return Scripted(script_turns(answers), None if otherwise is None else _checked_agent(otherwise))


def auto(differently: Script | None = None) -> Agent:
    """Return the automatic agent; at some steps it may act differently, as a script says."""
    __tracebackhide__ = True
    return Auto() if not differently else Scripted(script_turns(differently), Auto())


def stubborn(behaviour: Behaviour | str, *steps: str) -> Agent:
    """Return an agent that behaves in one way and never learns: at these steps, or wherever it can."""
    __tracebackhide__ = True
    return Stubborn(member_of(Behaviour, "behaviour", behaviour), steps or None)


def erratic(seed: int = 0, patience: int = 2) -> Agent:
    """Return an agent that gets things wrong in ever new ways before it gets them right."""
    return Erratic(seed, patience)


def lossy(agent: Agent | None = None, *faults: Fault | FaultKind | str, seed: int = 0, rate: float = 1.0) -> Agent:
    """Return an agent, by default the automatic one, with faults around it; without naming any, with all of them."""
    __tracebackhide__ = True
    chosen = [
        fault if isinstance(fault, Fault) else Fault(member_of(FaultKind, "fault", fault), rate=rate)
        for fault in faults or FaultKind
    ]
    return Lossy(Auto() if agent is None else _checked_agent(agent), chosen, seed)


def preferences_of(given: Preferences | Mapping[str, str] | None) -> Preferences:
    """Preferences as the protocol writes them: `autonomy` and `riskPolicy`, of which either may be left out."""
    __tracebackhide__ = True
    if given is None:
        return DEFAULT_PREFERENCES
    if isinstance(given, Preferences):
        return given
    if not isinstance(given, Mapping):
        raise TypeError(f"preferences must be a mapping, not a {type(given).__name__}")
    members = {"autonomy": AUTONOMIES, "riskPolicy": RISK_POLICIES}
    for name, value in given.items():
        one_of(one_of("preference", name, members), value, members[name])
    default = DEFAULT_PREFERENCES
    chosen: Any = (given.get("autonomy", default.autonomy), given.get("riskPolicy", default.risk_policy))
    return Preferences(*chosen)


class Sources(TypedDict, total=False):
    """The inputs of a compilation: paths or loaded data."""

    catalog: object
    routines: object
    bindings: object


class Options(Sources, total=False):
    """Further options of a run."""

    risk: RiskPolicy | None  # how much the run may take upon itself; by default as fits the mode
    context: Mapping[str, Json]  # what it starts with
    goal: str
    declares: Sequence[Declared]  # what blocks steps besides the workflow; only the profile `locked` reads it
    seed: int  # decides about ids and tokens
    max_turns: int  # after how many actions the run counts as endless


def known_options(given: Mapping[str, object], kind: type) -> None:
    """Reject unknown options: Python checks their names only when types are checked."""
    __tracebackhide__ = True
    known = kind.__annotations__
    for name in given:
        if name not in known:
            raise TypeError(f"unknown option '{name}'{hint(name, known)}")


def setup_of(workflow: Source, mode: Autonomy, profile: ProfileName, options: Options) -> Setup:
    __tracebackhide__ = True
    known_options(options, Options)
    profile_of(profile)
    compiled = compile(
        workflow,
        catalog=options.get("catalog"),
        routines=options.get("routines"),
        bindings=options.get("bindings"),
    )
    return Setup(
        compiled.ir,
        profile,
        preferences(mode, options.get("risk")),
        options.get("goal", GOAL),
        context_of(options.get("context", {})),
        tuple(options.get("declares", ())),
        options.get("seed", 0),
        options.get("max_turns", MAX_TURNS),
    )


def context_of(context: Mapping[str, Json] | object) -> dict[str, Json]:
    """Return what a run starts with."""
    __tracebackhide__ = True
    if not isinstance(context, Mapping):
        raise TypeError(f"the context of a run must be a mapping, not a {type(context).__name__}")
    return dict(context)


def agent_of(agent: Agent | Script | None) -> Agent:
    __tracebackhide__ = True
    if agent is None:
        return Auto()
    return script(agent) if isinstance(agent, Mapping) else _checked_agent(agent, "an agent or a script")


def _checked_agent(agent: object, what: str = "an agent") -> Agent:
    """Return the agent, if it is one."""
    __tracebackhide__ = True
    if isinstance(agent, Agent):
        return agent
    name = getattr(agent, "__name__", "")
    advice = f"; did you forget to call it ({name}())?" if name and callable(agent) else ""
    raise TypeError(f"expected {what}, not a {type(agent).__name__}{advice}")


def run(
    workflow: Source,
    agent: Agent | Script | None = None,
    mode: Autonomy = "guided",
    profile: ProfileName = "reference",
    **options: Unpack[Options],
) -> Run:
    """Run a workflow with an agent, by default the automatic one.

    Raises RunFailed when a script does not fit and when the run does not end; a run that ends blocked, gated or
    with an error is a result like any other.
    """
    __tracebackhide__ = True
    return finished(drive(setup_of(workflow, mode, profile, options), agent_of(agent)))


def finished(result: Run) -> Run:
    """Return the run, if it came to an end that its agent meant."""
    __tracebackhide__ = True
    if result.ending.kind in ("misplayed", "endless"):
        raise RunFailed(result)
    return result
