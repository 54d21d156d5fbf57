"""`workrail-lint engine`: what is known about the releases of the public engine."""

from __future__ import annotations

import sys

from workrail_lint.base.result import Err
from workrail_lint.base.terminal import columns, out, out_json
from workrail_lint.base.wording import folded
from workrail_lint.cli import OK, UsageError
from workrail_lint.cli.parser import Parser, add_text_or_json
from workrail_lint.systems.workrail.engines.changes import Changes, summary
from workrail_lint.systems.workrail.engines.releases import BUILTINS, Target, named_release, read_table, target


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    if args.action == "list":
        _list(as_json=args.format == "json", everything=args.all)
    elif args.action == "show":
        _show(_named(args.version), as_json=args.format == "json")
    else:
        changes = Changes(_named(args.before), _named(args.after))
        if args.format == "json":
            out_json(changes.as_json(), indent=2)
        else:
            out(changes.as_text())
    return OK


def parser() -> Parser:
    result = Parser("engine", "Show what is known about the releases of the public WorkRail engine.")
    added = result.add_actions(
        {
            "list": "list the known releases",
            "show": "show one release: what it brought, and what it knows",
            "diff": "show what changed from one release to another",
        },
        "action",
    )
    added["list"].add_argument("--all", action="store_true", help="also releases that changed nothing for authors")
    added["show"].add_argument("version", metavar="VERSION", help="a release, such as 3.60")
    added["diff"].add_argument("before", metavar="A", help="the release to start from")
    added["diff"].add_argument("after", metavar="B", help="the release to compare with")
    for action in added.values():
        add_text_or_json(action, "answer")
    return result


def _named(version: str) -> Target:
    release = named_release(version)
    if isinstance(release, Err):
        raise UsageError(release.error)
    return release.value


def _list(*, as_json: bool, everything: bool) -> None:
    rows = [(release.version, release.date, summary(release)) for release in read_table()]
    if as_json:
        out_json({"releases": [dict(zip(("version", "date", "changed"), row, strict=True)) for row in rows]}, indent=2)
        return
    changing = [row for row in rows if everything or row[2]]
    for version, date, changed in changing:
        out(f"{version.ljust(8)} {date}  {changed}".rstrip())
    if len(changing) < len(rows):
        out(f"{len(rows)} releases are known; {len(rows) - len(changing)} changed nothing for authors (--all)")


def _show(asked: Target, *, as_json: bool) -> None:
    before = asked.so_far[-2] if len(asked.so_far) > 1 else None
    changes = None if before is None else Changes(target(before.version), asked)
    known = {kind: sorted(name for release in asked.so_far for name in release.builtins(kind)) for kind in BUILTINS}
    if as_json:
        brought = None if changes is None else changes.as_json()
        out_json({"version": asked.version, "date": asked.release.date, "brought": brought, "knows": known}, indent=2)
        return
    out(f"engine {asked.version}, {asked.release.date}")
    out(changes.as_text() if changes is not None else "the oldest release that is known")
    for kind, names in known.items():
        first, *more = folded(f"{kind} known: {', '.join(names) or 'none'}", columns(sys.stdout), 0, 2)
        out("\n  ".join([first, *more]))
