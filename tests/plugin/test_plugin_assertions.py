"""A failed assertion about a run shows why: how it ended, its blockers, its last turns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from plugin_project import Project

from pytest_workrail.api import run, stubborn
from pytest_workrail.run.result import Run

WORKFLOW = {
    "id": "demo.two",
    "name": "Two",
    "description": "Two steps.",
    "version": "1.0.0",
    "steps": [
        {"id": "plan", "title": "Plan", "prompt": "Plan it."},
        {"id": "ship", "title": "Ship", "prompt": "Ship it."},
    ],
}
DOCS = Path(__file__).resolve().parents[2] / "docs" / "testing-workflows.md"


def test_a_status_shows_the_last_turns_the_error_and_the_blockers(project: Project) -> None:
    project.write("two.json", WORKFLOW)
    project.write(
        "test_two.py",
        "def test_status(workrail):\n"
        "    run = workrail.run('two.json', agent=workrail.stubborn('missing_notes'))\n"
        "    assert run.status == 'complete'\n"
        "def test_steps(workrail):\n"
        "    run = workrail.run('two.json', agent=workrail.stubborn('missing_notes'))\n"
        "    assert run.steps == ('plan', 'ship')\n"
        "def test_blockers(workrail):\n"
        "    run = workrail.run('two.json')\n"
        "    assert 'MISSING_REQUIRED_NOTES' in run.blockers\n",
    )
    result = project.run("test_two.py")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "E * assert 'error' == 'complete'",
            "E * the run ended as error: *",
            "E * blockers: MISSING_REQUIRED_NOTES*",
            "E * -> blocked at plan: MISSING_REQUIRED_NOTES*",
            "E * assert () == ('plan', 'ship')",
            "E * assert 'MISSING_REQUIRED_NOTES' in ()",
            "E * the run ended as complete: *",
        ]
    )
    result = project.run("-vv", "test_two.py::test_status")
    result.stdout.fnmatch_lines(["E *1  start -> pending plan"])


def test_a_run_says_what_it_is() -> None:
    assert repr(run(WORKFLOW)) == "<Run of demo.two: complete (done: plan, ship)>"
    stuck = run(WORKFLOW, stubborn("missing_notes"))
    assert repr(stuck).startswith("<Run of demo.two: error (done: nothing; blockers: MISSING_REQUIRED_NOTES, ")


def test_values_of_a_run_are_plain_to_everybody_else() -> None:
    made = run(WORKFLOW)
    assert f"{made.status}" == "complete"
    assert made.status in {"complete"}
    assert (made.steps, made.blockers, made.gaps) == (("plan", "ship"), (), ())
    assert repr(made.steps) == "('plan', 'ship')"


def test_an_outline_names_steps_passes_blockers_and_gaps() -> None:
    from pytest_workrail.api import auto

    blocked = run(WORKFLOW, auto({"plan": {"does": "missing_notes"}}))
    assert blocked.outline() == "plan: blocked by MISSING_REQUIRED_NOTES\nplan\nship\n-> complete"
    gaps = run(WORKFLOW, auto({"ship": {"does": "nothing"}}), mode="full_auto_never_stop")
    assert gaps.outline() == "plan\nship: gap missing_required_notes\n-> complete_with_gaps"


@pytest.mark.parametrize("member", [name for name in dir(Run) if not name.startswith("_")])
def test_every_public_member_is_in_the_docs(member: str) -> None:
    table = re.search(r"returns a run:\n\n\| member \|.*?\n\n", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert table is not None
    assert re.search(rf"`{member}(?:\(.*?\))?`", table[0]), f"{member} is not in the table"
