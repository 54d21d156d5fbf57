"""`workrail-lint init`: a first workflow with everything around it, without changing existing files."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution

from workrail_lint.base.files import output_root, read_file, write_atomically
from workrail_lint.base.processes import Limits, environment, python, run
from workrail_lint.base.result import Ok
from workrail_lint.base.terminal import out, printable
from workrail_lint.cli import OK, UsageError
from workrail_lint.cli.arguments import configuration, settings
from workrail_lint.cli.parser import Parser
from workrail_lint.project.config import OWN_FILE, SHARED_FILE, config_file
from workrail_lint.systems.workrail import scaffold
from workrail_lint.systems.workrail.catalog.catalog import Catalog

_ORIGIN = re.compile(r"https://[\w.-]+(:\d+)?(/[\w.~-]+)+@[0-9a-f]{40,64}", re.ASCII)
_KEPT = "it was there before"
_LIMITS = Limits(seconds=300)
_LINE_FILES = (".gitignore", ".gitattributes")  # any project has these, and a few lines are all we need in them


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    problem = scaffold.id_problem(args.id)
    if problem:
        raise UsageError(f"--id {printable(args.id)}: {problem}")
    if any("\ud800" <= char <= "\udfff" for char in args.name):
        raise UsageError(
            f"--name {printable(args.name)}: contains bytes that are not valid in the encoding of this system"
        )
    files = scaffold.files(args.id, args.name, args.profile)
    if config_file(args.directory) == os.path.join(args.directory, SHARED_FILE):
        # Our own file would hide the settings in the project's pyproject.toml.
        files = [file._replace(path=SHARED_FILE) if file.path == OWN_FILE else file for file in files]
    if args.ci != "none":
        files.append(scaffold.ci_file(args.ci, _origin()))
    files += scaffold.editor_files(_catalog(args.directory))
    created = _created(args.directory, files)
    # Only the new workflow is pinned; existing ones are up to their authors.
    is_new = scaffold.workflow_path(args.id) in created
    pinned = _created(args.directory, scaffold.lockfile(args.id, args.name)) if is_new else set()
    folder = os.path.join(args.directory, os.path.dirname(scaffold.workflow_path(args.id)))
    is_pinned = bool(pinned) and len(os.listdir(folder)) == 1
    has_golden = _golden_written(args.directory, scaffold.scenario_path(args.id))
    if args.generate:
        _generate(args.directory, scaffold.workflow_path(args.id), os.path.dirname(scaffold.scenario_path(args.id)))
    out("\nnext:")
    for command, purpose in _next_steps(args.directory, is_pinned, has_golden):
        out(f"  {command:<29} # {purpose}")
    return OK


def parser() -> Parser:
    result = Parser(
        "init",
        "Create a first workflow with a scenario, configuration, hooks, a CI job and editor settings. "
        "Existing files are kept.",
    )
    result.add_argument(
        "directory", nargs="?", default=os.curdir, metavar="DIR", help="the folder of the project (default: .)"
    )
    result.add_argument("--id", default="project.first_workflow", metavar="ID", help="the id of the workflow")
    result.add_argument("--name", default="First workflow", metavar="NAME", help="the name of the workflow")
    result.add_argument(
        "--ci",
        choices=(*scaffold.CI_SERVICES, "none"),
        default="github",
        help="the service that the CI job is for (default: github)",
    )
    result.add_argument(
        "--profile",
        choices=("reference", "locked"),
        default="reference",
        help="how runs of the project behave: as on the public engine, or as designed (default: reference)",
    )
    result.add_argument(
        "--generate",
        action="store_true",
        help="also run workrail-test generate, which writes scenarios for everything that the workflow can do",
    )
    return result


def _catalog(directory: str) -> Catalog:
    """Return the builtins that the schemas suggest: those of the project, if it has a configuration already."""
    unset = argparse.Namespace(
        catalog=None, routines=None, bindings=None, bindings_dir=None, engine_version=None, config=None, isolated=False
    )
    return settings(unset, configuration(unset, directory)).catalog


def _origin() -> str | None:
    """Return the public address that this program was installed from, with its commit, if its installer noted one."""
    try:
        noted = json.loads(distribution("workrail-lint").read_text("direct_url.json") or "{}")  # PEP 610
        address, commit = noted["url"], noted["vcs_info"]["commit_id"]
    except (PackageNotFoundError, ValueError, LookupError, TypeError):
        return None
    # A folder of this machine, or an address with a password, is of no use to a CI service.
    origin = f"{address}@{commit}"
    return origin if _ORIGIN.fullmatch(origin) else None


def _golden_written(directory: str, scenario: str) -> bool:
    """Run the new scenario once for real, which writes its golden. Quietly not where pytest is not installed."""
    folder, name = os.path.split(scenario)
    golden = os.path.join(folder, "__goldens__", name.removesuffix(".scenario.json") + ".golden.json")
    target = os.path.join(directory, golden)
    if os.path.lexists(target):
        _say("kept", target, _KEPT)
        return True
    # Without the project's own settings, which may want more than a new folder has, or a look at the folders above.
    alone = ["-c", os.devnull, "--rootdir", ".", "--confcutdir", ".", "--noconftest", "-p", "no:cacheprovider"]
    options = ["-p", "pytest_workrail.plugin", "--workrail-golden=new", "--workrail-write-in-ci"]
    variables = {**environment(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run(python("-m", "pytest", *alone, *options, scenario), folder=directory, variables=variables, limits=_LIMITS)
    if not os.path.isfile(target):
        return False
    _say("created", target, "what an agent sees, from a real run of the scenario")
    return True


def _generate(directory: str, workflow: str, folder: str) -> None:
    """Let `workrail-test generate` write scenarios: another program, because the linter itself runs no workflow."""
    command = python("-m", "pytest_workrail.cli", "generate", workflow, "--out", folder)
    ran = run(command, folder=directory, limits=_LIMITS)
    if "No module named" in ran.error:
        raise UsageError("--generate needs workrail-test; install workrail-lint[pytest]")
    if ran.code != OK:
        raise UsageError(f"workrail-test generate failed: {printable(ran.error)}")
    out(f"\nworkrail-test generate {workflow} --out {folder}:")
    for line in ran.output.decode(errors="replace").splitlines():
        out(f"  {line}")


def _next_steps(directory: str, is_pinned: bool, has_golden: bool) -> Iterator[tuple[str, str]]:
    if os.path.abspath(directory) != os.getcwd():
        yield f"cd {shlex.quote(directory)}", "go to the new project"
    yield "workrail-lint check .", "find problems before anything runs"
    if not is_pinned:
        yield "workrail-lint lock --update", "pins the hashes of all workflows, which the hook verifies"
    if has_golden:
        yield "pytest", "runs the scenario and compares what the agent sees with its golden"
    else:
        yield "pytest --workrail-golden=new", "runs the scenario and writes its golden; needs workrail-lint[pytest]"
    yield "pre-commit install", "switches the hooks on, in a git repository"


def _created(directory: str, files: list[scaffold.NewFile]) -> set[str]:
    """Write the files that don't exist yet, and say what each is for; returns their paths."""
    created: set[str] = set()
    for path, text, purpose in files:
        target = os.path.join(directory, path)
        if os.path.lexists(target):
            _say("kept", target, _lacking(target, text) if path in _LINE_FILES else _KEPT)
            continue
        try:
            write_atomically(target, text.encode(), output_root(directory), parents=True)
        except OSError as error:
            raise UsageError(f"{printable(target)} can't be written ({error.strerror})") from None
        _say("created", target, purpose)
        created.add(path)
    return created


def _lacking(path: str, wanted: str) -> str:
    """Return what an existing file says about the lines that it would have had."""
    read = read_file(path)
    present = read.value.decode(errors="replace").splitlines() if isinstance(read, Ok) else []
    lacking = [line for line in wanted.splitlines() if not line.startswith("#") and line not in present]
    return f"{_KEPT}; add: {' | '.join(lacking)}" if lacking else _KEPT


def _say(what: str, path: str, purpose: str) -> None:
    out(f"{what:<8} {printable(os.path.normpath(path)):<40} # {purpose}")
