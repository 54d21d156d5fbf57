"""`workrail-test`: what belongs to testing workflows and is no test. One module for each command."""

from __future__ import annotations

from workrail_lint.cli import Program
from workrail_lint.cli import main as run_program

COMMANDS = {
    "run": "run a workflow with the automatic agent",
    "golden": "look at changes of goldens, and accept or reject them",
    "generate": "write scenarios that show everything a workflow can do",
    "sessions": "see what real agents did, turn it into tests, and replay it on a new version",
    "mutate": "measure how many changes of a workflow its scenarios would notice",
    "studio": "serve the page of a project on this machine: it follows the files, and can act",
    "serve": "serve workflows to a real agent, as an MCP server",
    "explore": "look for runs that break a promise",
    "compare": "show where the two profiles part on a workflow, and why",
    "conform": "compare our answers with those of an installed engine",
    "combine": "put together what several machines saw of one suite",
    "completion": "print a completion script for your shell",
}
PROGRAM = Program("workrail-test", __name__, "What comes with testing agent workflows.", COMMANDS)


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    return run_program(arguments, PROGRAM)
