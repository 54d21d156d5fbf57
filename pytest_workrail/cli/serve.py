"""`workrail-test serve`: our engine as an MCP server on stdin and stdout."""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_workrail.cli.sessions import add_redaction, redaction_rules
from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.protocol.ports import InvalidWorkflow, WorkflowEntry
from pytest_workrail.engine.store.disk import SystemClock, SystemEntropy, data_root, on_disk
from pytest_workrail.engine.store.memory import in_memory
from pytest_workrail.explore.generation import generated_for
from pytest_workrail.mcp.tools import AuthoringTools, EngineTools
from pytest_workrail.mcp.workspace import DiskWorkspace
from pytest_workrail.run.project import project_profile
from pytest_workrail.sessions.recording import LiveRecorder
from pytest_workrail.sessions.versions import Version, versions_below
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.terminal import err, printable
from workrail_lint.base.version import VERSION
from workrail_lint.base.wording import counted
from workrail_lint.cli import NOTHING, OK, USAGE, UsageError
from workrail_lint.cli.output import make_data_folder
from workrail_lint.cli.parser import Parser
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow

PROGRAM = "workrail-test serve"


def main(arguments: list[str]) -> int:
    """Serve until the client leaves, and return the exit code."""
    args = parser().parse_args(arguments)
    if find_spec("mcp") is None:
        raise UsageError("serve needs the MCP SDK: pip install 'workrail-lint[mcp]'")
    args.profile = args.profile or project_profile(os.curdir)
    if not args.authoring:
        return _serve_engine(args)
    if args.paths or args.data is not None or args.record is not None or args.onboarding:
        raise UsageError(
            "--authoring serves the project in the current folder; it takes no PATH, --data, --record or --onboarding"
        )
    return _serve_authoring()


def parser() -> Parser:
    parser = Parser("serve", "Serve workflows to an agent, as an MCP server on stdin and stdout.", "workrail-test")
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="workflow files, or folders with them (default: the current folder)"
    )
    parser.add_argument(
        "--profile",
        choices=list(PROFILES),
        help="how the engine behaves: as the public one does, or as designed (default: the project's, else reference)",
    )
    parser.add_argument(
        "--data", metavar="DIR", help="keep sessions in this folder (default: in memory, until the client leaves)"
    )
    parser.add_argument(
        "--record",
        metavar="DIR",
        help="write each session as a scenario with its golden when it ends or the client leaves, and their coverage",
    )
    add_redaction(parser)
    parser.add_argument(
        "--onboarding",
        action="store_true",
        help="begin every run with a step that explains the tools, as the public engine does from 3.119 on",
    )
    parser.add_argument(
        "--authoring",
        action="store_true",
        help="serve tools for writing workflows instead: check, compile, explain, generate; they write nothing",
    )
    parser.epilog = "Exit codes: 0 the client left; 2 an error; 3 no workflow found. Clients start this themselves."
    return parser


def _serve_engine(args: argparse.Namespace) -> int:
    loaded = versions_below(args.paths or [os.curdir])
    if isinstance(loaded, Err):
        raise UsageError(printable(loaded.error))
    versions = loaded.value
    library = MemoryLibrary()
    for name, version in versions.items():
        if version.compiled is None:
            library.put(InvalidWorkflow(name, "project", (version.problem,)))
        else:
            ir, source = version.compiled.ir, version.path.as_posix()
            library.put(WorkflowEntry(ir, source_ref=source, pin=_engine_pin(args, version.compiled, name)))
    if not library.entries():
        err(f"{PROGRAM}: no workflow that can be started was found")
        for reject in library.rejects():
            err(f"{PROGRAM}: {printable(reject.workflow_id)}: {printable(reject.errors[0])}")
        return NOTHING
    if args.data is None:
        home = in_memory(SystemClock(), SystemEntropy())
        for _ in range(2):  # a home in memory begins with the public test key, and the key before still counts
            home.keyring.rotate()
    else:
        folders = {version.path.parent for version in versions.values()}
        root = data_root(os.environ, Path.home(), override=Path(args.data), workflow_folders=sorted(folders))
        if isinstance(root, Err):
            raise UsageError(printable(root.error))
        if args.profile == "locked":
            err(f"{PROGRAM}: the public engine can't continue sessions of profile locked")
        make_data_folder(args.data)
        opened = on_disk(root.value, SystemClock(), SystemEntropy())
        if isinstance(opened, Err):
            raise UsageError(f"{printable(args.data)}: {printable(opened.error)}")
        home = opened.value
    options = Options(profile=args.profile, app_version=VERSION, inject_onboarding=args.onboarding)
    engine = Engine(home, library, options, DiskWorkspace())
    err(f"{PROGRAM}: serving {counted(len(library.entries()), 'workflow')} to the client on stdin and stdout")
    recorder = None if args.record is None else _recorder(args, engine, versions)
    code = _serve(EngineTools(engine, recorder))
    return USAGE if recorder is not None and recorder.has_failed else code


def _engine_pin(args: argparse.Namespace, compiled: CompiledWorkflow, name: str) -> dict[str, Any] | None:
    """The pin with which the public engine can continue a session that is kept; None where it can't."""
    if args.data is None or args.profile != "reference":
        return None
    snapshot = compiled.engine_target()
    if isinstance(snapshot, Ok):
        return snapshot.value
    reason = printable(snapshot.error[0].message)
    err(f"{PROGRAM}: {printable(name)}: the public engine refuses it, so it can't continue sessions of it: {reason}")
    return None


def _serve_authoring() -> int:
    return _serve(AuthoringTools(Path.cwd(), lambda path: generated_for(path, list(PROFILES))))


def _serve(tools: EngineTools | AuthoringTools) -> int:
    from pytest_workrail.mcp.server import serve  # needs mcp, which is optional

    serve(tools)
    return OK


def _recorder(args: argparse.Namespace, engine: Engine, versions: dict[str, Version]) -> LiveRecorder:
    rules = redaction_rules(args)

    def print_line(line: str) -> None:
        err(f"{PROGRAM}: {printable(line)}")

    workflows = {name: version.path.absolute() for name, version in versions.items()}
    return LiveRecorder(engine.export_session, Path(args.record).absolute(), workflows, args.profile, print_line, rules)
