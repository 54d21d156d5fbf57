"""`workrail-lint format`: workflow files in one style."""

from __future__ import annotations

from workrail_lint.base.progress import tracked
from workrail_lint.base.terminal import err, out, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, OK
from workrail_lint.cli.arguments import configuration, report_no_workflow, workflow_files
from workrail_lint.cli.fix import out_diff
from workrail_lint.cli.output import write_output
from workrail_lint.cli.parser import Parser, add_inputs, add_paths
from workrail_lint.documents.json_format import restyled
from workrail_lint.systems.schemas import schema_walk


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    config = configuration(args, args.paths[0])
    files = workflow_files(args.paths, config)
    if not files:
        return report_no_workflow(args.paths)
    walk = schema_walk("workflow") if args.sort else None
    changed = broken = 0
    for file in tracked(files, "workflow"):
        text = file.data.decode("utf-8", "replace")
        formatted = restyled(text, walk) if "�" not in text or text.encode() == file.data else None
        if formatted is None:
            err(f"workrail-lint: {printable(file.path)} is not valid JSON; workrail-lint check says why")
            broken += 1
            continue
        if formatted == text:
            continue
        changed += 1
        if args.diff:
            out_diff(file.path, text, formatted)
        elif args.check:
            out(printable(file.path))
        else:
            write_output(file.path, formatted.encode())
    done = "would be formatted" if args.check or args.diff else "formatted"
    err(f"workrail-lint: {counted(changed, 'file')} {done}, {len(files) - changed - broken} already in style")
    if broken:
        return FINDINGS
    return FINDINGS if changed and (args.check or args.diff) else OK


def parser() -> Parser:
    result = Parser(
        "format",
        "Format workflow files: two spaces for each level; members keep their order, and every value its spelling.",
    )
    add_paths(result)
    result.add_alternatives(
        {
            "--check": "write nothing; list files that differ and exit with 1",
            "--diff": "write nothing; show what would change and exit with 1",
        }
    )
    result.add_argument(
        "--sort", action="store_true", help="also put members into the order of the model: id, name, description, ..."
    )
    add_inputs(result)
    return result
