"""List, inspect, resume: looking for what to start or to go on with. Nothing is written by looking."""

from __future__ import annotations

from typing import Any

from protocol_bench import WORKSPACE, Bench, compiled, quiet, step, workflow

from pytest_workrail.engine.projections.session_facts import Workspace as WorkspaceFacts
from pytest_workrail.engine.protocol.engine import Options
from pytest_workrail.engine.protocol.library import MemoryLibrary, NoWorkspace
from pytest_workrail.engine.protocol.ports import InvalidWorkflow, Tag, WorkflowEntry
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from workrail_lint.base.canonical import canonical_hash

PLACE = {"workspacePath": WORKSPACE}


def entry(workflow_id: str, *tags: str, **members: Any) -> WorkflowEntry:
    ir = compiled(workflow(workflow_id, step("one", "One {{x}}", "Do {{x}}."), **members))
    return WorkflowEntry(ir, tags=tags)


def bench_with(*entries: WorkflowEntry | InvalidWorkflow, tags: tuple[Tag, ...] = (), **options: Any) -> Bench:
    bench = Bench(options=Options(**options))
    library = MemoryLibrary(entries, tags)
    bench.library = library
    bench.engine._library = library
    return bench


def listed(bench: Bench, **members: Any) -> dict[str, Any]:
    shown = bench.engine.list_workflows(PLACE | members).value.to_json()
    assert isinstance(shown, dict)
    return shown


def test_the_whole_list() -> None:
    two, one = entry("b-two"), entry("a_one", examples=["Fix the build."])
    bench = bench_with(two, one, InvalidWorkflow("broken", "user", ("no steps",)))
    assert listed(bench) == {
        "workflows": [
            {
                "workflowId": "a_one",
                "name": "a_one",
                "description": "d",
                "version": "1.0.0",
                "workflowHash": canonical_hash(one.ir),
                "kind": "workflow",
                "examples": ["Fix the build."],
            },
            {
                "workflowId": "b-two",
                "name": "b-two",
                "description": "d",
                "version": "1.0.0",
                "workflowHash": canonical_hash(two.ir),
                "kind": "workflow",
            },
        ],
        "validationWarnings": [{"workflowId": "broken", "sourceKind": "user", "errors": ["no steps"]}],
    }


TAGS = (Tag("coding", "Coding", ("writing code",), ("a_one",)), Tag("review", "Review"))


def test_tags() -> None:
    bench = bench_with(entry("a_one", "coding"), entry("b-two", "coding", "review"), entry("c-three"), tags=TAGS)
    summary = listed(bench)
    assert summary["workflows"] == []
    assert summary["tagSummary"] == [
        {"id": "coding", "displayName": "Coding", "count": 2, "when": ["writing code"], "examples": ["a_one"]},
        {"id": "review", "displayName": "Review", "count": 1, "when": [], "examples": []},
    ]
    assert summary["_nextStep"]

    def ids(**members: Any) -> list[str]:
        return [item["workflowId"] for item in listed(bench, **members)["workflows"]]

    assert ids(tags=["review", "unknown"]) == ["b-two"]
    assert ids(tags=["coding"]) == ["a_one", "b-two"]
    assert ids(tags=[]) == []
    assert ids(includeSources=True) == ["a_one", "b-two", "c-three"]
    assert listed(bench, includeSources=True)["sources"] == [{"kind": "project"}]


def test_inspect() -> None:
    """@enforces ir-inspect-hash-is-run-hash"""
    found = entry("a_one")
    bench = bench_with(found)
    asked = PLACE | {"workflowId": "a_one"}
    compiled_form = {"schemaVersion": 1, "sourceKind": "project", "workflowId": "a_one"}
    shown = bench.engine.inspect_workflow(asked).value.to_json()
    bench.start("a_one")
    pinned = bench.events[1].data.to_wire()["workflowHash"]  # type: ignore[union-attr]
    assert shown == {
        "workflowId": "a_one",
        "workflowHash": pinned,
        "mode": "preview",
        "compiled": compiled_form
        | {
            "name": "a_one",
            "description": "d",
            "version": "1.0.0",
            "preview": {"stepId": "one", "title": "One {{x}}", "prompt": "Do {{x}}."},
        },
    }
    shown = bench.engine.inspect_workflow(asked | {"mode": "metadata"}).value.to_json()
    assert shown == {"workflowId": "a_one", "workflowHash": pinned, "mode": "metadata", "compiled": compiled_form}
    assert bench.engine.inspect_workflow(asked | {"workflowId": "none"}).error.code == "NOT_FOUND"


def test_inspect_writes_nothing() -> None:
    bench = bench_with(entry("a_one"))
    shown = bench.engine.inspect_workflow(PLACE | {"workflowId": "a_one"}).value.to_json()
    assert bench.home.stores.workflows.get(shown["workflowHash"]).value is None  # type: ignore[arg-type]


