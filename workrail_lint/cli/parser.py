"""A command-line parser that reports like we do, and the options most commands take."""

from __future__ import annotations

import argparse
from typing import NoReturn

from workrail_lint.cli import UsageError
from workrail_lint.systems.workrail.project_bindings import FILE as BINDINGS_FILE


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Help of a fixed width: asking for the terminal's loads modules that no other run needs."""
    return argparse.HelpFormatter(prog, width=100)


class Parser(argparse.ArgumentParser):
    """argparse that raises our own error instead of ending the process."""

    def __init__(self, command: str, description: str) -> None:
        super().__init__(
            prog=f"workrail-lint {command}", description=description, allow_abbrev=False, formatter_class=_formatter
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def parsed(self, arguments: list[str]) -> argparse.Namespace | None:
        """The arguments, or None when help was asked for and given."""
        try:
            return self.parse_args(arguments)
        except SystemExit:
            return None


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The options that decide what a workflow is compiled with."""
    parser.add_argument("--catalog", metavar="FILE", help="use this catalog instead of the shipped one")
    parser.add_argument("--routines", metavar="DIR", help="add the routines of this folder to the catalog")
    parser.add_argument("--bindings", metavar="FILE", help=f"project bindings (default: {BINDINGS_FILE} if it exists)")
    parser.add_argument("--bindings-dir", metavar="DIR", help=f"the folder that holds {BINDINGS_FILE}")
    parser.add_argument("--config", metavar="FILE", help="use this configuration file")
    parser.add_argument("--isolated", action="store_true", help="ignore all configuration files")
