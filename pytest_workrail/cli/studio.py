"""`workrail-test studio`: the page of a project, live on this machine."""

from __future__ import annotations

import os
import threading

from pytest_workrail.golden.golden_records import in_ci
from pytest_workrail.live.board import Board, NothingToShow
from pytest_workrail.live.server import Server
from workrail_lint.base.terminal import err, out, printable
from workrail_lint.cli import OK, UsageError
from workrail_lint.cli.arguments import report_no_workflow
from workrail_lint.cli.parser import Parser, add_paths
from workrail_lint.cli.studio import add_shown

_MOST_PORTS = 65_535


def main(arguments: list[str]) -> int:
    """Serve the page until interrupted."""
    args = parser().parse_args(arguments)
    if not 0 <= args.port <= _MOST_PORTS:
        raise UsageError(f"--port takes a number from 0 to {_MOST_PORTS}")
    if in_ci() and not args.allow_ci:
        raise UsageError("a served page is of no use in CI: write one with workrail-lint studio (or pass --allow-ci)")
    if hasattr(os, "geteuid") and os.geteuid() == 0 and not args.allow_root:
        raise UsageError("the studio writes files, so it does not run as root; --allow-root does it anyway")
    try:
        board = Board(args)
    except NothingToShow:
        return report_no_workflow(args.paths)
    try:
        server = Server(board, port=args.port)
    except OSError as problem:
        raise UsageError(f"port {args.port} can't be used ({problem.strerror})") from None
    out(server.url)
    err(f"workrail-test studio: serving {printable(board.root)} on this machine only (press Ctrl-C to stop)")
    threading.Thread(target=server.follow, daemon=True).start()
    try:
        server.serve_forever()
    finally:
        server.server_close()
    return OK


def parser() -> Parser:
    result = Parser(
        "studio",
        "Serve the page of a project on this machine: it follows the files, and can act on them.",
        "workrail-test",
    )
    add_paths(result)
    result.add_argument("--port", type=int, default=0, help="listen on this port (default: any that is free)")
    result.add_argument("--read-only", action="store_true", help="write nothing: the page shows, and plays what-if")
    result.add_argument("--allow-ci", action="store_true", help="also where the variable CI is set")
    result.add_argument("--allow-root", action="store_true", help="also as root")
    add_shown(result)
    result.epilog = "The printed address holds a secret token: don't share it, it allows all that the page can do."
    return result