def test_what_is_listed_and_inspected_is_without_the_onboarding_step_as_in_the_public_engine() -> None:
    bench = bench_with(entry("a_one"), inject_onboarding=True)
    inspected = bench.engine.inspect_workflow(PLACE | {"workflowId": "a_one"}).value.to_json()
    assert inspected["compiled"]["preview"]["stepId"] == "one"  # type: ignore[index, call-overload]
    assert listed(bench)["workflows"][0]["workflowHash"] == inspected["workflowHash"]
    bench.start("a_one")
    pinned = bench.events[1].data.to_wire()["workflowHash"]  # type: ignore[union-attr]
    assert pinned != inspected["workflowHash"]


def test_the_preview_of_a_loop_and_of_a_parallel_step() -> None:
    loop = {
        "id": "rounds",
        "type": "loop",
        "title": "Rounds",
        "loop": {"type": "for", "count": 2, "maxIterations": 3},
        "body": [quiet("inside")],
    }
    parallel = {
        "id": "spread",
        "type": "parallel",
        "title": "Spread",
        "parallelDelegations": [{"workflowId": "helper-flow"}],
    }
    for first, step_id, prompt in (
        (loop, "inside", "Do inside."),
        (parallel, "spread", "# Parallel Subagent Spawning Phase\n"),
    ):
        bench = bench_with(WorkflowEntry(compiled(workflow("shapes", first))))
        shown: Any = bench.engine.inspect_workflow(PLACE | {"workflowId": "shapes"}).value.to_json()
        preview = shown["compiled"]["preview"]
        assert preview["stepId"] == step_id
        assert preview["prompt"].startswith(prompt)


class Repository(NoWorkspace):
    def facts(self, workspace_path: str) -> WorkspaceFacts:
        return WorkspaceFacts("main", "a" * 40, "sha256:" + "1" * 64, "/repo")


def resumed(bench: Bench, **members: Any) -> dict[str, Any]:
    shown = bench.engine.resume_session(PLACE | members).value.to_json()
    assert isinstance(shown, dict)
    return shown


def test_resume() -> None:
    """@enforces bundle-tokens-not-portable"""
    bench = Bench(
        workflow("fix-build", step("one", "One", "One."), step("two", "Two", "Two.")),
        home=in_memory(FixedClock(step_ms=10), SeededEntropy("resume")),
        workspace=Repository(),
    )
    bench.start(goal="repair the flaky parser tests")
    bench.go("CT1", notes="Found the race in the tokenizer.")
    bench.start(goal="write documentation")
    before = [bench.home.stores.sessions.load(entry.session_id).value for entry in listing(bench)]
    shown = resumed(bench, query="flaky tokenizer")
    assert shown["totalEligible"] == 2
    first = shown["candidates"][0]
    assert list(first) == [
        "sessionId",
        "runId",
        "workflowId",
        "sessionTitle",
        "gitBranch",
        "resumeToken",
        "snippet",
        "whyMatched",
        "confidence",
        "matchExplanation",
        "pendingStepId",
        "isComplete",
        "lastModifiedMs",
        "nextCall",
    ]
    assert (first["sessionTitle"], first["pendingStepId"], first["gitBranch"]) == (
        "repair the flaky parser tests",
        "two",
        "main",
    )
    assert (first["confidence"], first["whyMatched"]) == (
        "strong",
        ["matched_notes", "matched_repo_root", "matched_head_sha", "matched_branch"],
    )
    token = first["resumeToken"]
    assert token.startswith("st1")
    assert first["nextCall"] == {
        "tool": "continue_workflow",
        "params": {"continueToken": token, "intent": "rehydrate"},
    }
    assert [bench.home.stores.sessions.load(entry.session_id).value for entry in listing(bench)] == before
    recovered = bench.go(token, intent="rehydrate", workspacePath=WORKSPACE)
    assert "Found the race" in recovered["pending"]["prompt"]
    assert bench.go(recovered["continueToken"].strip("«»"), notes="done")["isComplete"] is True
    by_id = resumed(bench, sessionId=first["sessionId"])["candidates"][0]
    assert (by_id["sessionId"], by_id["isComplete"], by_id["pendingStepId"]) == (first["sessionId"], True, None)


def listing(bench: Bench) -> Any:
    return bench.home.stores.sessions.list_sessions().value


def test_resume_follows_the_lineage_where_the_profile_says_so() -> None:
    authored = workflow("titles", quiet("one"), quiet("two"), quiet("three"))
    titles = []
    for profile in ("reference", "locked"):
        bench = Bench(authored, profile=profile)
        bench.start(goal="the first goal")
        bench.advance("CT1")
        bench.look("CT1")
        bench.advance("CT3", context={"goal": "a branch"})
        # Something appended below the first branch makes it the preferred one again.
        bench.advance("CT2")
        titles.append(resumed(bench)["candidates"][0]["sessionTitle"])
    assert titles == ["a branch", "the first goal"]
