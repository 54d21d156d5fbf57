"""`workrail-lint init`: a first workflow with everything around it, without changing existing files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from workrail_lint.base.files import write_atomically
from workrail_lint.base.terminal import out, printable
from workrail_lint.cli import OK, UsageError
from workrail_lint.cli.parser import Parser
from workrail_lint.project.config import OWN_FILE, SHARED_FILE, config_file
from workrail_lint.systems.workrail import scaffold


def main(arguments: list[str]) -> int:
    args = parser().parsed(arguments)
    if args is None:
        return OK
    problem = scaffold.id_problem(args.id)
    if problem:
        raise UsageError(f"--id {printable(args.id)}: {problem}")
    if any("\ud800" <= char <= "\udfff" for char in args.name):
        raise UsageError(
            f"--name {printable(args.name)}: contains bytes that are not valid in the encoding of this system"
        )
    files = scaffold.files(args.id, args.name)
    if config_file(args.directory) == os.path.join(args.directory, SHARED_FILE):
        # Our own file would hide the settings in the project's pyproject.toml.
        files[SHARED_FILE] = files.pop(OWN_FILE)
    created = _created(args.directory, files)
    # Only the new workflow is pinned; existing ones are up to their authors.
    is_new = scaffold.workflow_path(args.id) in created
    pinned = _created(args.directory, scaffold.lockfile(args.id, args.name)) if is_new else set()
    folder = os.path.join(args.directory, os.path.dirname(scaffold.workflow_path(args.id)))
    is_pinned = bool(pinned) and len(os.listdir(folder)) == 1
    out("\nnext:")
    for command, purpose in _next_steps(args.directory, is_pinned):
        out(f"  {command:<29} # {purpose}")
    return OK


def parser() -> Parser:
    made = Parser("init", "Create a first workflow with a scenario, configuration and hooks. Existing files are kept.")
    made.add_argument(
        "directory", nargs="?", default=os.curdir, metavar="DIR", help="the folder of the project (default: .)"
    )
    made.add_argument("--id", default="project.first_workflow", metavar="ID", help="the id of the workflow")
    made.add_argument("--name", default="First workflow", metavar="NAME", help="the name of the workflow")
    return made


def _next_steps(directory: str, is_pinned: bool) -> Iterator[tuple[str, str]]:
    if os.path.abspath(directory) != os.getcwd():
        yield f"cd {shlex.quote(directory)}", "go to the new project"
    yield "workrail-lint check .", "find problems before anything runs"
    if not is_pinned:
        yield "workrail-lint lock --update", "pin the hashes of all workflows; a hook verifies them"
    yield "pytest --workrail-golden=new", "run the scenario and write its golden (needs workrail-lint[pytest])"
    yield "pre-commit install", "install the hooks (in a git repository)"


def _created(directory: str, files: dict[str, str]) -> set[str]:
    """Write the files that don't exist yet; returns their paths."""
    created: set[str] = set()
    for path, text in files.items():
        target = os.path.join(directory, path)
        if os.path.lexists(target):
            out(f"kept     {target}")
            continue
        try:
            os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
            write_atomically(target, text.encode())
        except OSError as error:
            raise UsageError(f"{printable(target)} can't be written ({error.strerror})") from None
        out(f"created  {target}")
        created.add(path)
    return created
