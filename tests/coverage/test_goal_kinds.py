"""Every kind of goal has an example workflow, goals in it, runs that reach them, words and a line in the docs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from covered import loop, step, workflow

from pytest_workrail import api
from pytest_workrail.coverage.goals import KINDS, goals, kind_named
from pytest_workrail.coverage.points import Evidence, GoalKind, Site
from pytest_workrail.coverage.reach import REFUSALS
from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.explore.guide import Guide
from pytest_workrail.explore.runs import plans_for
from workrail_lint.systems.workrail.model.build import program_model

DOCS = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"
LARGE, SMALL = {"var": "size", "equals": "large"}, {"var": "size", "equals": "small"}
TWO = {"and": [LARGE, {"var": "risk", "equals": "high"}]}
ASSESSED: dict[str, Any] = {
    "assessments": [
        {
            "id": "quality",
            "purpose": "How good it is.",
            "dimensions": [
                {"id": "depth", "purpose": "How deep.", "levels": ["low", "high"]},
                {"id": "width", "purpose": "How wide.", "levels": ["low", "high"]},
            ],
        }
    ]
}
CONSEQUENCE = {"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "Look again."}}
JUDGED = step("judge", assessmentRefs=["quality"], assessmentConsequences=[CONSEQUENCE])
# A workflow for each kind, and one goal of it.
EXAMPLES: dict[str, tuple[dict[str, Any], str]] = {
    "step": (workflow(step("plan")), "step:plan:done"),
    "condition": (workflow(step("plan"), step("ship", runCondition=LARGE)), "condition:ship:true"),
    "loop": (workflow(loop("each", [step("work")], type="for", count=2)), "loop:each:many"),
    "fragment": (
        workflow(step("plan", promptFragments=[{"id": "extra", "when": LARGE, "text": "Look twice."}])),
        "fragment:plan#extra:shown",
    ),
    "gate": (workflow(step("ship", requireConfirmation=True)), "gate:ship:asked"),
    "level": (workflow(JUDGED, **ASSESSED), "level:judge#quality.depth:high"),
    "consequence": (workflow(JUDGED, **ASSESSED), "consequence:judge:low"),
    "blocker": (
        workflow(step("verdict", outputContract={"contractRef": "wr.contracts.gate_verdict"})),
        "blocker:verdict:MISSING_REQUIRED_OUTPUT",
    ),
    "contract": (
        workflow(step("verdict", outputContract={"contractRef": "wr.contracts.gate_verdict"})),
        "contract:verdict:wr.contracts.gate_verdict",
    ),
    "gap": (
        workflow(step("verdict", outputContract={"contractRef": "wr.contracts.gate_verdict"})),
        "gap:verdict:missing_required_output",
    ),
    "decides": (workflow(step("plan"), step("ship", runCondition=TWO)), "decides:ship:/and/0 true"),
    "order": (
        workflow(step("plan"), step("ship", runCondition=LARGE), step("tell", runCondition=LARGE)),
        "order:ship:tell",
    ),
    "left-out": (workflow(JUDGED, **ASSESSED), "left-out:judge#quality.width:accepted or refused"),
}


def test_every_kind_has_an_example() -> None:
    assert [kind.name for kind in KINDS if kind.name not in EXAMPLES] == []
    assert [name for name in EXAMPLES if name not in {kind.name for kind in KINDS}] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_runs_reach_every_goal_of_the_example(name: str) -> None:
    source, expected = EXAMPLES[name]
    ir, kind = api.compile(source).ir, kind_named(name)
    own = [point for point in goals(program_model(ir), PROFILES["reference"], strong=True) if point.kind is kind]
    assert expected in [point.name for point in own]
    weak = [point for point in goals(program_model(ir), PROFILES["reference"]) if point.kind is kind]
    assert weak == ([] if kind.is_strong else own)
    guide = Guide(ir, "reference")
    plans = plans_for(guide)
    shown = frozenset().union(*(plan.points for plan in plans))
    assert [point.name for point in own if point not in shown] == []


def test_every_kind_has_words() -> None:
    wrong = [kind.name for kind in KINDS if not (kind.noun and kind.plural) or kind.noun == kind.plural]
    assert wrong == []
    assert kind_named("loop").title(1) == "1 end of a loop"
    assert kind_named("loop").title(3) == "3 ends of loops"
    assert len({kind.name for kind in KINDS}) == len({kind.noun for kind in KINDS}) == len(KINDS)


def test_every_kind_is_in_the_docs() -> None:
    page = DOCS.read_text(encoding="utf-8")
    assert [kind.name for kind in KINDS if f"| `{kind.name}` |" not in page] == []


def test_every_kind_reads_sites_and_evidence_and_none_is_without_a_kind() -> None:
    assert [kind.name for kind in KINDS if not kind.sites or not kind.evidence] == []
    assert {site for kind in KINDS for site in kind.sites} == set(get_args(Site))
    assert {each for kind in KINDS for each in kind.evidence} == set(get_args(Evidence))
    undefined = [f"{kind.name}.{name}" for kind in KINDS for name in ("goals", "observed") if name not in vars(kind)]
    assert undefined == []


def test_kinds_are_all_the_subclasses() -> None:
    assert list(KINDS) == GoalKind.__subclasses__()


# Asks for everything that a submission can be refused for.
REFUSING = workflow(
    step("tell", notesOptional=False),
    step("verdict", outputContract={"contractRef": "wr.contracts.gate_verdict"}),
    JUDGED,
    loop("each", [step("work")], type="while", condition={"var": "more", "equals": True}),
    step("ship", requireConfirmation=True),
    capabilities={"web_browsing": "required"},
    **ASSESSED,
)


def test_a_generated_run_meets_every_refusal_that_an_answer_brings_about() -> None:
    """A blocker without an answer that brings it about would be a goal that no generated scenario reaches."""
    ir = api.compile(REFUSING).ir
    asked_for = set()
    for name, profile in PROFILES.items():
        own = [point for point in goals(program_model(ir), profile) if point.kind.name == "blocker"]
        shown = frozenset().union(*(plan.points for plan in plans_for(Guide(ir, name))))
        missing = [point.name for point in own if point not in shown]
        assert missing == [], "write a behaviour that brings it about, and list it in `explore/answers.py`"
        asked_for |= {point.case for point in own}
    assert set(REFUSALS) - asked_for == set(), "add a step to this workflow that asks for it"
