"""`workrail-lint graph`: a workflow as a diagram, or the results of its analysis."""

from __future__ import annotations

import json

from workrail_lint.base.terminal import err, neutral, out, printable
from workrail_lint.cli import FINDINGS, NOTHING, OK
from workrail_lint.cli.arguments import configuration, settings, workflow_files
from workrail_lint.cli.output import report_errors, write_output
from workrail_lint.cli.parser import Parser, add_inputs
from workrail_lint.studio.inputs import Inputs
from workrail_lint.studio.page import page
from workrail_lint.studio.project import project_data
from workrail_lint.studio.workflow import Source
from workrail_lint.systems.workrail.analysis.analysis import Analysis, analyse
from workrail_lint.systems.workrail.analysis.output import analysis_data
from workrail_lint.systems.workrail.check import CheckedDocument, check_document
from workrail_lint.systems.workrail.compile import errors_of, read_for_compiling
from workrail_lint.systems.workrail.graph.forms import drawing_data, render

_FORMATS = ("mermaid", "dot", "svg", "html", "json")


def main(arguments: list[str]) -> int:
    args = parser().parsed(arguments)
    if args is None:
        return OK
    config = configuration(args, args.path)
    files = workflow_files([args.path], config)
    if len(files) != 1:
        err(f"workrail-lint: {printable(args.path)} contains {len(files) or 'no'} workflows; name one file")
        return NOTHING
    checked = check_document(read_for_compiling(files[0].data), files[0].path, settings(args, config), None)
    if checked.compiled is None:
        report_errors(errors_of(checked, files[0].path))
        return FINDINGS
    analysis = _analysis(checked, files[0].path)
    match args.format:
        case "json":
            text = _data_text(checked, analysis)
        case "html":
            text = _page(checked, files[0].path)
        case _:
            text = render(checked.compiled.program, args.format, analysis)
    if args.output is None:
        out(text, end="")
        return OK

    write_output(args.output, neutral(text).encode())
    return OK


def _analysis(checked: CheckedDocument, path: str) -> Analysis:
    compiled = checked.compiled
    assert compiled is not None
    return analyse(compiled.model, compiled.catalog, compiled=compiled, path=path)


def _data_text(checked: CheckedDocument, analysis: Analysis) -> str:
    """The records of the analysis and the drawing, with control characters from the document escaped."""
    assert checked.compiled is not None
    data = {**analysis_data(analysis, checked.pointer_map), **drawing_data(checked.compiled.program, analysis)}
    return json.dumps(data, indent=2, ensure_ascii=True) + "\n"


def _page(checked: CheckedDocument, path: str) -> str:
    """The page of the studio for one workflow."""
    assert checked.compiled is not None
    data = project_data(checked.compiled.workflow_id, [Source(path, checked, [])], Inputs(), checked.compiled.catalog)
    return page(data, checked.compiled.workflow_id)


def parser() -> Parser:
    result = Parser("graph", "Draw a workflow as a diagram: steps, conditions and loops; or print its analysis.")
    result.add_argument("path", metavar="PATH", help="a workflow file")
    result.add_argument(
        "--format",
        choices=_FORMATS,
        default="mermaid",
        help="output format (default: mermaid); json has the analysis and the drawing with its positions",
    )
    result.add_argument("--output", metavar="FILE", help="write to this file instead of stdout")
    add_inputs(result)
    return result
