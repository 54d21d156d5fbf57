"""The options of `check`.

A hook calls `check` with file names and a few switches on every commit. These are parsed here; anything else
goes to argparse, which takes longer to load than a clean file takes to check.
"""

from __future__ import annotations

from types import SimpleNamespace

from workrail_lint.base.typed import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from argparse import Namespace

    from workrail_lint.cli.parser import Parser

FORMATS = ("text", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit")
SWITCHES = {
    "--fix": "apply safe fixes",
    "--unsafe-fixes": "with --fix or --diff: also apply unsafe fixes",
    "--diff": "show what --fix would change, without changing files",
    "--strict": "exit 1 for warnings too",
    "--statistics": "show the number of findings per rule instead of the findings",
    "--no-cache": "ignore the cache, and don't write it",
    "--exit-zero": "exit 0 even if there are findings",
    "--watch": "keep running, and check again when a file changes",
    "--engine-parity": "report as errors exactly what the public WorkRail engine rejects",
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

# All options, unless a system adds one.
KNOWN = {*_DEFAULTS, "select", "ignore", "extend_select", "paths", "stdin_data"}


def quick_arguments(arguments: list[str]) -> Namespace | None:
    """The arguments if they are only paths and switches, else None."""
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
    """The arguments as argparse parses them, or None if `--help` was given and printed."""
    return parser().parsed(arguments)


def parser() -> Parser:
    from workrail_lint.cli.parser import Parser, add_inputs
    from workrail_lint.project.config import system_keys

    made = Parser("check", "Find and fix problems in workflows.")
    made.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and folders to check (default: .), or - for stdin"
    )
    for switch, text in SWITCHES.items():
        made.add_argument(switch, action="store_true", help=text)
    for option, text in (
        ("select", "check only these rules: codes, prefixes of codes, names or ALL"),
        ("ignore", "skip these rules"),
        ("extend-select", "check these rules too, even if they are off by default"),
    ):
        made.add_argument(f"--{option}", action="append", default=[], metavar="RULES", help=text)
    made.add_argument(
        "--severity",
        choices=SEVERITIES,
        help="the lowest severity to show (default: warning, or info with --select); json and jsonl contain all",
    )
    made.add_argument("--output-format", choices=FORMATS, default="text", help="format of the report (default: text)")
    made.add_argument("--output-file", metavar="FILE", help="write the report to this file instead of stdout")
    made.add_argument("--baseline", metavar="FILE", help="report only findings that are not in this baseline")
    made.add_argument("--write-baseline", metavar="FILE", help="write all findings to this baseline")
    made.add_argument("--jobs", type=int, metavar="N", help="number of processes (default: one per core)")
    made.add_argument("--stdin-filename", metavar="NAME", help="the file name to assume for - (stdin)")
    for setting in system_keys().values():
        if setting.option is not None:
            made.add_argument(setting.option, choices=setting.allowed, metavar="NAME", help=setting.help)
    add_inputs(made)
    return made
