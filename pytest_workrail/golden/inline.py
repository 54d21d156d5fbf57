"""Inline goldens: the outline of a run, as a text in the test itself.

A test compares, and remembers what its text would have to be. Like files, test modules are rewritten once, at the end,
by one process, and only for tests that passed; nothing but the text between the quotes changes.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from pytest_workrail.golden import files
from pytest_workrail.golden.golden_records import InlineRecord, Span
from workrail_lint.base.files import read_bytes
from workrail_lint.base.result import Err, Ok

_LITERAL = re.compile(r"([rRuU]?)(\"\"\"|'''|\"|')(.*)\2", re.DOTALL)


class Call(NamedTuple):
    """A call of `run.match` in its source. `literal` is its argument as it is written; None where it has none."""

    file: Path
    span: Span
    literal: str | None
    indent: str
    digest: str


def same_outline(expected: str, outline: str) -> bool:
    """Indentation and empty lines around the text are the author's own."""
    return _lines(expected) == _lines(outline)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def call_at(frame: FrameType) -> Ok[Call] | Err[str]:
    """Return the call that a frame is just making."""
    from executing import Source  # only an inline golden that is written needs it

    executing = Source.executing(frame)
    node = executing.node
    if not isinstance(node, ast.Call):
        return Err("the call can't be found in its source; write run.match(...) as a statement")
    source, file = executing.source.text, Path(frame.f_code.co_filename)
    first = source.splitlines()[node.lineno - 1]
    indent = first[: len(first) - len(first.lstrip())]
    if not node.args and not node.keywords:
        end_line, end = node.end_lineno or node.lineno, (node.end_col_offset or 1) - 1
        return Ok(Call(file, Span(end_line, end, end_line, end), None, indent, _digest(source)))
    argument = node.args[0] if node.args else None
    if not isinstance(argument, ast.Constant) or len(node.args) + len(node.keywords) != 1:
        return Err("the expected outline is no plain text; put it into the call as one")
    span = Span(
        argument.lineno, argument.col_offset, argument.end_lineno or argument.lineno, argument.end_col_offset or 0
    )
    start, end = _offsets(source, span)
    return Ok(Call(file, span, source[start:end], indent, _digest(source)))


def literal(call: Call, outline: str) -> str:
    """Return an outline as source text, in the author's quotes and indentation as far as it fits."""
    match = _LITERAL.fullmatch(call.literal or "")
    if match is not None and len(match[2]) == 1 and "\n" not in outline:
        return _quoted(outline, match[2])
    if match is None or len(match[2]) == 1:
        return _block(outline, '"""', call.indent + "    ", f"\n{call.indent}", "\n")
    body = match[3]
    inner = next((line for line in body.split("\n")[1:] if line.strip()), None)
    indent = call.indent + "    " if inner is None else inner[: len(inner) - len(inner.lstrip())]
    last = body.rpartition("\n")[2]
    closing = f"\n{last}" if "\n" in body and not last.strip() else ""
    opening = next((start for start in ("\\\n", "\n") if body.startswith(start)), "")
    block = _block(outline, match[2], indent, closing, opening)
    # In a raw string a backslash escapes nothing.
    is_raw = match[1].lower() == "r" and "\\" not in block
    return f"r{block}" if is_raw else block


def _block(outline: str, quotes: str, indent: str, closing: str, opening: str) -> str:
    lines = outline.split("\n")
    body = f"\n{indent}".join(lines)
    body = body.replace("\\", "\\\\").replace(quotes, "".join(f"\\{mark}" for mark in quotes))
    if body.endswith(quotes[0]) and not closing:
        body = f"{body[:-1]}\\{quotes[0]}"
    return f"{quotes}{opening}{indent if opening else ''}{body}{closing}{quotes}"


def _quoted(text: str, quote: str) -> str:
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return f"{quote}{escaped}{quote}"


def write_inline(root: Path, records: Mapping[str, Iterable[InlineRecord]]) -> tuple[list[str], list[str]]:
    """Rewrite test modules. What was written, by file and line; and what could not be."""
    written: list[str] = []
    errors: list[str] = []
    for path, of_file in sorted(records.items()):
        edits = {record.span: record for record in of_file}
        done = _rewrite(root / path, list(edits.values()))
        if isinstance(done, Err):
            errors.append(f"{path} can't be updated: {done.error}")
        else:
            written += (f"{path}:{span.line}" for span in sorted(edits))
    return written, errors


def _rewrite(path: Path, records: list[InlineRecord]) -> Ok[None] | Err[str]:
    try:
        data = read_bytes(str(path))
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (OSError, SyntaxError, UnicodeDecodeError) as problem:
        return Err(str(problem))
    is_dos = "\r\n" in text
    source = text.replace("\r\n", "\n") if is_dos else text
    if any(record.digest != _digest(source) for record in records):
        return Err("it has changed since the tests ran; run them again")
    for record in sorted(records, key=lambda each: each.span, reverse=True):
        start, end = _offsets(source, record.span)
        source = source[:start] + record.new + source[end:]
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return Err("the new text would break it")
    return files.write(path, (source.replace("\n", "\r\n") if is_dos else source).encode(encoding))


def _offsets(source: str, span: Span) -> tuple[int, int]:
    starts = [0]
    for line in source.split("\n"):
        starts.append(starts[-1] + len(line) + 1)

    def offset(line: int, column: int) -> int:
        text = source[starts[line - 1] : starts[line]]
        return starts[line - 1] + len(text.encode()[:column].decode())

    return offset(span.line, span.column), offset(span.end_line, span.end_column)


def _digest(source: str) -> str:
    return sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
