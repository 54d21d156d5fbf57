"""The engine's tools as they are listed: a closed set, each member described, each example true."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import jsonschema
import pytest
from mcp_process import START, WORKFLOW
from tables import for_each

from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.protocol.requests import (
    ToolName,
    read_checkpoint,
    read_continue,
    read_inspect,
    read_list,
    read_resume,
    read_start,
)
from pytest_workrail.engine.protocol.responses import NextIntent
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from pytest_workrail.mcp.tools import INSTRUCTIONS, MEMBERS, EngineTools
from pytest_workrail.sessions.versions import load_version
from workrail_lint.base.result import Ok

TOOLS = EngineTools(Engine(in_memory(FixedClock(), SeededEntropy()), MemoryLibrary()))
SPECS = {spec.name: spec for spec in TOOLS.specs}
READERS: dict[str, Any] = {
    "list_workflows": read_list,
    "inspect_workflow": read_inspect,
    "start_workflow": read_start,
    "continue_workflow": read_continue,
    "checkpoint_workflow": read_checkpoint,
    "resume_session": read_resume,
}
each_tool = pytest.mark.parametrize("name", SPECS)


def members(schema: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner in schema.get("properties", {}).items():
        yield f"{prefix}{name}", inner
        yield from members(inner, f"{prefix}{name}.")


def examples(name: str, word: str) -> list[Any]:
    lines = re.findall(rf"^{word}: (\{{.*\}})", SPECS[name].description, re.MULTILINE)
    return [json.loads(line) for line in lines]


def test_the_tools_are_those_of_the_protocol_and_no_others() -> None:
    assert list(SPECS) == list(get_args(ToolName)) == list(READERS)
    assert [name for name, spec in SPECS.items() if spec.read_only] == [
        "list_workflows",
        "inspect_workflow",
        "resume_session",
    ]


@each_tool
def test_every_member_is_described_and_nothing_else(name: str) -> None:
    found = dict(members(SPECS[name].input_schema))
    assert list(found) == list(MEMBERS[name])  # type: ignore[index]
    assert all(len(each["description"]) > 20 for each in found.values())
    assert "x-" not in json.dumps(list(SPECS[name].input_schema))
    jsonschema.Draft202012Validator.check_schema(SPECS[name].input_schema)


@each_tool
def test_a_right_example_is_accepted(name: str) -> None:
    right = examples(name, "Right")
    assert right
    for request in right:
        jsonschema.validate(request, SPECS[name].input_schema)
        assert isinstance(READERS[name](request), Ok), request


@each_tool
def test_there_is_a_wrong_example_and_it_is_none_of_the_right_ones(name: str) -> None:
    wrong = examples(name, "Wrong")
    assert wrong
    assert not [each for each in wrong if each in examples(name, "Right")]
    refused = [not isinstance(READERS[name](each), Ok) for each in wrong]
    # A token of another kind, and a call that only looks, are well formed: it is what they do that is wrong.
    assert all(refused) or name in ("continue_workflow", "checkpoint_workflow")


@pytest.mark.parametrize("name", ["start_workflow", "continue_workflow"])
def test_every_next_intent_is_explained(name: str) -> None:
    for intent in get_args(NextIntent):
        assert re.search(rf"^- {intent}: \w", SPECS[name].description, re.MULTILINE)
    assert "nextIntent" in INSTRUCTIONS


def test_an_error_is_an_answer() -> None:
    answer = TOOLS.call("continue_workflow", {"continueToken": "nonsense"})
    assert answer.is_error
    assert json.loads(answer.text[0]) == answer.data
    assert answer.data["code"] == "TOKEN_INVALID_FORMAT"


def engine_of(profile: ProfileName) -> EngineTools:
    library = MemoryLibrary()
    compiled = load_version(WORKFLOW).compiled
    assert compiled is not None
    library.put_ir(compiled.ir)
    return EngineTools(Engine(in_memory(FixedClock(), SeededEntropy()), library, Options(profile=profile)))


@for_each(
    "name, request_",
    [
        ("list_workflows", {"workspacePath": "/w"}),
        ("inspect_workflow", {"workspacePath": "/w", "workflowId": START["workflowId"]}),
        ("start_workflow", START),
    ],
)
def test_unknown_members_are_passed_over_as_by_the_public_engine(name: str, request_: dict[str, Any]) -> None:
    like, locked = engine_of("reference"), engine_of("locked")
    answer = like.call(name, {**request_, "mood": "good"})
    assert not answer.is_error
    assert answer.text[-1] == f"Remark: {name} takes no `mood`. It was passed over, as the public engine does."
    assert "Remark" not in like.call(name, request_).text[-1]
    assert locked.call(name, {**request_, "mood": "good"}).is_error
    schemas = [{spec.name: spec for spec in tools.specs}[name].input_schema for tools in (like, locked)]
    assert [schema.get("additionalProperties") for schema in schemas] == [None, False]


def test_other_tools_refuse_unknown_members() -> None:
    assert engine_of("reference").call("resume_session", {"workspacePath": "/w", "mood": "good"}).is_error


def test_members_that_only_this_server_takes_say_so() -> None:
    for name in ("initialContext", "preferences"):
        assert "the public engine passes it over" in MEMBERS["start_workflow"][name]
