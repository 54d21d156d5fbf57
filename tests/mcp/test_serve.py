"""`workrail-test serve` with the official client, and with clients that behave badly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp_process import INITIALIZE, NOTES, START, WORKFLOW, Mirror, call, in_process, request, spoken, with_client

from pytest_workrail.cli import main


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_gets_through_a_workflow_as_the_engine_says(mode: str) -> None:
    async def talk(client: Client) -> None:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == [spec.name for spec in in_process().specs]
        assert [tool.input_schema for tool in listed] == [spec.input_schema for spec in in_process().specs]
        mirror = Mirror()

        async def tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            result = await client.call_tool(name, arguments)
            texts = [item.text for item in result.content]  # type: ignore[union-attr]
            return mirror.same(name, arguments, texts, result.structured_content, result.is_error)

        await tool("list_workflows", {"workspacePath": "/w"})
        await tool("inspect_workflow", {"workflowId": START["workflowId"], "workspacePath": "/w"})
        assert (await tool("start_workflow", {"goal": "x"}))["code"] == "VALIDATION_ERROR"
        first = await tool("start_workflow", START)
        blocked = await tool("continue_workflow", {"continueToken": first["continueToken"], "intent": "advance"})
        assert (blocked["kind"], blocked["retryable"]) == ("blocked", True)
        second = await tool("continue_workflow", {"continueToken": blocked["retryContinueToken"], "output": NOTES})
        assert second["pending"]["stepId"] == "sort-changes"
        marked = await tool("checkpoint_workflow", {"checkpointToken": second["checkpointToken"]})
        looks = {"intent": "rehydrate", "workspacePath": "/w"}
        again = await tool("continue_workflow", {"continueToken": marked["resumeToken"], **looks})
        assert (again["nextIntent"], again["pending"]["stepId"]) == ("rehydrate_only", "sort-changes")
        third = await tool("continue_workflow", {"continueToken": second["continueToken"], "output": NOTES})
        forked = await tool("continue_workflow", {"continueToken": second["continueToken"], **looks})
        other = await tool("continue_workflow", {"continueToken": forked["continueToken"], "output": NOTES})
        assert other["pending"]["stepId"] == third["pending"]["stepId"] == "write-notes"
        assert other["continueToken"] != third["continueToken"]
        end = await tool("continue_workflow", {"continueToken": third["continueToken"], "output": NOTES})
        assert (end["isComplete"], end["nextIntent"]) == (True, "complete")
        unknown = await client.call_tool("delete_workflow", {})
        texts = [getattr(content, "text", "") for content in unknown.content]
        assert unknown.is_error
        assert texts[0] == "Unknown tool: delete_workflow"
        assert texts[1].startswith("The tools are list_workflows, ")

    with_client([str(WORKFLOW)], talk, mode)


def test_two_calls_at_once_get_one_answer_each(tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        first = (await client.call_tool("start_workflow", START)).structured_content
        answers: list[Any] = []

        async def hand_in(output: dict[str, str]) -> None:
            arguments = {"continueToken": first["continueToken"], "output": output}
            answers.append((await client.call_tool("continue_workflow", arguments)).structured_content)

        async with anyio.create_task_group() as group:
            group.start_soon(hand_in, NOTES)
            group.start_soon(hand_in, {"notesMarkdown": "Somebody else's notes."})
        # The advance was decided once; the later call gets the recorded answer.
        assert answers[0] == answers[1]
        assert answers[0]["pending"]["stepId"] == "sort-changes"

    with_client([str(WORKFLOW), "--data", str(tmp_path / "data")], talk)


def test_garbage_is_answered_and_the_session_outlives_its_client(tmp_path: Path) -> None:
    data = ["--data", str(tmp_path / "data")]
    code, answers, said = spoken(
        [str(WORKFLOW), *data],
        [
            b"\xff\xfe not JSON\n",
            request(1, "initialize", INITIALIZE),
            b'{"jsonrpc": "2.0"}\n[]\n{"half\n',
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            call(2, "start_workflow", START),
            call(3, "start_workflow", "no object"),
            call(4, "continue_workflow", {"continueToken": ["ct"], "output": "\u2028"}),
            request(5, "no/such", {}),
        ],
    )
    assert code == 0
    assert "Traceback" not in said
    by_id = {answer["id"]: answer for answer in answers if answer["id"] is not None}
    garbage = [answer["error"] for answer in answers if answer["id"] is None]
    assert [error["code"] for error in garbage] == [-32700] * 4
    assert "not a JSON-RPC message" in garbage[0]["message"]
    assert sorted(by_id) == [1, 2, 3, 4, 5]
    assert [by_id[number]["error"]["code"] for number in (3, 5)] == [-32602, -32601]
    assert by_id[4]["result"]["structuredContent"]["code"] == "VALIDATION_ERROR"
    started = by_id[2]["result"]["structuredContent"]

    async def talk(client: Client) -> None:
        found = await client.call_tool("resume_session", {"workspacePath": "/w", "query": "write the notes"})
        (candidate,) = found.structured_content["candidates"]
        assert candidate["pendingStepId"] == "collect-changes"
        output = {"continueToken": started["continueToken"], "output": NOTES}
        answer = (await client.call_tool("continue_workflow", output)).structured_content
        assert answer["pending"]["stepId"] == "sort-changes"

    with_client([str(WORKFLOW), *data], talk)


def test_what_can_not_be_served_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(tmp_path)]) == 3
    assert "no workflow that can be started was found" in capsys.readouterr().err
    broken = tmp_path / "broken.json"
    broken.write_text('{"id": "broken", "name": "Broken", "steps": []}', encoding="utf-8")
    assert main(["serve", str(broken)]) == 3
    assert "serve: broken: " in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "none.json")]) == 2
    assert main(["serve", str(WORKFLOW), "--data", str(WORKFLOW.parent / "data")]) == 2
    assert "choose another data folder" in capsys.readouterr().err
    assert main(["serve", str(WORKFLOW), "--data", str(broken)]) == 2
    assert not (WORKFLOW.parent / "data").exists()


def test_without_the_sdk_serve_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pytest_workrail.cli.serve.find_spec", lambda _name: None)
    assert main(["serve", str(WORKFLOW)]) == 2
    assert "pip install 'workrail-lint[mcp]'" in capsys.readouterr().err
