"""On public workflows, the automatic agent sets each variable at a step whose prompt asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from oracle import shared_folder

from pytest_workrail import api
from pytest_workrail.run.result import Run
from workrail_lint import Ok, compile_workflow
from workrail_lint.base.js import members_of
from workrail_lint.systems.workrail.analysis.analysis import analyse

SHARED = shared_folder()
WORKFLOWS = sorted((SHARED / "corpus" / "workflows").rglob("*.json")) if SHARED is not None else []


def settings(run: Run) -> Iterator[tuple[str, str]]:
    """Yield each step with a variable that was set when it was submitted."""
    step = ""
    for exchange in run.transcript.exchanges:
        if exchange.tool == "continue_workflow":
            yield from ((step, name) for name in members_of(exchange.request.get("context")))
        step = str(members_of(exchange.response.get("pending")).get("stepId", ""))


def judged(path: Path) -> tuple[int, list[tuple[str, str]]]:
    """Return how many variables were set where a prompt asks for them, and those that were set elsewhere."""
    compiled = compile_workflow(path)
    if not isinstance(compiled, Ok):
        return 0, []
    analysis = analyse(compiled.value.model, compiled.value.catalog, compiled=compiled.value, path=str(path))
    right, wrong = 0, []
    for step, name in settings(api.run(compiled.value)):
        askers = {analysis.steps[each.step].id for each in analysis.each_setter(name) if each.step is not None}
        right += step in askers
        wrong += [(step, name)] if askers and step not in askers else []
    return right, wrong


@pytest.mark.skipif(not WORKFLOWS, reason="the public workflows are not here (../shared/corpus)")
def test_each_variable_is_set_where_a_prompt_asks_for_it() -> None:
    verdicts = {path.name: judged(path) for path in WORKFLOWS}
    assert {name: wrong for name, (_, wrong) in verdicts.items() if wrong} == {}
    assert sum(1 for right, _ in verdicts.values() if right) >= 10
    assert sum(right for right, _ in verdicts.values()) >= 25
