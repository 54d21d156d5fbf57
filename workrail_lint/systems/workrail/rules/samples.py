"""Small documents for the examples of rules: a valid workflow, and variations of it."""

from __future__ import annotations

from typing import Any


def workflow(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a workflow with the given steps (one plain step when there are none) and top-level members.

    A member set to `...` is left out.
    """
    from workrail_lint.rules.example_files import COMMON  # here, because rules run without their examples

    document: dict[str, Any] = {
        "id": "demo.example",
        **COMMON,
        **members,
        "steps": list(steps) or [step()],
    }
    return {name: value for name, value in document.items() if value is not ...}


def step(ident: str = "first-step", prompt: str | None = "Describe what you see.", **members: Any) -> dict[str, Any]:
    """Return a standard step; without a prompt when `prompt` is None."""
    written: dict[str, Any] = {"id": ident, "title": "A step"}
    if prompt is not None:
        written["prompt"] = prompt
    written.update(members)
    return {name: value for name, value in written.items() if value is not ...}


def loop(*body: dict[str, Any], ident: str = "again", **config: Any) -> dict[str, Any]:
    """Return a loop that runs its body twice, unless the configuration says otherwise."""
    settings: dict[str, Any] = {"type": "for", "count": 2, "maxIterations": 2, **config}
    return {
        "id": ident,
        "type": "loop",
        "title": "A loop",
        "loop": {name: value for name, value in settings.items() if value is not ...},
        "body": list(body) or [step("inner-step")],
    }


def decision(ident: str = "decide", **members: Any) -> dict[str, Any]:
    """Return the step of a loop body that decides whether the loop continues."""
    return step(
        ident,
        "Submit a wr.loop_control artifact: decision continue while findings are open, stop when none is left.",
        outputContract={"contractRef": "wr.contracts.loop_control"},
        **members,
    )


def controlled_loop(*body: dict[str, Any], ident: str = "again", **config: Any) -> dict[str, Any]:
    """Return a while loop that an artifact decides."""
    source = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": ident}
    settings = {"type": "while", "count": ..., "conditionSource": source, "maxIterations": 3, **config}
    return loop(*(body or (step("inner-step"), decision())), ident=ident, **settings)


def parallel(ident: str = "fan-out", **members: Any) -> dict[str, Any]:
    """Return a parallel step with two delegations and a synthesis."""
    written = {
        "id": ident,
        "type": "parallel",
        "title": "Fan out",
        "parallelDelegations": [{"workflowId": "demo.left"}, {"workflowId": "demo.right"}],
        "synthesis": {"prompt": "Merge the two reports into one."},
        **members,
    }
    return {name: value for name, value in written.items() if value is not ...}
