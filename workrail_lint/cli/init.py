"""`workrail-lint init`: a first workflow with everything around it, without touching what is there."""

from __future__ import annotations

import os

from workrail_lint.cli import OK, UsageError
from workrail_lint.cli.output import out, printable
from workrail_lint.cli.parser import Parser
from workrail_lint.project.files import write_atomically
from workrail_lint.workrail import scaffold


def main(arguments: list[str]) -> int:
    parser = Parser("init", "Scaffold a workflow, a scenario, configuration and hooks. Existing files are kept.")
    parser.add_argument("directory", nargs="?", default=os.curdir, metavar="DIR", help="where (default: .)")
    parser.add_argument("--id", default="project.first_workflow", metavar="ID", help="the id of the workflow")
    parser.add_argument("--name", default="First workflow", metavar="NAME", help="the name of the workflow")
    args = parser.parsed(arguments)
    if args is None:
        return OK
    problem = scaffold.id_problem(args.id)
    if problem:
        raise UsageError(f"--id {printable(args.id)}: {problem}")
    for path, text in scaffold.files(args.id, args.name).items():
        target = os.path.join(args.directory, path)
        if os.path.lexists(target):
            out(f"kept     {target}")
            continue
        try:
            os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
            write_atomically(target, text.encode())
        except OSError as error:
            raise UsageError(f"{printable(target)} can't be written ({error.strerror})") from None
        out(f"created  {target}")
    workflow = os.path.join(args.directory, scaffold.workflow_path(args.id))
    out(f"\nnext: workrail-lint check {workflow}")
    return OK
