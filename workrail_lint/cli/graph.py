"""`workrail-lint graph`: a workflow as a diagram, or the results of its analysis."""

from __future__ import annotations

from workrail_lint.base.terminal import err, neutral, out, printable
from workrail_lint.cli import FINDINGS, NOTHING, OK, UsageError
from workrail_lint.cli.arguments import configuration, settings, workflow_files
from workrail_lint.cli.parser import Parser, add_inputs
from workrail_lint.cli.reporting import report_errors
from workrail_lint.systems.workrail.check import CheckedDocument, check_document
from workrail_lint.systems.workrail.compile import errors_of, read_for_compiling
from workrail_lint.systems.workrail.graph import FORMATS, render


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
    is_data = args.format == "json"
    text = _analysis_text(checked, files[0].path) if is_data else render(checked.compiled.ir, args.format)
    if args.output is None:
        out(text, end="")
        return OK
    from workrail_lint.base.files import write_atomically

    try:
        write_atomically(args.output, neutral(text).encode())
    except OSError as error:
        raise UsageError(f"{printable(args.output)} can't be written ({error.strerror})") from None
    return OK


def _analysis_text(checked: CheckedDocument, path: str) -> str:
    """The records of the analysis, with control characters from the document escaped."""
    import json

    from workrail_lint.systems.workrail.analysis.build import analyse
    from workrail_lint.systems.workrail.analysis.output import analysis_data
    from workrail_lint.systems.workrail.compat import normalize

    compiled, definition = checked.compiled, checked.definition
    assert compiled is not None
    assert definition is not None
    source = normalize(checked.document.value).pointer_map
    data = analysis_data(analyse(definition, compiled.catalog, compiled=compiled, path=path), source)
    return json.dumps(data, indent=2, ensure_ascii=True) + "\n"


def parser() -> Parser:
    made = Parser("graph", "Draw a workflow as a diagram: steps, conditions and loops; or print its analysis.")
    made.add_argument("path", metavar="PATH", help="a workflow file")
    made.add_argument(
        "--format",
        choices=FORMATS,
        default="mermaid",
        help="output format (default: mermaid); json is the analysis: steps, variables, values, reachability",
    )
    made.add_argument("--output", metavar="FILE", help="write to this file instead of stdout")
    add_inputs(made)
    return made
