"""`workrail-lint canonical`: the RFC 8785 bytes of any JSON file, or their digest."""

from __future__ import annotations

import sys

from workrail_lint.base.canonical import CanonicalError, canonical_bytes, digest
from workrail_lint.base.terminal import err, out, out_bytes, printable
from workrail_lint.cli import FINDINGS, OK
from workrail_lint.cli.arguments import read_named
from workrail_lint.cli.parser import Parser
from workrail_lint.documents.json_reader import read_json


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    name = "<stdin>" if args.file == "-" else printable(args.file)
    data = sys.stdin.buffer.read() if args.file == "-" else read_named(args.file)
    document = read_json(data, parity=True, max_bytes=None)
    problems = [problem for problem in document.problems if problem.blocking]
    for problem in problems:
        where = document.source.position(problem.start)
        err(f"{name}:{where.line}:{where.column}: {problem.name}: {printable(problem.message)}")
    if problems or not document.readable:
        return FINDINGS
    try:
        result = canonical_bytes(document.value)
    except CanonicalError as error:
        err(f"{name}: {error.code}: {error}")
        return FINDINGS
    if args.hash:
        out(digest(result))
    else:
        out_bytes(result)
    return OK


def parser() -> Parser:
    result = Parser("canonical", "Print the canonical (RFC 8785) bytes of a JSON file.")
    result.add_argument("file", metavar="FILE", help="any JSON file, or - for stdin")
    result.add_argument("--hash", action="store_true", help="print the SHA-256 digest of the bytes instead")
    return result
