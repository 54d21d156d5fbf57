"""Writing the report of `check`: to the terminal, or to a file."""

from __future__ import annotations

import argparse
import sys

from workrail_lint.base.terminal import err, neutral, out
from workrail_lint.base.version import VERSION
from workrail_lint.cli.output import write_output
from workrail_lint.findings import Confidence, Severity
from workrail_lint.project.run import CheckedProject, Outcome
from workrail_lint.project.selection import KnownRules
from workrail_lint.report import FORMATS, render, render_statistics
from workrail_lint.report.data import ReportData, Sources
from workrail_lint.report.text import terminal_of
from workrail_lint.rules.base import Rule
from workrail_lint.rules.table import RuleInfo


def write_report(args: argparse.Namespace, outcome: Outcome, checked: list[CheckedProject]) -> None:
    data = report_data(args, outcome, checked)
    text = (render_statistics if args.statistics else render)(args.format, data)
    if not args.statistics and not FORMATS[args.format].counts_hidden and data.hidden:
        err(f"workrail-lint: {data.hidden}")
    is_github = args.format == "github"
    if args.output is None:
        out(text, end="", commands=is_github)
        return

    write_output(args.output, neutral(text, commands=is_github).encode())


def report_data(args: argparse.Namespace, outcome: Outcome, checked: list[CheckedProject]) -> ReportData:
    terminal = terminal_of(None if args.output is not None else sys.stdout)
    sources = _sources(args)
    known = [each.plan.selection.known for each in checked]
    return ReportData(
        sources.reported(outcome.findings),
        accepted=sources.reported(outcome.accepted),
        suppressed=sources.reported((f for f, _ in outcome.suppressed), {id(f): why for f, why in outcome.suppressed}),
        has_baseline=any(each.plan.baseline is not None for each in checked),
        sources=sources,
        rules=_rules(outcome, known),
        load=lambda info: _rule(info, known),
        files=len(outcome.files),
        version=VERSION,
        strict=any(each.strict for each in checked),
        colour=terminal.colour,
        link=terminal.link,
        width=terminal.width,
        wrap=terminal.wrap,
        least=least_severity(args),
        confidence=Confidence(args.confidence),
        docs_url=next((each.docs_url for each in checked if each.docs_url), ""),
        shows_fixes=args.show_fixes,
    )


def least_severity(args: argparse.Namespace) -> Severity:
    """Return the least severity that is shown: with `--select`, all."""
    return Severity(args.severity or ("info" if args.select else "warning"))


def _sources(args: argparse.Namespace) -> Sources:
    """Return the sources of the findings.

    A document on stdin has a file name, but the file on disk may differ from it.
    """
    if args.paths != ["-"]:
        return Sources()
    data: bytes = getattr(args, "stdin_data", b"")
    return Sources({args.stdin_filename or "<stdin>": data} if data else {}, disk=False)


def _rules(outcome: Outcome, known: list[KnownRules]) -> dict[str, RuleInfo]:
    """Return the rules that occur, by name."""
    findings = [*outcome.findings, *outcome.accepted, *(finding for finding, _ in outcome.suppressed)]
    pairs = {(finding.code, finding.name) for finding in findings}
    matching = (rule for pair in sorted(pairs) for rules in known if (rule := rules.get(*pair)) is not None)
    return {rule.name: rule for rule in matching}


def _rule(info: RuleInfo, known: list[KnownRules]) -> Rule:
    return next(rules for rules in known if rules.get(info.code, info.name) is not None).rule(info)
