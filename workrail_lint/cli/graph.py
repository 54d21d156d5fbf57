"""`workrail-lint graph`: a workflow or another document as a diagram, or the results of a workflow's analysis."""

from __future__ import annotations

import json
from urllib.parse import quote

from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, neutral, out, printable
from workrail_lint.cli import FINDINGS, NOTHING, OK
from workrail_lint.cli.arguments import (
    Owner,
    Workflow,
    configuration,
    drawn_by_other,
    found_files,
    read_named,
    read_workflows,
    settings,
)
from workrail_lint.cli.output import report_errors, write_output
from workrail_lint.cli.parser import Parser, add_inputs
from workrail_lint.project.config import Config
from workrail_lint.studio.inputs import Inputs
from workrail_lint.studio.page import page
from workrail_lint.studio.project import project_data
from workrail_lint.studio.runs import document_run
from workrail_lint.studio.workflow import Source
from workrail_lint.systems.base import Picture
from workrail_lint.systems.drawing.svg import drawing_data, render
from workrail_lint.systems.workrail.analysis.analysis import Analysis, analyse
from workrail_lint.systems.workrail.analysis.output import analysis_data
from workrail_lint.systems.workrail.check import CheckedDocument, check_document
from workrail_lint.systems.workrail.compile import errors_of, read_for_compiling
from workrail_lint.systems.workrail.graph.tree import structure
from workrail_lint.systems.workrail.settings import Settings

_FORMATS = ("mermaid", "dot", "svg", "html", "json")


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    config = configuration(args, args.path)
    workflows, others = _documents(args.path, config)
    if len(workflows) != 1 and len(workflows or others) != 1:
        count = len(workflows) or len(others) or "no"
        noun = "workflows" if workflows or not others else "documents that can be drawn"
        err(f"workrail-lint: {printable(args.path)} contains {count} {noun}; name one file")
        return NOTHING
    active = settings(args, config)
    drawn = _workflow(workflows[0], args.format, active) if workflows else _other(*others[0], args.format, active)
    if drawn is None:
        return FINDINGS
    if args.output is None:
        out(drawn, end="")
        return OK

    write_output(args.output, neutral(drawn).encode())
    return OK


def _documents(path: str, config: Config) -> tuple[list[Workflow], list[tuple[Workflow, Owner]]]:
    """Return the workflows at and below a path, and the documents of other systems that can be drawn."""
    others: list[tuple[Workflow, Owner]] = []
    rest = []
    for file in found_files([path], config):
        data = read_named(file.path)
        owner = drawn_by_other(file, data)
        if owner is None:
            rest.append(file)
        else:
            others.append((Workflow(file.path, data), owner))
    return list(read_workflows(rest)), others


def _workflow(file: Workflow, form: str, active: Settings) -> str | None:
    checked = check_document(read_for_compiling(file.data), file.path, active, None)
    compiled = checked.compiled
    if compiled is None:
        report_errors(errors_of(checked, file.path))
        return None
    analysis = analyse(compiled.model, compiled.catalog, compiled=compiled, path=file.path)
    match form:
        case "json":
            return _data_text(checked, analysis)
        case "html":
            sources = [Source(file.path, checked, [])]
            return page(project_data(compiled.workflow_id, sources, Inputs(), compiled.catalog), compiled.workflow_id)
        case _:
            return render(structure(compiled.program, analysis), form, compiled.program.name)


def _other(file: Workflow, owner: Owner, form: str, active: Settings) -> str | None:
    result = owner.system.picture(file.path, file.data, owner.kind, active)
    if isinstance(result, Err):
        report_errors(result.error)
        return None
    picture: Picture = result.value
    run = document_run(picture, file.path, owner.noun)
    match form:
        case "json":
            return _json({**run, **drawing_data(picture.blocks)})
        case "html":
            data = project_data(picture.name, [], Inputs(runs=(run,)), active.catalog)
            return page({**data, "start": f"~run/{quote(picture.name, safe='')}"}, picture.name)
        case _:
            return render(picture.blocks, form, picture.name)


def _data_text(checked: CheckedDocument, analysis: Analysis) -> str:
    """Return the records of the analysis and the drawing."""
    assert checked.compiled is not None
    drawing = drawing_data(structure(checked.compiled.program, analysis))
    return _json({**analysis_data(analysis, checked.pointer_map), **drawing})


def _json(data: object) -> str:
    """Return JSON with control characters from the document escaped."""
    return json.dumps(data, indent=2, ensure_ascii=True) + "\n"


def parser() -> Parser:
    result = Parser(
        "graph",
        "Draw a workflow as a diagram: steps, conditions and loops; or print its analysis. Also draws the session "
        "folder of an agent team, and a definition of blocks.",
    )
    result.add_argument("path", metavar="PATH", help="a workflow file, a session folder, or a definition of blocks")
    result.add_argument(
        "--format",
        choices=_FORMATS,
        default="mermaid",
        help="output format (default: mermaid); json has the analysis and the drawing with its positions",
    )
    result.add_argument("--output", metavar="FILE", help="write to this file instead of stdout")
    add_inputs(result)
    return result
