"""A small project for the studio's tests: every kind of block, and strings that try to break out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from workrail_lint.systems.workrail.rules.samples import controlled_loop, parallel, step, workflow

HOSTILE = '</script><img src=x onerror="document.title=0">\u202e\u2028\x1b[31m{{x}}`--><!--'


def branching() -> dict[str, Any]:
    """Two lanes, a loop, a gate, delegations."""
    return workflow(
        step("first", prompt="Set the context variable `size` to one of `small`, `large`. Use {{goal}}."),
        step("small-way", prompt="Keep it {{size}}.", runCondition={"var": "size", "equals": "small"}),
        step("large-way", prompt="Plan it.", runCondition={"var": "size", "equals": "large"}),
        controlled_loop(),
        step("sign-off", requireConfirmation={"kind": "human_approval"}),
        parallel(),
        id="demo.branching",
        name="Branching",
    )


def hostile() -> dict[str, Any]:
    """Hostile text wherever a workflow takes text, and a step that is called like a member of every object."""
    return workflow(
        step("constructor", title=HOSTILE, prompt=HOSTILE, guidance=[HOSTILE]),
        step("to-string", title="x" * 120, prompt="Look.", runCondition={"var": "size", "equals": HOSTILE}),
        id="demo.hostile",
        name=HOSTILE,
        about=HOSTILE,
    )


def phased() -> dict[str, Any]:
    """Steps that are named after phases, and some between them that are not."""
    lanes = [
        step(f"{size}-way", title=f"Phase 1b: {size}", prompt="Do it.", runCondition={"var": "size", "equals": size})
        for size in ("small", "large")
    ]
    return workflow(
        step("first", title="Phase 1a: Look", prompt="Set the context variable `size` to one of `small`, `large`."),
        *lanes,
        step("more", title="Write it down"),
        step("plan", title="Phase 2: Plan"),
        {**controlled_loop(), "title": "phase 2b"},
        step("end", title="The end of it"),
        step("last", title="Phase 3: Hand over"),
        id="demo.phased",
        name="Phased",
    )


def ordinary(number: int) -> dict[str, Any]:
    """A workflow of an ordinary size: twelve steps with prompts of two thousand characters."""
    words = f"Look at part {number} of the change and say what is wrong with it, with file and line. "
    steps = [step(f"step-{at}", prompt=f"{at}. {words}" * 24, title=f"Part {at} of {number}") for at in range(12)]
    return workflow(*steps, id=f"demo.part_{number}", name=f"Part {number}")


def write_project(folder: Path, *documents: dict[str, Any]) -> None:
    (folder / "workflows").mkdir(exist_ok=True)
    for document in documents or (branching(), hostile()):
        name = document["id"].partition(".")[2]
        (folder / "workflows" / f"{name}.json").write_text(json.dumps(document, indent=2), encoding="utf-8")
