"""`workrail-lint schema`: the JSON Schema of a document kind, with the builtins of the project as suggestions."""

from __future__ import annotations

from workrail_lint.base.files import read_shipped
from workrail_lint.base.suggest import did_you_mean, nearest
from workrail_lint.base.terminal import out, out_bytes
from workrail_lint.cli import OK, UsageError
from workrail_lint.cli.arguments import configuration, settings
from workrail_lint.cli.parser import Parser, Suggesting, add_inputs
from workrail_lint.systems.schemas import kinds, schema_path
from workrail_lint.systems.workrail.catalog.suggestions import KINDS, schema_text

# Kinds that use the schema of another kind.
_SHARED = {"routine": "workflow"}


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    known = kinds()
    asked = _SHARED.get(args.kind, args.kind)
    if args.kind is None:
        for kind in known:
            out(kind)
        return OK
    if asked not in known:
        hint = did_you_mean(nearest(args.kind, known))
        raise UsageError(f"no schema for '{args.kind}'{hint} (known: {', '.join(known)})")

    if asked not in KINDS:
        out(read_shipped(schema_path(asked)).decode(), end="")
        return OK

    config = configuration(args)
    active = settings(args, config)
    out_bytes(schema_text(asked, active, engine=config.text("target") != "ir").encode())
    return OK


def parser() -> Parser:
    result = Parser(
        "schema",
        "Print the JSON Schema of a document kind, or list the kinds. "
        "Where a workflow names a feature, ref, template or contract, the schema suggests those of the catalog.",
    )
    result.add_argument(
        "kind",
        nargs="?",
        metavar="KIND",
        action=Suggesting,
        suggested=sorted((*kinds(), *_SHARED)),
        help="the kind of document (default: list all kinds)",
    )
    add_inputs(result)
    return result
