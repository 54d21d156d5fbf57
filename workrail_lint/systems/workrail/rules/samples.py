"""Small documents for the examples of rules: fragments that are completed, and builders where these are shorter.

Everywhere a member set to `...` is left out.
"""

from __future__ import annotations

from typing import Any

from workrail_lint.rules.example_files import COMMON
from workrail_lint.systems.workrail.model.workflow import Workflow

Fragment = dict[str, Any]

_STEP: Fragment = {"id": "first-step", "title": "A step", "prompt": "Describe what you see."}
_BODY: list[Fragment] = [{"id": "inner-step"}]
_LOOP: Fragment = {
    "id": "again",
    "type": "loop",
    "title": "A loop",
    "loop": {"type": "for", "count": 2, "maxIterations": 2},
    "body": _BODY,
}
_PARALLEL: Fragment = {
    "id": "fan-out",
    "type": "parallel",
    "title": "Fan out",
    "parallelDelegations": [{"workflowId": "demo.left"}, {"workflowId": "demo.right"}],
    "synthesis": {"prompt": "Merge the two reports into one."},
}


def completed(fragment: Any) -> Any:
    """Return the document that a fragment stands for.

    A fragment is a workflow, or one step of it: it has a member that no workflow has. Members that every workflow or
    step has and that do not matter are added.
    """
    if not isinstance(fragment, dict):
        return fragment
    is_workflow = "steps" in fragment or fragment.keys() <= Workflow.leaves.keys() | Workflow.parts.keys()
    members = {"steps": [{}], **fragment} if is_workflow else {"steps": [fragment]}
    steps = members.pop("steps")
    return {**workflow(**members), "steps": [_completed_step(each) for each in steps]}


def _completed_step(fragment: Any, usual: Fragment = _STEP) -> Any:
    if not isinstance(fragment, dict):
        return fragment
    kind = fragment.get("type")
    if "loop" in fragment or kind == "loop":
        usual = _LOOP
    elif "parallelDelegations" in fragment or kind == "parallel":
        usual = _PARALLEL
    elif "promptBlocks" in fragment or "templateCall" in fragment:
        usual = {"id": usual["id"], "title": usual["title"]}
    members = _written({**usual, **fragment})
    if isinstance(members.get("body"), list):
        members["body"] = [_completed_step(each, {**_STEP, "id": "inner-step"}) for each in members["body"]]
    return members


def _written(members: Fragment) -> Fragment:
    return {name: value for name, value in members.items() if value is not ...}


def workflow(*steps: Fragment, **members: Any) -> Fragment:
    """Return a workflow with the given steps (one plain step when there are none) and top-level members."""
    return _written({"id": "demo.example", **COMMON, **members, "steps": list(steps) or [step()]})


def step(ident: str = "first-step", prompt: str | None = "Describe what you see.", **members: Any) -> Fragment:
    """Return a standard step; without a prompt when `prompt` is None."""
    return _written({"id": ident, "title": "A step", "prompt": ... if prompt is None else prompt, **members})


def loop(*body: Fragment, ident: str = "again", **config: Any) -> Fragment:
    """Return a loop that runs its body twice, unless the configuration says otherwise."""
    settings = _written({**_LOOP["loop"], **config})
    return {**_LOOP, "id": ident, "loop": settings, "body": list(body) or [step("inner-step")]}


def decision(ident: str = "decide", **members: Any) -> Fragment:
    """Return the step of a loop body that decides whether the loop continues."""
    return step(
        ident,
        "Submit a wr.loop_control artifact: decision continue while findings are open, stop when none is left.",
        outputContract={"contractRef": "wr.contracts.loop_control"},
        **members,
    )


def controlled_loop(*body: Fragment, ident: str = "again", **config: Any) -> Fragment:
    """Return a while loop that an artifact decides."""
    source = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": ident}
    settings = {"type": "while", "count": ..., "conditionSource": source, "maxIterations": 3, **config}
    return loop(*(body or (step("inner-step"), decision())), ident=ident, **settings)


def parallel(ident: str = "fan-out", **members: Any) -> Fragment:
    """Return a parallel step with two delegations and a synthesis."""
    return _written({**_PARALLEL, "id": ident, **members})
