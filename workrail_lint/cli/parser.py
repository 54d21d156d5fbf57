"""The argument parser of all commands, and the options that most of them take."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from workrail_lint.base.terminal import columns, err
from workrail_lint.cli import HelpPrinted, UsageError
from workrail_lint.systems.workrail.settings import BINDINGS_FILE


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Return help that fits the terminal; argparse would load extra modules to find out how wide that is."""
    return argparse.HelpFormatter(prog, width=min(100, columns(sys.stdout) or 100))


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises `UsageError` instead of exiting, and `HelpPrinted` after its help.

    Before `--`, an argument that begins with a dash is an option or an error; after it, a path.
    """

    def __init__(self, command: str, description: str, program: str = "workrail-lint") -> None:
        self.arguments: list[argparse.Action] = []
        self.former: dict[str, str] = {}  # names that options had before, and what they are called now
        self.actions: dict[str, tuple[str, Parser]] = {}  # summary and parser of each action of a command
        super().__init__(
            prog=f"{program} {command}", description=description, allow_abbrev=False, formatter_class=_formatter
        )

    def add_argument(self, *names: str, former: tuple[str, ...] = (), **options: Any) -> argparse.Action:
        """Add an argument; `former` are names it had before, valid with a remark until the next major version."""
        action = super().add_argument(*names, **options)
        self.arguments.append(action)
        self.former |= dict.fromkeys(former, names[0])
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

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise HelpPrinted

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Parse the arguments of a command, or of an action of it; both come this way."""
        args = self._renamed(args)
        if not self.actions:
            self._refuse_dashes(args)
        return super().parse_known_args(args, namespace)

    def _renamed(self, arguments: list[str]) -> list[str]:
        """Return the arguments with the names of today, and say which options were called otherwise."""
        before = list(itertools.takewhile(lambda each: each != "--", arguments))
        for at, argument in enumerate(before):
            name, equals, value = argument.partition("=")
            if name in self.former:
                err(f"{self.prog}: {name} is called {self.former[name]} now")
                before[at] = f"{self.former[name]}{equals}{value}"
        return [*before, *arguments[len(before) :]]

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


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Add the workflows that a command works on: those of the current folder, if none are named."""
    help = "workflows and folders of them (default: .)"
    parser.add_argument("paths", nargs="*", default=[os.curdir], metavar="PATH", help=help)


def add_text_or_json(parser: Parser, what: str) -> None:
    """Add `--format` and its short form `--json`."""
    add_format(parser, ("text", "json"), f"format of the {what}")


def add_format(parser: Parser, formats: Iterable[str], help: str) -> None:
    """Add `--format`, with text as the default, and its short form `--json`."""
    parser.add_argument(
        "--format", choices=tuple(formats), default="text", help=f"{help} (default: text)", former=("--output-format",)
    )
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="short for --format json")


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the options for what a workflow is compiled with."""
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


def given_inputs(args: argparse.Namespace) -> list[str]:
    """Return the options of `add_inputs` in `args` as they would be written for another command."""
    given = ["--isolated"] if args.isolated else []
    for option in ("config", "catalog", "routines", "bindings", "bindings_dir", "engine_version"):
        value = getattr(args, option)
        given += [] if value is None else [f"--{option.replace('_', '-')}", value]
    return given
