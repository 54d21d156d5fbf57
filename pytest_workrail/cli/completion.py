"""`workrail-test completion`: a completion script for your shell."""

from __future__ import annotations

from pytest_workrail.cli import PROGRAM
from workrail_lint.cli import completion
from workrail_lint.cli.parser import Parser


def main(arguments: list[str]) -> int:
    return completion.write(parser().parse_args(arguments).shell, PROGRAM)


def parser() -> Parser:
    return completion.parser(PROGRAM)
