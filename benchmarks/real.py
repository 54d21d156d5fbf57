"""Workflows as people write them, made by the frequencies of public ones: sizes, members, what is wrong with them.

Nothing is copied: the words are ours, the numbers (how many steps, how long a prompt, how often a member is there) are
those of 34 public workflows. A few findings each, as the public ones have.
"""

from __future__ import annotations

import json
import random
from typing import Any

_VERBS = [
    "Read",
    "Compare",
    "Summarise",
    "List",
    "Check",
    "Explain",
    "Draft",
    "Rank",
    "Question",
    "Confirm",
    "Sketch",
    "Measure",
    "Group",
    "Describe",
    "Trace",
]
_THINGS = [
    "the change",
    "every affected module",
    "the failing tests",
    "open questions",
    "the design notes",
    "the riskiest assumption",
    "each public function",
    "the error messages",
    "what users see",
    "the data model",
    "the plan so far",
    "the acceptance criteria",
]
_ENDS = [
    "and write down what you find",
    "before anything else",
    "and say how you know",
    "in a short list",
    "with one example for each",
    "so that a reviewer can follow",
    "and name the files",
    "without guessing",
    "and keep what surprised you",
    "in plain words",
]
_VARIABLES = ("riskLevel", "reviewMode", "openQuestions", "planReady", "confidence", "taskComplexity", "findingsCount")
# What a part of the public workflows says, and a rule finds.
_ODD = (
    "If the plan is not ready, go back to step 2.",
    "Never continue without telling the user what you did.",
    "Use workflow_next to get the following step.",
    "Wait for the user to confirm before you go on.",
    "TODO: add the list of checks.",
    "Set `riskLevel` to one of low, medium or high.",
    "Record `reviewMode` as `deep` or `quick`.",
    "Repeat the steps until nothing new turns up.",
)
# Lengths in eighths of the distribution, lowest to highest.
_PROMPT_CHARS = (337, 402, 558, 701, 877, 1007, 1485, 2600)
_STEPS = (3, 5, 5, 5, 6, 8, 11, 24)
_ITEM_CHARS = (30, 40, 60, 80, 100, 120, 140, 160)  # a sentence longer than that is added whole


