"""Checking a document that comes on stdin, or showing what would be fixed in it."""

from __future__ import annotations

import argparse

from workrail_lint.project.run import Outcome, Plan, reported_outcome


def check_stdin(args: argparse.Namespace, plan: Plan, data: bytes) -> Outcome:
    """Check the bytes under the name they were given; nothing else of the project is looked at."""
    name = _name(args)
    args.stdin_data = data  # the report shows frames of this text, whatever stands on disk under that name
    for system in plan.systems:
        kind = system.claims(name, data, True)
        if kind is not None:
            result = system.check_data(name, data, kind, plan.settings)
            return reported_outcome(result.findings, [name], plan)
    return Outcome([], [], [], [])


def diff_stdin(args: argparse.Namespace, plan: Plan, data: bytes) -> bool:
    """Show what fixing the document would change; whether that is anything."""
    from workrail_lint.cli.fix import diff_text

    return diff_text(_name(args), data, plan, unsafe=args.unsafe_fixes)


def _name(args: argparse.Namespace) -> str:
    return args.stdin_filename or "<stdin>"
