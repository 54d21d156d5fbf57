"""Every edit of the zoo in words, and which changes of goldens it explains, as kept in `expected/edits.txt`.

python tests/golden/test_golden_edit_outputs.py     # writes it anew
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parents[1])]

from zoo import ZOO

from pytest_workrail.explore.mutation_operators import mutants
from pytest_workrail.golden.diff import CauseKey, Difference, Group
from pytest_workrail.golden.edits import Explained, edits_of
from workrail_lint.base.canonical import digest
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.diff import Outline, digested, outline

FILE = Path(__file__).parent / "expected" / "edits.txt"
LARGE = {"var": "size", "equals": "large"}
WORDS = "Do {{thing}} now and report."
# What a member of a step becomes, and what it was: None is absent.
MEMBERS: tuple[tuple[str, Any, Any], ...] = (
    ("title", "Begin", "Start"),
    ("title", None, "Start"),
    ("agentRole", "a", "b"),
    ("agentRole", None, "b"),
    ("agentRole", "a", None),
    ("runCondition", None, LARGE),
    ("runCondition", LARGE, None),
    ("runCondition", LARGE, {"and": [LARGE, *[{"var": f"variable{number}"} for number in range(9)]]}),
    *(
        ("confirmation", before, after)
        for before, after in product(
            (
                {"kind": "never"},
                {"kind": "always", "gate": "human_approval", "explicit": True},
                {"kind": "always", "gate": "coordinator_eval", "explicit": True},
                {"kind": "always", "gate": "coordinator_eval", "explicit": False},
                {"kind": "condition", "gate": "human_approval", "condition": LARGE, "explicit": True},
                "unknown",
            ),
            repeat=2,
        )
        if before != after
    ),
    *(
        ("prompt", WORDS, after)
        for after in (
            "Do {{thing}} later and report.",
            "Do {{other}} now and report.",
            "Do {{thing}} now and then report.",
            "Do {{thing}} and report.",
            "Do {{thing}} later and tell.",
            "Do {{thing}} later on and report.",
            "Do {{thing}} now, later, and report all.",
            f"Do {{{{thing}}}} {'x' * 30} and report.",
            f"Do {{{{thing}}}} {'x' * 31} and report.",
            "Do {{thing}}\nnow and report.",
            f"{WORDS} {'More and more. ' * 20}",
            None,
        )
    ),
    ("output.criteria", {"type": "contains", "value": "a"}, {"type": "contains", "value": "b"}),
    ("output.contract", {"ref": "wr.contracts.a"}, {"ref": "wr.contracts.b", "required": False}),
    ("output.assessments", None, {"refs": ["a"]}),
    ("fragments", [{"id": "a"}], [{"id": "b"}]),
)
# How the step after the first, and the first loop, can come, go and move.
ORDERS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "the first gone": lambda steps: steps[1:],
    "the second gone": lambda steps: [steps[0], *steps[2:]],
    "the last gone": lambda steps: steps[:-1],
    "the last first": lambda steps: [steps[-1], *steps[:-1]],
    "the first last": lambda steps: [*steps[1:], steps[0]],
    "the second last": lambda steps: [steps[0], *steps[2:], steps[1]],
    "the second renamed": lambda steps: [steps[0], {**steps[1], "id": "renamed"}, *steps[2:]],
    "the second renamed and changed": lambda steps: [steps[0], {**steps[1], "id": "new", "title": "New"}, *steps[2:]],
    "the second's body turned round": lambda steps: [
        steps[0],
        {**steps[1], "body": steps[1].get("body", [])[::-1]},
        *steps[2:],
    ],
    "the second's body gone": lambda steps: [steps[0], {**steps[1], "body": []}, *steps[2:]],
}
FIELDS = ("", "prompt", "pending/prompt", "pending/title", "notes")


def changed_irs() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield the name of a change, and an IR before and after it."""
    for name, source in ZOO.items():
        made = compile_workflow(source)
        assert isinstance(made, Ok), made.error
        ir = made.value.ir
        for operator, mutant in {mutant.operator: mutant for mutant in mutants(ir)}.items():
            yield f"{name} {operator}", ir, mutant.apply(ir)
            yield f"{name} {operator} undone", mutant.apply(ir), ir
        for order, apply in ORDERS.items():
            yield f"{name} {order}", ir, {**ir, "steps": apply(ir["steps"])}
            yield f"{name} {order} undone", {**ir, "steps": apply(ir["steps"])}, ir
        contracts = [{**pack, "schema": {**pack["schema"], "title": "Changed"}} for pack in ir["contracts"]]
        yield f"{name} contracts", ir, {**ir, "contracts": contracts}
    for number, (member, *values) in enumerate(MEMBERS):
        before, after = (_with(ir, member, value) for value in values)
        yield f"{name} {member} {number}", before, after


def _with(ir: dict[str, Any], member: str, value: Any) -> dict[str, Any]:
    """Return an IR with a member in a step within a loop."""
    changed = copy.deepcopy(ir)
    step = changed["steps"][0]["body"][1]
    *above, last = member.split(".")
    for name in above:
        step = step.setdefault(name, {})
    step[last] = value
    if value is None:
        del step[last]
    return changed


def groups(name: str, old: Outline, new: Outline) -> Iterator[Group]:
    """Yield a change of goldens of every sort, at steps that an edit can be about and at others."""
    ids = [step.id for step in (*old.steps, *new.steps)]
    steps = ["", *dict.fromkeys([*ids[:4], ids[-1], "renamed", "close", "second"])]
    for number, (step, field, change, sort) in enumerate(
        product(steps, FIELDS, ("added", "removed", "changed"), ("turn", "answer"))
    ):
        values: tuple[Any, Any] = ({"stepId": ids[1]}, {"stepId": "renamed"})
        if field.endswith("prompt"):
            values = ("Do now.", "Do later.") if number % 2 else ("Do this now.", "Do this then.")
        difference = Difference(change, sort, step, field, "", *values)  # type: ignore[arg-type]
        goldens = [["a"], ["b"], ["a", "b"]][number % 3]
        yield Group(CauseKey(name if number % 7 else "other", change, step, field, ""), difference, goldens)


def lines() -> Iterator[str]:
    """Yield the edits of every change, and a digest of what each of them explains; once as a lockfile keeps them."""
    for name, before, after in changed_irs():
        old, new = outline(before), outline(after)
        for form, pair in (("", (old, new)), (" (locked)", (digested(old), digested(new)))):
            answer = Explained(groups("zoo", old, new), {"zoo": pair}, "HEAD")
            explained = digest(json.dumps(answer.to_json()).encode())[7:15]
            yield f"{name}{form}: {explained}"
            yield from (f"  {edit.id} {edit.kind} {edit.facet}: {edit.title}" for edit in edits_of("zoo", *pair))


def test_edits_and_what_they_explain_are_as_expected() -> None:
    expected = FILE.read_text(encoding="utf-8").splitlines()
    found = list(lines())
    assert [line for line in found if line not in expected] == []
    assert len(found) == len(expected)


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
