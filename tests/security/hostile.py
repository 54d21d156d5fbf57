"""Strings that are more than text to a terminal, a CI service or a browser; where to put them; how to notice them."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

from workrail_lint.systems.workrail.rules.samples import step, workflow

BAD = "\x1b[31m\x07\x00\x85\x9b31m\u202e\u2066\u2028\ud800"
COMMANDS = "\n::error::boom\r\n##vso[task.setvariable variable=x]y\n  ::set-output name=a::b\n##[error]z"
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>](javascript:alert(1)) ]]> & \" ' ` | --> %0A"
HOSTILE = f"a{BAD}{COMMANDS}{MARKUP}"


def is_github(line: str) -> bool:
    return re.match(r"::(error|warning|notice) [^\n]*::", line) is not None


def acts(text: str, *, github: bool = False) -> list[str]:
    """What in a text would be more than text."""
    found = [f"{ord(c):#x}" for c in text if not c.isprintable() and c not in "\n\t"]
    for line in text.split("\n"):
        if re.search(r"##\w*\[", line):
            found.append(line)
        if line.lstrip().startswith("::") and not (github and is_github(line)):
            found.append(line)
    return found


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to every string of a document, and to every member name."""
    if isinstance(value, str):
        yield at
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*at, name))
        yield (*at, None)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*at, index))


def poisoned(document: Any, at: tuple[Any, ...], text: str = HOSTILE) -> Any:
    """The document with a hostile string in one place, or with a hostile member more."""
    if not at:
        return text
    made = copy.deepcopy(document)
    inner = made
    for name in at[:-1]:
        inner = inner[name]
    if at[-1] is None:
        inner[text] = text
    else:
        inner[at[-1]] += text
    return made


WORKFLOW = workflow(
    step("first", "Do {{goal}} now.", runCondition={"var": "x", "equals": "y"}),
    step("second", "Again.", validationCriteria=[{"type": "regex", "pattern": "(a+)+$", "message": "m"}]),
    metaGuidance=["Be kind."],
    preconditions=["There is a goal."],
)
