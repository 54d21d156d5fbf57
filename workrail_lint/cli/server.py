"""`workrail-lint server`: the language server on stdin and stdout."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workrail_lint.cli import OK, UsageError
from workrail_lint.cli.arguments import configuration, judging_settings, settings
from workrail_lint.cli.parser import Parser, add_inputs

if TYPE_CHECKING:
    import argparse

    from workrail_lint.server.document import Setup


def main(arguments: list[str]) -> int:
    args = parser().parsed(arguments)
    if args is None:
        return OK
    try:
        from workrail_lint.server.protocol import make_server
    except ImportError as error:
        raise UsageError(f"the language server needs pygls: pip install 'workrail-lint[lsp]' ({error})") from None
    make_server(lambda path: setup_of(args, path)).start_io()
    return OK


def parser() -> Parser:
    made = Parser("server", "The language server: diagnostics, fixes, completion, hover and more, on stdin and stdout.")
    add_inputs(made)
    return made


def setup_of(args: argparse.Namespace, path: str) -> Setup:
    """How the project of a path is checked; without its configuration where that can't be read."""
    from workrail_lint.base.result import Err
    from workrail_lint.project.config import unconfigured
    from workrail_lint.project.plan import Request, make_plan
    from workrail_lint.server.document import Setup

    folder = os.path.dirname(path) if os.path.isdir(os.path.dirname(path)) else os.curdir
    try:
        config = configuration(args, folder)
    except UsageError:
        config = unconfigured(folder)
    baseline = config.file("baseline")
    request = Request([], [], [], baseline, baseline is not None, False, 1, False)
    plan = make_plan(judging_settings(args, config, parity=False), config, request)
    if isinstance(plan, Err):
        config = unconfigured(folder)
        plan = make_plan(judging_settings(args, config, parity=False), config, request._replace(baseline=None))
    if isinstance(plan, Err):
        raise UsageError(plan.error)
    return Setup(plan.value, settings(args, config))