class Author:
    """Writes workflows; the same seed writes the same ones."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)

    def _some(self, share: float) -> bool:
        return self._random.random() < share

    def sentence(self) -> str:
        pick = self._random.choice
        if self._some(0.012):
            return pick(_ODD)
        text = f"{pick(_VERBS)} {pick(_THINGS)} {pick(_ENDS)}"
        return f"{text}, and note it in `{pick(_VARIABLES)}`." if self._some(0.05) else f"{text}."

    def prose(self, length: int) -> str:
        lines: list[str] = []
        size = 0
        while size < length:
            line = self.sentence()
            lines.append(f"- {line}" if self._some(0.3) else line)
            size += len(line) + 1
        return "\n".join(lines)

    def items(self, count: int) -> list[str]:
        return [self.prose(self._random.choice(_ITEM_CHARS)).replace("\n", " ") for _ in range(count)]

    def condition(self) -> dict[str, Any]:
        name = self._random.choice(_VARIABLES)
        one: dict[str, Any] = {"var": name, "equals": self._random.choice(("low", "high", "deep", True))}
        return {"and": [one, {"var": "planReady", "not_equals": False}]} if self._some(0.2) else one

    def step(self, ident: str) -> dict[str, Any]:
        step: dict[str, Any] = {"id": ident, "title": self.sentence()[:60].rstrip(" .")}
        if self._some(0.37):
            step["promptBlocks"] = {
                "goal": self.sentence(),
                "constraints": self.items(3),
                "procedure": self.items(5),
                "verify": self.items(3),
            }
        else:
            step["prompt"] = self.prose(self._random.choice(_PROMPT_CHARS))
        if self._some(0.34):
            step["agentRole"] = self.sentence()
        if self._some(0.3):
            step["runCondition"] = self.condition()
        if self._some(0.21):
            step["guidance"] = self.items(2)
        if self._some(0.78):
            step["requireConfirmation"] = self._random.choice((True, False, False))
        if self._some(0.09):
            step["promptFragments"] = [{"id": "deep", "when": self.condition(), "text": self.sentence()}]
        return step

    def loop(self, ident: str) -> dict[str, Any]:
        body = [self.step(f"{ident}-{number}") for number in range(2)]
        body[-1] = {
            "id": f"{ident}-decide",
            "title": "Decide",
            "prompt": "Decide whether another round is worth it.",
            "outputContract": {"contractRef": "wr.contracts.loop_control"},
        }
        source = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": ident}
        loop = {"type": "while", "conditionSource": source, "maxIterations": 5}
        return {"id": ident, "type": "loop", "title": "Rounds", "loop": loop, "body": body}

    def workflow(self, ident: str, steps: int | None = None) -> dict[str, Any]:
        count = steps or self._random.choice(_STEPS)
        document: dict[str, Any] = {
            "id": ident,
            "name": self.sentence()[:50].rstrip(" ."),
            "description": self.prose(150),
            "version": "1.0.0",
        }
        if self._some(0.85):
            document["metricsProfile"] = "none"
        for member, share, number in (("metaGuidance", 0.74, 6), ("preconditions", 0.71, 3)):
            if self._some(share):
                document[member] = list(dict.fromkeys(self.items(number)))
        if self._some(0.44):
            document["examples"] = ["Go through the change in this branch"]
        if self._some(0.41):
            document["about"] = self.prose(400)
        names = [f"step-{number:03}" for number in range(count)]
        document["steps"] = [self.loop(name) if self._some(0.05) else self.step(name) for name in names]
        return document

    def text(self, ident: str, steps: int | None = None) -> str:
        return json.dumps(self.workflow(ident, steps), indent=2, ensure_ascii=False) + "\n"


def rich_workflow(size: int, *, flawed: bool = False) -> str:
    """About `size` bytes with the members that public workflows have: conditions, fragments, blocks, a loop.

    There is nothing to say about it; `flawed`, it has what the linter finds in most public ones.
    """
    odd = _ODD if flawed else ()
    first = {
        "id": "classify",
        "title": "Classify the change",
        "prompt": "Read the change and set the context variable `riskLevel` to `low` or `high`. Say how you know.",
        "requireConfirmation": False,
    }
    steps: list[dict[str, Any]] = [first]
    document: dict[str, Any] = {
        "id": "demo.rich",
        "name": "Rich workflow",
        "description": "Goes through a change part by part, deeper where the risk is high.",
        "version": "1.0.0",
        "validatedAgainstSpecVersion": 3,
        "about": "Has the members that public workflows have.",
        "examples": ["Go through the change in this branch"],
        "preconditions": ["The change is on a branch."],
        "metricsProfile": "none",
        "steps": steps,
    }
    if flawed:
        document["metaGuidance"] = ["Stay calm."]
    while len(text := json.dumps(document, indent=2) + "\n") < size:
        number = len(steps)
        part = f"part {number} of the change"
        step: dict[str, Any] = {"id": f"part-{number:03}", "title": f"Look at part {number}"}
        if number % 8 == 4:
            steps.append(_review_loop(f"review-{number:03}", part))
            continue
        said = [odd[number // 3 % len(odd)]] if odd and number % 3 == 0 else []
        if number % 3 == 1:
            items = [f"{verb} {part} {end}." for verb, end in zip(_VERBS[:8], _ENDS, strict=False)]
            goal = f"Know what {part} does."
            blocks = {"goal": goal, "constraints": items[:2], "procedure": items[2:6] + said, "verify": items[6:]}
            step["promptBlocks"] = blocks
        else:
            lines = [
                f"{verb} {thing} in {part}, {end}." for verb, thing, end in zip(_VERBS, _THINGS, _ENDS, strict=False)
            ]
            step["prompt"] = "\n".join([*lines, *said])
        if number % 3 == 2:
            step["runCondition"] = {"var": "riskLevel", "equals": "high"}
            step["agentRole"] = "You are a careful reviewer."
        elif number % 5 == 0:
            deeper = {"var": "riskLevel", "equals": "high"}
            step["promptFragments"] = [{"id": "deep", "when": deeper, "text": f"Read every line of {part} twice."}]
        step["requireConfirmation"] = False
        steps.append(step)
    return text


def _review_loop(ident: str, part: str) -> dict[str, Any]:
    contract = "wr.contracts.loop_control"
    decide = {
        "id": f"{ident}-decide",
        "title": "Decide",
        "prompt": f"Submit a `wr.loop_control` artifact that says `continue` or `stop` for {part}.",
        "outputContract": {"contractRef": contract},
    }
    look = {"id": f"{ident}-look", "title": "Look again", "prompt": f"Look for what was missed in {part}."}
    source = {"kind": "artifact_contract", "contractRef": contract, "loopId": ident}
    loop = {"type": "while", "conditionSource": source, "maxIterations": 3}
    return {"id": ident, "type": "loop", "title": f"Review {part}", "loop": loop, "body": [look, decide]}
