"""The command line. One module per command, imported when the command runs."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import TextIO

from workrail_lint.base.files import written
from workrail_lint.base.suggest import did_you_mean, nearest
from workrail_lint.base.terminal import columns, err, out, printable
from workrail_lint.base.version import VERSION
from workrail_lint.base.wording import folded

# Name, summary; the module of a command has its name, and a function `main(arguments) -> exit code`.
COMMANDS = {
    "check": "find and fix problems in workflows",
    "compile": "compile workflows and print the result or its hash",
    "canonical": "print the canonical bytes of a JSON file, or their hash",
    "lock": "pin the hashes of all workflows, or verify them",
    "diff": "show how the behaviour of a workflow changed",
    "semver": "say which part of a workflow's version must rise for what changed",
    "docs": "write one Markdown page for each workflow",
    "format": "format workflow files in one style",
    "graph": "draw a workflow as a diagram",
    "studio": "write one HTML page that shows a project",
    "guide": "how to write a workflow: the authoring guide",
    "rule": "explain a rule, or list all rules",
    "explain": "another name of rule",
    "catalog": "list, show, export or import the builtins",
    "schema": "print the JSON Schema of a document kind",
    "engine": "show what is known about the releases of the engine",
    "init": "create a first workflow with a scenario, configuration, hooks, CI and editor settings",
    "server": "the language server, for editors",
    "completion": "print a completion script for your shell",
}
OK, FINDINGS, USAGE, NOTHING, INTERRUPTED = 0, 1, 2, 3, 130
_NAMED = 3
# What only some commands import, and the extra that installs it.
_EXTRAS = {"pytest": "pytest", "_pytest": "pytest", "msgspec": "pytest", "executing": "pytest"}


class UsageError(Exception):
    """Bad arguments, configuration or files: reported in one line, exit code 2."""


class HelpPrinted(Exception):  # noqa: N818 - nothing is wrong
    """The help of a command was all that was asked for."""


class Program:
    """A program with commands; the module of each has its name and a function `main(arguments) -> exit code`."""

    __slots__ = ("commands", "name", "package", "purpose")

    def __init__(self, name: str, package: str, purpose: str, commands: dict[str, str]) -> None:
        self.name = name
        self.package = package
        self.purpose = purpose
        self.commands = commands


PROGRAM = Program("workrail-lint", __name__, "Finds broken agent workflows before you commit them.", COMMANDS)


def main(arguments: list[str] | None = None, program: Program = PROGRAM) -> int:
    """Run a command and return its exit code; only a bug in our code shows a traceback, and only in debug mode.

    Without arguments they are those of the process, which then ends.
    """
    if arguments is not None:
        return _guarded(arguments, program)
    # A short run makes hardly any garbage. Looking for some, also at the end, would be a tenth of what a check takes.
    gc.set_threshold(100_000, 20, 20)
    code = _guarded(sys.argv[1:], program)
    gc.freeze()
    return code


def _guarded(arguments: list[str], program: Program) -> int:
    _open_closed_streams()
    before = len(written)
    try:
        code = _run(arguments, program)
        sys.stdout.flush()
    except UsageError as error:
        return _fail(str(error), program)
    except KeyboardInterrupt:
        _fail(_interruption(written[before:]), program)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, a pager) has closed the pipe.
        _abandon(sys.stdout)
        return OK
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name in _EXTRAS:
            extra = _EXTRAS[error.name]
            return _fail(f"this command needs {error.name}; install workrail-lint[{extra}]", program)
        if isinstance(error, OSError) and error.filename is None:
            _abandon(sys.stdout)
            return _fail(f"input or output failed: {error.strerror or error}", program)
        if os.environ.get("WORKRAIL_LINT_DEBUG"):
            raise
        kind = type(error).__name__
        return _fail(
            f"internal error: {kind}: {error} (set WORKRAIL_LINT_DEBUG=1 to see the traceback, and please report this)",
            program,
        )
    return int(code)


def _run(args: list[str], program: Program) -> int:
    if not args or args[0] in ("-h", "--help", "help"):
        return _help(sys.stdout if args else sys.stderr, OK if args else USAGE, program)
    if args[0] in ("-V", "--version"):
        out(f"{program.name} {VERSION}")
        return OK
    name = args[0]
    if name not in program.commands:
        hint = did_you_mean(nearest(name, program.commands))
        raise UsageError(f"unknown command '{name}'{hint} (run {program.name} --help for a list)")
    try:
        return int(import_module(f"{program.package}.{name}").main(args[1:]))
    except HelpPrinted:
        return OK


def _open_closed_streams() -> None:
    """Replace streams that the caller closed by the null device; the exit code still says how the run ended."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  (for the whole process)


def _abandon(stream: TextIO) -> None:
    """Stop writing to a broken stream, or the interpreter would fail when it flushes the stream at exit."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _fail(message: str, program: Program) -> int:
    try:
        err(f"{program.name}: {printable(message)}")
        sys.stderr.flush()
    except OSError:
        _abandon(sys.stderr)
    return USAGE


def _interruption(outputs: list[str]) -> str:
    """Return how far an interrupted command came. A file is replaced whole, so none is half-written."""
    if not outputs:
        return "interrupted before anything was written; there is no complete result"
    names = ", ".join(outputs[-_NAMED:])
    more = f"{len(outputs)} files, the last ones " if len(outputs) > _NAMED else ""
    return f"interrupted after changing {more}{names}; the rest is as it was"


def _help(stream: TextIO, code: int, program: Program) -> int:
    width = max(map(len, program.commands))
    lines = [f"usage: {program.name} COMMAND [ARGUMENT...]", "", program.purpose, ""]
    for name, summary in program.commands.items():
        first, *more = folded(summary, columns(stream), width + 4, width + 4)
        lines += [f"  {name.ljust(width)}  {first}", *(" " * (width + 4) + part for part in more)]
    lines += ["", f"Run {program.name} COMMAND --help for details."]
    stream.write("\n".join(lines) + "\n")
    return code
