"""Workflows that a command is asked about, compiled; and under which profiles."""

from __future__ import annotations

import argparse
import os

from msgspec import Struct

from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, printable
from workrail_lint.cli import INTERRUPTED, NOTHING, USAGE
from workrail_lint.cli.arguments import configuration, settings, workflow_files
from workrail_lint.cli.parser import Parser
from workrail_lint.project.config import Config
from workrail_lint.systems.workrail.compile import compile_source
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow


class SearchedWorkflow(Struct, frozen=True):
    """A workflow file, compiled."""

    path: str
    text: bytes
    compiled: CompiledWorkflow


class Searched(Struct, frozen=True):
    """The input of a search. `has_broken`: some workflows don't compile and are left out."""

    config: Config
    workflows: list[SearchedWorkflow]
    has_broken: bool

    def nothing_found(self) -> int:
        """Return the exit code where there is no workflow to search."""
        if self.has_broken:
            return USAGE
        err("workrail-test: no workflow found")
        return NOTHING

    def exit_code(self, otherwise: int, *, is_interrupted: bool = False) -> int:
        """Return the exit code of a command that is done; one that left something out has failed."""
        if is_interrupted:
            return INTERRUPTED
        return USAGE if self.has_broken else otherwise


def add_profile_option(parser: Parser, default: str) -> None:
    parser.add_argument(
        "--profile", choices=tuple(PROFILES), action="append", help=f"the run profile, may be repeated ({default})"
    )


def chosen_profiles(args: argparse.Namespace) -> list[ProfileName]:
    """Return the profiles that were asked for, in their order; all of them if none was."""
    return [name for name in PROFILES if name in (args.profile or PROFILES)]


def searched_workflows(args: argparse.Namespace) -> Searched:
    """The workflows at and below the paths. One that does not compile is reported, and the others are searched."""
    config = configuration(args, args.paths[0] if args.paths else os.curdir)
    active = settings(args, config)
    workflows: list[SearchedWorkflow] = []
    has_broken = False
    for file in workflow_files(args.paths, config):
        compiled = compile_source(file.data, active)
        if isinstance(compiled, Err):
            has_broken = True
            err(f"workrail-test: {printable(file.path)} does not compile: {printable(compiled.error[0].message)}")
        else:
            workflows.append(SearchedWorkflow(file.path, file.data, compiled.value))
    return Searched(config, workflows, has_broken)


def shown_path(path: str) -> str:
    """Return a path as reports have it: with forward slashes, the same on every machine."""
    return path.replace(os.sep, "/")
