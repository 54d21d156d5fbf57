"""`workrail-test conform`: our answers against those of an installed engine."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from pytest_workrail.mcp.conform import Checked, Figures, compare_engine, groups
from pytest_workrail.mcp.engine_process import engine_version, start_engine
from workrail_lint.base.files import write_in_place
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.terminal import err, out, out_json, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, NOTHING, OK, UsageError
from workrail_lint.cli.arguments import configuration, settings, workflow_files
from workrail_lint.cli.parser import Parser, add_inputs, add_text_or_json
from workrail_lint.systems.workrail import identity
from workrail_lint.systems.workrail.compile import compile_for_engine, compile_pin, read_for_compiling
from workrail_lint.systems.workrail.engines.releases import find_release
from workrail_lint.systems.workrail.settings import Settings

PROGRAM = "workrail-test conform"
_MOST_SHOWN = 5
_LONGEST = 300


def main(arguments: list[str]) -> int:
    """Compare, print what differs in groups, and return the exit code."""
    args = parser().parse_args(arguments)
    directory = Path(args.engine).absolute()
    version = engine_version(directory)
    if isinstance(version, Err):
        raise UsageError(printable(version.error))
    config = configuration(args, args.paths[0])
    if args.engine_version is None:
        if isinstance(find_release(version.value), Ok):
            args.engine_version = version.value
        else:
            err(f"{PROGRAM}: engine {printable(version.value)} is not known; compared as the newest known release")
    active = settings(args, config, engine=True)
    files = workflow_files(args.paths, config)
    checked = [(each, file.data) for file in files if (each := _checked(file.path, file.data, active)) is not None]
    if not checked:
        err("workrail-test: no workflow found")
        return NOTHING
    figures = _compared(directory, args.node, checked, args.exchanges)
    if args.format == "json":
        out_json({"engine": version.value, **_report(figures)}, indent=2)
    else:
        _print(version.value, figures)
    return FINDINGS if figures.undeclared else OK


def parser() -> Parser:
    arguments = Parser("conform", "Compare our answers with those of an installed engine.", "workrail-test")
    arguments.add_argument("paths", nargs="+", metavar="WORKFLOW", help="workflows, or folders of workflows")
    arguments.add_argument(
        "--engine", required=True, metavar="DIR", help="the folder of the engine's installed package"
    )
    arguments.add_argument(
        "--exchanges", type=int, default=200, metavar="N", help="how many calls of runs to compare (default: 200)"
    )
    arguments.add_argument("--node", metavar="FILE", help="the Node.js program (default: node)")
    add_text_or_json(arguments, "answer")
    add_inputs(arguments)
    arguments.epilog = (
        "Exit codes: 0 nothing differs but for known defects of the engine; 1 something does; 2 an error; "
        "3 no workflow found."
    )
    return arguments


def _checked(path: str, data: bytes, active: Settings) -> Checked | None:
    """Return a workflow with what we say of it; None for one that no project can start."""
    document = read_for_compiling(data)
    value = document.value if document.readable else None
    workflow_id = value.get("id") if isinstance(value, dict) else None
    if not isinstance(workflow_id, str) or identity.is_reserved(workflow_id):
        err(f"{PROGRAM}: {printable(path)} is left out: the engine can't be asked for it by an id of the project")
        return None
    compiled = compile_for_engine(document, path, active)
    if isinstance(compiled, Err):
        return Checked(path, workflow_id, compiled.error[0].message, None, None)
    ported = compile_pin(compiled.value)
    return Checked(path, workflow_id, None, compiled.value, None if isinstance(ported, Err) else ported.value.ir)


def _compared(directory: Path, node: str | None, checked: list[tuple[Checked, bytes]], exchanges: int) -> Figures:
    """Compare in a workspace of its own, which has nothing but the workflows."""
    with tempfile.TemporaryDirectory(prefix="workrail-conform-") as folder:
        workspace, data = Path(folder, "workspace"), Path(folder, "data")
        (workspace / "workflows").mkdir(parents=True)
        data.mkdir()
        for number, (_, text) in enumerate(checked):  # as it was read, under a name that every system takes
            write_in_place(os.fspath(workspace / "workflows" / f"{number}.json"), text, folder)
        started = start_engine(directory, workspace, data, node=node)
        if isinstance(started, Err):
            raise UsageError(printable(started.error))
        try:
            workflows = [each for each, _ in checked]
            return compare_engine(started.value, workflows, os.fspath(workspace), exchanges=exchanges)
        finally:
            started.value.close()


def _report(figures: Figures) -> dict[str, object]:
    return {
        "verdicts": figures.verdicts,
        "hashes": figures.hashes,
        "exchanges": figures.exchanges,
        "differences": [each.to_json() for each in figures.differences],
    }


def _shortened(value: object) -> str:
    """Return a value as text of one screen line or two."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _print(version: str, figures: Figures) -> None:
    compared = [counted(figures.verdicts, "verdict"), f"{figures.hashes} hash{'' if figures.hashes == 1 else 'es'}"]
    out(f"engine {printable(version)}: {', '.join(compared)} and {counted(figures.exchanges, 'exchange')} compared")
    for title, differences in groups(figures.differences):
        out(f"{title}: {counted(len(differences), 'difference')}")
        for each in differences[:_MOST_SHOWN]:
            out(f"  {printable(each.workflow)}, {printable(each.place)}")
            out(f"    ours:   {printable(_shortened(each.ours))}")
            out(f"    engine: {printable(_shortened(each.engine))}")
        if len(differences) > _MOST_SHOWN:
            out(f"  … and {len(differences) - _MOST_SHOWN} more (--json shows all)")
    if not figures.differences:
        out("nothing differs")
