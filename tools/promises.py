"""`python -m tools.promises`: write the table of `docs/security.md`, which promise is shown by which test.

A test module says what it shows: `pytestmark = pytest.mark.promise("Writes stay", "linked folders in the way of every
output")`; a single test can say so, too. The first part is a promise of the page, the second is what the test does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "security.md"
START, END = "<!-- promises -->\n", "<!-- end of promises -->\n"
_SECTIONS = (
    "An untrusted link to the playground",
    "An untrusted folder in an editor",
    "An untrusted agent",
    "A shared machine",
)


# What splits a page into sentences; lines of tables and headings are none.
_PARAGRAPH = re.compile(r"\n\n|\n(?=- )")
_SENTENCE = re.compile(r"(?<=[.:]) (?=[A-Z`])")


class Shown(NamedTuple):
    """A promise and the test that shows it."""

    promise: str
    what: str
    test: str


def promises(page: str) -> list[str]:
    """Return the promises of the page, in its order: paragraphs that begin in bold, and whole sections."""
    pattern = rf"^- \*\*([^*]+)\.\*\*|^## ({'|'.join(_SECTIONS)})$"
    return [first or second for first, second in re.findall(pattern, page, re.MULTILINE)]


def sentences(page: str) -> list[str]:
    """Return what the page promises, sentence by sentence: from the first section for the untrusted to the tests."""
    text = page.partition("## An untrusted repository")[2].partition("## How it is tested")[0].partition("\n")[2]
    text = re.sub(r"^(#|\|).*\n", "", text, flags=re.MULTILINE)
    paragraphs = (re.sub(r"\s+", " ", re.sub(r"^- \*\*.*?\*\* ", "", each)).strip() for each in _PARAGRAPH.split(text))
    return [sentence for each in paragraphs if each for sentence in _SENTENCE.split(each)]


def shown_by_tests() -> Iterator[Shown]:
    """Yield what the markers of all tests say."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.promise" not in text:
            continue
        name = path.relative_to(ROOT).as_posix()
        for node in ast.parse(text).body:
            test, marked = name, list[ast.expr]()
            if isinstance(node, ast.FunctionDef):
                test, marked = f"{name}::{node.name}", node.decorator_list
            elif isinstance(node, ast.Assign):
                marked = [node.value]
            for call in (each for top in marked for each in ast.walk(top) if isinstance(each, ast.Call)):
                if ast.unparse(call.func) == "pytest.mark.promise":
                    promise, what = (ast.literal_eval(argument) for argument in call.args)
                    yield Shown(promise, what, test)


def table(page: str) -> str:
    """Return the table, in the order of the page."""
    order = promises(page)
    rows = sorted(shown_by_tests(), key=lambda each: (order.index(each.promise), each.test))
    lines = [f"| {each.promise} | {each.what} | `{each.test}` |" for each in rows]
    return "\n".join(["| promise | what is tried | test |", "| --- | --- | --- |", *lines, ""])


def page_with_table(page: str) -> str:
    """Return the page with the table that the tests give."""
    before, _, rest = page.partition(START)
    return f"{before}{START}\n{table(page)}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
