"""`workrail-lint graph`: a workflow as a diagram."""

from __future__ import annotations

from workrail_lint.base.terminal import err, out, printable
from workrail_lint.cli import FINDINGS, NOTHING, OK, UsageError
from workrail_lint.cli.arguments import configuration, settings, workflow_files
from workrail_lint.cli.parser import Parser, add_inputs
from workrail_lint.cli.reporting import report_errors
from workrail_lint.systems.workrail.check import check_document
from workrail_lint.systems.workrail.compile import errors_of, read_for_compiling
from workrail_lint.systems.workrail.graph import FORMATS, render


def main(arguments: list[str]) -> int:
    parser = Parser("graph", "A workflow as a diagram: what runs after what, when, and how often.")
    parser.add_argument("path", metavar="PATH", help="the workflow")
    parser.add_argument("--format", choices=FORMATS, default="mermaid", help="how to draw it (default: mermaid)")
    parser.add_argument("--output", metavar="FILE", help="write it there instead of stdout")
    add_inputs(parser)
    args = parser.parsed(arguments)
    if args is None:
        return OK
    config = configuration(args, args.path)
    files = workflow_files([args.path], config)
    if len(files) != 1:
        err(f"workrail-lint: {printable(args.path)} holds {len(files) or 'no'} workflows; name one file")
        return NOTHING
    checked = check_document(read_for_compiling(files[0].data), files[0].path, settings(args, config), None)
    if checked.compiled is None:
        report_errors(errors_of(checked, files[0].path))
        return FINDINGS
    text = render(checked.compiled.ir, args.format)
    if args.output is None:
        out(text, end="")
        return OK
    from workrail_lint.base.files import write_atomically

    try:
        write_atomically(args.output, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{printable(args.output)} can't be written ({error.strerror})") from None
    return OK
