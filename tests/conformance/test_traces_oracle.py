"""Every recorded run of the reference engine's interpreter, step by step."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import Any

import pytest
from oracle import base_path, load_base, read_jsonl, requires_oracle, shared_folder

from pytest_workrail.engine.core.interpreter import Interpreter, Selection
from workrail_lint import Err, compile_workflow
from workrail_lint.systems.workrail.catalog import load_core
from workrail_lint.systems.workrail.compiler.compiled import compile_definition
from workrail_lint.systems.workrail.model.build import workflow_model

pytestmark = requires_oracle

_STEP_LIMIT = 200
_ROWS = {
    workflow: list(rows)
    for workflow, rows in groupby(
        sorted(read_jsonl("traces.jsonl"), key=lambda row: row["workflow"]), key=lambda row: row["workflow"]
    )
}
# Documents that the schema refuses. The engine's interpreter was handed them all the same.
_SCHEMA_INVALID = {
    "spec/examples/invalid-workflow.json",
    "workflows/examples/dashboard-template-workflow.json",
}


@cache
def _interpreter(workflow: str) -> Interpreter:
    folder = shared_folder()
    assert folder is not None
    if workflow in _SCHEMA_INVALID:
        assert isinstance(compile_workflow(base_path(workflow)), Err)
        compiled = compile_definition(workflow_model(load_base(workflow)), load_core())
    else:
        compiled = compile_workflow(base_path(workflow), routines=folder / "corpus" / "workflows" / "routines")
    return Interpreter(compiled.value.ir)


def _merged(context: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    both = {**context, **delta}
    return {name: value for name, value in both.items() if not (name in delta and value is None)}


@pytest.mark.parametrize("workflow", [pytest.param(name, id=name) for name in _ROWS])
def test_recorded_runs(workflow: str) -> None:
    for row in _ROWS[workflow]:
        _replay(_interpreter(workflow), row)


def _replay(interpreter: Interpreter, row: dict[str, Any]) -> None:
    state = interpreter.start()
    context: dict[str, Any] = row["start"]["context"]
    artifacts: list[Any] = []
    for number, expected in enumerate(row["steps"]):
        where = f"seed {row['seed']}, step {number}"
        selection: Selection = interpreter.next(state, context, artifacts).value
        assert selection.step is not None, where
        assert selection.step.step_id == expected["stepId"], where
        path = [{"loopId": each.loop_id, "iteration": each.iteration} for each in selection.step.loop_path]
        assert path == expected["loopPath"], where
        assert not selection.is_complete
        state = interpreter.complete(selection.state, selection.step).value
        context = _merged(context, expected["provided"]["context"])
        artifacts = expected["provided"]["artifacts"]
    result = interpreter.next(state, context, artifacts)
    end = row["end"]
    match end["kind"]:
        case "complete":
            assert result.value.is_complete
            assert result.value.step is None
        case "error":
            assert result.error.code == end["code"]
        case "exceeded":
            assert len(row["steps"]) == _STEP_LIMIT
            assert result.value.step is not None
        case unknown:
            pytest.fail(f"unknown end {unknown}")
