"""`workrail-lint server`: the language server on stdin and stdout."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from typing import BinaryIO, NoReturn, cast

from workrail_lint.base.terminal import err
from workrail_lint.cli import FINDINGS, INTERRUPTED, OK, UsageError
from workrail_lint.cli.arguments import configuration, settings
from workrail_lint.cli.check import found_projects, make_project_plan
from workrail_lint.cli.check import parser as check_parser
from workrail_lint.cli.parser import Parser, add_inputs, given_inputs
from workrail_lint.project.config import Config, nearest_file, unconfigured
from workrail_lint.project.discovery import Discovery
from workrail_lint.server.projects import Project, is_document


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    gc.disable()  # thousands of classes are made, and none of them is garbage
    try:
        from workrail_lint.server.connection import Input, log_in_one_line
        from workrail_lint.server.protocol import make_server
    except ImportError as error:
        raise UsageError(f"the language server needs pygls: pip install 'workrail-lint[lsp]' ({error})") from None
    gc.enable()
    signal.signal(signal.SIGINT, _leave)
    server = make_server(lambda path: open_project(args, path))
    log_in_one_line()
    messages = Input(sys.stdin.buffer)
    # pygls closes what it writes to, and standard output is not its own.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as stdout:
        server.start_io(stdin=cast(BinaryIO, messages), stdout=stdout)
    if messages.problem is not None:
        raise UsageError(f"{messages.problem}; the client's messages can no longer be separated")
    return OK if server.ends_as_agreed else FINDINGS


def _leave(*_: object) -> NoReturn:
    """Leave at once: a thread still waits for what the editor says next, and an orderly end would wait for it."""
    err("workrail-lint: interrupted; the language server wrote nothing")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def parser() -> Parser:
    result = Parser(
        "server", "The language server: diagnostics, fixes, completion, hover and more, on stdin and stdout."
    )
    add_inputs(result)
    return result


def open_project(args: argparse.Namespace, path: str) -> Project:
    """Return the project of a path, as `check` sees it; without its configuration where that can't be used."""
    folder = os.path.dirname(path) or os.curdir
    folder = folder if os.path.isdir(folder) else os.curdir
    try:
        return _project(args, configuration(args, folder))
    except UsageError as problem:
        own = args.config or nearest_file(folder)[0]
        config = unconfigured(folder)
        return _project(args, Config(config.root, path=own), str(problem))


def _project(args: argparse.Namespace, config: Config, problem: str | None = None) -> Project:
    root = os.path.relpath(config.root)
    top = config.root if root.startswith(os.pardir) else root
    chosen = check_parser().parse_args([*given_inputs(args), "--", top])
    plan = make_project_plan(chosen, config, complete=False, has=lambda path: is_document(config, path))
    plan.settings.options["fingerprints"] = True  # accepting a finding needs its fingerprint

    def files() -> Discovery:
        mine = [each for each in found_projects(chosen) if os.path.samefile(each.config.root, config.root)]
        return mine[0].discovery

    # A lone file in a folder that nothing calls a project: its neighbours are none of our business.
    is_project = config.path is not None or root == os.curdir
    return Project(config, plan, settings(args, config), files if is_project and problem is None else None, problem)
