"""From a scenario, as a file or as data, to something that can be run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_workrail.scenarios.loading import errors
from pytest_workrail.systems.blocks import git
from pytest_workrail.systems.blocks.setup import EXECUTION, Agent, Repo, Setup, answer_of, reply_of
from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.config import find_config
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.run_vocabulary import Containers, Enforcement, GitState
from workrail_lint.systems.blocks.scenario_check import Definitions, content_findings, run_options
from workrail_lint.systems.blocks.vocabulary import FailureMode


def scenario_options(block: Mapping[str, Any], folder: str) -> Ok[BlockOptions] | Err[list[Finding]]:
    """How the run of a scenario is judged: as it says itself, or as the configuration above its folder does."""
    config = find_config(folder)
    if isinstance(config, Err):
        return Err([Finding("configuration", "configuration", Severity.ERROR, config.error)])
    return Ok(run_options(block, config.value.system_options()))


def checked_setup(
    value: dict[str, Any],
    definitions: Ok[Definitions] | Err[list[Finding]],
    options: BlockOptions,
    agents: Mapping[str, Agent] | None = None,
) -> Ok[Setup] | Err[list[Finding]]:
    """The run that a scenario describes, unless something in the scenario or on this machine is against it."""
    if isinstance(definitions, Err):
        return definitions
    block = value["block"]
    found = [*errors(content_findings(value, definitions.value)), *_without_git(block)]
    return Err(found) if found else Ok(_setup(block, definitions.value, options, agents))


def _setup(
    block: Mapping[str, Any], definitions: Definitions, options: BlockOptions, agents: Mapping[str, Agent] | None
) -> Setup:
    """The run that a scenario describes; agents in Python take the place of replies of the same name."""
    repo, check = block.get("repo", {}), block.get("check", {})
    replies = {key: reply_of(reply) for key, reply in block.get("replies", {}).items()}
    return Setup(
        definitions.main,
        definitions.others,
        Repo(
            repo.get("files", {}),
            GitState(repo.get("git", GitState.NONE.value)),
            tuple(repo.get("restrictions", ())),
            repo.get("readOnly", False),
        ),
        block.get("execution", EXECUTION),
        block.get("telemetry", True),
        FailureMode(block.get("failureMode", FailureMode.LENIENT.value)),
        Containers(block.get("containers", Containers.WARM.value)),
        Enforcement(block.get("enforce", Enforcement.PROMPT.value)),
        options,
        block.get("variables", {}),
        {**replies, **(agents or {})},
        {node: tuple(map(answer_of, answers)) for node, answers in block.get("gates", {}).items()},
        block.get("conflicts", {}),
        block.get("manual", {}),
        block.get("pauses", {}),
        check.get("stateless", False),
        check.get("permutations", False),
    )


def _without_git(block: Mapping[str, Any]) -> list[Finding]:
    """That a scenario wants a repository on a machine that can't make one."""
    wanted = block.get("repo", {}).get("git", GitState.NONE.value)
    if wanted == GitState.NONE.value or git.is_installed():
        return []
    text = f"a {wanted} repository needs git, which is not installed"
    return [Finding("git-missing", "git-missing", Severity.ERROR, text, "/block/repo/git")]
