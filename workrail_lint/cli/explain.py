"""`workrail-lint explain`: what `rule` does, under the name that users of other tools try first."""

from __future__ import annotations

from workrail_lint.cli import rule
from workrail_lint.cli.parser import Parser


def main(arguments: list[str]) -> int:
    return rule.main(arguments, "explain")


def parser() -> Parser:
    return rule.parser("explain")
