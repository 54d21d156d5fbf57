"""The examples of the authoring guide: whole workflows, parts of one, wrong ones and artifacts.

A fenced block of JSON is one of these:

- `file=workflows/x.json`: a whole workflow; other files are what it needs (routines, bindings, scenarios).
- `as=workflow`: a part of one. What it leaves out is what every workflow has: `COMMON`.
- `finds=CODE`: a part in which `check` finds this, and nothing else that is an error or a warning.
- `artifact=CONTRACT`: what an agent submits for this contract.
- `add=POINTER`: what the tutorial adds to its workflow, as in JSON Patch: a number or `-` inserts into a list.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from doc_blocks import Block, blocks

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "authoring"
PAGES = [*sorted(GUIDE.glob("*.md")), GUIDE / "llms.txt"]
COMMON = {
    "id": "project.example",
    "name": "Example",
    "description": "Shows one thing.",
    "version": "1.0.0",
    "validatedAgainstSpecVersion": 3,
    "about": "An example of the authoring guide.",
    "examples": ["Show me how this works"],
}


class Example(NamedTuple):
    """A block with the page it is on, and the files that are there when it is read."""

    page: Path
    block: Block
    files: dict[str, str]

    def __str__(self) -> str:
        return f"{self.page.stem}:{self.block.line}"

    @property
    def value(self) -> Any:
        return json.loads(self.block.body)

    @property
    def workflow(self) -> dict[str, Any]:
        """The whole workflow."""
        return {**COMMON, **self.value}


def examples(page: Path) -> list[Example]:
    found: list[Example] = []
    files: dict[str, str] = {}
    for block in blocks(page.read_text(encoding="utf-8")):
        name = block.attributes.get("file")
        if name is not None:
            files[name] = block.body
        if block.language == "json":
            found.append(Example(page, block, dict(files)))
    return found


def added(workflow: dict[str, Any], pointer: str, value: Any) -> None:
    """Put a value at a place of a workflow."""
    *parents, last = pointer.removeprefix("/").split("/")
    target: Any = workflow
    for name in parents:
        target = target[int(name) if isinstance(target, list) else name]
    if isinstance(target, list):
        target.insert(len(target) if last == "-" else int(last), value)
    else:
        target[last] = value
