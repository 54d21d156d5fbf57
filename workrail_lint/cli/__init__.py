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
}
OK, FINDINGS, USAGE, NOTHING = 0, 1, 2, 3


class UsageError(Exception):
    """Bad arguments, configuration or files: told in one line, exit code 2."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; nothing but a bug in our code ever shows a traceback."""
    args = sys.argv[1:] if arguments is None else arguments
    if not args or args[0] in ("-h", "--help", "help"):
        return _help(sys.stdout if args else sys.stderr, OK if args else USAGE)
    if args[0] in ("-V", "--version"):
        from workrail_lint.cli.output import out
        from workrail_lint.version import VERSION

        out(f"workrail-lint {VERSION}")
        return OK
    name = args[0]
    if name not in COMMANDS:
        from workrail_lint.suggest import nearest

        suggestion = nearest(name, COMMANDS)
        hint = f"; did you mean '{suggestion}'?" if suggestion else ""
        return _fail(f"unknown command '{name}'{hint} (see workrail-lint --help)")
    return _run(name, args[1:])


def _run(name: str, args: list[str]) -> int:
    from importlib import import_module

    try:
        code = import_module(f"workrail_lint.cli.{name}").main(args)
        sys.stdout.flush()
    except UsageError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (head, a pager) has gone; the interpreter must not try to flush into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        if os.environ.get("WORKRAIL_LINT_DEBUG"):
            raise
        kind = type(error).__name__
        return _fail(
            f"internal error: {kind}: {error} (set WORKRAIL_LINT_DEBUG=1 for the details, and please report it)"
        )
    return int(code)


def _fail(message: str) -> int:
    from workrail_lint.cli.output import err

    err(f"workrail-lint: {message}")
    return USAGE


def _help(stream: TextIO, code: int) -> int:
    width = max(map(len, COMMANDS))
    lines = ["usage: workrail-lint COMMAND [ARGUMENT...]", "", "Finds broken agent workflows before the commit.", ""]
    lines += [f"  {name.ljust(width)}  {summary}" for name, summary in COMMANDS.items()]
    lines += ["", "workrail-lint COMMAND --help tells more about a command."]
    stream.write("\n".join(lines) + "\n")
    return code
