"""Drawings of real workflows: every step has a place, nothing overlaps, no rail crosses another."""

from __future__ import annotations

import sys
from pathlib import Path

from oracle import requires_oracle, shared_folder

from workrail_lint import Ok, compile_workflow
from workrail_lint.cli import main
from workrail_lint.systems.drawing.railway import layout
from workrail_lint.systems.workrail.analysis.analysis import analyse
from workrail_lint.systems.workrail.graph.tree import structure

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workrail" / "graph"))
from drawings import crossings, overlaps

pytestmark = requires_oracle


def test_real_workflows_are_drawn_without_overlaps() -> None:
    shared = shared_folder()
    assert shared is not None
    drawn = 0
    for path in sorted((shared / "corpus" / "workflows").rglob("*.json")):
        made = compile_workflow(path)
        if isinstance(made, Ok):
            compiled = made.value
            # The studio knows from the analysis where a condition is asked anew.
            known = analyse(compiled.model, compiled.catalog, compiled=compiled, path=path.name)
            for drawing in (layout(structure(compiled.program)), layout(structure(compiled.program, known))):
                assert overlaps(drawing) == [], path.name
                assert crossings(drawing) == 0, path.name
                drawn += len(drawing.nodes)
    assert drawn > 400


def test_the_page_of_the_largest_workflow_stays_small(tmp_path: Path) -> None:
    shared = shared_folder()
    assert shared is not None
    largest = max((shared / "corpus" / "workflows").rglob("*.json"), key=lambda path: path.stat().st_size)
    page = tmp_path / "page.html"
    assert main(["studio", str(largest), "--isolated", "--output", str(page)]) == 0
    assert page.stat().st_size < 500_000
