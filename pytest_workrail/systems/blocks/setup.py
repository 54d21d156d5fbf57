"""What a run is given: a definition, a repository, what agents do and what people answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any, TypeAlias

from pytest_workrail.records import Record
from workrail_lint.systems.blocks.definition import Definition
from workrail_lint.systems.blocks.limits import TELEMETRY_PATH, TELEMETRY_PORT
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.run_vocabulary import NO_OUTPUT, REVISE, Containers, Enforcement, GitState
from workrail_lint.systems.blocks.vocabulary import FailureMode

EXECUTION = "exec-1"
TELEMETRY_URL = f"http://localhost:{TELEMETRY_PORT}{TELEMETRY_PATH}"


class Reply(Record):
    """What an agent does in one run of its block. `output` is None when it writes no file."""

    ticks: int = 1
    write: Mapping[str, str | None] = field(default_factory=dict)
    exit: int = 0
    output: Mapping[str, Any] | None = field(default_factory=dict)
    raw: str | None = None
    timeout: bool = False
    abort: bool = False


Agent: TypeAlias = Callable[..., Reply | Mapping[str, Any] | None]
"""Called with `env`, `prompt`, `workspace` (a path) and `memory` (a dict that only a warm container keeps)."""


class Repo(Record):
    """The repository at the start."""

    files: Mapping[str, str] = field(default_factory=dict)
    git: GitState = GitState.NONE
    restrictions: tuple[str, ...] = ()
    read_only: bool = False


class Revise(Record):
    """The answer that sends a block back."""

    feedback: str


class Setup(Record):
    """A whole run, before it starts."""

    definition: Definition
    workflows: Mapping[str, Definition] = field(default_factory=dict)
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


def reply_of(value: Reply | Mapping[str, Any] | None) -> Reply:
    """A reply as a scenario writes it, or as an agent gives it back."""
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
