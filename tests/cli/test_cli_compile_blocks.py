"""`workrail-lint compile` on definitions of blocks."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
from cli_types import Run

from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.result import Ok
from workrail_lint.systems.blocks.ir import compile_definition
from workrail_lint.systems.blocks.rules.samples import edge, node, workflow

FLOW = workflow(node("plan"), node("dev", "coding", "Build it."), edges=[edge("plan", "dev")])


def hash_of(definition: dict[str, Any]) -> str:
    compiled = compile_definition(definition)
    assert isinstance(compiled, Ok)
    return canonical_hash(compiled.value)


def test_a_definition_is_compiled_to_its_plan_and_prompts(run: Run, write: Any) -> None:
    write("login.workflow.json", FLOW)
    ran = run("compile", "login.workflow.json")
    assert (ran.code, ran.err) == (0, "")
    made = json.loads(ran.out)
    assert made["plan"] == ["plan", "dev"]
    assert made["nodes"][1]["sections"] == [{"part": "task", "text": "Build it."}]
    assert run("compile", "login.workflow.json", "--emit", "hash").out.strip() == hash_of(FLOW)


def test_beside_a_workflow_it_is_one_line(run: Run, write: Any, plain: dict[str, Any]) -> None:
    write("graph.json", FLOW)
    write("plain.json", plain)
    ran = run("compile", "graph.json", "plain.json")
    assert ran.code == 0
    first, second = map(json.loads, ran.out.splitlines())
    assert first == {"path": "graph.json", "workflowId": FLOW["id"], "target": "ir", "hash": hash_of(FLOW)}
    assert second["workflowId"] == plain["id"]


def test_on_stdin_its_content_tells_what_it_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(FLOW).encode())))
    assert run("compile", "-", "--emit", "hash").out.strip() == hash_of(FLOW)


def test_a_number_beyond_all_bounds_leaves_it_without_a_hash(run: Run, write: Any) -> None:
    first = {**FLOW["nodes"][0], "config": {**FLOW["nodes"][0]["config"], "temperature": "?"}}
    text = json.dumps({**FLOW, "nodes": [first, *FLOW["nodes"][1:]]})
    write("login.workflow.json", text.replace('"?"', "1e400"))
    ran = run("compile", "login.workflow.json")
    assert (ran.code, ran.out) == (1, "")
    assert "login.workflow.json: error: the workflow has no hash" in ran.err


def test_errors_stand_in_its_way_and_have_places(run: Run, write: Any) -> None:
    write("login.workflow.json", workflow(node("dev", "coder")))
    ran = run("compile", "login.workflow.json")
    assert (ran.code, ran.out) == (1, "")
    assert "login.workflow.json:" in ran.err
    assert "BC301" in ran.err


@pytest.mark.parametrize("option", [("--target", "engine"), ("--explain",)])
def test_there_is_nothing_else_to_compile_it_to(run: Run, write: Any, option: tuple[str, ...]) -> None:
    write("login.workflow.json", FLOW)
    ran = run("compile", "login.workflow.json", *option)
    assert (ran.code, ran.out) == (2, "")
    assert "login.workflow.json is a definition of blocks" in ran.err


@pytest.mark.parametrize(
    "command",
    [
        ("diff", "a.json", "login.workflow.json"),
        ("lock", "--update", "login.workflow.json"),
    ],
)
def test_what_only_workflows_have_is_refused_in_a_word(
    run: Run, write: Any, plain: dict[str, Any], command: tuple[str, ...]
) -> None:
    write("login.workflow.json", FLOW)
    write("a.json", plain)
    ran = run(*command)
    assert (ran.code, ran.out) == (2, "")
    assert "login.workflow.json is a definition of blocks, not a workflow" in ran.err
