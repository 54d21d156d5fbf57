"""`workrail-test completion`: a completion script for your shell."""

from __future__ import annotations

from pytest_workrail.cli import PROGRAM
from workrail_lint.cli import OK, completion
from workrail_lint.cli.parser import Parser


def main(arguments: list[str]) -> int:
    args = parser().parsed(arguments)
    return OK if args is None else completion.write(args.shell, PROGRAM)


def parser() -> Parser:
    return completion.parser(PROGRAM)
