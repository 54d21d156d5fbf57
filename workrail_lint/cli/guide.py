"""`workrail-lint guide`: how to write a workflow, in the terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

from workrail_lint.base.files import read_shipped
from workrail_lint.base.suggest import did_you_mean, nearest
from workrail_lint.base.terminal import Style, out, out_bytes, printable, uses_colour
from workrail_lint.cli import OK, UsageError
from workrail_lint.cli.parser import Parser, Suggesting

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
# Where the pages are: in the wheel, or in a checkout.
_FOLDERS = (os.path.join(_PACKAGE, "guide"), os.path.join(os.path.dirname(_PACKAGE), "docs", "authoring"))
_INDEX, _DENSE = "README.md", "llms"
_TOPIC_ROW = re.compile(r"^\| \[([a-z]+)\]\([a-z]+\.md\) \| (.+) \|$", re.MULTILINE)
_EXAMPLE = re.compile(r"^```json file=workflows/([\w-]+)\.json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^(```\w+)[^\n]*$", re.MULTILINE)  # what follows the language is for our tests
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_MARKED = re.compile(r"\*\*([^*]+)\*\*|`([^`]+)`")


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    topics = _topics()
    if args.example is not None:
        out_bytes(_example(args.example, topics).encode())
    elif args.topic is None:
        width = max(map(len, topics))
        out("How to write a workflow that an agent gets through. Run workrail-lint guide TOPIC to read one of these:\n")
        for name, question in topics.items():
            out(f"  {name.ljust(width)}  {question}")
        out("\nStart with the tutorial. Models that write workflows read workrail-lint guide llms.")
    elif args.topic not in topics and args.topic != _DENSE:
        hint = did_you_mean(nearest(args.topic, [*topics, _DENSE]))
        raise UsageError(f"unknown topic '{printable(args.topic)}'{hint} (run workrail-lint guide for a list)")
    else:
        page = _page(f"{_DENSE}.txt" if args.topic == _DENSE else f"{args.topic}.md")
        if sys.stdout.isatty():
            out("\n".join(_rendered(page, Style(uses_colour()))))
        else:
            out_bytes(_FENCE.sub(r"\1", page).encode())
    return OK


def parser() -> Parser:
    result = Parser("guide", "How to write a workflow: print a topic of the authoring guide, or list the topics.")
    result.add_argument(
        "topic",
        nargs="?",
        metavar="TOPIC",
        action=Suggesting,
        suggested=(*_topics(), _DENSE),
        help="what to read about (default: list all topics)",
    )
    result.add_argument(
        "--example", metavar="NAME", help="print one workflow of the cookbook, ready to be saved, such as small_task"
    )
    return result


def _page(name: str) -> str:
    folder = next((each for each in _FOLDERS if os.path.isdir(each)), _FOLDERS[0])
    return read_shipped(os.path.join(folder, name)).decode()


def _topics() -> dict[str, str]:
    """Return the topics in reading order, each with the question that it answers: the table of the first page."""
    return dict(_TOPIC_ROW.findall(_page(_INDEX)))


def _example(asked: str, topics: dict[str, str]) -> str:
    examples = {name: text for topic in reversed(topics) for name, text in _EXAMPLE.findall(_page(f"{topic}.md"))}
    if asked not in examples:
        raise UsageError(f"no example '{printable(asked)}' (there are {', '.join(examples)})")
    return str(examples[asked])


def _rendered(page: str, style: Style) -> Iterator[str]:
    """Yield the page for a reader at a terminal: marks become styles, and links their text."""
    is_code = False
    for line in page.splitlines():
        if line.startswith("```"):
            is_code = not is_code
        elif is_code:
            yield f"    {style(line, 'cyan')}" if line else ""
        elif line.startswith("#"):
            yield style(line.lstrip("# "), "bold")
        elif not line.startswith("| ---"):
            yield _MARKED.sub(lambda match: style(match[1] or match[2], "bold"), _LINK.sub(r"\1", line))
