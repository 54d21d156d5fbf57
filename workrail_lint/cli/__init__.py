"""The command line. One module per subcommand, imported only when it is asked for."""

from __future__ import annotations

import os
import sys
from typing import TextIO

# Name, summary; the module of a command has its name, and a function `main(arguments) -> exit code`.
COMMANDS = {
    "check": "lint workflows: what is wrong, where, why, and how to fix it",
    "compile": "compile workflows to the IR or the engine's snapshot, and hash them",
    "canonical": "the RFC 8785 bytes of a JSON file",
    "lock": "pin the hashes of all workflows, or verify them",
    "diff": "what changed in behaviour between two workflows",
    "graph": "a workflow as a diagram",
    "rule": "explain a rule, or list all of them",
    "catalog": "the builtins: list, show, export, import",
    "schema": "the JSON Schema of a document kind",
    "init": "scaffold a workflow, a scenario, configuration and hooks",
    "completion": "a script that completes commands and options in a shell",
}
OK, FINDINGS, USAGE, NOTHING = 0, 1, 2, 3


class UsageError(Exception):
    """Bad arguments, configuration or files: reported in one line, exit code 2."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; nothing but a bug in our code ever shows a traceback."""
    _open_closed_streams()
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except UsageError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (head, a pager) has gone.
        _abandon(sys.stdout)
        return OK
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:
            _abandon(sys.stdout)
            return _fail(f"input or output failed: {error.strerror or error}")
        if os.environ.get("WORKRAIL_LINT_DEBUG"):
            raise
        kind = type(error).__name__
        return _fail(
            f"internal error: {kind}: {error} (set WORKRAIL_LINT_DEBUG=1 for the details, and please report it)"
        )
    return int(code)


def _run(args: list[str]) -> int:
    if not args or args[0] in ("-h", "--help", "help"):
        return _help(sys.stdout if args else sys.stderr, OK if args else USAGE)
    if args[0] in ("-V", "--version"):
        from workrail_lint.base.terminal import out
        from workrail_lint.base.version import VERSION

        out(f"workrail-lint {VERSION}")
        return OK
    name = args[0]
    if name not in COMMANDS:
        from workrail_lint.base.suggest import nearest

        suggestion = nearest(name, COMMANDS)
        hint = f"; did you mean '{suggestion}'?" if suggestion else ""
        raise UsageError(f"unknown command '{name}'{hint} (see workrail-lint --help)")
    from importlib import import_module

    return int(import_module(f"workrail_lint.cli.{name}").main(args[1:]))


def _open_closed_streams() -> None:
    """A stream that the caller has closed takes everything and gives nothing; the exit code still tells."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  (for the whole process)


def _abandon(stream: TextIO) -> None:
    """If nothing more can be written there, the interpreter must not try to when it ends."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _fail(message: str) -> int:
    from workrail_lint.base.terminal import err

    try:
        err(f"workrail-lint: {message}")
        sys.stderr.flush()
    except OSError:
        _abandon(sys.stderr)
    return USAGE


def _help(stream: TextIO, code: int) -> int:
    width = max(map(len, COMMANDS))
    lines = ["usage: workrail-lint COMMAND [ARGUMENT...]", "", "Finds broken agent workflows before the commit.", ""]
    lines += [f"  {name.ljust(width)}  {summary}" for name, summary in COMMANDS.items()]
    lines += ["", "Run workrail-lint COMMAND --help for details."]
    stream.write("\n".join(lines) + "\n")
    return code
