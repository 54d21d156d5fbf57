"""The onboarding step: how to work with these tools, put in front of a workflow when a host asks for it."""

from __future__ import annotations

from typing import Any

STEP_ID = "wr-system-onboarding"
TITLE = "WorkRail Protocol Instructions"
_PROMPT = """\
You are working through a workflow, one step at a time. These rules hold for all of it:

1. Do the pending step and nothing else. What comes next depends on what you submit.
2. Submit a step with continue_workflow: the token of the last response, and in `output` the notes and artifacts \
the step asks for. When a step asks for neither, say `intent: "advance"`. A call with nothing but a token only shows \
the step again.
3. A blocked response says what is missing. Correct it and use the retry token of that response; the token you used \
before gives you the same answer again.
4. Put values that later steps need into `context`. A null removes one.
5. Tokens are opaque. Copy them exactly as they are.
6. If you lose track, call continue_workflow with your last token and `intent: "rehydrate"`.

Submit this step to begin."""


def with_onboarding(ir: dict[str, Any], *, title: str = TITLE, prompt: str = _PROMPT) -> dict[str, Any]:
    """The workflow with the onboarding step before its first own step. It is part of the hash.

    A run of another engine brings the words of its own step.
    """
    steps: list[dict[str, Any]] = ir["steps"]
    # Probes of required capabilities come before whatever the author wrote, and this counts as written.
    place = next((at for at, step in enumerate(steps) if step["provenance"]["source"] != "feature"), len(steps))
    return {**ir, "steps": [*steps[:place], _step(title, prompt), *steps[place:]]}


def _step(title: str, prompt: str) -> dict[str, Any]:
    return {
        "id": STEP_ID,
        "title": title,
        "type": "step",
        "prompt": prompt,
        "confirmation": {"kind": "never"},
        "notes": "optional",
        "guidance": [],
        "output": {},
        "fragments": [],
        "functions": [],
        "functionCalls": [],
        "functionReferences": [],
        "provenance": {"source": "authored", "injected": []},
    }
