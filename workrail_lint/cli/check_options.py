"""The options of `check`.

A hook calls `check` with file names and a few switches on every commit. That is understood here at once; anything
more goes to argparse, which takes longer to load than a clean file takes to check.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from argparse import Namespace

    from workrail_lint.cli.parser import Parser

FORMATS = ("text", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit")
SWITCHES = {
    "--fix": "apply safe fixes",
    "--unsafe-fixes": "with --fix or --diff: unsafe fixes too",
    "--diff": "show what --fix would change, and change nothing",
    "--strict": "warnings count as errors for the exit code",
    "--statistics": "count findings by rule instead of listing them",
    "--no-cache": "neither use nor write cached results",
    "--exit-zero": "exit 0 even when there are findings",
    "--watch": "check again whenever a file changes",
    "--engine-parity": "errors are exactly what the engine rejects",
}
SEVERITIES = ("error", "warning", "info")
_DEFAULTS: dict[str, Any] = {
    "severity": None,
    "output_format": "text",
    "output_file": None,
    "baseline": None,
    "write_baseline": None,
    "jobs": None,
    "stdin_filename": None,
    "catalog": None,
    "routines": None,
    "bindings": None,
    "bindings_dir": None,
    "config": None,
    "isolated": False,
    **{option[2:].replace("-", "_"): False for option in SWITCHES},
}

# What there is when no system adds an option.
KNOWN = {*_DEFAULTS, "select", "ignore", "extend_select", "paths", "stdin_data"}


def quick_arguments(arguments: list[str]) -> Namespace | None:
    """The arguments when they are paths and switches only, None otherwise."""
    values: dict[str, Any] = {**_DEFAULTS, "select": [], "ignore": [], "extend_select": [], "paths": []}
    for argument in arguments:
        if not argument.startswith("-") and argument:
            values["paths"].append(argument)
        elif argument in SWITCHES or argument == "--isolated":
            values[argument[2:].replace("-", "_")] = True
        else:
            return None
    return cast("Namespace", SimpleNamespace(**values))


def full_arguments(arguments: list[str]) -> Namespace | None:
    """The arguments as argparse sees them, None when help was asked for and given."""
    return parser().parsed(arguments)


def parser() -> Parser:
    from workrail_lint.cli.parser import Parser, add_inputs
    from workrail_lint.project.config import system_keys

    made = Parser("check", "Lint workflows: what is wrong, where, why, and how to fix it.")
    made.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: .), or - for stdin")
    for switch, text in SWITCHES.items():
        made.add_argument(switch, action="store_true", help=text)
    for option, text in (
        ("select", "only these rules (codes, prefixes, names or ALL)"),
        ("ignore", "not these rules"),
        ("extend-select", "these rules too"),
    ):
        made.add_argument(f"--{option}", action="append", default=[], metavar="RULES", help=text)
    made.add_argument(
        "--severity",
        choices=SEVERITIES,
        help="the least severity shown (default: warning, or info with --select); json and jsonl always hold all",
    )
    made.add_argument("--output-format", choices=FORMATS, default="text", help="how to report")
    made.add_argument("--output-file", metavar="FILE", help="write the report there instead of stdout")
    made.add_argument("--baseline", metavar="FILE", help="report only what is not in this baseline")
    made.add_argument("--write-baseline", metavar="FILE", help="accept all findings into this file")
    made.add_argument("--jobs", type=int, metavar="N", help="number of processes (default: one per core)")
    made.add_argument("--stdin-filename", metavar="NAME", help="the name of the document on stdin (with -)")
    for setting in system_keys().values():
        if setting.option is not None:
            made.add_argument(setting.option, choices=setting.allowed, metavar="NAME", help=setting.help)
    add_inputs(made)
    return made
