"""`check -`: check a document on stdin, or show its fixes."""

from __future__ import annotations

import argparse

from workrail_lint.project.run import Outcome, Plan, reported_outcome


def check_stdin(args: argparse.Namespace, plan: Plan, data: bytes) -> Outcome:
    """Check the bytes under the given file name, without the other files of the project."""
    name = _name(args)
    args.stdin_data = data  # the report quotes these lines, not the file of that name on disk
    for system in plan.systems:
        kind = system.claims(name, data, True)
        if kind is not None:
            result = system.check_data(name, data, kind, plan.settings)
            return reported_outcome(result.findings, [name], plan)
    return Outcome([], [], [], [])


def diff_stdin(args: argparse.Namespace, plan: Plan, data: bytes) -> bool:
    """Show how fixing would change the document; returns whether it would."""
    from workrail_lint.cli.fix import diff_text

    return diff_text(_name(args), data, plan, unsafe=args.unsafe_fixes)


def _name(args: argparse.Namespace) -> str:
    return args.stdin_filename or "<stdin>"
