"""Writing the report of `check`: to the terminal, or to a file."""

from __future__ import annotations

import argparse
import sys

from workrail_lint.base.terminal import out, printable
from workrail_lint.base.version import VERSION
from workrail_lint.cli import UsageError
from workrail_lint.project.run import Checked, Outcome
from workrail_lint.report import render, render_statistics
from workrail_lint.report.data import ReportData
from workrail_lint.report.sources import Sources
from workrail_lint.report.terminal import terminal_of


def write_report(args: argparse.Namespace, outcome: Outcome, checked: list[Checked]) -> None:
    text = (render_statistics if args.statistics else render)(args.output_format, report_data(args, outcome, checked))
    if args.output_file is None:
        out(text, end="")
        return
    from workrail_lint.base.files import write_atomically

    try:
        write_atomically(args.output_file, text.encode())
    except OSError as error:
        raise UsageError(f"{printable(args.output_file)} can't be written ({error.strerror})") from None


def report_data(args: argparse.Namespace, outcome: Outcome, checked: list[Checked]) -> ReportData:
    terminal = terminal_of(None if args.output_file is not None else sys.stdout)
    sources = _sources(args)
    return ReportData(
        sources.reported(outcome.findings),
        accepted=sources.reported(outcome.accepted),
        suppressed=sources.reported((f for f, _ in outcome.suppressed), {id(f): why for f, why in outcome.suppressed}),
        has_baseline=any(each.plan.baseline is not None for each in checked),
        sources=sources,
        rules={rule.name: rule for each in checked for system in each.plan.systems for rule in system.rules()},
        files=len(outcome.files),
        version=VERSION,
        strict=any(each.strict for each in checked),
        colour=terminal.colour,
        link=terminal.link,
        width=terminal.width,
    )


def _sources(args: argparse.Namespace) -> Sources:
    """The texts of the findings. A document on stdin has a name, but what stands there on disk is another text."""
    if args.paths != ["-"]:
        return Sources()
    data: bytes = getattr(args, "stdin_data", b"")
    return Sources({args.stdin_filename or "<stdin>": data} if data else {}, disk=False)
