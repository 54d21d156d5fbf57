"""`workrail-test combine`: several machines ran parts of a suite; what would one that ran all of it say?"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from pytest_workrail.plugin.suite_records import FILE, Combination, read_record
from workrail_lint.base.files import walk
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, printable
from workrail_lint.cli import NOTHING, UsageError
from workrail_lint.cli.parser import Parser


def main(arguments: list[str]) -> int:
    """Run a session without tests over the records, with the options of pytest that are given."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    options = [each for each in arguments[:at] if each.startswith("-") and each not in ("-h", "--help")]
    args = parser().parse_args([each for each in arguments[:at] if each not in options])
    options += arguments[at + 1 :]

    files: list[Path] = []
    for folder in args.folders:
        if not os.path.isdir(folder):
            raise UsageError(f"there is no folder {printable(folder)}")
        files += sorted(Path(at, FILE) for at, _, names in walk(folder) if FILE in names)
    if not files:
        err(f"workrail-test combine: no {FILE} is below {', '.join(map(printable, args.folders))}")
        return NOTHING
    records = []
    for path in files:
        record = read_record(path)
        if isinstance(record, Err):
            raise UsageError(printable(record.error))
        records.append(record.value)
    return int(pytest.main(["-q", *options], plugins=[Combination(records)]))


def parser() -> Parser:
    parser = Parser("combine", "Combine the records of several machines, as if one had run all tests.", "workrail-test")
    parser.formatter_class = argparse.HelpFormatter
    parser.add_argument(
        "folders", nargs="+", metavar="DIR", help="folders with what pytest --workrail-record=DIR wrote, at any depth"
    )
    parser.epilog = (
        "All other options go to pytest, written as --option=value: --workrail-cov, --workrail-cov-json=FILE, "
        "--workrail-locks=REGISTRY, --workrail-golden=MODE and so on. What follows -- goes there too."
    )
    return parser
