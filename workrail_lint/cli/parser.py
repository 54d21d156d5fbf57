"""The argument parser of all commands, and the options that most of them take."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from workrail_lint.cli import UsageError
from workrail_lint.systems.workrail.settings import BINDINGS_FILE


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Help with a fixed width, because looking up the width of the terminal loads extra modules."""
    return argparse.HelpFormatter(prog, width=100)


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises `UsageError` instead of exiting.

    Before `--`, an argument that begins with a dash is an option or an error; after it, a path.
    """

    def __init__(self, command: str, description: str, program: str = "workrail-lint") -> None:
        self.arguments: list[argparse.Action] = []
        self.actions: dict[str, tuple[str, Parser]] = {}  # summary and parser of each action of a command
        super().__init__(
            prog=f"{program} {command}", description=description, allow_abbrev=False, formatter_class=_formatter
        )

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        action = super().add_argument(*names, **options)
        self.arguments.append(action)
        return action

    def add_alternatives(self, options: Mapping[str, str], *, required: bool = False) -> None:
        """Add switches with their help texts, of which at most one can be given."""
        group = self.add_mutually_exclusive_group(required=required)
        for option, text in options.items():
            self.arguments.append(group.add_argument(option, action="store_true", help=text))

    def add_actions(self, summaries: Mapping[str, str], dest: str) -> dict[str, Parser]:
        """Add the actions of a command, by name, and return their parsers."""
        added = self.add_subparsers(dest=dest, required=True, metavar=dest.upper(), parser_class=ActionParser)
        for name, summary in summaries.items():
            description = f"{summary[0].upper()}{summary[1:]}."
            self.actions[name] = summary, added.add_parser(name, help=summary, description=description)
        return {name: parser for name, (_, parser) in self.actions.items()}

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (run {self.prog} --help for details)")

    def parsed(self, arguments: list[str]) -> argparse.Namespace | None:
        """The arguments, or None if `--help` was given and printed."""
        try:
            return self.parse_args(arguments)
        except SystemExit:
            return None

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """The arguments of a command, or of an action of it; both come this way."""
        if not self.actions:
            self._refuse_dashes(args)
        return super().parse_known_args(args, namespace)

    def _refuse_dashes(self, arguments: list[str]) -> None:
        """Raise where a path begins with a dash: argparse would call it missing, or take a name with a space."""
        options = {name: action for action in self.arguments for name in action.option_strings}
        previous = None
        for argument in itertools.takewhile(lambda each: each != "--", arguments):
            action = options.get(argument.partition("=")[0])
            is_value = previous is not None and previous.nargs != 0
            if argument.startswith("-") and argument != "-" and action is None and not is_value:
                self.error(f"unknown option '{argument}'; a path that begins with '-' must come after --")
            previous = options.get(argument)


class ActionParser(Parser):
    """The parser of one action. argparse passes the whole command as `prog`, and more options with each version."""

    def __init__(self, prog: str, description: str = "", **_others: object) -> None:
        program, _, command = prog.rpartition(" ")
        super().__init__(command, description, program)


class Suggesting(argparse.Action):
    """An argument with values that shells complete. Others are refused by the command, which knows what is meant."""

    def __init__(self, *, suggested: Iterable[str], **options: Any) -> None:
        super().__init__(**options)
        self.suggested = tuple(suggested)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, _option: str | None = None
    ) -> None:
        setattr(namespace, self.dest, values)


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The options for what a workflow is compiled with."""
    parser.add_argument("--catalog", metavar="FILE", help="use this catalog instead of the shipped one")
    parser.add_argument("--routines", metavar="DIR", help="add the routines in this folder to the catalog")
    parser.add_argument(
        "--bindings", metavar="FILE", help=f"the project's bindings (default: {BINDINGS_FILE}, if it exists)"
    )
    parser.add_argument("--bindings-dir", metavar="DIR", help=f"the folder that contains {BINDINGS_FILE}")
    parser.add_argument(
        "--engine-version",
        metavar="VERSION",
        help="the engine release that is meant, such as 3.60 (default: the newest)",
    )
    parser.add_argument("--config", metavar="FILE", help="use this configuration file instead of searching for one")
    parser.add_argument("--isolated", action="store_true", help="ignore all configuration files")
