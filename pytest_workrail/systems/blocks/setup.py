"""The setup of a run, read from a scenario: definitions, a repository, agents' actions and people's answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from pytest_workrail.scenarios.drivers import errors
from pytest_workrail.systems.blocks.workspaces import Changes, is_git_installed
from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.config import find_config
from workrail_lint.systems.blocks.model.documents import Block, StudioWorkflow
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.scenario_check import (
    Definitions,
    content_findings,
    load_definitions,
    related,
    run_options,
    scenario_model,
    usable,
)
from workrail_lint.systems.blocks.vocabulary import (
    EXPECTED_KIND,
    NO_OUTPUT,
    REVISE,
    TELEMETRY_PATH,
    TELEMETRY_PORT,
    BlockType,
    Containers,
    DeliverableKind,
    Enforcement,
    FailureMode,
    GitState,
    OutputStatus,
)

EXECUTION = "exec-1"
TELEMETRY_URL = f"http://localhost:{TELEMETRY_PORT}{TELEMETRY_PATH}"


@dataclass(frozen=True, slots=True)
class Reply:
    """The action of an agent in one run of its block. `output` is None when it writes no file."""

    ticks: int = 1
    write: Mapping[str, str | None] = field(default_factory=dict)
    exit: int = 0
    output: Mapping[str, Any] | None = field(default_factory=dict)
    raw: str | None = None
    timeout: bool = False
    abort: bool = False


Agent: TypeAlias = Callable[..., Reply | Mapping[str, Any] | None]
"""Called with `env`, `prompt`, `workspace` (a path) and `memory` (a dict that only a warm container keeps)."""


@dataclass(frozen=True, slots=True)
class Repo:
    """The repository at the start."""

    files: Mapping[str, str] = field(default_factory=dict)
    git: GitState = GitState.NONE
    restrictions: tuple[str, ...] = ()
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Revise:
    """The answer that sends a block back."""

    feedback: str


@dataclass(frozen=True, slots=True)
class Setup:
    """A whole run, before it starts."""

    definition: StudioWorkflow
    workflows: Mapping[str, StudioWorkflow] = field(default_factory=dict)
    repo: Repo = Repo()
    execution: str = EXECUTION
    telemetry: bool = True
    failure_mode: FailureMode = FailureMode.LENIENT
    containers: Containers = Containers.WARM
    enforce: Enforcement = Enforcement.PROMPT
    options: BlockOptions = field(default_factory=BlockOptions)
    variables: Mapping[str, Any] = field(default_factory=dict)
    replies: Mapping[str, Reply | Agent] = field(default_factory=dict)
    gates: Mapping[str, tuple[str | Revise, ...]] = field(default_factory=dict)
    conflicts: Mapping[str, str] = field(default_factory=dict)
    manual: Mapping[str, str] = field(default_factory=dict)
    pauses: Mapping[str, str] = field(default_factory=dict)
    stateless: bool = False
    permutations: bool = False
    # The order in which the lanes of a group are made to finish, where it is not left to their ticks.
    finish: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


# -------------------------------------------------------------------------------------------------- replies and answers


def reply_of(value: Reply | Mapping[str, Any] | None) -> Reply:
    """Return a reply from what a scenario or an agent gives. Raise TypeError for anything else."""
    if isinstance(value, Reply):
        return value
    if not isinstance(value, Mapping | None):
        raise TypeError(f"an agent must return a reply or None, not {value!r}")
    members = dict(value or {})
    known = [each.name for each in fields(Reply)]
    surplus = [name for name in members if name not in known]
    if surplus:
        raise TypeError(f"unknown members of a reply: {', '.join(map(repr, surplus))} (known: {', '.join(known)})")
    if members.get("output") == NO_OUTPUT:
        members["output"] = None
    return Reply(**members)


def answer_of(value: Any) -> str | Revise:
    return Revise(value[REVISE]) if isinstance(value, dict) else str(value)


def completed_output(
    node: str, block_type: BlockType, given: Mapping[str, Any], changed: Changes, stamp: str
) -> dict[str, Any]:
    """Return a complete output; given members win, so that an agent can misreport what it did."""
    summary = f"Simulated {node}."
    output: dict[str, Any] = {
        "blockId": node,
        "blockType": block_type.value,
        "status": OutputStatus.COMPLETED.value,
        "deliverables": {},
        "summary": summary,
        "filesModified": list(changed.modified),
        "filesCreated": list(changed.created),
        "timestamp": stamp,
        **given,
    }
    kind = EXPECTED_KIND[block_type]
    if "deliverables" not in given:
        output["deliverables"] = _smallest_deliverable(kind, output["summary"], summary)
    elif isinstance(given["deliverables"], Mapping):
        output["deliverables"] = {"blockType": kind.value, **given["deliverables"]}
    return output


def _smallest_deliverable(kind: DeliverableKind, summary: Any, task: str) -> dict[str, Any]:
    """Return the smallest valid deliverable of a kind."""
    match kind:
        case DeliverableKind.PLAN:
            return {"blockType": kind.value, "taskList": [task]}
        case DeliverableKind.GENERIC:
            return {"blockType": kind.value, "summary": summary}
        case DeliverableKind.CODE:
            return {"blockType": kind.value, "diffSummary": summary}
        case _:
            return {"blockType": kind.value}


# ------------------------------------------------------------------------------------------------------------ scenarios


def scenario_options(block: Block, folder: str) -> Ok[BlockOptions] | Err[list[Finding]]:
    """Return how a run is judged: by its scenario, or else by the configuration above the folder."""
    config = find_config(folder)
    if isinstance(config, Err):
        return Err([Finding("configuration", "configuration", Severity.ERROR, config.error)])
    return Ok(run_options(block, config.value.system_options()))


def load_setup(
    value: dict[str, Any],
    folder: str,
    given: Sequence[Mapping[str, Any]] = (),
    agents: Mapping[str, Agent] | None = None,
) -> Ok[Setup] | Err[list[Finding]]:
    """Return the run that a scenario describes, or what prevents it in the scenario or on this machine.

    `folder` is where its paths start; `given` are definitions that replace those that it names. Agents in Python
    replace replies of the same name.
    """
    scenario, block = scenario_model(value), value["block"]
    options = scenario_options(scenario.block, folder)
    if isinstance(options, Err):
        return options
    definitions = (
        given_definitions(given, "given", options.value)
        if given
        else load_definitions(scenario.block, folder, options.value)
    )
    if isinstance(definitions, Err):
        return definitions
    problems = [*errors(content_findings(scenario, definitions.value)), *_without_git(block)]
    if problems:
        return Err(problems)
    members = {name: read(block[member]) for member, (name, read) in _MEMBERS.items() if member in block}
    replies = {**members.pop("replies", {}), **(agents or {})}
    checks = block.get("check", {})
    main, others = definitions.value.main, definitions.value.others
    return Ok(Setup(main, others, options=options.value, replies=replies, **members, **checks))


def given_definitions(
    values: Sequence[Mapping[str, Any]], name: str, options: BlockOptions
) -> Ok[Definitions] | Err[list[Finding]]:
    """Return definitions that run together, or what is wrong with one of them or between them."""
    definitions: list[StudioWorkflow] = []
    for value in values:
        definition = usable(value, name, options)
        if isinstance(definition, Err):
            return definition
        definitions.append(definition.value)
    return related(definitions[0], definitions[1:])


def _replies(replies: Mapping[str, Any]) -> dict[str, Reply]:
    return {key: reply_of(reply) for key, reply in replies.items()}


def _gates(gates: Mapping[str, Any]) -> dict[str, tuple[str | Revise, ...]]:
    return {node: tuple(map(answer_of, answers)) for node, answers in gates.items()}


def _repo(repo: Mapping[str, Any]) -> Repo:
    git_state = GitState(repo.get("git", GitState.NONE))
    return Repo(repo.get("files", {}), git_state, tuple(repo.get("restrictions", ())), repo.get("readOnly", False))


# The members of a scenario's `block`: what they are called in a setup, and how they are read.
_MEMBERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "repo": ("repo", _repo),
    "execution": ("execution", str),
    "telemetry": ("telemetry", bool),
    "failureMode": ("failure_mode", FailureMode),
    "containers": ("containers", Containers),
    "enforce": ("enforce", Enforcement),
    "variables": ("variables", dict),
    "replies": ("replies", _replies),
    "gates": ("gates", _gates),
    "conflicts": ("conflicts", dict),
    "manual": ("manual", dict),
    "pauses": ("pauses", dict),
}


def _without_git(block: Mapping[str, Any]) -> list[Finding]:
    """Return a finding if a scenario needs a repository and git is not installed."""
    wanted = block.get("repo", {}).get("git", GitState.NONE.value)
    if wanted == GitState.NONE.value or is_git_installed():
        return []
    text = f"a {wanted} repository needs git, which is not installed"
    return [Finding("git-missing", "git-missing", Severity.ERROR, text, "/block/repo/git")]
