"""Start: what can be started, what is written, and what is not."""

from __future__ import annotations

from typing import Any

import pytest
from protocol_bench import STARTED, WORKSPACE, Bench, compiled, quiet, step, workflow

from pytest_workrail.engine.model.events import ObservationRecorded, PreferencesChanged, RunStarted
from pytest_workrail.engine.projections.session_facts import Workspace as WorkspaceFacts
from pytest_workrail.engine.protocol.engine import Options
from pytest_workrail.engine.protocol.library import NoWorkspace
from pytest_workrail.engine.protocol.ports import InvalidWorkflow, WorkflowEntry
from workrail_lint.base.canonical import canonical_hash


def nothing_written(bench: Bench) -> bool:
    return bench.home.stores.sessions.list_sessions().value == ()


def test_an_unknown_workflow() -> None:
    bench = Bench()
    shown = bench.start("no-such")
    assert (shown["code"], shown["message"]) == ("NOT_FOUND", "Workflow not found: no-such")


def test_an_invalid_workflow() -> None:
    bench = Bench()
    bench.library.put(InvalidWorkflow("broken", "project", ("steps must not be empty", "name is missing")))
    shown = bench.start("broken")
    assert (shown["code"], shown["message"]) == (
        "PRECONDITION_FAILED",
        "Workflow definition is invalid and cannot be started: steps must not be empty; name is missing",
    )


def test_a_workflow_without_steps() -> None:
    bench = Bench()
    bench.library.put_ir(compiled(workflow("empty", quiet("one"))) | {"steps": []})
    assert bench.start("empty")["code"] == "PRECONDITION_FAILED"
    assert nothing_written(bench)


def test_a_workflow_of_which_nothing_can_run() -> None:
    bench = Bench(workflow("closed", quiet("one", runCondition={"var": "open"})))
    assert bench.start()["code"] == "PRECONDITION_FAILED"
    assert nothing_written(bench)
    assert bench.start(initialContext={"open": True})["pending"]["stepId"] == "one"


def test_a_workflow_that_can_not_be_hashed() -> None:
    bench = Bench()
    bench.library.put_ir(compiled(workflow("odd", quiet("one"))) | {"about": float("inf")})
    assert bench.start("odd")["code"] == "INTERNAL_ERROR"
    assert nothing_written(bench)


def each(variable: str) -> dict[str, Any]:
    return {
        "id": "each",
        "type": "loop",
        "title": "Each",
        "loop": {"type": "forEach", "items": variable, "itemVar": "file", "maxIterations": 5},
        "body": [step("look", "Look at {{file}}", "Goal {{goal}}: {{file}}.", notesOptional=True)],
    }


def test_a_workflow_that_begins_with_a_loop_begins_inside_it() -> None:
    bench = Bench(workflow("loop-first", each("files"), quiet("end")))
    refused = bench.start()
    assert refused["message"] == "forEach loop 'each' requires array context['files']"
    assert nothing_written(bench)
    pending = bench.start(initialContext={"files": ["a.py"]})["pending"]
    # The first prompt sees the initial context, the goal included.
    assert (pending["title"], pending["prompt"]) == ("Look at a.py", "⟪LOOP_FIRST⟫Goal demo: a.py.")


def test_preferences_of_a_start() -> None:
    """@enforces autonomy-closed-set
    @enforces risk-policy-closed-set
    """
    for chosen, source in ((None, "system"), ({"riskPolicy": "balanced"}, "user")):
        bench = Bench(workflow("small", quiet("one")))
        bench.start(**({} if chosen is None else {"preferences": chosen}))
        event = bench.events[3]
        assert isinstance(event, PreferencesChanged)
        assert (event.data.source, [change.kind for change in event.data.delta]) == (source, ["autonomy", "riskPolicy"])
    bench = Bench(workflow("small", quiet("one")))
    assert bench.start(preferences={"autonomy": "reckless"})["code"] == "VALIDATION_ERROR"


class Known(NoWorkspace):
    """A workspace in a repository."""

    def __init__(self, branch: str = "main") -> None:
        self._branch = branch

    def facts(self, workspace_path: str) -> WorkspaceFacts:
        assert workspace_path == WORKSPACE
        return WorkspaceFacts(self._branch, "a" * 40, "sha256:" + "b" * 64, "/repo")


@pytest.mark.parametrize(
    ("branch", "keys"),
    [
        ("main", ["repo_root_hash", "repo_root", "git_branch", "git_head_sha"]),
        ("b" * 81, ["repo_root_hash", "repo_root", "git_head_sha"]),
    ],
)
def test_the_workspace_is_observed(branch: str, keys: list[str]) -> None:
    bench = Bench(workflow("small", quiet("one")), workspace=Known(branch))
    bench.start()
    observed = [event for event in bench.events if isinstance(event, ObservationRecorded)]
    assert [event.data.key for event in observed] == keys
    assert all(event.scope is None for event in observed)
    assert bench.log().startswith(STARTED + " 5:observation_recorded")


def test_the_run_names_what_it_pins() -> None:
    bench = Bench()
    ir = compiled(workflow("small", quiet("one")))
    bench.library.put(WorkflowEntry(ir, "user", "mine/small.json"))
    bench.start("small")
    event = bench.events[1]
    assert isinstance(event, RunStarted)
    assert event.data.to_wire() == {
        "workflowId": "small",
        "workflowHash": canonical_hash(ir),
        "workflowSourceKind": "user",
        "workflowSourceRef": "mine/small.json",
    }
    assert bench.home.stores.workflows.get(event.data.workflow_hash).value == ir


def test_a_run_keeps_its_workflow_when_the_file_changes() -> None:
    """@enforces ir-pinned-for-the-run
    @enforces ir-only-input-of-the-engine
    """
    bench = Bench(workflow("small", quiet("one"), quiet("two")))
    bench.start()
    bench.library.put_ir(compiled(workflow("small", quiet("other"))))
    assert bench.advance("CT1")["pending"]["stepId"] == "two"


def test_onboarding_is_a_step_of_its_own_and_part_of_the_hash() -> None:
    authored = workflow("small", quiet("one"), capabilities={"delegation": "required"})
    plain = Bench(authored)
    greeted = Bench(authored, options=Options(inject_onboarding=True))
    assert plain.start()["pending"]["stepId"] == greeted.start()["pending"]["stepId"] == "wr_probe_delegation"
    observation = {
        "kind": "wr.capability_observation",
        "capability": "delegation",
        "status": "available",
        "provenance": {"kind": "probe_step", "result": "success"},
    }
    assert plain.go("CT1", artifacts=[observation])["pending"]["stepId"] == "one"
    pending = greeted.go("CT1", artifacts=[observation])["pending"]
    assert (pending["stepId"], pending["title"]) == ("wr-system-onboarding", "WorkRail Protocol Instructions")
    assert "NOTES" not in pending["prompt"]
    assert greeted.advance("CT2")["pending"]["stepId"] == "one"
    hashes = [bench.events[1].data.to_wire()["workflowHash"] for bench in (plain, greeted)]  # type: ignore[union-attr]
    assert hashes[0] != hashes[1]


def test_two_starts_are_two_sessions() -> None:
    bench = Bench(workflow("small", quiet("one"), quiet("two")))
    bench.start()
    bench.start()
    assert len(bench.home.stores.sessions.list_sessions().value) == 2
    assert bench.advance("CT1")["pending"]["stepId"] == bench.advance("CT2")["pending"]["stepId"] == "two"
