"""Mistakes where two parts of a workflow disagree: each beside a neighbour whose parts agree."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tables
from test_mistakes import Document, asking, compare, passing, reading, titled

from workrail_lint import check_text
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, parallel, step, workflow

SIZES = "Set `boatSize` to exactly one of: small, tall, round."


def _is(value: str) -> Document:
    return {"var": "boatSize", "equals": value}


def branches(last: str, *more: Document) -> Document:
    """Return a workflow with a branch for each boat, of which the last has a condition of its own."""
    tall = step("rig-tall", title="Rig a tall boat", runCondition=_is("tall"))
    round_ = step("rig-round", title="Rig a round boat", runCondition=_is("round"))
    return workflow(step("measure", SIZES), tall, round_, step("load-round", "Load it.", runCondition=_is(last)), *more)


def fragments(second: str, condition: str = "round") -> Document:
    parts = [
        {"id": "knots-tall", "when": _is("tall"), "text": "Use a bowline."},
        {"id": second, "when": _is(condition), "text": f"Knots for {second.rpartition('-')[2]} boats."},
    ]
    return workflow(step("measure", SIZES), step("tie", promptFragments=parts))


def delegating(name: str, reads: str) -> Document:
    calls = [{"workflowId": "wr.routine-design-review", "args": {"deliverableName": name}}]
    fan_out = parallel(id="ask-all", parallelDelegations=calls, synthesis={"prompt": f"Read `{reads}` and sum it up."})
    return workflow(step("prepare"), fan_out, step("decide", f"Open `{reads}` and choose."))


def functions(prompt: str) -> Document:
    row = {"name": "sailTemplate", "definition": "Width, height."}
    return workflow(step(prompt=prompt, functionReferences=["sailTemplate()"]), functionDefinitions=[row])


def looping(body: str, decides: str) -> Document:
    loop_ = controlled_loop(step("patch", body), {**decision(), "prompt": decides})
    return workflow(step("launch", "Set `leakSeen` to true or false."), loop_)


PAIRS: list[tuple[str, Document, Document]] = [
    # a condition that was copied, although a later branch still tests the value
    ("CD061", branches("tall"), branches("round")),
    ("CD061", fragments("knots-round", "tall"), fragments("knots-round")),
    # a name under which nothing is written
    (
        "RF060",
        delegating("sails/hull-report.md", "hull-review.md"),
        delegating("sails/hull-report.md", "hull-report.md"),
    ),
    (
        "RF060",
        passing("Write the tides to `tides.csv`.", "Read ports.md, crew.md, and moon.csv."),
        passing("Write the tides to `tides.csv`.", "Read ports.md, crew.md, and tides.csv."),
    ),
    (
        "RF060",
        {**passing("Write `harbour.md`.", "Read `harbour.md`, then `crew.txt`."), "about": "It makes `harbor.md`."},
        {**passing("Write `harbour.md`.", "Read `harbour.md`, then `crew.txt`."), "about": "It makes `harbour.md`."},
    ),
    # numbers and ids of steps
    (
        "RF015",
        titled("Step 1: Caulk the Hull", "Step 2: Paint", about="Have the tar ready for **Caulk the hull (Step 2)**."),
        titled("Step 1: Caulk the Hull", "Step 2: Paint", about="Have the tar ready for **Caulk the hull (Step 1)**."),
    ),
    (
        "RF015",
        workflow(step("phase-1-caulk"), step("phase-2-paint", "Don't redo `phase-1b-scrape`.")),
        workflow(step("phase-1-caulk"), step("phase-2-paint", "Don't redo `phase-1-caulk`.")),
    ),
    (
        "RF015",
        workflow(step("caulk", "You will need the brush in step 9."), step("paint")),
        workflow(step("caulk", "You will need the brush in step 2."), step("paint")),
    ),
    (
        "RF015",
        workflow(step("caulk"), step("paint"), description="Takes only four easy steps of this workflow."),
        workflow(step("caulk"), step("paint"), description="Takes only two easy steps of this workflow."),
    ),
    # contracts
    (
        "CT012",
        asking("The artifact has the kind `wr.contracts.gate_verdict`.", "gate_verdict"),
        asking("The artifact has the kind `wr.gate_verdict`; see `wr.contracts.gate_verdict`.", "gate_verdict"),
    ),
    (
        "CT012",
        asking("Emit wr.gate_verdict for `the-mast` with `verdict` set to `approved` or `sunk`.", "gate_verdict"),
        asking("Emit wr.gate_verdict for `the-mast` with `verdict` set to `approved` or `rejected`.", "gate_verdict"),
    ),
    (
        "CT012",
        looping("Patch it.", "Say whether to sail on (`continue`) or to land (`land`) in a wr.loop_control artifact."),
        looping("Patch it.", "Say whether to sail on (`continue`) or to land (`stop`) in a wr.loop_control artifact."),
    ),
    # tools and approvals
    (
        "PR043",
        workflow(step(prompt="Hand over with the `send_step_report` tool.")),
        workflow(step(prompt="Hand over with the `send_mail_report` tool.")),
    ),
    (
        "PR039",
        titled_gate := workflow(step("launch", "Ask the owner to decide: sail or wait.", title="Approval gate")),
        workflow({**titled_gate["steps"][0], "requireConfirmation": True}),
    ),
    (
        "LC061",
        workflow(step(prompt="List what is rotten."), metricsProfile="review"),
        workflow(step(prompt="List what is rotten, and end with a verdict."), metricsProfile="review"),
    ),
    # values
    (
        "CD034",
        reading("Set `tide` to exactly one of: low, high, slack.", {"var": "tide", "equals": "low"})
        | {"steps": [
            step("look", "Set `tide` to exactly one of: low, high, slack."),
            step("wade", runCondition={"var": "tide", "equals": "low"}),
            step("row", runCondition={"or": [{"var": "tide", "equals": "high"}, {"var": "tide", "equals": "low"}]}),
        ]},
        reading("Set `tide` to exactly one of: low, high, slack.", {"var": "tide", "equals": "low"}),
    ),
    (
        "CD029",
        reading(f"{SIZES} Check that `boatSize` is set to small, wide, or round.", _is("tall")),
        reading(f"{SIZES} Check that `boatSize` is set to small, tall, or round.", _is("tall")),
    ),
    (
        "CD028",
        reading("Store a context variable called windForce with the value calm, fresh or stormy.",
                {"var": "windForce", "equals": "windy"}),
        reading("Store a context variable called windForce with the value calm, fresh or stormy.",
                {"var": "windForce", "equals": "fresh"}),
    ),
    (
        "CD030",
        reading("Set `planTrust`: Low / Medium / High confidence band.", {"var": "planTrust", "gte": 2}),
        reading("Set `planTrust`: Low / Medium / High confidence band.", {"var": "planTrust", "equals": "High"}),
    ),
    # variables that only prompts test
    (
        "CD023",
        looping("Patch it. Set `hullLeaksLeft` to true or false.", "Continue if `hullLeaksOpen = true`, else stop."),
        looping("Patch it. Set `hullLeaksLeft` to true or false.", "Continue if `hullLeaksLeft = true`, else stop."),
    ),
    (
        "CD060",
        looping("Patch it. Increment `patchCount` by 1.", "Stop when `patchCount >= 3`, else continue."),
        looping("Set `patchCount` to 0 in the first round. Increment `patchCount` by 1.",
                "Stop when `patchCount >= 3`, else continue."),
    ),
    # sentences
    ("FN009", functions("Describe the sail in the shape `ropeTemplate`."), functions("Describe it as `sailTemplate`.")),
    (
        "PR065",
        workflow(step(prompt="Never write to the log of the ship.\n- Write to the log of the ship what you see.")),
        workflow(step(prompt="Never write to the log of the ship.\n- If it sinks, write to the log of the ship why.")),
    ),
    (
        "PR066",
        workflow(step(prompt="Answer 4 questions:\n1. Who?\n2. Where?\n   - Port?\n3. When?\n\nThen sail.")),
        workflow(step(prompt="Answer up to 4 questions:\n1. Who?\n2. Where?\n   - Port?\n3. When?\n\nThen sail.")),
    ),
    (
        "PR066",
        workflow(step(prompt="Five sections only:\n\n**Bow** - front\n\n**Keel** - under\n\n**Stern** - back")),
        workflow(step(prompt="Three sections only:\n\n**Bow** - front\n\n**Keel** - under\n\n**Stern** - back")),
    ),
]  # fmt: skip


@tables.for_each("row", PAIRS, key=lambda row: f"{row[0]} {PAIRS.index(row)}")
def test_parts_that_disagree(row: tuple[str, Document, Document]) -> None:
    compare(*row)


def _severities(code: str, document: Document) -> list[Severity]:
    findings = check_text(json.dumps(document), "example.json").findings
    return [finding.severity for finding in findings if finding.code == code]


def test_what_only_may_be_a_mistake_is_advice() -> None:
    together: list[dict[str, Any]] = [
        {"id": "first-part", "when": _is("tall"), "text": "Use a bowline."},
        {"id": "second-part", "when": _is("tall"), "text": "Check it twice."},
    ]
    assert _severities("CD061", workflow(step("measure", SIZES), step("tie", promptFragments=together))) == [
        Severity.INFO
    ]
    graded = workflow(step(prompt="List what is rotten, and approve or reject the boat."), metricsProfile="review")
    assert _severities("LC061", graded) == [Severity.INFO]


@pytest.mark.parametrize("place", ["prompt", "before"])
def test_a_step_that_is_skipped_does_not_set_its_own_variable(place: str) -> None:
    note = "Run this only while `tideLow` is true."
    condition = {"var": "tideLow", "equals": True}
    skipped = step("wade", note if place == "prompt" else "Wade.", runCondition=condition)
    document = workflow(step("look", "Look." if place == "prompt" else note), skipped, step("report"))
    # What the agent read before may have set it.
    assert _severities("CD023", document) == [Severity.WARNING if place == "prompt" else Severity.INFO]
