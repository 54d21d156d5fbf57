"""The fenced blocks of a page, and what is done with each.

A block is fenced by three backquotes, a language and attributes: `console exit=1`, `toml file=workrail-lint.toml`.

- `console`: lines that start with `$ ` are run in a shell. Each has to end with the exit code of the block (0 when
  there is none), and the lines below it have to appear in its output, in order. `...` is only for the reader.
  With `ring=deep` that takes long, and is only done in the deep ring; another test shows the same every day.
- Any language with `file=`: the block is written to that file before the commands that follow.
- `sh`: targets of the Makefile, which have to exist; running them all would be running this test in itself.
- `python` without a file: the block is run.
- `json`, `toml`, `yaml`: the block has to be valid.
- `text`, or no language: not examined.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FENCE = re.compile(r"^```(?P<info>.*)\n(?P<body>[\s\S]*?)^```$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block and the line it starts on."""

    language: str
    attributes: dict[str, str]
    body: str
    line: int


class Command(NamedTuple):
    """A command of a console block and the lines its output has to hold."""

    text: str
    expected: list[str]


def blocks(page: str) -> list[Block]:
    found = []
    for match in _FENCE.finditer(page):
        language, *attributes = match["info"].split() or [""]
        pairs = dict(attribute.split("=", 1) for attribute in attributes)
        found.append(Block(language, pairs, match["body"], page.count("\n", 0, match.start()) + 1))
    return found


def commands(block: Block) -> list[Command]:
    found: list[Command] = []
    for line in block.body.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        elif line.strip() and line != "...":
            assert found, f"line {block.line}: output before the first command"
            found[-1].expected.append(line)
    return found


def missing(output: str, expected: list[str]) -> str | None:
    """The first expected line that the output does not hold after the ones before it."""
    position = 0
    for line in expected:
        found = output.find(line, position)
        if found < 0:
            return line
        position = found + len(line)
    return None
