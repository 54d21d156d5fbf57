"""The table of agents in the docs, made from the plans of scenario files: `python -m tools.agent_table`."""

from __future__ import annotations

import re
from typing import Any, get_args

from workrail_lint.base.files import write_atomically
from workrail_lint.systems.workrail import scenario

PAGE = "docs/testing-workflows.md"
_TABLE = re.compile(r"(?<=\| `agent\.kind` \| behaviour \|\n\| --- \| --- \|\n)(\|.*\n)+")


def plans() -> dict[str, type[Any]]:
    """Return the class that describes each agent in a scenario file, by the word that names the agent."""
    union, *_ = get_args(scenario.Agent.__value__)
    return {tag.tag: plan for plan, tag in map(get_args, get_args(union))}


def with_table(page: str) -> str:
    """Return the page with the table that follows from the plans."""
    rows = [f"| `{kind}` | {' '.join((plan.__doc__ or '').split())} |\n" for kind, plan in plans().items()]
    return _TABLE.sub(lambda _: "".join(rows), page, count=1)


if __name__ == "__main__":
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    write_atomically(PAGE, with_table(text).encode(), "docs")
