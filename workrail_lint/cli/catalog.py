"""`workrail-lint catalog`: list, show, export and import the builtins."""

from __future__ import annotations

import argparse

from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, out, out_bytes, printable
from workrail_lint.cli import OK, UsageError
from workrail_lint.cli.arguments import configuration, first_line, settings
from workrail_lint.cli.output import write_output
from workrail_lint.cli.parser import Parser, add_inputs, add_text_or_json
from workrail_lint.systems.workrail.catalog.importer import import_engine
from workrail_lint.systems.workrail.catalog.render import (
    document_text,
    export_text,
    list_json,
    list_text,
    show_json,
    show_text,
)


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    if args.action == "import":
        return _import(args)
    active = settings(args, configuration(args))
    catalog = active.catalog
    as_json = args.format == "json"
    if args.action == "list":
        _show((list_json if as_json else list_text)(catalog), as_json)
    elif args.action == "show":
        entry = (show_json if as_json else show_text)(catalog, args.id)
        if isinstance(entry, Err):
            raise UsageError(printable(entry.error.message))
        _show(entry.value, as_json)
    else:
        # The project's routines are not part of the catalog they are added to.
        _write(args.output, export_text(catalog if args.routines else active.base_catalog))
    return OK


def parser() -> Parser:
    result = Parser(
        "catalog", "List, show, export or import the builtins: features, refs, templates, contract packs, capabilities."
    )
    result.set_defaults(format="text")
    added = result.add_actions(
        {
            "list": "list all builtins",
            "show": "show one builtin",
            "export": "print the whole catalog",
            "import": "create a catalog from an installed engine",
        },
        "action",
    )
    added["show"].add_argument("id", metavar="ID", help="the id of a builtin, such as wr.features.capabilities")
    for name in ("list", "show"):
        add_text_or_json(added[name], "answer")
    imported = added["import"]
    imported.add_argument("directory", metavar="DIR", help="the folder of the installed engine package")
    imported.add_argument("--node", metavar="PROGRAM", help="the Node.js program to run (default: node)")
    for name in ("export", "import"):
        added[name].add_argument("--output", metavar="FILE", help="write to this file instead of stdout")
    for name in ("list", "show", "export"):
        add_inputs(added[name])
    return result


def _import(args: argparse.Namespace) -> int:
    result = import_engine(args.directory, node=args.node)
    if isinstance(result, Err):
        hint = result.error[0].help
        raise UsageError(first_line(result.error, args.directory) + (f"; {hint}" if hint else ""))
    for warning in result.value.findings:
        err(f"workrail-lint: warning: {printable(warning.path)}: {printable(warning.message)}")
    _write(args.output, document_text(result.value.catalog.document))
    return OK


def _show(text: str, as_json: bool) -> None:
    if as_json:
        out_bytes(text.encode())  # JSON is always UTF-8
    else:
        out(text.rstrip("\n"))


def _write(path: str | None, text: str) -> None:
    if path is None:
        _show(text, True)
        return
    write_output(path, text.encode())
